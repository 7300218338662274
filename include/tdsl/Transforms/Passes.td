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

    A result with `tds.skipped` (see `tds-scale-losses`) is taken away. Where it is true, nothing that the backward pass and the update compute is
    reported.

    With `numerics` (`--check-numerics`), every input, variable and result of an operation that holds floats gets a flag too, set where an element is a NaN or an
    infinity, in the order of the program: the first flag that is set names the operation that made the first of them, its line, and whether it
    belongs to the forward pass, the backward pass or the update (see `tds-mark-phases`). Results that come from an infinity that the program itself writes, such as the guard of a mask,
    are checked for NaN alone.

    Run it when all derivatives are expanded and all calls inlined; one that is left is an error. Entries without such gathers stay as they are.

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
    A `tds.fold` that carries nothing, or only sums without an order (`tds.any_order`, what a reduction over several tensors adds), and whose body holds element operations, index definitions, reductions and changes of shape only, becomes these operations on
    tensors with the iteration as axis 0. Such a sum is the sum over that axis. A fold with anything else in it, such as a contraction, stays a loop and gets the remark `batch`. Those of `checkpoint` stay, too.
    It reports no errors.

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

def RollLayersPass : Pass<"tds-roll-layers", "::mlir::ModuleOp"> {
  let summary = "Make equal layers one loop";
  let description = [{
    The variables of equal layers (`net.blocks.0.w`, `net.blocks.1.w`, …) become one variable `net.blocks.*.w` with the layer as axis 0 and the attribute `tds.layers`. What an entry does
    for one layer after the other becomes a `tds.fold` that gets the layers' variables as slices: calls of layers, updates by optimisers, initial values. Derivatives by the variables
    are derivatives by the new ones. Random numbers of a layer are drawn at the site of the first one, at iteration `layer`. The size of the code does not depend on the number of layers then.

    It runs on what the front end emits. A group of variables stays as it is where an entry uses one of them on its own, changes them otherwise than in a loop, or where what
    it does differs between layers. `min-layers` below 2 is an error.

    ```mlir
    tds.variable @net.blocks.0.w param : tensor<4xf32>
    tds.variable @net.blocks.1.w param : tensor<4xf32>
    func.func @f(%x: tensor<4xf32>, %w0: tensor<4xf32> {tds.variable = @net.blocks.0.w}, %w1: tensor<4xf32> {tds.variable = @net.blocks.1.w}) -> tensor<4xf32> {
      %a = tds.mul %x, %w0 : tensor<4xf32>
      %b = tds.mul %a, %w1 : tensor<4xf32>
      return %b : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    tds.variable @"net.blocks.*.w" param : tensor<2x4xf32> {tds.layers}
    func.func @f(%x: tensor<4xf32>, %w: tensor<2x4xf32> {tds.variable = @"net.blocks.*.w"}) -> tensor<4xf32> {
      %b = tds.fold 2 carry(%x) slices(%w) : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<4xf32> {
      ^bb0(%t: tensor<i32>, %h: tensor<4xf32>, %v: tensor<4xf32>):
        %a = tds.mul %h, %v : tensor<4xf32>
        tds.yield %a : tensor<4xf32>
      }
      return %b : tensor<4xf32>
    }
    ```
  }];
  let dependentDialects = ["::tdsl::tds::TDSDialect", "::mlir::func::FuncDialect"];
  let options = [
    Option<"minLayers", "min-layers", "int64_t", "8", "The fewest layers that become a loop">,
    Option<"minOps", "min-ops", "int64_t", "0", "The fewest operations, in the layers of an entry, that become loops">
  ];
  let statistics = [
    Statistic<"numVariables", "variables", "Number of variables that hold those of several layers">,
    Statistic<"numLoops", "loops", "Number of loops made of unrolled ones">
  ];
}

