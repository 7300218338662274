//===- Folding.h - what folders and canonicalisation share -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_DIALECT_TDS_FOLDING_H
#define TDSL_LIB_DIALECT_TDS_FOLDING_H

#include "tdsl/Dialect/TDS/Evaluate.h"

#include "llvm/ADT/APFloat.h"

namespace tdsl::tds {

/// Results larger than this stay computed, so that constants do not swell the
/// program and folding takes no noticeable time. Splats have no limit.
inline constexpr int64_t maxFoldedElements = 64 * 1024;
/// Points of a nest that folding is willing to run.
inline constexpr int64_t maxFoldedPoints = 1024 * 1024;

/// The result of an operation on tensors whose operands are known; nothing
/// where it cannot be computed.
std::optional<reference::Tensor>
evaluateOn(mlir::Operation *op, llvm::ArrayRef<reference::Tensor> values);

/// Computes an element operation on constants; null where an operand is unknown
/// or the result too large.
mlir::OpFoldResult foldElementwise(mlir::Operation *op,
                                   llvm::ArrayRef<mlir::Attribute> operands);

/// The one value of a scalar constant or a splat; nothing for anything else.
std::optional<llvm::APFloat> getSplatFloat(mlir::Attribute value);
std::optional<llvm::APInt> getSplatInt(mlir::Attribute value);

/// Whether the value is a float (an integer) that equals `number`; a float zero
/// must also have the sign of `number`.
bool isFloat(mlir::Attribute value, double number);
bool isInt(mlir::Attribute value, int64_t number);

/// The constant `number` of a scalar or tensor type.
mlir::TypedAttr splatAttr(mlir::Type type, double number);

inline bool hasFloatElements(mlir::Value value) {
  return llvm::isa<mlir::FloatType>(getElementType(value.getType()));
}

/// Whether every value of `from` is a value of `to`.
bool isLossless(mlir::Type from, mlir::Type to);

/// The sums of the rows of `terms` (shape: `shape`, then one axis), or nothing
/// where an f32 (for f64: f64) accumulator could round in some order of the
/// terms. With `factors` the terms are the products of the two.
std::optional<reference::Tensor> sumExactly(const reference::Tensor &terms,
                                            const reference::Tensor *factors,
                                            llvm::ArrayRef<int64_t> shape);

/// The terms of a reduction over [parallel extents, reduction extents]; two
/// tensors of factors where the generic sums products of floats.
llvm::Expected<llvm::SmallVector<reference::Tensor, 2>> evaluateTerms(
    GenericOp op,
    llvm::function_ref<const reference::Tensor *(mlir::Value)> captured);

/// Whether the reduction of these elements gives the same bits in every order.
bool isOrderFree(ReductionKind kind, mlir::Type element);

} // namespace tdsl::tds

#endif // TDSL_LIB_DIALECT_TDS_FOLDING_H
