//===- FoldCanonicalization.cpp - what a loop need not do -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConstantLoops.h"

#include "tdsl/Dialect/TDS/FoldAttributes.h"
#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tdsl::tds;

/// Every value that `op` uses: its operands, and what its regions capture.
static void forEachUsed(Operation *op, function_ref<void(Value)> visit) {
  for (Value operand : op->getOperands())
    visit(operand);
  for (Region &region : op->getRegions())
    region.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!region.isAncestor(operand.getParentRegion()))
          visit(operand);
    });
}

/// Whether the fold stands for a `checkpoint`: one iteration that must stay
/// apart from what computes the same values elsewhere.
static bool isCheckpoint(FoldOp op) {
  return op->hasAttr(attr::kCheckpoint) || op->hasAttr(attr::kRecompute);
}

/// A new fold that takes over the body of `op`, whose terminator must yield
/// `yielded` carried values and then the collected ones of `collected`.
static FoldOp recreate(PatternRewriter &rewriter, FoldOp op, ValueRange inits,
                       TypeRange collected) {
  auto fold = FoldOp::create(
      rewriter, op.getLoc(), static_cast<int64_t>(op.getTrips()),
      op.getReverse(), inits, op.getSlices(), op.getInvariants(), collected);
  fold->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  fold.getBody().takeBody(op.getBody());
  return fold;
}

namespace {

/// No iteration: the initial values. One: the body itself.
struct UnrollTrivial : public OpRewritePattern<FoldOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(FoldOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getTrips() > 1 || (op.getTrips() == 1 && isCheckpoint(op)))
      return failure();
    Location loc = op.getLoc();
    SmallVector<Value> results;
    if (op.getTrips() == 0) {
      llvm::append_range(results, op.getInits());
      for (Value collected : op.getCollected())
        results.push_back(
            ConstantOp::createSplat(rewriter, loc, collected.getType(), 0));
      rewriter.replaceOp(op, results);
      return success();
    }
    SmallVector<Value> arguments{
        ConstantOp::createSplat(rewriter, loc, op.getCounter().getType(), 0)};
    llvm::append_range(arguments, op.getInits());
    for (auto [slice, argument] :
         llvm::zip(op.getSlices(), op.getSliceArguments()))
      arguments.push_back(
          ReshapeOp::create(rewriter, loc, argument.getType(), slice));
    llvm::append_range(arguments, op.getInvariants());
    IRMapping map;
    map.map(op.getBlock()->getArguments(), arguments);
    for (Operation &inner : op.getBlock()->without_terminator())
      rewriter.clone(inner, map);
    for (Value yielded : op.getYieldedCarried())
      results.push_back(map.lookupOrDefault(yielded));
    for (auto [yielded, result] :
         llvm::zip(op.getYieldedCollected(), op.getCollected()))
      results.push_back(ReshapeOp::create(rewriter, loc, result.getType(),
                                          map.lookupOrDefault(yielded)));
    rewriter.replaceOp(op, results);
    return success();
  }
};

/// Carried and collected values that nothing depends on go, with the slices and
/// invariants that nothing uses. Equal ones become one.
struct DropUnused : public OpRewritePattern<FoldOp> {
  using OpRewritePattern::OpRewritePattern;

