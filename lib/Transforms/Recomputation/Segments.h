//===- Segments.h - parts of a forward pass that are computed again -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_TRANSFORMS_RECOMPUTATION_SEGMENTS_H
#define TDSL_LIB_TRANSFORMS_RECOMPUTATION_SEGMENTS_H

#include "tdsl/Dialect/TDS/TDSOps.h"

#include "llvm/ADT/DenseSet.h"

namespace tdsl {

/// What is computed again together: neighbouring operations of a forward pass,
/// or a loop.
struct Segment {
  llvm::SmallVector<mlir::Operation *> ops;
  unsigned begin = 0, end = 0; ///< where they are in the forward pass
  int64_t bytes = 0;           ///< that need not be kept, in all iterations
  double work = 0;             ///< operations to compute them again
  /// Of a loop: how many iterations are computed again at a time; 0 for
  /// operations.
  int64_t tile = 0;
};

/// Bytes of a tensor.
int64_t getNumBytes(mlir::Value value);

/// Whether the results of an operation are in memory, and not made by those
/// that read them.
bool isStored(mlir::Operation *op);

/// Scalar operations of an operation on tensors, roughly.
double getWork(mlir::Operation *op);

/// Finds the segments of the forward pass of a block.
class SegmentFinder {
public:
  /// `roots` are what the forward pass ends in: losses, or what a loop carries
  /// and collects. What depends on `data` is an activation.
  SegmentFinder(mlir::Block &block, llvm::ArrayRef<mlir::Value> roots,
                mlir::ValueRange data);

  /// Finds the places to cut such that what crosses them (which is kept,
  /// `trips` times) and what the derivative of the largest segment needs is
  /// least.
  void cut(int64_t trips);
  /// Appends the segments between the cuts, but for the last one where the
  /// backward pass begins with it (`hasEnd`).
  void append(llvm::SmallVectorImpl<Segment> &segments, bool hasEnd,
              int64_t trips) const;

  /// The operations of the forward pass on activations, in order.
  llvm::ArrayRef<mlir::Operation *> getOps() const { return ops; }
  /// The bytes that the derivative of the block needs and which are no roots.
  int64_t getKept() const;
  /// The bytes that live at once with the cuts.
  int64_t getLeast() const { return least; }

private:
  struct Result {
    mlir::Value value;
    unsigned made, last; ///< the operations that make it, and read it last
    int64_t bytes;
    bool isKept = false; ///< the derivative needs it
  };

  void findActivations(mlir::Block &block, llvm::ArrayRef<mlir::Value> roots,
                       mlir::ValueRange data);
  void findKept(llvm::ArrayRef<mlir::Value> roots);
  void findPlaces();
  /// The bytes that cross the end of a segment, and those that its derivative
  /// needs besides, for each pair of places.
  void measure();

  llvm::SmallVector<mlir::Operation *> ops;
  llvm::DenseSet<mlir::Value> activations;
  llvm::SmallVector<Result> results;
  /// Where cuts may be: before the operations of these numbers.
  llvm::SmallVector<unsigned> places;
  llvm::SmallVector<llvm::SmallVector<std::pair<int64_t, int64_t>>> pairs;
  /// The ends of segments, by the numbers of places.
  llvm::SmallVector<unsigned> ends;
  int64_t least = 0;
};

/// How many iterations of a loop of the forward pass are best computed again at
/// a time, and the bytes that are then kept, where each iteration keeps
/// `inIteration` bytes beside what it carries. Nothing where the loop cannot be
/// made two loops, one in the other.
std::optional<std::pair<int64_t, int64_t>> chooseTile(tds::FoldOp fold,
                                                      int64_t inIteration);

/// Makes a loop of `tile` iterations in one of the others; its derivative keeps
/// what the outer one carries and runs the inner one again.
void tileLoop(tds::FoldOp fold, int64_t tile);

} // namespace tdsl

#endif // TDSL_LIB_TRANSFORMS_RECOMPUTATION_SEGMENTS_H
