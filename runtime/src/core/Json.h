//===- Json.h - bounded access to hostile JSON -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cursor over a parsed document that knows its path, so that each error says
// which value is wrong: "entries[2].commands[5].work".
//
//===----------------------------------------------------------------------===//

#ifndef TDS_CORE_JSON_H
#define TDS_CORE_JSON_H

#include "core/Error.h"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tdsrt {

/// Integers in documents stay below this, so that doubles hold them exactly.
constexpr uint64_t jsonIntegerLimit = uint64_t(1) << 53;

/// Parses `text`; deeper than `maxDepth` brackets or malformed is an Error
/// that begins with `where`.
nlohmann::json parseJson(std::string_view text, const std::string &where,
                         unsigned maxDepth = 32);

class JsonCursor {
public:
  JsonCursor(const nlohmann::json &value, const std::string &where,
             std::string path = "")
      : value(&value), where(&where), path(std::move(path)) {}

  /// The member `key`; absent is an error.
  JsonCursor get(const char *key) const;
  bool has(const char *key) const;

  size_t size() const; ///< of an array; anything else is an error
  JsonCursor at(size_t index) const;

  /// An integer in [0, limit]; limit is below 2^53.
  uint64_t integer(uint64_t limit = jsonIntegerLimit - 1) const;
  const std::string &string(size_t maxLength = 4096) const;
  std::vector<int64_t> shape() const;
  const nlohmann::json &raw() const { return *value; }

  template <typename... Args> [[noreturn]] void bad(const Args &...args) const {
    fail(TDS_BAD_DATA, *where, ": ", path.empty() ? "the document" : path, " ",
         args..., "; the file is damaged");
  }

private:
  const nlohmann::json *value;
  const std::string *where;
  std::string path;
};

} // namespace tdsrt

#endif // TDS_CORE_JSON_H
