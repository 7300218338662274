//===- Reductions.cpp - Reductions of whole tensors -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Checker.h"

using namespace tdsl;
using namespace tdsl::sema;
using llvm::ArrayRef;
using llvm::dyn_cast;
using llvm::StringRef;
using llvm::Twine;

/// An axis number; negative ones count from the end.
std::optional<int64_t> Checker::elabAxis(const ast::Expr *e, unsigned rank) {
  std::optional<int64_t> axis = evalSize(e);
  if (!axis)
    return std::nullopt;
  int64_t n = *axis < 0 ? *axis + rank : *axis;
  if (n < 0 || n >= int64_t(rank)) {
    auto d = report(Diag::BadAxis, e->range);
    d << Twine(*axis) << Twine(rank);
    if (rank && *axis == int64_t(rank))
      d.fix(e->range, Twine(rank - 1), "axes count from 0; the last one is");
    return std::nullopt;
  }
  return n;
}

/// The axes that an `axis =` names, in rising order; empty list: all.
static bool sortAxes(llvm::SmallVectorImpl<int64_t> &axes) {
  llvm::sort(axes);
  return std::adjacent_find(axes.begin(), axes.end()) == axes.end();
}

/// Narrow types are summed in their accumulator; means are sums divided.
Value Checker::reduce(Builtin builtin, Value x, ArrayRef<int64_t> axes,
                      Range range) {
  Type type = x.type();
  Elem elem = type.elem;
  bool sums = builtin == Builtin::Sum || builtin == Builtin::Prod ||
              builtin == Builtin::Mean;
  Elem work = elem;
  if (sums)
    work = builtin == Builtin::Mean && typed::isInt(elem)
               ? Elem::I64
               : typed::getAccumulator(elem);
  x = makeCast(x, work, range);
  llvm::SmallVector<Axis, 4> rest;
  int64_t count = 1;
  for (unsigned i = 0; i < type.rank(); ++i) {
    if (llvm::is_contained(axes, i))
      count *= type.axes[i].size;
    else
      rest.push_back(type.axes[i]);
  }
  static const typed::Reduction kinds[] = {
      typed::Reduction::Sum,   typed::Reduction::Max,
      typed::Reduction::Min,   typed::Reduction::Prod,
      typed::Reduction::Sum,   typed::Reduction::Any,
      typed::Reduction::All,   typed::Reduction::ArgMax,
      typed::Reduction::ArgMin};
  bool arg = builtin == Builtin::ArgMax || builtin == Builtin::ArgMin;
  ArrayRef<Axis> shape = copy(ArrayRef<Axis>(rest));
  Node *node =
      makeNode(Op::Reduce, Type{arg ? Elem::I32 : work, shape}, x, range);
  node->reduction = kinds[size_t(builtin) - size_t(Builtin::Sum)];
  node->numbers = copy(axes);
  Value out{node, 0};
  if (builtin == Builtin::Mean) {
    Value divisor = makeNumber(work, count, shape, range);
    out = make(typed::isFloat(work) ? Op::Div : Op::FloorDiv, out.type(),
               {out, divisor}, range);
  }
  if (sums && typed::isFloat(elem))
    out = makeCast(out, elem, range);
  return out;
}

