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

StringRef tdsl::sema::getBuiltinText(Builtin builtin) {
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
  StringRef name = getBuiltinText(builtin);
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
  case Builtin::Checkpoint:
    return callCheckpoint(e, expect);
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
  if (val.kind == Val::Record)
    return mapRecords(val, e->range, [&](ArrayRef<Val> elem) {
      return makeUnary(op, elem[0], args[0], e, name);
    });
  return makeUnary(op, val, args[0], e, name);
}

Val Checker::makeUnary(Op op, const Val &val, const ast::Expr *arg,
                       const ast::CallExpr *e, StringRef name) {
  bool test = op == Op::IsNan || op == Op::IsFinite;
  bool anyType = op == Op::StopGradient;
  bool number = op == Op::Abs || op == Op::Sign;
  Value x = materialise(val, arg->range);
  if (!x)
    return Val();
  Type type = x.type();
  bool good = anyType ||
              (number ? typed::isNumber(type.elem) : typed::isFloat(type.elem));
  if (!good) {
    StringRef text = sources.getText(arg->range);
    report(Diag::NeedsFloat, arg->range)
            .fix(arg->range, "f32(" + text + ")", "convert it")
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
  if (llvm::any_of(vals,
                   [](const Val &val) { return val.kind == Val::Record; }))
    return mapRecords(vals, e->range, [&](ArrayRef<Val> elems) {
      return makeElementwise(op, args, elems, e, name);
    });
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
  return makeElementwise(op, args, vals, e, name);
}

Val Checker::makeElementwise(Op op, ArrayRef<const ast::Expr *> args,
                             ArrayRef<Val> vals, const ast::CallExpr *e,
                             StringRef name) {
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
