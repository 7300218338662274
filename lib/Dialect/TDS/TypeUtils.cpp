//===- TypeUtils.cpp - element types and affine indices -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tdsl;

Type tds::getElementType(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.getElementType();
  return type;
}

Type tds::withElementType(Type type, Type element) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.clone(element);
  return element;
}

Type tds::getAccumulatorType(Type element) {
  if (element.isF16() || element.isBF16())
    return Float32Type::get(element.getContext());
  if (element.getIntOrFloatBitWidth() < 32)
    return IntegerType::get(element.getContext(), 32);
  return element;
}

bool tds::isUnsigned(Type element) {
  return element.isUnsignedInteger() || element.isInteger(1);
}

StringRef tds::getElementName(Type element) {
  if (element.isInteger(1))
    return "bool";
  if (element.isUnsignedInteger(8))
    return "u8";
  if (element.isInteger(8))
    return "i8";
  if (element.isInteger(32))
    return "i32";
  if (element.isInteger(64))
    return "i64";
  if (element.isF16())
    return "f16";
  if (element.isBF16())
    return "bf16";
  if (element.isF32())
    return "f32";
  if (element.isF64())
    return "f64";
  return "index";
}

int64_t tds::getElementBytes(Type element) {
  if (element.isIndex())
    return 8;
  return (element.getIntOrFloatBitWidth() + 7) / 8;
}

std::optional<AffineExpr> tds::getAffineIndex(Value index, ValueRange dims) {
  for (auto [position, dim] : llvm::enumerate(dims))
    if (index == dim)
      return getAffineDimExpr(position, index.getContext());
  Operation *op = index.getDefiningOp();
  if (auto constant = dyn_cast_or_null<ConstantOp>(op))
    return getAffineConstantExpr(
        cast<IntegerAttr>(constant.getValue()).getInt(), index.getContext());
  auto apply = dyn_cast_or_null<ApplyOp>(op);
  if (!apply)
    return std::nullopt;
  SmallVector<AffineExpr> operands;
  for (Value operand : apply.getOperands()) {
    std::optional<AffineExpr> expr = getAffineIndex(operand, dims);
    if (!expr)
      return std::nullopt;
    operands.push_back(*expr);
  }
  return apply.getMap().getResult(0).replaceDims(operands);
}
