//===- ParseStmt.cpp - Blocks and statements -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ParserImpl.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace tdsl;
using namespace tdsl::ast;
using llvm::ArrayRef;
using llvm::dyn_cast;
using llvm::isa;
using llvm::SmallVector;
using llvm::StringRef;

/// The deepest tree in a statement, so that nested blocks count as nesting.
static unsigned getHeight(const Stmt *stmt) {
  auto of = [](std::initializer_list<const Expr *> list) {
    unsigned height = 0;
    for (const Expr *e : list)
      if (e)
        height = std::max<unsigned>(height, e->height);
    return height;
  };
  switch (stmt->kind) {
  case StmtKind::Error:
    return 0;
  case StmtKind::Let:
    return of({llvm::cast<LetStmt>(stmt)->value});
  case StmtKind::IndexDef:
    return of({llvm::cast<IndexDefStmt>(stmt)->value});
  case StmtKind::Assign:
    return of({llvm::cast<AssignStmt>(stmt)->value});
  case StmtKind::Dim:
    return of({llvm::cast<DimStmt>(stmt)->value});
  case StmtKind::Assert:
    return of({llvm::cast<AssertStmt>(stmt)->cond});
  case StmtKind::Write: {
    auto *write = llvm::cast<WriteStmt>(stmt);
    return of({write->target, write->value});
  }
  case StmtKind::Expr:
    return of({llvm::cast<ExprStmt>(stmt)->value});
  case StmtKind::For: {
    auto *loop = llvm::cast<ForStmt>(stmt);
    return std::max<unsigned>(of({loop->low, loop->high}),
                              loop->body->height + 1u);
  }
  case StmtKind::Fold: {
    auto *fold = llvm::cast<FoldStmt>(stmt);
    return std::max<unsigned>(of({fold->init, fold->low, fold->high}),
                              fold->body->height + 1u);
  }
  case StmtKind::Minimize: {
    auto *minimize = llvm::cast<MinimizeStmt>(stmt);
    unsigned height = of({minimize->loss, minimize->optimizer});
    for (Expr *e : minimize->over)
      height = std::max<unsigned>(height, e->height);
    return height;
  }
  case StmtKind::Apply: {
    auto *apply = llvm::cast<ApplyStmt>(stmt);
    unsigned height = of({apply->gradient, apply->optimizer});
    for (Expr *e : apply->over)
      height = std::max<unsigned>(height, e->height);
    return height;
  }
  }
  return 0;
}

Block *Parser::parseBlock() {
  Block *block = context.make<Block>();
  Level nesting(*this);
  if (!nesting)
    return block;
  unsigned outerBrackets = bracketDepth;
  bracketDepth = 0;
  SourceLoc begin = peek().range.begin;
  SourceRange open = openBrace();

  SmallVector<Stmt *, 8> stmts;
  llvm::SmallPtrSet<Stmt *, 2> damaged;
  while (!at(Tok::RBrace) && !at(Tok::Eof)) {
    if (accept(Tok::Semicolon))
      continue;
    if (atDeclStart())
      break; // the `}` is missing
    silent = false;
    bracketDepth = 0;
    // A sign may begin the first statement: there is no line to join it to.
    bool sign = at(Tok::Minus) && stmts.empty();
    if (isBinaryOperator(peek().kind) && !sign) {
      Token op = peek();
      auto d = error(Diag::OperatorAtLineStart, op.range);
      d << op.text;
      if (!stmts.empty())
        d.fix({previousEnd, previousEnd}, (" " + op.text).str(),
              "put the operator at the end of the line before");
      if (op.kind == Tok::Minus)
        d.note("a value that begins with a sign is written `(-x)` or "
               "`0 - x`");
      skipStatement();
      continue;
    }
    SourceLoc start = peek().range.begin;
    Stmt *stmt = parseStmt();
    stmts.push_back(stmt);
    if (silent || !endStatement()) {
      damaged.insert(stmt);
      // A token at the start of a line that begins no statement is still
      // there, and would be met again for ever.
      bool stuck = peek().range.begin == start;
      if ((stuck || !peek().afterNewline) && !at(Tok::RBrace))
        skipStatement();
    }
  }
  silent = silent && !at(Tok::RBrace);
  expectClose(Tok::RBrace, open);

  // The last expression is the value; those before it have no use, except an
  // `if` that holds writes.
  if (!stmts.empty()) {
    if (auto *last = dyn_cast<ExprStmt>(stmts.back())) {
      block->value = last->value;
      stmts.pop_back();
    }
  }
  for (Stmt *stmt : stmts) {
    auto *e = dyn_cast<ExprStmt>(stmt);
    if (!e || isa<ErrorExpr, IfBlockExpr>(e->value) || damaged.contains(stmt))
      continue;
    silent = false;
    auto d = error(Diag::UnusedExpression, e->range);
    if (auto *compare = dyn_cast<BinaryExpr>(e->value);
        compare && compare->op == BinaryOp::Eq)
      d.fix(compare->opRange, "=", "`==` compares; `=` gives a value");
    else
      d.note("only the last expression of a body gives its value; name this "
             "one with `let`, or join it to the next line");
  }
  silent = false;
  for (Stmt *stmt : stmts)
    block->height = std::max<unsigned>(block->height, getHeight(stmt));
  if (block->value)
    block->height = std::max(block->height, block->value->height);
  block->stmts = context.copy(ArrayRef<Stmt *>(stmts));
  block->range = rangeFrom(begin);
  bracketDepth = outerBrackets;
  return block;
}

