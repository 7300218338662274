//===- Format.h - Programs in their standard form -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_FRONTEND_FORMAT_H
#define TDSL_FRONTEND_FORMAT_H

#include "tdsl/Frontend/Diagnostics.h"

namespace tdsl {

/// The text of a file in its standard form: indentation by brackets, blanks
/// by rule, trailing comments in columns, at most one empty line in a row.
/// Line breaks and comments stay where they are, so the text parses to the
/// same tree. Formatting a formatted text changes nothing. A text that does not
/// parse is reported to `diags`, and the result is empty.
std::string formatFile(const SourceManager &sources, SourceManager::FileId file,
                       DiagnosticEngine &diags);

/// A page in Markdown about what the file declares: for each declaration that
/// has a `///` comment, and for each function, module and optimizer, its
/// signature and the comment. `title` is the heading. A text that does not
/// parse is reported to `diags`, and the result is empty.
std::string documentFile(const SourceManager &sources,
                         SourceManager::FileId file, llvm::StringRef title,
                         DiagnosticEngine &diags);

} // namespace tdsl

#endif // TDSL_FRONTEND_FORMAT_H
