//===- BlockRunner.h - runs one block ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TDSL_SIM_EXEC_BLOCKRUNNER_H
#define TDSL_SIM_EXEC_BLOCKRUNNER_H

#include "check/Clocks.h"
#include "check/Shadow.h"
#include "exec/Async.h"
#include "exec/Run.h"

#include <atomic>

namespace tds::sim {

enum class Stop { Done, Blocked, Yield, Share };

/// Advances a warp by at most `share` operations until it waits, ends or stands
/// back; adds what it has executed to `steps`.
Stop runWarp(Warp &w, u64 share, u64 &steps);
/// Gives immediates and special registers of `code` their values.
void fillFrame(Warp &w, const Code &code, u8 *regs);
/// Lanes `lanes` enter the function that `o` calls, or return to their callers.
void doCall(Warp &w, const Op &o, u32 lanes);
void doReturn(Warp &w, u32 lanes);
/// What users read about a fault.
void describe(const LaunchInfo &launch, const Block &block, const Fault &fault,
              Report &report);

/// A block with the memory that it needs; used again for the next block.
class BlockRunner {
public:
  /// `clocks`: the cluster's race checker, or null where the block has its own
  /// or none.
  BlockRunner(const LaunchInfo &launch, std::atomic<u64> &work, Clocks *clocks);

  void start(const u32 index[3]);
  /// Runs for about `budget` steps; true when the block has ended.
  bool resume(u64 budget);
  Block &state() { return block; }
  /// Whether the last resume() ended because every warp only asks again and
  /// again for what has not come.
  bool spins() const { return spinning; }
  /// Whether only another block of the cluster can get this one on.
  bool hopeless() const { return stuck || phaseRounds > maxPhaseRounds; }
  /// Adds to `fault` where each warp waits, and the place of the first.
  void describeWaits(Fault &fault);

private:
  static constexpr u64 maxPhaseRounds = 4000;
  [[noreturn]] void deadlock();
  bool completeBarriers();
  void finish();
  bool completeBarrier(NamedBarrier &b, u32 id);

  const LaunchInfo &launch;
  std::atomic<u64> &work; // grows while any block of the launch gets on
  Block block;
  Shadow shadow;
  AsyncState async;
  std::vector<u8> sharedStorage;
  std::unique_ptr<u8[]> regStorage, localStorage;
  std::vector<u8 *> rootRegs;
  std::vector<u32> order;
  u32 frameBytes = 0, localStride = 0;
  u64 idleRounds = 0;
  u64 phaseRounds = 0, lastEvents = 0; // rounds in which all wait for phases
  bool spinning = false;
  bool stuck = false; // no warp can go on, and some wait for the cluster
};

} // namespace tds::sim

#endif // TDSL_SIM_EXEC_BLOCKRUNNER_H
