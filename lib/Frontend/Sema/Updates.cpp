//===- Updates.cpp - Gradients and optimizers -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `minimize` takes the gradients of the loss by the current values of its
// params, then carries out the optimizer's `begin` once and its `update` for
// each param. An optimizer's own states become variables
// "opt.<entry>.<update>.<state>", those like the param
// "opt.<entry>.<update>.<param>.<state>".
//
//===----------------------------------------------------------------------===//

#include "Checker.h"

using namespace tdsl;
using namespace tdsl::sema;
using llvm::ArrayRef;
using llvm::cast;
using llvm::dyn_cast;
using llvm::isa;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

bool Checker::checkLoss(Value loss, Range range) {
  const Type &type = loss.type();
  if (typed::isFloat(type.elem) && type.isScalar())
    return true;
  if (!reported.insert(loss.node).second)
    return false;
  auto d = report(Diag::LossNotScalar, range);
  d << toString(type);
  if (!type.isScalar())
    d.fix(range, "mean(" + sources.getText(range) + ")",
          "take the mean or the sum");
  else
    d.note("a gradient needs a float");
  return false;
}

/// Whether `node`, which the iteration of a fold is given, may depend on `by`.
/// What is carried may depend on all that stands outside of its fold.
static bool reachesFrom(Node *node, Node *by) {
  llvm::SmallPtrSet<Node *, 32> seen;
  llvm::SmallVector<Node *, 32> work{node};
  while (!work.empty()) {
    Node *next = work.pop_back_val();
    if (!seen.insert(next).second || next->op == Op::StopGradient)
      continue;
    if (next == by)
      return true;
    if (next->op == Op::FoldArgument && typed::isFloat(next->types[0].elem) &&
        by->foldDepth < next->foldDepth)
      return true;
    for (Value operand : next->operands)
      if (typed::isFloat(operand.type().elem))
        work.push_back(operand.node);
    if (next->body)
      for (Node *inner : next->body->nodes)
        if (inner->op == Op::Read && typed::isFloat(inner->types[0].elem))
          work.push_back(inner->operands[0].node);
  }
  return false;
}

/// Which params the loss reaches along floats. An old value of a param is an
/// error: the gradient by what the param is now would not be that of the loss.
bool Checker::checkReached(Value loss, llvm::MutableArrayRef<Val> params,
                           Range range, std::vector<bool> &reached) {
  llvm::DenseMap<Node *, size_t> current;
  llvm::DenseMap<Node *, std::pair<size_t, Range>> old;
  std::vector<Value> currentValues;
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i].kind != Val::Variable)
      continue;
    readVar(params[i], range);
    VarState &var = frame->state->vars[varKey(params[i])];
    current[var.current.node] = i;
    for (auto &[value, where] : var.old)
      old[value.node] = {i, where};
  }
  for (size_t i = 0; i < params.size(); ++i)
    if (params[i].kind == Val::Tensor)
      current[params[i].value.node] = i;
  reached.assign(params.size(), false);
  llvm::DenseMap<Node *, llvm::SmallVector<size_t, 2>> byNode;
  for (size_t i = 0; i < params.size(); ++i) {
    Node *node = params[i].kind == Val::Variable
                     ? frame->state->vars[varKey(params[i])].current.node
                     : params[i].value.node;
    byNode[node].push_back(i);
  }
  llvm::SmallPtrSet<Node *, 32> seen;
  llvm::SmallVector<Node *, 32> work{loss.node};
  // In a fold the derivative is that of one iteration: it sees what the body
  // computes, and no way from a param outside to what the body is given.
  unsigned depth =
      frame->state && frame->state->fold ? frame->state->fold->depth : 0;
  llvm::SmallPtrSet<Node *, 4> leaving;
  auto isOutside = [&](Node *node) {
    return node->op == Op::FoldArgument || node->foldDepth < depth;
  };
  while (!work.empty()) {
    Node *node = work.pop_back_val();
    if (!seen.insert(node).second)
      continue;
    auto wrt = byNode.find(node);
    if (wrt != byNode.end()) {
      for (size_t i : wrt->second)
        reached[i] = true;
      // A call that wrote several params also gives the loss.
      if (node->op != Op::Call || node->types.size() == 1)
        continue;
    }
    auto before = old.find(node);
    if (before != old.end()) {
      auto [i, where] = before->second;
      report(Diag::StaleGradient, range)
              .label(where, "written here, after the loss had read it")
              .note("compute the loss again after the write")
          << params[i].path;
      return false;
    }
    if (node->op == Op::StopGradient)
      continue;
    if (depth && isOutside(node)) {
      leaving.insert(node);
      continue;
    }
    auto follow = [&](Value operand) {
      // What a call wrote is no part of the derivative.
      if (operand.node->op == Op::Call &&
          operand.result >= operand.node->callee->results.size())
        return;
      if (typed::isFloat(operand.type().elem))
        work.push_back(operand.node);
    };
    for (Value operand : node->operands)
      follow(operand);
    if (node->body)
      for (Node *inner : node->body->nodes)
        if (inner->op == Op::Read && typed::isFloat(inner->types[0].elem))
          follow(inner->operands[0]);
  }
  for (Node *node : leaving)
    for (auto &[by, numbers] : byNode)
      if (by->foldDepth < depth && reachesFrom(node, by)) {
        report(Diag::GradientLeavesFold, range)
                .label(node->range, "this may depend on it, and comes from "
                                    "outside of the iteration")
                .note("`stop_gradient` makes it a constant of the iteration")
            << (params[numbers[0]].kind == Val::Variable
                    ? params[numbers[0]].path
                : by->name.empty() ? StringRef("a value")
                                   : by->name);
        return false;
      }
  return true;
}

