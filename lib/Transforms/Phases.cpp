//===- Phases.cpp - forward pass, backward pass and update -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See the description of tds-mark-phases in Passes.td.
//
//===----------------------------------------------------------------------===//

#include "Phases.h"

#include "tdsl/Dialect/TDS/TDSOps.h"
#include "tdsl/Transforms/Passes.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace tdsl {
#define GEN_PASS_DEF_MARKPHASESPASS
#include "tdsl/Transforms/Passes.h.inc"
} // namespace tdsl

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

static constexpr llvm::StringLiteral kPhase = "phase";

namespace {

class MarkPhasesPass : public tdsl::impl::MarkPhasesPassBase<MarkPhasesPass> {
public:
  using MarkPhasesPassBase::MarkPhasesPassBase;

  void runOnOperation() override {
    OpBuilder builder(&getContext());
    auto forward = builder.getStringAttr("forward");
    auto update = builder.getStringAttr("update");
    // Functions with a derivative of their own are still called, and those that
    // compute it belong to the backward pass.
    llvm::SmallPtrSet<Attribute, 8> derivatives;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (auto rule = function->getAttrOfType<FlatSymbolRefAttr>(attr::kVjp))
        derivatives.insert(rule.getAttr());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      auto kind = function->getAttrOfType<StringAttr>(attr::kEntry);
      if (function.isExternal() || (kind && kind == "init") ||
          derivatives.contains(function.getSymNameAttr()))
        continue;
      // What uses a derivative, at any distance, updates a variable.
      llvm::SmallPtrSet<Operation *, 32> updates;
      for (Operation &op : function.getBody().front()) {
        bool updating = false, gives = false;
        op.walk([&](Operation *inner) {
          for (Value operand : inner->getOperands())
            updating |= updates.contains(operand.getDefiningOp());
          // Also in the body of a loop, which then gives derivatives.
          gives |= isa<GradientOp>(inner);
        });
        if (updating || gives)
          updates.insert(&op);
        if (op.getNumResults() != 0 && !isa<GradientOp>(op) &&
            (updating || !updatesOnly)) {
          op.setDiscardableAttr(kPhase, updating ? update : forward);
          ++(updating ? numUpdate : numForward);
        }
      }
    }
  }
};

} // namespace

static bool hasPhase(Operation *op, llvm::StringRef name) {
  auto phase = op->getAttrOfType<StringAttr>(kPhase);
  return phase && phase.getValue() == name;
}

bool tdsl::isUpdate(Operation *op) { return hasPhase(op, "update"); }

bool tdsl::isInForward(Operation *op) { return hasPhase(op, "forward"); }

void tdsl::copyPhase(Operation *from, Operation *to) {
  if (Attribute phase = from->getDiscardableAttr(kPhase))
    to->setDiscardableAttr(kPhase, phase);
}

void tdsl::markForward(Operation *op) {
  op->setDiscardableAttr(kPhase, StringAttr::get(op->getContext(), "forward"));
}

llvm::StringRef tdsl::takePhase(Operation *op) {
  auto phase = dyn_cast_or_null<StringAttr>(op->removeDiscardableAttr(kPhase));
  return !phase                          ? "in the backward pass"
         : phase.getValue() == "forward" ? "in the forward pass"
                                         : "in the update of the variables";
}

void tdsl::removePhases(func::FuncOp function) {
  function.walk([](Operation *op) { op->removeDiscardableAttr(kPhase); });
}
