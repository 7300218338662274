//===- Trigonometric.h - sin and cos -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments of every size take one path: x 2/pi modulo 4 from the bits of 2/pi
// in integer arithmetic (Payne and Hanek), whose window of bits is cut out by
// selects, so there is neither a branch nor a table in memory. Only |x| <= pi/4
// goes round it.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_SCALARMATH_DETAIL_TRIGONOMETRIC_H
#define TDSL_SCALARMATH_DETAIL_TRIGONOMETRIC_H

#include "tdsl/ScalarMath/Detail/Coefficients.h"
#include "tdsl/ScalarMath/Detail/Common.h"

namespace tdsl::scalarmath::detail {

// One word of zeros (for small exponents), then the binary digits of 2/pi.
inline constexpr uint32_t twoOverPi32[] = {
    0x00000000, 0xa2f9836e, 0x4e441529, 0xfc2757d1,
    0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab,
};
inline constexpr uint64_t twoOverPi64[] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0,
    0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
    0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d,
};

/// One layer of selectWindow: moves the words up by 2^layer where that bit of
/// the index is set. The layers below can still move them by 2^layer - 1.
template <class T, size_t layer, class B, class I, size_t N>
TDSL_SM_INLINE void selectWindowLayer(B &b, I index, I (&words)[N]) {
  constexpr size_t step = size_t(1) << layer;
  auto bit = b.iand(index, bits<T>(b, IntOf<T>(step)));
  auto stay = b.ieq(bit, bits<T>(b, 0));
#pragma unroll
  for (size_t i = 0; i < step + 3; ++i)
    words[i] = b.select(stay, words[i], words[i + step]);
  if constexpr (layer > 0)
    selectWindowLayer<T, layer - 1>(b, index, words);
}

/// Words index .. index + 3 of `table` into words[0 .. 3], by one layer of
/// selects per bit of the index; what lies past the end reads as 0.
template <class T, class B, class I, size_t N, size_t M>
TDSL_SM_INLINE void selectWindow(B &b, I index, const IntOf<T> (&table)[N],
                                 I (&words)[M]) {
  constexpr size_t layers = N > 16 ? 5 : 3;
  static_assert(M == (size_t(2) << layers) + 3, "room for every move");
#pragma unroll
  for (size_t i = 0; i < M; ++i)
    words[i] = bits<T>(b, i < N ? table[i] : 0);
  selectWindowLayer<T, layers - 1>(b, index, words);
}

/// x = (quadrant + 4 k) pi/2 + r, |r| <= pi/4, r = high + low.
template <class V, class I> struct TrigReduced {
  V high, low;
  /// Only the two lowest bits count.
  I quadrant;
};

/// All ones where `fraction` is negative. Its digits are taken from the number
/// without its sign: just below 0 the leading digits of the signed number would
/// cancel, after the others were rounded. (The complement of all bits stands
/// for the negative number, one unit beside it.)
template <class T, class B, class I>
TDSL_SM_INLINE auto maskOfSign(B &b, I fraction) {
  return b.isub(bits<T>(b, 0), b.shr(fraction, bits<T>(b, sizeof(T) * 8 - 1)));
}

/// From `fraction`, a signed 64-bit number of 2^-64 quarter turns.
template <class B, class I>
TDSL_SM_INLINE auto quarterTurnsToF32(B &b, I fraction) {
  auto mask = maskOfSign<double>(b, fraction);
  auto digits = b.ixor(fraction, mask);
  // Pieces short enough to be exact in f32.
  auto word = [&](I value) __attribute__((always_inline)) {
    return b.template fromSigned<float>(b.trunc32(value));
  };
  auto sixteen = bits<double>(b, 16);
  auto middle = b.iand(b.shr(digits, sixteen), bits<double>(b, 0xffffff));
  auto top = b.shr(digits, bits<double>(b, 40));
  auto high = b.mul(word(top), num<float>(b, 0x1p-24f));
  auto low = b.fma(word(b.iand(digits, bits<double>(b, 0xffff))),
                   num<float>(b, 0x1p-64f),
                   b.mul(word(middle), num<float>(b, 0x1p-48f)));
  auto sum = fastTwoSum(b, high, low);
  auto piHalf = num<float>(b, 0x1.921fb6p0f);
  auto error =
      b.fma(sum.high, num<float>(b, -0x1.777a5cp-25f), b.mul(sum.low, piHalf));
  auto sign = b.iand(b.trunc32(mask), bits<float>(b, Format<float>::signMask));
  return b.floatOf(b.ixor(b.bitsOf(b.fma(sum.high, piHalf, error)), sign));
}

