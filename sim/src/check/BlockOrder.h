//===- BlockOrder.h - order between blocks through atomics ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of a launch are unordered unless they pass through atomics: a block
// that fences and then touches an atomic location releases what it has done
// there; a block that touches the location later has seen it. Orders are kept
// by block, not by access, so a pair that was ordered once counts as ordered
// from then on.
//
//===----------------------------------------------------------------------===//
#ifndef TDSL_SIM_CHECK_BLOCKORDER_H
#define TDSL_SIM_CHECK_BLOCKORDER_H

#include "exec/Warp.h"

#include <mutex>
#include <unordered_map>
#include <vector>

namespace tds::sim {

class BlockOrder {
public:
  /// Block `b` performs an atomic (or release/acquire) access at `address`.
  void touch(Block &b, u64 address, bool releases);

private:
  std::mutex mutex;
  struct Place {
    std::vector<bool> released;
    u64 count = 0;
  };
  std::unordered_map<u64, Place> places;
};

/// What `before` has done so far, and seen, is ordered before what `b` does
/// from now on. Both run on one host thread.
void orderBehind(Block &b, const Block &before);

/// Whether what block `other` did is ordered before the present access of
/// `b`; ~0: whether that holds for all other blocks.
bool isOrdered(const Block &b, u32 other);

} // namespace tds::sim

#endif // TDSL_SIM_CHECK_BLOCKORDER_H
