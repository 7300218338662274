//===- FitMemory.cpp - --memory-budget -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a program needs is known when it is planned, and not before: fusion and
// the arena decide. So plans are made, with more and more segments computed
// again, until one fits. A plan takes a small part of what code takes.
//
//===----------------------------------------------------------------------===//

#include "FitMemory.h"

#include "Stages.h"

#include "tdsl/Dialect/TDS/LayerAttributes.h"
#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;
using namespace tdslc;

std::optional<MemoryBudget> tdslc::parseBudget(StringRef text) {
  MemoryBudget budget;
  StringRef number = text;
  if (number.consume_back("%")) {
    double percent;
    if (number.getAsDouble(percent) || !(percent > 0) || percent > 1e6)
      return std::nullopt;
    budget.percent = percent;
    return budget;
  }
  double unit = 1;
  for (auto [suffix, factor] : {std::pair<StringRef, double>{"KiB", 0x1p10},
                                {"MiB", 0x1p20},
                                {"GiB", 0x1p30},
                                {"TiB", 0x1p40},
                                {"kB", 1e3},
                                {"MB", 1e6},
                                {"GB", 1e9},
                                {"TB", 1e12},
                                {"B", 1}})
    if (number.consume_back(suffix)) {
      unit = factor;
      break;
    }
  number = number.rtrim();
  double amount;
  if (number.getAsDouble(amount) || !(amount > 0) || amount * unit > 0x1p62)
    return std::nullopt;
  budget.bytes = static_cast<int64_t>(amount * unit);
  return budget;
}

namespace {

/// What an entry needs on a target.
struct Need {
  std::string entry, target;
  bool isStep = false;
  int64_t peak = 0;  ///< bytes in all
  int64_t arena = 0; ///< bytes of the arena
  int64_t live = 0;  ///< bytes of the arena that are needed at once
};

class Fitter {
public:
  Fitter(Program &program, const Options &options, ArrayRef<Target> targets)
      : program(program), options(options), targets(targets) {}
  ExitCode run();

private:
  /// Plans the program with `count` segments computed again; nothing after an
  /// error, which was reported.
  std::optional<SmallVector<Need>> plan(int64_t count, int64_t join);
  /// How far above the budget the program is: at most 1 is good.
  double getExcess(ArrayRef<Need> needs, const Need *&worst) const;
  bool isTried(int64_t count, int64_t join);

  Program &program;
  const Options &options;
  ArrayRef<Target> targets;
  MemoryBudget budget;
  SmallVector<Need> whole;
  int64_t numSegments = 0;
  double least = INFINITY;
  Need leastNeed;
  bool hasFailed = false;
};

} // namespace

std::optional<SmallVector<Need>> Fitter::plan(int64_t count, int64_t join) {
  Program trial{program.path, program.text, program.context,
                program.module->clone()};
  trial.passTimes = program.passTimes;
  trial.passPrefix = "memory budget: ";
  trial.recompute = count;
  trial.recomputeJoin = join;
  hasFailed = true;
  if (!runDifferentiation(trial, options))
    return std::nullopt;
  numSegments = 0;
  for (auto function : trial.module->getOps<func::FuncOp>())
    if (auto segments = function->getAttrOfType<IntegerAttr>("segments"))
      numSegments += segments.getInt();
  SmallVector<Need> needs;
  for (const Target &target : targets) {
    OwningOpRef<ModuleOp> kernels = makeKernels(trial, options, target);
    if (!kernels || !runPlanning(trial, *kernels))
      return std::nullopt;
    std::string text = makeManifest(*kernels, trial, options, target);
    llvm::Expected<llvm::json::Value> manifest = llvm::json::parse(text);
    if (!manifest) {
      llvm::errs() << "tdslc: " << llvm::toString(manifest.takeError()) << "\n";
      return std::nullopt;
    }
    for (const llvm::json::Value &value :
         *manifest->getAsObject()->getArray("entries")) {
      const llvm::json::Object &entry = *value.getAsObject();
      Need need;
      need.entry = entry.getString("name").value_or("").str();
      need.target = target.arch;
      need.isStep = entry.getString("kind").value_or("") == "step";
      need.peak = entry.getInteger("peak_bytes").value_or(0);
      need.arena = entry.getInteger("arena_bytes").value_or(0);
      if (const llvm::json::Object *peak = entry.getObject("peak"))
        need.live = peak->getInteger("live_arena_bytes").value_or(0);
      needs.push_back(std::move(need));
    }
  }
  hasFailed = false;
  return needs;
}

