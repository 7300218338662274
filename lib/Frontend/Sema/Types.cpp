//===- Types.cpp - Types and sizes -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Checker.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace tdsl;
using namespace tdsl::sema;
using llvm::cast;
using llvm::dyn_cast;
using llvm::isa;
using llvm::StringRef;
using llvm::Twine;

std::optional<Elem> Checker::getElem(StringRef name) {
  return llvm::StringSwitch<std::optional<Elem>>(name)
      .Case("bool", Elem::Bool)
      .Case("i8", Elem::I8)
      .Case("u8", Elem::U8)
      .Case("i32", Elem::I32)
      .Case("i64", Elem::I64)
      .Case("f16", Elem::F16)
      .Case("bf16", Elem::BF16)
      .Case("f32", Elem::F32)
      .Case("f64", Elem::F64)
      .Default(std::nullopt);
}

bool Checker::isClassWord(StringRef name) {
  return name == "float" || name == "int" || name == "num";
}

bool Checker::isInClass(Elem elem, StringRef word) {
  if (word == "float")
    return typed::isFloat(elem);
  if (word == "int")
    return typed::isInt(elem);
  return typed::isNumber(elem);
}

/// The element type of a written type. A class word must be bound.
std::optional<Elem> Checker::resolveElem(const ast::TypeExpr *type,
                                         bool shouldReport) {
  StringRef name = type->elem.name;
  if (name.empty())
    return std::nullopt;
  Val val = lookup(name, type->elem.range, false);
  if (val.kind == Val::ElemType)
    return val.elem;
  if (!shouldReport)
    return std::nullopt;
  if (isClassWord(name)) {
    report(Diag::ClassNotBound, type->elem.range) << name;
    return std::nullopt;
  }
  auto d = report(Diag::UnknownType, type->elem.range);
  d << name;
  static const StringRef names[] = {"bool", "i8",    "u8",   "i32",
                                    "i64",  "f16",   "bf16", "f32",
                                    "f64",  "float", "int",  "num"};
  StringRef meant = llvm::StringSwitch<StringRef>(name)
                        .Cases({"float32", "single"}, "f32")
                        .Cases({"float64", "double"}, "f64")
                        .Cases({"float16", "half"}, "f16")
                        .Case("bfloat16", "bf16")
                        .Cases({"int32", "i16", "u32"}, "i32")
                        .Cases({"int64", "long", "u64"}, "i64")
                        .Cases({"uint8", "byte"}, "u8")
                        .Case("int8", "i8")
                        .Case("boolean", "bool")
                        .Default(findNearest(name, names));
  if (!meant.empty())
    d.fix(type->elem.range, meant, "did you mean");
  return std::nullopt;
}

/// A compile-time integer.
std::optional<int64_t> Checker::evalSize(const ast::Expr *e) {
  Val val = elab(e);
  if (val.kind == Val::Dim)
    return val.number;
  if (val.kind == Val::Number && typed::isInt(val.scalar->elem))
    return val.scalar->integer;
  if (val.isError())
    return std::nullopt;
  if (val.kind == Val::Index) {
    report(Diag::IndexOutside, e->range)
            .note("a range is a size; for a triangle write `sum[j](if j < i "
                  "then … else 0)`")
        << (val.indexVar ? val.indexVar->name : sources.getText(e->range));
    return std::nullopt;
  }
  auto d = report(Diag::NotASize, e->range);
  if (val.kind == Val::Tensor || val.kind == Val::Variable)
    d.note("sizes are known when the program is compiled: `dim` names, sizes "
           "of types and numbers");
  return std::nullopt;
}

/// A size that a signature infers: a bare lower-case name that means nothing
/// yet.
bool Checker::isInferredSize(const ast::Expr *e, StringRef &name) {
  auto *ref = dyn_cast<ast::NameExpr>(e);
  if (!ref || !(llvm::isLower(ref->name[0]) || ref->name[0] == '_'))
    return false;
  Val val = lookup(ref->name, ref->range, false);
  if (val.kind == Val::Dim || val.kind == Val::Number)
    return false;
  // Functions, builtins and values of the same name are no sizes.
  if (frame->findInnermost(ref->name) && val.kind != Val::Error)
    return false;
  name = ref->name;
  return true;
}

