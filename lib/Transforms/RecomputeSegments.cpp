//===- RecomputeSegments.cpp - what the backward pass computes again -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See the description of tds-recompute-segments in Passes.td. Cutting a forward
// pass where little crosses and keeping what crosses alone is the scheme of
// Chen et al., "Training Deep Nets with Sublinear Memory Cost" (2016).
//
//===----------------------------------------------------------------------===//

#include "tdsl/Dialect/TDS/AttentionBand.h"
#include "tdsl/Dialect/TDS/BlockInputs.h"
#include "tdsl/Dialect/TDS/FoldAttributes.h"
#include "tdsl/Dialect/TDS/TDSOps.h"
#include "tdsl/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace tdsl {
#define GEN_PASS_DEF_RECOMPUTESEGMENTSPASS
#include "tdsl/Transforms/Passes.h.inc"
} // namespace tdsl

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

/// How many segments a step has, an attribute of it.
static constexpr llvm::StringLiteral kSegments = "segments";
/// Segments with less than this part of what a block keeps are joined with
/// their neighbours.
static constexpr int64_t kSmallestPart = 64;

namespace {

/// Neighbouring operations of a forward pass that are computed again together.
struct Segment {
  SmallVector<Operation *> ops;
  unsigned begin = 0, end = 0; ///< where they are in the forward pass
  int64_t bytes = 0;           ///< that need not be kept, in all iterations
  double work = 0;             ///< operations to compute them again
};

} // namespace

static int64_t getNumBytes(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() * getElementBytes(type.getElementType());
}

/// Whether the derivative keeps the results rather than compute them again from
/// what they are made of.
static bool isKept(Operation *op) {
  if (auto generic = dyn_cast<GenericOp>(op))
    return generic.hasReduction();
  return isa<ContractOp, AttentionOp, ReduceOp, ScatterOp, func::CallOp,
             FoldOp>(op);
}

/// Whether element operations are dear enough to be kept, most of the time.
static bool isDear(Operation *op) {
  if (auto generic = dyn_cast<GenericOp>(op))
    return llvm::any_of(*generic.getBlock(),
                        [](Operation &inner) { return isDear(&inner); });
  return isa<ExpOp, Expm1Op, LogOp, Log1pOp, TanhOp, SigmoidOp, ErfOp, SinOp,
             CosOp, PowOp, DivOp, SqrtOp, RsqrtOp>(op);
}

/// Scalar operations of an operation on tensors, roughly.
static double getWork(Operation *op) {
  if (auto contract = dyn_cast<ContractOp>(op)) {
    double points = 2;
    for (auto [axis, extent] : contract.getExtentOfAxis())
      points *= double(extent);
    return points;
  }
  if (auto attention = dyn_cast<AttentionOp>(op)) {
    double work = 2;
    for (int64_t extent : attention.getBatch())
      work *= double(extent);
    return work *
           double(getBand(attention).countPairs(attention.getNumQueries(),
                                                attention.getNumKeys())) *
           double(attention.getDepth() + attention.getWidth());
  }
  if (auto generic = dyn_cast<GenericOp>(op))
    return double(generic.getType().getNumElements()) *
           double(generic.getReductionSize()) *
           double(generic.getBlock()->getOperations().size());
  double work = 0;
  for (Value operand : op->getOperands())
    if (auto type = dyn_cast<RankedTensorType>(operand.getType()))
      work += double(type.getNumElements());
  if (auto fold = dyn_cast<FoldOp>(op)) {
    work = 0;
    for (Operation &inner : *fold.getBlock())
      work += getWork(&inner);
    work *= double(fold.getTrips());
  }
  return work;
}

//===----------------------------------------------------------------------===//
// Segments of a block
//===----------------------------------------------------------------------===//

namespace {

/// Finds the segments of the forward pass of a block.
class SegmentFinder {
public:
  /// `roots` are what the forward pass ends in: losses, or what a loop carries
  /// and collects. What depends on `data` is an activation.
  SegmentFinder(Block &block, ArrayRef<Value> roots, ValueRange data);

  void find(SmallVectorImpl<Segment> &segments, bool hasEnd, int64_t trips);
  ArrayRef<Operation *> getOps() const { return ops; }

private:
  void split(int64_t limit, SmallVectorImpl<unsigned> &cuts) const;
  int64_t getLargest(ArrayRef<unsigned> cuts) const;

