//===- AttentionEmitter.cpp - attention in cached tiles -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An item computes some queries of one point of the batch, a query a lane, and
// goes over tiles of the keys. The maximum and the sum of each query are kept
// up as keys come by (online softmax, Milakov and Gimelshein 2018,
// arXiv:1805.02867; Dao et al. 2022, arXiv:2205.14135). All products are of
// tiles in the scratch memory of the thread, with one of two forms:
//
//   scores    [others][rows]  = others x (rows transposed)
//   sums      [rows][columns] += (weights transposed) x others
//
// The derivative has two kinds of items: the gradient of some queries goes over
// the keys, that of some keys and values over the queries. Both compute the
// weights again, and no two items share a sum.
//
//===----------------------------------------------------------------------===//

#include "AttentionTiles.h"
#include "KernelFrame.h"

#include "tdsl/Target/Common/AttentionViews.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::cpu;
using namespace tdsl::target;

namespace {

/// A matrix in the scratch memory.
struct Tile {
  Value base;
  int64_t pitch;
};

class AttentionEmitter {
public:
  template <typename Op>
  AttentionEmitter(KernelFrame &frame, Op op)
      : frame(frame), lanes(frame.lanes), builder(lanes.builder),
        loc(lanes.loc), tiles(AttentionTiles::get(op)),
        compute(op.getComputeType()),
        vectorType(VectorType::get({tiles.lanes}, compute)),
        queries(op.getNumQueries()), keys(op.getNumKeys()),
        depth(op.getDepth()), width(op.getWidth()), extents(op.getBatch()),
        score(&op.getScore().front()) {
    roundsSlopes = op.getNarrowFactors();
    narrow =
        op.getNarrowWeights() || roundsSlopes
            ? cast<RankedTensorType>(op.getValue().getType()).getElementType()
            : compute;
    isTwice = op.getNarrowWeights() && narrow != compute;
    query = view(*frame.body.getBuffer(op.getQuery()), op.getQueryMap(),
                 queries, depth);
    key = view(*frame.body.getBuffer(op.getKey()), op.getKeyMap(), keys, depth);
    value = view(*frame.body.getBuffer(op.getValue()), op.getValueMap(), keys,
                 width);
    lanes.setLanes(tiles.lanes);
  }

  Buffer view(const Buffer &buffer, AffineMap map, int64_t rows,
              int64_t columns) {
    SmallVector<int64_t> all(extents);
    all.append({rows, columns});
    return viewThrough(lanes, buffer, map, all);
  }
  /// Where the kernel writes `result`, or nothing.
  std::optional<Buffer> getOutput(Value result) {
    tds::KernelOp kernel = frame.kernel.kernel;
    auto yielded = kernel.getBlock()->getTerminator()->getOperands();
    auto it = llvm::find(yielded, result);
    if (it == yielded.end())
      return std::nullopt;
    return frame.outputBuffer(std::distance(yielded.begin(), it));
  }

  //===--- items ---===//
  /// Begins the item with this number among those of the batch and `count`
  /// rows.
  void enter(Value number, int64_t count) {
    int64_t perPoint = llvm::divideCeil(count, tiles.rows);
    first = lanes.mul(lanes.remU(number, perPoint), lanes.i64(tiles.rows));
    batch = lanes.delinearize(lanes.divU(number, perPoint), extents);
    used = 0;
  }
  Tile makeTile(int64_t rows, int64_t pitch) {
    Tile tile{frame.scratchAt(used), pitch};
    used += llvm::alignTo(rows * pitch, tiles.lanes) * tiles.elementBytes;
    assert(used <= tiles.scratchBytes && "too little scratch was planned");
    return tile;
  }
  SmallVector<LaneIndex> point(ArrayRef<LaneIndex> rest) {
    SmallVector<LaneIndex> indices;
    for (Value index : batch)
      indices.push_back(lanes.index(index));
    llvm::append_range(indices, rest);
    return indices;
  }
  /// `begin + row`, and the last row where that is behind it.
  Value clampRow(Value begin, Value row, int64_t count) {
    return lanes.minS(lanes.add(begin, row), lanes.i64(count - 1));
  }
  /// How many of `size` rows from `begin` on there are.
  Value countRows(Value begin, int64_t size, int64_t count) {
    return lanes.minS(lanes.i64(size), lanes.sub(lanes.i64(count), begin));
  }

