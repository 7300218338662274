//===- ClusterRunner.cpp - runs the blocks of a cluster ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of a cluster are guaranteed to run at the same time (PTX manual,
// "Cluster of Cooperative Thread Arrays"). Here they take turns on one host
// thread, so that their shared memories need no locks.
//
//===----------------------------------------------------------------------===//

#include "exec/Cluster.h"

#include <numeric>

namespace tds::sim {

ClusterRunner::ClusterRunner(const LaunchInfo &launch, std::atomic<u64> &work)
    : launch(launch) {
  const bool checked = launch.checks.init || launch.checks.sharedRace;
  const bool byClocks =
      checked && (launch.entry->usesAsync || launch.clusterBlocks > 1);
  for (u32 i = 0; i < launch.clusterBlocks; ++i) {
    runners.push_back(std::make_unique<BlockRunner>(
        launch, work, byClocks ? &clocks : nullptr));
    Block &block = runners.back()->state();
    block.cluster = &cluster;
    block.rank = i;
    cluster.blocks.push_back(&block);
  }
  order.resize(launch.clusterBlocks);
  std::iota(order.begin(), order.end(), 0);
  if (launch.schedule.order == Schedule::Reverse)
    std::reverse(order.begin(), order.end());
}

void ClusterRunner::start(u64 linear) {
  cluster.phase = 0;
  cluster.view.reset();
  rng = launch.schedule.seed * 0x9e3779b97f4a7c15ull + linear * 2 + 1;
  u64 first[3];
  u64 rest = linear;
  for (int d = 0; d < 3; ++d) {
    u64 clusters = launch.grid[d] / launch.cluster[d];
    first[d] = rest % clusters * launch.cluster[d];
    rest /= clusters;
  }
  for (u32 rank = 0; rank < runners.size(); ++rank) {
    u32 index[3];
    u32 inside = rank;
    for (int d = 0; d < 3; ++d) {
      index[d] = (u32)first[d] + inside % launch.cluster[d];
      inside /= launch.cluster[d];
    }
    runners[rank]->start(index);
  }
  if (cluster.blocks.front()->clocks)
    clocks.reset(cluster, launch.warps, launch.sharedBytes,
                 launch.granuleShift);
}

bool ClusterRunner::resume(u64 budget) {
  if (runners.size() == 1) {
    bool ended = runners.front()->resume(budget);
    spinning = runners.front()->spins();
    return ended;
  }
  const bool random = launch.schedule.order == Schedule::Random;
  u64 done = 0;
  u32 idle = 0;
  spinning = false;
  for (;;) {
    if (random)
      for (u32 i = (u32)order.size(); i > 1; --i) {
        rng = rng * 6364136223846793005ull + 1442695040888963407ull;
        std::swap(order[i - 1], order[(u32)(rng >> 33) % i]);
      }
    bool live = false, worked = false, hopeful = false;
    for (u32 rank : order) {
      BlockRunner &runner = *runners[rank];
      Block &block = runner.state();
      if (block.ended)
        continue;
      live = true;
      const u64 before = block.steps;
      if (runner.resume(random ? 1 + (rng >> 40) % 512 : 20000)) {
        block.ended = true;
        worked = true;
        // Threads that have ended are not waited for.
        completeCluster(cluster);
      } else {
        worked |= !runner.spins();
        hopeful |= !runner.hopeless();
      }
      done += block.steps - before;
    }
    if (!live)
      return true;
    if (!worked && !hopeful)
      deadlock();
    idle = worked ? 0 : idle + 1;
    spinning = idle >= 4;
    if (spinning || done >= budget)
      return false;
  }
}

void ClusterRunner::deadlock() {
  Fault f;
  f.kind = FaultKind::Deadlock;
  f.what = runners.size() == 1 ? "no warp of the block can go on:"
                               : "no warp of the cluster can go on:";
  for (auto &runner : runners)
    if (!runner->state().ended)
      runner->describeWaits(f);
  throw f;
}

} // namespace tds::sim
