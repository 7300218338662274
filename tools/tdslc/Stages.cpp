//===- Stages.cpp - the middle and the end of a compilation -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Stages.h"

#include "KeptCode.h"

#include "tdsl/Artifact/Container.h"
#include "tdsl/Artifact/Manifest.h"
#include "tdsl/Fusion/TargetDescription.h"
#include "tdsl/Pipeline/Pipelines.h"
#include "tdsl/Target/CPU/CompileCPU.h"
#include "tdsl/Target/GPU/GPUTarget.h"
#include "tdsl/Transforms/RollLayers.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tdsl;
using namespace tdslc;

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

StageTimer::StageTimer(bool enabled,
                       const std::vector<report::Duration> *passes)
    : enabled(enabled), passes(passes) {
  if (enabled)
    group = std::make_unique<llvm::TimerGroup>("tdslc", "tdslc stages");
}

void StageTimer::end() {
  if (!timers.empty() && timers.back()->isRunning())
    timers.back()->stopTimer();
  if (isRunning)
    durations.back().seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begun)
            .count();
  isRunning = false;
}

void StageTimer::begin(llvm::StringRef stage) {
  end();
  durations.push_back({stage.str(), 0});
  begun = std::chrono::steady_clock::now();
  isRunning = true;
  if (!enabled)
    return;
  timers.push_back(std::make_unique<llvm::Timer>(stage, stage, *group));
  timers.back()->startTimer();
}

std::vector<report::Duration> StageTimer::take() {
  end();
  return std::exchange(durations, {});
}

StageTimer::~StageTimer() {
  end();
  if (!enabled)
    return;
  group->print(llvm::errs(), /*ResetAfterPrint=*/true);
  for (const std::string &note : notes)
    llvm::errs() << "   " << note << "\n";
  if (!notes.empty())
    llvm::errs() << "\n";
  if (passes && !passes->empty())
    printPasses();
}

