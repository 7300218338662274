//===- CudaCommands.h - an entry's commands, resolved -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDS_CUDA_CUDACOMMANDS_H
#define TDS_CUDA_CUDACOMMANDS_H

#include "cuda/CudaCode.h"
#include "cuda/CudaGraph.h"
#include "cuda/CudaTiming.h"

namespace tdsrt {

/// A command with addresses in place of operands.
struct CudaStep {
  Command::Op op = Command::Op::Launch;
  uint32_t kernel = 0;
  std::array<uint32_t, 3> grid{};
  std::vector<CUdeviceptr> buffers;
  std::vector<int64_t> sizes;
  std::vector<void *> parameters; ///< points into buffers and sizes
  CUdeviceptr to = 0, from = 0;
  uint64_t bytes = 0; ///< of a copy or fill; of a launch's operands
  uint64_t flops = 0;
  uint8_t byte = 0;
  // Inside a loop: where buffers, sizes, `to` and `from` are in the first
  // iteration, and how they change.
  std::vector<CUdeviceptr> firstBuffers;
  std::vector<std::vector<uint64_t>> strides;
  std::vector<SizeArgument> loopSizes;
  CUdeviceptr firstTo = 0, firstFrom = 0;
  std::vector<uint64_t> toStrides, fromStrides;
  // Of a loop.
  uint64_t trips = 0;
  bool reverse = false;
  std::vector<CudaStep> body;

  /// Moves to an iteration; launches and nodes copy what they are given.
  void moveTo(const Iterations &iterations);
};

/// Sends commands either to a stream, timed or not, or into a graph. A loop is
/// sent iteration by iteration, as a kernel's arguments are numbers that the
/// host gives.
class CudaSink {
public:
  CudaSink(const CudaDriver &driver, const CudaCode &code,
           const Manifest &manifest, std::vector<KernelCounters> &counts)
      : driver(driver), code(code), manifest(manifest), counts(counts) {}

  CUstream stream = nullptr;
  CudaGraph *graph = nullptr;   ///< null: to the stream
  CudaTiming *timing = nullptr; ///< only with a stream
  const std::string *entry = nullptr;
  uint64_t call = 0;

  void step(CudaStep &step);
  /// `what` names the copy in a trace; it must be a literal. The node is that
  /// of the graph, if there is one.
  CUgraphNode copy(const CudaPlace &to, const CudaPlace &from, uint64_t bytes,
                   const char *what);

private:
  void launch(CudaStep &step);
  Iterations iterations; ///< of the loops that are being sent
  void beginTiming();
  void endTiming(const char *what, uint64_t bytes);
  const CudaDriver &driver;
  const CudaCode &code;
  const Manifest &manifest;
  std::vector<KernelCounters> &counts;
};

} // namespace tdsrt

#endif // TDS_CUDA_CUDACOMMANDS_H
