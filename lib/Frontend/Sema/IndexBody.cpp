//===- IndexBody.cpp - Bodies of index definitions -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The body of a definition becomes a Generic. A reduction inside becomes a
// Generic of its own before it, over the indices that it uses, and is read
// there; only a definition that is nothing but a reduction keeps it.
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

Val Checker::indexConstant(int64_t n, Range range) {
  Node *node = makeNode(Op::IndexConstant, Type{Elem::Index, {}}, {}, range);
  node->number = n;
  Val val;
  val.kind = Val::Index;
  val.value = {node, 0};
  return val;
}

Value Checker::indexNode(const Val &val, Range range) {
  if (val.kind == Val::Dim)
    return indexConstant(val.number, range).value;
  if (val.indexVar) {
    if (!val.indexVar->loop) {
      report(Diag::IndexOutside, range) << val.indexVar->name;
      return {};
    }
    return {val.indexVar->loop, 0};
  }
  if (val.kind == Val::Tensor) {
    // The loop variable of a fold, alone or in an expression.
    Value place = materialise(val, range);
    return place ? make(Op::ToIndex, Type{Elem::Index, {}}, place, range)
                 : Value();
  }
  return val.value;
}

Value Checker::readAt(Value tensor, ArrayRef<Value> indices, Range range) {
  llvm::SmallVector<Value, 6> operands{tensor};
  operands.append(indices.begin(), indices.end());
  return make(Op::Read, Type{tensor.type().elem, {}}, operands, range);
}

Value Checker::buildMap(Elem elem, ArrayRef<Axis> axes, Range range,
                        llvm::function_ref<Value(ArrayRef<Value>)> element) {
  axes = copy(axes);
  program.bodies.emplace_back();
  typed::Body *inner = &program.bodies.back();
  llvm::SmallVector<int64_t, 4> extents;
  llvm::SmallVector<Value, 4> indices;
  for (const Axis &axis : axes) {
    Node *loop = makeNode(Op::LoopIndex, Type{Elem::Index, {}}, {}, range);
    loop->number = extents.size();
    extents.push_back(axis.size);
    indices.push_back({loop, 0});
  }
  inner->parallel = copy(ArrayRef<int64_t>(extents));
  typed::Body *outer = body;
  body = inner;
  inner->result = element(indices).node;
  body = outer;
  Node *node = makeNode(Op::Generic, Type{elem, axes}, {}, range);
  node->body = inner;
  return {node, 0};
}

//===----------------------------------------------------------------------===//
// Definitions
//===----------------------------------------------------------------------===//

Val Checker::defineByIndex(ArrayRef<ast::Binder> binders,
                           const ast::Expr *value, Range range) {
  if (frame->mode == Mode::Const) {
    report(Diag::NotCompileTime, range);
    return Val();
  }
  if (body) {
    // A function that runs on the scalars of a body.
    report(Diag::TensorOpInBody, range) << "another index definition";
    return Val();
  }
  Definition def;
  Definition *outer = definition;
  typed::Body *outerBody = body;
  definition = &def;
  body = nullptr;
  frame->push();
  llvm::SmallVector<IndexVar *, 4> free;
  bindIndices(def, binders, free);
  const char *outerEffects = frame->noEffects;
  frame->noEffects = "an index definition";
  collect(def, value);
  if (!def.failed)
    solveRanges(def);
  if (!def.failed)
    checkReads(def);
  Val result;
  if (!def.failed && !aborted) {
    Value out = buildGeneric(free, value, nullptr, range);
    if (out)
      result = Val::makeTensor(out);
  }
  frame->noEffects = outerEffects;
  frame->pop();
  definition = outer;
  body = outerBody;
  return result;
}

static Builtin getReduction(StringRef name) {
  return llvm::StringSwitch<Builtin>(name)
      .Case("sum", Builtin::Sum)
      .Case("max", Builtin::Max)
      .Case("min", Builtin::Min)
      .Case("prod", Builtin::Prod)
      .Case("mean", Builtin::Mean)
      .Case("any", Builtin::Any)
      .Case("all", Builtin::All)
      .Case("argmax", Builtin::ArgMax)
      .Case("argmin", Builtin::ArgMin)
      .Default(Builtin::None);
}

