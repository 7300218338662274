//===- AttentionBand.cpp - keys that a mask leaves to a query -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A body is evaluated for all pairs with j - i at least (or at most) some bound
// at once. What it compares says which bounds to try.
//
//===----------------------------------------------------------------------===//

#include "tdsl/Dialect/TDS/AttentionBand.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

int64_t AttentionBand::countPairs(int64_t queries, int64_t keys) const {
  if (!*this)
    return queries * keys;
  int64_t pairs = 0;
  for (int64_t i = 0; i < queries; ++i) {
    int64_t first = from ? std::clamp<int64_t>(i + *from, 0, keys) : 0;
    int64_t last = to ? std::clamp<int64_t>(i + *to, 0, keys) : keys;
    pairs += std::max<int64_t>(last - first, 0);
  }
  return pairs;
}

namespace {

/// A number of the form `sign * (j - i) + constant`; sign is 1, -1 or 0.
struct Difference {
  int64_t sign, constant;
};

/// The scalars of a body for many pairs of a query and a key.
class BandEvaluator {
public:
  BandEvaluator(Block &block, unsigned numBatch)
      : block(block), i(block.getArgument(numBatch)),
        j(block.getArgument(numBatch + 1)) {}

  /// The values of j - i from which on comparisons may have one answer.
  SmallVector<int64_t> getBounds(bool isUpper);
  /// What the body gives where j - i is at least `bound` (`isUpper`), or at
  /// most; null where that is not one number.
  TypedAttr evaluate(int64_t bound, bool isUpper);

private:
  std::optional<Difference> getDifference(Value value);
  std::optional<Difference> getDifference(CompareOp compare) {
    auto lhs = getCoefficients(compare.getLhs()),
         rhs = getCoefficients(compare.getRhs());
    if (!lhs || !rhs)
      return std::nullopt;
    return asDifference(
        {(*lhs)[0] - (*rhs)[0], (*lhs)[1] - (*rhs)[1], (*lhs)[2] - (*rhs)[2]});
  }
  /// The factors of i and j and the constant, of an integer that is linear.
  using Coefficients = std::array<int64_t, 3>;
  std::optional<Coefficients> getCoefficients(Value value);
  static std::optional<Difference> asDifference(Coefficients c) {
    if (c[0] + c[1] != 0 || std::abs(c[1]) > 1)
      return std::nullopt;
    return Difference{c[1], c[2]};
  }
  TypedAttr evaluate(Operation &op, int64_t bound, bool isUpper);

  Block &block;
  Value i, j;
  llvm::DenseMap<Value, TypedAttr> known;
};

} // namespace

std::optional<BandEvaluator::Coefficients>
BandEvaluator::getCoefficients(Value value) {
  if (value == i)
    return Coefficients{1, 0, 0};
  if (value == j)
    return Coefficients{0, 1, 0};
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    auto number = dyn_cast<IntegerAttr>(constant.getValue());
    // Sums of these stay far from the ends of i64.
    if (!number || number.getValue().getSignificantBits() > 48)
      return std::nullopt;
    return Coefficients{0, 0, number.getValue().getSExtValue()};
  }
  // Indices are less than the extents of tensors, which every integer type but
  // the narrowest holds.
  if (auto cast = dyn_cast<CastOp>(op)) {
    Type from = cast.getOperand().getType(), to = cast.getType();
    auto isWide = [](Type type) {
      return type.isIndex() || type.isInteger(32) || type.isInteger(64);
    };
    return isWide(from) && isWide(to) ? getCoefficients(cast.getOperand())
                                      : std::nullopt;
  }
  auto apply = dyn_cast<ApplyOp>(op);
  if (!apply)
    return std::nullopt;
  AffineMap map = apply.getMap();
  SmallVector<int64_t> flat;
  if (failed(getFlattenedAffineExpr(map.getResult(0), map.getNumDims(), 0,
                                    &flat)) ||
      flat.size() != map.getNumDims() + 1)
    return std::nullopt;
  Coefficients sum{0, 0, flat.back()};
  for (auto [factor, operand] : llvm::zip(flat, apply.getOperands())) {
    if (factor == 0)
      continue;
    std::optional<Coefficients> each = getCoefficients(operand);
    if (!each)
      return std::nullopt;
    for (unsigned n = 0; n < 3; ++n)
      sum[n] += factor * (*each)[n];
  }
  return sum;
}

SmallVector<int64_t> BandEvaluator::getBounds(bool isUpper) {
  SmallVector<int64_t> bounds;
  for (auto compare : block.getOps<CompareOp>()) {
    std::optional<Difference> difference = getDifference(compare);
    if (!difference || difference->sign == 0)
      continue;
    // Where the difference is 0, or next to it.
    int64_t root = -difference->constant * difference->sign;
    bounds.append({root, isUpper ? root + 1 : root - 1});
  }
  llvm::sort(bounds);
  if (!isUpper)
    std::reverse(bounds.begin(), bounds.end());
  return bounds;
}

