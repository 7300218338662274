//===- LinkSharedObject.h - the linker, in process -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_LIB_TARGET_CPU_LINKSHAREDOBJECT_H
#define TDSL_LIB_TARGET_CPU_LINKSHAREDOBJECT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace tdsl::cpu {

/// Links ELF objects into a shared object that needs nothing from outside,
/// with `manifest` as the section `.tds.manifest`, which is not loaded, and the
/// hash of its text without newlines as the constant `tds_plan_sha256`, by
/// which the loader knows that the code belongs to it (docs/Artifact.md).
/// Undefined symbols are an error. Works in a private temporary folder, which
/// is gone afterwards. Not to be called from two threads at once.
llvm::Error linkSharedObject(llvm::ArrayRef<std::string> objects,
                             llvm::StringRef manifest,
                             llvm::SmallVectorImpl<char> &sharedObject);

} // namespace tdsl::cpu

#endif // TDSL_LIB_TARGET_CPU_LINKSHAREDOBJECT_H
