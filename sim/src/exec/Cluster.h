//===- Cluster.h - blocks that see each other's shared memory ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Note: an address of shared::cluster is an address of the block's own shared
// memory, or one that mapa has made: bits 24 and up are then the block's rank
// in the cluster plus one. A generic address has the same bits in the window of
// shared memory. So a mapped address in an instruction on .shared lies far out
// of bounds, as it should.
//
//===----------------------------------------------------------------------===//
#ifndef TDSL_SIM_EXEC_CLUSTER_H
#define TDSL_SIM_EXEC_CLUSTER_H

#include "exec/BlockRunner.h"

namespace tds::sim {

constexpr u32 clusterRankShift = 24;

/// A place in the shared memory of a block of the cluster.
struct ClusterPlace {
  Block *block;
  u32 at;
  u8 *pointer() const { return block->shared + at; }
};
/// Where a lane's shared::cluster or generic address lies. Faults, with `what`
/// as the subject, where it is no address of a running block's shared memory.
ClusterPlace clusterPlace(Warp &w, int lane, u64 address, u32 bytes, u32 align,
                          const std::string &what);

/// Ends the phase of the cluster's barrier if all running threads have
/// arrived; true if it did.
bool completeCluster(Cluster &cluster);
/// The lanes of `w` that wait at the cluster's barrier go on.
void passCluster(Warp &w);

/// Runs the blocks of one cluster in turns, or the only block of a launch
/// without clusters; used again for the next cluster.
class ClusterRunner {
public:
  ClusterRunner(const LaunchInfo &launch, std::atomic<u64> &work);

  void start(u64 linear);
  /// Runs for about `budget` steps; true when all blocks have ended.
  bool resume(u64 budget);
  /// Whether the last resume() ended because nobody got on.
  bool spins() const { return spinning; }
  [[noreturn]] void deadlock();
  /// A block for reports that name none.
  const Block &state() { return runners.front()->state(); }

private:
  const LaunchInfo &launch;
  Cluster cluster;
  Clocks clocks;
  std::vector<std::unique_ptr<BlockRunner>> runners; // by rank
  std::vector<u32> order;
  u64 rng = 1;
  bool spinning = false;
};

} // namespace tds::sim

#endif // TDSL_SIM_EXEC_CLUSTER_H
