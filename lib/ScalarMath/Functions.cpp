//===- Functions.cpp - names of the scalar functions -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tdsl/ScalarMath/Functions.h"

namespace tdsl::scalarmath {

const char *nameOf(Unary function) {
  static const char *const names[numUnary] = {
      "exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "tanh", "sigmoid",
      "erf", "sin",   "cos", "floor", "ceil", "round", "abs",  "sign"};
  return names[unsigned(function)];
}

const char *nameOf(Binary function) {
  static const char *const names[numBinary] = {"pow", "min", "max", "floordiv",
                                               "mod"};
  return names[unsigned(function)];
}

} // namespace tdsl::scalarmath
