//===- Float.cpp - f32 and f64 arithmetic -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX manual, "Floating-Point Instructions": testp, copysign, add, sub, mul,
// fma, mad, div, abs, neg, min, max, rcp.rn, sqrt.rn.
//
//===----------------------------------------------------------------------===//

#include "decode/Registry.h"
#include "exec/FloatSemantics.h"
#include "exec/Lanes.h"

namespace tds::sim {

namespace {

enum class FOp { Add, Sub, Mul, Div, Fma, Rcp, Sqrt };

template <FOp K, class T> inline T raw(T a, T b, T c) {
  (void)b;
  (void)c;
  switch (K) {
  case FOp::Add:
    return a + b;
  case FOp::Sub:
    return a - b;
  case FOp::Mul:
    return a * b;
  case FOp::Div:
    return a / b;
  case FOp::Fma:
    return sizeof(T) == 4 ? (T)__builtin_fmaf((float)a, (float)b, (float)c)
                          : (T)__builtin_fma((double)a, (double)b, (double)c);
  case FOp::Rcp:
    return (T)1 / a;
  case FOp::Sqrt:
    return sizeof(T) == 4 ? (T)__builtin_sqrtf((float)a)
                          : (T)__builtin_sqrt((double)a);
  }
  return a;
}

template <FOp K> constexpr int arity() {
  return K == FOp::Fma ? 3 : K == FOp::Rcp || K == FOp::Sqrt ? 1 : 2;
}

template <FOp K, class T, bool Ftz, bool Sat>
void nearest(Warp &w, const Op &o) {
  const T *a = w.reg<T>(o.a);
  const T *b = arity<K>() > 1 ? w.reg<T>(o.b) : a;
  const T *c = arity<K>() > 2 ? w.reg<T>(o.c) : a;
  storeLanes(w, w.reg<T>(o.d), [&](int i) -> T {
    T v = raw<K, T>(flush<Ftz>(a[i]), flush<Ftz>(b[i]), flush<Ftz>(c[i]));
    return saturate<Sat>(canon(flush<Ftz>(v)));
  });
}

template <FOp K, class T, bool Ftz, bool Sat, Rnd R>
void directed(Warp &w, const Op &o) {
  const T *a = w.reg<T>(o.a);
  const T *b = arity<K>() > 1 ? w.reg<T>(o.b) : a;
  const T *c = arity<K>() > 2 ? w.reg<T>(o.c) : a;
  T out[32];
  {
    RoundingScope scope(R);
    for (int i = 0; i < 32; ++i) {
      volatile T x = flush<Ftz>(a[i]), y = flush<Ftz>(b[i]),
                 z = flush<Ftz>(c[i]);
      volatile T v = raw<K, T>(x, y, z);
      out[i] = v;
    }
  }
  storeLanes(w, w.reg<T>(o.d), [&](int i) -> T {
    return saturate<Sat>(canon(flush<Ftz>(out[i])));
  });
}

template <FOp K, class T, bool Ftz, bool Sat> Handler withRounding(int r) {
  switch (r) {
  case 0:
    return nearest<K, T, Ftz, Sat>;
  case 1:
    return directed<K, T, Ftz, Sat, Rnd::Z>;
  case 2:
    return directed<K, T, Ftz, Sat, Rnd::M>;
  default:
    return directed<K, T, Ftz, Sat, Rnd::P>;
  }
}

const char *const roundings[] = {".rn", ".rz", ".rm", ".rp"};

/// Registers name[.rnd][.ftz][.sat].f32; `bare`: also without a rounding.
template <FOp K>
void f32Family(Registry &r, const std::string &name, bool bare, bool sat) {
  for (int rounding = -1; rounding < 4; ++rounding) {
    if (rounding < 0 && !bare)
      continue;
    std::string rn = rounding < 0 ? "" : roundings[rounding];
    for (int ftz = 0; ftz < 2; ++ftz)
      for (int s = 0; s < (sat ? 2 : 1); ++s) {
        int k = rounding < 0 ? 0 : rounding;
        Handler fn = ftz ? (s ? withRounding<K, float, true, true>(k)
                              : withRounding<K, float, true, false>(k))
                         : (s ? withRounding<K, float, false, true>(k)
                              : withRounding<K, float, false, false>(k));
        OpInfo info;
        info.fn = fn;
        info.d = Ty::F32;
        info.nSrc = arity<K>();
        for (int i = 0; i < arity<K>(); ++i)
          info.s[i] = Ty::F32;
        r.add(name + rn + (ftz ? ".ftz" : "") + (s ? ".sat" : "") + ".f32",
              info);
      }
  }
}
template <FOp K>
void f64Family(Registry &r, const std::string &name, bool bare) {
  for (int rounding = -1; rounding < 4; ++rounding) {
    if (rounding < 0 && !bare)
      continue;
    OpInfo info;
    info.fn =
        withRounding<K, double, false, false>(rounding < 0 ? 0 : rounding);
    info.d = Ty::F64;
    info.nSrc = arity<K>();
    for (int i = 0; i < arity<K>(); ++i)
      info.s[i] = Ty::F64;
    r.add(name + (rounding < 0 ? "" : roundings[rounding]) + ".f64", info);
  }
}

/// min and max order -0 below +0; a NaN loses unless .NaN is given.
template <bool Max, bool Nan, class T> inline T minMax(T a, T b) {
  if (a != a || b != b) {
    if (Nan || (a != a && b != b))
      return canon((T)NAN);
    return a != a ? b : a;
  }
  if (a == b)
    return std::signbit(a) != (bool)Max ? a : b;
  return (a < b) != Max ? a : b;
}

template <bool Max, bool Nan, bool Ftz> void minMaxF32(Warp &w, const Op &o) {
  const float *a = w.reg<float>(o.a), *b = w.reg<float>(o.b);
  storeLanes(w, w.reg<float>(o.d), [&](int i) -> float {
    float x = flush<Ftz>(a[i]), y = flush<Ftz>(b[i]);
    // Branch-free form of minMax: the integer order of sign-magnitude values.
    s32 bx = bitCast<s32>(x), by = bitCast<s32>(y);
    s32 kx = bx ^ (s32)((u32)(bx >> 31) >> 1),
        ky = by ^ (s32)((u32)(by >> 31) >> 1);
    float v = (Max ? kx > ky : kx < ky) ? x : y;
    float nan = bitCast<float>(0x7fffffffu);
    if (Nan) {
      v = x != x ? nan : v;
      v = y != y ? nan : v;
    } else {
      v = x != x ? y : v;
      v = y != y ? x : v;
      v = v != v ? nan : v;
    }
    return v;
  });
}
template <bool Max, bool Nan, bool Ftz>
void minMaxXorsign(Warp &w, const Op &o) {
  const float *a = w.reg<float>(o.a), *b = w.reg<float>(o.b);
  storeLanes(w, w.reg<float>(o.d), [&](int i) -> float {
    float x = flush<Ftz>(a[i]), y = flush<Ftz>(b[i]);
    u32 sign = (bitCast<u32>(x) ^ bitCast<u32>(y)) & 0x80000000u;
    float v = minMax<Max, Nan, float>(std::fabs(x), std::fabs(y));
    return v != v ? v : bitCast<float>(bitCast<u32>(v) | sign);
  });
}
template <bool Max, bool Nan, bool Ftz> void minMax3(Warp &w, const Op &o) {
  const float *a = w.reg<float>(o.a), *b = w.reg<float>(o.b),
              *c = w.reg<float>(o.c);
  storeLanes(w, w.reg<float>(o.d), [&](int i) -> float {
    return minMax<Max, Nan, float>(
        minMax<Max, Nan, float>(flush<Ftz>(a[i]), flush<Ftz>(b[i])),
        flush<Ftz>(c[i]));
  });
}

template <bool Max> void minMaxFamily(Registry &r, const std::string &name) {
  const Ty F = Ty::F32;
  r.plain(name + ".f32", minMaxF32<Max, false, false>, F, {F, F});
  r.plain(name + ".ftz.f32", minMaxF32<Max, false, true>, F, {F, F});
  r.plain(name + ".NaN.f32", minMaxF32<Max, true, false>, F, {F, F}, 70, 80);
  r.plain(name + ".ftz.NaN.f32", minMaxF32<Max, true, true>, F, {F, F}, 70, 80);
  r.plain(name + ".xorsign.abs.f32", minMaxXorsign<Max, false, false>, F,
          {F, F}, 72, 86);
  r.plain(name + ".ftz.xorsign.abs.f32", minMaxXorsign<Max, false, true>, F,
          {F, F}, 72, 86);
  r.plain(name + ".NaN.xorsign.abs.f32", minMaxXorsign<Max, true, false>, F,
          {F, F}, 72, 86);
  r.plain(name + ".ftz.NaN.xorsign.abs.f32", minMaxXorsign<Max, true, true>, F,
          {F, F}, 72, 86);
  r.plain(name + ".f64",
          X2(double, double, double, (minMax<Max, false, double>(a, b))),
          Ty::F64, {Ty::F64, Ty::F64});
}

template <class T> void tests(Registry &r, const char *name, Ty ty) {
  std::string t = std::string(".") + name;
  r.plain("testp.finite" + t,
          [](Warp &w, const Op &o) {
            const T *a = w.reg<T>(o.a);
            setPred(w, o.d,
                    laneMask([&](int i) { return std::isfinite(a[i]); }));
          },
          Ty::Pred, {ty});
  r.plain("testp.infinite" + t,
          [](Warp &w, const Op &o) {
            const T *a = w.reg<T>(o.a);
            setPred(w, o.d, laneMask([&](int i) { return std::isinf(a[i]); }));
          },
          Ty::Pred, {ty});
  r.plain("testp.number" + t,
          [](Warp &w, const Op &o) {
            const T *a = w.reg<T>(o.a);
            setPred(w, o.d, laneMask([&](int i) { return a[i] == a[i]; }));
          },
          Ty::Pred, {ty});
  r.plain("testp.notanumber" + t,
          [](Warp &w, const Op &o) {
            const T *a = w.reg<T>(o.a);
            setPred(w, o.d, laneMask([&](int i) { return a[i] != a[i]; }));
          },
          Ty::Pred, {ty});
  r.plain("testp.normal" + t,
          [](Warp &w, const Op &o) {
            const T *a = w.reg<T>(o.a);
            setPred(w, o.d,
                    laneMask([&](int i) { return std::isnormal(a[i]); }));
          },
          Ty::Pred, {ty});
  r.plain("testp.subnormal" + t,
          [](Warp &w, const Op &o) {
            const T *a = w.reg<T>(o.a);
            setPred(w, o.d, laneMask([&](int i) {
                      return std::fpclassify(a[i]) == FP_SUBNORMAL;
                    }));
          },
          Ty::Pred, {ty});
}

} // namespace

void registerFloat(Registry &r) {
  const Ty F = Ty::F32, D = Ty::F64;
  f32Family<FOp::Add>(r, "add", true, true);
  f32Family<FOp::Sub>(r, "sub", true, true);
  f32Family<FOp::Mul>(r, "mul", true, true);
  f32Family<FOp::Fma>(r, "fma", false, true);
  f32Family<FOp::Fma>(r, "mad", false, true);
  f32Family<FOp::Div>(r, "div", false, false);
  f32Family<FOp::Rcp>(r, "rcp", false, false);
  f32Family<FOp::Sqrt>(r, "sqrt", false, false);
  f64Family<FOp::Add>(r, "add", true);
  f64Family<FOp::Sub>(r, "sub", true);
  f64Family<FOp::Mul>(r, "mul", true);
  f64Family<FOp::Fma>(r, "fma", false);
  f64Family<FOp::Fma>(r, "mad", false);
  f64Family<FOp::Div>(r, "div", false);
  f64Family<FOp::Rcp>(r, "rcp", false);
  f64Family<FOp::Sqrt>(r, "sqrt", false);
  minMaxFamily<false>(r, "min");
  minMaxFamily<true>(r, "max");

  r.plain("abs.f32", X1(u32, u32, a & 0x7fffffffu), F, {F});
  r.plain("neg.f32", X1(u32, u32, a ^ 0x80000000u), F, {F});
  r.plain("abs.ftz.f32",
          X1(u32, float, bitCast<u32>(flush<true>(a)) & 0x7fffffffu), F, {F});
  r.plain("neg.ftz.f32",
          X1(u32, float, bitCast<u32>(flush<true>(a)) ^ 0x80000000u), F, {F});
  r.plain("abs.f64", X1(u64, u64, a & ~(1ull << 63)), D, {D});
  r.plain("neg.f64", X1(u64, u64, a ^ (1ull << 63)), D, {D});
  // copysign d, a, b: the sign of a with the magnitude of b.
  r.plain("copysign.f32",
          X2(u32, u32, u32, (a & 0x80000000u) | (b & 0x7fffffffu)), F, {F, F});
  r.plain("copysign.f64",
          X2(u64, u64, u64, (a & (1ull << 63)) | (b & ~(1ull << 63))), D,
          {D, D});
  tests<float>(r, "f32", F);
  tests<double>(r, "f64", D);
}

} // namespace tds::sim
