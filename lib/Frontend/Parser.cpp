//===- Parser.cpp - Tokens, errors and recovery -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ParserImpl.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace tdsl;
using namespace tdsl::ast;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;

Parser::Parser(const SourceManager &sources, SourceManager::FileId file,
               ASTContext &context, DiagnosticEngine &diags)
    : sources(sources), file(file), context(context), diags(diags),
      lexer(sources, file, diags, context.arena),
      previousEnd(sources.getLoc(file, 0)) {}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

const Token &Parser::peek(unsigned n) {
  while (ahead.size() <= n)
    ahead.push_back(lexer.next());
  return ahead[n];
}

Token Parser::consume() {
  Token token = peek();
  if (token.kind != Tok::Eof) {
    ahead.erase(ahead.begin());
    previousEnd = token.range.end;
  }
  return token;
}

bool Parser::accept(Tok kind) {
  if (!at(kind))
    return false;
  consume();
  return true;
}

//===----------------------------------------------------------------------===//
// Errors and recovery
//===----------------------------------------------------------------------===//

DiagBuilder Parser::error(Diag kind, SourceRange range) {
  // What follows a bad character on its line is most likely no mistake.
  SourceLoc bad = lexer.getLastError();
  if (bad.isValid() && kind != Diag::TooDeep &&
      sources.getLineColumn(bad).line ==
          sources.getLineColumn(range.begin).line)
    silent = true;
  DiagBuilder builder(silent || aborted ? nullptr : &diags, kind, range);
  silent = true;
  return builder;
}

std::string Parser::describeCurrent() {
  const Token &token = peek();
  switch (token.kind) {
  case Tok::Ident:
  case Tok::Int:
  case Tok::Float: {
    StringRef text = token.text.take_front(40);
    return ("`" + text + (text.size() < token.text.size() ? "…`" : "`")).str();
  }
  default:
    return describe(token.kind).str();
  }
}

SourceRange Parser::missingRange() {
  const Token &token = peek();
  if (token.afterNewline || token.kind == Tok::Eof)
    return {previousEnd, previousEnd};
  return token.range;
}

void Parser::errorExpected(const Twine &what) {
  // Words behind `//`: most likely a comment was meant.
  if (lastFloorDiv.isValid() && peek().kind == Tok::Ident &&
      !peek().afterNewline &&
      sources.getLineColumn(lastFloorDiv.begin).line ==
          sources.getLineColumn(peek().range.begin).line) {
    error(Diag::SingleBlankComment, lastFloorDiv)
        .fix({lastFloorDiv.begin, lastFloorDiv.begin}, " ",
             "put a second space before the comment");
    return;
  }
  bool newline = peek().afterNewline && peek().kind != Tok::Eof;
  error(Diag::Expected, missingRange())
      << what << (newline ? std::string("a line end") : describeCurrent());
}

bool Parser::expect(Tok kind) {
  if (accept(kind))
    return true;
  errorExpected(describe(kind));
  return false;
}

SourceRange Parser::openBrace() {
  SourceRange open = peek().range;
  if (!at(Tok::LBrace)) {
    errorExpected("`{`");
    skipToBrace();
    open = missingRange();
  }
  accept(Tok::LBrace);
  return open;
}

bool Parser::expectClose(Tok kind, SourceRange open) {
  if (accept(kind))
    return true;
  bool newline = peek().afterNewline && peek().kind != Tok::Eof;
  std::string found =
      newline ? describeCurrent() + " on the next line" : describeCurrent();
  SourceRange place = missingRange();
  SourceRange hole{previousEnd, previousEnd};
  std::string closer = kind == Tok::RParen     ? ")"
                       : kind == Tok::RBracket ? "]"
                                               : " }";
  // The indentation tells which brace it is.
  if (kind == Tok::RBrace && !silent && !aborted &&
      findMissingBrace(open, place)) {
    found = "a line that stands further left";
    hole = place;
    LineColumn at = sources.getLineColumn(open.begin);
    StringRef line = sources.getLine(file, at.line);
    closer =
        "\n" + line.take_while([](char c) { return c == ' '; }).str() + "}";
  }
  error(Diag::Unclosed, place)
          .label(open, "opened here")
          .fix(hole, closer, "close it")
      << describe(kind) << found;
  return false;
}

/// Where a `}` is missing by the indentation of the text, and the brace that it
/// closes: before the first line in a block, deeper than the line of its `{`
/// until then, that is not deeper, before a `}` that stands further left than
/// the line of its `{`, and at the end of a line that holds the beginning of a
/// block whose rest would not be deeper.
bool Parser::findMissingBrace(SourceRange &open, SourceRange &place) {
  // The text is read once, whatever the number of braces that are missing.
  if (searchedBrace) {
    if (!missingBrace.second.isValid())
      return false;
    open = missingBrace.first;
    place = missingBrace.second;
    return true;
  }
  searchedBrace = true;
  struct Open {
    Tok kind;
    SourceRange range;
    unsigned indent;
    bool isDeeper = false, isFirst = true, isBegun = false;
  };
  DiagnosticEngine ignored(sources);
  llvm::BumpPtrAllocator arena;
  Lexer again(sources, file, ignored, arena);
  SmallVector<Open, 16> stack;
  SourceLoc end;
  unsigned indent = 0;
  for (Token token = again.next(); token.kind != Tok::Eof;
       token = again.next()) {
    bool inBlock = stack.empty() || stack.back().kind == Tok::LBrace;
    if (token.afterNewline && inBlock) {
      indent = sources.getLineColumn(token.range.begin).column - 1;
      if (!stack.empty()) {
        Open &top = stack.back();
        bool closes = token.kind == Tok::RBrace;
        if (top.isFirst)
          top.isDeeper = indent > top.indent || (top.isBegun && !closes);
        top.isFirst = false;
        if (top.isDeeper &&
            (closes ? indent < top.indent : indent <= top.indent)) {
          missingBrace = {top.range, {end, end}};
          open = top.range;
          place = {end, end};
          return true;
        }
      }
    }
    if (!token.afterNewline && !stack.empty())
      stack.back().isBegun = true;
    end = token.range.end;
    switch (token.kind) {
    case Tok::LBrace:
    case Tok::LParen:
    case Tok::LBracket:
      stack.push_back({token.kind, token.range, indent});
      break;
    case Tok::RBrace:
    case Tok::RParen:
    case Tok::RBracket:
      if (!stack.empty())
        stack.pop_back();
      break;
    default:
      break;
    }
  }
  return false;
}

