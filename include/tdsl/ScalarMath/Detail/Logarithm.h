//===- Logarithm.h - log, log1p, pow -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), so that f is exact and
// nothing cancels near x = 1.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_SCALARMATH_DETAIL_LOGARITHM_H
#define TDSL_SCALARMATH_DETAIL_LOGARITHM_H

#include "tdsl/ScalarMath/Detail/Coefficients.h"
#include "tdsl/ScalarMath/Detail/Common.h"
#include "tdsl/ScalarMath/Detail/Exponential.h"

namespace tdsl::scalarmath::detail {

template <class V, class I> struct LogParts {
  I e;
  V f;
};

/// The parts of a positive normal x (garbage, but no fault, for others).
template <class T, class B, class V>
TDSL_SM_INLINE auto splitNormal(B &b, V x) {
  using F = Format<T>;
  auto base = bits<T>(b, F::sqrtHalfBits);
  auto i = b.isub(b.bitsOf(x), base);
  auto e = b.sar(i, bits<T>(b, F::mantissaBits));
  auto m = b.floatOf(b.iadd(b.iand(i, bits<T>(b, F::mantissaMask)), base));
  return LogParts<V, decltype(e)>{e, b.sub(m, num<T>(b, 1))};
}

/// The same where x may be subnormal.
template <class T, class B, class V>
TDSL_SM_INLINE auto splitPositive(B &b, V x) {
  using F = Format<T>;
  auto isSmall = b.lt(x, num<T>(b, F::smallestNormal));
  auto up = num<T>(b, T(uint64_t(1) << F::mantissaBits));
  auto parts = splitNormal<T>(b, b.select(isSmall, b.mul(x, up), x));
  parts.e = b.isub(
      parts.e, b.select(isSmall, bits<T>(b, F::mantissaBits), bits<T>(b, 0)));
  return parts;
}

/// e ln 2 + log(1 + f).
template <class T, class B, class V, class I>
TDSL_SM_INLINE auto logOfParts(B &b, LogParts<V, I> parts) {
  using F = Format<T>;
  auto e = b.template fromSigned<T>(parts.e);
  auto f = parts.f;
  auto high = num<T>(b, F::ln2High);
  auto low = num<T>(b, F::ln2Low);
  auto square = b.mul(f, f);
  if constexpr (sizeof(T) == 4) {
    auto p = b.fma(f, horner<T>(b, f, logF32), num<T>(b, -0.5f));
    return b.fma(e, high, b.add(f, b.fma(square, p, b.mul(e, low))));
  } else {
    // With s = f / (2 + f): log(1 + f) = 2 atanh(s) = 2 s + s R(s^2), and
    // 2 s = f - f^2/2 + s f^2/2, whose first term is exact.
    auto s = b.div(f, b.add(num<T>(b, 2), f));
    auto z = b.mul(s, s);
    auto r = b.mul(z, horner<T>(b, z, atanhF64));
    auto half = b.mul(num<T>(b, 0.5), square);
    auto rest = b.fma(s, b.add(half, r), b.mul(e, low));
    return b.fma(e, high, b.sub(f, b.sub(half, rest)));
  }
}

template <class T, class B, class V> TDSL_SM_INLINE auto logKernel(B &b, V x) {
  using F = Format<T>;
  auto zero = num<T>(b, 0);
  auto r = logOfParts<T>(b, splitPositive<T>(b, x));
  r = b.select(b.lt(x, num<T>(b, F::infinity)), r, x);
  auto pole =
      b.select(b.eq(x, zero), num<T>(b, -F::infinity), num<T>(b, F::nan));
  return b.select(b.gt(x, zero), r, pole);
}

template <class T, class B, class V>
TDSL_SM_INLINE auto log1pKernel(B &b, V x) {
  using F = Format<T>;
  auto one = num<T>(b, 1);
  auto minusOne = num<T>(b, -1);
  // u + c = 1 + x exactly; c scaled like u joins f.
  auto u = b.add(one, x);
  auto xPart = b.sub(u, one);
  auto c = b.add(b.sub(one, b.sub(u, xPart)), b.sub(x, xPart));
  auto parts = splitNormal<T>(b, u);
  // Where e is large c is 0, and 2^-e need only be a number.
  auto most = bits<T>(b, 100);
  auto e = b.select(b.slt(parts.e, most), parts.e, most);
  parts.f = b.fma(c, pow2<T>(b, b.isub(bits<T>(b, 0), e)), parts.f);
  auto r = logOfParts<T>(b, parts);
  r = b.select(b.lt(x, num<T>(b, F::infinity)), r, x);
  auto pole =
      b.select(b.eq(x, minusOne), num<T>(b, -F::infinity), num<T>(b, F::nan));
  r = b.select(b.gt(x, minusOne), r, pole);
  return b.select(b.eq(x, num<T>(b, 0)), x, r);
}

/// |x|^y for f32, computed in f64; 0, infinities and NaN of x included.
template <class B, class V>
TDSL_SM_INLINE auto powMagnitudeF32(B &b, V absX, V y) {
  auto x = b.widen(absX);
  auto parts = splitNormal<double>(b, x);
  auto f = parts.f;
  auto s = b.div(f, b.add(num<double>(b, 2), f));
  auto z = b.mul(s, s);
  auto log2x = b.fma(s, horner<double>(b, z, log2F32InF64),
                     b.template fromSigned<double>(parts.e));
  log2x = b.select(b.lt(x, num<double>(b, Format<double>::infinity)), log2x, x);
  log2x = b.select(b.eq(x, num<double>(b, 0)),
                   num<double>(b, -Format<double>::infinity), log2x);
  auto t = clampKeepNaN<double>(b, b.mul(b.widen(y), log2x), -200, 200);
  auto magic = num<double>(b, Format<double>::magic);
  auto shifted = b.add(t, magic);
  auto n = b.isub(b.bitsOf(shifted), b.bitsOf(magic));
  auto r = b.sub(t, b.sub(shifted, magic));
  auto p = b.fma(r, horner<double>(b, r, exp2F32InF64), num<double>(b, 1));
  return b.narrow(b.mul(p, pow2<double>(b, n)));
}

/// |x|^y for f64: the logarithm is carried in two numbers, because an error of
/// it is multiplied by up to 745 on its way through the exponential.
template <class B, class V>
TDSL_SM_INLINE auto powMagnitudeF64(B &b, V x, V y) {
  using F = Format<double>;
  auto zero = num<double>(b, 0);
  auto infinity = num<double>(b, F::infinity);
  auto parts = splitPositive<double>(b, x);
  auto f = parts.f;
  auto e = b.template fromSigned<double>(parts.e);

  // s = f / (2 + f), then 2 atanh(s) = 2 s + s^3 (2/3 + s^2 tail(s^2)).
  auto d = fastTwoSum(b, num<double>(b, 2), f);
  auto s = b.div(f, d.high);
  auto rest = b.sub(b.fma(b.neg(s), d.high, f), b.mul(s, d.low));
  auto sLow = b.div(rest, d.high);
  auto z = twoProduct(b, s, s);
  z.low = b.fma(b.add(s, s), sLow, z.low);
  auto tail = b.mul(z.high, horner<double>(b, z.high, atanhTailF64));
  auto a = fastTwoSum(b, num<double>(b, 0x1.5555555555555p-1), tail);
  a.low = b.add(a.low, num<double>(b, 0x1.5555555555555p-55));
  auto c = twoProduct(b, z.high, a.high);
  c.low = b.fma(z.high, a.low, b.fma(z.low, a.high, c.low));
  auto w = twoProduct(b, s, c.high);
  w.low = b.fma(s, c.low, b.fma(sLow, c.high, w.low));

  auto logM = fastTwoSum(b, b.add(s, s), w.high);
  logM.low = b.add(logM.low, b.add(b.add(sLow, sLow), w.low));
  auto eLn2 = twoProduct(b, e, num<double>(b, F::ln2High));
  eLn2.low = b.fma(e, num<double>(b, F::ln2Low), eLn2.low);
  auto sum = fastTwoSum(b, eLn2.high, logM.high);
  sum.low = b.add(sum.low, b.add(eLn2.low, logM.low));
  auto log = fastTwoSum(b, sum.high, sum.low);
  log.high = b.select(b.lt(x, infinity), log.high, x);
  log.high = b.select(b.eq(x, zero), num<double>(b, -F::infinity), log.high);

  auto t = b.mul(y, log.high);
  auto tLow = b.fma(y, log.low, b.fma(y, log.high, b.neg(t)));
  tLow = b.select(b.lt(b.abs(t), num<double>(b, 746)), tLow, zero);
  auto reduced = reduceByLn2<double>(
      b, clampKeepNaN<double>(b, t, ExpConstants<double>::low,
                              ExpConstants<double>::high));
  auto p = expPolynomial<double>(b, b.add(reduced.r, tLow));
  return scale<double>(b, p, reduced.n);
}

template <class T, class B, class V>
TDSL_SM_INLINE auto powKernel(B &b, V x, V y) {
  using F = Format<T>;
  auto one = num<T>(b, 1);
  auto absX = b.abs(x);
  V magnitude;
  if constexpr (sizeof(T) == 4)
    magnitude = powMagnitudeF32(b, absX, y);
  else
    magnitude = powMagnitudeF64(b, absX, y);
  magnitude = b.select(b.eq(absX, one), one, magnitude);

  auto half = b.mul(y, num<T>(b, T(0.5)));
  auto isInteger = b.eq(b.floor(y), y);
  auto isOdd = b.band(isInteger, b.bnot(b.eq(b.floor(half), half)));
  auto sign = b.select(isOdd, signOf<T>(b, x), bits<T>(b, 0));
  auto r = b.floatOf(b.ixor(b.bitsOf(magnitude), sign));
  auto negative =
      b.band(b.lt(x, num<T>(b, 0)), b.lt(absX, num<T>(b, F::infinity)));
  r = b.select(b.band(negative, b.bnot(isInteger)), num<T>(b, F::nan), r);
  return b.select(b.eq(y, num<T>(b, 0)), one, r);
}

} // namespace tdsl::scalarmath::detail

#endif // TDSL_SCALARMATH_DETAIL_LOGARITHM_H
