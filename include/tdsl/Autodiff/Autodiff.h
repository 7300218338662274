//===- Autodiff.h - reverse-mode derivatives of tds programs -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_AUTODIFF_AUTODIFF_H
#define TDSL_AUTODIFF_AUTODIFF_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/Operation.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tdsl::autodiff {

/// Attaches the derivative rule of every operation
/// (`DifferentiableOpInterface`) when its dialect is loaded.
void registerAutodiffModels(mlir::DialectRegistry &registry);

/// The values that an operation is a function of: its operands, then the
/// tensors that its regions capture from outside, each once and in the order of
/// their first use. `needed` and `operandAdjoints` of
/// `DifferentiableOpInterface` run over this list.
llvm::SmallVector<mlir::Value> getDifferentiationInputs(mlir::Operation *op);

/// Whether a derivative can flow through a value of this type: floats and
/// tensors of floats.
bool carriesGradient(mlir::Type type);

/// Builds the adjoints of the inputs of `op` by its rule, see
/// `DifferentiableOpInterface::buildAdjoints`. Fails with an error at the
/// operation where it has no rule.
llvm::LogicalResult
applyRule(mlir::OpBuilder &builder, mlir::Operation *op,
          llvm::ArrayRef<mlir::Value> adjoints, llvm::ArrayRef<bool> needed,
          llvm::SmallVectorImpl<mlir::Value> &inputAdjoints);

/// Replaces calls by the bodies of the called functions, everywhere in the
/// module and also in what that brings in. Calls of functions with a custom
/// derivative stay where `keepCustomDerivatives` is set. Fails with an error at
/// a recursive call or one that cannot be resolved.
llvm::LogicalResult inlineCalls(mlir::ModuleOp module,
                                bool keepCustomDerivatives);

/// Expands every `tds.gradient` of the module and removes calls and, unless
/// `keepStops` is set, `tds.stop_gradient`, as the pass `tds-differentiate`
/// does.
llvm::LogicalResult differentiate(mlir::ModuleOp module,
                                  bool keepStops = false);

/// Test only: scales the adjoints that the rule of the operations called
/// `opName` gives by `factor`, in every later `differentiate` of the module.
void scaleRule(mlir::ModuleOp module, llvm::StringRef opName, double factor);

} // namespace tdsl::autodiff

#endif // TDSL_AUTODIFF_AUTODIFF_H
