//===- TDSOps.h - operations of the tds dialect -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_DIALECT_TDS_TDSOPS_H
#define TDSL_DIALECT_TDS_TDSOPS_H

#include "tdsl/Dialect/TDS/TDSDialect.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>
#include <utility>

namespace tdsl::tds {

/// Marks the operations on elements: one meaning for scalars and, element by
/// element, for tensors. Their tensor form has only operands of one shape, the
/// result's.
template <typename ConcreteType>
class ElementwiseOp
    : public mlir::OpTrait::TraitBase<ConcreteType, ElementwiseOp> {};

/// The element type of a tensor, or the type itself for a scalar.
mlir::Type getElementType(mlir::Type type);

/// `type` (scalar or tensor) with another element type.
mlir::Type withElementType(mlir::Type type, mlir::Type element);

/// The type that sums and products of `element` accumulate in: f32 for f16 and
/// bf16, i32 for i8, u8 and i1, else the type itself.
mlir::Type getAccumulatorType(mlir::Type element);

/// Whether integers of this type are read as unsigned numbers (ui8 and i1).
bool isUnsigned(mlir::Type element);

/// The language's name of an element type: "f32", "u8", "bool", …
llvm::StringRef getElementName(mlir::Type element);

/// Size in bytes of one element in memory (1 for i1).
int64_t getElementBytes(mlir::Type element);

/// `index`, a value of type index in a body, as an affine expression of the
/// `dims` (the block arguments of the body, in order), or nothing where it
/// depends on anything else, as in a gather.
std::optional<mlir::AffineExpr> getAffineIndex(mlir::Value index,
                                               mlir::ValueRange dims);

/// Checks that `block`, the body of `parent`, is one of scalars (body_c1).
llvm::LogicalResult verifyBody(mlir::Operation *parent, mlir::Block &block);

} // namespace tdsl::tds

#include "tdsl/Dialect/TDS/TDSInterfaces.h.inc"

#define GET_OP_CLASSES
#include "tdsl/Dialect/TDS/TDSOps.h.inc"

namespace tdsl::tds {

/// The least and the greatest value of an integer or index of a body, where
/// they are known.
std::optional<std::pair<int64_t, int64_t>> getIndexRange(mlir::Value index);

/// Whether no index of a read can be out of range. A guard that never acts is
/// dropped by canonicalisation.
bool isProvablyInside(ReadOp read);

/// The tensors that the bodies of an attention (or of its derivative) read,
/// each once, in order.
llvm::SmallVector<mlir::Value> getBodyTensors(mlir::Operation *attention);

/// Whether each result of the map is a dimension or a constant, and each
/// dimension is one result.
bool isPlacement(mlir::AffineMap map);

/// What the operation computes, as index definitions with all intermediate
/// tensors, at the builder's place. One value for each result.
llvm::SmallVector<mlir::Value> decompose(mlir::OpBuilder &builder,
                                         AttentionOp op);
llvm::SmallVector<mlir::Value> decompose(mlir::OpBuilder &builder,
                                         AttentionGradOp op);

} // namespace tdsl::tds

#endif // TDSL_DIALECT_TDS_TDSOPS_H
