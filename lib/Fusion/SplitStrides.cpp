//===- SplitStrides.cpp - strided sums as sums without a stride -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The adjoint of a convolution with stride s has a term only where an index of
// its result and one of the window agree modulo s. For each remainder of the
// result's index that is a sum over a part of the window, at a distance of s,
// without a condition: a convolution of its own with stride 1 (Dumoulin and
// Visin 2016, section 4.6, draws the zeros that are spared here).
//
// Where windows do not overlap (pooling, most often) a result has one term at
// most, and nothing needs to be summed.
//
//===----------------------------------------------------------------------===//

#include "GraphPass.h"

#include "tdsl/Fusion/Bodies.h"
#include "tdsl/Fusion/CostModel.h"
#include "tdsl/Fusion/Passes.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/IR/Remarks.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

namespace tdsl {
#define GEN_PASS_DEF_SPLITSTRIDESPASS
#include "tdsl/Fusion/Passes.h.inc"
} // namespace tdsl

namespace {

/// Most sums that one sum becomes, and the longest stride that is tried: its
/// remainders fit every integer type.
constexpr int64_t mostPhases = 16, longestStride = 8;

/// A condition on the remainders by `stride` of an index of the result and a
/// summed one, or of the first alone, where the window has one place.
struct Stride {
  unsigned parallel;
  std::optional<unsigned> reduced;
  int64_t stride;
  /// For each remainder of the parallel index the one of the reduced index at
  /// which there are terms (0 without one), or nothing where there are none.
  SmallVector<std::optional<int64_t>> remainders;
};

/// A sum whose terms stand under conditions.
struct ConditionalSum {
  GenericOp generic;
  /// What is added where all conditions hold; otherwise it is 0.
  Value term;
  SmallVector<Stride> strides;
  /// Conditions that are no strides.
  SmallVector<Value> others;
};

} // namespace

static bool isZero(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant)
    return false;
  if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
    return number.getValue().isPosZero();
  auto number = dyn_cast<IntegerAttr>(constant.getValue());
  return number && number.getValue().isZero();
}

static void collectConjuncts(Value condition, SmallVectorImpl<Value> &leaves) {
  if (auto both = condition.getDefiningOp<AndOp>()) {
    collectConjuncts(both.getLhs(), leaves);
    collectConjuncts(both.getRhs(), leaves);
    return;
  }
  leaves.push_back(condition);
}

/// The affine expression that has to be 0, where `condition` says that. What a
/// program writes compares an integer made of it, which a remainder fits.
static std::optional<AffineExpr> getZeroExpr(Value condition,
                                             ValueRange indices) {
  auto compare = condition.getDefiningOp<CompareOp>();
  if (!compare || compare.getPredicate() != ComparePredicate::EQ ||
      !isZero(compare.getRhs()))
    return std::nullopt;
  Value lhs = compare.getLhs();
  if (auto cast = lhs.getDefiningOp<CastOp>();
      cast && isa<IntegerType>(cast.getType()) && !cast.getType().isInteger(1))
    lhs = cast.getOperand();
  if (!lhs.getType().isIndex())
    return std::nullopt;
  return getAffineIndex(lhs, indices);
}

/// The stride that `zero = 0` demands, if it is one.
static std::optional<Stride> getStride(AffineExpr zero, GenericOp generic) {
  unsigned numParallel = generic.getNumParallel(),
           numIndices = generic.getBlock()->getNumArguments();
  SmallVector<unsigned> used;
  for (unsigned i = 0; i < numIndices; ++i)
    if (zero.isFunctionOfDim(i))
      used.push_back(i);
  if (used.empty() || used.size() > 2 || used.front() >= numParallel ||
      (used.size() == 2 && used.back() < numParallel))
    return std::nullopt;
  unsigned parallel = used.front();
  std::optional<unsigned> reduced;
  if (used.size() == 2)
    reduced = used.back();
  // It is a sum of multiples of both modulo the stride.
  SmallVector<int64_t> sum;
  int64_t stride = 0;
  zero.walk([&](AffineExpr inner) {
    if (stride || (inner.getKind() != AffineExprKind::FloorDiv &&
                   inner.getKind() != AffineExprKind::Mod))
      return;
    auto division = cast<AffineBinaryOpExpr>(inner);
    auto divisor = dyn_cast<AffineConstantExpr>(division.getRHS());
    sum.clear();
    if (!divisor || divisor.getValue() < 2 ||
        divisor.getValue() > longestStride ||
        simplifyAffineExpr(zero - division.getLHS() % divisor.getValue(),
                           numIndices, 0) != 0 ||
        failed(
            getFlattenedAffineExpr(division.getLHS(), numIndices, 0, &sum)) ||
        sum.size() != numIndices + 1)
      return;
    stride = divisor.getValue();
  });
  if (!stride)
    return std::nullopt;
  Stride found{parallel, reduced, stride, {}};
  for (int64_t p = 0; p < stride; ++p) {
    std::optional<int64_t> match;
    for (int64_t r = 0; r < (reduced ? stride : 1); ++r) {
      int64_t index = sum[parallel] * p + sum.back();
      if (reduced)
        index += sum[*reduced] * r;
      if (index % stride != 0)
        continue;
      if (match)
        return std::nullopt; // the stride and the coefficient share a factor
      match = r;
    }
    found.remainders.push_back(match);
  }
  return found;
}

