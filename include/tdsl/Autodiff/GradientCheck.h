//===- GradientCheck.h - gradients against central differences -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_AUTODIFF_GRADIENTCHECK_H
#define TDSL_AUTODIFF_GRADIENTCHECK_H

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <string>

namespace tdsl::autodiff {

struct GradientCheckOptions {
  /// Besides one direction for each variable alone, as many random directions
  /// in all of them together.
  unsigned randomDirections = 8;
  /// Seed of the inputs, the variables and the directions.
  uint64_t seed = 0;
  /// A directional derivative passes where it differs from the central
  /// difference by at most `relativeTolerance` times the larger of the two plus
  /// `absoluteTolerance` times max(1, |loss|). All arithmetic is f64; the step
  /// is 1e-5, and where that fails 1e-6 and 1e-4, so that a kink nearby is not
  /// taken for a fault. Where the difference grows as the step shrinks, the
  /// loss jumps there, and other random arguments are drawn.
  double relativeTolerance = 1e-5;
  double absoluteTolerance = 1e-9;
  /// Print a line for every variable and direction, not only one for each
  /// variable.
  bool verbose = false;
  /// Random programs: pass where a variable's gradient is 0 in every direction,
  /// and where no random arguments give a finite loss.
  bool allowZero = false, allowUncomparable = false;
  /// Test only: does something to the differentiated program.
  std::function<void(mlir::ModuleOp)> tamper;
  /// Test only: an operation whose rule is scaled, as in "tds.mul:1.01".
  std::string scaleRule;
};

/// Compares every `tds.gradient` in the functions of `module` (not yet
/// differentiated; it is left as it is) with central differences of its loss
/// through the reference evaluator. All float types count as f64, and what
/// `tds.stop_gradient` passes is held at the base point. Floats are random;
/// integers that index a tensor are random inside of it.
///
/// Writes a report to `os`: per gradient its place, then per variable its name,
/// the derivative, the difference and the relative error. After a failure it
/// checks each operation between the variables and the loss by itself and names
/// those whose own rule disagrees, with their places. Succeeds where every
/// gradient passes; a variable whose gradient is 0 in every direction is
/// reported and does not pass.
llvm::LogicalResult checkGradients(mlir::ModuleOp module, llvm::raw_ostream &os,
                                   const GradientCheckOptions &options = {});

} // namespace tdsl::autodiff

#endif // TDSL_AUTODIFF_GRADIENTCHECK_H
