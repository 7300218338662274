//===- Arena.h - offsets for buffers by their lifetimes -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_PLANNING_ARENA_H
#define TDSL_PLANNING_ARENA_H

#include "llvm/ADT/ArrayRef.h"

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

} // namespace tdsl

#endif // TDSL_PLANNING_ARENA_H
