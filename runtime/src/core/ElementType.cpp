//===- ElementType.cpp - element types of tensors and files -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core/ElementType.h"

#include <cmath>
#include <cstring>

namespace tdsrt {

namespace {
struct TypeFacts {
  const char *name;
  unsigned size;
  char kind; // b(ool), i(nt), u(nsigned), f(loat)
};
constexpr TypeFacts facts[] = {
    {"bool", 1, 'b'}, {"i8", 1, 'i'},  {"u8", 1, 'u'},   {"i32", 4, 'i'},
    {"i64", 8, 'i'},  {"f16", 2, 'f'}, {"bf16", 2, 'f'}, {"f32", 4, 'f'},
    {"f64", 8, 'f'},  {"i16", 2, 'i'}, {"u16", 2, 'u'},  {"u32", 4, 'u'},
    {"u64", 8, 'u'}};
const TypeFacts &factsOf(ElementType type) {
  return facts[static_cast<unsigned>(type)];
}
} // namespace

unsigned sizeOf(ElementType type) { return factsOf(type).size; }
const char *nameOf(ElementType type) { return factsOf(type).name; }
bool isFloat(ElementType type) { return factsOf(type).kind == 'f'; }
bool isInteger(ElementType type) {
  return factsOf(type).kind == 'i' || factsOf(type).kind == 'u';
}

std::optional<ElementType> languageType(std::string_view name) {
  for (unsigned i = 0; i < numLanguageTypes; ++i)
    if (name == facts[i].name)
      return static_cast<ElementType>(i);
  return std::nullopt;
}

std::optional<uint64_t> elementCount(const std::vector<int64_t> &shape) {
  constexpr uint64_t limit = uint64_t(1) << 62;
  uint64_t count = 1;
  bool empty = false;
  for (int64_t extent : shape) {
    if (extent < 0)
      return std::nullopt;
    if (extent == 0) {
      empty = true;
      continue;
    }
    // The product of the other extents is bounded even where one is 0, so
    // that strides computed from the shape never overflow.
    if (static_cast<uint64_t>(extent) > limit / count)
      return std::nullopt;
    count *= static_cast<uint64_t>(extent);
  }
  return empty ? 0 : count;
}

std::optional<uint64_t> byteCount(const std::vector<int64_t> &shape,
                                  ElementType type) {
  std::optional<uint64_t> count = elementCount(shape);
  if (!count || *count > (uint64_t(1) << 62) / sizeOf(type))
    return std::nullopt;
  return *count * sizeOf(type);
}

bool widens(ElementType from, ElementType to) {
  if (from == to)
    return true;
  if (!isInteger(from) || !isInteger(to))
    return false;
  bool fromSigned = factsOf(from).kind == 'i';
  bool toSigned = factsOf(to).kind == 'i';
  if (fromSigned == toSigned)
    return sizeOf(from) <= sizeOf(to);
  return toSigned && sizeOf(from) < sizeOf(to);
}

namespace {
template <typename From, typename To>
void widenLoop(const void *source, void *destination, uint64_t count) {
  const char *in = static_cast<const char *>(source);
  char *out = static_cast<char *>(destination);
  for (uint64_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, in + i * sizeof(From), sizeof value);
    To wide = static_cast<To>(value);
    std::memcpy(out + i * sizeof(To), &wide, sizeof wide);
  }
}

template <typename From>
void widenFrom(const void *source, void *destination, ElementType to,
               uint64_t count) {
  if (to == ElementType::I32)
    widenLoop<From, int32_t>(source, destination, count);
  else if (to == ElementType::I64)
    widenLoop<From, int64_t>(source, destination, count);
}
} // namespace

void widenElements(const void *source, ElementType from, void *destination,
                   ElementType to, uint64_t count) {
  if (from == to) {
    if (count)
      std::memcpy(destination, source, count * sizeOf(to));
    return;
  }
  switch (from) {
  case ElementType::I8:
    return widenFrom<int8_t>(source, destination, to, count);
  case ElementType::U8:
    return widenFrom<uint8_t>(source, destination, to, count);
  case ElementType::I16:
    return widenFrom<int16_t>(source, destination, to, count);
  case ElementType::U16:
    return widenFrom<uint16_t>(source, destination, to, count);
  case ElementType::I32:
    return widenFrom<int32_t>(source, destination, to, count);
  case ElementType::U32:
    return widenFrom<uint32_t>(source, destination, to, count);
  default:
    return; // Excluded by the precondition: nothing is wider than 64 bits.
  }
}

float floatFromBF16(uint16_t bits) {
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

float floatFromF16(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  uint32_t exponent = (bits >> 10) & 0x1f;
  uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0) {
    float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign ? -magnitude : magnitude;
  }
  uint32_t wide = sign | (mantissa << 13) |
                  (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23);
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

} // namespace tdsrt
