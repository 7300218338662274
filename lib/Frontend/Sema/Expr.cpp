//===- Expr.cpp - Expressions -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Checker.h"
#include "tdsl/Frontend/Parser.h"
#include "llvm/Support/Error.h"

using namespace tdsl;
using namespace tdsl::sema;
using llvm::ArrayRef;
using llvm::cast;
using llvm::dyn_cast;
using llvm::isa;
using llvm::StringRef;
using llvm::Twine;

/// Calls nest in expressions and expressions in calls; the product has to stay
/// far below the stack of the checking thread.
static constexpr unsigned maxDepth = 16 * kNestingLimit;

Val Checker::elab(const ast::Expr *e, Expect expect) {
  return load(resolve(e, expect), e->range);
}

Val Checker::resolve(const ast::Expr *e, Expect expect) {
  if (exprDepth >= maxDepth) {
    report(Diag::TooDeep, e->range) << Twine(maxDepth);
    aborted = true;
  }
  if (aborted)
    return Val();
  ++exprDepth;
  Val val = elabImpl(e, expect);
  --exprDepth;
  return val;
}

/// Reads a variable.
Val Checker::load(Val val, Range range) {
  if (val.kind != Val::Variable)
    return val;
  if (frame->mode == Mode::Const) {
    report(Diag::NotCompileTime, range);
    return Val();
  }
  if (frame->mode == Mode::Init) {
    report(Diag::InitReadsVariable, range);
    return Val();
  }
  typed::Body *outer = body;
  body = nullptr;
  Value value = readVar(val, range);
  body = outer;
  Val out = Val::makeTensor(value);
  out.origin = val.origin;
  return out;
}

Val Checker::elabImpl(const ast::Expr *e, Expect expect) {
  switch (e->kind) {
  case ast::ExprKind::Error:
    return Val();
  case ast::ExprKind::Int:
    return elabInt(cast<ast::IntExpr>(e), expect);
  case ast::ExprKind::Float:
    return elabFloat(cast<ast::FloatExpr>(e), expect);
  case ast::ExprKind::Bool:
    return Val::makeTruth(cast<ast::BoolExpr>(e)->value);
  case ast::ExprKind::Name:
    return lookup(cast<ast::NameExpr>(e)->name, e->range);
  case ast::ExprKind::Unary:
    return elabUnary(cast<ast::UnaryExpr>(e), expect);
  case ast::ExprKind::Binary:
    return elabBinary(cast<ast::BinaryExpr>(e), expect);
  case ast::ExprKind::Select:
    return elabSelect(cast<ast::SelectExpr>(e), expect);
  case ast::ExprKind::IfBlock:
    return elabIfBlock(cast<ast::IfBlockExpr>(e), expect);
  case ast::ExprKind::Call:
    return elabCall(cast<ast::CallExpr>(e), expect);
  case ast::ExprKind::Member: {
    auto *member = cast<ast::MemberExpr>(e);
    return lookupMember(resolve(member->base), member->member, e);
  }
  case ast::ExprKind::Index:
    return elabSubscript(cast<ast::IndexExpr>(e));
  case ast::ExprKind::Reduce:
    return elabReduce(cast<ast::ReduceExpr>(e));
  case ast::ExprKind::Tuple: {
    llvm::SmallVector<Val, 4> elems;
    Val tuple;
    tuple.kind = Val::Tuple;
    for (const ast::Expr *elem : cast<ast::TupleExpr>(e)->elems) {
      Expect inner;
      if (elems.size() < expect.tuple.size())
        inner.elem = expect.tuple[elems.size()];
      Val val = elab(elem, inner);
      if (val.isError())
        return Val();
      elems.push_back(val);
    }
    tuple.elems = copy(ArrayRef<Val>(elems));
    return tuple;
  }
  case ast::ExprKind::List: {
    // In an index definition it was made outside.
    if (body && definition) {
      auto it = definition->hoisted.find(e);
      if (it != definition->hoisted.end())
        return it->second;
    }
    return elabList(cast<ast::ListExpr>(e), expect.elem);
  }
  }
  return Val();
}

//===----------------------------------------------------------------------===//
// Values from what an expression stands for
//===----------------------------------------------------------------------===//

static StringRef describeKind(const Val &val) {
  switch (val.kind) {
  case Val::Unit:
    return "something without a value";
  case Val::Tuple:
    return "a tuple";
  case Val::Pack:
    return "a shape pack";
  case Val::Instance:
    return "a layer";
  case Val::InstanceArray:
    return "an array of layers";
  case Val::Record:
    return "a record of gradients";
  case Val::Function:
  case Val::BuiltinName:
    return "a function";
  case Val::Namespace:
    return "a module of functions";
  case Val::ModuleClass:
    return "a module";
  case Val::OptimizerClass:
    return "an optimizer";
  case Val::ElemType:
    return "a type";
  default:
    return "something else";
  }
}

