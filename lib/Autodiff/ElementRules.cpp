//===- ElementRules.cpp - derivatives of element operations -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Element operations mean the same on scalars and tensors, so one rule serves
// the bodies of index definitions and whole tensors. Every rule maps an adjoint
// of exactly 0 to exactly 0 (strong zeros, see AdjointBuilder.h); the inversion
// of guarded reads in BodyAdjoint.cpp relies on it.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;
using namespace tdsl::autodiff;

using Predicate = ComparePredicate;

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

static LogicalResult addRule(AddOp, RuleContext &c) {
  c.give(0, c.g);
  c.give(1, c.g);
  return success();
}

static LogicalResult subRule(SubOp, RuleContext &c) {
  c.give(0, c.g);
  if (c.wants(1))
    c.give(1, c.neg(c.g));
  return success();
}

static LogicalResult mulRule(MulOp op, RuleContext &c) {
  if (op.getLhs() == op.getRhs()) {
    // A square: one contribution of 2x.
    c.give(0, c.strongMul(c.g, c.mul(op.getLhs(), 2)));
    return success();
  }
  if (c.wants(0))
    c.give(0, c.strongMul(c.g, op.getRhs()));
  if (c.wants(1))
    c.give(1, c.strongMul(c.g, op.getLhs()));
  return success();
}

static LogicalResult divRule(DivOp op, RuleContext &c) {
  Value byLhs = c.strongDiv(c.g, op.getRhs());
  c.give(0, byLhs);
  if (c.wants(1))
    c.give(1, c.neg(c.strongMul(byLhs, op.getResult())));
  return success();
}

static LogicalResult modRule(ModOp op, RuleContext &c) {
  c.give(0, c.g);
  if (c.wants(1)) {
    Value quotient = FloorDivOp::create(c.builder, c.loc, op.getType(),
                                        op.getLhs(), op.getRhs());
    c.give(1, c.neg(c.strongMul(c.g, quotient)));
  }
  return success();
}