template <class B, class V> TDSL_SM_INLINE auto reduceTrigF32(B &b, V absX) {
  auto pattern = b.bitsOf(absX);
  auto exponent = b.shr(pattern, bits<float>(b, 23));
  auto significand = b.ior(b.iand(pattern, bits<float>(b, 0x7fffff)),
                           bits<float>(b, 0x800000));
  // Bit q of the table (whose first word is zeros) is the first whose product
  // with the significand is no multiple of 4 as a whole; see Payne and Hanek.
  auto q = b.isub(exponent, bits<float>(b, 120));
  using I = decltype(q);
  I w[19];
  selectWindow<float>(b, b.iand(b.shr(q, bits<float>(b, 5)), bits<float>(b, 7)),
                      twoOverPi32, w);
  auto shift = b.iand(q, bits<float>(b, 31));
  auto back = b.isub(bits<float>(b, 31), shift);
  auto one = bits<float>(b, 1);
  for (int i = 0; i < 3; ++i)
    w[i] = b.ior(b.shl(w[i], shift), b.shr(b.shr(w[i + 1], one), back));
  auto wordBits = bits<double>(b, 32);
  auto product = b.shr(b.mulWide(significand, w[2]), wordBits);
  product = b.iadd(b.mulWide(significand, w[1]), product);
  product = b.iadd(b.shl(b.mulWide(significand, w[0]), wordBits), product);
  // Two bits of quadrant, then the fraction; its top bit, taken as a sign,
  // rounds the quadrant.
  auto quadrant = b.shr(b.iadd(product, bits<double>(b, uint64_t(1) << 61)),
                        bits<double>(b, 62));
  auto fraction = b.shl(product, bits<double>(b, 2));
  auto r = quarterTurnsToF32(b, fraction);
  auto isSmall = b.le(absX, num<float>(b, 0x1.921fb4p-1f));
  r = b.select(isSmall, absX, r);
  auto n = b.select(isSmall, bits<float>(b, 0), b.trunc32(quadrant));
  return TrigReduced<V, I>{r, r, n};
}

template <class B, class V> TDSL_SM_INLINE auto reduceTrigF64(B &b, V absX) {
  auto pattern = b.bitsOf(absX);
  auto exponent = b.shr(pattern, bits<double>(b, 52));
  auto significand =
      b.ior(b.iand(pattern, bits<double>(b, Format<double>::mantissaMask)),
            bits<double>(b, uint64_t(1) << 52));
  auto q = b.isub(exponent, bits<double>(b, 1013));
  using I = decltype(q);
  I w[67];
  selectWindow<double>(
      b, b.iand(b.shr(q, bits<double>(b, 6)), bits<double>(b, 31)), twoOverPi64,
      w);
  auto shift = b.iand(q, bits<double>(b, 63));
  auto back = b.isub(bits<double>(b, 63), shift);
  auto one = bits<double>(b, 1);
  for (int i = 0; i < 3; ++i)
    w[i] = b.ior(b.shl(w[i], shift), b.shr(b.shr(w[i + 1], one), back));
  // The upper two of the three product words.
  auto low = b.iadd(b.imul(significand, w[1]), b.mulHigh(significand, w[2]));
  auto carry =
      b.select(b.ult(low, b.imul(significand, w[1])), one, bits<double>(b, 0));
  auto high = b.iadd(
      b.iadd(b.imul(significand, w[0]), b.mulHigh(significand, w[1])), carry);
  auto two = bits<double>(b, 2);
  auto top = bits<double>(b, 62);
  auto quadrant = b.shr(b.iadd(high, bits<double>(b, uint64_t(1) << 61)), top);
  auto fraction = b.ior(b.shl(high, two), b.shr(low, top));
  auto fractionLow = b.shl(low, two);

  auto mask = maskOfSign<double>(b, fraction);
  fraction = b.ixor(fraction, mask);
  fractionLow = b.ixor(fractionLow, mask);

  // Pieces short enough to be exact: 53 bits, 53 and 22.
  auto piece = [&](I value, double unit) __attribute__((always_inline)) {
    return b.mul(b.template fromSigned<double>(value), num<double>(b, unit));
  };
  auto first = piece(b.shr(fraction, bits<double>(b, 11)), 0x1p-53);
  auto second = piece(b.ior(b.shl(b.iand(fraction, bits<double>(b, 0x7ff)),
                                  bits<double>(b, 42)),
                            b.shr(fractionLow, bits<double>(b, 22))),
                      0x1p-106);
  auto third = piece(b.iand(fractionLow, bits<double>(b, 0x3fffff)), 0x1p-128);
  auto sum = fastTwoSum(b, first, b.add(second, third));
  auto piHalf = num<double>(b, 0x1.921fb54442d18p0);
  auto r = twoProduct(b, sum.high, piHalf);
  r.low = b.fma(sum.high, num<double>(b, 0x1.1a62633145c07p-54),
                b.fma(sum.low, piHalf, r.low));
  auto sign = b.iand(mask, bits<double>(b, Format<double>::signMask));
  r.high = b.floatOf(b.ixor(b.bitsOf(r.high), sign));
  r.low = b.floatOf(b.ixor(b.bitsOf(r.low), sign));
  auto isSmall = b.le(absX, num<double>(b, 0x1.921fb54442d18p-1));
  auto zero = num<double>(b, 0);
  r.high = b.select(isSmall, absX, r.high);
  r.low = b.select(isSmall, zero, r.low);
  auto n = b.select(isSmall, bits<double>(b, 0), quadrant);
  return TrigReduced<V, I>{r.high, r.low, n};
}