  /// Operations of the forward pass on activations, in order.
  SmallVector<Operation *> ops;
  /// For each place behind one of them, the bytes that cross it.
  SmallVector<int64_t> crossing;
  /// For each, the bytes that the derivative keeps.
  SmallVector<int64_t> kept;
  int64_t total = 0;
};

} // namespace

SegmentFinder::SegmentFinder(Block &block, ArrayRef<Value> roots,
                             ValueRange data) {
  llvm::DenseSet<Operation *> needed;
  for (Value root : roots)
    if (Operation *op = root.getDefiningOp(); op && op->getBlock() == &block)
      needed.insert(op);
  llvm::DenseSet<Value> activations(data.begin(), data.end());
  SmallVector<Operation *> before;
  for (Operation &op : block) {
    // A gradient ends the forward pass.
    if (isa<GradientOp>(op) || op.hasTrait<OpTrait::IsTerminator>())
      break;
    before.push_back(&op);
  }
  for (Operation *op : llvm::reverse(before))
    if (needed.contains(op))
      for (Value input : getBlockInputs(op))
        if (Operation *made = input.getDefiningOp())
          needed.insert(made);
  llvm::DenseMap<Value, unsigned> lastUse;
  for (Operation *op : before) {
    if (!needed.contains(op) || isa<ConstantOp, IndependentOp>(op))
      continue;
    SmallVector<Value> inputs = getBlockInputs(op);
    if (llvm::none_of(inputs,
                      [&](Value input) { return activations.contains(input); }))
      continue;
    for (Value input : inputs)
      if (input.getDefiningOp() && activations.contains(input))
        lastUse[input] = ops.size();
    activations.insert_range(op->getResults());
    ops.push_back(op);
  }
  crossing.assign(ops.size(), 0);
  kept.assign(ops.size(), 0);
  for (auto [i, op] : llvm::enumerate(ops)) {
    for (Value result : op->getResults()) {
      for (unsigned at = i, end = lastUse.lookup(result); at < end; ++at)
        crossing[at] += getNumBytes(result);
      if (isKept(op) || isDear(op))
        kept[i] += getNumBytes(result);
    }
    total += kept[i];
  }
}

/// Cuts wherever at most `limit` bytes cross, and not between parts that are
/// too small.
void SegmentFinder::split(int64_t limit,
                          SmallVectorImpl<unsigned> &cuts) const {
  int64_t sum = 0;
  for (unsigned i = 0; i < ops.size(); ++i) {
    sum += kept[i];
    if (crossing[i] > limit || sum * kSmallestPart < total)
      continue;
    cuts.push_back(i + 1);
    sum = 0;
  }
}

int64_t SegmentFinder::getLargest(ArrayRef<unsigned> cuts) const {
  int64_t largest = 0, sum = 0;
  for (unsigned i = 0; i < ops.size(); ++i) {
    sum += kept[i];
    largest = std::max(largest, sum);
    if (llvm::is_contained(cuts, i + 1))
      sum = 0;
  }
  return largest;
}

void SegmentFinder::find(SmallVectorImpl<Segment> &segments, bool hasEnd,
                         int64_t trips) {
  if (total == 0)
    return;
  // Where everything is computed again, what crosses is kept, and one segment
  // at a time, with about as much for its derivative.
  SmallVector<int64_t> limits(crossing);
  llvm::sort(limits);
  limits.erase(llvm::unique(limits), limits.end());
  SmallVector<unsigned> best;
  int64_t smallest = 2 * total;
  for (int64_t limit : limits) {
    SmallVector<unsigned> cuts;
    split(limit, cuts);
    int64_t bytes = 2 * getLargest(cuts);
    for (unsigned cut : cuts)
      bytes += crossing[cut - 1];
    if (bytes >= smallest)
      continue;
    smallest = bytes;
    best = cuts;
  }
  if (best.empty() || best.back() != ops.size())
    best.push_back(ops.size());
  unsigned begin = 0;
  for (unsigned end : best) {
    // What the backward pass begins with is there anyway.
    if (hasEnd && end == ops.size())
      break;
    Segment segment;
    segment.begin = begin;
    segment.end = end;
    for (unsigned i = begin; i < end; ++i) {
      segment.ops.push_back(ops[i]);
      segment.bytes += kept[i];
      segment.work += getWork(ops[i]);
    }
    segment.bytes -= end < ops.size() ? crossing[end - 1] : 0;
    segment.bytes *= trips;
    segment.work *= double(trips);
    begin = end;
    if (segment.bytes > 0)
      segments.push_back(std::move(segment));
  }
}

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

