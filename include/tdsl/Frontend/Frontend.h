//===- Frontend.h - From text to a checked program -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_FRONTEND_FRONTEND_H
#define TDSL_FRONTEND_FRONTEND_H

#include "tdsl/Frontend/AST.h"
#include "tdsl/Frontend/Diagnostics.h"
#include "tdsl/Frontend/Program.h"
#include <map>

namespace tdsl {

struct FrontendOptions {
  /// `-D name=value`.
  std::map<std::string, int64_t> defines;
};

/// What one run of the front end owns. The program refers to the sources and
/// to the syntax trees; keep them together.
struct FrontendResult {
  ASTContext context;
  ast::File main;
  /// Null where there were errors.
  std::unique_ptr<typed::Program> program;
};

/// Parses and checks the file `main` of `sources`; standard modules that it
/// uses are added to `sources` under names like "<nn>". Problems go to
/// `diags`; warnings alone leave a program. Never fails in another way,
/// whatever the text holds.
std::unique_ptr<FrontendResult> compile(SourceManager &sources,
                                        SourceManager::FileId main,
                                        const FrontendOptions &options,
                                        DiagnosticEngine &diags);

} // namespace tdsl

#endif // TDSL_FRONTEND_FRONTEND_H