template <class V> struct SinCos {
  V sin, cos;
};

/// Both polynomials on |r| <= pi/4.
template <class T, class B, class V>
TDSL_SM_INLINE SinCos<V> sinCosPolynomial(B &b, V high, V low) {
  auto z = b.mul(high, high);
  auto one = num<T>(b, 1);
  auto minusHalf = num<T>(b, T(-0.5));
  if constexpr (sizeof(T) == 4) {
    auto s = b.fma(high, b.mul(z, horner<T>(b, z, sinF32)), high);
    auto c = b.fma(z, b.fma(z, horner<T>(b, z, cosF32), minusHalf), one);
    return {s, c};
  } else {
    // sin(h + l) = sin h + l cos h, cos(h + l) = cos h - h l.
    auto p = b.mul(z, horner<T>(b, z, sinF64));
    auto s = b.add(high, b.fma(high, p, b.fma(b.mul(z, minusHalf), low, low)));
    auto q = b.mul(b.mul(z, z), horner<T>(b, z, cosF64));
    // 1 - z/2 with its error, which the small terms take along.
    auto half = b.mul(z, minusHalf);
    auto zError = b.fma(high, high, b.neg(z));
    auto main = b.add(one, half);
    auto error = b.add(b.sub(one, main), half);
    auto rest = b.sub(q, b.fma(high, low, b.mul(zError, num<T>(b, 0.5))));
    return {s, b.add(main, b.add(error, rest))};
  }
}

/// sin of (r, quadrant); `turn` is 0 for a sine and 1 for a cosine.
template <class T, class B, class V, class I>
TDSL_SM_INLINE auto selectQuadrant(B &b, SinCos<V> both, I quadrant,
                                   unsigned turn) {
  using F = Format<T>;
  auto n = b.iadd(quadrant, bits<T>(b, turn));
  auto one = bits<T>(b, 1);
  auto even = b.ieq(b.iand(n, one), bits<T>(b, 0));
  auto sign = b.shl(b.shr(n, one), bits<T>(b, sizeof(T) * 8 - 1));
  auto value = b.select(even, both.sin, both.cos);
  return b.floatOf(
      b.ixor(b.bitsOf(value), b.iand(sign, bits<T>(b, F::signMask))));
}

template <class T, class B, class V>
TDSL_SM_INLINE auto sinOrCos(B &b, V x, unsigned turn) {
  auto absX = b.abs(x);
  auto reduced = [&]() __attribute__((always_inline)) {
    if constexpr (sizeof(T) == 4)
      return reduceTrigF32(b, absX);
    else
      return reduceTrigF64(b, absX);
  }();
  auto both = sinCosPolynomial<T>(b, reduced.high, reduced.low);
  auto r = selectQuadrant<T>(b, both, reduced.quadrant, turn);
  if (turn == 0)
    r = b.floatOf(b.ixor(b.bitsOf(r), signOf<T>(b, x)));
  return b.select(b.lt(absX, num<T>(b, Format<T>::infinity)), r,
                  num<T>(b, Format<T>::nan));
}

template <class T, class B, class V> TDSL_SM_INLINE auto sinKernel(B &b, V x) {
  return sinOrCos<T>(b, x, 0);
}
template <class T, class B, class V> TDSL_SM_INLINE auto cosKernel(B &b, V x) {
  return sinOrCos<T>(b, x, 1);
}

} // namespace tdsl::scalarmath::detail

#endif // TDSL_SCALARMATH_DETAIL_TRIGONOMETRIC_H