Val Checker::asRecord(const Val &val, Range range) {
  if (val.kind != Val::Instance && val.kind != Val::InstanceArray)
    return val;
  std::vector<Val> params;
  addParams(val, params);
  Val record;
  record.kind = Val::Record;
  llvm::SmallVector<Val, 8> elems;
  llvm::SmallVector<StringRef, 8> names;
  for (const Val &param : params) {
    Val elem = load(param, range);
    if (elem.isError())
      return Val();
    elems.push_back(elem);
    names.push_back(param.path);
  }
  record.elems = copy(ArrayRef<Val>(elems));
  record.names = copy(ArrayRef<StringRef>(names));
  record.path = val.instance.path;
  return record;
}

std::vector<Value> Checker::gradient(Value loss, ArrayRef<Value> wrt,
                                     Range range) {
  std::vector<Value> out;
  if (wrt.empty())
    return out;
  llvm::SmallVector<Value, 8> operands{loss};
  llvm::SmallVector<Type, 8> types;
  for (Value value : wrt) {
    operands.push_back(value);
    types.push_back(value.type());
  }
  Node *node = makeNode(Op::Gradient, Type(), operands, range);
  node->types = copy(ArrayRef<Type>(types));
  for (unsigned i = 0; i < wrt.size(); ++i)
    out.push_back({node, i});
  return out;
}

/// The params of an instance or of an array of instances.
void Checker::addParams(const Val &val, std::vector<Val> &params) {
  auto add = [&](const InstanceRef &instance) {
    for (const ModuleVar &var : instance.module->vars)
      if (var.decl->isParam)
        params.push_back(variableVal(instance, var));
  };
  if (val.kind == Val::Instance) {
    add(val.instance);
    return;
  }
  for (int64_t i = 0; i < val.number; ++i) {
    InstanceRef instance = val.instance;
    instance.path = intern(val.instance.path + "." + Twine(i));
    add(instance);
  }
}

