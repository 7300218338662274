//===- Checker.cpp - Names and the run over a program -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Checker.h"
#include "tdsl/Frontend/Parser.h"
#include "tdsl/Std/StandardModules.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/thread.h"

using namespace tdsl;
using namespace tdsl::sema;
using llvm::cast;
using llvm::dyn_cast;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Frames
//===----------------------------------------------------------------------===//

void Frame::pop() {
  size_t mark = marks.pop_back_val();
  while (bindings.size() > mark) {
    Binding &b = bindings.back();
    if (b.previous < 0)
      top.erase(b.name);
    else
      top[b.name] = b.previous;
    bindings.pop_back();
  }
}

void Frame::bind(StringRef name, Val val) {
  auto it = top.find(name);
  bindings.push_back({name, val, it == top.end() ? -1 : it->second});
  top[name] = bindings.size() - 1;
}

Val *Frame::find(StringRef name) {
  auto it = top.find(name);
  return it == top.end() ? nullptr : &bindings[it->second].val;
}

Val *Frame::findInnermost(StringRef name) {
  auto it = top.find(name);
  if (it == top.end() || (!marks.empty() && it->second < int(marks.back())))
    return nullptr;
  return &bindings[it->second].val;
}

//===----------------------------------------------------------------------===//
// Scopes
//===----------------------------------------------------------------------===//

Checker::Checker(SourceManager &sources, DiagnosticEngine &diags,
                 ASTContext &context, const FrontendOptions &options,
                 typed::Program &program)
    : sources(sources), diags(diags), context(context), options(options),
      program(program) {}

static Builtin getBuiltin(StringRef name) {
  return llvm::StringSwitch<Builtin>(name)
#define BUILTIN(NAME, TEXT) .Case(TEXT, Builtin::NAME)
#include "Builtins.def"
      .Default(Builtin::None);
}

//===----------------------------------------------------------------------===//
// Lookup
//===----------------------------------------------------------------------===//

Val Checker::declVal(const ast::Decl *decl, const FileScope *scope) {
  Val val;
  val.decl = decl;
  val.scope = scope;
  val.origin = decl->name.range;
  switch (decl->kind) {
  case ast::DeclKind::Dim: {
    std::optional<int64_t> n = getDim(cast<ast::DimDecl>(decl), scope);
    if (!n)
      return Val();
    Val dim = Val::makeDim(*n);
    dim.origin = decl->name.range;
    dim.decl = decl;
    return dim;
  }
  case ast::DeclKind::Const:
    return getConst(cast<ast::ConstDecl>(decl), scope);
  case ast::DeclKind::Var: {
    Val variable = programVariable(decl->name.name);
    variable.origin = decl->name.range;
    return variable;
  }
  case ast::DeclKind::Layer: {
    auto it = globalLayers.find(decl->name.name);
    if (it == globalLayers.end() || !it->second.module)
      return Val();
    val.kind = it->second.count < 0 ? Val::Instance : Val::InstanceArray;
    val.number = it->second.count;
    val.instance = {it->second.module, false, decl->name.name};
    return val;
  }
  case ast::DeclKind::Module:
    val.kind = Val::ModuleClass;
    return val;
  case ast::DeclKind::Optimizer:
    val.kind = Val::OptimizerClass;
    return val;
  case ast::DeclKind::Fn:
    val.kind = Val::Function;
    return val;
  case ast::DeclKind::Use:
  case ast::DeclKind::Import:
  case ast::DeclKind::If:
    break;
  }
  return Val();
}

Val Checker::moduleMember(const ModuleInstance *module,
                          const InstanceRef &instance, StringRef name) {
  auto member = module->members.find(name);
  if (member == module->members.end())
    return Val();
  const ast::Decl *decl = member->second;
  Val val;
  val.decl = decl;
  val.scope = module->scope;
  val.origin = decl->name.range;
  auto below = [&]() -> StringRef {
    if (instance.path.empty())
      return name;
    return intern(instance.path + "." + name);
  };
  switch (decl->kind) {
  case ast::DeclKind::Var: {
    auto it = module->varByPath.find(name);
    if (it == module->varByPath.end())
      return Val();
    Val variable = variableVal(instance, module->vars[it->second]);
    variable.origin = decl->name.range;
    return variable;
  }
  case ast::DeclKind::Layer: {
    auto it = module->layers.find(name);
    if (it == module->layers.end() || !it->second.module)
      return Val();
    val.kind = it->second.count < 0 ? Val::Instance : Val::InstanceArray;
    val.number = it->second.count;
    val.instance = {it->second.module, instance.self, below()};
    return val;
  }
  case ast::DeclKind::Fn:
    val.kind = Val::Function;
    val.instance = instance;
    return val;
  default:
    return Val();
  }
}

