//===- Resolver.cpp - Names in all bodies -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The checker sees a body when something calls it. This walk sees all of
// them, and reports names that mean nothing and names that are given twice.
//
//===----------------------------------------------------------------------===//

#include "Checker.h"
#include "tdsl/Frontend/Parser.h"
#include "tdsl/Std/StandardModules.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace tdsl;
using namespace tdsl::sema;
using llvm::ArrayRef;
using llvm::cast;
using llvm::dyn_cast;
using llvm::isa;
using llvm::StringRef;
using llvm::Twine;

namespace {
class NameWalk {
public:
  NameWalk(const FileScope &scope, DiagnosticEngine &diags,
           llvm::StringSet<> &unknownNames)
      : scope(scope), diags(diags), unknownNames(unknownNames) {}
  /// False when a name of the language was declared.
  bool run();

private:
  struct Name {
    StringRef name;
    SourceRange range;
  };
  void visit(const ast::FnDecl *fn, bool inOptimizer);
  void visit(const ast::ModuleDecl *module);
  void visit(const ast::OptimizerDecl *optimizer);
  void declareMembers(ArrayRef<const ast::Decl *> members, size_t from);
  void visitMembers(ArrayRef<const ast::Decl *> members);
  void visit(const ast::Block *block);
  void visit(const ast::Stmt *stmt);
  void visit(const ast::Expr *e);
  void visitType(const ast::TypeExpr *type, bool infers);
  void visitBinders(ArrayRef<ast::Binder> binders);
  void visitParams(ArrayRef<ast::ParamDecl> params, bool infers,
                   bool needTypes);
  bool isKnown(StringRef name);
  bool checkReserved(const ast::Ident &name);
  void checkResultNames(const ast::FnDecl *fn);
  void unknown(StringRef name, SourceRange range);
  void proposeUse(DiagBuilder &d, StringRef module);
  void declare(const ast::Ident &name) {
    if (name.isValid() && checkReserved(name))
      names.push_back({name.name, name.range});
  }
  void declareOnce(const ast::Ident &name, size_t from);
  size_t mark() const { return names.size(); }
  void release(size_t to) { names.resize(to); }

  const FileScope &scope;
  DiagnosticEngine &diags;
  std::vector<Name> names;
  llvm::StringSet<> missingModules, unknownHere;
  llvm::StringSet<> &unknownNames;
  bool usesReserved = false;
  /// Inside the value of an index definition; inside the brackets of a read.
  bool inDefinition = false, inIndices = false;
};
} // namespace

/// What a standard module declares under `name`, in whatever case, as
/// "nn.relu"; empty when there is nothing.
static std::string findInStandardModules(StringRef name, StringRef &module) {
  std::string found;
  for (const StandardModule &standard : getStandardModules()) {
    StringRef rest = standard.text;
    while (!rest.empty()) {
      auto [line, next] = rest.split('\n');
      rest = next;
      if (!line.consume_front("fn ") && !line.consume_front("module ") &&
          !line.consume_front("optimizer "))
        continue;
      StringRef declared =
          line.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
      if (!declared.equals_insensitive(name))
        continue;
      if (!found.empty() && declared != name)
        continue;
      module = standard.name;
      found = (standard.name + "." + declared).str();
      if (declared == name)
        return found;
    }
  }
  return found;
}

/// Names that other libraries have for what a standard module holds.
static StringRef findForeignMember(StringRef module, StringRef name) {
  return llvm::StringSwitch<StringRef>((module + "." + name).str())
      .Case("optim.nesterov", "momentum(nesterov = true)")
      .Case("optim.NAG", "momentum(nesterov = true)")
      .Case("nn.Dense", "Linear")
      .Case("nn.dense", "Linear")
      .Case("nn.mse_loss", "mse")
      .Case("nn.swish", "silu")
      .Default("");
}

static bool isBuiltinName(StringRef name) {
  static const llvm::StringSet<> all = [] {
    llvm::StringSet<> set;
#define BUILTIN(NAME, TEXT) set.insert(TEXT);
#include "Builtins.def"
    for (StringRef word : {"bool", "i8", "u8", "i32", "i64", "f16", "bf16",
                           "f32", "f64", "float", "int", "num", "init"})
      set.insert(word);
    return set;
  }();
  return all.contains(name);
}

