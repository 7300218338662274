//===- ParseExpr.cpp - Expressions -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ParserImpl.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace tdsl;
using namespace tdsl::ast;
using llvm::ArrayRef;
using llvm::cast;
using llvm::dyn_cast;
using llvm::isa;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;

/// More digits than any number needs to be told from its neighbours.
static constexpr unsigned maxFloatDigits = 1000;

namespace {
enum Precedence : unsigned {
  PrecOr = 1,
  PrecAnd,
  PrecNot,
  PrecCompare,
  PrecAdd,
  PrecMul,
  PrecUnary,
  PrecPow,
};
struct OpInfo {
  BinaryOp op;
  unsigned precedence; // 0: not a binary operator
};
} // namespace

static OpInfo getBinaryOp(Tok kind) {
  switch (kind) {
  case Tok::KwOr:
    return {BinaryOp::Or, PrecOr};
  case Tok::KwAnd:
    return {BinaryOp::And, PrecAnd};
  case Tok::EqEq:
    return {BinaryOp::Eq, PrecCompare};
  case Tok::NotEq:
    return {BinaryOp::Ne, PrecCompare};
  case Tok::Less:
    return {BinaryOp::Lt, PrecCompare};
  case Tok::LessEq:
    return {BinaryOp::Le, PrecCompare};
  case Tok::Greater:
    return {BinaryOp::Gt, PrecCompare};
  case Tok::GreaterEq:
    return {BinaryOp::Ge, PrecCompare};
  case Tok::Plus:
    return {BinaryOp::Add, PrecAdd};
  case Tok::Minus:
    return {BinaryOp::Sub, PrecAdd};
  case Tok::Star:
    return {BinaryOp::Mul, PrecMul};
  case Tok::Slash:
    return {BinaryOp::Div, PrecMul};
  case Tok::SlashSlash:
    return {BinaryOp::FloorDiv, PrecMul};
  case Tok::Percent:
    return {BinaryOp::Mod, PrecMul};
  case Tok::At:
    return {BinaryOp::MatMul, PrecMul};
  case Tok::StarStar:
    return {BinaryOp::Pow, PrecPow};
  default:
    return {BinaryOp::Or, 0};
  }
}

StringRef tdsl::ast::spelling(BinaryOp op) {
  static const char *const names[] = {"or", "and", "==", "!=", "<", "<=",
                                      ">",  ">=",  "+",  "-",  "*", "/",
                                      "//", "%",   "@",  "**"};
  return names[size_t(op)];
}

static bool isReductionName(StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases({"sum", "max", "min", "prod", "mean"}, true)
      .Cases({"any", "all", "argmax", "argmin"}, true)
      .Default(false);
}

template <typename T, typename... Args>
T *Parser::makeExpr(unsigned height, Args &&...args) {
  T *e = context.make<T>(std::forward<Args>(args)...);
  // Only postfix chains get here with more than the recursion allows.
  if (height > kNestingLimit + 8 && !aborted) {
    silent = false;
    error(Diag::TooDeep, e->range) << Twine(kNestingLimit);
    abortParsing();
  }
  e->height = height;
  return e;
}

Expr *Parser::makeError(SourceRange range) {
  return context.make<ErrorExpr>(range);
}

Expr *Parser::parseBinary(unsigned minPrecedence) {
  Level nesting(*this);
  if (!nesting)
    return makeError(peek().range);
  SourceLoc begin = peek().range.begin;
  Expr *lhs = parsePrefix();
  while (!endsHere()) {
    OpInfo info = getBinaryOp(peek().kind);
    if (info.precedence == 0 || info.precedence < minPrecedence)
      break;
    if (silent && isa<ErrorExpr>(lhs))
      break;
    Token op = consume();
    if (op.kind == Tok::SlashSlash)
      lastFloorDiv = op.range;
    if (at(Tok::Assign) && peek().range.begin == op.range.end)
      return parseCompoundAssign(lhs, op);
    // `**` groups to the right and takes a signed exponent.
    unsigned next =
        info.op == BinaryOp::Pow ? unsigned(PrecUnary) : info.precedence + 1;
    Expr *rhs = parseBinary(next);
    unsigned left = isa<BinaryExpr>(lhs) ? lhs->height : lhs->height + 1u;
    Expr *previous = lhs;
    lhs = makeExpr<BinaryExpr>(std::max<unsigned>(left, rhs->height + 1u),
                               SourceRange(begin, previousEnd), info.op, lhs,
                               rhs, op.range);
    if (info.precedence == PrecCompare && !endsHere() &&
        getBinaryOp(peek().kind).precedence == PrecCompare) {
      StringRef middle = sources.getText(rhs->range);
      auto d = error(Diag::ComparisonChain, peek().range);
      if (middle.size() < 60)
        d.fix({peek().range.begin, peek().range.begin},
              ("and " + middle + " ").str(), "join two comparisons with `and`");
      (void)previous;
      skipStatement();
      return makeError(lhs->range);
    }
  }
  return lhs;
}

