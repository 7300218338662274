//===- CompileCPU.cpp - kernels to a shared object -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tdsl/Target/CPU/CompileCPU.h"

#include "ExpandFMA.h"
#include "LinkSharedObject.h"

#include "tdsl/Target/Common/KernelAnalysis.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <array>

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

/// Optimised IR and the machine that it is for.
static std::unique_ptr<llvm::Module>
emitOptimized(ModuleOp plan, const CPUTarget &target,
              llvm::LLVMContext &context,
              std::unique_ptr<llvm::TargetMachine> &machine) {
  std::string error;
  machine = createMachine(target, error);
  if (!machine) {
    plan.emitError("cannot make code for x86-64: ") << error;
    return nullptr;
  }
  OwningOpRef<ModuleOp> lowered = lowerToLLVMDialect(plan, target);
  if (!lowered)
    return nullptr;
  std::unique_ptr<llvm::Module> module =
      translateModuleToLLVMIR(*lowered, context, "tds");
  if (!module) {
    plan.emitError("the kernels have no translation to LLVM IR");
    return nullptr;
  }
  module->setTargetTriple(machine->getTargetTriple());
  module->setDataLayout(machine->createDataLayout());
  if (!target.hasFMA)
    if (llvm::Function *function = expandFMA(*module)) {
      // The kernel's own function, or the one of its work items.
      StringRef name = function->getName();
      name.consume_back(".work");
      Operation *kernel = plan.lookupSymbol(name);
      emitError(kernel ? kernel->getLoc() : plan.getLoc(),
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
  optimize(*module, *machine);
  return module;
}

std::unique_ptr<llvm::Module> cpu::emitLLVM(ModuleOp plan,
                                            const CPUTarget &target,
                                            llvm::LLVMContext &context) {
  std::unique_ptr<llvm::TargetMachine> machine;
  return emitOptimized(plan, target, context, machine);
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

static std::array<uint8_t, 32> getHash(StringRef text) {
  return llvm::SHA256::hash(llvm::arrayRefFromStringRef(text));
}

/// What the hash of the manifest is in the object code: that does not depend on
/// the manifest, which is known when it is linked. Nothing else in a program
/// has these 32 bytes.
static std::array<uint8_t, 32> getHashToBe() {
  return getHash("the hash of the manifest of a tds program");
}

/// The name by which the loader knows that the code belongs to its manifest
/// (docs/Artifact.md).
static void addPlanHash(llvm::Module &module) {
  std::array<uint8_t, 32> hash = getHashToBe();
  llvm::Constant *bytes = llvm::ConstantDataArray::get(
      module.getContext(), ArrayRef<uint8_t>(hash.data(), hash.size()));
  new llvm::GlobalVariable(module, bytes->getType(), /*isConstant=*/true,
                           llvm::GlobalValue::ExternalLinkage, bytes,
                           "tds_plan_sha256");
}

LogicalResult cpu::compileObject(ModuleOp plan, const CPUOptions &options,
                                 SmallVectorImpl<char> &object) {
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

  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module =
      emitOptimized(plan, *target, context, machine);
  if (!module)
    return failure();
  addPlanHash(*module);
  const std::string &temps = options.saveTemps;
  if (!temps.empty()) {
    std::string text;
    llvm::raw_string_ostream(text) << *module;
    if (failed(writeFile(plan, temps + ".ll", text)))
      return failure();
    // Code generation changes the module: the assembly comes from a copy.
    std::unique_ptr<llvm::Module> copy = llvm::CloneModule(*module);
    SmallVector<char, 0> assembly;
    if (failed(emitCode(plan, *machine, *copy,
                        llvm::CodeGenFileType::AssemblyFile, assembly)) ||
        failed(writeFile(plan, temps + ".s",
                         StringRef(assembly.data(), assembly.size()))))
      return failure();
  }
  if (failed(emitCode(plan, *machine, *module,
                      llvm::CodeGenFileType::ObjectFile, object)))
    return failure();
  StringRef code(object.data(), object.size());
  if (!temps.empty() && failed(writeFile(plan, temps + ".o", code)))
    return failure();
  return success();
}

llvm::Error cpu::linkProgram(StringRef object, StringRef manifest,
                             SmallVectorImpl<char> &sharedObject) {
  std::string text = manifest.str(), code = object.str();
  llvm::erase(text, '\n');
  std::array<uint8_t, 32> hash = getHash(text), toBe = getHashToBe();
  size_t at = code.find(llvm::toStringRef(toBe));
  if (at == std::string::npos ||
      code.find(llvm::toStringRef(toBe), at + 1) != std::string::npos)
    return llvm::createStringError(
        "the object code has no place for the hash of its manifest");
  code.replace(at, hash.size(), llvm::toStringRef(hash));
  return linkSharedObject(code, manifest, sharedObject);
}

LogicalResult cpu::compileCPU(ModuleOp plan, const CPUOptions &options,
                              StringRef manifest,
                              SmallVectorImpl<char> &sharedObject) {
  SmallVector<char> object;
  if (failed(compileObject(plan, options, object)))
    return failure();
  if (llvm::Error error = linkProgram(StringRef(object.data(), object.size()),
                                      manifest, sharedObject))
    return plan.emitError(llvm::toString(std::move(error)));
  return success();
}
