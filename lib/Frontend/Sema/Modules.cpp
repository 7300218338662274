//===- Modules.cpp - Instances of modules and constants -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Checker.h"
#include "tdsl/Frontend/Parser.h"
#include "llvm/ADT/SmallString.h"

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
// Constants
//===----------------------------------------------------------------------===//

/// A number, size or truth value that is known at compile time. Numbers of a
/// float type are computed in that type.
Val Checker::constantOf(const ast::Expr *e, std::optional<Elem> elem) {
  if (aborted)
    return Val();
  if (elem && !typed::isNumber(*elem) && isFlexible(e)) {
    report(Diag::ConstantType, e->range) << typed::getName(*elem);
    return Val();
  }
  auto toNumber = [&](const Val &val, Range range) -> Val {
    if (val.kind == Val::Truth || val.isError()) {
      if (elem && *elem != Elem::Bool && !val.isError()) {
        report(Diag::ConstantType, range) << typed::getName(*elem);
        return Val();
      }
      return val;
    }
    if (val.kind == Val::Number) {
      if (elem && val.scalar->elem != *elem) {
        report(Diag::ConstantType, range) << typed::getName(*elem);
        return Val();
      }
      return val;
    }
    if (val.kind != Val::Dim) {
      report(Diag::NotCompileTime, range);
      return Val();
    }
    if (!elem)
      return val;
    if (typed::isFloat(*elem) && !val.literal) {
      report(Diag::SizeMeetsFloat, range)
              .fix(range,
                   typed::getName(*elem) + "(" + sources.getText(range) + ")",
                   "convert it")
          << typed::getName(*elem);
      return Val();
    }
    Scalar scalar;
    scalar.elem = *elem;
    scalar.integer = val.number;
    bool fits = true;
    if (typed::isFloat(*elem)) {
      scalar.real = llvm::APFloat(typed::getSemantics(*elem));
      fits = scalar.real.convertFromAPInt(
                 llvm::APInt(64, val.number, true), true,
                 llvm::APFloat::rmNearestTiesToEven) == llvm::APFloat::opOK;
    } else if (*elem != Elem::I64) {
      int64_t low = *elem == Elem::U8   ? 0
                    : *elem == Elem::I8 ? INT8_MIN
                                        : INT32_MIN;
      int64_t high = *elem == Elem::U8   ? UINT8_MAX
                     : *elem == Elem::I8 ? INT8_MAX
                                         : INT32_MAX;
      fits = *elem != Elem::Bool && val.number >= low && val.number <= high;
    }
    if (!fits) {
      report(Diag::LiteralDoesNotFit, range)
          << Twine(val.number) << typed::getName(*elem);
      return Val();
    }
    Val out = val;
    out.kind = Val::Number;
    out.scalar = keep(scalar);
    return out;
  };

  switch (e->kind) {
  case ast::ExprKind::Float:
    return toNumber(
        elabFloat(cast<ast::FloatExpr>(e), elem ? Expect(*elem) : Expect()),
        e->range);
  case ast::ExprKind::Unary: {
    auto *unary = cast<ast::UnaryExpr>(e);
    if (unary->op == ast::UnaryOp::Not || isa<ast::IntExpr>(unary->operand))
      return toNumber(elab(e), e->range);
    Val val = constantOf(unary->operand, elem);
    if (val.kind == Val::Number) {
      Scalar scalar = *val.scalar;
      if (typed::isFloat(scalar.elem))
        scalar.real.changeSign();
      else
        scalar.integer = int64_t(0 - uint64_t(scalar.integer));
      val.scalar = keep(scalar);
    } else if (val.kind == Val::Dim) {
      val.number = int64_t(0 - uint64_t(val.number));
    }
    return val;
  }
  case ast::ExprKind::Binary: {
    auto *binary = cast<ast::BinaryExpr>(e);
    if (binary->op < BinaryOp::Add)
      return toNumber(elab(e), e->range);
    if (e->height > kNestingLimit)
      return Val();
    // Which side brings the type.
    std::optional<Elem> want = elem;
    Val lhs, rhs;
    if (!want && isFlexible(binary->lhs) && !hasFloatLiteral(binary->lhs)) {
      rhs = constantOf(binary->rhs, want);
      want = elemOf(rhs);
      lhs = constantOf(binary->lhs, want);
    } else {
      lhs = constantOf(binary->lhs, want);
      if (!want)
        want = elemOf(lhs);
      rhs = constantOf(binary->rhs, want);
    }
    if (lhs.isError() || rhs.isError())
      return Val();
    if (lhs.kind == Val::Dim && rhs.kind == Val::Dim)
      return combineDims(binary->op, binary, lhs, rhs);
    if (lhs.kind != Val::Number || rhs.kind != Val::Number) {
      report(Diag::NotCompileTime, e->range);
      return Val();
    }
    if (typed::isInt(lhs.scalar->elem)) {
      Val a = Val::makeDim(lhs.scalar->integer);
      Val b = Val::makeDim(rhs.scalar->integer);
      Val out = combineDims(binary->op, binary, a, b);
      elem = lhs.scalar->elem;
      return out.isError() ? out : toNumber(out, e->range);
    }
    Scalar scalar = *lhs.scalar;
    const llvm::APFloat &other = rhs.scalar->real;
    auto mode = llvm::APFloat::rmNearestTiesToEven;
    switch (binary->op) {
    case BinaryOp::Add:
      scalar.real.add(other, mode);
      break;
    case BinaryOp::Sub:
      scalar.real.subtract(other, mode);
      break;
    case BinaryOp::Mul:
      scalar.real.multiply(other, mode);
      break;
    case BinaryOp::Div:
      scalar.real.divide(other, mode);
      break;
    case BinaryOp::Pow: {
      auto *n = dyn_cast<ast::IntExpr>(binary->rhs);
      if (!n || n->value > 4) {
        report(Diag::NotCompileTime, e->range);
        return Val();
      }
      llvm::APFloat base = scalar.real;
      scalar.real = llvm::APFloat(typed::getSemantics(scalar.elem), 1);
      for (uint64_t i = 0; i < n->value; ++i)
        scalar.real.multiply(base, mode);
      break;
    }
    default:
      report(Diag::NotCompileTime, e->range);
      return Val();
    }
    Val out = lhs;
    out.scalar = keep(scalar);
    return out;
  }
  case ast::ExprKind::Call: {
    // A conversion.
    auto *call = cast<ast::CallExpr>(e);
    Val callee = resolve(call->callee);
    if (callee.kind == Val::ElemType && call->args.size() == 1) {
      Val val =
          constantOf(call->args[0].value, isFlexible(call->args[0].value)
                                              ? std::optional<Elem>(callee.elem)
                                              : std::nullopt);
      if (val.kind == Val::Dim) {
        val.literal = true;
        std::optional<Elem> outer = elem;
        elem = callee.elem;
        val = toNumber(val, e->range);
        elem = outer;
      }
      if (val.kind == Val::Number && val.scalar->elem != callee.elem) {
        if (!typed::isFloat(val.scalar->elem) || !typed::isFloat(callee.elem)) {
          report(Diag::NotCompileTime, e->range);
          return Val();
        }
        Scalar scalar = *val.scalar;
        bool lost;
        scalar.elem = callee.elem;
        scalar.real.convert(typed::getSemantics(callee.elem),
                            llvm::APFloat::rmNearestTiesToEven, &lost);
        val.scalar = keep(scalar);
      }
      return toNumber(val, e->range);
    }
    return toNumber(elab(e), e->range);
  }
  default: {
    Frame *outer = frame;
    Mode mode = frame->mode;
    frame->mode = Mode::Const;
    Val val = resolve(e);
    outer->mode = mode;
    if (val.kind == Val::Variable) {
      report(Diag::NotCompileTime, e->range);
      return Val();
    }
    return toNumber(val, e->range);
  }
  }
}

