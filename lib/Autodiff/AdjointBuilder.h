//===- AdjointBuilder.h - emission of lean adjoint code -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules of this folder write adjoints through an AdjointBuilder. A null
// value stands for "zero everywhere", so nothing is ever added to zero;
// multiplications by one vanish; constants are folded as they arise.
//
// Note: strong zeros. An element operation's adjoint is `g * f` with a local
// factor f that may be infinite or NaN where g is exactly 0, as in the branch
// of a select that was not taken. The convention asks for 0 there, so the
// product becomes `select(g == 0, 0, g * f)`. Read as a function, the select
// would have derivative 0 in g at g == 0, which is wrong for second
// derivatives; so it carries the mark kStrongZero and is differentiated as the
// plain product.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_AUTODIFF_ADJOINTBUILDER_H
#define TDSL_LIB_AUTODIFF_ADJOINTBUILDER_H

#include "tdsl/Autodiff/Autodiff.h"
#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/IR/Builders.h"

#include <optional>

namespace tdsl::autodiff {

/// Mark on a `tds.select` that keeps a zero adjoint zero; see the note above.
/// Removed when differentiation ends.
inline constexpr llvm::StringLiteral kStrongZero = "tds.strong_zero";

/// The value of a constant that is one number everywhere, also behind casts and
/// broadcasts.
std::optional<double> getSplat(mlir::Value value);

/// Whether the value is provably neither infinite nor a NaN.
bool isKnownFinite(mlir::Value value);

/// Whether the value is provably nowhere zero.
bool isKnownNonZero(mlir::Value value);

class AdjointBuilder {
public:
  AdjointBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  mlir::Value constant(mlir::Type type, double value);
  mlir::Value add(mlir::Value lhs, mlir::Value rhs);
  mlir::Value sub(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mul(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mul(mlir::Value lhs, double rhs);
  mlir::Value div(mlir::Value lhs, mlir::Value rhs);
  mlir::Value neg(mlir::Value value);
  mlir::Value cast(mlir::Value value, mlir::Type element);
  /// `condition ? onTrue : onFalse`; a null branch is zero.
  mlir::Value select(mlir::Value condition, mlir::Value onTrue,
                     mlir::Value onFalse);
  mlir::Value compare(tds::ComparePredicate predicate, mlir::Value lhs,
                      mlir::Value rhs);
  mlir::Value compare(tds::ComparePredicate predicate, mlir::Value lhs,
                      double rhs);
  mlir::Value both(mlir::Value lhs, mlir::Value rhs);

  /// `adjoint * factor`, 0 where the adjoint is exactly 0.
  mlir::Value strongMul(mlir::Value adjoint, mlir::Value factor);
  /// `adjoint / divisor`, 0 where the adjoint is exactly 0.
  mlir::Value strongDiv(mlir::Value adjoint, mlir::Value divisor);

  /// The sum of the contributions to one adjoint. Three or more of a narrow
  /// float are added in f32 and rounded once.
  mlir::Value sum(llvm::ArrayRef<mlir::Value> contributions);

  /// Whole tensors: looks through constants where the result is one.
  mlir::Value broadcast(mlir::Value value, mlir::RankedTensorType type,
                        llvm::ArrayRef<int64_t> axes);
  mlir::Value reshape(mlir::Value value, mlir::RankedTensorType type);

  template <typename Op> mlir::Value unary(mlir::Value operand) {
    return Op::create(builder, loc, operand.getType(), operand);
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;

private:
  mlir::Value keepZero(mlir::Value adjoint, mlir::Value product);
};

} // namespace tdsl::autodiff

#endif // TDSL_LIB_AUTODIFF_ADJOINTBUILDER_H