Stmt *Parser::parseStmt() {
  switch (peek().kind) {
  case Tok::KwLet:
    return parseLet();
  case Tok::KwFor:
    return parseFor();
  case Tok::KwMinimize:
    return parseMinimize();
  case Tok::KwDim: {
    SourceLoc begin = consume().range.begin;
    Ident name = expectName("the name of a size");
    Expr *value = nullptr;
    if (expect(Tok::Assign))
      value = parseExpr();
    else
      value = makeError(missingRange());
    return context.make<DimStmt>(rangeFrom(begin), name, value);
  }
  case Tok::KwAssert: {
    SourceLoc begin = consume().range.begin;
    Expr *cond = parseExpr();
    StringRef text;
    if (accept(Tok::Comma)) {
      if (at(Tok::String))
        text = consume().text;
      else
        errorExpected("a string");
    }
    return context.make<AssertStmt>(rangeFrom(begin), cond, text);
  }
  case Tok::Ident: {
    if (peek().text == "return" && !peek(1).afterNewline &&
        peek(1).kind != Tok::RBrace && peek(1).kind != Tok::Eof) {
      error(Diag::Expected, peek().range)
              .note("the last expression of a body is its value")
              .fix({peek().range.begin, peek(1).range.begin}, "",
                   "leave `return` out")
          << "an expression" << "`return`";
      silent = false;
      consume();
      return parseExprStmt();
    }
    bool nameFollows = peek(1).kind == Tok::Ident && !peek(1).afterNewline;
    if (nameFollows && peek().text == "apply")
      return parseApply();
    if (peek().text == "fold" && (nameFollows || peek(1).kind == Tok::LParen)) {
      // `fold (a, b) = …` against a call of a function named fold.
      if (nameFollows)
        return parseFold();
      unsigned n = 2;
      while (n < 64 &&
             (peek(n).kind == Tok::Ident || peek(n).kind == Tok::Comma))
        ++n;
      if (peek(n).kind == Tok::RParen && peek(n + 1).kind == Tok::Assign)
        return parseFold();
    }
    return parseExprStmt();
  }
  default:
    return parseExprStmt();
  }
}

Stmt *Parser::parseLet() {
  SourceLoc begin = consume().range.begin;
  StringRef doc = {};
  if (at(Tok::LParen)) {
    ArrayRef<Ident> names = parseNameList("a name");
    Expr *value = nullptr;
    if (expect(Tok::Assign))
      value = parseExpr();
    else
      value = makeError(missingRange());
    return context.make<LetStmt>(rangeFrom(begin), true, names, value);
  }
  Ident name = expectName("a name");
  if (at(Tok::LBracket)) {
    ArrayRef<Binder> binders = parseBinders();
    Expr *value = nullptr;
    if (expect(Tok::Assign))
      value = parseExpr();
    else
      value = makeError(missingRange());
    auto *def =
        context.make<IndexDefStmt>(rangeFrom(begin), name, binders, value);
    def->doc = doc;
    return def;
  }
  Expr *value = nullptr;
  if (expect(Tok::Assign))
    value = parseExpr();
  else
    value = makeError(missingRange());
  return context.make<LetStmt>(rangeFrom(begin), false,
                               context.copy(ArrayRef<Ident>(name)), value);
}