/// A tensor over the `free` indices: each element is `value`, or the
/// reduction `reduce`.
Value Checker::buildGeneric(ArrayRef<IndexVar *> free, const ast::Expr *value,
                            const ast::ReduceExpr *reduce, Range range) {
  // A definition that is a reduction as a whole.
  if (!reduce)
    reduce = dyn_cast<ast::ReduceExpr>(value);
  llvm::SmallVector<IndexVar *, 8> all(free.begin(), free.end());
  if (reduce) {
    value = reduce->body;
    for (IndexVar *var : definition->binders.lookup(reduce))
      all.push_back(var);
  }
  if (all.size() > typed::kRankLimit) {
    report(Diag::TooManyAxes, range)
        << "this index definition" << Twine(all.size())
        << Twine(typed::kRankLimit);
    return {};
  }
  program.bodies.emplace_back();
  typed::Body *inner = &program.bodies.back();
  llvm::SmallVector<int64_t, 4> parallel, reduced;
  llvm::SmallVector<Axis, 4> axes;
  llvm::SmallVector<Node *, 8> outerLoops;
  for (size_t i = 0; i < all.size(); ++i) {
    outerLoops.push_back(all[i]->loop);
    Node *loop =
        makeNode(Op::LoopIndex, Type{Elem::Index, {}}, {}, all[i]->range);
    loop->number = i;
    loop->name = all[i]->name;
    all[i]->loop = loop;
    if (i < free.size()) {
      parallel.push_back(all[i]->extent);
      axes.push_back({all[i]->extent, false});
    } else {
      reduced.push_back(all[i]->extent);
    }
  }
  inner->parallel = copy(ArrayRef<int64_t>(parallel));
  inner->reduced = copy(ArrayRef<int64_t>(reduced));

  // Reduction indices are visible in the body only.
  frame->push();
  bindVisible(ArrayRef<IndexVar *>(all).drop_front(free.size()));
  typed::Body *outerBody = body;
  body = inner;
  Val element;
  bool flexible = isFlexible(value);
  element = flexible ? elabFlexible(value, std::nullopt) : elab(value);
  Value scalar = materialise(element, value->range);

  Builtin op = reduce ? getReduction(reduce->op.name) : Builtin::None;
  Elem elem = scalar ? scalar.type().elem : Elem::F32;
  Elem work = elem, resultElem = elem;
  bool good = bool(scalar);
  bool sums = op == Builtin::Sum || op == Builtin::Prod || op == Builtin::Mean;
  if (good && reduce) {
    bool logical = op == Builtin::Any || op == Builtin::All;
    if (logical != (elem == Elem::Bool)) {
      auto d =
          report(logical ? Diag::NeedsBool : Diag::NeedsNumber, value->range);
      d << reduce->op.name << typed::getName(elem);
      if (!logical)
        d.fix(value->range, "f32(" + sources.getText(value->range) + ")",
              "convert it");
      good = false;
    }
    if (sums) {
      work = op == Builtin::Mean && typed::isInt(elem)
                 ? Elem::I64
                 : typed::getAccumulator(elem);
      resultElem = typed::isFloat(elem) ? elem : work;
    }
    bool arg = op == Builtin::ArgMax || op == Builtin::ArgMin;
    if (arg) {
      resultElem = work = Elem::I32;
      if (good && (reduced.size() != 1 || reduced[0] == 0)) {
        if (reduced.size() == 1)
          report(Diag::EmptyArgMax, reduce->range)
              << reduce->op.name << "the range";
        else
          report(Diag::ArgMaxAxes, reduce->range)
                  .note("over several, number the places: `let flat = "
                        "reshape(x, [_])`, then `" +
                        reduce->op.name + "(flat, axis = 0)`")
              << reduce->op.name << "index, not along " + Twine(reduced.size());
        good = false;
      }
    } else if (good && work != elem) {
      // A product is accumulated without rounding: widen its factors.
      if (scalar.node->op == Op::Mul && typed::isFloat(elem)) {
        Value l = makeCast(scalar.node->operands[0], work, value->range);
        Value r = makeCast(scalar.node->operands[1], work, value->range);
        scalar = make(Op::Mul, Type{work, {}}, {l, r}, value->range);
      } else {
        scalar = makeCast(scalar, work, value->range);
      }
    }
    static const typed::Reduction kinds[] = {
        typed::Reduction::Sum,   typed::Reduction::Max,
        typed::Reduction::Min,   typed::Reduction::Prod,
        typed::Reduction::Sum,   typed::Reduction::Any,
        typed::Reduction::All,   typed::Reduction::ArgMax,
        typed::Reduction::ArgMin};
    inner->reduction = kinds[size_t(op) - size_t(Builtin::Sum)];
  }
  inner->result = scalar.node;
  body = nullptr;
  frame->pop();
  for (size_t i = 0; i < all.size(); ++i)
    all[i]->loop = outerLoops[i];

  Value out;
  Type type{work, copy(ArrayRef<Axis>(axes))};
  if (good && checkType(type, range)) {
    Node *node = makeNode(Op::Generic, type, {}, range);
    node->body = inner;
    out = {node, 0};
    if (op == Builtin::Mean) {
      int64_t count = 1;
      for (int64_t extent : reduced)
        count *= extent;
      Value divisor = makeNumber(work, count, type.axes, range);
      out = make(typed::isFloat(work) ? Op::Div : Op::FloorDiv, type,
                 {out, divisor}, range);
    }
    out = makeCast(out, resultElem, range);
  }
  body = outerBody;
  return out;
}

