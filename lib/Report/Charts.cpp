//===- Charts.cpp - memory, roofline and compile time ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadPlan.h"
#include "Svg.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::report;
using llvm::formatv;

namespace {

/// The area of a chart within its picture.
struct Frame {
  double left = 96, top = 14, width = 560, height = 250;
  double getRight() const { return left + width; }
  double getBottom() const { return top + height; }
};

class Canvas {
public:
  std::string text;
  llvm::raw_string_ostream os{text};

  void line(StringRef style, double x0, double y0, double x1, double y1) {
    os << formatv("<line class=\"{0}\" x1=\"{1:f1}\" y1=\"{2:f1}\" "
                  "x2=\"{3:f1}\" y2=\"{4:f1}\"/>\n",
                  style, x0, y0, x1, y1);
  }
  /// `anchor`: start, middle or end.
  void label(StringRef style, double x, double y, StringRef anchor,
             StringRef words) {
    os << formatv("<text class=\"{0}\" x=\"{1:f1}\" y=\"{2:f1}\" "
                  "text-anchor=\"{3}\">{4}</text>\n",
                  style, x, y, anchor, escape(words));
  }
  void axisTitles(const Frame &frame, StringRef below, StringRef beside) {
    label("note", frame.left + frame.width / 2, frame.getBottom() + 34,
          "middle", below);
    double y = frame.top + frame.height / 2;
    os << formatv("<text class=\"note\" transform=\"translate(14 {0:f1}) "
                  "rotate(-90)\" text-anchor=\"middle\">{1}</text>\n",
                  y, escape(beside));
  }
};

/// About four round steps up to `most`: 1, 2 or 5 times a power of `base`.
double getStep(double most, double base) {
  double raw = std::max(most, 1e-300) / 4;
  double power = std::pow(base, std::floor(std::log(raw) / std::log(base)));
  if (base == 2)
    return raw > power * 1.5 ? 2 * power : power;
  double rest = raw / power;
  return power * (rest < 1.5 ? 1 : rest < 3.5 ? 2 : rest < 7.5 ? 5 : 10);
}

} // namespace

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Picture report::drawMemory(const TargetReport &target, const Entry &entry) {
  Frame frame;
  Canvas canvas;
  double commands = std::max(1u, entry.numCommands),
         most = std::max<double>(entry.arenaBytes, 1);
  auto x = [&](double command) {
    return frame.left + frame.width * command / commands;
  };
  auto y = [&](double bytes) {
    return frame.getBottom() - frame.height * bytes / most;
  };
  double step = std::max(1.0, getStep(most, 2));
  for (double bytes = 0; bytes <= most; bytes += step) {
    canvas.line("grid", frame.left, y(bytes), frame.getRight(), y(bytes));
    canvas.label("note", frame.left - 6, y(bytes) + 4, "end",
                 formatBytes(bytes));
  }
  double stride = std::max(1.0, getStep(commands, 10));
  for (double command = 0; command < commands; command += stride)
    canvas.label("note", x(command + 0.5), frame.getBottom() + 16, "middle",
                 formatv("{0:f0}", command).str());
  if (entry.numCommands)
    canvas.os << formatv("<rect class=\"peak\" x=\"{0:f1}\" y=\"{1:f1}\" "
                         "width=\"{2:f1}\" height=\"{3:f1}\"/>\n",
                         x(entry.peakCommand), frame.top,
                         x(entry.peakCommand + 1) - x(entry.peakCommand),
                         frame.height);
  for (const LiveRange &range : entry.ranges) {
    double left = x(range.first), right = x(range.last + 1),
           top = y(range.offset + range.bytes), bottom = y(range.offset);
    std::string source = range.place.getLine();
    std::string words = range.type + (source.empty() ? "" : " " + source);
    canvas.os << formatv("<g><title>{0}, {1}, commands {2} to {3}</title>"
                         "<rect class=\"live\" x=\"{4:f1}\" y=\"{5:f1}\" "
                         "width=\"{6:f1}\" height=\"{7:f1}\"/>",
                         escape(words), formatBytes(range.bytes), range.first,
                         range.last, left, top, right - left,
                         std::max(0.5, bottom - top));
    // Characters of this size are about 6.2 wide.
    if (bottom - top > 15 && right - left > 6.2 * words.size() + 8)
      canvas.os << formatv("<text class=\"note\" x=\"{0:f1}\" y=\"{1:f1}\">{2}"
                           "</text>",
                           left + 5, (top + bottom) / 2 + 4, escape(words));
    canvas.os << "</g>\n";
  }
  std::string path;
  llvm::raw_string_ostream os(path);
  for (auto [command, bytes] : llvm::enumerate(entry.liveBytes)) {
    if (command == 0)
      os << formatv("M{0:f1} {1:f1}", x(0), y(bytes));
    else
      os << formatv("V{0:f1}", y(bytes));
    os << formatv("H{0:f1}", x(command + 1));
  }
  if (!path.empty())
    canvas.os << "<path class=\"use\" d=\"" << path << "\"/>\n";
  canvas.axisTitles(frame, "command", "offset in the arena");
  return {canvas.text, frame.getRight() + 16, frame.getBottom() + 44};
}

