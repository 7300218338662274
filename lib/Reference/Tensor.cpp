//===- Tensor.cpp - tensor values of the reference evaluator -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Reference/Tensor.h"

#include "tdsl/ScalarMath/Host.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstring>

using namespace tdsl;
using namespace tdsl::reference;

unsigned reference::bytesOf(ElementKind kind) {
  return withKind(kind, [](auto k) -> unsigned {
    return sizeof(typename Stored<decltype(k)::value>::Type);
  });
}

llvm::StringRef reference::nameOf(ElementKind kind) {
  static constexpr llvm::StringLiteral names[] = {
      "bool", "i8", "u8", "i32", "i64", "f16", "bf16", "f32", "f64"};
  return names[static_cast<unsigned>(kind)];
}

Tensor::Tensor(ElementKind kind, llvm::ArrayRef<int64_t> shape)
    : elementKind(kind), extents(shape.begin(), shape.end()), count(1) {
  for (int64_t extent : shape)
    count *= extent;
  bytes.resize(static_cast<size_t>(count) * bytesOf(kind));
}

Tensor Tensor::splat(ElementKind kind, llvm::ArrayRef<int64_t> shape,
                     double value) {
  Tensor result(kind, shape);
  for (int64_t i = 0; i < result.count; ++i)
    result.set(i, value);
  return result;
}

Tensor Tensor::splat(ElementKind kind, llvm::ArrayRef<int64_t> shape,
                     int64_t value) {
  Tensor result(kind, shape);
  for (int64_t i = 0; i < result.count; ++i)
    result.set(i, value);
  return result;
}

Tensor Tensor::of(ElementKind kind, llvm::ArrayRef<int64_t> shape,
                  llvm::ArrayRef<double> values) {
  Tensor result(kind, shape);
  assert(static_cast<int64_t>(values.size()) == result.count);
  for (int64_t i = 0; i < result.count; ++i)
    result.set(i, values[i]);
  return result;
}

double Tensor::getDouble(int64_t i) const {
  return withKind(elementKind, [&](auto k) -> double {
    constexpr ElementKind kind = decltype(k)::value;
    auto value = elements<typename Stored<kind>::Type>()[i];
    if constexpr (kind == ElementKind::F16)
      return scalarmath::fromF16(value);
    else if constexpr (kind == ElementKind::BF16)
      return scalarmath::fromBF16(value);
    else
      return static_cast<double>(value);
  });
}

int64_t Tensor::getInt(int64_t i) const {
  if (isFloat(elementKind))
    return scalarmath::toI64(getDouble(i));
  return withKind(elementKind, [&](auto k) -> int64_t {
    return static_cast<int64_t>(
        elements<typename Stored<decltype(k)::value>::Type>()[i]);
  });
}

void Tensor::set(int64_t i, double value) {
  using K = ElementKind;
  switch (elementKind) {
  case K::Bool:
    elements<uint8_t>()[i] = value != 0;
    return;
  case K::I8:
    elements<int8_t>()[i] = scalarmath::toI8(value);
    return;
  case K::U8:
    elements<uint8_t>()[i] = scalarmath::toU8(value);
    return;
  case K::I32:
    elements<int32_t>()[i] = scalarmath::toI32(value);
    return;
  case K::I64:
    elements<int64_t>()[i] = scalarmath::toI64(value);
    return;
  case K::F16:
    elements<uint16_t>()[i] = scalarmath::toF16(value);
    return;
  case K::BF16:
    elements<uint16_t>()[i] = scalarmath::toBF16(value);
    return;
  case K::F32:
    elements<float>()[i] = static_cast<float>(value);
    return;
  case K::F64:
    elements<double>()[i] = value;
    return;
  }
}

void Tensor::set(int64_t i, int64_t value) {
  using K = ElementKind;
  switch (elementKind) {
  case K::Bool:
    elements<uint8_t>()[i] = value != 0;
    return;
  case K::I8:
  case K::U8:
    elements<uint8_t>()[i] = static_cast<uint8_t>(value);
    return;
  case K::I32:
    elements<int32_t>()[i] = static_cast<int32_t>(value);
    return;
  case K::I64:
    elements<int64_t>()[i] = value;
    return;
  case K::F16:
    elements<uint16_t>()[i] = scalarmath::toF16(value);
    return;
  case K::BF16:
    elements<uint16_t>()[i] = scalarmath::toBF16(value);
    return;
  case K::F32:
    elements<float>()[i] = static_cast<float>(value);
    return;
  case K::F64:
    elements<double>()[i] = static_cast<double>(value);
    return;
  }
}

Tensor Tensor::convertedTo(ElementKind kind) const {
  if (kind == elementKind)
    return *this;
  Tensor result(kind, extents);
  for (int64_t i = 0; i < count; ++i) {
    if (isFloat(elementKind))
      result.set(i, getDouble(i));
    else
      result.set(i, getInt(i));
  }
  return result;
}

Tensor Tensor::reshapedTo(llvm::ArrayRef<int64_t> shape) const {
  Tensor result = *this;
  result.extents.assign(shape.begin(), shape.end());
  return result;
}

static void printElement(llvm::raw_ostream &os, const Tensor &tensor,
                         int64_t i) {
  if (tensor.kind() == ElementKind::Bool) {
    os << (tensor.getInt(i) ? "true" : "false");
    return;
  }
  if (!isFloat(tensor.kind())) {
    os << tensor.getInt(i);
    return;
  }
  double value = tensor.getDouble(i);
  if (std::isnan(value)) {
    os << "nan";
    return;
  }
  int digits = tensor.kind() == ElementKind::F64   ? 17
               : tensor.kind() == ElementKind::F32 ? 9
                                                   : 5;
  os << llvm::format("%.*g", digits, value);
}

static int64_t printAxis(llvm::raw_ostream &os, const Tensor &tensor,
                         unsigned axis, int64_t next) {
  if (axis == tensor.shape().size()) {
    printElement(os, tensor, next);
    return next + 1;
  }
  os << '[';
  for (int64_t i = 0; i < tensor.shape()[axis]; ++i) {
    if (i)
      os << ", ";
    next = printAxis(os, tensor, axis + 1, next);
  }
  os << ']';
  return next;
}

void Tensor::print(llvm::raw_ostream &os) const {
  os << nameOf(elementKind);
  if (!extents.empty()) {
    os << '[';
    for (size_t i = 0; i < extents.size(); ++i)
      os << (i ? ", " : "") << extents[i];
    os << ']';
  }
  os << ' ';
  printAxis(os, *this, 0, 0);
}

bool reference::sameBits(const Tensor &a, const Tensor &b) {
  if (a.kind() != b.kind() || a.shape() != b.shape())
    return false;
  if (!isFloat(a.kind()))
    return a == b;
  unsigned size = bytesOf(a.kind());
  for (int64_t i = 0; i < a.numElements(); ++i)
    if (std::memcmp(a.data() + i * size, b.data() + i * size, size) != 0 &&
        !(std::isnan(a.getDouble(i)) && std::isnan(b.getDouble(i))))
      return false;
  return true;
}
