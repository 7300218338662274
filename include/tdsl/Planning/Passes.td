//===- Passes.td - memory planning -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_PLANNING_PASSES_TD
#define TDSL_PLANNING_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlanPass : Pass<"tds-plan", "::mlir::ModuleOp"> {
  let summary = "Place every tensor in memory and list the commands of every entry";
  let description = [{
    Entries that hold nothing but kernels, reshapes, constants and a return become `plan.entry`; see the plan dialect for what the module
    holds afterwards. Kernels are outlined, equal ones once.

    The new value of a variable is written straight into its slab where every other reader of the old value can run before, and where the
    kernel itself reads the old value, if at all, only at the element it is about to write; else it is written to the arena and
    copied at the end. Tensors between kernels share one arena by liveness. Where that makes the arena smaller, some lie in the place of an input
    that has been read, which is then `donated`. `check` replays the plan and fails where a
    launch would read anything but the value it is meant to.

    ```mlir
    %y = tds.kernel "loop" (%x) : (tensor<4xf32>) -> tensor<4xf32> { … }
    ```
    becomes
    ```mlir
    plan.launch @tds_k0_loop(<input[0] 0 + 16>) -> (<result[0] 0 + 16>)
    ```
  }];
  let dependentDialects = ["::tdsl::plan::PlanDialect", "::mlir::func::FuncDialect"];
  let options = [
    Option<"check", "check", "bool", /*default=*/"true", "Replay each plan and compare it with the entry">,
    Option<"donate", "donate", "bool", /*default=*/"true", "Use the places of inputs that have been read for other values">
  ];
  let statistics = [
    Statistic<"numKernels", "kernels", "Number of distinct kernels">,
    Statistic<"numLaunches", "launches", "Number of launches">,
    Statistic<"numCopies", "copies", "Number of copies">,
    Statistic<"numInPlace", "in-place", "Number of outputs that share an input's buffer">
  ];
}

#endif // TDSL_PLANNING_PASSES_TD
