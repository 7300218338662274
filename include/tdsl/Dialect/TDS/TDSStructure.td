//===- TDSStructure.td - index definitions and whole-tensor operations -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_DIALECT_TDS_TDSSTRUCTURE_TD
#define TDSL_DIALECT_TDS_TDSSTRUCTURE_TD

include "tdsl/Dialect/TDS/TDSElementwise.td"

//===----------------------------------------------------------------------===//
// Index definitions
//===----------------------------------------------------------------------===//

def TDS_GenericOp : TDS_Op<"generic", [Pure, SingleBlock]> {
  let summary = "a tensor given element by element";
  let description = [{
    For each point of the parallel extents the body gives one scalar; with reduction extents, the reduction combines the scalars of all points
    of these. The block arguments are the parallel indices, then the reduction indices. The body sees the tensors of the
    surrounding block.

    An empty reduction is its identity (`max`: -inf or the type's least value). `max` and `min` give NaN where a term is NaN. `argmax`
    and `argmin` point at the first NaN, else at the first best term. The order of the terms of `sum` and `prod` belongs to the schedule; a sum
    whose body ends in `tds.mul` accumulates by fused multiply-add.

    Constraints:
    1. (generic_c1) the result's shape is the parallel extents.
    2. (generic_c2) there is a kind exactly where there are reduction extents.
    3. (generic_c3) the body yields one scalar of the result's element type; for `argmax` and `argmin`, any number, and the result is `i32`.
    4. (generic_c4) `argmax` and `argmin` have one reduction extent, and it is not 0.
    5. (generic_c5) `any` and `all` yield `i1`, the other kinds a number.
    6. (body_c1) the body holds operations of this dialect on scalars and indices; it uses a value of the surrounding block only as the tensor of
       a `tds.read`.

    ```mlir
    %y = tds.generic (%i, %j) in (64, 10) sum (%k) in (784) : tensor<64x10xf32> {
      %a = tds.read %x[%i, %k] : tensor<64x784xf32>
      %b = tds.read %w[%k, %j] : tensor<784x10xf32>
      %p = tds.mul %a, %b : f32
      tds.yield %p : f32
    }
    ```
  }];
  let arguments = (ins DenseI64ArrayAttr:$extents, DenseI64ArrayAttr:$reduce_extents,
                       OptionalAttr<TDS_ReductionKind>:$kind);
  let results = (outs TDS_Tensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasCanonicalizer = 1;
  let hasRegionVerifier = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    OpBuilder<(ins "::mlir::RankedTensorType":$type, "::llvm::ArrayRef<int64_t>":$reduceExtents,
      "std::optional<ReductionKind>":$kind,
      "::llvm::function_ref<::mlir::Value(::mlir::OpBuilder &, ::mlir::Location, ::mlir::ValueRange)>":$body)>
  ];
  let extraClassDeclaration = [{
    unsigned getNumParallel() { return getExtents().size(); }
    unsigned getNumReductions() { return getReduceExtents().size(); }
    bool hasReduction() { return getKind().has_value(); }
    ::mlir::Block *getBlock() { return &getBody().front(); }
    ::mlir::Block::BlockArgListType getIndices() { return getBlock()->getArguments(); }
    ::mlir::Block::BlockArgListType getParallelIndices() { return getIndices().take_front(getNumParallel()); }
    ::mlir::Block::BlockArgListType getReductionIndices() { return getIndices().drop_front(getNumParallel()); }
    /// The scalar that the body gives.
    ::mlir::Value getYielded() { return getBlock()->getTerminator()->getOperand(0); }
    ::mlir::RankedTensorType getType() { return ::llvm::cast<::mlir::RankedTensorType>(getResult().getType()); }
    /// Number of points of the reduction extents; 1 without a reduction.
    int64_t getReductionSize();
  }];
}

def TDS_ScatterOp : TDS_Op<"scatter", [Pure, SingleBlock]> {
  let summary = "adds scalars into a zero tensor at computed places";
  let description = [{
    The adjoint of a gather. Starts from zeros; for each point of the extents, in lexicographic order, adds the yielded value to the element at
    the yielded indices. A point with an index out of range adds nothing. Sums of f16 and bf16 accumulate in f32 and are rounded once.
    The body is as that of `tds.generic` (body_c1).

    ```mlir
    %d = tds.scatter (%i, %k) in (64, 128) : tensor<256x128xf32> {
      %id = tds.read %ids[%i] : tensor<64xi32>
      %at = tds.cast %id : i32 to index
      %v = tds.read %dy[%i, %k] : tensor<64x128xf32>
      tds.scatter_yield %v at [%at, %k] : f32
    }
    ```
  }];
  let arguments = (ins DenseI64ArrayAttr:$extents);
  let results = (outs TDS_Tensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    OpBuilder<(ins "::mlir::RankedTensorType":$type, "::llvm::ArrayRef<int64_t>":$extents,
      "::llvm::function_ref<std::pair<::mlir::Value, ::llvm::SmallVector<::mlir::Value>>(::mlir::OpBuilder &, ::mlir::Location, ::mlir::ValueRange)>":$body)>
  ];
  let extraClassDeclaration = [{
    ::mlir::Block *getBlock() { return &getBody().front(); }
    ::mlir::Block::BlockArgListType getIndices() { return getBlock()->getArguments(); }
    ::mlir::RankedTensorType getType() { return ::llvm::cast<::mlir::RankedTensorType>(getResult().getType()); }
    ::mlir::Value getYielded() { return getBlock()->getTerminator()->getOperand(0); }
    ::mlir::ValueRange getYieldedIndices() { return getBlock()->getTerminator()->getOperands().drop_front(); }
  }];
}

def TDS_YieldOp : TDS_Op<"yield", [Pure, Terminator, ParentOneOf<["GenericOp", "KernelOp", "FoldOp", "AttentionOp", "AttentionGradOp"]>]> {
  let summary = "ends the body of a generic, an attention, a kernel or a fold";
  let description = "\n\n```mlir\ntds.yield %p : f32\n```\n";
  let arguments = (ins Variadic<AnyType>:$operands);
  let assemblyFormat = "($operands^ `:` type($operands))? attr-dict";
}

def TDS_ScatterYieldOp : TDS_Op<"scatter_yield", [Pure, Terminator, HasParent<"ScatterOp">]> {
  let summary = "ends the body of a scatter";
  let description = "\n\n```mlir\ntds.scatter_yield %v at [%i, %k] : f32\n```\n";
  let arguments = (ins TDS_NumberLike:$value, Variadic<Index>:$indices);
  let assemblyFormat = "$value `at` `[` $indices `]` attr-dict `:` type($value)";
}

def TDS_ReadOp : TDS_Op<"read", [Pure,
    TypesMatchWith<"the result is an element of the tensor", "tensor", "result",
                   "::llvm::cast<::mlir::RankedTensorType>($_self).getElementType()">]> {
  let summary = "an element of a tensor, inside a body";
  let description = [{
    Without a guard every index must be in range; the front end proves it. With `guard` a read that is out of range in any axis gives
    the guard's value instead; every gather has one (0). With `clamped`, indices are first brought to the nearest place inside.

    Constraints:
    1. (read_c1) as many indices as the tensor has axes.
    2. (read_c2) the guard has the element type.
    3. (read_c3) not both a guard and `clamped`.

    ```mlir
    %a = tds.read %x[%i, %k] : tensor<64x784xf32>
    %b = tds.read %x[%i, %k] guard 0.0 : f32 : tensor<64x784xf32>
    ```
  }];
  let arguments = (ins TDS_Tensor:$tensor, Variadic<Index>:$indices,
                       OptionalAttr<TypedAttrInterface>:$guard, UnitAttr:$clamped);
  let results = (outs TDS_ValueLike:$result);
  let assemblyFormat = [{
    $tensor `[` $indices `]` (`guard` $guard^)? (`clamped` $clamped^)? attr-dict `:` type($tensor)
  }];
  let hasFolder = 1;
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$tensor, "::mlir::ValueRange":$indices), [{
    build($_builder, $_state, tensor, indices, /*guard=*/::mlir::TypedAttr(), /*clamped=*/false);
  }]>];
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() { return ::llvm::cast<::mlir::RankedTensorType>(getTensor().getType()); }
  }];
}