/// The node for a value; null after an error. In a body it is a scalar.
Value Checker::materialise(const Val &val, Range range,
                           std::optional<Elem> wanted) {
  if (val.isError() || aborted)
    return {};
  if (frame->mode == Mode::Const && val.kind == Val::Tensor) {
    report(Diag::NotCompileTime, range);
    return {};
  }
  switch (val.kind) {
  case Val::Dim: {
    int64_t n = val.number;
    Elem elem = n >= INT32_MIN && n <= INT32_MAX ? Elem::I32 : Elem::I64;
    if (wanted &&
        (typed::isInt(*wanted) || (val.literal && typed::isFloat(*wanted))))
      elem = *wanted;
    bool fits = true;
    switch (elem) {
    case Elem::I8:
      fits = n >= INT8_MIN && n <= INT8_MAX;
      break;
    case Elem::U8:
      fits = n >= 0 && n <= UINT8_MAX;
      break;
    case Elem::I32:
      fits = n >= INT32_MIN && n <= INT32_MAX;
      break;
    case Elem::F16:
    case Elem::BF16:
    case Elem::F32:
    case Elem::F64: {
      llvm::APFloat real(getSemantics(elem));
      auto status = real.convertFromAPInt(llvm::APInt(64, n, true), true,
                                          llvm::APFloat::rmNearestTiesToEven);
      fits = status == llvm::APFloat::opOK;
      break;
    }
    default:
      break;
    }
    if (!fits) {
      auto d = report(Diag::LiteralDoesNotFit, range);
      d << Twine(n) << typed::getName(elem);
      if (typed::isFloat(elem))
        d.note("write it as a float, `" + Twine(n) +
               ".0`, where rounding is wanted");
      return {};
    }
    if (typed::isFloat(elem))
      return makeFloat(elem, double(n), {}, range);
    return makeInt(elem, n, {}, range);
  }
  case Val::Truth:
    return makeInt(Elem::Bool, val.number, {}, range);
  case Val::Number:
    return makeConstant(*val.scalar, {}, range);
  case Val::Literal: {
    if (frame->mode == Mode::Const) {
      report(Diag::NotCompileTime, range);
      return {};
    }
    if (body) {
      report(Diag::NeedsIndices, range).label(val.origin, "declared here")
          << toString(val.type);
      return {};
    }
    if (val.elements.size() == 1)
      return makeConstant(*val.elements.front(), val.type.axes, range);
    Node *node = makeNode(Op::Literal, val.type, {}, range);
    node->elements = val.elements;
    return {node, 0};
  }
  case Val::Variable:
    return materialise(load(val, range), range);
  case Val::Index: {
    if (!body) {
      report(Diag::IndexOutside, range)
          << (val.indexVar ? val.indexVar->name : StringRef("index"));
      return {};
    }
    Elem elem = wanted && *wanted == Elem::I64 ? Elem::I64 : Elem::I32;
    Value index = indexNode(val, range);
    if (!index)
      return {};
    return make(Op::FromIndex, Type{elem, {}}, index, range);
  }
  case Val::Tensor:
    if (!body || val.inBody)
      return val.value;
    if (val.value.node->op == Op::Constant && val.value.type().isScalar())
      return makeConstant(*val.value.node->value, {}, range);
    if (!val.value.type().isScalar()) {
      report(Diag::NeedsIndices, range).label(val.origin, "declared here")
          << toString(val.value.type());
      return {};
    }
    return readAt(val.value, {}, range);
  default: {
    if (val.kind == Val::Tuple && !reported.insert(val.elems.data()).second)
      return {};
    auto d = report(Diag::NotAValue, range);
    d << describeKind(val);
    if (val.kind == Val::Instance || val.kind == Val::Function)
      d.fix({range.end, range.end}, "(…)", "call it");
    return {};
  }
  }
}

Value Checker::elabValue(const ast::Expr *e, Expect expect) {
  return materialise(elab(e, expect), e->range, expect.elem);
}

