//===- FindOutputs.cpp - what of a step goes into the loop -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepSplitter.h"

#include "tdsl/Dialect/TDS/BlockInputs.h"
#include "tdsl/Dialect/TDS/CheckAttribute.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::accumulation;
using namespace tdsl::tds;

int64_t accumulation::getNumRows(func::FuncOp step) {
  for (unsigned i = 0; i < step.getNumArguments(); ++i)
    if (step.getArgAttr(i, attr::kDataAxis))
      return getTensorType(step.getArgument(i)).getDimSize(0);
  return 0;
}

/// Whether the operations of `part` are those of the step, for other rows.
LogicalResult StepSplitter::match(func::FuncOp part) {
  SmallVector<Operation *> others = getOps(part);
  auto differs = [&](Location loc) {
    return emitError(loc) << "--accum cannot split the step '" << step.getName()
                          << "': what it computes for a micro-batch of "
                          << getNumRows(part)
                          << " rows differs from this in more than the rows";
  };
  if (others.size() != ops.size() ||
      part.getNumArguments() != step.getNumArguments() ||
      part.getNumResults() != step.getNumResults())
    return differs(step.getLoc());
  for (auto [op, other] : llvm::zip_equal(ops, others))
    if (op->getName() != other->getName() ||
        op->getNumResults() != other->getNumResults())
      return differs(op->getLoc());
  for (unsigned i = 0; i < step.getNumArguments(); ++i)
    if (!step.getArgAttr(i, attr::kDataAxis) &&
        part.getArgument(i).getType() != step.getArgument(i).getType()) {
      auto name = step.getArgAttrOfType<FlatSymbolRefAttr>(i, attr::kVariable);
      return emitError(step.getLoc())
             << "--accum cannot split the step '" << step.getName()
             << "': the shape of '"
             << (name ? name.getValue()
                      : step.getArgAttrOfType<StringAttr>(i, attr::kInput)
                            .getValue())
             << "' depends on the size of the batch";
    }
  return success();
}

/// The new value of the variable that is result `i`, also where it is kept if
/// the step is skipped.
Value StepSplitter::getNew(unsigned i) {
  auto variable =
      step.getResultAttrOfType<FlatSymbolRefAttr>(i, attr::kVariable);
  if (!variable)
    return {};
  Value value = step.getBody().front().getTerminator()->getOperand(i);
  auto select = value.getDefiningOp<SelectOp>();
  if (select && behindBatch.contains(select))
    if (auto old = dyn_cast<BlockArgument>(select.getOnTrue());
        old && step.getArgAttr(old.getArgNumber(), attr::kVariable) == variable)
      return select.getOnFalse();
  return value;
}

/// Finds what has to be computed for each micro-batch: what depends on the rows
/// and is needed for a loss or for a variable that each writes in turn, or does
/// not depend on a gradient of the batch or on what the last one writes.
void StepSplitter::classify() {
  // What depends on the rows, what on a gradient of the batch.
  llvm::DenseSet<Value> rows, batch;
  for (unsigned i = 0; i < step.getNumArguments(); ++i)
    if (step.getArgAttr(i, attr::kDataAxis))
      rows.insert(step.getArgument(i));
  llvm::DenseSet<Operation *> dependent, needed;
  for (Operation *op : ops) {
    for (Value input : getBlockInputs(op)) {
      if (rows.contains(input))
        dependent.insert(op);
      if (batch.contains(input))
        behindBatch.insert(op);
    }
    for (OpResult result : op->getResults()) {
      if (dependent.contains(op))
        rows.insert(result);
      if (behindBatch.contains(op) ||
          (isa<GradientOp>(op) && dependent.contains(op) && !hasRows(result)))
        batch.insert(result);
    }
  }
  for (unsigned i = 0; i < step.getNumResults(); ++i)
    if (Value value = getNew(i); value && rows.contains(value) &&
                                 !batch.contains(value) &&
                                 value.getDefiningOp()) {
      states.insert({value, i});
      needed.insert(value.getDefiningOp());
    }
  for (Operation *op : llvm::reverse(ops)) {
    if (isa<GradientOp>(op) && dependent.contains(op))
      needed.insert(op);
    if (needed.contains(op))
      for (Value input : getBlockInputs(op))
        if (Operation *made = input.getDefiningOp())
          needed.insert(made);
  }
  // What sees the rows only in new values of variables.
  llvm::DenseSet<Value> afterwards;
  for (auto [value, i] : states)
    afterwards.insert(value);
  for (Operation *op : ops) {
    if (!dependent.contains(op))
      continue;
    bool isNeeded = needed.contains(op);
    bool isAfterwards =
        !isNeeded && llvm::all_of(getBlockInputs(op), [&](Value input) {
          return !rows.contains(input) || afterwards.contains(input);
        });
    if (isAfterwards)
      afterwards.insert(op->result_begin(), op->result_end());
    if (isNeeded || (!isAfterwards && !behindBatch.contains(op)))
      inLoop.insert(op);
  }
}

