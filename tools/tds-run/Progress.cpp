//===- Progress.cpp - how far a run is -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>

namespace tdsrun {

std::string clockText(double seconds) {
  if (!(seconds >= 0) || seconds > 1e8)
    return "?";
  auto whole = static_cast<long>(std::lround(seconds));
  char text[64];
  if (whole >= 3600)
    std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", whole / 3600,
                  whole / 60 % 60, whole % 60);
  else
    std::snprintf(text, sizeof text, "%ld:%02ld", whole / 60, whole % 60);
  return text;
}

std::string countText(double number) {
  std::string digits =
      std::to_string(number > 0 && number < 1e18 ? std::llround(number) : 0);
  for (size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

Progress::Progress(uint64_t first, uint64_t total, uint64_t epochs,
                   uint64_t stepsPerEpoch, uint64_t rowsPerStep)
    : terminal(isatty(STDOUT_FILENO)), first(first), total(total),
      epochs(epochs), stepsPerEpoch(stepsPerEpoch), rowsPerStep(rowsPerStep),
      last(first), begin(Clock::now()), lastDraw(begin) {}

double Progress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double Progress::rate() const {
  double time = seconds();
  return time > 0 ? static_cast<double>((last - first) * rowsPerStep) / time
                  : 0;
}

void Progress::step(uint64_t done, const std::string &lossName, double loss) {
  last = done;
  if (!lossName.empty()) {
    constexpr double keep = 0.95;
    smoothed = hasSmoothed && std::isfinite(smoothed)
                   ? keep * smoothed + (1 - keep) * loss
                   : loss;
    hasSmoothed = true;
  }
  auto pause = terminal ? std::chrono::milliseconds(100)
                        : std::chrono::milliseconds(10000);
  auto now = Clock::now();
  if (now - lastDraw < pause)
    return;
  lastDraw = now;
  draw(done, lossName, smoothed);
}

void Progress::draw(uint64_t done, const std::string &lossName, double loss) {
  uint64_t epoch = stepsPerEpoch ? (done - 1) / stepsPerEpoch : 0;
  uint64_t inEpoch = done - epoch * stepsPerEpoch;
  std::string left;
  if (total > first && done > first) {
    double perStep = seconds() / static_cast<double>(done - first);
    left =
        ", " + clockText(perStep * static_cast<double>(total - done)) + " left";
  }
  char lossText[128] = "";
  if (!lossName.empty())
    std::snprintf(lossText, sizeof lossText, ", %.40s %.4g", lossName.c_str(),
                  loss);
  char head[96];
  std::snprintf(head, sizeof head, "epoch %llu/%s ",
                static_cast<unsigned long long>(epoch + 1),
                epochs ? std::to_string(epochs).c_str() : "?");
  std::string tail = " " + std::to_string(inEpoch) + "/" +
                     std::to_string(stepsPerEpoch) + lossText + ", " +
                     countText(rate()) + " rows/s" + left;
  if (!terminal) {
    std::printf("%sstep%s\n", head, tail.c_str());
    std::fflush(stdout);
    return;
  }
  winsize window{};
  int columns = ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col
                    ? window.ws_col
                    : 80;
  int width = std::min(30, columns - int(std::string(head).size()) -
                               int(tail.size()) - 3);
  std::string bar;
  if (width >= 5) {
    int filled =
        stepsPerEpoch
            ? int(double(width) * double(inEpoch) / double(stepsPerEpoch))
            : 0;
    bar = "[" + std::string(static_cast<size_t>(filled), '=') +
          std::string(static_cast<size_t>(width - filled), ' ') + "]";
  }
  std::printf("\r\033[K%s%s%s", head, bar.c_str(), tail.c_str());
  std::fflush(stdout);
  shown = true;
}

void Progress::clear() {
  if (!shown)
    return;
  std::printf("\r\033[K");
  std::fflush(stdout);
  shown = false;
}

void Progress::line(const std::string &text) {
  clear();
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

} // namespace tdsrun
