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

} // namespace tdsl::scalarmath
