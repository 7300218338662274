//===- Passes.cpp - schedules and code of the targets -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tdsl/Target/Passes.h"

#include "tdsl/Target/CPU/CompileCPU.h"
#include "tdsl/Target/GPU/GPUTarget.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tdsl {
#define GEN_PASS_DEF_SELECTSCHEDULEPASS
#define GEN_PASS_DEF_EMITCPUPASS
#define GEN_PASS_DEF_EMITGPUPASS
#include "tdsl/Target/Passes.h.inc"
} // namespace tdsl

using namespace mlir;
using namespace tdsl;

namespace {

struct SelectSchedulePass
    : tdsl::impl::SelectSchedulePassBase<SelectSchedulePass> {
  using SelectSchedulePassBase::SelectSchedulePassBase;

  void runOnOperation() override {
    if (target != "cpu" && target != "cuda") {
      getOperation().emitError("unknown target '")
          << target << "'; choose cpu or cuda";
      return signalPassFailure();
    }
    llvm::Expected<cpu::CPUTarget> processor = cpu::CPUTarget::get(arch);
    if (!processor) {
      getOperation().emitError(llvm::toString(processor.takeError()));
      return signalPassFailure();
    }
    auto schedule = [&](tds::KernelOp kernel) {
      // Parts are scheduled with the kernel that they are parts of.
      if (kernel->hasAttr("schedule") || kernel.isPart())
        return WalkResult::advance();
      if (target == "cuda")
        kernel->setAttr("schedule", tdsl::gpu::selectSchedule(kernel));
      else if (failed(cpu::selectSchedule(kernel, *processor)))
        return WalkResult::interrupt();
      ++numScheduled;
      return WalkResult::advance();
    };
    WalkResult walk = getOperation().walk(schedule);
    if (walk.wasInterrupted())
      signalPassFailure();
  }
};

struct EmitCPUPass : tdsl::impl::EmitCPUPassBase<EmitCPUPass> {
  using EmitCPUPassBase::EmitCPUPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::Expected<cpu::CPUTarget> processor = cpu::CPUTarget::get(arch);
    if (!processor) {
      module.emitError(llvm::toString(processor.takeError()));
      return signalPassFailure();
    }
    OwningOpRef<ModuleOp> code = cpu::lowerToLLVMDialect(module, *processor);
    if (!code)
      return signalPassFailure();
    numKernels += llvm::count_if(
        code->getOps<LLVM::LLVMFuncOp>(), [](LLVM::LLVMFuncOp function) {
          return !function.isExternal() &&
                 function.getLinkage() != LLVM::Linkage::Internal;
        });
    module.getBodyRegion().takeBody(code->getBodyRegion());
  }
};

struct EmitGPUPass : tdsl::impl::EmitGPUPassBase<EmitGPUPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<OwningOpRef<ModuleOp>> code = tdsl::gpu::emitKernels(module);
    if (failed(code))
      return signalPassFailure();
    for (auto function : (*code)->getOps<LLVM::LLVMFuncOp>())
      ++(function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName())
             ? numKernels
             : numShared);
    module.getBodyRegion().takeBody((*code)->getBodyRegion());
  }
};

} // namespace