Val Checker::lookup(StringRef name, Range range, bool shouldReport) {
  if (Val *local = frame->find(name))
    return *local;
  if (const ModuleInstance *module = frame->module) {
    auto arg = module->args.find(name);
    if (arg != module->args.end())
      return arg->second;
    if (module->members.count(name))
      return moduleMember(module, frame->self, name);
  }
  for (auto &[word, elem] : frame->classes)
    if (word == name) {
      Val val;
      val.kind = Val::ElemType;
      val.elem = elem;
      return val;
    }
  auto decl = frame->scope->decls.find(name);
  if (decl != frame->scope->decls.end())
    return declVal(decl->second, frame->scope);
  auto module = frame->scope->modules.find(name);
  if (module != frame->scope->modules.end()) {
    if (!module->second)
      return Val();
    Val val;
    val.kind = Val::Namespace;
    val.scope = module->second;
    return val;
  }
  if (std::optional<Elem> elem = getElem(name)) {
    Val val;
    val.kind = Val::ElemType;
    val.elem = name == "f32" && frame->f32As ? *frame->f32As : *elem;
    return val;
  }
  Builtin builtin = getBuiltin(name);
  if (builtin == Builtin::Training && frame->mode != Mode::Const) {
    Val val = Val::makeTruth(frame->mode == Mode::Train);
    return val;
  }
  if (builtin != Builtin::None) {
    Val val;
    val.kind = Val::BuiltinName;
    val.builtin = builtin;
    if (builtin == Builtin::RandomNamespace || builtin == Builtin::TdsNamespace)
      val.kind = Val::Namespace;
    return val;
  }
  // Initialisers are at hand without `use`.
  if (name == "init")
    if (FileScope *init = loadModule("init", range)) {
      Val val;
      val.kind = Val::Namespace;
      val.scope = init;
      return val;
    }
  if (shouldReport)
    reportUnknownName(name, range);
  return Val();
}

void Checker::collectNames(llvm::SmallVectorImpl<StringRef> &out) {
  for (const Binding &b : frame->bindings)
    out.push_back(b.name);
  if (frame->module) {
    for (auto &entry : frame->module->args)
      out.push_back(entry.getKey());
    for (auto &entry : frame->module->members)
      out.push_back(entry.getKey());
  }
  for (auto &entry : frame->scope->decls)
    out.push_back(entry.getKey());
  for (auto &entry : frame->scope->modules)
    out.push_back(entry.getKey());
#define BUILTIN(NAME, TEXT) out.push_back(TEXT);
#include "Builtins.def"
}

/// A member that an instance may lack: its `if` chose the other side.
static const ast::Decl *findMember(llvm::ArrayRef<ast::Decl *> members,
                                   StringRef name) {
  for (const ast::Decl *member : members) {
    if (member->name.name == name)
      return member;
    if (auto *choice = dyn_cast<ast::IfDecl>(member))
      for (auto side : {choice->thenMembers, choice->elseMembers})
        if (const ast::Decl *found = findMember(side, name))
          return found;
  }
  return nullptr;
}

void Checker::reportUnknownName(StringRef name, Range range) {
  // The walk over all names has said it once.
  if (unknownNames.contains(name))
    return;
  llvm::SmallVector<StringRef, 64> names;
  collectNames(names);
  auto d = report(Diag::UnknownName, range);
  d << name;
  if (frame->module && frame->module->decl)
    if (const ast::Decl *member =
            findMember(frame->module->decl->members, name)) {
      d.label(member->name.range, "this one is not chosen here");
      d.note("use it under the condition under which it is declared");
      return;
    }
  StringRef nearest = findNearest(name, names);
  if (!nearest.empty())
    d.fix(range, nearest, "did you mean");
}

/// `g.w` of a record of gradients, or the record of a layer, `g.fc1`; the names
/// that there are where there is none such.
Val Checker::getRecordPart(const Val &record, StringRef member,
                           llvm::SmallVectorImpl<StringRef> &known) {
  llvm::SmallVector<Val, 8> elems;
  llvm::SmallVector<StringRef, 8> names;
  for (auto [name, elem] : llvm::zip(record.names, record.elems)) {
    StringRef below = name;
    if (!record.path.empty() && below.consume_front(record.path))
      below.consume_front(".");
    auto [first, rest] = below.split('.');
    if (first != member) {
      known.push_back(first);
      continue;
    }
    if (rest.empty())
      return elem;
    elems.push_back(elem);
    names.push_back(name);
  }
  if (elems.empty())
    return Val();
  Val part = record;
  part.elems = copy(llvm::ArrayRef<Val>(elems));
  part.names = copy(llvm::ArrayRef<StringRef>(names));
  part.path =
      record.path.empty() ? intern(member) : intern(record.path + "." + member);
  return part;
}