//===----------------------------------------------------------------------===//
// Module arguments
//===----------------------------------------------------------------------===//

bool Checker::elabModuleArgs(ArrayRef<ast::ParamDecl> params,
                             ArrayRef<ast::Arg> args, const FileScope *scope,
                             Range range, StringRef what, Range declared,
                             llvm::StringMap<Val> &out, std::string &key) {
  llvm::SmallVector<const ast::Expr *, 8> exprs;
  if (!matchArgs(params, args, range, "`" + what + "`", declared, exprs))
    return false;
  // Defaults see the arguments before them.
  ModuleInstance partial;
  partial.scope = scope;
  partial.decl = nullptr;
  Frame inner;
  inner.scope = scope;
  inner.module = &partial;
  Frame *outer = frame;
  bool good = true;
  for (size_t i = 0; i < params.size() && good; ++i) {
    const ast::ParamDecl &param = params[i];
    const ast::Expr *e = exprs[i] ? exprs[i] : param.defaultValue;
    frame = exprs[i] ? outer : &inner;
    StringRef word = param.type ? param.type->elem.name : "dim";
    Val val;
    Val named;
    if (auto *name = dyn_cast<ast::NameExpr>(e))
      named = lookup(name->name, e->range, false);
    if (named.kind == Val::ElemType) {
      // A type argument, `T: float = f32`.
      if (!isClassWord(word) || !isInClass(named.elem, word)) {
        report(Diag::ArgumentElem, e->range)
                .label(param.name.range, "declared here")
            << typed::getName(named.elem) << word;
        good = false;
      }
      val = named;
      key += (";" + typed::getName(named.elem)).str();
    } else if (isClassWord(word)) {
      report(Diag::ArgumentElem, e->range)
              .label(param.name.range, "this takes a type, like f32")
          << "this value" << word;
      good = false;
    } else if (word == "dim") {
      std::optional<int64_t> n = evalSize(e);
      good = n.has_value();
      if (good) {
        val = Val::makeDim(*n);
        key += ";" + std::to_string(*n);
      }
    } else {
      frame = &inner;
      std::optional<Elem> elem = resolveElem(param.type);
      frame = exprs[i] ? outer : &inner;
      if (!elem) {
        good = false;
      } else {
        Mode mode = frame->mode;
        frame->mode = Mode::Const;
        val = constantOf(e, *elem);
        frame->mode = mode;
        good = !val.isError();
        if (val.kind == Val::Truth) {
          key += val.number ? ";t" : ";f";
        } else if (val.kind == Val::Number) {
          llvm::SmallString<32> text;
          if (typed::isFloat(*elem))
            val.scalar->real.toString(text, 0, 0);
          else
            text = std::to_string(val.scalar->integer);
          key += (";" + typed::getName(*elem) + "=" + text).str();
        }
      }
    }
    val.origin = param.name.range;
    out[param.name.name] = val;
    partial.args[param.name.name] = val;
  }
  frame = outer;
  return good;
}

