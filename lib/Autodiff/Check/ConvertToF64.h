//===- ConvertToF64.h - programs with every float type f64 -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_AUTODIFF_CHECK_CONVERTTOF64_H
#define TDSL_LIB_AUTODIFF_CHECK_CONVERTTOF64_H

#include "mlir/IR/BuiltinOps.h"

namespace tdsl::autodiff {

/// Makes every float type of the module f64: values, constants (unchanged in
/// value), functions and variables. Casts between floats stay, as casts from
/// f64 to f64, so that their rules are checked too.
void convertToF64(mlir::ModuleOp module);

} // namespace tdsl::autodiff

#endif // TDSL_LIB_AUTODIFF_CHECK_CONVERTTOF64_H
