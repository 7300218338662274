//===- SkippedResults.h - what a skipped step returns -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_TRANSFORMS_SKIPPEDRESULTS_H
#define TDSL_LIB_TRANSFORMS_SKIPPEDRESULTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/MapVector.h"

namespace tdsl {

/// Which variables a step has given new values, as what reads them sees them.
/// `isExempt` says of a variable that it changes in skipped steps, too.
llvm::MapVector<mlir::Value, mlir::FlatSymbolRefAttr>
findNewValues(mlir::func::FuncOp step,
              llvm::function_ref<bool(llvm::StringRef)> isExempt);

/// What the losses of a step read of `news`, the new values of variables, is
/// the old value where a gradient before it has overflowed. `finite` are, for
/// each gradient of the step in order, the rank-0 i1 that say that its results
/// are finite; they stand behind it.
void keepForLosses(
    mlir::func::FuncOp step,
    const llvm::MapVector<mlir::Value, mlir::FlatSymbolRefAttr> &news,
    llvm::ArrayRef<llvm::SmallVector<mlir::Value>> finite);

/// What the results of a step read of `news` is what stands: the old value
/// where `overflow`, a rank-0 i1, is true. What reads it goes behind that.
void keepForResults(
    mlir::func::FuncOp step,
    const llvm::MapVector<mlir::Value, mlir::FlatSymbolRefAttr> &news,
    mlir::Value overflow);

} // namespace tdsl

#endif // TDSL_LIB_TRANSFORMS_SKIPPEDRESULTS_H
