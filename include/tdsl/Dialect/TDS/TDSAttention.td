//===- TDSAttention.td - attention and its derivative -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_DIALECT_TDS_TDSATTENTION_TD
#define TDSL_DIALECT_TDS_TDSATTENTION_TD

include "tdsl/Dialect/TDS/TDSElementwise.td"

def TDS_AttentionOp : TDS_Op<"attention", [Pure]> {
  let summary = "softmax of scores of queries and keys, times values";
  let description = [{
    For each point of the batch extents, each query i and each column c of the values

    ```
    s(i, j)   = sum over d of  query(i, d) * key(j, d)
    f(i, j)   = score(i, j, s(i, j))
    w(i, j)   = exp(f(i, j) - most(i)) / total(i)
    result(i, c) = sum over j of  w(i, j) * value(j, c)
    ```

    where `most(i)` is the greatest f(i, j) over the keys j and `total(i)` the sum of exp(f(i, j) - most(i)). `tds-recognise-attention` makes it;
    a kernel that holds it keeps no tensor of queries and keys in memory. All is computed in the element type of `most` and `total`, which is f32 or
    f64. With `narrow_weights`, w is rounded to the values' element type. With `narrow_factors` (mixed precision) exp(f - most) is rounded to it where it is
    multiplied with a value, and the sum is divided by total: both factors of each product then have 16 bits, in one way over the keys.

    `extents` are those of the batch axes, then the numbers of queries, of keys, of features d and of columns c. The maps say where the operands are
    read and where the result lies: of the batch indices, the row (i or j) and the column (d or c). The block of `score` has the batch indices,
    i, j and s; it reads tensors of the surrounding block (body_c1).

    Constraints:
    1. (attention_c1) four extents follow those of the batch; none is 0.
    2. (attention_c2) each map has a dimension for each batch axis and two more, and a result for each axis of its tensor. The operands' maps are linear and
       inside the tensor, that of the result is a permutation.
    3. (attention_c3) `most` and `total` have the shape of the batch and the queries, and the type f32 or f64, which s and the yielded scalar have, too.
       Operands and result are of this type or narrower floats.
    4. (attention_c4) with `narrow_factors`, query, key and value have one element type; `narrow_weights` is not beside it.

    ```mlir
    %o, %m, %z = tds.attention %q, %k, %v {extents = array<i64: 2, 8, 8, 4, 4>, query_map = affine_map<(b, i, d) -> (b, i, d)>,
        key_map = affine_map<(b, j, d) -> (b, j, d)>, value_map = affine_map<(b, j, c) -> (b, j, c)>,
        result_map = affine_map<(b, i, c) -> (b, i, c)>}
        : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>, tensor<2x8xf32>) score {
    ^bb0(%b: index, %i: index, %j: index, %s: f32):
      %c = tds.constant 5.000000e-01 : f32
      %f = tds.mul %s, %c : f32
      tds.yield %f : f32
    }
    ```
  }];
  let arguments = (ins TDS_Tensor:$query, TDS_Tensor:$key, TDS_Tensor:$value, DenseI64ArrayAttr:$extents,
                       AffineMapAttr:$query_map, AffineMapAttr:$key_map, AffineMapAttr:$value_map,
                       AffineMapAttr:$result_map, UnitAttr:$narrow_weights, UnitAttr:$narrow_factors);
  let results = (outs TDS_Tensor:$result, TDS_Tensor:$most, TDS_Tensor:$total);
  let regions = (region SizedRegion<1>:$score);
  let assemblyFormat = "$query `,` $key `,` $value attr-dict `:` functional-type(operands, results) `score` $score";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    unsigned getNumBatch() { return getExtents().size() - 4; }
    ::llvm::ArrayRef<int64_t> getBatch() { return getExtents().drop_back(4); }
    int64_t getNumQueries() { return getExtents()[getNumBatch()]; }
    int64_t getNumKeys() { return getExtents()[getNumBatch() + 1]; }
    int64_t getDepth() { return getExtents()[getNumBatch() + 2]; }
    int64_t getWidth() { return getExtents()[getNumBatch() + 3]; }
    ::mlir::Type getComputeType() { return ::llvm::cast<::mlir::RankedTensorType>(getMost().getType()).getElementType(); }
  }];
}

