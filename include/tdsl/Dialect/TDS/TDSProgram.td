//===- TDSProgram.td - variables, gradients and kernels -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_DIALECT_TDS_TDSPROGRAM_TD
#define TDSL_DIALECT_TDS_TDSPROGRAM_TD

include "tdsl/Dialect/TDS/TDSStructure.td"
include "mlir/IR/SymbolInterfaces.td"

def TDS_VariableOp : TDS_Op<"variable", [Symbol]> {
  let summary = "a tensor that lives between calls of the entries";
  let description = [{
    The order of the variables in the module is the order in the manifest. The first value comes from the entry `init`.

    ```mlir
    tds.variable @"net.fc1.w" param : tensor<784x256xf32>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TDS_VariableRole:$role, TypeAttrOf<TDS_Tensor>:$type);
  let assemblyFormat = "$sym_name $role `:` $type attr-dict";
}

def TDS_GradientOp : TDS_Op<"gradient", [Pure]> {
  let summary = "derivatives of a scalar by tensors";
  let description = [{
    Result i is the derivative of `loss` by `wrt[i]`, along every path of the surrounding block from that value to the loss.
    The pass `tds-differentiate` expands it into operations. Gradients of gradients work: they are expanded in order.

    Constraints:
    1. (gradient_c1) the loss is a rank-0 float tensor.
    2. (gradient_c2) each result has the type of its `wrt`, a float tensor.

    ```mlir
    %dw, %db = tds.gradient %loss wrt %w, %b : tensor<f32> wrt tensor<4x8xf32>, tensor<8xf32>
    ```
  }];
  let arguments = (ins 0DTensorOf<[F16, BF16, F32, F64]>:$loss, Variadic<TDS_TensorOf<[F16, BF16, F32, F64]>>:$wrt);
  let results = (outs Variadic<TDS_TensorOf<[F16, BF16, F32, F64]>>:$gradients);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def TDS_IndependentOp : TDS_Op<"independent", [SameOperandsAndResultType]> {
  let summary = "a value that derivatives are taken by";
  let description = [{
    Its operand, as a value of its own: nothing is folded or merged through it, so that what depends on it keeps depending on it, and on nothing that
    only happens to be equal. `tds-inline-calls` puts one behind each value that a `tds.gradient` names, `tds-differentiate` removes them.

    ```mlir
    %x = tds.independent %c : tensor<4xf32>
    ```
  }];
  let arguments = (ins TDS_TensorOf<[F16, BF16, F32, F64]>:$operand);
  let results = (outs Res<TDS_TensorOf<[F16, BF16, F32, F64]>, "an identity", [MemAlloc]>:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

def TDS_KernelOp : TDS_Op<"kernel", [Pure, IsolatedFromAbove, SingleBlock]> {
  let summary = "operations that run as one kernel";
  let description = [{
    The block arguments are the operands, in order. The body is made of `tds.generic`, `tds.contract`, `tds.scatter`, `tds.attention`, `tds.attention_grad` and `tds.constant`, or of kernels; what it yields is written to memory,
    everything else stays in registers. What the kinds allow (kernel_c1):

    - `loop`: generics of one set of parallel extents. A tensor made in the kernel is read at the reader's own parallel indices. Generics with reduction extents
      are evaluated serially for each point.
    - `row`: the parallel extents of one generic with a reduction are the rows; the other generics are over the rows, or over the rows and then the
      reduction extents (same extents). A tensor made in the kernel is read at the reader's own indices.
    - `contract`: one `tds.contract`, and behind it generics over its result's extents that read it at their own indices. Generics before it, without a
      reduction and each over the extents of a factor, make its factors.
    - `scatter`: one `tds.scatter`.
    - `attention`, `attention_grad`: one `tds.attention` or one `tds.attention_grad`.
    - `parts`: kernels of the other kinds. Those without an attribute `stage` run side by side in one launch; those with `stage = n` are run by one block when all of
      the stages before have ended. A part's operands are the block's arguments and what parts of stages before make. Each result is yielded once.

    The attribute `schedule` is set by the schedule selection of a target, see docs/Passes.

    ```mlir
    %r = tds.kernel "loop" (%x) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>):
      %y = tds.generic (%i) in (4) : tensor<4xf32> {
        %e = tds.read %a[%i] : tensor<4xf32>
        %f = tds.exp %e : f32
        tds.yield %f : f32
      }
      tds.yield %y : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins StrAttr:$kind, Variadic<TDS_Tensor>:$inputs);
  let results = (outs Variadic<TDS_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$kind `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs) $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block *getBlock() { return &getBody().front(); }
    /// Holds kernels that run side by side.
    bool hasParts() { return getKind() == "parts"; }
    /// A kernel inside a kernel.
    bool isPart() { return ::llvm::isa<KernelOp>((*this)->getParentOp()); }
    /// Of a part: when it runs; parts of stage 0 run side by side.
    int64_t getStage() {
      auto stage = (*this)->getAttrOfType<::mlir::IntegerAttr>("stage");
      return stage ? stage.getInt() : 0;
    }
    /// Holds kernels of several stages.
    bool hasStages() {
      return hasParts() && ::llvm::any_of(getBlock()->getOps<KernelOp>(), [](KernelOp part) { return part.getStage() > 0; });
    }
    /// Of a kernel with parts: the part that makes output `output`, and which of its outputs that is.
    std::pair<KernelOp, unsigned> getPartOf(unsigned output);
  }];
}

def TDS_FoldOp : TDS_Op<"fold", [Pure, IsolatedFromAbove, SingleBlock, AttrSizedOperandSegments]> {
  let summary = "a loop at run time with carried values";
  let description = [{
    Runs the body `trips` times, for the iteration numbers 0, 1, … `trips` - 1, or with `reverse` from `trips` - 1 down to 0. The block arguments are the
    iteration number (a rank-0 `i32` tensor), the carried values, a slice of each operand in `slices`, and the operands in `invariants`. Slice t is what the
    operand holds at t on its axis 0. The body yields the next carried values and then the collected values. The results are
    the last carried values (the initial ones where `trips` is 0) and, for each collected value, the tensor that holds that of iteration t at t on a new axis 0.

    The body sees nothing but its arguments. Its size does not depend on `trips`: that is the difference to a loop that the front end unrolls.

    Constraints:
    1. (fold_c1) the block arguments are a `tensor<i32>` and then those that the operands ask for; axis 0 of a slice's operand is `trips`.
    2. (fold_c2) the yielded values have the types of the carried values and then those of the collected results without their axis 0, which is `trips`.
    3. (fold_c3) `trips` is at least 0 and below 2^31.

    ```mlir
    %h, %all = tds.fold 16 carry(%h0) slices(%x) invariants(%w)
        : (tensor<8xf32>, tensor<16x8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<16x8xf32>) {
    ^bb0(%t: tensor<i32>, %a: tensor<8xf32>, %xt: tensor<8xf32>, %b: tensor<8xf32>):
      %m = tds.mul %a, %b : tensor<8xf32>
      %n = tds.add %m, %xt : tensor<8xf32>
      tds.yield %n, %n : tensor<8xf32>, tensor<8xf32>
    }
    ```
  }];
  let arguments = (ins I64Attr:$trips, UnitAttr:$reverse, Variadic<TDS_Tensor>:$inits,
                       Variadic<TDS_Tensor>:$slices, Variadic<TDS_Tensor>:$invariants);
  let results = (outs Variadic<TDS_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $trips (`reverse` $reverse^)? `carry` `(` $inits `)` (`slices` `(` $slices^ `)`)? (`invariants` `(` $invariants^ `)`)?
    attr-dict `:` functional-type(operands, $outputs) $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
  let builders = [
    // An empty body with the arguments that the operands ask for. The caller adds the operations and the yield.
    OpBuilder<(ins "int64_t":$trips, "bool":$reverse, "::mlir::ValueRange":$inits, "::mlir::ValueRange":$slices,
      "::mlir::ValueRange":$invariants, "::mlir::TypeRange":$collected)>
  ];
  let extraClassDeclaration = [{
    ::mlir::Block *getBlock() { return &getBody().front(); }
    unsigned getNumCarried() { return getInits().size(); }
    unsigned getNumCollected() { return getNumResults() - getNumCarried(); }
    /// The iteration number, a rank-0 i32 tensor.
    ::mlir::BlockArgument getCounter() { return getBlock()->getArgument(0); }
    ::mlir::Block::BlockArgListType getCarried() {
      return getBlock()->getArguments().slice(1, getInits().size());
    }
    ::mlir::Block::BlockArgListType getSliceArguments() {
      return getBlock()->getArguments().slice(1 + getInits().size(), getSlices().size());
    }
    ::mlir::Block::BlockArgListType getInvariantArguments() {
      return getBlock()->getArguments().drop_front(1 + getInits().size() + getSlices().size());
    }
    ::mlir::OperandRange getYielded() { return getBlock()->getTerminator()->getOperands(); }
    ::mlir::OperandRange getYieldedCarried() { return getYielded().take_front(getNumCarried()); }
    ::mlir::OperandRange getYieldedCollected() { return getYielded().drop_front(getNumCarried()); }
    ::mlir::ResultRange getFinal() { return getResults().take_front(getNumCarried()); }
    ::mlir::ResultRange getCollected() { return getResults().drop_front(getNumCarried()); }
    /// The type of one iteration's part of a tensor over iterations, and the other way round.
    static ::mlir::RankedTensorType getSliceType(::mlir::Type type);
    ::mlir::RankedTensorType getStackedType(::mlir::Type type);
  }];
}

#endif // TDSL_DIALECT_TDS_TDSPROGRAM_TD
