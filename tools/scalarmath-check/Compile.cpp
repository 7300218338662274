//===- Compile.cpp - the check module as machine code and PTX -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Compile.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

using namespace llvm;

namespace tdsl::scalarmath {

static Expected<std::unique_ptr<Module>>
makeLlvmModule(LLVMContext &llvmContext, const CheckModuleOptions &options) {
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerNVVMDialectTranslation(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  mlir::OwningOpRef<mlir::ModuleOp> module = buildCheckModule(context, options);
  if (!module)
    return createStringError("the check module does not lower to LLVM");
  std::unique_ptr<Module> result =
      mlir::translateModuleToLLVMIR(*module, llvmContext);
  if (!result)
    return createStringError("the check module does not translate to LLVM IR");
  return result;
}

static void optimize(Module &module, TargetMachine &machine) {
  module.setDataLayout(machine.createDataLayout());
  module.setTargetTriple(machine.getTargetTriple());
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager callGraph;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O2)
      .run(module, modules);
}

CompiledKernels::CompiledKernels(std::unique_ptr<orc::LLJIT> jit)
    : jit(std::move(jit)) {}
CompiledKernels::~CompiledKernels() = default;

Expected<std::unique_ptr<CompiledKernels>>
CompiledKernels::compile(StringRef cpu, unsigned lanes) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  auto context = std::make_unique<LLVMContext>();
  CheckModuleOptions options;
  options.lanes = lanes;
  auto module = makeLlvmModule(*context, options);
  if (!module)
    return module.takeError();

  orc::JITTargetMachineBuilder target{Triple(sys::getProcessTriple())};
  target.setCPU(cpu.str());
  auto machine = target.createTargetMachine();
  if (!machine)
    return machine.takeError();
  optimize(**module, **machine);

  auto jit = orc::LLJITBuilder().setJITTargetMachineBuilder(target).create();
  if (!jit)
    return jit.takeError();
  // Without an fma instruction the code calls fma() and fmaf() of this process.
  auto symbols = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      (*jit)->getDataLayout().getGlobalPrefix());
  if (!symbols)
    return symbols.takeError();
  (*jit)->getMainJITDylib().addGenerator(std::move(*symbols));
  if (Error error = (*jit)->addIRModule(
          orc::ThreadSafeModule(std::move(*module), std::move(context))))
    return error;
  return std::unique_ptr<CompiledKernels>(new CompiledKernels(std::move(*jit)));
}

Error CompiledKernels::run(const CheckKernel &kernel, const void *const *inputs,
                           void *output, int64_t n) {
  auto symbol = jit->lookup(kernel.name);
  if (!symbol)
    return symbol.takeError();
  using P = const void *;
  switch (kernel.inputs.size()) {
  case 1:
    symbol->toPtr<void(P, void *, int64_t)>()(inputs[0], output, n);
    return Error::success();
  case 2:
    symbol->toPtr<void(P, P, void *, int64_t)>()(inputs[0], inputs[1], output,
                                                 n);
    return Error::success();
  case 5:
    symbol->toPtr<void(P, P, P, P, P, void *, int64_t)>()(
        inputs[0], inputs[1], inputs[2], inputs[3], inputs[4], output, n);
    return Error::success();
  }
  return createStringError("kernel %s has an unforeseen number of inputs",
                           kernel.name.c_str());
}

bool hostHas(StringRef cpu) {
#if defined(__x86_64__)
  if (cpu == "x86-64")
    return true;
  if (cpu == "x86-64-v3")
    return __builtin_cpu_supports("x86-64-v3");
  if (cpu == "x86-64-v4")
    return __builtin_cpu_supports("x86-64-v4");
#endif
  return false;
}

Expected<std::string> compileToPtx(StringRef chip) {
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  LLVMContext context;
  CheckModuleOptions options;
  options.forGpu = true;
  options.emit.nativeF16 = true;
  auto module = makeLlvmModule(context, options);
  if (!module)
    return module.takeError();

  Triple triple("nvptx64-nvidia-cuda");
  std::string message;
  const Target *target = TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return createStringError(message);
  std::unique_ptr<TargetMachine> machine(target->createTargetMachine(
      triple, chip, "", TargetOptions(), std::nullopt, std::nullopt,
      CodeGenOptLevel::Default));
  optimize(**module, *machine);

  SmallString<0> text;
  raw_svector_ostream stream(text);
  legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr,
                                   CodeGenFileType::AssemblyFile))
    return createStringError("LLVM's NVPTX target cannot write assembly");
  passes.run(**module);
  return text.str().str();
}

} // namespace tdsl::scalarmath
