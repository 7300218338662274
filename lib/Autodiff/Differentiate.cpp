//===- Differentiate.cpp - expands tds.gradient -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Autodiff/Autodiff.h"
#include "tdsl/Autodiff/InlineFunction.h"
#include "tdsl/Autodiff/Passes.h"
#include "tdsl/Dialect/TDS/FoldAttributes.h"
#include "tdsl/Dialect/TDS/SourceLocation.h"

#include "Reverse.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

namespace tdsl::autodiff {
#define GEN_PASS_DEF_INLINECALLSPASS
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "tdsl/Autodiff/Passes.h.inc"
} // namespace tdsl::autodiff

using namespace tdsl::autodiff;

/// The operations of the block of `gradient` before it that the loss depends
/// on, in order.
static SmallVector<Operation *> findSlice(GradientOp gradient) {
  Block *block = gradient->getBlock();
  llvm::DenseSet<Operation *> reached;
  SmallVector<Value> work{gradient.getLoss()};
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || op->getBlock() != block || isa<StopGradientOp>(op) ||
        !reached.insert(op).second)
      continue;
    for (Value input : getDifferentiationInputs(op))
      if (carriesGradient(input.getType()))
        work.push_back(input);
  }
  SmallVector<Operation *> slice(reached.begin(), reached.end());
  llvm::sort(slice,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return slice;
}

static LogicalResult expand(GradientOp gradient) {
  SmallVector<Operation *> slice;
  SmallVector<Value> wrt(gradient.getWrt());
  llvm::DenseSet<Value> varying;
  do {
    slice = findSlice(gradient);
    varying = findVarying(slice, wrt);
  } while (sliceReadsOfIterations(slice, varying));
  OpBuilder builder(gradient);
  Operation *before = gradient->getPrevNode();
  AdjointBuilder emit(builder, gradient.getLoc());
  AdjointMap adjoints;
  if (varying.contains(gradient.getLoss())) {
    adjoints.add(gradient.getLoss(),
                 emit.constant(gradient.getLoss().getType(), 1));
    if (failed(reverseSweep(builder, slice, varying, adjoints)))
      return failure();
  }
  for (auto [variable, result] : llvm::zip(wrt, gradient.getGradients())) {
    Value adjoint = adjoints.get(builder, gradient.getLoc(), variable);
    result.replaceAllUsesWith(adjoint ? adjoint
                                      : emit.constant(result.getType(), 0));
  }
  Block *block = gradient->getBlock();
  // Remarks of a kernel of the derivative are none about the forward pass.
  for (Operation &op : llvm::make_range(
           before ? std::next(before->getIterator()) : block->begin(),
           gradient->getIterator()))
    op.walk([](Operation *each) {
      each->setLoc(getDerivativeLoc(each->getLoc()));
    });
  gradient.erase();
  eraseEmptyFolds(block);
  return success();
}

/// Expands the gradients of one function in source order.
static LogicalResult expandAll(func::FuncOp function, int64_t &count) {
  SmallVector<GradientOp> gradients;
  function.walk([&](GradientOp gradient) { gradients.push_back(gradient); });
  for (GradientOp gradient : gradients)
    if (failed(expand(gradient)))
      return failure();
  count += gradients.size();
  return success();
}

/// Removes functions that are no entries and that nothing names any more.
static void eraseUnusedFunctions(ModuleOp module) {
  bool changed = true;
  while (changed) {
    changed = false;
    llvm::DenseSet<StringAttr> used = getUsedSymbols(module);
    for (auto function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (!function.isPrivate() || function->hasAttr(attr::kEntry) ||
          used.contains(function.getSymNameAttr()))
        continue;
      function.erase();
      changed = true;
    }
  }
}

static LogicalResult differentiateCounting(ModuleOp module, bool keepStops,
                                           int64_t &count) {
  if (failed(inlineCalls(module, /*keepCustomDerivatives=*/true)))
    return failure();
  // Derivatives are inlined where they are used, so their own gradients come
  // first.
  SmallVector<func::FuncOp> order;
  for (auto function : module.getOps<func::FuncOp>())
    if (auto vjp = function->getAttrOfType<FlatSymbolRefAttr>(attr::kVjp))
      if (auto derivative = module.lookupSymbol<func::FuncOp>(vjp.getAttr());
          derivative && !llvm::is_contained(order, derivative))
        order.push_back(derivative);
  for (auto function : module.getOps<func::FuncOp>())
    if (!llvm::is_contained(order, function))
      order.push_back(function);
  // Every function is tried, so that each wrong one is reported.
  LogicalResult result = success();
  for (func::FuncOp function : order)
    if (failed(expandAll(function, count)))
      result = failure();
  if (failed(result))
    return failure();
  for (auto function : module.getOps<func::FuncOp>())
    function->removeAttr(attr::kVjp);
  if (failed(inlineCalls(module, /*keepCustomDerivatives=*/false)))
    return failure();
  module.walk([&](Operation *op) {
    op->removeDiscardableAttr(kStrongZero);
    op->removeDiscardableAttr(kRuleScale);
    op->removeDiscardableAttr(attr::kCheckpoint);
    if (auto stop = dyn_cast<StopGradientOp>(op); stop && !keepStops) {
      stop.replaceAllUsesWith(stop.getOperand());
      stop.erase();
    } else if (auto independent = dyn_cast<IndependentOp>(op)) {
      independent.replaceAllUsesWith(independent.getOperand());
      independent.erase();
    }
  });
  eraseUnusedFunctions(module);
  return success();
}

LogicalResult autodiff::differentiate(ModuleOp module, bool keepStops) {
  int64_t count = 0;
  return differentiateCounting(module, keepStops, count);
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

namespace {
struct InlineCalls : tdsl::autodiff::impl::InlineCallsPassBase<InlineCalls> {
  void runOnOperation() override {
    int64_t count = 0;
    if (failed(
            inlineCalls(getOperation(), /*keepCustomDerivatives=*/true, count)))
      return signalPassFailure();
    numInlined += count;
    eraseUnusedFunctions(getOperation());
  }
};

struct Differentiate
    : tdsl::autodiff::impl::DifferentiatePassBase<Differentiate> {
  using DifferentiatePassBase::DifferentiatePassBase;

  void runOnOperation() override {
    if (!scaleRuleOption.empty()) {
      auto [name, factor] = StringRef(scaleRuleOption).split(':');
      double value = 0;
      if (factor.getAsDouble(value)) {
        getOperation().emitError() << "scale-rule wants an operation and a "
                                      "factor, as in tds.mul:1.01, got '"
                                   << scaleRuleOption << "'";
        return signalPassFailure();
      }
      scaleRule(getOperation(), name, value);
    }
    int64_t count = 0;
    if (failed(
            differentiateCounting(getOperation(), /*keepStops=*/false, count)))
      return signalPassFailure();
    numGradients += count;
  }
};
} // namespace
