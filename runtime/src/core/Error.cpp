//===- Error.cpp - error text and the log callback -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core/Error.h"

#include <cstdio>
#include <mutex>

namespace tdsrt {

std::string printable(std::string_view text, size_t limit) {
  std::string out;
  for (char c : text.substr(0, limit)) {
    unsigned char byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte >= 0x7f ? '?' : c;
  }
  if (text.size() > limit)
    out += "...";
  return out;
}

std::string bytesInWords(uint64_t bytes) {
  if (bytes < 10240)
    return cat(bytes, bytes == 1 ? " byte" : " bytes");
  static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  int unit = 0;
  while (value >= 1024 && unit < 5) {
    value /= 1024;
    ++unit;
  }
  char text[64];
  std::snprintf(text, sizeof text, "%.1f %s (%llu bytes)", value, units[unit],
                static_cast<unsigned long long>(bytes));
  return text;
}

namespace {
struct LogSink {
  std::mutex mutex;
  tds_log_callback callback = nullptr;
  void *user = nullptr;
};
LogSink &logSink() {
  static LogSink *sink = new LogSink; // Never destroyed: threads may log late.
  return *sink;
}
} // namespace

void setLogCallback(tds_log_callback callback, void *user) {
  LogSink &sink = logSink();
  std::lock_guard<std::mutex> guard(sink.mutex);
  sink.callback = callback;
  sink.user = user;
}

void log(tds_log_level level, const std::string &message) {
  LogSink &sink = logSink();
  std::lock_guard<std::mutex> guard(sink.mutex);
  if (sink.callback)
    sink.callback(sink.user, level, message.c_str());
}

} // namespace tdsrt
