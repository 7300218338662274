//===- InlineFunction.h - inlining of one call -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_AUTODIFF_INLINEFUNCTION_H
#define TDSL_AUTODIFF_INLINEFUNCTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseSet.h"

namespace tdsl::autodiff {

/// Clones the body of `function` at the builder's place, with the calls in it
/// inlined too (except those with a custom derivative), and returns what it
/// returns. Fails with an error at `loc` where the function has no body of one
/// block or calls itself.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
inlineFunction(mlir::OpBuilder &builder, mlir::Location loc,
               mlir::func::FuncOp function, mlir::ValueRange arguments);

/// As inlineCalls of Autodiff.h; adds the number of calls to `numInlined`.
llvm::LogicalResult inlineCalls(mlir::ModuleOp module,
                                bool keepCustomDerivatives,
                                int64_t &numInlined);

/// The names that anything in the module refers to. One walk, where
/// SymbolTable::symbolKnownUseEmpty takes one for each name.
llvm::DenseSet<mlir::StringAttr> getUsedSymbols(mlir::ModuleOp module);

} // namespace tdsl::autodiff

#endif // TDSL_AUTODIFF_INLINEFUNCTION_H