/// A reduction inside a body: built before it, and read here. Outside of a
/// definition it is one without free indices.
Val Checker::elabReduce(const ast::ReduceExpr *e) {
  if (!body || !definition)
    return defineByIndex({}, e, e->range);
  llvm::SmallVector<IndexVar *, 8> free;
  collectIndices(e, free);
  // Indices that the reduction itself binds are not free.
  llvm::SmallVector<IndexVar *, 4> own = definition->binders.lookup(e);
  llvm::erase_if(free, [&](IndexVar *var) {
    return llvm::is_contained(own, var) || !var->loop;
  });
  typed::Body *outer = body;
  body = nullptr;
  Value tensor = buildGeneric(free, e->body, e, e->range);
  body = outer;
  if (!tensor)
    return Val();
  llvm::SmallVector<Value, 8> indices;
  for (IndexVar *var : free)
    indices.push_back({var->loop, 0});
  return Val::makeTensor(readAt(tensor, indices, e->range), true);
}

//===----------------------------------------------------------------------===//
// Reads and slices
//===----------------------------------------------------------------------===//

/// A gather that is out of range reads 0.
void Checker::guardWithZero(Value read) {
  Scalar zero;
  zero.elem = read.type().elem;
  if (typed::isFloat(zero.elem))
    zero.real = llvm::APFloat::getZero(typed::getSemantics(zero.elem));
  read.node->readMode = typed::ReadMode::Guarded;
  read.node->value = keep(zero);
}

