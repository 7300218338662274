//===- EmitAttention.cpp - attention without a tensor of scores -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block computes `tile` queries of one point of the batch and goes over the
// keys, `tile` at a time, which lie in shared memory with their values. Some
// neighbouring threads share a query: each has every so-manieth key of its
// scores, and column of its result. The maximum and the sum of a row are kept
// up as keys come by (online softmax, Milakov and Gimelshein 2018,
// arXiv:1805.02867; Dao et al. 2022, arXiv:2205.14135), and what is summed so
// far is scaled when the maximum grows.
//
// The derivative is two kinds of blocks in one launch. The first ones go over
// the keys for some queries, and sum the queries' gradient; the others go over
// the queries for some keys, and sum the gradients of keys and values. Both
// compute the weights again. No sum is shared by two blocks, so the order of
// its terms is always the same.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

#include "tdsl/Target/Common/AttentionViews.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::gpu;
using target::Buffer;
using target::LaneIndex;

namespace tdsl::gpu {

/// A tile of rows in shared memory. Rows are a place longer than they need to
/// be: threads that read one column of neighbouring rows then meet in no bank.
struct SharedRows {
  Value base;
  int64_t pitch;
};

/// What the emitters of an attention and of its derivative share.
class AttentionEmitter {
public:
  template <typename Op>
  AttentionEmitter(KernelEmitter &emitter, Op op)
      : e(emitter), lanes(emitter.lanes), builder(emitter.builder),
        loc(emitter.loc), compute(op.getComputeType()),
        queries(op.getNumQueries()), keys(op.getNumKeys()),
        depth(op.getDepth()), width(op.getWidth()), extents(op.getBatch()),
        tile(emitter.getInt("tile")),
        threads(emitter.getArray("block")[0] / emitter.getInt("tile")),
        score(&op.getScore().front()), band(tds::getBand(op)) {
    thread = e.getThread();
    row = lanes.divU(thread, threads);
    column = lanes.remU(thread, threads);
    roundsSlopes = op.getNarrowFactors();
    narrow =
        op.getNarrowWeights() || roundsSlopes
            ? cast<RankedTensorType>(op.getValue().getType()).getElementType()
            : compute;
    isTwice = op.getNarrowWeights() && narrow != compute;
    query = view(op.getQuery(), op.getQueryMap(), queries, depth);
    key = view(op.getKey(), op.getKeyMap(), keys, depth);
    value = view(op.getValue(), op.getValueMap(), keys, width);
  }

  Buffer view(Value tensor, AffineMap map, int64_t rows, int64_t columns) {
    return view(*e.body.getBuffer(tensor), map, rows, columns);
  }
  Buffer view(const Buffer &buffer, AffineMap map, int64_t rows,
              int64_t columns) {
    SmallVector<int64_t> all(extents);
    all.append({rows, columns});
    return target::viewThrough(lanes, buffer, map, all);
  }
  /// Where the kernel writes `result`; null where it does not.
  const Buffer *getOutput(Value result) {
    auto yielded = e.kernel.getBlock()->getTerminator()->getOperands();
    auto it = llvm::find(yielded, result);
    return it == yielded.end() ? nullptr
                               : &e.outputs[std::distance(yielded.begin(), it)];
  }

  /// Begins the tile with this number among those of the batch and `count`
  /// rows.
  void enter(Value number, int64_t count) {
    int64_t tiles = llvm::divideCeil(count, tile);
    first = lanes.mul(lanes.remU(number, tiles), lanes.i64(tile));
    batch = lanes.delinearize(lanes.divU(number, tiles), extents);
    at = lanes.add(first, row);
    isReal = e.lessThan(at, lanes.i64(count));
    real = lanes.minS(at, lanes.i64(count - 1));
  }

  SmallVector<LaneIndex> point(Value atRow, Value atColumn) {
    SmallVector<LaneIndex> indices;
    for (Value index : batch)
      indices.push_back(lanes.index(index));
    indices.push_back(lanes.index(atRow));
    if (atColumn)
      indices.push_back(lanes.index(atColumn));
    return indices;
  }

  /// Room for `tile` rows of `count` numbers.
  SharedRows makeRows(StringRef name, int64_t count) {
    return {e.createShared(name, compute, tile * (count + 1)), count + 1};
  }
  Value place(Value atRow, Value atColumn, const SharedRows &rows) {
    return lanes.add(lanes.mul(atRow, lanes.i64(rows.pitch)), atColumn);
  }
  Value load(const SharedRows &rows, Value atRow, Value atColumn) {
    return e.loadShared(rows.base, compute, place(atRow, atColumn, rows));
  }
  void store(const SharedRows &rows, Value atRow, Value atColumn, Value value) {
    e.storeShared(rows.base, value, place(atRow, atColumn, rows));
  }

