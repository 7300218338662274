//===- AdjointBuilder.cpp - emission of lean adjoint code -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AdjointBuilder.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;
using namespace tdsl::autodiff;

/// How far the searches for finite and non-zero values look.
static constexpr unsigned kMaxDepth = 8;

//===----------------------------------------------------------------------===//
// What is known of a value
//===----------------------------------------------------------------------===//

std::optional<double> autodiff::getSplat(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (isa<BroadcastOp, ReshapeOp, TransposeOp>(op))
    return getSplat(op->getOperand(0));
  auto constant = dyn_cast<ConstantOp>(op);
  if (!constant)
    return std::nullopt;
  Attribute attribute = constant.getValue();
  if (auto elements = dyn_cast<DenseElementsAttr>(attribute)) {
    if (!elements.isSplat())
      return std::nullopt;
    attribute = elements.getSplatValue<Attribute>();
  }
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return number.getValueAsDouble();
  if (auto number = dyn_cast<IntegerAttr>(attribute)) {
    const APInt &bits = number.getValue();
    return isUnsigned(getElementType(constant.getType()))
               ? bits.roundToDouble()
               : bits.signedRoundToDouble();
  }
  return std::nullopt;
}

static bool isFinite(Value value, unsigned depth) {
  if (!carriesGradient(value.getType()))
    return true;
  if (std::optional<double> splat = getSplat(value))
    return std::isfinite(*splat);
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return false;
  auto operandsFinite = [&]() {
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      return isFinite(operand, depth - 1);
    });
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<SelectOp>([&](SelectOp select) {
        return isFinite(select.getOnTrue(), depth - 1) &&
               isFinite(select.getOnFalse(), depth - 1);
      })
      .Case<NegOp, AbsOp, SignOp, FloorOp, CeilOp, RoundOp, MaxOp, MinOp,
            ClampOp, TanhOp, SigmoidOp, ErfOp, SinOp, CosOp, BroadcastOp,
            ReshapeOp, TransposeOp, StopGradientOp, IndependentOp>(
          [&](auto) { return operandsFinite(); })
      .Case<CastOp>([&](CastOp cast) {
        Type from = getElementType(cast.getOperand().getType()),
             to = getElementType(cast.getType());
        if (isa<FloatType>(from))
          return to.getIntOrFloatBitWidth() >= from.getIntOrFloatBitWidth() &&
                 !to.isF16() && operandsFinite();
        // Only f16 is too narrow for some integers.
        return !to.isF16() ||
               (!from.isIndex() && from.getIntOrFloatBitWidth() <= 8);
      })
      .Case<RandomOp>([](auto) { return true; })
      .Case<ReadOp>([&](ReadOp read) {
        if (auto guard = dyn_cast_or_null<FloatAttr>(read.getGuardAttr());
            guard && !guard.getValue().isFinite())
          return false;
        return isFinite(read.getTensor(), depth - 1);
      })
      .Case<GenericOp>([&](GenericOp generic) {
        return !generic.hasReduction() &&
               isFinite(generic.getYielded(), depth - 1);
      })
      .Default([](Operation *) { return false; });
}

bool autodiff::isKnownFinite(Value value) { return isFinite(value, kMaxDepth); }

