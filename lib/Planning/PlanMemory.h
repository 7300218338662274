//===- PlanMemory.h - which value lies where, for the checker -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory is a map from ranges of bytes to the value that lies there, and the
// place in that value where the range begins.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_PLANNING_PLANMEMORY_H
#define TDSL_LIB_PLANNING_PLANMEMORY_H

#include "tdsl/Dialect/Plan/PlanOps.h"

#include <map>
#include <optional>
#include <vector>

namespace tdsl::plan {

/// What a range of bytes holds: a value, or one byte all over, or nothing
/// known.
struct Content {
  mlir::Value value;
  std::optional<uint8_t> byte;
  /// Where the range begins in the value.
  int64_t begin = 0;
  /// The command that wrote it, or null.
  mlir::Operation *writer = nullptr;
};

/// A range that moves from one iteration to the next is a memory of its own:
/// that of the iteration that is replayed.
struct MovingPlace {
  BufferAttr buffer;
  Content content;
};

class Memory {
public:
  void write(BufferAttr buffer, Content content);

  /// What a buffer holds besides: of two stacks of which one begins a place
  /// behind the other both are in most places.
  void add(BufferAttr buffer, Content content);
  bool holdsBesides(BufferAttr buffer, mlir::Value value) const;

  /// The content of the whole buffer, or nothing where it is not of one piece.
  std::optional<Content> read(BufferAttr buffer);

  /// The command that last wrote a byte of the buffer which is not `value`'s.
  mlir::Operation *findOtherWriter(BufferAttr buffer, mlir::Value value);

  /// Nothing is known of the buffer any more.
  void forget(BufferAttr buffer);

  std::vector<MovingPlace> moving;
  /// What ranges that do not move hold besides.
  std::vector<MovingPlace> others;

private:
  struct Range {
    int64_t end;
    Content content;
  };
  using Ranges = std::map<int64_t, Range>;

  Ranges &getSpace(BufferAttr buffer) {
    return spaces[{static_cast<int>(buffer.getSpace()), buffer.getIndex()}];
  }
  static void splitAt(Ranges &space, int64_t at);

  std::map<std::pair<int, int64_t>, Ranges> spaces;
};

} // namespace tdsl::plan

#endif // TDSL_LIB_PLANNING_PLANMEMORY_H
