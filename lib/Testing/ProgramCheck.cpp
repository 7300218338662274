//===- ProgramCheck.cpp - a program on every path, compared -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Testing/ProgramCheck.h"

#include "BoundedEvaluation.h"
#include "CheckArguments.h"
#include "ProgramFeatures.h"
#include "RuntimeProgram.h"

#include "tdsl/Artifact/Container.h"
#include "tdsl/Artifact/Manifest.h"
#include "tdsl/Autodiff/Autodiff.h"
#include "tdsl/Autodiff/GradientCheck.h"
#include "tdsl/Dialect/TDS/Evaluate.h"
#include "tdsl/Frontend/Emit.h"
#include "tdsl/Frontend/Frontend.h"
#include "tdsl/Pipeline/Pipelines.h"
#include "tdsl/Reference/Evaluator.h"
#include "tdsl/Target/CPU/CompileCPU.h"
#include "tdsl/Target/GPU/GPUTarget.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::testing;
using reference::Tensor;
using Named = std::map<std::string, Tensor>;

/// A context keeps every type, attribute and location it has seen.
static constexpr unsigned kProgramsOfAContext = 64;
static constexpr const char *kFlags = "tds.flags";

namespace {
/// One call of an entry and what it must give: results by name, variables by
/// '@' and name.
struct Call {
  std::string entry;
  Named inputs;
  std::map<std::string, BoundedResult> expected;
  /// A gather reads out of range: the call fails and changes nothing.
  bool raises = false;
};

class Check {
public:
  Check(StringRef text, const CheckOptions &options, MLIRContext &context,
        CheckReport &report)
      : text(text), options(options), context(context), report(report),
        handler(&context, [this](mlir::Diagnostic &diagnostic) {
          std::string line;
          llvm::raw_string_ostream os(line);
          os << diagnostic.getLocation() << ": " << diagnostic;
          messages += line + "\n";
          return success();
        }) {}
  void run();

private:
  bool runFrontend();
  bool makeReference();
  bool evaluate(ModuleOp module, std::vector<Call> &calls);
  void checkCanonical();
  void findFlags();
  void checkGradients();
  void checkModule(const std::string &check, ModuleOp module,
                   const std::vector<Call> &calls);
  void checkFolding();
  void checkRuntime(const std::string &check, ModuleOp plan, bool isCPU);
  void checkKernels();
  OwningOpRef<ModuleOp> makeKernels(bool fusion, StringRef target);
  void compare(const std::string &check, const Call &call, const Named &actual);
  bool runPasses(ModuleOp module,
                 llvm::function_ref<void(OpPassManager &)> build);
  void fail(const std::string &check, const Twine &message) {
    report.failures.push_back({check, message.str() + messages});
    messages.clear();
  }

  StringRef text;
  const CheckOptions &options;
  MLIRContext &context;
  CheckReport &report;
  std::string messages;
  ScopedDiagnosticHandler handler;
  OwningOpRef<ModuleOp> emitted; ///< by the front end
  /// As emitted, with calls inlined and each gradient replaced by what it is
  /// taken of: all but the derivatives, before anything is folded.
  OwningOpRef<ModuleOp> plain;
  /// Canonical, then differentiated. Where adjoints are added up depends on
  /// what was merged before, so that derivatives of the plain program round
  /// elsewhere.
  OwningOpRef<ModuleOp> reference;
  OwningOpRef<ModuleOp> canonical; ///< by the pipeline
  Named variables;
  std::vector<Call> calls;
};
} // namespace

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
  SourceManager::FileId file = sources.addText(text, "random.tds");
  tdsl::DiagnosticEngine diagnostics(sources);
  auto result = tdsl::compile(sources, file, {}, diagnostics);
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
  return true;
}

/// Arguments of a function by the names of its inputs and variables.
static std::vector<Tensor> makeArguments(func::FuncOp function,
                                         const Named &inputs,
                                         const Named &variables) {
  std::vector<Tensor> arguments;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    if (auto variable = function.getArgAttrOfType<FlatSymbolRefAttr>(
            i, tds::attr::kVariable)) {
      arguments.push_back(variables.at(variable.getValue().str()));
      continue;
    }
    auto name = function.getArgAttrOfType<StringAttr>(i, tds::attr::kInput);
    auto it = inputs.find(name ? name.getValue().str() : "");
    if (it != inputs.end()) {
      arguments.push_back(it->second);
      continue;
    }
    auto type = cast<RankedTensorType>(function.getArgumentTypes()[i]);
    auto kind = tds::getElementKind(type.getElementType());
    auto known = tds::toTensor(function.getArgAttr(i, tds::attr::kDefault));
    arguments.push_back(
        known ? known->convertedTo(*kind).reshapedTo(type.getShape())
              : Tensor(*kind, type.getShape()));
  }
  return arguments;
}

