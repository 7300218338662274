//===- GuardGathers.cpp - report gathers that read out of range -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See the description of tds-guard-gathers in Passes.td. A flag costs one small
// reduction over the indices alone: the loop indices that they do not depend
// on, such as the columns of a table, are left out, so that the gather of the
// forward sweep and those that its derivative repeats have equal flags.
//
//===----------------------------------------------------------------------===//

#include "EntryFlags.h"

#include "tdsl/Dialect/TDS/CheckAttribute.h"
#include "tdsl/Dialect/TDS/Stages.h"
#include "tdsl/Dialect/TDS/TDSOps.h"
#include "tdsl/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"

namespace tdsl {
#define GEN_PASS_DEF_GUARDGATHERSPASS
#include "tdsl/Transforms/Passes.h.inc"
} // namespace tdsl

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

namespace {

/// An axis of a read whose index comes from data and may be out of range.
struct CheckedAxis {
  unsigned axis;
  int64_t extent;
  Value index;
};

/// A check, and where its value is: in an entry or in the body of a fold.
struct BlockFlag : EntryFlag {
  Block *block;
};

class GuardGathersPass
    : public tdsl::impl::GuardGathersPassBase<GuardGathersPass> {
public:
  using GuardGathersPassBase::GuardGathersPassBase;
  void runOnOperation() override;

private:
  void guardEntry(func::FuncOp entry);
  void checkRead(ReadOp read, ArrayRef<CheckedAxis> axes,
                 SmallVectorImpl<BlockFlag> &flags);
};

} // namespace

//===----------------------------------------------------------------------===//
// Which reads
//===----------------------------------------------------------------------===//

/// The axes of `read` to check: none where it is no gather, is provably inside,
/// or lies in a nest without points.
static SmallVector<CheckedAxis> getCheckedAxes(ReadOp read) {
  SmallVector<CheckedAxis> axes;
  if (!read.getGuard())
    return axes;
  Operation *nest = read->getParentOp();
  auto generic = dyn_cast<GenericOp>(nest);
  ArrayRef<int64_t> extents =
      generic ? generic.getExtents() : cast<ScatterOp>(nest).getExtents();
  if (llvm::is_contained(extents, 0) ||
      (generic && llvm::is_contained(generic.getReduceExtents(), 0)))
    return axes;
  ArrayRef<int64_t> shape = read.getTensorType().getShape();
  ValueRange dims = read->getBlock()->getArguments();
  for (auto [axis, index] : llvm::enumerate(read.getIndices())) {
    if (getAffineIndex(index, dims))
      continue;
    std::optional<std::pair<int64_t, int64_t>> range = getIndexRange(index);
    if (range && range->first >= 0 && range->second < shape[axis])
      continue;
    axes.push_back({static_cast<unsigned>(axis), shape[axis], index});
  }
  return axes;
}

/// The operations of the body that `values` need, in order.
static SmallVector<Operation *> getSlice(Block &block, ArrayRef<Value> values) {
  llvm::SmallPtrSet<Operation *, 16> needed;
  auto need = [&](Value value) {
    if (Operation *op = value.getDefiningOp(); op && op->getBlock() == &block)
      needed.insert(op);
  };
  llvm::for_each(values, need);
  for (Operation &op : llvm::reverse(block))
    if (needed.contains(&op))
      llvm::for_each(op.getOperands(), need);
  SmallVector<Operation *> slice;
  for (Operation &op : block)
    if (needed.contains(&op))
      slice.push_back(&op);
  return slice;
}

//===----------------------------------------------------------------------===//
// Flags
//===----------------------------------------------------------------------===//

static EntryFlag describe(ReadOp read, ArrayRef<CheckedAxis> axes) {
  EntryFlag result;
  llvm::raw_string_ostream text(result.text);
  text << "a gather reads out of range: an index of axis ";
  llvm::interleave(
      axes, text,
      [&](const CheckedAxis &axis) {
        text << axis.axis << " is not in 0.." << axis.extent;
      },
      " or one of axis ");
  // An operation in a body may know its own place only, not the call.
  FileLineColLoc place = getFilePlace(read.getLoc());
  if (!place || isStandard(place))
    if (FileLineColLoc outer = getFilePlace(read->getParentOp()->getLoc()))
      place = outer;
  result.source = getPlaceText(place);
  return result;
}