Val Checker::lookupMember(Val base, const ast::Ident &member,
                          const ast::Expr *at) {
  if (base.isError() || !member.isValid())
    return Val();
  llvm::SmallVector<StringRef, 16> names;
  switch (base.kind) {
  case Val::Namespace: {
    if (!base.scope) {
      StringRef space =
          base.builtin == Builtin::RandomNamespace ? "random" : "tds";
      if (space == "tds" && (member.name == "step" || member.name == "seed"))
        return programVariable(intern("tds." + member.name));
      Builtin builtin = getBuiltin((space + "." + member.name).str());
      if (builtin != Builtin::None) {
        Val val;
        val.kind = Val::BuiltinName;
        val.builtin = builtin;
        return val;
      }
      names = space == "tds" ? llvm::SmallVector<StringRef, 16>{"step", "seed"}
                             : llvm::SmallVector<StringRef, 16>{
                                   "uniform", "normal", "bernoulli"};
      break;
    }
    auto it = base.scope->decls.find(member.name);
    if (it != base.scope->decls.end()) {
      Frame inner;
      inner.scope = base.scope;
      Frame *outer = frame;
      frame = &inner;
      Val val = declVal(it->second, base.scope);
      frame = outer;
      return val;
    }
    for (auto &entry : base.scope->decls)
      names.push_back(entry.getKey());
    break;
  }
  case Val::Instance: {
    const ModuleInstance *module = base.instance.module;
    auto arg = module->args.find(member.name);
    if (arg != module->args.end())
      return arg->second;
    if (module->members.count(member.name))
      return moduleMember(module, base.instance, member.name);
    for (auto &entry : module->members)
      names.push_back(entry.getKey());
    break;
  }
  case Val::Record: {
    Val part = getRecordPart(base, member.name, names);
    if (!part.isError())
      return part;
    break;
  }
  case Val::Tensor:
  case Val::Variable: {
    auto d = report(Diag::NoMember, member.range);
    d << member.name << "a tensor";
    if (member.name == "shape" || member.name == "size")
      d.note("sizes are names: give them in the type, as in `x: f32[n, k]`");
    if (member.name == "T")
      d.fix(at->range,
            "transpose(" +
                sources.getText(cast<ast::MemberExpr>(at)->base->range) + ")",
            "use `transpose`");
    return Val();
  }
  default:
    break;
  }
  auto d = report(Diag::NoMember, member.range);
  std::string what =
      base.kind == Val::Namespace
          ? "the module `" +
                sources.getText(cast<ast::MemberExpr>(at)->base->range).str() +
                "`"
      : base.kind == Val::Instance
          ? "`" + base.instance.module->decl->name.name.str() + "`"
      : base.kind == Val::Record ? "this record"
                                 : "this value";
  d << member.name << what;
  if (base.kind == Val::Instance && base.instance.module->decl)
    if (const ast::Decl *other =
            findMember(base.instance.module->decl->members, member.name)) {
      d.label(other->name.range, "this one is not chosen here");
      return Val();
    }
  StringRef nearest = findNearest(member.name, names);
  if (!nearest.empty())
    d.fix(member.range, nearest, "did you mean");
  return Val();
}

std::optional<int64_t> Checker::getDim(const ast::DimDecl *decl,
                                       const FileScope *scope) {
  auto it = dims.find(decl);
  if (it != dims.end())
    return it->second;
  if (dimsInProgress.lookup(decl)) {
    report(Diag::CyclicDefinition, decl->name.range) << decl->name.name;
    return std::nullopt;
  }
  std::optional<int64_t> result;
  auto define = options.defines.find(decl->name.name.str());
  if (scope == mainScope && define != options.defines.end()) {
    result = define->second;
    if (*result < 0) {
      report(Diag::NegativeSize, decl->name.range) << Twine(*result);
      result = std::nullopt;
    }
  } else if (decl->bound) {
    report(Diag::NotSupportedYet, decl->range) << "a run-time size";
  } else if (!decl->value) {
    report(Diag::DimWithoutValue, decl->name.range)
            .fix({decl->name.range.end, decl->name.range.end}, " = 1",
                 "give it a value here")
        << decl->name.name;
  } else {
    dimsInProgress[decl] = true;
    Frame inner;
    inner.scope = scope;
    Frame *outer = frame;
    frame = &inner;
    result = evalSize(decl->value);
    frame = outer;
    dimsInProgress[decl] = false;
    if (result && *result < 0) {
      report(Diag::NegativeSize, decl->value->range) << Twine(*result);
      result = std::nullopt;
    }
  }
  dims[decl] = result;
  return result;
}

