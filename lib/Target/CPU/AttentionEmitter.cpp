//===- AttentionEmitter.cpp - tiles of attention -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionEmitter.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::cpu;
using namespace tdsl::target;

Buffer AttentionEmitter::view(const Buffer &buffer, AffineMap map, int64_t rows,
                              int64_t columns) {
  SmallVector<int64_t> all(extents);
  all.append({rows, columns});
  return viewThrough(lanes, buffer, map, all);
}

std::optional<Buffer> AttentionEmitter::getOutput(Value result) {
  tds::KernelOp kernel = frame.kernel.kernel;
  auto yielded = kernel.getBlock()->getTerminator()->getOperands();
  auto it = llvm::find(yielded, result);
  if (it == yielded.end())
    return std::nullopt;
  return frame.outputBuffer(std::distance(yielded.begin(), it));
}

void AttentionEmitter::enter(Value number, int64_t count) {
  int64_t perPoint = llvm::divideCeil(count, tiles.rows);
  first = lanes.mul(lanes.remU(number, perPoint), lanes.i64(tiles.rows));
  batch = lanes.delinearize(lanes.divU(number, perPoint), extents);
  used = 0;
}

Tile AttentionEmitter::makeTile(int64_t rows, int64_t pitch) {
  Tile tile{frame.scratchAt(used), pitch};
  used += llvm::alignTo(rows * pitch, tiles.lanes) * tiles.elementBytes;
  assert(used <= tiles.scratchBytes && "too little scratch was planned");
  return tile;
}

SmallVector<LaneIndex> AttentionEmitter::point(ArrayRef<LaneIndex> rest) {
  SmallVector<LaneIndex> indices;
  for (Value index : batch)
    indices.push_back(lanes.index(index));
  llvm::append_range(indices, rest);
  return indices;
}

Value AttentionEmitter::clampRow(Value begin, Value row, int64_t count) {
  return lanes.minS(lanes.add(begin, row), lanes.i64(count - 1));
}

Value AttentionEmitter::countRows(Value begin, int64_t size, int64_t count) {
  return lanes.minS(lanes.i64(size), lanes.sub(lanes.i64(count), begin));
}

RowRange AttentionEmitter::getOthers(bool areKeys, int64_t count,
                                     ArrayRef<Factor> factors) {
  if (!band)
    return {lanes.i64(0), lanes.i64(count)};
  BandRows rows(lanes, band, areKeys, first, tiles.rows, count, tiles.others);
  Value sum = zero();
  auto addRow = [&](const Factor &factor, Value row, Value sum) -> Value {
    if (factor.columns == 0)
      return LLVM::FMAOp::create(
          builder, loc,
          lanes.splat(wide(lanes.load(factor.buffer, point({lanes.index(row)})),
                           factor.buffer.element)),
          zero(), sum);
    auto add = [&](Value column, Value mask, Value before) -> Value {
      return LLVM::FMAOp::create(builder, loc,
                                 loadLanes(factor.buffer, row, column, mask),
                                 zero(), before);
    };
    int64_t whole = factor.columns / tiles.lanes * tiles.lanes;
    sum = lanes.loop(lanes.i64(0), lanes.i64(whole), tiles.lanes, {sum},
                     [&](Value column, ValueRange carried) {
                       return SmallVector<Value>{add(column, {}, carried[0])};
                     })[0];
    if (whole == factor.columns)
      return sum;
    Value mask = lanes.maskBelow(lanes.i64(factor.columns - whole));
    lanes.setLanes(tiles.lanes, mask, factor.columns - whole);
    sum = add(lanes.i64(whole), mask, sum);
    lanes.setLanes(tiles.lanes);
    return sum;
  };
  for (const Factor &factor : factors)
    rows.forOutside([&](const RowRange &range) {
      sum = lanes.loop(
          range.begin, range.end, 1, {sum}, [&](Value row, ValueRange carried) {
            return SmallVector<Value>{addRow(factor, row, carried[0])};
          })[0];
    });
  while (isa<VectorType>(sum.getType()))
    sum = apply<arith::AddFOp>(lanes.half(sum, false), lanes.half(sum, true));
  return rows.leaveOut(sum);
}

Value AttentionEmitter::address(const Tile &tile, Value row, Value column) {
  return lanes.address(
      tile.base, compute,
      lanes.add(lanes.mul(row, lanes.i64(tile.pitch)), column));
}

Value AttentionEmitter::loadVector(const Tile &tile, Value row, Value column) {
  return LLVM::LoadOp::create(builder, loc, vectorType,
                              address(tile, row, column), tiles.elementBytes);
}