double Fitter::getExcess(ArrayRef<Need> needs, const Need *&worst) const {
  double excess = 0;
  worst = nullptr;
  for (auto [need, before] : llvm::zip_equal(needs, whole)) {
    double here;
    if (budget.percent) {
      if (!need.isStep || before.live == 0)
        continue;
      here = double(need.arena) / (budget.percent / 100 * double(before.live));
    } else {
      here = double(need.peak) / double(budget.bytes);
    }
    if (!worst || here > excess) {
      excess = here;
      worst = &need;
    }
  }
  return excess;
}

/// Plans once more; true where the budget holds.
bool Fitter::isTried(int64_t count, int64_t join) {
  std::optional<SmallVector<Need>> needs = plan(count, join);
  if (!needs)
    return false;
  const Need *worst;
  double excess = getExcess(*needs, worst);
  if (excess < least && worst) {
    least = excess;
    leastNeed = *worst;
  }
  if (excess > 1)
    return false;
  program.recompute = count;
  program.recomputeJoin = join;
  return true;
}

ExitCode Fitter::run() {
  budget = *parseBudget(options.memoryBudget);
  std::optional<SmallVector<Need>> needs = plan(0, 1);
  if (!needs)
    return ProgramWrong;
  whole = std::move(*needs);
  const Need *worst;
  least = getExcess(whole, worst);
  if (!worst || least <= 1)
    return Fine;
  leastNeed = *worst;
  // As few as do: mostly, more segments need less.
  int64_t all = numSegments, step = std::max<int64_t>(1, (all + 11) / 12);
  for (int64_t count = step; count < all + step; count += step) {
    int64_t above = std::min(count, all);
    if (!isTried(above, 1)) {
      if (hasFailed)
        return ProgramWrong;
      continue;
    }
    for (int64_t fewer = count - step + 1; fewer < above; ++fewer) {
      if (isTried(fewer, 1))
        return Fine;
      if (hasFailed)
        return ProgramWrong;
    }
    return Fine;
  }
  for (int64_t join = 2; join < 2 * all; join *= 2) {
    if (isTried(all, join))
      return Fine;
    if (hasFailed)
      return ProgramWrong;
  }
  llvm::errs() << "tdslc: --memory-budget=" << options.memoryBudget
               << " cannot be kept: ";
  if (budget.percent)
    llvm::errs() << "the arena of '" << leastNeed.entry << "' for "
                 << leastNeed.target << " needs at least "
                 << llvm::formatv("{0:f1} %",
                                  std::ceil(least * budget.percent * 10) / 10)
                 << " of what lives in it at once now (" << leastNeed.arena
                 << " bytes)";
  else
    llvm::errs() << "the entry '" << leastNeed.entry << "' for "
                 << leastNeed.target << " needs at least " << leastNeed.peak
                 << " bytes (" << leastNeed.peak - leastNeed.arena
                 << " of them for variables, inputs and results)";
  bool hasLayers = false;
  program.module->walk([&](tdsl::tds::FoldOp fold) {
    hasLayers |= fold->hasAttr(tdsl::tds::attr::kLayers);
  });
  llvm::errs() << ", the least of what was tried to compute again; a smaller "
                  "batch needs less, and --accum where activations are most "
                  "of it"
               << (hasLayers ? "; equal layers that are a loop may need less "
                               "one by one, with --roll-layers=0"
                             : "")
               << "\n";
  return ProgramWrong;
}

ExitCode tdslc::fitMemory(Program &program, const Options &options,
                          ArrayRef<Target> targets) {
  return Fitter(program, options, targets).run();
}
