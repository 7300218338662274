//===- CudaProgram.h - an artefact's code and storage on a GPU -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDS_CUDA_CUDAPROGRAM_H
#define TDS_CUDA_CUDAPROGRAM_H

#include "cuda/CudaDevice.h"

namespace tdsrt {

/// Hands the PTX to the driver, finds the kernels, allocates.
std::unique_ptr<Program>
makeCudaProgram(std::shared_ptr<const Artifact> artifact,
                std::shared_ptr<CudaDevice> device);

} // namespace tdsrt

#endif // TDS_CUDA_CUDAPROGRAM_H