/// The sum that `generic` is, where some of its conditions are strides.
static std::optional<ConditionalSum> getConditionalSum(GenericOp generic) {
  if (generic.getKind() != ReductionKind::Sum)
    return std::nullopt;
  auto select = generic.getYielded().getDefiningOp<SelectOp>();
  if (!select || !isZero(select.getOnFalse()))
    return std::nullopt;
  ConditionalSum sum{generic, select.getOnTrue(), {}, {}};
  SmallVector<Value> leaves;
  collectConjuncts(select.getCondition(), leaves);
  int64_t phases = 1;
  for (Value leaf : leaves) {
    std::optional<Stride> stride;
    if (std::optional<AffineExpr> zero =
            getZeroExpr(leaf, generic.getBlock()->getArguments()))
      stride = getStride(*zero, generic);
    bool isNew = stride && llvm::none_of(sum.strides, [&](const Stride &other) {
                   return other.parallel == stride->parallel ||
                          (other.reduced && other.reduced == stride->reduced);
                 });
    if (!isNew || phases * stride->stride > mostPhases) {
      sum.others.push_back(leaf);
      continue;
    }
    phases *= stride->stride;
    sum.strides.push_back(std::move(*stride));
  }
  if (sum.strides.empty())
    return std::nullopt;
  return sum;
}

/// The results at indices that leave `remainders`, the parallel index of each
/// stride divided by it, or nothing where they have no terms or there are none.
static Value createPhase(OpBuilder &builder, const ConditionalSum &sum,
                         ArrayRef<int64_t> remainders) {
  GenericOp generic = sum.generic;
  unsigned numParallel = generic.getNumParallel();
  SmallVector<int64_t> extents(generic.getExtents());
  llvm::append_range(extents, generic.getReduceExtents());
  SmallVector<int64_t> shifts(extents.size(), 0), steps(extents.size(), 1);
  for (auto [remainder, stride] : llvm::zip_equal(remainders, sum.strides)) {
    if (!stride.remainders[remainder])
      return {};
    auto divide = [&, step = stride.stride](unsigned index, int64_t shift) {
      shifts[index] = shift;
      steps[index] = step;
      extents[index] = std::max<int64_t>(
          0, llvm::divideCeilSigned(extents[index] - shift, step));
      return extents[index] != 0;
    };
    if (!divide(stride.parallel, remainder) ||
        (stride.reduced &&
         !divide(*stride.reduced, *stride.remainders[remainder])))
      return {};
  }
  // A window of one place needs no index.
  SmallVector<int64_t> reduceExtents;
  for (int64_t extent : ArrayRef(extents).drop_front(numParallel))
    if (extent != 1)
      reduceExtents.push_back(extent);
  std::optional<ReductionKind> kind = generic.getKind();
  if (reduceExtents.empty())
    kind = std::nullopt;
  auto type = RankedTensorType::get(ArrayRef(extents).take_front(numParallel),
                                    generic.getType().getElementType());
  auto phase = GenericOp::create(
      builder, generic.getLoc(), type, reduceExtents, kind,
      [&](OpBuilder &b, Location loc, ValueRange indices) -> Value {
        SmallVector<Value> at;
        for (unsigned i = 0, next = 0; i < extents.size(); ++i) {
          if (i >= numParallel && extents[i] == 1) {
            at.push_back(ConstantOp::create(
                b, loc, TypedAttr(b.getIndexAttr(shifts[i]))));
            continue;
          }
          AffineExpr index = b.getAffineDimExpr(0) * steps[i] + shifts[i];
          at.push_back(createIndex(b, loc, AffineMap::get(1, 0, index),
                                   indices[next++]));
        }
        IRMapping mapping;
        cloneBody(b, generic, at, mapping);
        Value term = mapping.lookupOrDefault(sum.term);
        if (sum.others.empty())
          return term;
        Value condition;
        for (Value other : sum.others) {
          Value holds = mapping.lookupOrDefault(other);
          condition = condition
                          ? AndOp::create(b, loc, condition, holds).getResult()
                          : holds;
        }
        Value zero = ConstantOp::create(
            b, loc, TypedAttr(cast<TypedAttr>(b.getZeroAttr(term.getType()))));
        return SelectOp::create(b, loc, condition, term, zero);
      });
  simplifyBody(phase.getBlock());
  return phase;
}

