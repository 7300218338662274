//===- Explain.cpp - the report in the terminal ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadPlan.h"

#include "tdsl/Report/Report.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"

#include <map>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::report;

std::string report::describeNote(const Note &note) {
  if (note.category == "recognise" && note.kind == Note::Kind::Passed)
    return "recognised as " + note.text;
  return note.text;
}

std::vector<std::string> report::describeNotes(const TargetReport &target,
                                               const Launch &launch,
                                               size_t most) {
  std::string main =
      launch.places.empty() ? "" : launch.places.front().getLine();
  std::vector<std::string> sentences;
  llvm::StringSet<> seen;
  for (unsigned number : launch.notes) {
    const Note &note = target.notes[number];
    std::string line = note.places.empty() ? "" : note.places.front().getLine();
    std::string sentence =
        (line == main ? "" : line + " ") + describeNote(note);
    if (seen.insert(sentence).second)
      sentences.push_back(std::move(sentence));
  }
  if (sentences.size() > most) {
    std::string rest =
        "and " + std::to_string(sentences.size() - most + 1) + " more remarks";
    sentences.resize(most - 1);
    sentences.push_back(std::move(rest));
  }
  return sentences;
}

std::string report::describeRuns(const Launch &launch) {
  return launch.runs == 1 ? "" : "in " + std::to_string(launch.runs) + " runs ";
}

std::string report::describeMoved(int64_t bytes, int64_t leastBytes) {
  std::string text = "moves " + formatBytes(bytes);
  if (leastBytes == bytes)
    return text + ", the least possible";
  std::string least = formatBytes(leastBytes);
  if (least == formatBytes(bytes))
    return text + ", nearly the least possible";
  return text + ", of which " + least + " cannot be saved";
}

std::string report::describeCopy(const CopyReason &copy) {
  std::string text = std::to_string(copy.runs) +
                     (copy.isFill      ? copy.runs == 1 ? " fill" : " fills"
                      : copy.runs == 1 ? " copy"
                                       : " copies") +
                     " of " + formatBytes(double(copy.bytes) / copy.runs);
  if (copy.place.line)
    text += " (" + copy.place.getLine() + ")";
  return text + ": " + copy.why;
}

std::string report::formatCount(double count) {
  static constexpr const char *units[] = {"", "k", "M", "G", "T", "P", "E"};
  unsigned unit = 0;
  for (; count >= 1000 && unit < 6; ++unit)
    count /= 1000;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::format(unit && count < 100 ? "%.1f" : "%.0f", count) << ' '
     << units[unit];
  return text;
}

namespace {

class Printer {
public:
  Printer(const Report &report, const TargetReport &target,
          llvm::raw_ostream &os)
      : report(report), target(target), os(os) {}

  void run() {
    collect();
    os << report.program << " on " << target.arch << "\n";
    // The program first, then what it imports, then the standard modules.
    for (const SourceFile &file : report.sources)
      printFile(file.name, file.text);
    for (auto &[name, lines] : files)
      if (!printed.contains(name))
        printFile(name, "");
    for (const Entry &entry : target.entries)
      printEntry(entry);
  }

private:
  /// Launches of one kernel in one entry that read alike.
  struct Group {
    const Entry *entry;
    const Launch *launch;
    std::string details;
    std::vector<std::string> numbers;
  };
  struct Line {
    std::vector<Group> own;
    /// Of kernels whose main place is elsewhere.
    std::vector<const Group *> others;
  };

  void collect() {
    for (const Entry &entry : target.entries)
      for (const Launch &launch : entry.launches)
        add(entry, launch);
    for (auto &[file, lines] : files) {
      std::vector<std::pair<Place, const Group *>> parts;
      for (auto &[number, line] : lines)
        for (Group &group : line.own)
          for (const Place &place : llvm::drop_begin(group.launch->places))
            parts.emplace_back(place, &group);
      for (auto &[place, group] : parts) {
        const Place &main = group->launch->places.front();
        if (place.file == main.file && place.line == main.line)
          continue;
        auto &others = files[place.file][place.line].others;
        if (!llvm::is_contained(others, group))
          others.push_back(group);
      }
    }
  }

  void add(const Entry &entry, const Launch &launch) {
    Place main = launch.places.empty() ? Place{report.program, 0, 0}
                                       : launch.places.front();
    std::vector<Group> &groups = files[main.file][main.line].own;
    std::string details = getDetails(entry, launch, main);
    for (Group &group : groups)
      if (group.entry == &entry && group.launch->kernel == launch.kernel &&
          group.details == details)
        return group.numbers.push_back(launch.number);
    groups.push_back({&entry, &launch, std::move(details), {launch.number}});
  }