/// A type whose sizes are all known.
std::optional<Type> Checker::resolveType(const ast::TypeExpr *type) {
  std::optional<Elem> elem = resolveElem(type);
  if (!elem)
    return std::nullopt;
  llvm::SmallVector<Axis, 4> axes;
  for (const ast::ShapeItem &item : type->shape) {
    if (item.kind == ast::ShapeItem::Pack) {
      Val pack = lookup(item.pack.name, item.range);
      if (pack.isError())
        return std::nullopt;
      if (pack.kind != Val::Pack) {
        report(Diag::NotAPack, item.range) << item.pack.name;
        return std::nullopt;
      }
      axes.append(pack.axes.begin(), pack.axes.end());
      continue;
    }
    if (item.kind == ast::ShapeItem::Infer) {
      report(Diag::CannotInfer, item.range);
      return std::nullopt;
    }
    std::optional<int64_t> size = evalSize(item.size);
    if (!size)
      return std::nullopt;
    auto *literal = dyn_cast<ast::IntExpr>(item.size);
    axes.push_back({*size, literal && literal->value == 1});
  }
  Type result{*elem, copy(llvm::ArrayRef<Axis>(axes))};
  if (!checkType(result, type->range))
    return std::nullopt;
  return result;
}

/// A shape given as a value: `[n, 28, ...s]`, or a single size. `_` is what
/// is left of `inferFrom` elements.
bool Checker::evalShape(const ast::Expr *e, llvm::SmallVectorImpl<Axis> &axes,
                        int64_t inferFrom) {
  auto *list = dyn_cast<ast::ListExpr>(e);
  if (!list) {
    std::optional<int64_t> size = evalSize(e);
    if (!size)
      return false;
    axes.push_back({*size, isa<ast::IntExpr>(e) && *size == 1});
    return checkType(Type{Elem::F32, axes}, e->range);
  }
  int inferred = -1;
  for (const ast::ListItem &item : list->items) {
    auto *name = dyn_cast<ast::NameExpr>(item.value);
    if (item.isPack) {
      Val pack = lookup(name->name, name->range);
      if (pack.isError())
        return false;
      if (pack.kind != Val::Pack) {
        report(Diag::NotAPack, name->range) << name->name;
        return false;
      }
      axes.append(pack.axes.begin(), pack.axes.end());
      continue;
    }
    if (name && name->name == "_") {
      if (inferFrom < 0 || inferred >= 0) {
        report(Diag::CannotInfer, name->range);
        return false;
      }
      inferred = axes.size();
      axes.push_back({1, false});
      continue;
    }
    std::optional<int64_t> size = evalSize(item.value);
    if (!size)
      return false;
    if (*size < 0) {
      auto d = report(Diag::NegativeSize, item.value->range);
      d << Twine(*size);
      if (inferFrom >= 0 && *size == -1)
        d.fix(item.value->range, "_", "what is left of the elements is");
      return false;
    }
    auto *literal = dyn_cast<ast::IntExpr>(item.value);
    axes.push_back({*size, literal && literal->value == 1});
  }
  if (!checkType(Type{Elem::F32, axes}, e->range))
    return false;
  if (inferred >= 0) {
    int64_t rest = 1;
    for (const Axis &axis : axes)
      rest *= axis.size;
    if (rest == 0 || inferFrom % rest != 0) {
      report(Diag::CannotInfer, e->range)
          .note(Twine(inferFrom) + " elements don't divide by " + Twine(rest));
      return false;
    }
    axes[inferred].size = inferFrom / rest;
  }
  return true;
}

/// Whether a call needs the value at compile time: `k: dim`, `b: bool`.
bool Checker::isCompileTimeParam(const ast::ParamDecl &param) {
  if (!param.type)
    return false;
  StringRef name = param.type->elem.name;
  return name == "dim" || (name == "bool" && !param.type->hasShape);
}

