//===- Passes.h - passes of the autodiff stage -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_AUTODIFF_PASSES_H
#define TDSL_AUTODIFF_PASSES_H

#include "tdsl/Support/PassStatistic.h"

#include "mlir/Pass/Pass.h"

namespace tdsl::autodiff {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tdsl/Autodiff/Passes.h.inc"

} // namespace tdsl::autodiff

#endif // TDSL_AUTODIFF_PASSES_H
