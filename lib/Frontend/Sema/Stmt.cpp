//===- Stmt.cpp - Statements -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Checker.h"

using namespace tdsl;
using namespace tdsl::sema;
using llvm::cast;
using llvm::dyn_cast;
using llvm::isa;
using llvm::StringRef;
using llvm::Twine;

Val Checker::runBlock(const ast::Block *block, Expect expect) {
  frame->push();
  for (const ast::Stmt *stmt : block->stmts) {
    if (aborted)
      break;
    runStmt(stmt);
  }
  Val result;
  if (block->value && !aborted) {
    result = elab(block->value, expect);
  } else {
    result.kind = aborted ? Val::Error : Val::Unit;
  }
  frame->pop();
  return result;
}

bool Checker::checkNewName(const ast::Ident &name) {
  if (Val *other = frame->findInnermost(name.name)) {
    if (other->isError())
      return true;
    report(Diag::Redefined, name.range)
            .label(other->origin, "first declared here")
        << name.name;
    return false;
  }
  return true;
}

void Checker::bindName(const ast::Ident &name, Val val) {
  if (!name.isValid() || name.name == "_")
    return;
  checkNewName(name);
  val.origin = name.range;
  if (val.kind == Val::Tensor && val.value && val.value.node->name.empty())
    val.value.node->name = name.name;
  frame->bind(name.name, val);
}

void Checker::runLet(const ast::LetStmt *stmt) {
  // A name keeps its place also when its value is wrong, so that its uses
  // give no messages of their own.
  Val val = elab(stmt->value);
  if (!stmt->isTuple) {
    switch (val.kind) {
    case Val::Error:
    case Val::Tensor:
    case Val::Tuple:
    case Val::Record:
    case Val::Instance:
    case Val::Index:
      break;
    case Val::Dim:
      // A literal is free here: i32. A size stays one.
      if (val.literal) {
        Value value = materialise(val, stmt->value->range);
        val = value ? Val::makeTensor(value, body != nullptr) : Val();
      }
      break;
    case Val::Truth:
      break;
    default: {
      Value value = materialise(val, stmt->value->range);
      val = value ? Val::makeTensor(value, body != nullptr) : Val();
    }
    }
    bindName(stmt->names.front(), val);
    return;
  }
  if (!val.isError() &&
      (val.kind != Val::Tuple || val.elems.size() != stmt->names.size())) {
    report(Diag::TupleCount, stmt->value->range)
        << Twine(stmt->names.size())
        << (val.kind == Val::Tuple ? Twine(val.elems.size()) + " values"
                                   : Twine("one value"));
    val = Val();
  }
  for (size_t i = 0; i < stmt->names.size(); ++i)
    bindName(stmt->names[i], val.isError() ? Val() : val.elems[i]);
}

/// `x = e` gives a name from outside the loop a new value.
void Checker::runAssign(const ast::AssignStmt *stmt) {
  Val *old = frame->find(stmt->name.name);
  Val val = elab(stmt->value, old && old->kind == Val::Tensor
                                  ? Expect(old->value.type().elem)
                                  : Expect());
  if (!old) {
    Val outside = lookup(stmt->name.name, stmt->name.range);
    if (outside.isError()) {
      bindName(stmt->name, Val());
      return;
    }
    auto d = report(Diag::NotAssignable, stmt->name.range);
    d << stmt->name.name;
    d.label(outside.origin, "declared here");
    if (outside.kind == Val::Variable)
      d.fix({stmt->name.range.end, stmt->value->range.begin}, " <- ",
            "in a step a param or state is written with `<-`");
    return;
  }
  if (frame->top.lookup(stmt->name.name) < frame->firstAssignable) {
    report(Diag::AssignInFold, stmt->range)
            .label(old->origin, "declared here")
            .note("the last expression of the body gives the next value of "
                  "what the `fold` carries")
        << stmt->name.name;
    return;
  }
  if (frame->loopDepth == 0) {
    report(Diag::AssignOutsideLoop, stmt->range)
            .label(old->origin, "first declared here")
            .note("values don't change; give the new one a name of its own "
                  "with `let`")
        << stmt->name.name;
    return;
  }
  if (old->isError() || val.isError()) {
    *old = Val();
    return;
  }
  Range origin = old->origin;
  if (old->kind == Val::Record && val.kind == Val::Record) {
    val.origin = origin;
    *old = val;
    return;
  }
  Value before = materialise(*old, stmt->name.range);
  Value after = materialise(val, stmt->value->range,
                            before ? std::optional<Elem>(before.type().elem)
                                   : std::nullopt);
  if (!before || !after) {
    *frame->find(stmt->name.name) = Val();
    return;
  }
  if (!isSame(before.type(), after.type())) {
    report(Diag::AssignType, stmt->value->range)
            .label(origin, "declared here as " + toString(before.type()))
        << stmt->name.name << toString(before.type()) << toString(after.type());
    return;
  }
  Val next = Val::makeTensor(after, body != nullptr);
  next.origin = origin;
  *frame->find(stmt->name.name) = next;
}

