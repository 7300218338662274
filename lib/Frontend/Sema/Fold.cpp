//===- Fold.cpp - Loops at run time -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The body of a `fold` is run once by the checker, with nodes that stand for
// the iteration and the carried values. Its nodes go to a list of their own;
// what they use from outside becomes an operand of the fold.
//
//===----------------------------------------------------------------------===//

#include "Checker.h"
#include "llvm/ADT/DenseSet.h"

using namespace tdsl;
using namespace tdsl::sema;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

/// Loops in loops; the artefact has room for no more.
static constexpr unsigned maxFoldDepth = 8;

/// The tensors that a value is made of, in order.
bool Checker::flatten(const Val &val, Range range,
                      llvm::SmallVectorImpl<Value> &values) {
  if (val.kind == Val::Tuple || val.kind == Val::Record) {
    for (const Val &elem : val.elems)
      if (!flatten(elem, range, values))
        return false;
    return true;
  }
  Value value = materialise(val, range);
  if (!value)
    return false;
  values.push_back(value);
  return true;
}

/// A value of the structure of `like`, of the first of `values`, which it
/// drops.
Val Checker::rebuild(const Val &like, ArrayRef<Value> &values) {
  if (like.kind == Val::Tuple || like.kind == Val::Record) {
    Val out = like;
    llvm::SmallVector<Val, 4> elems;
    for (const Val &elem : like.elems)
      elems.push_back(rebuild(elem, values));
    out.elems = copy(ArrayRef<Val>(elems));
    return out;
  }
  Val out = Val::makeTensor(values.front());
  values = values.drop_front();
  return out;
}

/// `let y[t] = e` and `let y[t, i, …] = e` in the body of the fold over t.
bool Checker::collectsIterations(const ast::IndexDefStmt *def) {
  FoldState *fold = frame->state ? frame->state->fold : nullptr;
  if (!fold || !fold->stmt || def->binders.empty() ||
      def->binders.front().bound ||
      !llvm::is_contained(fold->stmt->body->stmts, def))
    return false;
  Val *val = frame->find(def->binders.front().name.name);
  return val && val->foldVar == &fold->counter;
}

void Checker::runCollect(const ast::IndexDefStmt *def) {
  FoldState *fold = frame->state->fold;
  Value value;
  if (def->binders.size() == 1) {
    value = elabValue(def->value);
  } else {
    Val rows = defineByIndex(def->binders.drop_front(), def->value, def->range);
    if (!rows.isError())
      value = materialise(rows, def->range);
  }
  for (auto &[name, other] : fold->collected)
    if (name.name == def->name.name) {
      report(Diag::Redefined, def->name.range)
              .label(name.range, "first declared here")
          << name.name;
      return;
    }
  if (fold->low != 0)
    report(Diag::CollectFromZero, def->range)
            .label(fold->stmt->low->range, "the first iteration")
            .note("run from 0, or carry a tensor")
        << def->name.name << Twine(fold->low);
  fold->collected.push_back({def->name, value});
}

/// What the body uses from outside of it.
void Checker::findCaptures(typed::FoldBody &body) {
  llvm::DenseSet<const Node *> inside(body.arguments.begin(),
                                      body.arguments.end());
  llvm::DenseSet<std::pair<const Node *, unsigned>> seen;
  auto use = [&](Value value) {
    if (value.node->op == Op::LoopIndex || inside.count(value.node) ||
        !seen.insert({value.node, value.result}).second)
      return;
    body.captures.push_back(value);
  };
  for (const Node *node : body.nodes) {
    if (node->body) {
      for (const Node *inner : node->body->nodes)
        inside.insert(inner);
      for (const Node *inner : node->body->nodes)
        for (Value operand : inner->operands)
          use(operand);
    }
    for (Value operand : node->operands)
      use(operand);
    inside.insert(node);
  }
  for (Value result : body.results)
    use(result);
}

