//===- IndexDef.cpp - Ranges of index definitions -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An index definition is checked in three steps. First its reads are
// collected; everything that doesn't depend on an index is built outside.
// Then ranges are inferred: from what is written (`i < n`), from axes that an
// index reads alone (`x[i]` runs over the whole axis), and then from windows,
// where all other indices of an equation are known (`x[i + u]`). At last each
// read is proven to lie inside, by interval arithmetic: sizes are numbers.
//
//===----------------------------------------------------------------------===//

#include "Checker.h"
#include "IndexLimit.h"

using namespace tdsl;
using namespace tdsl::sema;
using ast::BinaryOp;
using llvm::ArrayRef;
using llvm::cast;
using llvm::dyn_cast;
using llvm::isa;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Which indices an expression names
//===----------------------------------------------------------------------===//

/// Calls `visit` for every name in `e`; stops when it returns true.
static bool anyName(const ast::Expr *e,
                    llvm::function_ref<bool(const ast::NameExpr *)> visit) {
  while (true) {
    switch (e->kind) {
    case ast::ExprKind::Name:
      return visit(cast<ast::NameExpr>(e));
    case ast::ExprKind::Unary:
      e = cast<ast::UnaryExpr>(e)->operand;
      continue;
    case ast::ExprKind::Binary:
      if (anyName(cast<ast::BinaryExpr>(e)->rhs, visit))
        return true;
      e = cast<ast::BinaryExpr>(e)->lhs;
      continue;
    case ast::ExprKind::Select: {
      auto *select = cast<ast::SelectExpr>(e);
      if (anyName(select->cond, visit) || anyName(select->thenValue, visit))
        return true;
      e = select->elseValue;
      continue;
    }
    case ast::ExprKind::IfBlock: {
      auto *branch = cast<ast::IfBlockExpr>(e);
      for (const ast::Block *block : {branch->thenBlock, branch->elseBlock}) {
        if (!block)
          continue;
        for (const ast::Stmt *stmt : block->stmts)
          if (auto *let = dyn_cast<ast::LetStmt>(stmt))
            if (anyName(let->value, visit))
              return true;
        if (block->value && anyName(block->value, visit))
          return true;
      }
      e = branch->cond;
      continue;
    }
    case ast::ExprKind::Call: {
      auto *call = cast<ast::CallExpr>(e);
      for (const ast::Arg &arg : call->args)
        if (anyName(arg.value, visit))
          return true;
      e = call->callee;
      continue;
    }
    case ast::ExprKind::Member:
      e = cast<ast::MemberExpr>(e)->base;
      continue;
    case ast::ExprKind::Index: {
      auto *index = cast<ast::IndexExpr>(e);
      for (const ast::IndexItem &item : index->items)
        for (const ast::Expr *part : {item.value, item.low, item.high})
          if (part && anyName(part, visit))
            return true;
      e = index->base;
      continue;
    }
    case ast::ExprKind::Reduce: {
      auto *reduce = cast<ast::ReduceExpr>(e);
      for (const ast::Binder &binder : reduce->binders)
        if (binder.bound && anyName(binder.bound, visit))
          return true;
      e = reduce->body;
      continue;
    }
    case ast::ExprKind::Tuple:
      for (const ast::Expr *elem : cast<ast::TupleExpr>(e)->elems)
        if (anyName(elem, visit))
          return true;
      return false;
    case ast::ExprKind::List:
      for (const ast::ListItem &item : cast<ast::ListExpr>(e)->items)
        if (anyName(item.value, visit))
          return true;
      return false;
    default:
      return false;
    }
  }
}

bool Checker::mentionsIndex(const ast::Expr *e) {
  return anyName(e, [&](const ast::NameExpr *name) {
    Val *val = frame->find(name->name);
    return val && (val->kind == Val::Index || val->inBody);
  });
}

/// Whether `e` names a value that holds a mistake, which was reported.
bool Checker::mentionsFailed(const ast::Expr *e) {
  return anyName(e, [&](const ast::NameExpr *name) {
    Val *val = frame->find(name->name);
    return val && val->isError();
  });
}

