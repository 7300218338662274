//===- Passes.td - passes that turn graph operations into kernels -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_FUSION_PASSES_TD
#define TDSL_FUSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def GeneralizePass : Pass<"tds-generalize", "::mlir::func::FuncOp"> {
  let summary = "Rewrite element operations and axis operations as index definitions";
  let description = [{
    Element operations, `tds.broadcast`, `tds.transpose` and `tds.reduce` become `tds.generic`. A splat constant that is read becomes a
    scalar of the reader's body. A `tds.contract` without a free axis on one side becomes a sum (it is bound by memory, and fuses as
    such). A `tds.scatter` whose loop indices are all indices of the result becomes a generic that selects. What is left are generics,
    contractions, scatters, reshapes (views) and constants.

    ```mlir
    %b = tds.broadcast %v axes [1] : tensor<10xf32> to tensor<4x10xf32>
    %r = tds.add %x, %b : tensor<4x10xf32>
    ```
    becomes, after `tds-inline-producers`,
    ```mlir
    %r = tds.generic (%i, %j) in (4, 10) : tensor<4x10xf32> {
      %a = tds.read %x[%i, %j] : tensor<4x10xf32>
      %b = tds.read %v[%j] : tensor<10xf32>
      %s = tds.add %a, %b : f32
      tds.yield %s : f32
    }
    ```
  }];
  let dependentDialects = ["::tdsl::tds::TDSDialect"];
  let options = [
    Option<"steps", "steps", "bool", /*default=*/"false", "Take attention apart into its steps, too">
  ];
  let statistics = [
    Statistic<"numGenerics", "generics", "Number of operations rewritten as tds.generic">,
    Statistic<"numScatters", "scatters", "Number of scatters rewritten as tds.generic">
  ];
}

def MoveReshapesPass : Pass<"tds-move-reshapes", "::mlir::func::FuncOp"> {
  let summary = "Move reshapes out of chains of element generics";
  let description = [{
    A generic that reads only at its own indices may run at any shape of as many elements. Where it reads a reshape of what another
    operation computes, it is moved to that operation's shape, and the reshape behind it. A read of a reshape that needs no division
    to undo (unit axes, split axes) reads the operand. A reshape that stays is a view of its operand's memory.
  }];
  let dependentDialects = ["::tdsl::tds::TDSDialect"];
  let statistics = [Statistic<"numMoved", "moved", "Number of generics moved across a reshape">];
}

def SplitStridesPass : Pass<"tds-split-strides", "::mlir::func::FuncOp"> {
  let summary = "Compute the adjoint of a strided window for each remainder by itself";
  let description = [{
    A sum whose terms stand under the condition that an index of the result and a summed one agree modulo a stride, as in the derivative of a
    strided convolution by its input and in a transposed convolution, becomes one sum for each remainder of the result's index. Each runs
    over the terms that exist, has no condition, and is a contraction over a window for `tds-recognise-contractions`. A generic brings
    their results together. Done where the cost model finds the smaller sums and their launches faster.

    ```mlir
    // sum over u < 3 of: if (i - u + 1) mod 2 = 0 then dy[(i - u + 1) floordiv 2] * w[u] else 0
    ```
    becomes `dy[i'] * w[1]` for i = 2 i', and the sum over u' < 2 of `dy[i' + 1 - u'] * w[2 u']` for i = 2 i' + 1.
  }];
  let dependentDialects = ["::tdsl::tds::TDSDialect"];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"host-cpu\"", "Name or file of the target description">
  ];
  let statistics = [Statistic<"numSplit", "split", "Number of sums split by their strides">];
}

def RecogniseAttentionPass : Pass<"tds-recognise-attention", "::mlir::func::FuncOp"> {
  let summary = "Rewrite softmax between two products as tds.attention";
  let description = [{
    Runs before `tds-differentiate`. A sum of products over an index j becomes a `tds.attention` where one factor is, as an expression of tensor
    elements, the softmax along j of scores, and these come from a sum of products of a factor that varies with j (the keys) and one that
    does not (the queries). It does not matter how the program is cut into definitions, nor how softmax is written: as a quotient, a product with the
    inverse, or the exponential of a logarithm; with a scale before or behind the maximum. Whatever is done to the scores in between (a scale, a
    mask, a bias) becomes the body of the operation. Queries, keys and values may be parts or transposes of tensors. Where the scores or weights are used
    elsewhere, too, they are in memory anyway, and nothing changes.

    A remark of the category `recognise` tells of each attention, and of each product with something like a softmax that is none: why.
  }];
  let dependentDialects = ["::tdsl::tds::TDSDialect"];
  let statistics = [Statistic<"numAttentions", "attentions", "Number of attentions recognised">];
}

