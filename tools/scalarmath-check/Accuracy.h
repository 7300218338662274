//===- Accuracy.h - the worst error over many inputs -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_SCALARMATH_CHECK_ACCURACY_H
#define TDSL_SCALARMATH_CHECK_ACCURACY_H

#include "tdsl/ScalarMath/Functions.h"

#include <cstdint>

namespace tdsl::scalarmath {

/// The largest error seen and where; x and y hold the operands exactly.
struct Worst {
  double ulps = -1;
  double x = 0, y = 0, result = 0;
  uint64_t points = 0;
};

/// Every `stride`-th of the 2^32 patterns, on `threads` threads.
Worst sweepF32(Unary function, uint32_t stride, unsigned threads);
/// Edge values and random points; every error by MPFR.
Worst sweepF64(Unary function, uint64_t points, unsigned threads);
Worst sweepF32(Binary function, uint64_t points, unsigned threads);
Worst sweepF64(Binary function, uint64_t points, unsigned threads);

} // namespace tdsl::scalarmath

#endif // TDSL_SCALARMATH_CHECK_ACCURACY_H
