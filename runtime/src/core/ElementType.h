//===- ElementType.h - element types of tensors and files -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDS_CORE_ELEMENTTYPE_H
#define TDS_CORE_ELEMENTTYPE_H

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tdsrt {

/// The first nine are those of the language, numbered as tds_type; files may
/// hold the others too, and readers widen them.
enum class ElementType : uint8_t {
  Bool,
  I8,
  U8,
  I32,
  I64,
  F16,
  BF16,
  F32,
  F64,
  I16,
  U16,
  U32,
  U64
};

constexpr unsigned numLanguageTypes = 9;

unsigned sizeOf(ElementType type);
const char *nameOf(ElementType type);
bool isFloat(ElementType type);
bool isInteger(ElementType type); ///< false for bool

/// One of the nine names of the language.
std::optional<ElementType> languageType(std::string_view name);

/// The product of extents, or nothing where an extent is negative or the
/// product does not fit into 62 bits.
std::optional<uint64_t> elementCount(const std::vector<int64_t> &shape);

/// elementCount times the size of an element, or nothing as above.
std::optional<uint64_t> byteCount(const std::vector<int64_t> &shape,
                                  ElementType type);

/// True when every value of integer type `from` is one of `to`.
bool widens(ElementType from, ElementType to);

/// Copies `count` elements, widening integers; `widens(from, to)` or equal
/// types is a precondition. Source and destination do not overlap.
void widenElements(const void *source, ElementType from, void *destination,
                   ElementType to, uint64_t count);

/// bf16 and f16 bits as f32.
float floatFromBF16(uint16_t bits);
float floatFromF16(uint16_t bits);

} // namespace tdsrt

#endif // TDS_CORE_ELEMENTTYPE_H
