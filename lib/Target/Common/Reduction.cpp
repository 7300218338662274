//===- Reduction.cpp - how reductions combine their terms -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tdsl/Target/Common/BodyEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <limits>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::target;
using tds::ReductionKind;

/// The element type of the terms, as in the dialect.
static Type termType(tds::GenericOp op) { return op.getYielded().getType(); }

SmallVector<Value> Reduction::identity(bool asVector) {
  OpBuilder &b = lanes.builder;
  Type type = termType(op), held = getRegisterType(type);
  double infinity = std::numeric_limits<double>::infinity();
  auto number = [&](double real, int64_t integer) -> TypedAttr {
    if (isa<FloatType>(held))
      return b.getFloatAttr(held, real);
    return b.getIntegerAttr(held, integer);
  };
  unsigned bits = held.getIntOrFloatBitWidth();
  int64_t least =
      tds::isUnsigned(type) ? 0 : APInt::getSignedMinValue(bits).getSExtValue();
  int64_t most = tds::isUnsigned(type)
                     ? APInt::getMaxValue(bits).getSExtValue()
                     : APInt::getSignedMaxValue(bits).getSExtValue();
  TypedAttr attr;
  switch (*op.getKind()) {
  case ReductionKind::Sum:
  case ReductionKind::Any:
    attr = number(0, 0);
    break;
  case ReductionKind::Prod:
  case ReductionKind::All:
    attr = held.isInteger(1) ? TypedAttr(b.getBoolAttr(true)) : number(1, 1);
    break;
  case ReductionKind::Max:
  case ReductionKind::ArgMax:
    attr = number(-infinity, least);
    break;
  case ReductionKind::Min:
  case ReductionKind::ArgMin:
    attr = number(infinity, most);
    break;
  }
  SmallVector<Value> result{
      arith::ConstantOp::create(b, lanes.loc, attr).getResult()};
  // Index -1: no term yet.
  if (isArg())
    result.push_back(lanes.i32(-1));
  if (asVector)
    for (Value &value : result)
      value = lanes.splat(value);
  return result;
}

Value Reduction::combine(Value x, Value y) {
  OpBuilder &b = lanes.builder;
  Location loc = lanes.loc;
  Type type = termType(op);
  bool isFloat = isa<FloatType>(type), isUnsigned = tds::isUnsigned(type);
  switch (*op.getKind()) {
  case ReductionKind::Sum:
    return isFloat ? arith::AddFOp::create(b, loc, x, y).getResult()
                   : arith::AddIOp::create(b, loc, x, y).getResult();
  case ReductionKind::Prod:
    return isFloat ? arith::MulFOp::create(b, loc, x, y).getResult()
                   : arith::MulIOp::create(b, loc, x, y).getResult();
  case ReductionKind::Any:
    return arith::OrIOp::create(b, loc, x, y);
  case ReductionKind::All:
    return arith::AndIOp::create(b, loc, x, y);
  case ReductionKind::Max:
    if (isFloat)
      return scalarmath::emit(b, loc, scalarmath::Binary::Max, x, y,
                              lanes.options.math);
    return isUnsigned ? arith::MaxUIOp::create(b, loc, x, y).getResult()
                      : arith::MaxSIOp::create(b, loc, x, y).getResult();
  case ReductionKind::Min:
    if (isFloat)
      return scalarmath::emit(b, loc, scalarmath::Binary::Min, x, y,
                              lanes.options.math);
    return isUnsigned ? arith::MinUIOp::create(b, loc, x, y).getResult()
                      : arith::MinSIOp::create(b, loc, x, y).getResult();
  default:
    llvm_unreachable("argmax and argmin carry an index");
  }
}

/// x comes before y in the order of argmax: larger, or the only NaN.
Value Reduction::isBetter(Value x, Value y) {
  OpBuilder &b = lanes.builder;
  Location loc = lanes.loc;
  bool isMax = op.getKind() == ReductionKind::ArgMax;
  Type type = termType(op);
  if (!isa<FloatType>(type)) {
    using P = arith::CmpIPredicate;
    P kind = tds::isUnsigned(type) ? (isMax ? P::ugt : P::ult)
                                   : (isMax ? P::sgt : P::slt);
    return arith::CmpIOp::create(b, loc, kind, x, y);
  }
  using P = arith::CmpFPredicate;
  // Unordered or better, and y itself no NaN.
  Value better = arith::CmpFOp::create(b, loc, isMax ? P::UGT : P::ULT, x, y);
  Value ordered = arith::CmpFOp::create(b, loc, P::ORD, y, y);
  return arith::AndIOp::create(b, loc, better, ordered);
}

