//===- HostBuilder.h - kernels computed on plain numbers -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The builder that computes at once. Integers are unsigned (they wrap); the
// operations that read a sign say so. To be compiled with -ffp-contract=off.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_SCALARMATH_DETAIL_HOSTBUILDER_H
#define TDSL_SCALARMATH_DETAIL_HOSTBUILDER_H

#include "tdsl/ScalarMath/Detail/Common.h"

#include <cstring>
#include <type_traits>

namespace tdsl::scalarmath::detail {

struct HostBuilder {
#define OP TDSL_SM_INLINE
  template <class T> OP T constant(T value) { return value; }

  template <class T> OP T add(T x, T y) { return x + y; }
  template <class T> OP T sub(T x, T y) { return x - y; }
  template <class T> OP T mul(T x, T y) { return x * y; }
  template <class T> OP T div(T x, T y) { return x / y; }
  template <class T> OP T neg(T x) { return -x; }
  OP float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
  OP double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
  OP float sqrt(float x) { return __builtin_sqrtf(x); }
  OP double sqrt(double x) { return __builtin_sqrt(x); }
  OP float abs(float x) { return __builtin_fabsf(x); }
  OP double abs(double x) { return __builtin_fabs(x); }
  OP float floor(float x) { return __builtin_floorf(x); }
  OP double floor(double x) { return __builtin_floor(x); }
  OP float ceil(float x) { return __builtin_ceilf(x); }
  OP double ceil(double x) { return __builtin_ceil(x); }
  OP float roundEven(float x) { return __builtin_roundevenf(x); }
  OP double roundEven(double x) { return __builtin_roundeven(x); }

  /// Ordered comparisons: false where either side is a NaN.
  template <class T> OP bool lt(T x, T y) { return x < y; }
  template <class T> OP bool le(T x, T y) { return x <= y; }
  template <class T> OP bool gt(T x, T y) { return x > y; }
  template <class T> OP bool ge(T x, T y) { return x >= y; }
  template <class T> OP bool eq(T x, T y) { return x == y; }
  OP bool band(bool x, bool y) { return x & y; }
  OP bool bor(bool x, bool y) { return x | y; }
  OP bool bxor(bool x, bool y) { return x ^ y; }
  OP bool bnot(bool x) { return !x; }
  template <class T> OP T select(bool c, T x, T y) { return c ? x : y; }

  OP uint32_t bitsOf(float x) { return copyBits<uint32_t>(x); }
  OP uint64_t bitsOf(double x) { return copyBits<uint64_t>(x); }
  OP float floatOf(uint32_t x) { return copyBits<float>(x); }
  OP double floatOf(uint64_t x) { return copyBits<double>(x); }

  template <class I> OP I iadd(I x, I y) { return I(x + y); }
  template <class I> OP I isub(I x, I y) { return I(x - y); }
  template <class I> OP I imul(I x, I y) { return I((x + 0u) * y); }
  template <class I> OP I iand(I x, I y) { return I(x & y); }
  template <class I> OP I ior(I x, I y) { return I(x | y); }
  template <class I> OP I ixor(I x, I y) { return I(x ^ y); }
  template <class I> OP I shl(I x, I n) { return I(x << n); }
  template <class I> OP I shr(I x, I n) { return I(x >> n); }
  template <class I> OP I sar(I x, I n) {
    return I(std::make_signed_t<I>(x) >> n);
  }
  template <class I> OP bool ieq(I x, I y) { return x == y; }
  template <class I> OP bool ult(I x, I y) { return x < y; }
  template <class I> OP bool slt(I x, I y) {
    return std::make_signed_t<I>(x) < std::make_signed_t<I>(y);
  }
  /// The divisor is not 0, and not -1 under the smallest dividend.
  template <class I> OP I sdiv(I x, I y) {
    return I(std::make_signed_t<I>(x) / std::make_signed_t<I>(y));
  }
  template <class I> OP I udiv(I x, I y) { return I(x / y); }

  /// The whole product of two 32-bit numbers; the high half of one of 64 bits.
  OP uint64_t mulWide(uint32_t x, uint32_t y) { return uint64_t(x) * y; }
  OP uint64_t mulHigh(uint64_t x, uint64_t y) {
    return uint64_t((static_cast<unsigned __int128>(x) * y) >> 64);
  }
  OP uint64_t zext64(uint32_t x) { return x; }
  OP uint64_t sext64(uint32_t x) { return uint64_t(int64_t(int32_t(x))); }
  OP uint32_t trunc32(uint64_t x) { return uint32_t(x); }

  OP double widen(float x) { return x; }
  OP float narrow(double x) { return float(x); }
  /// Signed integer to float T, rounded once.
  template <class T, class I> OP T fromSigned(I x) {
    return T(std::make_signed_t<I>(x));
  }
  /// Truncates; the value must fit the signed integer I.
  template <class I, class T> OP I toSigned(T x) {
    return I(std::make_signed_t<I>(x));
  }

  /// Steps `state` while the condition holds.
  template <class S, class Condition, class Step>
  OP S whileAny(S state, Condition condition, Step step) {
    while (condition(state))
      state = step(state);
    return state;
  }
#undef OP

private:
  template <class To, class From> static TDSL_SM_INLINE To copyBits(From x) {
    To to;
    std::memcpy(&to, &x, sizeof(to));
    return to;
  }
};

} // namespace tdsl::scalarmath::detail

#endif // TDSL_SCALARMATH_DETAIL_HOSTBUILDER_H
