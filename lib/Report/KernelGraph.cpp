//===- KernelGraph.cpp - the launches of an entry as a graph --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A launch stands one layer below the lowest launch that it reads from. In a
// layer launches stand in the order of the middle of what they read, which
// keeps most lines from crossing. That is enough for the shapes that training
// steps have: long chains with short side branches.
//
//===----------------------------------------------------------------------===//

#include "ReadPlan.h"
#include "Svg.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::report;

static constexpr double kBoxWidth = 196, kBoxHeight = 46, kGapX = 22,
                        kGapY = 34, kMargin = 12;

namespace {
struct Node {
  unsigned layer = 0, column = 0;
  double getX() const { return kMargin + column * (kBoxWidth + kGapX); }
  double getY() const { return kMargin + layer * (kBoxHeight + kGapY); }
  double getMiddle() const { return getX() + kBoxWidth / 2; }
};
} // namespace

static std::vector<Node> layOut(const Entry &entry) {
  std::vector<Node> nodes(entry.launches.size());
  std::vector<std::vector<unsigned>> layers;
  for (auto [number, launch] : llvm::enumerate(entry.launches)) {
    for (const Edge &edge : launch.inputs)
      if (!edge.isCarried)
        nodes[number].layer =
            std::max(nodes[number].layer, nodes[edge.producer].layer + 1);
    layers.resize(std::max<size_t>(layers.size(), nodes[number].layer + 1));
    layers[nodes[number].layer].push_back(number);
  }
  for (std::vector<unsigned> &layer : layers) {
    auto getPull = [&](unsigned number) {
      double sum = 0, count = 0;
      for (const Edge &edge : entry.launches[number].inputs)
        if (!edge.isCarried) {
          sum += nodes[edge.producer].column;
          ++count;
        }
      return count ? sum / count : 0;
    };
    llvm::sort(layer, [&](unsigned lhs, unsigned rhs) {
      return std::pair(getPull(lhs), lhs) < std::pair(getPull(rhs), rhs);
    });
    for (auto [column, number] : llvm::enumerate(layer))
      nodes[number].column = column;
  }
  return nodes;
}

Picture report::drawGraph(const TargetReport &target, const Entry &entry,
                          StringRef linkPrefix) {
  std::vector<Node> nodes = layOut(entry);
  Picture picture{"", 2 * kMargin, 2 * kMargin};
  llvm::raw_string_ostream os(picture.body);
  for (auto [number, launch] : llvm::enumerate(entry.launches))
    for (const Edge &edge : launch.inputs) {
      const Node &from = nodes[edge.producer], &to = nodes[number];
      if (edge.isCarried ||
          (from.column == to.column && from.layer + 1 < to.layer)) {
        // Past the boxes between, on their right; the other way round where it
        // goes to the next iteration.
        double x0 = from.getX() + kBoxWidth, x1 = to.getX() + kBoxWidth,
               y0 = from.getY() + kBoxHeight / 2,
               y1 = to.getY() + kBoxHeight / 2,
               layers = std::abs(double(to.layer) - double(from.layer)),
               out = std::max(x0, x1) + std::min(90.0, 14 + 5 * layers);
        os << llvm::formatv("<path class=\"edge{5}\" d=\"M{0:f0} {1:f0} "
                            "C{2:f0} {1:f0} {2:f0} {4:f0} {3:f0} {4:f0}\"/>\n",
                            x0, y0, out, x1, y1, edge.isCarried ? " back" : "");
        picture.width = std::max(picture.width, out + kMargin);
        continue;
      }
      double y0 = from.getY() + kBoxHeight, y1 = to.getY();
      os << llvm::formatv("<path class=\"edge\" d=\"M{0:f0} {1:f0} C{0:f0} "
                          "{2:f0} {3:f0} {4:f0} {3:f0} {5:f0}\"/>\n",
                          from.getMiddle(), y0, y0 + kGapY / 2, to.getMiddle(),
                          y1 - kGapY / 2, y1);
    }
  for (auto [number, launch] : llvm::enumerate(entry.launches)) {
    const Node &node = nodes[number];
    const Kernel &kernel = target.kernels[launch.kernel];
    double x = node.getX(), y = node.getY();
    std::string source =
        launch.places.empty() ? "" : launch.places.front().getLine();
    if (!linkPrefix.empty())
      os << "<a href=\"" << escape(linkPrefix) << launch.number << "\">";
    os << "<g><title>" << escape(kernel.title) << "</title>"
       << llvm::formatv("<rect class=\"box\" x=\"{0:f0}\" y=\"{1:f0}\" "
                        "width=\"{2:f0}\" height=\"{3:f0}\" rx=\"4\"/>",
                        x, y, kBoxWidth, kBoxHeight)
       << llvm::formatv("<rect class=\"{0}\" x=\"{1:f0}\" y=\"{2:f0}\" "
                        "width=\"5\" height=\"{3:f0}\"/>",
                        getKindClass(kernel.kind), x, y, kBoxHeight)
       << llvm::formatv("<text x=\"{0:f0}\" y=\"{1:f0}\">", x + 13, y + 19)
       << launch.number << " " << escape(kernel.symbol)
       << (launch.runs == 1 ? "" : " &#215;" + std::to_string(launch.runs))
       << "</text>"
       << llvm::formatv("<text class=\"note\" x=\"{0:f0}\" y=\"{1:f0}\">",
                        x + 13, y + 36)
       << escape(source) << (source.empty() ? "" : ", ")
       << formatBytes(launch.bytes) << "</text></g>"
       << (linkPrefix.empty() ? "" : "</a>") << "\n";
    picture.width = std::max(picture.width, x + kBoxWidth + kMargin);
    picture.height = std::max(picture.height, y + kBoxHeight + kMargin);
  }
  return picture;
}

std::string report::makeGraph(const TargetReport &target) {
  static constexpr double title = 34;
  std::string body;
  llvm::raw_string_ostream os(body);
  double top = 0, width = 420;
  for (const Entry &entry : target.entries) {
    size_t count = entry.launches.size();
    Picture picture = drawGraph(target, entry, "");
    os << llvm::formatv("<text class=\"title\" x=\"{0:f0}\" y=\"{1:f0}\">{2}: "
                        "{3} {4}, arena {5}</text>\n",
                        kMargin, top + 26, escape(entry.name), count,
                        count == 1 ? "launch" : "launches",
                        formatBytes(entry.arenaBytes))
       << llvm::formatv("<g transform=\"translate(0 {0:f0})\">\n", top + title)
       << picture.body << "</g>\n";
    top += title + picture.height;
    width = std::max(width, picture.width);
  }
  return llvm::formatv(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:f0} "
             "{1:f0}\" width=\"{0:f0}\" height=\"{1:f0}\">\n<style>"
             ".box{{fill:#f5f7fa;stroke:#d5dce5}.edge{{fill:none;stroke:#"
             "8795a4}.back{{stroke-dasharray:4 3}.k-attention{{fill:#3f51b5}"
             ".k-contract{{fill:#2a6fb5}.k-row{{fill:#c2691b}.k-loop{{fill:"
             "#2b8a68}.k-scatter{{fill:#8c4fa3}.k-parts{{fill:#b03a5b}.k-other"
             "{{fill:#6b7785}text{{font:12px sans-serif;fill:#1b2530}.note"
             "{{font-size:11px;fill:#586777}.title{{font-size:16px;font-weight:"
             "bold}</style>\n<rect x=\"0\" y=\"0\" width=\"{0:f0}\" "
             "height=\"{1:f0}\" fill=\"#fff\"/>\n{2}</svg>\n",
             width, top, body)
      .str();
}
