//===- Approx.cpp - approximate functions -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hardware computes these with errors up to those in the PTX manual; here the
// result is the correctly rounded one (or nearly so), which lies inside the
// same bounds. What the manual fixes exactly (special values, flushing, the
// range in which div.approx gives 0) is kept.
//
//===----------------------------------------------------------------------===//

#include "decode/Registry.h"
#include "exec/FloatSemantics.h"
#include "exec/Lanes.h"

namespace tds::sim {

namespace {

template <bool Ftz, class F> void unary(Warp &w, const Op &o, F f) {
  const float *a = w.reg<float>(o.a);
  storeLanes(w, w.reg<float>(o.d), [&](int i) -> float {
    return canon(flush<Ftz>(f(flush<Ftz>(a[i]))));
  });
}

inline float rsqrtOf(float a) { return (float)(1.0 / std::sqrt((double)a)); }
// sin, cos and tanh of huge arguments lose all accuracy on hardware.
inline float ex2(float a) { return exp2f(a); }

template <bool Ftz> inline float divideApprox(float x, float y) {
  float ay = std::fabs(y);
  // |y| in (2^126, 2^128): the hardware's reciprocal underflows.
  if (ay > 0x1p126f && ay < INFINITY)
    return std::isinf(x) || x != x
               ? NAN
               : std::copysign(0.f,
                               std::signbit(x) != std::signbit(y) ? -1.f : 1.f);
  return x / y;
}

#define APPROX(NAME, EXPR)                                                     \
  r.plain(NAME ".f32",                                                         \
          [](Warp &w, const Op &o) {                                           \
            unary<false>(w, o, [](float a) -> float { return EXPR; });         \
          },                                                                   \
          F, {F});                                                             \
  r.plain(NAME ".ftz.f32",                                                     \
          [](Warp &w, const Op &o) {                                           \
            unary<true>(w, o, [](float a) -> float { return EXPR; });          \
          },                                                                   \
          F, {F})

template <bool Ftz> void divide(Warp &w, const Op &o, bool full) {
  const float *a = w.reg<float>(o.a), *b = w.reg<float>(o.b);
  storeLanes(w, w.reg<float>(o.d), [&](int i) -> float {
    float x = flush<Ftz>(a[i]), y = flush<Ftz>(b[i]);
    return canon(flush<Ftz>(full ? x / y : divideApprox<Ftz>(x, y)));
  });
}

// f16 and bf16.
template <class F> void half(Warp &w, const Op &o, F f) {
  const u16 *a = w.reg<u16>(o.a);
  storeLanes(w, w.reg<u16>(o.d), [&](int i) -> u16 { return f(a[i]); });
}
template <class F> void halfTwice(Warp &w, const Op &o, F f) {
  const u32 *a = w.reg<u32>(o.a);
  storeLanes(w, w.reg<u32>(o.d), [&](int i) -> u32 {
    return (u32)f((u16)a[i]) | (u32)f((u16)(a[i] >> 16)) << 16;
  });
}
inline u16 tanhHalf(u16 a) {
  return doubleToHalf(std::tanh((double)halfToFloat(a)));
}
inline u16 tanhBf(u16 a) {
  return doubleToBf16(std::tanh((double)bf16ToFloat(a)));
}
inline u16 ex2Half(u16 a) {
  return doubleToHalf(std::exp2((double)halfToFloat(a)));
}
inline u16 ex2HalfFtz(u16 a) {
  u16 in = (a & 0x7c00) == 0 ? a & 0x8000 : a;
  u16 out = ex2Half(in);
  return (out & 0x7c00) == 0 ? out & 0x8000 : out;
}
inline u16 ex2Bf(u16 a) {
  u16 in = (a & 0x7f80) == 0 ? a & 0x8000 : a;
  u16 out = doubleToBf16(std::exp2((double)bf16ToFloat(in)));
  return (out & 0x7f80) == 0 ? out & 0x8000 : out;
}

/// The gross f64 approximations: the upper 32 bits of the result.
inline double grossRcp(double a) {
  u64 b = bitCast<u64>(a);
  if ((b & 0x7ff0000000000000ull) == 0)
    a = bitCast<double>(b & 1ull << 63);
  return bitCast<double>(bitCast<u64>(1.0 / a) & 0xffffffff00000000ull);
}
inline double grossRsqrt(double a) {
  u64 b = bitCast<u64>(a);
  if ((b & 0x7ff0000000000000ull) == 0)
    a = bitCast<double>(b & 1ull << 63);
  return bitCast<double>(bitCast<u64>(1.0 / std::sqrt(a)) &
                         0xffffffff00000000ull);
}

} // namespace

void registerApprox(Registry &r) {
  const Ty F = Ty::F32, D = Ty::F64;
  APPROX("rcp.approx", 1.0f / a);
  APPROX("sqrt.approx", std::sqrt(a));
  APPROX("rsqrt.approx", rsqrtOf(a));
  APPROX("ex2.approx", ex2(a));
  APPROX("lg2.approx", log2f(a));
  APPROX("sin.approx", (float)std::sin((double)a));
  APPROX("cos.approx", (float)std::cos((double)a));
  r.plain(
      "tanh.approx.f32",
      [](Warp &w, const Op &o) {
        unary<false>(w, o, [](float a) { return (float)std::tanh((double)a); });
      },
      F, {F}, 70, 75);
  r.plain("div.approx.f32",
          [](Warp &w, const Op &o) { divide<false>(w, o, false); }, F, {F, F});
  r.plain("div.approx.ftz.f32",
          [](Warp &w, const Op &o) { divide<true>(w, o, false); }, F, {F, F});
  r.plain("div.full.f32",
          [](Warp &w, const Op &o) { divide<false>(w, o, true); }, F, {F, F});
  r.plain("div.full.ftz.f32",
          [](Warp &w, const Op &o) { divide<true>(w, o, true); }, F, {F, F});
  r.plain("rcp.approx.ftz.f64", X1(double, double, grossRcp(a)), D, {D});
  r.plain("rsqrt.approx.ftz.f64", X1(double, double, grossRsqrt(a)), D, {D});
  r.plain("rsqrt.approx.f64", X1(double, double, 1.0 / std::sqrt(a)), D, {D});
#define HALF(NAME, ONE, TY, TY2, PTX, SM)                                      \
  r.plain(                                                                     \
      NAME,                                                                    \
      [](Warp &w, const Op &o) { half(w, o, [](u16 a) { return ONE(a); }); },  \
      TY, {TY}, PTX, SM);                                                      \
  r.plain(                                                                     \
      std::string(NAME) + "x2",                                                \
      [](Warp &w, const Op &o) {                                               \
        halfTwice(w, o, [](u16 a) { return ONE(a); });                         \
      },                                                                       \
      TY2, {TY2}, PTX, SM)
  HALF("tanh.approx.f16", tanhHalf, Ty::F16, Ty::F16x2, 70, 75);
  HALF("tanh.approx.bf16", tanhBf, Ty::BF16, Ty::BF16x2, 78, 90);
  HALF("ex2.approx.f16", ex2Half, Ty::F16, Ty::F16x2, 70, 75);
  HALF("ex2.approx.ftz.f16", ex2HalfFtz, Ty::F16, Ty::F16x2, 70, 75);
  HALF("ex2.approx.ftz.bf16", ex2Bf, Ty::BF16, Ty::BF16x2, 78, 90);
#undef HALF
}

} // namespace tds::sim