void Checker::runFold(const ast::FoldStmt *stmt) {
  auto fail = [&] {
    for (const ast::Ident &name : stmt->names)
      bindName(name, Val());
    for (const ast::Stmt *inner : stmt->body->stmts)
      if (auto *def = llvm::dyn_cast<ast::IndexDefStmt>(inner))
        if (!def->binders.empty() &&
            def->binders.front().name.name == stmt->index.name)
          bindName(def->name, Val());
  };
  if (body) {
    report(Diag::TensorOpInBody, stmt->range) << "`fold`";
    return fail();
  }
  Val init = elab(stmt->init);
  std::optional<int64_t> low = evalSize(stmt->low);
  std::optional<int64_t> high = evalSize(stmt->high);
  if (init.isError() || !low || !high || !frame->state)
    return fail();
  if (stmt->names.size() > 1 &&
      (init.kind != Val::Tuple || init.elems.size() != stmt->names.size())) {
    report(Diag::TupleCount, stmt->init->range)
        << Twine(stmt->names.size())
        << (init.kind == Val::Tuple ? Twine(init.elems.size()) + " values"
                                    : Twine("one value"));
    return fail();
  }
  llvm::SmallVector<Value, 4> inits;
  if (!flatten(init, stmt->init->range, inits))
    return fail();
  if (frame->state->fold && frame->state->fold->depth >= maxFoldDepth) {
    report(Diag::TooDeep, stmt->range) << Twine(maxFoldDepth);
    return fail();
  }
  int64_t trips = 0;
  if (*high > *low && llvm::SubOverflow(*high, *low, trips))
    trips = INT64_MAX;
  if (trips > INT32_MAX) {
    report(Diag::FoldRange, stmt->high->range) << Twine(trips);
    return fail();
  }

  program.folds.emplace_back();
  FoldState fold;
  fold.out = &program.folds.back();
  fold.stmt = stmt;
  fold.low = *low;
  fold.outer = frame->state->fold;
  fold.depth = fold.outer ? fold.outer->depth + 1 : 1;
  fold.counter.name = stmt->index.name;
  fold.counter.range = stmt->index.range;
  fold.counter.extent = trips;
  fold.counter.isExplicit = true;
  fold.out->trips = trips;
  frame->state->fold = &fold;

  auto makeArgument = [&](Type type, Range range, StringRef name) {
    Node *node = makeNode(Op::FoldArgument, type, {}, range);
    node->number = fold.out->arguments.size();
    node->fold = fold.out;
    node->name = name;
    fold.out->arguments.push_back(node);
    return Value{node, 0};
  };
  Value counter =
      makeArgument(Type{Elem::I32, {}}, stmt->index.range, stmt->index.name);
  llvm::SmallVector<Value, 4> carried;
  for (Value value : inits)
    carried.push_back(makeArgument(
        value.type(), stmt->names.front().range,
        stmt->names.size() == 1 ? stmt->names.front().name : StringRef()));
  frame->push();
  ArrayRef<Value> rest = carried;
  Val carriedVal = rebuild(init, rest);
  for (size_t i = 0; i < stmt->names.size(); ++i) {
    Val val = stmt->names.size() == 1 ? carriedVal : carriedVal.elems[i];
    val.origin = stmt->names[i].range;
    if (stmt->names[i].name != "_")
      frame->bind(stmt->names[i].name, val);
  }
  Value place = counter;
  if (*low != 0)
    place = make(Op::Add, counter.type(),
                 {counter, makeInt(Elem::I32, *low, {}, stmt->index.range)},
                 stmt->index.range);
  Val index = Val::makeTensor(place);
  index.foldVar = &fold.counter;
  index.number = *low;
  index.origin = stmt->index.range;
  frame->bind(stmt->index.name, index);

  const char *outerEffects = frame->noEffects;
  unsigned outerDepth = frame->loopDepth;
  int outerAssignable = frame->firstAssignable;
  frame->noEffects = foldEffects;
  frame->loopDepth = 0;
  frame->firstAssignable = frame->bindings.size();
  llvm::SmallVector<std::optional<Elem>, 4> elems;
  for (Value value : inits)
    elems.push_back(value.type().elem);
  Expect expect;
  if (init.kind == Val::Tensor || (inits.size() == 1 && elems[0]))
    expect = Expect(*elems[0]);
  else if (init.kind == Val::Tuple && init.elems.size() == elems.size())
    expect.tuple = elems;
  Val next = runBlock(stmt->body, expect);
  frame->noEffects = outerEffects;
  frame->loopDepth = outerDepth;
  frame->firstAssignable = outerAssignable;

  // The next values have the types of the initial ones.
  bool good = !next.isError();
  if (next.kind == Val::Unit) {
    report(Diag::FoldNoValue, stmt->body->range) << stmt->names.front().name;
    good = false;
  }
  Range valueRange = stmt->body->value ? stmt->body->value->range : stmt->range;
  llvm::SmallVector<Value, 4> results;
  if (good && inits.size() == 1 && next.kind != Val::Tuple &&
      next.kind != Val::Record) {
    Value value = materialise(next, valueRange, elems[0]);
    good = bool(value);
    if (good)
      results.push_back(value);
  } else if (good) {
    good = flatten(next, valueRange, results);
  }
  if (good && results.size() != inits.size()) {
    report(Diag::TupleCount, valueRange)
        << Twine(inits.size())
        << (results.size() == 1 ? Twine("one value")
                                : Twine(results.size()) + " values");
    good = false;
  }
  for (size_t i = 0; good && i < inits.size(); ++i) {
    if (isSame(inits[i].type(), results[i].type()))
      continue;
    size_t name = std::min(i, stmt->names.size() - 1);
    report(Diag::AssignType, valueRange)
            .label(stmt->init->range, "begins as " + toString(inits[i].type()))
        << stmt->names[name].name << toString(inits[i].type())
        << toString(results[i].type());
    good = false;
  }
  for (auto &[name, value] : fold.collected)
    good &= bool(value);
  frame->pop();
  frame->state->fold = fold.outer;
  if (!good || aborted)
    return fail();

  llvm::SmallVector<Type, 4> types;
  for (Value value : inits)
    types.push_back(value.type());
  for (auto &[name, value] : fold.collected) {
    results.push_back(value);
    llvm::SmallVector<Axis, 4> axes{Axis{trips, false}};
    axes.append(value.type().axes.begin(), value.type().axes.end());
    types.push_back(Type{value.type().elem, copy(ArrayRef<Axis>(axes))});
    if (!checkType(types.back(), name.range))
      return fail();
  }
  fold.out->results.assign(results.begin(), results.end());
  findCaptures(*fold.out);
  llvm::SmallVector<Value, 8> operands(inits.begin(), inits.end());
  operands.append(fold.out->captures.begin(), fold.out->captures.end());
  Node *node = makeNode(Op::Fold, Type(), operands, stmt->range);
  node->fold = fold.out;
  node->types = copy(ArrayRef<Type>(types));
  llvm::SmallVector<Value, 4> out;
  for (unsigned i = 0; i < types.size(); ++i)
    out.push_back({node, i});
  rest = out;
  Val final = rebuild(init, rest);
  for (size_t i = 0; i < stmt->names.size(); ++i)
    bindName(stmt->names[i], stmt->names.size() == 1 ? final : final.elems[i]);
  for (size_t i = 0; i < fold.collected.size(); ++i)
    bindName(fold.collected[i].first, Val::makeTensor(rest[i]));
}

