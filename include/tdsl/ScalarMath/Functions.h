//===- Functions.h - the scalar functions and their names -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The list of scalar functions that every part of tdsl computes with the same
// bits. It needs neither MLIR nor the implementation.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_SCALARMATH_FUNCTIONS_H
#define TDSL_SCALARMATH_FUNCTIONS_H

#include <cstdint>

namespace tdsl::scalarmath {

/// Functions of one float. All exist for f32 and f64; f16 and bf16 compute in
/// f32 and round once.
enum class Unary : uint8_t {
  Exp,
  Expm1,
  Log,
  Log1p,
  Sqrt,
  Rsqrt,
  Tanh,
  Sigmoid,
  Erf,
  Sin,
  Cos,
  Floor,
  Ceil,
  /// Half-way cases go to the even neighbour.
  Round,
  Abs,
  /// -1, 1, or the argument itself where it is a zero or a NaN.
  Sign,
};
inline constexpr unsigned numUnary = unsigned(Unary::Sign) + 1;

/// Functions of two floats of one type.
enum class Binary : uint8_t {
  Pow,
  /// NaN where either operand is; -0 counts as less than +0.
  Min,
  Max,
  /// The floor of the exact quotient, rounded once.
  FloorDiv,
  /// x - floor(x / y) * y with the exact quotient; has the sign of y.
  Mod,
};
inline constexpr unsigned numBinary = unsigned(Binary::Mod) + 1;

/// The name as written in a TDS program ("exp", "floordiv" for `//`).
const char *nameOf(Unary function);
const char *nameOf(Binary function);

} // namespace tdsl::scalarmath

#endif // TDSL_SCALARMATH_FUNCTIONS_H
