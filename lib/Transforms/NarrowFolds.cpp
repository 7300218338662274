//===- NarrowFolds.cpp - what loops keep, in 16 bits -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NarrowFolds.h"

#include "Phases.h"
#include "WideValues.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

bool tdsl::isStore(Value collected) {
  return !collected.use_empty() &&
         llvm::all_of(collected.getUses(), [](OpOperand &use) {
           auto fold = dyn_cast<FoldOp>(use.getOwner());
           unsigned first = fold ? fold.getNumCarried() : 0;
           return fold && use.getOperandNumber() >= first &&
                  use.getOperandNumber() < first + fold.getSlices().size();
         });
}

/// The conversions of a whole tensor to `narrow`.
static SmallVector<CastOp> getRoundings(Value value, FloatType narrow) {
  SmallVector<CastOp> casts;
  for (Operation *user : value.getUsers())
    if (auto cast = dyn_cast<CastOp>(user);
        cast && isa<RankedTensorType>(cast.getType()) &&
        getElementType(cast.getType()) == narrow)
      casts.push_back(cast);
  return casts;
}

static void replaceAll(ArrayRef<CastOp> casts, Value with) {
  for (CastOp cast : casts) {
    cast.replaceAllUsesWith(with);
    cast.erase();
  }
}

void tdsl::hoistCasts(FoldOp fold, FloatType narrow) {
  SmallVector<Value> outside(fold.getInvariants());
  SmallVector<Value> inside(fold.getInvariantArguments());
  for (auto [outer, inner] : llvm::zip_equal(outside, inside)) {
    for (CastOp cast : getRoundings(inner, narrow)) {
      OpBuilder builder(fold);
      Value small =
          CastOp::create(builder, cast.getLoc(), cast.getType(), outer);
      copyPhase(cast, small.getDefiningOp());
      fold.getInvariantsMutable().append(small);
      cast.replaceAllUsesWith(
          Value(fold.getBlock()->addArgument(small.getType(), cast.getLoc())));
      cast.erase();
    }
  }
}

void tdsl::hoistSharedCasts(ArrayRef<FoldOp> folds, FloatType narrow) {
  // Of each tensor the loops that round its slices, with the slice's number.
  llvm::MapVector<Value, SmallVector<std::pair<FoldOp, unsigned>>> readers;
  for (FoldOp fold : folds)
    for (auto [i, outer, inner] :
         llvm::enumerate(fold.getSlices(), fold.getSliceArguments()))
      if (!getRoundings(inner, narrow).empty())
        readers[outer].push_back({fold, i});
  for (auto &[outer, loops] : readers) {
    Block *block = loops.front().first->getBlock();
    // What a loop collects for others, narrowStores takes care of.
    if (loops.size() < 2 || outer.getDefiningOp<FoldOp>() ||
        llvm::any_of(
            loops, [&](auto &loop) { return loop.first->getBlock() != block; }))
      continue;
    Operation *first = loops.front().first;
    for (auto &[fold, number] : loops)
      if (fold->isBeforeInBlock(first))
        first = fold;
    OpBuilder builder(first);
    CastOp small;
    for (auto &[fold, number] : loops) {
      Value inner = fold.getSliceArguments()[number];
      SmallVector<CastOp> casts = getRoundings(inner, narrow);
      if (!small) {
        small = CastOp::create(builder, casts.front().getLoc(),
                               withElementType(outer.getType(), narrow), outer);
        copyPhase(casts.front(), small);
      }
      unsigned at = 1 + fold.getNumCarried() + fold.getSlices().size();
      Type type = casts.front().getType();
      fold.getSlicesMutable().append(small.getResult());
      replaceAll(casts,
                 fold.getBlock()->insertArgument(at, type, inner.getLoc()));
    }
  }
}

FoldOp tdsl::carryNarrow(FoldOp fold, FloatType narrow) {
  Operation *yield = fold.getBlock()->getTerminator();
  SmallVector<unsigned> numbers;
  for (auto [i, carried, next] :
       llvm::enumerate(fold.getCarried(), fold.getYieldedCarried())) {
    // A kernel of the loop that makes the next value rounds it, too.
    Operation *op = next.getDefiningOp();
    if (op && !isa<FoldOp, ConstantOp>(op) &&
        !getRoundings(carried, narrow).empty())
      numbers.push_back(i);
  }
  if (numbers.empty())
    return fold;
  OpBuilder builder(fold), inside(yield);
  SmallVector<Value> inits(fold.getInits()), nexts;
  unsigned numCarried = fold.getNumCarried();
  Block *body = fold.getBlock();
  for (unsigned number : numbers) {
    SmallVector<CastOp> casts = getRoundings(fold.getCarried()[number], narrow);
    Type type = casts.front().getType();
    Location loc = casts.front().getLoc();
    auto init = CastOp::create(builder, loc, type, inits[number]);
    copyPhase(fold, init);
    auto next = CastOp::create(inside, loc, type, yield->getOperand(number));
    copyPhase(casts.front(), next);
    replaceAll(casts, body->insertArgument(1 + inits.size(), type, loc));
    inits.push_back(init);
    nexts.push_back(next);
  }
  SmallVector<Value> yielded(fold.getYieldedCarried());
  llvm::append_range(yielded, nexts);
  llvm::append_range(yielded, fold.getYieldedCollected());
  yield->setOperands(yielded);
  SmallVector<Type> collected(fold.getCollected().getTypes());
  auto made =
      FoldOp::create(builder, fold.getLoc(), fold.getTrips(), fold.getReverse(),
                     inits, fold.getSlices(), fold.getInvariants(), collected);
  made->setDiscardableAttrs(fold->getDiscardableAttrDictionary());
  made.getBody().takeBody(fold.getBody());
  fold.getFinal().replaceAllUsesWith(made.getFinal().take_front(numCarried));
  fold.getCollected().replaceAllUsesWith(made.getCollected());
  fold.erase();
  return made;
}

