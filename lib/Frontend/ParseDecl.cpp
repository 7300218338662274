//===- ParseDecl.cpp - Types and declarations -*- C++ -*-===//
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

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

TypeExpr *Parser::parseType() {
  TypeExpr *type = context.make<TypeExpr>();
  SourceLoc begin = peek().range.begin;
  if (at(Tok::KwDim)) {
    Token token = consume();
    type->elem = {token.text, token.range};
    type->range = token.range;
    return type;
  }
  type->elem = expectName("a type");
  if (type->elem.name == "like" && at(Tok::Ident) && !peek().afterNewline) {
    Token token = consume();
    type->like = {token.text, token.range};
  } else if (type->elem.name == "like" &&
             (at(Tok::KwParam) || at(Tok::KwModule))) {
    Token token = consume();
    type->like = {token.text, token.range};
  } else if (!endsHere() &&
             (at(Tok::LBracket) ||
              (at(Tok::LParen) && isTypeWord(type->elem.name)))) {
    Tok closer = at(Tok::LParen) ? Tok::RParen : Tok::RBracket;
    SourceRange open = consume().range;
    ++bracketDepth;
    type->hasShape = true;
    SmallVector<ShapeItem, 4> shape;
    while (!at(closer) && !at(Tok::Eof)) {
      ShapeItem item;
      SourceLoc itemBegin = peek().range.begin;
      if (accept(Tok::Ellipsis)) {
        item.kind = ShapeItem::Pack;
        item.pack = expectName("the name of a shape pack");
      } else if (atWord("_")) {
        consume();
        item.kind = ShapeItem::Infer;
      } else {
        item.size = parseExpr();
      }
      item.range = rangeFrom(itemBegin);
      shape.push_back(item);
      if (!accept(Tok::Comma))
        break;
      if (danglingComma(closer, "a size"))
        break;
    }
    if (shape.empty() && at(closer))
      errorExpected("a size");
    SourceRange close = peek().range;
    if (expectClose(closer, open) && closer == Tok::RParen && !silent) {
      StringRef inner = sources.getText({open.end, close.begin});
      error(Diag::Expected, {open.begin, close.end})
              .fix({open.begin, close.end}, "[" + inner + "]",
                   "a shape stands in brackets")
          << "`[`" << "`(`";
      silent = false;
    }
    --bracketDepth;
    type->shape = context.copy(ArrayRef<ShapeItem>(shape));
  }
  type->range = rangeFrom(begin);
  return type;
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

File Parser::parseFile() {
  File out;
  out.id = file;
  SmallVector<Decl *, 16> decls;
  while (!at(Tok::Eof)) {
    if (accept(Tok::Semicolon))
      continue;
    parseDecl(decls, "at the top of a file");
  }
  out.decls = context.copy(ArrayRef<Decl *>(decls));
  return out;
}

void Parser::parseDecl(DeclList &out, StringRef where) {
  silent = false;
  bracketDepth = 0;
  StringRef doc = peek().doc;
  SourceLoc begin = peek().range.begin;
  size_t first = out.size();
  switch (peek().kind) {
  case Tok::KwDim:
    parseDim(out);
    break;
  case Tok::KwUse:
    parseUse(out);
    break;
  case Tok::KwImport:
    out.push_back(parseImport());
    break;
  case Tok::KwConst:
    out.push_back(parseConst());
    break;
  case Tok::KwParam:
  case Tok::KwState:
    out.push_back(parseVar());
    break;
  case Tok::KwModule:
    out.push_back(parseModule());
    break;
  case Tok::KwLayer:
    out.push_back(parseLayer());
    break;
  case Tok::KwOptimizer:
    out.push_back(parseOptimizer());
    break;
  case Tok::KwFn:
    consume();
    out.push_back(parseFn(FnKind::Plain));
    break;
  case Tok::KwExport:
    consume();
    expect(Tok::KwFn);
    out.push_back(parseFn(FnKind::Export));
    break;
  default:
    if (atWord("step")) {
      consume();
      out.push_back(parseFn(FnKind::Step));
      break;
    }
    if (peek(1).kind == Tok::Ident && (atWord("def") || atWord("func") ||
                                       atWord("function") || atWord("fun"))) {
      error(Diag::UnexpectedDecl, peek().range)
              .fix(peek().range, "fn", "a function begins with `fn`")
          << describeCurrent() << where;
      silent = false;
      consume();
      out.push_back(parseFn(FnKind::Plain));
      break;
    }
    if (at(Tok::RBrace)) {
      error(Diag::UnexpectedDecl, peek().range) << "`}`" << where;
      consume();
      skipDecl();
      return;
    }
    error(Diag::UnexpectedDecl, peek().range)
            .note("a declaration begins with dim, const, param, state, layer, "
                  "module, fn, export fn, step, optimizer, use or import")
        << describeCurrent() << where;
    consume();
    skipDecl();
    return;
  }
  for (size_t i = first; i < out.size(); ++i) {
    out[i]->doc = doc;
    if (i == first)
      out[i]->range.begin = begin;
  }
  if (silent || !endStatement())
    if (!at(Tok::RBrace) && !(peek().afterNewline && atDeclStart()))
      skipDecl();
}

void Parser::parseDim(DeclList &out) {
  consume();
  do {
    SourceLoc begin = peek().range.begin;
    DimDecl *decl =
        context.make<DimDecl>(expectName("the name of a size"), SourceRange());
    if (accept(Tok::Assign))
      decl->value = parseExpr();
    else if (accept(Tok::LessEq))
      decl->bound = parseExpr();
    decl->range = rangeFrom(begin);
    out.push_back(decl);
  } while (!silent && accept(Tok::Comma));
}

void Parser::parseUse(DeclList &out) {
  consume();
  do {
    Ident name = expectName("the name of a standard module");
    out.push_back(context.make<UseDecl>(name, name.range));
  } while (!silent && accept(Tok::Comma));
}

Decl *Parser::parseImport() {
  SourceLoc begin = consume().range.begin;
  StringRef path;
  SourceRange pathRange = peek().range;
  if (at(Tok::String))
    path = consume().text;
  else
    errorExpected("the path of a file as a string");
  if (atWord("as"))
    consume();
  else
    errorExpected("`as`");
  Ident name = expectName("a name for the module");
  ImportDecl *decl = context.make<ImportDecl>(name, rangeFrom(begin));
  decl->path = path;
  decl->pathRange = pathRange;
  return decl;
}

Decl *Parser::parseConst() {
  SourceLoc begin = consume().range.begin;
  ConstDecl *decl =
      context.make<ConstDecl>(expectName("a name"), SourceRange());
  if (accept(Tok::Colon))
    decl->type = parseType();
  if (expect(Tok::Assign))
    decl->value = parseExpr();
  else
    decl->value = makeError(missingRange());
  decl->range = rangeFrom(begin);
  return decl;
}

Decl *Parser::parseVar() {
  Token keyword = consume();
  VarDecl *decl = context.make<VarDecl>(expectName("a name"), SourceRange());
  decl->isParam = keyword.kind == Tok::KwParam;
  expect(Tok::Colon);
  decl->type = parseType();
  if (expect(Tok::Assign))
    decl->init = parseExpr();
  else
    decl->init = makeError(missingRange());
  decl->range = rangeFrom(keyword.range.begin);
  return decl;
}

/// `if cond { members } else { members }`
Decl *Parser::parseIfDecl(StringRef where) {
  Level nesting(*this);
  if (!nesting)
    return nullptr;
  IfDecl *decl = context.make<IfDecl>(SourceRange());
  SourceLoc begin = consume().range.begin;
  decl->cond = parseExpr();
  decl->thenMembers = parseMembers(where, /*mayChoose=*/true);
  if (!silent && accept(Tok::KwElse)) {
    decl->hasElse = true;
    if (at(Tok::KwIf)) {
      if (Decl *inner = parseIfDecl(where))
        decl->elseMembers = context.copy(ArrayRef<Decl *>(inner));
    } else {
      decl->elseMembers = parseMembers(where, /*mayChoose=*/true);
    }
  }
  decl->range = rangeFrom(begin);
  return decl;
}

ArrayRef<Decl *> Parser::parseMembers(StringRef where, bool mayChoose) {
  SmallVector<Decl *, 8> members;
  SourceRange open = openBrace();
  while (!at(Tok::RBrace) && !at(Tok::Eof)) {
    if (accept(Tok::Semicolon))
      continue;
    // A declaration that stands at the top of a file only: the `}` is missing.
    if (at(Tok::KwExport) || at(Tok::KwModule) || at(Tok::KwOptimizer) ||
        at(Tok::KwUse) || at(Tok::KwImport) ||
        (atDeclStart() && atWord("step")))
      break;
    if (at(Tok::KwIf) && mayChoose) {
      silent = false;
      bracketDepth = 0;
      members.push_back(parseIfDecl(where));
      if (!members.back())
        members.pop_back();
      if (silent || !endStatement())
        if (!at(Tok::RBrace) && !(peek().afterNewline && atDeclStart()))
          skipDecl();
      continue;
    }
    parseDecl(members, where);
  }
  silent = silent && !at(Tok::RBrace);
  expectClose(Tok::RBrace, open);
  return context.copy(ArrayRef<Decl *>(members));
}

Decl *Parser::parseModule() {
  SourceLoc begin = consume().range.begin;
  ModuleDecl *decl = context.make<ModuleDecl>(
      expectName("the name of the module"), SourceRange());
  if (at(Tok::LParen))
    decl->params = parseParams();
  decl->members = parseMembers("in a module", /*mayChoose=*/true);
  decl->range = rangeFrom(begin);
  return decl;
}

Decl *Parser::parseLayer() {
  SourceLoc begin = consume().range.begin;
  LayerDecl *decl = context.make<LayerDecl>(expectName("the name of the layer"),
                                            SourceRange());
  if (at(Tok::LBracket)) {
    SourceRange open = consume().range;
    ++bracketDepth;
    decl->count = parseExpr();
    expectClose(Tok::RBracket, open);
    --bracketDepth;
  }
  if (expect(Tok::Assign))
    decl->value = parseExpr();
  else
    decl->value = makeError(missingRange());
  decl->range = rangeFrom(begin);
  return decl;
}

Decl *Parser::parseOptimizer() {
  SourceLoc begin = consume().range.begin;
  OptimizerDecl *decl = context.make<OptimizerDecl>(
      expectName("the name of the optimizer"), SourceRange());
  if (at(Tok::LParen))
    decl->params = parseParams();
  decl->members = parseMembers("in an optimizer", /*mayChoose=*/false);
  decl->range = rangeFrom(begin);
  return decl;
}

bool tdsl::isTypeWord(StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases({"bool", "i8", "u8", "i32", "i64", "f16", "bf16"}, true)
      .Cases({"f32", "f64", "float", "int", "num"}, true)
      .Default(false);
}

/// `x f32` and `f32 x` as other languages write them.
void Parser::parseTypeWithoutColon(ParamDecl &param) {
  bool isType = isTypeWord(param.name.name);
  if (at(Tok::Ident) && isTypeWord(peek().text) && !isType) {
    error(Diag::Expected, peek().range)
            .fix({param.name.range.end, param.name.range.end}, ":",
                 "a type follows a colon: `" + param.name.name + ": " +
                     peek().text + "`")
        << "`:`" << describeCurrent();
    silent = false;
    param.type = parseType();
  } else if (at(Tok::Ident) && isType) {
    Ident type = param.name;
    Token name = consume();
    SourceRange both{type.range.begin, name.range.end};
    error(Diag::Expected, type.range)
            .fix(both, name.text + ": " + type.name, "the name comes first")
        << "the name of a parameter" << "`" + type.name + "`";
    silent = false;
    param.name = {name.text, name.range};
    param.type = context.make<TypeExpr>();
    param.type->elem = type;
    param.type->range = type.range;
  }
}

ArrayRef<ParamDecl> Parser::parseParams() {
  SmallVector<ParamDecl, 8> params;
  SourceRange open = peek().range;
  if (!accept(Tok::LParen)) {
    errorExpected("`(`");
    open = missingRange();
  }
  ++bracketDepth;
  while (!at(Tok::RParen) && !at(Tok::Eof)) {
    ParamDecl param;
    param.name = expectName("the name of a parameter");
    if (accept(Tok::Colon))
      param.type = parseType();
    else if (param.name.isValid())
      parseTypeWithoutColon(param);
    if (accept(Tok::Assign))
      param.defaultValue = parseExpr();
    params.push_back(param);
    if (!accept(Tok::Comma))
      break;
    if (danglingComma(Tok::RParen, "a parameter"))
      break;
  }
  expectClose(Tok::RParen, open);
  --bracketDepth;
  return context.copy(ArrayRef<ParamDecl>(params));
}

void Parser::parseResult(FnDecl *fn) {
  fn->hasResult = true;
  SmallVector<ResultType, 4> results;
  if (at(Tok::LParen)) {
    fn->isTuple = true;
    SourceRange open = consume().range;
    ++bracketDepth;
    while (!at(Tok::RParen) && !at(Tok::Eof)) {
      ResultType result;
      if (at(Tok::Ident) && peek(1).kind == Tok::Colon) {
        Token name = consume();
        consume();
        result.name = {name.text, name.range};
      }
      result.type = parseType();
      results.push_back(result);
      if (!accept(Tok::Comma))
        break;
      if (danglingComma(Tok::RParen, "a type"))
        break;
    }
    expectClose(Tok::RParen, open);
    --bracketDepth;
  } else {
    results.push_back({Ident(), parseType()});
  }
  fn->results = context.copy(ArrayRef<ResultType>(results));
}

ArrayRef<Ident> Parser::parseNameList(StringRef what) {
  SmallVector<Ident, 4> names;
  SourceRange open = peek().range;
  if (!expect(Tok::LParen))
    return {};
  ++bracketDepth;
  while (!at(Tok::RParen) && !at(Tok::Eof)) {
    names.push_back(expectName(what));
    if (!accept(Tok::Comma))
      break;
    if (danglingComma(Tok::RParen, what))
      break;
  }
  expectClose(Tok::RParen, open);
  --bracketDepth;
  return context.copy(ArrayRef<Ident>(names));
}

Vjp *Parser::parseVjp() {
  SourceLoc begin = consume().range.begin;
  Vjp *vjp = context.make<Vjp>();
  vjp->params = parseNameList("a name");
  expect(Tok::Arrow);
  vjp->results = parseNameList("a name");
  vjp->body = parseBlock();
  vjp->range = rangeFrom(begin);
  return vjp;
}

Decl *Parser::parseFn(FnKind kind) {
  FnDecl *fn = context.make<FnDecl>(
      expectName(kind == FnKind::Step ? "the name of the step"
                                      : "the name of the function"),
      SourceRange(peek().range.begin, peek().range.begin));
  if (fn->name.isValid())
    fn->range.begin = fn->name.range.begin;
  fn->fnKind = kind;
  fn->params = parseParams();
  if (accept(Tok::Arrow))
    parseResult(fn);
  fn->signature = rangeFrom(fn->range.begin);
  if (!fn->hasResult && !at(Tok::LBrace) && !peek().afterNewline)
    errorExpected("`->` or `{`");
  // After a mistake in the signature the body goes on at its brace.
  if (silent) {
    bracketDepth = 0;
    while (!at(Tok::LBrace) && !at(Tok::RBrace) && !at(Tok::Eof) &&
           !(peek().afterNewline && atDeclStart()))
      consume();
    if (!at(Tok::LBrace)) {
      fn->body = context.make<Block>();
      return fn;
    }
  }
  fn->body = parseBlock();
  fn->range.end = previousEnd;
  if (atWord("vjp") && peek(1).kind == Tok::LParen) {
    fn->vjp = parseVjp();
    fn->range.end = previousEnd;
  }
  return fn;
}

File tdsl::parseFile(const SourceManager &sources, SourceManager::FileId file,
                     ASTContext &context, DiagnosticEngine &diags) {
  size_t bad = findInvalidUTF8(sources.getText(file));
  if (bad != StringRef::npos) {
    SourceLoc at = sources.getLoc(file, bad);
    uint8_t byte = sources.getText(file)[bad];
    diags.report(Diag::BadUTF8, {at, sources.getLoc(file, bad + 1)})
        << ("0x" + llvm::utohexstr(byte, true, 2));
    File empty;
    empty.id = file;
    return empty;
  }
  return Parser(sources, file, context, diags).parseFile();
}
