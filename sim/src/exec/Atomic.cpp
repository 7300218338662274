//===- Atomic.cpp - atom and red --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lanes perform their operations one after the other, in the order of lanes
// or, under a reverse or random schedule, in another one. Between host threads
// the operations are atomic: global memory by compare-and-swap, shared memory
// belongs to one host thread at a time.
//
//===----------------------------------------------------------------------===//

#include "check/BlockOrder.h"
#include "decode/Registry.h"
#include "exec/Access.h"
#include "exec/FloatSemantics.h"

#include <algorithm>

namespace tds::sim {

namespace {

enum class Do {
  Add,
  AddF32,
  AddF32Ftz,
  AddF64,
  AddF16,
  AddBf16,
  AddF16x2,
  AddBf16x2,
  Min,
  Max,
  Inc,
  Dec,
  And,
  Or,
  Xor,
  Exch
};

inline u16 addHalf(u16 a, u16 b) {
  return doubleToHalf((double)halfToFloat(a) + halfToFloat(b));
}
inline u16 addBf16(u16 a, u16 b) {
  return doubleToBf16(fmaToOdd(bf16ToFloat(a), 1.0, bf16ToFloat(b)));
}

template <Do K, class T> inline T apply(T old, T b) {
  switch (K) {
  case Do::Add:
    return (T)(std::make_unsigned_t<T>)((u64)old + (u64)b);
  case Do::AddF32:
    return (T)bitCast<u32>(
        canon(bitCast<float>((u32)old) + bitCast<float>((u32)b)));
  case Do::AddF32Ftz:
    return (T)bitCast<u32>(
        canon(flush<true>(flush<true>(bitCast<float>((u32)old)) +
                          flush<true>(bitCast<float>((u32)b)))));
  case Do::AddF64:
    return (T)bitCast<u64>(bitCast<double>((u64)old) + bitCast<double>((u64)b));
  case Do::AddF16:
    return (T)addHalf((u16)old, (u16)b);
  case Do::AddBf16:
    return (T)addBf16((u16)old, (u16)b);
  case Do::AddF16x2:
    return (T)((u32)addHalf((u16)old, (u16)b) |
               (u32)addHalf((u16)(old >> 16), (u16)((u32)b >> 16)) << 16);
  case Do::AddBf16x2:
    return (T)((u32)addBf16((u16)old, (u16)b) |
               (u32)addBf16((u16)(old >> 16), (u16)((u32)b >> 16)) << 16);
  case Do::Min:
    return std::min(old, b);
  case Do::Max:
    return std::max(old, b);
  case Do::Inc:
    return old >= b ? (T)0 : (T)(old + 1);
  case Do::Dec:
    return old == 0 || old > b ? b : (T)(old - 1);
  case Do::And:
    return (T)(old & b);
  case Do::Or:
    return (T)(old | b);
  case Do::Xor:
    return (T)(old ^ b);
  case Do::Exch:
    return b;
  }
  return old;
}

/// Enters the access into the order of blocks. Before the operation it may
/// release; after it, what others had released there has been seen.
void enterOrder(Warp &w, Space space, const u64 *address, bool releases) {
  BlockOrder *order = w.block->launch->order;
  if (!order || !w.block->launch->checks.globalRace || space == Space::Shared ||
      space == Space::Cluster)
    return;
  u64 last = ~0ull;
  for (u32 m = w.mask; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    if (address[i] & windowMask || address[i] == last)
      continue;
    last = address[i];
    order->touch(*w.block, address[i], releases);
  }
}
/// Pointers to the operands. aux2: 1 the operation releases; without it and
/// without a fence before, it counts as relaxed.
void prepare(Warp &w, const Op &o, Space space, u32 bytes, u64 *address,
             u8 **p) {
  laneAddresses(w, o.a, o.aux, o.imm, address);
  resolve(w, space, address, bytes, bytes, Use::Atomic, p);
  enterOrder(w, space, address, w.block->fenced || o.aux2);
}

template <class F> void inOrder(Warp &w, F f) {
  const Schedule &s = w.block->launch->schedule;
  if (s.order == Schedule::Forward) {
    for (u32 m = w.mask; m; m &= m - 1)
      f(__builtin_ctz(m));
    return;
  }
  u32 rotate = s.order == Schedule::Random ? w.block->random() : 0;
  for (int k = 31; k >= 0; --k) {
    int i = (k + (int)(rotate & 31)) & 31;
    if (w.mask >> i & 1)
      f(i);
  }
}

template <Space S, Do K, class T> void atomic(Warp &w, const Op &o) {
  u64 address[32];
  u8 *p[32];
  prepare(w, o, S, sizeof(T), address, p);
  const T *b = w.reg<T>(o.b);
  T result[32];
  inOrder(w, [&](int i) {
    T *at = (T *)p[i];
    T old = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(at, &old, apply<K, T>(old, b[i]), false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
    }
    result[i] = old;
  });
  enterOrder(w, S, address, false);
  if (o.d != noReg)
    blendLanes(w.reg<T>(o.d), result, w.mask);
}
template <Space S, class T> void compareAndSwap(Warp &w, const Op &o) {
  u64 address[32];
  u8 *p[32];
  prepare(w, o, S, sizeof(T), address, p);
  const T *b = w.reg<T>(o.b), *c = w.reg<T>(o.c);
  T result[32];
  inOrder(w, [&](int i) {
    T old = b[i];
    __atomic_compare_exchange_n((T *)p[i], &old, c[i], false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    result[i] = old;
  });
  enterOrder(w, S, address, false);
  if (o.d != noReg)
    blendLanes(w.reg<T>(o.d), result, w.mask);
}

struct Operation {
  const char *name; // with type
  Ty type;
  u16 ptx, sm;
  Handler global, shared, generic, cluster;
};

void addSpellings(Registry &r, const Operation &op, bool isCas, bool redToo) {
  struct SpaceName {
    const char *name;
    Space space;
    Handler fn;
  };
  const SpaceName spaces[] = {{"", Space::Generic, op.generic},
                              {".global", Space::Global, op.global},
                              {".shared", Space::Shared, op.shared},
                              {".shared::cta", Space::Shared, op.shared},
                              {".shared::cluster", Space::Cluster, op.cluster}};
  const char *semantics[] = {"", ".relaxed", ".acquire", ".release",
                             ".acq_rel"};
  const char *scopes[] = {"", ".cta", ".cluster", ".gpu", ".sys"};
  for (const char *sem : semantics)
    for (const char *scope : scopes)
      for (const SpaceName &s : spaces) {
        OpInfo info;
        info.form = Form::Atom;
        info.fn = s.fn;
        info.d = op.type;
        info.space = s.space;
        info.size = (u16)bytesOf(op.type);
        info.s[0] = info.s[1] = op.type;
        info.nSrc = isCas ? 2 : 1;
        info.minPtx = std::max<u16>(op.ptx, *sem || *scope ? 60 : 0);
        info.minSm = op.sm;
        if (s.space == Space::Cluster) {
          info.minPtx = std::max<u16>(info.minPtx, 78);
          info.minSm = std::max<u16>(info.minSm, 90);
        }
        std::string semantic = sem;
        info.aux2 = semantic == ".release" || semantic == ".acq_rel";
        std::string middle = std::string(sem) + scope + s.name + ".";
        // noftz belongs to the names of half-precision additions.
        std::string name = op.name;
        r.add("atom" + middle + name, info);
        // cooperative_groups spells the operation first.
        size_t dot = name.find('.');
        if (*sem && *scope)
          r.add("atom." + name.substr(0, dot) + sem + scope + s.name +
                    name.substr(dot),
                info);
        if (!redToo || semantic == ".acquire" || semantic == ".acq_rel")
          continue;
        info.form = Form::Red;
        r.add("red" + middle + name, info);
      }
}

template <Do K, class T>
void family(Registry &r, const char *name, Ty type, u16 ptx, u16 sm,
            bool redToo = true) {
  Operation op{name,
               type,
               ptx,
               sm,
               atomic<Space::Global, K, T>,
               atomic<Space::Shared, K, T>,
               atomic<Space::Generic, K, T>,
               atomic<Space::Cluster, K, T>};
  addSpellings(r, op, false, redToo);
}

} // namespace

void registerAtomic(Registry &r) {
  family<Do::Add, u32>(r, "add.u32", Ty::U32, 0, 0);
  family<Do::Add, u32>(r, "add.s32", Ty::S32, 0, 0);
  family<Do::Add, u64>(r, "add.u64", Ty::U64, 0, 0);
  family<Do::Add, u64>(r, "add.s64", Ty::S64, 0, 0);
  // atom.add.f32 on global memory flushes subnormals; on shared it does not.
  {
    Operation op{"add.f32",
                 Ty::F32,
                 0,
                 0,
                 atomic<Space::Global, Do::AddF32Ftz, u32>,
                 atomic<Space::Shared, Do::AddF32, u32>,
                 atomic<Space::Generic, Do::AddF32Ftz, u32>,
                 atomic<Space::Cluster, Do::AddF32, u32>};
    addSpellings(r, op, false, true);
  }
  family<Do::AddF64, u64>(r, "add.f64", Ty::F64, 50, 60);
  family<Do::AddF16, u16>(r, "add.noftz.f16", Ty::F16, 63, 70);
  family<Do::AddBf16, u16>(r, "add.noftz.bf16", Ty::BF16, 78, 90);
  family<Do::AddF16x2, u32>(r, "add.noftz.f16x2", Ty::F16x2, 62, 60);
  family<Do::AddBf16x2, u32>(r, "add.noftz.bf16x2", Ty::BF16x2, 78, 90);
  family<Do::Min, u32>(r, "min.u32", Ty::U32, 0, 0);
  family<Do::Min, s32>(r, "min.s32", Ty::S32, 0, 0);
  family<Do::Min, u64>(r, "min.u64", Ty::U64, 0, 0);
  family<Do::Min, s64>(r, "min.s64", Ty::S64, 0, 0);
  family<Do::Max, u32>(r, "max.u32", Ty::U32, 0, 0);
  family<Do::Max, s32>(r, "max.s32", Ty::S32, 0, 0);
  family<Do::Max, u64>(r, "max.u64", Ty::U64, 0, 0);
  family<Do::Max, s64>(r, "max.s64", Ty::S64, 0, 0);
  family<Do::Inc, u32>(r, "inc.u32", Ty::U32, 0, 0);
  family<Do::Dec, u32>(r, "dec.u32", Ty::U32, 0, 0);
  family<Do::And, u32>(r, "and.b32", Ty::B32, 0, 0);
  family<Do::And, u64>(r, "and.b64", Ty::B64, 0, 0);
  family<Do::Or, u32>(r, "or.b32", Ty::B32, 0, 0);
  family<Do::Or, u64>(r, "or.b64", Ty::B64, 0, 0);
  family<Do::Xor, u32>(r, "xor.b32", Ty::B32, 0, 0);
  family<Do::Xor, u64>(r, "xor.b64", Ty::B64, 0, 0);
  family<Do::Exch, u32>(r, "exch.b32", Ty::B32, 0, 0, false);
  family<Do::Exch, u64>(r, "exch.b64", Ty::B64, 0, 0, false);
  addSpellings(r,
               {"cas.b16", Ty::B16, 63, 70, compareAndSwap<Space::Global, u16>,
                compareAndSwap<Space::Shared, u16>,
                compareAndSwap<Space::Generic, u16>,
                compareAndSwap<Space::Cluster, u16>},
               true, false);
  addSpellings(r,
               {"cas.b32", Ty::B32, 0, 0, compareAndSwap<Space::Global, u32>,
                compareAndSwap<Space::Shared, u32>,
                compareAndSwap<Space::Generic, u32>,
                compareAndSwap<Space::Cluster, u32>},
               true, false);
  addSpellings(r,
               {"cas.b64", Ty::B64, 0, 0, compareAndSwap<Space::Global, u64>,
                compareAndSwap<Space::Shared, u64>,
                compareAndSwap<Space::Generic, u64>,
                compareAndSwap<Space::Cluster, u64>},
               true, false);
}

} // namespace tds::sim
