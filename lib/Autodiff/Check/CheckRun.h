//===- CheckRun.h - the check of one tds.gradient -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_AUTODIFF_CHECK_CHECKRUN_H
#define TDSL_LIB_AUTODIFF_CHECK_CHECKRUN_H

#include "CheckInputs.h"

#include "tdsl/Autodiff/GradientCheck.h"
#include "tdsl/Dialect/TDS/TDSOps.h"
#include "tdsl/Reference/Rows.h"

#include "mlir/IR/OwningOpRef.h"

#include <optional>

namespace tdsl::autodiff {

/// One direction: its derivative by the gradient and by differences.
struct Comparison {
  double analytic = 0, numeric = 0, error = 0;
  bool passes = false;
  /// The loss is not continuous here: the difference grows as the step shrinks.
  bool jumps = false;
};

struct VariableReport {
  std::string name;
  Comparison comparison;
  /// The gradient is 0 everywhere, and so is the difference.
  bool isZero = false;
};

struct GradientReport {
  std::vector<VariableReport> variables;
  std::vector<Comparison> directions;
  /// Where not empty, why nothing could be compared.
  std::string problem;
  /// The arguments that were used, in the order of the function.
  std::vector<reference::Tensor> arguments;

  bool passes() const;
  /// Whether a comparison failed, zeros aside.
  bool disagrees() const;
  /// Whether a comparison failed because the loss jumps there.
  bool meetsJump() const;
};

/// Two programs made from one gradient of a function: one that gives the
/// gradient, one that gives the loss with every variable displaced.
class CheckRun {
public:
  /// `module` is of f64 type. Fails after errors where the program cannot be
  /// differentiated. `tamper` is called on the program of the gradient.
  static llvm::FailureOr<CheckRun>
  prepare(mlir::ModuleOp module, llvm::StringRef function,
          unsigned gradientIndex,
          const std::function<void(mlir::ModuleOp)> &tamper = nullptr);

  /// Compares at random arguments, or at the ones given. Where the loss jumps
  /// (floor, comparisons) within the smallest step, others are drawn.
  GradientReport
  run(const GradientCheckOptions &options,
      std::optional<std::vector<reference::Tensor>> arguments = std::nullopt);

private:
  using Tensors = std::vector<reference::Tensor>;
  GradientReport runAt(const std::optional<Tensors> &given, Random &random,
                       const GradientCheckOptions &options);
  std::string evaluateBase(const Tensors &arguments, Tensors &gradients,
                           double &loss, reference::StopRecorder &stops);
  Comparison compare(const Tensors &arguments, const Tensors &gradients,
                     const Tensors &direction, double loss,
                     const GradientCheckOptions &options,
                     reference::StopRecorder &stops);

  std::string function;
  mlir::OwningOpRef<mlir::ModuleOp> gradientProgram, lossProgram;
  llvm::SmallVector<mlir::RankedTensorType> types;
  llvm::SmallVector<std::string> names;
};

/// "file:line:column" where the location has one.
std::string describeLocation(mlir::Location loc);

/// Makes `function` give `results` and nothing else, and drops what only other
/// results needed.
void setResults(mlir::func::FuncOp function, mlir::ValueRange results);

/// The `tds.gradient` operations of a function in order.
llvm::SmallVector<tds::GradientOp> getGradients(mlir::func::FuncOp function);

/// Checks each operation between the variables of a gradient and its loss
/// alone, and writes the ones that disagree. `arguments` are those of the
/// function. Returns how many.
unsigned localizeFault(mlir::ModuleOp module, llvm::StringRef function,
                       unsigned gradientIndex,
                       const std::vector<reference::Tensor> &arguments,
                       llvm::raw_ostream &os,
                       const GradientCheckOptions &options);

} // namespace tdsl::autodiff

#endif // TDSL_LIB_AUTODIFF_CHECK_CHECKRUN_H
