//===- Calls.cpp - Calls and instantiations of functions -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call binds the sizes, packs and element classes of the signature from the
// arguments, looks for an instantiation with the same bindings, and makes one
// where there is none. A function that draws random numbers gets one for each
// call path, so that every path has numbers of its own. Inside the body of an
// index definition a call is carried out in place, on scalars.
//
//===----------------------------------------------------------------------===//

#include "Checker.h"
#include "tdsl/Frontend/Parser.h"
#include "llvm/ADT/StringExtras.h"

using namespace tdsl;
using namespace tdsl::sema;
using llvm::ArrayRef;
using llvm::cast;
using llvm::dyn_cast;
using llvm::isa;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Matching arguments to parameters
//===----------------------------------------------------------------------===//

bool Checker::matchNames(ArrayRef<StringRef> params,
                         llvm::function_ref<bool(size_t)> isOptional,
                         ArrayRef<ast::Arg> args, Range range,
                         const Twine &what, Range declared,
                         llvm::SmallVectorImpl<const ast::Expr *> &out) {
  out.assign(params.size(), nullptr);
  bool good = true;
  size_t position = 0;
  for (const ast::Arg &arg : args) {
    size_t index = position;
    if (arg.isPack) {
      report(Diag::PackOutOfPlace, arg.value->range);
      good = false;
      continue;
    }
    if (arg.name.isValid()) {
      index = llvm::find(params, arg.name.name) - params.begin();
      if (index == params.size()) {
        auto d = report(Diag::UnknownArgument, arg.name.range);
        d << what << arg.name.name;
        d.label(declared, "declared here");
        StringRef nearest = findNearest(arg.name.name, params);
        if (!nearest.empty())
          d.fix(arg.name.range, nearest, "did you mean");
        good = false;
        continue;
      }
    } else {
      if (position >= params.size()) {
        report(Diag::TooManyArguments, arg.value->range)
                .label(declared, "declared here")
            << what << Twine(params.size())
            << (params.size() == 1 ? "argument" : "arguments");
        return false;
      }
      ++position;
    }
    if (out[index]) {
      report(Diag::DuplicateArgument,
             arg.name.isValid() ? arg.name.range : arg.value->range)
              .label(out[index]->range, "given here already")
          << params[index];
      good = false;
      continue;
    }
    out[index] = arg.value;
  }
  if (!good)
    return false;
  for (size_t i = 0; i < params.size(); ++i) {
    if (out[i] || isOptional(i))
      continue;
    report(Diag::MissingArgument, range).label(declared, "declared here")
        << what << params[i];
    return false;
  }
  return true;
}

bool Checker::matchArgs(ArrayRef<ast::ParamDecl> params,
                        ArrayRef<ast::Arg> args, Range range, const Twine &what,
                        Range declared,
                        llvm::SmallVectorImpl<const ast::Expr *> &out) {
  llvm::SmallVector<StringRef, 8> names;
  for (const ast::ParamDecl &param : params)
    names.push_back(param.name.name);
  return matchNames(
      names, [&](size_t i) { return params[i].defaultValue != nullptr; }, args,
      range, what, declared, out);
}

bool Checker::takeArgs(const ast::CallExpr *e, StringRef name,
                       ArrayRef<StringRef> params, unsigned required,
                       llvm::SmallVectorImpl<const ast::Expr *> &out) {
  return matchNames(
      params, [&](size_t i) { return i >= required; }, e->args, e->range,
      "`" + name + "`", Range(), out);
}

//===----------------------------------------------------------------------===//
// Callees
//===----------------------------------------------------------------------===//

