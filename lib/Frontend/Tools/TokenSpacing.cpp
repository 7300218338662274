//===- TokenSpacing.cpp - Blanks between tokens -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TokenSpacing.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace tdsl;
using llvm::StringRef;

std::vector<Token> tdsl::lexFile(const SourceManager &sources,
                                 SourceManager::FileId file,
                                 DiagnosticEngine &diags,
                                 llvm::BumpPtrAllocator &arena) {
  Lexer lexer(sources, file, diags, arena);
  std::vector<Token> tokens;
  do
    tokens.push_back(lexer.next());
  while (tokens.back().kind != Tok::Eof);
  return tokens;
}

static bool isKeyword(Tok kind) {
  return kind > Tok::String && kind < Tok::LParen;
}

/// Tokens after which a value is complete.
static bool endsValue(Tok kind) {
  switch (kind) {
  case Tok::Ident:
  case Tok::Int:
  case Tok::Float:
  case Tok::String:
  case Tok::RParen:
  case Tok::RBracket:
  case Tok::RBrace:
  case Tok::KwTrue:
  case Tok::KwFalse:
    return true;
  default:
    return false;
  }
}

static bool isOpening(Tok kind) {
  return kind == Tok::LParen || kind == Tok::LBracket || kind == Tok::LBrace;
}
static bool isClosing(Tok kind) {
  return kind == Tok::RParen || kind == Tok::RBracket || kind == Tok::RBrace;
}

/// Words that are keywords in some places: whether `over (a)` is a call only
/// the parser knows, so a blank of the source stays.
static bool isContextualWord(const Token &token) {
  return token.kind == Tok::Ident &&
         llvm::StringSwitch<bool>(token.text)
             .Cases({"step", "vjp", "over", "with", "as"}, true)
             .Cases({"to", "like", "apply", "fold"}, true)
             .Default(false);
}

/// Without a blank the two would be read as other tokens.
bool TokenSpacing::mustPart(const Token &token) const {
  StringRef left = spell(sources, previous), right = spell(sources, token);
  if (left.empty() || right.empty())
    return false;
  char a = left.back(), b = right.front();
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  if (isWord(a) && isWord(b))
    return true;
  if (previous.kind == Tok::Int && b == '.' && token.kind == Tok::Dot)
    return true;
  const char pair[] = {a, b};
  return llvm::StringSwitch<bool>(StringRef(pair, 2))
      .Cases({"->", "<-", "<=", "==", ">="}, true)
      .Cases({"!=", "**", "//", ".."}, true)
      .Default(false);
}

bool TokenSpacing::wantsBlank(const Token &token) const {
  Tok left = previous.kind, right = token.kind;
  if (right == Tok::Comma || right == Tok::Semicolon || right == Tok::Dot ||
      left == Tok::Dot || left == Tok::Ellipsis)
    return false;
  if (right == Tok::DotDot || left == Tok::DotDot)
    return false;
  if (left == Tok::LBrace || right == Tok::RBrace || right == Tok::LBrace)
    return true;
  if (left == Tok::LParen || left == Tok::LBracket || right == Tok::RParen ||
      right == Tok::RBracket)
    return false;
  bool inBrackets = !open.empty() && open.back() == Tok::LBracket;
  if (right == Tok::Colon)
    return left == Tok::Comma;
  if (left == Tok::Colon)
    return !inBrackets;
  if (previousIsSign)
    return false;
  if (right == Tok::LParen || right == Tok::LBracket) {
    if (isContextualWord(previous))
      return previous.range.end != token.range.begin;
    return !endsValue(left) || left == Tok::RBrace;
  }
  return true;
}

bool TokenSpacing::next(const Token &token) {
  bool blank = hasPrevious && (wantsBlank(token) || mustPart(token));
  bool sign =
      token.kind == Tok::Minus && (!hasPrevious || !endsValue(previous.kind) ||
                                   previous.kind == Tok::RBrace);
  // After a dot a word of the language is a name.
  bool isName =
      hasPrevious && previous.kind == Tok::Dot && isKeyword(token.kind);
  if (isOpening(token.kind))
    open.push_back(token.kind);
  else if (isClosing(token.kind) && !open.empty())
    open.pop_back();
  previous = token;
  if (isName)
    previous.kind = Tok::Ident;
  previousIsSign = sign;
  hasPrevious = true;
  return blank;
}
