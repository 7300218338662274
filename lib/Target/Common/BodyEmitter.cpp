//===- BodyEmitter.cpp - bodies of index definitions as code -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tdsl/Target/Common/BodyEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::target;

Value BodyEmitter::get(Value value) {
  auto it = values.find(value);
  if (it != values.end())
    return it->second;
  return lanes.materialize(indexValues.at(value));
}

Value BodyEmitter::valueAt(Value tensor, ArrayRef<LaneIndex> indices) {
  if (Value held = registers.lookup(tensor))
    return held;
  return lanes.load(buffers.at(tensor), indices);
}

void BodyEmitter::bind(Block *body, ArrayRef<LaneIndex> indices,
                       Operation *except, ArrayRef<Value> scalars) {
  values.clear();
  indexValues.clear();
  for (auto [argument, index] :
       llvm::zip_equal(body->getArguments().drop_back(scalars.size()), indices))
    indexValues[argument] = index;
  for (auto [argument, scalar] :
       llvm::zip_equal(body->getArguments().take_back(scalars.size()), scalars))
    values[argument] = scalar;
  for (Operation &op : body->without_terminator())
    if (&op != except)
      emit(&op);
}

Value BodyEmitter::evaluate(tds::GenericOp op, ArrayRef<LaneIndex> indices) {
  bind(op.getBlock(), indices);
  return get(op.getYielded());
}

Value BodyEmitter::evaluate(Block *block, ArrayRef<LaneIndex> indices,
                            ArrayRef<Value> scalars) {
  bind(block, indices, nullptr, scalars);
  return get(block->getTerminator()->getOperand(0));
}

Term BodyEmitter::evaluateTerm(tds::GenericOp op, ArrayRef<LaneIndex> indices) {
  auto product = op.getYielded().getDefiningOp<tds::MulOp>();
  bool fused = op.getKind() == tds::ReductionKind::Sum && product &&
               isa<FloatType>(product.getType());
  if (!fused)
    return {evaluate(op, indices), {}};
  bind(op.getBlock(), indices, product->hasOneUse() ? product : nullptr);
  Value factors[] = {get(product.getLhs()), get(product.getRhs())};
  lanes.unify(factors);
  return {factors[0], factors[1]};
}

std::pair<Value, SmallVector<LaneIndex>>
BodyEmitter::evaluate(tds::ScatterOp op, ArrayRef<LaneIndex> indices) {
  bind(op.getBlock(), indices);
  SmallVector<LaneIndex> place;
  for (Value index : op.getYieldedIndices())
    place.push_back(indexValues.at(index));
  return {get(op.getYielded()), place};
}

void BodyEmitter::emit(Operation *op) {
  if (auto constant = dyn_cast<tds::ConstantOp>(op)) {
    if (Value number = numbers.lookup(op))
      values[constant] = number;
    else if (constant.getType().isIndex())
      indexValues[constant] =
          lanes.constantIndex(cast<IntegerAttr>(constant.getValue()).getInt());
    else
      values[constant] = lanes.constant(getRegisterType(constant.getType()),
                                        constant.getValue());
    return;
  }
  if (auto apply = dyn_cast<tds::ApplyOp>(op)) {
    SmallVector<LaneIndex> operands;
    for (Value operand : apply.getOperands())
      operands.push_back(indexValues.at(operand));
    indexValues[apply] = lanes.evaluate(apply.getMap().getResult(0), operands);
    return;
  }
  if (auto read = dyn_cast<tds::ReadOp>(op)) {
    values[read] = emitRead(read);
    return;
  }
  if (auto random = dyn_cast<tds::RandomOp>(op)) {
    values[random] = emitRandom(random);
    return;
  }
  if (auto cast = dyn_cast<tds::CastOp>(op))
    return emitCast(cast);
  if (auto compare = dyn_cast<tds::CompareOp>(op)) {
    values[compare] = emitCompare(compare);
    return;
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(get(operand));
  lanes.unify(operands);
  values[op->getResult(0)] = emitElementOp(lanes, op, operands);
}

Value BodyEmitter::emitRead(tds::ReadOp op) {
  if (Value held = registers.lookup(op.getTensor()))
    return held;
  SmallVector<LaneIndex> indices;
  for (Value index : op.getIndices())
    indices.push_back(indexValues.at(index));
  Value guard;
  if (op.getGuard())
    guard = lanes.constant(getRegisterType(op.getType()), *op.getGuard());
  return lanes.load(buffers.at(op.getTensor()), indices, guard,
                    op.getClamped());
}

Value BodyEmitter::emitRandom(tds::RandomOp op) {
  OpBuilder &b = lanes.builder;
  auto low = [&](Value value) -> Value {
    Type type = b.getI32Type();
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      type = vector.clone(type);
    return arith::TruncIOp::create(b, lanes.loc, type, value);
  };
  Value iteration =
      op.getIteration() ? low(get(op.getIteration())) : lanes.i32(0);
  Value site = numbers.lookup(op);
  if (!site)
    site = lanes.i32(op.getSite());
  Value operands[] = {get(op.getSeed()), get(op.getLinear()), iteration,
                      low(get(op.getStep())), site};
  lanes.unify(operands);
  auto emitAt = op.getKind() == tds::RandomKind::Uniform
                    ? scalarmath::emitUniformAt
                    : scalarmath::emitNormalAt;
  return emitAt(b, lanes.loc, operands[0], operands[1], operands[2],
                operands[3], operands[4]);
}

void BodyEmitter::emitCast(tds::CastOp op) {
  Type from = op.getOperand().getType(), to = op.getType();
  Type i64 = lanes.builder.getI64Type();
  if (from == to) {
    auto it = indexValues.find(op.getOperand());
    if (it != indexValues.end())
      indexValues[op] = it->second;
    else
      values[op] = get(op.getOperand());
    return;
  }
  Value value = get(op.getOperand());
  // An index is a signed 64-bit number.
  Value result = emitElementCast(lanes, value, from.isIndex() ? i64 : from,
                                 to.isIndex() ? i64 : to);
  if (to.isIndex())
    indexValues[op] = lanes.fromValue(result);
  else
    values[op] = result;
}

Value BodyEmitter::emitCompare(tds::CompareOp op) {
  Value operands[] = {get(op.getLhs()), get(op.getRhs())};
  lanes.unify(operands);
  return emitElementOp(lanes, op, operands);
}
