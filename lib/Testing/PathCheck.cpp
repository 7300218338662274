//===- PathCheck.cpp - compares the paths of a program -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PathCheck.h"

#include "ProgramFeatures.h"
#include "RuntimeProgram.h"

#include "tdsl/Autodiff/GradientCheck.h"
#include "tdsl/Dialect/Plan/PlanOps.h"
#include "tdsl/Dialect/TDS/CheckAttribute.h"
#include "tdsl/Dialect/TDS/Evaluate.h"
#include "tdsl/Pipeline/Pipelines.h"
#include "tdsl/Reference/Evaluator.h"

#include "llvm/Support/Format.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::testing;
using reference::Tensor;

static constexpr const char *kFlags = "tds.flags";

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

void Check::compare(const std::string &check, const Call &call,
                    const Named &actual) {
  for (const auto &[name, expected] : call.expected) {
    if (call.raises && name[0] != '@')
      continue; // what a failed call gives back means nothing
    auto it = actual.find(name);
    if (it == actual.end()) {
      fail(check, "entry " + call.entry + " gives no '" + name + "'\n");
      return;
    }
    int64_t at = expected.findDifference(it->second);
    if (at < 0)
      continue;
    std::string message;
    llvm::raw_string_ostream os(message);
    os << "entry " << call.entry << ", '" << name << "', element " << at
       << ": expected ";
    if (at < expected.value.numElements())
      os << llvm::format("%.17g", expected.value.getDouble(at));
    os << ", found ";
    if (at < it->second.numElements())
      os << llvm::format("%.17g", it->second.getDouble(at));
    if (!expected.isExact)
      os << llvm::format(" (allowed %.3g)", expected.tolerance[at]);
    os << "\n";
    if (expected.value.numElements() <= 64) {
      os << "  expected ";
      expected.value.print(os);
      os << "\n  found    ";
      it->second.print(os);
      os << "\n";
    }
    fail(check, message);
    return;
  }
}

static bool isRaised(const Named &results) {
  auto flags = results.find(kFlags);
  if (flags != results.end())
    for (int64_t i = 0; i < flags->second.numElements(); ++i)
      if (flags->second.getInt(i) != 0)
        return true;
  return false;
}

/// Which calls must fail: those whose flags the guarded program raises. Where
/// no input is drawn from outside, none may.
void Check::findFlags() {
  for (Call &call : calls)
    if (call.isWrong)
      expectFailure(call);
  bool mayRaise = false;
  for (const auto &[name, hint] : parseHints(text))
    mayRaise |= hint.outside;
  if (!mayRaise)
    return;
  reference::Evaluator evaluator(*canonical);
  for (Call &call : calls) {
    auto function = canonical->lookupSymbol<func::FuncOp>(call.entry);
    auto results = evaluator.call(
        function, makeArguments(function, call.inputs, variables));
    if (!results) {
      llvm::consumeError(results.takeError());
      continue;
    }
    Named named;
    for (auto [name, tensor] : llvm::zip(nameResults(function), *results))
      named.emplace(name, std::move(tensor));
    if (isRaised(named))
      expectFailure(call);
  }
}

/// Every entry of `module` in the evaluator. Gives the results of each call.
std::vector<Named> Check::checkModule(const std::string &check, ModuleOp module,
                                      const std::vector<Call> &calls) {
  std::vector<Named> all(calls.size());
  reference::Evaluator evaluator(module);
  for (auto [call, actual] : llvm::zip(calls, all)) {
    auto function = module.lookupSymbol<func::FuncOp>(call.entry);
    if (!function) {
      fail(check, "entry " + call.entry + " is gone\n");
      continue;
    }
    auto results = evaluator.call(
        function, makeArguments(function, call.inputs, variables));
    if (!results) {
      fail(check, llvm::toString(results.takeError()) + "\n");
      continue;
    }
    bool raised = false;
    for (auto [i, name] : llvm::enumerate(nameResults(function)))
      if (function.getResultAttr(i, tds::attr::kCheck))
        raised |= (*results)[i].getInt(0) == 0;
      else
        actual.emplace(name, std::move((*results)[i]));
    bool mustRaise = call.raises || call.isWrong;
    if ((raised || isRaised(actual)) != mustRaise)
      fail(check, "entry " + call.entry +
                      (mustRaise ? " raises no flag\n"
                                 : " raises a flag, but every gather stays "
                                   "inside\n"));
    compare(check, call, actual);
  }
  return all;
}

/// Canonicalisation and merging keep every value.
void Check::checkCanonical() {
  std::vector<Call> expected;
  if (!evaluate(*plain, expected))
    return;
  auto constants = collectConstants(*plain);
  if (!runPasses(*plain, addFolding)) {
    fail("canonical", "the canonicaliser fails\n");
    return;
  }
  plantAfterFolding(*plain, options.bug, constants);
  checkModule("canonical", *plain, expected);
}

/// Each entry on constants instead of arguments, folded.
void Check::checkFolding() {
  OwningOpRef<ModuleOp> module(reference->clone());
  for (const Call &call : calls) {
    auto function = module->lookupSymbol<func::FuncOp>(call.entry);
    std::vector<Tensor> arguments =
        makeArguments(function, call.inputs, variables);
    OpBuilder builder(&context);
    builder.setInsertionPointToStart(&function.getBody().front());
    for (auto [argument, value] :
         llvm::zip(function.getArguments(), arguments)) {
      auto constant =
          tds::ConstantOp::create(builder, function.getLoc(),
                                  tds::toAttribute(value, argument.getType()));
      argument.replaceAllUsesWith(constant.getResult());
    }
  }
  auto constants = collectConstants(*module);
  if (!runPasses(*module, addFolding)) {
    fail("folding", "the canonicaliser fails\n");
    return;
  }
  plantAfterFolding(*module, options.bug, constants);
  checkModule("folding", *module, calls);
}

