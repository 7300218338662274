//===- DecomposeAttention.cpp - attention as index definitions -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The meaning of tds.attention and tds.attention_grad, step by step, with a
// tensor for each step. The reference evaluator, derivatives of derivatives and
// `--fusion=off` take this way.
//
//===----------------------------------------------------------------------===//

#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tdsl::tds;

namespace {

template <typename Op> class Steps {
public:
  Steps(OpBuilder &builder, Op op)
      : builder(builder), op(op), loc(op.getLoc()), numBatch(op.getNumBatch()),
        compute(op.getComputeType()) {}

  /// A tensor over the batch, `rows`, and `columns` (left out where it is 0).
  template <typename Body>
  Value over(int64_t rows, int64_t columns, Type element, Body body) {
    return reduce(rows, columns, element, 0, std::nullopt, body);
  }
  /// The same with a reduction over `terms`. The body gets the indices of the
  /// batch, and then row, column and term as far as there are some.
  template <typename Body>
  Value reduce(int64_t rows, int64_t columns, Type element, int64_t terms,
               std::optional<ReductionKind> kind, Body body) {
    SmallVector<int64_t> shape(op.getBatch()), reduced;
    shape.push_back(rows);
    if (columns)
      shape.push_back(columns);
    if (kind)
      reduced.push_back(terms);
    return GenericOp::create(
        builder, loc, RankedTensorType::get(shape, element), reduced, kind,
        [&](OpBuilder &b, Location, ValueRange indices) -> Value {
          OpBuilder::InsertionGuard guard(builder);
          builder.setInsertionPointToEnd(b.getInsertionBlock());
          return body(indices.take_front(numBatch),
                      indices.drop_front(numBatch));
        });
  }

  /// The element of `tensor` that `map` says, in the type of computation.
  Value at(Value tensor, AffineMap map, ValueRange batch, Value row,
           Value column) {
    SmallVector<Value> dims(batch), indices;
    dims.append({row, column});
    for (AffineExpr expr : map.getResults()) {
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        indices.push_back(dims[dim.getPosition()]);
      else if (auto constant = dyn_cast<AffineConstantExpr>(expr))
        indices.push_back(ConstantOp::create(
            builder, loc,
            TypedAttr(builder.getIndexAttr(constant.getValue()))));
      else
        indices.push_back(ApplyOp::create(
            builder, loc, builder.getIndexType(),
            AffineMapAttr::get(AffineMap::get(dims.size(), 0, expr)), dims));
    }
    return wide(ReadOp::create(builder, loc, tensor, indices));
  }
  /// An element of an intermediate tensor.
  Value read(Value tensor, ValueRange batch, ValueRange rest) {
    SmallVector<Value> indices(batch);
    indices.append(rest.begin(), rest.end());
    return ReadOp::create(builder, loc, tensor, indices);
  }
  Value cast(Value value, Type type) {
    return value.getType() == type
               ? value
               : CastOp::create(builder, loc, type, value).getResult();
  }
  Value wide(Value value) { return cast(value, compute); }
  /// 0 where `factor` is, else `value`.
  Value strong(Value factor, Value value) {
    Value zero = ConstantOp::createSplat(builder, loc, compute, 0);
    Value is =
        CompareOp::create(builder, loc, ComparePredicate::EQ, factor, zero);
    return SelectOp::create(builder, loc, is, zero, value);
  }
  Value mul(Value x, Value y) { return MulOp::create(builder, loc, x, y); }

  Value clone(Region &region, ValueRange batch, Value row, Value column,
              ValueRange scalars) {
    IRMapping mapping;
    SmallVector<Value> arguments(batch);
    arguments.append({row, column});
    arguments.append(scalars.begin(), scalars.end());
    mapping.map(region.getArguments(), arguments);
    for (Operation &inner : region.front().without_terminator())
      builder.clone(inner, mapping);
    return mapping.lookupOrDefault(
        region.front().getTerminator()->getOperand(0));
  }

  Value scores() {
    return reduce(
        op.getNumQueries(), op.getNumKeys(), compute, op.getDepth(),
        ReductionKind::Sum, [&](ValueRange batch, ValueRange at_) {
          Value q = at(op.getQuery(), op.getQueryMap(), batch, at_[0], at_[2]);
          Value k = at(op.getKey(), op.getKeyMap(), batch, at_[1], at_[2]);
          return mul(q, k);
        });
  }
  Value weighted(Value scores) {
    return over(op.getNumQueries(), op.getNumKeys(), compute,
                [&](ValueRange batch, ValueRange at) {
                  return clone(op.getScore(), batch, at[0], at[1],
                               read(scores, batch, at));
                });
  }
  /// exp(f - most)
  Value shifted(Value f, Value most) {
    return over(op.getNumQueries(), op.getNumKeys(), compute,
                [&](ValueRange batch, ValueRange at) -> Value {
                  Value x = SubOp::create(builder, loc, read(f, batch, at),
                                          read(most, batch, at[0]));
                  return ExpOp::create(builder, loc, compute, x);
                });
  }
  Value weights(Value e, Value total) {
    return over(op.getNumQueries(), op.getNumKeys(), compute,
                [&](ValueRange batch, ValueRange at) -> Value {
                  return DivOp::create(builder, loc, read(e, batch, at),
                                       read(total, batch, at[0]));
                });
  }
  /// What is computed of queries and keys as an operand is multiplied with it:
  /// the weights where `isWeight`, or what narrow_factors rounds.
  Value rounded(Value pairs, bool isWeight) {
    Type narrow =
        ::cast<RankedTensorType>(op.getValue().getType()).getElementType();
    bool rounds = op.getNarrowFactors() || (isWeight && op.getNarrowWeights());
    if (!rounds || narrow == compute)
      return pairs;
    return over(op.getNumQueries(), op.getNumKeys(), narrow,
                [&](ValueRange batch, ValueRange at) {
                  return cast(read(pairs, batch, at), narrow);
                });
  }

  /// Brings tensors over the batch, rows and columns to where `maps` place them
  /// in a tensor of `type`.
  Value place(RankedTensorType type, ArrayRef<Value> parts,
              ArrayRef<AffineMap> maps) {
    return GenericOp::create(
        builder, loc, type, {}, std::nullopt,
        [&](OpBuilder &b, Location, ValueRange indices) -> Value {
          OpBuilder::InsertionGuard guard(builder);
          builder.setInsertionPointToEnd(b.getInsertionBlock());
          Value value;
          for (auto [part, map] : llvm::zip_equal(parts, maps)) {
            SmallVector<Value> from(map.getNumDims());
            Value mine;
            for (auto [index, expr] :
                 llvm::zip_equal(indices, map.getResults())) {
              if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
                from[dim.getPosition()] = index;
                continue;
              }
              int64_t number = ::cast<AffineConstantExpr>(expr).getValue();
              if (parts.size() == 1)
                continue;
              Value place = ConstantOp::create(
                  builder, loc, TypedAttr(builder.getIndexAttr(number)));
              Value is = CompareOp::create(builder, loc, ComparePredicate::EQ,
                                           index, place);
              mine = mine ? Value(AndOp::create(builder, loc, mine, is)) : is;
            }
            // In other parts of the tensor the place may be outside of this
            // one.
            auto element =
                ::cast<RankedTensorType>(part.getType()).getElementType();
            auto zero = ::cast<TypedAttr>(builder.getZeroAttr(element));
            Value own = ReadOp::create(builder, loc, element, part, from,
                                       parts.size() == 1 ? TypedAttr() : zero,
                                       /*clamped=*/UnitAttr());
            own = cast(own, type.getElementType());
            value =
                value ? Value(SelectOp::create(builder, loc, mine, own, value))
                      : own;
          }
          return value;
        });
  }

