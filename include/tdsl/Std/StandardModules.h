//===- StandardModules.h - the TDS text of nn, optim and init -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_STD_STANDARDMODULES_H
#define TDSL_STD_STANDARDMODULES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace tdsl {

/// A module that `use` finds inside the compiler.
struct StandardModule {
  llvm::StringRef name;
  llvm::StringRef text;
};

/// All standard modules, by name.
llvm::ArrayRef<StandardModule> getStandardModules();

/// The text of a standard module; a null StringRef where there is none of this
/// name.
llvm::StringRef getStandardModule(llvm::StringRef name);

} // namespace tdsl

#endif // TDSL_STD_STANDARDMODULES_H
