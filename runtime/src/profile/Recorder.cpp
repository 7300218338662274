//===- Recorder.cpp - what ran when -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "profile/Recorder.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace tdsrt {

Recorder::Recorder(size_t maxSpans) : maxSpans(maxSpans) {}

double Recorder::timeOf(Clock::time_point when) const {
  return std::chrono::duration<double>(when - start).count();
}

double Recorder::now() const { return timeOf(Clock::now()); }

void Recorder::add(const Span &span) {
  std::lock_guard<std::mutex> guard(mutex);
  if (spans.size() < maxSpans)
    spans.push_back(span);
  else
    ++lost;
}

void Recorder::span(Track track, const char *name, const std::string *entry,
                    uint64_t call, double begin, double seconds,
                    uint64_t bytes) {
  add({begin, seconds, call, bytes, 0, name, entry, 0, track});
}

void Recorder::kernel(uint32_t kernel, const std::string *entry, uint64_t call,
                      double begin, double seconds, uint64_t bytes,
                      uint64_t flops) {
  add({begin, seconds, call, bytes, flops, nullptr, entry, kernel,
       Track::Kernels});
}

uint64_t Recorder::dropped() const {
  std::lock_guard<std::mutex> guard(mutex);
  return lost;
}

/// Text as a JSON string; bytes that are no UTF-8 are replaced.
static std::string quoted(const std::string &text) {
  return nlohmann::json(text).dump(-1, ' ', false,
                                   nlohmann::json::error_handler_t::replace);
}

std::string Recorder::json(const Manifest &manifest,
                           const std::string &device) const {
  std::lock_guard<std::mutex> guard(mutex);
  static const char *const tracks[] = {"host calls", "copies", "kernels"};
  static const char *const categories[] = {"host", "copy", "kernel"};
  std::string out = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n";
  out += "{\"ph\": \"M\", \"pid\": 1, \"name\": \"process_name\", \"args\": "
         "{\"name\": " +
         quoted(manifest.programName + " on " + device) + "}}";
  for (int track = 0; track < 3; ++track) {
    std::string common =
        ",\n{\"ph\": \"M\", \"pid\": 1, \"tid\": " + std::to_string(track + 1);
    out += common + ", \"name\": \"thread_name\", \"args\": {\"name\": \"" +
           tracks[track] + "\"}}";
    out += common +
           ", \"name\": \"thread_sort_index\", \"args\": {\"sort_index\": " +
           std::to_string(track) + "}}";
  }
  char text[256];
  for (const Span &span : spans) {
    int track = static_cast<int>(span.track);
    std::snprintf(text, sizeof text,
                  ",\n{\"ph\": \"X\", \"pid\": 1, \"tid\": %d, \"cat\": "
                  "\"%s\", \"ts\": %.3f, \"dur\": %.3f, \"name\": ",
                  track + 1, categories[track], span.begin * 1e6,
                  span.seconds * 1e6);
    out += text;
    const Kernel *kernel = span.name ? nullptr : &manifest.kernels[span.kernel];
    out += quoted(kernel ? kernel->title : span.name);
    std::snprintf(text, sizeof text, ", \"args\": {\"call\": %llu",
                  static_cast<unsigned long long>(span.call));
    out += text;
    if (span.entry)
      out += ", \"entry\": " + quoted(*span.entry);
    if (span.bytes)
      out += ", \"bytes\": " + std::to_string(span.bytes);
    if (span.flops)
      out += ", \"flops\": " + std::to_string(span.flops);
    if (kernel)
      out += ", \"source\": " + quoted(kernel->source) +
             ", \"kind\": " + quoted(kernel->kind) +
             ", \"symbol\": " + quoted(kernel->symbol);
    out += "}}";
  }
  out += "\n]}\n";
  return out;
}

} // namespace tdsrt
