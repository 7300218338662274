//===- Compile.cpp - from a program to an artefact or a stage -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compile.h"

#include "EmitHeader.h"
#include "FitMemory.h"
#include "PassErrors.h"
#include "ReadProgram.h"
#include "Reporting.h"
#include "Stages.h"

#include "tdsl/Artifact/Container.h"
#include "tdsl/Frontend/Emit.h"
#include "tdsl/Frontend/Frontend.h"
#include "tdsl/Frontend/Parser.h"
#include "tdsl/Pipeline/Pipelines.h"
#include "tdsl/Target/CPU/CompileCPU.h"
#include "tdsl/Target/GPU/GPUTarget.h"
#include "tdsl/Transforms/Accumulate.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace tdslc;

/// Writes and says what went wrong, so that the stream does not end the program
/// when it is destroyed.
static std::error_code writeAll(llvm::raw_fd_ostream &os, StringRef bytes) {
  os << bytes;
  os.flush();
  std::error_code error = os.error();
  os.clear_error();
  return error;
}

ExitCode tdslc::writeOutput(StringRef path, StringRef bytes) {
  std::error_code error;
  llvm::sys::fs::file_status status;
  if (path.empty() || path == "-") {
    path = "standard output";
    error = writeAll(llvm::outs(), bytes);
  } else if (!llvm::sys::fs::status(path, status) &&
             !llvm::sys::fs::is_regular_file(status)) {
    llvm::raw_fd_ostream os(path, error);
    if (!error)
      error = writeAll(os, bytes);
  } else if (auto file =
                 llvm::sys::fs::TempFile::create(path + ".temp-%%%%%%")) {
    {
      llvm::raw_fd_ostream os(file->FD, /*shouldClose=*/false);
      error = writeAll(os, bytes);
    }
    std::error_code ended =
        llvm::errorToErrorCode(error ? file->discard() : file->keep(path));
    if (!error)
      error = ended;
  } else {
    error = llvm::errorToErrorCode(file.takeError());
  }
  if (!error)
    return Fine;
  llvm::errs() << "tdslc: " << path << " cannot be written: " << error.message()
               << "\n";
  return ProgramWrong;
}

static std::string print(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os);
  os << "\n";
  return text;
}

/// Keeps a stage beside the output under --save-temps.
static ExitCode saveStage(const Options &options, StringRef suffix,
                          Operation *op) {
  return options.saveTemps
             ? writeOutput(options.output + "." + suffix.str() + ".mlir",
                           print(op))
             : Fine;
}

bool tdslc::refuseOverwriting(StringRef output, StringRef source) {
  bool isSame = false;
  if (output.empty() || output == "-" ||
      llvm::sys::fs::equivalent(output, source, isSame) || !isSame)
    return false;
  llvm::errs() << "tdslc: " << output
               << " is a file that is read here; writing "
               << "would replace it. Give the output another name\n";
  return true;
}

ExitCode tdslc::runFrontend(const Options &options, Program &program) {
  std::optional<std::string> text = readProgram(options.input);
  if (!text)
    return ProgramWrong;
  program.path = options.input;
  program.text = std::move(*text);
  program.mainText = program.text;
  tdsl::SourceManager sources;
  tdsl::SourceManager::FileId file =
      sources.addText(program.text, options.input);
  tdsl::DiagnosticEngine diagnostics(sources);
  auto report = [&] {
    program.hasMessages = !diagnostics.getDiagnostics().empty();
    // Without messages what comes later writes the array (PassErrors).
    if (options.jsonDiagnostics && program.hasMessages)
      diagnostics.renderJSON(llvm::errs());
    else if (!options.jsonDiagnostics)
      diagnostics.render(llvm::errs(),
                         llvm::WithColor(llvm::errs()).colorsEnabled());
  };
  if (file == ~0u) {
    llvm::errs() << "tdslc: " << options.input << " is larger than 4 GiB\n";
    return ProgramWrong;
  }
  tdsl::FrontendOptions frontend;
  frontend.defines = options.defines;
  frontend.checked = options.checked;
  auto result = tdsl::compile(sources, file, frontend, diagnostics);
  report();
  // The program is all of its files; standard modules come with tdslc.
  for (tdsl::SourceManager::FileId id = file; id < sources.getNumFiles(); ++id)
    if (id == file || !sources.getName(id).starts_with("<")) {
      if (id != file)
        program.text += "\n" + sources.getText(id).str();
      program.sources.push_back(
          {sources.getName(id).str(), sources.getText(id).str()});
    }
  if (diagnostics.hasErrors() || !result->program)
    return ProgramWrong;
  program.dataDim = result->program->dataDim;
  program.module =
      tdsl::emitProgram(*result->program, sources, program.context);
  if (!program.module)
    return Internal;
  return Fine;
}

