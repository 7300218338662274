//===- ProgramCheck.h - a program on every path, compared -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles a TDS text in this process and compares what its entries give on
// every path with the reference evaluator on the differentiated program as the
// front end emitted it: bit for bit where no float reduction that rounds is
// involved, otherwise within what an error of n * eps * sum |term| in each such
// reduction makes of the results.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TESTING_PROGRAMCHECK_H
#define TDSL_TESTING_PROGRAMCHECK_H

#include "tdsl/Testing/PlantedBugs.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace tdsl::testing {

struct CheckOptions {
  bool gradients = true;   ///< against central differences in f64
  bool folding = true;     ///< arguments as constants, folded
  bool fusion = true;      ///< kernels of both fusion modes in the evaluator
  bool cpu = true;         ///< CPU code in the runtime
  bool cpuUnfused = false; ///< CPU code with fusion off too
  bool ptx = false; ///< PTX in the runtime, on the driver of TDS_CUDA_DRIVER
  bool launches = false; ///< count those of both fusion modes
  uint64_t seed = 0;     ///< of the arguments and variables
  PlantedBug bug = PlantedBug::None;
};

/// What a check has found. `check` is "front end", "pipeline", "gradient",
/// "canonical", "folding", "fusion", "fusion off", "fusion on and off", "cpu",
/// "cpu unfused", "launches" or "ptx".
struct Failure {
  std::string check, message;
};

/// Launches of plans with fusion and without, over programs.
struct LaunchCounts {
  uint64_t programs = 0, fused = 0, unfused = 0;
  /// Programs that have fewer launches with fusion, and those that have more.
  uint64_t fewer = 0, more = 0;
};

struct CheckReport {
  std::vector<Failure> failures;
  /// Operations that the program has ("ir tds.scatter"), and what it
  /// differentiates ("derivative of a window").
  std::set<std::string> features;
  unsigned entries = 0, gradients = 0, kernels = 0;
  /// Elements that were compared bit for bit, and within a bound.
  uint64_t exact = 0, bounded = 0;
  /// By target, with `CheckOptions::launches`.
  std::map<std::string, LaunchCounts> launches;
};

/// Checks programs one after the other; not thread-safe. It keeps one
/// MLIRContext for some programs.
class ProgramChecker {
public:
  ProgramChecker();
  ~ProgramChecker();

  /// Arguments are random. A line `// input NAME: ids N` in the text draws the
  /// integers of an input from [0, N), `whole` gives small whole numbers, `any`
  /// also NaN, infinities and the largest and least numbers. `ids N outside`
  /// draws one of them N too high or below 0. Without such a line integers that
  /// are indices are drawn from their range.
  ///
  /// Lines `// define N = 4` stand for `-D N=4`; what follows a line
  /// `// file PATH` is a file that the program imports.
  CheckReport check(llvm::StringRef text, const CheckOptions &options = {});

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tdsl::testing

#endif // TDSL_TESTING_PROGRAMCHECK_H
