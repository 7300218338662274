//===- BatchFolds.cpp - loops without order as one more axis -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The iterations of a fold that carries nothing do not see each other, nor do
// those of one that carries sums which have no order (`tds.any_order`). Where
// its body is made of element operations, reductions and the like, all
// iterations become one set of operations on tensors with the iteration as axis
// 0: one kernel instead of one for each iteration, and new values of variables
// in the place of the old ones. Contractions stay in their loop: what they give
// is worth more memory for all iterations than for one. So do the folds of
// `checkpoint`.
//
//===----------------------------------------------------------------------===//

#include "tdsl/Transforms/Passes.h"

#include "tdsl/Dialect/TDS/FoldAttributes.h"
#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

namespace tdsl {
#define GEN_PASS_DEF_BATCHFOLDSPASS
#include "tdsl/Transforms/Passes.h.inc"
} // namespace tdsl

/// What each iteration adds to a carried value, if it does nothing else with
/// it, and in no order; the additions are appended to `chain`.
static FailureOr<SmallVector<Value>>
getTerms(FoldOp fold, unsigned carried, SmallVectorImpl<Operation *> &chain) {
  Value sum = fold.getCarried()[carried];
  SmallVector<Value> terms;
  while (sum.hasOneUse()) {
    OpOperand &use = *sum.getUses().begin();
    if (use.getOwner() == fold.getBlock()->getTerminator()) {
      if (use.getOperandNumber() != carried || terms.empty())
        return failure();
      return terms;
    }
    auto add = dyn_cast<AddOp>(use.getOwner());
    if (!add || !add->hasAttr(attr::kAnyOrder))
      return failure();
    chain.push_back(add);
    terms.push_back(add->getOperand(1 - use.getOperandNumber()));
    sum = add.getResult();
  }
  return failure();
}

/// The operation of a body that has no form for all iterations; null where all
/// have. `chain` is what adds to carried values.
static Operation *findObstacle(FoldOp fold, ArrayRef<Operation *> chain) {
  for (Operation &op : fold.getBlock()->without_terminator())
    if (!llvm::is_contained(chain, &op) &&
        !isa<BroadcastOp, ReshapeOp, TransposeOp, ReduceOp, GenericOp,
             ConstantOp>(op) &&
        !op.hasTrait<ElementwiseOp>())
      return &op;
  return nullptr;
}

namespace {
/// Builds the operations for all iterations in front of a fold.
class Batcher {
public:
  explicit Batcher(FoldOp fold)
      : fold(fold), builder(fold), trips(fold.getTrips()) {}
  /// `terms` are what is added to each carried value, by the operations of
  /// `chain`.
  void run(ArrayRef<SmallVector<Value>> terms, ArrayRef<Operation *> chain);

private:
  void batch(Operation *op);
  void batchGeneric(GenericOp op);
  bool isBatched(Value value) const { return batched.contains(value); }
  /// The type for all iterations.
  RankedTensorType getType(Value value) {
    return fold.getStackedType(value.getType());
  }
  /// The value for all iterations, also where it is the same in each.
  Value get(Value value);
  Value sumOver(ArrayRef<Value> terms, Value initial);
  void set(Value value, Value forAll) {
    map.map(value, forAll);
    batched.insert(value);
  }
  /// The attribute with each axis one further, behind axis 0 where `withFirst`.
  DenseI64ArrayAttr shift(ArrayRef<int64_t> axes, bool withFirst) {
    SmallVector<int64_t> result;
    if (withFirst)
      result.push_back(0);
    for (int64_t axis : axes)
      result.push_back(axis + 1);
    return builder.getDenseI64ArrayAttr(result);
  }

  FoldOp fold;
  OpBuilder builder;
  int64_t trips;
  /// From values of the body to those that replace them: for all iterations, or
  /// one for each.
  IRMapping map;
  llvm::DenseSet<Value> batched;
};
} // namespace

Value Batcher::get(Value value) {
  Value known = map.lookup(value);
  if (isBatched(value))
    return known;
  SmallVector<int64_t> axes;
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  for (int64_t axis = 0; axis < rank; ++axis)
    axes.push_back(axis + 1);
  return BroadcastOp::create(builder, fold.getLoc(), getType(value), known,
                             builder.getDenseI64ArrayAttr(axes));
}

void Batcher::batchGeneric(GenericOp op) {
  SmallVector<int64_t> reduced(op.getReduceExtents());
  auto result = GenericOp::create(
      builder, op.getLoc(), getType(op), reduced, op.getKind(),
      [&](OpBuilder &inner, Location, ValueRange indices) -> Value {
        IRMapping values(map);
        values.map(op.getIndices(), indices.drop_front());
        for (Operation &each : op.getBlock()->without_terminator()) {
          auto read = dyn_cast<ReadOp>(each);
          if (!read || !isBatched(read.getTensor())) {
            inner.clone(each, values);
            continue;
          }
          SmallVector<Value> places{indices.front()};
          for (Value index : read.getIndices())
            places.push_back(values.lookup(index));
          // A guard of a place without indices is never needed.
          bool isScalar = read.getIndices().empty();
          values.map(read.getResult(),
                     ReadOp::create(
                         inner, read.getLoc(), map.lookup(read.getTensor()),
                         places, isScalar ? TypedAttr() : read.getGuardAttr(),
                         !isScalar && read.getClamped())
                         .getResult());
        }
        return values.lookup(op.getYielded());
      });
  set(op, result);
}

