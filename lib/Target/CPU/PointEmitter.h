//===- PointEmitter.h - loop and row kernels -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lanes run either along the last of the row extents ("parallel": serial
// reductions, every lane a result of its own) or along the last of the inner
// extents ("reduce": one row at a time, a reduction has an accumulator a lane
// and ends in a tree over the lanes). Either way the order of the terms depends
// on the schedule alone, not on work items or threads.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_TARGET_CPU_POINTEMITTER_H
#define TDSL_LIB_TARGET_CPU_POINTEMITTER_H

#include "KernelFrame.h"

namespace tdsl::cpu {

class PointEmitter {
public:
  PointEmitter(KernelFrame &frame, const target::PointKernel &point,
               unsigned width, bool lanesOnRows)
      : frame(frame), lanes(frame.lanes), body(frame.body), point(point),
        width(width), lanesOnRows(lanesOnRows) {}

  /// Merges the last `count` row (or inner) axes into one.
  void collapseRows(unsigned count) { mergedRows = count; }
  void collapseInner(unsigned count) { mergedInner = count; }
  /// Full parts, by position in the kernel's block, whose values a row keeps in
  /// scratch.
  void keepInScratch(mlir::ArrayRef<int64_t> positions);

  /// The loop over the work items.
  void emitItems(int64_t rowsPerItem, int64_t chunk);

  /// One row (reduce lanes) or the points `width` (parallel lanes) from `rows`
  /// on. `rows` has the full rank.
  void emitPoint(mlir::ArrayRef<target::LaneIndex> rows);

  /// Calls `emit` for the lanes of [low, high), a part of an axis of `extent`
  /// that begins at a multiple of the width; `mayEnd` tells whether high can be
  /// the extent.
  static void
  emitLaneRange(target::LaneBuilder &lanes, unsigned width, mlir::Value low,
                mlir::Value high, int64_t extent,
                llvm::function_ref<void(const target::LaneIndex &)> emit);

private:
  using Values = llvm::SmallVector<mlir::Value>;
  struct Kept {
    target::Buffer buffer;
    bool written = false;
  };

  void emitRowParts(unsigned level);
  void emitRound(mlir::ArrayRef<tds::GenericOp> reductions, bool outputs);
  Values emitNest(unsigned axis, mlir::ArrayRef<int64_t> extents,
                  llvm::SmallVectorImpl<target::LaneIndex> &inner,
                  Values carried, mlir::ArrayRef<tds::GenericOp> reductions,
                  bool outputs);
  Values emitInner(mlir::ArrayRef<target::LaneIndex> inner, Values carried,
                   mlir::ArrayRef<tds::GenericOp> reductions, bool outputs);
  void storeOutputs(bool full, mlir::ArrayRef<target::LaneIndex> indices);
  bool isFull(mlir::Value tensor) const;

  KernelFrame &frame;
  target::LaneBuilder &lanes;
  target::BodyEmitter &body;
  const target::PointKernel &point;
  unsigned width;
  bool lanesOnRows;
  unsigned mergedRows = 1, mergedInner = 1;
  llvm::DenseMap<mlir::Value, Kept> kept;
  llvm::SmallVector<target::LaneIndex> rowIndices;
};

} // namespace tdsl::cpu

#endif // TDSL_LIB_TARGET_CPU_POINTEMITTER_H