  /// An element in the type of computation.
  Value loadWide(const Buffer &from, ArrayRef<LaneIndex> indices) {
    Value loaded = lanes.load(from, indices);
    return from.element == compute
               ? loaded
               : target::emitElementCast(lanes, loaded, from.element, compute);
  }
  void storeNarrow(const Buffer &to, ArrayRef<LaneIndex> indices, Value value) {
    lanes.store(to, indices,
                to.element == compute ? value
                                      : target::emitElementCast(
                                            lanes, value, compute, to.element));
  }
  Value rounded(Value weight) {
    if (narrow == compute)
      return weight;
    Value value = target::emitElementCast(lanes, weight, compute, narrow);
    return target::emitElementCast(lanes, value, narrow, compute);
  }

  /// Fills a tile with the rows from `begin` on of `from`, which has `count`;
  /// rows behind the last are 0. The threads walk along memory.
  void stage(const SharedRows &into, const Buffer &from, Value begin,
             int64_t count, int64_t columns) {
    int64_t size = tile * columns, numThreads = e.getArray("block")[0];
    size_t rank = from.strides.size();
    bool byRows = from.strides[rank - 1] != 1 && from.strides[rank - 2] == 1;
    lanes.loop(thread, lanes.i64(size), numThreads, [&](Value number) {
      Value r = byRows ? lanes.remU(number, tile) : lanes.divU(number, columns);
      Value c = byRows ? lanes.divU(number, tile) : lanes.remU(number, columns);
      Value source = lanes.add(begin, r);
      Value isInside = e.lessThan(source, lanes.i64(count));
      Value loaded =
          loadWide(from, point(lanes.minS(source, lanes.i64(count - 1)), c));
      store(into, r, c,
            arith::SelectOp::create(builder, loc, isInside, loaded, zero()));
    });
  }