  std::string getDetails(const Entry &entry, const Launch &launch,
                         const Place &main) {
    std::string text;
    llvm::raw_string_ostream details(text);
    std::vector<std::string> others;
    for (const Place &place : launch.places)
      if (place.getLine() != main.getLine() &&
          !llvm::is_contained(others, place.getLine()))
        others.push_back(place.getLine());
    if (!others.empty())
      details << "    holds also " << llvm::join(others, ", ") << "\n";
    details << "    " << describeRuns(launch)
            << describeMoved(launch.bytes, launch.leastBytes);
    if (launch.flops)
      details << "; " << formatCount(launch.flops) << "FLOP";
    details << "\n";
    for (const std::string &sentence : describeNotes(target, launch, 6))
      details << "    " << sentence << "\n";
    for (const Edge &edge : launch.inputs) {
      const Launch &producer = entry.launches[edge.producer];
      details << "    reads " << formatBytes(edge.bytes) << " of "
              << target.kernels[producer.kernel].symbol;
      if (!producer.places.empty())
        details << " (" << producer.places.front().getLine() << ")";
      if (!edge.reason.empty())
        details << ", not joined: " << edge.reason;
      details << "\n";
    }
    return text;
  }

  static std::string getNames(const Group &group) {
    std::string text = group.entry->name;
    for (auto [i, number] : llvm::enumerate(group.numbers))
      text += (i ? ", " : " ") + number;
    return text;
  }

  void printFile(StringRef name, StringRef text) {
    printed.insert(name);
    auto file = files.find(name.str());
    if (file == files.end())
      return;
    SmallVector<StringRef> lines;
    text.split(lines, '\n');
    for (auto &[number, line] : file->second) {
      os << "\n"
         << (number ? name.str() + ":" + std::to_string(number)
                    : "no line of the program");
      if (number && number <= lines.size())
        os << ": " << lines[number - 1].trim();
      os << "\n";
      for (const Group &group : line.own) {
        const Kernel &kernel = target.kernels[group.launch->kernel];
        os << "  " << kernel.symbol << " [" << getNames(group)
           << "]: " << kernel.title << "\n"
           << group.details;
      }
      for (const Group *group : line.others)
        os << "  in " << target.kernels[group->launch->kernel].symbol << " ["
           << getNames(*group) << "], see "
           << group->launch->places.front().getLine() << "\n";
    }
  }

  void printEntry(const Entry &entry) {
    int64_t bytes = entry.getBytes(), least = entry.getLeastBytes(), flops = 0;
    for (const Launch &launch : entry.launches)
      flops += launch.flops;
    int64_t copies = entry.numCopies;
    os << "\n"
       << entry.name << ": " << entry.numLaunches
       << (entry.numLaunches == 1 ? " launch" : " launches");
    if (copies)
      os << ", " << copies
         << (copies == 1 ? " copy or fill" : " copies and fills");
    os << "; " << describeMoved(bytes, least) << "; " << formatCount(flops)
       << "FLOP\n  at its peak " << formatBytes(entry.getPeakBytes());
    if (entry.numCommands)
      os << ", with " << formatBytes(entry.liveBytes[entry.peakCommand])
         << " of the arena in use at command " << entry.peakCommand;
    os << "\n";
    for (const CopyReason &copy : entry.copies)
      os << "  " << describeCopy(copy) << "\n";
    for (const LargeTensor &tensor : entry.largest) {
      os << "  " << formatBytes(tensor.bytes) << " " << tensor.role;
      if (!tensor.name.empty())
        os << " " << tensor.name;
      if (!tensor.type.empty())
        os << ": " << tensor.type;
      if (tensor.place.line)
        os << " (" << tensor.place.getLine() << ")";
      os << "\n";
    }
  }

  const Report &report;
  const TargetReport &target;
  llvm::raw_ostream &os;
  std::map<std::string, std::map<unsigned, Line>> files;
  llvm::StringSet<> printed;
};

} // namespace

void report::printExplanation(const Report &report, llvm::raw_ostream &os) {
  for (auto [i, target] : llvm::enumerate(report.targets)) {
    if (i)
      os << "\n";
    Printer(report, target, os).run();
  }
}
