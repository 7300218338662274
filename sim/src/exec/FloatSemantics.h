//===- FloatSemantics.h - rounding, ftz, NaN as PTX has them ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f32 results that are NaN are the canonical 0x7fffffff, f16 and bf16 ones
// 0x7fff; f64 keeps what the host's IEEE operation gives. .ftz flushes
// subnormal inputs and results to a zero of their sign; .sat clamps to [0, 1]
// and turns NaN into +0.
//
//===----------------------------------------------------------------------===//
#ifndef TDSL_SIM_EXEC_FLOATSEMANTICS_H
#define TDSL_SIM_EXEC_FLOATSEMANTICS_H

#include "exec/Warp.h"

#include <cfenv>
#include <cmath>
#include <cstring>

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace tds::sim {

template <class To, class From> inline To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From), "sizes differ");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

enum class Rnd : u8 { N, Z, M, P, NA }; // nearest even, zero, -inf, +inf, away

inline float canon(float v) { return v != v ? bitCast<float>(0x7fffffffu) : v; }
inline double canon(double v) { return v; }
inline bool isSubnormal(float v) {
  u32 b = bitCast<u32>(v) & 0x7fffffffu;
  return b != 0 && b < 0x00800000u;
}
template <bool Ftz> inline float flush(float v) {
  if (!Ftz)
    return v;
  u32 b = bitCast<u32>(v);
  return bitCast<float>((b & 0x7f800000u) == 0 ? b & 0x80000000u : b);
}
template <bool Ftz> inline double flush(double v) { return v; }
template <bool Sat, class T> inline T saturate(T v) {
  if (!Sat)
    return v;
  // The comparison fails for NaN too, and -0 becomes +0.
  return v > (T)0 ? (v < (T)1 ? v : (T)1) : (T)0;
}

inline int hostRounding(Rnd r) {
  switch (r) {
  case Rnd::Z:
    return FE_TOWARDZERO;
  case Rnd::M:
    return FE_DOWNWARD;
  case Rnd::P:
    return FE_UPWARD;
  default:
    return FE_TONEAREST;
  }
}

/// Sets the host's rounding mode for a stretch of code whose operands pass
/// through volatile variables, so that the compiler cannot move them out.
class RoundingScope {
public:
  explicit RoundingScope(Rnd r) { fesetround(hostRounding(r)); }
  ~RoundingScope() { fesetround(FE_TONEAREST); }
};

inline float halfToFloat(u16 h) {
#if defined(__F16C__)
  return _cvtsh_ss(h);
#else
  u32 sign = (u32)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff;
  if (e == 31)
    return bitCast<float>(sign | 0x7f800000u | m << 13 | (m ? 0x400000u : 0));
  if (e)
    return bitCast<float>(sign | (e + 112) << 23 | m << 13);
  float v = (float)m * 0x1p-24f;
  return sign ? -v : v;
#endif
}
inline float bf16ToFloat(u16 b) { return bitCast<float>((u32)b << 16); }

/// Rounds `x` to a format with `M` stored mantissa bits and `E` exponent bits
/// (IEEE, with infinities); NaN gives the canonical NaN.
template <int M, int E> inline u32 roundToFormat(double x, Rnd r) {
  const u32 signBit = 1u << (M + E), expMax = ((1u << E) - 1) << M;
  if (x != x)
    return signBit - 1;
  u64 bits = bitCast<u64>(x);
  u32 sign = bits >> 63 ? signBit : 0;
  double a = std::fabs(x);
  if (std::isinf(a))
    return sign | expMax;
  if (a == 0)
    return sign;
  const int bias = (1 << (E - 1)) - 1;
  int e = (int)(bits >> 52 & 0x7ff) - 1023;
  if (e < 1 - bias)
    e = 1 - bias;
  // Units in the last place of the result; ldexp is exact here.
  double scaled = std::ldexp(a, M - e);
  double floorValue = std::floor(scaled), rest = scaled - floorValue;
  u64 n = (u64)floorValue;
  bool up = false;
  switch (r) {
  case Rnd::N:
    up = rest > 0.5 || (rest == 0.5 && (n & 1));
    break;
  case Rnd::NA:
    up = rest >= 0.5;
    break;
  case Rnd::Z:
    break;
  case Rnd::M:
    up = rest > 0 && sign;
    break;
  case Rnd::P:
    up = rest > 0 && !sign;
    break;
  }
  n += up;
  // n < 2^M: subnormal; carries move into the exponent by themselves.
  u64 out = n + ((u64)(e + bias - 1) << M);
  if (n < (1ull << M))
    out = n;
  if (out >= expMax) {
    // Overflow: infinity, or the largest finite value if rounding points to it.
    bool toInf = r == Rnd::N || r == Rnd::NA || (r == Rnd::P && !sign) ||
                 (r == Rnd::M && sign);
    return sign | (toInf ? expMax : expMax - 1);
  }
  return sign | (u32)out;
}

inline u16 doubleToHalf(double x, Rnd r = Rnd::N) {
  return (u16)roundToFormat<10, 5>(x, r);
}
inline u16 doubleToBf16(double x, Rnd r = Rnd::N) {
  return (u16)roundToFormat<7, 8>(x, r);
}
inline u16 floatToHalf(float x) {
#if defined(__F16C__)
  return x != x ? (u16)0x7fff : (u16)_cvtss_sh(x, 0);
#else
  return doubleToHalf(x);
#endif
}
inline u16 floatToBf16(float x) {
  u32 b = bitCast<u32>(x);
  if (x != x)
    return 0x7fff;
  return (u16)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

/// a * b + c rounded to odd in f64: a second rounding to at most 51 bits then
/// gives what one rounding would have given. The product must be exact.
inline double fmaToOdd(double a, double b, double c) {
  double p = a * b; // exact for operands of at most 26 bits
  double s = p + c;
  if (!std::isfinite(s))
    return s;
  double bb = s - p;
  double err = (p - (s - bb)) + (c - bb);
  if (err != 0 && !(bitCast<u64>(s) & 1)) {
    u64 bits = bitCast<u64>(s);
    // Towards the exact sum: away from zero if the error has s's sign.
    bool grow = (err > 0) == (s > 0);
    s = bitCast<double>(grow ? bits + 1 : bits - 1);
  }
  return s;
}

} // namespace tds::sim

#endif // TDSL_SIM_EXEC_FLOATSEMANTICS_H