  Value zero() {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getZeroAttr(compute));
  }
  Value fma(Value x, Value y, Value sum) {
    return LLVM::FMAOp::create(builder, loc, x, y, sum);
  }
  /// The places 0, 1, … of this thread among `count`, as far as every thread
  /// has one (some of the last may be too many).
  SmallVector<Value> places(int64_t count) {
    SmallVector<Value> all;
    for (int64_t begin = 0; begin < count; begin += threads)
      all.push_back(lanes.add(column, lanes.i64(begin)));
    return all;
  }
  /// Products of this thread's row of `mine` with `others` of its tile.
  SmallVector<Value> multiply(const SharedRows &mine, const SharedRows &other,
                              ArrayRef<Value> others, int64_t count) {
    SmallVector<Value> sums(others.size(), zero());
    return lanes.loop(lanes.i64(0), lanes.i64(count), 1, sums,
                      [&](Value c, ValueRange carried) {
                        SmallVector<Value> next;
                        Value factor = load(mine, row, c);
                        for (auto [r, sum] : llvm::zip(others, carried))
                          next.push_back(fma(factor, load(other, r, c), sum));
                        return next;
                      });
  }
  /// Adds this thread's row of `weights` times the rows of `other` to `sums`,
  /// at the thread's places of `columns`.
  SmallVector<Value> accumulate(const SharedRows &weights,
                                const SharedRows &other, int64_t columns,
                                ValueRange sums) {
    SmallVector<Value> mine = places(columns);
    // The last place of a thread may lie behind the end of the row.
    for (Value &c : mine)
      c = lanes.minS(c, lanes.i64(columns - 1));
    return lanes.loop(lanes.i64(0), lanes.i64(tile), 1, sums,
                      [&](Value r, ValueRange carried) {
                        SmallVector<Value> next;
                        Value factor = load(weights, row, r);
                        for (auto [c, sum] : llvm::zip(mine, carried))
                          next.push_back(fma(factor, load(other, r, c), sum));
                        return next;
                      });
  }
  /// Writes this thread's places of its row.
  void write(const Buffer &to, int64_t columns, ValueRange values) {
    for (auto [i, c] : llvm::enumerate(places(columns))) {
      Value mine = arith::AndIOp::create(builder, loc, isReal,
                                         e.lessThan(c, lanes.i64(columns)));
      Value place = c, value = values[i];
      lanes.ifThen(mine, [&] { storeNarrow(to, point(at, place), value); });
    }
  }
  template <typename Merge> Value acrossRow(Value value, Merge merge) {
    for (int64_t mask = threads / 2; mask > 0; mask /= 2)
      value = merge(value, e.shuffleXor(value, mask));
    return value;
  }
  Value sumOfRow(Value value) {
    return acrossRow(value, [&](Value x, Value y) -> Value {
      return arith::AddFOp::create(builder, loc, x, y);
    });
  }
  /// A tensor whose rows are multiplied with weights: its columns, or one
  /// number a row where that is 0.
  struct Factor {
    const Buffer &buffer;
    int64_t columns;
  };
  /// The rows of the other side that the tile at hand has to go over: those
  /// that the mask leaves it, or all `count` if the factors outside are not
  /// finite. `scratch` has room for a number of each warp.
  target::RowRange getOthers(bool areKeys, int64_t count,
                             ArrayRef<Factor> factors,
                             const SharedRows &scratch) {
    if (!band)
      return {lanes.i64(0), lanes.i64(count)};
    target::BandRows rows(lanes, band, areKeys, first, tile, count, tile);
    Value sum = zero();
    auto addRows = [&](const target::RowRange &range, const Factor &factor) {
      int64_t columns = std::max<int64_t>(factor.columns, 1),
              numThreads = e.getArray("block")[0];
      Value from =
                lanes.add(lanes.mul(range.begin, lanes.i64(columns)), thread),
            to = lanes.mul(range.end, lanes.i64(columns));
      sum = lanes.loop(
          from, to, numThreads, {sum}, [&](Value number, ValueRange carried) {
            Value r = lanes.divU(number, columns);
            Value c =
                factor.columns == 0 ? Value() : lanes.remU(number, columns);
            return SmallVector<Value>{
                fma(loadWide(factor.buffer, point(r, c)), zero(), carried[0])};
          })[0];
    };
    for (const Factor &factor : factors)
      rows.forOutside(
          [&](const target::RowRange &range) { addRows(range, factor); });
    // The same answer for all threads: barriers stand in the loop.
    constexpr int64_t warp = 32;
    auto add = [&](Value x, Value y) -> Value {
      return arith::AddFOp::create(builder, loc, x, y);
    };
    for (int64_t mask = warp / 2; mask > 0; mask /= 2)
      sum = add(sum, e.shuffleXor(sum, mask));
    Value isFirst =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                              lanes.remU(thread, warp), lanes.i64(0));
    lanes.ifThen(isFirst, [&] {
      e.storeShared(scratch.base, sum, lanes.divU(thread, warp));
    });
    e.barrier();
    sum = zero();
    for (int64_t n = 0; n < e.getArray("block")[0] / warp; ++n)
      sum = add(sum, e.loadShared(scratch.base, compute, lanes.i64(n)));
    return rows.leaveOut(sum);
  }
  /// The score of a query and a key; `lowest` where one is behind the last.
  Value emitScore(Value i, Value j, Value s) {
    return e.body.evaluate(score, point(i, j), {s});
  }

  KernelEmitter &e;
  target::LaneBuilder &lanes;
  OpBuilder &builder;
  Location loc;
  Type compute, narrow;
  bool isTwice, roundsSlopes;
  int64_t queries, keys, depth, width;
  SmallVector<int64_t> extents;
  /// Rows of a tile, and threads that share a row.
  int64_t tile, threads;
  Block *score;
  tds::AttentionBand band;
  Value thread, row, column;
  Buffer query, key, value;
  // Of the tile at hand: its first row, the thread's row (and one that there
  // is), and the point of the batch.
  Value first, at, real, isReal;
  SmallVector<Value> batch;
};

} // namespace tdsl::gpu

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

