//===- IndexForm.cpp - How index expressions depend on indices -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums of multiples of indices are linear; with `//` and `%` by numbers they
// are quasi-linear, and intervals still say where they run. All else is a value
// that is computed: a gather.
//
//===----------------------------------------------------------------------===//

#include "Checker.h"
#include "IndexLimit.h"

using namespace tdsl;
using namespace tdsl::sema;
using ast::BinaryOp;
using llvm::cast;
using llvm::dyn_cast;
using llvm::isa;

/// How an index expression depends on the indices. Linear ones give their
/// coefficients.
Checker::IndexForm Checker::classify(const ast::Expr *e, Linear &out) {
  IndexForm form = classifyImpl(e, out);
  bool fits = isWithinLimit(out.constant);
  for (const auto &term : out.terms)
    fits &= isWithinLimit(term.second);
  if (fits || form == IndexForm::Value)
    return form;
  if (!definition->failed)
    report(Diag::SizeOverflow, e->range);
  definition->failed = true;
  return IndexForm::Value;
}

Checker::IndexForm Checker::classifyImpl(const ast::Expr *e, Linear &out) {
  if (!mentionsIndex(e) && !mentionsCounter(e)) {
    // A size, or a scalar that was computed: a gather. Built once, outside.
    if (isa<ast::IndexExpr, ast::ReduceExpr>(e))
      return IndexForm::Value;
    auto it = definition->hoisted.find(e);
    if (it == definition->hoisted.end()) {
      typed::Body *outer = body;
      body = nullptr;
      it = definition->hoisted.try_emplace(e, elab(e)).first;
      body = outer;
      definition->failed |= it->second.isError();
    }
    if (it->second.kind != Val::Dim)
      return IndexForm::Value;
    out.constant = it->second.number;
    return IndexForm::Linear;
  }
  switch (e->kind) {
  case ast::ExprKind::Name: {
    Val *val = frame->find(cast<ast::NameExpr>(e)->name);
    if (val && val->foldVar) {
      out.terms.push_back({val->foldVar, 1});
      out.constant = val->number;
      return IndexForm::Linear;
    }
    // A name for an index expression is read like a value.
    if (!val || val->kind != Val::Index || !val->indexVar)
      return IndexForm::Value;
    out.terms.push_back({val->indexVar, 1});
    return IndexForm::Linear;
  }
  case ast::ExprKind::Unary: {
    auto *unary = cast<ast::UnaryExpr>(e);
    if (unary->op != ast::UnaryOp::Neg)
      return IndexForm::Value;
    IndexForm form = classify(unary->operand, out);
    out.constant = -out.constant;
    for (auto &term : out.terms)
      term.second = -term.second;
    return form;
  }
  case ast::ExprKind::Binary: {
    // Index expressions are short; the spine is walked like any operand.
    auto *binary = cast<ast::BinaryExpr>(e);
    if (binary->op < BinaryOp::Add || binary->op == BinaryOp::Div ||
        binary->op == BinaryOp::MatMul || binary->op == BinaryOp::Pow)
      return IndexForm::Value;
    if (++exprDepth > 4096) {
      --exprDepth;
      report(Diag::TooDeep, e->range) << "256";
      aborted = true;
      return IndexForm::Value;
    }
    Linear l, r;
    IndexForm left = classify(binary->lhs, l);
    IndexForm right = classify(binary->rhs, r);
    --exprDepth;
    if (left == IndexForm::Value || right == IndexForm::Value)
      return IndexForm::Value;
    bool linear = left == IndexForm::Linear && right == IndexForm::Linear;
    switch (binary->op) {
    case BinaryOp::Add:
    case BinaryOp::Sub: {
      if (!linear)
        return IndexForm::Quasi;
      int64_t sign = binary->op == BinaryOp::Add ? 1 : -1;
      out = l;
      out.constant += sign * r.constant;
      for (auto [var, coefficient] : r.terms) {
        auto *it = llvm::find_if(
            out.terms, [v = var](const auto &t) { return t.first == v; });
        if (it == out.terms.end())
          out.terms.push_back({var, sign * coefficient});
        else if ((it->second += sign * coefficient) == 0)
          out.terms.erase(it);
      }
      return IndexForm::Linear;
    }
    case BinaryOp::Mul: {
      bool leftConstant = left == IndexForm::Linear && l.terms.empty();
      bool rightConstant = right == IndexForm::Linear && r.terms.empty();
      if (!leftConstant && !rightConstant)
        return IndexForm::Value;
      if (!linear)
        return IndexForm::Quasi;
      int64_t factor = leftConstant ? l.constant : r.constant;
      out = leftConstant ? r : l;
      out.constant = multiplySaturating(out.constant, factor);
      for (auto &term : out.terms)
        term.second = multiplySaturating(term.second, factor);
      if (factor == 0)
        out.terms.clear();
      return IndexForm::Linear;
    }
    default: // `//` and `%`
      if (right != IndexForm::Linear || !r.terms.empty() || r.constant <= 0)
        return IndexForm::Value;
      return IndexForm::Quasi;
    }
  }
  default:
    return IndexForm::Value;
  }
}

