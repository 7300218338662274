//===- ProgramFeatures.h - what a program has -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_TESTING_PROGRAMFEATURES_H
#define TDSL_LIB_TESTING_PROGRAMFEATURES_H

#include "mlir/IR/BuiltinOps.h"

#include <set>
#include <string>

namespace tdsl::testing {

/// Notes the operations of a module ("ir tds.exp", "ir tds.generic sum").
void noteOperations(mlir::ModuleOp module, std::set<std::string> &features);

/// Notes what lies between the losses and the variables of the tds.gradient
/// operations of a module that is not differentiated yet and has no calls:
/// "derivative of a window", "… of a gather", "… of a reduction", and
/// "derivative" where there is one at all.
void noteDerivatives(mlir::ModuleOp module, std::set<std::string> &features);

} // namespace tdsl::testing

#endif // TDSL_LIB_TESTING_PROGRAMFEATURES_H
