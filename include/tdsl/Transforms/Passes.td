//===- Passes.td - passes between derivatives and fusion -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TRANSFORMS_PASSES_TD
#define TDSL_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def GuardGathersPass : Pass<"tds-guard-gathers", "::mlir::ModuleOp"> {
  let summary = "Report gathers that read out of range and assertions that fail";
  let description = [{
    A gather (a guarded `tds.read` with an index that comes from data) gives its guard where an index is out of range. This pass makes that
    visible: every gather of an entry that is not provably in range gets a flag, an `i32` that is 1 if any of its indices is out of range, computed
    by a `tds.generic` over the loop indices that these depend on. Gathers with the same indices share a flag.

    The flags become the last result of the entry, `tds.result = "tds.flags"`, and its attribute `tds.flags` says for each what it means and where
    in the source its gather is. In a step, every variable keeps its old value if any flag is set, so that a failed step changes nothing. Entries
    of kind `init` stay as they are. To leave the checks out (`--unchecked`), do not run the pass.

    A result with `tds.check = {text, source}` is a rank-0 truth value that must hold (an `assert` of the source, under `--checked`). It becomes a
    flag as well, and is no result any more.

    With `numerics` (`--check-numerics`), every input, variable and result of an operation that holds floats gets a flag too, set where an element is a NaN or an
    infinity, in the order of the program: the first flag that is set names the operation that made the first of them, its line, and whether it
    belongs to the forward pass, the backward pass or the update (see `tds-mark-phases`). Results that come from an infinity that the program itself writes, such as the guard of a mask,
    are checked for NaN alone.

    Run it when all derivatives are expanded and all calls inlined. Entries without such gathers stay as they are.

    ```mlir
    %e = tds.generic (%i, %k) in (4, 8) : tensor<4x8xf32> {
      %id = tds.read %ids[%i] : tensor<4xi32>
      %at = tds.cast %id : i32 to index
      %v = tds.read %table[%at, %k] guard 0.0 : f32 : tensor<256x8xf32>
      tds.yield %v : f32
    }
    ```

    is followed by

    ```mlir
    %flag = tds.generic () in () max (%i) in (4) : tensor<i32> {
      %id = tds.read %ids[%i] : tensor<4xi32>
      %at = tds.cast %id : i32 to index
      %zero = tds.constant 0 : index
      %below = tds.compare lt %at, %zero : index
      %extent = tds.constant 256 : index
      %above = tds.compare ge %at, %extent : index
      %outside = tds.or %below, %above : i1
      %value = tds.cast %outside : i1 to i32
      tds.yield %value : i32
    }
    ```
  }];
  let dependentDialects = ["::tdsl::tds::TDSDialect", "::mlir::func::FuncDialect"];
  let options = [
    Option<"gathers", "gathers", "bool", "true", "Check that gathers stay in range">,
    Option<"numerics", "numerics", "bool", "false", "Check every value for NaN and infinity">
  ];
  let statistics = [
    Statistic<"numFlags", "flags", "Number of flags created">,
    Statistic<"numShared", "shared", "Number of gathers that share the flag of another">
  ];
}

def BatchFoldsPass : Pass<"tds-batch-folds", "::mlir::func::FuncOp"> {
  let summary = "Turn loops without order into operations with one more axis";
  let description = [{
    A `tds.fold` that carries nothing, and whose body holds element operations, index definitions, reductions and changes of shape only, becomes these operations on
    tensors with the iteration as axis 0. A fold with anything else in it, such as a contraction, stays a loop and gets the remark `batch`. Those of `checkpoint` stay, too.

    ```mlir
    %y = tds.fold 3 carry() slices(%x) : (tensor<3x4xf32>) -> tensor<3x4xf32> {
    ^bb0(%t: tensor<i32>, %a: tensor<4xf32>):
      %b = tds.exp %a : tensor<4xf32>
      tds.yield %b : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    %y = tds.exp %x : tensor<3x4xf32>
    ```
  }];
  let dependentDialects = ["::tdsl::tds::TDSDialect"];
  let statistics = [
    Statistic<"numBatched", "batched", "Number of loops that became operations">
  ];
}

def MarkPhasesPass : Pass<"tds-mark-phases", "::mlir::ModuleOp"> {
  let summary = "Mark what belongs to the forward pass and what to the update";
  let description = [{
    Run before derivatives are expanded. Gives the operations of entries a discardable attribute `phase`: `"update"` where they use a
    `tds.gradient`, at any distance, and otherwise `"forward"`. What the expansion adds has none: that is the backward pass.
    `tds-guard-gathers` with `numerics` reads and removes the marks.
  }];
}

#endif // TDSL_TRANSFORMS_PASSES_TD