bool NameWalk::checkReserved(const ast::Ident &name) {
  if (!isTypeWord(name.name))
    return true;
  usesReserved = true;
  diags.report(Diag::ReservedName, name.range)
          .note("types keep their names; choose another one here")
      << name.name;
  return false;
}

/// A caller finds the results of an entry by their names.
void NameWalk::checkResultNames(const ast::FnDecl *fn) {
  llvm::StringMap<SourceRange> seen;
  for (const ast::ResultType &result : fn->results) {
    if (!result.name.isValid())
      continue;
    auto [it, fresh] = seen.try_emplace(result.name.name, result.name.range);
    if (!fresh)
      diags.report(Diag::Redefined, result.name.range)
              .label(it->second, "first declared here")
          << result.name.name;
  }
}

bool NameWalk::isKnown(StringRef name) {
  for (const Name &n : llvm::reverse(names))
    if (n.name == name)
      return true;
  return scope.decls.count(name) || scope.modules.count(name) ||
         isBuiltinName(name);
}

void NameWalk::unknown(StringRef name, SourceRange range) {
  // One `use` mends all places.
  bool isModule =
      llvm::any_of(getStandardModules(), [&](const StandardModule &module) {
        return module.name == name;
      });
  if (isModule && !missingModules.insert(name).second)
    return;
  // A name twice in a statement is one mistake.
  unknownNames.insert(name);
  if (!unknownHere.insert(name).second)
    return;
  llvm::SmallVector<StringRef, 64> all;
  for (const Name &n : names)
    all.push_back(n.name);
  for (auto &entry : scope.decls)
    all.push_back(entry.getKey());
  for (auto &entry : scope.modules)
    all.push_back(entry.getKey());
#define BUILTIN(NAME, TEXT)                                                    \
  if (!StringRef(TEXT).contains('.'))                                          \
    all.push_back(TEXT);
#include "Builtins.def"
  llvm::sort(all);
  auto d = diags.report(Diag::UnknownName, range);
  d << name;
  if (isModule) {
    proposeUse(d, name);
    return;
  }
  StringRef nearest = findNearest(name, all), module;
  if (inDefinition && inIndices) {
    d.note("an index that is summed over is bound by the sum: `sum[" + name +
           "](…)`");
    // The size `K` is hardly what the index `k` should be.
    if (nearest.equals_insensitive(name))
      return;
  }
  std::string standard = findInStandardModules(name, module);
  if (!standard.empty() && !nearest.equals_insensitive(name)) {
    bool isUsed = module == "init" || scope.modules.count(module);
    d.fix(range, standard,
          isUsed ? "did you mean"
                 : "`" + standard + "` is in a standard module");
    if (!isUsed && missingModules.insert(module).second)
      proposeUse(d, module);
    return;
  }
  if (!nearest.empty())
    d.fix(range, nearest, "did you mean");
}

/// `use` after the names that the file uses already, or at its beginning.
void NameWalk::proposeUse(DiagBuilder &d, StringRef module) {
  SourceLoc place = scope.begin;
  bool hasUse = false;
  for (const ast::Decl *decl : scope.file.decls)
    if (isa<ast::UseDecl>(decl)) {
      place = decl->name.range.end;
      hasUse = true;
    }
  d.fix({place, place}, hasUse ? ", " + module : "use " + module + "\n",
        "the standard module needs `use " + module + "`");
}

void NameWalk::declareOnce(const ast::Ident &name, size_t from) {
  if (!name.isValid())
    return;
  for (size_t i = from; i < names.size(); ++i)
    if (names[i].name == name.name) {
      diags.report(Diag::Redefined, name.range)
              .label(names[i].range, "first declared here")
          << name.name;
      return;
    }
  declare(name);
}

