//===- Access.cpp - checked addresses of a warp's lanes ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "exec/Access.h"
#include "driver/DeviceMemory.h"
#include "exec/Cluster.h"

#include <cstdio>

namespace tds::sim {

namespace {

std::string hex(u64 v) {
  char text[32];
  snprintf(text, sizeof text, "0x%llx", (unsigned long long)v);
  return text;
}
const char *verbOf(Use use) {
  return use == Use::Read || use == Use::Peek ? "read"
         : use == Use::Write                  ? "write"
                                              : "atomic access";
}

[[noreturn]] void misaligned(Warp &w, int lane, Space space, u64 address,
                             u32 align, Use use) {
  w.fault(FaultKind::Misaligned,
          std::string(verbOf(use)) + " at " + nameOf(space) + " address " +
              hex(address) + ", which is not a multiple of " +
              std::to_string(align),
          lane);
}

[[noreturn]] void globalOutOfBounds(Warp &w, int lane, u64 address, u32 bytes,
                                    Use use) {
  DeviceMemory &memory = *w.block->launch->memory;
  std::string text = std::string(verbOf(use)) + " of " + std::to_string(bytes) +
                     " bytes at " + hex(address);
  Extent near;
  if (memory.find(address, near)) {
    text += ", which reaches beyond the end of an allocation of " +
            std::to_string(near.hi - near.lo) + " bytes at " + hex(near.lo);
  } else {
    // Say which allocation ends or begins nearby.
    for (u64 d = 1; d <= 4096; d += 1) {
      if (address > d && memory.find(address - d, near)) {
        text += ", " + std::to_string(address - near.hi) +
                " bytes behind the end of an allocation of " +
                std::to_string(near.hi - near.lo) + " bytes at " + hex(near.lo);
        break;
      }
      if (memory.find(address + d, near)) {
        text += ", " + std::to_string(near.lo - address) +
                " bytes before an allocation of " +
                std::to_string(near.hi - near.lo) + " bytes";
        break;
      }
      if (d == 4096)
        text += address < 65536 ? ", a null pointer with an offset"
                                : ", where nothing is allocated";
    }
  }
  w.fault(FaultKind::OutOfBounds, text, lane);
}

/// Finds the extent of a lane's access into w.hit.
void locate(Warp &w, int lane, u64 address, u32 bytes, Use use) {
  if (address >= w.hit.lo && address < w.hit.hi && bytes <= w.hit.hi - address)
    return;
  Extent e;
  if (!w.block->launch->memory->find(address, e) || bytes > e.hi - address)
    globalOutOfBounds(w, lane, address, bytes, use);
  w.hit = e;
}

void enterGlobal(Warp &w, int lane, u64 address, u32 bytes, Use use) {
  const CheckFlags &checks = w.block->launch->checks;
  if (use == Use::Peek)
    return;
  if (w.hit.readOnly && use != Use::Read)
    w.fault(FaultKind::ReadOnly,
            std::string(verbOf(use)) + " of constant memory at " + hex(address),
            lane);
  if (checks.init && w.hit.init) {
    u8 *init = w.hit.init + (address - w.hit.lo);
    if (use != Use::Write) {
      u8 all = 1;
      for (u32 i = 0; i < bytes; ++i)
        all &= init[i];
      if (!all)
        checkGlobalInit(w, lane, address, bytes);
    } else if (!init[0] || !init[bytes - 1] || bytes > 2) {
      memset(init, 1, bytes);
    }
  }
  if (checks.globalRace && w.hit.race && use != Use::Atomic)
    checkGlobalRace(w, lane, w.hit, address, bytes, use == Use::Write);
}

} // namespace

void laneAddresses(Warp &w, u32 reg, u32 form, s64 offset, u64 *out) {
  switch (form) {
  case 0: {
    const u64 *r = w.reg<u64>(reg);
    TDS_LANES out[i] = r[i] + (u64)offset;
    break;
  }
  case 1: {
    const u32 *r = w.reg<u32>(reg);
    TDS_LANES out[i] = (u32)(r[i] + (u32)offset);
    break;
  }
  case 2:
    TDS_LANES out[i] = (u64)offset;
    break;
  default:
    for (int i = 0; i < 32; ++i)
      out[i] = (u64)offset + (w.calls ? w.calls->localTop[i] : 0);
    break;
  }
  if (w.mask != ~0u && w.mask) {
    u64 first = out[__builtin_ctz(w.mask)];
    for (int i = 0; i < 32; ++i)
      if (!(w.mask >> i & 1))
        out[i] = first;
  }
}

u8 *resolveGlobal(Warp &w, int lane, u64 address, u32 bytes, u32 align,
                  Use use) {
  locate(w, lane, address, bytes, use);
  if (address & (align - 1))
    misaligned(w, lane, Space::Global, address, align, use);
  enterGlobal(w, lane, address, bytes, use);
  return (u8 *)(address + (u64)w.hit.delta);
}

void checkSharedBounds(Warp &w, const u32 *address, u32 bytes, u32 align,
                       const char *verb) {
  u32 size = w.block->sharedBytes;
  bool bad = size < bytes;
  u32 limit = bad ? 0 : size - bytes;
  u32 any = 0, low = 0;
  TDS_LANES {
    any |= address[i] > limit ? 1u : 0u;
    low |= address[i];
  }
  if (!any && !bad && !(low & (align - 1)))
    return;
  for (int i = 0; i < 32; ++i) {
    if (!(w.mask >> i & 1))
      continue;
    if (bad || address[i] > limit)
      w.fault(FaultKind::OutOfBounds,
              std::string(verb) + " of " + std::to_string(bytes) +
                  " bytes at shared address " + hex(address[i]) +
                  ": the block has " + std::to_string(size) +
                  " bytes of shared memory",
              i);
    if (address[i] & (align - 1))
      w.fault(FaultKind::Misaligned,
              std::string(verb) + " at shared address " + hex(address[i]) +
                  ", which is not a multiple of " + std::to_string(align),
              i);
  }
}

static void resolveShared(Warp &w, const u64 *address, u32 bytes, u32 align,
                          Use use, u8 **out) {
  u32 a[32];
  u64 high = 0;
  TDS_LANES {
    a[i] = (u32)address[i];
    high |= address[i] >> 32;
  }
  if (high)
    for (int i = 0; i < 32; ++i)
      if ((w.mask >> i & 1) && address[i] >> 32)
        w.fault(FaultKind::OutOfBounds,
                std::string(verbOf(use)) + " at " + hex(address[i]) +
                    ", which is not a shared address",
                i);
  checkSharedBounds(w, a, bytes, align, verbOf(use));
  if (w.block->checked() && use == Use::Atomic)
    checkSharedAtomic(w, a, bytes);
  else if (w.block->checked() && use != Use::Peek)
    checkShared(w, a, bytes, use == Use::Write);
  u8 *shared = w.block->shared;
  TDS_LANES out[i] = shared + a[i];
}

/// Shared memory of any block of the cluster.
static void resolveCluster(Warp &w, const u64 *address, u32 bytes, u32 align,
                           Use use, u8 **out) {
  u64 mapped = 0;
  TDS_LANES mapped |= address[i] >> clusterRankShift;
  if (!mapped) {
    resolveShared(w, address, bytes, align, use, out);
    return;
  }
  // A cluster of one block is checked by the block's own shadow.
  const bool single = w.block->cluster->blocks.size() == 1;
  u64 own[32];
  for (int i = 0; i < 32; ++i) {
    out[i] = nullptr;
    if (!(w.mask >> i & 1))
      continue;
    ClusterPlace place =
        clusterPlace(w, i, address[i], bytes, align, verbOf(use));
    out[i] = place.pointer();
    own[i] = place.at;
    if (single || !w.block->clocks || use == Use::Peek)
      continue;
    if (use == Use::Atomic)
      w.block->clocks->atomic(w, i, *place.block, place.at, bytes);
    else
      w.block->clocks->access(w, i, *place.block, place.at, bytes,
                              use == Use::Write);
  }
  if (!single)
    return;
  u64 first = own[__builtin_ctz(w.mask)];
  for (int i = 0; i < 32; ++i)
    if (!(w.mask >> i & 1))
      own[i] = first;
  resolveShared(w, own, bytes, align, use, out);
}

void resolve(Warp &w, Space space, const u64 *address, u32 bytes, u32 align,
             Use use, u8 **out) {
  switch (space) {
  case Space::Shared:
    resolveShared(w, address, bytes, align, use, out);
    return;
  case Space::Cluster:
    resolveCluster(w, address, bytes, align, use, out);
    return;
  case Space::Local:
    for (int i = 0; i < 32; ++i) {
      if (!(w.mask >> i & 1)) {
        out[i] = nullptr;
        continue;
      }
      if (address[i] > w.localStride || bytes > w.localStride - address[i])
        w.fault(FaultKind::OutOfBounds,
                std::string(verbOf(use)) + " of " + std::to_string(bytes) +
                    " bytes at local address " + hex(address[i]) +
                    ": the thread has " + std::to_string(w.localStride) +
                    " bytes of local memory",
                i);
      if (address[i] & (align - 1))
        misaligned(w, i, space, address[i], align, use);
      out[i] = w.local + (u64)i * w.localStride + address[i];
    }
    return;
  case Space::Param: {
    const std::vector<u8> &params = w.block->launch->params;
    for (int i = 0; i < 32; ++i) {
      if (!(w.mask >> i & 1)) {
        out[i] = nullptr;
        continue;
      }
      if (use == Use::Write || use == Use::Atomic)
        w.fault(FaultKind::ReadOnly, "write of a kernel parameter", i);
      u64 size = w.block->launch->entry->paramBytes;
      if (address[i] > size || bytes > size - address[i])
        w.fault(FaultKind::OutOfBounds,
                "read of " + std::to_string(bytes) + " bytes at offset " +
                    std::to_string(address[i]) + " of " + std::to_string(size) +
                    " bytes of parameters",
                i);
      if (address[i] & (align - 1))
        misaligned(w, i, space, address[i], align, use);
      out[i] = const_cast<u8 *>(params.data()) + address[i];
    }
    return;
  }
  case Space::Generic: {
    u64 windows = 0, first = address[w.mask ? __builtin_ctz(w.mask) : 0];
    TDS_LANES windows |= (address[i] ^ first) & windowMask;
    if (!windows) {
      u64 window = first & windowMask;
      if (window == 0) {
        resolve(w, Space::Global, address, bytes, align, use, out);
        return;
      }
      Space inner = window == sharedWindow  ? Space::Cluster
                    : window == localWindow ? Space::Local
                    : window == paramWindow ? Space::Param
                                            : Space::None;
      if (inner != Space::None) {
        u64 inside[32];
        TDS_LANES inside[i] = address[i] & ~windowMask;
        resolve(w, inner, inside, bytes, align, use, out);
        return;
      }
    }
    // Lanes point into different spaces: one space after the other.
    u32 all = w.mask, left = all;
    while (left) {
      int lane = __builtin_ctz(left);
      u64 window = address[lane] & windowMask;
      if (window != 0 && window != sharedWindow && window != localWindow &&
          window != paramWindow)
        globalOutOfBounds(w, lane, address[lane], bytes, use);
      u32 group = left & laneMask([&](int i) {
                    return (address[i] & windowMask) == window;
                  });
      u64 part[32];
      u8 *pointers[32];
      for (int i = 0; i < 32; ++i)
        part[i] = group >> i & 1 ? address[i] : address[lane];
      w.mask = group;
      resolve(w, Space::Generic, part, bytes, align, use, pointers);
      w.mask = all;
      for (int i = 0; i < 32; ++i)
        if (group >> i & 1)
          out[i] = pointers[i];
      left &= ~group;
    }
    for (int i = 0; i < 32; ++i)
      if (!(all >> i & 1))
        out[i] = nullptr;
    return;
  }
  default:
    break;
  }
  // Global and const.
  const CheckFlags &checks = w.block->launch->checks;
  u64 lo = ~0ull, hi = 0, low = 0;
  TDS_LANES {
    lo = address[i] < lo ? address[i] : lo;
    hi = address[i] > hi ? address[i] : hi;
    low |= address[i];
  }
  bool inHit = lo >= w.hit.lo && hi < w.hit.hi && bytes <= w.hit.hi - hi;
  bool slow = (low & (align - 1)) ||
              (w.hit.readOnly && use != Use::Read && use != Use::Peek);
  bool shadowed = (checks.init && w.hit.init) ||
                  (checks.globalRace && w.hit.race && use != Use::Atomic);
  if (inHit && !slow && !shadowed) {
    s64 delta = w.hit.delta;
    TDS_LANES out[i] = (u8 *)(address[i] + (u64)delta);
    return;
  }
  for (int i = 0; i < 32; ++i)
    out[i] = w.mask >> i & 1
                 ? resolveGlobal(w, i, address[i], bytes, align, use)
                 : nullptr;
}

} // namespace tds::sim
