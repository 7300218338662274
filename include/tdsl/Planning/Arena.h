//===- Arena.h - offsets for buffers by their lifetimes -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_PLANNING_ARENA_H
#define TDSL_PLANNING_ARENA_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace tdsl {

/// A buffer that must keep its bytes from point `first` to point `last` of a
/// program, both included.
struct LiveBuffer {
  int64_t bytes = 0;
  int64_t first = 0, last = 0;
  /// Set by allocateArena.
  int64_t offset = 0;
};

/// Gives every buffer an offset that is a multiple of `alignment`, so that no
/// two buffers that live at one point overlap, and returns the bytes of the
/// arena (a multiple of `alignment`). The same input gives the same offsets.
int64_t allocateArena(llvm::MutableArrayRef<LiveBuffer> buffers,
                      int64_t alignment);

/// The most bytes that live at one point, each buffer rounded up to
/// `alignment`: no arena is smaller.
int64_t getLivenessBound(llvm::ArrayRef<LiveBuffer> buffers, int64_t alignment);

/// Memory beside the arena that is free from point `first` on.
struct FreeRange {
  int64_t offset = 0, bytes = 0, first = 0;
};

/// Takes buffers out of the arena into `ranges` where that lowers the most
/// bytes that live at one point: of those that live there the largest one that
/// a range has room for, and again, until none has. Only buffers of `mayMove`
/// are taken. Gives for each buffer its offset, or -1 where it stays.
llvm::SmallVector<int64_t> placeBeside(llvm::ArrayRef<LiveBuffer> buffers,
                                       llvm::ArrayRef<bool> mayMove,
                                       llvm::ArrayRef<FreeRange> ranges,
                                       int64_t alignment);

} // namespace tdsl

#endif // TDSL_PLANNING_ARENA_H
