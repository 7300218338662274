//===- Shadow.cpp - who touched shared and global memory last ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "check/Shadow.h"
#include "check/BlockOrder.h"
#include "check/Clocks.h"

#include <cstdio>

namespace tds::sim {

namespace {

constexpr u32 multiLane = 1, multiWarp = 2;

std::string where(u32 address, const char *space) {
  char text[64];
  snprintf(text, sizeof text, "%s address 0x%x", space, address);
  return text;
}
std::string threadName(u32 thread) {
  return "thread " + std::to_string(thread) + " (warp " +
         std::to_string(thread >> 5) + ", lane " + std::to_string(thread & 31) +
         ")";
}

[[noreturn]] void race(Warp &w, int lane, u32 address, u32 other,
                       const char *mine, const char *theirs, bool many) {
  bool same = (other >> 5) == w.id;
  w.fault(FaultKind::SharedRace,
          std::string(mine) + " of " + where(address, "shared") +
              " races with the " + theirs + " by " +
              (many ? "several threads, among them " : "") + threadName(other) +
              (same ? ": no __syncwarp or barrier between them"
                    : ": no barrier between them"),
          lane);
}

inline bool writerConflicts(const Warp &w, u32 cell, u32 thread,
                            u32 blockSync) {
  u32 stamp = cell >> 12;
  if (stamp < blockSync)
    return false;
  u32 other = cell >> 2 & 1023;
  if (other == thread)
    return false;
  return (other >> 5) != w.id || stamp >= w.syncStamp;
}

inline bool readerConflicts(const Warp &w, u32 cell, u32 thread,
                            u32 blockSync) {
  u32 stamp = cell >> 12;
  if (stamp < blockSync)
    return false;
  u32 other = cell >> 2 & 1023;
  if (cell & multiWarp)
    return true;
  if ((other >> 5) != w.id)
    return true;
  return (other != thread || (cell & multiLane)) && stamp >= w.syncStamp;
}

inline void one(Warp &w, u32 *cell, int lane, u32 address, bool write) {
  const u32 blockSync = w.block->blockSync;
  const u32 thread = w.id * 32 + (u32)lane;
  const u32 me = w.syncStamp << 12 | thread << 2;
  const CheckFlags &checks = w.block->launch->checks;
  u32 writer = cell[0], reader = cell[1];
  if (write) {
    if (checks.sharedRace) {
      if (writerConflicts(w, writer, thread, blockSync))
        race(w, lane, address, writer >> 2 & 1023, "write", "write", false);
      if (readerConflicts(w, reader, thread, blockSync))
        race(w, lane, address, reader >> 2 & 1023, "write", "read",
             reader & (multiWarp | multiLane));
    }
    cell[0] = me | 1;
    return;
  }
  if (writer == 0 && checks.init)
    w.fault(FaultKind::UninitialisedShared,
            "read of " + where(address, "shared") +
                ", which nothing has written",
            lane);
  if (!checks.sharedRace)
    return;
  if (writerConflicts(w, writer, thread, blockSync))
    race(w, lane, address, writer >> 2 & 1023, "read", "write", false);
  u32 next = me;
  if (reader >> 12 >= blockSync && reader) {
    u32 other = reader >> 2 & 1023;
    if ((other >> 5) != w.id)
      next |= multiWarp | multiLane;
    else if (other != thread && (reader >> 12) >= w.syncStamp)
      next |= multiLane;
    next |= reader & multiWarp;
    if ((reader >> 12) >= w.syncStamp)
      next |= reader & multiLane;
  }
  cell[1] = next;
}

} // namespace

void newTick(Block &block, Warp *warp) {
  if (block.clocks) {
    // Barriers go through Clocks::meet.
    if (warp)
      block.clocks->warpSync(*warp);
    return;
  }
  if (++block.tick >= maxTick) {
    if (block.shadow)
      block.shadow->forgetStamps();
    block.tick = 3;
    block.blockSync = 3;
    for (Warp &other : block.warps)
      other.syncStamp = 3;
    return;
  }
  if (warp) {
    warp->syncStamp = block.tick;
    return;
  }
  block.blockSync = block.tick;
  for (Warp &other : block.warps)
    other.syncStamp = block.tick;
}

void checkSharedLane(Warp &w, int lane, u32 address, u32 bytes, bool write) {
  if (w.block->clocks) {
    w.block->clocks->access(w, lane, address, bytes, write);
    return;
  }
  Shadow &shadow = *w.block->shadow;
  u32 step = 1u << shadow.shift();
  for (u32 at = 0; at < bytes; at += step)
    one(w, shadow.cell(address + at), lane, address + at, write);
}

void checkShared(Warp &w, const u32 *address, u32 bytes, bool write) {
  if (w.block->clocks) {
    for (u32 m = w.mask; m; m &= m - 1) {
      int lane = __builtin_ctz(m);
      w.block->clocks->access(w, lane, address[lane], bytes, write);
    }
    return;
  }
  Shadow &shadow = *w.block->shadow;
  const u32 shift = shadow.shift(), step = 1u << shift;
  w.touched = true;
  u32 m = w.mask;
  while (m) {
    int lane = __builtin_ctz(m);
    m &= m - 1;
    // Neighbouring lanes that read the same word (a broadcast) need no second
    // look; the cell only has to say that there were several.
    u32 a = address[lane];
    if (!write) {
      u32 same = 0;
      while (m) {
        int next = __builtin_ctz(m);
        if (address[next] != a)
          break;
        ++same;
        m &= m - 1;
      }
      if (same) {
        for (u32 at = 0; at < bytes; at += step) {
          u32 *cell = shadow.cell(a + at);
          one(w, cell, lane, a + at, false);
          cell[1] |= multiLane;
        }
        continue;
      }
    }
    for (u32 at = 0; at < bytes; at += step)
      one(w, shadow.cell(a + at), lane, a + at, write);
  }
}

void checkSharedAtomic(Warp &w, const u32 *address, u32 bytes) {
  if (w.block->clocks) {
    for (u32 m = w.mask; m; m &= m - 1) {
      int lane = __builtin_ctz(m);
      w.block->clocks->atomic(w, lane, *w.block, address[lane], bytes);
    }
    return;
  }
  Shadow &shadow = *w.block->shadow;
  const u32 step = 1u << shadow.shift();
  const CheckFlags &checks = w.block->launch->checks;
  for (int lane = 0; lane < 32; ++lane) {
    if (!(w.mask >> lane & 1))
      continue;
    for (u32 at = 0; at < bytes; at += step) {
      u32 *cell = shadow.cell(address[lane] + at);
      u32 thread = w.id * 32 + (u32)lane;
      if (cell[0] == 0 && checks.init)
        w.fault(FaultKind::UninitialisedShared,
                "atomic access to " + where(address[lane] + at, "shared") +
                    ", which nothing has written",
                lane);
      if (checks.sharedRace &&
          writerConflicts(w, cell[0], thread, w.block->blockSync))
        race(w, lane, address[lane] + at, cell[0] >> 2 & 1023, "atomic access",
             "write", false);
    }
  }
}

void checkGlobalInit(Warp &w, int lane, u64 address, u32 bytes) {
  char text[160];
  snprintf(text, sizeof text,
           "read of %u bytes at 0x%llx, %llu bytes into an allocation, which "
           "nothing has written",
           bytes, (unsigned long long)address,
           (unsigned long long)(address - w.hit.lo));
  w.fault(FaultKind::UninitialisedGlobal, text, lane);
}

void checkGlobalRace(Warp &w, int lane, const Extent &extent, u64 address,
                     u32 bytes, bool write) {
  /// Enters an access; the first one of a launch counts for the traffic.
  auto touch = [&](u32 &cell, u32 next, std::atomic<u64> *touched) {
    if (!touched) {
      __atomic_store_n(&cell, next, __ATOMIC_RELAXED);
      return;
    }
    const u32 before = __atomic_exchange_n(&cell, next, __ATOMIC_RELAXED);
    if (before >> 22 != w.block->launch->launchStamp)
      touched->fetch_add(1u << w.block->launch->granuleShift,
                         std::memory_order_relaxed);
  };
  const LaunchInfo &launch = *w.block->launch;
  const u32 stamp = launch.launchStamp;
  const u32 block = (u32)w.block->linear & 0x1fffff;
  const u32 me = stamp << 22 | block;
  const u32 step = 1u << launch.granuleShift;
  u32 *cell =
      extent.race + ((address - extent.shadowBase) >> launch.granuleShift) * 2;
  auto fail = [&](u32 other, const char *mine, const char *theirs) {
    char text[200];
    snprintf(text, sizeof text,
             "%s of 0x%llx races with a %s by block %u of the same launch: "
             "blocks are not ordered",
             mine, (unsigned long long)address, theirs, other & 0x1fffff);
    w.fault(FaultKind::GlobalRace, text, lane);
  };
  for (u32 at = 0; at < bytes; at += step, cell += 2) {
    u32 writer = __atomic_load_n(&cell[0], __ATOMIC_RELAXED);
    u32 reader = __atomic_load_n(&cell[1], __ATOMIC_RELAXED);
    if (writer != me && writer >> 22 == stamp &&
        !isOrdered(*w.block, writer & 0x1fffff))
      fail(writer, write ? "write" : "read", "write");
    if (!write) {
      u32 next = me;
      if (reader >> 22 == stamp && (reader & 0x3fffff) != block)
        next |= 1u << 21;
      if (next != reader)
        touch(cell[1], next, launch.traffic ? &launch.traffic->read : nullptr);
      continue;
    }
    if (reader >> 22 == stamp && (reader & 0x3fffff) != block) {
      bool many = reader >> 21 & 1;
      // Of several readers the last is known alone. In a cluster the others may
      // be its own blocks, which it has met.
      const u32 last = reader & 0x1fffff;
      bool ordered = many && launch.clusterBlocks > 1
                         ? last == block || isOrdered(*w.block, last)
                         : isOrdered(*w.block, many ? ~0u : last);
      if (!ordered)
        fail(reader, "write", many ? "read (one of several)" : "read");
    }
    if (writer != me)
      touch(cell[0], me, launch.traffic ? &launch.traffic->written : nullptr);
  }
}

} // namespace tds::sim