Val Checker::getConst(const ast::ConstDecl *decl, const FileScope *scope) {
  auto known = consts.find(decl);
  if (known != consts.end())
    return known->second;
  if (!constsInProgress.insert(decl).second) {
    report(Diag::CyclicDefinition, decl->name.range) << decl->name.name;
    return Val();
  }
  Frame inner;
  inner.scope = scope;
  Frame *outer = frame;
  typed::Body *outerBody = body;
  frame = &inner;
  body = nullptr;
  Val val;
  std::optional<Type> type;
  std::optional<Elem> elem;
  bool good = true;
  if (decl->type && decl->type->hasShape) {
    type = resolveType(decl->type);
    good = type.has_value();
    if (type)
      elem = type->elem;
  } else if (decl->type) {
    elem = resolveElem(decl->type);
    good = elem.has_value();
  }
  if (good) {
    // Another constant may be a tensor.
    bool isName = llvm::isa<ast::NameExpr, ast::MemberExpr>(decl->value);
    auto *list = dyn_cast<ast::ListExpr>(decl->value);
    if (list)
      val = elabList(list, elem);
    else if (isName)
      val = resolve(decl->value);
    if (isName ? !val.isError() && val.kind != Val::Literal : !list)
      val = constantOf(decl->value, elem);
  }
  if (!val.isError() && decl->type &&
      type.has_value() != (val.kind == Val::Literal)) {
    if (type) {
      // One number for every element.
      Scalar scalar;
      scalar.elem = type->elem;
      scalar.integer = val.number;
      const Scalar *one = val.kind == Val::Number ? val.scalar : keep(scalar);
      val = Val();
      val.kind = Val::Literal;
      val.type = *type;
      val.elements = copy(llvm::ArrayRef<const Scalar *>(one));
    } else {
      report(Diag::ConstantType, decl->value->range) << typed::getName(*elem);
      val = Val();
    }
  } else if (val.kind == Val::Literal && type && !isSame(val.type, *type)) {
    report(Diag::ConstantType, decl->value->range)
            .here("this is " + toString(val.type))
            .label(decl->type->range, "declared here")
        << toString(*type);
    val = Val();
  }
  frame = outer;
  body = outerBody;
  constsInProgress.erase(decl);
  val.origin = decl->name.range;
  consts[decl] = val;
  return val;
}

//===----------------------------------------------------------------------===//
// The run
//===----------------------------------------------------------------------===//

void Checker::run(const ast::File &main) {
  std::string path = sources.getName(main.id).str();
  bool imports = llvm::any_of(main.decls, [](const ast::Decl *decl) {
    return llvm::isa<ast::ImportDecl>(decl);
  });
  reading.push_back(
      {imports ? options.readFile(path).identity : path, path, Range()});
  mainScope = makeScope(main, "", path);
  reading.pop_back();
  bool named = resolveNames(*mainScope, diags, unknownNames);
  // What an imported file lacks would be met again here, and so would a type
  // whose name means something else.
  if (!named || (diags.hasErrors() && importFailed))
    return;
  for (auto &[name, value] : options.defines) {
    auto it = mainScope->decls.find(name);
    if (it != mainScope->decls.end() && llvm::isa<ast::DimDecl>(it->second))
      continue;
    llvm::SmallVector<StringRef, 16> names;
    for (auto &entry : mainScope->decls)
      if (llvm::isa<ast::DimDecl>(entry.second))
        names.push_back(entry.getKey());
    auto d = report(Diag::UnknownDefine, Range());
    d << name;
    StringRef nearest = findNearest(name, names);
    if (!nearest.empty())
      d.note("did you mean `-D " + nearest + "=…`?");
  }
  Frame top;
  top.scope = mainScope;
  frame = &top;
  // All sizes and constants, also those that nothing uses.
  for (const ast::Decl *decl : main.decls) {
    if (auto *dim = dyn_cast<ast::DimDecl>(decl))
      getDim(dim, mainScope);
    else if (auto *constant = dyn_cast<ast::ConstDecl>(decl))
      getConst(constant, mainScope);
  }
  declareProgram();
  for (const ast::Decl *decl : main.decls)
    if (auto *fn = dyn_cast<ast::FnDecl>(decl))
      if (fn->fnKind != ast::FnKind::Plain)
        buildEntry(fn);
  buildInit();
  frame = nullptr;
}

std::unique_ptr<FrontendResult> tdsl::compile(SourceManager &sources,
                                              SourceManager::FileId main,
                                              const FrontendOptions &options,
                                              DiagnosticEngine &diags) {
  auto result = std::make_unique<FrontendResult>();
  auto program = std::make_unique<typed::Program>();
  auto work = [&] {
    result->main = parseFile(sources, main, result->context, diags);
    if (!diags.hasErrors())
      Checker(sources, diags, result->context, options, *program)
          .run(result->main);
  };
  // Expressions nest up to a limit in every function of a chain of calls;
  // a stack of its own makes the limits safe on any thread.
  llvm::thread thread(std::optional<unsigned>(256u << 20), work);
  thread.join();
  if (!diags.hasErrors())
    result->program = std::move(program);
  return result;
}
