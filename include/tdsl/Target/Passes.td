//===- Passes.td - schedules and code of the targets -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TARGET_PASSES_TD
#define TDSL_TARGET_PASSES_TD

include "mlir/Pass/PassBase.td"

def SelectSchedulePass : Pass<"tds-select-schedule", "::mlir::ModuleOp"> {
  let summary = "Choose how every kernel runs on a target";
  let description = [{
    Sets the attribute `schedule` of each `tds.kernel` that has none: a dictionary that the target's emitter follows. A schedule that is there already, from
    a file or by hand, stays.

    On the CPU it has `work` (work items), `scratch` (bytes a thread needs), `emitter`, and what that emitter wants: see docs/CpuTarget.md.

    ```mlir
    %r = tds.kernel "loop" (%x) : (tensor<4xf32>) -> tensor<4xf32> { … }
    ```
    becomes
    ```mlir
    %r = tds.kernel "loop" (%x) {schedule = {chunk = 4 : i64, emitter = "points", lanes = "rows", rows = 1 : i64, scratch = 0 : i64,
      width = 4 : i64, work = 1 : i64}} : (tensor<4xf32>) -> tensor<4xf32> { … }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"cpu\"", "cpu or cuda">,
    Option<"arch", "arch", "std::string", /*default=*/"\"x86-64-v3\"", "processor level of the cpu target">
  ];
  let statistics = [Statistic<"numScheduled", "scheduled", "Number of kernels that got a schedule">];
}

def EmitCPUPass : Pass<"tds-emit-cpu", "::mlir::ModuleOp"> {
  let summary = "Replace outlined kernels by their CPU code in the llvm dialect";
  let description = [{
    Everything else in the module goes. The kernels need a schedule for the CPU; without one it is an error. docs/CpuTarget.md tells what the functions take.

    ```mlir
    func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> {
      %r = tds.kernel "loop" (%x) {schedule = {…}} : (tensor<4xf32>) -> tensor<4xf32> { … }
      return %r : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    llvm.func @k(%buffers: !llvm.ptr, %scalars: !llvm.ptr, %first: i64, %last: i64, %scratch: !llvm.ptr) { … }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::cf::ControlFlowDialect",
                           "::mlir::LLVM::LLVMDialect"];
  let options = [
    Option<"arch", "arch", "std::string", /*default=*/"\"x86-64-v3\"", "processor level">
  ];
  let statistics = [Statistic<"numKernels", "kernels", "Number of kernels emitted">];
}

def EmitGPUPass : Pass<"tds-emit-gpu", "::mlir::ModuleOp"> {
  let summary = "Replace outlined kernels by their GPU code in the llvm and nvvm dialects";
  let description = [{
    Everything else in the module goes. The kernels need a schedule for the GPU; without one it is an error. `tds-translate --tds-to-ptx` goes on to PTX.

    ```mlir
    func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> {
      %r = tds.kernel "loop" (%x) {schedule = {…}} : (tensor<4xf32>) -> tensor<4xf32> { … }
      return %r : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    llvm.func @k(%x: !llvm.ptr, %r: !llvm.ptr) attributes {nvvm.kernel, nvvm.maxntid = array<i32: 256, 1, 1>} { … }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect"];
  let statistics = [
    Statistic<"numKernels", "kernels", "Number of kernels emitted">,
    Statistic<"numShared", "shared", "Number of parts of several kernels, emitted once">
  ];
}

#endif // TDSL_TARGET_PASSES_TD