/// `b * a^(b-1)` for the base; `a^b * log(a)` for the exponent, which is 0 at a
/// = 0 for b >= 0, the limit.
static LogicalResult powRule(PowOp op, RuleContext &c) {
  Value base = op.getLhs(), exponent = op.getRhs();
  Type type = op.getType();
  if (c.wants(0)) {
    // Only a literal is known: another constant has the derivative, bit for
    // bit, that it would have at run time.
    std::optional<double> known;
    if (op.getLiteral())
      known = getSplat(exponent);
    if (known == 2.0) {
      c.give(0, c.strongMul(c.g, c.mul(base, 2)));
    } else if (known == 3.0) {
      c.give(0, c.strongMul(c.g, c.mul(c.mul(base, base), 3)));
    } else if (known != 0.0) {
      Value lower = c.sub(exponent, c.constant(type, 1));
      Value power = getSplat(lower) == 0.0
                        ? c.constant(type, 1)
                        : Value(PowOp::create(c.builder, c.loc, type, base,
                                              lower, op.getLiteral()));
      Value factor = c.mul(exponent, power);
      if (!known)
        factor =
            c.select(c.compare(Predicate::EQ, exponent, 0), Value(), factor);
      c.give(0, c.strongMul(c.g, factor));
    }
  }
  if (c.wants(1)) {
    Value factor = c.mul(op.getResult(), c.unary<LogOp>(base));
    Value isLimit = c.both(c.compare(Predicate::EQ, base, 0),
                           c.compare(Predicate::GE, exponent, 0));
    c.give(1, c.strongMul(c.g, c.select(isLimit, Value(), factor)));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Kinks
//===----------------------------------------------------------------------===//

/// The winner takes the adjoint; a tie gives half to each.
template <typename Op, Predicate wins>
static LogicalResult extremumRule(Op op, RuleContext &c) {
  Value lhs = op.getLhs(), rhs = op.getRhs();
  if (lhs == rhs) {
    c.give(0, c.g);
    return success();
  }
  Value half = c.mul(c.g, 0.5);
  Value tied = c.select(c.compare(Predicate::EQ, lhs, rhs), half, Value());
  if (c.wants(0))
    c.give(0, c.select(c.compare(wins, lhs, rhs), c.g, tied));
  if (c.wants(1))
    c.give(1, c.select(c.compare(wins, rhs, lhs), c.g, tied));
  return success();
}

/// The bounds belong to the operand. What lies above `high` after the lower
/// bound was applied goes to `high`.
static LogicalResult clampRule(ClampOp op, RuleContext &c) {
  Value x = op.getOperand(), low = op.getLow(), high = op.getHigh();
  if (c.wants(0)) {
    Value inside = c.both(c.compare(Predicate::GE, x, low),
                          c.compare(Predicate::LE, x, high));
    c.give(0, c.select(inside, c.g, Value()));
  }
  if (c.wants(1)) {
    Value below = c.both(c.compare(Predicate::LT, x, low),
                         c.compare(Predicate::LE, low, high));
    c.give(1, c.select(below, c.g, Value()));
  }
  if (c.wants(2)) {
    Value raised = MaxOp::create(c.builder, c.loc, op.getType(), x, low);
    c.give(2, c.select(c.compare(Predicate::GT, raised, high), c.g, Value()));
  }
  return success();
}

static LogicalResult absRule(AbsOp op, RuleContext &c) {
  Value x = op.getOperand();
  Value below = c.select(c.compare(Predicate::LT, x, 0), c.neg(c.g), Value());
  c.give(0, c.select(c.compare(Predicate::GT, x, 0), c.g, below));
  return success();
}

static LogicalResult selectRule(SelectOp op, RuleContext &c) {
  if (op->hasAttr(kStrongZero)) {
    // Differentiated as the product that it protects.
    c.give(2, c.g);
    return success();
  }
  if (c.wants(1))
    c.give(1, c.select(op.getCondition(), c.g, Value()));
  if (c.wants(2))
    c.give(2, c.select(op.getCondition(), Value(), c.g));
  return success();
}

/// Piecewise constant functions.
template <typename Op> static LogicalResult constantRule(Op, RuleContext &) {
  return success();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static LogicalResult negRule(NegOp, RuleContext &c) {
  c.give(0, c.neg(c.g));
  return success();
}

static LogicalResult sqrtRule(SqrtOp op, RuleContext &c) {
  c.give(0, c.strongDiv(c.mul(c.g, 0.5), op.getResult()));
  return success();
}

static LogicalResult rsqrtRule(RsqrtOp op, RuleContext &c) {
  Value r = op.getResult();
  c.give(0, c.strongMul(c.mul(c.g, -0.5), c.mul(c.mul(r, r), r)));
  return success();
}

static LogicalResult expRule(ExpOp op, RuleContext &c) {
  c.give(0, c.strongMul(c.g, op.getResult()));
  return success();
}

static LogicalResult expm1Rule(Expm1Op op, RuleContext &c) {
  c.give(0,
         c.strongMul(c.g, c.add(op.getResult(), c.constant(op.getType(), 1))));
  return success();
}

static LogicalResult logRule(LogOp op, RuleContext &c) {
  c.give(0, c.strongDiv(c.g, op.getOperand()));
  return success();
}

static LogicalResult log1pRule(Log1pOp op, RuleContext &c) {
  c.give(0,
         c.strongDiv(c.g, c.add(op.getOperand(), c.constant(op.getType(), 1))));
  return success();
}

static LogicalResult tanhRule(TanhOp op, RuleContext &c) {
  Value square = c.mul(op.getResult(), op.getResult());
  c.give(0, c.strongMul(c.g, c.sub(c.constant(op.getType(), 1), square)));
  return success();
}

static LogicalResult sigmoidRule(SigmoidOp op, RuleContext &c) {
  Value r = op.getResult();
  c.give(0, c.strongMul(c.g, c.mul(r, c.sub(c.constant(op.getType(), 1), r))));
  return success();
}

static LogicalResult erfRule(ErfOp op, RuleContext &c) {
  Value x = op.getOperand();
  Value bell = c.unary<ExpOp>(c.neg(c.mul(x, x)));
  c.give(0, c.strongMul(c.g, c.mul(bell, 1.1283791670955126))); // 2 / sqrt(pi)
  return success();
}

static LogicalResult sinRule(SinOp op, RuleContext &c) {
  c.give(0, c.strongMul(c.g, c.unary<CosOp>(op.getOperand())));
  return success();
}

static LogicalResult cosRule(CosOp op, RuleContext &c) {
  c.give(0, c.neg(c.strongMul(c.g, c.unary<SinOp>(op.getOperand()))));
  return success();
}

static LogicalResult castRule(CastOp op, RuleContext &c) {
  c.give(0, c.cast(c.g, getElementType(op.getOperand().getType())));
  return success();
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

void autodiff::attachElementRules(MLIRContext *context) {
  attachRule<AbsOp, absRule>(context);
  attachRule<AddOp, addRule>(context);
  attachRule<CastOp, castRule>(context);
  attachRule<CeilOp, constantRule<CeilOp>>(context);
  attachRule<ClampOp, clampRule>(context);
  attachRule<CosOp, cosRule>(context);
  attachRule<DivOp, divRule>(context);
  attachRule<ErfOp, erfRule>(context);
  attachRule<ExpOp, expRule>(context);
  attachRule<Expm1Op, expm1Rule>(context);
  attachRule<FloorDivOp, constantRule<FloorDivOp>>(context);
  attachRule<FloorOp, constantRule<FloorOp>>(context);
  attachRule<Log1pOp, log1pRule>(context);
  attachRule<LogOp, logRule>(context);
  attachRule<MaxOp, extremumRule<MaxOp, Predicate::GT>>(context);
  attachRule<MinOp, extremumRule<MinOp, Predicate::LT>>(context);
  attachRule<ModOp, modRule>(context);
  attachRule<MulOp, mulRule>(context);
  attachRule<NegOp, negRule>(context);
  attachRule<PowOp, powRule>(context);
  attachRule<RoundOp, constantRule<RoundOp>>(context);
  attachRule<RsqrtOp, rsqrtRule>(context);
  attachRule<SelectOp, selectRule>(context);
  attachRule<SigmoidOp, sigmoidRule>(context);
  attachRule<SignOp, constantRule<SignOp>>(context);
  attachRule<SinOp, sinRule>(context);
  attachRule<SqrtOp, sqrtRule>(context);
  attachRule<StopGradientOp, constantRule<StopGradientOp>>(context);
  attachRule<SubOp, subRule>(context);
  attachRule<TanhOp, tanhRule>(context);
}
