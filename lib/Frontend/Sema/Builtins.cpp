//===- Builtins.cpp - Functions that the language brings -*- C++ -*-===//
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

static StringRef getText(Builtin builtin) {
  switch (builtin) {
  case Builtin::None:
    return {};
#define BUILTIN(NAME, TEXT)                                                    \
  case Builtin::NAME:                                                          \
    return TEXT;
#include "Builtins.def"
  }
  return {};
}

Val Checker::callBuiltin(Builtin builtin, const ast::CallExpr *e,
                         Expect expect) {
  StringRef name = getText(builtin);
  switch (builtin) {
  case Builtin::None:
    return Val();
#define BUILTIN(NAME, TEXT)
#define UNARY(NAME, TEXT, OP)                                                  \
  case Builtin::NAME:                                                          \
    return callUnary(Op::OP, e, name, expect);
#include "Builtins.def"
  case Builtin::Abs:
    return callUnary(Op::Abs, e, name, expect);
  case Builtin::Sign:
    return callUnary(Op::Sign, e, name, expect);
  case Builtin::StopGradient:
    return callUnary(Op::StopGradient, e, name, expect);
  case Builtin::Clamp:
    return callElementwise(Op::Clamp, e, name, expect);
  case Builtin::Pow:
    return callElementwise(Op::Pow, e, name, expect);
  case Builtin::Max:
  case Builtin::Min: {
    size_t positional = llvm::count_if(
        e->args, [](const ast::Arg &arg) { return !arg.name.isValid(); });
    if (positional >= 2)
      return callElementwise(builtin == Builtin::Max ? Op::Max : Op::Min, e,
                             name, expect);
    return callReduction(builtin, e, name);
  }
  case Builtin::Sum:
  case Builtin::Prod:
  case Builtin::Mean:
  case Builtin::Any:
  case Builtin::All:
  case Builtin::ArgMax:
  case Builtin::ArgMin:
    return callReduction(builtin, e, name);
  case Builtin::Reshape:
    return callReshape(e);
  case Builtin::Transpose:
    return callTranspose(e, false);
  case Builtin::Permute:
    return callTranspose(e, true);
  case Builtin::Iota:
    return callIota(e);
  case Builtin::Flip:
    return callFlip(e);
  case Builtin::Concat:
    return callConcat(e, false);
  case Builtin::Stack:
    return callConcat(e, true);
  case Builtin::Split:
    return callSplit(e);
  case Builtin::Pad:
    return callPad(e);
  case Builtin::Repeat:
    return callRepeat(e);
  case Builtin::Norm:
    return callNorm(e);
  case Builtin::Grad:
    return callGrad(e, false);
  case Builtin::ValueAndGrad:
    return callGrad(e, true);
  case Builtin::RandomUniform:
  case Builtin::RandomNormal:
  case Builtin::RandomBernoulli:
    return callRandom(builtin, e);
  case Builtin::Rank:
  case Builtin::Size: {
    // Of a pack or of a list of sizes.
    if (e->args.size() == 1 && !e->args[0].name.isValid()) {
      const ast::Arg &arg = e->args[0];
      llvm::SmallVector<Axis, 4> axes;
      if (arg.isPack) {
        Val pack =
            lookup(cast<ast::NameExpr>(arg.value)->name, arg.value->range);
        if (pack.isError())
          return Val();
        if (pack.kind == Val::Pack) {
          axes.append(pack.axes.begin(), pack.axes.end());
        } else {
          report(Diag::NotAPack, arg.value->range)
              << cast<ast::NameExpr>(arg.value)->name;
          return Val();
        }
      } else if (isa<ast::ListExpr>(arg.value)) {
        if (!evalShape(arg.value, axes))
          return Val();
      } else {
        report(Diag::RankOfShape, e->range) << name;
        return Val();
      }
      if (builtin == Builtin::Rank)
        return Val::makeDim(axes.size());
      int64_t count = 1;
      for (const Axis &axis : axes)
        if (llvm::MulOverflow(count, axis.size, count)) {
          report(Diag::SizeOverflow, e->range);
          return Val();
        }
      return Val::makeDim(count);
    }
    report(Diag::RankOfShape, e->range) << name;
    return Val();
  }
  case Builtin::Padded:
  case Builtin::Clamped:
    report(Diag::WindowOutOfPlace, e->range) << name;
    return Val();
  case Builtin::Checkpoint: {
    report(Diag::NotSupportedYet, e->callee->range) << "`checkpoint`";
    return Val();
  }
  case Builtin::Training:
    report(Diag::NotCallable, e->callee->range) << "a truth value";
    return Val();
  case Builtin::RandomNamespace:
  case Builtin::TdsNamespace:
    report(Diag::NotCallable, e->callee->range) << "a module of functions";
    return Val();
  }
  return Val();
}

