//===- FoldRule.cpp - derivative of a loop at run time -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The derivative of a fold is a fold in the other direction. It carries the
// adjoints of the carried values and sums those of the invariants; it takes the
// adjoints of the collected values as slices and collects those of the slices.
// Of a single iteration (a checkpoint) the adjoints of invariants are no sums,
// and are collected, too. So it is an operation like the one it comes from, and
// has a derivative again.
//
// An iteration of it needs values of the forward iteration. What is cheap is
// computed again from the carried values; the results of contractions and
// reductions (or what alone is made of them), and the carried values
// themselves, are collected by the forward fold, which is replaced by one that
// does. Folds inside are run again, so that nested loops of T1 and T2
// iterations keep T1 + T2 values, not T1 * T2.
//
// The adjoint of an invariant that is a contraction in each iteration, as that
// of a weight is, is one contraction over all of them behind the loop.
//
//===----------------------------------------------------------------------===//

#include "Reverse.h"
#include "Rules.h"
#include "tdsl/Dialect/TDS/FoldAttributes.h"
#include "tdsl/Dialect/TDS/LayerAttributes.h"

#include "mlir/IR/IRMapping.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;
using namespace tdsl::autodiff;

// A fold that gave its body to another stays until the sweep over its block is
// done, because adjoints may be results of it. The other stands in front of it.
void autodiff::eraseEmptyFolds(Block *block) {
  for (auto fold : llvm::make_early_inc_range(block->getOps<FoldOp>())) {
    if (!fold.getBody().empty())
      continue;
    Operation *other = fold->getPrevNode();
    for (auto [from, to] : llvm::zip(fold->getResults(), other->getResults()))
      from.replaceAllUsesWith(to);
    fold.erase();
  }
}

namespace {
class FoldDerivative {
public:
  FoldDerivative(FoldOp fold, OpBuilder &builder, ArrayRef<Value> adjoints,
                 ArrayRef<bool> needed)
      : fold(fold), builder(builder), adjoints(adjoints), needed(needed),
        numCarried(fold.getNumCarried()), numSlices(fold.getSlices().size()),
        recomputes(fold->hasAttr(attr::kCheckpoint) ||
                   fold->hasAttr(attr::kRecompute)),
        emit(builder, fold.getLoc()) {}

  LogicalResult run(SmallVectorImpl<Value> &inputAdjoints);

private:
  bool needsSlice(unsigned i) const { return needed[numCarried + i]; }
  bool needsInvariant(unsigned i) const {
    return needed[numCarried + numSlices + i];
  }
  void findVaryingCarried();
  void openBody();
  LogicalResult sweep();
  void yieldAdjoints();
  bool contractBehind(unsigned invariant, Value adjoint,
                      SmallVectorImpl<Value> &factors);
  Value findKept(Value value);
  void storeValues();
  FoldOp collectMore(ArrayRef<std::pair<Value, Value>> copiesAndValues);
  FoldOp finish();

  FoldOp fold;
  OpBuilder &builder;
  ArrayRef<Value> adjoints;
  ArrayRef<bool> needed;
  unsigned numCarried, numSlices;
  /// Nothing but what the fold is given is kept.
  bool recomputes;
  AdjointBuilder emit;

  /// The carried values that the derivative runs through.
  SmallVector<bool> varies;

  // The derivative that is built: its operands, and a fold with its body but
  // without results.
  FoldOp body;
  SmallVector<Value> inits, slices;
  SmallVector<Type> collected;
  OpBuilder inside{static_cast<MLIRContext *>(nullptr)};
  /// From values of the forward body to their copies.
  IRMapping map;
  /// Stand for the carried values in the copy, at the end of the arguments.
  SmallVector<BlockArgument> carriedIn;
  /// Copies of forward operations, with these.
  llvm::MapVector<Operation *, Operation *> copies;
  AdjointMap inner;
  /// For each invariant with an adjoint, its number.
  SmallVector<unsigned> summed;
  /// Of a single iteration, the invariants whose adjoints it gives: no sums.
  SmallVector<unsigned> alone;
  SmallVector<unsigned> collectedSlices;
  /// The adjoint of invariant `number` as a contraction of values that are
  /// collected behind the slices' adjoints.
  struct Contraction {
    unsigned number;
    SmallVector<int64_t> lhsAxes, rhsAxes, resultAxes;
    RankedTensorType type;
  };
  SmallVector<Contraction> contractions;
};
} // namespace

/// Results that are kept rather than computed again.
static bool isExpensive(Operation *op) {
  if (auto generic = dyn_cast<GenericOp>(op))
    return generic.hasReduction();
  return isa<ContractOp, ReduceOp, ScatterOp, AttentionOp, AttentionGradOp,
             func::CallOp>(op);
}

