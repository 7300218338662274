//===- Error.h - the runtime's one error type -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inside the runtime a failure is an exception that carries a code and one
// sentence: what happened, where, and what to do. The C API turns it into a
// status and a message; nothing else crosses that border.
//
//===----------------------------------------------------------------------===//

#ifndef TDS_CORE_ERROR_H
#define TDS_CORE_ERROR_H

#include "tds/runtime.h"

#include <sstream>
#include <stdexcept>
#include <string>

namespace tdsrt {

class Error : public std::runtime_error {
public:
  Error(tds_status status, const std::string &message)
      : std::runtime_error(message), status(status) {}
  tds_status status;
};

/// Joins its arguments as a stream would print them.
template <typename... Args> std::string cat(const Args &...args) {
  std::ostringstream out;
  (out << ... << args);
  return out.str();
}

template <typename... Args>
[[noreturn]] void fail(tds_status status, const Args &...args) {
  throw Error(status, cat(args...));
}

/// Text from outside, made fit to be printed: control bytes become '?', and
/// what is longer than `limit` is cut.
std::string printable(std::string_view text, size_t limit = 80);

/// 12,345,678 bytes as "11.8 MiB (12345678 bytes)"; below 10 KiB only bytes.
std::string bytesInWords(uint64_t bytes);

/// [64, 784] for a shape; [] for a scalar.
template <typename Shape> std::string shapeText(const Shape &shape) {
  std::ostringstream out;
  out << '[';
  bool first = true;
  for (auto extent : shape) {
    if (!first)
      out << ", ";
    out << extent;
    first = false;
  }
  out << ']';
  return out.str();
}

/// Sends one line to the log callback, if there is one.
void log(tds_log_level level, const std::string &message);
void setLogCallback(tds_log_callback callback, void *user);

} // namespace tdsrt

#endif // TDS_CORE_ERROR_H
