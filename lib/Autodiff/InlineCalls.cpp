//===- InlineCalls.cpp - inlining of calls -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Autodiff/InlineFunction.h"

#include "tdsl/Autodiff/Autodiff.h"
#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::autodiff;

/// Functions that call each other twice double at each level: a small program
/// could fill the memory. Real programs stay far below.
static constexpr int64_t maxInlinedOperations = 1'000'000;

namespace {
class Inliner {
public:
  explicit Inliner(bool keepCustomDerivatives)
      : keepCustomDerivatives(keepCustomDerivatives) {}

  FailureOr<SmallVector<Value>> inlineAt(OpBuilder &builder, Location loc,
                                         func::FuncOp function,
                                         ValueRange arguments);
  /// What a call calls; null where it stays a call.
  FailureOr<func::FuncOp> getCallee(func::CallOp call);
  /// Inlines the calls in `block`.
  LogicalResult run(Block &block);

  /// How many calls were inlined.
  int64_t count = 0;

private:
  bool keepCustomDerivatives;
  /// The functions that are being inlined, from the outermost.
  SmallVector<func::FuncOp> stack;
  int64_t budget = maxInlinedOperations;
};
} // namespace

FailureOr<func::FuncOp> Inliner::getCallee(func::CallOp call) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      call, call.getCalleeAttr());
  if (!callee)
    return call.emitError()
           << "calls @" << call.getCallee() << ", which is not a function";
  if (keepCustomDerivatives && callee->hasAttr(tds::attr::kVjp))
    return func::FuncOp();
  return callee;
}

LogicalResult Inliner::run(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        if (failed(run(inner)))
          return failure();
    auto call = dyn_cast<func::CallOp>(op);
    if (!call)
      continue;
    FailureOr<func::FuncOp> callee = getCallee(call);
    if (failed(callee))
      return failure();
    if (!*callee)
      continue;
    OpBuilder builder(call);
    auto results =
        inlineAt(builder, call.getLoc(), *callee, call.getOperands());
    if (failed(results))
      return failure();
    call.replaceAllUsesWith(*results);
    call.erase();
  }
  return success();
}

FailureOr<SmallVector<Value>> Inliner::inlineAt(OpBuilder &builder,
                                                Location loc,
                                                func::FuncOp function,
                                                ValueRange arguments) {
  if (llvm::is_contained(stack, function))
    return emitError(loc) << "@" << function.getName()
                          << " calls itself; recursion is not supported";
  if (!function.getBody().hasOneBlock())
    return emitError(loc) << "@" << function.getName()
                          << " has no body to put in place of its call";
  stack.push_back(function);
  ++count;
  IRMapping map;
  map.map(function.getArguments(), arguments);
  Block &body = function.getBody().front();
  SmallVector<func::CallOp> calls;
  for (Operation &op : body.without_terminator()) {
    if (--budget < 0)
      return emitError(loc) << "the calls unfold into more than "
                            << maxInlinedOperations << " operations";
    // Messages and profiles name the call in the user's text, too.
    builder.clone(op, map)->walk([&](Operation *copy) {
      copy->setLoc(CallSiteLoc::get(copy->getLoc(), loc));
      if (auto call = dyn_cast<func::CallOp>(copy))
        calls.push_back(call);
    });
  }
  SmallVector<Value> results;
  for (Value value : body.getTerminator()->getOperands())
    results.push_back(map.lookupOrDefault(value));
  for (func::CallOp call : calls) {
    FailureOr<func::FuncOp> callee = getCallee(call);
    if (failed(callee))
      return failure();
    if (!*callee)
      continue;
    OpBuilder inner(call);
    auto values = inlineAt(inner, call.getLoc(), *callee, call.getOperands());
    if (failed(values))
      return failure();
    for (auto [old, value] : llvm::zip(call.getResults(), *values)) {
      llvm::replace(results, Value(old), value);
      old.replaceAllUsesWith(value);
    }
    call.erase();
  }
  stack.pop_back();
  return results;
}

FailureOr<SmallVector<Value>> autodiff::inlineFunction(OpBuilder &builder,
                                                       Location loc,
                                                       func::FuncOp function,
                                                       ValueRange arguments) {
  return Inliner(/*keepCustomDerivatives=*/true)
      .inlineAt(builder, loc, function, arguments);
}

llvm::DenseSet<StringAttr> autodiff::getUsedSymbols(ModuleOp module) {
  llvm::DenseSet<StringAttr> names;
  // Nothing in a module hides its uses from this.
  if (std::optional<SymbolTable::UseRange> uses =
          SymbolTable::getSymbolUses(&module.getBodyRegion()))
    for (const SymbolTable::SymbolUse &use : *uses)
      names.insert(use.getSymbolRef().getRootReference());
  return names;
}

/// Gives each value that a gradient is taken by an identity of its own, before
/// bodies come together: two parameters may get the same argument, equal
/// computations are merged, and constants are folded, but `grad(x * y, x)` is y
/// all the same. What is an argument of a function that nobody calls has one.
static void isolateVariables(ModuleOp module) {
  SmallVector<Value> values;
  module.walk([&](tds::GradientOp gradient) {
    llvm::append_range(values, gradient.getWrt());
  });
  llvm::DenseSet<StringAttr> used = getUsedSymbols(module);
  llvm::SmallDenseSet<Value> seen;
  for (Value value : values) {
    if (!seen.insert(value).second || value.getDefiningOp<tds::IndependentOp>())
      continue;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto function =
          dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
      if (function && !used.contains(function.getSymNameAttr()))
        continue;
    }
    OpBuilder builder(module.getContext());
    builder.setInsertionPointAfterValue(value);
    auto independent =
        tds::IndependentOp::create(builder, value.getLoc(), value);
    value.replaceAllUsesExcept(independent, independent);
  }
}

LogicalResult autodiff::inlineCalls(ModuleOp module, bool keepCustomDerivatives,
                                    int64_t &numInlined) {
  isolateVariables(module);
  for (auto function : module.getOps<func::FuncOp>())
    for (Block &block : function.getBody()) {
      Inliner inliner(keepCustomDerivatives);
      if (failed(inliner.run(block)))
        return failure();
      numInlined += inliner.count;
    }
  return success();
}

LogicalResult autodiff::inlineCalls(ModuleOp module,
                                    bool keepCustomDerivatives) {
  int64_t numInlined = 0;
  return inlineCalls(module, keepCustomDerivatives, numInlined);
}
