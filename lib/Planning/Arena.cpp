//===- Arena.cpp - offsets for buffers by their lifetimes -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Offline best fit: buffers are placed one after the other, each in the
// smallest gap that it fits between the buffers already placed that live at a
// common point. The order matters; a few are tried and the smallest arena wins.
//
//===----------------------------------------------------------------------===//

#include "tdsl/Planning/Arena.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <limits>
#include <map>

using namespace llvm;
using namespace tdsl;

static int64_t alignUp(int64_t bytes, int64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// Places the buffers in this order; returns the bytes needed.
static int64_t place(MutableArrayRef<LiveBuffer> buffers,
                     ArrayRef<unsigned> order, int64_t alignment) {
  // By offset.
  SmallVector<unsigned> placed;
  int64_t size = 0;
  for (unsigned number : order) {
    LiveBuffer &buffer = buffers[number];
    int64_t bytes = alignUp(buffer.bytes, alignment);
    int64_t best = -1, bestGap = std::numeric_limits<int64_t>::max(), end = 0;
    for (unsigned other : placed) {
      const LiveBuffer &live = buffers[other];
      if (live.last < buffer.first || live.first > buffer.last)
        continue;
      int64_t gap = live.offset - end;
      if (gap >= bytes && gap < bestGap) {
        best = end;
        bestGap = gap;
      }
      end = std::max(end, live.offset + alignUp(live.bytes, alignment));
    }
    buffer.offset = best >= 0 ? best : end;
    size = std::max(size, buffer.offset + bytes);
    auto at =
        llvm::upper_bound(placed, number, [&](unsigned lhs, unsigned rhs) {
          return buffers[lhs].offset < buffers[rhs].offset;
        });
    placed.insert(at, number);
  }
  return size;
}

int64_t tdsl::allocateArena(MutableArrayRef<LiveBuffer> buffers,
                            int64_t alignment) {
  auto bySize = [&](unsigned lhs, unsigned rhs) {
    return buffers[lhs].bytes > buffers[rhs].bytes;
  };
  auto byStart = [&](unsigned lhs, unsigned rhs) {
    return buffers[lhs].first < buffers[rhs].first;
  };
  auto byArea = [&](unsigned lhs, unsigned rhs) {
    auto area = [](const LiveBuffer &b) {
      return static_cast<double>(b.bytes) * (b.last - b.first + 1);
    };
    return area(buffers[lhs]) > area(buffers[rhs]);
  };
  auto byLength = [&](unsigned lhs, unsigned rhs) {
    return buffers[lhs].last - buffers[lhs].first >
           buffers[rhs].last - buffers[rhs].first;
  };
  int64_t bound = getLivenessBound(buffers, alignment),
          best = std::numeric_limits<int64_t>::max();
  SmallVector<int64_t> offsets(buffers.size());
  auto tryOrder = [&](auto compare) {
    if (best == bound)
      return;
    SmallVector<unsigned> order(buffers.size());
    for (unsigned number = 0; number < buffers.size(); ++number)
      order[number] = number;
    // Of equal ones, the first comes first.
    llvm::sort(order, [&](unsigned lhs, unsigned rhs) {
      return compare(lhs, rhs) || (!compare(rhs, lhs) && lhs < rhs);
    });
    int64_t size = place(buffers, order, alignment);
    if (size >= best)
      return;
    best = size;
    for (auto [offset, buffer] : llvm::zip(offsets, buffers))
      offset = buffer.offset;
  };
  tryOrder(bySize);
  tryOrder(byArea);
  tryOrder(byLength);
  tryOrder(byStart);
  for (auto [offset, buffer] : llvm::zip(offsets, buffers))
    buffer.offset = offset;
  return buffers.empty() ? 0 : best;
}

/// Where most bytes live: the bytes, and the first such point.
static std::pair<int64_t, int64_t> findPeak(ArrayRef<LiveBuffer> buffers,
                                            int64_t alignment) {
  std::map<int64_t, int64_t> changes;
  for (const LiveBuffer &buffer : buffers) {
    changes[buffer.first] += alignUp(buffer.bytes, alignment);
    changes[buffer.last + 1] -= alignUp(buffer.bytes, alignment);
  }
  int64_t live = 0, most = 0, at = 0;
  for (auto [point, change] : changes) {
    live += change;
    if (live > most) {
      most = live;
      at = point;
    }
  }
  return {most, at};
}

int64_t tdsl::getLivenessBound(ArrayRef<LiveBuffer> buffers,
                               int64_t alignment) {
  return findPeak(buffers, alignment).first;
}

/// The least offset in `range` at which `buffer` meets none of `placed`, which
/// have offsets, or -1.
static int64_t findRoom(const FreeRange &range, const LiveBuffer &buffer,
                        ArrayRef<LiveBuffer> placed, int64_t alignment) {
  if (buffer.first < range.first)
    return -1;
  int64_t at = range.offset;
  // By offset.
  for (const LiveBuffer &other : placed) {
    if (other.last < buffer.first || other.first > buffer.last ||
        other.offset + other.bytes <= at)
      continue;
    if (other.offset >= at + buffer.bytes)
      break;
    at = alignUp(other.offset + other.bytes, alignment);
  }
  return at + buffer.bytes <= range.offset + range.bytes ? at : -1;
}

SmallVector<int64_t> tdsl::placeBeside(ArrayRef<LiveBuffer> buffers,
                                       ArrayRef<bool> mayMove,
                                       ArrayRef<FreeRange> ranges,
                                       int64_t alignment) {
  SmallVector<int64_t> offsets(buffers.size(), -1);
  SmallVector<LiveBuffer> rest(buffers), placed;
  while (true) {
    int64_t peak = findPeak(rest, alignment).second, best = -1, bestAt = -1;
    for (auto [number, buffer] : enumerate(rest)) {
      if (!mayMove[number] || buffer.bytes == 0 || buffer.first > peak ||
          buffer.last < peak || (best >= 0 && buffer.bytes <= rest[best].bytes))
        continue;
      // In the smallest range.
      int64_t least = std::numeric_limits<int64_t>::max();
      for (const FreeRange &range : ranges) {
        int64_t at = findRoom(range, buffer, placed, alignment);
        if (at < 0 || range.bytes >= least)
          continue;
        least = range.bytes;
        best = number;
        bestAt = at;
      }
    }
    if (best < 0)
      return offsets;
    offsets[best] = bestAt;
    LiveBuffer moved = rest[best];
    moved.offset = bestAt;
    placed.insert(upper_bound(placed, moved,
                              [](const LiveBuffer &lhs, const LiveBuffer &rhs) {
                                return lhs.offset < rhs.offset;
                              }),
                  moved);
    rest[best].bytes = 0;
  }
}