Val Checker::elabCall(const ast::CallExpr *e, Expect expect) {
  // A call without indices in an index definition was made outside already.
  if (body && definition) {
    auto it = definition->hoisted.find(e);
    if (it != definition->hoisted.end())
      return it->second;
  }
  Val callee = resolve(e->callee);
  if (callee.kind == Val::Variable && isa<ast::NameExpr>(e->callee)) {
    report(Diag::NotCallable, e->callee->range) << "a tensor";
    return Val();
  }
  switch (callee.kind) {
  case Val::Error:
    // The arguments may hold mistakes of their own.
    for (const ast::Arg &arg : e->args)
      if (!arg.isPack && !isFlexible(arg.value) &&
          !isa<ast::ListExpr>(arg.value))
        elab(arg.value);
    return Val();
  case Val::BuiltinName:
    return callBuiltin(callee.builtin, e, expect);
  case Val::ElemType:
    return elabCast(callee.elem, e);
  case Val::Function: {
    CallTarget target;
    target.fn = cast<ast::FnDecl>(callee.decl);
    target.scope = callee.scope;
    target.module = callee.instance.module;
    target.instance = callee.instance;
    return callFunction(target, e, expect);
  }
  case Val::Instance: {
    const ModuleInstance *module = callee.instance.module;
    auto it = module->members.find("call");
    auto *fn = it == module->members.end() ? nullptr
                                           : dyn_cast<ast::FnDecl>(it->second);
    if (!fn) {
      report(Diag::NoCallFunction, e->callee->range)
              .label(module->decl->name.range, "this module has no `fn call`")
          << module->decl->name.name;
      return Val();
    }
    CallTarget target;
    target.fn = fn;
    target.scope = module->scope;
    target.module = module;
    target.instance = callee.instance;
    return callFunction(target, e, expect);
  }
  case Val::InstanceArray: {
    report(Diag::NotCallable, e->callee->range)
            .note("call the layers one by one: `for b in " +
                  sources.getText(e->callee->range) + " { x = b(x) }`")
        << "an array of layers";
    return Val();
  }
  case Val::ModuleClass: {
    report(Diag::NotCallable, e->callee->range)
            .note("make an instance of it first: `layer name = " +
                  sources.getText(e->callee->range) + "(…)`")
        << "a module";
    return Val();
  }
  case Val::Namespace:
    report(Diag::NotCallable, e->callee->range) << "a module of functions";
    return Val();
  case Val::OptimizerClass:
    report(Diag::NotCallable, e->callee->range)
            .note("optimizers stand behind `with` in `minimize` and `apply`")
        << "an optimizer";
    return Val();
  default: {
    auto d = report(Diag::NotCallable, e->callee->range);
    d << "a value";
    if (callee.kind == Val::Tensor && e->args.size() == 1)
      d.note("`*` multiplies");
    return Val();
  }
  }
}

//===----------------------------------------------------------------------===//
// Binding one argument
//===----------------------------------------------------------------------===//

/// An argument with a type of its own: binds class words and sizes from it.
bool Checker::bindTensorArg(Frame &callee, const ast::ParamDecl &param, Val val,
                            const ast::Expr *e, Val &arg) {
  Frame *outer = frame;
  // Which element type the parameter asks for.
  StringRef word = param.type->elem.name;
  std::optional<Elem> wanted;
  frame = &callee;
  wanted = resolveElem(param.type, !isClassWord(word));
  frame = outer;
  if (!wanted && !isClassWord(word))
    return false;
  std::optional<Elem> hint = wanted;
  if (!hint && word == "float" && val.kind == Val::Dim && val.literal)
    hint = Elem::F32;
  Value value = materialise(val, e->range, hint);
  if (!value)
    return false;
  Elem elem = value.type().elem;
  if (!wanted) {
    if (!isInClass(elem, word)) {
      auto d = report(Diag::ArgumentElem, e->range);
      d << toString(value.type()) << word;
      d.label(param.type->range,
              "the parameter `" + param.name.name + "` takes `" + word + "`");
      if (word == "float" || elem == Elem::Bool)
        d.fix(e->range, "f32(" + sources.getText(e->range) + ")", "convert it");
      return false;
    }
    callee.classes.push_back({word, elem});
  } else if (elem != *wanted) {
    auto d = report(Diag::ArgumentElem, e->range);
    d << toString(value.type()) << typed::getName(*wanted);
    d.label(param.type->range, "the parameter `" + param.name.name +
                                   "` takes " + typed::getName(*wanted));
    StringRef text = sources.getText(e->range);
    if (text.size() < 60 && *wanted != Elem::Bool)
      d.fix(e->range, typed::getName(*wanted) + "(" + text + ")", "convert it");
    return false;
  }
  arg = Val::makeTensor(value, body != nullptr);
  arg.origin = e->range;
  frame = &callee;
  bool good = bindShape(param.type, value.type(), e->range, &param);
  frame = outer;
  return good;
}

