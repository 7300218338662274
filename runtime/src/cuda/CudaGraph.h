//===- CudaGraph.h - the commands of a call as one CUDA graph -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A chain of kernels, copies and fills that is handed to the driver once and
// then launched as a whole. The copies that touch memory of the caller can be
// pointed elsewhere without building it again.
//
//===----------------------------------------------------------------------===//

#ifndef TDS_CUDA_CUDAGRAPH_H
#define TDS_CUDA_CUDAGRAPH_H

#include "cuda/CudaDriver.h"

namespace tdsrt {

/// One end of a copy: host memory (page-locked) or device memory.
struct CudaPlace {
  void *host = nullptr;
  CUdeviceptr device = 0;
};

/// Made, changed and destroyed while the context is current.
class CudaGraph {
public:
  /// The driver must have graphs.
  CudaGraph(const CudaDriver &driver, CUcontext context);
  ~CudaGraph();
  CudaGraph(const CudaGraph &) = delete;
  CudaGraph &operator=(const CudaGraph &) = delete;

  // Each is done after all that were added before. Parameters are copied.
  void addKernel(const CudaKernelNode &kernel, const std::string &what);
  CUgraphNode addCopy(const CudaPlace &to, const CudaPlace &from,
                      uint64_t bytes);
  void addFill(CUdeviceptr to, uint8_t byte, uint64_t bytes);

  /// Nothing is added from here on.
  void finish();
  /// Points a copy elsewhere, for launches from now on.
  void setCopy(CUgraphNode node, const CudaPlace &to, const CudaPlace &from,
               uint64_t bytes);
  void launch(CUstream stream, const std::string &what);

private:
  size_t dependencies() const { return last ? 1 : 0; }
  const CudaDriver &driver;
  CUcontext context;
  CUgraph graph = nullptr;
  CUgraphNode last = nullptr;
  CUgraphExec executable = nullptr;
};

} // namespace tdsrt

#endif // TDS_CUDA_CUDAGRAPH_H
