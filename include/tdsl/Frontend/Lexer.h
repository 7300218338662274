//===- Lexer.h - Text to tokens -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_FRONTEND_LEXER_H
#define TDSL_FRONTEND_LEXER_H

#include "tdsl/Frontend/Diagnostics.h"
#include "tdsl/Frontend/Token.h"
#include "llvm/Support/Allocator.h"
#include <optional>

namespace tdsl {

/// Turns one text into tokens, from front to back, in linear time whatever
/// the text holds. Bad characters are reported and skipped.
///
/// `//` both divides and begins a comment. It is a division where it follows
/// a token that can end a value on the same line with at most one blank
/// between them, and a comment everywhere else.
class Lexer {
public:
  Lexer(const SourceManager &sources, SourceManager::FileId file,
        DiagnosticEngine &diags, llvm::BumpPtrAllocator &arena);

  Token next();

  /// Where the last bad character or token was reported.
  SourceLoc getLastError() const { return lastError; }

private:
  SourceLoc loc(const char *p) const;
  Token make(Tok kind, const char *start);
  void skipBlanks();
  Token lexNumber(const char *start);
  Token lexString(const char *start);
  void lexBadCharacter(const char *start);
  std::optional<Token> lexForeign(const char *start);

  const SourceManager &sources;
  SourceManager::FileId file;
  DiagnosticEngine &diags;
  llvm::BumpPtrAllocator &arena;
  const char *begin, *pos, *end;
  Tok previous = Tok::Eof;
  bool sawNewline = true;
  llvm::StringRef doc;
  unsigned numBadCharacters = 0;
  SourceLoc lastError;
};

/// Checks that `text` is UTF-8; returns the offset of the first bad byte or
/// npos.
size_t findInvalidUTF8(llvm::StringRef text);

} // namespace tdsl

#endif // TDSL_FRONTEND_LEXER_H