bool autodiff::isKnownNonZero(Value value) {
  for (unsigned depth = 0; depth < kMaxDepth; ++depth) {
    if (std::optional<double> splat = getSplat(value))
      return *splat != 0;
    if (auto neg = value.getDefiningOp<NegOp>())
      value = neg.getOperand();
    else if (auto stop = value.getDefiningOp<StopGradientOp>())
      value = stop.getOperand();
    else if (auto independent = value.getDefiningOp<IndependentOp>())
      value = independent.getOperand();
    else
      return false;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value AdjointBuilder::constant(Type type, double value) {
  return ConstantOp::createSplat(builder, loc, type, value);
}

Value AdjointBuilder::add(Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  auto a = getSplat(lhs), b = getSplat(rhs);
  if (a && b)
    return constant(lhs.getType(), *a + *b);
  return AddOp::create(builder, loc, lhs.getType(), lhs, rhs);
}

Value AdjointBuilder::sub(Value lhs, Value rhs) {
  if (!rhs)
    return lhs;
  if (!lhs)
    return neg(rhs);
  auto a = getSplat(lhs), b = getSplat(rhs);
  if (a && b)
    return constant(lhs.getType(), *a - *b);
  return SubOp::create(builder, loc, lhs.getType(), lhs, rhs);
}

Value AdjointBuilder::mul(Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return {};
  auto a = getSplat(lhs), b = getSplat(rhs);
  if (a && b)
    return constant(lhs.getType(), *a * *b);
  if (a == 1.0)
    return rhs;
  if (b == 1.0)
    return lhs;
  if (a == -1.0)
    return neg(rhs);
  if (b == -1.0)
    return neg(lhs);
  return MulOp::create(builder, loc, lhs.getType(), lhs, rhs);
}

Value AdjointBuilder::mul(Value lhs, double rhs) {
  return lhs ? mul(lhs, constant(lhs.getType(), rhs)) : lhs;
}

Value AdjointBuilder::div(Value lhs, Value rhs) {
  if (!lhs)
    return {};
  auto a = getSplat(lhs), b = getSplat(rhs);
  if (a && b && *b != 0)
    return constant(lhs.getType(), *a / *b);
  if (b == 1.0)
    return lhs;
  return DivOp::create(builder, loc, lhs.getType(), lhs, rhs);
}

Value AdjointBuilder::neg(Value value) {
  if (!value)
    return {};
  if (std::optional<double> splat = getSplat(value))
    return constant(value.getType(), -*splat);
  if (auto inner = value.getDefiningOp<NegOp>())
    return inner.getOperand();
  return unary<NegOp>(value);
}

Value AdjointBuilder::cast(Value value, Type element) {
  if (!value || getElementType(value.getType()) == element)
    return value;
  Type type = withElementType(value.getType(), element);
  if (std::optional<double> splat = getSplat(value);
      splat && isa<FloatType>(element))
    return constant(type, *splat);
  return CastOp::create(builder, loc, type, value);
}

Value AdjointBuilder::select(Value condition, Value onTrue, Value onFalse) {
  if (!onTrue && !onFalse)
    return {};
  Type type = (onTrue ? onTrue : onFalse).getType();
  if (!onTrue)
    onTrue = constant(type, 0);
  if (!onFalse)
    onFalse = constant(type, 0);
  return SelectOp::create(builder, loc, type, condition, onTrue, onFalse);
}

Value AdjointBuilder::compare(ComparePredicate predicate, Value lhs,
                              Value rhs) {
  return CompareOp::create(builder, loc, predicate, lhs, rhs);
}

Value AdjointBuilder::compare(ComparePredicate predicate, Value lhs,
                              double rhs) {
  return compare(predicate, lhs, constant(lhs.getType(), rhs));
}

Value AdjointBuilder::both(Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return AndOp::create(builder, loc, lhs.getType(), lhs, rhs);
}

Value AdjointBuilder::keepZero(Value adjoint, Value product) {
  Value isZero = compare(ComparePredicate::EQ, adjoint, 0);
  Value kept = select(isZero, Value(), product);
  kept.getDefiningOp()->setAttr(kStrongZero, builder.getUnitAttr());
  return kept;
}

Value AdjointBuilder::strongMul(Value adjoint, Value factor) {
  if (!adjoint || !factor || getSplat(factor) == 0.0)
    return {};
  Value product = mul(adjoint, factor);
  if (isKnownFinite(factor) || isKnownNonZero(adjoint))
    return product;
  return keepZero(adjoint, product);
}

Value AdjointBuilder::strongDiv(Value adjoint, Value divisor) {
  if (!adjoint)
    return {};
  Value quotient = div(adjoint, divisor);
  std::optional<double> splat = getSplat(divisor);
  if ((splat && *splat != 0 && !std::isnan(*splat)) || isKnownNonZero(adjoint))
    return quotient;
  return keepZero(adjoint, quotient);
}

Value AdjointBuilder::sum(ArrayRef<Value> contributions) {
  SmallVector<Value> terms;
  for (Value value : contributions)
    if (value)
      terms.push_back(value);
  if (terms.empty())
    return {};
  Type element = getElementType(terms.front().getType());
  bool widen = terms.size() > 2 && (element.isF16() || element.isBF16());
  Value total;
  for (Value term : terms)
    total = add(total, widen ? cast(term, builder.getF32Type()) : term);
  return cast(total, element);
}

//===----------------------------------------------------------------------===//
// Whole tensors
//===----------------------------------------------------------------------===//

Value AdjointBuilder::broadcast(Value value, RankedTensorType type,
                                ArrayRef<int64_t> axes) {
  if (!value || value.getType() == type)
    return value;
  if (std::optional<double> splat = getSplat(value))
    return constant(type, *splat);
  return BroadcastOp::create(builder, loc, type, value, axes);
}

Value AdjointBuilder::reshape(Value value, RankedTensorType type) {
  if (!value || value.getType() == type)
    return value;
  if (std::optional<double> splat = getSplat(value))
    return constant(type, *splat);
  return ReshapeOp::create(builder, loc, type, value);
}
