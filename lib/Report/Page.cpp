//===- Page.cpp - the report as a page ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything that comes from outside, source text, names, IR, goes through
// escape(). The page loads nothing and runs no script; its policy forbids both.
//
//===----------------------------------------------------------------------===//

#include "ReadPlan.h"
#include "Svg.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::report;

static const char pageTemplate[] = {
#include "page.inc"
    , 0};

namespace {

class PageWriter {
public:
  PageWriter(const Report &report, const TargetReport &target,
             llvm::raw_ostream &os)
      : report(report), target(target), os(os) {}

  void run() {
    os << "<section>\n<h2 id=\"" << getId("") << "\">" << escape(target.arch)
       << "</h2>\n";
    writeSummary();
    writeProgram();
    for (const Entry &entry : target.entries)
      if (!entry.launches.empty() && entry.kind != "init")
        writePictures(entry);
    writeCompileTime();
    os << "</section>\n";
  }

private:
  /// Names within the page: the target, then what follows.
  std::string getId(const Twine &rest) const {
    return escape(("t-" + target.arch + rest).str());
  }
  std::string getLaunchId(const Entry &entry, const Launch &launch) const {
    return getId("-" + entry.name + "-" + launch.number);
  }

  //===------------------------------------------------------------------===//
  // Numbers
  //===------------------------------------------------------------------===//

  void writeSummary() {
    os << "<div class=\"scroll\"><table>\n<tr><th>entry</th><th>launches</th>"
          "<th>copies and fills</th><th>bytes moved</th><th>cannot be "
          "saved</th><th>ratio</th><th>operations</th><th>memory at the "
          "peak</th></tr>\n";
    for (const Entry &entry : target.entries) {
      double flops = 0;
      for (const Launch &launch : entry.launches)
        flops += launch.flops;
      int64_t bytes = entry.getBytes(), least = entry.getLeastBytes();
      os << "<tr><td>" << escape(entry.name) << "</td><td>" << entry.numLaunches
         << "</td><td>" << entry.numCopies << "</td><td>" << formatBytes(bytes)
         << "</td><td>" << formatBytes(least) << "</td><td>"
         << (least ? llvm::formatv("{0:f2}", double(bytes) / least).str()
                   : "&ndash;")
         << "</td><td>" << formatCount(flops) << "FLOP</td><td>"
         << formatBytes(entry.getPeakBytes()) << "</td></tr>\n";
    }
    os << "</table></div>\n";
    for (const Entry &entry : target.entries) {
      if (entry.copies.empty())
        continue;
      os << "<details><summary>Copies and fills of " << escape(entry.name)
         << "</summary><ul>\n";
      for (const CopyReason &copy : entry.copies)
        os << "<li>" << escape(describeCopy(copy)) << "</li>\n";
      os << "</ul></details>\n";
    }
    os << "<p class=\"soft\">What cannot be saved: what an "
          "entry is given and what it returns, each once, and the factors and "
          "results of contractions. Everything else could be computed where it "
          "is needed.</p>\n";
  }

  //===------------------------------------------------------------------===//
  // Source and kernels
  //===------------------------------------------------------------------===//

  void writeProgram() {
    os << "<h3>Program and kernels</h3>\n<p class=\"legend soft\">";
    for (const char *kind :
         {"contract", "attention", "row", "loop", "scatter", "parts"})
      if (llvm::any_of(target.kernels, [&](const Kernel &kernel) {
            return kernel.kind == kind;
          }))
        os << "<span><span class=\"k " << getKindClass(kind) << "\"></span>"
           << kind << "</span>";
    os << "</p>\n<div class=\"pair\">\n<div class=\"source mono\">\n";
    for (const SourceFile &file : report.sources)
      writeSource(file);
    os << "</div>\n<div>\n";
    for (const Entry &entry : target.entries)
      for (auto &[kernel, launches] : groupByKernel(entry))
        writeKernel(entry, target.kernels[kernel], launches);
    os << "</div>\n</div>\n";
  }

  using Launches = SmallVector<const Launch *>;

  /// The launches of each kernel in an entry, in the order of the first.
  static llvm::MapVector<unsigned, Launches> groupByKernel(const Entry &entry) {
    llvm::MapVector<unsigned, Launches> groups;
    for (const Launch &launch : entry.launches)
      groups[launch.kernel].push_back(&launch);
    return groups;
  }

  static std::string getCount(const Launches &launches) {
    int64_t runs = 0;
    for (const Launch *launch : launches)
      runs += launch->runs;
    return runs == 1 ? "" : " &times;" + std::to_string(runs);
  }

