//===- Results.cpp - Results of functions -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Checker.h"

using namespace tdsl;
using namespace tdsl::sema;
using llvm::ArrayRef;
using llvm::dyn_cast;
using llvm::StringRef;
using llvm::Twine;

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
    auto d = report(Diag::ResultRank, range);
    d.label(declared.type->range, "declared here")
        << toString(type)
        << (Twine(expectedRank) + (expectedRank == 1 ? " axis" : " axes"));
    if (type.rank() < expectedRank)
      fixByKeeping(d, range);
    return false;
  }
  // The declared axes; the signature says which of them stretch.
  llvm::SmallVector<Axis, 4> axes;
  llvm::SmallVector<const ast::ShapeItem *, 4> items;
  for (const ast::ShapeItem &item : declared.type->shape) {
    if (item.kind == ast::ShapeItem::Pack) {
      ArrayRef<Axis> pack = frame->find(item.pack.name)->axes;
      axes.append(pack.begin(), pack.end());
    } else if (item.kind == ast::ShapeItem::Size) {
      std::optional<int64_t> size = evalSize(item.size);
      if (!size)
        return false;
      auto *literal = dyn_cast<ast::IntExpr>(item.size);
      axes.push_back({*size, literal && literal->value == 1});
    } else {
      axes.push_back(type.axes[axes.size()]);
    }
    items.resize(axes.size(), &item);
  }
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    if (axes[axis].size == type.axes[axis].size)
      continue;
    const ast::ShapeItem &item = *items[axis];
    auto d = report(Diag::SizeMismatch, range);
    d << "the result" << toString(type) << Twine(axis)
      << Twine(axes[axis].size);
    if (item.kind == ast::ShapeItem::Pack)
      d.label(item.range,
              "the pack is " + toString(frame->find(item.pack.name)->axes));
    else
      d.label(item.range, "this is " + Twine(axes[axis].size));
    proposeResult(d, type, item, axis, axes, range);
    return false;
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
    // Where the value should stand.
    SourceLoc end = fn->body->range.end;
    report(Diag::NoResult, {SourceLoc{end.offset - 1}, end})
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
