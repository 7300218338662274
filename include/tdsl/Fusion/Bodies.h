//===- Bodies.h - reading and rewriting the bodies of index definitions -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_FUSION_BODIES_H
#define TDSL_FUSION_BODIES_H

#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace tdsl {

/// The blocks of a function that hold operations on whole tensors: the bodies
/// of its folds, the innermost first, and its own.
llvm::SmallVector<mlir::Block *> getGraphBlocks(mlir::func::FuncOp function);

/// What a pass of fusion does: runs `rewrite` on each block of getGraphBlocks
/// until one fails. Fails, too, with an error, where an entry calls functions
/// or holds derivatives that are to be taken. Nothing happens where there is no
/// body.
mlir::LogicalResult
rewriteGraph(mlir::func::FuncOp function,
             llvm::function_ref<mlir::LogicalResult(mlir::Block &)> rewrite);

/// Whether `op` is a generic without a reduction.
bool isElementGeneric(mlir::Operation *op);

/// The reads in the body of a generic or scatter, in order.
llvm::SmallVector<tds::ReadOp> getReads(mlir::Operation *op);

/// The loop indices of a generic or scatter.
mlir::ValueRange getLoopIndices(mlir::Operation *op);

/// Number of points at which the body of a generic, scatter or attention is
/// evaluated.
int64_t getNumPoints(mlir::Operation *op);

/// Whether `read` is unguarded and its indices are exactly `indices`, in order.
bool readsAt(tds::ReadOp read, mlir::ValueRange indices);

/// Whether `op` is an element generic that only widens 16-bit floats, which
/// take half of the memory.
bool onlyWidens(mlir::Operation *op);

/// Whether `op` is an element generic whose elements are rounded to a narrower
/// float type at last: kept in memory, they take half of what leads to them.
bool yieldsRounded(mlir::Operation *op);

/// Whether `op` is an element generic that only rounds a computed tensor to a
/// narrower float type at its own indices: that is what is kept in memory.
bool onlyRounds(mlir::Operation *op);

/// What it costs to evaluate one element operation, in additions; reads,
/// constants and affine indices are free.
int64_t getCost(mlir::Operation *op);

/// What it costs to evaluate the body of `op` once.
int64_t getBodyCost(mlir::Operation *op);

/// A `tds.apply` of `map` (one result, no symbols) to `operands`, composed with
/// the applies and index constants among these and simplified; where that is a
/// plain index or a number, the index or a constant.
mlir::Value createIndex(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::AffineMap map, mlir::ValueRange operands);

/// Clones the body of `op` (generic or scatter), without its terminator, with
/// its loop indices replaced by `indices`. The results are in `mapping`. Affine
/// indices are composed.
void cloneBody(mlir::OpBuilder &builder, mlir::Operation *op,
               mlir::ValueRange indices, mlir::IRMapping &mapping);

/// Clones the body of an element generic and returns what it yields.
mlir::Value cloneBodyAt(mlir::OpBuilder &builder, tds::GenericOp generic,
                        mlir::ValueRange indices);

/// Merges equal operations within the block of a body and drops those without a
/// use.
void simplifyBody(mlir::Block *block);

/// Merges equal operations of `block`, bodies included, and drops those without
/// a use. What a body reads counts in the hash, unlike in MLIR's own pass,
/// which takes quadratic time on the many alike bodies of equal layers.
void mergeEqualOps(mlir::Block &block);

/// Brings scalar constants of `block`, which stand there after folding, into
/// the bodies that use them.
void sinkScalars(mlir::Block &block);

} // namespace tdsl

#endif // TDSL_FUSION_BODIES_H