def TDS_ApplyOp : TDS_Op<"apply", [Pure]> {
  let summary = "an affine expression of indices";
  let description = [{
    One result expression; `floordiv`, `ceildiv` and `mod` by positive constants are allowed. The operands are dimensions (apply_c1).

    ```mlir
    %e = tds.apply affine_map<(d0, d1) -> (2 * d0 + d1 - 1)> (%i, %u)
    ```
  }];
  let arguments = (ins AffineMapAttr:$map, Variadic<Index>:$operands);
  let results = (outs Index:$result);
  let assemblyFormat = "$map ` ` `(` $operands `)` attr-dict";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Whole tensors
//===----------------------------------------------------------------------===//

def TDS_ContractOp : TDS_Op<"contract", [Pure]> {
  let summary = "sum of products of two tensors over shared axes";
  let description = [{
    Each axis of the operands and of the result carries a number. Axes with one number run together; numbers that the result lacks are
    summed. A matrix product is `[0, 2], [2, 1] to [0, 1]`. Products are accumulated by fused multiply-add in the result's element type,
    which is f32 for f16 and bf16 operands and i32 for 8-bit ones (or the operands' own where that is at least 32 bits wide).

    Constraints:
    1. (contract_c1) as many numbers as axes; none twice in one list.
    2. (contract_c2) axes with one number have one extent.
    3. (contract_c3) each number of the result is in an operand.
    4. (contract_c4) the operands have one element type; the result has it or its accumulator type.
    5. (contract_c5) a map has one dimension for each number of its operand and one result for each axis of the tensor; its results are
       linear and inside the tensor; the extents of its numbers are those of the result or of the other operand.

    With a map an operand is a window: dimension i of the map is the operand's number i, and the element is read where the map says. That
    is how convolutions and their derivatives are multiplied.

    ```mlir
    %c = tds.contract %a[0, 2], %b[2, 1] to [0, 1] : tensor<4x8xf32>, tensor<8x2xf32> to tensor<4x2xf32>
    %y = tds.contract %x[0, 1, 2], %f[3, 2] to [0, 3, 1] {lhs_map = affine_map<(d0, d1, d2) -> (d0, d1 + d2)>}
       : tensor<4x8xf32>, tensor<6x3xf32> to tensor<4x6x6xf32>
    ```
  }];
  let arguments = (ins TDS_Tensor:$lhs, TDS_Tensor:$rhs, DenseI64ArrayAttr:$lhs_axes,
                       DenseI64ArrayAttr:$rhs_axes, DenseI64ArrayAttr:$result_axes,
                       OptionalAttr<AffineMapAttr>:$lhs_map, OptionalAttr<AffineMapAttr>:$rhs_map);
  let results = (outs TDS_Tensor:$result);
  let assemblyFormat = [{
    $lhs `` $lhs_axes `,` $rhs `` $rhs_axes `to` $result_axes attr-dict
    `:` type($lhs) `,` type($rhs) `to` type($result)
  }];
  let hasFolder = 1;
  let hasVerifier = 1;
  let builders = [
    OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$lhs, "::mlir::Value":$rhs, "::llvm::ArrayRef<int64_t>":$lhsAxes,
                   "::llvm::ArrayRef<int64_t>":$rhsAxes, "::llvm::ArrayRef<int64_t>":$resultAxes), [{
      build($_builder, $_state, type, lhs, rhs, lhsAxes, rhsAxes, resultAxes, ::mlir::AffineMapAttr(), ::mlir::AffineMapAttr());
    }]>
  ];
  let extraClassDeclaration = [{
    /// Extent of each axis number; indexed by number.
    ::llvm::SmallDenseMap<int64_t, int64_t> getExtentOfAxis();
    /// The numbers that are summed, in the order of the left operand, then of the right one.
    ::llvm::SmallVector<int64_t> getReducedAxes();
    bool hasWindow() { return getLhsMap() || getRhsMap(); }
    /// How far a step along each of an operand's numbers (in their order) goes in its memory, and where it begins; in elements.
    std::pair<::llvm::SmallVector<int64_t>, int64_t> getStrides(bool isLhs);
    /// One product, in a body with `indices` for the result's numbers and then for the summed ones.
    ::mlir::Value buildProduct(::mlir::OpBuilder &builder, ::mlir::Location loc, ::mlir::ValueRange indices);
  }];
}

def TDS_ReduceOp : TDS_Op<"reduce", [Pure]> {
  let summary = "combines the elements along axes";
  let description = [{
    The result lacks the axes. Same rules as the reductions of `tds.generic`. `axes` rise strictly (reduce_c1); the result's shape is the operand's without
    them (reduce_c2); `argmax` and `argmin` take one axis that is not empty and give `i32` (reduce_c3).

    ```mlir
    %s = tds.reduce sum %x axes [1] : tensor<4x8xf32> to tensor<4xf32>
    ```
  }];
  let arguments = (ins TDS_ReductionKind:$kind, TDS_Tensor:$operand, DenseI64ArrayAttr:$axes);
  let results = (outs TDS_Tensor:$result);
  let assemblyFormat = "$kind $operand `axes` $axes attr-dict `:` type($operand) `to` type($result)";
  let hasCanonicalizer = 1;
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TDS_BroadcastOp : TDS_Op<"broadcast", [Pure]> {
  let summary = "repeats a tensor along axes";
  let description = [{
    Axis i of the operand becomes axis `axes[i]` of the result; its extent is the same or 1. `axes` rise strictly (broadcast_c1).

    ```mlir
    %r = tds.broadcast %b axes [1] : tensor<10xf32> to tensor<64x10xf32>
    ```
  }];
  let arguments = (ins TDS_Tensor:$operand, DenseI64ArrayAttr:$axes);
  let results = (outs TDS_Tensor:$result);
  let assemblyFormat = "$operand `axes` $axes attr-dict `:` type($operand) `to` type($result)";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let hasFolder = 1;
}

def TDS_ReshapeOp : TDS_Op<"reshape", [Pure]> {
  let summary = "the same elements in row-major order under another shape";
  let description = [{
    Both shapes have equally many elements (reshape_c1).

    ```mlir
    %r = tds.reshape %x : tensor<64x28x28xf32> to tensor<64x784xf32>
    ```
  }];
  let arguments = (ins TDS_Tensor:$operand);
  let results = (outs TDS_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TDS_TransposeOp : TDS_Op<"transpose", [Pure]> {
  let summary = "permuted axes";
  let description = [{
    Axis i of the result is axis `permutation[i]` of the operand (transpose_c1: a permutation).

    ```mlir
    %r = tds.transpose %x [1, 0] : tensor<4x8xf32> to tensor<8x4xf32>
    ```
  }];
  let arguments = (ins TDS_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs TDS_Tensor:$result);
  let assemblyFormat = "$operand $permutation attr-dict `:` type($operand) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // TDSL_DIALECT_TDS_TDSSTRUCTURE_TD
