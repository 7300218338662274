//===- Reporting.h - --explain and --report -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TOOLS_TDSLC_REPORTING_H
#define TDSL_TOOLS_TDSLC_REPORTING_H

#include "Compile.h"
#include "Stages.h"

#include "tdsl/Report/Report.h"

#include <optional>

namespace tdslc {

/// Gathers what --explain and --report show while a program is compiled; does
/// nothing where neither is asked for.
class Reporting {
public:
  Reporting(const Options &options, Program &program);

  bool isWanted() const { return options.explain || !options.report.empty(); }
  /// Whether the code of this target is shown.
  bool needsCode(const Target &target) const {
    return !options.report.empty() && !target.isCPU;
  }

  /// Forgets what passes said so far.
  void dropRemarks();

  /// Behind the front end and differentiation.
  void addProgram(StageTimer &timer);
  /// A target that has been planned; `file` is its artefact, or empty.
  void addTarget(mlir::ModuleOp plan, const Target &target,
                 llvm::StringRef file, StageTimer &timer);
  /// Prints and writes.
  ExitCode finish();

private:
  const Options &options;
  Program &program;
  std::string sourceFolder;
  std::optional<tdsl::report::NoteLog> notes;
  tdsl::report::Report report;
};

} // namespace tdslc

#endif // TDSL_TOOLS_TDSLC_REPORTING_H
