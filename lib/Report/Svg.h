//===- Svg.h - pictures of the report -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_REPORT_SVG_H
#define TDSL_LIB_REPORT_SVG_H

#include "tdsl/Report/Report.h"

namespace tdsl::report {

/// Text for HTML and SVG, between tags and in attributes: everything that has a
/// meaning there is written as an entity, and what is no text is left out.
std::string escape(llvm::StringRef text);

/// What a kernel of a kind is drawn with: the class of the style sheet.
std::string getKindClass(llvm::StringRef kind);

/// Elements of an SVG picture, and the box that they fit in.
struct Picture {
  std::string body;
  double width = 0, height = 0;
};

/// `picture` as an element of a page; `label` is read out. A scaled one becomes
/// smaller where there is less room, the others are scrolled.
std::string makeSVG(const Picture &picture, llvm::StringRef label,
                    bool isScaled = true);

/// The launches of an entry in layers, with a line from each to those that read
/// what it wrote. Boxes are links to `linkPrefix` + number of the command; no
/// links where it is empty.
Picture drawGraph(const TargetReport &target, const Entry &entry,
                  llvm::StringRef linkPrefix);

/// The arena while the entry runs: command by command what lies where, and how
/// much is in use.
Picture drawMemory(const TargetReport &target, const Entry &entry);

/// What the kernels of an entry reach at most on the target's device.
Picture drawRoofline(const TargetReport &target, const Entry &entry);

/// Bars, one a duration, the longest first; the rest beyond `count` is one.
Picture drawDurations(std::vector<Duration> durations, unsigned count);

} // namespace tdsl::report

#endif // TDSL_LIB_REPORT_SVG_H
