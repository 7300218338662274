//===- LinkSharedObject.h - the linker, in process -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_LIB_TARGET_CPU_LINKSHAREDOBJECT_H
#define TDSL_LIB_TARGET_CPU_LINKSHAREDOBJECT_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tdsl::cpu {

/// Links one ELF object into a shared object that needs nothing from outside,
/// with `manifest` as the section `.tds.manifest`, which is not loaded.
/// Undefined symbols are an error. Works in a private temporary folder, which
/// is gone afterwards. Not to be called from two threads at once.
llvm::Error linkSharedObject(llvm::StringRef object, llvm::StringRef manifest,
                             llvm::SmallVectorImpl<char> &sharedObject);

} // namespace tdsl::cpu

#endif // TDSL_LIB_TARGET_CPU_LINKSHAREDOBJECT_H
