//===- Passes.h - passes between derivatives and fusion -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TRANSFORMS_PASSES_H
#define TDSL_TRANSFORMS_PASSES_H

#include "tdsl/Support/PassStatistic.h"

#include "mlir/Pass/Pass.h"

namespace tdsl {

#define GEN_PASS_DECL
#include "tdsl/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tdsl/Transforms/Passes.h.inc"

} // namespace tdsl

#endif // TDSL_TRANSFORMS_PASSES_H
