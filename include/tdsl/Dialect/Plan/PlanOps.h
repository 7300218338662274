//===- PlanOps.h - the plan dialect -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_DIALECT_PLAN_PLANOPS_H
#define TDSL_DIALECT_PLAN_PLANOPS_H

#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"

#include <algorithm>

#include "tdsl/Dialect/Plan/PlanDialect.h.inc"
#include "tdsl/Dialect/Plan/PlanEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "tdsl/Dialect/Plan/PlanAttributes.h.inc"

#define GET_OP_CLASSES
#include "tdsl/Dialect/Plan/PlanOps.h.inc"

namespace tdsl::plan {

/// Names of the discardable attributes that the dialect gives a meaning to.
namespace attr {
/// On a copy or fill: why it is there, a sentence for people.
inline constexpr llvm::StringLiteral kWhy = "plan.why";
/// On a kernel function: DenseI64ArrayAttr, for each output the input whose
/// buffer it shares, or -1.
inline constexpr llvm::StringLiteral kInPlace = "plan.in_place";
/// On a kernel function: unit, no two of its buffers overlap in any launch.
inline constexpr llvm::StringLiteral kDisjoint = "plan.disjoint";
/// On a kernel function: DenseI64ArrayAttr, the inputs that are the number of a
/// loop's iteration, which the kernel gets as size arguments and not as
/// buffers.
inline constexpr llvm::StringLiteral kCounters = "plan.counters";
/// On a tds.variable: the number of its slab, and its offset there in bytes.
inline constexpr llvm::StringLiteral kSlab = "plan.slab";
inline constexpr llvm::StringLiteral kOffset = "plan.offset";
/// On a plan.entry: array of {text, source} for the elements of the result
/// `tds.flags`.
inline constexpr llvm::StringLiteral kFlags = "plan.flags";
/// On a plan.entry: what is in memory when it uses most: the number of the
/// `command`, the `live` bytes of the arena there, and the `largest` tensors,
/// each {bytes, role, name, type, source}.
inline constexpr llvm::StringLiteral kPeak = "plan.peak";
} // namespace attr

/// Every slot, variable and buffer begins at a multiple of this many bytes.
inline constexpr int64_t kAlignment = 256;

inline int64_t alignUp(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Where output `output` of a launch comes from in the program: the launch's
/// location keeps it behind the parts of its kernel.
mlir::Location getOutputLoc(LaunchOp launch, unsigned output);

/// The location of a launch whose kernel has these parts and outputs.
mlir::Location getLaunchLoc(mlir::MLIRContext *context,
                            llvm::ArrayRef<mlir::Location> parts,
                            llvm::ArrayRef<mlir::Location> outputs);

/// Bytes of a dense tensor.
int64_t getTensorBytes(mlir::Type tensor);

} // namespace tdsl::plan

#endif // TDSL_DIALECT_PLAN_PLANOPS_H