void StageTimer::printPasses() const {
  std::vector<report::Duration> sorted = *passes;
  llvm::sort(sorted, [](const auto &lhs, const auto &rhs) {
    return std::tie(rhs.seconds, lhs.name) < std::tie(lhs.seconds, rhs.name);
  });
  double total = 0;
  for (const report::Duration &pass : sorted)
    total += pass.seconds;
  llvm::errs() << "   ---Wall Time---  --- Pass ---\n";
  for (const report::Duration &pass : sorted)
    llvm::errs() << llvm::format("   %6.4f (%5.1f%%)  ", pass.seconds,
                                 100 * pass.seconds / std::max(total, 1e-9))
                 << pass.name << "\n";
  llvm::errs() << "\n";
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// Whether the target description that was asked for, if any, is one for the
/// target; says what is wrong.
static bool checkDescription(const Options &options, const Target &target) {
  if (options.targetDescription.empty())
    return true;
  llvm::Expected<TargetDescription> description =
      TargetDescription::load(options.targetDescription);
  if (!description) {
    llvm::errs() << "tdslc: " << llvm::toString(description.takeError())
                 << "\n";
    return false;
  }
  if (description->isCPU == target.isCPU)
    return true;
  llvm::errs() << "tdslc: the target description '" << options.targetDescription
               << "' is of a " << (description->isCPU ? "CPU" : "GPU")
               << ", and the target '" << target.arch << "' is a "
               << (target.isCPU ? "CPU" : "GPU")
               << "; name another one or leave it out\n";
  return false;
}

bool tdslc::parseTarget(StringRef text, const Options &options,
                        Target &target) {
  if (text == "cpu" || text == "native" || text.starts_with("x86-64")) {
    target = {true, text == "cpu" ? options.cpu : text.str()};
    if (auto known = cpu::CPUTarget::get(target.arch); !known) {
      llvm::errs() << "tdslc: " << llvm::toString(known.takeError()) << "\n";
      return false;
    }
    return checkDescription(options, target);
  }
  target = {false, text.str()};
  if (gpu::lookupArch(text))
    return checkDescription(options, target);
  llvm::errs() << "tdslc: there is no target '" << text << "'; there are ";
  for (const gpu::Arch &arch : gpu::getArchs())
    llvm::errs() << arch.name << ", ";
  llvm::errs() << "x86-64-v2, x86-64-v3, x86-64-v4, native and cpu\n";
  return false;
}

/// What the options say about the passes before kernels.
static PipelineOptions getPipelineOptions(const Options &options) {
  PipelineOptions pipeline;
  pipeline.guardGathers = !options.unchecked;
  pipeline.checkNumerics = options.checkNumerics;
  pipeline.fusion = options.fusion;
  pipeline.amp = options.amp;
  pipeline.fastMath = options.fastMath;
  pipeline.accumulate = options.accum > 1;
  return pipeline;
}

/// Runs the passes, timed where that is asked for.
static bool run(PassManager &passes, Program &program, ModuleOp module) {
  if (program.passTimes)
    report::timePasses(passes, *program.passTimes, program.passPrefix);
  return succeeded(passes.run(module));
}

bool tdslc::runRolling(Program &program, const Options &options,
                       ModuleOp module) {
  PassManager passes(&program.context, ModuleOp::getOperationName());
  buildLayerPipeline(passes, options.rolledLayers, options.rolledOps);
  return run(passes, program, module);
}

bool tdslc::completeEntries(Program &program, const Options &options,
                            ModuleOp module) {
  PassManager passes(&program.context, ModuleOp::getOperationName());
  buildEntryPipeline(passes, getPipelineOptions(options));
  return run(passes, program, module);
}

bool tdslc::runDifferentiation(Program &program, const Options &options) {
  PipelineOptions pipeline = getPipelineOptions(options);
  pipeline.recompute = program.recompute;
  pipeline.recomputeJoin = program.recomputeJoin;
  PassManager passes(&program.context, ModuleOp::getOperationName());
  buildDifferentiationPipeline(passes, pipeline);
  return run(passes, program, *program.module);
}

OwningOpRef<ModuleOp> tdslc::makeKernels(Program &program,
                                         const Options &options,
                                         const Target &target) {
  OwningOpRef<ModuleOp> module = program.module->clone();
  PipelineOptions pipeline;
  pipeline.fusion = options.fusion;
  pipeline.targetDescription = options.targetDescription;
  pipeline.recompute = program.recompute;
  PassManager passes(&program.context, ModuleOp::getOperationName());
  buildKernelPipeline(passes, pipeline, target.arch);
  if (!run(passes, program, *module))
    return {};
  return module;
}

bool tdslc::runPlanning(Program &program, ModuleOp module) {
  PassManager passes(module.getContext(), ModuleOp::getOperationName());
  buildPlanningPipeline(passes);
  return run(passes, program, module);
}

std::string tdslc::getSourceFolder(StringRef path) {
  StringRef folder = llvm::sys::path::parent_path(path);
  if (folder.empty() || folder.ends_with("/"))
    return folder.str();
  return folder.str() + "/";
}

std::string tdslc::getOptionsText(const Options &options) {
  std::string all;
  for (const auto &[name, value] : options.defines)
    all += "-D " + name + "=" + std::to_string(value) + "\n";
  all += options.fusion ? "" : "--fusion=off\n";
  if (!options.targetDescription.empty()) {
    all += "--target-description=" + options.targetDescription + "\n";
    if (auto file = llvm::MemoryBuffer::getFile(options.targetDescription))
      all += (*file)->getBuffer();
  }
  if (options.rolledOps != kDefaultRolledOps)
    all += "--roll-layers=" + std::to_string(options.rolledLayers) + "\n";
  all += options.unchecked ? "--unchecked\n" : "";
  all += options.checked ? "--checked\n" : "";
  all += options.checkNumerics ? "--check-numerics\n" : "";
  if (!options.memoryBudget.empty())
    all += "--memory-budget=" + options.memoryBudget + "\n";
  if (options.accum > 1)
    all += "--accum=" + std::to_string(options.accum) + "\n";
  for (auto [name, allowed] :
       {std::pair("reassociate", options.fastMath.reassociate),
        std::pair("reciprocal", options.fastMath.reciprocal),
        std::pair("finite", options.fastMath.finite),
        std::pair("signed-zeros", options.fastMath.signedZeros)})
    all += allowed ? std::string("--fast-math=") + name + "\n" : "";
  all += options.amp.empty() ? "" : "--amp=" + options.amp + "\n";
  return all;
}

/// A hash over everything that the result depends on.
static std::string getProgramHash(const Program &program,
                                  const Options &options) {
  return getSHA256(std::string(kProducer) + "\n" + program.text + "\n" +
                   getOptionsText(options));
}

std::string tdslc::makeManifest(ModuleOp plan, const Program &program,
                                const Options &options, const Target &target) {
  ManifestOptions manifest;
  manifest.producer = kProducer;
  manifest.programName = llvm::sys::path::filename(program.path).str();
  manifest.programHash = getProgramHash(program, options);
  manifest.sourceFolder = getSourceFolder(program.path);
  manifest.target.arch = target.arch;
  if (target.isCPU) {
    manifest.target.kind = ArtifactTarget::Kind::CPU;
    auto cpuTarget = cpu::CPUTarget::get(target.arch);
    if (!cpuTarget) {
      llvm::errs() << "tdslc: " << llvm::toString(cpuTarget.takeError())
                   << "\n";
      return {};
    }
    manifest.target.features = cpuTarget->needed;
  } else {
    const gpu::Arch *arch = gpu::lookupArch(target.arch);
    manifest.target.kind = ArtifactTarget::Kind::CUDA;
    manifest.target.ptxISA = arch->ptxIsa.str();
    manifest.target.minDriver = arch->minDriver;
  }
  FailureOr<std::string> text = buildManifest(plan, manifest);
  return failed(text) ? std::string() : *text;
}

std::string tdslc::makeArtifact(ModuleOp plan, const Program &program,
                                const Options &options, const Target &target,
                                StageTimer &timer) {
  std::string manifest = makeManifest(plan, program, options, target);
  if (manifest.empty())
    return {};
  auto cache = CodeCache::fromEnvironment();
  if (!cache) {
    llvm::errs() << "tdslc: " << llvm::toString(cache.takeError()) << "\n";
    return {};
  }
  // Under --save-temps all is made anew.
  if (options.saveTemps)
    *cache = CodeCache("");
  std::string temps =
      options.saveTemps ? options.output + "." + target.arch : "";
  auto tell = [&](const KeptCode &kept) {
    timer.note(program.passPrefix + kept.describe());
  };
  if (!target.isCPU) {
    KeptCode kept(*cache, target.arch);
    std::string llvmText;
    FailureOr<std::string> ptx =
        gpu::compileKernels(plan, *gpu::lookupArch(target.arch), {},
                            temps.empty() ? nullptr : &llvmText, &kept);
    if (failed(ptx))
      return {};
    if (!temps.empty()) {
      std::error_code error;
      llvm::raw_fd_ostream(temps + ".ll", error) << llvmText;
    }
    tell(kept);
    return makePTXFile(gpu::addPlanHash(*ptx, manifest), manifest);
  }
  cpu::CPUOptions cpuOptions;
  cpuOptions.arch = target.arch;
  cpuOptions.saveTemps = temps;
  // What `native` means depends on the machine.
  auto cpuTarget = cpu::CPUTarget::get(target.arch);
  if (!cpuTarget) {
    llvm::errs() << "tdslc: " << llvm::toString(cpuTarget.takeError()) << "\n";
    return {};
  }
  KeptCode kept(*cache,
                target.arch + " " + cpuTarget->cpu + " " + cpuTarget->features);
  auto objects = cpu::compileObjects(plan, cpuOptions, &kept);
  if (failed(objects))
    return {};
  tell(kept);
  SmallVector<char> linked;
  llvm::Error error = cpu::linkProgram(*objects, manifest, linked);
  if (!error)
    error = finishSharedObject(linked);
  if (error) {
    llvm::errs() << "tdslc: " << llvm::toString(std::move(error)) << "\n";
    return {};
  }
  return std::string(linked.begin(), linked.end());
}