void KernelEmitter::emitAttention() {
  auto op = *kernel.getBlock()->getOps<tds::AttentionOp>().begin();
  AttentionEmitter a(*this, op);
  a.enter(getBlock(), a.queries);
  SharedRows queryRows = a.makeRows("queries", a.depth),
             keyRows = a.makeRows("keys", a.depth),
             valueRows = a.makeRows("values", a.width),
             weightRows = a.makeRows("weights", a.tile);
  a.stage(queryRows, a.query, a.first, a.queries, a.depth);
  SmallVector<Value> places = a.places(a.tile);
  target::RowRange others =
      a.getOthers(/*areKeys=*/true, a.keys, {{a.value, a.width}}, weightRows);

  /// The scores of this thread's keys of a tile, -inf behind the last key.
  auto getScores = [&](Value firstKey, SmallVectorImpl<Value> &inside) {
    SmallVector<Value> scores = a.multiply(queryRows, keyRows, places, a.depth);
    for (auto [place, s] : llvm::zip(places, scores)) {
      Value j = lanes.add(firstKey, place);
      inside.push_back(lessThan(j, lanes.i64(a.keys)));
      Value f = a.emitScore(a.real, lanes.minS(j, lanes.i64(a.keys - 1)), s);
      s = arith::SelectOp::create(builder, loc, inside.back(), f,
                                  target::createLowest(lanes, a.compute));
    }
    return scores;
  };
  auto putWeights = [&](ArrayRef<Value> weights) {
    for (auto [place, weight] : llvm::zip(places, weights))
      a.store(weightRows, a.row, place, weight);
    barrier();
  };
  auto multiply = [&](Value x, Value y) -> Value {
    return arith::MulFOp::create(builder, loc, x, y);
  };

  // Rounded weights must be known as such before they are multiplied: then a
  // second way over the keys makes the result.
  bool isTwice = a.isTwice;
  size_t numSums = a.places(a.width).size();
  SmallVector<Value> start{target::createLowest(lanes, a.compute), a.zero()};
  if (!isTwice)
    start.append(numSums, a.zero());
  SmallVector<Value> state = lanes.loop(
      others.begin, others.end, a.tile, start,
      [&](Value firstKey, ValueRange carried) {
        barrier(); // the tile before has been read
        a.stage(keyRows, a.key, firstKey, a.keys, a.depth);
        if (!isTwice)
          a.stage(valueRows, a.value, firstKey, a.keys, a.width);
        barrier();
        SmallVector<Value> inside, weights, next;
        SmallVector<Value> scores = getScores(firstKey, inside);
        Value most = carried[0];
        auto larger = [&](Value x, Value y) -> Value {
          return arith::MaximumFOp::create(builder, loc, x, y);
        };
        for (Value s : scores)
          most = larger(most, s);
        most = a.acrossRow(most, larger);
        Value sum = a.zero();
        for (auto [s, isInside] : llvm::zip(scores, inside)) {
          Value weight = arith::SelectOp::create(
              builder, loc, isInside, target::emitShiftedExp(lanes, s, most),
              a.zero());
          sum = arith::AddFOp::create(builder, loc, sum, weight);
          weights.push_back(weight);
        }
        Value factor = target::emitShiftedExp(lanes, carried[0], most);
        Value total = arith::AddFOp::create(
            builder, loc, multiply(carried[1], factor), a.sumOfRow(sum));
        next.append({most, total});
        if (isTwice)
          return next;
        for (Value &weight : weights)
          weight = a.rounded(weight);
        putWeights(weights);
        SmallVector<Value> sums;
        for (Value old : carried.drop_front(2))
          sums.push_back(multiply(old, factor));
        llvm::append_range(next,
                           a.accumulate(weightRows, valueRows, a.width, sums));
        return next;
      });
  Value most = state[0], total = state[1];
  SmallVector<Value> results;
  if (isTwice) {
    SmallVector<Value> zeros(numSums, a.zero());
    results = lanes.loop(
        others.begin, others.end, a.tile, zeros,
        [&](Value firstKey, ValueRange carried) {
          barrier();
          a.stage(keyRows, a.key, firstKey, a.keys, a.depth);
          a.stage(valueRows, a.value, firstKey, a.keys, a.width);
          barrier();
          SmallVector<Value> inside, weights;
          for (auto [s, isInside] :
               llvm::zip(getScores(firstKey, inside), inside)) {
            Value weight = a.rounded(arith::DivFOp::create(
                builder, loc, target::emitShiftedExp(lanes, s, most), total));
            weights.push_back(arith::SelectOp::create(builder, loc, isInside,
                                                      weight, a.zero()));
          }
          putWeights(weights);
          return a.accumulate(weightRows, valueRows, a.width, carried);
        });
  } else {
    for (Value sum : ValueRange(state).drop_front(2))
      results.push_back(arith::DivFOp::create(builder, loc, sum, total));
  }
  if (const Buffer *output = a.getOutput(op.getResult()))
    a.write(a.view(*output, op.getResultMap(), a.queries, a.width), a.width,
            results);
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        a.column, lanes.i64(0));
  lanes.ifThen(arith::AndIOp::create(builder, loc, a.isReal, isFirst), [&] {
    for (auto [result, statistic] :
         {std::pair(op.getMost(), most), std::pair(op.getTotal(), total)})
      if (const Buffer *output = a.getOutput(result))
        lanes.store(*output, a.point(a.at, {}), statistic);
  });
}

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