  //===--- scratch ---===//
  Value address(const Tile &tile, Value row, Value column) {
    return lanes.address(
        tile.base, compute,
        lanes.add(lanes.mul(row, lanes.i64(tile.pitch)), column));
  }
  Value loadVector(const Tile &tile, Value row, Value column) {
    return LLVM::LoadOp::create(builder, loc, vectorType,
                                address(tile, row, column), tiles.elementBytes);
  }
  Value loadScalar(const Tile &tile, Value row, Value column) {
    return LLVM::LoadOp::create(builder, loc, compute,
                                address(tile, row, column));
  }
  void store(const Tile &tile, Value row, Value column, Value stored) {
    LLVM::StoreOp::create(builder, loc, stored, address(tile, row, column),
                          tiles.elementBytes);
  }
  Value zero() {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getZeroAttr(vectorType));
  }
  Value wide(Value loaded, Type element) {
    return element == compute
               ? loaded
               : emitElementCast(lanes, loaded, element, compute);
  }
  Value rounded(Value weight) {
    if (narrow == compute)
      return weight;
    return emitElementCast(lanes,
                           emitElementCast(lanes, weight, compute, narrow),
                           narrow, compute);
  }
  template <typename ArithOp> Value apply(Value x, Value y) {
    return ArithOp::create(builder, loc, x, y);
  }

