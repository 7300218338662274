//===- Host.h - the scalar maths library as plain functions -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the reference evaluator and the constant folder call. The bits of every
// result equal those of the code that Emit.h makes for a CPU or a GPU, whatever
// processor this runs on. Error bounds and special cases: docs/ScalarMath.md.
// Nothing here throws, allocates or keeps state; all functions are thread-safe.
// The rounding mode must be to-nearest and subnormals must not be flushed.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_SCALARMATH_HOST_H
#define TDSL_SCALARMATH_HOST_H

#include "tdsl/ScalarMath/Functions.h"

#include <cstddef>
#include <cstdint>

namespace tdsl::scalarmath {

//===----------------------------------------------------------------------===//
// Functions by name
//===----------------------------------------------------------------------===//

float exp(float x);
float expm1(float x);
float log(float x);
float log1p(float x);
float sqrt(float x);
float rsqrt(float x);
float tanh(float x);
float sigmoid(float x);
float erf(float x);
float sin(float x);
float cos(float x);
float floor(float x);
float ceil(float x);
float round(float x);
float abs(float x);
float sign(float x);
float pow(float x, float y);
float min(float x, float y);
float max(float x, float y);
float floorDiv(float x, float y);
float mod(float x, float y);

double exp(double x);
double expm1(double x);
double log(double x);
double log1p(double x);
double sqrt(double x);
double rsqrt(double x);
double tanh(double x);
double sigmoid(double x);
double erf(double x);
double sin(double x);
double cos(double x);
double floor(double x);
double ceil(double x);
double round(double x);
double abs(double x);
double sign(double x);
double pow(double x, double y);
double min(double x, double y);
double max(double x, double y);
double floorDiv(double x, double y);
double mod(double x, double y);

//===----------------------------------------------------------------------===//
// Functions by enumerator, one value or a whole row
//===----------------------------------------------------------------------===//

float evaluate(Unary function, float x);
double evaluate(Unary function, double x);
float evaluate(Binary function, float x, float y);
double evaluate(Binary function, double x, double y);

/// out[i] = function(in[i]) for i < n, several at a time. `out` may be `in`
/// (or `lhs`, `rhs`), but must not overlap it partly.
void evaluate(Unary function, const float *in, float *out, size_t n);
void evaluate(Unary function, const double *in, double *out, size_t n);
void evaluate(Binary function, const float *lhs, const float *rhs, float *out,
              size_t n);
void evaluate(Binary function, const double *lhs, const double *rhs,
              double *out, size_t n);

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// f16 and bf16 values travel as their bits. Narrowing rounds once to nearest
/// even, keeps subnormals and keeps a NaN a NaN; widening is exact.
uint16_t toF16(float x);
uint16_t toF16(double x);
uint16_t toF16(int64_t x);
uint16_t toBF16(float x);
uint16_t toBF16(double x);
uint16_t toBF16(int64_t x);
float fromF16(uint16_t bits);
float fromBF16(uint16_t bits);
float toF32(double x);
float toF32(int64_t x);
double toF64(int64_t x);

/// Rows of the same, for the evaluator's 16-bit types.
void toF16(const float *in, uint16_t *out, size_t n);
void toBF16(const float *in, uint16_t *out, size_t n);
void fromF16(const uint16_t *in, float *out, size_t n);
void fromBF16(const uint16_t *in, float *out, size_t n);

/// Truncate towards zero, saturate, NaN gives 0.
int8_t toI8(float x);
uint8_t toU8(float x);
int32_t toI32(float x);
int64_t toI64(float x);
int8_t toI8(double x);
uint8_t toU8(double x);
int32_t toI32(double x);
int64_t toI64(double x);

//===----------------------------------------------------------------------===//
// Integer division: floors; x // 0 = 0, x % 0 = 0, INT_MIN // -1 = INT_MIN
//===----------------------------------------------------------------------===//

int8_t floorDiv(int8_t x, int8_t y);
uint8_t floorDiv(uint8_t x, uint8_t y);
int32_t floorDiv(int32_t x, int32_t y);
int64_t floorDiv(int64_t x, int64_t y);
int8_t mod(int8_t x, int8_t y);
uint8_t mod(uint8_t x, uint8_t y);
int32_t mod(int32_t x, int32_t y);
int64_t mod(int64_t x, int64_t y);

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

/// The four 32-bit words that Philox4x32-10 makes of one counter.
struct PhiloxWords {
  uint32_t word[4];
};

/// Philox4x32-10; the low half of `key` is the first key word.
PhiloxWords philox(uint64_t key, uint32_t c0, uint32_t c1, uint32_t c2,
                   uint32_t c3);

/// (word >> 8) * 2^-24, in [0, 1).
float uniform(uint32_t word);

/// Two independent normal values by Box-Muller from a pair of words.
struct NormalPair {
  float first, second;
};

/// With u1 = ((radiusWord >> 8) + 1) * 2^-24, u2 = (angleWord >> 8) * 2^-24 and
/// r = sqrt(-2 log u1): first = r cos(2 pi u2), second = r sin(2 pi u2).
NormalPair normalPair(uint32_t radiusWord, uint32_t angleWord);

/// The random value of logical element `index` of one draw. The counter is
/// (index / 4, iteration, step, site) and the word index % 4. A normal takes
/// the words in pairs (0,1) and (2,3): the first word of the pair is the radius
/// word, the second the angle word, an even index gets the cosine value and
/// the odd one after it the sine value.
float uniformAt(uint64_t seed, uint64_t index, uint32_t iteration,
                uint32_t step, uint32_t site);
float normalAt(uint64_t seed, uint64_t index, uint32_t iteration, uint32_t step,
               uint32_t site);

/// Elements first .. first + n of the same.
void uniformRow(uint64_t seed, uint64_t first, uint32_t iteration,
                uint32_t step, uint32_t site, float *out, size_t n);
void normalRow(uint64_t seed, uint64_t first, uint32_t iteration, uint32_t step,
               uint32_t site, float *out, size_t n);

} // namespace tdsl::scalarmath

#endif // TDSL_SCALARMATH_HOST_H