void Check::checkGradients() {
  unsigned count = 0;
  emitted->walk([&](tds::GradientOp) { ++count; });
  if (!count)
    return;
  report.gradients += count;
  autodiff::GradientCheckOptions gradient;
  gradient.randomDirections = 2;
  gradient.seed = options.seed + 1;
  gradient.relativeTolerance = 1e-4;
  gradient.absoluteTolerance = 1e-7;
  gradient.allowZero = gradient.allowUncomparable = true;
  if (options.bug != PlantedBug::None)
    gradient.tamper = [this](ModuleOp module) {
      plantAfterDifferentiation(module, options.bug);
    };
  std::string log;
  llvm::raw_string_ostream os(log);
  if (failed(autodiff::checkGradients(*emitted, os, gradient)))
    fail("gradient", log);
}

OwningOpRef<ModuleOp> Check::makeKernels(bool fusion, StringRef target) {
  OwningOpRef<ModuleOp> module(canonical->clone());
  PipelineOptions pipeline;
  pipeline.fusion = fusion;
  if (!runPasses(*module, [&](OpPassManager &manager) {
        buildKernelPipeline(manager, pipeline, target);
      })) {
    fail("pipeline", "no kernels\n");
    return {};
  }
  plantAfterFusion(*module, options.bug);
  return module;
}

void Check::checkRuntime(const std::string &check, ModuleOp plan, bool isCPU) {
  if (!runPasses(plan, [](OpPassManager &manager) {
        buildPlanningPipeline(manager);
      })) {
    fail(check, "no plan\n");
    return;
  }
  plantAfterPlanning(plan, options.bug);
  auto artefact = makeArtefact(plan, isCPU, text);
  if (!artefact) {
    fail(check, llvm::toString(artefact.takeError()) + "\n");
    return;
  }
  for (const Call &call : calls) {
    // After a failed step a module refuses further ones.
    auto program = RuntimeProgram::load(*artefact, isCPU ? "cpu" : "cuda");
    if (!program) {
      fail(check, llvm::toString(program.takeError()) + "\n");
      return;
    }
    auto run = [&]() -> llvm::Expected<Named> {
      Named results;
      if (call.entry == "init") {
        if (llvm::Error error = program->initialize(options.seed))
          return std::move(error);
      } else {
        for (const auto &[name, value] : variables)
          if (llvm::Error error = program->write(name, value))
            return std::move(error);
        bool raised = false;
        auto given = program->call(call.entry, call.inputs, raised);
        if (!given)
          return given.takeError();
        if (raised != call.raises)
          return llvm::createStringError(
              raised ? "a flag is raised, but every gather stays inside"
                     : "no flag is raised, but a gather leaves its tensor");
        results = std::move(*given);
      }
      for (const auto &[name, expected] : call.expected)
        if (name[0] == '@') {
          auto value = program->read(name.substr(1), expected.value);
          if (!value)
            return value.takeError();
          results.emplace(name, std::move(*value));
        }
      return results;
    };
    auto actual = run();
    if (actual)
      compare(check, call, *actual);
    else
      fail(check, "entry " + call.entry + ": " +
                      llvm::toString(actual.takeError()) + "\n");
  }
}

void Check::checkKernels() {
  OwningOpRef<ModuleOp> fused, unfused;
  std::vector<Named> fusedResults, unfusedResults;
  if (options.fusion || options.cpu)
    fused = makeKernels(true, "x86-64-v3");
  if (options.fusion || options.cpuUnfused)
    unfused = makeKernels(false, "x86-64-v3");
  if (fused) {
    fused->walk(
        [&](tds::KernelOp kernel) { report.kernels += !kernel.isPart(); });
    noteOperations(*fused, report.features);
  }
  if (options.fusion && fused && unfused) {
    fusedResults = checkModule("fusion", *fused, calls);
    unfusedResults = checkModule("fusion off", *unfused, calls);
    compareFusion(fusedResults, unfusedResults);
  }
  if (options.cpu && fused)
    checkRuntime("cpu", *fused, true);
  if (options.cpuUnfused && unfused)
    checkRuntime("cpu unfused", *unfused, true);
  if (options.launches)
    for (StringRef target : {"x86-64-v3", "sm_80"})
      countLaunches(target);
  if (options.ptx)
    if (OwningOpRef<ModuleOp> kernels = makeKernels(true, "sm_80"))
      checkRuntime("ptx", *kernels, false);
}

/// What fusion changes is allowed as between two schedules.
void Check::compareFusion(const std::vector<Named> &fused,
                          const std::vector<Named> &unfused) {
  for (auto [call, on, off] : llvm::zip(calls, fused, unfused)) {
    Call other = call;
    for (auto &[name, expected] : other.expected)
      if (auto it = off.find(name); it != off.end())
        expected.value = it->second;
    if (!on.empty() && !off.empty())
      compare("fusion on and off", other, on);
  }
}

/// How many launches the plans have with fusion and without.
void Check::countLaunches(StringRef target) {
  unsigned counts[2] = {0, 0};
  for (bool fusion : {true, false}) {
    OwningOpRef<ModuleOp> module = makeKernels(fusion, target);
    if (!module || !runPasses(*module, [](OpPassManager &manager) {
          buildPlanningPipeline(manager);
        })) {
      fail("launches", "no plan\n");
      return;
    }
    module->walk([&](plan::LaunchOp) { ++counts[fusion]; });
  }
  LaunchCounts &total = report.launches[target.str()];
  ++total.programs;
  total.fused += counts[true];
  total.unfused += counts[false];
  total.fewer += counts[true] < counts[false];
  total.more += counts[true] > counts[false];
}