Val Checker::elabRead(const ast::IndexExpr *e) {
  const ast::Expr *base = e->base;
  typed::ReadMode mode = typed::ReadMode::Proven;
  const Scalar *guard = nullptr;
  const ast::Expr *guardExpr = nullptr;
  if (auto *call = dyn_cast<ast::CallExpr>(base)) {
    auto *name = dyn_cast<ast::NameExpr>(call->callee);
    Val callee = name ? lookup(name->name, name->range, false) : Val();
    llvm::SmallVector<const ast::Expr *, 2> args;
    if (callee.builtin == Builtin::Padded) {
      if (!takeArgs(call, "padded", {"x", "value"}, 2, args))
        return Val();
      mode = typed::ReadMode::Guarded;
      guardExpr = args[1];
      base = args[0];
    } else if (callee.builtin == Builtin::Clamped) {
      if (!takeArgs(call, "clamped", {"x"}, 1, args))
        return Val();
      mode = typed::ReadMode::Clamped;
      base = args[0];
    }
  }
  auto it = definition->hoisted.find(base);
  if (it == definition->hoisted.end())
    return Val();
  Value tensor = it->second.value;
  Elem elem = tensor.type().elem;
  if (guardExpr) {
    Val fill = constantOf(guardExpr, elem);
    if (fill.kind == Val::Truth) {
      Scalar truth;
      truth.elem = Elem::Bool;
      truth.integer = fill.number;
      guard = keep(truth);
    } else if (fill.kind == Val::Number) {
      guard = fill.scalar;
    } else {
      return Val();
    }
  }
  llvm::SmallVector<Value, 6> indices;
  bool gathers = false;
  Value inside; // of a padded read at a place that is data
  // A padded read at such a place is no gather that fails: the place is brought
  // inside, and the value chosen.
  auto bringInside = [&](Value place, Range range) {
    int64_t size = tensor.type().axes[indices.size()].size;
    place = makeCast(place, Elem::I64, range);
    Value zero = makeInt(Elem::I64, 0, {}, range),
          last = makeInt(Elem::I64, size - 1, {}, range);
    Type truth{Elem::Bool, {}}, number{Elem::I64, {}};
    for (Value next : {make(Op::Ge, truth, {place, zero}, range),
                       make(Op::Le, truth, {place, last}, range)})
      inside = inside ? make(Op::And, truth, {inside, next}, range) : next;
    Value low = make(Op::Min, number, {place, last}, range);
    Value near = make(Op::Max, number, {low, zero}, range);
    indices.push_back(make(Op::ToIndex, Type{Elem::Index, {}}, near, range));
  };
  for (const ast::IndexItem &item : e->items) {
    Linear linear;
    if (classify(item.value, linear) != IndexForm::Value) {
      if (guardExpr && mentionsCounter(item.value)) {
        Value place = materialise(elab(item.value), item.range, Elem::I32);
        if (!place)
          return Val();
        bringInside(place, item.range);
        continue;
      }
      Value index = indexNode(elab(item.value), item.range);
      if (!index)
        return Val();
      indices.push_back(index);
      continue;
    }
    auto hoisted = definition->hoisted.find(item.value);
    Val val = hoisted != definition->hoisted.end() ? hoisted->second
                                                   : elab(item.value);
    Value place = materialise(val, item.range);
    if (!place)
      return Val();
    if (!typed::isInt(place.type().elem)) {
      report(Diag::IndexNotInteger, item.range) << toString(place.type());
      return Val();
    }
    if (guardExpr) {
      bringInside(place, item.range);
      continue;
    }
    gathers = true;
    indices.push_back(
        make(Op::ToIndex, Type{Elem::Index, {}}, place, item.range));
  }
  bool isEmpty = llvm::any_of(tensor.type().axes,
                              [](const Axis &axis) { return axis.size == 0; });
  if (inside && isEmpty)
    return Val::makeTensor(makeConstant(*guard, {}, e->range), true);
  Value out = readAt(tensor, indices, e->range);
  if (gathers && mode == typed::ReadMode::Proven) {
    guardWithZero(out);
  } else {
    out.node->readMode = mode;
    out.node->value = guard;
  }
  if (inside)
    out = make(Op::Select, Type{elem, {}},
               {inside, out, makeConstant(*guard, {}, e->range)}, e->range);
  return Val::makeTensor(out, true);
}

/// `blocks[2]`, a read in a body, or a slice.
Val Checker::elabSubscript(const ast::IndexExpr *e) {
  if (body && definition) {
    const ast::Expr *base = e->base;
    if (!isa<ast::NameExpr, ast::MemberExpr>(base) ||
        definition->hoisted.count(base))
      return elabRead(e);
  }
  Val base = resolve(e->base);
  if (base.isError())
    return Val();
  if (base.kind == Val::InstanceArray) {
    if (e->items.size() != 1 || e->items[0].isSlice) {
      report(Diag::WrongIndexCount, e->range)
          << Twine(e->items.size()) << "an array of layers";
      return Val();
    }
    std::optional<int64_t> n = evalSize(e->items[0].value);
    if (!n)
      return Val();
    int64_t index = *n < 0 ? *n + base.number : *n;
    if (index < 0 || index >= base.number) {
      report(Diag::SliceOutside, e->items[0].range)
          << Twine(*n) << Twine(base.number);
      return Val();
    }
    base.kind = Val::Instance;
    base.instance.path = intern(base.instance.path + "." + Twine(index));
    return base;
  }
  if (body) {
    report(Diag::NeedsIndices, e->base->range) << "this value";
    return Val();
  }
  Value tensor = materialise(base, e->base->range);
  return tensor ? elabSlice(e, tensor) : Val();
}

