//===- Passes.h - schedules and code of the targets -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_TARGET_PASSES_H
#define TDSL_TARGET_PASSES_H

#include "tdsl/Support/PassStatistic.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tdsl {

#define GEN_PASS_DECL
#include "tdsl/Target/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tdsl/Target/Passes.h.inc"

} // namespace tdsl

#endif // TDSL_TARGET_PASSES_H