SmallVector<Value> Reduction::step(ValueRange accumulators, Term term,
                                   const LaneIndex &index) {
  OpBuilder &b = lanes.builder;
  Location loc = lanes.loc;
  bool asVector = isa<VectorType>(accumulators[0].getType());
  auto shaped = [&](Value value) {
    return asVector ? lanes.splat(value) : value;
  };
  SmallVector<Value> next;
  if (isArg()) {
    Value value = shaped(term.value);
    Value at64 = lanes.materialize(index);
    Type i32 = b.getI32Type();
    if (auto vector = dyn_cast<VectorType>(at64.getType()))
      i32 = vector.clone(i32);
    Value at = shaped(arith::TruncIOp::create(b, loc, i32, at64));
    Value better = isBetter(value, accumulators[0]);
    Value none = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                       accumulators[1], shaped(lanes.i32(0)));
    Value take = arith::OrIOp::create(b, loc, better, none);
    if (Value mask = lanes.getMask(); mask && asVector)
      take = arith::AndIOp::create(b, loc, take, mask);
    next.push_back(
        arith::SelectOp::create(b, loc, take, value, accumulators[0]));
    next.push_back(arith::SelectOp::create(b, loc, take, at, accumulators[1]));
    return next;
  }
  Value result;
  if (term.factor)
    result = LLVM::FMAOp::create(b, loc, shaped(term.value),
                                 shaped(term.factor), accumulators[0]);
  else
    result = combine(accumulators[0], shaped(term.value));
  if (Value mask = lanes.getMask(); mask && asVector)
    result = arith::SelectOp::create(b, loc, mask, result, accumulators[0]);
  next.push_back(result);
  return next;
}

SmallVector<Value> Reduction::merge(ValueRange x, ValueRange y) {
  if (!isArg())
    return {combine(x[0], y[0])};
  OpBuilder &b = lanes.builder;
  Location loc = lanes.loc;
  // y wins where it has a term and x has none, where it is better, or where
  // neither is better and it is the earlier one. -1 as unsigned is the latest.
  Value yBetter = isBetter(y[0], x[0]), xBetter = isBetter(x[0], y[0]);
  Value earlier =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, y[1], x[1]);
  Value ones = arith::ConstantOp::create(
      b, loc,
      isa<VectorType>(earlier.getType())
          ? TypedAttr(DenseElementsAttr::get(
                cast<ShapedType>(earlier.getType()), true))
          : TypedAttr(b.getBoolAttr(true)));
  Value notX = arith::XOrIOp::create(b, loc, xBetter, ones);
  Value tie = arith::AndIOp::create(b, loc, notX, earlier);
  Value take = arith::OrIOp::create(b, loc, yBetter, tie);
  // A side without a term holds the identity, which is never better; but it
  // must not win a tie against the identity's value either: its index is the
  // latest of all.
  return {arith::SelectOp::create(b, loc, take, y[0], x[0]).getResult(),
          arith::SelectOp::create(b, loc, take, y[1], x[1]).getResult()};
}

SmallVector<Value> Reduction::mergeLanes(ValueRange accumulators) {
  SmallVector<Value> current(accumulators);
  while (isa<VectorType>(current[0].getType())) {
    SmallVector<Value> low, high;
    for (Value value : current) {
      low.push_back(lanes.half(value, false));
      high.push_back(lanes.half(value, true));
    }
    current = merge(low, high);
  }
  return current;
}

Value Reduction::finish(ValueRange accumulators) {
  if (isArg())
    return accumulators[1];
  Type type = termType(op);
  if (!type.isF16() && !type.isBF16())
    return accumulators[0];
  return lanes.fromMemory(lanes.toMemory(accumulators[0], type), type);
}