FoldOp tdsl::carryNarrowOnly(FoldOp fold, ArrayRef<unsigned> numbers,
                             FloatType narrow) {
  if (numbers.empty())
    return fold;
  Operation *yield = fold.getBlock()->getTerminator();
  OpBuilder before(fold), begin(fold.getBlock(), fold.getBlock()->begin()),
      end(yield), after(fold->getContext());
  after.setInsertionPointAfter(fold);
  SmallVector<Value> inits(fold.getInits());
  auto cast = [&](OpBuilder &builder, Value value, Type element) -> Value {
    Value made =
        CastOp::create(builder, value.getLoc(),
                       withElementType(value.getType(), element), value);
    copyPhase(fold, made.getDefiningOp());
    return made;
  };
  for (unsigned number : numbers) {
    inits[number] = cast(before, inits[number], narrow);
    BlockArgument argument = fold.getCarried()[number];
    argument.setType(inits[number].getType());
    Value wide = cast(begin, argument, before.getF32Type());
    argument.replaceAllUsesExcept(wide, wide.getDefiningOp());
    yield->setOperand(number, cast(end, yield->getOperand(number), narrow));
  }
  auto made =
      FoldOp::create(before, fold.getLoc(), fold.getTrips(), fold.getReverse(),
                     inits, fold.getSlices(), fold.getInvariants(),
                     SmallVector<Type>(fold.getCollected().getTypes()));
  made->setDiscardableAttrs(fold->getDiscardableAttrDictionary());
  made.getBody().takeBody(fold.getBody());
  for (auto [number, old, result] :
       llvm::enumerate(fold.getResults(), made.getResults()))
    old.replaceAllUsesWith(llvm::is_contained(numbers, number)
                               ? cast(after, result, before.getF32Type())
                               : Value(result));
  fold.erase();
  return made;
}

/// A carried value in 16 bits as a loop collects it: what is carried beside it,
/// or rounded at the end of the body.
static Value roundCarried(FoldOp fold, BlockArgument carried,
                          FloatType narrow) {
  Operation *yield = fold.getBlock()->getTerminator();
  Value next = yield->getOperand(carried.getArgNumber() - 1);
  for (auto [other, value] :
       llvm::zip_equal(fold.getCarried(), fold.getYieldedCarried()))
    if (auto cast = value.getDefiningOp<CastOp>();
        cast && cast.getOperand() == next &&
        getElementType(other.getType()) == narrow)
      return other;
  OpBuilder builder(yield);
  return CastOp::create(builder, carried.getLoc(),
                        withElementType(carried.getType(), narrow), carried);
}

void tdsl::narrowStores(FoldOp fold, FloatType narrow) {
  Operation *yield = fold.getBlock()->getTerminator();
  for (unsigned i = fold.getNumCarried(); i < fold.getNumResults(); ++i) {
    Value value = yield->getOperand(i), result = fold.getResult(i), small;
    if (!getElementType(value.getType()).isF32() || !isStore(result))
      continue;
    if (llvm::is_contained(fold.getCarried(), value) &&
        !isWide(
            fold.getYielded()[cast<BlockArgument>(value).getArgNumber() - 1]))
      small = roundCarried(fold, cast<BlockArgument>(value), narrow);
    else if (auto wide = value.getDefiningOp<CastOp>();
             wide && getElementType(wide.getOperand().getType()) == narrow)
      small = wide.getOperand();
    else
      continue;
    yield->setOperand(i, small);
    Type type = withElementType(result.getType(), narrow);
    llvm::SetVector<Operation *> readers;
    for (OpOperand &use : result.getUses())
      readers.insert(use.getOwner());
    result.setType(cast<RankedTensorType>(type));
    for (Operation *op : readers) {
      auto reader = cast<FoldOp>(op);
      for (auto [operand, argument] :
           llvm::zip_equal(reader.getSlices(), reader.getSliceArguments())) {
        if (operand != result)
          continue;
        Type before = argument.getType();
        argument.setType(
            cast<RankedTensorType>(withElementType(before, narrow)));
        OpBuilder builder(reader.getBlock(), reader.getBlock()->begin());
        Value again =
            CastOp::create(builder, argument.getLoc(), before, argument);
        argument.replaceAllUsesExcept(again, again.getDefiningOp());
        // What was rounded is not rounded again.
        for (Operation *user : llvm::make_early_inc_range(again.getUsers()))
          if (auto back = dyn_cast<CastOp>(user);
              back && back.getType() == argument.getType()) {
            back.replaceAllUsesWith(Value(argument));
            back.erase();
          }
      }
    }
  }
}
