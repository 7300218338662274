//===- Async.h - copies that run beside the warps ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bulk copies and tensor copies are queued as tasks. A task runs when its
// schedule says so: at once (eager), when somebody asks for its completion
// (lazy), or at any moment between (mixed). Tasks report to an mbarrier, or
// belong to a thread's bulk group.
//
//===----------------------------------------------------------------------===//
#ifndef TDSL_SIM_EXEC_ASYNC_H
#define TDSL_SIM_EXEC_ASYNC_H

#include "check/Clocks.h"

#include <deque>
#include <functional>

namespace tds::sim {

constexpr u32 noBarrier = ~0u;

struct AsyncTask {
  Warp *warp = nullptr; // that issued it
  const Op *op = nullptr;
  const Code *code = nullptr;
  int lane = 0;
  u32 barrier = noBarrier;  // shared address of the mbarrier it reports to
  bool readsShared = false; // of the issuing warp's block
  s64 bytes = 0;            // that it reports
  AsyncStamp stamp;
  std::function<void(AsyncTask &)> run;
  bool done = false;
};

class AsyncState {
public:
  void reset();
  /// Queues a task that reports to an mbarrier of `block`, whose queue this
  /// is; runs it now if it is due.
  void submit(Block &block, AsyncTask task);
  /// Queues a task of the issuing thread's open bulk group.
  void submitToGroup(Block &block, AsyncTask task);
  void commitGroup(u32 thread);
  /// Waits until at most `keep` of the thread's groups are unfinished.
  void waitGroups(Warp &w, int lane, size_t keep);

  /// Runs what reports to the mbarrier at `address`, one after the other, until
  /// done() holds.
  template <class F> void runUntil(Block &block, u32 address, F done) {
    while (!done() && runOne(block, address))
      ;
  }
  /// Runs a few tasks by chance (mixed schedule).
  void stir(Block &block);
  /// Runs all that is queued; false if nothing was.
  bool flush(Block &block);
  /// A task of the block that nobody has waited for, or null.
  const AsyncTask *unfinished() const;
  /// One that still has to read the shared memory of `block`, or null.
  const AsyncTask *unfinishedFrom(const Block &block) const;

  /// Views of an mbarrier: of the open phase and of the complete ones.
  struct PhaseViews {
    View open, complete;
  };
  std::map<u32, PhaseViews> phases;

private:
  bool runOne(Block &block, u32 address);
  void perform(Block &block, AsyncTask &task);
  std::deque<AsyncTask> pending; // on mbarriers
  struct Groups {
    std::vector<AsyncTask> open;
    std::deque<std::vector<AsyncTask>> committed;
  };
  std::map<u32, Groups> groups; // by thread of the block
};

/// Whether an asynchronous operation runs at once under the schedule.
bool runsAtOnce(Block &block);

/// `bytes` of the mbarrier's expectation have come (mbarrier.complete_tx).
void completeBytes(Block &block, u32 address, s64 bytes,
                   const AsyncStamp *stamp);
/// What the mbarrier at `address` waits for, for reports.
std::string describePhase(Block &block, u32 address);

} // namespace tds::sim

#endif // TDSL_SIM_EXEC_ASYNC_H