void Batcher::batch(Operation *op) {
  bool varies = llvm::any_of(op->getOperands(),
                             [&](Value value) { return isBatched(value); });
  op->walk([&](ReadOp read) { varies |= isBatched(read.getTensor()); });
  if (!varies) {
    builder.clone(*op, map);
    return;
  }
  if (auto generic = dyn_cast<GenericOp>(op))
    return batchGeneric(generic);
  Value result = op->getResult(0);
  OperationState state(op->getLoc(), op->getName());
  for (Value operand : op->getOperands())
    state.addOperands(get(operand));
  state.addTypes(getType(result));
  state.attributes = op->getAttrDictionary();
  Operation *made = builder.create(state);
  if (auto broadcast = dyn_cast<BroadcastOp>(made))
    broadcast.setAxesAttr(shift(broadcast.getAxes(), /*withFirst=*/true));
  else if (auto transpose = dyn_cast<TransposeOp>(made))
    transpose.setPermutationAttr(
        shift(transpose.getPermutation(), /*withFirst=*/true));
  else if (auto reduce = dyn_cast<ReduceOp>(made))
    reduce.setAxesAttr(shift(reduce.getAxes(), /*withFirst=*/false));
  set(result, made->getResult(0));
}

/// `initial` and the terms of all iterations.
Value Batcher::sumOver(ArrayRef<Value> terms, Value initial) {
  Location loc = fold.getLoc();
  Value perIteration;
  for (Value term : terms)
    perIteration = perIteration ? AddOp::create(builder, loc, getType(term),
                                                perIteration, get(term))
                                      .getResult()
                                : get(term);
  Value total =
      ReduceOp::create(builder, loc, initial.getType(), ReductionKind::Sum,
                       perIteration, builder.getDenseI64ArrayAttr({0}));
  auto sum = AddOp::create(builder, loc, initial.getType(), initial, total);
  // Folds of other layers may go on with it.
  sum->setDiscardableAttr(attr::kAnyOrder, builder.getUnitAttr());
  return sum;
}

void Batcher::run(ArrayRef<SmallVector<Value>> terms,
                  ArrayRef<Operation *> chain) {
  if (!fold.getCounter().use_empty()) {
    auto type = RankedTensorType::get({trips}, builder.getI32Type());
    set(fold.getCounter(),
        GenericOp::create(
            builder, fold.getLoc(), type, {}, std::nullopt,
            [](OpBuilder &inner, Location loc, ValueRange indices) -> Value {
              return CastOp::create(inner, loc, inner.getI32Type(), indices[0]);
            }));
  }
  for (auto [argument, operand] :
       llvm::zip_equal(fold.getSliceArguments(), fold.getSlices()))
    set(argument, operand);
  for (auto [argument, operand] :
       llvm::zip_equal(fold.getInvariantArguments(), fold.getInvariants()))
    map.map(argument, operand);
  for (Operation &op : fold.getBlock()->without_terminator())
    if (!llvm::is_contained(chain, &op))
      batch(&op);
  for (auto [number, each] : llvm::enumerate(terms))
    fold.getResult(number).replaceAllUsesWith(
        sumOver(each, fold.getInits()[number]));
  for (auto [result, yielded] :
       llvm::zip_equal(fold.getCollected(), fold.getYieldedCollected()))
    result.replaceAllUsesWith(get(yielded));
  fold.erase();
}

namespace {
struct BatchFoldsPass : public tdsl::impl::BatchFoldsPassBase<BatchFoldsPass> {
  void runOnOperation() override {
    SmallVector<FoldOp> folds;
    getOperation()->walk<WalkOrder::PostOrder>([&](FoldOp fold) {
      // What is computed again in the derivative is known by its fold.
      if (!fold->hasAttr(attr::kCheckpoint) && !fold->hasAttr(attr::kRecompute))
        folds.push_back(fold);
    });
    for (FoldOp fold : folds) {
      SmallVector<SmallVector<Value>> terms;
      SmallVector<Operation *> chain;
      for (unsigned carried = 0; carried < fold.getNumCarried(); ++carried)
        if (auto found = getTerms(fold, carried, chain); succeeded(found))
          terms.push_back(*found);
      // What is carried in order makes it a loop, as the program says.
      if (terms.size() != fold.getNumCarried())
        continue;
      if (Operation *obstacle = findObstacle(fold, chain)) {
        remark::missed(fold.getLoc(),
                       remark::RemarkOpts::name("batch").category("folds"))
            << ("stays a loop: " + obstacle->getName().getStringRef() +
                " is not done for all iterations at once")
                   .str();
        continue;
      }
      Batcher(fold).run(terms, chain);
      ++numBatched;
    }
  }
};
} // namespace
