//===- BufferWriters.h - who wrote what last -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_REPORT_BUFFERWRITERS_H
#define TDSL_LIB_REPORT_BUFFERWRITERS_H

#include "tdsl/Dialect/Plan/PlanOps.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace tdsl::report {

/// Which launch wrote a piece of memory last, as commands are gone through in
/// their order. Memory of the arena is used again and again, so a fill, which
/// is no launch, counts too; what a copy writes is the work of the launch that
/// wrote what it reads.
class BufferWriters {
public:
  /// Adds a command that is no loop; `launch` is its number if it is a launch.
  void add(mlir::Operation &command, unsigned launch);

  /// Adds the commands of a loop, and those of loops in it. Launches are
  /// numbered from `launch` on, which becomes the next number.
  void addLoop(plan::LoopOp loop, unsigned &launch);

  /// The launch that wrote last what lies in `buffer`. What was written before
  /// `since`, a size, does not count.
  std::optional<unsigned> find(plan::BufferAttr buffer, size_t since = 0) const;

  /// How many writes there were.
  size_t size() const { return numWrites; }

private:
  struct Write {
    plan::BufferAttr buffer;
    std::optional<unsigned> launch;
    size_t time = 0;
  };
  void write(plan::BufferAttr buffer, std::optional<unsigned> launch);

  llvm::DenseMap<std::pair<int, int64_t>, llvm::SmallVector<Write>> writes;
  size_t numWrites = 0;
};

} // namespace tdsl::report

#endif // TDSL_LIB_REPORT_BUFFERWRITERS_H
