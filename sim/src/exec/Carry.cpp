//===- Carry.cpp - extended-precision integer arithmetic --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// add.cc, addc, sub.cc, subc, mad.cc and madc: the carry is one bit a thread.
//
//===----------------------------------------------------------------------===//

#include "decode/Registry.h"
#include "exec/Lanes.h"

namespace tds::sim {

namespace {

enum class Kind { Add, Sub };

template <class T, Kind K, bool UseCarry, bool SetCarry>
void addSub(Warp &w, const Op &o) {
  const T *a = w.reg<T>(o.a), *b = w.reg<T>(o.b);
  T *d = w.reg<T>(o.d);
  u32 carryOut = 0;
  for (int i = 0; i < 32; ++i) {
    if (!(w.mask >> i & 1))
      continue;
    unsigned __int128 in = UseCarry ? (w.carry >> i & 1) : 0;
    unsigned __int128 wide = K == Kind::Add
                                 ? (unsigned __int128)a[i] + b[i] + in
                                 : (unsigned __int128)a[i] - b[i] - in;
    d[i] = (T)wide;
    carryOut |= (u32)((wide >> (sizeof(T) * 8)) & 1) << i;
  }
  if (SetCarry)
    w.carry = (w.carry & ~w.mask) | carryOut;
}

template <class T, class W, bool High, bool UseCarry, bool SetCarry>
void mulAdd(Warp &w, const Op &o) {
  const T *a = w.reg<T>(o.a), *b = w.reg<T>(o.b), *c = w.reg<T>(o.c);
  T *d = w.reg<T>(o.d);
  using U = std::make_unsigned_t<T>;
  u32 carryOut = 0;
  for (int i = 0; i < 32; ++i) {
    if (!(w.mask >> i & 1))
      continue;
    U product = High ? (U)(((W)a[i] * (W)b[i]) >> (sizeof(T) * 8))
                     : (U)((U)a[i] * (U)b[i]);
    unsigned __int128 wide = (unsigned __int128)product + (U)c[i] +
                             (UseCarry ? (w.carry >> i & 1) : 0);
    d[i] = (T)(U)wide;
    carryOut |= (u32)((wide >> (sizeof(T) * 8)) & 1) << i;
  }
  if (SetCarry)
    w.carry = (w.carry & ~w.mask) | carryOut;
}

template <class U, class T, class W>
void family(Registry &r, const char *name, Ty ty) {
  std::string t = std::string(".") + name;
  r.plain("add.cc" + t, addSub<U, Kind::Add, false, true>, ty, {ty, ty});
  r.plain("addc" + t, addSub<U, Kind::Add, true, false>, ty, {ty, ty});
  r.plain("addc.cc" + t, addSub<U, Kind::Add, true, true>, ty, {ty, ty});
  r.plain("sub.cc" + t, addSub<U, Kind::Sub, false, true>, ty, {ty, ty});
  r.plain("subc" + t, addSub<U, Kind::Sub, true, false>, ty, {ty, ty});
  r.plain("subc.cc" + t, addSub<U, Kind::Sub, true, true>, ty, {ty, ty});
  r.plain("mad.lo.cc" + t, mulAdd<T, W, false, false, true>, ty, {ty, ty, ty});
  r.plain("mad.hi.cc" + t, mulAdd<T, W, true, false, true>, ty, {ty, ty, ty});
  r.plain("madc.lo" + t, mulAdd<T, W, false, true, false>, ty, {ty, ty, ty});
  r.plain("madc.hi" + t, mulAdd<T, W, true, true, false>, ty, {ty, ty, ty});
  r.plain("madc.lo.cc" + t, mulAdd<T, W, false, true, true>, ty, {ty, ty, ty});
  r.plain("madc.hi.cc" + t, mulAdd<T, W, true, true, true>, ty, {ty, ty, ty});
}

} // namespace

void registerCarry(Registry &r) {
  family<u32, u32, u64>(r, "u32", Ty::U32);
  family<u32, s32, s64>(r, "s32", Ty::S32);
  family<u64, u64, unsigned __int128>(r, "u64", Ty::U64);
  family<u64, s64, __int128>(r, "s64", Ty::S64);
}

} // namespace tds::sim
