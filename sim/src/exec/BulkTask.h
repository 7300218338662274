//===- BulkTask.h - what bulk and tensor copies share -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TDSL_SIM_EXEC_BULKTASK_H
#define TDSL_SIM_EXEC_BULKTASK_H

#include "exec/Access.h"
#include "exec/Async.h"
#include "exec/Bulk.h"
#include "exec/Cluster.h"

namespace tds::sim {

/// Operand words of one bulk instruction, as decode/DecodeAsync.cpp lays them
/// out in Code::ext.
struct BulkOperands {
  Warp &w;
  const u32 *words;
  u64 address(u32 index, int lane) const {
    const u32 *a = words + 4 * index;
    s64 offset = (s64)((u64)a[2] | (u64)a[3] << 32);
    switch (a[1]) {
    case 0:
      return w.reg<u64>(a[0])[lane] + (u64)offset;
    case 1:
      return (u32)(w.reg<u32>(a[0])[lane] + (u32)offset);
    default:
      return (u64)offset;
    }
  }
  u32 value(u32 index, int lane) const {
    return w.reg<u32>(words[bulkAddresses * 4 + index])[lane];
  }
  bool has(u32 index) const {
    return words[bulkAddresses * 4 + index] != noReg;
  }
};

/// A place in the block's own shared memory; `what` as for clusterPlace().
u32 bulkPlace(Warp &w, int lane, u64 address, u64 bytes, u32 align,
              const char *what);

/// Where a copy puts its bytes, and the mbarrier it reports to: both in one
/// block, or at the same offsets of several.
struct BulkDestination {
  u32 at, barrier;
  std::vector<Block *> blocks;
};
BulkDestination bulkDestination(Warp &w, const Op &o, const BulkOperands &x,
                                int lane, u32 bytes, u32 align,
                                const char *what);

/// A task of lane `lane`, ordered behind what its warp has done.
AsyncTask bulkTask(Warp &w, const Op &o, int lane);
/// Enters an access on the task's behalf into the race check.
void enterBulk(AsyncTask &t, const Block &block, u32 address, u32 bytes,
               bool write);

/// Queues a task for each block that is copied to; copy(task, block) does it.
template <class F>
void submitBulk(Warp &w, const Op &o, int lane, const BulkDestination &to,
                u32 bytes, F copy) {
  for (Block *block : to.blocks) {
    AsyncTask t = bulkTask(w, o, lane);
    t.barrier = to.barrier;
    t.bytes = bytes;
    t.run = [copy, block](AsyncTask &t) { copy(t, *block); };
    block->async->submit(*block, std::move(t));
  }
}

/// Combines `bytes` from `from` into `to`, element by element.
void bulkReduce(u8 *to, const u8 *from, u32 bytes, BulkReduce kind, Ty type);

// Handlers of tensor copies.
void bulkTensorLoad(Warp &w, const Op &o);
void bulkTensorStore(Warp &w, const Op &o);
void bulkTensorPrefetch(Warp &w, const Op &o);
void bulkMapPrefetch(Warp &w, const Op &o);

} // namespace tds::sim

#endif // TDSL_SIM_EXEC_BULKTASK_H