/// A loss of a micro-batch cannot read what the gradients of all make.
LogicalResult StepSplitter::checkLosses() {
  for (Operation *op : ops)
    if (isa<GradientOp>(op) && inLoop.contains(op) && behindBatch.contains(op))
      return emitError(op->getLoc())
             << "--accum cannot split the step '" << step.getName()
             << "': this loss reads what the step makes of an earlier "
                "gradient, which is known only behind the last micro-batch; "
                "write each of the two updates as a step of its own";
  return success();
}

LogicalResult StepSplitter::addOutput(Leaving leaving, OpResult value,
                                      unsigned terminator) {
  unsigned number = numbers.lookup(value.getOwner());
  Value part = getOps(micro)[number]->getResult(value.getResultNumber());
  Location loc = value.getOwner()->getLoc();
  auto refuse = [&](const Twine &why) {
    return emitError(loc) << "--accum cannot split the step '" << step.getName()
                          << "': " << why;
  };
  if (leaving == Leaving::Mean) {
    if (value.getType() != part.getType())
      return refuse("the update of the variables reads a value of each row");
    if (!isa<FloatType>(getTensorType(value).getElementType()))
      return refuse("this value of the whole batch is no float, so that it "
                    "is no mean over the micro-batches");
  }
  if (leaving == Leaving::Rows) {
    auto whole = getTensorType(value), some = getTensorType(part);
    if (whole.getRank() == 0 || whole.getDimSize(0) != getNumRows(step) ||
        some.getDimSize(0) != getNumRows(micro) ||
        whole.getShape().drop_front() != some.getShape().drop_front())
      return refuse("a result has the rows on another axis than the first");
  }
  if (leaving == Leaving::State && value.getType() != part.getType())
    return refuse("the shape of a variable depends on the size of the batch");
  Output output{leaving, number, value.getResultNumber(), 0, {}};
  if (leaving == Leaving::State)
    output.terminator = terminator;
  for (const Output &other : outputs)
    if (other.leaving == leaving && other.op == output.op &&
        other.result == output.result && other.terminator == output.terminator)
      return success();
  outputs.push_back(output);
  return success();
}

/// Whether `value` says that something holds for all rows, as that a gradient
/// by them is finite.
bool StepSplitter::isForAll(OpResult value) {
  if (auto both = value.getDefiningOp<AndOp>())
    return llvm::all_of(both->getOperands(), [&](Value operand) {
      Operation *made = operand.getDefiningOp();
      return !made || !inLoop.contains(made) ||
             isForAll(cast<OpResult>(operand));
    });
  std::optional<ReductionKind> kind;
  if (auto reduce = value.getDefiningOp<ReduceOp>())
    kind = reduce.getKind();
  else if (auto generic = value.getDefiningOp<GenericOp>())
    kind = generic.getKind();
  return kind == ReductionKind::All && !hasRows(value);
}

/// How `value`, which the loop makes, comes to a reader outside of it.
Leaving StepSplitter::getLeaving(OpResult value, OpOperand &use) {
  if (states.contains(value))
    return Leaving::State;
  Operation *user = use.getOwner();
  if (user == step.getBody().front().getTerminator()) {
    unsigned i = use.getOperandNumber();
    if (step.getResultAttr(i, attr::kCheck))
      return Leaving::All;
    if (step.getResultAttr(i, attr::kDataAxis) || hasRows(value))
      return Leaving::Rows;
  }
  return isForAll(value) ? Leaving::All : Leaving::Mean;
}

LogicalResult StepSplitter::findOutputs() {
  // Each variable on its own, also where several get one value.
  for (unsigned i = 0; i < step.getNumResults(); ++i)
    if (Value value = getNew(i); value && states.contains(value))
      if (failed(addOutput(Leaving::State, cast<OpResult>(value), i)))
        return failure();
  for (Operation *op : ops) {
    if (!inLoop.contains(op))
      continue;
    for (OpResult result : op->getResults())
      for (OpOperand &use : result.getUses()) {
        Operation *user =
            step.getBody().front().findAncestorOpInBlock(*use.getOwner());
        if (inLoop.contains(user) || states.contains(result))
          continue;
        if (failed(addOutput(getLeaving(result, use), result, 0)))
          return failure();
      }
  }
  return success();
}