/// The params that `net`, `net.fc1` or `w` names, in their order.
bool Checker::expandParams(const ast::Expr *e, std::vector<Val> &params) {
  if (auto *tuple = dyn_cast<ast::TupleExpr>(e)) {
    for (const ast::Expr *elem : tuple->elems)
      if (!expandParams(elem, params))
        return false;
    return true;
  }
  Val val = resolve(e);
  if (val.isError())
    return false;
  switch (val.kind) {
  case Val::Instance:
  case Val::InstanceArray:
    addParams(val, params);
    return true;
  case Val::Variable: {
    auto *decl = llvm::dyn_cast_or_null<ast::VarDecl>(val.decl);
    bool isParam = decl ? decl->isParam : false;
    if (!decl) {
      auto it = variableByName.find(val.path);
      isParam = it != variableByName.end() &&
                program.variables[it->second].role == typed::Role::Param;
    }
    if (isParam) {
      params.push_back(val);
      return true;
    }
    report(Diag::NotAParam, e->range).label(val.origin, "declared here")
        << sources.getText(e->range);
    return false;
  }
  default:
    report(Diag::NotAParam, e->range).label(val.origin, "declared here")
        << sources.getText(e->range);
    return false;
  }
}

/// Whether `loss` depends on `target` along floats and integers. Comparisons
/// and stop_gradient end a path: what lies behind them is a constant.
static bool dependsOn(Node *loss, Node *target) {
  llvm::SmallPtrSet<Node *, 32> seen;
  llvm::SmallVector<Node *, 32> work{loss};
  while (!work.empty()) {
    Node *node = work.pop_back_val();
    if (node == target)
      return true;
    if (!seen.insert(node).second || node->op == Op::StopGradient)
      continue;
    auto follow = [&](Value operand) {
      if (operand.type().elem != Elem::Bool)
        work.push_back(operand.node);
    };
    for (Value operand : node->operands)
      follow(operand);
    if (node->body)
      for (Node *inner : node->body->nodes)
        if (inner->op == Op::Read)
          follow(inner->operands[0]);
  }
  return false;
}