//===----------------------------------------------------------------------===//
// Element functions and conversions
//===----------------------------------------------------------------------===//

Val Checker::callUnary(Op op, const ast::CallExpr *e, StringRef name,
                       Expect expect) {
  llvm::SmallVector<const ast::Expr *, 1> args;
  if (!takeArgs(e, name, {"x"}, 1, args))
    return Val();
  bool test = op == Op::IsNan || op == Op::IsFinite;
  bool anyType = op == Op::StopGradient;
  bool number = op == Op::Abs || op == Op::Sign;
  Val val;
  if (isFlexible(args[0])) {
    // `sqrt(2)` is a float also without a point.
    std::optional<Elem> elem = test ? std::nullopt : expect.elem;
    if ((!elem || !typed::isFloat(*elem)) && !number)
      elem = Elem::F32;
    val = elabFlexible(args[0], elem);
  } else {
    val = elab(args[0], expect);
  }
  if (val.kind == Val::Record && op == Op::StopGradient)
    return val;
  Value x = materialise(val, args[0]->range);
  if (!x)
    return Val();
  Type type = x.type();
  bool good = anyType ||
              (number ? typed::isNumber(type.elem) : typed::isFloat(type.elem));
  if (!good) {
    StringRef text = sources.getText(args[0]->range);
    report(Diag::NeedsFloat, args[0]->range)
            .fix(args[0]->range, "f32(" + text + ")", "convert it")
        << name << toString(type);
    return Val();
  }
  if (test)
    type.elem = Elem::Bool;
  return Val::makeTensor(make(op, type, x, e->range), body != nullptr);
}

Val Checker::callElementwise(Op op, const ast::CallExpr *e, StringRef name,
                             Expect expect) {
  llvm::SmallVector<const ast::Expr *, 4> args;
  if (op == Op::Clamp) {
    if (!takeArgs(e, name, {"x", "low", "high"}, 3, args))
      return Val();
  } else if (op == Op::Pow) {
    if (!takeArgs(e, name, {"x", "y"}, 2, args))
      return Val();
  } else {
    for (const ast::Arg &arg : e->args) {
      if (arg.name.isValid() || arg.isPack) {
        report(Diag::UnknownArgument, arg.name.range)
            << "`" + name + "` of several values" << arg.name.name;
        return Val();
      }
      args.push_back(arg.value);
    }
  }
  llvm::SmallVector<Val, 4> vals;
  if (!elabTogether(args, expect, vals))
    return Val();
  // Sizes alone stay sizes.
  if (op != Op::Clamp &&
      llvm::all_of(vals, [](const Val &val) { return val.kind == Val::Dim; })) {
    if (op == Op::Max || op == Op::Min) {
      Val best = vals[0];
      for (const Val &val : vals) {
        best.literal &= val.literal;
        if (op == Op::Max ? val.number > best.number : val.number < best.number)
          best.number = val.number;
      }
      return best;
    }
  }
  llvm::SmallVector<Value, 4> values;
  if (!materialiseTogether(args, vals, values, e->range, name))
    return Val();
  llvm::SmallVector<Range, 4> ranges;
  for (const ast::Expr *arg : args)
    ranges.push_back(arg->range);
  Elem elem = values[0].type().elem;
  if (!typed::isNumber(elem)) {
    report(Diag::NeedsNumber, ranges[0]) << name << toString(values[0].type());
    return Val();
  }
  if (op == Op::Clamp || op == Op::Pow) {
    Value out = makeElementwise(op, elem, values, ranges, e->range, name);
    return out ? Val::makeTensor(out, body != nullptr) : Val();
  }
  Value out = values[0];
  for (size_t i = 1; i < values.size(); ++i) {
    out = makeElementwise(op, elem, {out, values[i]}, {ranges[0], ranges[i]},
                          e->range, name);
    if (!out)
      return Val();
  }
  return Val::makeTensor(out, body != nullptr);
}