def AccumulatePass : Pass<"tds-accumulate", "::mlir::ModuleOp"> {
  let summary = "Take the gradients of a step from parts of its batch";
  let description = [{
    Run when calls are inlined and before derivatives are expanded (`--accum=`). A step with the attribute `micro` names a private function that is the same step
    for fewer rows, and with `last` one for the rows that are left behind the last whole micro-batch. Their operations correspond to those of the step one to one.

    What depends on the rows, and is needed for a loss or does not depend on a gradient of the batch, becomes the body of a `tds.fold` over the micro-batches, and is
    computed once more for the rows that are left. What the step computes from such gradients, or reads from variables that each micro-batch writes, stays as it is and happens once.

    - A gradient, and any other float of the whole batch that leaves the loop, is the mean over the micro-batches, weighted by their rows. The sum is carried in f32 at least.
    - Results with the rows on axis 0 are put one behind the other. Gradients of each row are those of the whole loss: that of a mean is divided by the rows of the batch.
    - A variable whose new value depends on the rows and on no gradient is carried: each micro-batch begins with what the one before left.
    - A condition (`tds.check`), and whether all elements are true, has to hold for each.
    - A random number is the one that its row has in the whole batch.

    Errors: operations that do not correspond, a value of the whole batch that is no float, an update that reads a value of each row, a loss that reads what the step makes of an
    earlier gradient, a gradient of each row of a loss that adds sums to means, and variables whose shape depends on the batch.

    ```mlir
    %g = tds.gradient %loss wrt %w : tensor<f32> wrt tensor<4xf32>
    ```

    becomes, for 6 rows in parts of 2,

    ```mlir
    %sum = tds.fold 3 carry(%zero) slices(%parts) invariants(%w) : (tensor<4xf32>, tensor<3x2x4xf32>, tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%t: tensor<i32>, %before: tensor<4xf32>, %x: tensor<2x4xf32>, %v: tensor<4xf32>):
      %b = tds.broadcast %v axes [1] : tensor<4xf32> to tensor<2x4xf32>
      %p = tds.mul %x, %b : tensor<2x4xf32>
      %part = tds.reduce sum %p axes [0, 1] : tensor<2x4xf32> to tensor<f32>
      %h = tds.gradient %part wrt %v : tensor<f32> wrt tensor<4xf32>
      %next = tds.add %before, %h : tensor<4xf32>
      tds.yield %next : tensor<4xf32>
    }
    %g = tds.mul %sum, %third : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::tdsl::tds::TDSDialect", "::mlir::func::FuncDialect"];
  let statistics = [
    Statistic<"numSteps", "steps", "Number of steps that are split">
  ];
}

def RecomputeSegmentsPass : Pass<"tds-recompute-segments", "::mlir::ModuleOp"> {
  let summary = "Keep less of a forward pass by computing it again";
  let description = [{
    Run when calls are inlined and before derivatives are expanded (`--memory-budget=`). Cuts the forward pass of each step, in a loop over parts of the batch too, into
    segments such that what crosses from one to the next, and what the derivative of the largest needs besides, is least; loops in it are cut within an
    iteration. The first `count` of them by bytes that need not be kept for each operation
    that is computed again become folds with `tds.checkpoint`, as `checkpoint` in the language does: the derivative computes them again from
    what goes in. Up to `join` chosen neighbours become one: less is kept, and more computed at a time. What a step ends its forward pass with is no
    segment, since the backward pass begins there.

    A loop whose iterations keep little beside what they carry becomes two, one in the other, where that keeps less: the outer one keeps what it carries, and the
    derivative runs the inner one again.

    A step gets the attribute `segments`, how many it has. A negative `count`, or `join` below 1, is an error.

    ```mlir
    %h = tds.contract %x[0, 1], %w[1, 2] to [0, 2] : tensor<4x8xf32>, tensor<8x8xf32> to tensor<4x8xf32>
    %y = tds.tanh %h : tensor<4x8xf32>
    ```

    becomes

    ```mlir
    %z = tds.fold 1 carry() invariants(%x, %w) {tds.checkpoint} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32> {
    ^bb0(%t: tensor<i32>, %a: tensor<4x8xf32>, %v: tensor<8x8xf32>):
      %h = tds.contract %a[0, 1], %v[1, 2] to [0, 2] : tensor<4x8xf32>, tensor<8x8xf32> to tensor<4x8xf32>
      %u = tds.tanh %h : tensor<4x8xf32>
      tds.yield %u : tensor<4x8xf32>
    }
    %y = tds.reshape %z : tensor<1x4x8xf32> to tensor<4x8xf32>
    ```
  }];
  let dependentDialects = ["::tdsl::tds::TDSDialect", "::mlir::func::FuncDialect"];
  let options = [
    Option<"count", "count", "int64_t", "0", "How many segments are computed again">,
    Option<"join", "join", "int64_t", "1", "How many neighbours are one">
  ];
  let statistics = [
    Statistic<"numSegments", "segments", "Number of parts that are computed again">
  ];
}

def ScaleLossesPass : Pass<"tds-scale-losses", "::mlir::ModuleOp"> {
  let summary = "Scale losses so that gradients in f16 do not underflow";
  let description = [{
    Run when calls are inlined and before derivatives are expanded (`--amp=f16`). In each step with a `tds.gradient` the loss is multiplied with a scale, and
    each gradient with its inverse. The scale is a power of two, so both are exact but where a number leaves the range of its type.

    The step gets three variables of role `optimizer`: `amp.STEP.scale` (f32), `amp.STEP.good` and `amp.STEP.skipped` (i64), and the results `amp_scale`
    and `amp_skipped`, their values after the step. Where an element of a gradient is a NaN or an infinity the step is skipped: all variables
    keep their old bits, but for counters; the scale is halved, not below `smallest-scale`, and `skipped` counts. After `growth-interval` steps in
    a row without that the scale doubles, up to `largest-scale`.

    With `check-numerics` a result with `tds.skipped` says for `tds-guard-gathers` whether the call is one that a smaller scale may mend.

    Gradients in the bodies of folds, and of entries that are no step, stay as they are. A step with a result of one of the two names is an error, as are
    scales that are no powers of two or that do not lie in their order.

    ```mlir
    %g = tds.gradient %loss wrt %w : tensor<f32> wrt tensor<4xf32>
    ```

    becomes

    ```mlir
    %inverse = tds.div %one, %scale : tensor<f32>
    %scaled = tds.mul %loss, %scale : tensor<f32>
    %h = tds.gradient %scaled wrt %w : tensor<f32> wrt tensor<4xf32>
    %i = tds.broadcast %inverse axes [] : tensor<f32> to tensor<4xf32>
    %g = tds.mul %h, %i : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::tdsl::tds::TDSDialect", "::mlir::func::FuncDialect"];
  let options = [
    Option<"checkNumerics", "check-numerics", "bool", "false", "Say which calls are skipped and may be mended">,
    Option<"initialScale", "initial-scale", "double", "65536", "The scale at the first step">,
    Option<"growthInterval", "growth-interval", "int64_t", "2000", "Steps without an overflow after which the scale doubles">,
    Option<"smallestScale", "smallest-scale", "double", "1", "The scale is not halved below">,
    Option<"largestScale", "largest-scale", "double", "16777216", "The scale is not doubled above">
  ];
  let statistics = [
    Statistic<"numGradients", "gradients", "Number of gradients that are scaled">
  ];
}

def MixedPrecisionPass : Pass<"tds-mixed-precision", "::mlir::ModuleOp"> {
  let summary = "Contractions on 16-bit floats with f32 accumulators";
  let description = [{
    Run when derivatives are expanded (`--amp=`). Rounds values of f32 to 16 bits, in entries that are no `init`:

    - **Operands of contractions**: of `tds.contract`, and the two factors of a `tds.generic` that sums products of which each factor has a loop
      index of its own and each summed index is in both (convolutions and their derivatives). What is multiplied is exact in f32, and the sum is f32.
      `tds.attention` and `tds.attention_grad` get `narrow_factors`: what they compute of queries and keys and multiply is rounded, too.
    - **Stored values**, for all that read them: what a contraction reads; the result of a contraction behind the element operations that it is alone
      in, as a bias or a residual; and what is read by several operations of which one reads it across (a sum over leading axes, a window).

    Everything is computed in f32 as before. Rounded is `cast(cast(x))`, which fusion makes a 16-bit tensor in memory.

    In f16 no value of the forward pass is stored so that an exponential, a logarithm, a power or square, a reciprocal, or a sum or product over axes gives, or that
    element operations make of one; a mean counts as its terms do, and what is divided by a statistic as itself.

    Never rounded are variables, results of the entry, what belongs to the update of the variables (marked by `tds-mark-phases`), gradients that the
    update reads, what a loop carries, what it collects for others than loops, and floats of other types. A value that only puts elements of another one in other
    places is rounded where that is, so that a weight is rounded once, whether it is read transposed or not; what a loop does not change is rounded before it,
    and so are the slices that several loops round. The rounded form of a carried value is carried beside it.

    The marks are taken away, unless `keep-phases` says that another pass needs them.

    ```mlir
    %y = tds.contract %x[0, 1], %w[1, 2] to [0, 2] : tensor<4x8xf32>, tensor<8x2xf32> to tensor<4x2xf32>
    ```

    becomes

    ```mlir
    %a = tds.cast %x : tensor<4x8xf32> to tensor<4x8xbf16>
    %b = tds.cast %w : tensor<8x2xf32> to tensor<8x2xbf16>
    %y = tds.contract %a[0, 1], %b[1, 2] to [0, 2] : tensor<4x8xbf16>, tensor<8x2xbf16> to tensor<4x2xf32>
    ```
  }];
  let dependentDialects = ["::tdsl::tds::TDSDialect", "::mlir::func::FuncDialect"];
  let options = [
    Option<"type", "type", "std::string", "\"bf16\"", "bf16 or f16">,
    Option<"keepPhases", "keep-phases", "bool", "false", "Leave the marks of tds-mark-phases">
  ];
  let statistics = [
    Statistic<"numContractions", "contractions", "Number of contractions on 16-bit operands">,
    Statistic<"numRounded", "rounded", "Number of values that are stored in 16 bits for all readers">,
    Statistic<"numCasts", "casts", "Number of other values that are rounded for contractions">
  ];
}

def MarkPhasesPass : Pass<"tds-mark-phases", "::mlir::ModuleOp"> {
  let summary = "Mark what belongs to the forward pass and what to the update";
  let description = [{
    Run before derivatives are expanded. Gives the operations of entries a discardable attribute `phase`: `"update"` where they use a
    `tds.gradient`, at any distance, and otherwise `"forward"`. What the expansion adds has none: that is the backward pass.
    `tds-guard-gathers` with `numerics` and `tds-mixed-precision` read and remove the marks. With `updates-only` the forward pass has none: equal operations
    of it and of the backward pass can then be merged. Entries of kind `init`, and functions that are the derivative of another one, get none. It reports no
    errors.

    ```mlir
    %p = tds.mul %x, %w : tensor<4xf32>
    %l = tds.reduce sum %p axes [0] : tensor<4xf32> to tensor<f32>
    %g = tds.gradient %l wrt %w : tensor<f32> wrt tensor<4xf32>
    %n = tds.sub %w, %g : tensor<4xf32>
    ```
    becomes
    ```mlir
    %p = tds.mul %x, %w {phase = "forward"} : tensor<4xf32>
    %l = tds.reduce sum %p axes [0] {phase = "forward"} : tensor<4xf32> to tensor<f32>
    %g = tds.gradient %l wrt %w : tensor<f32> wrt tensor<4xf32>
    %n = tds.sub %w, %g {phase = "update"} : tensor<4xf32>
    ```
  }];
  let options = [
    Option<"updatesOnly", "updates-only", "bool", "false", "Mark what belongs to the update only">
  ];
  let statistics = [
    Statistic<"numForward", "forward", "Number of operations marked as the forward pass">,
    Statistic<"numUpdate", "update", "Number of operations marked as the update">
  ];
}

def RelaxMathPass : Pass<"tds-relax-math", "::mlir::func::FuncOp"> {
  let summary = "Rewrite float arithmetic as the names of --fast-math allow";
  let description = [{
    Element operations of tensors and of bodies are rewritten in ways that change bits of results. Each option allows its own:

    - `signed-zeros`, the sign of a zero does not matter: x + 0 is x, 0 - x is -x;
    - `finite`, no value is a NaN or an infinity: x - x is 0, x / x is 1, `isnan` is false, x == x is true. With `signed-zeros` x * 0 and 0 / x are
      0, and the products of derivatives need no guard (`if dy == 0 then 0 else dy * f` is dy * f);
    - `reciprocal`, a quotient may be a product: x / c is x * (1 / c), and x / broadcast(y) divides once for each element of y;
    - `reassociate`, sums and products in any order: (x + a) + b with constants is x + (a + b). Contractions are the work of
      `tds-reorder-products`.

    Without an option nothing changes. It reports no errors.

    ```mlir
    %c = tds.constant dense<3.0> : tensor<4xf32>
    %q = tds.div %x, %c : tensor<4xf32>
    ```
    becomes, with `reciprocal`,
    ```mlir
    %c = tds.constant dense<0.333333343> : tensor<4xf32>
    %q = tds.mul %x, %c : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::tdsl::tds::TDSDialect"];
  let options = [
    Option<"signedZeros", "signed-zeros", "bool", "false", "The sign of a zero does not matter">,
    Option<"finite", "finite", "bool", "false", "No value is a NaN or an infinity">,
    Option<"reciprocal", "reciprocal", "bool", "false", "A quotient may be a product with the reciprocal">,
    Option<"reassociate", "reassociate", "bool", "false", "Sums and products in any order">
  ];
  let statistics = [Statistic<"numRewritten", "rewritten", "Number of operations rewritten">];
}

def ReorderProductsPass : Pass<"tds-reorder-products", "::mlir::func::FuncOp"> {
  let summary = "Multiply chains of contractions in the order of the least work";
  let description = [{
    Contractions whose results are operands of one other contraction, directly or transposed, are one sum of products of several tensors. Of all
    orders of pairs (up to eight tensors) the one with the fewest multiplications is taken, where it has fewer than the order of the program.
    Integers wrap in the type of the result, so that every order gives the same bits; for them the pass always runs. Floats need `floats`
    (`--fast-math=reassociate`); without it a remark says what would be saved. It reports no errors.

    ```mlir
    %p = tds.contract %a[0, 2], %b[2, 1] to [0, 1] : tensor<512x512xi32>, tensor<512x512xi32> to tensor<512x512xi32>
    %q = tds.contract %p[0, 1], %v[1] to [0] : tensor<512x512xi32>, tensor<512xi32> to tensor<512xi32>
    ```
    becomes
    ```mlir
    %p = tds.contract %b[2, 1], %v[1] to [2] : tensor<512x512xi32>, tensor<512xi32> to tensor<512xi32>
    %q = tds.contract %a[0, 2], %p[2] to [0] : tensor<512x512xi32>, tensor<512xi32> to tensor<512xi32>
    ```
  }];
  let dependentDialects = ["::tdsl::tds::TDSDialect"];
  let options = [Option<"floats", "floats", "bool", "false", "Floats, too">];
  let statistics = [Statistic<"numReordered", "reordered", "Number of products taken in another order">];
}

#endif // TDSL_TRANSFORMS_PASSES_TD
