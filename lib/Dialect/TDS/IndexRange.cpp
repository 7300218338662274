//===- IndexRange.cpp - which values an index can take -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Intervals for the integers of a body: exact enough to drop the guard of a
// read that cannot leave its tensor, such as a table of 256 rows read at a u8.
//
//===----------------------------------------------------------------------===//

#include "tdsl/Dialect/TDS/Evaluate.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace tdsl::tds;

namespace {
using Interval = std::pair<int64_t, int64_t>;
using MaybeInterval = std::optional<Interval>;

/// Nested expressions deeper than this count as unknown.
constexpr unsigned maxRangeDepth = 16;
} // namespace

static MaybeInterval addRanges(Interval a, Interval b) {
  Interval sum;
  if (llvm::AddOverflow(a.first, b.first, sum.first) ||
      llvm::AddOverflow(a.second, b.second, sum.second))
    return std::nullopt;
  return sum;
}

static MaybeInterval scaleRange(Interval a, int64_t factor) {
  Interval product;
  if (llvm::MulOverflow(a.first, factor, product.first) ||
      llvm::MulOverflow(a.second, factor, product.second))
    return std::nullopt;
  if (factor < 0)
    std::swap(product.first, product.second);
  return product;
}

static MaybeInterval rangeOfExpr(AffineExpr expr,
                                 ArrayRef<MaybeInterval> dims) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return Interval(constant.getValue(), constant.getValue());
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  MaybeInterval lhs = rangeOfExpr(binary.getLHS(), dims);
  MaybeInterval rhs = rangeOfExpr(binary.getRHS(), dims);
  if (!rhs)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    return lhs ? addRanges(*lhs, *rhs) : std::nullopt;
  if (rhs->first != rhs->second)
    return std::nullopt;
  int64_t constant = rhs->first;
  if (expr.getKind() == AffineExprKind::Mul)
    return lhs ? scaleRange(*lhs, constant) : std::nullopt;
  if (constant <= 0)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Mod) {
    if (lhs && lhs->first >= 0 && lhs->second < constant)
      return lhs;
    return Interval(0, constant - 1);
  }
  if (!lhs)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::FloorDiv)
    return Interval(llvm::divideFloorSigned(lhs->first, constant),
                    llvm::divideFloorSigned(lhs->second, constant));
  return Interval(llvm::divideCeilSigned(lhs->first, constant),
                  llvm::divideCeilSigned(lhs->second, constant));
}

/// All values of a narrow integer type.
static MaybeInterval rangeOfType(Type type) {
  if (type.isInteger(1))
    return Interval(0, 1);
  if (type.isUnsignedInteger(8))
    return Interval(0, 255);
  if (type.isInteger(8))
    return Interval(-128, 127);
  if (type.isInteger(32))
    return Interval(std::numeric_limits<int32_t>::min(),
                    std::numeric_limits<int32_t>::max());
  return std::nullopt;
}

/// `range` if every value of it fits the type, else the type's own range.
static MaybeInterval fitted(MaybeInterval range, Type type) {
  MaybeInterval whole = rangeOfType(type);
  if (!whole)
    return range;
  if (range && range->first >= whole->first && range->second <= whole->second)
    return range;
  return whole;
}

static MaybeInterval unite(MaybeInterval a, MaybeInterval b) {
  if (!a || !b)
    return std::nullopt;
  return Interval(std::min(a->first, b->first), std::max(a->second, b->second));
}

static MaybeInterval rangeOfElements(Value tensor) {
  if (auto argument = dyn_cast<BlockArgument>(tensor)) {
    // The number of an iteration.
    auto fold = dyn_cast<FoldOp>(argument.getOwner()->getParentOp());
    if (!fold || argument.getArgNumber() != 0 || fold.getTrips() == 0)
      return std::nullopt;
    return Interval(0, fold.getTrips() - 1);
  }
  Operation *op = tensor.getDefiningOp();
  if (auto constant = dyn_cast_or_null<ConstantOp>(op)) {
    auto elements = dyn_cast<DenseIntElementsAttr>(constant.getValue());
    constexpr int64_t most = 64 * 1024;
    if (!elements || elements.empty() ||
        (!elements.isSplat() && elements.getNumElements() > most))
      return std::nullopt;
    bool isSigned = !isUnsigned(elements.getElementType());
    Interval range(std::numeric_limits<int64_t>::max(),
                   std::numeric_limits<int64_t>::min());
    auto take = [&](const APInt &element) {
      int64_t value =
          isSigned ? element.getSExtValue() : element.getZExtValue();
      range = {std::min(range.first, value), std::max(range.second, value)};
    };
    if (elements.isSplat())
      take(elements.getSplatValue<APInt>());
    else
      llvm::for_each(elements.getValues<APInt>(), take);
    return range;
  }
  auto isArg = [](ReductionKind kind) {
    return kind == ReductionKind::ArgMax || kind == ReductionKind::ArgMin;
  };
  if (auto reduce = dyn_cast_or_null<ReduceOp>(op);
      reduce && isArg(reduce.getKind()))
    return Interval(0, cast<RankedTensorType>(reduce.getOperand().getType())
                               .getDimSize(reduce.getAxes()[0]) -
                           1);
  if (auto generic = dyn_cast_or_null<GenericOp>(op);
      generic && generic.getKind() && isArg(*generic.getKind()))
    return Interval(0, generic.getReduceExtents()[0] - 1);
  return std::nullopt;
}