  /// Visits the columns of a row, vector by vector; of the last one only the
  /// lanes inside count.
  void overColumns(int64_t columns, function_ref<void(Value, Value)> visit) {
    int64_t whole = columns / tiles.lanes * tiles.lanes, rest = columns - whole;
    if (whole > 0)
      lanes.loop(lanes.i64(0), lanes.i64(whole), tiles.lanes,
                 [&](Value column) { visit(column, {}); });
    if (rest == 0)
      return;
    Value mask = lanes.maskBelow(lanes.i64(rest));
    lanes.setLanes(tiles.lanes, mask, rest);
    visit(lanes.i64(whole), mask);
    lanes.setLanes(tiles.lanes);
  }
  Value loadLanes(const Buffer &from, Value row, Value column, Value mask) {
    Value loaded =
        wide(lanes.splat(lanes.load(
                 from, point({lanes.index(row), lanes.consecutive(column)}))),
             from.element);
    return mask ? arith::SelectOp::create(builder, loc, mask, loaded, zero())
                      .getResult()
                : loaded;
  }
  /// Copies `size` rows from `begin` on of `from`, which has `count`; behind
  /// the last row and column there are zeros.
  void pack(const Tile &into, const Buffer &from, Value begin, int64_t count,
            int64_t size, int64_t columns) {
    lanes.loop(lanes.i64(0), lanes.i64(size), 1, [&](Value row) {
      Value source = clampRow(begin, row, count);
      Value isInside =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                lanes.add(begin, row), lanes.i64(count));
      overColumns(columns, [&](Value column, Value mask) {
        Value loaded = loadLanes(from, source, column, mask);
        store(into, row, column,
              arith::SelectOp::create(builder, loc, isInside, loaded, zero()));
      });
    });
  }
  /// The same with rows and columns exchanged.
  void packTransposed(const Tile &into, const Buffer &from, int64_t count,
                      int64_t columns) {
    lanes.setLanes(1);
    Value none =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(compute));
    lanes.loop(lanes.i64(0), lanes.i64(tiles.rows), 1, [&](Value row) {
      Value source = clampRow(first, row, count);
      Value isInside =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                lanes.add(first, row), lanes.i64(count));
      lanes.loop(lanes.i64(0), lanes.i64(columns), 1, [&](Value column) {
        Value loaded = wide(
            lanes.load(from, point({lanes.index(source), lanes.index(column)})),
            from.element);
        store(into, column, row,
              arith::SelectOp::create(builder, loc, isInside, loaded, none));
      });
    });
    lanes.setLanes(tiles.lanes);
  }
  void clear(const Tile &tile, int64_t rows) {
    lanes.loop(lanes.i64(0), lanes.i64(rows * tile.pitch), tiles.lanes,
               [&](Value at) { store(tile, lanes.i64(0), at, zero()); });
  }
  /// Writes rows of sums to where they belong.
  void write(const Buffer &to, const Tile &from, int64_t count,
             int64_t columns) {
    lanes.loop(
        lanes.i64(0), countRows(first, tiles.rows, count), 1, [&](Value row) {
          Value at = lanes.add(first, row);
          overColumns(columns, [&](Value column, Value) {
            Value sum = loadVector(from, row, column);
            if (to.element != compute)
              sum = emitElementCast(lanes, sum, compute, to.element);
            lanes.store(to, point({lanes.index(at), lanes.consecutive(column)}),
                        sum);
          });
        });
  }

  /// into[row][column] (+)= sum over k < terms of a[row, k] * b[k][column],
  /// where element (row, k) of `a` lies at row * rowStep + k * termStep.
  /// `rows` are fours.
  void multiply(const Tile &into, Value a, int64_t rowStep, int64_t termStep,
                const Tile &b, int64_t rows, int64_t columns, Value terms,
                bool adds) {
    constexpr int64_t numRows = 4;
    int64_t numVectors = columns / tiles.lanes % 2 == 0 ? 2 : 1;
    lanes.loop(lanes.i64(0), lanes.i64(rows), numRows, [&](Value row) {
      lanes.loop(
          lanes.i64(0), lanes.i64(columns), numVectors * tiles.lanes,
          [&](Value column) {
            SmallVector<Value> at, sums;
            for (int64_t v = 0; v < numVectors; ++v)
              at.push_back(lanes.add(column, lanes.i64(v * tiles.lanes)));
            for (int64_t r = 0; r < numRows; ++r)
              for (Value c : at)
                sums.push_back(
                    adds ? loadVector(into, lanes.add(row, lanes.i64(r)), c)
                         : zero());
            sums = lanes.loop(
                lanes.i64(0), terms, 1, sums, [&](Value k, ValueRange carried) {
                  SmallVector<Value> right, next;
                  for (Value c : at)
                    right.push_back(loadVector(b, k, c));
                  for (int64_t r = 0; r < numRows; ++r) {
                    Value place =
                        lanes.add(lanes.mul(lanes.add(row, lanes.i64(r)),
                                            lanes.i64(rowStep)),
                                  lanes.mul(k, lanes.i64(termStep)));
                    Value factor = lanes.splat(
                        LLVM::LoadOp::create(builder, loc, compute,
                                             lanes.address(a, compute, place)));
                    for (int64_t v = 0; v < numVectors; ++v)
                      next.push_back(
                          LLVM::FMAOp::create(builder, loc, factor, right[v],
                                              carried[r * numVectors + v]));
                  }
                  return next;
                });
            for (int64_t r = 0; r < numRows; ++r)
              for (auto [v, c] : llvm::enumerate(at))
                store(into, lanes.add(row, lanes.i64(r)), c,
                      sums[r * numVectors + v]);
          });
    });
  }
  /// scores[other][row] of a tile of others and this item's rows.
  void multiplyScores(const Tile &into, const Tile &others,
                      const Tile &transposed, int64_t terms) {
    multiply(into, others.base, others.pitch, 1, transposed, tiles.others,
             tiles.rows, lanes.i64(terms), /*adds=*/false);
  }
  /// sums[row][column] += weights[other][row] * others[other][column].
  void addWeighted(const Tile &into, const Tile &weights, const Tile &others,
                   Value count) {
    multiply(into, weights.base, 1, weights.pitch, others, tiles.rows,
             into.pitch, count, /*adds=*/true);
  }

  /// Visits the vectors of this item's rows with the place in a tile and their
  /// indices; lanes behind row `count` do not count.
  void overRows(int64_t count, function_ref<void(Value, LaneIndex)> visit) {
    lanes.loop(
        lanes.i64(0), lanes.i64(tiles.rows), tiles.lanes, [&](Value row) {
          Value at = lanes.add(first, row);
          if (count % tiles.rows != 0)
            lanes.setLanes(tiles.lanes,
                           lanes.maskBelow(lanes.sub(lanes.i64(count), at)));
          visit(row, lanes.consecutive(at));
          lanes.setLanes(tiles.lanes);
        });
  }
  /// The score of queries and keys, where one of both has lanes.
  Value emitScore(const LaneIndex &i, const LaneIndex &j, Value s) {
    return lanes.splat(frame.body.evaluate(score, point({i, j}), {s}));
  }
  Value exp(Value x) {
    return scalarmath::emit(builder, loc, scalarmath::Unary::Exp, x,
                            lanes.options.math);
  }
  /// sum of adjoint * result for each of `size` rows from `begin` on.
  void computeDeltas(const Tile &into, const Buffer &adjoint,
                     const Buffer &result, Value begin, int64_t size) {
    lanes.loop(lanes.i64(0), lanes.i64(size), 1, [&](Value row) {
      Value source = clampRow(begin, row, queries);
      int64_t whole = width / tiles.lanes * tiles.lanes;
      auto term = [&](Value column, Value mask) {
        return emitShare(lanes, loadLanes(result, source, column, mask),
                         loadLanes(adjoint, source, column, mask));
      };
      Value sum = zero();
      sum = lanes.loop(lanes.i64(0), lanes.i64(whole), tiles.lanes, {sum},
                       [&](Value column, ValueRange carried) {
                         return SmallVector<Value>{apply<arith::AddFOp>(
                             carried[0], term(column, {}))};
                       })[0];
      if (whole < width) {
        Value mask = lanes.maskBelow(lanes.i64(width - whole));
        lanes.setLanes(tiles.lanes, mask, width - whole);
        sum = apply<arith::AddFOp>(sum, term(lanes.i64(whole), mask));
        lanes.setLanes(tiles.lanes);
      }
      while (isa<VectorType>(sum.getType()))
        sum =
            apply<arith::AddFOp>(lanes.half(sum, false), lanes.half(sum, true));
      store(into, lanes.i64(0), row, sum);
    });
  }

  KernelFrame &frame;
  LaneBuilder &lanes;
  OpBuilder &builder;
  Location loc;
  AttentionTiles tiles;
  Type compute, narrow;
  bool isTwice, roundsSlopes;
  VectorType vectorType;
  int64_t queries, keys, depth, width;
  SmallVector<int64_t> extents;
  Block *score;
  Buffer query, key, value;
  // Of the item at hand.
  Value first;
  SmallVector<Value> batch;
  int64_t used = 0;
};

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

