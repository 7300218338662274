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

/// Finds what has to be computed for each micro-batch: what depends on the rows
/// and is needed for a loss, or does not depend on a gradient.
void StepSplitter::classify() {
  llvm::DenseSet<Value> rows, gradients;
  for (unsigned i = 0; i < step.getNumArguments(); ++i)
    if (step.getArgAttr(i, attr::kDataAxis))
      rows.insert(step.getArgument(i));
  llvm::DenseSet<Operation *> dependent, neededForLoss;
  for (Operation *op : ops) {
    bool fromRows = false, fromGradient = false;
    for (Value input : getBlockInputs(op)) {
      fromRows |= rows.contains(input);
      fromGradient |= gradients.contains(input);
    }
    for (Value result : op->getResults()) {
      if (fromRows)
        rows.insert(result);
      if (fromGradient || isa<GradientOp>(op))
        gradients.insert(result);
    }
    if (fromRows)
      dependent.insert(op);
    if (fromGradient)
      behindGradient.insert(op);
  }
  for (Operation *op : llvm::reverse(ops))
    if (neededForLoss.contains(op) ||
        (isa<GradientOp>(op) && dependent.contains(op)))
      for (Value input : getBlockInputs(op))
        if (Operation *made = input.getDefiningOp())
          neededForLoss.insert(made);
  for (Operation *op : ops)
    if (dependent.contains(op) &&
        (isa<GradientOp>(op) || neededForLoss.contains(op) ||
         !behindGradient.contains(op)))
      inLoop.insert(op);
}

LogicalResult StepSplitter::addOutput(Leaving leaving, OpResult value,
                                      OpOperand &use) {
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
  if (leaving == Leaving::State && behindGradient.contains(value.getOwner()))
    return refuse("a loss depends on this new value of a variable; write the "
                  "updates as steps of their own");
  Output output{leaving, number, value.getResultNumber(), 0, {}};
  if (leaving == Leaving::State)
    output.terminator = use.getOperandNumber();
  for (const Output &other : outputs)
    if (other.leaving == leaving && other.op == output.op &&
        other.result == output.result && other.terminator == output.terminator)
      return success();
  outputs.push_back(output);
  return success();
}

LogicalResult StepSplitter::findOutputs() {
  for (Operation *op : ops) {
    if (!inLoop.contains(op))
      continue;
    for (OpResult result : op->getResults())
      for (OpOperand &use : result.getUses()) {
        Operation *user =
            step.getBody().front().findAncestorOpInBlock(*use.getOwner());
        if (inLoop.contains(user))
          continue;
        Leaving leaving = Leaving::Mean;
        if (user->hasTrait<OpTrait::IsTerminator>()) {
          unsigned i = use.getOperandNumber();
          Value part = micro.getBody().front().getTerminator()->getOperand(i);
          if (step.getResultAttr(i, attr::kVariable))
            leaving = Leaving::State;
          else if (step.getResultAttr(i, attr::kCheck))
            leaving = Leaving::All;
          else if (step.getResultAttr(i, attr::kDataAxis) ||
                   part.getType() != result.getType())
            leaving = Leaving::Rows;
        }
        if (failed(addOutput(leaving, result, use)))
          return failure();
      }
  }
  return success();
}