/// For each index of a sum at which its only term can be, as an expression of
/// the results' indices; nothing where there may be several terms.
///
/// That is so where a window is no longer than its stride: of the places in it
/// one has the remainder that the index of the result asks for.
static std::optional<SmallVector<AffineExpr>>
getOnlyPlace(const ConditionalSum &sum) {
  GenericOp generic = sum.generic;
  MLIRContext *context = generic.getContext();
  unsigned numParallel = generic.getNumParallel();
  ArrayRef<int64_t> extents = generic.getReduceExtents();
  SmallVector<AffineExpr> places(extents.size());
  if (llvm::is_contained(extents, 0))
    return std::nullopt;
  for (const Stride &stride : sum.strides) {
    if (!stride.reduced ||
        extents[*stride.reduced - numParallel] > stride.stride)
      return std::nullopt;
    AffineExpr index = getAffineDimExpr(stride.parallel, context);
    for (int64_t step = 0; step < stride.stride; ++step)
      for (int64_t first = 0; first < stride.stride; ++first) {
        bool fits = true;
        for (auto [p, r] : llvm::enumerate(stride.remainders))
          fits &= r == (step * int64_t(p) + first) % stride.stride;
        if (fits)
          places[*stride.reduced - numParallel] =
              (index * step + first) % stride.stride;
      }
  }
  if (!llvm::all_of(places, [](AffineExpr expr) { return bool(expr); }))
    return std::nullopt;
  return places;
}

/// The sum, where at most one of its terms is not 0: no sum any more.
static Value createOnlyTerm(OpBuilder &builder, const ConditionalSum &sum,
                            ArrayRef<AffineExpr> places) {
  GenericOp generic = sum.generic;
  RankedTensorType type = generic.getType();
  auto only = GenericOp::create(
      builder, generic.getLoc(), type, {}, std::nullopt,
      [&](OpBuilder &b, Location loc, ValueRange indices) -> Value {
        SmallVector<Value> at(indices), conditions;
        auto getIndex = [&](AffineExpr place) {
          return createIndex(b, loc, AffineMap::get(indices.size(), 0, place),
                             indices);
        };
        // Beside a shorter window there are places without a term. What is read
        // there is not used, but has to be where a term of the sum reads, too.
        for (auto [place, extent] :
             llvm::zip_equal(places, generic.getReduceExtents()))
          at.push_back(getIndex(place % extent));
        for (const Stride &stride : sum.strides) {
          unsigned axis = *stride.reduced - generic.getNumParallel();
          int64_t extent = generic.getReduceExtents()[axis];
          if (extent == stride.stride)
            continue;
          Value end =
              ConstantOp::create(b, loc, TypedAttr(b.getIndexAttr(extent)));
          conditions.push_back(CompareOp::create(b, loc, ComparePredicate::LT,
                                                 getIndex(places[axis]), end));
        }
        IRMapping mapping;
        cloneBody(b, generic, at, mapping);
        for (Value other : sum.others)
          conditions.push_back(mapping.lookupOrDefault(other));
        Value term = mapping.lookupOrDefault(sum.term);
        Value zero = ConstantOp::create(
            b, loc, TypedAttr(cast<TypedAttr>(b.getZeroAttr(term.getType()))));
        Value condition;
        for (Value next : conditions)
          condition = condition
                          ? AndOp::create(b, loc, condition, next).getResult()
                          : next;
        if (condition)
          term = SelectOp::create(b, loc, condition, term, zero);
        // Added up with zeros -0 is 0.
        return AddOp::create(b, loc, term, zero);
      });
  simplifyBody(only.getBlock());
  return only;
}

namespace {
/// A sum without strides, and the remainders of the indices that it is for.
struct Phase {
  SmallVector<int64_t> remainders;
  Value tensor;
};
} // namespace

