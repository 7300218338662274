//===- CheckInputs.h - random arguments for a gradient check -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_AUTODIFF_CHECK_CHECKINPUTS_H
#define TDSL_LIB_AUTODIFF_CHECK_CHECKINPUTS_H

#include "tdsl/Reference/Tensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <random>
#include <vector>

namespace tdsl::autodiff {

using Random = std::mt19937_64;

/// A number in [low, high), the same on every platform.
double drawUniform(Random &random, double low, double high);

/// Where floats are drawn from; tried in this order until the loss is finite.
enum class FloatDomain { Signed, Positive, AboveOne };

/// A value for a tensor of `type`. Integers lie in 0..bound - 1; a bound of 0
/// stands for a small range of the type.
reference::Tensor drawTensor(mlir::RankedTensorType type, Random &random,
                             FloatDomain domain, int64_t bound = 0,
                             double scale = 1);

/// Values for the arguments of a function of f64 type. Integers that are used
/// as indices of tensors, directly or through shape changes, arithmetic and
/// index definitions, stay inside of these.
std::vector<reference::Tensor>
drawArguments(mlir::func::FuncOp function, Random &random, FloatDomain domain);

} // namespace tdsl::autodiff

#endif // TDSL_LIB_AUTODIFF_CHECK_CHECKINPUTS_H
