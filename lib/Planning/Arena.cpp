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

int64_t tdsl::getLivenessBound(ArrayRef<LiveBuffer> buffers,
                               int64_t alignment) {
  std::map<int64_t, int64_t> changes;
  for (const LiveBuffer &buffer : buffers) {
    changes[buffer.first] += alignUp(buffer.bytes, alignment);
    changes[buffer.last + 1] -= alignUp(buffer.bytes, alignment);
  }
  int64_t live = 0, most = 0;
  for (auto [point, change] : changes) {
    live += change;
    most = std::max(most, live);
  }
  return most;
}
