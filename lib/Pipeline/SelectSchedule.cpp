//===- SelectSchedule.cpp - choose how each kernel is cut into work -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Pipeline/Pipelines.h"

#include "tdsl/Dialect/TDS/TDSOps.h"
#include "tdsl/Target/CPU/CompileCPU.h"
#include "tdsl/Target/GPU/GPUTarget.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace tdsl {
#define GEN_PASS_DEF_SELECTSCHEDULEPASS
#include "tdsl/Pipeline/Passes.h.inc"
} // namespace tdsl

namespace {
struct SelectSchedulePass : public tdsl::impl::SelectSchedulePassBase<SelectSchedulePass> {
  using Base::Base;

  void runOnOperation() override {
    if (tdsl::gpu::lookupArch(target)) {
      getOperation().walk([](tdsl::tds::KernelOp kernel) {
        if (!kernel->hasAttr("schedule"))
          kernel->setAttr("schedule", tdsl::gpu::selectSchedule(kernel));
      });
      return;
    }
    auto cpuTarget = tdsl::cpu::CPUTarget::get(target);
    if (!cpuTarget) {
      getOperation().emitError() << llvm::toString(cpuTarget.takeError());
      return signalPassFailure();
    }
    WalkResult done = getOperation().walk([&](tdsl::tds::KernelOp kernel) {
      if (!kernel->hasAttr("schedule") && failed(tdsl::cpu::selectSchedule(kernel, *cpuTarget)))
        return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (done.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