void NameWalk::visitType(const ast::TypeExpr *type, bool infers) {
  if (!type || !type->elem.isValid())
    return;
  StringRef elem = type->elem.name;
  if (!isKnown(elem) && elem != "dim" && elem != "like") {
    static const StringRef candidates[] = {"bool", "i8",    "u8",   "i32",
                                           "i64",  "f16",   "bf16", "f32",
                                           "f64",  "float", "int",  "num"};
    auto d = diags.report(Diag::UnknownType, type->elem.range);
    d << elem;
    StringRef nearest = findNearest(elem, candidates);
    if (elem == "float32")
      nearest = "f32";
    if (!nearest.empty())
      d.fix(type->elem.range, nearest, "did you mean");
  }
  for (const ast::ShapeItem &item : type->shape) {
    if (item.kind == ast::ShapeItem::Pack && infers) {
      if (!isKnown(item.pack.name))
        declare(item.pack);
      continue;
    }
    if (item.kind != ast::ShapeItem::Size)
      continue;
    auto *name = dyn_cast<ast::NameExpr>(item.size);
    if (infers && name && !isKnown(name->name) &&
        (llvm::isLower(name->name[0]) || name->name[0] == '_'))
      names.push_back({name->name, name->range});
  }
}

void NameWalk::visitParams(ArrayRef<ast::ParamDecl> params, bool infers,
                           bool needTypes) {
  for (const ast::ParamDecl &param : params) {
    visitType(param.type, infers);
    if (!param.type && needTypes)
      diags.report(Diag::ParamWithoutType, param.name.range) << param.name.name;
  }
  // Sizes may stand in expressions before the parameter that names them.
  for (const ast::ParamDecl &param : params)
    if (param.type)
      for (const ast::ShapeItem &item : param.type->shape)
        if (item.kind == ast::ShapeItem::Size && !isa<ast::NameExpr>(item.size))
          for (const ast::ParamDecl &other : params)
            if (other.type && other.type->elem.name == "dim")
              declare(other.name);
  size_t from = mark();
  for (const ast::ParamDecl &param : params) {
    if (param.defaultValue)
      visit(param.defaultValue);
    declareOnce(param.name, from);
  }
  for (const ast::ParamDecl &param : params) {
    if (!param.type)
      continue;
    for (const ast::ShapeItem &item : param.type->shape)
      if (item.kind == ast::ShapeItem::Size)
        visit(item.size);
    if (param.type->isLike() && param.type->like.name != "param" &&
        param.type->like.name != "module" && !isKnown(param.type->like.name))
      unknown(param.type->like.name, param.type->like.range);
  }
}

void NameWalk::visit(const ast::FnDecl *fn, bool inOptimizer) {
  size_t at = mark();
  // Sizes that an entry leaves open are reported with its types.
  visitParams(fn->params, true, !inOptimizer);
  for (const ast::ResultType &result : fn->results) {
    visitType(result.type, true);
    for (const ast::ShapeItem &item : result.type->shape)
      if (item.kind == ast::ShapeItem::Size)
        visit(item.size);
  }
  checkResultNames(fn);
  if (fn->body)
    visit(fn->body);
  if (fn->vjp) {
    size_t inner = mark();
    for (const ast::Ident &name : fn->vjp->params)
      declareOnce(name, inner);
    if (fn->vjp->body)
      visit(fn->vjp->body);
    release(inner);
  }
  release(at);
}

void NameWalk::visit(const ast::ModuleDecl *module) {
  size_t at = mark();
  for (const ast::ParamDecl &param : module->params)
    if (param.type)
      visitType(param.type, false);
  for (const ast::ParamDecl &param : module->params) {
    if (param.defaultValue)
      visit(param.defaultValue);
    declareOnce(param.name, at);
  }
  declareMembers(module->members, at);
  visitMembers(module->members);
  release(at);
}

/// Both sides of an `if` may declare a name: one of them is chosen.
void NameWalk::declareMembers(ArrayRef<const ast::Decl *> members,
                              size_t from) {
  for (const ast::Decl *member : members) {
    auto *choice = dyn_cast<ast::IfDecl>(member);
    if (!choice) {
      declareOnce(member->name, from);
      continue;
    }
    size_t before = mark();
    declareMembers(choice->thenMembers, from);
    std::vector<Name> chosen(names.begin() + before, names.end());
    release(before);
    declareMembers(choice->elseMembers, from);
    for (const Name &name : chosen)
      names.push_back(name);
  }
}