/// Literals, and defaults: the type comes from the parameter.
bool Checker::bindFlexibleArg(Frame &callee, const ast::ParamDecl &param,
                              const ast::Expr *e, bool isDefault, Val &arg) {
  Frame *outer = frame;
  StringRef word = param.type->elem.name;
  frame = &callee;
  std::optional<Elem> wanted = resolveElem(param.type, !isClassWord(word));
  frame = outer;
  if (!wanted && !isClassWord(word))
    return false;
  if (!wanted) {
    bool real = word == "float" || hasFloatLiteral(e);
    wanted = real ? Elem::F32 : Elem::I32;
    if (word == "int" && real) {
      report(Diag::ArgumentElem, e->range)
              .label(param.type->range, "declared here")
          << "f32" << word;
      return false;
    }
    callee.classes.push_back({word, *wanted});
  }
  // A default sees the sizes and the parameters before it.
  if (isDefault)
    frame = &callee;
  Val val = isFlexible(e) ? elabFlexible(e, *wanted) : elab(e, *wanted);
  bool good = !val.isError() && bindTensorArg(callee, param, val, e, arg);
  frame = outer;
  return good;
}

bool Checker::bindArg(Frame &callee, const ast::FnDecl *fn, size_t i,
                      const ast::Expr *e, Val &arg) {
  const ast::ParamDecl &param = fn->params[i];
  StringRef word = param.type->elem.name;
  if (param.type->isLike()) {
    arg = elab(e);
    if (arg.isError())
      return false;
    if (arg.kind != Val::Record && arg.kind != Val::Tensor) {
      report(Diag::ArgumentElem, e->range)
              .label(param.type->range, "declared here")
          << "this value" << "a record of gradients";
      return false;
    }
    return true;
  }
  arg = elab(e);
  if (arg.isError())
    return false;
  if (!isCompileTimeParam(param))
    return bindTensorArg(callee, param, arg, e, arg);
  bool isDim = word == "dim";
  if (isDim && arg.kind == Val::Number && typed::isInt(arg.scalar->elem))
    arg = Val::makeDim(arg.scalar->integer);
  if (arg.kind != (isDim ? Val::Dim : Val::Truth)) {
    auto d = report(Diag::ArgumentNotConstant, e->range);
    d << param.name.name << (isDim ? "a size" : "a truth value");
    d.label(param.type->range, "declared here");
    if (!isDim)
      d.note("a `bool` parameter chooses at compile time; for a choice by "
             "element pass a tensor, `bool[...s]`");
    return false;
  }
  arg.literal = false;
  arg.origin = e->range;
  callee.bind(param.name.name, arg);
  return true;
}

