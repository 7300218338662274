//===- RelaxMath.cpp - rewrites that IEEE arithmetic does not allow -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each rewrite belongs to one of the names that --fast-math takes. The rewrites
// that keep every bit are canonicalisation (lib/Dialect/TDS).
//
//===----------------------------------------------------------------------===//

#include "tdsl/Transforms/Passes.h"

#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include "llvm/ADT/APFloat.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;
using llvm::APFloat;

namespace tdsl {
#define GEN_PASS_DEF_RELAXMATHPASS
#include "tdsl/Transforms/Passes.h.inc"
} // namespace tdsl

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// The one float of a scalar constant or a splat.
static std::optional<APFloat> getNumber(Value value) {
  Attribute constant;
  if (!matchPattern(value, m_Constant(&constant)))
    return std::nullopt;
  if (auto splat = dyn_cast<SplatElementsAttr>(constant))
    constant = splat.getSplatValue<Attribute>();
  if (auto number = dyn_cast<FloatAttr>(constant))
    return number.getValue();
  return std::nullopt;
}

static bool isZero(Value value) {
  std::optional<APFloat> number = getNumber(value);
  return number && number->isZero();
}

static Value createNumber(PatternRewriter &rewriter, Location loc, Type type,
                          Attribute element) {
  auto value = cast<TypedAttr>(element);
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    value = SplatElementsAttr::get(tensor, element);
  return ConstantOp::create(rewriter, loc, value);
}

static Value createNumber(PatternRewriter &rewriter, Location loc, Type type,
                          const APFloat &number) {
  return createNumber(rewriter, loc, type,
                      FloatAttr::get(getElementType(type), number));
}

static Value createNumber(PatternRewriter &rewriter, Location loc, Type type,
                          int number) {
  Type element = getElementType(type);
  if (isa<FloatType>(element))
    return createNumber(rewriter, loc, type,
                        FloatAttr::get(element, double(number)));
  return createNumber(rewriter, loc, type, IntegerAttr::get(element, number));
}

static bool isFloat(Value value) {
  return isa<FloatType>(getElementType(value.getType()));
}

//===----------------------------------------------------------------------===//
// signed-zeros: the sign of a zero does not matter
//===----------------------------------------------------------------------===//

/// x + 0  ->  x
static LogicalResult addOfZero(AddOp op, PatternRewriter &rewriter) {
  for (auto [zero, other] : {std::pair(op.getRhs(), op.getLhs()),
                             std::pair(op.getLhs(), op.getRhs())})
    if (isZero(zero)) {
      rewriter.replaceOp(op, other);
      return success();
    }
  return failure();
}

/// x - 0  ->  x, and 0 - x  ->  -x
static LogicalResult subOfZero(SubOp op, PatternRewriter &rewriter) {
  if (isZero(op.getRhs())) {
    rewriter.replaceOp(op, op.getLhs());
    return success();
  }
  if (!isZero(op.getLhs()))
    return failure();
  rewriter.replaceOpWithNewOp<NegOp>(op, op.getType(), op.getRhs());
  return success();
}

//===----------------------------------------------------------------------===//
// finite: no value is a NaN or an infinity
//===----------------------------------------------------------------------===//

/// x - x  ->  0
static LogicalResult subOfItself(SubOp op, PatternRewriter &rewriter) {
  if (op.getLhs() != op.getRhs() || !isFloat(op.getLhs()))
    return failure();
  rewriter.replaceOp(op, createNumber(rewriter, op.getLoc(), op.getType(), 0));
  return success();
}

/// x / x  ->  1
static LogicalResult divByItself(DivOp op, PatternRewriter &rewriter) {
  if (op.getLhs() != op.getRhs())
    return failure();
  rewriter.replaceOp(op, createNumber(rewriter, op.getLoc(), op.getType(), 1));
  return success();
}

/// isnan(x)  ->  false, isfinite(x)  ->  true
template <typename Op, int answer>
static LogicalResult testOfKind(Op op, PatternRewriter &rewriter) {
  rewriter.replaceOp(op,
                     createNumber(rewriter, op.getLoc(), op.getType(), answer));
  return success();
}

/// x == x, x <= x and x >= x  ->  true; the others are false.
static LogicalResult compareWithItself(CompareOp op,
                                       PatternRewriter &rewriter) {
  if (op.getLhs() != op.getRhs() || !isFloat(op.getLhs()))
    return failure();
  bool answer = op.getPredicate() == ComparePredicate::EQ ||
                op.getPredicate() == ComparePredicate::LE ||
                op.getPredicate() == ComparePredicate::GE;
  rewriter.replaceOp(op,
                     createNumber(rewriter, op.getLoc(), op.getType(), answer));
  return success();
}

/// With signed-zeros: x * 0  ->  0
static LogicalResult mulByZero(MulOp op, PatternRewriter &rewriter) {
  for (Value factor : {op.getRhs(), op.getLhs()})
    if (isZero(factor)) {
      rewriter.replaceOp(op, factor);
      return success();
    }
  return failure();
}

/// With signed-zeros: 0 / x  ->  0
static LogicalResult divOfZero(DivOp op, PatternRewriter &rewriter) {
  if (!isZero(op.getLhs()))
    return failure();
  rewriter.replaceOp(op, op.getLhs());
  return success();
}