/// Adds the operations that give `value` from what does not depend on the data,
/// such as a bias in every row: these go with the segment, lest they be kept
/// instead.
static void addCheap(Value value, const llvm::DenseSet<Operation *> &ofData,
                     llvm::SetVector<Operation *> &cheap) {
  Operation *op = value.getDefiningOp();
  if (!op || ofData.contains(op) || cheap.contains(op) || isKept(op) ||
      isa<IndependentOp>(op))
    return;
  for (Value input : getBlockInputs(op))
    addCheap(input, ofData, cheap);
  cheap.insert(op);
}

/// Makes the operations of a segment a fold of one iteration whose derivative
/// computes them again.
static void makeCheckpoint(Segment segment,
                           const llvm::DenseSet<Operation *> &ofData) {
  llvm::SetVector<Operation *> cheap;
  for (Operation *op : segment.ops)
    for (Value input : getBlockInputs(op))
      addCheap(input, ofData, cheap);
  llvm::DenseSet<Operation *> inside(segment.ops.begin(), segment.ops.end());
  Operation *last = segment.ops.back();
  Block *block = last->getBlock();
  // Operations in between that need the segment come behind it.
  llvm::DenseSet<Operation *> behind;
  SmallVector<Operation *> moved;
  for (Operation *op = segment.ops.front(); op != last;
       op = op->getNextNode()) {
    if (inside.contains(op))
      continue;
    if (llvm::any_of(getBlockInputs(op), [&](Value input) {
          Operation *made = input.getDefiningOp();
          return made && (inside.contains(made) || behind.contains(made));
        })) {
      behind.insert(op);
      moved.push_back(op);
    }
  }
  llvm::SetVector<Value> captured;
  SmallVector<Value> results;
  SmallVector<Type> collected;
  auto capture = [&](Operation *op) {
    for (Value input : getBlockInputs(op))
      if (Operation *made = input.getDefiningOp();
          !made || (!inside.contains(made) && !cheap.contains(made)))
        captured.insert(input);
  };
  llvm::for_each(cheap, capture);
  for (Operation *op : segment.ops) {
    capture(op);
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !inside.contains(block->findAncestorOpInBlock(*user));
          })) {
        results.push_back(result);
        auto type = cast<RankedTensorType>(result.getType());
        SmallVector<int64_t> shape(type.getShape());
        shape.insert(shape.begin(), 1);
        collected.push_back(type.clone(shape));
      }
  }
  OpBuilder builder(block, std::next(last->getIterator()));
  Location loc = segment.ops.front()->getLoc();
  auto fold = FoldOp::create(builder, loc, 1, /*reverse=*/false, ValueRange(),
                             ValueRange(), captured.getArrayRef(), collected);
  fold->setAttr(attr::kCheckpoint, builder.getUnitAttr());
  IRMapping mapping;
  for (auto [value, argument] :
       llvm::zip_equal(captured, fold.getInvariantArguments()))
    mapping.map(value, argument);
  OpBuilder body = OpBuilder::atBlockEnd(fold.getBlock());
  for (Operation *op : cheap)
    body.clone(*op, mapping);
  for (Operation *op : segment.ops)
    body.clone(*op, mapping);
  SmallVector<Value> yielded;
  for (Value result : results)
    yielded.push_back(mapping.lookup(result));
  YieldOp::create(body, loc, yielded);
  for (auto [result, stacked] : llvm::zip_equal(results, fold.getCollected())) {
    Value value =
        ReshapeOp::create(builder, result.getLoc(), result.getType(), stacked);
    result.replaceUsesWithIf(value, [&](OpOperand &use) {
      return !inside.contains(block->findAncestorOpInBlock(*use.getOwner()));
    });
  }
  Operation *place = &*builder.getInsertionPoint();
  for (Operation *op : moved)
    op->moveBefore(place);
  for (Operation *op : llvm::reverse(segment.ops))
    op->erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct RecomputeSegmentsPass
    : public tdsl::impl::RecomputeSegmentsPassBase<RecomputeSegmentsPass> {
  using RecomputeSegmentsPassBase::RecomputeSegmentsPassBase;

  void runOnOperation() override {
    if (count < 0 || join < 1) {
      emitError(getOperation().getLoc())
          << "count is " << int64_t(count) << " and join is " << int64_t(join)
          << "; give a count of at least 0 and a join of at least 1";
      return signalPassFailure();
    }
    ofData.clear();
    SmallVector<Segment> segments;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      auto kind = function->getAttrOfType<StringAttr>(attr::kEntry);
      if (!kind || kind != "step" || function.isExternal())
        continue;
      size_t before = segments.size();
      findIn(function, segments);
      function->setAttr(
          kSegments,
          Builder(&getContext()).getI64IntegerAttr(segments.size() - before));
    }
    // Most bytes for an operation first; the earliest of equals, whose values
    // are kept longest.
    auto order = llvm::to_vector(llvm::seq<unsigned>(segments.size()));
    llvm::sort(order, [&](unsigned a, unsigned b) {
      double first = double(segments[a].bytes) * segments[b].work,
             second = double(segments[b].bytes) * segments[a].work;
      return first != second ? first > second : a < b;
    });
    llvm::BitVector chosen(segments.size());
    for (unsigned i = 0; i < order.size() && int64_t(i) < count; ++i)
      chosen.set(order[i]);
    for (unsigned i = 0; i < segments.size(); ++i) {
      if (!chosen[i])
        continue;
      Segment segment = segments[i];
      // Neighbours may be joined: less is kept, and more computed at a time.
      for (int64_t more = 1;
           more < join && i + 1 < segments.size() && chosen[i + 1] &&
           segments[i + 1].begin == segment.end &&
           segments[i + 1].ops.front()->getBlock() ==
               segment.ops.front()->getBlock();
           ++more) {
        ++i;
        segment.end = segments[i].end;
        llvm::append_range(segment.ops, segments[i].ops);
        segment.bytes += segments[i].bytes;
        segment.work += segments[i].work;
      }
      remark::passed(segment.ops.front()->getLoc(),
                     remark::RemarkOpts::name("recompute")
                         .category("memory")
                         .function(segment.ops.front()
                                       ->getParentOfType<func::FuncOp>()
                                       .getName()))
          << llvm::formatv("{0} operations from here on are computed again in "
                           "the backward pass, so that {1} bytes are not kept",
                           segment.ops.size(), segment.bytes)
                 .str();
      makeCheckpoint(segment, ofData);
      ++numSegments;
    }
  }

