//===- Instantiate.cpp - Instantiations of functions -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call looks for an instantiation with the same bindings, and makes one where
// there is none. A function that draws random numbers gets one for each call
// path, so that every path has numbers of its own. Inside the body of an index
// definition a call is carried out in place, on scalars.
//
//===----------------------------------------------------------------------===//

#include "Checker.h"
#include "tdsl/Frontend/Parser.h"
#include "llvm/ADT/StringExtras.h"

using namespace tdsl;
using namespace tdsl::sema;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

bool Checker::enterCall(const CallTarget &target, Range range) {
  for (const Active &a : active) {
    if (a.fn != target.fn || a.module != target.module)
      continue;
    auto d = report(Diag::Recursion, range);
    d << target.fn->name.name;
    d.label(target.fn->name.range, "declared here");
    d.note("write a `for` over a compile-time range, or `fold`");
    return false;
  }
  if (active.size() >= kNestingLimit) {
    report(Diag::TooDeep, range) << Twine(kNestingLimit);
    return false;
  }
  active.push_back({target.fn, target.module, range});
  return true;
}

static void addType(std::string &key, const Type &type) {
  key += typed::getName(type.elem);
  for (const Axis &axis : type.axes) {
    key += axis.stretches ? ":" : ",";
    key += std::to_string(axis.size);
  }
}

std::string Checker::makeKey(const CallTarget &target, Frame &callee,
                             ArrayRef<Val> args) {
  std::string key = llvm::utohexstr(uintptr_t(target.fn));
  key += target.module ? "/" + std::to_string(target.module->id) : "/";
  key += "/" + std::to_string(int(callee.mode));
  if (callee.f32As)
    key += "/f" + std::to_string(int(*callee.f32As));
  for (const Val &arg : args) {
    key += "|";
    if (arg.kind == Val::Tensor)
      addType(key, arg.value.type());
    else
      key += "=" + std::to_string(arg.number);
  }
  // Sizes that came from the result.
  for (const Binding &b : callee.bindings) {
    if (b.val.kind == Val::Dim) {
      key += ";" + std::to_string(b.val.number);
    } else if (b.val.kind == Val::Pack) {
      key += ";p";
      addType(key, Type{Elem::F32, b.val.axes});
    }
  }
  for (auto &[word, elem] : callee.classes)
    key += (";" + word + "=" + typed::getName(elem)).str();
  return key;
}

Val Checker::callFunction(const CallTarget &target, const ast::CallExpr *e,
                          Expect expect) {
  const ast::FnDecl *fn = target.fn;
  if (frame->mode == Mode::Const) {
    report(Diag::NotCompileTime, e->range);
    return Val();
  }
  if (fn->fnKind == ast::FnKind::Step) {
    report(Diag::CallsStep, e->range).label(fn->name.range, "declared here")
        << fn->name.name;
    return Val();
  }
  if (body && fn->vjp && mentionsIndex(e)) {
    if (definition)
      return callHoisted(target, e);
    // In a function that runs on elements the indices are out of sight.
    report(Diag::TensorOpInBody, e->range)
            .label(fn->name.range, "it has a derivative of its own")
            .note("compute it for the whole tensor first: `let y = f(x)`, then "
                  "read `y[i]`")
        << "`" + fn->name.name + "`";
    return Val();
  }

  llvm::SmallVector<const ast::Expr *, 8> exprs;
  if (!matchArgs(fn->params, e->args, e->range, "`" + fn->name.name + "`",
                 fn->signature, exprs))
    return Val();

  Frame callee;
  callee.scope = target.scope;
  callee.module = target.module;
  callee.fn = fn;
  callee.mode =
      fn->fnKind == ast::FnKind::Export ? Mode::Evaluate : frame->mode;
  callee.state = frame->state;
  callee.f32As = frame->f32As && target.scope == frame->scope ? frame->f32As
                                                              : std::nullopt;
  if (target.module)
    callee.self =
        body ? target.instance : InstanceRef{target.module, /*self=*/true, ""};

  // Arguments with types of their own first; literals and defaults then know
  // what the class words mean.
  llvm::SmallVector<Val, 8> args(fn->params.size());
  bool good = true;
  for (size_t i = 0; i < args.size(); ++i) {
    const ast::ParamDecl &param = fn->params[i];
    if (!param.type) {
      report(Diag::ParamWithoutType, param.name.range) << param.name.name;
      return Val();
    }
    if (exprs[i] && (isCompileTimeParam(param) || !isFlexible(exprs[i])))
      good &= bindArg(callee, fn, i, exprs[i], args[i]);
  }
  if (!good)
    return Val();
  for (size_t i = 0; i < args.size(); ++i) {
    const ast::ParamDecl &param = fn->params[i];
    if (exprs[i]) {
      if (!isCompileTimeParam(param) && isFlexible(exprs[i]))
        good &= bindFlexibleArg(callee, param, exprs[i], false, args[i]);
      continue;
    }
    if (!isCompileTimeParam(param)) {
      good &= bindFlexibleArg(callee, param, param.defaultValue, true, args[i]);
      continue;
    }
    Frame *outer = frame;
    frame = &callee;
    Val val;
    good &= bindArg(callee, fn, i, param.defaultValue, val);
    args[i] = val;
    frame = outer;
  }
  if (!good || !bindResultSizes(callee, fn, expect, e->range))
    return Val();

  // All sizes are known: check those that are expressions.
  Frame *outer = frame;
  frame = &callee;
  for (size_t i = 0; i < args.size() && good; ++i)
    if (args[i].kind == Val::Tensor && !fn->params[i].type->isLike())
      good = checkShape({&fn->params[i], exprs[i] ? exprs[i]->range : e->range,
                         &target, outer},
                        args[i].value.type());
  frame = outer;
  if (!good)
    return Val();

  bool hasRecord = llvm::any_of(
      args, [&](const Val &arg) { return arg.kind == Val::Record; });
  if (body || hasRecord) {
    if (target.module)
      callee.self = target.instance;
    return inlineCall(target, callee, args, e->range);
  }

  std::string key = makeKey(target, callee, args);
  unsigned base = frame->state->siteBase + frame->state->numSites;
  auto it = instantiations.find(key);
  Instantiation *inst = it == instantiations.end() ? nullptr : it->second.get();
  if (inst && inst->numSites && !inst->failed) {
    std::string atBase = key + "@" + std::to_string(base);
    auto found = instantiations.find(atBase);
    inst = found != instantiations.end()
               ? found->second.get()
               : instantiate(target, callee, args, atBase, base, e->range);
  } else if (!inst) {
    inst = instantiate(target, callee, args, key, base, e->range);
  }
  if (!inst || inst->failed)
    return Val();
  return emitCall(target, inst, args, e->range);
}

