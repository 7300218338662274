//===- FindSegments.cpp - where a forward pass is cut -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What crosses from one segment to the next is kept, and the segments are
// computed again one at a time. So the bytes that live at once are all that
// crosses, and what the derivative of one segment needs of it. The cuts that
// make this least are found for each bound on the latter, in growing steps, as
// the shortest path over the places where cuts may be.
//
//===----------------------------------------------------------------------===//

#include "Segments.h"

#include "tdsl/Dialect/TDS/AttentionBand.h"
#include "tdsl/Dialect/TDS/BlockInputs.h"

#include <limits>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

/// More places than these are thinned out: pairs of them are looked at.
static constexpr unsigned kMostPlaces = 1024;

int64_t tdsl::getNumBytes(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() * getElementBytes(type.getElementType());
}

bool tdsl::isStored(Operation *op) {
  if (auto generic = dyn_cast<GenericOp>(op))
    return generic.hasReduction();
  return isa<ContractOp, AttentionOp, ReduceOp, ScatterOp, func::CallOp,
             FoldOp>(op);
}

double tdsl::getWork(Operation *op) {
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
// What the derivative needs
//===----------------------------------------------------------------------===//

/// Whether the derivative of an operation is known by what is no activation.
static bool isLinear(Operation *op, const llvm::DenseSet<Value> &activations) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getKind() == ReductionKind::Sum;
  if (isa<MulOp>(op))
    return llvm::count_if(op->getOperands(), [&](Value operand) {
             return activations.contains(operand);
           }) < 2;
  if (auto div = dyn_cast<DivOp>(op))
    return !activations.contains(div.getRhs());
  if (auto generic = dyn_cast<GenericOp>(op))
    return !generic.hasReduction() &&
           llvm::all_of(*generic.getBlock(), [](Operation &inner) {
             return isa<ReadOp, ApplyOp, ConstantOp, YieldOp, AddOp, SubOp,
                        CompareOp, SelectOp, AndOp, OrOp, NotOp>(inner);
           });
  return isa<AddOp, SubOp, NegOp, CastOp, ReshapeOp, TransposeOp, BroadcastOp,
             StopGradientOp, IndependentOp>(op);
}

/// Whether the derivative can do with the result instead of the operand.
static bool isKnownByResult(Operation *op) {
  return isa<TanhOp, SigmoidOp, ExpOp, Expm1Op, SqrtOp, RsqrtOp>(op);
}

static bool isView(Operation *op) {
  return isa<ReshapeOp, TransposeOp, BroadcastOp>(op);
}

SegmentFinder::SegmentFinder(Block &block, ArrayRef<Value> roots,
                             ValueRange data) {
  findActivations(block, roots, data);
  findKept(roots);
  findPlaces();
  measure();
}

void SegmentFinder::findActivations(Block &block, ArrayRef<Value> roots,
                                    ValueRange data) {
  llvm::DenseSet<Operation *> needed;
  for (Value root : roots)
    if (Operation *op = root.getDefiningOp(); op && op->getBlock() == &block)
      needed.insert(op);
  activations.insert_range(data);
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
  for (Value root : roots)
    if (root.getDefiningOp())
      lastUse[root] = ops.size();
  for (auto [i, op] : llvm::enumerate(ops))
    for (Value result : op->getResults())
      results.push_back({result, unsigned(i),
                         std::max<unsigned>(i, lastUse.lookup(result)),
                         getNumBytes(result)});
}

/// Which values the derivative needs in memory: what is computed from others
/// element by element is computed again where it is needed, unless something
/// that is no element operation reads it.
void SegmentFinder::findKept(ArrayRef<Value> roots) {
  llvm::DenseSet<Value> stored(roots.begin(), roots.end());
  for (Operation *op : ops) {
    if (!isStored(op))
      continue;
    stored.insert_range(op->getResults());
    for (Value input : getBlockInputs(op)) {
      while (Operation *made = input.getDefiningOp()) {
        if (!isView(made) || !activations.contains(made->getOperand(0)))
          break;
        input = made->getOperand(0);
      }
      stored.insert(input);
    }
  }
  llvm::DenseSet<Value> seen, kept;
  SmallVector<Value> work;
  for (Operation *op : ops) {
    if (isLinear(op, activations))
      continue;
    if (isKnownByResult(op) && stored.contains(op->getResult(0)))
      work.push_back(op->getResult(0));
    else
      llvm::append_range(work, getBlockInputs(op));
  }
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!activations.contains(value) || !seen.insert(value).second)
      continue;
    if (stored.contains(value))
      kept.insert(value);
    else if (Operation *made = value.getDefiningOp())
      llvm::append_range(work, getBlockInputs(made));
  }
  for (Result &result : results)
    result.isKept = kept.contains(result.value);
}

int64_t SegmentFinder::getKept() const {
  int64_t bytes = 0;
  for (const Result &result : results)
    if (result.isKept && result.last < ops.size())
      bytes += result.bytes;
  return bytes;
}