/// `x[t]` with the loop variable of a fold: proven to lie inside, as in an
/// index definition.
Value Checker::sliceAtCounter(const ast::IndexItem &item, int64_t size) {
  Definition def, *outer = definition;
  definition = &def;
  int64_t low = 0, high = 0;
  bool known = interval(item.value, low, high);
  bool runs = true;
  for (FoldState *fold = frame->state->fold; fold; fold = fold->outer)
    runs &= fold->counter.extent > 0;
  definition = outer;
  if (runs && (!known || low < 0 || high >= size)) {
    auto d = report(Diag::SliceOutside, item.range);
    if (known)
      d << "from " + Twine(low) + " to " + Twine(high) << Twine(size);
    else
      d << sources.getText(item.range) << Twine(size);
    d.note("an index definition can read `padded(x, 0)[…]` or "
           "`clamped(x)[…]`");
    return {};
  }
  return elabValue(item.value, Elem::I32);
}

/// `x[2:10, :, -1]`: an item without a colon takes the axis away. Only here
/// negative places count from the end.
Val Checker::elabSlice(const ast::IndexExpr *e, Value base) {
  Type type = base.type();
  if (e->items.size() > type.rank() || type.isScalar()) {
    report(Diag::WrongIndexCount, e->range)
        << Twine(e->items.size()) << toString(type);
    return Val();
  }
  llvm::SmallVector<int64_t, 4> offsets;
  /// A scalar that gives the place: of a fold, or data.
  llvm::SmallVector<Value, 4> computed;
  bool gathers = false;
  llvm::SmallVector<bool, 4> kept;
  llvm::SmallVector<Axis, 4> axes;
  for (unsigned i = 0; i < type.rank(); ++i) {
    Axis axis = type.axes[i];
    if (i >= e->items.size()) {
      offsets.push_back(0);
      computed.push_back({});
      kept.push_back(true);
      axes.push_back(axis);
      continue;
    }
    const ast::IndexItem &item = e->items[i];
    auto place = [&](const ast::Expr *expr, int64_t otherwise,
                     int64_t limit) -> std::optional<int64_t> {
      if (!expr)
        return otherwise;
      // Most likely an index definition without its left side.
      std::optional<int64_t> n = evalSize(expr);
      if (!n)
        return std::nullopt;
      int64_t at = *n < 0 ? *n + axis.size : *n;
      if (at < 0 || at > limit) {
        report(Diag::SliceOutside, expr->range)
            << Twine(*n) << Twine(axis.size);
        return std::nullopt;
      }
      return at;
    };
    if (!item.isSlice && mentionsCounter(item.value)) {
      Value at = sliceAtCounter(item, axis.size);
      if (!at)
        return Val();
      offsets.push_back(0);
      computed.push_back(at);
      kept.push_back(false);
      continue;
    }
    if (!item.isSlice) {
      Val val = elab(item.value);
      if (val.isError())
        return Val();
      if (val.kind == Val::Tensor || val.kind == Val::Variable) {
        Value at = materialise(val, item.range);
        if (!at)
          return Val();
        if (!typed::isInt(at.type().elem) || !at.type().isScalar()) {
          auto d = report(Diag::IndexNotInteger, item.range);
          d << toString(at.type());
          if (typed::isInt(at.type().elem))
            d.note("an index definition reads at each of them: `let y[i] = "
                   "x[ids[i]]`");
          return Val();
        }
        gathers = true;
        offsets.push_back(0);
        computed.push_back(at);
        kept.push_back(false);
        continue;
      }
      std::optional<int64_t> at = place(item.value, 0, axis.size - 1);
      if (!at)
        return Val();
      offsets.push_back(*at);
      computed.push_back({});
      kept.push_back(false);
      continue;
    }
    std::optional<int64_t> low = place(item.low, 0, axis.size);
    std::optional<int64_t> high = place(item.high, axis.size, axis.size);
    if (!low || !high)
      return Val();
    if (*high < *low) {
      report(Diag::NegativeSize, item.range) << Twine(*high - *low);
      return Val();
    }
    offsets.push_back(*low);
    computed.push_back({});
    kept.push_back(true);
    bool whole = *low == 0 && *high == axis.size;
    axes.push_back({*high - *low, whole && axis.stretches});
  }
  Value out =
      buildMap(type.elem, copy(ArrayRef<Axis>(axes)), e->range,
               [&](ArrayRef<Value> index) {
                 llvm::SmallVector<Value, 4> at;
                 unsigned next = 0;
                 for (unsigned i = 0; i < offsets.size(); ++i) {
                   if (computed[i]) {
                     Value number = readAt(computed[i], {}, e->range);
                     at.push_back(make(Op::ToIndex, Type{Elem::Index, {}},
                                       number, e->range));
                     continue;
                   }
                   if (!kept[i]) {
                     at.push_back(indexConstant(offsets[i], e->range).value);
                     continue;
                   }
                   Value place = index[next++];
                   if (offsets[i]) {
                     Value shift = indexConstant(offsets[i], e->range).value;
                     place = make(Op::IndexAdd, Type{Elem::Index, {}},
                                  {place, shift}, e->range);
                   }
                   at.push_back(place);
                 }
                 Value read = readAt(base, at, e->range);
                 if (gathers)
                   guardWithZero(read);
                 return read;
               });
  return Val::makeTensor(out);
}