/// The least and the largest value of an index expression, ranges known and
/// not empty.
bool Checker::interval(const ast::Expr *e, int64_t &low, int64_t &high) {
  return intervalImpl(e, low, high) && isWithinLimit(low) &&
         isWithinLimit(high);
}

bool Checker::intervalImpl(const ast::Expr *e, int64_t &low, int64_t &high) {
  Linear linear;
  IndexForm form = classify(e, linear);
  if (form == IndexForm::Linear) {
    low = high = linear.constant;
    for (auto [var, coefficient] : linear.terms) {
      int64_t reach;
      if (var->extent < 1 ||
          llvm::MulOverflow(coefficient, var->extent - 1, reach))
        return false;
      if (llvm::AddOverflow(reach < 0 ? low : high, reach,
                            reach < 0 ? low : high))
        return false;
    }
    return true;
  }
  auto *binary = dyn_cast<ast::BinaryExpr>(e);
  if (form != IndexForm::Quasi)
    return false;
  if (auto *unary = dyn_cast<ast::UnaryExpr>(e)) {
    int64_t l, h;
    if (!interval(unary->operand, l, h))
      return false;
    low = -h;
    high = -l;
    return true;
  }
  int64_t ll, lh, rl, rh;
  if (!binary || !interval(binary->lhs, ll, lh) ||
      !interval(binary->rhs, rl, rh))
    return false;
  bool overflow = false;
  switch (binary->op) {
  case BinaryOp::Add:
    overflow = llvm::AddOverflow(ll, rl, low) | llvm::AddOverflow(lh, rh, high);
    break;
  case BinaryOp::Sub:
    overflow = llvm::SubOverflow(ll, rh, low) | llvm::SubOverflow(lh, rl, high);
    break;
  case BinaryOp::Mul: {
    int64_t corner[4];
    overflow = llvm::MulOverflow(ll, rl, corner[0]) |
               llvm::MulOverflow(ll, rh, corner[1]) |
               llvm::MulOverflow(lh, rl, corner[2]) |
               llvm::MulOverflow(lh, rh, corner[3]);
    low = *std::min_element(corner, corner + 4);
    high = *std::max_element(corner, corner + 4);
    break;
  }
  case BinaryOp::FloorDiv:
    low = llvm::divideFloorSigned(ll, rl);
    high = llvm::divideFloorSigned(lh, rl);
    break;
  case BinaryOp::Mod:
    if (llvm::divideFloorSigned(ll, rl) == llvm::divideFloorSigned(lh, rl)) {
      int64_t base = llvm::divideFloorSigned(ll, rl) * rl;
      low = ll - base;
      high = lh - base;
    } else {
      low = 0;
      high = rl - 1;
    }
    break;
  default:
    return false;
  }
  return !overflow;
}
