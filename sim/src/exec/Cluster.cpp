//===- Cluster.cpp - barriers and addresses of a cluster --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX manual, "barrier.cluster", "mapa", "getctarank" and "Cluster of
// Cooperative Thread Arrays". Arrival and wait are two instructions: a phase is
// complete when all threads of the cluster that have not ended have arrived.
//
//===----------------------------------------------------------------------===//

#include "exec/Cluster.h"
#include "check/BlockOrder.h"
#include "decode/Registry.h"
#include "exec/Access.h"
#include "exec/Async.h"

namespace tds::sim {

namespace {

void arrive(Warp &w, const Op &o) {
  Block &block = *w.block;
  Cluster &cluster = *block.cluster;
  if (o.aux && w.mask != w.alive)
    w.fault(FaultKind::BarrierDivergence,
            "barrier.cluster.arrive.aligned reached by a part of a warp",
            __builtin_ctz(w.mask));
  if (w.clusterArrived & w.mask)
    w.fault(FaultKind::BadOperand,
            "barrier.cluster.arrive twice without a wait between",
            __builtin_ctz(w.clusterArrived & w.mask));
  w.clusterArrived |= w.mask;
  w.clusterPhase = cluster.phase;
  if (!o.aux2) {
    if (!cluster.view)
      cluster.view = std::make_shared<View>();
    if (block.clocks)
      block.clocks->release(w, *cluster.view);
  }
  block.barriersMoved = true;
  completeCluster(cluster);
}

void wait(Warp &w, const Op &o) {
  Cluster &cluster = *w.block->cluster;
  if (o.aux && w.mask != w.alive)
    w.fault(FaultKind::BarrierDivergence,
            "barrier.cluster.wait.aligned reached by a part of a warp",
            __builtin_ctz(w.mask));
  if ((w.clusterArrived & w.mask) != w.mask)
    w.fault(FaultKind::BadOperand,
            "barrier.cluster.wait without an arrival before it",
            __builtin_ctz(w.mask & ~w.clusterArrived));
  w.clusterWait |= w.mask;
  w.blocked |= w.mask;
  if (cluster.phase != w.clusterPhase)
    passCluster(w);
  else
    completeCluster(cluster);
}

/// The rank that an address names; the own one where it is not mapped.
u32 rankOf(const Warp &w, u64 address) {
  u32 rank = (u32)address >> clusterRankShift;
  return rank ? rank - 1 : w.block->rank;
}
template <class T> void rankOfAddress(Warp &w, const Op &o) {
  const T *a = w.reg<T>(o.a);
  storeLanes(w, w.reg<u32>(o.d), [&](int i) { return rankOf(w, a[i]); });
}
/// An address of the own block stays as it is.
template <class T> void mapAddress(Warp &w, const Op &o) {
  const u32 *rank = w.reg<u32>(o.b);
  const u32 size = w.block->launch->clusterBlocks;
  for (u32 m = w.mask; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    if (rank[i] >= size)
      w.fault(FaultKind::BadOperand,
              "mapa to rank " + std::to_string(rank[i]) + ": the cluster has " +
                  std::to_string(size) + (size == 1 ? " block" : " blocks"),
              i);
  }
  const T *a = w.reg<T>(o.a);
  const T inside = ((T)1 << clusterRankShift) - 1;
  storeLanes(w, w.reg<T>(o.d), [&](int i) -> T {
    T window = sizeof(T) == 8 ? a[i] & (T)windowMask : 0;
    T mapped =
        rank[i] == w.block->rank ? 0 : (T)(rank[i] + 1) << clusterRankShift;
    return window | mapped | (a[i] & inside);
  });
}

} // namespace

Handler explicitClusterHandler() {
  return [](Warp &w, const Op &o) {
    setPred(w, o.d, w.block->launch->explicitCluster ? ~0u : 0u);
  };
}

ClusterPlace clusterPlace(Warp &w, int lane, u64 address, u32 bytes, u32 align,
                          const std::string &what) {
  if ((address & windowMask) == sharedWindow)
    address &= ~windowMask;
  char text[32];
  snprintf(text, sizeof text, "0x%llx", (unsigned long long)address);
  const Cluster &cluster = *w.block->cluster;
  const u32 rank = rankOf(w, address);
  if (address >> 32)
    w.fault(FaultKind::OutOfBounds,
            what + " at " + text + ", which is not a shared address", lane);
  if (rank >= cluster.blocks.size())
    w.fault(FaultKind::OutOfBounds,
            what + " at " + text + ", which names rank " +
                std::to_string(rank) + " of a cluster of " +
                std::to_string(cluster.blocks.size()),
            lane);
  Block &block = *cluster.blocks[rank];
  const std::string whose = &block == w.block
                                ? "the block"
                                : "the block of rank " + std::to_string(rank);
  const u32 at = (u32)address & ((1u << clusterRankShift) - 1);
  if (at > block.sharedBytes || bytes > block.sharedBytes - at)
    w.fault(FaultKind::OutOfBounds,
            what + " of " + std::to_string(bytes) +
                " bytes at shared address " + text + ": " + whose + " has " +
                std::to_string(block.sharedBytes) + " bytes of shared memory",
            lane);
  if (at & (align - 1))
    w.fault(FaultKind::Misaligned,
            what + " at shared address " + text +
                ", which is not a multiple of " + std::to_string(align),
            lane);
  if (block.ended)
    w.fault(FaultKind::OutOfBounds,
            what + " at shared address " + text + ": " + whose +
                " of the cluster has ended, and its shared memory with it; a "
                "barrier.cluster must hold it",
            lane);
  return {&block, at};
}

void passCluster(Warp &w) {
  Block &block = *w.block;
  w.blocked &= ~w.clusterWait;
  w.clusterArrived &= ~w.clusterWait;
  w.clusterWait = 0;
  const Cluster &cluster = *block.cluster;
  if (!cluster.view)
    return;
  if (block.clocks)
    block.clocks->acquire(w, *cluster.view);
  for (const Block *other : cluster.blocks)
    if (other != &block)
      orderBehind(block, *other);
}

bool completeCluster(Cluster &cluster) {
  bool any = false;
  for (const Block *block : cluster.blocks)
    for (const Warp &w : block->warps) {
      u32 arrived = w.clusterPhase == cluster.phase ? w.clusterArrived : 0;
      any |= arrived != 0;
      if (w.alive & ~arrived)
        return false;
    }
  if (!any)
    return false;
  ++cluster.phase;
  for (Block *block : cluster.blocks) {
    ++block->events;
    for (Warp &w : block->warps)
      if (w.clusterWait)
        passCluster(w);
  }
  return true;
}

void registerCluster(Registry &r) {
  OpInfo info;
  info.form = Form::Nothing;
  info.flow = Flow::Barrier;
  info.minPtx = 78;
  info.minSm = 90;
  for (bool aligned : {false, true}) {
    const std::string tail = aligned ? ".aligned" : "";
    info.aux = aligned;
    info.fn = arrive;
    info.aux2 = 0;
    r.add("barrier.cluster.arrive" + tail, info);
    info.minPtx = 80;
    r.add("barrier.cluster.arrive.release" + tail, info);
    info.aux2 = 1;
    r.add("barrier.cluster.arrive.relaxed" + tail, info);
    info.aux2 = 0;
    info.fn = wait;
    r.add("barrier.cluster.wait.acquire" + tail, info);
    info.minPtx = 78;
    r.add("barrier.cluster.wait" + tail, info);
  }
  for (const char *space : {"", ".shared::cluster"}) {
    std::string s = space;
    r.plain("mapa" + s + ".u32", mapAddress<u32>, Ty::U32, {Ty::U32, Ty::U32},
            78, 90);
    r.plain("mapa" + s + ".u64", mapAddress<u64>, Ty::U64, {Ty::U64, Ty::U32},
            78, 90);
    r.plain("getctarank" + s + ".u32", rankOfAddress<u32>, Ty::U32, {Ty::U32},
            78, 90);
    r.plain("getctarank" + s + ".u64", rankOfAddress<u64>, Ty::U32, {Ty::U64},
            78, 90);
  }
}

} // namespace tds::sim
