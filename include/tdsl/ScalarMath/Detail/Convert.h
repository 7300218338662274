//===- Convert.h - conversions between element types -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Targets have no common instruction for these, and LLVM's fallbacks are calls
// into a run-time library, so they are made of integer operations. A 16-bit
// float is an integer whose low half holds its bits.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_SCALARMATH_DETAIL_CONVERT_H
#define TDSL_SCALARMATH_DETAIL_CONVERT_H

#include "tdsl/ScalarMath/Detail/Common.h"

namespace tdsl::scalarmath::detail {

struct HalfFormat {
  static constexpr int mantissaBits = 10, bias = 15;
};
struct BFloatFormat {
  static constexpr int mantissaBits = 7, bias = 127;
};

/// x rounded to the small format S: its bits, in an integer of T's width.
template <class S, class T, class B, class V>
TDSL_SM_INLINE auto narrowToSmall(B &b, V x) {
  using F = Format<T>;
  using I = IntOf<T>;
  constexpr int shift = F::mantissaBits - S::mantissaBits;
  constexpr I infinityBits = I(2 * S::bias + 1) << S::mantissaBits;
  auto constant = [&](I value) __attribute__((always_inline)) {
    return bits<T>(b, value);
  };
  auto absX = b.abs(x);
  auto pattern = b.bitsOf(absX);
  // Round to nearest even by adding just under half and the lowest kept bit;
  // a carry runs into the exponent as it should.
  auto kept = b.shr(pattern, constant(shift));
  auto lowest = b.iand(kept, constant(1));
  auto rounded =
      b.iadd(b.iadd(pattern, constant((I(1) << (shift - 1)) - 1)), lowest);
  auto r = b.isub(b.shr(rounded, constant(shift)),
                  constant(I(F::bias - S::bias) << S::mantissaBits));
  if constexpr (F::bias != S::bias) {
    // Below S's normal numbers: adding 2^k, whose last place is S's smallest
    // number, rounds at the right bit.
    constexpr int k = F::mantissaBits + 1 - S::bias - S::mantissaBits;
    auto unit = b.floatOf(constant(I(k + F::bias) << F::mantissaBits));
    auto tiny = b.isub(b.bitsOf(b.add(absX, unit)), b.bitsOf(unit));
    auto normal =
        b.floatOf(constant(I(1 - S::bias + F::bias) << F::mantissaBits));
    r = b.select(b.lt(absX, normal), tiny, r);
  }
  auto infinity = constant(infinityBits);
  r = b.select(b.ult(infinity, r), infinity, r);
  r = b.select(b.eq(x, x), r,
               constant(infinityBits | I(1) << (S::mantissaBits - 1)));
  auto sign = b.shr(b.bitsOf(x), constant(sizeof(T) * 8 - 16));
  return b.ior(r, b.iand(sign, constant(0x8000)));
}

/// The f32 value of f16 bits (high half zero). Exact.
template <class B, class I> TDSL_SM_INLINE auto widenHalf(B &b, I half) {
  auto constant = [&](uint32_t value) __attribute__((always_inline)) {
    return bits<float>(b, value);
  };
  auto magnitude = b.iand(half, constant(0x7fff));
  auto moved = b.shl(magnitude, constant(13));
  // As an f32 this is the value times 2^-112, subnormals included.
  auto finite = b.bitsOf(b.mul(b.floatOf(moved), num<float>(b, 0x1p112f)));
  auto special = b.ior(moved, constant(0x7f800000));
  auto r = b.select(b.ult(magnitude, constant(0x7c00)), finite, special);
  auto sign = b.shl(b.iand(half, constant(0x8000)), constant(16));
  return b.floatOf(b.ior(r, sign));
}

template <class B, class I> TDSL_SM_INLINE auto widenBFloat(B &b, I half) {
  return b.floatOf(b.shl(half, bits<float>(b, 16)));
}

/// Truncates to an integer I (uint32_t or uint64_t, read as signed), limited to
/// [low, high]. `high` + 1 is a number of T.
template <class I, class T, class B, class V>
TDSL_SM_INLINE auto saturateToInt(B &b, V x, int64_t low, int64_t high) {
  auto zero = num<T>(b, 0);
  auto past = num<T>(b, T(high / 2 + 1) * 2);
  auto v = b.select(b.eq(x, x), x, zero);
  auto isPast = b.ge(v, past);
  // Whatever is replaced below must still convert without a fault.
  v = b.select(isPast, zero, v);
  auto lowest = num<T>(b, T(low));
  v = b.select(b.lt(v, lowest), lowest, v);
  return b.select(isPast, b.template constant<I>(I(high)),
                  b.template toSigned<I>(v));
}

/// An i64 as an f64 that narrows to any 16-bit float as the integer itself
/// would: what does not fit goes into a sticky last bit.
template <class B, class I> TDSL_SM_INLINE auto int64ToOddF64(B &b, I x) {
  auto constant = [&](uint64_t value) __attribute__((always_inline)) {
    return bits<double>(b, value);
  };
  auto low = b.iand(x, constant(0x7ff));
  auto sticky = b.select(b.ieq(low, constant(0)), constant(0), constant(1));
  auto cut = b.ior(b.sar(x, constant(11)), sticky);
  auto large = b.mul(b.template fromSigned<double>(cut), num<double>(b, 2048));
  auto fits = b.ult(b.iadd(x, constant(uint64_t(1) << 53)),
                    constant(uint64_t(1) << 54));
  return b.select(fits, b.template fromSigned<double>(x), large);
}

} // namespace tdsl::scalarmath::detail

#endif // TDSL_SCALARMATH_DETAIL_CONVERT_H