  /// The carried values that a used result depends on.
  static llvm::BitVector findLive(FoldOp op) {
    unsigned numCarried = op.getNumCarried();
    llvm::BitVector live(numCarried);
    Block *block = op.getBlock();
    llvm::DenseSet<Value> seen;
    SmallVector<Value> work;
    auto need = [&](unsigned yielded) {
      if (yielded < numCarried)
        live.set(yielded);
      work.push_back(op.getYielded()[yielded]);
    };
    for (unsigned i = 0; i < op.getNumResults(); ++i)
      if (!op.getResult(i).use_empty())
        need(i);
    while (!work.empty()) {
      Value value = work.pop_back_val();
      if (!seen.insert(value).second)
        continue;
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        unsigned number = argument.getArgNumber();
        if (argument.getOwner() == block && number >= 1 &&
            number <= numCarried && !live.test(number - 1))
          need(number - 1);
        continue;
      }
      forEachUsed(value.getDefiningOp(),
                  [&](Value used) { work.push_back(used); });
    }
    return live;
  }

  LogicalResult matchAndRewrite(FoldOp op,
                                PatternRewriter &rewriter) const override {
    unsigned numCarried = op.getNumCarried();
    llvm::BitVector keep = findLive(op);
    // What a dropped carried value is: another one, or its initial value.
    bool changed = false;
    SmallVector<Value> sameAs(op.getNumResults());
    for (unsigned i = 0; i < numCarried; ++i) {
      if (!keep.test(i))
        continue;
      for (unsigned j = 0; j < i && keep.test(i); ++j)
        if (keep.test(j) && op.getInits()[i] == op.getInits()[j] &&
            op.getYielded()[i] == op.getYielded()[j]) {
          rewriter.replaceAllUsesWith(op.getCarried()[i], op.getCarried()[j]);
          sameAs[i] = op.getResult(j);
          keep.reset(i);
          changed = true;
        }
    }
    llvm::BitVector keepCollected(op.getNumCollected());
    for (unsigned i = 0; i < op.getNumCollected(); ++i) {
      Value result = op.getCollected()[i];
      if (result.use_empty())
        continue;
      for (unsigned j = 0; j < i && !sameAs[numCarried + i]; ++j)
        if (keepCollected.test(j) &&
            op.getYieldedCollected()[i] == op.getYieldedCollected()[j])
          sameAs[numCarried + i] = op.getCollected()[j];
      if (!sameAs[numCarried + i])
        keepCollected.set(i);
    }
    if (keep.all() && keepCollected.all())
      return success(changed);

    SmallVector<Value> inits, yielded;
    SmallVector<Type> collected;
    for (unsigned i : keep.set_bits()) {
      inits.push_back(op.getInits()[i]);
      yielded.push_back(op.getYielded()[i]);
    }
    for (unsigned i : keepCollected.set_bits()) {
      collected.push_back(op.getCollected()[i].getType());
      yielded.push_back(op.getYieldedCollected()[i]);
    }
    rewriter.modifyOpInPlace(op.getBlock()->getTerminator(), [&] {
      op.getBlock()->getTerminator()->setOperands(yielded);
    });
    // The operations behind dropped values use their arguments still.
    Block *block = op.getBlock();
    llvm::BitVector dropped(block->getNumArguments());
    for (unsigned i = 0; i < numCarried; ++i)
      if (!keep.test(i))
        dropped.set(i + 1);
    for (Operation &inner : llvm::make_early_inc_range(llvm::reverse(*block)))
      if (inner.use_empty() && !inner.hasTrait<OpTrait::IsTerminator>())
        rewriter.eraseOp(&inner);
    auto oldResults = SmallVector<Value>(op.getResults());
    FoldOp fold = recreate(rewriter, op, inits, collected);
    fold.getBlock()->eraseArguments(dropped);
    SmallVector<Value> results(oldResults.size());
    unsigned next = 0;
    for (unsigned i : keep.set_bits())
      results[i] = fold.getResult(next++);
    for (unsigned i : keepCollected.set_bits())
      results[numCarried + i] = fold.getResult(next++);
    for (auto [i, result] : llvm::enumerate(results)) {
      if (!result && sameAs[i])
        result = results[cast<OpResult>(sameAs[i]).getResultNumber()];
      if (!result) // Without uses.
        result = i < numCarried ? op.getInits()[i] : Value();
      if (result)
        rewriter.replaceAllUsesWith(oldResults[i], result);
    }
    rewriter.eraseOp(op);
    return success();
  }
};

