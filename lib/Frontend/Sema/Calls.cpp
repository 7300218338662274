//===- Calls.cpp - Callees and their arguments -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call binds the sizes, packs and element classes of the signature from the
// arguments. See Instantiate.cpp for what follows.
//
//===----------------------------------------------------------------------===//

#include "Checker.h"
#include "llvm/ADT/StringSwitch.h"

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

/// The names that other libraries have for parameters of functions here.
static StringRef findForeignParam(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .Cases({"keepdims", "keepdim", "keep_dims"}, "keep")
      .Cases({"dim", "dims", "axes"}, "axis")
      .Default("");
}

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
        StringRef nearest = findForeignParam(arg.name.name);
        if (!llvm::is_contained(params, nearest))
          nearest = findNearest(arg.name.name, params);
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

bool Checker::takeTensorArgs(const ast::CallExpr *e, StringRef name,
                             ArrayRef<StringRef> params, unsigned required,
                             llvm::SmallVectorImpl<const ast::Expr *> &out) {
  if (!takeArgs(e, name, params, required, out))
    return false;
  return !rejectInBody(e, name);
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
      else if (word == "int")
        d.fix(e->range, "i32(" + sources.getText(e->range) + ")", "convert it");
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
  bool good = !val.isError() &&
              (!isDefault || fillDefault(param, e->range, val)) &&
              bindTensorArg(callee, param, val, e, arg);
  frame = outer;
  return good;
}

/// A number as the default of a tensor is the value of each of its elements.
/// The frame is that of the callee, where the sizes are bound.
bool Checker::fillDefault(const ast::ParamDecl &param, Range range, Val &val) {
  if (!param.type->hasShape || body)
    return true;
  Value value = materialise(val, range);
  if (!value)
    return false;
  val = Val::makeTensor(value);
  if (!value.type().isScalar())
    return true;
  for (const ast::ShapeItem &item : param.type->shape) {
    StringRef name;
    bool open =
        item.kind == ast::ShapeItem::Infer ||
        (item.kind == ast::ShapeItem::Pack && !frame->find(item.pack.name)) ||
        (item.kind == ast::ShapeItem::Size && isInferredSize(item.size, name));
    if (open) {
      report(Diag::CannotInfer, item.range)
          .label(range, "a number gives no size");
      return false;
    }
  }
  std::optional<Type> type = resolveType(param.type);
  if (!type)
    return false;
  val = Val::makeTensor(makeBroadcast(value, type->axes, range));
  return true;
}

bool Checker::bindArg(Frame &callee, const ast::FnDecl *fn, size_t i,
                      const ast::Expr *e, Val &arg) {
  const ast::ParamDecl &param = fn->params[i];
  StringRef word = param.type->elem.name;
  if (param.type->isLike()) {
    arg = asRecord(elab(e), e->range);
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
