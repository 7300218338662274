//===- ProgramFeatures.cpp - what a program has -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramFeatures.h"

#include "tdsl/Autodiff/Autodiff.h"
#include "tdsl/Dialect/TDS/TDSOps.h"

using namespace mlir;
using namespace tdsl;

void testing::noteOperations(ModuleOp module, std::set<std::string> &features) {
  module.walk([&](Operation *op) {
    if (!isa<tds::TDSDialect>(op->getDialect()))
      return;
    std::string name = "ir " + op->getName().getStringRef().str();
    features.insert(name);
    std::optional<tds::ReductionKind> kind;
    if (auto generic = dyn_cast<tds::GenericOp>(op))
      kind = generic.getKind();
    else if (auto reduce = dyn_cast<tds::ReduceOp>(op))
      kind = reduce.getKind();
    if (kind)
      features.insert(name + " " + tds::stringifyReductionKind(*kind).str());
  });
}

/// What the derivative of one operation has to do.
static void noteDerivative(Operation *op, std::set<std::string> &features) {
  if (isa<tds::ReduceOp, tds::ContractOp>(op))
    features.insert("derivative of a reduction");
  if (auto fold = dyn_cast<tds::FoldOp>(op)) {
    features.insert("derivative of a fold");
    for (Operation &inner : *fold.getBlock())
      noteDerivative(&inner, features);
  }
  auto generic = dyn_cast<tds::GenericOp>(op);
  if (!generic)
    return;
  if (generic.hasReduction())
    features.insert("derivative of a reduction");
  features.insert("derivative of an index definition");
  generic.walk([&](tds::ReadOp read) {
    if (!autodiff::carriesGradient(read.getTensor().getType()))
      return;
    for (Value index : read.getIndices()) {
      Operation *source = index.getDefiningOp();
      if (!source)
        continue;
      if (isa<tds::ApplyOp>(source))
        features.insert("derivative of a window");
      else if (!isa<tds::ConstantOp>(source))
        features.insert("derivative of a gather");
    }
  });
}

void testing::noteDerivatives(ModuleOp module,
                              std::set<std::string> &features) {
  module.walk([&](tds::GradientOp gradient) {
    features.insert("derivative");
    // Forward from the variables, backward from the loss.
    llvm::DenseSet<Value> reached;
    SmallVector<Value> stack(gradient.getWrt());
    while (!stack.empty()) {
      Value value = stack.pop_back_val();
      if (!reached.insert(value).second)
        continue;
      for (Operation *user : value.getUsers()) {
        Operation *outer = user;
        while (outer->getParentOp() && !isa<func::FuncOp>(outer->getParentOp()))
          outer = outer->getParentOp();
        if (isa<tds::GradientOp, tds::StopGradientOp>(outer))
          continue;
        for (Value result : outer->getResults())
          if (autodiff::carriesGradient(result.getType()))
            stack.push_back(result);
      }
    }
    llvm::DenseSet<Value> seen;
    stack.assign({gradient.getLoss()});
    while (!stack.empty()) {
      Value value = stack.pop_back_val();
      if (!reached.contains(value) || !seen.insert(value).second)
        continue;
      Operation *op = value.getDefiningOp();
      if (!op)
        continue;
      noteDerivative(op, features);
      for (Value input : autodiff::getDifferentiationInputs(op))
        stack.push_back(input);
    }
  });
}