Value AttentionEmitter::loadScalar(const Tile &tile, Value row, Value column) {
  return LLVM::LoadOp::create(builder, loc, compute,
                              address(tile, row, column));
}

void AttentionEmitter::store(const Tile &tile, Value row, Value column,
                             Value stored) {
  LLVM::StoreOp::create(builder, loc, stored, address(tile, row, column),
                        tiles.elementBytes);
}

Value AttentionEmitter::zero() {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getZeroAttr(vectorType));
}

Value AttentionEmitter::wide(Value loaded, Type element) {
  return element == compute ? loaded
                            : emitElementCast(lanes, loaded, element, compute);
}

Value AttentionEmitter::rounded(Value weight) {
  if (narrow == compute)
    return weight;
  return emitElementCast(lanes, emitElementCast(lanes, weight, compute, narrow),
                         narrow, compute);
}

Value AttentionEmitter::loadLanes(const Buffer &from, Value row, Value column,
                                  Value mask) {
  Value loaded =
      wide(lanes.splat(lanes.load(
               from, point({lanes.index(row), lanes.consecutive(column)}))),
           from.element);
  return mask ? arith::SelectOp::create(builder, loc, mask, loaded, zero())
                    .getResult()
              : loaded;
}

void AttentionEmitter::pack(const Tile &into, const Buffer &from, Value begin,
                            int64_t count, int64_t size, int64_t columns) {
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

void AttentionEmitter::packTransposed(const Tile &into, const Buffer &from,
                                      int64_t count, int64_t columns) {
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

void AttentionEmitter::clear(const Tile &tile, int64_t rows) {
  lanes.loop(lanes.i64(0), lanes.i64(rows * tile.pitch), tiles.lanes,
             [&](Value at) { store(tile, lanes.i64(0), at, zero()); });
}

void AttentionEmitter::write(const Buffer &to, const Tile &from, int64_t count,
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

void AttentionEmitter::multiply(const Tile &into, Value a, int64_t rowStep,
                                int64_t termStep, const Tile &b, int64_t rows,
                                int64_t columns, Value terms, bool adds) {
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
                  Value factor = lanes.splat(LLVM::LoadOp::create(
                      builder, loc, compute, lanes.address(a, compute, place)));
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

void AttentionEmitter::multiplyScores(const Tile &into, const Tile &others,
                                      const Tile &transposed, int64_t terms) {
  multiply(into, others.base, others.pitch, 1, transposed, tiles.others,
           tiles.rows, lanes.i64(terms), /*adds=*/false);
}

void AttentionEmitter::addWeighted(const Tile &into, const Tile &weights,
                                   const Tile &others, Value count) {
  multiply(into, weights.base, 1, weights.pitch, others, tiles.rows, into.pitch,
           count, /*adds=*/true);
}

void AttentionEmitter::overRows(int64_t count,
                                function_ref<void(Value, LaneIndex)> visit) {
  lanes.loop(lanes.i64(0), lanes.i64(tiles.rows), tiles.lanes, [&](Value row) {
    Value at = lanes.add(first, row);
    if (count % tiles.rows != 0)
      lanes.setLanes(tiles.lanes,
                     lanes.maskBelow(lanes.sub(lanes.i64(count), at)));
    visit(row, lanes.consecutive(at));
    lanes.setLanes(tiles.lanes);
  });
}

Value AttentionEmitter::emitScore(const LaneIndex &i, const LaneIndex &j,
                                  Value s) {
  return lanes.splat(frame.body.evaluate(score, point({i, j}), {s}));
}

Value AttentionEmitter::exp(Value x) {
  return scalarmath::emit(builder, loc, scalarmath::Unary::Exp, x,
                          lanes.options.math);
}

void AttentionEmitter::computeDeltas(const Tile &into, const Buffer &adjoint,
                                     const Buffer &result, Value begin,
                                     int64_t size) {
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
                       return SmallVector<Value>{
                           apply<arith::AddFOp>(carried[0], term(column, {}))};
                     })[0];
    if (whole < width) {
      Value mask = lanes.maskBelow(lanes.i64(width - whole));
      lanes.setLanes(tiles.lanes, mask, width - whole);
      sum = apply<arith::AddFOp>(sum, term(lanes.i64(whole), mask));
      lanes.setLanes(tiles.lanes);
    }
    while (isa<VectorType>(sum.getType()))
      sum = apply<arith::AddFOp>(lanes.half(sum, false), lanes.half(sum, true));
    store(into, lanes.i64(0), row, sum);
  });
}

void AttentionEmitter::overColumns(int64_t columns,
                                   function_ref<void(Value, Value)> visit) {
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