bool Checker::rejectInBody(const ast::CallExpr *e, StringRef name,
                           const Twine &note) {
  if (!body)
    return false;
  if (!mentionsFailed(e)) {
    auto d = report(Diag::TensorOpInBody, e->range);
    d << "`" + name + "`";
    if (!note.isTriviallyEmpty())
      d.note(note);
  }
  return true;
}

/// Whether `e` uses the loop variable of a fold.
bool Checker::mentionsCounter(const ast::Expr *e) {
  if (!frame->state || !frame->state->fold)
    return false;
  return anyName(e, [&](const ast::NameExpr *name) {
    Val *val = frame->find(name->name);
    return val && val->foldVar;
  });
}

/// The indices of the definition that `e` uses, in the order of binding.
void Checker::collectIndices(const ast::Expr *e,
                             llvm::SmallVectorImpl<IndexVar *> &out) {
  if (!definition)
    return; // a whole tensor's expression sees no index
  llvm::SmallPtrSet<IndexVar *, 8> seen;
  anyName(e, [&](const ast::NameExpr *name) {
    Val *val = frame->find(name->name);
    if (val && val->kind == Val::Index && val->indexVar)
      seen.insert(val->indexVar);
    return false;
  });
  for (IndexVar *var : definition->order)
    if (seen.count(var))
      out.push_back(var);
}

//===----------------------------------------------------------------------===//
// Collecting reads
//===----------------------------------------------------------------------===//

bool Checker::bindIndices(Definition &def, ArrayRef<ast::Binder> binders,
                          llvm::SmallVectorImpl<IndexVar *> &out) {
  bool good = true;
  for (const ast::Binder &binder : binders) {
    StringRef name = binder.name.name;
    if (name.empty()) {
      def.failed = true;
      continue;
    }
    // Sizes and values keep their names; functions and modules don't matter.
    Val seen = lookup(name, binder.name.range, false);
    bool clash = frame->find(name) || seen.kind == Val::Dim ||
                 seen.kind == Val::Number || seen.kind == Val::Variable;
    if (clash && !seen.isError()) {
      auto d = report(seen.kind == Val::Index ? Diag::IndexTwice
                                              : Diag::IndexShadows,
                      binder.name.range);
      d << name;
      d.label(seen.origin, "declared here");
      good = false;
    }
    def.vars.emplace_back();
    IndexVar *var = &def.vars.back();
    var->name = name;
    var->range = binder.name.range;
    def.order.push_back(var);
    if (binder.bound) {
      typed::Body *outer = body;
      body = nullptr;
      std::optional<int64_t> size = evalSize(binder.bound);
      body = outer;
      if (!size) {
        good = false;
      } else if (*size < 0) {
        report(Diag::NegativeSize, binder.bound->range) << Twine(*size);
        good = false;
      } else {
        var->extent = *size;
        var->isExplicit = true;
        var->boundedBy = binder.bound->range;
        var->boundedByText = "its range is " + std::to_string(*size);
      }
    }
    Val val;
    val.kind = Val::Index;
    val.indexVar = var;
    val.origin = binder.name.range;
    frame->bind(name, val);
    out.push_back(var);
    def.visible.push_back(var);
  }
  def.failed |= !good;
  return good;
}

void Checker::bindVisible(ArrayRef<IndexVar *> vars) {
  for (IndexVar *var : vars) {
    Val val;
    val.kind = Val::Index;
    val.indexVar = var;
    val.origin = var->range;
    frame->bind(var->name, val);
  }
}

