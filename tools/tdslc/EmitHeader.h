//===- EmitHeader.h - a typed C++ wrapper of a program -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TOOLS_TDSLC_EMITHEADER_H
#define TDSL_TOOLS_TDSLC_EMITHEADER_H

#include "mlir/IR/BuiltinOps.h"

namespace tdslc {

/// Prints a C++17 header over tds/runtime.hpp: a class `Model` in a namespace
/// called after the program, with one member function an entry whose parameters
/// and results have the C++ types of the entry's. `programName` is the file
/// name of the program.
void emitHeader(mlir::ModuleOp module, llvm::StringRef programName,
                llvm::raw_ostream &os);

} // namespace tdslc

#endif // TDSL_TOOLS_TDSLC_EMITHEADER_H
