//===- Lanes.h - one operation over 32 lanes --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loops are written so that the compiler turns them into vector code:
// where all lanes execute, results go straight to the destination; otherwise
// they are computed for every lane (handlers must not trap for any input) and
// only those of executing lanes are kept.
//
//===----------------------------------------------------------------------===//
#ifndef TDSL_SIM_EXEC_LANES_H
#define TDSL_SIM_EXEC_LANES_H

#include "exec/Warp.h"

#include <cstring>

// Four vectors of eight floats are a whole warp; what does not vectorise is
// unrolled no further, or the many handlers would be too much code.
#if defined(__clang__)
#define TDS_LANES                                                              \
  _Pragma(                                                                     \
      "clang loop vectorize(assume_safety) unroll_count(4)") for (int i = 0;   \
                                                                  i < 32; ++i)
#else
#define TDS_LANES _Pragma("GCC ivdep") for (int i = 0; i < 32; ++i)
#endif

namespace tds::sim {

/// d[i] = t[i] for the lanes in `mask`.
template <class D>
__attribute__((noinline)) void blendLanes(D *d, const D *t, u32 mask) {
  for (; mask; mask &= mask - 1) {
    int i = __builtin_ctz(mask);
    d[i] = t[i];
  }
}

template <class D, class F> inline void storeLanes(Warp &w, D *d, F f) {
  alignas(64) D t[32];
  TDS_LANES t[i] = f(i);
  if (w.mask == ~0u)
    memcpy(d, t, sizeof t);
  else
    blendLanes(d, t, w.mask);
}

template <class D, class A, class F>
inline void lanes1(Warp &w, const Op &o, F f) {
  const A *a = w.reg<A>(o.a);
  storeLanes(w, w.reg<D>(o.d), [&](int i) -> D { return f(a[i]); });
}
template <class D, class A, class B, class F>
inline void lanes2(Warp &w, const Op &o, F f) {
  const A *a = w.reg<A>(o.a);
  const B *b = w.reg<B>(o.b);
  storeLanes(w, w.reg<D>(o.d), [&](int i) -> D { return f(a[i], b[i]); });
}
template <class D, class A, class B, class C, class F>
inline void lanes3(Warp &w, const Op &o, F f) {
  const A *a = w.reg<A>(o.a);
  const B *b = w.reg<B>(o.b);
  const C *c = w.reg<C>(o.c);
  storeLanes(w, w.reg<D>(o.d), [&](int i) -> D { return f(a[i], b[i], c[i]); });
}

/// The lane mask for which f(lane) holds.
template <class F> inline u32 laneMask(F f) {
  u32 r = 0;
  for (int i = 0; i < 32; ++i)
    r |= (u32)(bool)f(i) << i;
  return r;
}
inline void setPred(Warp &w, u32 offset, u32 value) {
  u32 *d = w.reg<u32>(offset);
  *d = (*d & ~w.mask) | (value & w.mask);
}

// Handlers as captureless lambdas: X1(u32, u32, ~a), X2(u32, u32, u32, a + b).
#define X1(D, A, ...)                                                          \
  [](Warp &w, const Op &o) {                                                   \
    lanes1<D, A>(w, o, [](A a) -> D { return __VA_ARGS__; });                  \
  }
#define X2(D, A, B, ...)                                                       \
  [](Warp &w, const Op &o) {                                                   \
    lanes2<D, A, B>(w, o, [](A a, B b) -> D { return __VA_ARGS__; });          \
  }
#define X3(D, A, B, C, ...)                                                    \
  [](Warp &w, const Op &o) {                                                   \
    lanes3<D, A, B, C>(w, o, [](A a, B b, C c) -> D { return __VA_ARGS__; });  \
  }

template <class T> inline u32 popcount(T v) {
  return (u32)__builtin_popcountll((u64)v);
}

} // namespace tds::sim

#endif // TDSL_SIM_EXEC_LANES_H
