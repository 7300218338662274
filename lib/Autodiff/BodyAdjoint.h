//===- BodyAdjoint.h - adjoints of what a body reads -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared by the rules of tds.generic, tds.reduce and tds.scatter. Over an
// iteration space d, a body gives a scalar s(d) from elements of tensors, and
// the operation passes an adjoint back to each s(d), its seed. The adjoint of a
// tensor that is read at f(d) is, at q,
//
//   sum over d with f(d) = q of  seed(d) * ds/d(read)(d)
//
// Each tensor gets a tds.generic over its own elements whose body inverts f
// (ReadInversion.h), evaluates the old body at d and runs the reverse sweep
// over its scalar operations. Reads at computed places (gathers) and clamped
// ones become a tds.scatter over d instead. Reads of a tensor at the same
// indices share one generic.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_AUTODIFF_BODYADJOINT_H
#define TDSL_LIB_AUTODIFF_BODYADJOINT_H

#include "AdjointBuilder.h"

#include "mlir/IR/IRMapping.h"

namespace tdsl::autodiff {

/// An old body, evaluated inside a new one.
class BodyClone {
public:
  /// `indices[i]` is the place of old index i; `mayLeave[i]` says whether it
  /// may lie outside of its extent, where reads are guarded.
  BodyClone(mlir::OpBuilder &builder, mlir::Block *body,
            llvm::ArrayRef<mlir::Value> indices, llvm::ArrayRef<bool> mayLeave);

  mlir::Value lookup(mlir::Value old) const { return map.lookup(old); }
  llvm::ArrayRef<mlir::Operation *> getOperations() const { return operations; }
  /// Reads `tensor` at the given old indices; 0 where one of them has left its
  /// extent.
  mlir::Value read(AdjointBuilder &emit, mlir::Value tensor,
                   llvm::ArrayRef<unsigned> positions);

private:
  llvm::SmallVector<mlir::Value> indices;
  llvm::SmallVector<bool> mayLeave;
  mlir::IRMapping map;
  llvm::SmallVector<mlir::Operation *> operations;
};

/// What an operation with a scalar body passes to the function below.
struct BodyProblem {
  mlir::Block *body = nullptr;
  /// The scalar that receives the seed.
  mlir::Value yielded;
  llvm::SmallVector<int64_t> extents;
  /// The first indices, that index the result; they are preferred when a read
  /// is inverted.
  unsigned numParallel = 0;
  /// Whether the seed is 0 where a parallel index lies outside of its extent.
  bool seedVanishesOutside = false;
  /// A sum of products of two reads, which multiplies without strong zeros.
  bool isContraction = false;
  /// The adjoint of `yielded` at a point.
  llvm::function_ref<mlir::Value(AdjointBuilder &, BodyClone &)> seed;
};

/// Reads an element; looks through broadcasts and constants. With `guarded` the
/// read is safe outside of the tensor too, and gives 0 there unless it looked
/// through.
mlir::Value readElement(AdjointBuilder &emit, mlir::Value tensor,
                        llvm::ArrayRef<mlir::Value> indices,
                        bool guarded = false);

/// The operations of `body` whose evaluation at `indices` gives `yielded`,
/// cloned at the builder's place; returns the scalar.
mlir::Value cloneBody(mlir::OpBuilder &builder, mlir::Block *body,
                      llvm::ArrayRef<mlir::Value> indices, mlir::Value yielded);

/// Erases pure operations of `block` that nothing uses.
void eraseDead(mlir::Block *block);

/// Gives the adjoints of the tensors `inputs` that are needed.
llvm::LogicalResult
buildBodyAdjoints(AdjointBuilder &emit, const BodyProblem &problem,
                  llvm::ArrayRef<mlir::Value> inputs,
                  llvm::ArrayRef<bool> needed,
                  llvm::SmallVectorImpl<mlir::Value> &adjoints);

} // namespace tdsl::autodiff

#endif // TDSL_LIB_AUTODIFF_BODYADJOINT_H