void Checker::collectRead(Definition &def, const ast::IndexExpr *e) {
  // padded(x, v)[…] and clamped(x)[…]
  const ast::Expr *base = e->base;
  bool guarded = false;
  if (auto *call = dyn_cast<ast::CallExpr>(base)) {
    auto *name = dyn_cast<ast::NameExpr>(call->callee);
    Val callee = name ? lookup(name->name, name->range, false) : Val();
    if (callee.builtin == Builtin::Padded ||
        callee.builtin == Builtin::Clamped) {
      guarded = true;
      bool padded = callee.builtin == Builtin::Padded;
      llvm::SmallVector<const ast::Expr *, 2> args;
      bool good = padded ? takeArgs(call, "padded", {"x", "value"}, 2, args)
                         : takeArgs(call, "clamped", {"x"}, 1, args);
      if (!good) {
        def.failed = true;
        return;
      }
      base = args[0];
    }
  }
  if (mentionsIndex(base)) {
    report(Diag::IndexedBase, base->range);
    def.failed = true;
    return;
  }
  auto it = def.hoisted.find(base);
  Val val = it != def.hoisted.end() ? it->second : elab(base);
  if (val.kind == Val::InstanceArray)
    return; // `blocks[0]` inside a call is no read
  Value tensor = materialise(val, base->range);
  if (!tensor) {
    def.failed = true;
    return;
  }
  Val kept = Val::makeTensor(tensor);
  kept.origin = val.origin;
  def.hoisted[base] = kept;
  const Type &type = tensor.type();
  if (type.rank() != e->items.size()) {
    report(Diag::WrongIndexCount, e->range).label(val.origin, "declared here")
        << Twine(e->items.size()) << toString(type);
    def.failed = true;
    return;
  }
  for (unsigned axis = 0; axis < e->items.size(); ++axis) {
    const ast::IndexItem &item = e->items[axis];
    if (item.isSlice) {
      report(Diag::SliceInBody, item.range);
      def.failed = true;
      return;
    }
    Linear linear;
    IndexForm form = classify(item.value, linear);
    if (form == IndexForm::Value)
      collect(def, item.value);
    else
      def.reads.push_back({e, axis, type.axes[axis].size, base->range,
                           sources.getText(base->range), guarded, form, linear,
                           def.visible});
  }
}

/// The statements of an `if` that was chosen: names for values of the body.
void Checker::collectBlock(Definition &def, const ast::Block *block) {
  frame->push();
  for (const ast::Stmt *stmt : block->stmts) {
    auto *let = dyn_cast<ast::LetStmt>(stmt);
    if (let && !let->isTuple) {
      collect(def, let->value);
      // While reads are collected the name only has to count as one that
      // depends on the indices.
      Val val = Val::makeTensor({}, /*inBody=*/true);
      val.origin = let->names.front().range;
      frame->bind(let->names.front().name, val);
    } else if (auto *dim = dyn_cast<ast::DimStmt>(stmt)) {
      if (mentionsIndex(dim->value)) {
        report(Diag::NotASize, dim->value->range)
            .note("this depends on an index; `let` gives it a name");
        def.failed = true;
        bindName(dim->name, Val());
      } else {
        runStmt(stmt);
      }
    } else if (auto *check = dyn_cast<ast::AssertStmt>(stmt)) {
      if (mentionsIndex(check->cond)) {
        reportCheckInBody(check->cond->range);
        def.failed = true;
      }
    } else if (!isa<ast::ErrorStmt>(stmt)) {
      report(Diag::TensorOpInBody, stmt->range)
          << (isa<ast::IndexDefStmt>(stmt) ? "another index definition"
                                           : "this statement");
      // What it would declare isn't there for the rest.
      def.failed = true;
      frame->pop();
      return;
    }
  }
  collect(def, block->value);
  frame->pop();
}

