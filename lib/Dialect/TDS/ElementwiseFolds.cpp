//===- ElementwiseFolds.cpp - folders of arithmetic and mathematics -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants are computed by the evaluator's scalar functions. Identities of
// floats are used only where IEEE 754 makes them exact: `x + -0.0`, `x - 0.0`,
// `x * 1`, `x / 1` are `x`; `x + 0.0` (for x = -0.0) and `x * 0.0` are not.
//
//===----------------------------------------------------------------------===//

#include "Folding.h"

using namespace mlir;
using namespace tdsl::tds;

OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  if (isInt(adaptor.getRhs(), 0) || isFloat(adaptor.getRhs(), -0.0))
    return getLhs();
  return foldElementwise(*this, adaptor.getOperands());
}

OpFoldResult SubOp::fold(FoldAdaptor adaptor) {
  if (isInt(adaptor.getRhs(), 0) || isFloat(adaptor.getRhs(), 0.0))
    return getLhs();
  if (getLhs() == getRhs() && !hasFloatElements(getLhs()))
    return splatAttr(getType(), 0);
  return foldElementwise(*this, adaptor.getOperands());
}

OpFoldResult MulOp::fold(FoldAdaptor adaptor) {
  if (isInt(adaptor.getRhs(), 1) || isFloat(adaptor.getRhs(), 1.0))
    return getLhs();
  if (isInt(adaptor.getRhs(), 0))
    return splatAttr(getType(), 0);
  return foldElementwise(*this, adaptor.getOperands());
}

OpFoldResult DivOp::fold(FoldAdaptor adaptor) {
  if (isFloat(adaptor.getRhs(), 1.0))
    return getLhs();
  return foldElementwise(*this, adaptor.getOperands());
}

OpFoldResult FloorDivOp::fold(FoldAdaptor adaptor) {
  if (isInt(adaptor.getRhs(), 1))
    return getLhs();
  if (isInt(adaptor.getRhs(), 0) || isInt(adaptor.getLhs(), 0))
    return splatAttr(getType(), 0);
  return foldElementwise(*this, adaptor.getOperands());
}

OpFoldResult ModOp::fold(FoldAdaptor adaptor) {
  if (isInt(adaptor.getRhs(), 1) || isInt(adaptor.getRhs(), 0) ||
      isInt(adaptor.getLhs(), 0))
    return splatAttr(getType(), 0);
  return foldElementwise(*this, adaptor.getOperands());
}

OpFoldResult PowOp::fold(FoldAdaptor adaptor) {
  if (isInt(adaptor.getRhs(), 1) || isFloat(adaptor.getRhs(), 1.0))
    return getLhs();
  // NaN ** 0 is 1 too.
  if (isInt(adaptor.getRhs(), 0) || isFloat(adaptor.getRhs(), 0.0) ||
      isFloat(adaptor.getRhs(), -0.0))
    return splatAttr(getType(), 1);
  return foldElementwise(*this, adaptor.getOperands());
}

/// max(x, x) and max(max(x, y), y), and the same for min.
template <typename Op>
static OpFoldResult foldExtremum(Op op, ArrayRef<Attribute> operands) {
  Value lhs = op.getLhs(), rhs = op.getRhs();
  if (lhs == rhs)
    return lhs;
  for (auto [inner, other] : {std::pair(lhs, rhs), std::pair(rhs, lhs)})
    if (auto same = inner.getDefiningOp<Op>())
      if (same.getLhs() == other || same.getRhs() == other)
        return same.getResult();
  return foldElementwise(op, operands);
}

OpFoldResult MaxOp::fold(FoldAdaptor adaptor) {
  return foldExtremum(*this, adaptor.getOperands());
}
OpFoldResult MinOp::fold(FoldAdaptor adaptor) {
  return foldExtremum(*this, adaptor.getOperands());
}

OpFoldResult ClampOp::fold(FoldAdaptor adaptor) {
  return foldElementwise(*this, adaptor.getOperands());
}

OpFoldResult NegOp::fold(FoldAdaptor adaptor) {
  if (auto inner = getOperand().getDefiningOp<NegOp>())
    return inner.getOperand();
  return foldElementwise(*this, adaptor.getOperands());
}

OpFoldResult AbsOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getDefiningOp<AbsOp>())
    return getOperand();
  // The negation of a u8 wraps.
  auto inner = getOperand().getDefiningOp<NegOp>();
  if (inner && !isUnsigned(getElementType(getType()))) {
    setOperand(inner.getOperand());
    return getResult();
  }
  return foldElementwise(*this, adaptor.getOperands());
}

OpFoldResult SignOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getDefiningOp<SignOp>())
    return getOperand();
  return foldElementwise(*this, adaptor.getOperands());
}

/// floor, ceil and round leave what one of them gave.
template <typename Op>
static OpFoldResult foldRounding(Op op, ArrayRef<Attribute> operands) {
  if (isa_and_nonnull<FloorOp, CeilOp, RoundOp>(
          op.getOperand().getDefiningOp()))
    return op.getOperand();
  return foldElementwise(op, operands);
}

OpFoldResult FloorOp::fold(FoldAdaptor adaptor) {
  return foldRounding(*this, adaptor.getOperands());
}
OpFoldResult CeilOp::fold(FoldAdaptor adaptor) {
  return foldRounding(*this, adaptor.getOperands());
}
OpFoldResult RoundOp::fold(FoldAdaptor adaptor) {
  return foldRounding(*this, adaptor.getOperands());
}

#define TDSL_FOLD(Op)                                                          \
  OpFoldResult Op::fold(FoldAdaptor adaptor) {                                 \
    return foldElementwise(*this, adaptor.getOperands());                      \
  }
TDSL_FOLD(SqrtOp)
TDSL_FOLD(RsqrtOp)
TDSL_FOLD(ExpOp)
TDSL_FOLD(Expm1Op)
TDSL_FOLD(LogOp)
TDSL_FOLD(Log1pOp)
TDSL_FOLD(TanhOp)
TDSL_FOLD(SigmoidOp)
TDSL_FOLD(ErfOp)
TDSL_FOLD(SinOp)
TDSL_FOLD(CosOp)
#undef TDSL_FOLD

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }
