//===- ConstantData.cpp - attributes as tensor values and back -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Dialect/TDS/Evaluate.h"

#include <cstring>

using namespace mlir;
using namespace tdsl;
using reference::ElementKind;
using reference::Tensor;

std::optional<ElementKind> tds::getElementKind(Type element, bool f64) {
  if (element.isIndex())
    return ElementKind::I64;
  if (element.isInteger(1))
    return ElementKind::Bool;
  if (element.isUnsignedInteger(8))
    return ElementKind::U8;
  if (element.isSignlessInteger(8))
    return ElementKind::I8;
  if (element.isSignlessInteger(32))
    return ElementKind::I32;
  if (element.isSignlessInteger(64))
    return ElementKind::I64;
  if (!isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(element))
    return std::nullopt;
  if (f64 || element.isF64())
    return ElementKind::F64;
  if (element.isF32())
    return ElementKind::F32;
  return element.isF16() ? ElementKind::F16 : ElementKind::BF16;
}

Type tds::getElementType(MLIRContext *context, ElementKind kind) {
  switch (kind) {
  case ElementKind::Bool:
    return IntegerType::get(context, 1);
  case ElementKind::I8:
    return IntegerType::get(context, 8);
  case ElementKind::U8:
    return IntegerType::get(context, 8, IntegerType::Unsigned);
  case ElementKind::I32:
    return IntegerType::get(context, 32);
  case ElementKind::I64:
    return IntegerType::get(context, 64);
  case ElementKind::F16:
    return Float16Type::get(context);
  case ElementKind::BF16:
    return BFloat16Type::get(context);
  case ElementKind::F32:
    return Float32Type::get(context);
  case ElementKind::F64:
    break;
  }
  return Float64Type::get(context);
}

/// Stores the low bytes of `bits` as element `i`.
static void storeBits(Tensor &tensor, int64_t i, const APInt &bits) {
  uint64_t word = bits.getZExtValue();
  unsigned size = reference::bytesOf(tensor.kind());
  std::memcpy(tensor.data() + i * size, &word, size);
}

std::optional<Tensor> tds::toTensor(Attribute value) {
  if (auto number = dyn_cast_or_null<FloatAttr>(value)) {
    std::optional<ElementKind> kind = getElementKind(number.getType());
    if (!kind)
      return std::nullopt;
    Tensor result(*kind, {});
    storeBits(result, 0, number.getValue().bitcastToAPInt());
    return result;
  }
  if (auto number = dyn_cast_or_null<IntegerAttr>(value)) {
    std::optional<ElementKind> kind = getElementKind(number.getType());
    if (!kind)
      return std::nullopt;
    Tensor result(*kind, {});
    storeBits(result, 0, number.getValue());
    return result;
  }
  auto elements = dyn_cast_or_null<DenseElementsAttr>(value);
  if (!elements)
    return std::nullopt;
  std::optional<ElementKind> kind = getElementKind(elements.getElementType());
  if (!kind)
    return std::nullopt;
  Tensor result(*kind, elements.getType().getShape());
  unsigned size = reference::bytesOf(*kind);
  if (*kind == ElementKind::Bool) {
    if (elements.isSplat())
      std::memset(result.data(), elements.getSplatValue<bool>(),
                  result.numBytes());
    else
      llvm::copy(elements.getValues<bool>(), result.data());
  } else if (elements.isSplat()) {
    for (int64_t i = 0; i < result.numElements(); ++i)
      std::memcpy(result.data() + i * size, elements.getRawData().data(), size);
  } else if (result.numBytes()) {
    llvm::copy(elements.getRawData(), reinterpret_cast<char *>(result.data()));
  }
  return result;
}

TypedAttr tds::toAttribute(const Tensor &tensor, Type type) {
  unsigned size = reference::bytesOf(tensor.kind());
  if (auto tensorType = dyn_cast<RankedTensorType>(type)) {
    bool splat = tensor.numElements() > 0;
    for (int64_t i = 1; splat && i < tensor.numElements(); ++i)
      splat = std::memcmp(tensor.data(), tensor.data() + i * size, size) == 0;
    if (tensor.kind() == ElementKind::Bool) {
      SmallVector<bool> values(
          tensor.data(), tensor.data() + (splat ? 1 : tensor.numElements()));
      return DenseElementsAttr::get(tensorType, ArrayRef<bool>(values));
    }
    ArrayRef<char> raw(reinterpret_cast<const char *>(tensor.data()),
                       splat ? size : tensor.numBytes());
    return DenseElementsAttr::getFromRawBuffer(tensorType, raw);
  }
  uint64_t word = 0;
  std::memcpy(&word, tensor.data(), size);
  if (auto floatType = dyn_cast<FloatType>(type))
    return FloatAttr::get(floatType, APFloat(floatType.getFloatSemantics(),
                                             APInt(size * 8, word)));
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  return IntegerAttr::get(
      type, APInt(width, word, /*isSigned=*/false, /*implicitTrunc=*/true));
}