/// `grad(loss, x)`, `grad(loss, (a, b))`, `grad(loss, net)`.
Val Checker::callGrad(const ast::CallExpr *e, bool withValue) {
  llvm::SmallVector<const ast::Expr *, 2> args;
  if (!takeArgs(e, withValue ? "value_and_grad" : "grad", {"loss", "over"}, 2,
                args))
    return Val();
  if (body || (frame->noEffects && frame->noEffects != foldEffects)) {
    report(Diag::TensorOpInBody, e->range) << "grad";
    return Val();
  }
  Value loss = elabValue(args[0]);
  if (!loss || !checkLoss(loss, args[0]->range))
    return Val();
  // A module gives a record, a value a tensor, a tuple a tuple of these.
  llvm::SmallVector<const ast::Expr *, 4> groups;
  auto *tuple = dyn_cast<ast::TupleExpr>(args[1]);
  if (tuple)
    groups.append(tuple->elems.begin(), tuple->elems.end());
  else
    groups.push_back(args[1]);
  std::vector<Val> wrt;
  struct Group {
    size_t first, count;
    bool record;
    StringRef path; // of a record's instance
  };
  std::vector<Group> layout;
  for (const ast::Expr *group : groups) {
    size_t first = wrt.size();
    Val val = resolve(group);
    if (val.isError())
      return Val();
    bool record = val.kind == Val::Instance || val.kind == Val::InstanceArray;
    if (record) {
      if (!expandParams(group, wrt))
        return Val();
    } else if (val.kind == Val::Variable) {
      if (!typed::isFloat(val.type.elem)) {
        report(Diag::GradientOfInteger, group->range) << toString(val.type);
        return Val();
      }
      wrt.push_back(val);
    } else if (val.kind == Val::Number || val.kind == Val::Literal) {
      // Each use makes a value of its own, of which the loss depends on none.
      report(Diag::GradientOfInteger, group->range)
              .note("it is a constant; give the function a value of its own, "
                    "`let x = …`, and use that in the loss")
          << sources.getText(group->range);
      return Val();
    } else {
      Value value = materialise(val, group->range);
      if (!value)
        return Val();
      if (!typed::isFloat(value.type().elem)) {
        report(Diag::GradientOfInteger, group->range) << toString(value.type());
        return Val();
      }
      wrt.push_back(Val::makeTensor(value));
    }
    layout.push_back({first, wrt.size() - first, record, val.instance.path});
  }
  std::vector<bool> reached;
  if (!checkReached(loss, wrt, args[0]->range, reached))
    return Val();
  std::vector<Value> values;
  for (const Val &val : wrt)
    values.push_back(val.kind == Val::Variable ? readVar(val, e->range)
                                               : val.value);
  for (size_t i = 0; i < layout.size(); ++i) {
    size_t at = layout[i].first;
    if (layout[i].record || reached[at] ||
        !dependsOn(loss.node, values[at].node))
      continue;
    report(Diag::GradientOfInteger, groups[i]->range)
            .label(args[0]->range, "this is the loss")
            .note("the loss depends on it through integers or argmax only, "
                  "which have no derivative")
        << sources.getText(groups[i]->range);
    return Val();
  }
  std::vector<Value> gradients = gradient(loss, values, e->range);
  llvm::SmallVector<Val, 4> out;
  for (const Group &group : layout) {
    if (!group.record) {
      out.push_back(Val::makeTensor(gradients[group.first]));
      continue;
    }
    Val record;
    record.kind = Val::Record;
    llvm::SmallVector<Val, 8> elems;
    llvm::SmallVector<StringRef, 8> names;
    for (size_t i = 0; i < group.count; ++i) {
      elems.push_back(Val::makeTensor(gradients[group.first + i]));
      names.push_back(wrt[group.first + i].path);
    }
    record.elems = copy(ArrayRef<Val>(elems));
    record.names = copy(ArrayRef<StringRef>(names));
    record.path = group.path;
    out.push_back(record);
  }
  Val result;
  if (out.size() == 1 && !tuple) {
    result = out.front();
  } else {
    result.kind = Val::Tuple;
    result.elems = copy(ArrayRef<Val>(out));
  }
  if (!withValue)
    return result;
  Val both[] = {Val::makeTensor(loss), result};
  Val pair;
  pair.kind = Val::Tuple;
  pair.elems = copy(ArrayRef<Val>(both));
  return pair;
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

void Checker::runMinimize(const ast::MinimizeStmt *stmt) {
  Value loss = elabValue(stmt->loss);
  if (!loss || !checkLoss(loss, stmt->loss->range))
    return;
  if (!frame->fn || frame->fn->fnKind != ast::FnKind::Step ||
      frame->noEffects) {
    report(Diag::EffectOutsideStep, stmt->range)
            .note("`minimize` stands in the body of a step itself")
        << "`minimize`";
    return;
  }
  std::vector<Val> params;
  // What `over` names, and which params that is.
  struct Group {
    const ast::Expr *expr;
    size_t first, last;
  };
  std::vector<Group> groups;
  for (const ast::Expr *e : stmt->over) {
    size_t first = params.size();
    if (!expandParams(e, params))
      return;
    groups.push_back({e, first, params.size()});
  }
  if (groups.empty())
    for (const typed::Variable &variable : program.variables)
      if (variable.role == typed::Role::Param)
        params.push_back(programVariable(variable.name));
  std::vector<bool> reached;
  if (!checkReached(loss, params, stmt->loss->range, reached))
    return;
  if (llvm::none_of(reached, [](bool one) { return one; })) {
    report(Diag::NothingToMinimize, stmt->loss->range);
    return;
  }
  // A layer may have params that are off (`bias = false`); one that has no
  // part in the loss at all is most likely a mistake.
  for (const Group &group : groups) {
    auto first = reached.begin() + group.first;
    auto last = reached.begin() + group.last;
    if (first != last && std::find(first, last, true) == last)
      report(Diag::ParamNotReached, group.expr->range)
              .label(stmt->loss->range, "this is the loss")
          << sources.getText(group.expr->range);
  }
  std::vector<Val> kept;
  std::vector<Value> values;
  for (size_t i = 0; i < params.size(); ++i) {
    if (!reached[i])
      continue;
    kept.push_back(params[i]);
    values.push_back(readVar(params[i], stmt->range));
  }
  std::vector<Value> gradients = gradient(loss, values, stmt->range);
  update(stmt->optimizer, kept, gradients, stmt->name, stmt->range);
}

void Checker::runApply(const ast::ApplyStmt *stmt) {
  Val record = asRecord(elab(stmt->gradient), stmt->gradient->range);
  if (record.isError())
    return;
  if (!frame->fn || frame->fn->fnKind != ast::FnKind::Step ||
      frame->noEffects) {
    report(Diag::EffectOutsideStep, stmt->range)
            .note("`apply` stands in the body of a step itself")
        << "`apply`";
    return;
  }
  std::vector<Val> params;
  for (const ast::Expr *e : stmt->over)
    if (!expandParams(e, params))
      return;
  std::vector<Value> gradients;
  ArrayRef<Val> parts = record;
  if (record.kind == Val::Record || record.kind == Val::Tuple)
    parts = record.elems;
  for (const Val &part : parts) {
    ArrayRef<Val> inner = part;
    if (part.kind == Val::Record)
      inner = part.elems;
    for (const Val &elem : inner) {
      Value value = materialise(elem, stmt->gradient->range);
      if (!value)
        return;
      gradients.push_back(value);
    }
  }
  bool good = gradients.size() == params.size();
  for (size_t i = 0; good && i < params.size(); ++i)
    good = isSame(gradients[i].type(), params[i].type);
  if (!good) {
    report(Diag::ApplyMismatch, stmt->gradient->range) << Twine(params.size());
    return;
  }
  update(stmt->optimizer, params, gradients, stmt->name, stmt->range);
}

void Checker::update(const ast::Expr *optimizer, ArrayRef<Val> params,
                     ArrayRef<Value> gradients, const ast::Ident &name,
                     Range range) {
  auto *call = dyn_cast<ast::CallExpr>(optimizer);
  Val callee = resolve(call ? call->callee : optimizer);
  if (callee.isError())
    return;
  if (callee.kind != Val::OptimizerClass || !call) {
    auto d = report(Diag::NotAnOptimizer, optimizer->range);
    if (callee.kind == Val::OptimizerClass)
      d.fix({optimizer->range.end, optimizer->range.end}, "(lr = 1e-3)",
            "give its arguments");
    return;
  }
  auto *decl = cast<ast::OptimizerDecl>(callee.decl);
  llvm::SmallVector<const ast::Expr *, 8> exprs;
  if (!matchArgs(decl->params, call->args, call->range,
                 "`" + decl->name.name + "`", decl->name.range, exprs))
    return;

  FnState &state = *frame->state;
  std::string label =
      name.isValid() ? name.name.str() : std::to_string(state.numUpdates);
  ++state.numUpdates;
  if (!state.updateNames.insert(label).second) {
    report(Diag::Redefined, name.range) << label;
    return;
  }
  std::string prefix = "opt." + frame->fn->name.name.str() + "." + label + ".";

  // Arguments are scalars of the step, or known at compile time.
  Frame bound;
  bound.scope = callee.scope;
  bound.mode = frame->mode;
  bound.state = &state;
  bound.inOptimizer = true;
  for (size_t i = 0; i < exprs.size(); ++i) {
    const ast::ParamDecl &param = decl->params[i];
    if (!param.type) {
      report(Diag::ParamWithoutType, param.name.range) << param.name.name;
      return;
    }
    const ast::Expr *e = exprs[i] ? exprs[i] : param.defaultValue;
    Frame *outer = frame;
    if (!exprs[i])
      frame = &bound;
    Val arg;
    bool good;
    if (isCompileTimeParam(param)) {
      arg = elab(e);
      Val::Kind kind = param.type->elem.name == "dim" ? Val::Dim : Val::Truth;
      good = arg.kind == kind;
      if (!good && !arg.isError())
        report(Diag::ArgumentNotConstant, e->range)
                .label(param.type->range, "declared here")
            << param.name.name
            << (kind == Val::Dim ? "a size" : "a truth value");
    } else if (isFlexible(e) || !exprs[i]) {
      frame = outer;
      good = bindFlexibleArg(bound, param, e, !exprs[i], arg);
    } else {
      arg = elab(e);
      frame = outer;
      good = !arg.isError() && bindTensorArg(bound, param, arg, e, arg);
    }
    frame = outer;
    if (!good)
      return;
    arg.literal = false;
    arg.origin = param.name.range;
    bound.bind(param.name.name, arg);
  }

  const ast::FnDecl *begin = nullptr, *step = nullptr;
  std::vector<const ast::VarDecl *> shared, own;
  for (const ast::Decl *member : decl->members) {
    auto *fn = dyn_cast<ast::FnDecl>(member);
    if (auto *var = dyn_cast<ast::VarDecl>(member))
      (var->type->isLike() ? own : shared).push_back(var);
    else if (fn && fn->name.name == "begin")
      begin = fn;
    else if (fn && fn->name.name == "update")
      step = fn;
    else
      return; // reported with the names
  }
  if (!step || step->params.size() != 2) {
    auto d = report(Diag::OptimizerWithoutUpdate, decl->name.range);
    d << decl->name.name;
    if (step)
      d.label(step->name.range,
              "this one takes " + Twine(step->params.size()) +
                  (step->params.size() == 1 ? " value" : " values"));
    return;
  }

  auto declare = [&](const ast::VarDecl *var, const std::string &path,
                     Type type) {
    typed::Variable variable;
    variable.name = path;
    variable.role = typed::Role::Optimizer;
    variable.type = type;
    variable.range = var->name.range;
    bool fresh = !variableByName.count(path);
    int64_t index = addVariable(std::move(variable));
    if (fresh)
      inits[index] = {var, callee.scope, nullptr};
    Val val = programVariable(intern(path));
    val.decl = var;
    val.origin = var->name.range;
    return val;
  };
  Frame *outer = frame;
  frame = &bound;
  bool good = true;
  for (const ast::VarDecl *var : shared) {
    std::optional<Type> type = resolveType(var->type);
    if (!type) {
      good = false;
      break;
    }
    frame->bind(var->name.name,
                declare(var, prefix + var->name.name.str(), *type));
  }
  if (good && begin) {
    frame->fn = begin;
    Val result = runBlock(begin->body, {});
    good = !result.isError();
  }
  frame->fn = step;
  for (size_t i = 0; i < params.size() && good && !aborted; ++i) {
    const Type &type = params[i].type;
    // States are f32 at least; so is the arithmetic.
    Elem work = type.elem == Elem::F64 ? Elem::F64 : Elem::F32;
    Type workType{work, type.axes};
    frame->f32As = work;
    frame->push();
    // Scalars follow the working type.
    if (work != Elem::F32) {
      llvm::SmallVector<std::pair<StringRef, Val>, 8> widened;
      for (const Binding &b : frame->bindings)
        if (b.val.kind == Val::Tensor && b.val.value.type().elem == Elem::F32)
          widened.push_back(
              {b.name, Val::makeTensor(makeCast(b.val.value, work, range))});
      for (auto &[scalarName, val] : widened)
        frame->bind(scalarName, val);
    }
    for (const ast::VarDecl *var : own) {
      if (var->type->like.name != "param") {
        report(Diag::LikeOutOfPlace, var->type->range);
        good = false;
        break;
      }
      std::string path =
          prefix + params[i].path.str() + "." + var->name.name.str();
      frame->bind(var->name.name, declare(var, path, workType));
    }
    if (!good) {
      frame->pop();
      break;
    }
    // The param itself is a variable of the working type while it is updated.
    Val working;
    working.kind = Val::Variable;
    working.path = intern("\2" + params[i].path);
    working.type = workType;
    working.origin = params[i].origin;
    state.vars[working.path].current =
        makeCast(readVar(params[i], range), work, range);
    frame->bind(step->params[0].name.name, working);
    Val g = Val::makeTensor(makeCast(gradients[i], work, range));
    g.origin = step->params[1].name.range;
    frame->bind(step->params[1].name.name, g);
    Val result = runBlock(step->body, {});
    good = !result.isError() && !diags.hasErrors();
    Value next = state.vars[working.path].current;
    bool written = state.vars[working.path].written;
    state.vars.erase(working.path);
    if (written && good)
      writeVar(params[i], asWritten(makeCast(next, type.elem, range), range),
               range);
    frame->pop();
  }
  frame = outer;
}