void Checker::runFor(const ast::ForStmt *stmt) {
  ++frame->loopDepth;
  auto iterate = [&](Val val) {
    if (overLimit())
      return;
    val.origin = stmt->name.range;
    frame->push();
    frame->bind(stmt->name.name, val);
    Val result = runBlock(stmt->body, {});
    if (result.kind != Val::Unit && !result.isError())
      report(Diag::LoopValue, stmt->body->value->range);
    frame->pop();
  };
  if (stmt->high) {
    std::optional<int64_t> low = evalSize(stmt->low);
    std::optional<int64_t> high = evalSize(stmt->high);
    if (low && high)
      for (int64_t i = *low; i < *high && !aborted; ++i)
        iterate(Val::makeDim(i));
  } else {
    Val array = resolve(stmt->low);
    if (array.kind == Val::InstanceArray) {
      for (int64_t i = 0; i < array.number && !aborted; ++i) {
        Val element = array;
        element.kind = Val::Instance;
        element.instance.path = intern(array.instance.path + "." + Twine(i));
        iterate(element);
      }
    } else if (!array.isError()) {
      auto d = report(Diag::NotALoopRange, stmt->low->range);
      if (array.kind == Val::Dim)
        d.fix({stmt->low->range.begin, stmt->low->range.begin}, "0..",
              "give the range");
    }
  }
  --frame->loopDepth;
}

/// Variables can be written in a step, and a module's own state under
/// training.
void Checker::runWrite(const ast::WriteStmt *stmt) {
  Val target = resolve(stmt->target);
  if (target.isError()) {
    elab(stmt->value);
    return;
  }
  if (target.kind != Val::Variable) {
    report(Diag::NotAVariable, stmt->target->range)
        .label(target.origin, "declared here")
        .note("`<-` writes a param or a state; a value gets a name with "
              "`let`");
    return;
  }
  Val val = elab(stmt->value, Expect(target.type.elem));
  if (val.isError())
    return;
  if (frame->noEffects) {
    report(Diag::EffectOutOfPlace, stmt->range)
        << "a write" << frame->noEffects;
    return;
  }
  if (frame->mode != Mode::Train) {
    report(Diag::EffectOutsideStep, stmt->range)
            .note("where a function runs in both, put it under `if training`")
        << "a write";
    return;
  }
  if (target.path.starts_with("tds.") && !target.self) {
    report(Diag::WritesCounter, stmt->target->range) << target.path;
    return;
  }
  // Outside of a step's own body only a module's own state is written.
  bool inStep = frame->fn && frame->fn->fnKind == ast::FnKind::Step;
  bool inOptimizer = frame->inOptimizer;
  auto *decl = llvm::dyn_cast_or_null<ast::VarDecl>(target.decl);
  if (!inStep && !inOptimizer && (!target.self || (decl && decl->isParam))) {
    report(Diag::WriteNotOwn, stmt->target->range)
        << sources.getText(stmt->target->range);
    return;
  }
  Value value = materialise(val, stmt->value->range, target.type.elem);
  if (!value)
    return;
  if (value.type().elem != target.type.elem) {
    auto d = report(Diag::WriteType, stmt->value->range);
    d << sources.getText(stmt->target->range) << toString(target.type)
      << toString(value.type());
    d.label(target.origin, "declared here");
    StringRef text = sources.getText(stmt->value->range);
    if (text.size() < 60)
      d.fix(stmt->value->range,
            typed::getName(target.type.elem) + "(" + text + ")", "convert it");
    return;
  }
  if (value.type().isScalar())
    value = makeBroadcast(value, target.type.axes, stmt->range);
  if (!sameShape(value.type().axes, target.type.axes)) {
    report(Diag::WriteType, stmt->value->range)
            .label(target.origin, "declared here")
        << sources.getText(stmt->target->range) << toString(target.type)
        << toString(value.type());
    return;
  }
  writeVar(target, asWritten(value, stmt->range), stmt->range);
}

