//===- ShapeFunctions.cpp - Functions that move elements -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Checker.h"

using namespace tdsl;
using namespace tdsl::sema;
using llvm::ArrayRef;
using llvm::dyn_cast;
using llvm::StringRef;
using llvm::Twine;

Val Checker::callReshape(const ast::CallExpr *e) {
  llvm::SmallVector<const ast::Expr *, 2> args;
  if (!takeTensorArgs(e, "reshape", {"x", "shape"}, 2, args))
    return Val();
  Value x = elabValue(args[0]);
  if (!x)
    return Val();
  int64_t count = 1;
  for (const Axis &axis : x.type().axes)
    count *= axis.size;
  llvm::SmallVector<Axis, 4> axes;
  if (!evalShape(args[1], axes, count))
    return Val();
  int64_t wanted = 1;
  for (const Axis &axis : axes)
    wanted *= axis.size;
  if (wanted != count) {
    report(Diag::ReshapeCount, args[1]->range)
            .label(args[0]->range, "this is " + toString(x.type()))
        << toString(x.type()) << Twine(count) << toString(axes)
        << Twine(wanted);
    return Val();
  }
  return Val::makeTensor(makeReshape(x, copy(ArrayRef<Axis>(axes)), e->range));
}

Val Checker::callTranspose(const ast::CallExpr *e, bool permute) {
  StringRef name = permute ? "permute" : "transpose";
  llvm::SmallVector<const ast::Expr *, 2> args;
  if (!takeArgs(e, name, {"x", "axes"}, permute ? 2 : 1, args))
    return Val();
  if (rejectInBody(e, name))
    return Val();
  Value x = elabValue(args[0]);
  if (!x)
    return Val();
  Type type = x.type();
  llvm::SmallVector<int64_t, 4> permutation;
  if (args[1]) {
    auto *list = dyn_cast<ast::ListExpr>(args[1]);
    if (!list || list->items.size() != type.rank()) {
      report(Diag::BadPermutation, args[1]->range) << toString(type);
      return Val();
    }
    llvm::SmallVector<bool, 4> seen(type.rank());
    for (const ast::ListItem &item : list->items) {
      std::optional<int64_t> axis = elabAxis(item.value, type.rank());
      if (!axis)
        return Val();
      if (seen[*axis]) {
        report(Diag::BadPermutation, args[1]->range) << toString(type);
        return Val();
      }
      seen[*axis] = true;
      permutation.push_back(*axis);
    }
  } else {
    if (type.rank() != 2) {
      report(Diag::TransposeRank, args[0]->range) << toString(type);
      return Val();
    }
    permutation = {1, 0};
  }
  llvm::SmallVector<Axis, 4> axes;
  for (int64_t axis : permutation)
    axes.push_back(type.axes[axis]);
  Node *node = makeNode(
      Op::Transpose, Type{type.elem, copy(ArrayRef<Axis>(axes))}, x, e->range);
  node->numbers = copy(ArrayRef<int64_t>(permutation));
  return Val::makeTensor({node, 0});
}

Val Checker::callIota(const ast::CallExpr *e) {
  llvm::SmallVector<const ast::Expr *, 1> args;
  if (!takeArgs(e, "iota", {"n"}, 1, args))
    return Val();
  std::optional<int64_t> n = evalSize(args[0]);
  if (!n)
    return Val();
  Axis axis{*n, false};
  Elem elem = *n > INT32_MAX ? Elem::I64 : Elem::I32;
  if (!checkType(Type{elem, axis}, args[0]->range))
    return Val();
  Value out = buildMap(elem, axis, e->range, [&](ArrayRef<Value> index) {
    return make(Op::FromIndex, Type{elem, {}}, index[0], e->range);
  });
  return Val::makeTensor(out);
}

Val Checker::callFlip(const ast::CallExpr *e) {
  llvm::SmallVector<const ast::Expr *, 2> args;
  if (!takeArgs(e, "flip", {"x", "axis"}, 2, args))
    return Val();
  if (rejectInBody(e, "flip"))
    return Val();
  Value x = elabValue(args[0]);
  if (!x)
    return Val();
  Type type = x.type();
  std::optional<int64_t> axis = elabAxis(args[1], type.rank());
  if (!axis)
    return Val();
  Value out =
      buildMap(type.elem, type.axes, e->range, [&](ArrayRef<Value> index) {
        llvm::SmallVector<Value, 4> at(index.begin(), index.end());
        Value last = indexConstant(type.axes[*axis].size - 1, e->range).value;
        at[*axis] = make(Op::IndexSub, Type{Elem::Index, {}}, {last, at[*axis]},
                         e->range);
        return readAt(x, at, e->range);
      });
  return Val::makeTensor(out);
}