/// A call with a custom derivative inside a body: its arguments become
/// tensors over the indices they use, the function runs on these, and the
/// body reads the result.
Val Checker::callHoisted(const CallTarget &target, const ast::CallExpr *e) {
  llvm::SmallVector<const ast::Expr *, 8> exprs;
  if (!matchArgs(target.fn->params, e->args, e->range,
                 "`" + target.fn->name.name + "`", target.fn->signature, exprs))
    return Val();
  for (auto [param, expr] : llvm::zip_equal(target.fn->params, exprs))
    if (expr && param.type && !param.type->hasShape &&
        !isCompileTimeParam(param) && !isFlexible(expr) &&
        mentionsIndex(expr)) {
      StringRef elem = param.type->elem.name;
      report(Diag::VjpOnElements, e->range)
              .label(param.type->range, "this takes one number")
              .note("give its types a shape pack: `" + param.name.name + ": " +
                    elem + "[...s]`, and the result `" + elem + "[...s]`")
          << target.fn->name.name;
      return Val();
    }
  llvm::SmallVector<IndexVar *, 8> free;
  collectIndices(e, free);
  llvm::erase_if(free, [](IndexVar *var) { return !var->loop; });
  // The tensors take the places of the arguments under names that no source
  // can hold.
  llvm::SmallVector<ast::Arg, 4> args;
  typed::Body *outer = body;
  frame->push();
  bool good = true;
  for (const ast::Arg &arg : e->args) {
    ast::Arg next = arg;
    if (!isFlexible(arg.value) && mentionsIndex(arg.value)) {
      body = nullptr;
      Value tensor = buildGeneric(free, arg.value, nullptr, arg.value->range);
      body = outer;
      if (!tensor) {
        good = false;
        break;
      }
      StringRef name = intern("\1arg" + Twine(args.size()));
      frame->bind(name, Val::makeTensor(tensor));
      next.value = context.make<ast::NameExpr>(arg.value->range, name);
    }
    args.push_back(next);
  }
  Val result;
  if (good) {
    auto *call = context.make<ast::CallExpr>(
        e->range, e->callee, context.copy(ArrayRef<ast::Arg>(args)));
    body = nullptr;
    Val out = callFunction(target, call, {});
    Value tensor = materialise(out, e->range);
    body = outer;
    if (tensor) {
      llvm::SmallVector<Value, 8> indices;
      if (tensor.type().rank() != free.size()) {
        report(Diag::TensorOpInBody, e->range) << target.fn->name.name;
      } else {
        for (IndexVar *var : free)
          indices.push_back({var->loop, 0});
        result = Val::makeTensor(readAt(tensor, indices, e->range), true);
      }
    }
  }
  frame->pop();
  return result;
}