/// `checkpoint(e)`: the nodes of `e` become the body of a fold of one iteration
/// that carries nothing and collects what `e` gives, and what it writes.
Val Checker::callCheckpoint(const ast::CallExpr *e, Expect expect) {
  llvm::SmallVector<const ast::Expr *, 1> args;
  if (!takeArgs(e, "checkpoint", {"value"}, 1, args))
    return Val();
  if (body) {
    report(Diag::TensorOpInBody, e->range) << "checkpoint";
    return Val();
  }
  // Nothing needs a derivative of its own that deep inside.
  if (!frame->state ||
      (frame->state->fold && frame->state->fold->depth >= maxFoldDepth))
    return elab(args[0], expect);
  FnState &state = *frame->state;
  program.folds.emplace_back();
  FoldState fold;
  fold.out = &program.folds.back();
  fold.outer = state.fold;
  fold.depth = fold.outer ? fold.outer->depth + 1 : 1;
  fold.counter.extent = 1;
  fold.out->trips = 1;
  fold.out->isCheckpoint = true;
  state.fold = &fold;
  Node *counter = makeNode(Op::FoldArgument, Type{Elem::I32, {}}, {}, e->range);
  counter->fold = fold.out;
  fold.out->arguments.push_back(counter);
  size_t numChecks = state.out->checks.size();
  Val result = elab(args[0], expect);
  llvm::SmallVector<Value, 4> results;
  bool good = !result.isError() && flatten(result, e->range, results);
  // What was written inside is read outside.
  llvm::SmallVector<VarState *, 4> variables;
  for (auto &entry : state.vars)
    if (entry.second.current &&
        entry.second.current.node->foldDepth == fold.depth) {
      variables.push_back(&entry.second);
      results.push_back(entry.second.current);
    }
  // What is asserted inside is tested outside.
  llvm::MutableArrayRef<typed::Check> checks(state.out->checks);
  checks = checks.drop_front(numChecks);
  for (const typed::Check &check : checks)
    results.push_back(check.value);
  state.fold = fold.outer;
  if (!good || aborted)
    return Val();
  llvm::SmallVector<Type, 4> types;
  for (Value value : results) {
    llvm::SmallVector<Axis, 4> axes{Axis{1, false}};
    axes.append(value.type().axes.begin(), value.type().axes.end());
    types.push_back(Type{value.type().elem, copy(ArrayRef<Axis>(axes))});
  }
  fold.out->results.assign(results.begin(), results.end());
  findCaptures(*fold.out);
  Node *node = makeNode(Op::Fold, Type(), fold.out->captures, e->range);
  node->fold = fold.out;
  node->types = copy(ArrayRef<Type>(types));
  llvm::SmallVector<Value, 4> out;
  for (unsigned i = 0; i < results.size(); ++i)
    out.push_back(makeReshape({node, i}, results[i].type().axes, e->range));
  ArrayRef<Value> outside(out);
  for (typed::Check &check : llvm::reverse(checks)) {
    check.value = outside.back();
    outside = outside.drop_back();
  }
  for (VarState *variable : llvm::reverse(variables)) {
    variable->current = outside.back();
    outside = outside.drop_back();
  }
  ArrayRef<Value> rest = out;
  return rebuild(result, rest);
}
