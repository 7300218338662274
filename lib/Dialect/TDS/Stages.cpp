//===- Stages.cpp - what a function may hold at a stage -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Dialect/TDS/Stages.h"

#include "tdsl/Dialect/TDS/TDSOps.h"

using namespace mlir;
using namespace tdsl::tds;

LogicalResult tdsl::tds::checkIsExpanded(func::FuncOp function) {
  if (!function->hasAttr(attr::kEntry))
    return success();
  WalkResult result = function.walk([](Operation *op) -> WalkResult {
    if (isa<GradientOp, IndependentOp>(op))
      return op->emitOpError(
          "must be expanded before this pass; run tds-differentiate first");
    if (isa<func::CallOp>(op))
      return op->emitOpError(
          "must be inlined before this pass; run tds-inline-calls first");
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult tdsl::tds::checkHasNoKernels(func::FuncOp function,
                                           StringRef pass) {
  WalkResult result = function.walk([&](KernelOp kernel) -> WalkResult {
    return kernel.emitOpError("holds what ")
           << pass << " looks for; run that before tds-form-kernels";
  });
  return failure(result.wasInterrupted());
}
