//===- Erf.h - the error function -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An odd polynomial below the limit, 1 - exp(q(|x|)) above it, where q
// approximates log(erfc) and exp need not be better than erfc is small.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_SCALARMATH_DETAIL_ERF_H
#define TDSL_SCALARMATH_DETAIL_ERF_H

#include "tdsl/ScalarMath/Detail/Exponential.h"

namespace tdsl::scalarmath::detail {

template <class T> struct ErfConstants;
template <> struct ErfConstants<float> {
  static constexpr float limit = 0.9f, one = 3.95f;
  static constexpr const auto &small = erfF32;
  static constexpr const auto &large = logErfcF32;
};
template <> struct ErfConstants<double> {
  static constexpr double limit = 1.0, one = 5.95;
  static constexpr const auto &small = erfF64;
  static constexpr const auto &large = logErfcF64;
};

template <class T, class B, class V> TDSL_SM_INLINE auto erfKernel(B &b, V x) {
  using C = ErfConstants<T>;
  auto t = b.abs(x);
  auto z = b.mul(t, t);
  auto small = b.fma(t, horner<T>(b, z, C::small), t);
  auto top = num<T>(b, C::one);
  auto limited = b.select(b.gt(t, top), top, t);
  auto reduced = reduceByLn2<T>(b, horner<T>(b, limited, C::large));
  auto erfc = b.mul(expPolynomial<T>(b, reduced.r), pow2<T>(b, reduced.n));
  auto large = b.sub(num<T>(b, 1), erfc);
  auto isSmall = b.lt(t, num<T>(b, C::limit));
  return withSign<T>(b, b.select(isSmall, small, large), signOf<T>(b, x));
}

} // namespace tdsl::scalarmath::detail

#endif // TDSL_SCALARMATH_DETAIL_ERF_H