void NameWalk::visitMembers(ArrayRef<const ast::Decl *> members) {
  for (const ast::Decl *member : members) {
    switch (member->kind) {
    case ast::DeclKind::If: {
      auto *choice = cast<ast::IfDecl>(member);
      visit(choice->cond);
      visitMembers(choice->thenMembers);
      visitMembers(choice->elseMembers);
      break;
    }
    case ast::DeclKind::Var: {
      auto *var = cast<ast::VarDecl>(member);
      visitType(var->type, false);
      for (const ast::ShapeItem &item : var->type->shape)
        if (item.size)
          visit(item.size);
      visit(var->init);
      break;
    }
    case ast::DeclKind::Layer: {
      auto *layer = cast<ast::LayerDecl>(member);
      if (layer->count)
        visit(layer->count);
      visit(layer->value);
      break;
    }
    case ast::DeclKind::Fn: {
      auto *fn = cast<ast::FnDecl>(member);
      if (fn->fnKind != ast::FnKind::Plain)
        diags.report(Diag::MemberOutOfPlace, fn->name.range)
            << (fn->fnKind == ast::FnKind::Step ? "a step" : "an `export fn`")
            << "a module";
      visit(fn, false);
      break;
    }
    default:
      diags.report(Diag::MemberOutOfPlace, member->name.range)
          << "this declaration" << "a module";
    }
  }
}

void NameWalk::visit(const ast::OptimizerDecl *optimizer) {
  size_t at = mark();
  visitParams(optimizer->params, false, true);
  for (const ast::Decl *member : optimizer->members) {
    auto *var = dyn_cast<ast::VarDecl>(member);
    auto *fn = dyn_cast<ast::FnDecl>(member);
    bool fits = (var && !var->isParam) ||
                (fn && fn->fnKind == ast::FnKind::Plain &&
                 (fn->name.name == "begin" || fn->name.name == "update"));
    if (!fits) {
      auto d = diags.report(Diag::MemberOutOfPlace, member->name.range);
      d << (var  ? "a param"
            : fn ? ("the function `" + fn->name.name + "`").str()
                 : std::string("this declaration"))
        << "an optimizer";
      StringRef nearest =
          fn ? findNearest(fn->name.name, {"begin", "update"}) : StringRef();
      if (!nearest.empty())
        d.fix(fn->name.range, nearest, "did you mean");
      d.note("an optimizer holds states, `fn begin()` and `fn "
             "update(p, g)`");
      continue;
    }
    declareOnce(member->name, at);
  }
  for (const ast::Decl *member : optimizer->members) {
    if (auto *var = dyn_cast<ast::VarDecl>(member)) {
      visitType(var->type, false);
      visit(var->init);
    } else if (auto *fn = dyn_cast<ast::FnDecl>(member)) {
      visit(fn, true);
    }
  }
  release(at);
}

void NameWalk::visitBinders(ArrayRef<ast::Binder> binders) {
  for (const ast::Binder &binder : binders)
    if (binder.bound)
      visit(binder.bound);
  // `i8` may well be the ninth index: no type stands where an index does.
  for (const ast::Binder &binder : binders)
    if (binder.name.isValid())
      names.push_back({binder.name.name, binder.name.range});
}