/// The instance that `M(3, bias = false)` stands for, in the frame of the
/// layer.
const ModuleInstance *Checker::makeModule(const ast::Expr *value) {
  auto *call = dyn_cast<ast::CallExpr>(value);
  Val callee = resolve(call ? call->callee : value);
  if (callee.isError())
    return nullptr;
  if (callee.kind != Val::ModuleClass || !call) {
    auto d = report(Diag::NotAModule, value->range);
    if (callee.kind == Val::ModuleClass)
      d.fix({value->range.end, value->range.end}, "()", "make an instance");
    return nullptr;
  }
  auto *decl = cast<ast::ModuleDecl>(callee.decl);
  llvm::StringMap<Val> args;
  std::string key = std::to_string(uintptr_t(decl));
  if (!elabModuleArgs(decl->params, call->args, callee.scope, call->range,
                      decl->name.name, decl->name.range, args, key))
    return nullptr;
  return instantiateModule(decl, callee.scope, std::move(args), key,
                           call->range);
}

uint64_t Checker::getNumVars(const ModuleInstance *layer, int64_t count) {
  // An instance without variables takes its place, too.
  uint64_t each = std::max<size_t>(layer->vars.size(), 1);
  return llvm::SaturatingMultiply(each, uint64_t(count < 0 ? 1 : count));
}

