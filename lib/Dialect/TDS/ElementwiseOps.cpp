//===- ElementwiseOps.cpp - verifiers and type inference of element operations
//-*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tdsl::tds;

static LogicalResult inferBool(ValueRange operands,
                               SmallVectorImpl<Type> &types) {
  Type type = operands.front().getType();
  types.push_back(
      withElementType(type, IntegerType::get(type.getContext(), 1)));
  return success();
}

LogicalResult IsNanOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                        ValueRange operands, DictionaryAttr,
                                        OpaqueProperties, RegionRange,
                                        SmallVectorImpl<Type> &types) {
  return inferBool(operands, types);
}

LogicalResult IsFiniteOp::inferReturnTypes(MLIRContext *,
                                           std::optional<Location>,
                                           ValueRange operands, DictionaryAttr,
                                           OpaqueProperties, RegionRange,
                                           SmallVectorImpl<Type> &types) {
  return inferBool(operands, types);
}

LogicalResult CompareOp::inferReturnTypes(MLIRContext *,
                                          std::optional<Location>,
                                          ValueRange operands, DictionaryAttr,
                                          OpaqueProperties, RegionRange,
                                          SmallVectorImpl<Type> &types) {
  return inferBool(operands, types);
}

LogicalResult CompareOp::verify() {
  bool ordered = getPredicate() != ComparePredicate::EQ &&
                 getPredicate() != ComparePredicate::NE;
  if (ordered && getElementType(getLhs().getType()).isInteger(1))
    return emitOpError(
        "orders bools; they compare by eq and ne only (compare_c1)");
  return success();
}

LogicalResult CastOp::verify() {
  Type from = getElementType(getOperand().getType());
  Type to = getElementType(getResult().getType());
  if ((from.isIndex() && !to.isIntOrIndex()) ||
      (to.isIndex() && !from.isIntOrIndex()))
    return emitOpError("converts between index and ")
           << (from.isIndex() ? to : from) << "; index goes with integers only";
  return success();
}

LogicalResult ConstantOp::verify() {
  if (getValue().getType() != getType())
    return emitOpError("has a value of type ")
           << getValue().getType() << ", expected the result type "
           << getType();
  if (isa<RankedTensorType>(getType()) && !isa<DenseElementsAttr>(getValue()))
    return emitOpError("of tensor type needs a dense value");
  return success();
}

ConstantOp ConstantOp::createSplat(OpBuilder &builder, Location loc, Type type,
                                   double value) {
  Type element = getElementType(type);
  TypedAttr scalar;
  if (auto floatType = dyn_cast<FloatType>(element))
    scalar = FloatAttr::get(floatType, value);
  else if (element.isInteger(1))
    scalar = BoolAttr::get(builder.getContext(), value != 0);
  else
    scalar = IntegerAttr::get(element, static_cast<int64_t>(value));
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return create(builder, loc,
                  TypedAttr(DenseElementsAttr::get(tensor, Attribute(scalar))));
  return create(builder, loc, scalar);
}
