//===- Folding.cpp - what folders and canonicalisation share -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Folding.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;
using reference::ElementKind;
using reference::Tensor;

/// The value of element 0 as a scalar.
static std::optional<Tensor> splatValue(Attribute value) {
  if (auto splat = dyn_cast<SplatElementsAttr>(value))
    return toTensor(splat.getSplatValue<Attribute>());
  if (isa<DenseElementsAttr>(value))
    return std::nullopt;
  return toTensor(value);
}

std::optional<Tensor> tds::evaluateOn(Operation *op, ArrayRef<Tensor> values) {
  SmallVector<const Tensor *> pointers;
  for (const Tensor &value : values)
    pointers.push_back(&value);
  llvm::Expected<Tensor> result =
      evaluateOperation(op, pointers, [](Value) { return nullptr; });
  if (result)
    return std::move(*result);
  llvm::consumeError(result.takeError());
  return std::nullopt;
}

OpFoldResult tds::foldElementwise(Operation *op, ArrayRef<Attribute> operands) {
  if (llvm::is_contained(operands, nullptr))
    return {};
  Type type = op->getResult(0).getType();
  SmallVector<Tensor> values;
  // Splats need one computation, whatever their size.
  for (Attribute operand : operands)
    if (std::optional<Tensor> value = splatValue(operand))
      values.push_back(std::move(*value));
  bool allSplat = values.size() == operands.size();
  if (!allSplat) {
    auto shaped = dyn_cast<ShapedType>(type);
    if (!shaped || shaped.getNumElements() > maxFoldedElements)
      return {};
    values.clear();
    for (Attribute operand : operands) {
      std::optional<Tensor> value = toTensor(operand);
      if (!value)
        return {};
      values.push_back(std::move(*value));
    }
  }
  std::optional<Tensor> result = evaluateOn(op, values);
  if (!result)
    return {};
  if (allSplat) {
    TypedAttr scalar = toAttribute(*result, getElementType(type));
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      return DenseElementsAttr::get(tensor, Attribute(scalar));
    return scalar;
  }
  return toAttribute(*result, type);
}

std::optional<APFloat> tds::getSplatFloat(Attribute value) {
  if (auto number = dyn_cast_or_null<FloatAttr>(value))
    return number.getValue();
  auto splat = dyn_cast_or_null<SplatElementsAttr>(value);
  if (splat && isa<FloatType>(splat.getElementType()))
    return splat.getSplatValue<APFloat>();
  return std::nullopt;
}

std::optional<APInt> tds::getSplatInt(Attribute value) {
  if (auto number = dyn_cast_or_null<IntegerAttr>(value))
    return number.getValue();
  auto splat = dyn_cast_or_null<SplatElementsAttr>(value);
  if (splat && isa<IntegerType>(splat.getElementType()))
    return splat.getSplatValue<APInt>();
  return std::nullopt;
}

bool tds::isFloat(Attribute value, double number) {
  std::optional<APFloat> splat = getSplatFloat(value);
  return splat && splat->isExactlyValue(number);
}

bool tds::isInt(Attribute value, int64_t number) {
  std::optional<APInt> splat = getSplatInt(value);
  return splat &&
         *splat == APInt(splat->getBitWidth(), number, /*isSigned=*/true,
                         /*implicitTrunc=*/true);
}

TypedAttr tds::splatAttr(Type type, double number) {
  Type element = getElementType(type);
  TypedAttr scalar;
  if (auto floatType = dyn_cast<FloatType>(element))
    scalar = FloatAttr::get(floatType, number);
  else if (element.isInteger(1))
    scalar = BoolAttr::get(type.getContext(), number != 0);
  else
    scalar = IntegerAttr::get(element, static_cast<int64_t>(number));
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return DenseElementsAttr::get(tensor, Attribute(scalar));
  return scalar;
}

