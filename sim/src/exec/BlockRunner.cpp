//===- BlockRunner.cpp - runs one block -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "exec/BlockRunner.h"
#include "exec/Cluster.h"
#include "exec/Lanes.h"
#include "exec/Wgmma.h"

#include <numeric>

namespace tds::sim {

BlockRunner::BlockRunner(const LaunchInfo &launch, std::atomic<u64> &work,
                         Clocks *clocks)
    : launch(launch), work(work) {
  u32 warps = launch.warps;
  const Code &entry = *launch.entry;
  block.launch = &launch;
  block.sharedBytes = launch.sharedBytes;
  sharedStorage.resize(launch.sharedBytes + 2048);
  block.shared = (u8 *)(((u64)sharedStorage.data() + 1023) & ~1023ull);
  block.clocks = clocks;
  if (!clocks && (launch.checks.init || launch.checks.sharedRace))
    block.shadow = &shadow;
  block.async = &async;
  frameBytes = (entry.frameBytes + 63) & ~63u;
  regStorage.reset(new u8[(size_t)frameBytes * warps + 64]);
  u8 *regs = (u8 *)(((u64)regStorage.get() + 63) & ~63ull);
  localStride = (entry.reachableLocalBytes + 15) & ~15u;
  localStorage.reset(new u8[(size_t)localStride * 32 * warps + 16]);
  u8 *local = (u8 *)(((u64)localStorage.get() + 15) & ~15ull);
  block.warps.resize(warps);
  for (u32 i = 0; i < warps; ++i) {
    Warp &w = block.warps[i];
    w.id = i;
    w.block = &block;
    w.regs = regs + (size_t)frameBytes * i;
    rootRegs.push_back(w.regs);
    w.local = local + (size_t)localStride * 32 * i;
    w.localStride = localStride;
  }
  order.resize(warps);
  std::iota(order.begin(), order.end(), 0);
}

static u8 *laneRegs(Warp &w, int lane) {
  return w.calls ? w.calls->current[lane]->regs : w.regs;
}

void BlockRunner::start(const u32 index[3]) {
  const LaunchInfo &l = launch;
  std::copy(index, index + 3, block.index);
  block.linear = index[0] + l.grid[0] * (index[1] + (u64)l.grid[1] * index[2]);
  block.ended = false;
  for (NamedBarrier &b : block.barriers)
    b = NamedBarrier();
  block.tick = block.blockSync = 1;
  block.rng = l.schedule.seed * 0x9e3779b97f4a7c15ull + block.linear * 2 + 1;
  block.steps = 0;
  block.fenced = false;
  block.seen.clear();
  block.seenCount = 0;
  memset(block.shared, 0xc7, block.sharedBytes);
  if (block.shadow)
    shadow.reset(block.sharedBytes, l.granuleShift);
  async.reset();
  block.events = lastEvents = phaseRounds = 0;
  idleRounds = 0;
  stuck = false;
  for (u32 i = 0; i < l.warps; ++i) {
    Warp &w = block.warps[i];
    u32 left = l.threads - i * 32;
    w.alive = left >= 32 ? ~0u : (1u << left) - 1;
    w.active = w.alive;
    w.mask = 0;
    w.agent = block.rank * l.warps + i;
    w.blocked = w.warpWait = w.collectiveWait = 0;
    w.clusterArrived = w.clusterWait = w.clusterPhase = 0;
    w.mma.reset();
    w.pc = 0;
    w.limit = ~0u;
    w.diverged = false;
    w.touched = false;
    w.syncStamp = 1;
    w.carry = 0;
    w.code = l.entry;
    w.regs = rootRegs[i];
    w.hit = Extent();
    w.op = nullptr;
    w.openCopies.clear();
    w.copyGroups.clear();
    memset(w.pcs, 0, sizeof w.pcs);
    fillFrame(w, *l.entry, w.regs);
    if (localStride)
      memset(w.local, 0xc7, (size_t)localStride * 32);
    if (l.entry->usesCalls) {
      w.calls = std::make_unique<CallState>();
      auto frame = std::make_unique<Frame>();
      frame->code = l.entry;
      frame->regs = w.regs;
      for (int lane = 0; lane < 32; ++lane)
        w.calls->current[lane] = frame.get();
      w.calls->frames[{0, l.entry->index}] = std::move(frame);
    }
  }
}

bool BlockRunner::completeBarrier(NamedBarrier &b, u32 id) {
  if (b.arrived == 0)
    return false;
  bool complete;
  if (b.expected) {
    complete = b.arrived >= b.expected;
    // The block's last warp may be part of one.
    if (b.arrived > b.expected) {
      Fault f;
      f.kind = FaultKind::BarrierDivergence;
      f.what = "barrier " + std::to_string(id) + " expects " +
               std::to_string(b.expected) + " threads, but " +
               std::to_string(b.arrived) + " have come";
      for (Warp &w : block.warps)
        if (b.waiting[w.id]) {
          f.code = w.code;
          f.op = w.barrierOp;
          f.warp = (int)w.id;
        }
      f.block = &block;
      throw f;
    }
  } else {
    complete = true;
    for (Warp &w : block.warps)
      complete &= (w.alive & ~b.waiting[w.id]) == 0;
  }
  if (!complete)
    return false;
  for (Warp &w : block.warps) {
    u32 lanes = b.waiting[w.id];
    if (!lanes)
      continue;
    w.blocked &= ~lanes;
    const Op &o = *w.barrierOp;
    if (o.d == noReg)
      continue;
    for (u32 m = lanes; m; m &= m - 1) {
      int i = __builtin_ctz(m);
      u8 *regs = laneRegs(w, i);
      if (o.aux == 0) {
        ((u32 *)(regs + o.d))[i] = b.votes;
        continue;
      }
      bool v = o.aux == 1 ? b.all : b.any;
      u32 *p = (u32 *)(regs + o.d);
      *p = (*p & ~(1u << i)) | (u32)v << i;
    }
  }
  if (block.clocks) {
    View none;
    std::vector<Warp *> waiting;
    for (Warp &w : block.warps)
      if (b.waiting[w.id])
        waiting.push_back(&w);
    block.clocks->meet(waiting, b.released ? *b.released : none);
    for (Warp *w : waiting)
      w->touched = false;
  } else {
    newTick(block, nullptr);
    for (Warp &w : block.warps)
      w.touched = false;
  }
  b = NamedBarrier();
  ++block.events;
  return true;
}

bool BlockRunner::completeBarriers() {
  bool any = completeCluster(*block.cluster);
  for (u32 id = 0; id < 16; ++id)
    any |= completeBarrier(block.barriers[id], id);
  return any;
}

void BlockRunner::describeWaits(Fault &f) {
  for (Warp &w : block.warps) {
    if (!w.alive)
      continue;
    if (!f.op) {
      f.code = w.code;
      f.op = w.op;
      f.warp = (int)w.id;
      f.block = &block;
    }
    f.what += "\n    ";
    if (launch.clusterBlocks > 1)
      f.what += "block rank " + std::to_string(block.rank) + ", ";
    f.what += "warp " + std::to_string(w.id) + ": ";
    for (u32 id = 0; id < 16; ++id)
      if (block.barriers[id].waiting[w.id])
        f.what += std::to_string(popcount(block.barriers[id].waiting[w.id])) +
                  " threads wait at barrier " + std::to_string(id) +
                  " (PTX line " +
                  std::to_string(w.barrierOp ? w.barrierOp->line : 0) + ", " +
                  std::to_string(block.barriers[id].arrived) + " of " +
                  (block.barriers[id].expected
                       ? std::to_string(block.barriers[id].expected)
                       : std::string("all")) +
                  " have come) ";
    if (w.collectiveWait)
      f.what += std::to_string(popcount(w.collectiveWait)) +
                " threads wait at a collective for lanes that do not come "
                "(PTX line " +
                std::to_string(w.op ? w.op->line : 0) + ") ";
    if (w.clusterWait)
      f.what += std::to_string(popcount(w.clusterWait)) +
                " threads wait at barrier.cluster.wait ";
    if (w.warpWait)
      f.what += std::to_string(popcount(w.warpWait)) +
                " threads wait at bar.warp.sync ";
    u32 running = w.alive & ~w.blocked;
    if (running && w.waitsForPhase)
      f.what += std::to_string(popcount(running)) + " threads wait for " +
                describePhase(block, w.phaseAddress) + " near PTX line " +
                std::to_string(w.op ? w.op->line : 0);
    else if (running)
      f.what += std::to_string(popcount(running)) +
                " threads spin near PTX line " +
                std::to_string(w.op ? w.op->line : 0);
  }
}

void BlockRunner::deadlock() {
  Fault f;
  f.kind = FaultKind::Deadlock;
  f.what = "no warp of the block can go on:";
  describeWaits(f);
  throw f;
}

/// Copies must be waited for while the block still has its memory.
void BlockRunner::finish() {
  const AsyncTask *task = async.unfinished();
  // Copies out of this block's memory into another block's.
  for (Block *other : block.cluster->blocks)
    if (!task && other != &block)
      task = other->async->unfinishedFrom(block);
  if (!task)
    return;
  Fault f;
  f.kind = FaultKind::AsyncInFlight;
  f.what = "the block ends while an asynchronous copy that it issued here has "
           "not been waited for";
  f.code = task->code;
  f.op = task->op;
  f.warp = (int)task->warp->id;
  f.lane = task->lane;
  f.block = task->warp->block;
  throw f;
}

bool BlockRunner::resume(u64 budget) {
  const Schedule &schedule = launch.schedule;
  const u64 limit = block.steps + budget;
  bool everWorked = false;
  stuck = false;
  for (;;) {
    if (schedule.order == Schedule::Random)
      for (u32 i = (u32)order.size(); i > 1; --i)
        std::swap(order[i - 1], order[block.random() % i]);
    else if (schedule.order == Schedule::Reverse)
      for (u32 i = 0; i < order.size(); ++i)
        order[i] = (u32)order.size() - 1 - i;
    bool live = false, ran = false, worked = false, phasesOnly = true;
    if (schedule.async == Schedule::Mixed)
      async.stir(block);
    for (u32 index : order) {
      Warp &w = block.warps[index];
      if (!w.alive)
        continue;
      live = true;
      if (!(w.alive & ~w.blocked))
        continue;
      ran = true;
      u64 share = schedule.order == Schedule::Random ? 1 + block.random() % 256
                                                     : 100000;
      w.waitsForPhase = false;
      const u64 before = block.steps;
      Stop stop = runWarp(w, share, block.steps);
      phasesOnly &= w.waitsForPhase;
      // A loop that only looks again and again is short.
      if (stop != Stop::Yield || block.steps - before > 64) {
        worked = everWorked = true;
        work.fetch_add(1, std::memory_order_relaxed);
      }
      if (stop == Stop::Done) {
        bool copies = !w.openCopies.empty();
        for (const auto &group : w.copyGroups)
          copies |= !group.empty();
        if (copies)
          w.fault(FaultKind::AsyncInFlight,
                  "a warp ends while its cp.async copies are in flight: "
                  "wait for them first");
        if (w.mma && w.mma->inFlight)
          w.fault(FaultKind::AsyncInFlight,
                  "a warp ends while its wgmma operations are in flight: wait "
                  "for them first");
      }
      if (stop == Stop::Blocked || stop == Stop::Done || block.barriersMoved) {
        block.barriersMoved = false;
        completeBarriers();
      }
    }
    if (!live) {
      finish();
      return true;
    }
    if (!ran && !completeBarriers()) {
      bool any = false;
      for (Warp &w : block.warps)
        any |= (w.alive & ~w.blocked) != 0;
      bool waits = false;
      for (const Warp &w : block.warps)
        waits |= w.clusterWait != 0;
      if (!any && waits && launch.clusterBlocks > 1) {
        stuck = true;
        spinning = !everWorked;
        idleRounds = 0;
        return false;
      }
      if (!any)
        deadlock();
    }
    // Where every warp that can run waits for an mbarrier, and none of them
    // has moved for long, none will: only the block itself, or others of its
    // cluster, can move them.
    if (ran && !worked && phasesOnly && block.events == lastEvents) {
      if (++phaseRounds == 1000)
        async.flush(block);
      else if (hopeless() && launch.clusterBlocks == 1)
        deadlock();
    } else {
      phaseRounds = 0;
      lastEvents = block.events;
    }
    if (launch.maxSteps && block.steps > launch.maxSteps) {
      Fault f;
      f.kind = FaultKind::StepLimit;
      for (Warp &w : block.warps)
        if (w.alive & ~w.blocked) {
          f.code = w.code;
          f.op = w.op;
          f.warp = (int)w.id;
        }
      f.block = &block;
      f.what = "the block has executed " + std::to_string(block.steps) +
               " warp instructions and still runs; if that is meant, raise "
               "TDS_SIM_MAX_STEPS";
      throw f;
    }
    // A block in which every warp asks to stand back waits for another block.
    idleRounds = worked ? 0 : idleRounds + 1;
    if (block.steps >= limit || idleRounds >= 4) {
      spinning = idleRounds >= 4;
      idleRounds = 0;
      return false;
    }
  }
}

} // namespace tds::sim
