//===- Fma.cpp - fused multiply-add on rows -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// std::fma is exact everywhere, but without the instruction it is a slow
// library call. The rows are therefore compiled a second time for processors
// that have it; the bits are the same.
//
//===----------------------------------------------------------------------===//

#include "tdsl/Reference/Rows.h"

#include <cmath>

using namespace tdsl::reference;

#define TDSL_FMA_BODY(T)                                                       \
  static inline __attribute__((always_inline)) void rowBody(                   \
      const T *a, const T *b, T *acc, size_t n) {                              \
    for (size_t i = 0; i < n; ++i)                                             \
      acc[i] = std::fma(a[i], b[i], acc[i]);                                   \
  }                                                                            \
  static inline __attribute__((always_inline)) void scaleBody(                 \
      T a, const T *b, T *acc, size_t n) {                                     \
    for (size_t i = 0; i < n; ++i)                                             \
      acc[i] = std::fma(a, b[i], acc[i]);                                      \
  }                                                                            \
  static inline __attribute__((always_inline)) T serialBody(                   \
      const T *a, const T *b, T acc, size_t n) {                               \
    for (size_t i = 0; i < n; ++i)                                             \
      acc = std::fma(a[i], b[i], acc);                                         \
    return acc;                                                                \
  }

TDSL_FMA_BODY(float)
TDSL_FMA_BODY(double)

#if defined(__x86_64__) && !defined(__FMA__)
#define TDSL_FMA_TARGET __attribute__((target("avx2,fma")))
static const bool hasFma =
    __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
#else
#define TDSL_FMA_TARGET
static const bool hasFma = false;
#endif

#define TDSL_FMA_ROWS(T)                                                       \
  TDSL_FMA_TARGET static void rowFast(const T *a, const T *b, T *acc,          \
                                      size_t n) {                              \
    rowBody(a, b, acc, n);                                                     \
  }                                                                            \
  TDSL_FMA_TARGET static void scaleFast(T a, const T *b, T *acc, size_t n) {   \
    scaleBody(a, b, acc, n);                                                   \
  }                                                                            \
  TDSL_FMA_TARGET static T serialFast(const T *a, const T *b, T acc,           \
                                      size_t n) {                              \
    return serialBody(a, b, acc, n);                                           \
  }                                                                            \
  void tdsl::reference::fmaRow(const T *a, const T *b, T *acc, size_t n) {     \
    hasFma ? rowFast(a, b, acc, n) : rowBody(a, b, acc, n);                    \
  }                                                                            \
  void tdsl::reference::fmaRow(T a, const T *b, T *acc, size_t n) {            \
    hasFma ? scaleFast(a, b, acc, n) : scaleBody(a, b, acc, n);                \
  }                                                                            \
  T tdsl::reference::fmaSerial(const T *a, const T *b, T acc, size_t n) {      \
    return hasFma ? serialFast(a, b, acc, n) : serialBody(a, b, acc, n);       \
  }

TDSL_FMA_ROWS(float)
TDSL_FMA_ROWS(double)
