//===- AttentionEmitter.h - attention in cached tiles -*- C++ -*-===//
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

#ifndef TDSL_LIB_TARGET_CPU_ATTENTIONEMITTER_H
#define TDSL_LIB_TARGET_CPU_ATTENTIONEMITTER_H

#include "AttentionTiles.h"
#include "KernelFrame.h"

#include "tdsl/Target/Common/AttentionViews.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tdsl::cpu {

/// A matrix in the scratch memory.
struct Tile {
  mlir::Value base;
  int64_t pitch;
};

/// What attention and its derivative share: tiles and what is done with them.
class AttentionEmitter {
public:
  template <typename Op>
  AttentionEmitter(KernelFrame &frame, Op op)
      : frame(frame), lanes(frame.lanes), builder(lanes.builder),
        loc(lanes.loc), tiles(AttentionTiles::get(op)),
        compute(op.getComputeType()),
        vectorType(mlir::VectorType::get({tiles.lanes}, compute)),
        queries(op.getNumQueries()), keys(op.getNumKeys()),
        depth(op.getDepth()), width(op.getWidth()), extents(op.getBatch()),
        score(&op.getScore().front()), band(tds::getBand(op)) {
    roundsSlopes = op.getNarrowFactors();
    narrow = op.getNarrowWeights() || roundsSlopes
                 ? llvm::cast<mlir::RankedTensorType>(op.getValue().getType())
                       .getElementType()
                 : compute;
    isTwice = op.getNarrowWeights() && narrow != compute;
    query = view(*frame.body.getBuffer(op.getQuery()), op.getQueryMap(),
                 queries, depth);
    key = view(*frame.body.getBuffer(op.getKey()), op.getKeyMap(), keys, depth);
    value = view(*frame.body.getBuffer(op.getValue()), op.getValueMap(), keys,
                 width);
    lanes.setLanes(tiles.lanes);
  }

  target::Buffer view(const target::Buffer &buffer, mlir::AffineMap map,
                      int64_t rows, int64_t columns);
  /// Where the kernel writes `result`, or nothing.
  std::optional<target::Buffer> getOutput(mlir::Value result);

  //===--- items ---===//
  /// Begins the item with this number among those of the batch and `count`
  /// rows.
  void enter(mlir::Value number, int64_t count);
  Tile makeTile(int64_t rows, int64_t pitch);
  llvm::SmallVector<target::LaneIndex>
  point(llvm::ArrayRef<target::LaneIndex> rest);
  /// `begin + row`, and the last row where that is behind it.
  mlir::Value clampRow(mlir::Value begin, mlir::Value row, int64_t count);
  /// How many of `size` rows from `begin` on there are.
  mlir::Value countRows(mlir::Value begin, int64_t size, int64_t count);

  /// A tensor whose rows are multiplied with weights: its columns, or one
  /// number a row where that is 0.
  struct Factor {
    const target::Buffer &buffer;
    int64_t columns;
  };
  /// The rows of the other side that the item at hand has to go over: those
  /// that the mask leaves it, or all `count` if the factors outside are not
  /// finite.
  target::RowRange getOthers(bool areKeys, int64_t count,
                             llvm::ArrayRef<Factor> factors);

  //===--- scratch ---===//
  mlir::Value address(const Tile &tile, mlir::Value row, mlir::Value column);
  mlir::Value loadVector(const Tile &tile, mlir::Value row, mlir::Value column);
  mlir::Value loadScalar(const Tile &tile, mlir::Value row, mlir::Value column);
  void store(const Tile &tile, mlir::Value row, mlir::Value column,
             mlir::Value stored);
  mlir::Value zero();
  mlir::Value wide(mlir::Value loaded, mlir::Type element);
  mlir::Value rounded(mlir::Value weight);
  template <typename ArithOp> mlir::Value apply(mlir::Value x, mlir::Value y) {
    return ArithOp::create(builder, loc, x, y);
  }
  /// Visits the columns of a row, vector by vector; of the last one only the
  /// lanes inside count.
  void overColumns(int64_t columns,
                   llvm::function_ref<void(mlir::Value, mlir::Value)> visit);
  mlir::Value loadLanes(const target::Buffer &from, mlir::Value row,
                        mlir::Value column, mlir::Value mask);
  /// Copies `size` rows from `begin` on of `from`, which has `count`; behind
  /// the last row and column there are zeros.
  void pack(const Tile &into, const target::Buffer &from, mlir::Value begin,
            int64_t count, int64_t size, int64_t columns);
  /// The same with rows and columns exchanged.
  void packTransposed(const Tile &into, const target::Buffer &from,
                      int64_t count, int64_t columns);
  void clear(const Tile &tile, int64_t rows);
  /// Writes rows of sums to where they belong.
  void write(const target::Buffer &to, const Tile &from, int64_t count,
             int64_t columns);
  /// into[row][column] (+)= sum over k < terms of a[row, k] * b[k][column],
  /// where element (row, k) of `a` lies at row * rowStep + k * termStep.
  /// `rows` are fours.
  void multiply(const Tile &into, mlir::Value a, int64_t rowStep,
                int64_t termStep, const Tile &b, int64_t rows, int64_t columns,
                mlir::Value terms, bool adds);
  /// scores[other][row] of a tile of others and this item's rows.
  void multiplyScores(const Tile &into, const Tile &others,
                      const Tile &transposed, int64_t terms);
  /// sums[row][column] += weights[other][row] * others[other][column].
  void addWeighted(const Tile &into, const Tile &weights, const Tile &others,
                   mlir::Value count);
  /// Visits the vectors of this item's rows with the place in a tile and their
  /// indices; lanes behind row `count` do not count.
  void overRows(int64_t count,
                llvm::function_ref<void(mlir::Value, target::LaneIndex)> visit);
  /// The score of queries and keys, where one of both has lanes.
  mlir::Value emitScore(const target::LaneIndex &i, const target::LaneIndex &j,
                        mlir::Value s);
  mlir::Value exp(mlir::Value x);
  /// sum of adjoint * result for each of `size` rows from `begin` on.
  void computeDeltas(const Tile &into, const target::Buffer &adjoint,
                     const target::Buffer &result, mlir::Value begin,
                     int64_t size);

  KernelFrame &frame;
  target::LaneBuilder &lanes;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  AttentionTiles tiles;
  mlir::Type compute, narrow;
  bool isTwice, roundsSlopes;
  mlir::VectorType vectorType;
  int64_t queries, keys, depth, width;
  llvm::SmallVector<int64_t> extents;
  mlir::Block *score;
  tds::AttentionBand band;
  target::Buffer query, key, value;
  // Of the item at hand.
  mlir::Value first;
  llvm::SmallVector<mlir::Value> batch;
  int64_t used = 0;
};

} // namespace tdsl::cpu

#endif // TDSL_LIB_TARGET_CPU_ATTENTIONEMITTER_H