  OpBuilder &builder;
  Op op;
  Location loc;
  unsigned numBatch;
  Type compute;
};

} // namespace

SmallVector<Value> tdsl::tds::decompose(OpBuilder &builder, AttentionOp op) {
  Steps<AttentionOp> steps(builder, op);
  Type compute = op.getComputeType();
  int64_t queries = op.getNumQueries(), keys = op.getNumKeys();
  Value f = steps.weighted(steps.scores());
  Value most = steps.reduce(queries, 0, compute, keys, ReductionKind::Max,
                            [&](ValueRange batch, ValueRange at) {
                              return steps.read(f, batch, at);
                            });
  Value e = steps.shifted(f, most);
  Value total = steps.reduce(queries, 0, compute, keys, ReductionKind::Sum,
                             [&](ValueRange batch, ValueRange at) {
                               return steps.read(e, batch, at);
                             });
  // What narrow_factors rounds is not divided yet.
  bool isLate = op.getNarrowFactors();
  Value w = isLate ? steps.rounded(e, /*isWeight=*/false)
                   : steps.rounded(steps.weights(e, total), /*isWeight=*/true);
  Value result = steps.reduce(
      queries, op.getWidth(), compute, keys, ReductionKind::Sum,
      [&](ValueRange batch, ValueRange at) {
        Value weight = steps.wide(steps.read(w, batch, {at[0], at[2]}));
        Value value =
            steps.at(op.getValue(), op.getValueMap(), batch, at[2], at[1]);
        return steps.mul(weight, value);
      });
  if (isLate)
    result = steps.over(queries, op.getWidth(), compute,
                        [&](ValueRange batch, ValueRange at) -> Value {
                          return DivOp::create(builder, op.getLoc(),
                                               steps.read(result, batch, at),
                                               steps.read(total, batch, at[0]));
                        });
  auto type = cast<RankedTensorType>(op.getResult().getType());
  return {steps.place(type, {result}, {op.getResultMap()}), most, total};
}