/// What is known at compile time is decided now. Anything else becomes a check
/// of the function, which its callers hand on to the entry.
void Checker::runAssert(const ast::AssertStmt *stmt) {
  Val val = elab(stmt->cond);
  if (val.isError())
    return;
  Range range = stmt->cond->range;
  StringRef text = stmt->text.empty() ? sources.getText(range) : stmt->text;
  if (val.kind == Val::Truth) {
    if (!val.number)
      report(Diag::AssertFailed, range) << text;
    return;
  }
  Value cond = materialise(val, range);
  if (!cond)
    return;
  if (cond.type().elem != Elem::Bool) {
    auto d = report(Diag::ConditionNotBool, range);
    d << toString(cond.type());
    StringRef source = sources.getText(range);
    if (source.size() < 60)
      d.fix(range, "(" + source + ") != 0", "compare with 0");
    return;
  }
  if (!canCheck(range))
    return;
  if (!cond.type().isScalar()) {
    llvm::SmallVector<int64_t, 4> axes;
    for (unsigned i = 0; i < cond.type().rank(); ++i)
      axes.push_back(i);
    cond = reduce(Builtin::All, cond, axes, range);
  }
  frame->state->out->checks.push_back({cond, text.str(), range});
}

void Checker::reportCheckInBody(Range range) {
  report(Diag::EffectOutOfPlace, range)
          .note("check the whole tensor before it: `assert all(x > 0)`")
      << "an `assert` that isn't known at compile time"
      << "an index definition";
}

/// Whether an `assert` at run time may stand here.
bool Checker::canCheck(Range range) {
  StringRef where;
  if (body) {
    reportCheckInBody(range);
    return false;
  }
  if (frame->fn && frame->fn->vjp)
    where = "a function with a vjp";
  else if (frame->noEffects && frame->noEffects != selectArm)
    where = frame->noEffects;
  if (where.empty())
    return true;
  report(Diag::EffectOutOfPlace, range)
      << "an `assert` that isn't known at compile time" << where;
  return false;
}

void Checker::runStmt(const ast::Stmt *stmt) {
  switch (stmt->kind) {
  case ast::StmtKind::Error:
    return;
  case ast::StmtKind::Let:
    return runLet(cast<ast::LetStmt>(stmt));
  case ast::StmtKind::IndexDef: {
    auto *def = cast<ast::IndexDefStmt>(stmt);
    if (collectsIterations(def))
      return runCollect(def);
    Val val = defineByIndex(def->binders, def->value, def->range);
    bindName(def->name, val);
    return;
  }
  case ast::StmtKind::Assign:
    return runAssign(cast<ast::AssignStmt>(stmt));
  case ast::StmtKind::Dim: {
    auto *dim = cast<ast::DimStmt>(stmt);
    std::optional<int64_t> size = evalSize(dim->value);
    Val val;
    if (size) {
      val = Val::makeDim(*size);
      if (*size < 0) {
        report(Diag::NegativeSize, dim->value->range) << Twine(*size);
        val = Val();
      }
    }
    bindName(dim->name, val);
    return;
  }
  case ast::StmtKind::For:
    return runFor(cast<ast::ForStmt>(stmt));
  case ast::StmtKind::Fold:
    return runFold(cast<ast::FoldStmt>(stmt));
  case ast::StmtKind::Assert:
    return runAssert(cast<ast::AssertStmt>(stmt));
  case ast::StmtKind::Write:
    return runWrite(cast<ast::WriteStmt>(stmt));
  case ast::StmtKind::Minimize:
    return runMinimize(cast<ast::MinimizeStmt>(stmt));
  case ast::StmtKind::Apply:
    return runApply(cast<ast::ApplyStmt>(stmt));
  case ast::StmtKind::Expr: {
    // An `if` for its writes.
    Val val = elab(cast<ast::ExprStmt>(stmt)->value);
    if (val.kind != Val::Unit && !val.isError())
      report(Diag::UnusedExpression, stmt->range)
          .note("only the last expression of a body gives its value");
    return;
  }
  }
}
