//===- Parser.h - Tokens to syntax tree -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_FRONTEND_PARSER_H
#define TDSL_FRONTEND_PARSER_H

#include "tdsl/Frontend/AST.h"
#include "tdsl/Frontend/Diagnostics.h"

namespace tdsl {

/// No expression, block or type nests deeper than this.
constexpr unsigned kNestingLimit = 256;

/// Parses one text. Always returns a tree: what could not be read is an
/// ErrorExpr or ErrorStmt, or is left out, and has been reported.
ast::File parseFile(const SourceManager &sources, SourceManager::FileId file,
                    ASTContext &context, DiagnosticEngine &diags);

/// Whether `name` is an element type or a class of these, which no
/// declaration can take as its name.
bool isTypeWord(llvm::StringRef name);

} // namespace tdsl

#endif // TDSL_FRONTEND_PARSER_H
