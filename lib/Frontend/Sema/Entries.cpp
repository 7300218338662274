//===- Entries.cpp - Entry points and first values -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Checker.h"

using namespace tdsl;
using namespace tdsl::sema;
using llvm::ArrayRef;
using llvm::cast;
using llvm::dyn_cast;
using llvm::isa;
using llvm::StringRef;
using llvm::Twine;

/// Draws of initialisers are numbered apart from those of steps.
static constexpr unsigned initSiteBase = 1u << 30;

//===----------------------------------------------------------------------===//
// Variables of the program
//===----------------------------------------------------------------------===//

void Checker::declareProgram() {
  auto add = [&](const std::string &name, const ast::VarDecl *decl, Type type,
                 const FileScope *scope, const ModuleInstance *owner) {
    typed::Variable variable;
    variable.name = name;
    variable.role = decl->isParam ? typed::Role::Param : typed::Role::State;
    variable.type = type;
    variable.range = decl->name.range;
    variable.doc = decl->doc;
    inits[addVariable(std::move(variable))] = {decl, scope, owner};
  };
  for (const ast::Decl *decl : mainScope->file.decls) {
    if (mainScope->decls.lookup(decl->name.name) != decl)
      continue; // a redefinition
    if (auto *var = dyn_cast<ast::VarDecl>(decl)) {
      if (var->type->isLike()) {
        report(Diag::LikeOutOfPlace, var->type->range);
        continue;
      }
      std::optional<Type> type = resolveType(var->type);
      if (!type)
        continue;
      if (var->isParam && !typed::isFloat(type->elem)) {
        report(Diag::ParamNotFloat, var->type->range)
                .fix(var->type->elem.range, "f32", "make it a float")
                .note("a `state` can hold any type")
            << var->name.name << typed::getName(type->elem);
        continue;
      }
      add(var->name.name.str(), var, *type, mainScope, nullptr);
    } else if (auto *layer = dyn_cast<ast::LayerDecl>(decl)) {
      GlobalLayer entry;
      if (layer->count) {
        std::optional<int64_t> count = evalSize(layer->count);
        if (!count)
          continue;
        if (*count < 0) {
          report(Diag::NegativeSize, layer->count->range) << Twine(*count);
          continue;
        }
        entry.count = *count;
      }
      entry.module = makeModule(layer->value);
      if (!entry.module)
        continue;
      globalLayers[layer->name.name] = entry;
      if (overLimit(getNumVars(entry.module, entry.count), layer->range))
        return;
      int64_t copies = entry.count < 0 ? 1 : entry.count;
      for (int64_t i = 0; i < copies; ++i) {
        std::string prefix = layer->name.name.str() + ".";
        if (entry.count >= 0)
          prefix += std::to_string(i) + ".";
        for (const ModuleVar &var : entry.module->vars)
          add(prefix + var.path, var.decl, var.type, var.owner->scope,
              var.owner);
      }
    }
  }
  findDataDim();
}

/// The `dim` that axis 0 of a written type is, null for anything else.
const ast::DimDecl *Checker::getAxisDim(const ast::TypeExpr *type) {
  if (!type || type->shape.empty() ||
      type->shape[0].kind != ast::ShapeItem::Size)
    return nullptr;
  auto *name = dyn_cast<ast::NameExpr>(type->shape[0].size);
  if (!name)
    return nullptr;
  auto it = mainScope->decls.find(name->name);
  return it == mainScope->decls.end() ? nullptr
                                      : dyn_cast<ast::DimDecl>(it->second);
}