//===----------------------------------------------------------------------===//
// Roofline
//===----------------------------------------------------------------------===//

double Device::getComputeSeconds(const Launch &launch) const {
  auto seconds = [](double flops, double perSecond) {
    return flops > 0 ? flops / perSecond : 0;
  };
  return seconds(double(launch.flops - launch.f16Flops - launch.bf16Flops),
                 flopsPerSecond) +
         seconds(double(launch.f16Flops), f16PerSecond) +
         seconds(double(launch.bf16Flops), bf16PerSecond);
}

double Device::getSeconds(const Launch &launch) const {
  return std::max(launch.bytes / bytesPerSecond, getComputeSeconds(launch));
}

Picture report::drawRoofline(const TargetReport &target, const Entry &entry) {
  struct Dot {
    double bytes = 0, flops = 0, seconds = 0;
    int64_t launches = 0;
  };
  const Device &device = target.device;
  double bandwidth = device.bytesPerSecond;
  // The roofs of what the entry computes, the lowest first.
  SmallVector<double> roofs = {device.flopsPerSecond};
  llvm::MapVector<unsigned, Dot> dots;
  double total = 0;
  for (const Launch &launch : entry.launches) {
    double seconds = device.getSeconds(launch);
    total += seconds;
    if (launch.f16Flops > 0)
      roofs.push_back(device.f16PerSecond);
    if (launch.bf16Flops > 0)
      roofs.push_back(device.bf16PerSecond);
    if (!launch.flops || !launch.bytes)
      continue;
    Dot &dot = dots[launch.kernel];
    dot.bytes += launch.bytes;
    dot.flops += launch.flops;
    dot.seconds += seconds;
    dot.launches += launch.runs;
  }
  llvm::sort(roofs);
  roofs.erase(llvm::unique(roofs), roofs.end());
  double peak = roofs.back();
  double least = 1.0 / 16, most = 4 * peak / bandwidth;
  for (auto &[kernel, dot] : dots) {
    least = std::min(least, dot.flops / dot.bytes / 2);
    most = std::max(most, dot.flops / dot.bytes * 2);
  }
  least = std::exp2(std::floor(std::log2(least)));
  most = std::exp2(std::ceil(std::log2(most)));
  double ceiling = std::pow(10, std::ceil(std::log10(peak * 1.05))),
         ground = std::pow(10, std::floor(std::log10(least * bandwidth)));
  Frame frame;
  Canvas canvas;
  auto x = [&](double intensity) {
    return frame.left +
           frame.width * std::log(intensity / least) / std::log(most / least);
  };
  auto y = [&](double rate) {
    return frame.getBottom() -
           frame.height * std::log(rate / ground) / std::log(ceiling / ground);
  };
  for (double rate = ground; rate <= ceiling * 1.01; rate *= 10) {
    canvas.line("grid", frame.left, y(rate), frame.getRight(), y(rate));
    canvas.label("note", frame.left - 6, y(rate) + 4, "end", formatCount(rate));
  }
  unsigned ticks = std::lround(std::log2(most / least)),
           every = std::max(1u, ticks / 7);
  for (unsigned tick = 0; tick <= ticks; tick += every) {
    double intensity = least * std::exp2(tick);
    canvas.line("grid", x(intensity), frame.top, x(intensity),
                frame.getBottom());
    canvas.label("note", x(intensity), frame.getBottom() + 16, "middle",
                 intensity < 1 ? formatv("1/{0:f0}", 1 / intensity).str()
                               : formatv("{0:f0}", intensity).str());
  }
  double ridge = peak / bandwidth;
  canvas.os << formatv("<path class=\"roof\" d=\"M{0:f1} {1:f1}L{2:f1} "
                       "{3:f1}H{4:f1}\"/>\n",
                       x(least), y(least * bandwidth), x(ridge), y(peak),
                       frame.getRight());
  // Lower ones begin where they leave the way to the highest.
  for (double roof : ArrayRef(roofs).drop_back())
    canvas.os << formatv("<path class=\"roof\" d=\"M{0:f1} {1:f1}H{2:f1}\"/>\n",
                         x(roof / bandwidth), y(roof), frame.getRight());
  for (double roof : roofs)
    canvas.label("note", frame.getRight(), y(roof) - (roof == peak ? 24 : 6),
                 "end", formatCount(roof) + "FLOP/s");
  canvas.label("note", x(least) + 26, y(least * bandwidth) + 4, "start",
               formatCount(bandwidth) + "B/s");
  auto order = dots.takeVector();
  llvm::sort(order, [](const auto &lhs, const auto &rhs) {
    return std::pair(-lhs.second.seconds, lhs.first) <
           std::pair(-rhs.second.seconds, rhs.first);
  });
  SmallVector<std::pair<double, double>> marks;
  for (auto [rank, item] : llvm::enumerate(order)) {
    auto &[number, dot] = item;
    const Kernel &kernel = target.kernels[number];
    double intensity = dot.flops / dot.bytes, rate = dot.flops / dot.seconds,
           share = total > 0 ? dot.seconds / total : 0;
    canvas.os << formatv(
        "<g><title>{0}: {1}, {2} launches, {3:f2} FLOP a byte, {4:f1} % of the "
        "least time</title><circle class=\"dot {5}\" cx=\"{6:f1}\" "
        "cy=\"{7:f1}\" r=\"{8:f1}\"/></g>\n",
        escape(kernel.symbol), escape(kernel.title), dot.launches, intensity,
        100 * share, getKindClass(kernel.kind), x(intensity), y(rate),
        3.5 + 13 * std::sqrt(share));
    // The largest shares have a number, whose names stand below the roof, where
    // no dot can be.
    constexpr unsigned numNamed = 5;
    if (rank >= numNamed)
      continue;
    std::string mark = std::to_string(rank + 1);
    double markX = x(intensity), markY = y(rate) - 6.5 - 13 * std::sqrt(share);
    // Above those that it would stand in.
    llvm::sort(marks,
               [](auto lhs, auto rhs) { return lhs.second > rhs.second; });
    for (auto [otherX, otherY] : marks)
      if (std::abs(otherX - markX) < 9 && std::abs(otherY - markY) < 11)
        markY = otherY - 11;
    marks.emplace_back(markX, markY);
    canvas.label("", markX, markY, "middle", mark);
    canvas.label(
        "note", frame.getRight() - 8,
        frame.getBottom() - 10 -
            15.0 * (std::min<size_t>(numNamed, order.size()) - 1 - rank),
        "end",
        formatv("{0}  {1}  {2:f0} %", mark, kernel.symbol, 100 * share).str());
  }
  canvas.axisTitles(frame, "operations on floats for each byte moved",
                    "FLOP/s at most");
  return {canvas.text, frame.getRight() + 16, frame.getBottom() + 44};
}