/// Sizes that only the result names come from what the caller wants.
bool Checker::bindResultSizes(Frame &callee, const ast::FnDecl *fn,
                              const Expect &expect, Range range) {
  Frame *outer = frame;
  frame = &callee;
  bool good = true;
  for (const ast::ResultType &result : fn->results) {
    bool open = false;
    StringRef missing;
    for (const ast::ShapeItem &item : result.type->shape) {
      StringRef name;
      if (item.kind == ast::ShapeItem::Pack && !callee.find(item.pack.name))
        open = true, missing = item.pack.name;
      else if (item.kind == ast::ShapeItem::Size &&
               isInferredSize(item.size, name))
        open = true, missing = name;
    }
    StringRef word = result.type->elem.name;
    if (open && isClassWord(word) && expect.type &&
        !resolveElem(result.type, false) && isInClass(expect.type->elem, word))
      callee.classes.push_back({word, expect.type->elem});
    if (!open)
      continue;
    if (!expect.type || fn->results.size() != 1) {
      report(Diag::ResultSizeUnknown, range)
              .label(result.type->range, "declared here")
          << missing;
      good = false;
      break;
    }
    good &= bindShape(result.type, *expect.type, range, nullptr);
  }
  frame = outer;
  return good;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

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
  if (body && fn->vjp && mentionsIndex(e))
    return callHoisted(target, e);

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
      good = checkShape(fn->params[i].type, args[i].value.type(),
                        exprs[i] ? exprs[i]->range : e->range,
                        "`" + fn->params[i].name.name + "`");
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
  node->types = copy(ArrayRef<Type>(types));
  frame->state->numSites += inst->numSites;

  unsigned next = callee->results.size();
  for (size_t i = 0; i < inst->writes.size(); ++i) {
    Val variable = translate(inst->writes[i]);
    variable.type = types[next];
    writeVar(variable, {node, next++}, range);
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

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Runs the body of a function; its last expression knows what is declared.
Val Checker::runBody(const ast::FnDecl *fn) {
  Expect expect;
  llvm::SmallVector<std::optional<Elem>, 4> elems;
  for (const ast::ResultType &result : fn->results)
    elems.push_back(resolveElem(result.type, false));
  expect.tuple = elems;
  if (elems.size() == 1) {
    expect.elem = elems.front();
    bool known = expect.elem.has_value();
    for (const ast::ShapeItem &item : fn->results[0].type->shape)
      known &= item.kind != ast::ShapeItem::Infer;
    if (known) {
      expect.type = resolveType(fn->results[0].type);
      if (!expect.type)
        return Val();
    }
  }
  return runBlock(fn->body, expect);
}

/// Checks one result against its declared type.
bool Checker::finishOne(const ast::ResultType &declared, const Val &val,
                        Range range, Val &out) {
  std::optional<Elem> wanted = resolveElem(declared.type, false);
  StringRef word = declared.type->elem.name;
  if (!wanted && !isClassWord(word)) {
    resolveElem(declared.type);
    return false;
  }
  Value value = materialise(val, range, wanted);
  if (!value)
    return false;
  const Type &type = value.type();
  if (!wanted) {
    if (!isInClass(type.elem, word)) {
      report(Diag::ResultElem, range)
              .label(declared.type->range, "declared here")
          << toString(type) << word;
      return false;
    }
    frame->classes.push_back({word, type.elem});
  } else if (type.elem != *wanted) {
    auto d = report(Diag::ResultElem, range);
    d << toString(type) << typed::getName(*wanted);
    d.label(declared.type->range, "declared here");
    StringRef text = sources.getText(range);
    if (text.size() < 60 && *wanted != Elem::Bool)
      d.fix(range, typed::getName(*wanted) + "(" + text + ")", "convert it");
    return false;
  }
  // Rank and sizes.
  size_t expectedRank = 0;
  for (const ast::ShapeItem &item : declared.type->shape) {
    if (item.kind != ast::ShapeItem::Pack) {
      ++expectedRank;
      continue;
    }
    Val *pack = frame->find(item.pack.name);
    if (!pack || pack->kind != Val::Pack) {
      report(Diag::NotAPack, item.range) << item.pack.name;
      return false;
    }
    expectedRank += pack->axes.size();
  }
  if (type.rank() != expectedRank) {
    report(Diag::ResultRank, range).label(declared.type->range, "declared here")
        << toString(type)
        << (Twine(expectedRank) + (expectedRank == 1 ? " axis" : " axes"));
    return false;
  }
  llvm::SmallVector<Axis, 4> axes(type.axes.begin(), type.axes.end());
  size_t axis = 0;
  for (const ast::ShapeItem &item : declared.type->shape) {
    if (item.kind == ast::ShapeItem::Pack) {
      for (const Axis &part : frame->find(item.pack.name)->axes) {
        if (part.size != axes[axis].size) {
          report(Diag::SizeMismatch, range)
                  .label(item.range,
                         "the pack is " +
                             toString(frame->find(item.pack.name)->axes))
              << "the result" << toString(type) << Twine(axis)
              << Twine(part.size);
          return false;
        }
        axes[axis++].stretches = part.stretches;
      }
      continue;
    }
    if (item.kind == ast::ShapeItem::Size) {
      std::optional<int64_t> size = evalSize(item.size);
      if (!size)
        return false;
      if (*size != axes[axis].size) {
        report(Diag::SizeMismatch, range)
                .label(item.range, "this is " + Twine(*size))
            << "the result" << toString(type) << Twine(axis) << Twine(*size);
        return false;
      }
      auto *literal = dyn_cast<ast::IntExpr>(item.size);
      axes[axis].stretches = literal && literal->value == 1;
    }
    ++axis;
  }
  out = Val::makeTensor(value, body != nullptr);
  out.type = Type{type.elem, copy(ArrayRef<Axis>(axes))};
  out.origin = range;
  return true;
}

bool Checker::finishResult(const ast::FnDecl *fn, Val result, Val &out) {
  if (result.isError() || aborted)
    return false;
  Range range = fn->body->value ? fn->body->value->range : fn->name.range;
  if (!fn->hasResult) {
    if (result.kind == Val::Unit || result.kind == Val::Record) {
      out = result;
      return true;
    }
    llvm::SmallVector<Val, 4> elems;
    ArrayRef<Val> parts = result;
    if (result.kind == Val::Tuple)
      parts = result.elems;
    for (const Val &part : parts) {
      if (part.kind == Val::Record) {
        elems.push_back(part);
        continue;
      }
      Value value = materialise(part, range);
      if (!value)
        return false;
      Val val = Val::makeTensor(value, body != nullptr);
      val.type = value.type();
      val.origin = range;
      elems.push_back(val);
    }
    if (result.kind != Val::Tuple) {
      out = elems.front();
    } else {
      out = result;
      out.elems = copy(ArrayRef<Val>(elems));
    }
    return true;
  }
  if (result.kind == Val::Unit) {
    report(Diag::NoResult, fn->name.range)
            .label(fn->results.empty() ? fn->signature
                                       : fn->results[0].type->range,
                   "declared here")
        << fn->name.name;
    return false;
  }
  if (fn->results.size() == 1 && result.kind != Val::Tuple)
    return finishOne(fn->results[0], result, range, out);
  size_t got = result.kind == Val::Tuple ? result.elems.size() : 1;
  if (got != fn->results.size()) {
    report(Diag::ResultCount, range).label(fn->signature, "declared here")
        << Twine(fn->results.size()) << Twine(got);
    return false;
  }
  auto *tuple = llvm::dyn_cast_or_null<ast::TupleExpr>(fn->body->value);
  llvm::SmallVector<Val, 4> elems;
  for (size_t i = 0; i < got; ++i) {
    Val one;
    if (result.elems[i].kind == Val::Record) {
      one = result.elems[i];
    } else if (!finishOne(fn->results[i], result.elems[i],
                          tuple && tuple->elems.size() == got
                              ? tuple->elems[i]->range
                              : range,
                          one)) {
      return false;
    }
    elems.push_back(one);
  }
  out = Val();
  out.kind = Val::Tuple;
  out.elems = copy(ArrayRef<Val>(elems));
  return true;
}

//===----------------------------------------------------------------------===//
// Custom derivatives
//===----------------------------------------------------------------------===//

/// Builds `vjp (args…, result, d_result) -> (d_args…)`; d_args are those of
/// the float arguments. `bound` still holds the sizes of the call.
void Checker::buildVjp(const CallTarget &target, Frame &bound,
                       ArrayRef<Val> args, Instantiation *inst) {
  const ast::FnDecl *fn = target.fn;
  const ast::Vjp *vjp = fn->vjp;
  typed::Function *primal = inst->function;
  if (!inst->reads.empty()) {
    report(Diag::VjpReadsVariable, vjp->range) << fn->name.name;
    inst->failed = true;
    return;
  }
  if (primal->results.size() != 1) {
    report(Diag::NotSupportedYet, vjp->range)
        << "a custom derivative of several results";
    inst->failed = true;
    return;
  }
  Type resultType = inst->result.type;
  // An integer instantiation has no derivative.
  if (!typed::isFloat(resultType.elem))
    return;
  if (vjp->params.size() != fn->params.size() + 2) {
    report(Diag::VjpParams, vjp->range).label(fn->signature, "declared here")
        << Twine(fn->params.size() + 2) << Twine(vjp->params.size());
    inst->failed = true;
    return;
  }
  program.functions.emplace_back();
  typed::Function &out = program.functions.back();
  out.name = primal->name + ".vjp";
  out.range = vjp->range;
  FnState state;
  state.out = &out;
  FnState *outerState = bound.state;
  bound.state = &state;
  bound.push();
  auto addArgument = [&](const ast::Ident &name, const Type &type) {
    Node *node = makeNode(Op::Argument, type, {}, name.range);
    node->number = out.inputs.size();
    node->name = name.name;
    out.inputs.push_back({name.name.str(), type, name.range});
    Val val = Val::makeTensor({node, 0});
    val.origin = name.range;
    bound.bind(name.name, val);
  };
  std::vector<Type> wanted;
  size_t input = 0;
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].kind != Val::Tensor) {
      bound.bind(vjp->params[i].name, args[i]);
      continue;
    }
    Type type = primal->inputs[input++].type;
    addArgument(vjp->params[i], type);
    if (typed::isFloat(type.elem))
      wanted.push_back(type);
  }
  addArgument(vjp->params[args.size()], resultType);
  addArgument(vjp->params[args.size() + 1], resultType);

  llvm::SmallVector<std::optional<Elem>, 4> elems;
  for (const Type &type : wanted)
    elems.push_back(type.elem);
  Expect expect;
  expect.tuple = elems;
  if (elems.size() == 1)
    expect.elem = elems.front();
  Val result = runBlock(vjp->body, expect);
  Range range = vjp->body->value ? vjp->body->value->range : vjp->range;
  bool good = !result.isError();
  ArrayRef<Val> results = result;
  if (result.kind == Val::Tuple)
    results = result.elems;
  if (good && (results.size() != wanted.size() || result.kind == Val::Unit)) {
    report(Diag::VjpResults, range).label(fn->signature, "declared here")
        << Twine(wanted.size())
        << Twine(result.kind == Val::Unit ? 0 : results.size());
    good = false;
  }
  for (size_t i = 0; good && i < results.size(); ++i) {
    Value value = materialise(results[i], range, wanted[i].elem);
    good = bool(value);
    if (good && value.type().isScalar() && value.type().elem == wanted[i].elem)
      value = makeBroadcast(value, wanted[i].axes, range);
    if (good && !isSame(value.type(), wanted[i])) {
      report(Diag::VjpType, range).label(fn->signature, "declared here")
          << toString(value.type()) << toString(wanted[i]);
      good = false;
    }
    if (good)
      out.results.push_back({"", value, range});
  }
  bound.pop();
  bound.state = outerState;
  if (!state.vars.empty()) {
    report(Diag::VjpReadsVariable, vjp->range) << fn->name.name;
    good = false;
  }
  if (!good) {
    inst->failed = true;
    return;
  }
  primal->vjp = &out;
  program.order.push_back(&out);
}
