//===- EmitGraph.cpp - a plan as a picture -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A launch stands one layer below the lowest launch that it depends on. Within
// a layer launches keep the order of the plan. That is enough for the shapes
// that training steps have: long chains with short side branches.
//
//===----------------------------------------------------------------------===//

#include "EmitGraph.h"

#include "tdsl/Dialect/Plan/PlanOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace tdsl;

static constexpr int kBoxWidth = 210, kBoxHeight = 54, kGapX = 26, kGapY = 44,
                     kMargin = 24, kTitle = 34;

namespace {
struct Node {
  std::string kernel, source;
  int64_t bytes = 0;
  SmallVector<size_t> inputs; ///< numbers of the launches it reads from
  int layer = 0, column = 0;
};
} // namespace

static std::string escape(StringRef text) {
  std::string result;
  for (char c : text) {
    if (c == '<')
      result += "&lt;";
    else if (c == '&')
      result += "&amp;";
    else
      result += c;
  }
  return result;
}

static std::string getSource(Location loc) {
  std::string text;
  loc->walk([&](Location part) {
    if (auto file = dyn_cast<FileLineColLoc>(part)) {
      text = (llvm::sys::path::filename(file.getFilename()) + ":" +
              Twine(file.getLine()))
                 .str();
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return text;
}

static std::string getBytesText(int64_t bytes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (bytes >= 1 << 20)
    os << llvm::format("%.1f MiB", bytes / 1048576.0);
  else if (bytes >= 1 << 10)
    os << llvm::format("%.1f KiB", bytes / 1024.0);
  else
    os << bytes << " B";
  return text;
}

static SmallVector<Node> collectNodes(plan::EntryOp entry) {
  SmallVector<Node> nodes;
  SmallVector<std::pair<plan::BufferAttr, size_t>> writes; // latest last
  for (auto launch : entry.getBody().getOps<plan::LaunchOp>()) {
    Node node;
    node.kernel = launch.getKernel().str();
    node.source = getSource(launch.getLoc());
    for (Attribute attr : launch.getInputs()) {
      auto buffer = cast<plan::BufferAttr>(attr);
      node.bytes += buffer.getBytes();
      for (auto &[written, writer] : llvm::reverse(writes))
        if (written.overlaps(buffer)) {
          if (!llvm::is_contained(node.inputs, writer))
            node.inputs.push_back(writer);
          node.layer = std::max(node.layer, nodes[writer].layer + 1);
          break;
        }
    }
    for (Attribute attr : launch.getOutputs()) {
      auto buffer = cast<plan::BufferAttr>(attr);
      node.bytes += buffer.getBytes();
      writes.emplace_back(buffer, nodes.size());
    }
    nodes.push_back(std::move(node));
  }
  SmallVector<int> filled;
  for (Node &node : nodes) {
    filled.resize(std::max<size_t>(filled.size(), node.layer + 1), 0);
    node.column = filled[node.layer]++;
  }
  return nodes;
}

void tdslc::emitGraph(ModuleOp plan, raw_ostream &os) {
  std::string body;
  llvm::raw_string_ostream svg(body);
  int top = kMargin, width = 0;
  for (auto entry : plan.getOps<plan::EntryOp>()) {
    SmallVector<Node> nodes = collectNodes(entry);
    svg << "<text class=\"title\" x=\"" << kMargin << "\" y=\"" << top + 18
        << "\">" << escape(entry.getSymName()) << ": " << nodes.size()
        << " launches, arena " << getBytesText(entry.getArena()) << "</text>\n";
    top += kTitle;
    auto x = [](const Node &node) {
      return kMargin + node.column * (kBoxWidth + kGapX);
    };
    auto y = [&](const Node &node) {
      return top + node.layer * (kBoxHeight + kGapY);
    };
    for (const Node &node : nodes)
      for (size_t input : node.inputs) {
        int x0 = x(nodes[input]) + kBoxWidth / 2,
            y0 = y(nodes[input]) + kBoxHeight, x1 = x(node) + kBoxWidth / 2,
            y1 = y(node);
        svg << "<path d=\"M" << x0 << " " << y0 << " C" << x0 << " "
            << y0 + kGapY / 2 << " " << x1 << " " << y1 - kGapY / 2 << " " << x1
            << " " << y1 << "\"/>\n";
      }
    int bottom = top;
    for (const Node &node : nodes) {
      svg << "<rect x=\"" << x(node) << "\" y=\"" << y(node) << "\" width=\""
          << kBoxWidth << "\" height=\"" << kBoxHeight << "\"/>\n"
          << "<text x=\"" << x(node) + 10 << "\" y=\"" << y(node) + 22 << "\">"
          << escape(node.kernel) << "</text>\n"
          << "<text class=\"note\" x=\"" << x(node) + 10 << "\" y=\""
          << y(node) + 41 << "\">" << escape(node.source)
          << (node.source.empty() ? "" : ", ") << getBytesText(node.bytes)
          << "</text>\n";
      bottom = std::max(bottom, y(node) + kBoxHeight);
      width = std::max(width, x(node) + kBoxWidth);
    }
    top = bottom + kGapY;
  }
  width = std::max(width, 360) + kMargin;
  os << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << width
     << " " << top << "\" width=\"" << width << "\" height=\"" << top
     << "\">\n<style>rect{fill:#eef3fa;stroke:#4a6fa5;rx:5}path{fill:none;"
        "stroke:#8aa0bd}text{font:13px sans-serif;fill:#1c2733}"
        ".note{font-size:11px;fill:#55667a}.title{font-size:16px;font-weight:"
        "bold}</style>\n<rect x=\"0\" y=\"0\" width=\""
     << width << "\" height=\"" << top
     << "\" style=\"fill:#fff;stroke:none\"/>\n"
     << body << "</svg>\n";
}