void NameWalk::visit(const ast::Expr *e) {
  while (e) {
    switch (e->kind) {
    case ast::ExprKind::Name: {
      StringRef name = cast<ast::NameExpr>(e)->name;
      if (name != "_" && !isKnown(name))
        unknown(name, e->range);
      return;
    }
    case ast::ExprKind::Unary:
      e = cast<ast::UnaryExpr>(e)->operand;
      continue;
    case ast::ExprKind::Binary: {
      // In the order of the source: a name is missed where it stands first.
      llvm::SmallVector<const ast::Expr *, 8> parts;
      while (auto *binary = dyn_cast<ast::BinaryExpr>(e)) {
        parts.push_back(binary->rhs);
        e = binary->lhs;
      }
      visit(e);
      for (const ast::Expr *part : llvm::reverse(parts))
        visit(part);
      return;
    }
    case ast::ExprKind::Select: {
      auto *select = cast<ast::SelectExpr>(e);
      visit(select->cond);
      visit(select->thenValue);
      e = select->elseValue;
      continue;
    }
    case ast::ExprKind::IfBlock: {
      auto *branch = cast<ast::IfBlockExpr>(e);
      visit(branch->cond);
      visit(branch->thenBlock);
      if (branch->elseBlock)
        visit(branch->elseBlock);
      return;
    }
    case ast::ExprKind::Call: {
      auto *call = cast<ast::CallExpr>(e);
      for (const ast::Arg &arg : call->args)
        visit(arg.value);
      e = call->callee;
      continue;
    }
    case ast::ExprKind::Member: {
      auto *member = cast<ast::MemberExpr>(e);
      auto *base = dyn_cast<ast::NameExpr>(member->base);
      if (base && !llvm::any_of(names, [&](const Name &n) {
            return n.name == base->name;
          })) {
        auto module = scope.modules.find(base->name);
        if (module != scope.modules.end() && module->second &&
            member->member.isValid() &&
            !module->second->decls.count(member->member.name)) {
          llvm::SmallVector<StringRef, 32> all;
          for (auto &entry : module->second->decls)
            all.push_back(entry.getKey());
          llvm::sort(all);
          auto d = diags.report(Diag::NoMember, member->member.range);
          d << member->member.name << "the module `" + base->name + "`";
          StringRef nearest = findNearest(member->member.name, all);
          StringRef ours = findForeignMember(base->name, member->member.name);
          if (ours.contains('('))
            d.note("it is `" + base->name + "." + ours + "` here");
          else if (!ours.empty() || !nearest.empty())
            d.fix(member->member.range, ours.empty() ? nearest : ours,
                  "did you mean");
          return;
        }
      }
      e = member->base;
      continue;
    }
    case ast::ExprKind::Index: {
      auto *index = cast<ast::IndexExpr>(e);
      bool outer = inIndices;
      inIndices = true;
      for (const ast::IndexItem &item : index->items)
        for (const ast::Expr *part : {item.value, item.low, item.high})
          visit(part);
      inIndices = outer;
      e = index->base;
      continue;
    }
    case ast::ExprKind::Reduce: {
      auto *reduce = cast<ast::ReduceExpr>(e);
      size_t at = mark();
      visitBinders(reduce->binders);
      visit(reduce->body);
      release(at);
      return;
    }
    case ast::ExprKind::Tuple:
      for (const ast::Expr *elem : cast<ast::TupleExpr>(e)->elems)
        visit(elem);
      return;
    case ast::ExprKind::List:
      for (const ast::ListItem &item : cast<ast::ListExpr>(e)->items)
        visit(item.value);
      return;
    default:
      return;
    }
  }
}

void NameWalk::visit(const ast::Block *block) {
  size_t at = mark();
  for (const ast::Stmt *stmt : block->stmts)
    visit(stmt);
  visit(block->value);
  release(at);
}