void emitForward(AttentionEmitter &a, tds::AttentionOp op, Value item) {
  LaneBuilder &lanes = a.lanes;
  const AttentionTiles &tiles = a.tiles;
  a.enter(item, a.queries);
  Value origin = lanes.i64(0);
  Tile queryTile = a.makeTile(a.depth, tiles.rows),
       sums = a.makeTile(tiles.rows, tiles.widthPitch),
       keyTile = a.makeTile(tiles.others, tiles.depthPitch),
       valueTile = a.makeTile(tiles.others, tiles.widthPitch),
       scores = a.makeTile(tiles.others, tiles.rows),
       most = a.makeTile(1, tiles.rows), total = a.makeTile(1, tiles.rows),
       factors = a.makeTile(1, tiles.rows);
  a.packTransposed(queryTile, a.query, a.queries, a.depth);
  a.clear(sums, tiles.rows);
  Value lowest = lanes.splat(createLowest(lanes, a.compute));
  lanes.loop(origin, lanes.i64(tiles.rows), tiles.lanes, [&](Value row) {
    a.store(most, origin, row, lowest);
    a.store(total, origin, row, a.zero());
  });

  auto scoreTile = [&](Value firstKey) {
    a.pack(keyTile, a.key, firstKey, a.keys, tiles.others, a.depth);
    a.multiplyScores(scores, keyTile, queryTile, a.depth);
  };
  // Rounded weights must be known as such before they are multiplied: then a
  // second way over the keys makes the result.
  bool isTwice = a.isTwice;
  lanes.loop(origin, lanes.i64(a.keys), tiles.others, [&](Value firstKey) {
    Value count = a.countRows(firstKey, tiles.others, a.keys);
    scoreTile(firstKey);
    a.overRows(a.queries, [&](Value row, LaneIndex i) {
      Value before = a.loadVector(most, origin, row);
      Value after = lanes.loop(
          origin, count, 1, {before}, [&](Value other, ValueRange carried) {
            Value s = a.loadVector(scores, other, row);
            Value f =
                a.emitScore(i, lanes.index(lanes.add(firstKey, other)), s);
            a.store(scores, other, row, f);
            return SmallVector<Value>{
                a.apply<arith::MaximumFOp>(carried[0], f)};
          })[0];
      Value sum = lanes.loop(
          origin, count, 1, {a.zero()}, [&](Value other, ValueRange carried) {
            Value weight =
                emitShiftedExp(lanes, a.loadVector(scores, other, row), after);
            if (!isTwice)
              a.store(scores, other, row, a.rounded(weight));
            return SmallVector<Value>{
                a.apply<arith::AddFOp>(carried[0], weight)};
          })[0];
      Value factor = emitShiftedExp(lanes, before, after);
      a.store(most, origin, row, after);
      a.store(factors, origin, row, factor);
      a.store(
          total, origin, row,
          a.apply<arith::AddFOp>(
              a.apply<arith::MulFOp>(a.loadVector(total, origin, row), factor),
              sum));
    });
    if (isTwice)
      return;
    lanes.loop(origin, lanes.i64(tiles.rows), 1, [&](Value row) {
      Value factor = lanes.splat(a.loadScalar(factors, origin, row));
      lanes.loop(origin, lanes.i64(tiles.widthPitch), tiles.lanes,
                 [&](Value column) {
                   a.store(sums, row, column,
                           a.apply<arith::MulFOp>(
                               a.loadVector(sums, row, column), factor));
                 });
    });
    a.pack(valueTile, a.value, firstKey, a.keys, tiles.others, a.width);
    a.addWeighted(sums, scores, valueTile, count);
  });
  if (isTwice) {
    lanes.loop(origin, lanes.i64(a.keys), tiles.others, [&](Value firstKey) {
      Value count = a.countRows(firstKey, tiles.others, a.keys);
      scoreTile(firstKey);
      a.overRows(a.queries, [&](Value row, LaneIndex i) {
        Value greatest = a.loadVector(most, origin, row),
              whole = a.loadVector(total, origin, row);
        lanes.loop(origin, count, 1, [&](Value other) {
          Value f = a.emitScore(i, lanes.index(lanes.add(firstKey, other)),
                                a.loadVector(scores, other, row));
          Value weight =
              a.apply<arith::DivFOp>(emitShiftedExp(lanes, f, greatest), whole);
          a.store(scores, other, row, a.rounded(weight));
        });
      });
      a.pack(valueTile, a.value, firstKey, a.keys, tiles.others, a.width);
      a.addWeighted(sums, scores, valueTile, count);
    });
  } else {
    lanes.loop(origin, lanes.i64(tiles.rows), 1, [&](Value row) {
      Value whole = lanes.splat(a.loadScalar(total, origin, row));
      lanes.loop(
          origin, lanes.i64(tiles.widthPitch), tiles.lanes, [&](Value column) {
            a.store(
                sums, row, column,
                a.apply<arith::DivFOp>(a.loadVector(sums, row, column), whole));
          });
    });
  }
  if (std::optional<Buffer> output = a.getOutput(op.getResult()))
    a.write(a.view(*output, op.getResultMap(), a.queries, a.width), sums,
            a.queries, a.width);
  a.overRows(a.queries, [&](Value row, LaneIndex i) {
    for (auto [result, tile] :
         {std::pair(op.getMost(), most), std::pair(op.getTotal(), total)})
      if (std::optional<Buffer> output = a.getOutput(result))
        lanes.store(*output, a.point({i}), a.loadVector(tile, origin, row));
  });
}

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

