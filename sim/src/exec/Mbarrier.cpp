//===- Mbarrier.cpp - barriers that live in shared memory -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX manual, "mbarrier". The state is the object's eight bytes: arrivals still
// missing in the phase, arrivals expected in each, the phase's number modulo
// two, and the bytes still expected (signed). The layout is the simulator's
// own; a program may not look inside. For the race checker an arrival releases
// what the warp has done, and a wait that succeeds acquires what was released
// in the phase.
//
//===----------------------------------------------------------------------===//

#include "exec/Mbarrier.h"
#include "check/BlockOrder.h"
#include "decode/Registry.h"
#include "exec/Access.h"
#include "exec/Async.h"
#include "exec/Cluster.h"

namespace tds::sim {

namespace {

constexpr u64 countMax = (1u << 20) - 1;

struct State {
  u32 pending, expected;
  bool phase;
  s64 bytes;
};
State unpack(u64 v) {
  return {(u32)(v & countMax), (u32)(v >> 20 & countMax), (bool)(v >> 40 & 1),
          (s64)v >> 41};
}
u64 pack(const State &s) {
  return (u64)s.pending | (u64)s.expected << 20 | (u64)s.phase << 40 |
         (u64)s.bytes << 41;
}
void store(Block &block, u32 address, State s) {
  ++block.events;
  if (s.pending == 0 && s.bytes == 0) {
    s.phase = !s.phase;
    s.pending = s.expected;
    if (block.clocks) {
      AsyncState::PhaseViews &views = block.async->phases[address];
      views.complete = views.open;
    }
  }
  u64 v = pack(s);
  memcpy(block.shared + address, &v, 8);
}
State load(const Block &block, u32 address) {
  u64 v;
  memcpy(&v, block.shared + address, 8);
  return unpack(v);
}
void release(Warp &w, Block &block, u32 address) {
  if (block.clocks)
    block.clocks->release(w, block.async->phases[address].open);
  if (&block != w.block)
    orderBehind(block, *w.block);
}

/// Lane `i`'s barrier, which may lie in another block of the cluster. Such a
/// one must have been set up before, and in an order that the checker sees.
ClusterPlace barrierPlace(Warp &w, int i, u64 address) {
  ClusterPlace place = clusterPlace(w, i, address, 8, 8, "mbarrier");
  if (place.block != w.block && place.block->clocks)
    place.block->clocks->atomic(w, i, *place.block, place.at, 8);
  return place;
}

/// The shared address of lane `i`'s barrier, which only threads of its own
/// block may use so.
u32 placeOf(Warp &w, int i, u64 address, bool init) {
  ClusterPlace place = clusterPlace(w, i, address, 8, 8, "mbarrier");
  if (place.block != w.block)
    w.fault(FaultKind::BadOperand,
            "an mbarrier of another block of the cluster: only arrivals "
            "without a token and byte counts reach it",
            i);
  if (w.block->checked() && init)
    checkSharedLane(w, i, place.at, 8, true);
  return place.at;
}

template <class F> void forLanes(Warp &w, const Op &o, bool init, F f) {
  u64 address[32];
  laneAddresses(w, o.a, o.aux, o.imm, address);
  for (u32 m = w.mask; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    f(i, placeOf(w, i, address[i], init));
  }
}

template <class F> void forClusterLanes(Warp &w, const Op &o, F f) {
  u64 address[32];
  laneAddresses(w, o.a, o.aux, o.imm, address);
  for (u32 m = w.mask; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    ClusterPlace place = barrierPlace(w, i, address[i]);
    f(i, *place.block, place.at);
  }
}

void init(Warp &w, const Op &o) {
  const u32 *count = w.reg<u32>(o.b);
  forLanes(w, o, true, [&](int i, u32 at) {
    if (count[i] == 0 || count[i] > countMax)
      w.fault(FaultKind::BadOperand,
              "mbarrier.init with a count of " + std::to_string(count[i]), i);
    u64 v = pack({count[i], count[i], false, 0});
    memcpy(w.block->shared + at, &v, 8);
    w.block->async->phases.erase(at);
    ++w.block->events;
  });
}
void invalidate(Warp &w, const Op &o) {
  forLanes(w, o, false,
           [&](int, u32 at) { memset(w.block->shared + at, 0, 8); });
}

/// aux2: 1 the operand is a number of bytes to expect, 2 drop.
void arrive(Warp &w, const Op &o) {
  forClusterLanes(w, o, [&](int i, Block &block, u32 at) {
    if (&block != w.block && o.d != noReg)
      w.fault(FaultKind::BadOperand,
              "mbarrier.arrive at another block's barrier gives no token: "
              "write _ for it",
              i);
    State s = load(block, at);
    u64 token = pack(s);
    u32 n = 1;
    if (o.aux2 & 1)
      s.bytes += w.reg<u32>(o.b)[i];
    else if (o.b != noReg)
      n = w.reg<u32>(o.b)[i];
    if (n == 0 || n > s.pending)
      w.fault(FaultKind::BadOperand,
              "mbarrier.arrive of " + std::to_string(n) + " where " +
                  std::to_string(s.pending) + " arrivals are missing",
              i);
    release(w, block, at);
    if (o.aux2 & 2)
      s.expected -= n;
    s.pending -= n;
    store(block, at, s);
    if (o.d != noReg)
      w.reg<u64>(o.d)[i] = token;
  });
}
void expectBytes(Warp &w, const Op &o) {
  const u32 *n = w.reg<u32>(o.b);
  forClusterLanes(w, o, [&](int i, Block &block, u32 at) {
    State s = load(block, at);
    s.bytes += n[i];
    u64 v = pack(s);
    memcpy(block.shared + at, &v, 8);
    ++block.events;
  });
}
void completeTx(Warp &w, const Op &o) {
  const u32 *n = w.reg<u32>(o.b);
  forClusterLanes(w, o, [&](int i, Block &block, u32 at) {
    completeBytes(block, at, n[i], nullptr);
  });
}

/// aux2: 1 the operand is a parity, else a token; 2 the warp stands back when
/// the phase is not complete.
void wait(Warp &w, const Op &o) {
  u32 done = 0;
  forLanes(w, o, false, [&](int i, u32 at) {
    bool waited =
        o.aux2 & 1 ? w.reg<u32>(o.b)[i] & 1 : unpack(w.reg<u64>(o.b)[i]).phase;
    // Copies that have been put off come when they are asked for, and no more
    // of them than the phase needs.
    w.block->async->runUntil(
        *w.block, at, [&] { return load(*w.block, at).phase != waited; });
    if (load(*w.block, at).phase == waited) {
      w.phaseAddress = at;
      return;
    }
    done |= 1u << i;
    if (w.block->clocks)
      w.block->clocks->acquire(w, w.block->async->phases[at].complete);
  });
  setPred(w, o.d, done);
  if (done != w.mask) {
    w.yielded = true;
    w.waitsForPhase = true;
  }
}

/// cp.async.mbarrier.arrive: arrives when the thread's copies are done. aux2:
/// 1 .noinc.
void arriveAfterCopies(Warp &w, const Op &o) {
  forLanes(w, o, false, [&](int i, u32 at) {
    if (!(o.aux2 & 1)) {
      State s = load(*w.block, at);
      ++s.pending;
      u64 v = pack(s);
      memcpy(w.block->shared + at, &v, 8);
    }
    AsyncTask task;
    task.warp = &w;
    task.op = &o;
    task.code = w.code;
    task.lane = i;
    task.barrier = at;
    if (w.block->clocks)
      task.stamp = w.block->clocks->issue(w);
    task.run = [](AsyncTask &t) {
      finishCopies(*t.warp, t.lane);
      Block &block = *t.warp->block;
      State s = load(block, t.barrier);
      if (s.pending == 0)
        t.warp->fault(FaultKind::BadOperand,
                      "cp.async.mbarrier.arrive where no arrival is missing",
                      t.lane);
      --s.pending;
      if (block.clocks) {
        View &open = block.async->phases[t.barrier].open;
        block.clocks->complete(t.stamp, open);
        block.clocks->release(*t.warp, open);
      }
      store(block, t.barrier, s);
    };
    w.block->async->submit(*w.block, std::move(task));
  });
}

} // namespace

void completeBytes(Block &block, u32 address, s64 bytes,
                   const AsyncStamp *stamp) {
  State s = load(block, address);
  s.bytes -= bytes;
  if (stamp && block.clocks)
    block.clocks->complete(*stamp, block.async->phases[address].open);
  store(block, address, s);
}

std::string describePhase(Block &block, u32 address) {
  State s = load(block, address);
  char text[160];
  snprintf(text, sizeof text,
           "the mbarrier at shared address 0x%x (phase %d: %u of %u arrivals "
           "and %lld bytes are missing)",
           address, (int)s.phase, s.pending, s.expected, (long long)s.bytes);
  return text;
}

void registerMbarrier(Registry &r) {
  struct Spelling {
    const char *name;
    Space space;
  };
  const Spelling spaces[] = {{"", Space::Generic},
                             {".shared", Space::Shared},
                             {".shared::cta", Space::Shared},
                             {".shared::cluster", Space::Cluster}};
  // counts[3] = 0: the last operand may be left out.
  auto add = [&](const std::string &head, const std::string &tail, Form form,
                 Handler fn, Ty d, Ty s, bool optional, u8 aux2, u16 ptx,
                 u16 sm, Flow flow = Flow::Plain) {
    for (const Spelling &k : spaces) {
      OpInfo info;
      info.form = form;
      info.fn = fn;
      info.flow = flow;
      info.d = d;
      info.s[0] = s;
      info.nSrc = s == Ty::None ? 0 : 1;
      if (flow == Flow::Yield && optional) {
        info.s[1] = Ty::U32;
        info.nSrc = 2;
      }
      info.counts[3] = optional ? 0 : 1;
      info.aux2 = aux2;
      info.size = 8;
      info.space = k.space;
      info.minPtx = ptx;
      info.minSm = sm;
      if (std::string(k.name) == ".shared::cluster") {
        // Another block's barrier: arrivals without a token, and bytes.
        if (fn == wait || fn == init || fn == invalidate ||
            fn == arriveAfterCopies)
          continue;
        info.minPtx = 80;
        info.minSm = 90;
      }
      r.add(head + k.name + tail, info);
    }
  };
  const Ty U = Ty::U32, B = Ty::B64, P = Ty::Pred;
  add("mbarrier.init", ".b64", Form::Red, init, Ty::None, U, false, 0, 70, 80);
  add("mbarrier.inval", ".b64", Form::Red, invalidate, Ty::None, Ty::None,
      false, 0, 70, 80);
  for (const char *sem : {"", ".release.cta", ".release.cluster",
                          ".relaxed.cta", ".relaxed.cluster"}) {
    u16 ptx = *sem ? 80 : 70, sm = *sem ? 90 : 80;
    std::string m = sem;
    add("mbarrier.arrive" + m, ".b64", Form::Atom, arrive, B, U, true, 0, ptx,
        sm);
    add("mbarrier.arrive_drop" + m, ".b64", Form::Atom, arrive, B, U, true, 2,
        ptx, sm);
    add("mbarrier.arrive.expect_tx" + m, ".b64", Form::Atom, arrive, B, U,
        false, 1, 80, 90);
  }
  for (const char *sem : {"", ".relaxed.cta", ".relaxed.cluster"}) {
    add(std::string("mbarrier.expect_tx") + sem, ".b64", Form::Red, expectBytes,
        Ty::None, U, false, 0, 80, 90);
    add(std::string("mbarrier.complete_tx") + sem, ".b64", Form::Red,
        completeTx, Ty::None, U, false, 0, 80, 90);
  }
  for (const char *sem : {"", ".acquire.cta", ".acquire.cluster",
                          ".relaxed.cta", ".relaxed.cluster"}) {
    std::string m = sem;
    add("mbarrier.test_wait" + m, ".b64", Form::Atom, wait, P, B, false, 0, 70,
        80, Flow::Yield);
    add("mbarrier.test_wait.parity" + m, ".b64", Form::Atom, wait, P, U, false,
        1, 71, 80, Flow::Yield);
    // try_wait may name how long it waits; here it looks once.
    add("mbarrier.try_wait" + m, ".b64", Form::Atom, wait, P, B, true, 2, 78,
        90, Flow::Yield);
    add("mbarrier.try_wait.parity" + m, ".b64", Form::Atom, wait, P, U, true, 3,
        78, 90, Flow::Yield);
  }
  r.plain(
      "mbarrier.pending_count.b64",
      [](Warp &w, const Op &o) {
        lanes1<u32, u64>(w, o, [](u64 v) { return unpack(v).pending; });
      },
      Ty::U32, {Ty::B64}, 70, 80);
  for (const char *noinc : {"", ".noinc"})
    add(std::string("cp.async.mbarrier.arrive") + noinc, ".b64", Form::Red,
        arriveAfterCopies, Ty::None, Ty::None, false, *noinc ? 1 : 0, 70, 80);
}

} // namespace tds::sim
