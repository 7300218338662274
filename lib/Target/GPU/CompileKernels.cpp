//===- CompileKernels.cpp - all kernels of a plan to PTX -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

#include "tdsl/Target/GPU/GPUTarget.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace tdsl;

FailureOr<std::string> tdsl::gpu::compileKernels(ModuleOp plan, const Arch &arch, std::string *llvmText) {
  MLIRContext *context = plan.getContext();
  context->loadDialect<arith::ArithDialect, cf::ControlFlowDialect, scf::SCFDialect, LLVM::LLVMDialect, NVVM::NVVMDialect>();
  OwningOpRef<ModuleOp> code = ModuleOp::create(plan.getLoc());
  SmallVector<target::OutlinedKernel> kernels;
  if (failed(target::collectKernels(plan, kernels)))
    return failure();
  for (const target::OutlinedKernel &kernel : kernels)
    tdsl::gpu::KernelEmitter(kernel, *code).emit();
  PassManager passes(context, ModuleOp::getOperationName());
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  if (failed(passes.run(*code)))
    return failure();
  return translateToPTX(*code, arch, llvmText);
}