def RecogniseContractionsPass : Pass<"tds-recognise-contractions", "::mlir::func::FuncOp"> {
  let summary = "Rewrite sums of products over shared indices as tds.contract";
  let description = [{
    A sum whose body is a product of two factors, each a function of tensors at loop indices, and where each factor has a parallel index
    that the other lacks, becomes a `tds.contract`. A factor that is more than a read becomes a generic of its own. Casts to the accumulator type are
    absorbed. Transposes in front of and behind a contraction become its axis lists.

    One factor may be a window: a read at sums of multiples of loop indices, as in a convolution and in its derivatives. The contraction reads it
    through an affine map. Where the window goes beyond the edges of the tensor (`padded`, `clamped`), a generic fills them first.

    Remarks of the category `recognise` say what a sum of products has become, or why it stays one (`--remarks-filter=recognise`).
  }];
  let dependentDialects = ["::tdsl::tds::TDSDialect"];
  let statistics = [Statistic<"numContractions", "contractions", "Number of contractions recognised">];
}

def SplitReductionsPass : Pass<"tds-split-reductions", "::mlir::func::FuncOp"> {
  let summary = "Split long reductions with few results in two stages";
  let description = [{
    A reduction with fewer results than it takes to fill a device is done in a fixed number of parts, and then over the parts, where the
    cost model finds two launches faster than one. The split depends on the extents and the target description only, so that the order of the
    terms is the same on every run.
  }];
  let dependentDialects = ["::tdsl::tds::TDSDialect"];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"host-cpu\"", "Name or file of the target description">
  ];
  let statistics = [Statistic<"numSplit", "split", "Number of reductions split">];
}

def InlineProducersPass : Pass<"tds-inline-producers", "::mlir::func::FuncOp"> {
  let summary = "Inline element generics into the bodies that read them";
  let description = [{
    A `tds.read` of a generic without a reduction is replaced by that generic's body at the read's indices, where this does not
    multiply work: the producer has one reader and is evaluated no more often than before, or it costs next to nothing. A producer that
    would be stored for readers at other indices (windows, paddings) is evaluated in each of them where the cost model finds that faster.
  }];
  let dependentDialects = ["::tdsl::tds::TDSDialect"];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"host-cpu\"", "Name or file of the target description">
  ];
  let statistics = [Statistic<"numInlined", "inlined", "Number of reads replaced by a body">];
}

def FormKernelsPass : Pass<"tds-form-kernels", "::mlir::func::FuncOp"> {
  let summary = "Group generics, contractions and scatters into kernels";
  let description = [{
    Greedy: each operation joins the kernel of one that it reads where the joined kernel is of a kind that `tds.kernel` allows
    and no cycle arises; then kernels of equal extents that share an input, or are small, are joined. A value that is read
    outside its kernel, but costs next to nothing to compute again from what is in memory anyway, is computed again. After the pass an entry holds
    nothing but kernels, reshapes, constants and its return. A remark of the category `fusion` says of each pair of kernels, one of which reads the
    other's result, why they are two.
  }];
  let dependentDialects = ["::tdsl::tds::TDSDialect"];
  let options = [
    Option<"fuse", "fuse", "bool", /*default=*/"true", "Join operations; otherwise each is a kernel of its own">,
    Option<"maxBuffers", "max-buffers", "unsigned", /*default=*/"64", "Most inputs and outputs of one kernel">,
    Option<"target", "target", "std::string", /*default=*/"\"host-cpu\"", "Name or file of the target description">
  ];
  let statistics = [
    Statistic<"numKernels", "kernels", "Number of kernels made">,
    Statistic<"numJoined", "joined", "Number of times that two kernels were joined">,
    Statistic<"numRecomputed", "recomputed", "Number of values computed again instead of stored">
  ];
}

def MergeKernelsPass : Pass<"tds-merge-kernels", "::mlir::func::FuncOp"> {
  let summary = "Run kernels side by side in one launch";
  let description = [{
    Kernels of which none needs another's result become the parts of a kernel of kind `parts`, where the cost model finds that faster and
    not more memory is needed than that is worth. See docs/Fusion.md.

    ```mlir
    %a = tds.kernel "loop"(%x) : (tensor<4xf32>) -> tensor<4xf32> { … }
    %b = tds.kernel "loop"(%y) : (tensor<9xf32>) -> tensor<9xf32> { … }
    ```
    becomes
    ```mlir
    %r:2 = tds.kernel "parts"(%x, %y) : (tensor<4xf32>, tensor<9xf32>) -> (tensor<4xf32>, tensor<9xf32>) {
    ^bb0(%p: tensor<4xf32>, %q: tensor<9xf32>):
      %a = tds.kernel "loop"(%p) : (tensor<4xf32>) -> tensor<4xf32> { … }
      %b = tds.kernel "loop"(%q) : (tensor<9xf32>) -> tensor<9xf32> { … }
      tds.yield %a, %b : tensor<4xf32>, tensor<9xf32>
    }
    ```
  }];
  let dependentDialects = ["::tdsl::tds::TDSDialect"];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"host-cpu\"", "Name or file of the target description">
  ];
  let statistics = [Statistic<"numMerged", "merged", "Number of times that two kernels became parts of one">];
}

#endif // TDSL_FUSION_PASSES_TD