/// Collects the reads of `e`, and builds outside what needs no index.
void Checker::collect(Definition &def, const ast::Expr *e) {
  while (true) {
    if (def.hoisted.count(e))
      return;
    switch (e->kind) {
    case ast::ExprKind::Unary:
      e = cast<ast::UnaryExpr>(e)->operand;
      continue;
    case ast::ExprKind::Binary: {
      llvm::SmallVector<const ast::Expr *, 8> parts;
      while (auto *binary = dyn_cast<ast::BinaryExpr>(e)) {
        parts.push_back(binary->rhs);
        e = binary->lhs;
      }
      collect(def, e);
      for (const ast::Expr *part : llvm::reverse(parts))
        collect(def, part);
      return;
    }
    case ast::ExprKind::Select: {
      auto *select = cast<ast::SelectExpr>(e);
      collect(def, select->cond);
      collect(def, select->thenValue);
      e = select->elseValue;
      continue;
    }
    case ast::ExprKind::IfBlock: {
      auto *branch = cast<ast::IfBlockExpr>(e);
      if (mentionsIndex(branch->cond)) {
        report(Diag::ConditionNotConstant, branch->cond->range)
            .note("for a choice by element write `if c then a else b`");
        def.failed = true;
        return;
      }
      std::optional<bool> cond = elabCondition(branch->cond);
      const ast::Block *block = !cond   ? nullptr
                                : *cond ? branch->thenBlock
                                        : branch->elseBlock;
      if (!block || !block->value) {
        if (cond)
          report(Diag::NotAValue, e->range) << "something without a value";
        def.failed = true;
        return;
      }
      return collectBlock(def, block);
    }
    case ast::ExprKind::List: {
      if (mentionsIndex(e)) {
        report(Diag::ListOutOfPlace, e->range)
            << "its elements must be known at compile time";
        def.failed = true;
        return;
      }
      Value tensor = elabValue(e);
      def.failed |= !tensor;
      if (tensor)
        def.hoisted[e] = Val::makeTensor(tensor);
      return;
    }
    case ast::ExprKind::Index:
      return collectRead(def, cast<ast::IndexExpr>(e));
    case ast::ExprKind::Reduce: {
      auto *reduce = cast<ast::ReduceExpr>(e);
      frame->push();
      size_t visible = def.visible.size();
      llvm::SmallVector<IndexVar *, 4> vars;
      bindIndices(def, reduce->binders, vars);
      collect(def, reduce->body);
      def.binders[reduce] = vars;
      def.visible.resize(visible);
      frame->pop();
      return;
    }
    case ast::ExprKind::Call: {
      auto *call = cast<ast::CallExpr>(e);
      if (!mentionsIndex(e) && !isFlexible(e)) {
        Val val = elab(e);
        def.failed |= val.isError();
        def.hoisted[e] = val;
        return;
      }
      Val callee = resolve(call->callee);
      if (callee.kind == Val::BuiltinName &&
          callee.builtin >= Builtin::RandomUniform) {
        report(Diag::EffectOutOfPlace, e->range)
            << "a random number" << "an index definition";
        def.failed = true;
        return;
      }
      for (const ast::Arg &arg : call->args)
        if (!arg.isPack)
          collect(def, arg.value);
      return;
    }
    case ast::ExprKind::Member:
    case ast::ExprKind::Name: {
      Val val = resolve(e);
      if (val.kind == Val::Variable) {
        // Read it outside, in the order of the source.
        def.hoisted[e] = load(val, e->range);
      }
      def.failed |= val.isError();
      return;
    }
    case ast::ExprKind::Tuple:
      for (const ast::Expr *elem : cast<ast::TupleExpr>(e)->elems)
        collect(def, elem);
      return;
    default:
      return;
    }
  }
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

void Checker::solveRanges(Definition &def) {
  struct Equation {
    Linear linear;
    const ReadSite *site;
  };
  std::vector<Equation> windows;
  auto describe = [&](const ReadSite &site, int64_t extent) {
    return "axis " + std::to_string(site.axis) + " of `" +
           site.baseName.take_front(40).str() + "` gives " +
           std::to_string(extent);
  };
  auto bound = [&](IndexVar *var, int64_t extent, const ReadSite &site) {
    Range range = site.expr->items[site.axis].range;
    if (var->extent < 0) {
      var->extent = extent;
      var->boundedBy = range;
      var->boundedByText = describe(site, extent);
      return;
    }
    if (var->isExplicit || var->extent == extent || def.failed)
      return;
    report(Diag::RangesDisagree, range)
            .here(describe(site, extent))
            .label(var->boundedBy, var->boundedByText)
            .fix({var->range.end, var->range.end},
                 " < " + Twine(std::min(extent, var->extent)),
                 "say the range where the index is bound")
        << var->name << Twine(var->extent) << Twine(extent);
    def.failed = true;
  };
  // What an index reads alone first.
  for (const ReadSite &site : def.reads) {
    const Linear &linear = site.linear;
    if (site.form != IndexForm::Linear || site.guarded)
      continue;
    if (linear.terms.size() == 1 && linear.terms[0].second == 1 &&
        linear.constant == 0)
      bound(linear.terms[0].first, site.size, site);
    else
      windows.push_back({linear, &site});
  }
  // Then windows whose other indices are known, until nothing changes.
  bool changed = true;
  while (changed && !def.failed) {
    changed = false;
    for (Equation &equation : windows) {
      IndexVar *unknown = nullptr;
      int64_t coefficient = 0, low = equation.linear.constant, high = low;
      bool good = true;
      for (auto [var, c] : equation.linear.terms) {
        if (var->extent < 0) {
          good &= unknown == nullptr;
          unknown = var;
          coefficient = c;
          continue;
        }
        int64_t reach =
            multiplySaturating(c, std::max<int64_t>(var->extent - 1, 0));
        int64_t &end = reach < 0 ? low : high;
        good &= !llvm::AddOverflow(end, reach, end);
      }
      good &= isWithinLimit(low) && isWithinLimit(high);
      if (!good || !unknown)
        continue;
      // c * i + rest stays in [0, size): the largest i of the one side; the
      // other side is checked with all reads.
      int64_t room = coefficient > 0 ? equation.site->size - 1 - high : low;
      int64_t extent = room < 0 ? 0 : room / std::abs(coefficient) + 1;
      bound(unknown, extent, *equation.site);
      changed = true;
    }
  }
  // An index alone in a padded or clamped read runs over the axis when nothing
  // else bounds it.
  for (const ReadSite &site : def.reads)
    if (site.guarded && site.form == IndexForm::Linear &&
        site.linear.terms.size() == 1 && site.linear.terms[0].second == 1 &&
        site.linear.constant == 0 && site.linear.terms[0].first->extent < 0)
      bound(site.linear.terms[0].first, site.size, site);
  for (IndexVar *var : def.order) {
    if (var->extent >= 0 || def.failed)
      continue;
    report(Diag::RangeUnknown, var->range)
            .note("say the range where the index is bound: `" + var->name +
                  " < 10`, or the name of a size")
        << var->name;
    def.failed = true;
  }
}

void Checker::checkReads(Definition &def) {
  bool empty = llvm::any_of(
      def.order, [](const IndexVar *var) { return var->extent == 0; });
  for (FoldState *fold = frame->state ? frame->state->fold : nullptr; fold;
       fold = fold->outer)
    empty |= fold->counter.extent == 0;
  if (empty)
    return;
  for (const ReadSite &site : def.reads) {
    const ast::IndexItem &item = site.expr->items[site.axis];
    int64_t low = 0, high = 0;
    frame->push();
    bindVisible(site.visible);
    bool known = interval(item.value, low, high);
    frame->pop();
    if (known && (site.guarded || (low >= 0 && high < site.size)))
      continue;
    if (!known && site.form != IndexForm::Value) {
      report(Diag::SizeOverflow, item.range);
      def.failed = true;
      return;
    }
    auto d = report(Diag::ReadOutside, item.range);
    d << Twine(site.axis) << site.baseName.take_front(40) << Twine(site.size);
    if (known)
      d.here("runs from " + Twine(low) + " to " + Twine(high));
    // The largest range for which the read stays inside.
    for (auto [var, c] : site.linear.terms)
      if (known && c > 0 && low >= 0 && site.form == IndexForm::Linear) {
        int64_t over = high - (site.size - 1);
        int64_t extent = var->extent - (over + c - 1) / c;
        if (extent > 0)
          d.note("it stays inside with `" + var->name + " < " + Twine(extent) +
                 "`");
        break;
      }
    d.note("`padded(" + site.baseName.take_front(40) +
           ", 0)[…]` reads 0 outside, `clamped(" +
           site.baseName.take_front(40) + ")[…]` the edge");
    def.failed = true;
    return;
  }
}
