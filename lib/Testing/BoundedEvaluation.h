//===- BoundedEvaluation.h - results and how far they may be off -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_TESTING_BOUNDEDEVALUATION_H
#define TDSL_LIB_TESTING_BOUNDEDEVALUATION_H

#include "tdsl/Reference/Tensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/Support/Error.h"

namespace tdsl::testing {

/// A result of a function with the largest difference that the language allows
/// between schedules.
struct BoundedResult {
  reference::Tensor value;
  /// No float reduction that rounds went into it: equal bits are wanted.
  bool isExact = true;
  /// Per element; infinite where nothing can be said.
  std::vector<double> tolerance;

  /// The first element that is off, or -1.
  int64_t findDifference(const reference::Tensor &other) const;
};

/// Evaluates a function without calls, and then again with the result of each
/// float reduction moved by its bound n * eps * sum |term|, up, down, and both
/// ways at random. A reduction of numbers with so few bits that it is exact in
/// every order isn't moved.
llvm::Expected<std::vector<BoundedResult>>
evaluateBounded(mlir::func::FuncOp function,
                llvm::ArrayRef<reference::Tensor> arguments);

} // namespace tdsl::testing

#endif // TDSL_LIB_TESTING_BOUNDEDEVALUATION_H