  void writeSource(const SourceFile &file) {
    // By line: which kernels hold a part of it.
    std::map<unsigned, std::string> chips;
    for (const Entry &entry : target.entries) {
      std::map<unsigned, llvm::MapVector<unsigned, Launches>> byLine;
      for (const Launch &launch : entry.launches)
        for (const Place &place : launch.places)
          if (place.file == file.name) {
            Launches &launches = byLine[place.line][launch.kernel];
            if (!llvm::is_contained(launches, &launch))
              launches.push_back(&launch);
          }
      for (auto &[line, kernels] : byLine)
        for (auto &[kernel, launches] : kernels)
          chips[line] += "<a class=\"chip " +
                         getKindClass(target.kernels[kernel].kind) +
                         "\" href=\"#" + getLaunchId(entry, *launches.front()) +
                         "\">" + escape(entry.name) + " " +
                         launches.front()->number + getCount(launches) + "</a>";
    }
    if (report.sources.size() > 1)
      os << "<div class=\"soft\">" << escape(file.name) << "</div>\n";
    SmallVector<StringRef> lines;
    StringRef(file.text).rtrim().split(lines, '\n');
    for (auto [number, line] : llvm::enumerate(lines)) {
      os << "<div class=\"code\"><i>" << number + 1 << "</i>" << escape(line)
         << "</div>\n";
      if (auto it = chips.find(number + 1); it != chips.end())
        os << "<div class=\"chips\">" << it->second << "</div>\n";
    }
  }

  void writeKernel(const Entry &entry, const Kernel &kernel,
                   const Launches &launches) {
    int64_t bytes = 0;
    for (const Launch *launch : launches)
      bytes += launch->bytes;
    os << "<details><summary><span class=\"k " << getKindClass(kernel.kind)
       << "\"></span><b>" << escape(entry.name) << " "
       << launches.front()->number << getCount(launches) << "</b> <code>"
       << escape(kernel.symbol) << "</code> <span class=\"soft\">"
       << formatBytes(bytes) << "</span><br><code>" << escape(kernel.title)
       << "</code></summary>\n";
    for (const Launch *launch : launches)
      writeLaunch(entry, kernel, *launch);
    writeCode(kernel, getLaunchId(entry, *launches.front()));
    os << "</details>\n";
  }

  void writeLaunch(const Entry &entry, const Kernel &kernel,
                   const Launch &launch) {
    os << "<div class=\"in\" id=\"" << getLaunchId(entry, launch)
       << "\" data-launch=\"" << escape(entry.name) << " " << launch.number
       << " " << escape(kernel.symbol) << "\">\n<p><b>" << escape(entry.name)
       << " " << launch.number << "</b> " << describeRuns(launch)
       << describeMoved(launch.bytes, launch.leastBytes);
    if (launch.flops)
      os << "; " << formatCount(launch.flops) << "FLOP";
    os << "</p>\n<ul>\n";
    std::vector<std::string> lines;
    for (const Place &place : launch.places)
      if (!llvm::is_contained(lines, place.getLine()))
        lines.push_back(place.getLine());
    if (!lines.empty())
      os << "<li>holds " << escape(llvm::join(lines, ", ")) << "</li>\n";
    for (const std::string &sentence : describeNotes(target, launch))
      os << "<li>" << escape(sentence) << "</li>\n";
    for (const Edge &edge : launch.inputs)
      writeEdge(entry, edge);
    os << "</ul>\n</div>\n";
  }

  void writeEdge(const Entry &entry, const Edge &edge) {
    const Launch &producer = entry.launches[edge.producer];
    os << "<li>reads " << formatBytes(edge.bytes) << " of <a href=\"#"
       << getLaunchId(entry, producer) << "\">" << escape(entry.name) << " "
       << producer.number << "</a> <code>"
       << escape(target.kernels[producer.kernel].symbol) << "</code>";
    if (!edge.reason.empty())
      os << "; not joined: " << escape(edge.reason);
    os << "</li>\n";
  }

  /// The code of a kernel stands where it is first launched, by the place `id`.
  void writeCode(const Kernel &kernel, const std::string &id) {
    auto [first, isNew] = codeAt.try_emplace(kernel.symbol, id);
    if (!isNew) {
      os << "<p class=\"code-at\">Its code is <a href=\"#" << first->second
         << "\">at its first launch</a>.</p>\n";
      return;
    }
    os << "<div class=\"codes" << (kernel.code.empty() ? "" : " two")
       << "\"><pre>" << escape(kernel.ir) << "</pre>";
    if (!kernel.code.empty())
      os << "<pre>" << escape(kernel.code) << "</pre>";
    os << "</div>\n";
  }

  //===------------------------------------------------------------------===//
  // Pictures
  //===------------------------------------------------------------------===//

