//===- CudaStorage.h - all memory of a program on a GPU -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDS_CUDA_CUDASTORAGE_H
#define TDS_CUDA_CUDASTORAGE_H

#include "cuda/CudaCommands.h"

namespace tdsrt {

/// One of the calls of an entry that may be in flight.
struct CudaSlot {
  CudaBlock input;
  std::vector<CudaStep> steps; ///< with the addresses of this input
  // From here on made at the first call with host memory.
  bool prepared = false;
  CudaPinned staged, fetched;
  CudaEvent uploaded, done;
  std::unique_ptr<CudaGraph> graph;
  uint64_t call = 0;
};

/// A call with the caller's memory as a graph.
struct CudaDeviceGraph {
  std::vector<bool> given;        ///< by input and result: not null
  std::vector<CudaPlace> places;  ///< of the caller, by copy
  std::vector<CUgraphNode> nodes; ///< the copies
  std::unique_ptr<CudaGraph> graph;
  uint64_t lastUse = 0;
};

struct CudaEntry {
  CudaBlock result;
  uint64_t runs = 0; ///< launches, copies and fills of a call
  std::array<CudaSlot, callSlots> slots;
  /// What is copied to the host with each call: flags and small results.
  struct Range {
    uint64_t offset, bytes;
  };
  std::vector<Range> fetched;
  std::vector<bool> isFetched; ///< by result
  CudaPinned defaults;         ///< as the input slot; made when needed
  std::vector<CudaDeviceGraph> deviceGraphs;
};

/// Slabs, constants, the arena and the slots of all entries, and the entries'
/// commands with their addresses. All members need the context to be current.
class CudaStorage {
public:
  /// Takes all device memory, in the order of `stream` where the device has
  /// pools, and queues the copies of the constants there.
  CudaStorage(const Artifact &artifact, const CudaDevice &device,
              const MemoryPlan &plan, CUstream stream);

  CUdeviceptr addressOf(Address at, unsigned slot = 0) const;

  /// A slot with its host memory and events, which its first call makes.
  CudaSlot &prepared(uint32_t entry, unsigned slot);
  /// Page-locked copies of the defaults of an entry's inputs, laid out as its
  /// input slot.
  char *defaults(uint32_t entry);

  std::vector<CudaBlock> slabs;
  std::vector<CudaEntry> entries;

private:
  CudaBlock block(uint64_t bytes, const char *what);
  void allocate(const MemoryPlan &plan);
  void resolve(uint32_t entry);
  std::vector<CudaStep> resolve(uint32_t entry, unsigned slot,
                                const std::vector<Command> &commands) const;
  const Artifact &artifact;
  const CudaDevice &device;
  const CudaDriver &driver;
  CUstream stream;
  std::vector<CudaBlock> constants;
  CudaBlock arena;
};

} // namespace tdsrt

#endif // TDS_CUDA_CUDASTORAGE_H
