//===- StandardModules.cpp - the embedded standard modules -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Std/StandardModules.h"

using tdsl::StandardModule;

#include "StandardModules.inc"

llvm::ArrayRef<StandardModule> tdsl::getStandardModules() {
  return standardModules;
}

llvm::StringRef tdsl::getStandardModule(llvm::StringRef name) {
  for (const StandardModule &module : standardModules)
    if (module.name == name)
      return module.text;
  return {};
}
