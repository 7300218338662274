//===- CompileCPU.cpp - kernels to a shared object -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tdsl/Target/CPU/CompileCPU.h"

#include "ExpandFMA.h"
#include "LinkSharedObject.h"

#include "tdsl/Target/Common/CodeUnits.h"
#include "tdsl/Target/Common/KernelAnalysis.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/ObjCopy/CommonConfig.h"
#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/StringSaver.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::cpu;

void cpu::registerCPUTarget(DialectRegistry &registry) {
  registry.insert<LLVM::LLVMDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

static std::unique_ptr<llvm::TargetMachine>
createMachine(const CPUTarget &target, std::string &error) {
  static const bool initialized = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    // For the question of WideVectors.cpp.
    LLVMInitializeX86AsmParser();
    return true;
  }();
  (void)initialized;
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  const llvm::Target *backend =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend)
    return nullptr;
  llvm::TargetOptions options;
  // One rounding an operation: a multiplication and an addition stay two.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(
      triple, target.cpu, target.features, options, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  // Emitters vectorise; what they leave scalar is short or a tail.
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder passes(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  // The object has no C library to call.
  llvm::TargetLibraryInfoImpl library(machine.getTargetTriple());
  library.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(components);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, components, modules);
  passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2)
      .run(module, modules);
}

static std::unique_ptr<llvm::TargetMachine>
createMachine(ModuleOp plan, const CPUTarget &target) {
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(target, error);
  if (!machine)
    plan.emitError("cannot make code for x86-64: ") << error;
  return machine;
}

/// The optimised IR of a unit.
static std::unique_ptr<llvm::Module> emitOptimized(target::CodeUnit &unit,
                                                   const CPUTarget &target,
                                                   llvm::TargetMachine &machine,
                                                   llvm::LLVMContext &context) {
  if (failed(lowerControlFlow(*unit.module)))
    return nullptr;
  std::unique_ptr<llvm::Module> module =
      translateModuleToLLVMIR(*unit.module, context, "tds");
  if (!module) {
    emitError(unit.loc, "the kernel has no translation to LLVM IR");
    return nullptr;
  }
  module->setTargetTriple(machine.getTargetTriple());
  module->setDataLayout(machine.createDataLayout());
  if (!target.hasFMA && expandFMA(*module)) {
    emitError(unit.loc,
              "the program computes in f64 with fused multiply-adds, which ")
        << target.arch << " lacks; compile for x86-64-v3 or above";
    return nullptr;
  }
  std::string width = std::to_string(target.vectorBits);
  for (llvm::Function &function : *module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("no-builtins");
    // Functions for wider registers have said so (WideVectors.h).
    if (function.hasFnAttribute("target-cpu"))
      continue;
    function.addFnAttr("target-cpu", target.cpu);
    function.addFnAttr("target-features", target.features);
    // Registers of the full width, also where the processor model prefers
    // narrower ones.
    function.addFnAttr("prefer-vector-width", width);
    function.addFnAttr("min-legal-vector-width", width);
  }
  optimize(*module, machine);
  return module;
}

/// The units of the kernels of a plan.
static FailureOr<std::vector<target::CodeUnit>>
emitUnits(ModuleOp plan, const CPUTarget &target) {
  OwningOpRef<ModuleOp> code = emitKernels(plan, target);
  if (!code)
    return failure();
  return target::splitCode(*code);
}

std::unique_ptr<llvm::Module> cpu::emitLLVM(ModuleOp plan,
                                            const CPUTarget &target,
                                            llvm::LLVMContext &context) {
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(plan, target);
  FailureOr<std::vector<target::CodeUnit>> units = emitUnits(plan, target);
  if (!machine || failed(units))
    return nullptr;
  std::vector<std::string> texts;
  for (target::CodeUnit &unit : *units) {
    llvm::LLVMContext own;
    std::unique_ptr<llvm::Module> module =
        emitOptimized(unit, target, *machine, own);
    if (!module)
      return nullptr;
    std::string text;
    llvm::raw_string_ostream(text) << *module;
    texts.push_back(unit.restoreNames(text));
  }
  std::unique_ptr<llvm::Module> joined = target::joinLLVM(texts, context);
  if (!joined)
    plan.emitError("the LLVM IR of the kernels cannot be joined");
  return joined;
}

static LogicalResult emitCode(ModuleOp plan, llvm::TargetMachine &machine,
                              llvm::Module &module, llvm::CodeGenFileType kind,
                              SmallVectorImpl<char> &code) {
  llvm::raw_svector_ostream stream(code);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, kind))
    return plan.emitError("LLVM cannot write object code for x86-64");
  passes.run(module);
  return success();
}

