//===- Plot.cpp - a curve as SVG -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tdsrun {

namespace {
constexpr double width = 800, height = 400, left = 70, right = 20, top = 40,
                 bottom = 50;
constexpr size_t maxPoints = 800; // one a pixel

std::string escaped(const std::string &text) {
  std::string out;
  for (char c : text)
    out += c == '<'   ? "&lt;"
           : c == '>' ? "&gt;"
           : c == '&' ? "&amp;"
                      : std::string(1, c);
  return out;
}

template <typename... Args>
void append(std::string &out, const char *format, Args... args) {
  char text[512];
  std::snprintf(text, sizeof text, format, args...);
  out += text;
}
} // namespace

std::string plotSvg(const std::string &title, const Curve &curve) {
  // Neighbouring points are averaged where there are more than pixels.
  Curve points;
  size_t group = std::max<size_t>(1, curve.size() / maxPoints);
  for (size_t i = 0; i < curve.size(); i += group) {
    double sum = 0;
    size_t count = 0, end = std::min(i + group, curve.size());
    for (size_t j = i; j < end; ++j)
      if (std::isfinite(curve[j].second)) {
        sum += curve[j].second;
        ++count;
      }
    if (count)
      points.emplace_back(curve[end - 1].first, sum / double(count));
  }
  double low = 0, high = 1, first = 0, last = 1;
  if (!points.empty()) {
    auto [least, most] = std::minmax_element(
        points.begin(), points.end(),
        [](const auto &a, const auto &b) { return a.second < b.second; });
    low = least->second;
    high = most->second;
    first = double(points.front().first);
    last = double(points.back().first);
  }
  if (!(high > low))
    high = low + 1;
  if (!(last > first))
    last = first + 1;
  auto x = [&](double step) {
    return left + (step - first) / (last - first) * (width - left - right);
  };
  auto y = [&](double value) {
    return top + (high - value) / (high - low) * (height - top - bottom);
  };

  std::string out;
  append(out,
         "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" "
         "font-family=\"sans-serif\" font-size=\"12\">\n",
         width, height);
  append(out, "<rect width=\"%g\" height=\"%g\" fill=\"white\"/>\n", width,
         height);
  out += "<text x=\"" + std::to_string(int(left)) +
         "\" y=\"24\" font-size=\"15\">" + escaped(title) + "</text>\n";
  constexpr int ticks = 5;
  for (int i = 0; i <= ticks; ++i) {
    double value = low + (high - low) * i / ticks;
    double step = first + (last - first) * i / ticks;
    append(out,
           "<line x1=\"%g\" x2=\"%g\" y1=\"%.1f\" y2=\"%.1f\" "
           "stroke=\"#ddd\"/>\n",
           left, width - right, y(value), y(value));
    append(out, "<text x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%.4g</text>\n",
           left - 6, y(value) + 4, value);
    append(out,
           "<text x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">%.0f</text>\n",
           x(step), height - bottom + 18, step);
  }
  append(out, "<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">step</text>\n",
         (left + width - right) / 2, height - 10);
  out += "<polyline fill=\"none\" stroke=\"#1f77b4\" stroke-width=\"1.5\" "
         "points=\"";
  for (const auto &[step, value] : points)
    append(out, "%.1f,%.1f ", x(double(step)), y(value));
  out += "\"/>\n</svg>\n";
  return out;
}

} // namespace tdsrun
