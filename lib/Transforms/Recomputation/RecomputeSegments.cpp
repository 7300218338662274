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

#include "Segments.h"

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

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

/// Adds the operations that give `value` from what does not depend on the data,
/// such as a bias in every row: these go with the segment, lest they be kept
/// instead.
static void addCheap(Value value, const llvm::DenseSet<Operation *> &ofData,
                     llvm::SetVector<Operation *> &cheap) {
  Operation *op = value.getDefiningOp();
  if (!op || ofData.contains(op) || cheap.contains(op) || isStored(op) ||
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
      if (segment.tile > 0) {
        report(segment);
        tileLoop(cast<FoldOp>(segment.ops.front()), segment.tile);
        continue;
      }
      // Neighbours may be joined: less is kept, and more computed at a time.
      for (int64_t more = 1;
           more < join && i + 1 < segments.size() && chosen[i + 1] &&
           segments[i + 1].tile == 0 && segments[i + 1].begin == segment.end &&
           segments[i + 1].ops.front()->getBlock() ==
               segment.ops.front()->getBlock();
           ++more) {
        ++i;
        segment.end = segments[i].end;
        llvm::append_range(segment.ops, segments[i].ops);
        segment.bytes += segments[i].bytes;
        segment.work += segments[i].work;
      }
      report(segment);
      makeCheckpoint(segment, ofData);
    }
  }

private:
  void report(const Segment &segment) {
    std::string what =
        llvm::formatv("{0} operations from here on are", segment.ops.size());
    if (segment.tile > 0)
      what = llvm::formatv("{0} iterations at a time of this loop are",
                           segment.tile);
    remark::passed(
        segment.ops.front()->getLoc(),
        remark::RemarkOpts::name("recompute")
            .category("memory")
            .function(
                segment.ops.front()->getParentOfType<func::FuncOp>().getName()))
        << llvm::formatv("{0} computed again in the backward pass, so that {1} "
                         "bytes are not kept",
                         what, segment.bytes)
               .str();
    ++numSegments;
  }

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
      findInLoop(fold, finder, segments);
      ofData.insert_range(finder.getOps());
    }
    SegmentFinder finder(block, losses, data);
    finder.cut(1);
    finder.append(segments, /*hasEnd=*/true, 1);
    ofData.insert_range(finder.getOps());
  }

  /// What a loop carries is kept, and its iterations are computed again; or
  /// some iterations are at a time, and what every few carry is kept.
  static void findInLoop(FoldOp fold, SegmentFinder &finder,
                         SmallVectorImpl<Segment> &segments) {
    int64_t trips = fold.getTrips(), carried = 0;
    for (Value value : fold.getCarried())
      carried += getNumBytes(value);
    int64_t kept = finder.getKept();
    finder.cut(trips);
    auto tile = chooseTile(fold, kept);
    if (!tile || tile->second >= trips * carried + finder.getLeast()) {
      finder.append(segments, /*hasEnd=*/false, trips);
      return;
    }
    Segment segment;
    segment.ops.push_back(fold);
    segment.tile = tile->first;
    segment.bytes = trips * (carried + kept) - tile->second;
    segment.work = getWork(fold);
    if (segment.bytes > 0)
      segments.push_back(std::move(segment));
  }

  /// What depends on the data.
  llvm::DenseSet<Operation *> ofData;
};

} // namespace