//===----------------------------------------------------------------------===//
// Cuts
//===----------------------------------------------------------------------===//

/// Cuts are before operations that read memory, and around loops.
void SegmentFinder::findPlaces() {
  places.push_back(0);
  for (unsigned i = 1; i < ops.size(); ++i)
    if (isStored(ops[i]) || isa<FoldOp>(ops[i - 1]))
      places.push_back(i);
  if (places.size() > kMostPlaces) {
    // Those that the fewest bytes cross.
    SmallVector<int64_t> change(ops.size() + 2), crossing(ops.size() + 1);
    for (const Result &result : results) {
      change[result.made + 1] += result.bytes;
      change[result.last + 1] -= result.bytes;
    }
    int64_t bytes = 0;
    for (unsigned i = 0; i <= ops.size(); ++i)
      crossing[i] = bytes += change[i];
    SmallVector<unsigned> sorted(llvm::drop_begin(places));
    llvm::sort(sorted, [&](unsigned a, unsigned b) {
      auto isLoop = [&](unsigned at) {
        return isa<FoldOp>(ops[at]) || isa<FoldOp>(ops[at - 1]);
      };
      return std::tuple(!isLoop(a), crossing[a], a) <
             std::tuple(!isLoop(b), crossing[b], b);
    });
    sorted.resize(kMostPlaces);
    llvm::sort(sorted);
    places.assign({0});
    llvm::append_range(places, sorted);
  }
  if (!ops.empty())
    places.push_back(ops.size());
}

void SegmentFinder::measure() {
  SmallVector<SmallVector<unsigned>> madeAt(ops.size()), lastAt(ops.size() + 1);
  for (auto [number, result] : llvm::enumerate(results)) {
    madeAt[result.made].push_back(number);
    lastAt[result.last].push_back(number);
  }
  for (unsigned first = 0; first + 1 < places.size(); ++first) {
    auto &row = pairs.emplace_back();
    int64_t out = 0, inside = 0;
    bool hasLoop = false;
    for (unsigned second = first + 1; second < places.size(); ++second) {
      for (unsigned i = places[second - 1]; i < places[second]; ++i) {
        hasLoop |= isa<FoldOp>(ops[i]);
        for (unsigned number : madeAt[i])
          out += results[number].bytes;
        for (unsigned number : lastAt[i])
          if (const Result &result = results[number];
              result.made >= places[first]) {
            out -= result.bytes;
            inside += result.isKept ? result.bytes : 0;
          }
      }
      // What is in a loop is that loop's own.
      if (hasLoop && places[second] - places[first] > 1)
        break;
      row.push_back({out, inside});
    }
  }
}

void SegmentFinder::cut(int64_t trips) {
  constexpr int64_t none = std::numeric_limits<int64_t>::max();
  unsigned count = places.size();
  if (count < 2)
    return;
  int64_t smallest = 1, all = 1;
  for (auto &row : pairs) {
    smallest = std::max(smallest, row.front().second);
    all = std::max(all, row.back().second);
  }
  least = none;
  for (int64_t bound = smallest;; bound += bound / 8 + 1) {
    bound = std::min(bound, all);
    SmallVector<int64_t> bytes(count, none);
    SmallVector<unsigned> from(count);
    bytes[0] = 0;
    for (unsigned first = 0; first + 1 < count; ++first)
      for (auto [i, pair] : llvm::enumerate(pairs[first])) {
        if (pair.second > bound)
          break;
        unsigned second = first + 1 + i;
        int64_t crossing = second + 1 < count ? pair.first * trips : 0;
        // Of equals the one with fewer segments.
        if (bytes[first] + crossing < bytes[second]) {
          bytes[second] = bytes[first] + crossing;
          from[second] = first;
        }
      }
    SmallVector<unsigned> path;
    int64_t largest = 0;
    for (unsigned at = count - 1; at != 0; at = from[at]) {
      path.push_back(at);
      largest = std::max(largest, pairs[from[at]][at - from[at] - 1].second);
    }
    // Of equals the one that computes less again.
    if (bytes[count - 1] + largest < least) {
      least = bytes[count - 1] + largest;
      ends.assign(path.rbegin(), path.rend());
    }
    if (bound == all)
      break;
  }
}

void SegmentFinder::append(SmallVectorImpl<Segment> &segments, bool hasEnd,
                           int64_t trips) const {
  unsigned begin = 0;
  for (unsigned end : ends) {
    Segment segment;
    segment.begin = places[begin];
    segment.end = places[end];
    segment.bytes = pairs[begin][end - begin - 1].second * trips;
    bool isAtEnd = end + 1 == places.size();
    begin = end;
    // What the backward pass begins with is there anyway.
    if (hasEnd && isAtEnd)
      break;
    for (unsigned i = segment.begin; i < segment.end; ++i) {
      segment.ops.push_back(ops[i]);
      segment.work += getWork(ops[i]) * double(trips);
    }
    if (segment.bytes > 0)
      segments.push_back(std::move(segment));
  }
}