SmallVector<Value> tdsl::tds::decompose(OpBuilder &builder,
                                        AttentionGradOp op) {
  Steps<AttentionGradOp> steps(builder, op);
  Type compute = op.getComputeType();
  int64_t queries = op.getNumQueries(), keys = op.getNumKeys();
  AffineMap resultMap = op.getResultMap();
  Value s = steps.scores();
  Value w = steps.weights(steps.shifted(steps.weighted(s), op.getMost()),
                          op.getTotal());
  Value product = steps.reduce(
      queries, keys, compute, op.getWidth(), ReductionKind::Sum,
      [&](ValueRange batch, ValueRange at) {
        Value adjoint =
            steps.at(op.getAdjoint(), resultMap, batch, at[0], at[2]);
        Value value =
            steps.at(op.getValue(), op.getValueMap(), batch, at[1], at[2]);
        return steps.mul(adjoint, value);
      });
  Value delta = steps.reduce(
      queries, 0, compute, op.getWidth(), ReductionKind::Sum,
      [&](ValueRange batch, ValueRange at) {
        Value adjoint =
            steps.at(op.getAdjoint(), resultMap, batch, at[0], at[1]);
        Value result = steps.at(op.getResult(), resultMap, batch, at[0], at[1]);
        return steps.strong(adjoint, steps.mul(adjoint, result));
      });
  Value g = steps.over(
      queries, keys, compute, [&](ValueRange batch, ValueRange at) -> Value {
        Value t =
            SubOp::create(builder, op.getLoc(), steps.read(product, batch, at),
                          steps.read(delta, batch, at[0]));
        Value share = steps.strong(t, steps.mul(steps.read(w, batch, at), t));
        return steps.clone(op.getSlope(), batch, at[0], at[1],
                           {steps.read(s, batch, at), share});
      });
  g = steps.rounded(g, /*isWeight=*/false);
  Value query = steps.reduce(
      queries, op.getDepth(), compute, keys, ReductionKind::Sum,
      [&](ValueRange batch, ValueRange at) {
        Value key = steps.at(op.getKey(), op.getKeyMap(), batch, at[2], at[1]);
        return steps.mul(steps.wide(steps.read(g, batch, {at[0], at[2]})), key);
      });
  Value key = steps.reduce(
      keys, op.getDepth(), compute, queries, ReductionKind::Sum,
      [&](ValueRange batch, ValueRange at) {
        Value query =
            steps.at(op.getQuery(), op.getQueryMap(), batch, at[2], at[1]);
        return steps.mul(steps.wide(steps.read(g, batch, {at[2], at[0]})),
                         query);
      });
  Value rounded = steps.rounded(w, /*isWeight=*/true);
  Value value = steps.reduce(
      keys, op.getWidth(), compute, queries, ReductionKind::Sum,
      [&](ValueRange batch, ValueRange at) {
        Value adjoint =
            steps.at(op.getAdjoint(), resultMap, batch, at[2], at[1]);
        Value weight = steps.wide(steps.read(rounded, batch, {at[2], at[0]}));
        return steps.mul(weight, adjoint);
      });
  SmallVector<Value> parts{query, key, value};
  SmallVector<AffineMap> maps;
  for (unsigned i = 0; i < 3; ++i)
    maps.push_back(op.getGradMap(i));
  auto typeOf = [&](unsigned i) {
    return cast<RankedTensorType>(op.getGradients()[i].getType());
  };
  if (op.getGradients().size() == 1)
    return {steps.place(typeOf(0), parts, maps)};
  SmallVector<Value> results;
  for (unsigned i = 0; i < 3; ++i)
    results.push_back(steps.place(typeOf(i), parts[i], maps[i]));
  return results;
}