Stmt *Parser::parseFor() {
  SourceLoc begin = consume().range.begin;
  Ident name = expectName("the name of the loop variable");
  expect(Tok::KwIn);
  Expr *low = parseExpr();
  Expr *high = accept(Tok::DotDot) ? parseExpr() : nullptr;
  Block *body = parseBlock();
  return context.make<ForStmt>(rangeFrom(begin), name, low, high, body);
}

Stmt *Parser::parseFold() {
  SourceLoc begin = consume().range.begin;
  SmallVector<Ident, 2> names;
  if (at(Tok::LParen)) {
    ArrayRef<Ident> list = parseNameList("a name");
    names.append(list.begin(), list.end());
  } else {
    names.push_back(expectName("the name of the carried value"));
  }
  Expr *init = nullptr;
  if (expect(Tok::Assign))
    init = parseExpr();
  else
    init = makeError(missingRange());
  expect(Tok::KwFor);
  Ident index = expectName("the name of the loop variable");
  expect(Tok::KwIn);
  Expr *low = parseExpr();
  Expr *high = nullptr;
  if (expect(Tok::DotDot))
    high = parseExpr();
  else
    high = makeError(missingRange());
  Block *body = parseBlock();
  return context.make<FoldStmt>(rangeFrom(begin),
                                context.copy(ArrayRef<Ident>(names)), init,
                                index, low, high, body);
}

/// `[over a, b] with o(...) [as name]`
void Parser::parseUpdateTail(llvm::SmallVectorImpl<Expr *> &over,
                             Expr *&optimizer, Ident &name,
                             StringRef overWord) {
  if (atWord(overWord) && !endsHere()) {
    consume();
    if (at(Tok::LParen)) {
      // `over (a, b)` reads like `over a, b`.
      Expr *e = parseExpr();
      if (auto *tuple = dyn_cast<TupleExpr>(e))
        over.append(tuple->elems.begin(), tuple->elems.end());
      else
        over.push_back(e);
    } else {
      do {
        over.push_back(parseExpr());
      } while (accept(Tok::Comma));
    }
  } else if (overWord == "to") {
    errorExpected("`to`");
  }
  optimizer = nullptr;
  // `with` may begin the next line: no statement begins with it.
  if (atWord("with")) {
    consume();
    optimizer = parseExpr();
  } else {
    errorExpected("`with` and an optimizer");
    optimizer = makeError(missingRange());
  }
  if (atWord("as") && !endsHere()) {
    consume();
    name = expectName("a name");
  }
}

Stmt *Parser::parseMinimize() {
  SourceLoc begin = consume().range.begin;
  Expr *loss = parseExpr();
  SmallVector<Expr *, 2> over;
  Expr *optimizer;
  Ident name;
  parseUpdateTail(over, optimizer, name, "over");
  return context.make<MinimizeStmt>(rangeFrom(begin), loss,
                                    context.copy(ArrayRef<Expr *>(over)),
                                    optimizer, name);
}

Stmt *Parser::parseApply() {
  SourceLoc begin = consume().range.begin;
  Expr *gradient = parseExpr();
  SmallVector<Expr *, 2> over;
  Expr *optimizer;
  Ident name;
  parseUpdateTail(over, optimizer, name, "to");
  return context.make<ApplyStmt>(rangeFrom(begin), gradient,
                                 context.copy(ArrayRef<Expr *>(over)),
                                 optimizer, name);
}

Stmt *Parser::parseExprStmt() {
  SourceLoc begin = peek().range.begin;
  Expr *e = parseExpr();
  if (at(Tok::LeftArrow) && !endsHere()) {
    consume();
    Expr *value = parseExpr();
    return context.make<WriteStmt>(rangeFrom(begin), e, value);
  }
  if (at(Tok::Assign) && !endsHere()) {
    auto *name = dyn_cast<NameExpr>(e);
    if (!name && !isa<ErrorExpr>(e)) {
      auto d = error(Diag::BadAssignTarget, e->range);
      if (isa<IndexExpr>(e))
        d.note("an index definition begins with `let`: `let y[i] = …`");
    }
    consume();
    Expr *value = parseExpr();
    if (!name)
      return context.make<ErrorStmt>(rangeFrom(begin));
    return context.make<AssignStmt>(rangeFrom(begin),
                                    Ident{name->name, name->range}, value);
  }
  if (isa<ErrorExpr>(e))
    return context.make<ErrorStmt>(rangeFrom(begin));
  return context.make<ExprStmt>(e);
}
