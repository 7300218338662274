//===- Stages.h - the middle and the end of a compilation -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TOOLS_TDSLC_STAGES_H
#define TDSL_TOOLS_TDSLC_STAGES_H

#include "Compile.h"

#include "llvm/Support/Timer.h"

#include <chrono>
#include <memory>

namespace tdslc {

/// Prints the time of the parts of a run when it goes out of scope, if asked
/// for. Wall time and CPU time, by LLVM's timers. Then the notes, and the wall
/// time of each pass in `passes`, which outlives the timer.
class StageTimer {
public:
  explicit StageTimer(
      bool enabled,
      const std::vector<tdsl::report::Duration> *passes = nullptr);
  ~StageTimer();
  /// Ends the stage at hand and begins another.
  void begin(llvm::StringRef stage);
  /// Something else to be told.
  void note(std::string text) { notes.push_back(std::move(text)); }
  /// Ends the stage at hand; gives the wall time of all since the last call.
  std::vector<tdsl::report::Duration> take();

private:
  void end();
  void printPasses() const;
  bool enabled;
  const std::vector<tdsl::report::Duration> *passes;
  std::unique_ptr<llvm::TimerGroup> group;
  std::vector<std::unique_ptr<llvm::Timer>> timers;
  std::vector<tdsl::report::Duration> durations;
  std::vector<std::string> notes;
  std::chrono::steady_clock::time_point begun;
  bool isRunning = false;
};

/// The folder of the program as locations name it, with its last slash, or "".
std::string getSourceFolder(llvm::StringRef path);

/// The options that change what a program becomes, one a line.
std::string getOptionsText(const Options &options);

/// A target of a compilation, as the command line names it.
struct Target {
  bool isCPU = false;
  std::string arch; ///< "x86-64-v3" or "sm_80"
};

/// "cpu", a CPU level or a GPU architecture. Prints what is wrong and gives
/// false where it is none.
bool parseTarget(llvm::StringRef text, const Options &options, Target &target);

/// Makes equal layers of `module` loops, where the options want that.
bool runRolling(Program &program, const Options &options,
                mlir::ModuleOp module);

/// Gives the entries of `module` all the results that they will have, calls
/// inlined.
bool completeEntries(Program &program, const Options &options,
                     mlir::ModuleOp module);

/// Differentiates and cleans up; the module then is what --emit=tds-opt prints.
bool runDifferentiation(Program &program, const Options &options);

/// A copy of the module as kernels with the schedules of a target
/// (--emit=kernels).
mlir::OwningOpRef<mlir::ModuleOp>
makeKernels(Program &program, const Options &options, const Target &target);

/// Turns kernels into a plan (--emit=plan).
bool runPlanning(Program &program, mlir::ModuleOp module);

/// The complete artefact file of one target; empty after an error. Tells
/// `timer` where the code of its kernels came from.
std::string makeArtifact(mlir::ModuleOp plan, const Program &program,
                         const Options &options, const Target &target,
                         StageTimer &timer);

/// The manifest of the plan for a target; empty after an error.
std::string makeManifest(mlir::ModuleOp plan, const Program &program,
                         const Options &options, const Target &target);

} // namespace tdslc

#endif // TDSL_TOOLS_TDSLC_STAGES_H
