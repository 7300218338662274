//===- KernelFrame.h - the function of a kernel being emitted -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_LIB_TARGET_CPU_KERNELFRAME_H
#define TDSL_LIB_TARGET_CPU_KERNELFRAME_H

#include "tdsl/Target/CPU/CPUTarget.h"
#include "tdsl/Target/Common/BodyEmitter.h"
#include "tdsl/Target/Common/KernelAnalysis.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace tdsl::cpu {

/// What the emitter of a kernel writes into: the builder stands in the function
/// `(buffers..., first, last, scratch)`, and the body emitter knows where the
/// kernel's operands are.
struct KernelFrame {
  target::OutlinedKernel &kernel;
  const CPUTarget &target;
  mlir::ModuleOp module;
  target::LaneBuilder lanes;
  target::BodyEmitter body;
  llvm::SmallVector<mlir::Value> pointers;
  mlir::Value first, last, scratch;

  KernelFrame(target::OutlinedKernel &kernel, const CPUTarget &target,
              mlir::ModuleOp module, mlir::OpBuilder &builder,
              mlir::Location loc)
      : kernel(kernel), target(target), module(module),
        lanes(builder, loc, target.laneOptions()), body(lanes) {}

  mlir::DictionaryAttr getSchedule() {
    return kernel.kernel->getAttrOfType<mlir::DictionaryAttr>("schedule");
  }
  int64_t getInt(llvm::StringRef key, int64_t otherwise = 0) {
    auto attr = getSchedule().getAs<mlir::IntegerAttr>(key);
    return attr ? attr.getInt() : otherwise;
  }
  llvm::StringRef getString(llvm::StringRef key) {
    auto attr = getSchedule().getAs<mlir::StringAttr>(key);
    return attr ? attr.getValue() : llvm::StringRef();
  }
  /// Where the kernel's output `index` goes.
  target::Buffer outputBuffer(unsigned index) {
    auto type = mlir::cast<mlir::RankedTensorType>(
        kernel.kernel.getOutputs()[index].getType());
    return target::Buffer::dense(pointers[kernel.outputBuffers[index]], type);
  }
  mlir::Value scratchAt(int64_t bytes) {
    return lanes.address(scratch, lanes.builder.getI8Type(), lanes.i64(bytes));
  }
};

/// The emitters, by kind. Each emits the loop over the work items
/// [first, last); all decisions are in the kernel's schedule.
mlir::LogicalResult emitPoints(KernelFrame &frame);
mlir::LogicalResult emitContract(KernelFrame &frame);
mlir::LogicalResult emitScatter(KernelFrame &frame);
mlir::LogicalResult emitAttention(KernelFrame &frame);
mlir::LogicalResult emitAttentionGrad(KernelFrame &frame);

} // namespace tdsl::cpu

#endif // TDSL_LIB_TARGET_CPU_KERNELFRAME_H
