//===- Plot.h - a curve as SVG -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDS_RUN_PLOT_H
#define TDS_RUN_PLOT_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tdsrun {

/// (step, value) pairs, in the order of steps.
using Curve = std::vector<std::pair<uint64_t, double>>;

/// An SVG with axes; values that are not finite are left out.
std::string plotSvg(const std::string &title, const Curve &curve);

} // namespace tdsrun

#endif // TDS_RUN_PLOT_H
