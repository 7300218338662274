//===- Kernels.h - kernels by enumerator -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_SCALARMATH_DETAIL_KERNELS_H
#define TDSL_SCALARMATH_DETAIL_KERNELS_H

#include "tdsl/ScalarMath/Detail/Arithmetic.h"
#include "tdsl/ScalarMath/Detail/Convert.h"
#include "tdsl/ScalarMath/Detail/Erf.h"
#include "tdsl/ScalarMath/Detail/Exponential.h"
#include "tdsl/ScalarMath/Detail/Logarithm.h"
#include "tdsl/ScalarMath/Detail/Random.h"
#include "tdsl/ScalarMath/Detail/Trigonometric.h"
#include "tdsl/ScalarMath/Functions.h"

namespace tdsl::scalarmath::detail {

template <Unary function, class T, class B, class V>
TDSL_SM_INLINE V unaryKernel(B &b, V x) {
  switch (function) {
  case Unary::Exp:
    return expKernel<T>(b, x);
  case Unary::Expm1:
    return expm1Kernel<T>(b, x);
  case Unary::Log:
    return logKernel<T>(b, x);
  case Unary::Log1p:
    return log1pKernel<T>(b, x);
  case Unary::Sqrt:
    return b.sqrt(x);
  case Unary::Rsqrt:
    return rsqrtKernel<T>(b, x);
  case Unary::Tanh:
    return tanhKernel<T>(b, x);
  case Unary::Sigmoid:
    return sigmoidKernel<T>(b, x);
  case Unary::Erf:
    return erfKernel<T>(b, x);
  case Unary::Sin:
    return sinKernel<T>(b, x);
  case Unary::Cos:
    return cosKernel<T>(b, x);
  case Unary::Floor:
    return b.floor(x);
  case Unary::Ceil:
    return b.ceil(x);
  case Unary::Round:
    return b.roundEven(x);
  case Unary::Abs:
    return b.abs(x);
  case Unary::Sign:
    return signKernel<T>(b, x);
  }
  __builtin_unreachable();
}

template <Binary function, class T, class B, class V>
TDSL_SM_INLINE V binaryKernel(B &b, V x, V y) {
  switch (function) {
  case Binary::Pow:
    return powKernel<T>(b, x, y);
  case Binary::Min:
    return minKernel<T>(b, x, y);
  case Binary::Max:
    return maxKernel<T>(b, x, y);
  case Binary::FloorDiv:
    return floorDivKernel<T>(b, x, y);
  case Binary::Mod:
    return modKernel<T>(b, x, y);
  }
  __builtin_unreachable();
}

} // namespace tdsl::scalarmath::detail

#endif // TDSL_SCALARMATH_DETAIL_KERNELS_H
