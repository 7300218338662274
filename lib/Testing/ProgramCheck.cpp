//===- ProgramCheck.cpp - a program on every path, compared -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PathCheck.h"

#include "ProgramFeatures.h"
#include "ProgramFiles.h"

#include "tdsl/Autodiff/Autodiff.h"
#include "tdsl/Dialect/TDS/CheckAttribute.h"
#include "tdsl/Dialect/TDS/TDSOps.h"
#include "tdsl/Frontend/Emit.h"
#include "tdsl/Pipeline/Pipelines.h"
#include "tdsl/Transforms/RollLayers.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::testing;
using reference::Tensor;

/// A context keeps every type, attribute and location it has seen.
static constexpr unsigned kProgramsOfAContext = 64;

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

bool Check::runPasses(ModuleOp module,
                      llvm::function_ref<void(OpPassManager &)> build) {
  PassManager manager(&context, ModuleOp::getOperationName());
  build(manager);
  return succeeded(manager.run(module));
}

bool Check::runFrontend() {
  SourceManager sources;
  ProgramFiles files(text);
  SourceManager::FileId file = sources.addText(files.getMain(), "random.tds");
  tdsl::DiagnosticEngine diagnostics(sources);
  auto result = tdsl::compile(sources, file, files.getOptions(), diagnostics);
  if (diagnostics.hasErrors() || !result->program) {
    llvm::raw_string_ostream os(messages);
    diagnostics.render(os);
    fail("front end", "");
    return false;
  }
  emitted = emitProgram(*result->program, sources, context);
  if (!emitted) {
    fail("front end", "no module\n");
    return false;
  }
  // Half of the programs with arrays of modules go on as loops.
  if (options.seed % 2)
    rollLayers(*emitted, 2);
  return true;
}

void testing::addFolding(OpPassManager &manager) {
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

/// Puts what a gradient is taken of in its place.
static void dropGradients(ModuleOp module) {
  SmallVector<tds::GradientOp> gradients;
  module.walk([&](tds::GradientOp op) { gradients.push_back(op); });
  for (tds::GradientOp op : gradients) {
    op->replaceAllUsesWith(op.getWrt());
    op.erase();
  }
}

bool Check::makeReference() {
  plain = OwningOpRef<ModuleOp>(emitted->clone());
  if (failed(autodiff::inlineCalls(*plain, true))) {
    fail("pipeline", "inlining fails\n");
    return false;
  }
  noteDerivatives(*plain, report.features);
  reference = OwningOpRef<ModuleOp>(plain->clone());
  if (!runPasses(*reference, addFolding) ||
      failed(autodiff::differentiate(*reference)) ||
      failed(verify(*reference))) {
    fail("pipeline", "differentiation fails\n");
    return false;
  }
  dropGradients(*plain);
  if (failed(autodiff::differentiate(*plain)) || failed(verify(*plain))) {
    fail("pipeline", "removing what has a derivative of its own fails\n");
    return false;
  }
  noteOperations(*plain, report.features);
  noteOperations(*reference, report.features);
  return true;
}

bool Check::evaluate(ModuleOp module, std::vector<Call> &calls) {
  Random random(options.seed * 2 + 1);
  auto hints = parseHints(text);
  variables = drawVariables(module, random);
  for (auto function : module.getOps<func::FuncOp>()) {
    auto kind = function->getAttrOfType<StringAttr>(tds::attr::kEntry);
    if (!kind)
      continue;
    Call call;
    call.entry = function.getName().str();
    if (kind == "init")
      call.inputs.emplace("seed", Tensor::splat(reference::ElementKind::I64, {},
                                                int64_t(options.seed)));
    else
      call.inputs = drawInputs(function, hints, random);
    auto results = evaluateBounded(
        function, makeArguments(function, call.inputs, variables));
    if (!results) {
      fail("evaluator", llvm::toString(results.takeError()) + "\n");
      return false;
    }
    for (auto [i, name] : llvm::enumerate(nameResults(function))) {
      BoundedResult &result = (*results)[i];
      if (function.getResultAttr(i, tds::attr::kCheck)) {
        // An `assert`, which is no result of the artefact.
        call.isWrong |= result.value.getInt(0) == 0;
        continue;
      }
      (result.isExact ? report.exact : report.bounded) +=
          result.value.numElements();
      call.expected.emplace(name, std::move(result));
    }
    calls.push_back(std::move(call));
  }
  return true;
}

/// A failed call changes nothing.
void Check::expectFailure(Call &call) {
  report.features.insert("flag raised");
  call.raises = true;
  for (auto &[name, expected] : call.expected)
    if (name[0] == '@')
      expected = {variables.at(name.substr(1)), true, {}};
}

void Check::run() {
  if (!runFrontend() || !makeReference() || !evaluate(*reference, calls))
    return;
  report.entries = calls.size() - 1; // without init
  if (options.gradients)
    checkGradients();
  checkCanonical();
  if (options.folding)
    checkFolding();
  canonical = OwningOpRef<ModuleOp>(emitted->clone());
  PipelineOptions pipeline;
  if (!runPasses(*canonical, [&](OpPassManager &manager) {
        buildDifferentiationPipeline(manager, pipeline);
      })) {
    fail("pipeline", "differentiation fails\n");
    return;
  }
  findFlags();
  checkModule("pipeline", *canonical, calls);
  checkKernels();
}

//===----------------------------------------------------------------------===//
// ProgramChecker
//===----------------------------------------------------------------------===//

struct ProgramChecker::Impl {
  std::unique_ptr<MLIRContext> context;
  unsigned programs = 0;
};

ProgramChecker::ProgramChecker() : impl(std::make_unique<Impl>()) {}
ProgramChecker::~ProgramChecker() = default;

CheckReport ProgramChecker::check(StringRef text, const CheckOptions &options) {
  if (impl->programs++ % kProgramsOfAContext == 0) {
    DialectRegistry registry;
    registerAllDialects(registry);
    impl->context = std::make_unique<MLIRContext>(
        registry, MLIRContext::Threading::DISABLED);
  }
  CheckReport report;
  Check(text, options, *impl->context, report).run();
  return report;
}
