//===- Passes.td - passes that know every target -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_PIPELINE_PASSES_TD
#define TDSL_PIPELINE_PASSES_TD

include "mlir/Pass/PassBase.td"

def SelectSchedulePass : Pass<"tds-select-schedule", "::mlir::ModuleOp"> {
  let summary = "Choose how each kernel is cut into work for a target";
  let description = [{
    Sets the attribute `schedule` on every `tds.kernel`. Emitters read it and decide nothing; its keys are listed with the target (docs/CpuTarget.md,
    docs/GpuTarget.md). A kernel that has a schedule keeps it.

    ```mlir
    %y = tds.kernel "loop" (%x) : (tensor<1024xf32>) -> tensor<1024xf32> { … }
    ```
    becomes, for `target=sm_80`,
    ```mlir
    %y = tds.kernel "loop" (%x) {schedule = {block = array<i64: 256, 1, 1>, grid = array<i64: 1, 1, 1>, shared = 0 : i64, vector = 4 : i64}} : …
    ```
  }];
  let dependentDialects = ["::tdsl::tds::TDSDialect"];
  let options = [Option<"target", "target", "std::string", /*default=*/"\"x86-64-v3\"",
                        "a CPU level (x86-64-v2, -v3, -v4, native) or a GPU architecture (sm_80)">];
}

#endif // TDSL_PIPELINE_PASSES_TD
