//===- ReadProgram.h - the text of a program -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TOOLS_TDSLC_READPROGRAM_H
#define TDSL_TOOLS_TDSLC_READPROGRAM_H

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace tdslc {

/// The text of a program: of a regular file, or of standard input for "-". Says
/// what is wrong and gives nothing where there is none, where the file would
/// never end (a device, a pipe nobody writes to), or where the text has more
/// than 1 GiB.
std::optional<std::string> readProgram(llvm::StringRef path);

} // namespace tdslc

#endif // TDSL_TOOLS_TDSLC_READPROGRAM_H
