//===- StepSplitter.cpp - one step in micro-batches -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepSplitter.h"

#include "ShiftRandoms.h"

#include "tdsl/Dialect/TDS/BlockInputs.h"
#include "tdsl/Dialect/TDS/CheckAttribute.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::accumulation;
using namespace tdsl::tds;

/// The value that a variable has before the step; it becomes an argument where
/// it was none.
Value StepSplitter::getOld(const Output &output) {
  auto variable = step.getResultAttrOfType<FlatSymbolRefAttr>(output.terminator,
                                                              attr::kVariable);
  for (unsigned i = 0; i < step.getNumArguments(); ++i)
    if (step.getArgAttr(i, attr::kVariable) == variable)
      return step.getArgument(i);
  unsigned position = step.getNumArguments();
  auto attributes = DictionaryAttr::get(
      step.getContext(),
      {NamedAttribute(StringAttr::get(step.getContext(), attr::kVariable),
                      variable)});
  (void)step.insertArgument(position, step.getResultTypes()[output.terminator],
                            attributes, step.getLoc());
  return step.getArgument(position);
}

Value StepSplitter::slice(OpBuilder &builder, Value tensor, int64_t first,
                          int64_t rows) {
  SmallVector<int64_t> shape(getTensorType(tensor).getShape());
  if (first == 0 && rows == shape[0])
    return tensor;
  shape[0] = rows;
  return GenericOp::create(
      builder, step.getLoc(),
      RankedTensorType::get(shape, getTensorType(tensor).getElementType()), {},
      std::nullopt,
      [&](OpBuilder &inner, Location loc, ValueRange indices) -> Value {
        SmallVector<Value> at(indices);
        if (first != 0)
          at[0] = ApplyOp::create(
              inner, loc,
              AffineMap::get(1, 0, inner.getAffineDimExpr(0) + first),
              indices.take_front());
        return ReadOp::create(inner, loc, tensor, at);
      });
}

Value StepSplitter::concatenate(OpBuilder &builder, Value head, Value tail) {
  SmallVector<int64_t> shape(getTensorType(head).getShape());
  int64_t first = shape[0];
  shape[0] += getTensorType(tail).getDimSize(0);
  Type element = getTensorType(head).getElementType();
  TypedAttr zero = isa<FloatType>(element)
                       ? TypedAttr(builder.getFloatAttr(element, 0))
                       : TypedAttr(builder.getIntegerAttr(element, 0));
  return GenericOp::create(
      builder, step.getLoc(), RankedTensorType::get(shape, element), {},
      std::nullopt,
      [&](OpBuilder &inner, Location loc, ValueRange indices) -> Value {
        SmallVector<Value> at(indices);
        Value before =
            ReadOp::create(inner, loc, element, head, at, zero, false);
        at[0] = ApplyOp::create(
            inner, loc, AffineMap::get(1, 0, inner.getAffineDimExpr(0) - first),
            indices.take_front());
        Value behind =
            ReadOp::create(inner, loc, element, tail, at, zero, false);
        Value bound = ConstantOp::create(inner, loc, inner.getIndexAttr(first));
        Value isBefore = CompareOp::create(inner, loc, ComparePredicate::LT,
                                           indices[0], bound);
        return SelectOp::create(inner, loc, element, isBefore, before, behind);
      });
}

/// Clones what the outputs need of `part`.
LogicalResult StepSplitter::cloneInto(OpBuilder &builder, func::FuncOp part,
                                      IRMapping &mapping, Value iteration) {
  SmallVector<Operation *> originals = getOps(part);
  llvm::DenseSet<Operation *> needed;
  for (const Output &output : outputs)
    if (Operation *made = getValue(part, output).getDefiningOp())
      needed.insert(made);
  for (Operation *op : llvm::reverse(originals))
    if (needed.contains(op))
      for (Value input : getBlockInputs(op))
        if (Operation *made = input.getDefiningOp())
          needed.insert(made);
  for (unsigned i = 0; i < ops.size(); ++i) {
    Operation *op = originals[i];
    if (!needed.contains(op))
      continue;
    if (failed(
            shiftRandoms(builder.clone(*op, mapping), op, ops[i], iteration)) ||
        failed(weighRows(builder, part, i, mapping)))
      return failure();
  }
  return success();
}

void StepSplitter::mapStates(IRMapping &mapping, func::FuncOp part,
                             ValueRange carried) {
  unsigned next = 0;
  for (const Output &output : outputs) {
    if (output.leaving == Leaving::State) {
      Value old = getOld(output);
      for (unsigned i = 0; i < part.getNumArguments(); ++i)
        if (step.getArgument(i) == old)
          mapping.map(part.getArgument(i), carried[next]);
    }
    next += output.leaving != Leaving::Rows;
  }
}

/// The loop over the micro-batches.
LogicalResult StepSplitter::createLoop() {
  Location loc = step.getLoc();
  unsigned numArguments = step.getNumArguments(); // getOld() may add some
  SmallVector<Value> inits, slices, invariants;
  SmallVector<Type> collected;
  for (Output &output : outputs) {
    Value value = getValue(micro, output);
    auto type = getTensorType(value);
    switch (output.leaving) {
    case Leaving::State:
      inits.push_back(getOld(output));
      break;
    case Leaving::All:
      inits.push_back(ConstantOp::createSplat(builder, loc, type, 1));
      break;
    case Leaving::Mean: {
      Type wide = getAccumulatorType(type.getElementType());
      inits.push_back(
          ConstantOp::createSplat(builder, loc, type.clone(wide), 0));
      break;
    }
    case Leaving::Rows: {
      SmallVector<int64_t> shape(type.getShape());
      shape.insert(shape.begin(), trips);
      collected.push_back(type.clone(shape));
      break;
    }
    }
  }
  SmallVector<unsigned> dataArguments, otherArguments;
  for (unsigned i = 0; i < numArguments; ++i) {
    Value argument = step.getArgument(i);
    if (!step.getArgAttr(i, attr::kDataAxis)) {
      invariants.push_back(argument);
      otherArguments.push_back(i);
      continue;
    }
    Value head = slice(builder, argument, 0, trips * part);
    SmallVector<int64_t> shape(getTensorType(head).getShape());
    shape[0] = part;
    shape.insert(shape.begin(), trips);
    slices.push_back(ReshapeOp::create(
        builder, loc,
        RankedTensorType::get(shape, getTensorType(head).getElementType()),
        head));
    dataArguments.push_back(i);
  }

  fold = FoldOp::create(builder, loc, trips, /*reverse=*/false, inits, slices,
                        invariants, collected);
  {
    OpBuilder inside = OpBuilder::atBlockEnd(fold.getBlock());
    IRMapping mapping;
    for (auto [i, argument] :
         llvm::zip_equal(dataArguments, fold.getSliceArguments()))
      mapping.map(micro.getArgument(i), argument);
    for (auto [i, argument] :
         llvm::zip_equal(otherArguments, fold.getInvariantArguments()))
      mapping.map(micro.getArgument(i), argument);
    mapStates(mapping, micro, fold.getCarried());
    if (failed(cloneInto(inside, micro, mapping, fold.getCounter())))
      return failure();
    SmallVector<Value> next, rowsOut;
    unsigned carried = 0;
    for (const Output &output : outputs) {
      Value value = mapping.lookupOrDefault(getValue(micro, output));
      if (output.leaving == Leaving::Rows) {
        rowsOut.push_back(value);
        continue;
      }
      Value before = fold.getCarried()[carried++];
      if (output.leaving == Leaving::All)
        value = AndOp::create(inside, loc, value.getType(), before, value);
      if (output.leaving == Leaving::Mean) {
        if (value.getType() != before.getType())
          value = CastOp::create(inside, loc, before.getType(), value);
        value = AddOp::create(inside, loc, before.getType(), before, value);
      }
      next.push_back(value);
    }
    llvm::append_range(next, rowsOut);
    YieldOp::create(inside, loc, next);
  }
  return success();
}