/// The data axis: axis 0 of every tensor input of every step.
void Checker::findDataDim() {
  const ast::TypeExpr *first = nullptr;
  for (ast::FnKind kind : {ast::FnKind::Step, ast::FnKind::Export}) {
    for (const ast::Decl *decl : mainScope->file.decls) {
      auto *fn = dyn_cast<ast::FnDecl>(decl);
      if (!fn || fn->fnKind != kind)
        continue;
      for (const ast::ParamDecl &param : fn->params) {
        if (!param.type || !param.type->hasShape)
          continue;
        const ast::DimDecl *dim = getAxisDim(param.type);
        if (kind == ast::FnKind::Export) {
          if (!dataDim && dim)
            dataDim = dim;
          continue;
        }
        if (dim && !dataDim) {
          dataDim = dim;
          first = param.type;
          continue;
        }
        if (dim && dim == dataDim)
          continue;
        auto d = report(Diag::DataAxis, param.type->shape.empty()
                                            ? param.type->range
                                            : param.type->shape[0].range);
        d << param.name.name;
        if (first)
          d.label(first->shape[0].range,
                  "the batch is `" + dataDim->name.name + "` here");
        else
          d.note("declare the size of the batch: `dim B = 64`, and give it as "
                 "the first axis");
      }
    }
    if (dataDim)
      break;
  }
  if (dataDim)
    program.dataDim = dataDim->name.name.str();
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

void Checker::finishFunction(FnState &state) {
  typed::Function &out = *state.out;
  int64_t number = out.inputs.size();
  for (auto &[key, var] : state.vars) {
    StringRef name = key;
    name.consume_front("\1");
    // The first value is the argument.
    Value first = var.old.empty() ? var.current : var.old.front().first;
    first.node->number = number++;
    out.reads.push_back({-1, name.str(), first});
  }
  for (auto &[key, var] : state.vars) {
    if (!var.written)
      continue;
    StringRef name = key;
    name.consume_front("\1");
    out.writes.push_back({-1, name.str(), var.current});
  }
}

bool Checker::addInput(FnState &state, const ast::FnDecl *fn,
                       const ast::ParamDecl &param) {
  if (!param.type) {
    report(Diag::ParamWithoutType, param.name.range) << param.name.name;
    return false;
  }
  StringRef word = param.type->elem.name;
  if (word == "dim" || isClassWord(word) || param.type->isLike()) {
    report(Diag::EntryType, param.type->range)
            .note(word == "dim" ? "sizes of a program are `dim` declarations"
                                : "entries have concrete types")
        << sources.getText(param.type->range);
    return false;
  }
  for (const ast::ShapeItem &item : param.type->shape) {
    StringRef name;
    if (item.kind == ast::ShapeItem::Size && isInferredSize(item.size, name)) {
      auto d = report(Diag::EntrySize, item.range);
      d << name;
      d.note("declare it: `dim " + name + " = 64`");
      return false;
    }
    if (item.kind != ast::ShapeItem::Size) {
      report(Diag::EntrySize, item.range) << sources.getText(item.range);
      return false;
    }
  }
  std::optional<Type> type = resolveType(param.type);
  if (!type)
    return false;
  typed::Function &out = *state.out;
  typed::Input input;
  input.name = param.name.name.str();
  input.type = *type;
  input.range = param.name.range;
  input.dataAxis = dataDim && getAxisDim(param.type) == dataDim;
  input.isWeight = fn->fnKind == ast::FnKind::Export && input.dataAxis &&
                   input.name == "weight" && type->rank() == 1 &&
                   type->elem == Elem::F32;
  // A default of a tensor is the value of each of its elements.
  if (param.defaultValue) {
    Val val = constantOf(param.defaultValue, type->elem);
    if (val.isError())
      return false;
    Scalar scalar;
    scalar.elem = type->elem;
    if (val.kind == Val::Number)
      scalar = *val.scalar;
    else
      scalar.integer = val.number;
    input.defaultValue = scalar;
  }
  Node *node = makeNode(Op::Argument, *type, {}, param.name.range);
  node->number = out.inputs.size();
  node->name = param.name.name;
  Val val = Val::makeTensor({node, 0});
  val.origin = param.name.range;
  if (frame->findInnermost(param.name.name)) {
    report(Diag::Redefined, param.name.range)
            .label(frame->find(param.name.name)->origin, "first declared here")
        << param.name.name;
    return false;
  }
  frame->bind(param.name.name, val);
  out.inputs.push_back(std::move(input));
  return true;
}

void Checker::buildEntry(const ast::FnDecl *fn) {
  if (aborted || mainScope->decls.lookup(fn->name.name) != fn)
    return;
  if (fn->name.name == "init") {
    report(Diag::ReservedName, fn->name.range) << "init";
    return;
  }
  bool isStep = fn->fnKind == ast::FnKind::Step;
  program.functions.emplace_back();
  typed::Function &out = program.functions.back();
  out.kind = isStep ? typed::FunctionKind::Step : typed::FunctionKind::Export;
  out.name = fn->name.name.str();
  out.range = fn->name.range;
  out.doc = fn->doc;

  FnState state;
  state.out = &out;
  Frame inner;
  inner.scope = mainScope;
  inner.state = &state;
  inner.fn = fn;
  inner.mode = isStep ? Mode::Train : Mode::Evaluate;
  Frame *outer = frame;
  frame = &inner;
  frame->push();
  bool good = true;
  for (const ast::ParamDecl &param : fn->params)
    good &= addInput(state, fn, param);
  active.push_back({fn, nullptr, Range()}); // nobody called it
  if (good) {
    bool resultsGood = true;
    for (const ast::ResultType &result : fn->results)
      if (isClassWord(result.type->elem.name)) {
        report(Diag::EntryType, result.type->range)
            << sources.getText(result.type->range);
        resultsGood = false;
      }
    Val result = runBody(fn);
    Val finished;
    if (resultsGood && finishResult(fn, result, finished)) {
      ArrayRef<Val> results = finished;
      if (finished.kind == Val::Tuple)
        results = finished.elems;
      for (size_t i = 0; i < results.size(); ++i) {
        if (results[i].kind == Val::Record)
          report(Diag::NotAValue, fn->body->value->range)
              << "a record of gradients";
        if (results[i].kind != Val::Tensor)
          continue;
        typed::Result one;
        one.value = results[i].value;
        one.range = results[i].origin;
        if (i < fn->results.size()) {
          one.name = fn->results[i].name.name.str();
          one.dataAxis = dataDim && getAxisDim(fn->results[i].type) == dataDim;
        }
        out.results.push_back(std::move(one));
      }
    }
    if (isStep) {
      Val counter = programVariable("tds.step");
      Value step = readVar(counter, fn->name.range);
      Value one = makeInt(Elem::I64, 1, {}, fn->name.range);
      writeVar(counter, make(Op::Add, step.type(), {step, one}, fn->name.range),
               fn->name.range);
    }
  }
  active.pop_back();
  frame->pop();
  frame = outer;
  if (!options.checked)
    out.checks.clear();
  finishFunction(state);
  program.order.push_back(&out);
}

//===----------------------------------------------------------------------===//
// First values
//===----------------------------------------------------------------------===//

Value Checker::elabInit(const VarInit &init, const Type &type, FnState &state) {
  Frame inner;
  inner.scope = init.scope;
  inner.module = init.owner;
  if (init.owner)
    inner.self = {init.owner, true, ""};
  inner.mode = Mode::Init;
  inner.state = &state;
  Frame *outer = frame;
  frame = &inner;
  frame->push();
  const ast::Expr *e = init.decl->init;
  Val val = isFlexible(e) ? elabFlexible(e, type.elem) : elab(e, Expect(type));
  Value value = materialise(val, e->range, type.elem);
  if (value && value.type().elem != type.elem) {
    auto d = report(Diag::InitType, e->range);
    d << init.decl->name.name << toString(type) << toString(value.type());
    d.label(init.decl->type->range, "declared here");
    StringRef text = sources.getText(e->range);
    if (text.size() < 60)
      d.fix(e->range, typed::getName(type.elem) + "(" + text + ")",
            "convert it");
    value = {};
  }
  if (value && value.type().isScalar())
    value = makeBroadcast(value, type.axes, e->range);
  if (value && !sameShape(value.type().axes, type.axes)) {
    report(Diag::InitType, e->range)
            .label(init.decl->type->range, "declared here")
        << init.decl->name.name << toString(type) << toString(value.type());
    value = {};
  }
  frame->pop();
  frame = outer;
  return value;
}

void Checker::buildInit() {
  // The counters come last, for programs that train or read them.
  bool trains = llvm::any_of(program.functions, [](const auto &fn) {
    return fn.kind == typed::FunctionKind::Step;
  });
  if (trains || usesCounters) {
    for (StringRef name : {"tds.step", "tds.seed"}) {
      typed::Variable variable;
      variable.name = name.str();
      variable.role = typed::Role::Counter;
      variable.type = Type{Elem::I64, {}};
      addVariable(std::move(variable));
    }
  }
  program.functions.emplace_back();
  typed::Function &out = program.functions.back();
  out.kind = typed::FunctionKind::Init;
  out.name = "init";
  FnState state;
  state.out = &out;
  state.siteBase = initSiteBase;
  Frame inner;
  inner.scope = mainScope;
  inner.state = &state;
  inner.mode = Mode::Init;
  Frame *outer = frame;
  frame = &inner;
  Type counter{Elem::I64, {}};
  Node *seed = makeNode(Op::Argument, counter, {}, {});
  seed->name = "seed";
  out.inputs.push_back({"seed", counter, {}});
  // Draws read the seed and the step like those of a step do.
  state.vars["tds.seed"].current = {seed, 0};
  Value zero = makeInt(Elem::I64, 0, {}, {});
  state.vars["tds.step"].current = zero;
  for (size_t i = 0; i < program.variables.size() && !aborted; ++i) {
    const typed::Variable &variable = program.variables[i];
    Value value;
    if (variable.role == typed::Role::Counter) {
      value = variable.name == "tds.seed" ? Value{seed, 0} : zero;
    } else {
      auto it = inits.find(i);
      if (it == inits.end())
        continue;
      value = elabInit(it->second, variable.type, state);
    }
    if (value)
      out.writes.push_back({int64_t(i), variable.name, value});
  }
  frame = outer;
  out.checks.clear();
  program.order.push_back(&out);
  for (typed::Function &fn : program.functions) {
    if (fn.kind == typed::FunctionKind::Private)
      continue;
    for (auto *uses : {&fn.reads, &fn.writes})
      for (typed::VariableUse &use : *uses) {
        auto it = variableByName.find(use.name);
        if (it != variableByName.end())
          use.variable = it->second;
      }
  }
}
