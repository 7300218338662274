//===- ProgramRun.h - many random programs, and what they cover -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TESTING_PROGRAMRUN_H
#define TDSL_TESTING_PROGRAMRUN_H

#include "tdsl/Testing/ProgramCheck.h"

#include "llvm/Support/raw_ostream.h"

#include <map>

namespace tdsl::testing {

/// Counts over a run. Features are counted by programs that have them.
struct RunResult {
  unsigned programs = 0, failures = 0, crashes = 0;
  uint64_t entries = 0, gradients = 0, kernels = 0, exact = 0, bounded = 0;
  std::map<std::string, unsigned> features;
  /// Programs that differentiate a window, a gather, a fold or a reduction.
  unsigned differentiating = 0;
  std::map<std::string, LaunchCounts> launches; ///< by target

  /// The features that fewer than one program in a hundred has, among them
  /// those of the language that none has.
  std::vector<std::string> findRare() const;
  /// Prints the counts; with `coverage` each feature too, and those that fewer
  /// than one program in a hundred has.
  void print(llvm::raw_ostream &os, bool coverage) const;
};

/// Checks the programs of the seeds `first`, `first` + 1, … in a child process,
/// which is replaced where a program crashes it or takes more than a minute of
/// processor time. Failures go to `os` as they are found; `stopAfter` failing
/// programs, where not 0, end the run.
RunResult runPrograms(uint64_t first, unsigned count,
                      const CheckOptions &options, unsigned stopAfter,
                      llvm::raw_ostream &os);

} // namespace tdsl::testing

#endif // TDSL_TESTING_PROGRAMRUN_H
