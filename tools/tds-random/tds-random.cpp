//===- tds-random.cpp - random programs, checked on every path -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes random TDS programs and checks that evaluator, folder, fusion, CPU
// code and derivatives agree. A worker process runs the programs, so that one
// that crashes or hangs the compiler is a finding and not the end.
//
//===----------------------------------------------------------------------===//

#include "tdsl/Testing/ProgramCheck.h"
#include "tdsl/Testing/ProgramRun.h"
#include "tdsl/Testing/RandomProgram.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace tdsl::testing;
namespace cl = llvm::cl;

static cl::OptionCategory category("Options of tds-random");
static cl::opt<std::string> file(cl::Positional,
                                 cl::desc("[program.tds: check this one]"));
static cl::opt<uint64_t> seed("seed", cl::init(1), cl::desc("The first seed"),
                              cl::cat(category));
static cl::opt<unsigned> count("count", cl::init(100),
                               cl::desc("How many programs"),
                               cl::cat(category));
static cl::opt<bool> print("print",
                           cl::desc("Print the programs, check nothing"),
                           cl::cat(category));
static cl::opt<std::string>
    checks("checks", cl::init("gradients,folding,fusion,cpu"),
           cl::desc("What to check, of gradients, folding, fusion, cpu, "
                    "cpu-unfused, ptx, launches (default: the first four)"),
           cl::cat(category));
static cl::opt<bool> coverage("coverage",
                              cl::desc("Print how many programs have what"),
                              cl::cat(category));
static cl::opt<std::string>
    bug("bug",
        cl::desc("Do what a faulty compiler would, see "
                 "PlantedBugs.h: fold-off-by-one-ulp, max-tie, …"),
        cl::cat(category));
static cl::opt<unsigned>
    stopAfter("failures", cl::init(0),
              cl::desc("Stop after this many failing programs"),
              cl::cat(category));

static bool parseChecks(CheckOptions &options) {
  options.gradients = options.folding = options.fusion = options.cpu = false;
  llvm::SmallVector<llvm::StringRef> words;
  llvm::StringRef(checks).split(words, ',', -1, false);
  for (llvm::StringRef word : words) {
    if (word == "gradients")
      options.gradients = true;
    else if (word == "folding")
      options.folding = true;
    else if (word == "fusion")
      options.fusion = true;
    else if (word == "cpu")
      options.cpu = true;
    else if (word == "cpu-unfused")
      options.cpuUnfused = true;
    else if (word == "ptx")
      options.ptx = true;
    else if (word == "launches")
      options.launches = true;
    else {
      llvm::errs() << "tds-random: --checks knows gradients, folding, fusion, "
                      "cpu, cpu-unfused, ptx and launches, not '"
                   << word << "'\n";
      return false;
    }
  }
  return true;
}

/// Exit codes: 0 agree, 1 the program is none, 4 a path disagrees.
static int checkFile(CheckOptions options) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(file);
  if (!buffer) {
    llvm::errs() << "tds-random: " << file
                 << " cannot be read: " << buffer.getError().message() << "\n";
    return 2;
  }
  options.seed = seed;
  CheckReport report = ProgramChecker().check((*buffer)->getBuffer(), options);
  for (const Failure &failure : report.failures)
    llvm::outs() << failure.check << ": " << failure.message;
  if (report.failures.empty())
    llvm::outs() << "all paths agree\n";
  return report.failures.empty()                        ? 0
         : report.failures.front().check == "front end" ? 1
                                                        : 4;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Random TDS programs, checked on every path against the evaluator\n");
  CheckOptions options;
  if (!parseChecks(options))
    return 2;
  if (!bug.empty()) {
    std::optional<PlantedBug> known = parsePlantedBug(bug);
    if (!known) {
      llvm::errs() << "tds-random: --bug knows ";
      for (PlantedBug each : getPlantedBugs())
        llvm::errs() << getName(each)
                     << (each == getPlantedBugs().back() ? "" : ", ");
      llvm::errs() << ", not '" << bug << "'\n";
      return 2;
    }
    options.bug = *known;
  }
  if (print) {
    for (uint64_t s = seed; s < seed + count; ++s)
      llvm::outs() << "// seed " << s << "\n" << makeRandomProgram(s).text;
    return 0;
  }
  if (!file.empty())
    return checkFile(options);
  RunResult result = runPrograms(seed, count, options, stopAfter, llvm::outs());
  result.print(llvm::outs(), coverage);
  return result.failures ? 4 : 0;
}
