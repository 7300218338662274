//===- Cluster.cpp - clusters of one block ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A launch has clusters of one block here, so that a cluster's barrier is one
// of the block, and every mapped address the block's own. Arrival and wait are
// two instructions: a phase is complete when all running threads have arrived.
//
//===----------------------------------------------------------------------===//

#include "exec/Cluster.h"
#include "decode/Registry.h"
#include "exec/Access.h"
#include "exec/Async.h"

namespace tds::sim {

namespace {

void arrive(Warp &w, const Op &o) {
  Block &block = *w.block;
  if (o.aux && w.mask != w.alive)
    w.fault(FaultKind::BarrierDivergence,
            "barrier.cluster.arrive.aligned reached by a part of a warp",
            __builtin_ctz(w.mask));
  if (w.clusterArrived & w.mask)
    w.fault(FaultKind::BadOperand,
            "barrier.cluster.arrive twice without a wait between",
            __builtin_ctz(w.clusterArrived & w.mask));
  w.clusterArrived |= w.mask;
  w.clusterPhase = block.clusterPhase;
  if (block.clocks && !o.aux2) {
    if (!block.clusterView)
      block.clusterView = std::make_shared<View>();
    block.clocks->release(w, *block.clusterView);
  }
  block.barriersMoved = true;
  completeCluster(block);
}

void wait(Warp &w, const Op &o) {
  Block &block = *w.block;
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
  if (block.clusterPhase != w.clusterPhase)
    passCluster(w);
  else
    completeCluster(block);
}

void rankOfAddress(Warp &w, const Op &o) {
  storeLanes(w, w.reg<u32>(o.d), [](int) -> u32 { return 0; });
}
template <class T> void mapAddress(Warp &w, const Op &o) {
  const u32 *rank = w.reg<u32>(o.b);
  for (u32 m = w.mask; m; m &= m - 1)
    if (rank[__builtin_ctz(m)])
      w.fault(FaultKind::BadOperand,
              "mapa into another block: a cluster has one block here",
              __builtin_ctz(m));
  lanes1<T, T>(w, o, [](T a) { return a; });
}

} // namespace

void passCluster(Warp &w) {
  Block &block = *w.block;
  w.blocked &= ~w.clusterWait;
  w.clusterArrived &= ~w.clusterWait;
  w.clusterWait = 0;
  if (block.clocks && block.clusterView)
    block.clocks->acquire(w, *block.clusterView);
}

bool completeCluster(Block &block) {
  bool any = false;
  for (const Warp &w : block.warps) {
    u32 arrived = w.clusterPhase == block.clusterPhase ? w.clusterArrived : 0;
    any |= arrived != 0;
    if (w.alive & ~arrived)
      return false;
  }
  if (!any)
    return false;
  ++block.clusterPhase;
  ++block.events;
  for (Warp &w : block.warps)
    if (w.clusterWait)
      passCluster(w);
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
    r.plain("getctarank" + s + ".u32", rankOfAddress, Ty::U32, {Ty::U32}, 78,
            90);
    r.plain("getctarank" + s + ".u64", rankOfAddress, Ty::U32, {Ty::U64}, 78,
            90);
  }
}

} // namespace tds::sim
