//===- WarpOps.cpp - shfl, vote, match, redux, activemask -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX manual, "Parallel Synchronization and Communication Instructions" and
// "Data Movement: shfl.sync". The scheduler brings the lanes of the member
// mask together before a handler runs (Flow::Collective); register c holds
// the mask.
//
//===----------------------------------------------------------------------===//

#include "decode/Registry.h"
#include "exec/Lanes.h"

#include <algorithm>

namespace tds::sim {

namespace {

enum Mode { Up, Down, Butterfly, Index };

/// shfl: a value, b lane operand, c (ext[1]) clamp and segment, ext[2] mask.
template <Mode M> void shuffle(Warp &w, const Op &o) {
  u32 source[32];
  memcpy(source, w.reg<u32>(o.a), sizeof source);
  const u32 *b = w.reg<u32>(o.b);
  const u32 *c = w.reg<u32>(w.code->ext[o.ext + 1]);
  u32 *d = w.reg<u32>(o.d);
  u32 inRange = 0;
  for (u32 m = w.mask; m; m &= m - 1) {
    u32 lane = (u32)__builtin_ctz(m);
    u32 segment = c[lane] >> 8 & 31, clamp = c[lane] & 31, n = b[lane] & 31;
    u32 low = lane & segment, high = low | (clamp & ~segment);
    u32 from;
    bool valid;
    switch (M) {
    case Up:
      // For shfl.up the bound is a lower one.
      from = lane - n;
      valid = (s32)from >= (s32)high;
      break;
    case Down:
      from = lane + n;
      valid = from <= high;
      break;
    case Butterfly:
      from = lane ^ n;
      valid = from <= high;
      break;
    default:
      from = low | (n & ~segment);
      valid = from <= high;
      break;
    }
    if (!valid)
      from = lane;
    else
      inRange |= 1u << lane;
    if (!(w.mask >> from & 1))
      w.fault(FaultKind::InactiveLane,
              "shfl.sync reads lane " + std::to_string(from) +
                  ", which does not take part",
              (int)lane);
    d[lane] = source[from];
  }
  u32 p = w.code->ext[o.ext];
  if (p != noReg)
    setPred(w, p, inRange);
}

enum Vote { All, Any, Uniform, Ballot };
template <Vote V, bool Negate> void vote(Warp &w, const Op &o) {
  u32 p = *w.reg<u32>(o.a);
  if (Negate)
    p = ~p;
  p &= w.mask;
  if (V == Ballot) {
    storeLanes(w, w.reg<u32>(o.d), [&](int) { return p; });
    return;
  }
  bool r = V == All ? p == w.mask : V == Any ? p != 0 : p == 0 || p == w.mask;
  setPred(w, o.d, r ? ~0u : 0);
}

template <class T> void matchAny(Warp &w, const Op &o) {
  const T *a = w.reg<T>(o.a);
  u32 r[32] = {};
  for (u32 m = w.mask; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    for (u32 n = w.mask; n; n &= n - 1) {
      int j = __builtin_ctz(n);
      r[i] |= (u32)(a[i] == a[j]) << j;
    }
  }
  storeLanes(w, w.reg<u32>(o.d), [&](int i) { return r[i]; });
}
template <class T> void matchAll(Warp &w, const Op &o) {
  const T *a = w.reg<T>(o.a);
  bool same = true;
  int first = __builtin_ctz(w.mask);
  for (u32 m = w.mask; m; m &= m - 1)
    same &= a[__builtin_ctz(m)] == a[first];
  u32 value = same ? w.mask : 0;
  storeLanes(w, w.reg<u32>(o.d), [&](int) { return value; });
  u32 p = w.code->ext[o.ext];
  if (p != noReg)
    setPred(w, p, same ? ~0u : 0);
}

template <class T, class F> void reduce(Warp &w, const Op &o, F f) {
  const T *a = w.reg<T>(o.a);
  int first = __builtin_ctz(w.mask);
  T r = a[first];
  for (u32 m = w.mask & (w.mask - 1); m; m &= m - 1)
    r = f(r, a[__builtin_ctz(m)]);
  storeLanes(w, w.reg<T>(o.d), [&](int) { return r; });
}

void activeMask(Warp &w, const Op &o) {
  u32 m = w.mask;
  storeLanes(w, w.reg<u32>(o.d), [&](int) { return m; });
}

/// elect.sync d|p, mask: the lowest lane of the mask.
void elect(Warp &w, const Op &o) {
  u32 leader = (u32)__builtin_ctz(w.mask);
  storeLanes(w, w.reg<u32>(o.d), [&](int) { return leader; });
  u32 p = w.code->ext[o.ext];
  if (p != noReg)
    setPred(w, p, 1u << leader);
}

} // namespace

void registerWarpOps(Registry &r) {
  const Ty B = Ty::B32, P = Ty::Pred, U = Ty::U32;
  auto add = [&](const std::string &name, Handler fn, Form form, Ty d,
                 std::initializer_list<Ty> sources, u16 ptx, u16 sm) {
    OpInfo info;
    info.form = form;
    info.flow = Flow::Collective;
    info.fn = fn;
    info.d = d;
    for (Ty t : sources)
      info.s[info.nSrc++] = t;
    info.minPtx = ptx;
    info.minSm = sm;
    r.add(name, info);
  };
  // The decoder puts the last source (the member mask) into register c.
  add("shfl.sync.up.b32", shuffle<Up>, Form::Shuffle, B, {B, B, B, B}, 60, 30);
  add("shfl.sync.down.b32", shuffle<Down>, Form::Shuffle, B, {B, B, B, B}, 60,
      30);
  add("shfl.sync.bfly.b32", shuffle<Butterfly>, Form::Shuffle, B, {B, B, B, B},
      60, 30);
  add("shfl.sync.idx.b32", shuffle<Index>, Form::Shuffle, B, {B, B, B, B}, 60,
      30);
  // vote: the source may be a negated predicate, which the decoder resolves.
  add("vote.sync.all.pred", vote<All, false>, Form::Member, P, {P, B}, 60, 30);
  add("vote.sync.any.pred", vote<Any, false>, Form::Member, P, {P, B}, 60, 30);
  add("vote.sync.uni.pred", vote<Uniform, false>, Form::Member, P, {P, B}, 60,
      30);
  add("vote.sync.ballot.b32", vote<Ballot, false>, Form::Member, B, {P, B}, 60,
      30);
  add("match.any.sync.b32", matchAny<u32>, Form::Member, B, {B, B}, 60, 70);
  add("match.any.sync.b64", matchAny<u64>, Form::Member, B, {Ty::B64, B}, 60,
      70);
  add("match.all.sync.b32", matchAll<u32>, Form::Member, B, {B, B}, 60, 70);
  add("match.all.sync.b64", matchAll<u64>, Form::Member, B, {Ty::B64, B}, 60,
      70);
#define REDUX(NAME, T, TY, EXPR)                                               \
  add(                                                                         \
      "redux.sync." NAME,                                                      \
      [](Warp &w, const Op &o) {                                               \
        reduce<T>(w, o, [](T a, T b) -> T { return EXPR; });                   \
      },                                                                       \
      Form::Member, TY, {TY, B}, 70, 80)
  REDUX("add.u32", u32, U, a + b);
  REDUX("add.s32", u32, Ty::S32, a + b);
  REDUX("min.u32", u32, U, std::min(a, b));
  REDUX("min.s32", s32, Ty::S32, std::min(a, b));
  REDUX("max.u32", u32, U, std::max(a, b));
  REDUX("max.s32", s32, Ty::S32, std::max(a, b));
  REDUX("and.b32", u32, B, a & b);
  REDUX("or.b32", u32, B, a | b);
  REDUX("xor.b32", u32, B, a ^ b);
#undef REDUX
  OpInfo active;
  active.fn = activeMask;
  active.d = B;
  active.minPtx = 62;
  active.minSm = 30;
  r.add("activemask.b32", active);
  add("elect.sync", elect, Form::Elect, B, {B}, 80, 90);
}

} // namespace tds::sim
