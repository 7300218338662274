//===- Random.h - Philox4x32-10, uniform and normal values -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_SCALARMATH_DETAIL_RANDOM_H
#define TDSL_SCALARMATH_DETAIL_RANDOM_H

#include "tdsl/ScalarMath/Detail/Logarithm.h"
#include "tdsl/ScalarMath/Detail/Trigonometric.h"

namespace tdsl::scalarmath::detail {

template <class I> struct Words {
  I word[4];
};

/// `key` is a 64-bit integer, the counter four 32-bit ones.
template <class B, class K, class I>
TDSL_SM_INLINE Words<I> philoxKernel(B &b, K key, Words<I> c) {
  auto constant = [&](uint32_t value) __attribute__((always_inline)) {
    return bits<float>(b, value);
  };
  auto wordBits = bits<double>(b, 32);
  I k0 = b.trunc32(key);
  I k1 = b.trunc32(b.shr(key, wordBits));
  for (int round = 0; round < 10; ++round) {
    auto p0 = b.mulWide(constant(0xd2511f53), c.word[0]);
    auto p1 = b.mulWide(constant(0xcd9e8d57), c.word[2]);
    I high0 = b.trunc32(b.shr(p0, wordBits)), low0 = b.trunc32(p0);
    I high1 = b.trunc32(b.shr(p1, wordBits)), low1 = b.trunc32(p1);
    c = {{b.ixor(b.ixor(high1, c.word[1]), k0), low1,
          b.ixor(b.ixor(high0, c.word[3]), k1), low0}};
    k0 = b.iadd(k0, constant(0x9e3779b9));
    k1 = b.iadd(k1, constant(0xbb67ae85));
  }
  return c;
}

/// The upper 24 bits as a float; exact.
template <class B, class I> TDSL_SM_INLINE auto uniformKernel(B &b, I word) {
  auto top = b.shr(word, bits<float>(b, 8));
  return b.mul(b.template fromSigned<float>(top), num<float>(b, 0x1p-24f));
}

template <class V> struct NormalValues {
  V first, second;
};

/// Box-Muller. The angle is reduced to a quadrant and a rest while it is still
/// an integer, so 2 pi u2 is never rounded.
template <class B, class I>
TDSL_SM_INLINE auto normalKernel(B &b, I radiusWord, I angleWord) {
  auto constant = [&](uint32_t value) __attribute__((always_inline)) {
    return bits<float>(b, value);
  };
  auto top = b.iadd(b.shr(radiusWord, constant(8)), constant(1));
  auto u1 = b.mul(b.template fromSigned<float>(top), num<float>(b, 0x1p-24f));
  using V = decltype(u1);
  auto log = logOfParts<float>(b, splitNormal<float>(b, u1));
  auto radius = b.sqrt(b.mul(num<float>(b, -2), log));

  auto turn = b.shr(angleWord, constant(8));
  auto quadrant = b.shr(b.iadd(turn, constant(1 << 21)), constant(22));
  auto rest = b.isub(turn, b.shl(quadrant, constant(22)));
  auto quarters =
      b.mul(b.template fromSigned<float>(rest), num<float>(b, 0x1p-22f));
  auto angle = b.fma(quarters, num<float>(b, 0x1.921fb6p0f),
                     b.mul(quarters, num<float>(b, -0x1.777a5cp-25f)));
  auto both = sinCosPolynomial<float>(b, angle, angle);
  auto cos = selectQuadrant<float>(b, both, quadrant, 1);
  auto sin = selectQuadrant<float>(b, both, quadrant, 0);
  return NormalValues<V>{b.mul(radius, cos), b.mul(radius, sin)};
}

/// The words of elements index - index % 4 to that + 3 of one draw.
template <class B, class K, class I>
TDSL_SM_INLINE Words<I> drawWords(B &b, K seed, K index, I iteration, I step,
                                  I site) {
  I block = b.trunc32(b.shr(index, bits<double>(b, 2)));
  return philoxKernel(b, seed, Words<I>{{block, iteration, step, site}});
}

template <class B, class K, class I>
TDSL_SM_INLINE auto uniformAtKernel(B &b, K seed, K index, I iteration, I step,
                                    I site) {
  auto w = drawWords(b, seed, index, iteration, step, site);
  I lane = b.trunc32(index);
  auto zero = bits<float>(b, 0);
  auto isEven = b.ieq(b.iand(lane, bits<float>(b, 1)), zero);
  auto isFirst = b.ieq(b.iand(lane, bits<float>(b, 2)), zero);
  auto even = b.select(isFirst, w.word[0], w.word[2]);
  auto odd = b.select(isFirst, w.word[1], w.word[3]);
  return uniformKernel(b, b.select(isEven, even, odd));
}

template <class B, class K, class I>
TDSL_SM_INLINE auto normalAtKernel(B &b, K seed, K index, I iteration, I step,
                                   I site) {
  auto w = drawWords(b, seed, index, iteration, step, site);
  I lane = b.trunc32(index);
  auto zero = bits<float>(b, 0);
  auto isEven = b.ieq(b.iand(lane, bits<float>(b, 1)), zero);
  auto isFirst = b.ieq(b.iand(lane, bits<float>(b, 2)), zero);
  auto pair = normalKernel(b, b.select(isFirst, w.word[0], w.word[2]),
                           b.select(isFirst, w.word[1], w.word[3]));
  return b.select(isEven, pair.first, pair.second);
}

} // namespace tdsl::scalarmath::detail

#endif // TDSL_SCALARMATH_DETAIL_RANDOM_H