/// With signed-zeros: if x == 0 then 0 else x * y  ->  x * y. Derivatives guard
/// their products like that, for factors that are not finite.
static LogicalResult guardedProduct(SelectOp op, PatternRewriter &rewriter) {
  auto compare = op.getCondition().getDefiningOp<CompareOp>();
  auto product = op.getOnFalse().getDefiningOp<MulOp>();
  if (!compare || compare.getPredicate() != ComparePredicate::EQ || !product ||
      !isZero(op.getOnTrue()) || !isZero(compare.getRhs()) ||
      (product.getLhs() != compare.getLhs() &&
       product.getRhs() != compare.getLhs()))
    return failure();
  rewriter.replaceOp(op, product.getResult());
  return success();
}

//===----------------------------------------------------------------------===//
// reciprocal: a quotient may be a product with the reciprocal
//===----------------------------------------------------------------------===//

/// x / c  ->  x * (1 / c)
static LogicalResult divByConstant(DivOp op, PatternRewriter &rewriter) {
  std::optional<APFloat> divisor = getNumber(op.getRhs());
  if (!divisor || !divisor->isFiniteNonZero())
    return failure();
  APFloat inverse = APFloat::getOne(divisor->getSemantics());
  (void)inverse.divide(*divisor, APFloat::rmNearestTiesToEven);
  if (!inverse.isNormal())
    return failure();
  rewriter.replaceOpWithNewOp<MulOp>(
      op, op.getType(), op.getLhs(),
      createNumber(rewriter, op.getLoc(), op.getType(), inverse));
  return success();
}

/// x / broadcast(y)  ->  x * broadcast(1 / y), where y has fewer elements.
static LogicalResult divByBroadcast(DivOp op, PatternRewriter &rewriter) {
  auto broadcast = op.getRhs().getDefiningOp<BroadcastOp>();
  if (!broadcast || !broadcast->hasOneUse() || getNumber(op.getRhs()))
    return failure();
  auto from = cast<RankedTensorType>(broadcast.getOperand().getType());
  if (from.getNumElements() >=
      cast<RankedTensorType>(op.getType()).getNumElements())
    return failure();
  Value one = createNumber(rewriter, op.getLoc(), from, 1);
  Value inverse =
      DivOp::create(rewriter, op.getLoc(), from, one, broadcast.getOperand());
  Value spread = BroadcastOp::create(rewriter, op.getLoc(), broadcast.getType(),
                                     inverse, broadcast.getAxesAttr());
  rewriter.replaceOpWithNewOp<MulOp>(op, op.getType(), op.getLhs(), spread);
  return success();
}

//===----------------------------------------------------------------------===//
// reassociate: sums and products in any order
//===----------------------------------------------------------------------===//

/// (x + a) + b  ->  x + (a + b), and the same for products.
template <typename Op>
static LogicalResult joinConstants(Op op, PatternRewriter &rewriter) {
  Value outer = op.getRhs(), rest = op.getLhs();
  if (!getNumber(outer))
    std::swap(outer, rest);
  auto inner = rest.template getDefiningOp<Op>();
  std::optional<APFloat> b = getNumber(outer);
  if (!inner || !b || getNumber(rest))
    return failure();
  Value constant = inner.getRhs(), x = inner.getLhs();
  if (!getNumber(constant))
    std::swap(constant, x);
  std::optional<APFloat> a = getNumber(constant);
  if (!a)
    return failure();
  if constexpr (std::is_same_v<Op, AddOp>)
    (void)a->add(*b, APFloat::rmNearestTiesToEven);
  else
    (void)a->multiply(*b, APFloat::rmNearestTiesToEven);
  if (!a->isFinite() || a->isDenormal())
    return failure();
  rewriter.replaceOpWithNewOp<Op>(
      op, op.getType(), x,
      createNumber(rewriter, op.getLoc(), op.getType(), *a));
  return success();
}

namespace {

/// Counts patterns that are applied.
struct Counter : RewriterBase::Listener {
  void notifyPatternEnd(const Pattern &, LogicalResult status) override {
    count += succeeded(status);
  }
  int64_t count = 0;
};

struct RelaxMathPass : public tdsl::impl::RelaxMathPassBase<RelaxMathPass> {
  using tdsl::impl::RelaxMathPassBase<RelaxMathPass>::RelaxMathPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    if (signedZeros) {
      patterns.add(addOfZero);
      patterns.add(subOfZero);
    }
    if (finite) {
      patterns.add(subOfItself);
      patterns.add(divByItself);
      patterns.add(testOfKind<IsNanOp, false>);
      patterns.add(testOfKind<IsFiniteOp, true>);
      patterns.add(compareWithItself);
    }
    if (finite && signedZeros) {
      patterns.add(mulByZero);
      patterns.add(divOfZero);
      patterns.add(guardedProduct);
    }
    if (reciprocal) {
      patterns.add(divByConstant);
      patterns.add(divByBroadcast);
    }
    if (reassociate) {
      patterns.add(joinConstants<AddOp>);
      patterns.add(joinConstants<MulOp>);
    }
    Counter counter;
    GreedyRewriteConfig config;
    config.setListener(&counter);
    if (failed(
            applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
    numRewritten += counter.count;
  }
};

} // namespace
