//===- Phases.h - forward pass, backward pass and update -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The marks of tds-mark-phases, a discardable attribute of the operations of
// entries: "forward", "update", and none for the backward pass.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_TRANSFORMS_PHASES_H
#define TDSL_LIB_TRANSFORMS_PHASES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tdsl {

/// Whether the operation is marked as part of the update of the variables.
bool isUpdate(mlir::Operation *op);

/// Whether the operation is marked as part of the forward pass.
bool isInForward(mlir::Operation *op);

/// Gives `to` the mark of `from`, or none where that has none.
void copyPhase(mlir::Operation *from, mlir::Operation *to);

/// Marks `op` as part of the forward pass.
void markForward(mlir::Operation *op);

/// Takes the mark away and says in words what it stood for.
llvm::StringRef takePhase(mlir::Operation *op);

/// Takes all marks of a function away.
void removePhases(mlir::func::FuncOp function);

} // namespace tdsl

#endif // TDSL_LIB_TRANSFORMS_PHASES_H
