//===- Common.h - what all scalar kernels share -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every function of the library is written once, as a template over a builder
// B. HostBuilder computes at once on numbers; MlirBuilder emits IR. A kernel
// template `template <class T, class B> auto f(B &b, auto x)` has T = float or
// double, the format it works in; the values of a kernel are whatever the
// builder's operations return. Kernels are free of branches (selects only), so
// that both loops over arrays and vector IR work. Every operation is one IEEE
// operation and is rounded once: nothing may be contracted or reassociated, and
// that is all that "the same bits on every device" needs.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_SCALARMATH_DETAIL_COMMON_H
#define TDSL_SCALARMATH_DETAIL_COMMON_H

#include <cstddef>
#include <cstdint>
#include <limits>

// The host's row functions are compiled once per processor level; only what is
// inlined into them is compiled for that level.
#define TDSL_SM_INLINE inline __attribute__((always_inline))

namespace tdsl::scalarmath::detail {

/// What the kernels need to know of a float format. `magic` is 1.5 * 2^p: a
/// small number plus magic has its nearest integer in its low bits.
template <class T> struct Format;
template <> struct Format<float> {
  using Int = uint32_t;
  static constexpr int mantissaBits = 23;
  static constexpr int bias = 127;
  static constexpr uint32_t mantissaMask = 0x7fffff;
  static constexpr uint32_t signMask = 0x80000000;
  static constexpr float magic = 0x1.8p23f;
  static constexpr float infinity = std::numeric_limits<float>::infinity();
  static constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  static constexpr float smallestNormal = 0x1p-126f;
  static constexpr float log2e = 0x1.715476p0f;
  // ln 2 = high + low; high * n is exact in an fma whatever n.
  static constexpr float ln2High = 0x1.62e43p-1f;
  static constexpr float ln2Low = -0x1.05c61p-29f;
  /// The bits of sqrt(1/2): significands are taken from [sqrt(1/2), sqrt(2)).
  static constexpr uint32_t sqrtHalfBits = 0x3f3504f3;
};
template <> struct Format<double> {
  using Int = uint64_t;
  static constexpr int mantissaBits = 52;
  static constexpr int bias = 1023;
  static constexpr uint64_t mantissaMask = 0xfffffffffffff;
  static constexpr uint64_t signMask = 0x8000000000000000;
  static constexpr double magic = 0x1.8p52;
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  static constexpr double smallestNormal = 0x1p-1022;
  static constexpr double log2e = 0x1.71547652b82fep0;
  static constexpr double ln2High = 0x1.62e42fefa39efp-1;
  static constexpr double ln2Low = 0x1.abc9e3b39803fp-56;
  static constexpr uint64_t sqrtHalfBits = 0x3fe6a09e667f3bcd;
};

template <class T> using IntOf = typename Format<T>::Int;

/// The constant `value` of float format T, and an integer of its width.
template <class T, class B> TDSL_SM_INLINE auto num(B &b, T value) {
  return b.template constant<T>(value);
}
template <class T, class B> TDSL_SM_INLINE auto bits(B &b, IntOf<T> value) {
  return b.template constant<IntOf<T>>(value);
}

/// c[0] + x (c[1] + x (c[2] + ...)).
template <class T, class B, class V, size_t N>
TDSL_SM_INLINE auto horner(B &b, V x, const T (&c)[N]) {
  auto p = num<T>(b, c[N - 1]);
  for (size_t i = N - 1; i-- > 0;)
    p = b.fma(p, x, num<T>(b, c[i]));
  return p;
}

template <class T, class B, class V> TDSL_SM_INLINE auto signOf(B &b, V x) {
  return b.iand(b.bitsOf(x), bits<T>(b, Format<T>::signMask));
}

/// `magnitude` (not negative) with the given sign bit.
template <class T, class B, class V, class I>
TDSL_SM_INLINE auto withSign(B &b, V magnitude, I sign) {
  return b.floatOf(b.ior(b.bitsOf(magnitude), sign));
}

/// 2^n for an integer n within the normal exponents.
template <class T, class B, class I> TDSL_SM_INLINE auto pow2(B &b, I n) {
  return b.floatOf(b.shl(b.iadd(n, bits<T>(b, Format<T>::bias)),
                         bits<T>(b, Format<T>::mantissaBits)));
}

/// x * 2^n with one rounding, for |n| up to twice the largest exponent.
template <class T, class B, class V, class I>
TDSL_SM_INLINE auto scale(B &b, V x, I n) {
  auto half = b.sar(n, bits<T>(b, 1));
  auto rest = b.isub(n, half);
  return b.mul(b.mul(x, pow2<T>(b, half)), pow2<T>(b, rest));
}

/// x limited to [low, high]; a NaN stays one.
template <class T, class B, class V>
TDSL_SM_INLINE auto clampKeepNaN(B &b, V x, T low, T high) {
  auto lo = num<T>(b, low);
  auto hi = num<T>(b, high);
  auto t = b.select(b.lt(x, lo), lo, x);
  return b.select(b.gt(t, hi), hi, t);
}

/// The sum of two numbers of which |x| >= |y| (or x is 0), and its error.
template <class V> struct Pair {
  V high, low;
};
template <class B, class V> TDSL_SM_INLINE Pair<V> fastTwoSum(B &b, V x, V y) {
  auto sum = b.add(x, y);
  return {sum, b.sub(y, b.sub(sum, x))};
}
template <class B, class V> TDSL_SM_INLINE Pair<V> twoProduct(B &b, V x, V y) {
  auto product = b.mul(x, y);
  return {product, b.fma(x, y, b.neg(product))};
}

} // namespace tdsl::scalarmath::detail

#endif // TDSL_SCALARMATH_DETAIL_COMMON_H