class GradEmitter : public AttentionEmitter {
public:
  GradEmitter(KernelFrame &frame, tds::AttentionGradOp op)
      : AttentionEmitter(frame, op), op(op), slope(&op.getSlope().front()) {
    result = view(*frame.body.getBuffer(op.getResult()), op.getResultMap(),
                  queries, width);
    adjoint = view(*frame.body.getBuffer(op.getAdjoint()), op.getResultMap(),
                   queries, width);
    most = *frame.body.getBuffer(op.getMost());
    total = *frame.body.getBuffer(op.getTotal());
  }
  void emitQueries(Value item);
  void emitKeys(Value item);

private:
  /// The weight of queries and keys, and the adjoint of their score.
  std::pair<Value, Value> getPair(const LaneIndex &i, const LaneIndex &j,
                                  Value s, Value product, Value greatest,
                                  Value whole, Value delta) {
    Value f = emitScore(i, j, s);
    Value w =
        apply<arith::DivFOp>(exp(apply<arith::SubFOp>(f, greatest)), whole);
    Value share = emitShare(lanes, w, apply<arith::SubFOp>(product, delta));
    Value g =
        lanes.splat(frame.body.evaluate(slope, point({i, j}), {s, share}));
    return {rounded(w), roundsSlopes ? rounded(g) : g};
  }
  void writeGradient(unsigned number, const Tile &sums, int64_t rows,
                     int64_t columns) {
    if (std::optional<Buffer> output = getOutput(op.getGradient(number)))
      write(view(*output, op.getGradMap(number), rows, columns), sums, rows,
            columns);
  }