/// Compiles the program again for a batch of `rows` rows, calls inlined.
static OwningOpRef<ModuleOp> makeMicroBatch(const Options &options,
                                            Program &program, int64_t rows) {
  tdsl::SourceManager sources;
  tdsl::SourceManager::FileId file =
      sources.addText(program.mainText, options.input);
  tdsl::DiagnosticEngine diagnostics(sources);
  tdsl::FrontendOptions frontend;
  frontend.defines = options.defines;
  frontend.defines[program.dataDim] = rows;
  frontend.checked = options.checked;
  auto result = tdsl::compile(sources, file, frontend, diagnostics);
  if (diagnostics.hasErrors() || !result->program) {
    diagnostics.render(llvm::errs(),
                       llvm::WithColor(llvm::errs()).colorsEnabled());
    llvm::errs() << "tdslc: this is what --accum=" << options.accum
                 << " meets, which compiles the program for micro-batches of "
                 << rows << " rows (" << program.dataDim << " = " << rows
                 << ") as well\n";
    return {};
  }
  OwningOpRef<ModuleOp> module =
      tdsl::emitProgram(*result->program, sources, program.context);
  if (!module)
    return {};
  // As the whole program, whose variables it has.
  if (!runRolling(program, options, *module) ||
      !completeEntries(program, options, *module))
    return {};
  return module;
}

/// Gives the steps of the program copies for micro-batches.
static ExitCode splitBatches(const Options &options, Program &program) {
  if (!completeEntries(program, options, *program.module))
    return ProgramWrong;
  auto batches = tdsl::getMicroBatches(*program.module, options.accum);
  if (failed(batches))
    return ProgramWrong;
  for (bool isLast : {false, true}) {
    int64_t rows = isLast ? batches->last : batches->micro;
    if (rows == 0)
      continue;
    OwningOpRef<ModuleOp> part = makeMicroBatch(options, program, rows);
    if (!part || failed(tdsl::addMicroBatch(*program.module, *part, isLast)))
      return ProgramWrong;
  }
  return Fine;
}

/// Prints what the parser made of the text.
static ExitCode emitSyntaxTree(const Options &options) {
  StageTimer timer(options.time);
  timer.begin("parser");
  std::optional<std::string> program = readProgram(options.input);
  if (!program)
    return ProgramWrong;
  tdsl::SourceManager sources;
  tdsl::SourceManager::FileId file = sources.addText(*program, options.input);
  tdsl::DiagnosticEngine diagnostics(sources);
  tdsl::ASTContext context;
  tdsl::ast::File tree = tdsl::parseFile(sources, file, context, diagnostics);
  std::string text;
  llvm::raw_string_ostream os(text);
  tdsl::printAST(tree, os);
  if (options.jsonDiagnostics)
    diagnostics.renderJSON(llvm::errs());
  else
    diagnostics.render(llvm::errs(),
                       llvm::WithColor(llvm::errs()).colorsEnabled());
  ExitCode written = writeOutput(options.output, text);
  return diagnostics.hasErrors() ? ProgramWrong : written;
}

/// Assembles PTX with the ptxas of a CUDA toolkit.
static ExitCode emitCubin(const Options &options, StringRef ptx,
                          StringRef arch) {
  auto ptxas = llvm::sys::findProgramByName("ptxas");
  if (!ptxas)
    ptxas = llvm::sys::findProgramByName("ptxas", {"/usr/local/cuda/bin"});
  if (!ptxas) {
    llvm::errs()
        << "tdslc: --emit=cubin needs ptxas of a CUDA toolkit on PATH\n";
    return ProgramWrong;
  }
  if (options.output.empty()) {
    llvm::errs() << "tdslc: --emit=cubin writes a binary file: give -o\n";
    return UsageWrong;
  }
  SmallString<128> path;
  if (llvm::sys::fs::createTemporaryFile("tds", "ptx", path)) {
    llvm::errs() << "tdslc: no temporary file can be made\n";
    return ProgramWrong;
  }
  llvm::FileRemover remover(path);
  if (ExitCode code = writeOutput(path, ptx))
    return code;
  std::string archFlag = "-arch=" + arch.str();
  StringRef arguments[] = {*ptxas, archFlag, path, "-o", options.output};
  std::string message;
  if (llvm::sys::ExecuteAndWait(*ptxas, arguments, std::nullopt, {}, 0, 0,
                                &message) != 0) {
    llvm::errs() << "tdslc: ptxas does not accept the PTX " << message << "\n";
    return Internal;
  }
  return Fine;
}

/// The targets of the run, in order.
static bool getTargets(const Options &options,
                       SmallVectorImpl<Target> &targets) {
  StringRef extension = llvm::sys::path::extension(options.output);
  SmallVector<std::string> names(options.targets.begin(),
                                 options.targets.end());
  if (names.empty()) {
    bool isGPU = options.emit == "ptx" || options.emit == "cubin" ||
                 (options.emit.empty() && extension == ".ptx");
    if (options.emit.empty() && (extension.empty() || extension == ".tdsx"))
      names = {options.arch, "cpu"};
    else
      names = {isGPU ? options.arch : std::string("cpu")};
  }
  for (const std::string &name : names) {
    Target target;
    if (!parseTarget(name, options, target))
      return false;
    if (target.isCPU && (options.emit == "ptx" || options.emit == "cubin")) {
      llvm::errs() << "tdslc: --emit=" << options.emit
                   << " needs a GPU target, not '" << name << "'\n";
      return false;
    }
    if (llvm::any_of(targets, [&](const Target &other) {
          return other.arch == target.arch;
        })) {
      llvm::errs() << "tdslc: the target '" << target.arch
                   << "' is listed twice\n";
      return false;
    }
    targets.push_back(target);
  }
  return true;
}