/// After the comma of a list: the closing bracket on the same line means that
/// an item is missing.
bool Parser::danglingComma(Tok closer, StringRef what) {
  if (!at(closer) || peek().afterNewline)
    return false;
  errorExpected(what);
  return true;
}

Ident Parser::expectName(StringRef what) {
  if (at(Tok::Ident)) {
    Token token = consume();
    return {token.text, token.range};
  }
  if (peek().kind > Tok::String && !peek().text.empty() &&
      llvm::isAlpha(peek().text[0]) && !peek().afterNewline) {
    error(Diag::Expected, peek().range)
            .note("`" + peek().text + "` is a word of the language")
        << what << describeCurrent();
    consume();
    return {};
  }
  errorExpected(what);
  return {};
}

void Parser::abortParsing() {
  aborted = true;
  // Everything that waits for a token sees the end of the file.
  Token eof;
  eof.kind = Tok::Eof;
  eof.afterNewline = true;
  eof.range = {previousEnd, previousEnd};
  ahead.assign(1, eof);
  // `peek(1)` must not go on lexing.
  ahead.append(3, eof);
}

Parser::Level::Level(Parser &p) : parser(p), ok(p.level < kNestingLimit) {
  ++parser.level;
  if (!ok) {
    p.silent = false;
    p.error(Diag::TooDeep, p.peek().range) << Twine(kNestingLimit);
    p.abortParsing();
  }
}

/// The current token begins a declaration that cannot stand in a body.
bool Parser::atDeclStart() {
  switch (peek().kind) {
  case Tok::KwFn:
  case Tok::KwExport:
  case Tok::KwModule:
  case Tok::KwLayer:
  case Tok::KwParam:
  case Tok::KwState:
  case Tok::KwOptimizer:
  case Tok::KwUse:
  case Tok::KwImport:
  case Tok::KwConst:
    return true;
  case Tok::Ident:
    return peek().text == "step" && peek(1).kind == Tok::Ident &&
           !peek(1).afterNewline;
  default:
    return false;
  }
}

/// Skips to the end of the statement: a line end, `;` or `}` outside all
/// brackets opened since here.
void Parser::skipStatement() {
  unsigned open = 0, braces = 0;
  bool first = true;
  while (!at(Tok::Eof)) {
    if (!first && peek().afterNewline && (open == 0 || atDeclStart()))
      return;
    switch (peek().kind) {
    case Tok::LParen:
    case Tok::LBracket:
      ++open;
      break;
    case Tok::LBrace:
      ++open;
      ++braces;
      break;
    case Tok::RBrace:
      if (open == 0)
        return;
      --open;
      braces -= braces > 0;
      break;
    case Tok::RParen:
    case Tok::RBracket:
      if (open > 0)
        --open;
      break;
    case Tok::Semicolon:
      if (open == 0)
        return;
      break;
    case Tok::KwLet:
      // It ends brackets that nothing closes, but not a block.
      if (peek().afterNewline && braces == 0)
        return;
      break;
    default:
      break;
    }
    consume();
    first = false;
  }
}

/// Where a block should begin: goes on to a `{` that stands further right on
/// the line, so that a mistake in the head of a block leaves its body.
void Parser::skipToBrace() {
  for (unsigned n = 0; n < kLookAhead; ++n) {
    const Token &token = peek(n);
    if (token.kind == Tok::LBrace) {
      while (!at(Tok::LBrace))
        consume();
      return;
    }
    if (token.afterNewline || token.kind == Tok::RBrace ||
        token.kind == Tok::Eof)
      return;
  }
}

/// Whether a `}` that nothing opened from here on stands before an `else`.
bool Parser::closesBeforeElse() {
  unsigned open = 0;
  for (unsigned n = 0; n < kLookAhead; ++n) {
    switch (peek(n).kind) {
    case Tok::LParen:
    case Tok::LBracket:
    case Tok::LBrace:
      ++open;
      break;
    case Tok::RParen:
    case Tok::RBracket:
      open -= open > 0;
      break;
    case Tok::RBrace:
      if (open == 0)
        return peek(n + 1).kind == Tok::KwElse;
      --open;
      break;
    case Tok::Eof:
      return false;
    default:
      break;
    }
  }
  return false;
}

/// Skips to the next declaration on a line of its own, or to a `}` that was
/// opened before.
void Parser::skipDecl() {
  unsigned open = 0;
  while (!at(Tok::Eof)) {
    if (peek().afterNewline && open == 0 && (atDeclStart() || at(Tok::KwDim)))
      return;
    if (at(Tok::LBrace)) {
      ++open;
    } else if (at(Tok::RBrace)) {
      if (open == 0)
        return;
      --open;
    }
    consume();
  }
}

/// Checks that the statement or declaration ends here.
bool Parser::endStatement() {
  if (accept(Tok::Semicolon))
    return true;
  if (peek().afterNewline || at(Tok::RBrace) || at(Tok::Eof))
    return true;
  errorExpected("a line end");
  return false;
}