/// `concat(a, b)`: parts that stand in no list.
bool Checker::reportLooseParts(const ast::CallExpr *e, StringRef name) {
  llvm::SmallVector<const ast::Expr *, 4> parts;
  for (const ast::Arg &arg : e->args)
    if (!arg.isPack && !arg.name.isValid())
      parts.push_back(arg.value);
  if (body || parts.size() < 2 ||
      llvm::isa<ast::ListExpr, ast::TupleExpr>(parts[0]) ||
      isFlexible(parts[1]))
    return false;
  Val second = elab(parts[1]);
  if (second.kind != Val::Tensor && second.kind != Val::Variable)
    return false;
  // The axis stands last, as in `concat(a, b, 0)`.
  if (parts.size() > 2 && isFlexible(parts.back()))
    parts.pop_back();
  Range range{parts.front()->range.begin, parts.back()->range.end};
  Value first = elabValue(parts[0]);
  if (!first)
    return true;
  report(Diag::ArgumentElem, range)
          .fix(range, "[" + sources.getText(range) + "]",
               "the parts stand in a list, as in `" + name +
                   "([a, b], axis = 0)`")
      << toString(first.type()) << "a list of parts";
  return true;
}

/// `concat([a, b], axis)` and `stack([a, b], axis)`: a chain of selects over
/// guarded reads, one for each part.
Val Checker::callConcat(const ast::CallExpr *e, bool stack) {
  StringRef name = stack ? "stack" : "concat";
  llvm::SmallVector<const ast::Expr *, 2> args;
  if (reportLooseParts(e, name))
    return Val();
  if (!takeArgs(e, name, {"parts", "axis"}, 1, args))
    return Val();
  if (rejectInBody(e, name))
    return Val();
  llvm::SmallVector<const ast::Expr *, 4> exprs;
  if (auto *list = dyn_cast<ast::ListExpr>(args[0])) {
    for (const ast::ListItem &item : list->items)
      exprs.push_back(item.value);
  } else if (auto *tuple = dyn_cast<ast::TupleExpr>(args[0])) {
    exprs.append(tuple->elems.begin(), tuple->elems.end());
  } else {
    exprs.push_back(args[0]);
  }
  if (exprs.empty()) {
    report(Diag::EmptyConcat, args[0]->range) << name;
    return Val();
  }
  // Literals take the type of the parts beside them.
  std::optional<Elem> elem;
  if (llvm::all_of(exprs, [&](auto *expr) { return isFlexible(expr); }) &&
      llvm::any_of(exprs, [&](auto *expr) { return hasFloatLiteral(expr); }))
    elem = Elem::F32;
  llvm::SmallVector<Value, 4> parts(exprs.size());
  for (bool literals : {false, true})
    for (auto [expr, part] : llvm::zip_equal(exprs, parts)) {
      if (isFlexible(expr) != literals)
        continue;
      part = elabValue(expr, literals && elem ? Expect(*elem) : Expect());
      if (!part)
        return Val();
      if (!elem)
        elem = part.type().elem;
    }
  for (size_t i = 1; i < parts.size(); ++i)
    if (!sameElem(parts[0], parts[i], exprs[0]->range, exprs[i]->range,
                  e->range, name))
      return Val();
  Type first = parts[0].type();
  unsigned rank = first.rank() + (stack ? 1 : 0);
  int64_t axis = 0;
  if (args[1]) {
    std::optional<int64_t> given = elabAxis(args[1], rank);
    if (!given)
      return Val();
    axis = *given;
  } else if (rank == 0) {
    report(Diag::BadAxis, e->range) << "0" << "0";
    return Val();
  }
  llvm::SmallVector<Axis, 4> axes(first.axes.begin(), first.axes.end());
  for (size_t i = 1; i < parts.size(); ++i) {
    const Type &type = parts[i].type();
    if (type.rank() != first.rank()) {
      report(Diag::RankMismatch, exprs[i]->range)
              .label(exprs[0]->range, "this is " + toString(first))
              .note("the parts of `" + name + "` have the same number of axes")
          << toString(type)
          << Twine(first.rank()) + (first.rank() == 1 ? " axis" : " axes");
      return Val();
    }
    for (unsigned k = 0; k < type.rank(); ++k) {
      if ((!stack && k == axis) || type.axes[k].size == first.axes[k].size)
        continue;
      auto d = report(Diag::ShapeMismatch, e->range);
      d.label(exprs[0]->range, "this is " + toString(first))
              .label(exprs[i]->range, "this is " + toString(type))
          << toString(first) << toString(type) << name << Twine(k)
          << Twine(first.axes[k].size) << Twine(type.axes[k].size);
      proposePart(d, e, first, type, exprs[i]->range, stack ? -1 : axis);
      return Val();
    }
    if (!stack)
      axes[axis].size += type.axes[axis].size;
  }
  if (stack)
    axes.insert(axes.begin() + axis, Axis{int64_t(parts.size()), false});
  else
    axes[axis].stretches = false;
  ArrayRef<Axis> shape = copy(ArrayRef<Axis>(axes));
  Type type{first.elem, shape};
  if (!checkType(type, e->range))
    return Val();
  Scalar zero;
  zero.elem = type.elem;
  zero.real =
      llvm::APFloat(typed::isFloat(type.elem)
                        ? llvm::APFloat::getZero(typed::getSemantics(type.elem))
                        : llvm::APFloat(0.0));
  Value out = buildMap(type.elem, shape, e->range, [&](ArrayRef<Value> index) {
    Value result;
    int64_t offset = axes[axis].size;
    for (size_t i = parts.size(); i-- > 0;) {
      int64_t size = stack ? 1 : parts[i].type().axes[axis].size;
      offset -= size;
      llvm::SmallVector<Value, 4> at(index.begin(), index.end());
      if (stack) {
        at.erase(at.begin() + axis);
      } else if (offset) {
        Value shift = indexConstant(offset, e->range).value;
        at[axis] = make(Op::IndexSub, Type{Elem::Index, {}}, {at[axis], shift},
                        e->range);
      }
      Value part = readAt(parts[i], at, e->range);
      if (!stack && parts.size() > 1) {
        part.node->readMode = typed::ReadMode::Guarded;
        part.node->value = keep(zero);
      }
      if (!result) {
        result = part;
        continue;
      }
      Value place =
          make(Op::FromIndex, Type{Elem::I64, {}}, index[axis], e->range);
      Value end = makeInt(Elem::I64, offset + size, {}, e->range);
      Value before = make(Op::Lt, Type{Elem::Bool, {}}, {place, end}, e->range);
      result = make(Op::Select, Type{type.elem, {}}, {before, part, result},
                    e->range);
    }
    return result;
  });
  return Val::makeTensor(out);
}