TypedAttr BandEvaluator::evaluate(int64_t bound, bool isUpper) {
  known.clear();
  for (Operation &op : block.without_terminator())
    if (op.getNumResults() == 1)
      if (TypedAttr value = evaluate(op, bound, isUpper))
        known[op.getResult(0)] = value;
  return known.lookup(block.getTerminator()->getOperand(0));
}

TypedAttr BandEvaluator::evaluate(Operation &op, int64_t bound, bool isUpper) {
  OpBuilder builder(op.getContext());
  if (auto constant = dyn_cast<ConstantOp>(op))
    return dyn_cast<TypedAttr>(constant.getValue());
  if (auto compare = dyn_cast<CompareOp>(op)) {
    std::optional<Difference> difference = getDifference(compare);
    if (difference && difference->sign != 0) {
      // One end of the numbers that are compared with 0; the other is infinite.
      int64_t end = difference->sign * bound + difference->constant;
      bool isLeast = (difference->sign > 0) == isUpper;
      bool isAbove = isLeast && end > 0, isBelow = !isLeast && end < 0,
           isNotBelow = isLeast && end >= 0, isNotAbove = !isLeast && end <= 0;
      auto answer = [&](bool yes, bool no) {
        return yes || no ? TypedAttr(builder.getBoolAttr(yes)) : TypedAttr();
      };
      switch (compare.getPredicate()) {
      case ComparePredicate::EQ:
        return answer(false, isAbove || isBelow);
      case ComparePredicate::NE:
        return answer(isAbove || isBelow, false);
      case ComparePredicate::LT:
        return answer(isBelow, isNotBelow);
      case ComparePredicate::LE:
        return answer(isNotAbove, isAbove);
      case ComparePredicate::GT:
        return answer(isAbove, isNotAbove);
      case ComparePredicate::GE:
        return answer(isNotBelow, isBelow);
      }
    }
  }
  auto isTruth = [&](Value value, bool truth) {
    auto number = dyn_cast_or_null<IntegerAttr>(known.lookup(value));
    return number && number.getValue().isZero() != truth;
  };
  if (auto select = dyn_cast<SelectOp>(op)) {
    TypedAttr onTrue = known.lookup(select.getOnTrue()),
              onFalse = known.lookup(select.getOnFalse());
    if (isTruth(select.getCondition(), true))
      return onTrue;
    if (isTruth(select.getCondition(), false))
      return onFalse;
    return onTrue == onFalse ? onTrue : TypedAttr();
  }
  for (bool truth : {false, true})
    if ((truth ? isa<OrOp>(op) : isa<AndOp>(op)) &&
        op.getResult(0).getType().isInteger(1) &&
        llvm::any_of(op.getOperands(),
                     [&](Value value) { return isTruth(value, truth); }))
      return builder.getBoolAttr(truth);
  SmallVector<Attribute> operands;
  for (Value operand : op.getOperands())
    operands.push_back(known.lookup(operand));
  if (operands.empty() || op.getNumRegions() != 0 ||
      !llvm::all_of(operands, [](Attribute value) { return bool(value); }))
    return {};
  SmallVector<OpFoldResult> results;
  if (failed(op.fold(operands, results)) || results.size() != 1)
    return {};
  return dyn_cast_or_null<TypedAttr>(dyn_cast<Attribute>(results[0]));
}

/// The bound from which on, upwards or downwards, the score is -inf and the
/// slope, if there is one, 0.
template <typename Op>
static std::optional<int64_t> findBound(Op op, Block *slope, bool isUpper) {
  BandEvaluator scores(op.getScore().front(), op.getNumBatch());
  for (int64_t bound : scores.getBounds(isUpper)) {
    if (isUpper ? bound <= 0 : bound >= 0)
      continue;
    auto score = dyn_cast_or_null<FloatAttr>(scores.evaluate(bound, isUpper));
    if (!score || !score.getValue().isInfinity() ||
        !score.getValue().isNegative())
      continue;
    if (!slope)
      return bound;
    auto adjoint = dyn_cast_or_null<FloatAttr>(
        BandEvaluator(*slope, op.getNumBatch()).evaluate(bound, isUpper));
    if (adjoint && adjoint.getValue().isZero())
      return bound;
  }
  return std::nullopt;
}

template <typename Op> static AttentionBand findBand(Op op, Block *slope) {
  AttentionBand band;
  band.to = findBound(op, slope, /*isUpper=*/true);
  if (std::optional<int64_t> below = findBound(op, slope, /*isUpper=*/false))
    band.from = *below + 1;
  return band;
}

AttentionBand tds::getBand(AttentionOp op) { return findBand(op, nullptr); }
AttentionBand tds::getBand(AttentionGradOp op) {
  return findBand(op, &op.getSlope().front());
}