  tds::AttentionGradOp op;
  Block *slope;
  Buffer result, adjoint, most, total;
};

void GradEmitter::emitQueries(Value item) {
  enter(item, queries);
  Value origin = lanes.i64(0);
  Tile queryTile = makeTile(depth, tiles.rows),
       adjointTile = makeTile(width, tiles.rows),
       sums = makeTile(tiles.rows, tiles.depthPitch),
       keyTile = makeTile(tiles.others, tiles.depthPitch),
       valueTile = makeTile(tiles.others, tiles.widthPitch),
       scores = makeTile(tiles.others, tiles.rows),
       products = makeTile(tiles.others, tiles.rows),
       deltas = makeTile(1, tiles.rows);
  packTransposed(queryTile, query, queries, depth);
  packTransposed(adjointTile, adjoint, queries, width);
  computeDeltas(deltas, adjoint, result, first, tiles.rows);
  clear(sums, tiles.rows);
  lanes.loop(origin, lanes.i64(keys), tiles.others, [&](Value firstKey) {
    Value count = countRows(firstKey, tiles.others, keys);
    pack(keyTile, key, firstKey, keys, tiles.others, depth);
    pack(valueTile, value, firstKey, keys, tiles.others, width);
    multiplyScores(scores, keyTile, queryTile, depth);
    multiplyScores(products, valueTile, adjointTile, width);
    overRows(queries, [&](Value row, LaneIndex i) {
      Value greatest = lanes.splat(lanes.load(most, point({i}))),
            whole = lanes.splat(lanes.load(total, point({i}))),
            delta = loadVector(deltas, origin, row);
      lanes.loop(origin, count, 1, [&](Value other) {
        auto [w, g] =
            getPair(i, lanes.index(lanes.add(firstKey, other)),
                    loadVector(scores, other, row),
                    loadVector(products, other, row), greatest, whole, delta);
        store(scores, other, row, g);
      });
    });
    addWeighted(sums, scores, keyTile, count);
  });
  writeGradient(0, sums, queries, depth);
}