/// `split(x, n, axis)`: a tuple of n equal parts.
Val Checker::callSplit(const ast::CallExpr *e) {
  llvm::SmallVector<const ast::Expr *, 3> args;
  if (!takeTensorArgs(e, "split", {"x", "parts", "axis"}, 2, args))
    return Val();
  Value x = elabValue(args[0]);
  if (!x)
    return Val();
  Type type = x.type();
  std::optional<int64_t> parts = evalSize(args[1]);
  if (!parts)
    return Val();
  int64_t axis = 0;
  if (args[2] || type.rank() == 0) {
    std::optional<int64_t> given =
        elabAxis(args[2] ? args[2] : args[0], type.rank());
    if (!given)
      return Val();
    axis = *given;
  }
  if (*parts <= 0 || *parts > 65536 || type.axes[axis].size % *parts != 0) {
    report(Diag::SizeNotExact, args[1]->range)
        << Twine(type.axes[axis].size) + " / " + Twine(*parts);
    return Val();
  }
  int64_t size = type.axes[axis].size / *parts;
  llvm::SmallVector<Axis, 4> axes(type.axes.begin(), type.axes.end());
  axes[axis] = {size, false};
  ArrayRef<Axis> shape = copy(ArrayRef<Axis>(axes));
  llvm::SmallVector<Val, 4> elems;
  for (int64_t i = 0; i < *parts; ++i)
    elems.push_back(Val::makeTensor(
        buildMap(type.elem, shape, e->range, [&](ArrayRef<Value> index) {
          llvm::SmallVector<Value, 4> at(index.begin(), index.end());
          Value shift = indexConstant(i * size, e->range).value;
          at[axis] = make(Op::IndexAdd, Type{Elem::Index, {}},
                          {at[axis], shift}, e->range);
          return readAt(x, at, e->range);
        })));
  Val tuple;
  tuple.kind = Val::Tuple;
  tuple.elems = copy(ArrayRef<Val>(elems));
  return tuple;
}

