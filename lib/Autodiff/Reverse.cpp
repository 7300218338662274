//===- Reverse.cpp - the reverse sweep -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reverse.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;
using namespace tdsl::autodiff;

bool autodiff::carriesGradient(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type));
}

SmallVector<Value> autodiff::getDifferentiationInputs(Operation *op) {
  SmallVector<Value> inputs(op->getOperands());
  llvm::SmallDenseSet<Value, 8> seen;
  for (Region &region : op->getRegions())
    region.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!region.isAncestor(operand.getParentRegion()) &&
            seen.insert(operand).second)
          inputs.push_back(operand);
    });
  return inputs;
}

LogicalResult autodiff::applyRule(OpBuilder &builder, Operation *op,
                                  ArrayRef<Value> adjoints,
                                  ArrayRef<bool> needed,
                                  SmallVectorImpl<Value> &inputAdjoints) {
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable)
    return op->emitError() << "no derivative for '" << op->getName()
                           << "', which lies between the loss and a variable; "
                              "stop_gradient(…) makes it a constant";
  if (failed(differentiable.buildAdjoints(builder, adjoints, needed,
                                          inputAdjoints)))
    return failure();
  if (auto scale = op->getAttrOfType<FloatAttr>(kRuleScale)) {
    AdjointBuilder emit(builder, op->getLoc());
    for (Value &value : inputAdjoints)
      value = emit.mul(value, scale.getValueAsDouble());
  }
  return success();
}

void autodiff::scaleRule(ModuleOp module, StringRef opName, double factor) {
  Builder builder(module.getContext());
  module.walk([&](Operation *op) {
    if (op->getName().getStringRef() == opName)
      op->setAttr(kRuleScale, builder.getF64FloatAttr(factor));
  });
}

Value AdjointMap::get(OpBuilder &builder, Location loc, Value value) {
  auto it = contributions.find(value);
  if (it == contributions.end())
    return {};
  Value total = AdjointBuilder(builder, loc).sum(it->second);
  it->second.assign(1, total);
  return total;
}

llvm::DenseSet<Value> autodiff::findVarying(ArrayRef<Operation *> ops,
                                            ArrayRef<Value> sources) {
  llvm::DenseSet<Value> varying(sources.begin(), sources.end());
  for (Operation *op : ops) {
    // A stopped value is a constant for every derivative, and so is anything
    // that is not a float.
    if (isa<StopGradientOp>(op))
      continue;
    if (llvm::none_of(getDifferentiationInputs(op),
                      [&](Value input) { return varying.contains(input); }))
      continue;
    for (Value result : op->getResults())
      if (carriesGradient(result.getType()))
        varying.insert(result);
  }
  return varying;
}

LogicalResult
autodiff::reverseSweep(OpBuilder &builder, ArrayRef<Operation *> ops,
                       const llvm::DenseSet<Value> &varying,
                       AdjointMap &adjoints,
                       function_ref<bool(Operation *, Value)> special) {
  for (Operation *op : llvm::reverse(ops)) {
    if (isa<StopGradientOp>(op))
      continue;
    SmallVector<Value> inputs = getDifferentiationInputs(op);
    SmallVector<bool> needed;
    for (Value input : inputs)
      needed.push_back(varying.contains(input));
    if (llvm::none_of(needed, [](bool is) { return is; }))
      continue;
    SmallVector<Value> ofResults;
    for (OpResult result : op->getResults())
      ofResults.push_back(varying.contains(result)
                              ? adjoints.get(builder, op->getLoc(), result)
                              : Value());
    if (llvm::none_of(ofResults, [](Value adjoint) { return bool(adjoint); }) ||
        (special && ofResults.size() == 1 && special(op, ofResults.front())))
      continue;
    SmallVector<Value> inputAdjoints;
    if (failed(applyRule(builder, op, ofResults, needed, inputAdjoints)))
      return failure();
    for (auto [input, isNeeded, contribution] :
         llvm::zip(inputs, needed, inputAdjoints))
      if (isNeeded)
        adjoints.add(input, contribution);
  }
  return success();
}
