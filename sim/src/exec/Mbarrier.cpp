//===- Mbarrier.cpp - barriers that live in shared memory -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX manual, "mbarrier". The state is the object's eight bytes: arrivals still
// missing in the phase, arrivals expected in each, the phase's number modulo
// two, and the bytes still expected (signed). The layout is the simulator's
// own; a program may not look inside. A wait that succeeds counts as a
// synchronisation of the whole block for the race checker, which can hide a
// race but reports none that is not there.
//
//===----------------------------------------------------------------------===//

#include "exec/Mbarrier.h"
#include "decode/Registry.h"
#include "exec/Access.h"

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
void finishPhase(State &s) {
  if (s.pending == 0 && s.bytes == 0) {
    s.phase = !s.phase;
    s.pending = s.expected;
  }
}

/// The barrier object of lane `i`.
u64 *objectOf(Warp &w, const Op &o, int i, const u64 *address, bool init) {
  u64 a = address[i] & ~sharedWindow;
  if (a > w.block->sharedBytes || w.block->sharedBytes - a < 8)
    w.fault(FaultKind::OutOfBounds,
            "mbarrier outside the block's shared memory", i);
  if (a & 7)
    w.fault(FaultKind::Misaligned,
            "mbarrier at an address that is not a multiple of 8", i);
  (void)o;
  if (w.block->shadow && init)
    checkSharedLane(w, i, (u32)a, 8, true);
  return (u64 *)(w.block->shared + a);
}

template <class F> void forLanes(Warp &w, const Op &o, bool init, F f) {
  u64 address[32];
  laneAddresses(w, o.a, o.aux, o.imm, address);
  for (u32 m = w.mask; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    f(i, objectOf(w, o, i, address, init));
  }
}

void init(Warp &w, const Op &o) {
  const u32 *count = w.reg<u32>(o.b);
  forLanes(w, o, true, [&](int i, u64 *at) {
    if (count[i] == 0 || count[i] > countMax)
      w.fault(FaultKind::BadOperand,
              "mbarrier.init with a count of " + std::to_string(count[i]), i);
    *at = pack({count[i], count[i], false, 0});
  });
}
void invalidate(Warp &w, const Op &o) {
  forLanes(w, o, false, [&](int, u64 *at) { *at = 0; });
}

/// aux2: 1 the operand is a number of bytes to expect, 2 drop.
void arrive(Warp &w, const Op &o) {
  forLanes(w, o, false, [&](int i, u64 *at) {
    State s = unpack(*at);
    u64 token = *at;
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
    if (o.aux2 & 2)
      s.expected -= n;
    s.pending -= n;
    finishPhase(s);
    *at = pack(s);
    if (o.d != noReg)
      w.reg<u64>(o.d)[i] = token;
  });
}
void expectBytes(Warp &w, const Op &o) {
  const u32 *n = w.reg<u32>(o.b);
  forLanes(w, o, false, [&](int i, u64 *at) {
    State s = unpack(*at);
    s.bytes += n[i];
    *at = pack(s);
  });
}
void completeBytes(Warp &w, const Op &o) {
  const u32 *n = w.reg<u32>(o.b);
  forLanes(w, o, false, [&](int i, u64 *at) {
    State s = unpack(*at);
    s.bytes -= n[i];
    finishPhase(s);
    *at = pack(s);
  });
}

/// aux2: 1 the operand is a parity, else a token; 2 the warp stands back when
/// the phase is not complete.
void wait(Warp &w, const Op &o) {
  u32 done = 0;
  forLanes(w, o, false, [&](int i, u64 *at) {
    bool waited =
        o.aux2 & 1 ? w.reg<u32>(o.b)[i] & 1 : unpack(w.reg<u64>(o.b)[i]).phase;
    if (unpack(*at).phase != waited)
      done |= 1u << i;
  });
  setPred(w, o.d, done);
  if (done)
    newTick(*w.block, nullptr);
  if (done != w.mask)
    w.yielded = true;
}

} // namespace

void registerMbarrier(Registry &r) {
  struct Spelling {
    const char *name;
    Space space;
  };
  const Spelling spaces[] = {{"", Space::Generic},
                             {".shared", Space::Shared},
                             {".shared::cta", Space::Shared}};
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
      info.counts[3] = optional ? 0 : 1;
      info.aux2 = aux2;
      info.size = 8;
      info.space = k.space;
      info.minPtx = ptx;
      info.minSm = sm;
      r.add(head + k.name + tail, info);
    }
  };
  const Ty U = Ty::U32, B = Ty::B64, P = Ty::Pred;
  add("mbarrier.init", ".b64", Form::Red, init, Ty::None, U, false, 0, 70, 80);
  add("mbarrier.inval", ".b64", Form::Red, invalidate, Ty::None, Ty::None,
      false, 0, 70, 80);
  for (const char *sem : {"", ".release.cta", ".release.cluster"}) {
    u16 ptx = *sem ? 80 : 70, sm = *sem ? 90 : 80;
    std::string m = sem;
    add("mbarrier.arrive" + m, ".b64", Form::Atom, arrive, B, U, true, 0, ptx,
        sm);
    add("mbarrier.arrive_drop" + m, ".b64", Form::Atom, arrive, B, U, true, 2,
        ptx, sm);
    add("mbarrier.arrive.expect_tx" + m, ".b64", Form::Atom, arrive, B, U,
        false, 1, 80, 90);
  }
  for (const char *sem : {"", ".relaxed.cta"}) {
    add(std::string("mbarrier.expect_tx") + sem, ".b64", Form::Red, expectBytes,
        Ty::None, U, false, 0, 80, 90);
    add(std::string("mbarrier.complete_tx") + sem, ".b64", Form::Red,
        completeBytes, Ty::None, U, false, 0, 80, 90);
  }
  for (const char *sem : {"", ".acquire.cta", ".acquire.cluster"}) {
    std::string m = sem;
    add("mbarrier.test_wait" + m, ".b64", Form::Atom, wait, P, B, false, 0, 70,
        80, Flow::Yield);
    add("mbarrier.test_wait.parity" + m, ".b64", Form::Atom, wait, P, U, false,
        1, 71, 80, Flow::Yield);
    add("mbarrier.try_wait" + m, ".b64", Form::Atom, wait, P, B, false, 2, 78,
        90, Flow::Yield);
    add("mbarrier.try_wait.parity" + m, ".b64", Form::Atom, wait, P, U, false,
        3, 78, 90, Flow::Yield);
  }
}

} // namespace tds::sim