Val Checker::elabCast(Elem elem, const ast::CallExpr *e) {
  llvm::SmallVector<const ast::Expr *, 1> args;
  if (!takeArgs(e, typed::getName(elem), {"x"}, 1, args))
    return Val();
  Val val = isFlexible(args[0])
                ? elabFlexible(args[0],
                               typed::isFloat(elem) || !hasFloatLiteral(args[0])
                                   ? std::optional<Elem>(elem)
                                   : std::nullopt)
                : elab(args[0]);
  if (val.isError())
    return Val();
  if (val.kind == Val::Record) {
    llvm::SmallVector<Val, 8> elems;
    for (const Val &part : val.elems)
      elems.push_back(Val::makeTensor(makeCast(part.value, elem, e->range)));
    val.elems = copy(ArrayRef<Val>(elems));
    return val;
  }
  // A size becomes a constant at once, rounded where it has to be.
  if (val.kind == Val::Dim && frame->mode != Mode::Const) {
    if (typed::isFloat(elem)) {
      Scalar scalar;
      scalar.elem = elem;
      scalar.real = llvm::APFloat(typed::getSemantics(elem));
      scalar.real.convertFromAPInt(llvm::APInt(64, val.number, true), true,
                                   llvm::APFloat::rmNearestTiesToEven);
      return Val::makeTensor(makeConstant(scalar, {}, e->range),
                             body != nullptr);
    }
    if (elem == Elem::Bool)
      return Val::makeTruth(val.number != 0);
    Value value = materialise(val, e->range, elem);
    return value ? Val::makeTensor(value, body != nullptr) : Val();
  }
  Value x = materialise(val, args[0]->range);
  if (!x)
    return Val();
  return Val::makeTensor(makeCast(x, elem, e->range), body != nullptr);
}

//===----------------------------------------------------------------------===//
// Reductions of whole tensors
//===----------------------------------------------------------------------===//

