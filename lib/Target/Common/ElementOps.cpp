//===- ElementOps.cpp - element operations as arith ops -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f16 and bf16 operands arrive as f32. An operation that can leave the narrow
// format rounds its result; min, max, floor and the like cannot.
//
//===----------------------------------------------------------------------===//

#include "tdsl/Target/Common/BodyEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::target;
using scalarmath::Binary;
using scalarmath::Unary;

namespace {

class ElementEmitter {
public:
  ElementEmitter(LaneBuilder &lanes, Operation *op, ArrayRef<Value> operands)
      : lanes(lanes), b(lanes.builder), loc(lanes.loc), op(op),
        operands(operands), element(op->getOperand(0).getType()),
        isFloat(isa<FloatType>(element)),
        unsignedInt(tds::isUnsigned(element)) {}

  Value emit();

private:
  /// `value` (f32) rounded to the element type where that is narrow.
  Value rounded(Value value) { return roundTo(value, element); }
  Value roundTo(Value value, Type to);
  Value number(double value);
  Value integer(int64_t value);
  Value like(TypedAttr scalar);
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
  Value compare(tds::ComparePredicate predicate, Value x, Value y);
  Value intMinMax(bool isMax, Value x, Value y);
  Value minMax(bool isMax, Value x, Value y);
  Value power(Value x, Value y);
  Value intPower(Value x, Value y);
  Value negate(Value x);
  Value absolute(Value x);
  Value sign(Value x);
  Value unary(Unary function, bool exact = false);
  template <typename FloatOp, typename IntOp> Value binary();

  LaneBuilder &lanes;
  OpBuilder &b;
  Location loc;
  Operation *op;
  ArrayRef<Value> operands;
  Type element;
  bool isFloat, unsignedInt;
};

} // namespace

Value ElementEmitter::roundTo(Value value, Type to) {
  if (!to.isF16() && !to.isBF16())
    return value;
  return lanes.fromMemory(lanes.toMemory(value, to), to);
}

/// A constant scalar in the shape of the operands.
Value ElementEmitter::like(TypedAttr scalar) {
  Value value = arith::ConstantOp::create(b, loc, scalar);
  return isa<VectorType>(operands[0].getType()) ? lanes.splat(value) : value;
}
Value ElementEmitter::number(double value) {
  return like(b.getFloatAttr(getRegisterType(element), value));
}
Value ElementEmitter::integer(int64_t value) {
  return like(b.getIntegerAttr(getRegisterType(element), value));
}

template <typename FloatOp, typename IntOp> Value ElementEmitter::binary() {
  if (isFloat)
    return rounded(FloatOp::create(b, loc, operands[0], operands[1]));
  return IntOp::create(b, loc, operands[0], operands[1]);
}

Value ElementEmitter::unary(Unary function, bool exact) {
  Value value =
      scalarmath::emit(b, loc, function, operands[0], lanes.options.math);
  return exact ? value : rounded(value);
}

Value ElementEmitter::compare(tds::ComparePredicate predicate, Value x,
                              Value y) {
  using P = tds::ComparePredicate;
  if (isFloat) {
    auto kind = predicate == P::EQ   ? arith::CmpFPredicate::OEQ
                : predicate == P::NE ? arith::CmpFPredicate::UNE
                : predicate == P::LT ? arith::CmpFPredicate::OLT
                : predicate == P::LE ? arith::CmpFPredicate::OLE
                : predicate == P::GT ? arith::CmpFPredicate::OGT
                                     : arith::CmpFPredicate::OGE;
    return arith::CmpFOp::create(b, loc, kind, x, y);
  }
  using I = arith::CmpIPredicate;
  bool u = unsignedInt;
  I kind = predicate == P::EQ   ? I::eq
           : predicate == P::NE ? I::ne
           : predicate == P::LT ? (u ? I::ult : I::slt)
           : predicate == P::LE ? (u ? I::ule : I::sle)
           : predicate == P::GT ? (u ? I::ugt : I::sgt)
                                : (u ? I::uge : I::sge);
  return arith::CmpIOp::create(b, loc, kind, x, y);
}

Value ElementEmitter::intMinMax(bool isMax, Value x, Value y) {
  if (unsignedInt)
    return isMax ? arith::MaxUIOp::create(b, loc, x, y).getResult()
                 : arith::MinUIOp::create(b, loc, x, y).getResult();
  return isMax ? arith::MaxSIOp::create(b, loc, x, y).getResult()
               : arith::MinSIOp::create(b, loc, x, y).getResult();
}

