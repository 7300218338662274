//===- AttentionTiles.h - the scratch of an attention kernel -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_LIB_TARGET_CPU_ATTENTIONTILES_H
#define TDSL_LIB_TARGET_CPU_ATTENTIONTILES_H

#include "tdsl/Dialect/TDS/TDSOps.h"

#include "llvm/Support/MathExtras.h"

namespace tdsl::cpu {

/// How the kernels of tds.attention and tds.attention_grad are cut. A work item
/// has `rows` queries (or keys, for their gradients), one a lane of some
/// vectors, and goes over the others `others` at a time. All sizes depend on
/// the operation alone.
struct AttentionTiles {
  /// Lanes of a vector; rows of an item and of the tiles that come by.
  int64_t lanes = 16, rows = 32, others = 64;
  /// Length of a row with `depth` and `width` numbers, in whole vectors.
  int64_t depthPitch = 0, widthPitch = 0;
  /// Items that go over the keys, and (of a derivative) over the queries.
  int64_t queryItems = 0, keyItems = 0;
  int64_t elementBytes = 4;
  int64_t scratchBytes = 0;

  template <typename Op> static AttentionTiles get(Op op) {
    AttentionTiles tiles;
    tiles.elementBytes = tds::getElementBytes(op.getComputeType());
    tiles.lanes = tiles.elementBytes == 8 ? 8 : 16;
    constexpr bool isGrad = std::is_same_v<Op, tds::AttentionGradOp>;
    int64_t longest = isGrad ? std::max(op.getNumQueries(), op.getNumKeys())
                             : op.getNumQueries(),
            other = isGrad ? longest : op.getNumKeys();
    tiles.rows = std::min<int64_t>(
        32, llvm::alignTo(longest, static_cast<uint64_t>(tiles.lanes)));
    tiles.others = std::min<int64_t>(64, llvm::alignTo(other, 4));
    tiles.depthPitch = llvm::alignTo(op.getDepth(), tiles.lanes);
    tiles.widthPitch = llvm::alignTo(op.getWidth(), tiles.lanes);
    int64_t batch = 1;
    for (int64_t extent : op.getBatch())
      batch *= extent;
    tiles.queryItems =
        batch * int64_t(llvm::divideCeil(op.getNumQueries(), tiles.rows));
    if (isGrad)
      tiles.keyItems =
          batch * int64_t(llvm::divideCeil(op.getNumKeys(), tiles.rows));
    // Transposed rows, their sums, the tiles that come by, scores and weights,
    // and numbers of the rows; the derivative by keys and values has most.
    int64_t pitch = tiles.depthPitch + tiles.widthPitch;
    tiles.scratchBytes =
        tiles.elementBytes *
        (tiles.rows * 2 * pitch + tiles.others * (pitch + 2 * tiles.rows) +
         3 * std::max(tiles.rows, tiles.others) + 16 * tiles.lanes);
    return tiles;
  }
};

} // namespace tdsl::cpu

#endif // TDSL_LIB_TARGET_CPU_ATTENTIONTILES_H