/// The element type that an operand brings; none for sizes and literals.
std::optional<Elem> Checker::elemOf(const Val &val) {
  switch (val.kind) {
  case Val::Tensor:
    return val.value.type().elem;
  case Val::Number:
    return val.scalar->elem;
  case Val::Literal:
    return val.type.elem;
  case Val::Truth:
    return Elem::Bool;
  case Val::Record:
    return val.elems.empty() ? std::nullopt : elemOf(val.elems.front());
  default:
    return std::nullopt;
  }
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

/// A condition that has to be known at compile time.
std::optional<bool> Checker::elabCondition(const ast::Expr *e) {
  Val val = elab(e);
  if (val.kind == Val::Truth)
    return val.number != 0;
  if (!val.isError()) {
    auto d = report(Diag::ConditionNotConstant, e->range);
    if (val.kind == Val::Dim)
      d.fix({e->range.end, e->range.end}, " != 0", "compare the number");
    else
      d.note("for a choice by element write `if c then a else b`");
  }
  return std::nullopt;
}

Val Checker::elabIfBlock(const ast::IfBlockExpr *e, Expect expect) {
  std::optional<bool> cond = elabCondition(e->cond);
  if (!cond)
    return Val();
  const ast::Block *block = *cond ? e->thenBlock : e->elseBlock;
  if (!block) {
    Val unit;
    unit.kind = Val::Unit;
    return unit;
  }
  return runBlock(block, expect);
}

Val Checker::elabSelect(const ast::SelectExpr *e, Expect expect) {
  Val cond = elab(e->cond);
  if (cond.isError())
    return Val();
  if (cond.kind == Val::Truth)
    return elab(cond.number ? e->thenValue : e->elseValue, expect);
  Value condition = materialise(cond, e->cond->range);
  if (!condition)
    return Val();
  if (condition.type().elem != Elem::Bool) {
    report(Diag::ConditionNotBool, e->cond->range)
            .fix(e->cond->range,
                 "(" + sources.getText(e->cond->range) + ") != 0",
                 "compare with 0")
        << toString(condition.type());
    return Val();
  }
  const char *outer = frame->noEffects;
  if (!outer)
    frame->noEffects = selectArm;
  llvm::SmallVector<Val, 2> arms;
  bool good = elabTogether({e->thenValue, e->elseValue}, expect, arms);
  frame->noEffects = outer;
  if (!good)
    return Val();
  llvm::SmallVector<Value, 3> values;
  if (!materialiseTogether({e->thenValue, e->elseValue}, arms, values, e->range,
                           "if"))
    return Val();
  Elem elem = values[0].type().elem;
  values.insert(values.begin(), condition);
  Value out = makeElementwise(
      Op::Select, elem, values,
      {e->cond->range, e->thenValue->range, e->elseValue->range}, e->range,
      "if");
  return out ? Val::makeTensor(out, body != nullptr) : Val();
}

Val Checker::elabUnary(const ast::UnaryExpr *e, Expect expect) {
  if (e->op == ast::UnaryOp::Not) {
    Val val = elab(e->operand);
    if (val.isError())
      return Val();
    if (val.kind == Val::Truth)
      return Val::makeTruth(!val.number);
    Value value = materialise(val, e->operand->range);
    if (!value)
      return Val();
    if (value.type().elem != Elem::Bool) {
      report(Diag::NeedsBool, e->operand->range)
          << "not" << toString(value.type());
      return Val();
    }
    return Val::makeTensor(make(Op::Not, value.type(), value, e->range),
                           body != nullptr);
  }
  // `-128` is one number: it may be the least of its type.
  if (auto *literal = dyn_cast<ast::IntExpr>(e->operand)) {
    if (literal->value <= uint64_t(INT64_MAX) + 1) {
      Val dim = Val::makeDim(int64_t(0 - literal->value), true);
      if (!expect.elem || !typed::isNumber(*expect.elem) ||
          frame->mode == Mode::Const)
        return dim;
      // -0 as a float has a sign.
      if (literal->value != 0 || !typed::isFloat(*expect.elem)) {
        Value value = materialise(dim, e->range, expect.elem);
        return value ? Val::makeTensor(value, body != nullptr) : Val();
      }
    }
  }
  Val val = elab(e->operand, expect);
  switch (val.kind) {
  case Val::Error:
    return Val();
  case Val::Dim: {
    int64_t out;
    if (llvm::SubOverflow(int64_t(0), val.number, out)) {
      report(Diag::SizeOverflow, e->range);
      return Val();
    }
    return Val::makeDim(out, val.literal);
  }
  case Val::Number: {
    Scalar scalar = *val.scalar;
    if (typed::isFloat(scalar.elem))
      scalar.real.changeSign();
    else
      scalar.integer = int64_t(0 - uint64_t(scalar.integer));
    val.scalar = keep(scalar);
    return val;
  }
  case Val::Index: {
    Value index = indexNode(val, e->range);
    if (!index)
      return Val();
    Node *node = makeNode(Op::IndexMul, Type{Elem::Index, {}}, index, e->range);
    node->number = -1;
    Val out;
    out.kind = Val::Index;
    out.value = {node, 0};
    return out;
  }
  case Val::Record: {
    llvm::SmallVector<Val, 8> elems;
    for (const Val &elem : val.elems)
      elems.push_back(Val::makeTensor(
          make(Op::Neg, elem.value.type(), elem.value, e->range)));
    val.elems = copy(ArrayRef<Val>(elems));
    return val;
  }
  default: {
    Value value = materialise(val, e->operand->range);
    if (!value)
      return Val();
    if (!typed::isNumber(value.type().elem)) {
      report(Diag::NeedsNumber, e->operand->range)
          << "-" << toString(value.type());
      return Val();
    }
    return Val::makeTensor(make(Op::Neg, value.type(), value, e->range),
                           body != nullptr);
  }
  }
}