/// `x += y` of other languages: `op` and the `=` right behind it.
Expr *Parser::parseCompoundAssign(Expr *target, const Token &op) {
  SourceRange sign{op.range.begin, consume().range.end};
  Expr *value = parseExpr();
  auto d = error(Diag::Expected, sign);
  d << "`=`" << "`" + op.text + "=`";
  auto *name = dyn_cast<NameExpr>(target);
  SourceRange rest{value->range.begin, previousEnd};
  StringRef text = sources.getText(rest);
  if (name && !isa<ErrorExpr>(value) && text.size() < 60) {
    bool isOne =
        isa<NameExpr, IntExpr, FloatExpr, CallExpr, IndexExpr, MemberExpr>(
            value);
    std::string sum = ("= " + name->name + " " + op.text + " ").str();
    sum += isOne ? text.str() : ("(" + text + ")").str();
    d.fix({sign.begin, previousEnd}, sum,
          "write `" + name->name + " " + sum + "`");
  }
  return makeError(rangeFrom(target->range.begin));
}

Expr *Parser::parsePrefix() {
  SourceLoc begin = peek().range.begin;
  switch (peek().kind) {
  case Tok::Minus: {
    consume();
    Expr *operand = parseBinary(PrecUnary);
    return makeExpr<UnaryExpr>(operand->height + 1u, rangeFrom(begin),
                               UnaryOp::Neg, operand);
  }
  case Tok::KwNot: {
    consume();
    Expr *operand = parseBinary(PrecNot);
    return makeExpr<UnaryExpr>(operand->height + 1u, rangeFrom(begin),
                               UnaryOp::Not, operand);
  }
  case Tok::KwIf:
    return parseIf();
  default:
    return parsePostfix();
  }
}

/// Both forms: `if c then a else b` and `if c { … } else { … }`.
Expr *Parser::parseIf() {
  SourceLoc begin = consume().range.begin;
  Expr *cond = parseBinary(PrecOr);
  bool isBlock = at(Tok::LBrace);
  if (!isBlock && !at(Tok::KwThen)) {
    errorExpected("`then` or `{`");
    isBlock = closesBeforeElse();
    if (!isBlock)
      return makeError(rangeFrom(begin));
  }
  if (isBlock) {
    Block *thenBlock = parseBlock();
    Block *elseBlock = nullptr;
    if (at(Tok::KwElse)) {
      consume();
      if (at(Tok::KwIf)) {
        Level nesting(*this);
        if (!nesting)
          return makeError(peek().range);
        Expr *nested = parseIf();
        elseBlock = context.make<Block>();
        elseBlock->value = nested;
        elseBlock->range = nested->range;
        elseBlock->height = nested->height;
      } else {
        elseBlock = parseBlock();
      }
    }
    unsigned height = std::max(cond->height, thenBlock->height);
    if (elseBlock)
      height = std::max<unsigned>(height, elseBlock->height);
    return makeExpr<IfBlockExpr>(height + 1u, rangeFrom(begin), cond, thenBlock,
                                 elseBlock);
  }
  consume();
  Expr *thenValue = parseExpr();
  if (!accept(Tok::KwElse)) {
    errorExpected("`else`");
    return makeError(rangeFrom(begin));
  }
  Expr *elseValue = parseExpr();
  unsigned height =
      std::max({cond->height, thenValue->height, elseValue->height}) + 1u;
  return makeExpr<SelectExpr>(height, rangeFrom(begin), cond, thenValue,
                              elseValue);
}

Expr *Parser::parsePostfix() {
  Expr *e = parsePrimary();
  while (!endsHere() && !aborted) {
    if (at(Tok::LParen)) {
      auto *index = dyn_cast<IndexExpr>(e);
      auto *name = index ? dyn_cast<NameExpr>(index->base) : nullptr;
      e = name && isReductionName(name->name) ? parseReduce(index)
                                              : parseCall(e);
    } else if (at(Tok::LBracket)) {
      e = parseIndex(e);
    } else if (at(Tok::Dot)) {
      consume();
      Ident member;
      // After a dot a word of the language is a plain name.
      if (peek().kind > Tok::String && !peek().text.empty() &&
          llvm::isAlpha(peek().text[0])) {
        Token token = consume();
        member = {token.text, token.range};
      } else {
        member = expectName("the name of a member");
      }
      e = makeExpr<MemberExpr>(e->height + 1u, rangeFrom(e->range.begin), e,
                               member);
    } else {
      break;
    }
  }
  return e;
}

