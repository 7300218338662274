//===- Memory.cpp - ld, st, mov, cvta, prefetch -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX manual, "Data Movement and Conversion Instructions". Cache and eviction
// hints are accepted where the manual has them and change nothing: there are
// no caches here.
//
//===----------------------------------------------------------------------===//

#include "decode/Registry.h"
#include "exec/Access.h"

#include <chrono>

namespace tds::sim {

namespace {

/// Shared addresses of all lanes as 32-bit numbers; false where one is not.
bool sharedAddresses(Warp &w, const Op &o, u32 *out) {
  if (o.aux == 1) {
    const u32 *r = w.reg<u32>(o.a);
    const u32 offset = (u32)o.imm;
    TDS_LANES out[i] = r[i] + offset;
    if (w.mask != ~0u) {
      u32 first = out[__builtin_ctz(w.mask)];
      for (int i = 0; i < 32; ++i)
        if (!(w.mask >> i & 1))
          out[i] = first;
    }
    return true;
  }
  u64 wide[32], high = 0;
  laneAddresses(w, o.a, o.aux, o.imm, wide);
  TDS_LANES {
    out[i] = (u32)wide[i];
    high |= wide[i] >> 32;
  }
  return high == 0;
}

/// The loads of shared memory, which inner loops are made of: whole rows and
/// broadcasts are recognised.
template <class M, class R> bool loadShared(Warp &w, const Op &o) {
  u32 a[32];
  if (o.target != allElements || !sharedAddresses(w, o, a))
    return false;
  const u32 n = o.nExt, bytes = (u32)sizeof(M) * n;
  checkSharedBounds(w, a, bytes, bytes, "read");
  if (w.block->checked())
    checkShared(w, a, bytes, false);
  const u8 *shared = w.block->shared;
  const u32 *ext = &w.code->ext[o.ext];
  if (n == 1 && sizeof(M) == sizeof(R) && w.mask == ~0u) {
    u32 row = 0, one = 0;
    TDS_LANES {
      row |= (a[i] - a[0]) ^ (u32)i * (u32)sizeof(M);
      one |= a[i] ^ a[0];
    }
    R *d = w.reg<R>(ext[0]);
    if (!row) {
      memcpy(d, shared + a[0], 32 * sizeof(M));
      return true;
    }
    if (!one) {
      M v;
      memcpy(&v, shared + a[0], sizeof v);
      TDS_LANES d[i] = (R)v;
      return true;
    }
  }
  for (u32 e = 0; e < n; ++e) {
    R t[32];
    for (int i = 0; i < 32; ++i) {
      M v;
      memcpy(&v, shared + a[i] + e * sizeof(M), sizeof(M));
      t[i] = (R)v;
    }
    R *d = w.reg<R>(ext[e]);
    if (w.mask == ~0u)
      memcpy(d, t, sizeof t);
    else
      blendLanes(d, t, w.mask);
  }
  return true;
}

/// Padding need not have been written: only the elements that something uses
/// are looked at.
template <Space S>
void resolveUsed(Warp &w, const u64 *address, u32 n, u32 size, u32 used,
                 u8 **out) {
  resolve(w, S, address, n * size, n * size, Use::Peek, out);
  for (u32 e = 0; e < n; ++e) {
    if (!(used >> e & 1))
      continue;
    u64 at[32];
    u8 *unused[32];
    TDS_LANES at[i] = address[i] + e * size;
    resolve(w, S, at, size, size, Use::Read, unused);
  }
}

/// M: type in memory (its sign extends), R: unsigned type of the register.
template <Space S, class M, class R> void load(Warp &w, const Op &o) {
  if constexpr (S == Space::Shared)
    if (loadShared<M, R>(w, o))
      return;
  u64 address[32];
  u8 *p[32];
  const u32 n = o.nExt, bytes = (u32)sizeof(M) * n;
  laneAddresses(w, o.a, o.aux, o.imm, address);
  if (n == 1 || o.target == allElements)
    resolve(w, S, address, bytes, bytes, Use::Read, p);
  else
    resolveUsed<S>(w, address, n, (u32)sizeof(M), o.target, p);
  const u32 *ext = &w.code->ext[o.ext];
  if (w.mask == ~0u) {
    if (n == 1 && sizeof(M) == sizeof(R)) {
      u8 *first = p[0];
      u64 spread = 0;
      TDS_LANES spread |= (u64)(p[i] - first) ^ (u64)i * sizeof(M);
      R *d = w.reg<R>(ext[0]);
      if (!spread) {
        memcpy(d, first, 32 * sizeof(M));
        return;
      }
      for (int i = 0; i < 32; ++i)
        memcpy(&d[i], p[i], sizeof(M));
      return;
    }
    for (u32 e = 0; e < n; ++e) {
      R *d = w.reg<R>(ext[e]);
      for (int i = 0; i < 32; ++i) {
        M v;
        memcpy(&v, p[i] + e * sizeof(M), sizeof(M));
        d[i] = (R)v;
      }
    }
    return;
  }
  for (u32 e = 0; e < n; ++e) {
    R *d = w.reg<R>(ext[e]);
    for (u32 m = w.mask; m; m &= m - 1) {
      int i = __builtin_ctz(m);
      M v;
      memcpy(&v, p[i] + e * sizeof(M), sizeof(M));
      d[i] = (R)v;
    }
  }
}

template <Space S, class M, class R> void store(Warp &w, const Op &o) {
  u64 address[32];
  u8 *p[32];
  const u32 n = o.nExt, bytes = (u32)sizeof(M) * n;
  laneAddresses(w, o.a, o.aux, o.imm, address);
  resolve(w, S, address, bytes, bytes, Use::Write, p);
  const u32 *ext = &w.code->ext[o.ext];
  if (w.mask == ~0u && n == 1 && sizeof(M) == sizeof(R)) {
    u8 *first = p[0];
    u64 spread = 0;
    TDS_LANES spread |= (u64)(p[i] - first) ^ (u64)i * sizeof(M);
    const R *s = w.reg<R>(ext[0]);
    if (!spread) {
      memcpy(first, s, 32 * sizeof(M));
      return;
    }
  }
  for (u32 e = 0; e < n; ++e) {
    const R *s = w.reg<R>(ext[e]);
    for (u32 m = w.mask; m; m &= m - 1) {
      int i = __builtin_ctz(m);
      M v = (M)s[i];
      memcpy(p[i] + e * sizeof(M), &v, sizeof(M));
    }
  }
}

// Parameters of functions: in the frame, `target` bytes apart by lane.
template <class M, class R> void loadFrame(Warp &w, const Op &o) {
  const u32 *ext = &w.code->ext[o.ext];
  for (u32 e = 0; e < o.nExt; ++e) {
    R *d = w.reg<R>(ext[e]);
    for (u32 m = w.mask; m; m &= m - 1) {
      int i = __builtin_ctz(m);
      M v;
      memcpy(&v, w.regs + o.a + (u32)i * o.target + o.imm + e * sizeof(M),
             sizeof(M));
      d[i] = (R)v;
    }
  }
}
template <class M, class R> void storeFrame(Warp &w, const Op &o) {
  const u32 *ext = &w.code->ext[o.ext];
  for (u32 e = 0; e < o.nExt; ++e) {
    const R *s = w.reg<R>(ext[e]);
    for (u32 m = w.mask; m; m &= m - 1) {
      int i = __builtin_ctz(m);
      M v = (M)s[i];
      memcpy(w.regs + o.a + (u32)i * o.target + o.imm + e * sizeof(M), &v,
             sizeof(M));
    }
  }
}

template <Space S, class M, class R> Handler pick(bool isStore) {
  if constexpr (S == Space::None)
    return isStore ? storeFrame<M, R> : loadFrame<M, R>;
  else
    return isStore ? store<S, M, R> : load<S, M, R>;
}
template <Space S> Handler bySpace(Ty type, u32 reg, bool isStore) {
  switch (bytesOf(type)) {
  case 1:
    if (isSigned(type) && !isStore)
      return reg == 2   ? pick<S, s8, u16>(false)
             : reg == 4 ? pick<S, s8, u32>(false)
             : reg == 8 ? pick<S, s8, u64>(false)
                        : nullptr;
    return reg == 2   ? pick<S, u8, u16>(isStore)
           : reg == 4 ? pick<S, u8, u32>(isStore)
           : reg == 8 ? pick<S, u8, u64>(isStore)
                      : nullptr;
  case 2:
    if (isSigned(type) && !isStore)
      return reg == 2   ? pick<S, s16, u16>(false)
             : reg == 4 ? pick<S, s16, u32>(false)
             : reg == 8 ? pick<S, s16, u64>(false)
                        : nullptr;
    return reg == 2   ? pick<S, u16, u16>(isStore)
           : reg == 4 ? pick<S, u16, u32>(isStore)
           : reg == 8 ? pick<S, u16, u64>(isStore)
                      : nullptr;
  case 4:
    if (isSigned(type) && !isStore)
      return reg == 4   ? pick<S, s32, u32>(false)
             : reg == 8 ? pick<S, s32, u64>(false)
                        : nullptr;
    return reg == 4   ? pick<S, u32, u32>(isStore)
           : reg == 8 ? pick<S, u32, u64>(isStore)
                      : nullptr;
  case 8:
    return reg == 8 ? pick<S, u64, u64>(isStore) : nullptr;
  default:
    return nullptr;
  }
}
Handler accessHandler(Space space, Ty type, u32 reg, bool isStore) {
  switch (space) {
  case Space::None:
    return bySpace<Space::None>(type, reg, isStore);
  case Space::Local:
    return bySpace<Space::Local>(type, reg, isStore);
  case Space::Shared:
    return bySpace<Space::Shared>(type, reg, isStore);
  case Space::Param:
    return bySpace<Space::Param>(type, reg, isStore);
  case Space::Generic:
    return bySpace<Space::Generic>(type, reg, isStore);
  case Space::Cluster:
    return bySpace<Space::Cluster>(type, reg, isStore);
  case Space::Global:
  case Space::Const:
    return bySpace<Space::Global>(type, reg, isStore);
  }
  return nullptr;
}

template <class T> void move(Warp &w, const Op &o) {
  lanes1<T, T>(w, o, [](T a) { return a; });
}

template <class Part, class Whole> void pack(Warp &w, const Op &o) {
  Whole t[32] = {};
  const u32 *ext = &w.code->ext[o.ext];
  for (u32 e = 0; e < o.nExt; ++e) {
    const Part *s = w.reg<Part>(ext[e]);
    TDS_LANES t[i] =
        (Whole)(t[i] | (Whole)((Whole)s[i] << (e * sizeof(Part) * 8)));
  }
  storeLanes(w, w.reg<Whole>(o.d), [&](int i) { return t[i]; });
}
template <class Part, class Whole> void unpack(Warp &w, const Op &o) {
  Whole t[32];
  memcpy(t, w.reg<Whole>(o.a), sizeof t);
  const u32 *ext = &w.code->ext[o.ext];
  for (u32 e = 0; e < o.nExt; ++e)
    storeLanes(w, w.reg<Part>(ext[e]), [&](int i) -> Part {
      return (Part)(t[i] >> (e * sizeof(Part) * 8));
    });
}
// Four bytes in registers of 16 bits a lane.
void pack8(Warp &w, const Op &o) {
  u32 t[32] = {};
  const u32 *ext = &w.code->ext[o.ext];
  for (u32 e = 0; e < 4; ++e) {
    const u16 *s = w.reg<u16>(ext[e]);
    TDS_LANES t[i] |= (u32)(s[i] & 255) << (e * 8);
  }
  storeLanes(w, w.reg<u32>(o.d), [&](int i) { return t[i]; });
}
void unpack8(Warp &w, const Op &o) {
  u32 t[32];
  memcpy(t, w.reg<u32>(o.a), sizeof t);
  const u32 *ext = &w.code->ext[o.ext];
  for (u32 e = 0; e < 4; ++e)
    storeLanes(w, w.reg<u16>(ext[e]),
               [&](int i) -> u16 { return (u16)(t[i] >> (e * 8) & 255); });
}

template <class T, u64 Window, bool ToSpace> void cvta(Warp &w, const Op &o) {
  lanes1<T, T>(w, o, [](T a) -> T {
    return ToSpace ? (T)(a - Window) : (T)(a + Window);
  });
}

void readSpecial(Warp &w, const Op &o) {
  using namespace std::chrono;
  u64 v;
  switch ((Special)o.aux) {
  case Special::Clock:
  case Special::Clock64:
    v = w.block->steps;
    break;
  case Special::ClockHi:
    v = w.block->steps >> 32;
    break;
  default:
    v = (u64)duration_cast<nanoseconds>(steady_clock::now().time_since_epoch())
            .count();
    if ((Special)o.aux == Special::GlobalTimerHi)
      v >>= 32;
  }
  if (o.size == 8)
    storeLanes(w, w.reg<u64>(o.d), [&](int) { return v; });
  else
    storeLanes(w, w.reg<u32>(o.d), [&](int) { return (u32)v; });
}

template <class T> void localAddress(Warp &w, const Op &o) {
  storeLanes(w, w.reg<T>(o.d), [&](int i) -> T {
    return (T)((u64)o.imm + (w.calls ? w.calls->localTop[i] : 0));
  });
}

void nothing(Warp &, const Op &) {}

template <u64 Window> void isSpace(Warp &w, const Op &o) {
  const u64 *a = w.reg<u64>(o.a);
  setPred(w, o.d,
          laneMask([&](int i) { return (a[i] & windowMask) == Window; }));
}
/// The block's own shared memory: no address that mapa has made for another.
void isOwnShared(Warp &w, const Op &o) {
  const u64 *a = w.reg<u64>(o.a);
  setPred(w, o.d,
          laneMask([&](int i) { return a[i] >> 24 == sharedWindow >> 24; }));
}

void registerAccess(Registry &r, bool isStore) {
  const Ty types[] = {Ty::B8,  Ty::U8,   Ty::S8,  Ty::B16, Ty::U16, Ty::S16,
                      Ty::F16, Ty::BF16, Ty::B32, Ty::U32, Ty::S32, Ty::F32,
                      Ty::B64, Ty::U64,  Ty::S64, Ty::F64};
  struct SpaceName {
    const char *name;
    Space space;
    bool load, store;
  };
  const SpaceName spaces[] = {{"", Space::Generic, true, true},
                              {".global", Space::Global, true, true},
                              {".shared", Space::Shared, true, true},
                              {".shared::cta", Space::Shared, true, true},
                              {".shared::cluster", Space::Cluster, true, true},
                              {".local", Space::Local, true, true},
                              {".const", Space::Const, true, false},
                              {".param", Space::Param, true, true},
                              {".param::entry", Space::Param, true, false},
                              {".param::func", Space::Param, true, true}};
  // Modifiers that stand between the name and the space, and behind it.
  std::vector<std::string> order = {"", ".weak", ".volatile"};
  for (const char *scope : {".cta", ".cluster", ".gpu", ".sys"}) {
    order.push_back(std::string(".relaxed") + scope);
    order.push_back(std::string(isStore ? ".release" : ".acquire") + scope);
  }
  order.push_back(".mmio.relaxed.sys");
  std::vector<std::string> cache;
  if (isStore)
    cache = {"", ".wb", ".cg", ".cs", ".wt"};
  else
    cache = {"",    ".ca", ".cg",    ".cs",    ".cv",
             ".lu", ".nc", ".ca.nc", ".cg.nc", ".cs.nc"};
  const char *evict[] = {"",
                         ".L1::evict_normal",
                         ".L1::evict_unchanged",
                         ".L1::evict_first",
                         ".L1::evict_last",
                         ".L1::no_allocate"};
  const char *prefetch[] = {"", ".L2::64B", ".L2::128B", ".L2::256B"};
  struct VecName {
    const char *name;
    u8 count;
  };
  const VecName vectors[] = {{"", 1}, {".v2", 2}, {".v4", 4}};
  for (const std::string &o : order)
    for (const SpaceName &s : spaces) {
      if (!(isStore ? s.store : s.load))
        continue;
      bool ordered = !o.empty() && o != ".weak" && o != ".volatile";
      if (ordered && (s.space == Space::Local || s.space == Space::Param ||
                      s.space == Space::Const))
        continue;
      if (o == ".volatile" &&
          (s.space == Space::Param || s.space == Space::Const))
        continue;
      for (const std::string &c : cache)
        for (const char *e : evict)
          for (const char *p : prefetch) {
            bool hints = !c.empty() || *e || *p;
            bool globalLike =
                s.space == Space::Global || s.space == Space::Generic;
            if (!o.empty() && hints)
              continue;
            if ((*e || *p) && !globalLike)
              continue;
            if (c.find(".nc") != std::string::npos && s.space != Space::Global)
              continue;
            if (!c.empty() && c.find(".nc") == std::string::npos && (*e))
              continue;
            if (isStore && *p)
              continue;
            for (const VecName &v : vectors)
              for (Ty t : types) {
                if (bytesOf(t) * v.count > 16)
                  continue;
                OpInfo info;
                info.form = isStore ? Form::Store : Form::Load;
                info.space = s.space;
                info.d = t;
                info.counts[0] = v.count;
                if (ordered)
                  info.minPtx = 60;
                if (s.space == Space::Cluster) {
                  info.minPtx = 78;
                  info.minSm = 90;
                }
                // Strong accesses: 2 those that acquire or release.
                if ((globalLike || s.space == Space::Cluster) && !o.empty() &&
                    o != ".weak")
                  info.size = o.find(isStore ? ".release" : ".acquire") !=
                                      std::string::npos
                                  ? 2
                                  : 1;
                if (*e || *p)
                  info.minPtx = 74;
                r.add(std::string(isStore ? "st" : "ld") + o + s.name + c + e +
                          p + v.name + "." + nameOf(t),
                      info);
              }
          }
    }
}

} // namespace

Handler loadHandler(Space space, Ty type, u32 regBytes, u32) {
  return accessHandler(space, type, regBytes, false);
}
Handler storeHandler(Space space, Ty type, u32 regBytes, u32) {
  return accessHandler(space, type, regBytes, true);
}
Handler moveHandler(u32 bytes) {
  return bytes == 2   ? move<u16>
         : bytes == 4 ? move<u32>
         : bytes == 8 ? move<u64>
                      : nullptr;
}
Handler packHandler(u32 bytes, u32 count) {
  if (bytes == 2 && count == 2)
    return pack<u16, u32>;
  if (bytes == 2 && count == 4)
    return pack<u16, u64>;
  if (bytes == 4 && count == 2)
    return pack<u32, u64>;
  if (bytes == 1 && count == 4)
    return pack8;
  return nullptr;
}
Handler unpackHandler(u32 bytes, u32 count) {
  if (bytes == 2 && count == 2)
    return unpack<u16, u32>;
  if (bytes == 2 && count == 4)
    return unpack<u16, u64>;
  if (bytes == 4 && count == 2)
    return unpack<u32, u64>;
  if (bytes == 1 && count == 4)
    return unpack8;
  return nullptr;
}
Handler notPredHandler() {
  return [](Warp &w, const Op &o) { setPred(w, o.d, ~*w.reg<u32>(o.a)); };
}
Handler movePredHandler() {
  return [](Warp &w, const Op &o) { setPred(w, o.d, *w.reg<u32>(o.a)); };
}
Handler predImmediateHandler(bool value) {
  if (value)
    return [](Warp &w, const Op &o) { setPred(w, o.d, ~0u); };
  return [](Warp &w, const Op &o) { setPred(w, o.d, 0); };
}
Handler volatileSpecialHandler() { return readSpecial; }
Handler localAddressHandler(u32 bytes) {
  return bytes == 8 ? localAddress<u64> : localAddress<u32>;
}

void registerMemory(Registry &r) {
  registerAccess(r, false);
  registerAccess(r, true);
  for (Ty t : {Ty::B16, Ty::U16, Ty::S16, Ty::B32, Ty::U32, Ty::S32, Ty::F32,
               Ty::B64, Ty::U64, Ty::S64, Ty::F64, Ty::Pred}) {
    OpInfo info;
    info.form = Form::Mov;
    info.d = t;
    r.add(std::string("mov.") + nameOf(t), info);
  }
  auto addCvta = [&](const char *space, Space s, Handler from64, Handler to64) {
    OpInfo info;
    info.form = Form::Cvta;
    info.space = s;
    info.d = Ty::U64;
    info.fn = from64;
    r.add(std::string("cvta") + space + ".u64", info);
    info.fn = to64;
    r.add(std::string("cvta.to") + space + ".u64", info);
  };
  addCvta(".global", Space::Global, move<u64>, move<u64>);
  addCvta(".const", Space::Const, move<u64>, move<u64>);
  for (const char *shared : {".shared", ".shared::cta", ".shared::cluster"})
    addCvta(shared, Space::Shared, cvta<u64, sharedWindow, false>,
            cvta<u64, sharedWindow, true>);
  addCvta(".local", Space::Local, cvta<u64, localWindow, false>,
          cvta<u64, localWindow, true>);
  for (const char *param : {".param", ".param::entry"})
    addCvta(param, Space::Param, cvta<u64, paramWindow, false>,
            cvta<u64, paramWindow, true>);
  r.plain("isspacep.global", isSpace<0>, Ty::Pred, {Ty::U64});
  r.plain("isspacep.const", [](Warp &w, const Op &o) { setPred(w, o.d, 0); },
          Ty::Pred, {Ty::U64});
  r.plain("isspacep.shared", isOwnShared, Ty::Pred, {Ty::U64});
  r.plain("isspacep.shared::cta", isOwnShared, Ty::Pred, {Ty::U64});
  r.plain("isspacep.shared::cluster", isSpace<sharedWindow>, Ty::Pred,
          {Ty::U64}, 78, 90);
  r.plain("isspacep.local", isSpace<localWindow>, Ty::Pred, {Ty::U64});
  r.plain("isspacep.param", isSpace<paramWindow>, Ty::Pred, {Ty::U64});

  // Prefetches and hints about lines have no effect that could be seen.
  for (const char *name :
       {"prefetch.global.L1", "prefetch.global.L2", "prefetch.L1",
        "prefetch.L2", "prefetchu.L1", "prefetch.global.L2::evict_last",
        "prefetch.global.L2::evict_normal"}) {
    OpInfo info;
    info.form = Form::Address;
    info.fn = nothing;
    info.space = std::string(name).find("global") != std::string::npos
                     ? Space::Global
                     : Space::Generic;
    r.add(name, info);
  }
  for (const char *name :
       {"discard.global.L2", "applypriority.global.L2::evict_normal"}) {
    OpInfo info;
    info.form = Form::Address;
    info.fn = nothing;
    info.space = Space::Global;
    info.counts[0] = 2;
    info.minPtx = 74;
    info.minSm = 80;
    r.add(name, info);
  }
  for (const char *name : {"createpolicy.fractional.L2::evict_last.b64",
                           "createpolicy.fractional.L2::evict_first.b64",
                           "createpolicy.fractional.L2::evict_normal.b64",
                           "createpolicy.fractional.L2::evict_unchanged.b64"}) {
    OpInfo &info = r.plain(
        name,
        [](Warp &w, const Op &o) {
          storeLanes(w, w.reg<u64>(o.d), [](int) -> u64 { return 1; });
        },
        Ty::B64, {Ty::F32}, 74, 80);
    (void)info;
  }
}

} // namespace tds::sim
