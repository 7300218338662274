//===- Host.cpp - the scalar maths library as plain functions -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instantiates the kernels on plain numbers. Every function is compiled for
// plain x86-64 and for x86-64-v3 and chosen when the program starts: without an
// fma instruction std::fma is a slow library call, with the same result.
// Compiled with -ffp-contract=off.
//
//===----------------------------------------------------------------------===//

#include "tdsl/ScalarMath/Host.h"

#include "tdsl/ScalarMath/Detail/HostBuilder.h"
#include "tdsl/ScalarMath/Detail/Kernels.h"

#if defined(__x86_64__) && !defined(__AVX2__)
#define CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define CLONES
#endif

using namespace tdsl::scalarmath::detail;

namespace tdsl::scalarmath {

//===----------------------------------------------------------------------===//
// One function and one row function per enumerator and type
//===----------------------------------------------------------------------===//

#define UNARY(NAME, KIND, T)                                                   \
  CLONES T NAME(T x) {                                                         \
    HostBuilder b;                                                             \
    return unaryKernel<Unary::KIND, T>(b, x);                                  \
  }                                                                            \
  CLONES void NAME##Row(const T *in, T *out, size_t n) {                       \
    HostBuilder b;                                                             \
    _Pragma("clang loop vectorize(assume_safety)") for (size_t i = 0; i < n;   \
                                                        ++i) out[i] =          \
        unaryKernel<Unary::KIND, T>(b, in[i]);                                 \
  }
#define BINARY(NAME, KIND, T)                                                  \
  CLONES T NAME(T x, T y) {                                                    \
    HostBuilder b;                                                             \
    return binaryKernel<Binary::KIND, T>(b, x, y);                             \
  }                                                                            \
  CLONES void NAME##Row(const T *lhs, const T *rhs, T *out, size_t n) {        \
    HostBuilder b;                                                             \
    _Pragma("clang loop vectorize(assume_safety)") for (size_t i = 0; i < n;   \
                                                        ++i) out[i] =          \
        binaryKernel<Binary::KIND, T>(b, lhs[i], rhs[i]);                      \
  }
#define FOR_EACH_UNARY(X, T)                                                   \
  X(exp, Exp, T)                                                               \
  X(expm1, Expm1, T)                                                           \
  X(log, Log, T)                                                               \
  X(log1p, Log1p, T)                                                           \
  X(sqrt, Sqrt, T)                                                             \
  X(rsqrt, Rsqrt, T)                                                           \
  X(tanh, Tanh, T)                                                             \
  X(sigmoid, Sigmoid, T)                                                       \
  X(erf, Erf, T)                                                               \
  X(sin, Sin, T)                                                               \
  X(cos, Cos, T)                                                               \
  X(floor, Floor, T)                                                           \
  X(ceil, Ceil, T)                                                             \
  X(round, Round, T)                                                           \
  X(abs, Abs, T)                                                               \
  X(sign, Sign, T)
#define FOR_EACH_BINARY(X, T)                                                  \
  X(pow, Pow, T)                                                               \
  X(min, Min, T)                                                               \
  X(max, Max, T)                                                               \
  X(floorDiv, FloorDiv, T)                                                     \
  X(mod, Mod, T)

FOR_EACH_UNARY(UNARY, float)
FOR_EACH_UNARY(UNARY, double)
FOR_EACH_BINARY(BINARY, float)
FOR_EACH_BINARY(BINARY, double)

//===----------------------------------------------------------------------===//
// Dispatch by enumerator
//===----------------------------------------------------------------------===//

#define ONE(NAME, KIND, T)                                                     \
  case Unary::KIND:                                                            \
    return NAME(x);
#define ROW(NAME, KIND, T)                                                     \
  case Unary::KIND:                                                            \
    return NAME##Row(in, out, n);
#define ONE2(NAME, KIND, T)                                                    \
  case Binary::KIND:                                                           \
    return NAME(x, y);
#define ROW2(NAME, KIND, T)                                                    \
  case Binary::KIND:                                                           \
    return NAME##Row(lhs, rhs, out, n);