private:
  void findIn(func::FuncOp step, SmallVectorImpl<Segment> &segments) {
    Block &body = step.getBody().front();
    SmallVector<Value> data;
    for (unsigned i = 0; i < step.getNumArguments(); ++i)
      if (step.getArgAttr(i, attr::kDataAxis))
        data.push_back(step.getArgument(i));
    findInBlock(body, data, segments);
    // Parts of the batch, one after the other.
    for (auto fold : body.getOps<FoldOp>())
      if (!fold.getBlock()->getOps<GradientOp>().empty()) {
        SmallVector<Value> slices(fold.getSliceArguments());
        findInBlock(*fold.getBlock(), slices, segments);
      }
  }

  /// In a block with gradients, and in the loops of its forward pass.
  void findInBlock(Block &block, ArrayRef<Value> data,
                   SmallVectorImpl<Segment> &segments) {
    SmallVector<Value> losses;
    for (auto gradient : block.getOps<GradientOp>())
      losses.push_back(gradient.getLoss());
    if (losses.empty())
      return;
    for (Operation &op : block) {
      if (isa<GradientOp>(op))
        break;
      auto fold = dyn_cast<FoldOp>(op);
      if (!fold || fold->hasAttr(attr::kCheckpoint) || fold.getTrips() < 2 ||
          !fold.getBlock()->getOps<FoldOp>().empty())
        continue;
      SmallVector<Value> inside(fold.getCarried());
      llvm::append_range(inside, fold.getSliceArguments());
      SmallVector<Value> roots(fold.getYielded());
      SegmentFinder finder(*fold.getBlock(), roots, inside);
      finder.find(segments, /*hasEnd=*/false, fold.getTrips());
      ofData.insert_range(finder.getOps());
    }
    SegmentFinder finder(block, losses, data);
    finder.find(segments, /*hasEnd=*/true, 1);
    ofData.insert_range(finder.getOps());
  }

  /// What depends on the data.
  llvm::DenseSet<Operation *> ofData;
};

} // namespace