void FoldDerivative::findVaryingCarried() {
  varies.assign(numCarried, false);
  for (unsigned i = 0; i < numCarried; ++i)
    varies[i] = needed[i];
  SmallVector<Operation *> ops;
  for (Operation &op : fold.getBlock()->without_terminator())
    ops.push_back(&op);
  for (bool changed = true; changed;) {
    changed = false;
    SmallVector<Value> sources;
    for (unsigned i = 0; i < numCarried; ++i)
      if (varies[i])
        sources.push_back(fold.getCarried()[i]);
    for (unsigned i = 0; i < numSlices; ++i)
      if (needsSlice(i))
        sources.push_back(fold.getSliceArguments()[i]);
    for (unsigned i = 0; i < fold.getInvariants().size(); ++i)
      if (needsInvariant(i))
        sources.push_back(fold.getInvariantArguments()[i]);
    llvm::DenseSet<Value> varying = findVarying(ops, sources);
    for (unsigned i = 0; i < numCarried; ++i)
      if (!varies[i] && varying.contains(fold.getYielded()[i])) {
        varies[i] = true;
        changed = true;
      }
  }
}

/// Makes the fold backwards with a copy of the forward body.
void FoldDerivative::openBody() {
  for (unsigned i = 0; i < numCarried; ++i)
    if (varies[i])
      inits.push_back(adjoints[i]
                          ? adjoints[i]
                          : emit.constant(fold.getInits()[i].getType(), 0));
  SmallVector<unsigned> given;
  for (unsigned i = 0; i < fold.getNumCollected(); ++i)
    if (adjoints[numCarried + i]) {
      slices.push_back(adjoints[numCarried + i]);
      given.push_back(i);
    }
  unsigned numGiven = slices.size();
  llvm::append_range(slices, fold.getSlices());
  body = FoldOp::create(builder, fold.getLoc(), fold.getTrips(),
                        !fold.getReverse(), inits, slices, fold.getInvariants(),
                        TypeRange());
  Block *block = body.getBlock();
  map.map(fold.getCounter(), body.getCounter());
  for (BlockArgument argument : fold.getCarried()) {
    carriedIn.push_back(
        block->addArgument(argument.getType(), argument.getLoc()));
    map.map(argument, carriedIn.back());
  }
  map.map(fold.getSliceArguments(),
          body.getSliceArguments().drop_front(numGiven));
  for (auto [from, to] :
       llvm::zip(fold.getInvariantArguments(), body.getInvariantArguments()))
    map.map(from, to);
  inside = OpBuilder::atBlockEnd(block);
  for (Operation &op : fold.getBlock()->without_terminator())
    copies[inside.clone(op, map)] = &op;
  for (unsigned i = 0, next = 0; i < numCarried; ++i)
    if (varies[i])
      inner.add(map.lookup(fold.getYielded()[i]), body.getCarried()[next++]);
  for (auto [k, i] : llvm::enumerate(given))
    inner.add(map.lookup(fold.getYieldedCollected()[i]),
              body.getSliceArguments()[k]);
}

LogicalResult FoldDerivative::sweep() {
  SmallVector<Value> sources;
  for (unsigned i = 0; i < numCarried; ++i)
    if (varies[i])
      sources.push_back(carriedIn[i]);
  for (unsigned i = 0; i < numSlices; ++i)
    if (needsSlice(i))
      sources.push_back(map.lookup(fold.getSliceArguments()[i]));
  for (unsigned i = 0; i < fold.getInvariants().size(); ++i)
    if (needsInvariant(i))
      sources.push_back(map.lookup(fold.getInvariantArguments()[i]));
  SmallVector<Operation *> ops;
  llvm::DenseSet<Value> varying;
  do {
    ops.clear();
    for (Operation &op : *body.getBlock())
      ops.push_back(&op);
    varying = findVarying(ops, sources);
  } while (sliceReadsOfIterations(ops, varying));
  return reverseSweep(inside, ops, varying, inner);
}

