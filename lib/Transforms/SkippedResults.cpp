//===- SkippedResults.cpp - what a skipped step returns -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step that is skipped leaves its variables as they are. What it returns of
// variables that it has written would be made of gradients that overflowed:
// it reads the variables that stand instead.
//
//===----------------------------------------------------------------------===//

#include "SkippedResults.h"

#include "EntryFlags.h"

#include "tdsl/Dialect/TDS/BlockInputs.h"
#include "tdsl/Dialect/TDS/CheckAttribute.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

using NewValues = llvm::MapVector<Value, FlatSymbolRefAttr>;

NewValues tdsl::findNewValues(func::FuncOp step,
                              llvm::function_ref<bool(StringRef)> isExempt) {
  NewValues news;
  Block &body = step.getBody().front();
  auto add = [&](Value value, FlatSymbolRefAttr variable) {
    if (variable && value.getDefiningOp() && !isExempt(variable.getValue()))
      news.insert({value, variable});
  };
  for (auto stop : body.getOps<StopGradientOp>())
    add(stop, stop->getAttrOfType<FlatSymbolRefAttr>(attr::kWritten));
  for (unsigned i = 0; i < step.getNumResults(); ++i)
    add(body.getTerminator()->getOperand(i),
        step.getResultAttrOfType<FlatSymbolRefAttr>(i, attr::kVariable));
  return news;
}

/// What the gradients of a block need, and they themselves.
static llvm::DenseSet<Operation *> findNeeded(Block &body) {
  llvm::DenseSet<Operation *> needed;
  for (Operation &op : llvm::reverse(body)) {
    if (isa<GradientOp>(op))
      needed.insert(&op);
    if (needed.contains(&op))
      for (Value input : getBlockInputs(&op))
        if (Operation *made = input.getDefiningOp())
          needed.insert(made);
  }
  return needed;
}

void tdsl::keepForLosses(func::FuncOp step, const NewValues &news,
                         ArrayRef<SmallVector<Value>> finite) {
  Block &body = step.getBody().front();
  llvm::DenseSet<Operation *> needed = findNeeded(body);
  SmallVector<GradientOp> gradients(body.getOps<GradientOp>());
  for (auto [value, variable] : news) {
    Operation *made = value.getDefiningOp();
    auto isRead = [&](OpOperand &use) {
      return needed.contains(body.findAncestorOpInBlock(*use.getOwner()));
    };
    if (llvm::none_of(value.getUses(), isRead))
      continue;
    OpBuilder builder(step.getContext());
    builder.setInsertionPointAfter(made);
    Location loc = made->getLoc();
    Value all;
    for (auto [gradient, flags] : llvm::zip_equal(gradients, finite))
      if (gradient->isBeforeInBlock(made))
        for (Value flag : flags)
          all = all ? AndOp::create(builder, loc, flag.getType(), all, flag)
                    : flag;
    if (!all)
      continue;
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : value.getUses())
      if (isRead(use))
        uses.push_back(&use);
    Value kept =
        keepOld(builder, loc, NotOp::create(builder, loc, all.getType(), all),
                getOldValue(step, variable, value.getType()), value);
    for (OpOperand *use : uses)
      use->set(kept);
  }
}

void tdsl::keepForResults(func::FuncOp step, const NewValues &news,
                          Value overflow) {
  Block &body = step.getBody().front();
  Operation *terminator = body.getTerminator();
  llvm::DenseSet<Operation *> needed = findNeeded(body);

  // What results are made of, down to the new values. Losses are done.
  llvm::DenseSet<Operation *> ofResults;
  SmallVector<Value> work;
  llvm::DenseSet<unsigned> isResult;
  for (unsigned i = 0; i < step.getNumResults(); ++i)
    if (!step.getResultAttr(i, attr::kVariable)) {
      isResult.insert(i);
      work.push_back(terminator->getOperand(i));
    }
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || needed.contains(op) || news.contains(value) ||
        !ofResults.insert(op).second)
      continue;
    llvm::append_range(work, getBlockInputs(op));
  }

  llvm::MapVector<Value, SmallVector<OpOperand *>> uses;
  llvm::DenseSet<Operation *> later;
  for (auto [value, variable] : news)
    for (OpOperand &use : value.getUses()) {
      Operation *user = body.findAncestorOpInBlock(*use.getOwner());
      if (user == terminator ? isResult.contains(use.getOperandNumber())
                             : ofResults.contains(user)) {
        uses[value].push_back(&use);
        later.insert(user);
      }
    }
  // They and what reads them go behind the overflow, in their order.
  SmallVector<Operation *> moved;
  for (Operation &op : body.without_terminator()) {
    for (Value input : getBlockInputs(&op))
      if (input.getDefiningOp() && later.contains(input.getDefiningOp()))
        later.insert(&op);
    if (later.contains(&op))
      moved.push_back(&op);
  }
  for (Operation *op : moved)
    op->moveBefore(terminator);

  for (auto &[value, all] : uses) {
    Operation *made = value.getDefiningOp();
    OpBuilder builder(step.getContext());
    builder.setInsertionPointAfter(
        made->isBeforeInBlock(overflow.getDefiningOp())
            ? overflow.getDefiningOp()
            : made);
    Value kept =
        keepOld(builder, step.getLoc(), overflow,
                getOldValue(step, news.lookup(value), value.getType()), value);
    for (OpOperand *use : all)
      use->set(kept);
  }
}
