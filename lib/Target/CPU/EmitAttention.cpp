//===- EmitAttention.cpp - attention forward -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionEmitter.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::cpu;
using namespace tdsl::target;

static void emitForward(AttentionEmitter &a, tds::AttentionOp op, Value item) {
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
  RowRange others = a.getOthers(/*areKeys=*/true, a.keys, {{a.value, a.width}});
  lanes.loop(others.begin, others.end, tiles.others, [&](Value firstKey) {
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
    lanes.loop(others.begin, others.end, tiles.others, [&](Value firstKey) {
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

LogicalResult cpu::emitAttention(KernelFrame &frame) {
  tds::KernelOp kernel = frame.kernel.kernel;
  auto op = *kernel.getBlock()->getOps<tds::AttentionOp>().begin();
  AttentionEmitter emitter(frame, op);
  frame.lanes.loop(frame.first, frame.last, 1,
                   [&](Value item) { emitForward(emitter, op, item); });
  return success();
}
