//===- Clocks.h - happens-before between warps and copies -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The exact race check of shared memory, for kernels that order warps by more
// than barriers of the whole block: mbarriers, named barriers, bulk copies,
// wgmma. (Others use the cheaper check of check/Shadow.h.)
//
// Note: an agent is a warp, or what a warp has set going asynchronously. A
// block counts ticks; each agent's accesses carry the tick of its last
// release. A warp's view says up to which tick it has seen every agent:
// barriers and mbarriers join views, as vector clocks do. Two accesses race if
// one writes and the later one's view does not reach the earlier one's tick.
// Views are kept by warp, not by thread; that can hide a race but reports none
// that is not there.
//
// Note: a view has two halves. What generic-proxy writes a bulk copy or wgmma
// may read is the half that also passed through a fence.proxy.async.
//
//===----------------------------------------------------------------------===//
#ifndef TDSL_SIM_CHECK_CLOCKS_H
#define TDSL_SIM_CHECK_CLOCKS_H

#include "exec/Warp.h"

#include <vector>

namespace tds::sim {

/// Up to which tick every agent's accesses have been seen, and which of them
/// through a proxy fence.
struct View {
  std::vector<u32> seen, proxied;
  void join(const View &other);
};

/// An asynchronous operation's place in the order.
struct AsyncStamp {
  u32 agent = 0, tick = 0;
  View view; // of the issuing warp when it was issued
};

class Clocks {
public:
  /// For a cluster of blocks of `warps` warps, each with `sharedBytes` of
  /// shared memory, checked in granules of 1 << shift bytes.
  void reset(Cluster &cluster, u32 warps, u32 sharedBytes, u32 shift);

  /// The lanes of `w` are ordered from here on.
  void warpSync(Warp &w);
  /// What `w` has done so far, and seen, enters `into`.
  void release(const Warp &w, View &into);
  void acquire(Warp &w, const View &from);
  /// All of `waiting` have met at a barrier, after what entered `arrived`.
  void meet(const std::vector<Warp *> &waiting, View &arrived);
  void proxyFence(const Warp &w);

  AsyncStamp issue(const Warp &w);
  /// An operation is complete; who acquires `into` has seen it.
  void complete(const AsyncStamp &stamp, View &into);
  void completeFor(const Warp &w, const AsyncStamp &stamp);

  /// Enters an access of `bytes` to the shared memory of `target` by a thread,
  /// or (`async`) on its behalf.
  /// Faults on a race, on a read of what nothing has written, and on an
  /// asynchronous read that no proxy fence precedes.
  void access(Warp &w, int lane, const Block &target, u32 address, u32 bytes,
              bool write, const AsyncStamp *async = nullptr);
  void access(Warp &w, int lane, u32 address, u32 bytes, bool write,
              const AsyncStamp *async = nullptr) {
    access(w, lane, *w.block, address, bytes, write, async);
  }
  void atomic(Warp &w, int lane, const Block &target, u32 address, u32 bytes);

private:
  u32 next();
  std::string name(u32 agent, u32 lane) const;
  [[noreturn]] void race(Warp &w, int lane, u32 address, const char *mine,
                         const char *theirs, u32 agent, u32 lane2,
                         bool async) const;
  u32 *cell(const Block &target, u32 address) {
    return &cells[(target.rank * (size_t)granules + (address >> shift)) *
                  stride];
  }

  Cluster *cluster = nullptr;
  u32 warps = 0; // of the cluster
  u32 blockWarps = 0, agents = 0, maskWords = 0, granules = 0;
  u32 shift = 2, stride = 0, tick = 1;
  std::vector<View> views;
  std::vector<u32> own;
  std::vector<u32> cells;
};

} // namespace tds::sim

#endif // TDSL_SIM_CHECK_CLOCKS_H
