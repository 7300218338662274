//===- Options.h - what the command line of tdslc says -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TOOLS_TDSLC_OPTIONS_H
#define TDSL_TOOLS_TDSLC_OPTIONS_H

#include "tdsl/Pipeline/FastMath.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tdslc {

/// Name and version, as `--version`, manifests and reproducers say it.
inline constexpr char kProducer[] = "tdslc " TDSL_VERSION;

/// How a run of tdslc ends; see docs/Language.md, Diagnostics.
enum ExitCode : int {
  Fine = 0,         ///< done
  ProgramWrong = 1, ///< the program, or a file, is wrong
  UsageWrong = 2,   ///< the command line is wrong
  Internal = 3,     ///< a fault of tdslc; a reproducer was written
};

enum class Command { Compile, Check, Explain, Format, Document };

/// The command line, parsed. There is no other place where options live.
struct Options {
  Command command = Command::Compile;
  std::string input;
  std::string output;
  std::string emit;                       ///< empty: an artefact
  std::string explainCode;                ///< for Command::Explain
  std::vector<std::string> files;         ///< for Command::Format
  bool onlyCheck = false;                 ///< for Command::Format
  std::map<std::string, int64_t> defines; ///< -D name=value
  std::vector<std::string> targets;       ///< --targets, in order
  std::string arch = "sm_80";
  std::string cpu = "x86-64-v3";
  bool fusion = true;
  int64_t rolledLayers = 0;      ///< 0: loops over layers stay unrolled
  int64_t rolledOps = 0;         ///< the fewest operations in such loops
  std::string targetDescription; ///< a name or a file; empty: by the target
  bool unchecked = false;
  bool checked = false;
  bool checkNumerics = false;
  tdsl::FastMath fastMath;
  std::string memoryBudget; ///< bytes or a part; empty: none
  int64_t accum = 1;        ///< micro-batches of a step
  std::string amp;          ///< bf16 or f16; empty: the program's own types
  bool time = false;
  bool explain = false; ///< print what became of each line
  std::string report;   ///< file for the page about it
  bool saveTemps = false;
  bool jsonDiagnostics = false;
  bool checkGrad = false;
  bool verbose = false;
};

/// Parses the command line. On a wrong one it prints what is wrong and ends the
/// process with UsageWrong; `--help` and `--version` end it with Fine.
Options parseOptions(int argc, char **argv);

} // namespace tdslc

#endif // TDSL_TOOLS_TDSLC_OPTIONS_H