def TDS_AttentionGradOp : TDS_Op<"attention_grad", [Pure]> {
  let summary = "derivatives of tds.attention by queries, keys and values";
  let description = [{
    With the operands, the results and the `score` of a `tds.attention`, and `adjoint`, that of its result:

    ```
    t(i, j)  = (sum over c of  adjoint(i, c) * value(j, c)) - (sum over c of  adjoint(i, c) * result(i, c))
    g(i, j)  = slope(i, j, s(i, j), w(i, j) * t(i, j))
    query gradient(i, d) = sum over j of  g(i, j) * key(j, d)
    key gradient(j, d)   = sum over i of  g(i, j) * query(i, d)
    value gradient(j, c) = sum over i of  w(i, j) * adjoint(i, c)
    ```

    With `narrow_weights`, w is rounded to the values' element type in the last line; with `narrow_factors`, g is, too, where it is multiplied.
    The products with t and with the adjoint in the second sum are 0 where t or the adjoint are (a strong zero). `slope` gives the adjoint of s from that of f.
    The gradients are three results, each of which lies as its map in `grad_maps` says; or, where queries, keys and values are
    parts of one tensor that have nothing in common and make up the whole, one result of that tensor's shape.

    Constraints:
    1. (attention_grad_c1) those of `tds.attention`, in attention_c4 for the adjoint, too; `slope` has the block arguments of `score` and one more.
    2. (attention_grad_c2) three grad_maps, each with a different dimension or a constant for each axis; with three results no constants.

    ```mlir
    %dq, %dk, %dv = tds.attention_grad %q, %k, %v, %o, %m, %z, %g {extents = array<i64: 2, 8, 8, 4, 4>,
        query_map = affine_map<(b, i, d) -> (b, i, d)>, key_map = affine_map<(b, j, d) -> (b, j, d)>,
        value_map = affine_map<(b, j, c) -> (b, j, c)>, result_map = affine_map<(b, i, c) -> (b, i, c)>,
        grad_maps = [affine_map<(b, i, d) -> (b, i, d)>, affine_map<(b, j, d) -> (b, j, d)>, affine_map<(b, j, c) -> (b, j, c)>]}
        : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8x4xf32>)
        -> (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) score {
    ^bb0(%b: index, %i: index, %j: index, %s: f32):
      tds.yield %s : f32
    } slope {
    ^bb0(%b: index, %i: index, %j: index, %s: f32, %w: f32):
      tds.yield %w : f32
    }
    ```
  }];
  let arguments = (ins TDS_Tensor:$query, TDS_Tensor:$key, TDS_Tensor:$value, TDS_Tensor:$result, TDS_Tensor:$most,
                       TDS_Tensor:$total, TDS_Tensor:$adjoint, DenseI64ArrayAttr:$extents, AffineMapAttr:$query_map,
                       AffineMapAttr:$key_map, AffineMapAttr:$value_map, AffineMapAttr:$result_map,
                       UnitAttr:$narrow_weights, UnitAttr:$narrow_factors, AffineMapArrayAttr:$grad_maps);
  let results = (outs Variadic<TDS_Tensor>:$gradients);
  let regions = (region SizedRegion<1>:$score, SizedRegion<1>:$slope);
  let assemblyFormat = [{
    operands attr-dict `:` functional-type(operands, results) `score` $score `slope` $slope
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    unsigned getNumBatch() { return getExtents().size() - 4; }
    ::llvm::ArrayRef<int64_t> getBatch() { return getExtents().drop_back(4); }
    int64_t getNumQueries() { return getExtents()[getNumBatch()]; }
    int64_t getNumKeys() { return getExtents()[getNumBatch() + 1]; }
    int64_t getDepth() { return getExtents()[getNumBatch() + 2]; }
    int64_t getWidth() { return getExtents()[getNumBatch() + 3]; }
    ::mlir::Type getComputeType() { return ::llvm::cast<::mlir::RankedTensorType>(getMost().getType()).getElementType(); }
    ::mlir::AffineMap getGradMap(unsigned i) { return ::llvm::cast<::mlir::AffineMapAttr>(getGradMaps()[i]).getValue(); }
    /// The result in which the gradient of operand i lies.
    ::mlir::Value getGradient(unsigned i) { return getGradients()[getGradients().size() == 1 ? 0 : i]; }
  }];
}

#endif // TDSL_DIALECT_TDS_TDSATTENTION_TD