/// The results of all phases in one tensor.
static Value joinPhases(OpBuilder &builder, const ConditionalSum &sum,
                        ArrayRef<Phase> phases) {
  GenericOp generic = sum.generic;
  RankedTensorType type = generic.getType();
  return GenericOp::create(
      builder, generic.getLoc(), type, {}, std::nullopt,
      [&](OpBuilder &b, Location loc, ValueRange indices) -> Value {
        SmallVector<Value> at(indices), remainders;
        for (const Stride &stride : sum.strides) {
          AffineExpr index = b.getAffineDimExpr(0);
          at[stride.parallel] = createIndex(
              b, loc, AffineMap::get(1, 0, index.floorDiv(stride.stride)),
              indices[stride.parallel]);
          remainders.push_back(
              createIndex(b, loc, AffineMap::get(1, 0, index % stride.stride),
                          indices[stride.parallel]));
        }
        TypedAttr zero = cast<TypedAttr>(b.getZeroAttr(type.getElementType()));
        Value result = ConstantOp::create(b, loc, zero);
        for (const Phase &phase : phases) {
          if (!phase.tensor)
            continue;
          Value isIt;
          for (auto [remainder, wanted] :
               llvm::zip_equal(remainders, phase.remainders)) {
            Value number =
                ConstantOp::create(b, loc, TypedAttr(b.getIndexAttr(wanted)));
            Value equal = CompareOp::create(b, loc, ComparePredicate::EQ,
                                            remainder, number);
            isIt =
                isIt ? AndOp::create(b, loc, isIt, equal).getResult() : equal;
          }
          // The last phases are shorter, and are read past their ends there.
          auto read = ReadOp::create(b, loc, phase.tensor, at);
          read.setGuardAttr(zero);
          result = SelectOp::create(b, loc, isIt, read, result);
        }
        return result;
      });
}

namespace {

struct SplitStridesPass
    : public CostModelPass<SplitStridesPass,
                           tdsl::impl::SplitStridesPassBase<SplitStridesPass>> {
  using CostModelPass::CostModelPass;

  void runOnBlock(Block &block) {
    sinkScalars(block);
    for (auto generic : llvm::make_early_inc_range(block.getOps<GenericOp>()))
      if (std::optional<ConditionalSum> sum = getConditionalSum(generic)) {
        if (std::optional<SmallVector<AffineExpr>> places = getOnlyPlace(*sum))
          takeOnlyTerm(*sum, *places);
        else if (pays(*sum))
          split(*sum);
      }
  }

  void takeOnlyTerm(const ConditionalSum &sum, ArrayRef<AffineExpr> places) {
    GenericOp generic = sum.generic;
    OpBuilder builder(generic);
    remark::passed(
        generic.getLoc(),
        remark::RemarkOpts::name("strides").category("fusion").function(
            getOperation().getName()))
        << "no sum: windows that do not overlap have one term";
    generic.replaceAllUsesWith(createOnlyTerm(builder, sum, places));
    generic.erase();
    ++numSingle;
  }

  /// Whether the sums that remain, and bringing their results together, take
  /// less time than trying every term. Two launches a phase: where a window
  /// passes the edges, these are filled by a kernel of their own.
  bool pays(ConditionalSum &sum) {
    double phases = 1;
    for (const Stride &stride : sum.strides)
      phases *= double(stride.stride);
    KernelCost whole, parts;
    whole.ops = double(getNumPoints(sum.generic)) *
                double(getBodyCost(sum.generic) + 1);
    if (sum.term.getDefiningOp<MulOp>())
      parts.flops = 2 * double(getNumPoints(sum.generic)) / phases;
    else
      parts.ops = whole.ops / phases;
    double bytes = 2 * getNumBytes(sum.generic.getType());
    double inParts = model->getComputeNs(parts) +
                     model->getMoveNs(bytes, bytes / 2) +
                     2 * phases * model->getLaunchNs();
    double atOnce = model->getComputeNs(whole);
    bool isFaster = inParts < atOnce;
    auto opts = remark::RemarkOpts::name("strides").category("fusion").function(
        getOperation().getName());
    auto text = llvm::formatv("{0} of {1:f0} sums without a stride: {2:f1} us, "
                              "{3:f1} us with a condition at each term",
                              isFaster ? "made" : "not made", phases,
                              inParts / 1000, atOnce / 1000)
                    .str();
    (isFaster ? remark::passed(sum.generic.getLoc(), opts)
              : remark::missed(sum.generic.getLoc(), opts))
        << text << remark::metric("Decision", "split");
    return isFaster;
  }

  void split(const ConditionalSum &sum) {
    GenericOp generic = sum.generic;
    OpBuilder builder(generic);
    SmallVector<Phase> phases;
    SmallVector<int64_t> remainders(sum.strides.size(), 0);
    for (bool more = true; more;) {
      phases.push_back({remainders, createPhase(builder, sum, remainders)});
      more = false;
      for (auto [remainder, stride] : llvm::zip_equal(remainders, sum.strides))
        if (++remainder < stride.stride) {
          more = true;
          break;
        } else {
          remainder = 0;
        }
    }
    generic.replaceAllUsesWith(joinPhases(builder, sum, phases));
    generic.erase();
    ++numSplit;
  }
};

} // namespace