  void writePictures(const Entry &entry) {
    std::string name = escape(entry.name);
    os << "<div class=\"pair wide\">\n<div>\n<h3>" << name << ": kernels</h3>\n"
       << makeSVG(drawGraph(target, entry, "#" + getId("-" + entry.name + "-")),
                  "Kernels of " + entry.name + " and what they read",
                  /*isScaled=*/false)
       << "</div>\n<div>\n<h3>" << name << ": roofline</h3>\n";
    writeRoofline(entry);
    os << "<h3>" << name << ": memory</h3>\n";
    writeMemory(entry);
    os << "</div>\n</div>\n";
  }

  void writeMemory(const Entry &entry) {
    os << "<p class=\"soft\">" << formatBytes(entry.getPeakBytes())
       << " in all: " << formatBytes(entry.fixedBytes)
       << " of variables, constants, inputs and results, and an arena of "
       << formatBytes(entry.arenaBytes) << ".";
    if (entry.arenaBytes)
      os << " Each box is a tensor in the arena; the line is how much is in "
            "use, most of it at command "
         << entry.peakCommand << ".";
    os << "</p>\n";
    if (entry.arenaBytes)
      os << makeSVG(drawMemory(target, entry),
                    "Memory of " + entry.name + " over its commands");
    os << "<p>The largest at the peak:</p>\n<div class=\"scroll\"><table>\n";
    for (const LargeTensor &tensor : entry.largest)
      os << "<tr><td>" << formatBytes(tensor.bytes)
         << "</td><td class=\"left\">" << escape(tensor.role) << " "
         << escape(tensor.name) << "</td><td class=\"left mono\">"
         << escape(tensor.type) << "</td><td class=\"left\">"
         << escape(tensor.place.getLine()) << "</td></tr>\n";
    os << "</table></div>\n";
  }

  void writeRoofline(const Entry &entry) {
    const Device &device = target.device;
    if (device.bytesPerSecond <= 0 || device.flopsPerSecond <= 0) {
      os << "<p class=\"soft\">No description of this device is known, so "
            "there is no roof.</p>\n";
      return;
    }
    double seconds = 0;
    for (const Launch &launch : entry.launches)
      seconds += device.getSeconds(launch);
    std::string products;
    auto addProducts = [&](StringRef type, int64_t Launch::*count,
                           double perSecond) {
      bool isUsed = llvm::any_of(entry.launches, [&](const Launch &launch) {
        return launch.*count > 0;
      });
      if (isUsed && perSecond > device.flopsPerSecond)
        products += ", in products of " + type.str() + " " +
                    formatCount(perSecond) + "FLOP/s";
    };
    addProducts("f16", &Launch::f16Flops, device.f16PerSecond);
    addProducts("bf16", &Launch::bf16Flops, device.bf16PerSecond);
    os << "<p class=\"soft\">What each kernel can reach at most on "
       << escape(device.name) << " (" << formatCount(device.bytesPerSecond)
       << "B/s, " << formatCount(device.flopsPerSecond) << "FLOP/s" << products
       << "); the area is its share of the least time, "
       << llvm::formatv("{0:f3}", seconds * 1e3)
       << " ms in all. A bound, not a measurement.</p>\n"
       << makeSVG(drawRoofline(target, entry), "Roofline of " + entry.name);
  }

  void writeCompileTime() {
    constexpr unsigned numBars = 14;
    std::vector<Duration> stages = report.stages;
    llvm::append_range(stages, target.stages);
    std::vector<Duration> passes = report.passes;
    llvm::append_range(passes, target.passes);
    os << "<h3>Compile time</h3>\n<p class=\"soft\">Stages, then passes.</p>\n"
       << makeSVG(drawDurations(stages, numBars), "Compile time of each stage")
       << makeSVG(drawDurations(passes, numBars), "Compile time of each pass");
  }

  const Report &report;
  const TargetReport &target;
  llvm::raw_ostream &os;
  llvm::StringMap<std::string> codeAt;
};

} // namespace

std::string report::makePage(const Report &report) {
  std::string body;
  llvm::raw_string_ostream os(body);
  os << "<header>\n<h1>" << escape(report.program)
     << "</h1>\n<p class=\"soft\">" << escape(report.producer);
  for (StringRef option : llvm::split(StringRef(report.options).rtrim(), '\n'))
    if (!option.empty())
      os << ", <code>" << escape(option) << "</code>";
  os << "</p>\n<nav>";
  for (const TargetReport &target : report.targets)
    os << "<a href=\"#t-" << escape(target.arch) << "\">" << escape(target.arch)
       << "</a>";
  os << "</nav>\n</header>\n";
  for (const TargetReport &target : report.targets)
    PageWriter(report, target, os).run();

  auto [head, rest] = StringRef(pageTemplate).split("{{title}}");
  auto [style, end] = rest.split("{{body}}");
  return (head + escape(report.program) + style + body + end).str();
}