/// The names of the results, '@' before those of variables.
static std::vector<std::string> nameResults(func::FuncOp function) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto variable = function.getResultAttrOfType<FlatSymbolRefAttr>(
        i, tds::attr::kVariable);
    auto name = function.getResultAttrOfType<StringAttr>(i, tds::attr::kResult);
    names.push_back(variable ? "@" + variable.getValue().str()
                    : name   ? name.getValue().str()
                             : "");
  }
  return names;
}

static void addFolding(OpPassManager &manager) {
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
    for (auto [name, result] : llvm::zip(nameResults(function), *results)) {
      (result.isExact ? report.exact : report.bounded) +=
          result.value.numElements();
      call.expected.emplace(name, std::move(result));
    }
    calls.push_back(std::move(call));
  }
  return true;
}

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
    call.raises = isRaised(named);
    if (!call.raises)
      continue;
    report.features.insert("flag raised");
    for (auto &[name, expected] : call.expected)
      if (name[0] == '@')
        expected = {variables.at(name.substr(1)), true, {}};
  }
}

/// Every entry of `module` in the evaluator.
void Check::checkModule(const std::string &check, ModuleOp module,
                        const std::vector<Call> &calls) {
  reference::Evaluator evaluator(module);
  for (const Call &call : calls) {
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
    Named actual;
    for (auto [name, tensor] : llvm::zip(nameResults(function), *results))
      actual.emplace(name, std::move(tensor));
    if (isRaised(actual) != call.raises)
      fail(check, "entry " + call.entry +
                      (call.raises ? " raises no flag\n"
                                   : " raises a flag, but every gather stays "
                                     "inside\n"));
    compare(check, call, actual);
  }
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
  ManifestOptions manifest;
  manifest.producer = "tds-random";
  manifest.programName = "random.tds";
  manifest.programHash = getSHA256(text);
  manifest.target.arch = isCPU ? "x86-64-v3" : "sm_80";
  if (!isCPU) {
    const gpu::Arch *arch = gpu::lookupArch(manifest.target.arch);
    manifest.target.kind = ArtifactTarget::Kind::CUDA;
    manifest.target.ptxISA = arch->ptxIsa.str();
    manifest.target.minDriver = arch->minDriver;
  }
  FailureOr<std::string> manifestText = buildManifest(plan, manifest);
  if (failed(manifestText)) {
    fail(check, "no manifest\n");
    return;
  }
  std::string artefact;
  if (isCPU) {
    SmallVector<char> object;
    if (failed(cpu::compileCPU(plan, {}, *manifestText, object))) {
      fail(check, "no object\n");
      return;
    }
    if (llvm::Error error = finishSharedObject(object)) {
      fail(check, llvm::toString(std::move(error)) + "\n");
      return;
    }
    artefact.assign(object.begin(), object.end());
  } else {
    auto ptx = gpu::compileKernels(plan, *gpu::lookupArch(manifest.target.arch),
                                   *manifestText);
    if (failed(ptx)) {
      fail(check, "no PTX\n");
      return;
    }
    artefact = makePTXFile(*ptx, *manifestText);
  }
  for (const Call &call : calls) {
    // After a failed step a module refuses further ones.
    auto program = RuntimeProgram::load(artefact, isCPU ? "cpu" : "cuda");
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
  if (options.fusion || options.cpu)
    if (OwningOpRef<ModuleOp> kernels = makeKernels(true, "x86-64-v3")) {
      kernels->walk([&](tds::KernelOp) { ++report.kernels; });
      noteOperations(*kernels, report.features);
      if (options.fusion)
        checkModule("fusion", *kernels, calls);
      if (options.cpu)
        checkRuntime("cpu", *kernels, true);
    }
  if (options.fusion || options.cpuUnfused)
    if (OwningOpRef<ModuleOp> kernels = makeKernels(false, "x86-64-v3")) {
      if (options.fusion)
        checkModule("fusion off", *kernels, calls);
      if (options.cpuUnfused)
        checkRuntime("cpu unfused", *kernels, true);
    }
  if (options.ptx)
    if (OwningOpRef<ModuleOp> kernels = makeKernels(true, "sm_80"))
      checkRuntime("ptx", *kernels, false);
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