#define DISPATCH(T)                                                            \
  T evaluate(Unary function, T x) {                                            \
    switch (function) { FOR_EACH_UNARY(ONE, T) }                               \
    __builtin_unreachable();                                                   \
  }                                                                            \
  void evaluate(Unary function, const T *in, T *out, size_t n) {               \
    switch (function) { FOR_EACH_UNARY(ROW, T) }                               \
  }                                                                            \
  T evaluate(Binary function, T x, T y) {                                      \
    switch (function) { FOR_EACH_BINARY(ONE2, T) }                             \
    __builtin_unreachable();                                                   \
  }                                                                            \
  void evaluate(Binary function, const T *lhs, const T *rhs, T *out,           \
                size_t n) {                                                    \
    switch (function) { FOR_EACH_BINARY(ROW2, T) }                             \
  }
DISPATCH(float)
DISPATCH(double)

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

uint16_t toF16(float x) {
  HostBuilder b;
  return uint16_t(narrowToSmall<HalfFormat, float>(b, x));
}
uint16_t toF16(double x) {
  HostBuilder b;
  return uint16_t(narrowToSmall<HalfFormat, double>(b, x));
}
uint16_t toF16(int64_t x) {
  HostBuilder b;
  return toF16(int64ToOddF64(b, uint64_t(x)));
}
uint16_t toBF16(float x) {
  HostBuilder b;
  return uint16_t(narrowToSmall<BFloatFormat, float>(b, x));
}
uint16_t toBF16(double x) {
  HostBuilder b;
  return uint16_t(narrowToSmall<BFloatFormat, double>(b, x));
}
uint16_t toBF16(int64_t x) {
  HostBuilder b;
  return toBF16(int64ToOddF64(b, uint64_t(x)));
}
float fromF16(uint16_t bits) {
  HostBuilder b;
  return widenHalf(b, uint32_t(bits));
}
float fromBF16(uint16_t bits) {
  HostBuilder b;
  return widenBFloat(b, uint32_t(bits));
}
float toF32(double x) { return float(x); }
float toF32(int64_t x) { return float(x); }
double toF64(int64_t x) { return double(x); }

#define CONVERT_ROW(NAME, FROM, TO)                                            \
  CLONES void NAME(const FROM *in, TO *out, size_t n) {                        \
    for (size_t i = 0; i < n; ++i)                                             \
      out[i] = NAME##Inline(in[i]);                                            \
  }
static TDSL_SM_INLINE uint16_t toF16Inline(float x) {
  HostBuilder b;
  return uint16_t(narrowToSmall<HalfFormat, float>(b, x));
}
static TDSL_SM_INLINE uint16_t toBF16Inline(float x) {
  HostBuilder b;
  return uint16_t(narrowToSmall<BFloatFormat, float>(b, x));
}
static TDSL_SM_INLINE float fromF16Inline(uint16_t bits) {
  HostBuilder b;
  return widenHalf(b, uint32_t(bits));
}
static TDSL_SM_INLINE float fromBF16Inline(uint16_t bits) {
  HostBuilder b;
  return widenBFloat(b, uint32_t(bits));
}
CONVERT_ROW(toF16, float, uint16_t)
CONVERT_ROW(toBF16, float, uint16_t)
CONVERT_ROW(fromF16, uint16_t, float)
CONVERT_ROW(fromBF16, uint16_t, float)

template <class I, class T> static I toInt(T x) {
  HostBuilder b;
  // The conversion itself is signed, of the narrowest type with room.
  using Wide = std::conditional_t<sizeof(I) == 8, uint64_t, uint32_t>;
  return I(saturateToInt<Wide, T>(b, x, int64_t(std::numeric_limits<I>::min()),
                                  int64_t(std::numeric_limits<I>::max())));
}
int8_t toI8(float x) { return toInt<int8_t>(x); }
uint8_t toU8(float x) { return toInt<uint8_t>(x); }
int32_t toI32(float x) { return toInt<int32_t>(x); }
int64_t toI64(float x) { return toInt<int64_t>(x); }
int8_t toI8(double x) { return toInt<int8_t>(x); }
uint8_t toU8(double x) { return toInt<uint8_t>(x); }
int32_t toI32(double x) { return toInt<int32_t>(x); }
int64_t toI64(double x) { return toInt<int64_t>(x); }

//===----------------------------------------------------------------------===//
// Integer division
//===----------------------------------------------------------------------===//

