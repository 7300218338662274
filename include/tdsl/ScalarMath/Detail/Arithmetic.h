//===- Arithmetic.h - rounding, min, max, floor division -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_SCALARMATH_DETAIL_ARITHMETIC_H
#define TDSL_SCALARMATH_DETAIL_ARITHMETIC_H

#include "tdsl/ScalarMath/Detail/Common.h"

namespace tdsl::scalarmath::detail {

template <class T, class B, class V>
TDSL_SM_INLINE auto rsqrtKernel(B &b, V x) {
  return b.div(num<T>(b, 1), b.sqrt(x));
}

template <class T, class B, class V> TDSL_SM_INLINE auto signKernel(B &b, V x) {
  auto zero = num<T>(b, 0);
  auto one = withSign<T>(b, num<T>(b, 1), signOf<T>(b, x));
  return b.select(b.bor(b.lt(x, zero), b.gt(x, zero)), one, x);
}

/// The larger operand, a NaN where either is one, and +0 of the two zeros.
template <class T, class B, class V>
TDSL_SM_INLINE auto maxKernel(B &b, V x, V y) {
  auto equal = b.floatOf(b.iand(b.bitsOf(x), b.bitsOf(y)));
  auto other = b.select(b.eq(x, y), equal, b.add(x, y));
  return b.select(b.gt(x, y), x, b.select(b.lt(x, y), y, other));
}
template <class T, class B, class V>
TDSL_SM_INLINE auto minKernel(B &b, V x, V y) {
  auto equal = b.floatOf(b.ior(b.bitsOf(x), b.bitsOf(y)));
  auto other = b.select(b.eq(x, y), equal, b.add(x, y));
  return b.select(b.lt(x, y), x, b.select(b.gt(x, y), y, other));
}

/// The floor of the exact quotient x / y, rounded to T.
///
/// q = fl(x / y) lies on the same side of every number of T as the quotient
/// does, so floor(q) is right or one too high, and fma(-q, y, x) tells by its
/// sign, which rounding keeps. From 2^p on q is an integer itself; there the
/// floor can be the midpoint below q although the quotient was above it, and a
/// midpoint rounds to the even neighbour.
template <class T, class B, class V>
TDSL_SM_INLINE auto floorDivKernel(B &b, V x, V y) {
  using F = Format<T>;
  auto zero = num<T>(b, 0);
  auto one = num<T>(b, 1);
  auto infinity = num<T>(b, F::infinity);
  auto q = b.div(x, y);
  auto absQ = b.abs(q);

  // Below 2^p. Where n is 0 the remainder is x, also for an infinite y.
  auto n = b.floor(q);
  auto remainder = b.fma(b.neg(n), y, x);
  remainder = b.select(b.eq(n, zero), x, remainder);
  auto isOpposite = b.bxor(b.lt(remainder, zero), b.lt(y, zero));
  auto isNonZero = b.bor(b.lt(remainder, zero), b.gt(remainder, zero));
  auto small = b.select(b.band(isNonZero, isOpposite), b.sub(n, one), n);

  // From 2^p to infinity: `gap` is half the spacing of numbers at q.
  auto flip = signOf<T>(b, y);
  auto absY = b.abs(y);
  auto xFlipped = b.floatOf(b.ixor(b.bitsOf(x), flip));
  auto r = b.fma(b.neg(q), absY, xFlipped);
  auto pattern = b.bitsOf(q);
  auto power =
      b.floatOf(b.iand(b.bitsOf(absQ), bits<T>(b, IntOf<T>(~F::mantissaMask))));
  auto gap =
      b.mul(power, num<T>(b, F::mantissaBits == 23 ? T(0x1p-24) : T(0x1p-53)));
  auto atMidpoint = b.lt(b.fma(b.sub(gap, one), absY, r), zero);
  auto oddBit = b.iand(pattern, bits<T>(b, 1));
  auto isOdd = b.bnot(b.ieq(oddBit, bits<T>(b, 0)));
  auto large =
      b.select(b.band(atMidpoint, isOdd), b.sub(q, b.add(gap, gap)), q);

  auto limit = num<T>(b, F::mantissaBits == 23 ? T(0x1p24) : T(0x1p53));
  return b.select(b.lt(absQ, limit), small,
                  b.select(b.lt(absQ, infinity), large, q));
}

template <class V, class I> struct ModState {
  /// The remainder so far, in units of the divisor's exponent.
  V r;
  /// By how many bits the dividend still has to be moved up.
  I left;
};

/// |x| mod |y| exactly, for finite x and a finite y that is not 0: long
/// division, as many bits at once as fit. Takes a loop only where |x / y| is
/// over 2^20 (2^49 for f64).
template <class T, class B, class V>
TDSL_SM_INLINE auto modMagnitude(B &b, V absX, V absY) {
  using F = Format<T>;
  auto zero = num<T>(b, 0);
  auto izero = bits<T>(b, 0);
  auto width = bits<T>(b, F::mantissaBits);
  auto up = num<T>(b, T(uint64_t(1) << F::mantissaBits));
  auto significand = [&](V v, auto &exponent) __attribute__((always_inline)) {
    auto isSmall = b.lt(v, num<T>(b, F::smallestNormal));
    auto pattern = b.bitsOf(b.select(isSmall, b.mul(v, up), v));
    exponent = b.isub(b.shr(pattern, width), b.select(isSmall, width, izero));
    return b.floatOf(b.ior(b.iand(pattern, bits<T>(b, F::mantissaMask)),
                           b.bitsOf(num<T>(b, 1))));
  };
  auto xExponent = izero, yExponent = izero;
  auto mx = significand(absX, xExponent);
  auto my = significand(absY, yExponent);
  auto inverse = b.div(num<T>(b, 1), my);

  // One step: r = r 2^k mod my. The digit is the nearest integer up to a small
  // error, so that |r| < my and the fma is exact.
  using I = decltype(izero);
  using State = ModState<V, I>;
  auto step = [&](State s) __attribute__((always_inline)) {
    auto most = bits<T>(b, F::mantissaBits - 3);
    auto k = b.select(b.slt(s.left, most), s.left, most);
    k = b.select(b.slt(k, bits<T>(b, 0)), bits<T>(b, 0), k);
    auto shifted = b.mul(s.r, pow2<T>(b, k));
    auto digit = b.roundEven(b.mul(shifted, inverse));
    auto r = b.fma(b.neg(digit), my, shifted);
    r = b.select(b.lt(r, num<T>(b, 0)), b.add(r, my), r);
    return State{r, b.isub(s.left, k)};
  };
  // With k = 0 the first step brings mx itself below my.
  auto difference = b.isub(xExponent, yExponent);
  auto state = step(State{mx, difference});
  state = b.whileAny(
      state,
      [&](State s) __attribute__((always_inline)) {
        return b.slt(bits<T>(b, 0), s.left);
      },
      step);

  // Back to the divisor's exponent; exact, also as a subnormal.
  auto r = scale<T>(b, state.r, b.isub(yExponent, bits<T>(b, F::bias)));
  // A |x| below |y| is its own remainder; zero has no exponent.
  return b.select(b.lt(absX, absY), absX, b.select(b.eq(absX, zero), zero, r));
}

/// x - floor(x / y) y: the sign of y; NaN for an infinite x or a zero y.
template <class T, class B, class V>
TDSL_SM_INLINE auto modKernel(B &b, V x, V y) {
  using F = Format<T>;
  auto zero = num<T>(b, 0);
  auto infinity = num<T>(b, F::infinity);
  auto absX = b.abs(x);
  auto absY = b.abs(y);
  auto isFinite = b.band(b.lt(absX, infinity), b.gt(absY, zero));
  auto one = num<T>(b, 1);
  auto safeX = b.select(isFinite, absX, one);
  auto safeY = b.select(b.band(isFinite, b.lt(absY, infinity)), absY, one);
  auto r = modMagnitude<T>(b, safeX, safeY);
  r = b.select(b.lt(absX, absY), absX, r);
  auto isOpposite = b.bxor(b.lt(x, zero), b.lt(y, zero));
  r = b.select(b.band(isOpposite, b.gt(r, zero)), b.sub(absY, r), r);
  return b.select(isFinite, withSign<T>(b, r, signOf<T>(b, y)),
                  num<T>(b, F::nan));
}

/// Integer floor division; I is the unsigned type of the operands' width.
template <class V> struct DivMod {
  V div, mod;
};
template <class I, class B, class V>
TDSL_SM_INLINE DivMod<V> intDivMod(B &b, V x, V y, bool isUnsigned) {
  auto constant = [&](I value) __attribute__((always_inline)) {
    return b.template constant<I>(value);
  };
  auto zero = constant(0);
  auto one = constant(1);
  auto isZero = b.ieq(y, zero);
  if (isUnsigned) {
    auto divisor = b.select(isZero, one, y);
    auto q = b.udiv(x, divisor);
    auto r = b.isub(x, b.imul(q, divisor));
    return {b.select(isZero, zero, q), b.select(isZero, zero, r)};
  }
  // x // -1 is -x, which wraps for the smallest x; the machine's division
  // would trap. So a divisor of 1 stands in for 0 and for -1.
  auto isMinusOne = b.ieq(y, constant(I(~I(0))));
  auto divisor = b.select(b.bor(isZero, isMinusOne), one, y);
  auto q = b.sdiv(x, divisor);
  auto r = b.isub(x, b.imul(q, divisor));
  auto isNonZero = b.bnot(b.ieq(r, zero));
  auto isOpposite = b.slt(b.ixor(r, divisor), zero);
  auto adjust = b.band(isNonZero, isOpposite);
  q = b.select(adjust, b.isub(q, one), q);
  r = b.select(adjust, b.iadd(r, divisor), r);
  q = b.select(isMinusOne, b.isub(zero, x), q);
  return {b.select(isZero, zero, q), b.select(isZero, zero, r)};
}

} // namespace tdsl::scalarmath::detail

#endif // TDSL_SCALARMATH_DETAIL_ARITHMETIC_H
