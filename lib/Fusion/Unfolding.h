//===- Unfolding.h - tensors as expressions of their elements -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_FUSION_UNFOLDING_H
#define TDSL_LIB_FUSION_UNFOLDING_H

#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/SetVector.h"

#include <map>
#include <vector>

namespace tdsl {

/// Writes elements of tensors of a graph block as scalar expressions of fresh
/// indices, in a block of its own: `tds.read`s of what is not unfolded, and
/// operations on scalars. However a program was cut into definitions, equal
/// elements are equal expressions. The graph is not changed.
class Unfolding {
public:
  explicit Unfolding(mlir::Block &graph);

  /// How many operations that compute lie between a tensor and what is read of
  /// it; copies (parts, transposes, broadcasts) do not count.
  static constexpr unsigned copiesOnly = 0, everything = ~0u;

  /// An index that stands for itself.
  mlir::Value createIndex();
  /// The element of `tensor` at `indices`.
  mlir::Value getElement(mlir::Value tensor, mlir::ValueRange indices,
                         unsigned levels);
  /// `value`, an expression, with what it reads unfolded.
  mlir::Value deepen(mlir::Value value, unsigned levels);

  /// One term of a reduction, at indices of its result and fresh ones.
  struct Term {
    tds::ReductionKind kind;
    mlir::Value value;
    llvm::SmallVector<mlir::Value> indices;
  };
  /// The term of what makes `tensor`, or nothing where that is no reduction
  /// (generic, reduce or contract).
  std::optional<Term> getTerm(mlir::Value tensor, mlir::ValueRange indices,
                              unsigned levels);

  /// Whether two expressions are one, with `from` in the first where `to` is in
  /// the second.
  static bool areEqual(mlir::Value lhs, mlir::Value rhs, mlir::Value from,
                       mlir::Value to);
  /// Whether `value` depends on `index`.
  static bool uses(mlir::Value value, mlir::Value index);
  /// All operations that `value` is made of, in order.
  llvm::SetVector<mlir::Operation *> getSlice(mlir::Value value) const;

  /// The operations of the graph that were looked through.
  const llvm::SetVector<mlir::Operation *> &getVisited() const {
    return visited;
  }
  mlir::OpBuilder &getBuilder() { return builder; }

private:
  mlir::Value cloneBody(tds::GenericOp generic, mlir::ValueRange indices,
                        unsigned levels);
  static bool mayUnfold(tds::GenericOp generic, bool copiesOnly);
  mlir::Value unfold(mlir::Operation *op, mlir::ValueRange indices,
                     unsigned levels);

  mlir::Block &graph;
  mlir::Region region;
  mlir::Block *scratch;
  mlir::OpBuilder builder;
  mlir::Location loc;
  /// The place along axes of extent 1.
  mlir::Value zeroIndex;
  llvm::SetVector<mlir::Operation *> visited;
  /// Elements that are known, by the tensor, the levels and the indices.
  std::map<std::vector<const void *>, mlir::Value> known;
  unsigned steps = 0;
};

} // namespace tdsl

#endif // TDSL_LIB_FUSION_UNFOLDING_H