void GradEmitter::emitKeys(Value item) {
  enter(item, keys);
  Value origin = lanes.i64(0);
  Tile keyTile = makeTile(depth, tiles.rows),
       valueTile = makeTile(width, tiles.rows),
       keySums = makeTile(tiles.rows, tiles.depthPitch),
       valueSums = makeTile(tiles.rows, tiles.widthPitch),
       queryTile = makeTile(tiles.others, tiles.depthPitch),
       adjointTile = makeTile(tiles.others, tiles.widthPitch),
       scores = makeTile(tiles.others, tiles.rows),
       products = makeTile(tiles.others, tiles.rows),
       deltas = makeTile(1, tiles.others);
  packTransposed(keyTile, key, keys, depth);
  packTransposed(valueTile, value, keys, width);
  clear(keySums, tiles.rows);
  clear(valueSums, tiles.rows);
  lanes.loop(origin, lanes.i64(queries), tiles.others, [&](Value firstQuery) {
    Value count = countRows(firstQuery, tiles.others, queries);
    pack(queryTile, query, firstQuery, queries, tiles.others, depth);
    pack(adjointTile, adjoint, firstQuery, queries, tiles.others, width);
    computeDeltas(deltas, adjoint, result, firstQuery, tiles.others);
    multiplyScores(scores, queryTile, keyTile, depth);
    multiplyScores(products, adjointTile, valueTile, width);
    lanes.loop(origin, count, 1, [&](Value other) {
      LaneIndex i = lanes.index(lanes.add(firstQuery, other));
      Value greatest = lanes.splat(lanes.load(most, point({i}))),
            whole = lanes.splat(lanes.load(total, point({i}))),
            delta = lanes.splat(loadScalar(deltas, origin, other));
      overRows(keys, [&](Value row, LaneIndex j) {
        auto [w, g] =
            getPair(i, j, loadVector(scores, other, row),
                    loadVector(products, other, row), greatest, whole, delta);
        store(scores, other, row, g);
        store(products, other, row, w);
      });
    });
    addWeighted(keySums, scores, queryTile, count);
    addWeighted(valueSums, products, adjointTile, count);
  });
  writeGradient(1, keySums, keys, depth);
  writeGradient(2, valueSums, keys, width);
}

} // namespace

LogicalResult cpu::emitAttention(KernelFrame &frame) {
  tds::KernelOp kernel = frame.kernel.kernel;
  auto op = *kernel.getBlock()->getOps<tds::AttentionOp>().begin();
  AttentionEmitter emitter(frame, op);
  frame.lanes.loop(frame.first, frame.last, 1,
                   [&](Value item) { emitForward(emitter, op, item); });
  return success();
}

LogicalResult cpu::emitAttentionGrad(KernelFrame &frame) {
  tds::KernelOp kernel = frame.kernel.kernel;
  auto op = *kernel.getBlock()->getOps<tds::AttentionGradOp>().begin();
  GradEmitter emitter(frame, op);
  LaneBuilder &lanes = frame.lanes;
  Value numQueries = lanes.i64(emitter.tiles.queryItems);
  lanes.loop(frame.first, lanes.minS(frame.last, numQueries), 1,
             [&](Value item) { emitter.emitQueries(item); });
  Value begin =
      arith::MaxSIOp::create(lanes.builder, lanes.loc, frame.first, numQueries);
  lanes.loop(begin, frame.last, 1, [&](Value item) {
    emitter.emitKeys(lanes.sub(item, numQueries));
  });
  return success();
}
