//===- Accumulate.cpp - gradients of micro-batches -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepSplitter.h"

#include "tdsl/Transforms/Accumulate.h"
#include "tdsl/Transforms/Passes.h"

namespace tdsl {
#define GEN_PASS_DEF_ACCUMULATEPASS
#include "tdsl/Transforms/Passes.h.inc"
} // namespace tdsl

using namespace mlir;
using namespace tdsl;
using namespace tdsl::accumulation;
using namespace tdsl::tds;

static constexpr llvm::StringLiteral kMicro = "micro";
static constexpr llvm::StringLiteral kLast = "last";

static bool isStep(func::FuncOp function) {
  auto kind = function->getAttrOfType<StringAttr>(attr::kEntry);
  return kind && kind == "step" && !function.isExternal();
}

static bool hasGradient(func::FuncOp function) {
  return !function.getBody().front().getOps<GradientOp>().empty();
}

//===----------------------------------------------------------------------===//
// Copies of a step for fewer rows
//===----------------------------------------------------------------------===//

FailureOr<MicroBatches> tdsl::getMicroBatches(ModuleOp module, int64_t parts) {
  MicroBatches batches;
  bool found = false;
  for (auto step : module.getOps<func::FuncOp>()) {
    if (!isStep(step) || !hasGradient(step))
      continue;
    found = true;
    int64_t rows = getNumRows(step);
    if (rows == 0)
      return emitError(step.getLoc())
             << "the step has no tensor input, so --accum has no rows to "
                "split";
    if (parts > rows)
      return emitError(step.getLoc())
             << "--accum=" << parts << " asks for more parts "
             << "than the batch has rows, which are " << rows;
    batches.rows = rows;
    batches.micro = llvm::divideCeil(rows, parts);
    batches.last = rows % batches.micro;
  }
  if (!found)
    return emitError(module.getLoc())
           << "no step of the program takes a gradient, so "
              "--accum has nothing to split";
  return batches;
}

LogicalResult tdsl::addMicroBatch(ModuleOp module, ModuleOp part, bool isLast) {
  StringRef suffix = isLast ? kLast : kMicro;
  // Functions of the part get names of their own.
  SymbolTable symbols(part);
  SmallVector<func::FuncOp> functions(part.getOps<func::FuncOp>());
  for (func::FuncOp function : functions) {
    auto name =
        StringAttr::get(part.getContext(), function.getName() + "." + suffix);
    if (module.lookupSymbol(name) || failed(symbols.rename(function, name)))
      return emitError(function.getLoc())
             << "the name '" << name.getValue() << "' is in use";
  }
  for (func::FuncOp function : functions) {
    bool isNeeded = isStep(function) && hasGradient(function);
    if (function->hasAttr(attr::kEntry) && !isNeeded)
      continue;
    if (isNeeded) {
      StringRef name = function.getName().drop_back(suffix.size() + 1);
      module.lookupSymbol<func::FuncOp>(name)->setAttr(
          suffix, FlatSymbolRefAttr::get(function));
    }
    function->removeAttr(attr::kEntry);
    function.setPrivate();
    function->remove();
    module.push_back(function);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct AccumulatePass : public tdsl::impl::AccumulatePassBase<AccumulatePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> steps;
    for (auto function : module.getOps<func::FuncOp>())
      if (isStep(function) && function->hasAttr(kMicro))
        steps.push_back(function);
    for (func::FuncOp step : steps) {
      auto find = [&](StringRef name) -> func::FuncOp {
        auto symbol = step->getAttrOfType<FlatSymbolRefAttr>(name);
        return symbol ? module.lookupSymbol<func::FuncOp>(symbol.getAttr())
                      : func::FuncOp();
      };
      func::FuncOp micro = find(kMicro), last = find(kLast);
      if (!micro || (step->hasAttr(kLast) && !last) || getNumRows(micro) == 0 ||
          getNumRows(step) % getNumRows(micro) !=
              (last ? getNumRows(last) : 0)) {
        emitError(step.getLoc())
            << "'micro' and 'last' must name copies of the step "
               "whose rows make up its own";
        return signalPassFailure();
      }
      step->removeAttr(kMicro);
      step->removeAttr(kLast);
      if (failed(StepSplitter(step, micro, last).run()))
        return signalPassFailure();
      micro.erase();
      if (last)
        last.erase();
      ++numSteps;
    }
  }
};

} // namespace
