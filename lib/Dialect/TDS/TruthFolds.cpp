//===- TruthFolds.cpp - folders of truth values and conversions -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Folding.h"

using namespace mlir;
using namespace tdsl::tds;

OpFoldResult AndOp::fold(FoldAdaptor adaptor) {
  if (isInt(adaptor.getRhs(), 1) || getLhs() == getRhs())
    return getLhs();
  if (isInt(adaptor.getRhs(), 0))
    return splatAttr(getType(), 0);
  return foldElementwise(*this, adaptor.getOperands());
}

OpFoldResult OrOp::fold(FoldAdaptor adaptor) {
  if (isInt(adaptor.getRhs(), 0) || getLhs() == getRhs())
    return getLhs();
  if (isInt(adaptor.getRhs(), 1))
    return splatAttr(getType(), 1);
  return foldElementwise(*this, adaptor.getOperands());
}

OpFoldResult NotOp::fold(FoldAdaptor adaptor) {
  if (auto inner = getOperand().getDefiningOp<NotOp>())
    return inner.getOperand();
  return foldElementwise(*this, adaptor.getOperands());
}

/// A number that came from an integer or a bool is finite; only f16 overflows.
static bool isConvertedInteger(Value value) {
  auto cast = value.getDefiningOp<CastOp>();
  return cast && !hasFloatElements(cast.getOperand()) &&
         (!getElementType(value.getType()).isF16() ||
          isLossless(getElementType(cast.getOperand().getType()),
                     getElementType(value.getType())));
}

OpFoldResult IsNanOp::fold(FoldAdaptor adaptor) {
  if (isConvertedInteger(getOperand()))
    return splatAttr(getType(), 0);
  return foldElementwise(*this, adaptor.getOperands());
}

OpFoldResult IsFiniteOp::fold(FoldAdaptor adaptor) {
  if (isConvertedInteger(getOperand()))
    return splatAttr(getType(), 1);
  return foldElementwise(*this, adaptor.getOperands());
}

OpFoldResult CompareOp::fold(FoldAdaptor adaptor) {
  if (getLhs() == getRhs()) {
    // A NaN makes every comparison but `ne` false, so lt and gt are false for
    // floats too.
    bool isStrict = getPredicate() == ComparePredicate::LT ||
                    getPredicate() == ComparePredicate::GT;
    if (isStrict)
      return splatAttr(getType(), 0);
    if (!hasFloatElements(getLhs()))
      return splatAttr(getType(), getPredicate() != ComparePredicate::NE);
  }
  return foldElementwise(*this, adaptor.getOperands());
}

OpFoldResult SelectOp::fold(FoldAdaptor adaptor) {
  if (getOnTrue() == getOnFalse())
    return getOnTrue();
  if (isInt(adaptor.getCondition(), 1))
    return getOnTrue();
  if (isInt(adaptor.getCondition(), 0))
    return getOnFalse();
  if (getElementType(getType()).isInteger(1) && isInt(adaptor.getOnTrue(), 1) &&
      isInt(adaptor.getOnFalse(), 0))
    return getCondition();
  if (auto inverted = getCondition().getDefiningOp<NotOp>()) {
    Value onTrue = getOnTrue(), onFalse = getOnFalse();
    getConditionMutable().assign(inverted.getOperand());
    getOnTrueMutable().assign(onFalse);
    getOnFalseMutable().assign(onTrue);
    return getResult();
  }
  return foldElementwise(*this, adaptor.getOperands());
}

//===----------------------------------------------------------------------===//
// CastOp
//===----------------------------------------------------------------------===//

/// Whether converting `from` to `to` gives the same as by way of `between`.
static bool mayShorten(Type from, Type between, Type to) {
  bool fromInt = !isa<FloatType>(from), betweenInt = !isa<FloatType>(between),
       toInt = !isa<FloatType>(to);
  if (isLossless(from, between)) {
    // An integer that went through a float saturates, one that did not wraps.
    if (fromInt && !betweenInt && toInt && !to.isInteger(1))
      return isLossless(from, to);
    return true;
  }
  // Integers that shrink twice wrap twice.
  auto width = [](Type type) {
    return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  };
  return fromInt && betweenInt && toInt && !to.isInteger(1) &&
         !between.isInteger(1) && width(to) <= width(between);
}

OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  if (auto inner = getOperand().getDefiningOp<CastOp>()) {
    Type from = getElementType(inner.getOperand().getType());
    Type between = getElementType(getOperand().getType());
    Type to = getElementType(getType());
    bool allowed = !(from.isIndex() && isa<FloatType>(to)) &&
                   !(to.isIndex() && isa<FloatType>(from));
    if (allowed && mayShorten(from, between, to)) {
      setOperand(inner.getOperand());
      return getResult();
    }
  }
  // A known index of a gather stays one that came from data while the guard is
  // there, so that it is still reported where it is out of range.
  if (getType().isIndex())
    for (Operation *user : getResult().getUsers())
      if (auto read = dyn_cast<ReadOp>(user);
          isa<ApplyOp>(user) || (read && read.getGuard()))
        return {};
  return foldElementwise(*this, adaptor.getOperands());
}