Value ElementEmitter::minMax(bool isMax, Value x, Value y) {
  if (!isFloat)
    return intMinMax(isMax, x, y);
  return scalarmath::emit(b, loc, isMax ? Binary::Max : Binary::Min, x, y,
                          lanes.options.math);
}

Value ElementEmitter::power(Value x, Value y) {
  if (!isFloat)
    return intPower(x, y);
  return rounded(
      scalarmath::emit(b, loc, Binary::Pow, x, y, lanes.options.math));
}

/// Square and multiply over the bits of the exponent. A negative exponent gives
/// the floor of the real value: 1 or -1 for these bases, 0 for base 0, else 0,
/// or -1 for a negative base and an odd exponent.
Value ElementEmitter::intPower(Value x, Value y) {
  Value zero = integer(0), one = integer(1);
  unsigned bits = element.getIntOrFloatBitWidth() - (unsignedInt ? 0 : 1);
  Value initial[] = {one, x, y};
  SmallVector<Value> result = lanes.loop(
      lanes.i64(0), lanes.i64(bits), 1, initial,
      [&](Value, ValueRange carried) -> SmallVector<Value> {
        Value bit = arith::AndIOp::create(b, loc, carried[2], one);
        Value odd =
            arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, bit, zero);
        Value product = arith::MulIOp::create(b, loc, carried[0], carried[1]);
        Value power = select(odd, product, carried[0]);
        Value square = arith::MulIOp::create(b, loc, carried[1], carried[1]);
        Value rest = arith::ShRUIOp::create(b, loc, carried[2], one);
        return {power, square, rest};
      });
  if (unsignedInt)
    return result[0];
  using P = tds::ComparePredicate;
  Value minusOne = integer(-1);
  Value bit = arith::AndIOp::create(b, loc, y, one);
  Value odd = compare(P::NE, bit, zero);
  Value below = compare(P::LT, x, zero);
  Value oddBelow = arith::AndIOp::create(b, loc, odd, below);
  Value floor = select(oddBelow, minusOne, zero);
  floor = select(compare(P::EQ, x, one), one, floor);
  Value evenPower = select(odd, minusOne, one);
  floor = select(compare(P::EQ, x, minusOne), evenPower, floor);
  return select(compare(P::LT, y, zero), floor, result[0]);
}

Value ElementEmitter::negate(Value x) {
  if (isFloat)
    return arith::NegFOp::create(b, loc, x);
  return arith::SubIOp::create(b, loc, integer(0), x);
}

Value ElementEmitter::absolute(Value x) {
  if (isFloat)
    return unary(Unary::Abs, /*exact=*/true);
  if (unsignedInt)
    return x;
  return select(compare(tds::ComparePredicate::LT, x, integer(0)), negate(x),
                x);
}

Value ElementEmitter::sign(Value x) {
  if (isFloat)
    return unary(Unary::Sign, /*exact=*/true);
  using P = tds::ComparePredicate;
  Value zero = integer(0), one = integer(1);
  Value positive = select(compare(P::GT, x, zero), one, zero);
  if (unsignedInt)
    return positive;
  return select(compare(P::LT, x, zero), integer(-1), positive);
}

Value ElementEmitter::emit() {
  using namespace tds;
  Value x = operands[0];
  auto second = [&]() { return operands[1]; };
  if (isa<AddOp>(op))
    return binary<arith::AddFOp, arith::AddIOp>();
  if (isa<SubOp>(op))
    return binary<arith::SubFOp, arith::SubIOp>();
  if (isa<MulOp>(op))
    return binary<arith::MulFOp, arith::MulIOp>();
  if (isa<DivOp>(op))
    return rounded(arith::DivFOp::create(b, loc, x, second()));
  if (isa<FloorDivOp>(op))
    return isFloat
               ? rounded(scalarmath::emit(b, loc, Binary::FloorDiv, x, second(),
                                          lanes.options.math))
               : scalarmath::emitIntFloorDiv(b, loc, x, second(), unsignedInt);
  if (isa<ModOp>(op))
    return isFloat ? rounded(scalarmath::emit(b, loc, Binary::Mod, x, second(),
                                              lanes.options.math))
                   : scalarmath::emitIntMod(b, loc, x, second(), unsignedInt);
  if (isa<PowOp>(op))
    return power(x, second());
  if (isa<MaxOp>(op))
    return minMax(true, x, second());
  if (isa<MinOp>(op))
    return minMax(false, x, second());
  if (isa<ClampOp>(op))
    return minMax(false, minMax(true, x, second()), operands[2]);
  if (isa<NegOp>(op))
    return negate(x);
  if (isa<AbsOp>(op))
    return absolute(x);
  if (isa<SignOp>(op))
    return sign(x);
  if (isa<StopGradientOp>(op))
    return x;
  if (isa<AndOp>(op))
    return arith::AndIOp::create(b, loc, x, second());
  if (isa<OrOp>(op))
    return arith::OrIOp::create(b, loc, x, second());
  if (isa<NotOp>(op))
    return arith::XOrIOp::create(b, loc, x, like(b.getBoolAttr(true)));
  if (isa<IsNanOp>(op))
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, x);
  if (isa<IsFiniteOp>(op)) {
    Value size = scalarmath::emit(b, loc, Unary::Abs, x, lanes.options.math);
    return arith::CmpFOp::create(
        b, loc, arith::CmpFPredicate::OLT, size,
        number(std::numeric_limits<double>::infinity()));
  }
  if (auto comparison = dyn_cast<CompareOp>(op))
    return compare(comparison.getPredicate(), x, second());
  if (isa<SelectOp>(op))
    return select(x, second(), operands[2]);
  if (auto cast = dyn_cast<CastOp>(op))
    return emitElementCast(lanes, x, element, cast.getType());

  struct Row {
    bool matches;
    Unary function;
    bool exact;
  };
  const Row rows[] = {
      {isa<FloorOp>(op), Unary::Floor, true},
      {isa<CeilOp>(op), Unary::Ceil, true},
      {isa<RoundOp>(op), Unary::Round, true},
      {isa<SqrtOp>(op), Unary::Sqrt, false},
      {isa<RsqrtOp>(op), Unary::Rsqrt, false},
      {isa<ExpOp>(op), Unary::Exp, false},
      {isa<Expm1Op>(op), Unary::Expm1, false},
      {isa<LogOp>(op), Unary::Log, false},
      {isa<Log1pOp>(op), Unary::Log1p, false},
      {isa<TanhOp>(op), Unary::Tanh, false},
      {isa<SigmoidOp>(op), Unary::Sigmoid, false},
      {isa<ErfOp>(op), Unary::Erf, false},
      {isa<SinOp>(op), Unary::Sin, false},
      {isa<CosOp>(op), Unary::Cos, false},
  };
  for (const Row &row : rows)
    if (row.matches)
      return unary(row.function, row.exact);
  llvm::report_fatal_error(llvm::Twine("no code for the operation ") +
                           op->getName().getStringRef());
}

Value target::emitElementOp(LaneBuilder &lanes, Operation *op,
                            ArrayRef<Value> operands) {
  return ElementEmitter(lanes, op, operands).emit();
}

Value target::emitElementCast(LaneBuilder &lanes, Value value, Type from,
                              Type to) {
  OpBuilder &b = lanes.builder;
  Location loc = lanes.loc;
  const scalarmath::EmitOptions &math = lanes.options.math;
  if (from == to)
    return value;
  auto shaped = [&](Type type) -> Type {
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      return vector.clone(type);
    return type;
  };
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  Type target = getRegisterType(to);
  if (fromFloat && toFloat) {
    // To a narrow type and back to its register form; f16 and bf16 arrive as
    // f32, which holds them exactly.
    Value narrow = value;
    if (getRegisterType(from) != to)
      narrow = scalarmath::emitFloatCast(b, loc, value, to, math);
    return lanes.fromMemory(narrow, to);
  }
  if (fromFloat)
    return scalarmath::emitFloatToInt(b, loc, value, target,
                                      tds::isUnsigned(to), math);
  if (toFloat)
    return lanes.fromMemory(scalarmath::emitIntToFloat(
                                b, loc, value, to, tds::isUnsigned(from), math),
                            to);
  if (to.isInteger(1)) {
    Value zero = arith::ConstantOp::create(
        b, loc, cast<TypedAttr>(b.getZeroAttr(value.getType())));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value, zero);
  }
  unsigned before = getRegisterType(from).getIntOrFloatBitWidth();
  unsigned after = target.getIntOrFloatBitWidth();
  if (before == after)
    return value;
  if (before > after)
    return arith::TruncIOp::create(b, loc, shaped(target), value);
  if (tds::isUnsigned(from))
    return arith::ExtUIOp::create(b, loc, shaped(target), value);
  return arith::ExtSIOp::create(b, loc, shaped(target), value);
}