Val Checker::inlineCall(const CallTarget &target, Frame &callee,
                        ArrayRef<Val> args, Range range) {
  if (!enterCall(target, range))
    return Val();
  Frame *outer = frame;
  if (outer->noEffects)
    callee.noEffects = outer->noEffects;
  if (body)
    callee.noEffects = "an index definition";
  Definition *outerDefinition = definition;
  definition = nullptr;
  frame = &callee;
  frame->push();
  for (size_t i = 0; i < args.size(); ++i)
    if (args[i].kind == Val::Tensor || args[i].kind == Val::Record)
      frame->bind(target.fn->params[i].name.name, args[i]);
  Val result = runBody(target.fn);
  Val out;
  bool good = finishResult(target.fn, result, out);
  frame->pop();
  frame = outer;
  definition = outerDefinition;
  active.pop_back();
  return good ? out : Val();
}

Instantiation *Checker::instantiate(const CallTarget &target, Frame &callee,
                                    ArrayRef<Val> args, const std::string &key,
                                    unsigned siteBase, Range range) {
  if (!enterCall(target, range))
    return nullptr;
  auto owned = std::make_unique<Instantiation>();
  Instantiation *inst = owned.get();
  const ast::FnDecl *fn = target.fn;

  program.functions.emplace_back();
  typed::Function &out = program.functions.back();
  std::string name;
  if (target.scope && !target.scope->name.empty())
    name = target.scope->name + ".";
  if (target.module)
    name += target.module->decl->name.name.str() + ".";
  name += fn->name.name.str();
  out.name = name + "." + std::to_string(functionNames[name]++);
  out.range = fn->name.range;
  out.doc = fn->doc;
  inst->function = &out;

  FnState state;
  state.out = &out;
  state.siteBase = siteBase;
  callee.state = &state;
  Frame *outerFrame = frame;
  Definition *outerDefinition = definition;
  definition = nullptr;
  frame = &callee;
  frame->push();
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].kind != Val::Tensor)
      continue;
    const ast::ParamDecl &param = fn->params[i];
    // The parameter's own type says which axes stretch.
    Type type = args[i].value.type();
    llvm::SmallVector<Axis, 4> axes(type.axes.begin(), type.axes.end());
    size_t axis = 0, fixed = 0;
    for (const ast::ShapeItem &item : param.type->shape)
      fixed += item.kind != ast::ShapeItem::Pack;
    for (const ast::ShapeItem &item : param.type->shape) {
      if (item.kind == ast::ShapeItem::Pack) {
        axis += axes.size() - fixed;
        continue;
      }
      auto *literal = llvm::dyn_cast_or_null<ast::IntExpr>(item.size);
      axes[axis].stretches = literal && literal->value == 1;
      ++axis;
    }
    type.axes = copy(ArrayRef<Axis>(axes));
    Node *node = makeNode(Op::Argument, type, {}, param.name.range);
    node->number = out.inputs.size();
    node->name = param.name.name;
    out.inputs.push_back({param.name.name.str(), type, param.name.range});
    Val val = Val::makeTensor({node, 0});
    val.origin = param.name.range;
    frame->bind(param.name.name, val);
  }
  Val result = runBody(fn);
  if (!finishResult(fn, result, inst->result))
    inst->failed = true;
  frame->pop();
  inst->numSites = state.numSites;
  if (!inst->failed) {
    ArrayRef<Val> results = inst->result;
    if (inst->result.kind == Val::Tuple)
      results = inst->result.elems;
    for (const Val &val : results)
      if (val.kind == Val::Tensor)
        out.results.push_back({"", val.value, val.origin});
    finishFunction(state);
    for (auto &entry : state.vars)
      inst->reads.push_back(entry.first.str());
    for (auto &entry : state.vars)
      if (entry.second.written)
        inst->writes.push_back(entry.first.str());
    if (fn->vjp)
      buildVjp(target, callee, args, inst);
    program.order.push_back(&out);
  }
  frame = outerFrame;
  definition = outerDefinition;
  callee.state = outerFrame->state;
  active.pop_back();
  instantiations[key] = std::move(owned);
  if (inst->numSites && key.find('@') == std::string::npos) {
    // Found again by its place too.
    auto copyOf = std::make_unique<Instantiation>(*inst);
    instantiations[key + "@" + std::to_string(siteBase)] = std::move(copyOf);
  }
  return inst;
}

