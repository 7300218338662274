//===- ReadInversion.h - which iterations read an element -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A read x[f(d)] over an iteration space d sends the element q of x to every d
// with f(d) = q. The adjoint of x at q sums over these d; to gather instead of
// scatter, the equations f_k(d) = q_k are solved, each for one iteration index:
//
//   x[2*i + u]   q = 2*i + u      i = (q - u) floordiv 2, where (q - u) mod 2 =
//   0 and 0 <= i < extent(i); sum over u x[i, i]      q0 = i, q1 = i   i = q0,
//   where q1 = q0 x[i floordiv 3]               i = 3*q + r; sum over a new
//   index r in 0..3
//
// The indices that are not solved for, and the new ones, are summed over. An
// equation without an index left to solve for stays as a guard.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_AUTODIFF_READINVERSION_H
#define TDSL_LIB_AUTODIFF_READINVERSION_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"

namespace tdsl::autodiff {

/// A condition on the new space (q, free indices).
struct ReadCondition {
  enum Kind { Zero, NotNegative } kind;
  mlir::AffineExpr expr;
};

struct ReadInversion {
  /// Extents of the indices that are summed over; they follow the indices q in
  /// the new space.
  llvm::SmallVector<int64_t> freeExtents;
  /// Each old iteration index, over the new space.
  llvm::SmallVector<mlir::AffineExpr> indexExprs;
  /// Whether an old index may leave its extent where the conditions fail.
  llvm::SmallVector<bool> mayLeave;
  /// All must hold. The range conditions come from `mayLeave` indices only.
  llvm::SmallVector<ReadCondition> equations, ranges;
};

/// Inclusive bounds of `expr` where dimension i lies in 0..extents[i] - 1;
/// nothing where they are not known or a dimension is empty.
std::optional<std::pair<int64_t, int64_t>>
getBounds(mlir::AffineExpr expr, llvm::ArrayRef<int64_t> extents);

/// Inverts the read of a tensor of `shape` at `indices`, affine expressions
/// over an iteration space of `extents`. Indices i < `numPreferred` are solved
/// for first where the extents are equal.
ReadInversion invertRead(llvm::ArrayRef<mlir::AffineExpr> indices,
                         llvm::ArrayRef<int64_t> shape,
                         llvm::ArrayRef<int64_t> extents, unsigned numPreferred,
                         mlir::MLIRContext *context);

} // namespace tdsl::autodiff

#endif // TDSL_LIB_AUTODIFF_READINVERSION_H