void NameWalk::visit(const ast::Stmt *stmt) {
  unknownHere.clear();
  switch (stmt->kind) {
  case ast::StmtKind::Error:
    return;
  case ast::StmtKind::Let: {
    auto *let = cast<ast::LetStmt>(stmt);
    visit(let->value);
    for (const ast::Ident &name : let->names)
      declare(name);
    return;
  }
  case ast::StmtKind::IndexDef: {
    auto *def = cast<ast::IndexDefStmt>(stmt);
    size_t at = mark();
    visitBinders(def->binders);
    bool outer = inDefinition;
    inDefinition = true;
    visit(def->value);
    inDefinition = outer;
    release(at);
    declare(def->name);
    return;
  }
  case ast::StmtKind::Assign: {
    auto *assign = cast<ast::AssignStmt>(stmt);
    visit(assign->value);
    if (!isKnown(assign->name.name)) {
      llvm::SmallVector<StringRef, 16> locals;
      for (const Name &n : names)
        locals.push_back(n.name);
      StringRef nearest = findNearest(assign->name.name, locals);
      unknownNames.insert(assign->name.name);
      auto d = diags.report(Diag::UnknownName, assign->name.range);
      d << assign->name.name;
      if (!nearest.empty())
        d.fix(assign->name.range, nearest, "did you mean");
      else
        d.fix({assign->name.range.begin, assign->name.range.begin}, "let ",
              "a new name begins with `let`");
      declare(assign->name);
    }
    return;
  }
  case ast::StmtKind::Dim:
    visit(cast<ast::DimStmt>(stmt)->value);
    declare(cast<ast::DimStmt>(stmt)->name);
    return;
  case ast::StmtKind::For: {
    auto *loop = cast<ast::ForStmt>(stmt);
    visit(loop->low);
    visit(loop->high);
    size_t at = mark();
    declare(loop->name);
    visit(loop->body);
    release(at);
    return;
  }
  case ast::StmtKind::Fold: {
    auto *fold = cast<ast::FoldStmt>(stmt);
    visit(fold->init);
    visit(fold->low);
    visit(fold->high);
    for (const ast::Ident &name : fold->names)
      declare(name);
    size_t at = mark();
    declare(fold->index);
    visit(fold->body);
    release(at);
    // `let y[t] = e` collects y, which is there behind the loop.
    for (const ast::Stmt *inner : fold->body->stmts)
      if (auto *def = llvm::dyn_cast<ast::IndexDefStmt>(inner))
        if (!def->binders.empty() &&
            def->binders.front().name.name == fold->index.name)
          declare(def->name);
    return;
  }
  case ast::StmtKind::Assert:
    visit(cast<ast::AssertStmt>(stmt)->cond);
    return;
  case ast::StmtKind::Write:
    visit(cast<ast::WriteStmt>(stmt)->target);
    visit(cast<ast::WriteStmt>(stmt)->value);
    return;
  case ast::StmtKind::Minimize: {
    auto *minimize = cast<ast::MinimizeStmt>(stmt);
    visit(minimize->loss);
    for (const ast::Expr *e : minimize->over)
      visit(e);
    visit(minimize->optimizer);
    return;
  }
  case ast::StmtKind::Apply: {
    auto *apply = cast<ast::ApplyStmt>(stmt);
    visit(apply->gradient);
    for (const ast::Expr *e : apply->over)
      visit(e);
    visit(apply->optimizer);
    return;
  }
  case ast::StmtKind::Expr:
    visit(cast<ast::ExprStmt>(stmt)->value);
    return;
  }
}

bool NameWalk::run() {
  for (const ast::Decl *decl : scope.file.decls) {
    unknownHere.clear();
    switch (decl->kind) {
    case ast::DeclKind::Dim:
      visit(cast<ast::DimDecl>(decl)->value);
      break;
    case ast::DeclKind::Const:
      visitType(cast<ast::ConstDecl>(decl)->type, false);
      visit(cast<ast::ConstDecl>(decl)->value);
      break;
    case ast::DeclKind::Var: {
      auto *var = cast<ast::VarDecl>(decl);
      visitType(var->type, false);
      for (const ast::ShapeItem &item : var->type->shape)
        visit(item.size);
      visit(var->init);
      break;
    }
    case ast::DeclKind::Layer:
      visit(cast<ast::LayerDecl>(decl)->count);
      visit(cast<ast::LayerDecl>(decl)->value);
      break;
    case ast::DeclKind::Module:
      visit(cast<ast::ModuleDecl>(decl));
      break;
    case ast::DeclKind::Optimizer:
      visit(cast<ast::OptimizerDecl>(decl));
      break;
    case ast::DeclKind::Fn:
      visit(cast<ast::FnDecl>(decl), false);
      break;
    case ast::DeclKind::Use:
    case ast::DeclKind::Import:
    case ast::DeclKind::If:
      break;
    }
  }
  return !usesReserved;
}

bool tdsl::sema::resolveNames(const FileScope &scope, DiagnosticEngine &diags,
                              llvm::StringSet<> &unknownNames) {
  return NameWalk(scope, diags, unknownNames).run();
}