Expr *Parser::makeInt(const Token &token) {
  std::string digits;
  for (char c : token.text)
    if (c != '_')
      digits.push_back(c);
  StringRef text(digits);
  unsigned radix = text.consume_front_insensitive("0x") ? 16 : 10;
  uint64_t value = 0;
  if (text.getAsInteger(radix, value))
    diags.report(Diag::BadNumber, token.range)
        << token.text.take_front(40) << "it needs more than 64 bits";
  return context.make<IntExpr>(token.range, value);
}

Expr *Parser::parsePrimary() {
  // `step` may be a name, but not where a declaration begins.
  if (peek().afterNewline && atDeclStart()) {
    errorExpected("an expression");
    return makeError(missingRange());
  }
  const Token &token = peek();
  switch (token.kind) {
  case Tok::Int:
    return makeInt(consume());
  case Tok::Float: {
    Token number = consume();
    StringRef text = number.text;
    if (text.contains('_')) {
      char *copy = context.arena.Allocate<char>(text.size());
      size_t n = 0;
      for (char c : text)
        if (c != '_')
          copy[n++] = c;
      text = StringRef(copy, n);
    }
    // Conversion takes time that grows with the square of the length.
    if (text.size() > maxFloatDigits) {
      diags.report(Diag::BadNumber, number.range)
          << text.take_front(40)
          << "it has more than " + Twine(maxFloatDigits) + " digits";
      text = "0.0";
    }
    return context.make<FloatExpr>(number.range, text);
  }
  case Tok::KwTrue:
  case Tok::KwFalse: {
    Token word = consume();
    return context.make<BoolExpr>(word.range, word.kind == Tok::KwTrue);
  }
  case Tok::Ident: {
    Token word = consume();
    if (word.text == "inf" || word.text == "nan")
      return context.make<FloatExpr>(word.range, word.text);
    return context.make<NameExpr>(word.range, word.text);
  }
  case Tok::LParen:
    return parseParens();
  case Tok::LBracket:
    return parseList();
  default: {
    SourceRange range = missingRange();
    errorExpected("an expression");
    return makeError(range);
  }
  }
}

Expr *Parser::parseParens() {
  SourceRange open = consume().range;
  ++bracketDepth;
  SmallVector<Expr *, 4> elems;
  unsigned height = 0;
  bool isTuple = false;
  while (!at(Tok::RParen) && !at(Tok::Eof)) {
    Expr *e = parseExpr();
    height = std::max<unsigned>(height, e->height);
    elems.push_back(e);
    if (!accept(Tok::Comma))
      break;
    isTuple = true;
  }
  if (elems.empty() && at(Tok::RParen))
    errorExpected("an expression");
  expectClose(Tok::RParen, open);
  --bracketDepth;
  if (elems.empty())
    return makeError(rangeFrom(open.begin));
  if (!isTuple) {
    // Parentheses leave no node, but the range grows with them, and a chain
    // of operators inside is one operand.
    Expr *e = elems.front();
    if (!isa<BinaryExpr>(e))
      e->range = rangeFrom(open.begin);
    return e;
  }
  return makeExpr<TupleExpr>(height + 1, rangeFrom(open.begin),
                             context.copy(ArrayRef<Expr *>(elems)));
}

Expr *Parser::parseList() {
  SourceRange open = consume().range;
  ++bracketDepth;
  SmallVector<ListItem, 4> items;
  unsigned height = 0;
  while (!at(Tok::RBracket) && !at(Tok::Eof)) {
    ListItem item;
    if (accept(Tok::Ellipsis)) {
      item.isPack = true;
      Ident name = expectName("the name of a shape pack");
      item.value = context.make<NameExpr>(name.range, name.name);
    } else {
      item.value = parseExpr();
    }
    height = std::max<unsigned>(height, item.value->height);
    items.push_back(item);
    if (!accept(Tok::Comma))
      break;
    if (danglingComma(Tok::RBracket, "an expression"))
      break;
  }
  expectClose(Tok::RBracket, open);
  --bracketDepth;
  return makeExpr<ListExpr>(height + 1, rangeFrom(open.begin),
                            context.copy(ArrayRef<ListItem>(items)));
}