//===----------------------------------------------------------------------===//
// Compile time
//===----------------------------------------------------------------------===//

Picture report::drawDurations(std::vector<Duration> durations, unsigned count) {
  llvm::sort(durations, [](const Duration &lhs, const Duration &rhs) {
    return std::tie(rhs.seconds, lhs.name) < std::tie(lhs.seconds, rhs.name);
  });
  if (durations.size() > count) {
    Duration rest{formatv("{0} others", durations.size() - count + 1).str(), 0};
    for (const Duration &duration : llvm::drop_begin(durations, count - 1))
      rest.seconds += duration.seconds;
    durations.resize(count - 1);
    durations.push_back(rest);
  }
  double longest = 1e-9;
  for (const Duration &duration : durations)
    longest = std::max(longest, duration.seconds);
  constexpr double nameWidth = 214, barWidth = 330, rowHeight = 22;
  Canvas canvas;
  double top = 6;
  for (const Duration &duration : durations) {
    double width = barWidth * duration.seconds / longest;
    canvas.label("", nameWidth - 8, top + 15, "end", duration.name);
    canvas.os << formatv("<rect class=\"bar\" x=\"{0:f1}\" y=\"{1:f1}\" "
                         "width=\"{2:f1}\" height=\"14\"/>\n",
                         nameWidth, top + 4, std::max(1.0, width));
    canvas.label("note", nameWidth + width + 6, top + 15, "start",
                 formatv("{0:f1} ms", 1000 * duration.seconds).str());
    top += rowHeight;
  }
  return {canvas.text, nameWidth + barWidth + 80, top + 6};
}
