//===- Token.h - Tokens of TDS -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_FRONTEND_TOKEN_H
#define TDSL_FRONTEND_TOKEN_H

#include "tdsl/Frontend/SourceManager.h"

namespace tdsl {

enum class Tok : uint8_t {
  Eof,
  Error,
  Ident,
  Int,
  Float,
  String,
#define KEYWORD(NAME, TEXT) Kw##NAME,
#define PUNCT(NAME, TEXT) NAME,
#include "tdsl/Frontend/Tokens.def"
};

/// How the token reads in a message: "`{`", "a name", "end of file".
llvm::StringRef describe(Tok kind);

/// Whether the token stands between two operands; a sign is one, too.
bool isBinaryOperator(Tok kind);

struct Token {
  Tok kind = Tok::Eof;
  /// A line end stands between the token before and this one.
  bool afterNewline = false;
  /// The text, as it stands in the source.
  llvm::StringRef text;
  SourceRange range;
  /// The `///` lines right before the token, markers stripped; else empty.
  llvm::StringRef doc;
};

} // namespace tdsl

#endif // TDSL_FRONTEND_TOKEN_H
