//===- EmitAttentionGrad.cpp - the derivative of attention -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionEmitter.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::cpu;
using namespace tdsl::target;

namespace {

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

} // namespace

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
  RowRange others = getOthers(/*areKeys=*/true, keys, {{key, depth}});
  lanes.loop(others.begin, others.end, tiles.others, [&](Value firstKey) {
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
  RowRange others = getOthers(
      /*areKeys=*/false, queries,
      {{query, depth}, {adjoint, width}, {most, 0}, {total, 0}});
  lanes.loop(others.begin, others.end, tiles.others, [&](Value firstQuery) {
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
