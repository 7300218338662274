//===- Json.cpp - bounded access to hostile JSON -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core/Json.h"

namespace tdsrt {

/// The parser itself is iterative, but its values are trees that code walks
/// recursively, so that depth is bounded before one is built.
static unsigned bracketDepth(std::string_view text) {
  unsigned depth = 0, deepest = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        inString = false;
    } else if (c == '"') {
      inString = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

nlohmann::json parseJson(std::string_view text, const std::string &where,
                         unsigned maxDepth) {
  if (bracketDepth(text) > maxDepth)
    fail(TDS_BAD_DATA, where, ": the JSON is nested deeper than ", maxDepth,
         " levels; the file is damaged");
  try {
    return nlohmann::json::parse(text.begin(), text.end());
  } catch (const nlohmann::json::exception &error) {
    // Drop the library's "[json.exception.parse_error.101] ".
    std::string_view what = error.what();
    size_t bracket = what.find("] ");
    if (bracket != std::string_view::npos)
      what.remove_prefix(bracket + 2);
    fail(TDS_BAD_DATA, where, ": the JSON is malformed (", printable(what, 160),
         "); the file is damaged");
  }
}

JsonCursor JsonCursor::get(const char *key) const {
  if (!value->is_object())
    bad("is not an object");
  auto found = value->find(key);
  std::string childPath = path.empty() ? key : path + "." + key;
  if (found == value->end())
    fail(TDS_BAD_DATA, *where, ": ", childPath,
         " is missing; the file is damaged");
  return JsonCursor(*found, *where, std::move(childPath));
}

bool JsonCursor::has(const char *key) const {
  if (!value->is_object())
    bad("is not an object");
  return value->find(key) != value->end();
}

size_t JsonCursor::size() const {
  if (!value->is_array())
    bad("is not an array");
  return value->size();
}

JsonCursor JsonCursor::at(size_t index) const {
  return JsonCursor((*value)[index], *where, cat(path, '[', index, ']'));
}

uint64_t JsonCursor::integer(uint64_t limit) const {
  if (!value->is_number_unsigned()) {
    if (value->is_number_integer())
      bad("is ", value->get<int64_t>(), ", but must not be negative");
    bad("is not a non-negative integer");
  }
  uint64_t number = value->get<uint64_t>();
  if (number > limit)
    bad("is ", number, ", but at most ", limit, " fits there");
  return number;
}

const std::string &JsonCursor::string(size_t maxLength) const {
  if (!value->is_string())
    bad("is not a string");
  const std::string &text = value->get_ref<const std::string &>();
  if (text.size() > maxLength)
    bad("is a string of ", text.size(), " bytes, but at most ", maxLength,
        " are allowed");
  for (char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      bad("holds a control character");
  return text;
}

std::vector<int64_t> JsonCursor::shape() const {
  constexpr size_t maxRank = 32;
  size_t rank = size();
  if (rank > maxRank)
    bad("has ", rank, " axes, but at most ", maxRank, " are allowed");
  std::vector<int64_t> extents;
  for (size_t i = 0; i < rank; ++i)
    extents.push_back(static_cast<int64_t>(at(i).integer()));
  return extents;
}

} // namespace tdsrt