static LogicalResult writeFile(ModuleOp plan, const llvm::Twine &path,
                               StringRef content) {
  std::error_code error;
  std::string name = path.str();
  llvm::raw_fd_ostream stream(name, error);
  if (!error) {
    stream << content;
    stream.close();
    error = stream.error();
  }
  if (error) {
    stream.clear_error();
    return plan.emitError("cannot write '") << name << "': " << error.message();
  }
  return success();
}

/// Writes what --save-temps asks for: all units as one.
static LogicalResult saveTemps(ModuleOp plan, const CPUTarget &target,
                               const std::string &prefix) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(plan, target);
  std::unique_ptr<llvm::Module> module = emitLLVM(plan, target, context);
  if (!machine || !module)
    return failure();
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  if (failed(writeFile(plan, prefix + ".ll", text)))
    return failure();
  // Code generation changes the module: the assembly comes from a copy.
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(*module);
  SmallVector<char, 0> assembly, object;
  if (failed(emitCode(plan, *machine, *copy,
                      llvm::CodeGenFileType::AssemblyFile, assembly)) ||
      failed(writeFile(plan, prefix + ".s",
                       StringRef(assembly.data(), assembly.size()))) ||
      failed(emitCode(plan, *machine, *module,
                      llvm::CodeGenFileType::ObjectFile, object)))
    return failure();
  return writeFile(plan, prefix + ".o",
                   StringRef(object.data(), object.size()));
}

/// An object file with the names of the program in place of those of the unit.
static llvm::Expected<std::string> restoreNames(const target::CodeUnit &unit,
                                                StringRef object) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef(object, unit.name));
  if (!file)
    return file.takeError();
  llvm::objcopy::ConfigManager config;
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver names(allocator);
  for (const llvm::object::SymbolRef &symbol : (*file)->symbols()) {
    llvm::Expected<StringRef> name = symbol.getName();
    if (!name)
      return name.takeError();
    std::string restored = unit.restoreNames(*name);
    if (restored != *name)
      config.Common.SymbolsToRename[*name] = names.save(restored);
  }
  std::string result;
  llvm::raw_string_ostream stream(result);
  if (llvm::Error error =
          llvm::objcopy::executeObjcopyOnBinary(config, **file, stream))
    return error;
  return result;
}

FailureOr<std::vector<std::string>>
cpu::compileObjects(ModuleOp plan, const CPUOptions &options,
                    target::UnitStore *store) {
  llvm::Expected<CPUTarget> target = CPUTarget::get(options.arch);
  if (!target)
    return plan.emitError(llvm::toString(target.takeError()));
  SmallVector<target::OutlinedKernel> kernels;
  if (failed(target::collectKernels(plan, kernels)))
    return failure();
  for (target::OutlinedKernel &kernel : kernels)
    if (!kernel.kernel->hasAttr("schedule") &&
        failed(selectSchedule(kernel.kernel, *target)))
      return failure();
  if (!options.saveTemps.empty() &&
      failed(saveTemps(plan, *target, options.saveTemps)))
    return failure();

  std::unique_ptr<llvm::TargetMachine> machine = createMachine(plan, *target);
  FailureOr<std::vector<target::CodeUnit>> units = emitUnits(plan, *target);
  if (!machine || failed(units))
    return failure();
  auto objects = target::compileUnits(
      *units, store, [&](target::CodeUnit &unit) -> FailureOr<std::string> {
        llvm::LLVMContext context;
        std::unique_ptr<llvm::Module> module =
            emitOptimized(unit, *target, *machine, context);
        SmallVector<char, 0> object;
        if (!module ||
            failed(emitCode(plan, *machine, *module,
                            llvm::CodeGenFileType::ObjectFile, object)))
          return failure();
        return std::string(object.begin(), object.end());
      });
  if (failed(objects))
    return failure();
  for (auto [unit, object] : llvm::zip_equal(*units, *objects)) {
    llvm::Expected<std::string> named = restoreNames(unit, object);
    if (!named)
      return plan.emitError(llvm::toString(named.takeError()));
    object = std::move(*named);
  }
  return objects;
}

llvm::Error cpu::linkProgram(ArrayRef<std::string> objects, StringRef manifest,
                             SmallVectorImpl<char> &sharedObject) {
  return linkSharedObject(objects, manifest, sharedObject);
}

LogicalResult cpu::compileCPU(ModuleOp plan, const CPUOptions &options,
                              StringRef manifest,
                              SmallVectorImpl<char> &sharedObject) {
  auto objects = compileObjects(plan, options);
  if (failed(objects))
    return failure();
  if (llvm::Error error = linkProgram(*objects, manifest, sharedObject))
    return plan.emitError(llvm::toString(std::move(error)));
  return success();
}
