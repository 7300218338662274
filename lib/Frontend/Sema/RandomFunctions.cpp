//===- RandomFunctions.cpp - Draws -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Checker.h"

using namespace tdsl;
using namespace tdsl::sema;
using llvm::ArrayRef;
using llvm::StringRef;

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
  StringRef name = getBuiltinText(builtin);
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
