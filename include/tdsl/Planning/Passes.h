//===- Passes.h - memory planning -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_PLANNING_PASSES_H
#define TDSL_PLANNING_PASSES_H

#include "tdsl/Dialect/Plan/PlanOps.h"
#include "tdsl/Support/PassStatistic.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace tdsl {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tdsl/Planning/Passes.h.inc"

} // namespace tdsl

#endif // TDSL_PLANNING_PASSES_H
