//===- TranslatePTX.cpp - LLVM-dialect kernels to PTX text -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs LLVM's NVPTX back end in process. The emitters keep to operations that
// the back end can select on every architecture that they are asked for,
// because LLVM ends the process on one that it cannot.
//
//===----------------------------------------------------------------------===//

#include "tdsl/Target/GPU/TranslatePTX.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

#include <mutex>

using namespace mlir;
using namespace tdsl;

// Sources: PTX ISA 9.0, section "Release Notes" (ISA version and driver of each
// target), and LLVM's default ISA for each target.
static constexpr gpu::Arch kArchs[] = {
    {"sm_70", 70, "6.0", 9000},   {"sm_75", 75, "6.3", 10000},
    {"sm_80", 80, "7.0", 11000},  {"sm_86", 86, "7.1", 11010},
    {"sm_89", 89, "7.8", 11080},  {"sm_90", 90, "7.8", 11080},
    {"sm_90a", 90, "8.0", 12000},
};

ArrayRef<gpu::Arch> gpu::getArchs() { return kArchs; }

const gpu::Arch *gpu::lookupArch(StringRef name) {
  for (const Arch &arch : kArchs)
    if (arch.name == name)
      return &arch;
  return nullptr;
}

static void initializeNVPTX() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

FailureOr<std::string> gpu::translateToPTX(ModuleOp module, const Arch &arch,
                                           std::string *llvmText) {
  initializeNVPTX();
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  registerNVVMDialectTranslation(*module.getContext());

  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code =
      translateModuleToLLVMIR(module, context, "tds");
  if (!code)
    return module.emitError("the kernels cannot be translated to LLVM IR");

  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return module.emitError("this LLVM has no NVPTX back end: ") << error;
  std::string isa = "+ptx" + arch.ptxIsa.str();
  isa.erase(std::remove(isa.begin(), isa.end(), '.'), isa.end());
  llvm::TargetOptions options;
  options.AllowFPOpFusion =
      llvm::FPOpFusion::Strict; // a*b+c stays two roundings unless the IR says
                                // fma
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, arch.name, isa, options, std::nullopt, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
  code->setTargetTriple(triple);
  code->setDataLayout(machine->createDataLayout());

  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine.get());
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2)
      .run(*code, modules);
  if (llvmText) {
    llvm::raw_string_ostream stream(*llvmText);
    code->print(stream, nullptr);
  }

  llvm::SmallString<0> ptx;
  llvm::raw_svector_ostream stream(ptx);
  llvm::legacy::PassManager codegen;
  if (machine->addPassesToEmitFile(codegen, stream, nullptr,
                                   llvm::CodeGenFileType::AssemblyFile))
    return module.emitError("LLVM's NVPTX back end cannot write PTX text");
  codegen.run(*code);
  return ptx.str().str();
}