void FoldDerivative::yieldAdjoints() {
  Location loc = fold.getLoc();
  AdjointBuilder in(inside, loc);
  SmallVector<Value> yielded, yieldedCollected, once, factors;
  for (unsigned i = 0; i < numCarried; ++i) {
    if (!varies[i])
      continue;
    Value adjoint = inner.get(inside, loc, carriedIn[i]);
    yielded.push_back(adjoint ? adjoint
                              : in.constant(carriedIn[i].getType(), 0));
  }
  for (unsigned i = 0; i < fold.getInvariants().size(); ++i) {
    if (!needsInvariant(i))
      continue;
    Value adjoint =
        inner.get(inside, loc, map.lookup(fold.getInvariantArguments()[i]));
    if (!adjoint || contractBehind(i, adjoint, factors))
      continue;
    if (fold.getTrips() == 1) {
      once.push_back(adjoint);
      alone.push_back(i);
      continue;
    }
    // The sum over the iterations, in f32 for narrow floats.
    auto type = cast<RankedTensorType>(adjoint.getType());
    Type wide = getAccumulatorType(type.getElementType());
    Value zero = emit.constant(type.clone(wide), 0);
    BlockArgument sum =
        body.getBlock()->insertArgument(1 + inits.size(), zero.getType(), loc);
    inits.push_back(zero);
    yielded.push_back(in.add(sum, in.cast(adjoint, wide)));
    summed.push_back(i);
  }
  for (unsigned i = 0; i < numSlices; ++i) {
    if (!needsSlice(i))
      continue;
    Value adjoint =
        inner.get(inside, loc, map.lookup(fold.getSliceArguments()[i]));
    if (!adjoint)
      continue;
    yieldedCollected.push_back(adjoint);
    collected.push_back(fold.getSlices()[i].getType());
    collectedSlices.push_back(i);
  }
  llvm::append_range(yieldedCollected, once);
  for (auto *values : {&once, &factors})
    for (Value value : *values)
      collected.push_back(body.getStackedType(value.getType()));
  llvm::append_range(yielded, yieldedCollected);
  llvm::append_range(yielded, factors);
  YieldOp::create(inside, loc, yielded);
  // Folds inside are copies whose bodies others have now.
  for (auto inner : body.getBlock()->getOps<FoldOp>())
    if (inner.getBody().empty())
      copies.erase(inner);
  eraseEmptyFolds(body.getBlock());
}

/// Whether the sum of `adjoint` over the iterations is one contraction behind
/// the loop; its factors are then collected.
bool FoldDerivative::contractBehind(unsigned invariant, Value adjoint,
                                    SmallVectorImpl<Value> &factors) {
  auto contract = adjoint.getDefiningOp<ContractOp>();
  if (!contract || recomputes || fold.getTrips() == 0 ||
      contract->getBlock() != body.getBlock() ||
      getElementType(contract.getLhs().getType()) !=
          getElementType(contract.getType()))
    return false;
  int64_t iteration = 0;
  for (ArrayRef<int64_t> axes : {contract.getLhsAxes(), contract.getRhsAxes()})
    for (int64_t axis : axes)
      iteration = std::max(iteration, axis + 1);
  Contraction behind{invariant,
                     {iteration},
                     {iteration},
                     SmallVector<int64_t>(contract.getResultAxes()),
                     cast<RankedTensorType>(contract.getType())};
  llvm::append_range(behind.lhsAxes, contract.getLhsAxes());
  llvm::append_range(behind.rhsAxes, contract.getRhsAxes());
  contractions.push_back(std::move(behind));
  factors.push_back(contract.getLhs());
  factors.push_back(contract.getRhs());
  return true;
}

static int64_t getNumBytes(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() * getElementBytes(type.getElementType());
}

/// What is kept instead of `value`, a result that is not computed again: where
/// it has one use, in something cheap that is no larger, that.
Value FoldDerivative::findKept(Value value) {
  while (value.hasOneUse()) {
    Operation *user = *value.getUsers().begin();
    if (!copies.count(user) || user->getNumResults() != 1 ||
        !(user->hasTrait<ElementwiseOp>() || isa<ReshapeOp>(user)) ||
        getNumBytes(user->getResult(0)) > getNumBytes(value))
      break;
    value = user->getResult(0);
  }
  return value;
}

/// Finds the values of the forward body that the adjoints need and that are
/// not computed again; the forward fold collects them.
void FoldDerivative::storeValues() {
  Block *block = body.getBlock();
  llvm::DenseSet<Value> seen, kept;
  if (!recomputes)
    for (auto &[copy, original] : copies)
      if (isExpensive(copy))
        for (Value result : copy->getResults())
          kept.insert(findKept(result));
  llvm::MapVector<Value, Value> stored; // from the copy to the forward body
  SmallVector<Value> work(block->getTerminator()->getOperands());
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != block)
      continue;
    auto copy = copies.find(op);
    if (copy != copies.end() && kept.contains(value)) {
      stored[value] =
          copy->second->getResult(cast<OpResult>(value).getResultNumber());
      continue;
    }
    llvm::append_range(work, getDifferentiationInputs(op));
  }
  // In the order of the forward body, whatever the order of the search.
  SmallVector<std::pair<Value, Value>> sorted;
  for (auto [argument, from] : llvm::zip(carriedIn, fold.getCarried()))
    if (seen.contains(argument))
      sorted.push_back({argument, from});
  auto results = stored.takeVector();
  llvm::sort(results, [](const auto &a, const auto &b) {
    auto lhs = cast<OpResult>(a.second), rhs = cast<OpResult>(b.second);
    return lhs.getOwner() == rhs.getOwner()
               ? lhs.getResultNumber() < rhs.getResultNumber()
               : lhs.getOwner()->isBeforeInBlock(rhs.getOwner());
  });
  llvm::append_range(sorted, results);
  if (sorted.empty())
    return;
  FoldOp forward = collectMore(sorted);
  for (auto [copy, original] : sorted) {
    auto yields = forward.getYieldedCollected();
    slices.push_back(
        forward.getCollected()[llvm::find(yields, original) - yields.begin()]);
    BlockArgument argument = block->insertArgument(
        inits.size() + slices.size(), copy.getType(), copy.getLoc());
    copy.replaceAllUsesWith(argument);
  }
}

