//===- Progress.h - how far a run is -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDS_RUN_PROGRESS_H
#define TDS_RUN_PROGRESS_H

#include <chrono>
#include <cstdint>
#include <string>

namespace tdsrun {

/// A bar that is redrawn on a terminal; elsewhere a plain line now and then.
class Progress {
public:
  /// Steps are counted from the beginning of the whole run; `first` of them
  /// are already done. `total` may be 0: not known.
  Progress(uint64_t first, uint64_t total, uint64_t epochs,
           uint64_t stepsPerEpoch, uint64_t rowsPerStep);

  /// After a step. `lossName` is empty where the entry has no loss to show.
  void step(uint64_t done, const std::string &lossName, double loss);

  /// A whole line beside the bar, to stdout.
  void line(const std::string &text);

  /// Takes the bar away; called by the log too, before it prints.
  void clear();

  double seconds() const;
  double rate() const; ///< rows a second since the beginning of this run

private:
  void draw(uint64_t done, const std::string &lossName, double loss);

  using Clock = std::chrono::steady_clock;
  bool terminal;
  bool shown = false;
  uint64_t first, total, epochs, stepsPerEpoch, rowsPerStep, last;
  double smoothed = 0;
  bool hasSmoothed = false;
  Clock::time_point begin, lastDraw;
};

/// "0:07", "1:02:03".
std::string clockText(double seconds);

/// 123456.7 as "123,457".
std::string countText(double number);

} // namespace tdsrun

#endif // TDS_RUN_PROGRESS_H
