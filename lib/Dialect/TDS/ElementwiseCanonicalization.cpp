//===- ElementwiseCanonicalization.cpp - rewrites of element ops -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every rewrite keeps the bits of every result (the sign and payload of a NaN
// apart), also for infinities, zeros of both signs and subnormals.
//
//===----------------------------------------------------------------------===//

#include "Folding.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace tdsl::tds;

/// x + -y  ->  x - y
static LogicalResult addOfNeg(AddOp op, PatternRewriter &rewriter) {
  Value lhs = op.getLhs(), rhs = op.getRhs();
  if (!rhs.getDefiningOp<NegOp>())
    std::swap(lhs, rhs);
  auto neg = rhs.getDefiningOp<NegOp>();
  if (!neg)
    return failure();
  rewriter.replaceOpWithNewOp<SubOp>(op, op.getType(), lhs, neg.getOperand());
  return success();
}

void AddOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                        MLIRContext *) {
  patterns.add(addOfNeg);
}

/// x - -y  ->  x + y
static LogicalResult subOfNeg(SubOp op, PatternRewriter &rewriter) {
  auto neg = op.getRhs().getDefiningOp<NegOp>();
  if (!neg)
    return failure();
  rewriter.replaceOpWithNewOp<AddOp>(op, op.getType(), op.getLhs(),
                                     neg.getOperand());
  return success();
}

/// -0.0 - x  ->  -x, and 0 - x for integers. (0.0 - x differs for x = 0.)
static LogicalResult subFromZero(SubOp op, PatternRewriter &rewriter) {
  Attribute zero;
  if (!matchPattern(op.getLhs(), m_Constant(&zero)) ||
      !(isInt(zero, 0) || isFloat(zero, -0.0)))
    return failure();
  rewriter.replaceOpWithNewOp<NegOp>(op, op.getType(), op.getRhs());
  return success();
}

void SubOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                        MLIRContext *) {
  patterns.add(subOfNeg);
  patterns.add(subFromZero);
}

/// -x * -y  ->  x * y, and the same for quotients.
template <typename Op>
static LogicalResult twoNegations(Op op, PatternRewriter &rewriter) {
  auto lhs = op.getLhs().template getDefiningOp<NegOp>();
  auto rhs = op.getRhs().template getDefiningOp<NegOp>();
  if (!lhs || !rhs)
    return failure();
  rewriter.replaceOpWithNewOp<Op>(op, op.getType(), lhs.getOperand(),
                                  rhs.getOperand());
  return success();
}

void MulOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                        MLIRContext *) {
  patterns.add(twoNegations<MulOp>);
}

/// x / 2^k  ->  x * 2^-k: both round the same real number once.
static LogicalResult divByPowerOfTwo(DivOp op, PatternRewriter &rewriter) {
  Attribute divisor;
  if (!matchPattern(op.getRhs(), m_Constant(&divisor)))
    return failure();
  std::optional<APFloat> value = getSplatFloat(divisor);
  APFloat inverse(APFloat::IEEEsingle());
  if (!value || !value->getExactInverse(&inverse))
    return failure();
  Value factor =
      ConstantOp::create(rewriter, op.getLoc(),
                         splatAttr(op.getType(), inverse.convertToDouble()));
  rewriter.replaceOpWithNewOp<MulOp>(op, op.getType(), op.getLhs(), factor);
  return success();
}

void DivOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                        MLIRContext *) {
  patterns.add(twoNegations<DivOp>);
  patterns.add(divByPowerOfTwo);
}

/// x ** 2, 3 and 4 are products; 0 and 1 fold.
static LogicalResult literalPower(PowOp op, PatternRewriter &rewriter) {
  std::optional<int> exponent = getLiteralExponent(op);
  Attribute literal;
  for (int i = 2; i <= 4 && !exponent; ++i)
    if (matchPattern(op.getRhs(), m_Constant(&literal)) && isInt(literal, i))
      exponent = i;
  if (!exponent || *exponent < 2)
    return failure();
  Value x = op.getLhs();
  Value square = MulOp::create(rewriter, op.getLoc(), op.getType(), x, x);
  if (*exponent == 2)
    rewriter.replaceOp(op, square);
  else
    rewriter.replaceOpWithNewOp<MulOp>(op, op.getType(), square,
                                       *exponent == 3 ? x : square);
  return success();
}

void PowOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                        MLIRContext *) {
  patterns.add(literalPower);
}

/// The predicate with the operands swapped.
static ComparePredicate swapped(ComparePredicate predicate) {
  switch (predicate) {
  case ComparePredicate::LT:
    return ComparePredicate::GT;
  case ComparePredicate::LE:
    return ComparePredicate::GE;
  case ComparePredicate::GT:
    return ComparePredicate::LT;
  case ComparePredicate::GE:
    return ComparePredicate::LE;
  default:
    return predicate;
  }
}

/// A constant goes to the right.
static LogicalResult constantToRight(CompareOp op, PatternRewriter &rewriter) {
  if (!matchPattern(op.getLhs(), m_Constant()) ||
      matchPattern(op.getRhs(), m_Constant()))
    return failure();
  rewriter.replaceOpWithNewOp<CompareOp>(
      op, op.getType(), swapped(op.getPredicate()), op.getRhs(), op.getLhs());
  return success();
}

/// b == true -> b, b == false -> not b.
static LogicalResult compareOfBool(CompareOp op, PatternRewriter &rewriter) {
  Attribute constant;
  if (!getElementType(op.getLhs().getType()).isInteger(1) ||
      !matchPattern(op.getRhs(), m_Constant(&constant)))
    return failure();
  bool isTrue = isInt(constant, 1);
  if (!isTrue && !isInt(constant, 0))
    return failure();
  if (isTrue == (op.getPredicate() == ComparePredicate::EQ))
    rewriter.replaceOp(op, op.getLhs());
  else
    rewriter.replaceOpWithNewOp<NotOp>(op, op.getType(), op.getLhs());
  return success();
}

void CompareOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *) {
  patterns.add(constantToRight);
  patterns.add(compareOfBool);
}

/// not (a == b) -> a != b; the ordered comparisons of integers too (a NaN makes
/// both of a pair false).
static LogicalResult notOfCompare(NotOp op, PatternRewriter &rewriter) {
  auto compare = op.getOperand().getDefiningOp<CompareOp>();
  if (!compare)
    return failure();
  ComparePredicate predicate;
  bool isEquality = true;
  switch (compare.getPredicate()) {
  case ComparePredicate::EQ:
    predicate = ComparePredicate::NE;
    break;
  case ComparePredicate::NE:
    predicate = ComparePredicate::EQ;
    break;
  case ComparePredicate::LT:
    predicate = ComparePredicate::GE;
    isEquality = false;
    break;
  case ComparePredicate::LE:
    predicate = ComparePredicate::GT;
    isEquality = false;
    break;
  case ComparePredicate::GT:
    predicate = ComparePredicate::LE;
    isEquality = false;
    break;
  case ComparePredicate::GE:
    predicate = ComparePredicate::LT;
    isEquality = false;
    break;
  }
  if (!isEquality && hasFloatElements(compare.getLhs()))
    return failure();
  rewriter.replaceOpWithNewOp<CompareOp>(op, op.getType(), predicate,
                                         compare.getLhs(), compare.getRhs());
  return success();
}

void NotOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                        MLIRContext *) {
  patterns.add(notOfCompare);
}
