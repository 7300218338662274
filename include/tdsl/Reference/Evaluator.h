//===- Evaluator.h - the reference evaluator -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs functions of the tds dialect on tensor values, with the meaning that the
// operations' documentation gives them and nothing else: it is what the
// folders, the derivatives, fusion, CPU code and PTX are compared with.
// Reductions run in lexicographic order.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_REFERENCE_EVALUATOR_H
#define TDSL_REFERENCE_EVALUATOR_H

#include "tdsl/Dialect/TDS/Evaluate.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tdsl::reference {

/// Options of one evaluation: `f64` counts every float type as f64 (arguments
/// and results too); `stops` freezes stop_gradient.
using EvaluatorOptions = tds::EvaluateOptions;

/// Calls functions of a module. Thread-safe as long as the module stays as it
/// is and `options.stops` is null.
class Evaluator {
public:
  explicit Evaluator(mlir::ModuleOp module, EvaluatorOptions options = {})
      : module(module), options(options) {}

  /// The results of a call. Arguments must have the types of the function; with
  /// `options.f64` every float argument is converted to f64. Fails with a
  /// sentence that begins with the place in the source: a wrong argument, an
  /// unguarded read out of range, an unknown callee, an operation that has no
  /// value (tds.gradient before tds-differentiate), calls nested deeper than
  /// 256.
  llvm::Expected<std::vector<Tensor>> call(mlir::func::FuncOp function,
                                           llvm::ArrayRef<Tensor> arguments);
  llvm::Expected<std::vector<Tensor>> call(llvm::StringRef function,
                                           llvm::ArrayRef<Tensor> arguments);

private:
  using Value = std::shared_ptr<const Tensor>;
  class Scope;
  llvm::Error runFunction(mlir::func::FuncOp function,
                          llvm::ArrayRef<Value> arguments, unsigned depth,
                          std::vector<Value> &results);
  llvm::Error runBlock(mlir::Block &block, Scope &scope, unsigned depth,
                       std::vector<Value> &results);
  llvm::Error runOperation(mlir::Operation &op, Scope &scope, unsigned depth);
  llvm::Error runFold(tds::FoldOp fold, Scope &scope, unsigned depth);
  /// Attention, step by step.
  template <typename Op>
  llvm::Error runDecomposed(Op op, Scope &scope, unsigned depth);
  llvm::Error checkSize(mlir::Operation &op, mlir::Type type) const;

  mlir::ModuleOp module;
  EvaluatorOptions options;
};

/// Runs one function once, by name.
llvm::Expected<std::vector<Tensor>> runEntry(mlir::ModuleOp module,
                                             llvm::StringRef entry,
                                             llvm::ArrayRef<Tensor> arguments,
                                             EvaluatorOptions options = {});

/// A program between its calls: the variables by name, and the entries called
/// as the runtime calls them. This is the oracle for generated code.
class ProgramState {
public:
  using Named = std::vector<std::pair<std::string, Tensor>>;

  /// All variables of the module, zero.
  explicit ProgramState(mlir::ModuleOp module, EvaluatorOptions options = {});

  /// Runs the entry of kind "init", if there is one, with its input (the seed,
  /// whatever its name) and the variable `tds.seed` set to `seed`. Variables
  /// that it does not write are 0.
  llvm::Error init(uint64_t seed);

  /// Calls an entry with its inputs by name; one that is left out has its
  /// default. Gives the results by name and stores the variables that the entry
  /// writes.
  llvm::Expected<Named> call(llvm::StringRef entry,
                             const std::map<std::string, Tensor> &inputs);

  /// The variables by name. They may be set between calls.
  std::map<std::string, Tensor> variables;

private:
  mlir::ModuleOp module;
  EvaluatorOptions options;
};

} // namespace tdsl::reference

#endif // TDSL_REFERENCE_EVALUATOR_H