Val Checker::emitCall(const CallTarget &target, Instantiation *inst,
                      ArrayRef<Val> args, Range range) {
  // The callee's variables as the caller names them.
  auto translate = [&](const std::string &key) {
    Val variable;
    variable.kind = Val::Variable;
    StringRef path = key;
    if (path.consume_front("\1")) {
      variable.self = target.instance.self;
      variable.path = target.instance.path.empty()
                          ? intern(path)
                          : intern(target.instance.path + "." + path);
    } else {
      variable.path = intern(path);
    }
    return variable;
  };
  typed::Function *callee = inst->function;
  if (frame->noEffects && (inst->numSites || !inst->writes.empty())) {
    report(Diag::EffectOutOfPlace, range)
        << (inst->numSites ? "a random number" : "a write") << frame->noEffects;
    return Val();
  }
  llvm::SmallVector<Value, 8> operands;
  for (const Val &arg : args)
    if (arg.kind == Val::Tensor)
      operands.push_back(arg.value);
  llvm::SmallVector<Val, 4> variables;
  for (size_t i = 0; i < inst->reads.size(); ++i) {
    Val variable = translate(inst->reads[i]);
    variable.type = callee->reads[i].value.type();
    operands.push_back(readVar(variable, range));
  }
  Node *node = makeNode(Op::Call, Type(), operands, range);
  node->callee = callee;
  llvm::SmallVector<Type, 4> types;
  for (const typed::Result &result : callee->results)
    types.push_back(result.value.type());
  ArrayRef<Val> results = inst->result;
  if (inst->result.kind == Val::Tuple)
    results = inst->result.elems;
  // Whether axes of the result stretch is the signature's word.
  for (size_t i = 0; i < results.size() && i < types.size(); ++i)
    if (results[i].type.rank() == types[i].rank())
      types[i].axes = results[i].type.axes;
  for (const typed::VariableUse &write : callee->writes)
    types.push_back(write.value.type());
  for (const typed::Check &check : callee->checks)
    types.push_back(check.value.type());
  node->types = copy(ArrayRef<Type>(types));
  frame->state->numSites += inst->numSites;

  unsigned next = callee->results.size();
  for (size_t i = 0; i < inst->writes.size(); ++i) {
    Val variable = translate(inst->writes[i]);
    variable.type = types[next];
    writeVar(variable, {node, next++}, range);
  }
  if (!callee->checks.empty() && !canCheck(range))
    return Val();
  for (const typed::Check &check : callee->checks) {
    // In a standard module the user looks for the call.
    bool standard =
        sources.getName(sources.getFile(check.range.begin)).starts_with("<");
    frame->state->out->checks.push_back(
        {{node, next++}, check.text, standard ? range : check.range});
  }
  if (inst->result.kind == Val::Unit)
    return inst->result;
  if (inst->result.kind != Val::Tuple)
    return Val::makeTensor({node, 0});
  llvm::SmallVector<Val, 4> elems;
  for (unsigned i = 0; i < callee->results.size(); ++i)
    elems.push_back(Val::makeTensor({node, i}));
  Val tuple;
  tuple.kind = Val::Tuple;
  tuple.elems = copy(ArrayRef<Val>(elems));
  return tuple;
}