void KernelEmitter::emitAttentionGrad() {
  auto op = *kernel.getBlock()->getOps<tds::AttentionGradOp>().begin();
  AttentionEmitter a(*this, op);
  Block *slope = &op.getSlope().front();
  Buffer result = a.view(op.getResult(), op.getResultMap(), a.queries, a.width),
         adjoint =
             a.view(op.getAdjoint(), op.getResultMap(), a.queries, a.width);
  const Buffer &mostOf = *body.getBuffer(op.getMost()),
               &totalOf = *body.getBuffer(op.getTotal());
  SharedRows queryRows = a.makeRows("queries", a.depth),
             adjointRows = a.makeRows("adjoints", a.width),
             keyRows = a.makeRows("keys", a.depth),
             valueRows = a.makeRows("values", a.width),
             slopeRows = a.makeRows("slopes", a.tile),
             weightRows = a.makeRows("weights", a.tile);
  SmallVector<Value> places = a.places(a.tile);

  /// sum of adjoint * result of this thread's row of a staged tile, whose row
  /// in memory is `i`.
  auto getDelta = [&](Value i) {
    Value sum = lanes.loop(a.column, lanes.i64(a.width), a.threads, {a.zero()},
                           [&](Value c, ValueRange carried) {
                             Value product = target::emitShare(
                                 lanes, a.loadWide(result, a.point(i, c)),
                                 a.load(adjointRows, a.row, c));
                             return SmallVector<Value>{arith::AddFOp::create(
                                 builder, loc, carried[0], product)};
                           })[0];
    return a.sumOfRow(sum);
  };
  /// The weight of query i and key j, and the adjoint of their score; 0 where
  /// there are none.
  auto getPair = [&](Value i, Value j, Value isInside, Value s, Value product,
                     Value most, Value total, Value delta) {
    Value f = a.emitScore(i, j, s);
    Value shifted = arith::SubFOp::create(builder, loc, f, most);
    Value w = arith::DivFOp::create(
        builder, loc,
        scalarmath::emit(builder, loc, scalarmath::Unary::Exp, shifted,
                         lanes.options.math),
        total);
    Value t = arith::SubFOp::create(builder, loc, product, delta);
    Value g = body.evaluate(slope, a.point(i, j),
                            {s, target::emitShare(lanes, w, t)});
    auto orZero = [&](Value value) -> Value {
      return arith::SelectOp::create(builder, loc, isInside, value, a.zero());
    };
    return std::pair(orZero(a.rounded(w)),
                     orZero(a.roundsSlopes ? a.rounded(g) : g));
  };

  /// Puts the slopes and weights of this thread's pairs in their tiles. A loop:
  /// the bodies are long, and the code of one is that of all.
  auto overPlaces =
      [&](ArrayRef<Value> scores, ArrayRef<Value> products,
          function_ref<std::pair<Value, Value>(Value, Value, Value)> visit) {
        for (auto [place, s, product] : llvm::zip(places, scores, products)) {
          a.store(slopeRows, a.row, place, s);
          a.store(weightRows, a.row, place, product);
        }
        lanes.loop(a.column, lanes.i64(a.tile), a.threads, [&](Value place) {
          auto [w, g] = visit(place, a.load(slopeRows, a.row, place),
                              a.load(weightRows, a.row, place));
          a.store(slopeRows, a.row, place, g);
          a.store(weightRows, a.row, place, w);
        });
      };

  int64_t numQueryBlocks =
      target::getBatchSize(op) * int64_t(llvm::divideCeil(a.queries, a.tile));
  Value block = getBlock();
  Value isQueries = lessThan(block, lanes.i64(numQueryBlocks));
  lanes.ifThen(isQueries, [&] {
    a.enter(block, a.queries);
    a.stage(queryRows, a.query, a.first, a.queries, a.depth);
    a.stage(adjointRows, adjoint, a.first, a.queries, a.width);
    barrier();
    Value delta = getDelta(a.real);
    Value most = lanes.load(mostOf, a.point(a.real, {})),
          total = lanes.load(totalOf, a.point(a.real, {}));
    SmallVector<Value> sums(a.places(a.depth).size(), a.zero());
    target::RowRange others =
        a.getOthers(/*areKeys=*/true, a.keys, {{a.key, a.depth}}, weightRows);
    sums = lanes.loop(
        others.begin, others.end, a.tile, sums,
        [&](Value firstKey, ValueRange carried) {
          barrier();
          a.stage(keyRows, a.key, firstKey, a.keys, a.depth);
          a.stage(valueRows, a.value, firstKey, a.keys, a.width);
          barrier();
          SmallVector<Value> scores =
              a.multiply(queryRows, keyRows, places, a.depth);
          SmallVector<Value> products =
              a.multiply(adjointRows, valueRows, places, a.width);
          overPlaces(
              scores, products, [&](Value place, Value s, Value product) {
                Value j = lanes.add(firstKey, place);
                Value isInside = lessThan(j, lanes.i64(a.keys));
                return getPair(a.real, lanes.minS(j, lanes.i64(a.keys - 1)),
                               isInside, s, product, most, total, delta);
              });
          barrier();
          return a.accumulate(slopeRows, keyRows, a.depth, carried);
        });
    if (const Buffer *output = a.getOutput(op.getGradient(0)))
      a.write(a.view(*output, op.getGradMap(0), a.queries, a.depth), a.depth,
              sums);
  });
  Value isKeys = arith::XOrIOp::create(
      builder, loc, isQueries,
      arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true)));
  lanes.ifThen(isKeys, [&] {
    a.enter(lanes.sub(block, lanes.i64(numQueryBlocks)), a.keys);
    // A tile's queries have their numbers in shared memory: each thread needs
    // those of several.
    SharedRows numbers = a.makeRows("numbers", 3);
    a.stage(keyRows, a.key, a.first, a.keys, a.depth);
    a.stage(valueRows, a.value, a.first, a.keys, a.width);
    size_t numKeySums = a.places(a.depth).size();
    SmallVector<Value> sums(numKeySums + a.places(a.width).size(), a.zero());
    target::RowRange others = a.getOthers(
        /*areKeys=*/false, a.queries,
        {{a.query, a.depth}, {adjoint, a.width}, {mostOf, 0}, {totalOf, 0}},
        weightRows);
    sums = lanes.loop(
        others.begin, others.end, a.tile, sums,
        [&](Value firstQuery, ValueRange carried) {
          barrier();
          a.stage(queryRows, a.query, firstQuery, a.queries, a.depth);
          a.stage(adjointRows, adjoint, firstQuery, a.queries, a.width);
          barrier();
          // Here a row of the tile is a query.
          Value i = lanes.minS(lanes.add(firstQuery, a.row),
                               lanes.i64(a.queries - 1));
          Value delta = getDelta(i);
          Value isFirst = arith::CmpIOp::create(
              builder, loc, arith::CmpIPredicate::eq, a.column, lanes.i64(0));
          lanes.ifThen(isFirst, [&] {
            a.store(numbers, a.row, lanes.i64(0),
                    lanes.load(mostOf, a.point(i, {})));
            a.store(numbers, a.row, lanes.i64(1),
                    lanes.load(totalOf, a.point(i, {})));
            a.store(numbers, a.row, lanes.i64(2), delta);
          });
          barrier();
          SmallVector<Value> scores =
              a.multiply(keyRows, queryRows, places, a.depth);
          SmallVector<Value> products =
              a.multiply(valueRows, adjointRows, places, a.width);
          overPlaces(
              scores, products, [&](Value place, Value s, Value product) {
                Value other = lanes.add(firstQuery, place);
                Value isInside = lessThan(other, lanes.i64(a.queries));
                return getPair(lanes.minS(other, lanes.i64(a.queries - 1)),
                               a.real, isInside, s, product,
                               a.load(numbers, place, lanes.i64(0)),
                               a.load(numbers, place, lanes.i64(1)),
                               a.load(numbers, place, lanes.i64(2)));
              });
          barrier();
          SmallVector<Value> next = a.accumulate(
              slopeRows, queryRows, a.depth, carried.take_front(numKeySums));
          llvm::append_range(next,
                             a.accumulate(weightRows, adjointRows, a.width,
                                          carried.drop_front(numKeySums)));
          return next;
        });
    if (const Buffer *output = a.getOutput(op.getGradient(1)))
      a.write(a.view(*output, op.getGradMap(1), a.keys, a.depth), a.depth,
              ValueRange(sums).take_front(numKeySums));
    if (const Buffer *output = a.getOutput(op.getGradient(2)))
      a.write(a.view(*output, op.getGradMap(2), a.keys, a.width), a.width,
              ValueRange(sums).drop_front(numKeySums));
  });
}