/// `pad(x, axis, before, after, value)`: more places at both ends of an axis.
Val Checker::callPad(const ast::CallExpr *e) {
  llvm::SmallVector<const ast::Expr *, 5> args;
  if (!takeTensorArgs(e, "pad", {"x", "axis", "before", "after", "value"}, 4,
                      args))
    return Val();
  Value x = elabValue(args[0]);
  if (!x)
    return Val();
  Type type = x.type();
  std::optional<int64_t> axis = elabAxis(args[1], type.rank());
  std::optional<int64_t> before = evalSize(args[2]);
  std::optional<int64_t> after = evalSize(args[3]);
  if (!axis || !before || !after)
    return Val();
  if (*before < 0 || *after < 0) {
    report(Diag::NegativeSize, *before < 0 ? args[2]->range : args[3]->range)
        << Twine(std::min(*before, *after));
    return Val();
  }
  Val fill = args[4] ? constantOf(args[4], type.elem)
                     : Val::makeDim(0, /*literal=*/true);
  if (fill.kind == Val::Dim) {
    Value value =
        materialise(fill, args[4] ? args[4]->range : e->range, type.elem);
    if (!value)
      return Val();
    fill.kind = Val::Number;
    fill.scalar = value.node->value;
  }
  if (fill.kind == Val::Truth) {
    Scalar truth;
    truth.elem = Elem::Bool;
    truth.integer = fill.number;
    fill.kind = Val::Number;
    fill.scalar = keep(truth);
  }
  if (fill.kind != Val::Number)
    return Val();
  llvm::SmallVector<Axis, 4> axes(type.axes.begin(), type.axes.end());
  int64_t total;
  if (llvm::AddOverflow(*before, *after, total) ||
      llvm::AddOverflow(total, axes[*axis].size, total)) {
    report(Diag::SizeOverflow, e->range);
    return Val();
  }
  axes[*axis] = {total, false};
  ArrayRef<Axis> shape = copy(ArrayRef<Axis>(axes));
  if (!checkType(Type{type.elem, shape}, e->range))
    return Val();
  Value out = buildMap(type.elem, shape, e->range, [&](ArrayRef<Value> index) {
    llvm::SmallVector<Value, 4> at(index.begin(), index.end());
    Value shift = indexConstant(*before, e->range).value;
    at[*axis] =
        make(Op::IndexSub, Type{Elem::Index, {}}, {at[*axis], shift}, e->range);
    Value read = readAt(x, at, e->range);
    read.node->readMode = typed::ReadMode::Guarded;
    read.node->value = fill.scalar;
    return read;
  });
  return Val::makeTensor(out);
}

/// `repeat(x, n, axis)`: the axis n times over, `[a, b]` to `[a, b, a, b]`.
Val Checker::callRepeat(const ast::CallExpr *e) {
  llvm::SmallVector<const ast::Expr *, 3> args;
  if (!takeTensorArgs(e, "repeat", {"x", "times", "axis"}, 3, args))
    return Val();
  Value x = elabValue(args[0]);
  if (!x)
    return Val();
  Type type = x.type();
  std::optional<int64_t> times = evalSize(args[1]);
  std::optional<int64_t> axis = elabAxis(args[2], type.rank());
  if (!times || !axis)
    return Val();
  llvm::SmallVector<Axis, 4> axes(type.axes.begin(), type.axes.end());
  int64_t size = axes[*axis].size, total;
  if (llvm::MulOverflow(size, *times, total)) {
    report(Diag::SizeOverflow, e->range);
    return Val();
  }
  axes[*axis] = {total, false};
  ArrayRef<Axis> shape = copy(ArrayRef<Axis>(axes));
  if (!checkType(Type{type.elem, shape}, e->range))
    return Val();
  Value out = buildMap(type.elem, shape, e->range, [&](ArrayRef<Value> index) {
    llvm::SmallVector<Value, 4> at(index.begin(), index.end());
    Node *wrapped =
        makeNode(Op::IndexMod, Type{Elem::Index, {}}, at[*axis], e->range);
    wrapped->number = std::max<int64_t>(size, 1);
    at[*axis] = {wrapped, 0};
    return readAt(x, at, e->range);
  });
  return Val::makeTensor(out);
}
