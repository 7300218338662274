//===- CudaCode.h - an artefact's kernels on a GPU -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDS_CUDA_CUDACODE_H
#define TDS_CUDA_CUDACODE_H

#include "cuda/CudaDevice.h"

#include <vector>

namespace tdsrt {

/// The module that the driver made of the PTX. Made and destroyed while the
/// context is current.
class CudaCode {
public:
  /// Hands the PTX to the driver and finds the kernels. Refusals carry the log
  /// of the driver's compiler.
  CudaCode(const Artifact &artifact, const CudaDevice &device);
  ~CudaCode();
  CudaCode(const CudaCode &) = delete;
  CudaCode &operator=(const CudaCode &) = delete;

  CUfunction function(uint32_t kernel) const { return functions[kernel]; }

  /// The address of a symbol of `bytes` bytes, 0 if there is none.
  CUdeviceptr find(const char *symbol, size_t bytes) const;

private:
  void findKernels(const Artifact &artifact, const CudaDevice &device);
  const CudaDriver &driver;
  CUmodule module = nullptr;
  std::vector<CUfunction> functions;
};

} // namespace tdsrt

#endif // TDS_CUDA_CUDACODE_H
