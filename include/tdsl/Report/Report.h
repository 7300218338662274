//===- Report.h - what became of a program, line by line -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything here is plain data that is read off a planned module and the
// remarks of the passes: `--explain` prints it, `--report` draws it. See
// docs/Report.md.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_REPORT_REPORT_H
#define TDSL_REPORT_REPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace mlir {
class PassManager;
} // namespace mlir

namespace tdsl::report {

/// A place in the program; `file` is relative to the program's folder.
struct Place {
  std::string file;
  unsigned line = 0, column = 0;

  bool operator==(const Place &other) const {
    return std::tie(file, line, column) ==
           std::tie(other.file, other.line, other.column);
  }
  /// "mlp.tds:12", or "" where nothing is known.
  std::string getLine() const;
};

/// A remark of a pass.
struct Note {
  enum class Kind { Passed, Missed, Analysis };
  Kind kind = Kind::Passed;
  /// "recognise", "fusion", …: which question it answers.
  std::string category;
  /// The entry, or empty.
  std::string entry;
  std::string text;
  std::vector<Place> places;
  /// The locations that it is about, and, for what was not joined, those where
  /// the value that is read is made. Valid as long as the context.
  std::vector<mlir::Attribute> parts, producer;
};

/// Collects the remarks that passes emit on a context. Lives longer than the
/// context's passes run.
class NoteLog {
public:
  /// `sourceFolder` is left out at the beginning of file names.
  explicit NoteLog(std::string sourceFolder)
      : sourceFolder(std::move(sourceFolder)) {}

  /// Makes this the receiver of the context's remarks.
  mlir::LogicalResult install(mlir::MLIRContext &context);

  /// The notes since the last call.
  std::vector<Note> take() { return std::move(notes); }

private:
  std::string sourceFolder;
  std::vector<Note> notes;
  friend class NoteStreamer;
};

/// A kernel that reads what another one made.
struct Edge {
  unsigned producer = 0; ///< number of a launch in the entry's `launches`
  int64_t bytes = 0;
  /// Whether the producer ran in the iteration of the loop before; it may be
  /// the launch itself then, or a later one.
  bool isCarried = false;
  /// Why the two are not one kernel: as the passes said it, or the loop that
  /// stands between.
  std::string reason;
};

/// One launch of the manifest.
struct Launch {
  /// Its number among the commands of the entry; that of the loop it is in.
  unsigned command = 0;
  /// "4"; in a loop "4.1", with its number among the commands of the loop.
  std::string number;
  /// How often it runs in a call.
  int64_t runs = 1;
  /// Number of its kernel in TargetReport::kernels.
  unsigned kernel = 0;
  /// Where the program says what it computes; the first is the main one.
  std::vector<Place> places;
  /// Bytes that it reads and writes, and those of them that no plan could save;
  /// in a loop, of all iterations.
  int64_t bytes = 0, leastBytes = 0;
  /// Operations on floats, and those of them in products of two f16 or two
  /// bf16.
  int64_t flops = 0, f16Flops = 0, bf16Flops = 0;
  std::vector<Edge> inputs;
  /// Of TargetReport::notes.
  std::vector<unsigned> notes;
};

/// What lies in the arena from command `first` to command `last`.
struct LiveRange {
  int64_t offset = 0, bytes = 0, first = 0, last = 0;
  Place place;
  std::string type;
};

struct LargeTensor {
  std::string role, name, type;
  int64_t bytes = 0;
  Place place;
};

/// A copy or a fill, of which equal ones are one.
struct CopyReason {
  bool isFill = false;
  int64_t runs = 0;  ///< in one call, with every iteration of loops
  int64_t bytes = 0; ///< that it writes, all runs together
  std::string why;
  Place place;
};

struct Entry {
  std::string name, kind;
  std::vector<Launch> launches;
  unsigned numCommands = 0;
  /// In one call, with every iteration of loops.
  int64_t numLaunches = 0, numCopies = 0;
  /// What copies and fills move, and what of it no plan could save.
  int64_t copyBytes = 0, leastCopyBytes = 0;
  std::vector<CopyReason> copies; ///< in the order of the plan
  int64_t arenaBytes = 0;
  /// Variables, constants and slots: there all the time.
  int64_t fixedBytes = 0;
  int64_t scratchBytes = 0;
  std::vector<int64_t> liveBytes; ///< of the arena, for each command
  unsigned peakCommand = 0;
  std::vector<LiveRange> ranges;
  std::vector<LargeTensor> largest;

  int64_t getPeakBytes() const { return fixedBytes + arenaBytes; }
  int64_t getBytes() const;
  int64_t getLeastBytes() const;
};

/// A kernel of the manifest.
struct Kernel {
  std::string symbol, kind, title;
  /// Its function in the plan, and its PTX; the latter is empty on a CPU.
  std::string ir, code;
};

/// A part of the compilation and how long it took.
struct Duration {
  std::string name;
  double seconds = 0;
};

/// What a device reaches, for the roofline; 0 where it is not known.
struct Device {
  std::string name;
  double bytesPerSecond = 0, flopsPerSecond = 0;
  /// Of products of two f16 or two bf16; no less than flopsPerSecond.
  double f16PerSecond = 0, bf16PerSecond = 0;

  /// The least time that a launch, with all its runs, can compute for, and can
  /// take.
  double getComputeSeconds(const Launch &launch) const;
  double getSeconds(const Launch &launch) const;
};

struct TargetReport {
  std::string arch;
  bool isCPU = false;
  Device device;
  std::vector<Kernel> kernels;
  std::vector<Entry> entries;
  std::vector<Note> notes;
  /// Parts of the compilation for this target, and the passes within.
  std::vector<Duration> stages, passes;
};

struct SourceFile {
  std::string name; ///< as places name it
  std::string text;
};

struct Report {
  std::string program, producer;
  /// The options of the command line that change the result.
  std::string options;
  std::vector<SourceFile> sources;
  /// What all targets share: front end, differentiation; and the passes within.
  std::vector<Duration> stages, passes;
  std::vector<TargetReport> targets;
};

/// Reads the launches, bytes and memory of a planned module. `notes` are those
/// that passes made on the way to it.
TargetReport describePlan(mlir::ModuleOp plan, std::vector<Note> notes,
                          llvm::StringRef sourceFolder);

/// From now on adds the time of each pass of `manager` to `times`, under the
/// name of the pass behind `prefix`.
void timePasses(mlir::PassManager &manager, std::vector<Duration> &times,
                llvm::StringRef prefix);

/// Adds the PTX of each kernel.
void addCode(TargetReport &target, llvm::StringRef ptx);

/// Prints, line by line of the program, what `--explain` shows.
void printExplanation(const Report &report, llvm::raw_ostream &os);

/// The page of `--report`: HTML that needs nothing else.
std::string makePage(const Report &report);

/// An SVG file: for each entry its launches in layers, each as a box with
/// kernel, source line and bytes, and a line from every launch to those that
/// read what it wrote.
std::string makeGraph(const TargetReport &target);

/// "1.5 MiB", "12 B".
std::string formatBytes(double bytes);

} // namespace tdsl::report

#endif // TDSL_REPORT_REPORT_H