Expr *Parser::parseCall(Expr *callee) {
  SourceRange open = consume().range;
  ++bracketDepth;
  SmallVector<Arg, 4> args;
  unsigned height = callee->height;
  bool sawNamed = false;
  while (!at(Tok::RParen) && !at(Tok::Eof)) {
    Arg arg;
    bool isWord =
        at(Tok::Ident) || (peek().kind > Tok::String && !peek().text.empty() &&
                           llvm::isAlpha(peek().text[0]));
    if (isWord && peek(1).kind == Tok::Assign) {
      Token name = consume();
      consume();
      arg.name = {name.text, name.range};
      sawNamed = true;
    }
    SourceLoc begin = peek().range.begin;
    if (accept(Tok::Ellipsis)) {
      arg.isPack = true;
      Ident name = expectName("the name of a shape pack");
      arg.value = context.make<NameExpr>(name.range, name.name);
    } else {
      arg.value = parseExpr();
    }
    if (sawNamed && !arg.name.isValid())
      error(Diag::PositionalAfterNamed, rangeFrom(begin));
    height = std::max<unsigned>(height, arg.value->height);
    args.push_back(arg);
    if (!accept(Tok::Comma))
      break;
    if (danglingComma(Tok::RParen, "an argument"))
      break;
  }
  expectClose(Tok::RParen, open);
  --bracketDepth;
  return makeExpr<CallExpr>(height + 1, rangeFrom(callee->range.begin), callee,
                            context.copy(ArrayRef<Arg>(args)));
}

Expr *Parser::parseIndex(Expr *base) {
  SourceRange open = consume().range;
  ++bracketDepth;
  SmallVector<IndexItem, 4> items;
  unsigned height = base->height;
  while (!at(Tok::RBracket) && !at(Tok::Eof)) {
    IndexItem item;
    SourceLoc begin = peek().range.begin;
    if (!at(Tok::Colon)) {
      item.value = parseExpr();
      height = std::max<unsigned>(height, item.value->height);
    }
    if (accept(Tok::Colon)) {
      item.isSlice = true;
      item.low = item.value;
      item.value = nullptr;
      if (!at(Tok::Comma) && !at(Tok::RBracket)) {
        item.high = parseExpr();
        height = std::max<unsigned>(height, item.high->height);
      }
    }
    item.range = rangeFrom(begin);
    items.push_back(item);
    if (!accept(Tok::Comma))
      break;
    if (danglingComma(Tok::RBracket, "an index"))
      break;
  }
  if (items.empty() && at(Tok::RBracket))
    errorExpected("an index");
  expectClose(Tok::RBracket, open);
  --bracketDepth;
  return makeExpr<IndexExpr>(height + 1, rangeFrom(base->range.begin), base,
                             context.copy(ArrayRef<IndexItem>(items)));
}

/// Reads `[i, j < n]` items, already parsed as expressions, as binders.
bool Parser::toBinders(ArrayRef<IndexItem> items,
                       llvm::SmallVectorImpl<Binder> &binders) {
  for (const IndexItem &item : items) {
    auto *compare = llvm::dyn_cast_or_null<BinaryExpr>(item.value);
    bool bounded = compare && compare->op == BinaryOp::Lt;
    Expr *nameExpr = bounded ? compare->lhs : item.value;
    auto *name = llvm::dyn_cast_or_null<NameExpr>(nameExpr);
    if (item.isSlice || !name) {
      if (!silent)
        error(Diag::Expected, item.range)
            << "the name of an index, `i` or `i < n`" << "an expression";
      return false;
    }
    binders.push_back(
        {{name->name, name->range}, bounded ? compare->rhs : nullptr});
  }
  return true;
}

ArrayRef<Binder> Parser::parseBinders() {
  Expr *dummy = makeError(peek().range);
  auto *index = cast<IndexExpr>(parseIndex(dummy));
  SmallVector<Binder, 4> binders;
  toBinders(index->items, binders);
  return context.copy(ArrayRef<Binder>(binders));
}

Expr *Parser::parseReduce(IndexExpr *head) {
  auto *name = cast<NameExpr>(head->base);
  SmallVector<Binder, 4> binders;
  bool good = toBinders(head->items, binders);
  SourceRange open = consume().range;
  ++bracketDepth;
  Expr *body = parseExpr();
  expectClose(Tok::RParen, open);
  --bracketDepth;
  if (!good)
    return makeError(rangeFrom(head->range.begin));
  return makeExpr<ReduceExpr>(std::max(head->height, body->height) + 1u,
                              rangeFrom(head->range.begin),
                              Ident{name->name, name->range},
                              context.copy(ArrayRef<Binder>(binders)), body);
}