Val Checker::callReduction(Builtin builtin, const ast::CallExpr *e,
                           StringRef name) {
  llvm::SmallVector<const ast::Expr *, 3> args;
  if (!takeArgs(e, name, {"x", "axis", "keep"}, 1, args))
    return Val();
  if (rejectInBody(e, name,
                   "in an index definition a reduction names its indices: `" +
                       name + "[k](…)`"))
    return Val();
  Value x = elabValue(args[0]);
  if (!x)
    return Val();
  Type type = x.type();
  bool logical = builtin == Builtin::Any || builtin == Builtin::All;
  if (logical ? type.elem != Elem::Bool : type.elem == Elem::Bool) {
    if (logical)
      report(Diag::NeedsBool, args[0]->range) << name << toString(type);
    else
      report(Diag::NeedsNumber, args[0]->range)
              .fix(args[0]->range,
                   "f32(" + sources.getText(args[0]->range) + ")", "convert it")
          << name << toString(type);
    return Val();
  }
  llvm::SmallVector<int64_t, 4> axes;
  bool arg = builtin == Builtin::ArgMax || builtin == Builtin::ArgMin;
  if (args[1]) {
    llvm::SmallVector<const ast::Expr *, 4> list;
    if (auto *items = dyn_cast<ast::ListExpr>(args[1])) {
      for (const ast::ListItem &item : items->items)
        list.push_back(item.value);
    } else if (auto *tuple = dyn_cast<ast::TupleExpr>(args[1])) {
      list.append(tuple->elems.begin(), tuple->elems.end());
    } else {
      list.push_back(args[1]);
    }
    for (const ast::Expr *item : list) {
      std::optional<int64_t> axis = elabAxis(item, type.rank());
      if (!axis)
        return Val();
      axes.push_back(*axis);
    }
    if (!sortAxes(axes)) {
      report(Diag::AxisTwice, args[1]->range);
      return Val();
    }
  } else {
    for (unsigned i = 0; i < type.rank(); ++i)
      axes.push_back(i);
  }
  if (arg && (axes.size() != 1 || type.axes[axes[0]].size == 0)) {
    if (axes.size() == 1) {
      report(Diag::EmptyArgMax, args[0]->range) << name << toString(type);
    } else {
      report(Diag::ArgMaxAxes, e->range)
              .fix({SourceLoc{e->range.end.offset - 1},
                    SourceLoc{e->range.end.offset - 1}},
                   ", axis = 0", "name the axis")
          << name << "axis; `" + toString(type) + "` needs `axis =`";
    }
    return Val();
  }
  bool keepAxes = false;
  if (args[2]) {
    std::optional<bool> wanted = elabCondition(args[2]);
    if (!wanted)
      return Val();
    keepAxes = *wanted;
  }
  Value out = reduce(builtin, x, axes, e->range);
  if (keepAxes) {
    llvm::SmallVector<Axis, 4> shape(type.axes.begin(), type.axes.end());
    for (int64_t axis : axes)
      shape[axis] = {1, true};
    out = makeReshape(out, copy(ArrayRef<Axis>(shape)), e->range);
  }
  return Val::makeTensor(out);
}

/// The square root of the sum of squares; its derivative at 0 is 0, so the
/// root is taken of 1 there and the result is replaced.
Val Checker::callNorm(const ast::CallExpr *e) {
  llvm::SmallVector<const ast::Expr *, 1> args;
  if (!takeArgs(e, "norm", {"x"}, 1, args))
    return Val();
  if (rejectInBody(e, "norm"))
    return Val();
  Val val = asRecord(elab(args[0]), args[0]->range);
  if (val.isError())
    return Val();
  ArrayRef<Val> parts = val;
  if (val.kind == Val::Record)
    parts = val.elems;
  Value total;
  for (const Val &part : parts) {
    Value x = materialise(part, args[0]->range);
    if (!x)
      return Val();
    Type type = x.type();
    if (!typed::isFloat(type.elem)) {
      report(Diag::NeedsFloat, args[0]->range)
              .fix(args[0]->range,
                   "f32(" + sources.getText(args[0]->range) + ")", "convert it")
          << "norm" << toString(type);
      return Val();
    }
    llvm::SmallVector<int64_t, 4> axes;
    for (unsigned i = 0; i < type.rank(); ++i)
      axes.push_back(i);
    Value square = make(Op::Mul, type, {x, x}, e->range);
    Value sum = reduce(Builtin::Sum, square, axes, e->range);
    if (total && total.type().elem != sum.type().elem)
      sum = makeCast(sum, total.type().elem, e->range);
    total = total ? make(Op::AddTerm, sum.type(), {total, sum}, e->range) : sum;
  }
  if (!total)
    return Val();
  Type type = total.type();
  Value zero = makeNumber(type.elem, 0, {}, e->range);
  Value one = makeNumber(type.elem, 1, {}, e->range);
  Value isZero = make(Op::Eq, Type{Elem::Bool, {}}, {total, zero}, e->range);
  Value safe = make(Op::Select, type, {isZero, one, total}, e->range);
  Value root = make(Op::Sqrt, type, safe, e->range);
  return Val::makeTensor(
      make(Op::Select, type, {isZero, zero, root}, e->range));
}
