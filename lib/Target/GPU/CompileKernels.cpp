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

#include "llvm/Support/SHA256.h"

#include <array>

using namespace mlir;
using namespace tdsl;

std::string tdsl::gpu::addPlanHash(StringRef ptx, StringRef manifest) {
  // Of the text without newlines: in PTX it lies in comment lines, whose breaks
  // are not part of it.
  std::string text = manifest.str();
  llvm::erase(text, '\n');
  std::array<uint8_t, 32> hash = llvm::SHA256::hash(
      ArrayRef(reinterpret_cast<const uint8_t *>(text.data()), text.size()));
  std::string result = ptx.str();
  llvm::raw_string_ostream os(result);
  os << ".visible .global .align 4 .b8 tds_plan_sha256[" << hash.size()
     << "] = {";
  llvm::interleaveComma(hash, os, [&](uint8_t byte) { os << unsigned(byte); });
  os << "};\n";
  return result;
}

FailureOr<OwningOpRef<ModuleOp>> tdsl::gpu::emitKernels(ModuleOp plan) {
  plan.getContext()
      ->loadDialect<arith::ArithDialect, cf::ControlFlowDialect,
                    scf::SCFDialect, LLVM::LLVMDialect, NVVM::NVVMDialect>();
  OwningOpRef<ModuleOp> code = ModuleOp::create(plan.getLoc());
  SmallVector<target::OutlinedKernel> kernels;
  if (failed(target::collectKernels(plan, kernels)))
    return failure();
  auto requireSchedule = [](tds::KernelOp kernel) -> LogicalResult {
    auto schedule = kernel->getAttrOfType<DictionaryAttr>("schedule");
    if (schedule && schedule.get("grid") && schedule.get("block"))
      return success();
    return kernel.emitOpError("has no schedule for a GPU; run "
                              "tds-select-schedule{target=cuda} first");
  };
  for (target::OutlinedKernel &kernel : kernels) {
    if (failed(requireSchedule(kernel.kernel)))
      return failure();
    for (auto part : kernel.kernel.getBlock()->getOps<tds::KernelOp>())
      if (failed(requireSchedule(part)))
        return failure();
  }
  PartFunctions parts(kernels);
  unsigned numParts = 0;
  parts.forEachShared([&](SharedPart &shared) {
    std::string name =
        ("tds_p" + Twine(numParts++) + "_" + shared.part.kernel.getKind())
            .str();
    tdsl::gpu::KernelEmitter(shared, name, *code).emit(shared);
  });
  for (const target::OutlinedKernel &kernel : kernels)
    tdsl::gpu::KernelEmitter(kernel, *code).emit(kernel, parts);
  return code;
}

FailureOr<std::string> tdsl::gpu::compileKernels(ModuleOp plan,
                                                 const Arch &arch,
                                                 StringRef manifest,
                                                 std::string *llvmText) {
  FailureOr<OwningOpRef<ModuleOp>> emitted = emitKernels(plan);
  if (failed(emitted))
    return failure();
  OwningOpRef<ModuleOp> code = std::move(*emitted);
  PassManager passes(plan.getContext(), ModuleOp::getOperationName());
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  if (failed(passes.run(*code)))
    return failure();
  FailureOr<std::string> ptx = translateToPTX(*code, arch, llvmText);
  if (failed(ptx) || manifest.empty())
    return ptx;
  return addPlanHash(*ptx, manifest);
}
