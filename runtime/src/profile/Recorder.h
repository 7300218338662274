//===- Recorder.h - what ran when -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects spans of time while a module is profiled: calls on the host, copies
// and kernels. They become a trace in Chrome's format, which Perfetto and
// chrome://tracing show. The sums by kernel are kept in the programs
// (KernelCounters) and are made of the same spans.
//
//===----------------------------------------------------------------------===//

#ifndef TDS_PROFILE_RECORDER_H
#define TDS_PROFILE_RECORDER_H

#include "core/Manifest.h"

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

namespace tdsrt {

class Recorder {
public:
  enum class Track : uint8_t { Host, Copies, Kernels };
  using Clock = std::chrono::steady_clock;

  /// `maxSpans` bounds the memory; what comes behind is counted, not kept.
  explicit Recorder(size_t maxSpans = size_t(4) << 20);

  /// Seconds since the recorder began.
  double now() const;
  double timeOf(Clock::time_point when) const;

  /// A call on the host or a copy. `call` numbers the calls of the module, so
  /// that copies, kernels and waits of one call can be found; `name` must
  /// outlive the recorder.
  void span(Track track, const char *name, const std::string *entry,
            uint64_t call, double begin, double seconds, uint64_t bytes = 0);
  void kernel(uint32_t kernel, const std::string *entry, uint64_t call,
              double begin, double seconds, uint64_t bytes, uint64_t flops);

  uint64_t dropped() const;

  /// The trace as JSON. `device` is the name of the process shown.
  std::string json(const Manifest &manifest, const std::string &device) const;

private:
  struct Span {
    double begin, seconds;
    uint64_t call, bytes, flops;
    const char *name; ///< null: a kernel
    const std::string *entry;
    uint32_t kernel;
    Track track;
  };
  void add(const Span &span);

  Clock::time_point start = Clock::now();
  size_t maxSpans;
  mutable std::mutex mutex;
  std::vector<Span> spans;
  uint64_t lost = 0;
};

} // namespace tdsrt

#endif // TDS_PROFILE_RECORDER_H
