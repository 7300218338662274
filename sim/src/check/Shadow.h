//===- Shadow.h - who touched shared and global memory last -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Note: shared-memory races. A block counts ticks; every synchronisation takes
// a new one. An access is stamped with the tick of its warp's last
// synchronisation. So a stamp at or above the tick of the last barrier of the
// whole block belongs to the present interval, in which accesses of different
// warps are unordered; and a stamp at or above a warp's own last
// synchronisation (bar.warp.sync, a collective) belongs to the interval in
// which the lanes of that warp are unordered. Each cell covers one granule
// (the narrowest access of the kernel, at most 4 bytes), so accesses to
// neighbouring bytes never meet in a cell. It holds the last writer and the
// last reader, the latter with a mark "others too".
//
// Note: global races are looked for between blocks of one launch: a cell holds
// the last writing and the last reading block, tagged with the launch. Atomic
// operations are not entered.
//
//===----------------------------------------------------------------------===//
#ifndef TDSL_SIM_CHECK_SHADOW_H
#define TDSL_SIM_CHECK_SHADOW_H

#include "exec/Warp.h"

#include <vector>

namespace tds::sim {

class Shadow {
public:
  void reset(u32 sharedBytes, u32 shift) {
    granuleShift = shift;
    cells.assign(((sharedBytes >> shift) + 4) * 2, 0);
  }
  u32 *cell(u32 address) { return &cells[(address >> granuleShift) * 2]; }
  u32 shift() const { return granuleShift; }
  void forgetStamps() {
    for (u32 &c : cells)
      if (c)
        c = (c & 0xfff) | 1u << 12;
  }

private:
  std::vector<u32> cells;
  u32 granuleShift = 2;
};

constexpr u32 maxTick = (1u << 20) - 4;

/// Takes a new tick; all warps' lanes are ordered by it if `whole`.
void newTick(Block &block, Warp *warp);

/// Enters accesses of the executing lanes, `bytes` from address[lane]; faults
/// on a race or on a read of what was never written.
void checkShared(Warp &w, const u32 *address, u32 bytes, bool write);
/// An atomic access: it counts as written, races only with plain accesses of
/// other warps.
void checkSharedAtomic(Warp &w, const u32 *address, u32 bytes);
/// The same for a single lane's access on behalf of an asynchronous copy.
void checkSharedLane(Warp &w, int lane, u32 address, u32 bytes, bool write);

/// Enters accesses to global memory in the extent w.hit.
void checkGlobalInit(Warp &w, int lane, u64 address, u32 bytes);
void checkGlobalRace(Warp &w, int lane, const Extent &extent, u64 address,
                     u32 bytes, bool write);

} // namespace tds::sim

#endif // TDSL_SIM_CHECK_SHADOW_H