/// What is computed for the rows that are left.
LogicalResult StepSplitter::createTail() {
  if (!last)
    return success();
  for (unsigned i = 0; i < last.getNumArguments(); ++i)
    tail.map(last.getArgument(i), step.getArgAttr(i, attr::kDataAxis)
                                      ? slice(builder, step.getArgument(i),
                                              trips * part, rows - trips * part)
                                      : Value(step.getArgument(i)));
  mapStates(tail, last, fold.getFinal());
  return cloneInto(builder, last, tail, {});
}

/// The values behind both, of the whole batch.
void StepSplitter::createTotals() {
  Location loc = step.getLoc();
  unsigned carried = 0, collectedSoFar = 0;
  auto scale = [&](Value value, double factor) -> Value {
    return MulOp::create(
        builder, loc, value.getType(), value,
        ConstantOp::createSplat(builder, loc, value.getType(), factor));
  };
  for (Output &output : outputs) {
    Value rest;
    if (last)
      rest = tail.lookupOrDefault(getValue(last, output));
    if (output.leaving == Leaving::Rows) {
      Value stacked = fold.getCollected()[collectedSoFar++];
      SmallVector<int64_t> shape(
          getTensorType(stacked).getShape().drop_front());
      shape[0] = trips * part;
      output.total = ReshapeOp::create(
          builder, loc, getTensorType(stacked).clone(shape), stacked);
      if (rest)
        output.total = concatenate(builder, output.total, rest);
      continue;
    }
    output.total = fold.getFinal()[carried++];
    if (output.leaving == Leaving::State && rest)
      output.total = rest;
    if (output.leaving == Leaving::All && rest)
      output.total =
          AndOp::create(builder, loc, rest.getType(), output.total, rest);
    if (output.leaving != Leaving::Mean)
      continue;
    Type wide = output.total.getType();
    output.total = scale(output.total, double(part) / double(rows));
    if (rest) {
      Type narrow = rest.getType();
      if (narrow != wide)
        rest = CastOp::create(builder, loc, wide, rest);
      output.total =
          AddOp::create(builder, loc, wide, output.total,
                        scale(rest, double(getNumRows(last)) / double(rows)));
    }
    Type type = ops[output.op]->getResult(output.result).getType();
    if (type != wide)
      output.total = CastOp::create(builder, loc, type, output.total);
  }
}

/// What is outside of the loop reads these.
void StepSplitter::replaceUses() {
  Block &body = step.getBody().front();
  for (const Output &output : outputs) {
    OpResult value = ops[output.op]->getResult(output.result);
    value.replaceUsesWithIf(output.total, [&](OpOperand &use) {
      Operation *user = body.findAncestorOpInBlock(*use.getOwner());
      if (inLoop.contains(user) || getLeaving(value, use) != output.leaving)
        return false;
      // Variables that get one value have totals of their own.
      return output.leaving != Leaving::State || user != body.getTerminator() ||
             !step.getResultAttr(use.getOperandNumber(), attr::kVariable) ||
             use.getOperandNumber() == output.terminator;
    });
  }
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty())
      op->erase();
}

LogicalResult StepSplitter::run() {
  ops = getOps(step);
  for (auto [i, op] : llvm::enumerate(ops))
    numbers[op] = i;
  if (failed(match(micro)) || (last && failed(match(last))))
    return failure();
  classify();
  if (failed(checkLosses()) || failed(findOutputs()))
    return failure();
  tellSums();
  if (failed(createLoop()) || failed(createTail()))
    return failure();
  createTotals();
  replaceUses();
  return success();
}