/// An axis number; negative ones count from the end.
std::optional<int64_t> Checker::elabAxis(const ast::Expr *e, unsigned rank) {
  std::optional<int64_t> axis = evalSize(e);
  if (!axis)
    return std::nullopt;
  int64_t n = *axis < 0 ? *axis + rank : *axis;
  if (n < 0 || n >= int64_t(rank)) {
    report(Diag::BadAxis, e->range) << Twine(*axis) << Twine(rank);
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
  if (body) {
    report(Diag::TensorOpInBody, e->range)
            .note("in an index definition a reduction names its indices: `" +
                  name + "[k](…)`")
        << name;
    return Val();
  }
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
              .fix({e->range.end, e->range.end}, "axis = 0", "name the axis")
          << name << toString(type);
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

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

Val Checker::callReshape(const ast::CallExpr *e) {
  llvm::SmallVector<const ast::Expr *, 2> args;
  if (!takeArgs(e, "reshape", {"x", "shape"}, 2, args))
    return Val();
  if (body) {
    report(Diag::TensorOpInBody, e->range) << "reshape";
    return Val();
  }
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
  if (body) {
    report(Diag::TensorOpInBody, e->range) << name;
    return Val();
  }
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
  Value x = elabValue(args[0]);
  if (!x || body) {
    if (body)
      report(Diag::TensorOpInBody, e->range) << "flip";
    return Val();
  }
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

/// `concat([a, b], axis)` and `stack([a, b], axis)`: a chain of selects over
/// guarded reads, one for each part.
Val Checker::callConcat(const ast::CallExpr *e, bool stack) {
  StringRef name = stack ? "stack" : "concat";
  llvm::SmallVector<const ast::Expr *, 2> args;
  if (!takeArgs(e, name, {"parts", "axis"}, 1, args))
    return Val();
  if (body) {
    report(Diag::TensorOpInBody, e->range) << name;
    return Val();
  }
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
  llvm::SmallVector<Value, 4> parts;
  for (const ast::Expr *expr : exprs) {
    Value part = elabValue(expr);
    if (!part)
      return Val();
    if (!parts.empty() &&
        !sameElem(parts[0], part, exprs[0]->range, expr->range, e->range, name))
      return Val();
    parts.push_back(part);
  }
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
    bool fits = type.rank() == first.rank();
    for (unsigned k = 0; fits && k < type.rank(); ++k)
      fits = (!stack && k == axis) || type.axes[k].size == first.axes[k].size;
    if (!fits) {
      report(Diag::ShapeMismatch, e->range)
              .label(exprs[0]->range, "this is " + toString(first))
              .label(exprs[i]->range, "this is " + toString(type))
          << toString(first) << toString(type) << name << Twine(axis)
          << Twine(first.rank() ? first.axes[0].size : 0)
          << Twine(type.rank() ? type.axes[0].size : 0);
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
  if (!takeArgs(e, "split", {"x", "parts", "axis"}, 2, args))
    return Val();
  if (body) {
    report(Diag::TensorOpInBody, e->range) << "split";
    return Val();
  }
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
        << Twine(type.axes[axis].size) << Twine(*parts);
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
  if (!takeArgs(e, "pad", {"x", "axis", "before", "after", "value"}, 4, args))
    return Val();
  if (body) {
    report(Diag::TensorOpInBody, e->range) << "pad";
    return Val();
  }
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
  if (!takeArgs(e, "repeat", {"x", "times", "axis"}, 3, args))
    return Val();
  if (body) {
    report(Diag::TensorOpInBody, e->range) << "repeat";
    return Val();
  }
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

/// The square root of the sum of squares; its derivative at 0 is 0, so the
/// root is taken of 1 there and the result is replaced.
Val Checker::callNorm(const ast::CallExpr *e) {
  llvm::SmallVector<const ast::Expr *, 1> args;
  if (!takeArgs(e, "norm", {"x"}, 1, args))
    return Val();
  if (body) {
    report(Diag::TensorOpInBody, e->range) << "norm";
    return Val();
  }
  Val val = elab(args[0]);
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
    total = total ? make(Op::Add, sum.type(), {total, sum}, e->range) : sum;
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

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

bool Checker::canDraw(Range range) {
  if (frame->noEffects) {
    report(Diag::EffectOutOfPlace, range)
        << "a random number" << frame->noEffects;
    return false;
  }
  if (body) {
    report(Diag::EffectOutOfPlace, range)
        << "a random number" << "an index definition";
    return false;
  }
  if (frame->mode == Mode::Train || frame->mode == Mode::Init)
    return true;
  if (frame->mode == Mode::Const) {
    report(Diag::NotCompileTime, range);
    return false;
  }
  report(Diag::EffectOutsideStep, range)
          .note("where a function runs in both, put it under `if training`")
      << "a random number";
  return false;
}

Val Checker::callRandom(Builtin builtin, const ast::CallExpr *e) {
  StringRef name = getText(builtin);
  bool bernoulli = builtin == Builtin::RandomBernoulli;
  llvm::SmallVector<const ast::Expr *, 3> args;
  if (bernoulli) {
    if (!takeArgs(e, name, {"p", "shape", "like"}, 1, args))
      return Val();
  } else {
    if (!takeArgs(e, name, {"shape", "like"}, 0, args))
      return Val();
    args.insert(args.begin(), nullptr);
  }
  if (!canDraw(e->range))
    return Val();
  if ((args[1] != nullptr) == (args[2] != nullptr)) {
    report(Diag::RandomShape, e->range) << name;
    return Val();
  }
  Value p;
  if (bernoulli) {
    p = elabValue(args[0], isFlexible(args[0]) ? Expect(Elem::F32) : Expect());
    if (!p)
      return Val();
    if (!typed::isFloat(p.type().elem) || !p.type().isScalar()) {
      report(Diag::NeedsFloat, args[0]->range) << name << toString(p.type());
      return Val();
    }
    p = makeCast(p, Elem::F32, e->range);
  }
  ArrayRef<Axis> axes;
  Elem elem = Elem::F32;
  if (args[2]) {
    Value like = elabValue(args[2]);
    if (!like)
      return Val();
    axes = like.type().axes;
    if (typed::isFloat(like.type().elem))
      elem = like.type().elem;
  } else {
    llvm::SmallVector<Axis, 4> shape;
    if (!evalShape(args[1], shape))
      return Val();
    axes = copy(ArrayRef<Axis>(shape));
  }
  Value seed = readVar(programVariable("tds.seed"), e->range);
  Value step = readVar(programVariable("tds.step"), e->range);
  unsigned site = frame->state->siteBase + frame->state->numSites++;
  Value out = buildMap(Elem::F32, axes, e->range, [&](ArrayRef<Value> index) {
    Value seedHere = readAt(seed, {}, e->range);
    Value stepHere = readAt(step, {}, e->range);
    // The logical index in row-major order.
    Value linear;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (!linear) {
        linear = index[i];
        continue;
      }
      Node *scaled =
          makeNode(Op::IndexMul, Type{Elem::Index, {}}, linear, e->range);
      scaled->number = axes[i].size;
      linear = make(Op::IndexAdd, Type{Elem::Index, {}},
                    {Value{scaled, 0}, index[i]}, e->range);
    }
    if (!linear)
      linear = indexConstant(0, e->range).value;
    Node *node = makeNode(Op::Random, Type{Elem::F32, {}},
                          {seedHere, stepHere, linear}, e->range);
    node->number = site;
    node->distribution = builtin == Builtin::RandomNormal
                             ? typed::Distribution::Normal
                             : typed::Distribution::Uniform;
    return Value{node, 0};
  });
  if (bernoulli) {
    Value bound = makeBroadcast(p, axes, e->range);
    return Val::makeTensor(
        make(Op::Lt, Type{Elem::Bool, axes}, {out, bound}, e->range));
  }
  return Val::makeTensor(makeCast(out, elem, e->range));
}