/// A fold in front of the forward one that takes over its body and collects
/// more values of it.
FoldOp
FoldDerivative::collectMore(ArrayRef<std::pair<Value, Value>> copiesAndValues) {
  SmallVector<Value> more;
  for (auto [copy, value] : copiesAndValues)
    if (!llvm::is_contained(fold.getYieldedCollected(), value))
      more.push_back(value);
  SmallVector<Type> types(fold.getCollected().getTypes());
  for (Value value : more)
    types.push_back(fold.getStackedType(value.getType()));
  OpBuilder before(fold);
  auto forward = FoldOp::create(before, fold.getLoc(), fold.getTrips(),
                                fold.getReverse(), fold.getInits(),
                                fold.getSlices(), fold.getInvariants(), types);
  Operation *yield = fold.getBlock()->getTerminator();
  yield->insertOperands(yield->getNumOperands(), more);
  forward.getBody().takeBody(fold.getBody());
  if (fold->hasAttr(attr::kLayers))
    forward->setDiscardableAttr(attr::kLayers, before.getUnitAttr());
  return forward;
}

FoldOp FoldDerivative::finish() {
  Block *block = body.getBlock();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
    if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>())
      op.erase();
  block->eraseArguments(block->getNumArguments() - numCarried, numCarried);
  auto result =
      FoldOp::create(builder, fold.getLoc(), body.getTrips(), body.getReverse(),
                     inits, slices, body.getInvariants(), collected);
  result.getBody().takeBody(body.getBody());
  if (fold->hasAttr(attr::kLayers))
    result->setDiscardableAttr(attr::kLayers, builder.getUnitAttr());
  if (recomputes)
    result->setAttr(attr::kRecompute, builder.getUnitAttr());
  body.erase();
  return result;
}

LogicalResult FoldDerivative::run(SmallVectorImpl<Value> &inputAdjoints) {
  inputAdjoints.assign(needed.size(), Value());
  findVaryingCarried();
  openBody();
  if (failed(sweep()))
    return failure();
  yieldAdjoints();
  storeValues();
  FoldOp result = finish();
  unsigned next = 0;
  for (unsigned i = 0; i < numCarried; ++i)
    if (varies[i]) {
      if (needed[i])
        inputAdjoints[i] = result.getResult(next);
      ++next;
    }
  for (unsigned i : summed) {
    Type element = getElementType(fold.getInvariants()[i].getType());
    inputAdjoints[numCarried + numSlices + i] =
        emit.cast(result.getResult(next++), element);
  }
  for (unsigned i : collectedSlices)
    inputAdjoints[numCarried + i] = result.getResult(next++);
  for (unsigned i : alone)
    inputAdjoints[numCarried + numSlices + i] = ReshapeOp::create(
        builder, fold.getLoc(),
        cast<RankedTensorType>(fold.getInvariants()[i].getType()),
        result.getResult(next++));
  for (const Contraction &behind : contractions) {
    Value lhs = result.getResult(next++), rhs = result.getResult(next++);
    inputAdjoints[numCarried + numSlices + behind.number] =
        ContractOp::create(builder, fold.getLoc(), behind.type, lhs, rhs,
                           behind.lhsAxes, behind.rhsAxes, behind.resultAxes);
  }
  return success();
}

namespace {
struct FoldModel : DifferentiableOpInterface::ExternalModel<FoldModel, FoldOp> {
  LogicalResult buildAdjoints(Operation *op, OpBuilder &builder,
                              ArrayRef<Value> adjoints, ArrayRef<bool> needed,
                              SmallVectorImpl<Value> &inputAdjoints) const {
    return FoldDerivative(cast<FoldOp>(op), builder, adjoints, needed)
        .run(inputAdjoints);
  }
};
} // namespace

void autodiff::attachFoldRule(MLIRContext *context) {
  FoldOp::attachInterface<FoldModel>(*context);
}
