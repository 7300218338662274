//===- Reverse.h - the reverse sweep -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_AUTODIFF_REVERSE_H
#define TDSL_LIB_AUTODIFF_REVERSE_H

#include "AdjointBuilder.h"

#include "llvm/ADT/DenseSet.h"

namespace tdsl::autodiff {

/// Test-only mark with the factor by which an operation's rule is scaled.
inline constexpr llvm::StringLiteral kRuleScale = "tds.rule_scale";

/// Contributions to the adjoint of each value, in the order in which they
/// arose.
class AdjointMap {
public:
  void add(mlir::Value value, mlir::Value contribution) {
    if (contribution)
      contributions[value].push_back(contribution);
  }
  /// The sum of the contributions; null where there are none.
  mlir::Value get(mlir::OpBuilder &builder, mlir::Location loc,
                  mlir::Value value);

private:
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 2>> contributions;
};

/// The values among `ops` (in order) that vary with one of `sources`, the
/// sources included.
llvm::DenseSet<mlir::Value> findVarying(llvm::ArrayRef<mlir::Operation *> ops,
                                        llvm::ArrayRef<mlir::Value> sources);

/// Makes slices of what the folds among `ops` read at the number of their
/// iteration, where it is in `varying`: the derivative of a slice is a slice,
/// that of the whole tensor would be as large in every iteration. True where
/// anything changed; there are new operations in front of the folds then.
bool sliceReadsOfIterations(llvm::ArrayRef<mlir::Operation *> ops,
                            const llvm::DenseSet<mlir::Value> &varying);

/// Removes the folds of `block` that gave their bodies to others.
void eraseEmptyFolds(mlir::Block *block);

/// Runs backwards over `ops` and adds the adjoints of their inputs that are in
/// `varying`. Values that are `sources` are passed through like others, so a
/// source that depends on another one works.
llvm::LogicalResult reverseSweep(
    mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Operation *> ops,
    const llvm::DenseSet<mlir::Value> &varying, AdjointMap &adjoints,
    llvm::function_ref<bool(mlir::Operation *, mlir::Value)> special = {});

} // namespace tdsl::autodiff

#endif // TDSL_LIB_AUTODIFF_REVERSE_H
