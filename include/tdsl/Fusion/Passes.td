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
    contractions, scatters, reshapes (views) and constants. In an entry, a derivative that is to be taken and a call are errors, here and in all passes that follow.

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

    ```mlir
    %s = tds.reshape %c : tensor<8x16xf32> to tensor<8x4x4xf32>
    %r = tds.generic (%i, %j, %k) in (8, 4, 4) : tensor<8x4x4xf32> {
      %v = tds.read %s[%i, %j, %k] : tensor<8x4x4xf32>
      %e = tds.exp %v : f32
      tds.yield %e : f32
    }
    ```
    becomes, where `%c` is computed,
    ```mlir
    %s = tds.generic (%i, %j) in (8, 16) : tensor<8x16xf32> {
      %v = tds.read %c[%i, %j] : tensor<8x16xf32>
      %e = tds.exp %v : f32
      tds.yield %e : f32
    }
    %r = tds.reshape %s : tensor<8x16xf32> to tensor<8x4x4xf32>
    ```
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
    %dx = tds.generic (%n, %i) in (64, 128) sum (%c, %u) in (512, 3) : tensor<64x128xf32> {
      %zero = tds.constant 0.0 : f32
      %none = tds.constant 0 : index
      %h = tds.apply affine_map<(i, u) -> ((i - u + 1) floordiv 2)> (%i, %u)
      %f = tds.read %w[%c, %u] : tensor<512x3xf32>
      %g = tds.read %dy[%n, %c, %h] guard 0.0 : f32 : tensor<64x512x64xf32>
      %p = tds.mul %g, %f : f32
      %m = tds.apply affine_map<(i, u) -> ((i - u + 1) mod 2)> (%i, %u)
      %x = tds.compare eq %m, %none : index
      %t = tds.select %x, %p, %zero : i1, f32
      tds.yield %t : f32
    }
    ```
    becomes a sum for the even i, in which only u = 1 counts, and one for the odd i, in which u = 0 and u = 2 do,
    ```mlir
    %even = tds.generic (%n, %i) in (64, 64) sum (%c) in (512) : tensor<64x64xf32> {
      %u = tds.constant 1 : index
      %f = tds.read %w[%c, %u] : tensor<512x3xf32>
      %g = tds.read %dy[%n, %c, %i] guard 0.0 : f32 : tensor<64x512x64xf32>
      %p = tds.mul %g, %f : f32
      tds.yield %p : f32
    }
    %odd = tds.generic (%n, %i) in (64, 64) sum (%c, %v) in (512, 2) : tensor<64x64xf32> {
      %u = tds.apply affine_map<(v) -> (v * 2)> (%v)
      %h = tds.apply affine_map<(i, v) -> (i - v + 1)> (%i, %v)
      %f = tds.read %w[%c, %u] : tensor<512x3xf32>
      %g = tds.read %dy[%n, %c, %h] guard 0.0 : f32 : tensor<64x512x64xf32>
      %p = tds.mul %g, %f : f32
      tds.yield %p : f32
    }
    ```
    and a generic that takes its elements from the one or the other.

    Where a window is no longer than the stride there is one term at most, at the remainder of the result's index, and no sum: the derivative of pooling reads
    `dy[i floordiv 2]`.
  }];
  let dependentDialects = ["::tdsl::tds::TDSDialect"];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"host-cpu\"", "Name or file of the target description">
  ];
  let statistics = [
    Statistic<"numSplit", "split", "Number of sums split by their strides">,
    Statistic<"numSingle", "single", "Number of sums of which one term at most is not 0">
  ];
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

    A remark of the category `recognise` tells of each attention, and of each product with something like a softmax that is none: why. A function whose kernels are
    made already is an error.

    ```mlir
    %s = tds.contract %q[0, 2], %k[1, 2] to [0, 1] : tensor<8x4xf32>, tensor<6x4xf32> to tensor<8x6xf32>
    %m = tds.reduce max %s axes [1] : tensor<8x6xf32> to tensor<8xf32>
    %b = tds.broadcast %m axes [0] : tensor<8xf32> to tensor<8x6xf32>
    %d = tds.sub %s, %b : tensor<8x6xf32>
    %e = tds.exp %d : tensor<8x6xf32>
    %z = tds.reduce sum %e axes [1] : tensor<8x6xf32> to tensor<8xf32>
    %c = tds.broadcast %z axes [0] : tensor<8xf32> to tensor<8x6xf32>
    %w = tds.div %e, %c : tensor<8x6xf32>
    %o = tds.contract %w[0, 2], %v[2, 1] to [0, 1] : tensor<8x6xf32>, tensor<6x4xf32> to tensor<8x4xf32>
    ```
    becomes
    ```mlir
    %o, %m, %z = tds.attention %q, %k, %v {extents = array<i64: 8, 6, 4, 4>, query_map = #map, key_map = #map, value_map = #map, result_map = #map}
        : (tensor<8x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>) -> (tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>) score {
    ^bb0(%i: index, %j: index, %score: f32):
      tds.yield %score : f32
    }
    ```
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

    ```mlir
    %r = tds.generic (%i, %j) in (4, 3) sum (%k) in (8) : tensor<4x3xf32> {
      %x = tds.read %a[%i, %k] : tensor<4x8xf32>
      %y = tds.read %b[%k, %j] : tensor<8x3xf32>
      %p = tds.mul %x, %y : f32
      tds.yield %p : f32
    }
    ```
    becomes
    ```mlir
    %r = tds.contract %a[0, 2], %b[2, 1] to [0, 1] : tensor<4x8xf32>, tensor<8x3xf32> to tensor<4x3xf32>
    ```
  }];
  let dependentDialects = ["::tdsl::tds::TDSDialect"];
  let statistics = [Statistic<"numContractions", "contractions", "Number of contractions recognised">];
}

def LayOutConstantsPass : Pass<"tds-lay-out-constants", "::mlir::func::FuncOp"> {
  let summary = "Lay constant factors of matrix products out as kernels read them";
  let description = [{
    A constant that contractions multiply with is stored in the order in which a kernel walks it: the axes of the batch; then its own axes and the summed ones
    where its own are rows of the result, so that a row is read in place; or the summed ones and its own where those are columns, so that a panel is a straight
    copy. What is transposed at compile time is not transposed in each call. Terms are added in the same order.

    A constant that is also read by others, or in two orders, stays, and so do windows and one that is the same all over. It reports no errors.

    ```mlir
    %w = tds.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
    %y = tds.contract %x[0, 1], %w[2, 1] to [0, 2] : tensor<8x3xf32>, tensor<2x3xf32> to tensor<8x2xf32>
    ```
    becomes
    ```mlir
    %w = tds.constant dense<[[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]> : tensor<3x2xf32>
    %y = tds.contract %x[0, 1], %w[1, 2] to [0, 2] : tensor<8x3xf32>, tensor<3x2xf32> to tensor<8x2xf32>
    ```
  }];
  let dependentDialects = ["::tdsl::tds::TDSDialect"];
  let statistics = [Statistic<"numConstants", "constants", "Number of constants laid out anew">];
}

def SplitReductionsPass : Pass<"tds-split-reductions", "::mlir::func::FuncOp"> {
  let summary = "Split long reductions with few results in two stages";
  let description = [{
    A reduction with fewer results than it takes to fill a device is done in a fixed number of parts, and then over the parts, where the
    cost model finds two launches faster than one. The split depends on the extents and the target description only, so that the order of the
    terms is the same on every run.

    ```mlir
    %s = tds.generic (%j) in (10) sum (%i) in (60000) : tensor<10xf32> {
      %e = tds.read %x[%i, %j] : tensor<60000x10xf32>
      tds.yield %e : f32
    }
    ```
    becomes
    ```mlir
    %p = tds.generic (%n, %j) in (800, 10) sum (%k) in (75) : tensor<800x10xf32> {
      %i = tds.apply affine_map<(n, k) -> (n * 75 + k)> (%n, %k)
      %e = tds.read %x[%i, %j] : tensor<60000x10xf32>
      tds.yield %e : f32
    }
    %s = tds.generic (%j) in (10) sum (%n) in (800) : tensor<10xf32> {
      %e = tds.read %p[%n, %j] : tensor<800x10xf32>
      tds.yield %e : f32
    }
    ```
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

    ```mlir
    %t = tds.generic (%i, %j) in (4, 8) : tensor<4x8xf32> {
      %e = tds.read %x[%j, %i] : tensor<8x4xf32>
      tds.yield %e : f32
    }
    %r = tds.generic (%i, %j) in (4, 8) : tensor<4x8xf32> {
      %e = tds.read %t[%i, %j] : tensor<4x8xf32>
      %f = tds.exp %e : f32
      tds.yield %f : f32
    }
    ```
    becomes
    ```mlir
    %r = tds.generic (%i, %j) in (4, 8) : tensor<4x8xf32> {
      %e = tds.read %x[%j, %i] : tensor<8x4xf32>
      %f = tds.exp %e : f32
      tds.yield %f : f32
    }
    ```
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
    nothing but kernels, reshapes, constants and its return; an operation that no kernel holds is an error. A remark of the category `fusion` says of each pair of
    kernels, one of which reads the other's result, why they are two.

    ```mlir
    %a = tds.generic (%i, %j) in (8, 4) : tensor<8x4xf32> {
      %e = tds.read %x[%i, %j] : tensor<8x4xf32>
      %f = tds.exp %e : f32
      tds.yield %f : f32
    }
    %s = tds.generic (%i) in (8) sum (%j) in (4) : tensor<8xf32> {
      %e = tds.read %a[%i, %j] : tensor<8x4xf32>
      tds.yield %e : f32
    }
    ```
    becomes
    ```mlir
    %s = tds.kernel "row"(%x) : (tensor<8x4xf32>) -> tensor<8xf32> {
    ^bb0(%p: tensor<8x4xf32>):
      %q = tds.generic (%i) in (8) sum (%j) in (4) : tensor<8xf32> {
        %e = tds.read %p[%i, %j] : tensor<8x4xf32>
        %f = tds.exp %e : f32
        tds.yield %f : f32
      }
      tds.yield %q : tensor<8xf32>
    }
    ```
  }];
  let dependentDialects = ["::tdsl::tds::TDSDialect"];
  let options = [
    Option<"fuse", "fuse", "bool", /*default=*/"true", "Join operations; otherwise each is a kernel of its own">,
    Option<"maxBuffers", "max-buffers", "unsigned", /*default=*/"64", "Most inputs and outputs of one kernel">,
    Option<"saveMemory", "save-memory", "bool", /*default=*/"false", "Store the result of a contraction where it would wait for others and keep larger operands">,
    Option<"target", "target", "std::string", /*default=*/"\"host-cpu\"", "Name or file of the target description">
  ];
  let statistics = [
    Statistic<"numKernels", "kernels", "Number of kernels made">,
    Statistic<"numJoined", "joined", "Number of times that two kernels were joined">,
    Statistic<"numRecomputed", "recomputed", "Number of values computed again instead of stored">
  ];
}

def FuseProloguesPass : Pass<"tds-fuse-prologues", "::mlir::func::FuncOp"> {
  let summary = "Compute a factor where the contraction loads it";
  let description = [{
    What a kernel of kind `loop` makes for factors of contractions and for nothing else (a conversion, a scale, a gather, the edges of a window) is computed as
    the tiles of the factor are loaded, in each of the contractions, where the cost model finds that faster than storing it and where it moves fewer bytes. Where
    the factor is a reshape of what is made, it is made in that shape. A target without such tiles (a CPU) keeps the kernel.

    ```mlir
    %f = tds.kernel "loop"(%x) : (tensor<64x784xui8>) -> tensor<64x784xf32> { … }
    %y = tds.kernel "contract"(%f, %w) : (tensor<64x784xf32>, tensor<784x256xf32>) -> tensor<64x256xf32> { … }
    ```
    becomes
    ```mlir
    %y = tds.kernel "contract"(%w, %x) : (tensor<784x256xf32>, tensor<64x784xui8>) -> tensor<64x256xf32> {
    ^bb0(%b: tensor<784x256xf32>, %a: tensor<64x784xui8>):
      %f = tds.generic (%i, %j) in (64, 784) : tensor<64x784xf32> { … }
      %c = tds.contract %f[0, 1], %b[1, 2] to [0, 2] : tensor<64x784xf32>, tensor<784x256xf32> to tensor<64x256xf32>
      tds.yield %c : tensor<64x256xf32>
    }
    ```
  }];
  let dependentDialects = ["::tdsl::tds::TDSDialect"];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"host-cpu\"", "Name or file of the target description">
  ];
  let statistics = [Statistic<"numFused", "fused", "Number of factors computed where they are loaded">];
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
    On a GPU a kernel of little work may then become a part of the attribute `stage`: the block that ends last
    of the launch whose results it reads runs it.
    ```mlir
    %r:2 = tds.kernel "parts"(%x) : (tensor<512x512xf32>) -> (tensor<512xf32>, tensor<f32>) {
    ^bb0(%p: tensor<512x512xf32>):
      %a = tds.kernel "row"(%p) : (tensor<512x512xf32>) -> tensor<512xf32> { … }
      %b = tds.kernel "row"(%a) {stage = 1 : i64} : (tensor<512xf32>) -> tensor<f32> { … }
      tds.yield %a, %b : tensor<512xf32>, tensor<f32>
    }
    ```
  }];
  let dependentDialects = ["::tdsl::tds::TDSDialect"];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"host-cpu\"", "Name or file of the target description">
  ];
  let statistics = [Statistic<"numMerged", "merged", "Number of times that two kernels became parts of one">,
                    Statistic<"numStaged", "staged", "Number of kernels that the last block of another runs">];
}

#endif // TDSL_FUSION_PASSES_TD