void Checker::addModuleVars(ModuleInstance *out, StringRef prefix,
                            const ModuleInstance *layer) {
  for (const ModuleVar &var : layer->vars) {
    ModuleVar copyOf = var;
    copyOf.path = (prefix + "." + var.path).str();
    out->varByPath[copyOf.path] = out->vars.size();
    out->vars.push_back(std::move(copyOf));
  }
}

const ModuleInstance *Checker::instantiateModule(const ast::ModuleDecl *decl,
                                                 const FileScope *scope,
                                                 llvm::StringMap<Val> args,
                                                 const std::string &key,
                                                 Range range) {
  auto it = modules.find(key);
  if (it != modules.end())
    return it->second.get();
  if (!modulesInProgress.insert(decl).second) {
    report(Diag::Recursion, range).label(decl->name.range, "declared here")
        << decl->name.name;
    return nullptr;
  }
  auto owned = std::make_unique<ModuleInstance>();
  ModuleInstance *module = owned.get();
  module->id = modules.size();
  module->decl = decl;
  module->scope = scope;
  module->args = std::move(args);

  Frame inner;
  inner.scope = scope;
  inner.module = module;
  inner.self = {module, true, ""};
  Frame *outer = frame;
  frame = &inner;
  addMembers(decl->members, module);
  frame = outer;
  modulesInProgress.erase(decl);
  modules[key] = std::move(owned);
  return module;
}

/// The members of an instance; an `if` chooses among them.
void Checker::addMembers(ArrayRef<ast::Decl *> members,
                         ModuleInstance *module) {
  for (const ast::Decl *member : members) {
    if (aborted)
      return;
    if (auto *choice = dyn_cast<ast::IfDecl>(member)) {
      if (std::optional<bool> cond = elabCondition(choice->cond))
        addMembers(*cond ? choice->thenMembers : choice->elseMembers, module);
      continue;
    }
    StringRef name = member->name.name;
    if (!member->name.isValid() ||
        !module->members.try_emplace(name, member).second)
      continue; // reported with the names
    if (auto *var = dyn_cast<ast::VarDecl>(member)) {
      std::optional<Type> type;
      if (var->type->isLike())
        report(Diag::LikeOutOfPlace, var->type->range);
      else
        type = resolveType(var->type);
      if (!type)
        continue;
      if (var->isParam && !typed::isFloat(type->elem)) {
        report(Diag::ParamNotFloat, var->type->range)
                .fix(var->type->elem.range, "f32", "make it a float")
                .note("a `state` can hold any type")
            << name << typed::getName(type->elem);
        continue;
      }
      module->ownTypes[name] = *type;
      module->varByPath[name] = module->vars.size();
      module->vars.push_back({name.str(), var, *type, module});
    } else if (auto *layer = dyn_cast<ast::LayerDecl>(member)) {
      ModuleInstance::Layer entry;
      if (layer->count) {
        std::optional<int64_t> count = evalSize(layer->count);
        if (!count || *count < 0) {
          if (count)
            report(Diag::NegativeSize, layer->count->range) << Twine(*count);
          continue;
        }
        entry.count = *count;
      }
      entry.module = makeModule(layer->value);
      if (!entry.module)
        continue;
      module->layers[name] = entry;
      if (overLimit(getNumVars(entry.module, entry.count), layer->range))
        return;
      if (entry.count < 0)
        addModuleVars(module, name, entry.module);
      for (int64_t i = 0; i < entry.count; ++i)
        addModuleVars(module, (name + "." + Twine(i)).str(), entry.module);
    }
  }
}