static MaybeInterval rangeOf(Value value, unsigned depth) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    unsigned number = argument.getArgNumber();
    int64_t extent = 0;
    if (auto scatter = dyn_cast<ScatterOp>(parent))
      extent = scatter.getExtents()[number];
    else if (auto generic = dyn_cast<GenericOp>(parent))
      extent =
          number < generic.getNumParallel()
              ? generic.getExtents()[number]
              : generic.getReduceExtents()[number - generic.getNumParallel()];
    else
      return std::nullopt;
    return extent > 0 ? MaybeInterval(Interval(0, extent - 1)) : std::nullopt;
  }
  Type type = value.getType();
  if (depth >= maxRangeDepth)
    return rangeOfType(type);
  auto operand = [&](unsigned i) {
    return rangeOf(value.getDefiningOp()->getOperand(i), depth + 1);
  };
  return llvm::TypeSwitch<Operation *, MaybeInterval>(value.getDefiningOp())
      .Case([&](ConstantOp op) -> MaybeInterval {
        auto number = dyn_cast<IntegerAttr>(op.getValue());
        if (!number)
          return std::nullopt;
        int64_t constant = isUnsigned(type) ? number.getValue().getZExtValue()
                                            : number.getValue().getSExtValue();
        return Interval(constant, constant);
      })
      .Case([&](ApplyOp op) {
        SmallVector<MaybeInterval> dims;
        for (unsigned i = 0; i < op->getNumOperands(); ++i)
          dims.push_back(operand(i));
        return rangeOfExpr(op.getMap().getResult(0), dims);
      })
      .Case([&](CastOp op) -> MaybeInterval {
        if (isa<FloatType>(op.getOperand().getType()))
          return rangeOfType(type);
        if (type.isInteger(1))
          return Interval(0, 1);
        return fitted(operand(0), type);
      })
      .Case([&](ReadOp op) {
        MaybeInterval range = rangeOfElements(op.getTensor());
        if (range && op.getGuard()) {
          auto guard = dyn_cast<IntegerAttr>(*op.getGuard());
          int64_t constant = !guard ? 0
                             : isUnsigned(type)
                                 ? guard.getValue().getZExtValue()
                                 : guard.getValue().getSExtValue();
          range = unite(range, Interval(constant, constant));
        }
        return fitted(range, type);
      })
      .Case([&](MinOp) -> MaybeInterval {
        MaybeInterval a = operand(0), b = operand(1);
        if (!a || !b)
          return rangeOfType(type);
        return Interval(std::min(a->first, b->first),
                        std::min(a->second, b->second));
      })
      .Case([&](MaxOp) -> MaybeInterval {
        MaybeInterval a = operand(0), b = operand(1);
        if (!a || !b)
          return rangeOfType(type);
        return Interval(std::max(a->first, b->first),
                        std::max(a->second, b->second));
      })
      .Case([&](ClampOp) -> MaybeInterval {
        MaybeInterval low = operand(1), high = operand(2), x = operand(0);
        if (!low || !high)
          return rangeOfType(type);
        // min(max(x, low), high)
        int64_t first = x ? std::max(x->first, low->first) : low->first;
        int64_t second = x ? std::max(x->second, low->second)
                           : std::numeric_limits<int64_t>::max();
        return Interval(std::min(first, high->first),
                        std::min(second, high->second));
      })
      .Case(
          [&](SelectOp) { return fitted(unite(operand(1), operand(2)), type); })
      .Case([&](AddOp) {
        MaybeInterval a = operand(0), b = operand(1);
        return fitted(a && b ? addRanges(*a, *b) : std::nullopt, type);
      })
      .Case([&](SubOp) {
        MaybeInterval a = operand(0), b = operand(1);
        MaybeInterval negated = b ? scaleRange(*b, -1) : std::nullopt;
        return fitted(a && negated ? addRanges(*a, *negated) : std::nullopt,
                      type);
      })
      .Case([&](ModOp) -> MaybeInterval {
        MaybeInterval divisor = operand(1);
        if (divisor && divisor->first > 0)
          return Interval(0, divisor->second - 1);
        return rangeOfType(type);
      })
      .Default([&](Operation *) { return rangeOfType(type); });
}

std::optional<std::pair<int64_t, int64_t>>
tdsl::tds::getIndexRange(Value index) {
  // An affine expression of the loop indices first, as a whole: its terms may
  // cancel.
  if (auto apply = index.getDefiningOp<ApplyOp>()) {
    Block *block = apply->getBlock();
    if (std::optional<AffineExpr> expr =
            getAffineIndex(index, block->getArguments())) {
      SmallVector<MaybeInterval> dims;
      for (BlockArgument argument : block->getArguments())
        dims.push_back(rangeOf(argument, 0));
      if (MaybeInterval range = rangeOfExpr(*expr, dims))
        return range;
    }
  }
  return rangeOf(index, 0);
}

bool tdsl::tds::isProvablyInside(ReadOp read) {
  for (auto [index, extent] :
       llvm::zip(read.getIndices(), read.getTensorType().getShape())) {
    MaybeInterval range = getIndexRange(index);
    if (!range || range->first < 0 || range->second >= extent)
      return false;
  }
  return true;
}
