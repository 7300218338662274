//===- Exponential.h - exp, expm1, tanh, sigmoid -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// x = n ln 2 + r with |r| <= ln 2 / 2, then a polynomial in r. The integer n
// comes from adding a large constant, which works the same everywhere and keeps
// float-to-integer conversions (undefined for a NaN) out of the code.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_SCALARMATH_DETAIL_EXPONENTIAL_H
#define TDSL_SCALARMATH_DETAIL_EXPONENTIAL_H

#include "tdsl/ScalarMath/Detail/Coefficients.h"
#include "tdsl/ScalarMath/Detail/Common.h"

namespace tdsl::scalarmath::detail {

template <class T> struct ExpConstants;
template <> struct ExpConstants<float> {
  // Below low e^x rounds to 0; above high it is infinity.
  static constexpr float low = -104.0f, high = 89.0f;
  static constexpr float expm1Low = -20.0f;
  static constexpr float tanhHigh = 10.0f;
  static constexpr const auto &exp = expF32;
  static constexpr const auto &expm1 = expm1F32;
  static constexpr const auto &tanh = tanhF32;
};
template <> struct ExpConstants<double> {
  static constexpr double low = -746.0, high = 710.0;
  static constexpr double expm1Low = -40.0;
  static constexpr double tanhHigh = 22.0;
  static constexpr const auto &exp = expF64;
  static constexpr const auto &expm1 = expm1F64;
  static constexpr const auto &tanh = tanhF64;
};

/// r and n of x = n ln 2 + r; r is a NaN where x is. rLow is the rounding error
/// of r, for those who need it.
template <class V, class I> struct ExpReduced {
  V r, rLow;
  I n;
};

template <class T, bool withLow = false, class B, class V>
TDSL_SM_INLINE auto reduceByLn2(B &b, V x) {
  using F = Format<T>;
  auto magic = num<T>(b, F::magic);
  auto shifted = b.fma(x, num<T>(b, F::log2e), magic);
  auto nf = b.sub(shifted, magic);
  auto n = b.isub(b.bitsOf(shifted), b.bitsOf(magic));
  auto exact = b.fma(nf, num<T>(b, -F::ln2High), x);
  auto r = b.fma(nf, num<T>(b, -F::ln2Low), exact);
  auto low = r;
  if constexpr (withLow)
    low = b.fma(nf, num<T>(b, -F::ln2Low), b.sub(exact, r));
  return ExpReduced<V, decltype(n)>{r, low, n};
}

/// e^r for a reduced r.
template <class T, class B, class V>
TDSL_SM_INLINE auto expPolynomial(B &b, V r) {
  auto one = num<T>(b, 1);
  auto p = horner<T>(b, r, ExpConstants<T>::exp);
  return b.fma(b.fma(p, r, one), r, one);
}

template <class T, class B, class V> TDSL_SM_INLINE auto expKernel(B &b, V x) {
  using C = ExpConstants<T>;
  auto zero = num<T>(b, 0);
  auto high = num<T>(b, C::high);
  // What underflows to 0, as the -inf of a mask, is selected and not computed:
  // processors take long over an operation that underflows.
  auto isZero = b.lt(x, num<T>(b, C::low));
  auto limited = b.select(isZero, zero, x);
  limited = b.select(b.gt(limited, high), high, limited);
  auto reduced = reduceByLn2<T>(b, limited);
  auto y = scale<T>(b, expPolynomial<T>(b, reduced.r), reduced.n);
  return b.select(isZero, zero, y);
}

template <class T, class B, class V>
TDSL_SM_INLINE auto expm1Kernel(B &b, V x) {
  using C = ExpConstants<T>;
  auto reduced =
      reduceByLn2<T, true>(b, clampKeepNaN<T>(b, x, C::expm1Low, C::high));
  auto r = reduced.r;
  auto q =
      b.add(r, b.fma(b.mul(r, r), horner<T>(b, r, C::expm1), reduced.rLow));
  // 2^n (q + 1) - 1, computed at half size so that 2^n cannot overflow.
  auto half = pow2<T>(b, b.isub(reduced.n, bits<T>(b, 1)));
  auto y = b.fma(half, q, b.sub(half, num<T>(b, T(0.5))));
  return b.select(b.eq(x, num<T>(b, 0)), x, b.add(y, y));
}

/// tanh = 1 - 2 / (e^2|x| + 1), or an odd polynomial where that cancels.
template <class T, class B, class V> TDSL_SM_INLINE auto tanhKernel(B &b, V x) {
  using C = ExpConstants<T>;
  auto one = num<T>(b, 1);
  auto two = num<T>(b, 2);
  auto t = b.abs(x);
  auto limit = num<T>(b, C::tanhHigh);
  auto limited = b.select(b.gt(t, limit), limit, t);
  auto reduced = reduceByLn2<T>(b, b.add(limited, limited));
  auto e = b.mul(expPolynomial<T>(b, reduced.r), pow2<T>(b, reduced.n));
  auto large = b.sub(one, b.div(two, b.add(e, one)));
  auto z = b.mul(t, t);
  auto small = b.fma(t, b.mul(z, horner<T>(b, z, C::tanh)), t);
  auto isSmall = b.lt(t, num<T>(b, T(0.55)));
  return withSign<T>(b, b.select(isSmall, small, large), signOf<T>(b, x));
}

/// q = 1 / (1 + z) or z / (1 + z) with z = e^-|x|: nothing overflows, and the
/// far left tail keeps its subnormals.
///
/// On the left q can have nearly twice the relative spacing of z, so an error
/// of z would nearly double. Therefore the last rounding error of z (relative:
/// delta) and that of 1 + z (d.low) are taken out of q again, to first order:
/// q (1 - (d.low - delta) / d) on the left, q (1 - (d.low + z delta) / d) on
/// the right, where 1 / d is 1 - q and q.
template <class T, class B, class V>
TDSL_SM_INLINE auto sigmoidKernel(B &b, V x) {
  using C = ExpConstants<T>;
  auto one = num<T>(b, 1);
  auto limited = b.select(b.gt(b.abs(x), num<T>(b, -C::low)),
                          num<T>(b, -C::low), b.abs(x));
  auto reduced = reduceByLn2<T>(b, b.neg(limited));
  auto r = reduced.r;
  auto p = b.fma(horner<T>(b, r, C::exp), r, one);
  auto e = b.fma(p, r, one);
  auto error = b.fma(p, r, b.neg(b.sub(e, one)));
  // error / e, with 1 - r for e^-r.
  auto delta = b.fma(b.neg(error), r, error);
  auto z = scale<T>(b, e, reduced.n);

  auto isNegative = b.lt(x, num<T>(b, 0));
  auto d = fastTwoSum(b, one, z);
  auto q = b.div(b.select(isNegative, z, one), d.high);
  auto inverse = b.select(isNegative, b.sub(one, q), q);
  auto factor = b.select(isNegative, num<T>(b, -1), z);
  auto relative = b.mul(b.fma(factor, delta, d.low), inverse);
  return b.fma(b.neg(relative), q, q);
}

} // namespace tdsl::scalarmath::detail

#endif // TDSL_SCALARMATH_DETAIL_EXPONENTIAL_H
