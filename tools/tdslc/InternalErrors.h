//===- InternalErrors.h - faults of tdslc itself -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TOOLS_TDSLC_INTERNALERRORS_H
#define TDSL_TOOLS_TDSLC_INTERNALERRORS_H

namespace tdslc {

/// From now on a fatal error of LLVM and a fatal signal end the process with
/// exit code 3, after a sentence and a reproducer file (command line, version
/// and program text) in the current folder.
void installInternalErrorHandlers(int argc, char **argv);

/// Ends the process as an internal error; `what` says what went wrong.
[[noreturn]] void failInternally(const char *what);

} // namespace tdslc

#endif // TDSL_TOOLS_TDSLC_INTERNALERRORS_H
