//===- CpuProgram.h - an artefact's code and storage on the CPU -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDS_CPU_CPUPROGRAM_H
#define TDS_CPU_CPUPROGRAM_H

#include "core/Device.h"
#include "cpu/ThreadPool.h"

namespace tdsrt {

/// Opens the shared object, finds its kernels, allocates.
std::unique_ptr<Program>
makeCpuProgram(std::shared_ptr<const Artifact> artifact,
               std::shared_ptr<ThreadPool> pool);

} // namespace tdsrt

#endif // TDS_CPU_CPUPROGRAM_H
