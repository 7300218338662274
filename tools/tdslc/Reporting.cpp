//===- Reporting.cpp - --explain and --report -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reporting.h"

#include "tdsl/Fusion/TargetDescription.h"

#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tdslc;
using namespace tdsl::report;

Reporting::Reporting(const Options &options, Program &program)
    : options(options), program(program),
      sourceFolder(getSourceFolder(options.input)) {
  if (!isWanted())
    return;
  notes.emplace(sourceFolder);
  if (failed(notes->install(program.context)))
    llvm::errs() << "tdslc: remarks cannot be collected\n";
}

void Reporting::dropRemarks() {
  if (isWanted())
    (void)notes->take();
}

void Reporting::addProgram(StageTimer &timer) {
  if (!isWanted())
    return;
  report.program = llvm::sys::path::filename(program.path).str();
  report.producer = kProducer;
  report.options = getOptionsText(options);
  for (const SourceFile &source : program.sources) {
    StringRef name = source.name;
    name.consume_front(sourceFolder);
    report.sources.push_back({name.str(), source.text});
  }
  report.stages = timer.take();
  if (program.passTimes)
    report.passes = *program.passTimes;
}

void Reporting::addTarget(ModuleOp plan, const Target &target, StringRef file,
                          StageTimer &timer) {
  if (!isWanted())
    return;
  TargetReport described = describePlan(plan, notes->take(), sourceFolder);
  described.arch = target.arch;
  described.isCPU = target.isCPU;
  if (auto device = tdsl::TargetDescription::load(
          options.targetDescription.empty()
              ? tdsl::TargetDescription::getNameFor(target.arch)
              : options.targetDescription)) {
    described.device = {device->name, device->memoryGBPerS * 1e9,
                        device->f32GflopPerS * 1e9};
    // A device without such units takes such numbers as it takes others.
    described.device.f16PerSecond =
        std::max(device->f16TensorGflopPerS, device->f32GflopPerS) * 1e9;
    described.device.bf16PerSecond =
        std::max(device->bf16TensorGflopPerS, device->f32GflopPerS) * 1e9;
  } else {
    // Without figures the page has no roof; compiling has refused a wrong file.
    llvm::consumeError(device.takeError());
  }
  if (!target.isCPU)
    addCode(described, file);
  described.stages = timer.take();
  if (program.passTimes)
    for (const Duration &pass : *program.passTimes)
      if (StringRef(pass.name).starts_with(program.passPrefix))
        described.passes.push_back(pass);
  report.targets.push_back(std::move(described));
}

ExitCode Reporting::finish() {
  if (options.explain) {
    std::string text;
    llvm::raw_string_ostream os(text);
    printExplanation(report, os);
    if (ExitCode code = writeOutput("-", text))
      return code;
  }
  if (!options.report.empty())
    return writeOutput(options.report, makePage(report));
  return Fine;
}