bool tds::isLossless(Type from, Type to) {
  std::optional<ElementKind> a = getElementKind(from), b = getElementKind(to);
  if (!a || !b)
    return false;
  if (a == b)
    return true;
  // Bits of magnitude: of an integer without its sign, of a float's
  // significand.
  auto bits = [](ElementKind kind) {
    switch (kind) {
    case ElementKind::Bool:
      return 1;
    case ElementKind::I8:
      return 7;
    case ElementKind::U8:
    case ElementKind::BF16:
      return 8;
    case ElementKind::F16:
      return 11;
    case ElementKind::F32:
      return 24;
    case ElementKind::I32:
      return 31;
    case ElementKind::F64:
      return 53;
    case ElementKind::I64:
      break;
    }
    return 63;
  };
  if (reference::isFloat(*a)) {
    // f16 and bf16 do not hold each other.
    return reference::isFloat(*b) && *b > *a && *b != ElementKind::BF16;
  }
  if (*b == ElementKind::Bool ||
      (*b == ElementKind::U8 && *a == ElementKind::I8))
    return false;
  return bits(*a) <= bits(*b);
}

bool tds::isOrderFree(ReductionKind kind, Type element) {
  return !isa<FloatType>(element) ||
         (kind != ReductionKind::Sum && kind != ReductionKind::Prod);
}

static double largestOf(bool isDouble) {
  return isDouble ? std::numeric_limits<double>::max()
                  : std::numeric_limits<float>::max();
}

/// The sum of terms that are not all finite, or nothing where it depends on the
/// order: a NaN or two infinities always make NaN, and one infinity stays
/// unless the finite terms overflow to the other one on the way.
static std::optional<double> sumNonFinite(ArrayRef<double> terms,
                                          bool isDouble) {
  double infinite = 0, magnitude = 0;
  for (double term : terms) {
    if (std::isfinite(term))
      magnitude += std::fabs(term);
    else
      infinite += term;
  }
  if (std::isnan(infinite))
    return infinite;
  if (!(magnitude <= largestOf(isDouble) / 2))
    return std::nullopt;
  return infinite;
}

/// The sum of `terms`, or nothing where some order of adding them could round
/// in a double (a float). All partial sums are multiples of the lowest bit that
/// any term has, and none is larger than the sum of the magnitudes.
static std::optional<double> sumRow(ArrayRef<double> terms, bool isDouble) {
  if (!llvm::all_of(terms, [](double term) { return std::isfinite(term); }))
    return sumNonFinite(terms, isDouble);
  int lowest = std::numeric_limits<int>::max();
  for (double term : terms) {
    if (term == 0)
      continue;
    int exponent;
    double fraction = std::frexp(std::fabs(term), &exponent);
    auto significand = static_cast<uint64_t>(std::ldexp(fraction, 53));
    lowest = std::min(lowest, exponent - 53 + llvm::countr_zero(significand));
  }
  if (lowest < (isDouble ? -1022 : -149))
    return std::nullopt;
  double sum = 0, magnitude = 0;
  double limit = std::ldexp(1.0, isDouble ? 53 : 24);
  for (double term : terms) {
    if (term == 0)
      continue;
    sum += term;
    magnitude += std::fabs(std::ldexp(term, -lowest));
    if (!(magnitude <= limit))
      return std::nullopt;
  }
  if (magnitude != 0 && !(std::ldexp(magnitude, lowest) <= largestOf(isDouble)))
    return std::nullopt;
  return sum;
}

std::optional<Tensor> tds::sumExactly(const Tensor &terms,
                                      const Tensor *factors,
                                      ArrayRef<int64_t> shape) {
  Tensor result(terms.kind(), shape);
  if (result.numElements() == 0)
    return result;
  int64_t count = terms.numElements() / result.numElements();
  bool isDouble = terms.kind() == ElementKind::F64;
  SmallVector<double> row(count);
  for (int64_t i = 0; i < result.numElements(); ++i) {
    for (int64_t t = 0; t < count; ++t) {
      double term = terms.getDouble(i * count + t);
      if (factors) {
        double factor = factors->getDouble(i * count + t);
        double product = term * factor;
        bool isExact = std::isfinite(product)
                           ? std::fma(term, factor, -product) == 0
                           : !std::isfinite(term) || !std::isfinite(factor);
        if (!isExact)
          return std::nullopt;
        term = product;
      }
      row[t] = term;
    }
    std::optional<double> sum = sumRow(row, isDouble);
    if (!sum)
      return std::nullopt;
    result.set(i, *sum);
  }
  return result;
}