/// Values that are the same in every iteration: a carried value that is passed
/// on is its initial value, a collected one a broadcast.
struct PassThrough : public OpRewritePattern<FoldOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(FoldOp op,
                                PatternRewriter &rewriter) const override {
    bool changed = false;
    for (unsigned i = 0; i < op.getNumCarried(); ++i) {
      BlockArgument argument = op.getCarried()[i];
      if (op.getYielded()[i] != argument ||
          (op.getResult(i).use_empty() && argument.hasOneUse()))
        continue;
      rewriter.replaceAllUsesWith(op.getResult(i), op.getInits()[i]);
      rewriter.modifyOpInPlace(op, [&] {
        op.getInvariantsMutable().append(op.getInits()[i]);
        BlockArgument invariant =
            op.getBlock()->addArgument(argument.getType(), argument.getLoc());
        rewriter.replaceUsesWithIf(argument, invariant, [&](OpOperand &use) {
          return use.getOwner() != op.getBlock()->getTerminator() ||
                 use.getOperandNumber() != i;
        });
      });
      changed = true;
    }
    auto arguments = op.getInvariantArguments();
    // A part of a tensor that is collected again.
    auto parts = op.getSliceArguments();
    for (auto [yielded, result] :
         llvm::zip(op.getYieldedCollected(), op.getCollected())) {
      auto it = llvm::find(parts, yielded);
      if (it == parts.end() || result.use_empty())
        continue;
      rewriter.replaceAllUsesWith(result, op.getSlices()[it - parts.begin()]);
      changed = true;
    }
    for (auto [yielded, result] :
         llvm::zip(op.getYieldedCollected(), op.getCollected())) {
      if (result.use_empty())
        continue;
      Value everywhere;
      auto it = llvm::find(arguments, yielded);
      if (it != arguments.end())
        everywhere = op.getInvariants()[it - arguments.begin()];
      else if (auto constant = yielded.getDefiningOp<ConstantOp>())
        everywhere = rewriter.clone(*constant)->getResult(0);
      if (!everywhere)
        continue;
      auto type = cast<RankedTensorType>(result.getType());
      SmallVector<int64_t> axes =
          llvm::to_vector(llvm::seq<int64_t>(1, type.getRank()));
      rewriter.replaceAllUsesWith(
          result,
          BroadcastOp::create(rewriter, op.getLoc(), type, everywhere, axes));
      changed = true;
    }
    return success(changed);
  }
};

/// Slices and invariants without uses go, equal ones become one, and constants
/// are made inside.
struct TidyOperands : public OpRewritePattern<FoldOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(FoldOp op,
                                PatternRewriter &rewriter) const override {
    bool changed = false;
    Block *block = op.getBlock();
    auto tidy = [&](auto getRange, auto getArguments, bool isSlice) {
      for (unsigned i = getRange().size(); i-- > 0;) {
        Value operand = getRange()[i];
        BlockArgument argument = getArguments()[i];
        if (auto constant = operand.template getDefiningOp<ConstantOp>();
            constant && !argument.use_empty()) {
          auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
          TypedAttr value;
          if (!isSlice)
            value = constant.getValue();
          else if (dense && dense.isSplat())
            value = DenseElementsAttr::get(
                cast<RankedTensorType>(argument.getType()),
                dense.template getSplatValue<Attribute>());
          if (value) {
            OpBuilder::InsertionGuard guard(rewriter);
            rewriter.setInsertionPointToStart(block);
            rewriter.replaceAllUsesWith(
                argument,
                ConstantOp::create(rewriter, constant.getLoc(), value));
          }
        }
        for (unsigned j = 0; j < i && !argument.use_empty(); ++j)
          if (getRange()[j] == operand)
            rewriter.replaceAllUsesWith(argument, getArguments()[j]);
        if (!argument.use_empty())
          continue;
        changed = true;
        rewriter.modifyOpInPlace(op, [&] {
          block->eraseArgument(argument.getArgNumber());
          if (isSlice)
            op.getSlicesMutable().erase(i);
          else
            op.getInvariantsMutable().erase(i);
        });
      }
    };
    tidy([&] { return op.getInvariants(); },
         [&] { return op.getInvariantArguments(); }, /*isSlice=*/false);
    tidy([&] { return op.getSlices(); }, [&] { return op.getSliceArguments(); },
         /*isSlice=*/true);
    return success(changed);
  }
};

/// What lies between the variables and the loss of a gradient in `block`. In
/// front of a loop that has such a gradient it would be no part of the
/// derivative.
static llvm::DenseSet<Operation *> findDifferentiated(Block *block) {
  llvm::DenseSet<Operation *> between;
  for (auto gradient : block->getOps<GradientOp>()) {
    llvm::DenseSet<Value> varying(gradient.getWrt().begin(),
                                  gradient.getWrt().end());
    llvm::DenseSet<Operation *> reached;
    for (Operation &op : *block) {
      if (&op == gradient)
        break;
      bool varies = false;
      forEachUsed(&op, [&](Value used) { varies |= varying.contains(used); });
      if (!varies || isa<StopGradientOp>(op))
        continue;
      reached.insert(&op);
      varying.insert(op.result_begin(), op.result_end());
    }
    SmallVector<Value> work{gradient.getLoss()};
    while (!work.empty()) {
      Operation *op = work.pop_back_val().getDefiningOp();
      if (op && reached.erase(op)) {
        between.insert(op);
        forEachUsed(op, [&](Value used) { work.push_back(used); });
      }
    }
  }
  return between;
}

/// What depends on invariants alone is computed once, in front of the loop,
/// but for what a gradient in the loop goes through until that is expanded.
/// Broadcasts and changes of shape, which cost nothing where they are used,
/// stay unless they belong to something that does cost.
struct HoistInvariants : public OpRewritePattern<FoldOp> {
  using OpRewritePattern::OpRewritePattern;

  static bool isFree(Operation *op) {
    // An element generic that does next to nothing is computed where it is
    // read.
    if (auto generic = dyn_cast<GenericOp>(op))
      return !generic.hasReduction() &&
             llvm::count_if(*generic.getBlock(), [](Operation &inner) {
               return !isa<ReadOp, ApplyOp, ConstantOp, YieldOp>(inner);
             }) <= 1;
    return isa<ConstantOp, BroadcastOp, ReshapeOp, TransposeOp, StopGradientOp>(
        op);
  }

  LogicalResult matchAndRewrite(FoldOp op,
                                PatternRewriter &rewriter) const override {
    if (isCheckpoint(op))
      return failure();
    Block *block = op.getBlock();
    auto arguments = op.getInvariantArguments();
    llvm::DenseSet<Value> invariant(arguments.begin(), arguments.end());
    llvm::SetVector<Operation *> hoistable;
    llvm::DenseSet<Operation *> differentiated = findDifferentiated(block);
    bool costs = false;
    for (Operation &inner : block->without_terminator()) {
      if (isa<GradientOp, IndependentOp>(inner) || inner.getNumResults() == 0 ||
          !isPure(&inner) || differentiated.contains(&inner))
        continue;
      bool depends = false;
      forEachUsed(&inner,
                  [&](Value used) { depends |= !invariant.contains(used); });
      if (depends)
        continue;
      hoistable.insert(&inner);
      invariant.insert(inner.result_begin(), inner.result_end());
      costs |= !isFree(&inner);
    }
    if (!costs)
      return failure();
    // The values that the rest of the body needs of it; free operations are
    // looked through.
    llvm::SetVector<Value> needed;
    SmallVector<Value> work;
    llvm::DenseSet<Value> seen;
    for (Operation &inner : *block)
      if (!hoistable.contains(&inner))
        forEachUsed(&inner, [&](Value used) { work.push_back(used); });
    while (!work.empty()) {
      Value value = work.pop_back_val();
      Operation *maker = value.getDefiningOp();
      if (!maker || !hoistable.contains(maker) || !seen.insert(value).second)
        continue;
      if (!isFree(maker))
        needed.insert(value);
      else
        llvm::append_range(work, maker->getOperands());
    }
    if (needed.empty())
      return failure();
    IRMapping map;
    map.map(arguments, op.getInvariants());
    // Behind each other in the order of the body.
    llvm::SetVector<Operation *> moved;
    SmallVector<Operation *> pending;
    for (Value value : needed)
      pending.push_back(value.getDefiningOp());
    while (!pending.empty()) {
      Operation *inner = pending.pop_back_val();
      if (!moved.insert(inner))
        continue;
      forEachUsed(inner, [&](Value used) {
        if (Operation *maker = used.getDefiningOp())
          pending.push_back(maker);
      });
    }
    for (Operation &inner : block->without_terminator())
      if (moved.contains(&inner))
        rewriter.clone(inner, map);
    rewriter.modifyOpInPlace(op, [&] {
      for (Value value : needed) {
        op.getInvariantsMutable().append(map.lookup(value));
        BlockArgument argument =
            block->addArgument(value.getType(), value.getLoc());
        rewriter.replaceAllUsesWith(value, argument);
      }
    });
    for (Operation *inner : llvm::reverse(hoistable))
      if (inner->use_empty())
        rewriter.eraseOp(inner);
    return success();
  }
};

} // namespace

void FoldOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                         MLIRContext *context) {
  patterns.add<UnrollTrivial, DropUnused, PassThrough, TidyOperands,
               HoistInvariants>(context);
  patterns.add(evaluateConstantLoop);
}
