//===- Metrics.h - the figures of a run, one JSON object a line -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDS_RUN_METRICS_H
#define TDS_RUN_METRICS_H

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace tdsrun {

using Figures = std::vector<std::pair<std::string, double>>;

/// {"step": 12, "epoch": 1, "loss": 0.5, "seconds": 1.2}; evaluations have
/// their figures in an object "eval". Steps and epochs count from 1: a line of
/// a step names the epoch that it belongs to, one of an evaluation the epoch
/// that has just ended. Numbers that JSON lacks are null.
class Metrics {
public:
  /// An empty path writes nothing. A resumed run keeps the lines of an earlier
  /// one up to `resumedStep` and goes on behind them.
  Metrics(const std::string &path, bool resume, uint64_t resumedStep);
  ~Metrics();
  Metrics(const Metrics &) = delete;
  Metrics &operator=(const Metrics &) = delete;

  void step(uint64_t step, uint64_t epoch, const Figures &figures);
  void evaluation(uint64_t step, uint64_t epoch, const Figures &figures);
  void flush();

private:
  void write(uint64_t step, uint64_t epoch, const std::string &figures);

  std::string path;
  FILE *file = nullptr;
  std::chrono::steady_clock::time_point begin, lastFlush;
};

} // namespace tdsrun

#endif // TDS_RUN_METRICS_H
