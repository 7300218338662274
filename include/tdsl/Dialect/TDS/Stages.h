//===- Stages.h - what a function may hold at a stage -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_DIALECT_TDS_STAGES_H
#define TDSL_DIALECT_TDS_STAGES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tdsl::tds {

/// Fails, with an error at its place, where an entry still calls a function or
/// holds a derivative that is to be taken: passes that come later would leave
/// it as it is, and something wrong with it. A function that is no entry, such
/// as a custom derivative, has been inlined where it was used and may hold
/// anything.
mlir::LogicalResult checkIsExpanded(mlir::func::FuncOp function);

/// Fails, with an error at its place, where a function holds kernels already.
/// `pass` is the name of the pass that comes before them.
mlir::LogicalResult checkHasNoKernels(mlir::func::FuncOp function,
                                      llvm::StringRef pass);

} // namespace tdsl::tds

#endif // TDSL_DIALECT_TDS_STAGES_H