/// Whether the two nests compute the same, locations apart.
static bool isSameFlag(GenericOp a, GenericOp b) {
  return OperationEquivalence::isEquivalentTo(
      a, b, OperationEquivalence::IgnoreLocations);
}

void GuardGathersPass::checkRead(ReadOp read, ArrayRef<CheckedAxis> axes,
                                 SmallVectorImpl<BlockFlag> &flags) {
  Operation *nest = read->getParentOp();
  auto generic = dyn_cast<GenericOp>(nest);
  SmallVector<int64_t> extents(generic ? generic.getExtents()
                                       : cast<ScatterOp>(nest).getExtents());
  if (generic)
    llvm::append_range(extents, generic.getReduceExtents());

  // The loop indices that the checked ones depend on.
  Block &body = *read->getBlock();
  SmallVector<Value> indices;
  for (const CheckedAxis &axis : axes)
    indices.push_back(axis.index);
  SmallVector<Operation *> slice = getSlice(body, indices);
  SmallVector<bool> used(extents.size(), false);
  for (Operation *op : slice)
    for (Value operand : op->getOperands())
      if (auto index = dyn_cast<BlockArgument>(operand);
          index && index.getOwner() == &body)
        used[index.getArgNumber()] = true;
  SmallVector<int64_t> kept;
  SmallVector<Value> keptIndices;
  for (auto [argument, isUsed] : llvm::zip(body.getArguments(), used)) {
    if (!isUsed)
      continue;
    kept.push_back(extents[argument.getArgNumber()]);
    keptIndices.push_back(argument);
  }

  OpBuilder builder(nest->getContext());
  builder.setInsertionPointAfter(nest);
  Location loc = read.getLoc();
  auto type = RankedTensorType::get({}, builder.getI32Type());
  // Without loop indices there is one check, and no reduction.
  std::optional<ReductionKind> kind;
  if (!kept.empty())
    kind = ReductionKind::Max;
  auto flag = GenericOp::create(
      builder, loc, type, kept, kind,
      [&](OpBuilder &inner, Location loc, ValueRange arguments) -> Value {
        IRMapping map;
        map.map(keptIndices, arguments);
        for (Operation *op : slice)
          inner.clone(*op, map);
        Value outside;
        auto either = [&](Value condition) {
          outside = outside ? OrOp::create(inner, loc, condition.getType(),
                                           outside, condition)
                                  .getResult()
                            : condition;
        };
        for (const CheckedAxis &axis : axes) {
          Value index = map.lookup(axis.index);
          Value zero = ConstantOp::create(inner, loc, inner.getIndexAttr(0));
          Value extent =
              ConstantOp::create(inner, loc, inner.getIndexAttr(axis.extent));
          either(
              CompareOp::create(inner, loc, ComparePredicate::LT, index, zero));
          either(CompareOp::create(inner, loc, ComparePredicate::GE, index,
                                   extent));
        }
        return CastOp::create(inner, loc, inner.getI32Type(), outside);
      });
  for (const BlockFlag &other : flags)
    if (other.block == nest->getBlock() &&
        isSameFlag(flag, other.flag.getDefiningOp<GenericOp>())) {
      flag.erase();
      ++numShared;
      return;
    }
  flags.push_back({describe(read, axes), nest->getBlock()});
  flags.back().flag = flag.getResult();
  ++numFlags;
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

/// Turns the results that must be true into flags, and takes them away.
static void takeChecks(func::FuncOp entry, SmallVectorImpl<EntryFlag> &flags) {
  Operation *terminator = entry.getBody().front().getTerminator();
  OpBuilder builder(terminator);
  auto type = RankedTensorType::get({}, builder.getI32Type());
  llvm::BitVector checks(entry.getNumResults());
  for (unsigned i = 0; i < entry.getNumResults(); ++i) {
    auto check = entry.getResultAttrOfType<DictionaryAttr>(i, attr::kCheck);
    if (!check)
      continue;
    checks.set(i);
    Value holds = terminator->getOperand(i);
    auto flag = GenericOp::create(
        builder, entry.getLoc(), type, {}, std::nullopt,
        [&](OpBuilder &inner, Location loc, ValueRange) -> Value {
          Value value = ReadOp::create(inner, loc, holds, ValueRange());
          Value failed = NotOp::create(inner, loc, value.getType(), value);
          return CastOp::create(inner, loc, inner.getI32Type(), failed);
        });
    flags.push_back({flag.getResult(), check.getAs<StringAttr>("text").str(),
                     check.getAs<StringAttr>("source").str()});
  }
  if (checks.none())
    return;
  terminator->eraseOperands(checks);
  (void)entry.eraseResults(checks);
}

/// Takes the result away that says which calls are skipped, and gives its
/// value; null where there is none.
static Value takeSkipped(func::FuncOp entry) {
  Operation *terminator = entry.getBody().front().getTerminator();
  for (unsigned i = 0; i < entry.getNumResults(); ++i) {
    if (!entry.getResultAttr(i, attr::kSkipped))
      continue;
    Value skipped = terminator->getOperand(i);
    terminator->eraseOperand(i);
    (void)entry.eraseResult(i);
    return skipped;
  }
  return {};
}

/// Brings `flags`, values of the body of `fold`, out of it: the fold carries
/// the largest of each over the iterations. They become results of the fold.
static void liftFlags(FoldOp fold, MutableArrayRef<Value> flags) {
  OpBuilder builder(fold);
  Location loc = fold.getLoc();
  unsigned numCarried = fold.getNumCarried();
  SmallVector<Value> inits(fold.getInits());
  inits.append(flags.size(), ConstantOp::createSplat(
                                 builder, loc, flags.front().getType(), 0));
  auto wider = FoldOp::create(builder, loc, fold.getTrips(), fold.getReverse(),
                              inits, fold.getSlices(), fold.getInvariants(),
                              TypeRange(fold.getCollected().getTypes()));
  wider->setDiscardableAttrs(fold->getDiscardableAttrDictionary());
  wider.getBody().takeBody(fold.getBody());
  Block *block = wider.getBlock();
  Operation *yield = block->getTerminator();
  builder.setInsertionPoint(yield);
  SmallVector<Value> worst;
  for (auto [i, flag] : llvm::enumerate(flags)) {
    Value before =
        block->insertArgument(1 + numCarried + i, flag.getType(), loc);
    worst.push_back(MaxOp::create(builder, loc, flag.getType(), before, flag));
  }
  yield->insertOperands(numCarried, worst);
  for (auto [i, result] : llvm::enumerate(fold->getResults()))
    result.replaceAllUsesWith(
        wider.getResult(i < numCarried ? i : i + flags.size()));
  fold.erase();
  for (auto [i, flag] : llvm::enumerate(flags))
    flag = wider.getResult(numCarried + i);
}

void GuardGathersPass::guardEntry(func::FuncOp entry) {
  SmallVector<BlockFlag> found;
  SmallVector<ReadOp> reads;
  entry.walk([&](ReadOp read) {
    if (gathers && isa<GenericOp, ScatterOp>(read->getParentOp()))
      reads.push_back(read);
  });
  for (ReadOp read : reads) {
    SmallVector<CheckedAxis> axes = getCheckedAxes(read);
    if (axes.empty())
      continue;
    checkRead(read, axes, found);
  }
  SmallVector<FoldOp> folds; // the innermost first
  entry.walk([&](FoldOp fold) { folds.push_back(fold); });
  for (FoldOp fold : folds) {
    Block *inside = fold.getBlock(), *outside = fold->getBlock();
    SmallVector<Value> lifted;
    for (const BlockFlag &flag : found)
      if (flag.block == inside)
        lifted.push_back(flag.flag);
    if (lifted.empty())
      continue;
    liftFlags(fold, lifted);
    size_t next = 0;
    for (BlockFlag &flag : found)
      if (flag.block == inside) {
        flag.flag = lifted[next++];
        flag.block = outside;
      }
  }
  SmallVector<EntryFlag> flags(found.begin(), found.end());
  takeChecks(entry, flags);
  Value skipped = takeSkipped(entry);
  if (numerics)
    checkNumerics(entry, skipped, flags);
  addFlagsResult(entry, flags);
}

void GuardGathersPass::runOnOperation() {
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    auto kind = function->getAttrOfType<StringAttr>(attr::kEntry);
    // Entries that have their flags stay as they are.
    if (!kind || kind == "init" || function->hasAttr(attr::kFlags))
      continue;
    if (failed(checkIsExpanded(function)))
      return signalPassFailure();
    guardEntry(function);
  }
}
