//===- TokenSpacing.h - Blanks between tokens -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_LIB_FRONTEND_TOOLS_TOKENSPACING_H
#define TDSL_LIB_FRONTEND_TOOLS_TOKENSPACING_H

#include "tdsl/Frontend/Lexer.h"
#include <vector>

namespace tdsl {

/// The tokens of a file up to and with the end of the file.
std::vector<Token> lexFile(const SourceManager &sources,
                           SourceManager::FileId file, DiagnosticEngine &diags,
                           llvm::BumpPtrAllocator &arena);

/// The token as it stands in the source.
inline llvm::StringRef spell(const SourceManager &sources, const Token &token) {
  return sources.getText(token.range);
}

/// Decides whether a blank stands between tokens of one line. Feed it all
/// tokens in order; it follows the brackets and tells signs from operators.
class TokenSpacing {
public:
  explicit TokenSpacing(const SourceManager &sources) : sources(sources) {}
  /// Takes the next token; true if a blank stands before it when it does not
  /// begin a line.
  bool next(const Token &token);

private:
  bool wantsBlank(const Token &token) const;
  bool mustPart(const Token &token) const;

  const SourceManager &sources;
  Token previous;
  bool hasPrevious = false;
  /// The token before is a sign, not an operator between two values.
  bool previousIsSign = false;
  std::vector<Tok> open;
};

} // namespace tdsl

#endif // TDSL_LIB_FRONTEND_TOOLS_TOKENSPACING_H
