//===- Strong.cpp - loads and stores with a memory order --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX manual, "Memory Consistency Model": relaxed, acquire, release and
// volatile accesses to global memory are strong, so that two of them never
// race, and they order blocks as atomics do (check/BlockOrder.h): a store
// releases what the block has done if it says so or a fence stands before it; a
// load acquires what was released where it reads.
//
//===----------------------------------------------------------------------===//

#include "check/BlockOrder.h"
#include "decode/FunctionDecoder.h"
#include "driver/DeviceMemory.h"
#include "exec/Access.h"

namespace tds::sim {

namespace {

template <class F>
void eachPlace(Warp &w, Space space, const u64 *address, F f) {
  BlockOrder *order = w.block->launch->order;
  if (space == Space::Cluster || !order || !w.block->launch->checks.globalRace)
    return;
  for (u32 m = w.mask; m; m &= m - 1) {
    u64 a = address[__builtin_ctz(m)];
    if (!(a & windowMask)) // shared and local memory order no blocks
      f(*order, a);
  }
}

template <class M> M loadOnce(const u8 *p) {
  return __atomic_load_n((const M *)p, __ATOMIC_ACQUIRE);
}

/// A strong load into registers of R; M the type in memory.
template <Space S, class M, class R> void load(Warp &w, const Op &o) {
  u64 address[32];
  u8 *p[32];
  const u32 n = o.nExt, bytes = (u32)sizeof(M) * n;
  laneAddresses(w, o.a, o.aux, o.imm, address);
  resolve(w, S, address, bytes, bytes, Use::Atomic, p);
  const u32 *ext = &w.code->ext[o.ext];
  for (u32 e = 0; e < n; ++e) {
    R *d = w.reg<R>(ext[e]);
    for (u32 m = w.mask; m; m &= m - 1) {
      int i = __builtin_ctz(m);
      d[i] = (R)loadOnce<M>(p[i] + e * sizeof(M));
    }
  }
  w.yielded = true;
  // Afterwards: whoever wrote what was read has released before.
  eachPlace(w, S, address,
            [&](BlockOrder &order, u64 a) { order.touch(*w.block, a, false); });
}

template <Space S, class M, class R> void store(Warp &w, const Op &o) {
  u64 address[32];
  u8 *p[32];
  const u32 n = o.nExt, bytes = (u32)sizeof(M) * n;
  laneAddresses(w, o.a, o.aux, o.imm, address);
  // The store itself makes its place written.
  DeviceMemory &memory = *w.block->launch->memory;
  for (u32 m = w.mask; m; m &= m - 1) {
    u64 a = address[__builtin_ctz(m)];
    Extent e;
    if (S != Space::Cluster && !(a & windowMask) && memory.find(a, e) &&
        bytes <= e.hi - a && e.init)
      memset(e.init + (a - e.lo), 1, bytes);
  }
  resolve(w, S, address, bytes, bytes, Use::Atomic, p);
  bool releases = o.target == 2 || w.block->fenced;
  eachPlace(w, S, address, [&](BlockOrder &order, u64 a) {
    order.touch(*w.block, a, releases);
  });
  const u32 *ext = &w.code->ext[o.ext];
  for (u32 e = 0; e < n; ++e) {
    const R *s = w.reg<R>(ext[e]);
    for (u32 m = w.mask; m; m &= m - 1) {
      int i = __builtin_ctz(m);
      __atomic_store_n((M *)(p[i] + e * sizeof(M)), (M)s[i], __ATOMIC_RELEASE);
    }
  }
}

template <Space S, class M, class R> Handler pick(bool isStore) {
  return isStore ? store<S, M, R> : load<S, M, R>;
}
template <Space S, class U, class I>
Handler byRegister(bool isSigned, u32 reg, bool isStore) {
  const bool extend = isSigned && !isStore;
  if (reg == 2 && sizeof(U) <= 2)
    return extend ? pick<S, I, u16>(isStore) : pick<S, U, u16>(isStore);
  if (reg == 4 && sizeof(U) <= 4)
    return extend ? pick<S, I, u32>(isStore) : pick<S, U, u32>(isStore);
  if (reg == 8)
    return extend ? pick<S, I, u64>(isStore) : pick<S, U, u64>(isStore);
  return nullptr;
}
template <Space S> Handler byType(Ty type, u32 reg, bool isStore) {
  switch (bytesOf(type)) {
  case 1:
    return byRegister<S, u8, s8>(isSigned(type), reg, isStore);
  case 2:
    return byRegister<S, u16, s16>(isSigned(type), reg, isStore);
  case 4:
    return byRegister<S, u32, s32>(isSigned(type), reg, isStore);
  case 8:
    return byRegister<S, u64, s64>(isSigned(type), reg, isStore);
  default:
    return nullptr;
  }
}

} // namespace

Handler strongHandler(Space space, Ty type, u32 regBytes, bool isStore) {
  switch (space) {
  case Space::Global:
    return byType<Space::Global>(type, regBytes, isStore);
  case Space::Cluster:
    return byType<Space::Cluster>(type, regBytes, isStore);
  default:
    return byType<Space::Generic>(type, regBytes, isStore);
  }
}

} // namespace tds::sim