template <class I> static DivMod<std::make_unsigned_t<I>> divMod(I x, I y) {
  HostBuilder b;
  using U = std::make_unsigned_t<I>;
  return intDivMod<U>(b, U(x), U(y), std::is_unsigned_v<I>);
}
int8_t floorDiv(int8_t x, int8_t y) { return int8_t(divMod(x, y).div); }
uint8_t floorDiv(uint8_t x, uint8_t y) { return divMod(x, y).div; }
int32_t floorDiv(int32_t x, int32_t y) { return int32_t(divMod(x, y).div); }
int64_t floorDiv(int64_t x, int64_t y) { return int64_t(divMod(x, y).div); }
int8_t mod(int8_t x, int8_t y) { return int8_t(divMod(x, y).mod); }
uint8_t mod(uint8_t x, uint8_t y) { return divMod(x, y).mod; }
int32_t mod(int32_t x, int32_t y) { return int32_t(divMod(x, y).mod); }
int64_t mod(int64_t x, int64_t y) { return int64_t(divMod(x, y).mod); }

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

PhiloxWords philox(uint64_t key, uint32_t c0, uint32_t c1, uint32_t c2,
                   uint32_t c3) {
  HostBuilder b;
  auto w = philoxKernel(b, key, Words<uint32_t>{{c0, c1, c2, c3}});
  return {{w.word[0], w.word[1], w.word[2], w.word[3]}};
}

float uniform(uint32_t word) {
  HostBuilder b;
  return uniformKernel(b, word);
}

CLONES NormalPair normalPair(uint32_t radiusWord, uint32_t angleWord) {
  HostBuilder b;
  auto pair = normalKernel(b, radiusWord, angleWord);
  return {pair.first, pair.second};
}

float uniformAt(uint64_t seed, uint64_t index, uint32_t iteration,
                uint32_t step, uint32_t site) {
  HostBuilder b;
  return uniformAtKernel(b, seed, index, iteration, step, site);
}

CLONES float normalAt(uint64_t seed, uint64_t index, uint32_t iteration,
                      uint32_t step, uint32_t site) {
  HostBuilder b;
  return normalAtKernel(b, seed, index, iteration, step, site);
}

/// Elements first .. first + n of a draw: `four` makes the values of one block
/// of four into out[0 .. 3], `one` makes single elements at the ragged ends.
template <class Four, class One>
static TDSL_SM_INLINE void drawRow(uint64_t first, float *out, size_t n,
                                   Four four, One one) {
  size_t i = 0;
  for (; i < n && (first + i) % 4 != 0; ++i)
    out[i] = one(first + i);
  size_t blocks = (n - i) / 4;
  for (size_t block = 0; block < blocks; ++block)
    four(first + i + 4 * block, out + i + 4 * block);
  for (i += 4 * blocks; i < n; ++i)
    out[i] = one(first + i);
}

CLONES void uniformRow(uint64_t seed, uint64_t first, uint32_t iteration,
                       uint32_t step, uint32_t site, float *out, size_t n) {
  HostBuilder b;
  drawRow(
      first, out, n,
      [&](uint64_t index, float *to) __attribute__((always_inline)) {
        auto w = drawWords(b, seed, index, iteration, step, site);
        for (int k = 0; k < 4; ++k)
          to[k] = uniformKernel(b, w.word[k]);
      },
      [&](uint64_t index) __attribute__((always_inline)) {
        return uniformAtKernel(b, seed, index, iteration, step, site);
      });
}

CLONES void normalRow(uint64_t seed, uint64_t first, uint32_t iteration,
                      uint32_t step, uint32_t site, float *out, size_t n) {
  HostBuilder b;
  drawRow(
      first, out, n,
      [&](uint64_t index, float *to) __attribute__((always_inline)) {
        auto w = drawWords(b, seed, index, iteration, step, site);
        for (int k = 0; k < 4; k += 2) {
          auto pair = normalKernel(b, w.word[k], w.word[k + 1]);
          to[k] = pair.first;
          to[k + 1] = pair.second;
        }
      },
      [&](uint64_t index) __attribute__((always_inline)) {
        return normalAtKernel(b, seed, index, iteration, step, site);
      });
}

} // namespace tdsl::scalarmath
