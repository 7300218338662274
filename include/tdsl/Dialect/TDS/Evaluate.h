//===- Evaluate.h - the value of one operation -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an operation of the dialect computes, on known operands. The constant
// folders and the reference evaluator both go through here, so that a folded
// program gives the bits of the program that ran.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_DIALECT_TDS_EVALUATE_H
#define TDSL_DIALECT_TDS_EVALUATE_H

#include "tdsl/Dialect/TDS/TDSOps.h"
#include "tdsl/Reference/Rows.h"
#include "tdsl/Reference/Tensor.h"

namespace tdsl::tds {

struct EvaluateOptions {
  /// Every float type counts as f64, and casts to a float keep all bits.
  bool f64 = false;
  /// Where not null, stop_gradient records its values or gives recorded ones.
  reference::StopRecorder *stops = nullptr;
};

/// The kind of an element type of the dialect (`index` is I64), or nothing for
/// any other type.
std::optional<reference::ElementKind> getElementKind(mlir::Type element,
                                                     bool f64 = false);
/// The builtin type of a kind.
mlir::Type getElementType(mlir::MLIRContext *context,
                          reference::ElementKind kind);

/// The value of a tds.constant: a number attribute (rank 0) or dense elements.
/// Fails (nothing) for other attributes.
std::optional<reference::Tensor> toTensor(mlir::Attribute value);

/// `tensor` as an attribute of `type`, a scalar type (number attribute) or a
/// tensor type (dense elements, a splat where all elements have the same bits).
/// Kind and shape must agree.
mlir::TypedAttr toAttribute(const reference::Tensor &tensor, mlir::Type type);

/// The exponent 0 to 4 of a float tds.pow that is marked as literal: such a
/// power is a product (`x ** 3` is `(x * x) * x`, `x ** 4` is `(x * x) * (x *
/// x)`).
std::optional<int> getLiteralExponent(PowOp op);

/// Computes `op`, which has one result and is not a call, a kernel or a
/// tds.gradient. `operands` are the values of its operands; scalars have rank
/// 0. `captured` gives the tensors that a body reads. Fails with a message
/// where an unguarded read is out of range or the operation is none of the
/// dialect.
llvm::Expected<reference::Tensor> evaluateOperation(
    mlir::Operation *op, llvm::ArrayRef<const reference::Tensor *> operands,
    llvm::function_ref<const reference::Tensor *(mlir::Value)> captured,
    const EvaluateOptions &options = {});

} // namespace tdsl::tds

#endif // TDSL_DIALECT_TDS_EVALUATE_H