ExitCode tdslc::compile(const Options &options) {
  for (const std::string &output : {options.output, options.report})
    if (refuseOverwriting(output, options.input) ||
        refuseOverwriting(output, options.targetDescription))
      return ProgramWrong;
  if (options.emit == "ast")
    return emitSyntaxTree(options);
  SmallVector<Target> targets;
  if (!getTargets(options, targets))
    return UsageWrong;

  std::vector<tdsl::report::Duration> passTimes;
  StageTimer timer(options.time, &passTimes);
  timer.begin("front end");
  DialectRegistry registry;
  tdsl::registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  Program program{{}, {}, context, {}};
  if (options.time || !options.report.empty())
    program.passTimes = &passTimes;
  Reporting reporting(options, program);
  if (ExitCode code = runFrontend(options, program))
    return code;
  for (const tdsl::report::SourceFile &file : program.sources)
    for (const std::string &output : {options.output, options.report})
      if (refuseOverwriting(output, file.name))
        return ProgramWrong;
  PassErrors errors(program, options);
  if (options.rolledLayers != 0) {
    timer.begin("loops over layers");
    if (!runRolling(program, options, *program.module))
      return Internal;
  }
  if (options.emit == "tds")
    return writeOutput(options.output, print(*program.module));
  if (options.saveTemps && options.input != "-") {
    Options tree = options;
    tree.output += ".ast";
    tree.time = false;
    if (ExitCode code = emitSyntaxTree(tree))
      return code;
  }
  if (ExitCode code = saveStage(options, "tds", *program.module))
    return code;
  if (options.emit == "header") {
    if (!completeEntries(program, options, *program.module))
      return ProgramWrong;
    std::string text;
    llvm::raw_string_ostream os(text);
    emitHeader(*program.module, program.path, os);
    return writeOutput(options.output, text);
  }

  if (options.accum > 1) {
    timer.begin("parts of the batch");
    if (ExitCode code = splitBatches(options, program))
      return code;
  }

  if (!options.memoryBudget.empty()) {
    timer.begin("memory budget");
    if (ExitCode code = fitMemory(program, options, targets))
      return code;
    reporting.dropRemarks();
  }

  timer.begin("differentiation");
  if (!runDifferentiation(program, options))
    return ProgramWrong;
  // Counts that fitMemory alone asks for.
  for (auto function : program.module->getOps<func::FuncOp>())
    function->removeAttr("segments");
  if (options.emit == "tds-opt")
    return writeOutput(options.output, print(*program.module));
  if (ExitCode code = saveStage(options, "tds-opt", *program.module))
    return code;

  reporting.addProgram(timer);

  std::vector<std::string> files;
  for (const Target &target : targets) {
    program.passPrefix = target.arch + ": ";
    timer.begin(program.passPrefix + "fusion and schedules");
    OwningOpRef<ModuleOp> module = makeKernels(program, options, target);
    if (!module)
      return Internal;
    if (options.emit == "kernels")
      return writeOutput(options.output, print(*module));
    if (ExitCode code = saveStage(options, target.arch + ".kernels", *module))
      return code;
    timer.begin(program.passPrefix + "planning");
    if (!runPlanning(program, *module))
      return Internal;
    if (options.emit == "plan")
      return writeOutput(options.output, print(*module));
    if (ExitCode code = saveStage(options, target.arch + ".plan", *module))
      return code;
    if (options.emit == "graph") {
      tdsl::report::TargetReport described = tdsl::report::describePlan(
          *module, {}, getSourceFolder(program.path));
      return writeOutput(options.output, tdsl::report::makeGraph(described));
    }
    timer.begin(program.passPrefix + "code");
    if (options.emit == "llvm" && target.isCPU) {
      auto cpuTarget = tdsl::cpu::CPUTarget::get(target.arch);
      llvm::LLVMContext llvmContext;
      std::unique_ptr<llvm::Module> code =
          tdsl::cpu::emitLLVM(*module, *cpuTarget, llvmContext);
      if (!code)
        return Internal;
      std::string text;
      llvm::raw_string_ostream os(text);
      code->print(os, nullptr);
      return writeOutput(options.output, text);
    }
    if (options.emit == "llvm") {
      std::string text;
      if (failed(tdsl::gpu::compileKernels(
              *module, *tdsl::gpu::lookupArch(target.arch), {}, &text)))
        return Internal;
      return writeOutput(options.output, text);
    }
    bool isExplained = options.emit.empty() && options.output.empty();
    if (isExplained && !reporting.needsCode(target)) {
      reporting.addTarget(*module, target, {}, timer);
      continue;
    }
    // A target may lack what the program needs; the message says which has it.
    std::string file = makeArtifact(*module, program, options, target, timer);
    if (file.empty())
      return ProgramWrong;
    if (options.emit == "cubin")
      return emitCubin(options, file, target.arch);
    // The code of one target of several would be in the container only.
    if (options.saveTemps && targets.size() > 1)
      if (ExitCode code = writeOutput(options.output + "." + target.arch +
                                          (target.isCPU ? ".so" : ".ptx"),
                                      file))
        return code;
    reporting.addTarget(*module, target, file, timer);
    files.push_back(std::move(file));
  }
  if (ExitCode code = reporting.finish())
    return code;
  if (options.emit.empty() && options.output.empty())
    return Fine;
  if (!options.emit.empty() ||
      llvm::sys::path::extension(options.output) != ".tdsx")
    return writeOutput(options.output, files.front());

  SmallVector<tdsl::ContainerMember> members;
  for (auto [target, file] : llvm::zip(targets, files)) {
    std::string kind = target.isCPU ? "cpu" : "cuda";
    members.push_back(
        {kind + "." + target.arch + (target.isCPU ? ".so" : ".ptx"), kind,
         target.arch, file});
  }
  llvm::Expected<std::string> container = tdsl::makeContainer(members);
  if (!container) {
    llvm::errs() << "tdslc: " << llvm::toString(container.takeError()) << "\n";
    return Internal;
  }
  return writeOutput(options.output, *container);
}
