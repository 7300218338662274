//===- AttentionViews.h - the operands of an attention -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_TARGET_COMMON_ATTENTIONVIEWS_H
#define TDSL_TARGET_COMMON_ATTENTIONVIEWS_H

#include "tdsl/Dialect/TDS/AttentionBand.h"
#include "tdsl/Dialect/TDS/TDSOps.h"
#include "tdsl/Target/Common/LaneBuilder.h"

namespace tdsl::target {

/// `whole`, seen through a linear `map`: indexed by the map's dimensions, whose
/// extents are `extents`.
Buffer viewThrough(LaneBuilder &lanes, const Buffer &whole, mlir::AffineMap map,
                   llvm::ArrayRef<int64_t> extents);

/// The extents of the batch, and two more.
template <typename Op>
llvm::SmallVector<int64_t> withBatch(Op op, int64_t row, int64_t column) {
  llvm::SmallVector<int64_t> extents(op.getBatch());
  extents.append({row, column});
  return extents;
}

/// Number of points of the batch.
template <typename Op> int64_t getBatchSize(Op op) {
  int64_t size = 1;
  for (int64_t extent : op.getBatch())
    size *= extent;
  return size;
}

/// The largest number as it is needed before the first score: -inf.
mlir::Value createLowest(LaneBuilder &lanes, mlir::Type type);

/// exp(f - most), which is 0 where both are -inf because all scores so far
/// are; all values scalars or all vectors.
mlir::Value emitShiftedExp(LaneBuilder &lanes, mlir::Value f, mlir::Value most);

/// w * t, 0 where t is 0.
mlir::Value emitShare(LaneBuilder &lanes, mlir::Value w, mlir::Value t);

/// The rows from `begin` up to `end`, whole tiles but for the last one.
struct RowRange {
  mlir::Value begin, end;
};

/// The rows of one side of an attention that the mask leaves to a tile of the
/// other: keys for queries, or queries for keys.
class BandRows {
public:
  /// The tile has `tile` rows from `first` on; of the others there are `count`,
  /// which come by `step` at a time.
  BandRows(LaneBuilder &lanes, const tds::AttentionBand &band, bool areKeys,
           mlir::Value first, int64_t tile, int64_t count, int64_t step);

  const RowRange &getInside() const { return inside; }
  /// Visits the ranges of rows that are left out: before and behind, where the
  /// mask knows a bound.
  void forOutside(llvm::function_ref<void(const RowRange &)> visit) const;
  /// The rows inside where `sum`, that of the products of 0 with all that is
  /// multiplied with the weights outside, is 0; all rows where it is NaN, since
  /// those weights are 0 and not nothing.
  RowRange leaveOut(mlir::Value sum) const;

private:
  LaneBuilder &lanes;
  int64_t count;
  RowRange inside;
  bool hasBefore = false, hasBehind = false;
};

} // namespace tdsl::target

#endif // TDSL_TARGET_COMMON_ATTENTIONVIEWS_H
