//===- Reference.h - true values to measure against -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_SCALARMATH_CHECK_REFERENCE_H
#define TDSL_SCALARMATH_CHECK_REFERENCE_H

#include "tdsl/ScalarMath/Functions.h"

namespace tdsl::scalarmath {

/// The C library's double result for the value x of an f32, up to rounding to
/// f32: its error is below 2^-28 ulp of an f32.
double referenceInDouble(Unary function, double x);

/// The error of `result` in units of the last place at the true value, from
/// MPFR. A result of the wrong kind (NaN, infinity, sign of a zero) counts as
/// infinitely wrong; so does any error of a function that must be exact.
double errorInUlps(Unary function, double x, double result);
double errorInUlps(Binary function, double x, double y, double result);
/// The same for f32, where `x` is f32 too.
double errorInUlps(Unary function, float x, float result);
double errorInUlps(Binary function, float x, float y, float result);

/// True for the functions whose results are correctly rounded.
bool isExact(Unary function);
bool isExact(Binary function);

} // namespace tdsl::scalarmath

#endif // TDSL_SCALARMATH_CHECK_REFERENCE_H