/// Binds the sizes and packs that `type` names to those of `actual`, in the
/// frame of the callee. Sizes in expressions are left for checkShape().
bool Checker::bindShape(const ast::TypeExpr *type, const Type &actual,
                        Range where, const ast::ParamDecl *param) {
  size_t fixed = 0;
  bool hasPack = false;
  for (const ast::ShapeItem &item : type->shape) {
    if (item.kind == ast::ShapeItem::Pack) {
      if (hasPack) {
        report(Diag::TwoPacks, item.range);
        return false;
      }
      hasPack = true;
    } else {
      ++fixed;
    }
  }
  if (actual.rank() < fixed || (!hasPack && actual.rank() != fixed)) {
    auto d = report(Diag::RankMismatch, where);
    d << toString(actual)
      << (Twine(fixed) + (hasPack      ? " or more axes"
                          : fixed == 1 ? " axis"
                                       : " axes"));
    if (param)
      d.label(param->name.range, "the parameter has the type `" +
                                     sources.getText(type->range) + "`");
    if (param)
      proposeRank(d, type, actual, where);
    return false;
  }
  size_t packSize = actual.rank() - fixed;
  size_t axis = 0;
  for (const ast::ShapeItem &item : type->shape) {
    if (item.kind == ast::ShapeItem::Pack) {
      llvm::ArrayRef<Axis> part = actual.axes.slice(axis, packSize);
      axis += packSize;
      Val *bound = frame->find(item.pack.name);
      if (!bound || bound->kind != Val::Pack) {
        Val pack;
        pack.kind = Val::Pack;
        pack.axes = part;
        pack.origin = where;
        frame->bind(item.pack.name, pack);
      } else if (!sameShape(bound->axes, part)) {
        report(Diag::PackMismatch, where)
                .label(bound->origin, "here it is " + toString(bound->axes))
                .label(item.range, "the pack is named twice")
            << item.pack.name << toString(part);
        return false;
      }
      continue;
    }
    StringRef name;
    if (item.kind == ast::ShapeItem::Size && isInferredSize(item.size, name)) {
      Val dim = Val::makeDim(actual.axes[axis].size);
      dim.origin = where;
      dim.type = actual;
      frame->bind(name, dim);
    }
    ++axis;
  }
  return true;
}

/// Checks all sizes of the parameter's type, which are known now, against
/// `actual`.
bool Checker::checkShape(const ArgumentSite &site, const Type &actual) {
  llvm::ArrayRef<ast::ShapeItem> items = site.param->type->shape;
  size_t fixed = llvm::count_if(items, [](const ast::ShapeItem &item) {
    return item.kind != ast::ShapeItem::Pack;
  });
  // Axes that nothing but this argument gives a size stay open.
  llvm::SmallVector<int64_t, 4> asked;
  llvm::SmallVector<bool, 4> open;
  const ast::ShapeItem *wrong = nullptr;
  unsigned wrongAxis = 0;
  for (const ast::ShapeItem &item : items) {
    if (item.kind == ast::ShapeItem::Pack) {
      for (size_t i = fixed; i < actual.rank(); ++i)
        asked.push_back(actual.axes[asked.size()].size);
      open.resize(asked.size(), true);
      continue;
    }
    int64_t got = actual.axes[asked.size()].size, size = got;
    if (item.kind == ast::ShapeItem::Size) {
      std::optional<int64_t> known = evalSize(item.size);
      if (!known)
        return false;
      size = *known;
    }
    if (size != got && !wrong) {
      wrong = &item;
      wrongAxis = asked.size();
    }
    asked.push_back(size);
    auto *name = llvm::dyn_cast_or_null<ast::NameExpr>(item.size);
    Val *bound = name ? frame->find(name->name) : nullptr;
    open.push_back(
        item.kind == ast::ShapeItem::Infer ||
        (bound && bound->kind == Val::Dim && bound->origin == site.range));
  }
  if (wrong)
    reportArgumentSize(site, actual, *wrong, wrongAxis, asked, open);
  return !wrong;
}
