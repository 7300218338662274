//===- Lexer.h - characters of PTX text to words ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX has no fixed token grammar (`ld.global.v4.f32`, `%tid.x` and `.b8` are
// words by context), so the lexer is a cursor: the parser asks for the kind of
// word it expects.
//
//===----------------------------------------------------------------------===//
#ifndef TDSL_SIM_PTX_LEXER_H
#define TDSL_SIM_PTX_LEXER_H

#include "ptx/Module.h"

namespace tds::sim {

class Lexer {
public:
  Lexer(const char *text, size_t size) : cur(text), end(text + size) {}

  u32 line() const { return lineNumber; }

  /// Skips blanks and comments, then tells the next character (0 at the end).
  char peek();
  bool atEnd() { return peek() == 0; }
  /// Takes `c` if it is next.
  bool take(char c);
  void expect(char c, const char *where);

  /// A word of letters, digits, `_ $ %`, dots and `::`; empty if none starts
  /// here.
  std::string dottedWord();
  /// A word of letters, digits, `_ $ %`; empty if none starts here.
  std::string word();
  /// A quoted string.
  std::string string();
  /// The rest of the line, without taking the line break.
  std::string restOfLine();
  /// Skips to the closing brace of a section whose brace has been taken.
  void skipBraces();

  struct Number {
    bool isFloat = false;
    u8 floatBits = 0;
    s64 value = 0; // integer, or the bits of the float
  };
  bool numberNext();
  Number number();
  /// An integer constant expression.
  s64 integer();

  [[noreturn]] void fail(const std::string &message) const {
    throw PtxError(lineNumber, message);
  }

private:
  s64 binary(int minPrecedence, int depth);
  s64 unary(int depth);

  const char *cur, *end;
  u32 lineNumber = 1;
};

} // namespace tds::sim

#endif // TDSL_SIM_PTX_LEXER_H
