//===- ManifestValues.cpp - single values of the manifest -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/ManifestParser.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tdsrt {

/// The names of the first two ranges that share a byte, if any do.
std::optional<std::pair<std::string, std::string>>
findOverlap(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const Range &a, const Range &b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  const Range *last = nullptr;
  for (const Range &range : ranges) {
    if (range.begin == range.end)
      continue;
    if (last && range.begin < last->end)
      return std::make_pair(last->name, range.name);
    last = &range;
  }
  return std::nullopt;
}

uint64_t countBytes(const JsonCursor &at, const std::vector<int64_t> &shape,
                    ElementType type) {
  std::optional<uint64_t> bytes = byteCount(shape, type);
  if (!bytes)
    at.bad("is ", shapeText(shape), ", more elements than any memory holds");
  return *bytes;
}

tds_role parseRole(const JsonCursor &at) {
  const std::string &text = at.string();
  if (text == "param")
    return TDS_ROLE_PARAM;
  if (text == "state")
    return TDS_ROLE_STATE;
  if (text == "optimizer")
    return TDS_ROLE_OPTIMIZER;
  if (text == "counter")
    return TDS_ROLE_COUNTER;
  at.bad("is '", printable(text),
         "', which is not param, state, optimizer or counter");
}

ElementType parseType(const JsonCursor &at) {
  const std::string &text = at.string();
  if (std::optional<ElementType> type = languageType(text))
    return *type;
  at.bad("is '", printable(text), "', which is no element type");
}

bool isHex(const std::string &text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
}

bool isSymbol(const std::string &text) {
  if (text.empty() || text.size() > 63 || (text[0] >= '0' && text[0] <= '9'))
    return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || c == '_';
  });
}

std::vector<uint8_t> decodeBase64(const JsonCursor &at, uint64_t bytes) {
  if (!at.raw().is_string())
    at.bad("is not a string");
  const std::string &text = at.raw().get_ref<const std::string &>();
  if (text.size() != (bytes + 2) / 3 * 4)
    at.bad("has ", text.size(), " characters, but ", bytes, " bytes take ",
           (bytes + 2) / 3 * 4);
  auto digit = [&](char c) -> uint32_t {
    if (c >= 'A' && c <= 'Z')
      return c - 'A';
    if (c >= 'a' && c <= 'z')
      return c - 'a' + 26;
    if (c >= '0' && c <= '9')
      return c - '0' + 52;
    if (c == '+')
      return 62;
    if (c == '/')
      return 63;
    at.bad("is not base64");
  };
  std::vector<uint8_t> out;
  out.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    size_t left = bytes - out.size(); // at least 1
    uint32_t word = digit(text[i]) << 18 | digit(text[i + 1]) << 12;
    if (left > 1)
      word |= digit(text[i + 2]) << 6;
    else if (text[i + 2] != '=')
      at.bad("is not base64");
    if (left > 2)
      word |= digit(text[i + 3]);
    else if (text[i + 3] != '=')
      at.bad("is not base64");
    out.push_back(static_cast<uint8_t>(word >> 16));
    if (left > 1)
      out.push_back(static_cast<uint8_t>(word >> 8));
    if (left > 2)
      out.push_back(static_cast<uint8_t>(word));
  }
  return out;
}

/// Bits of a float in 16 bits, rounded to nearest even.
uint16_t narrowFloat(double value, ElementType type) {
  if (type == ElementType::BF16) {
    float single = static_cast<float>(value);
    uint32_t bits;
    std::memcpy(&bits, &single, sizeof bits);
    if (std::isnan(single))
      return static_cast<uint16_t>(bits >> 16 | 0x40);
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  double magnitude = std::fabs(value);
  if (std::isnan(value))
    return sign | 0x7e00;
  if (magnitude >= 65520)
    return sign | 0x7c00;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  int scale = std::max(exponent - 11, -24); // 11 significant bits
  long units = std::lrint(std::ldexp(magnitude, -scale));
  if (magnitude == 0)
    return sign;
  // `units << 0` at the subnormal scale is the encoding itself; above it, each
  // step of the scale adds one to the exponent field.
  return static_cast<uint16_t>(sign | (units + ((scale + 24) << 10)));
}

} // namespace tdsrt
