//===- Compare.cpp - set, setp, selp, slct ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX manual, "Comparison and Selection Instructions" and "Half Precision
// Comparison Instructions".
//
//===----------------------------------------------------------------------===//

#include "decode/Registry.h"
#include "exec/FloatSemantics.h"
#include "exec/Lanes.h"

namespace tds::sim {

namespace {

enum Cmp { Eq, Ne, Lt, Le, Gt, Ge, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan };
const char *const cmpNames[] = {"eq",  "ne",  "lt",  "le",  "gt",
                                "ge",  "equ", "neu", "ltu", "leu",
                                "gtu", "geu", "num", "nan"};
enum Bool { None, And, Or, Xor };
const char *const boolNames[] = {"", ".and", ".or", ".xor"};

// The loads of a value as the type that is compared.
struct Half {
  using Storage = u16;
  static float value(u16 v) { return halfToFloat(v); }
};
struct BHalf {
  using Storage = u16;
  static float value(u16 v) { return bf16ToFloat(v); }
};
template <class T> struct Itself {
  using Storage = T;
  static T value(T v) { return v; }
};
struct FlushedFloat {
  using Storage = float;
  static float value(float v) { return flush<true>(v); }
};
struct FlushedHalf {
  using Storage = u16;
  static float value(u16 v) {
    return halfToFloat((v & 0x7c00) == 0 ? v & 0x8000 : v);
  }
};

template <int C, class T> inline bool compare(T a, T b) {
  bool unordered = a != a || b != b;
  switch (C) {
  case Eq:
    return a == b;
  case Ne:
    return a != b && !unordered;
  case Lt:
    return a < b;
  case Le:
    return a <= b;
  case Gt:
    return a > b;
  case Ge:
    return a >= b;
  case Equ:
    return a == b || unordered;
  case Neu:
    return a != b;
  case Ltu:
    return !(a >= b);
  case Leu:
    return !(a > b);
  case Gtu:
    return !(a <= b);
  case Geu:
    return !(a < b);
  case Num:
    return !unordered;
  default:
    return unordered;
  }
}

template <int C, class L> u32 compareLanes(Warp &w, const Op &o) {
  using S = typename L::Storage;
  const S *a = w.reg<S>(o.a), *b = w.reg<S>(o.b);
  u8 t[32];
  TDS_LANES t[i] = compare<C>(L::value(a[i]), L::value(b[i]));
  u32 r = 0;
  for (int i = 0; i < 32; ++i)
    r |= (u32)t[i] << i;
  return r;
}

// The Boolean operation and what becomes of the result are looked up when an
// operation runs (aux and aux2): as template parameters they would multiply
// the code by sixteen.
enum Into { Predicates, Integer, Float };

inline u32 combine(u32 how, u32 t, u32 c) {
  return how == And ? t & c : how == Or ? t | c : how == Xor ? t ^ c : t;
}

void deliver(Warp &w, const Op &o, u32 t, u32 second) {
  u32 c = o.aux == None ? 0 : *w.reg<u32>(o.c);
  u32 p = combine(o.aux, t, c);
  if (o.aux2 == Predicates) {
    u32 q = w.code->ext[o.ext];
    setPred(w, o.d, p);
    if (q != noReg)
      setPred(w, q, combine(o.aux, second, c));
    return;
  }
  u32 one = o.aux2 == Float ? 0x3f800000u : ~0u;
  storeLanes(w, w.reg<u32>(o.d),
             [&](int i) -> u32 { return p >> i & 1 ? one : 0; });
}

template <int C, class L> void compareOp(Warp &w, const Op &o) {
  u32 t = compareLanes<C, L>(w, o);
  deliver(w, o, t, ~t);
}

void addSpellings(Registry &r, Handler fn, int cmp, const char *type, Ty ty,
                  bool ftz, bool setToo, u16 ptx, u16 sm) {
  for (int b = None; b <= Xor; ++b) {
    OpInfo info;
    info.form = Form::PredPair;
    info.fn = fn;
    info.d = Ty::Pred;
    info.s[0] = info.s[1] = ty;
    info.s[2] = Ty::Pred;
    info.nSrc = b == None ? 2 : 3;
    info.aux = (u8)b;
    info.minPtx = ptx;
    info.minSm = sm;
    std::string head = std::string(cmpNames[cmp]) + boolNames[b];
    std::string f = ftz ? ".ftz." : ".";
    r.add("setp." + head + f + type, info);
    if (!setToo)
      continue;
    info.form = Form::Plain;
    info.aux2 = Integer;
    info.d = Ty::U32;
    r.add("set." + head + f + "u32." + type, info);
    info.d = Ty::S32;
    r.add("set." + head + f + "s32." + type, info);
    info.d = Ty::F32;
    info.aux2 = Float;
    r.add("set." + head + f + "f32." + type, info);
  }
}

template <int C, class L>
void addBools(Registry &r, const char *type, Ty ty, bool ftz, u16 ptx, u16 sm) {
  addSpellings(r, compareOp<C, L>, C, type, ty, ftz, true, ptx, sm);
}
template <class L> void addEqNe(Registry &r, const char *type, Ty ty) {
  addBools<Eq, L>(r, type, ty, false, 0, 0);
  addBools<Ne, L>(r, type, ty, false, 0, 0);
}
template <class L>
void addOrdered(Registry &r, const char *type, Ty ty, bool ftz = false,
                u16 ptx = 0, u16 sm = 0) {
  addBools<Eq, L>(r, type, ty, ftz, ptx, sm);
  addBools<Ne, L>(r, type, ty, ftz, ptx, sm);
  addBools<Lt, L>(r, type, ty, ftz, ptx, sm);
  addBools<Le, L>(r, type, ty, ftz, ptx, sm);
  addBools<Gt, L>(r, type, ty, ftz, ptx, sm);
  addBools<Ge, L>(r, type, ty, ftz, ptx, sm);
}
/// lo, ls, hi, hs: the unsigned comparisons' older names.
template <class L> void addUnsignedNames(Registry &r, const char *type) {
  struct Alias {
    const char *old, *name;
  };
  for (Alias a : {Alias{"lo", "lt"}, {"ls", "le"}, {"hi", "gt"}, {"hs", "ge"}})
    for (const char *b : boolNames) {
      const OpInfo *info =
          r.find(std::string("setp.") + a.name + b + "." + type);
      r.add(std::string("setp.") + a.old + b + "." + type, OpInfo(*info));
    }
}
template <class L>
void addFloat(Registry &r, const char *type, Ty ty, bool ftz = false,
              u16 ptx = 0, u16 sm = 0) {
  addOrdered<L>(r, type, ty, ftz, ptx, sm);
  addBools<Equ, L>(r, type, ty, ftz, ptx, sm);
  addBools<Neu, L>(r, type, ty, ftz, ptx, sm);
  addBools<Ltu, L>(r, type, ty, ftz, ptx, sm);
  addBools<Leu, L>(r, type, ty, ftz, ptx, sm);
  addBools<Gtu, L>(r, type, ty, ftz, ptx, sm);
  addBools<Geu, L>(r, type, ty, ftz, ptx, sm);
  addBools<Num, L>(r, type, ty, ftz, ptx, sm);
  addBools<Nan, L>(r, type, ty, ftz, ptx, sm);
}

/// f16x2 and bf16x2: setp gives one predicate for each half.
template <int C, class L> void comparePacked(Warp &w, const Op &o) {
  const u32 *a = w.reg<u32>(o.a), *b = w.reg<u32>(o.b);
  u32 lo = 0, hi = 0;
  for (int i = 0; i < 32; ++i) {
    lo |= (u32)compare<C>(L::value((u16)a[i]), L::value((u16)b[i])) << i;
    hi |= (u32)compare<C>(L::value((u16)(a[i] >> 16)),
                          L::value((u16)(b[i] >> 16)))
          << i;
  }
  deliver(w, o, lo, hi);
}
template <int C, class L>
void addPackedBools(Registry &r, const char *type, Ty ty, bool ftz, u16 ptx,
                    u16 sm) {
  addSpellings(r, comparePacked<C, L>, C, type, ty, ftz, false, ptx, sm);
}
template <class L>
void addPackedFloat(Registry &r, const char *type, Ty ty, bool ftz, u16 ptx,
                    u16 sm) {
  addPackedBools<Eq, L>(r, type, ty, ftz, ptx, sm);
  addPackedBools<Ne, L>(r, type, ty, ftz, ptx, sm);
  addPackedBools<Lt, L>(r, type, ty, ftz, ptx, sm);
  addPackedBools<Le, L>(r, type, ty, ftz, ptx, sm);
  addPackedBools<Gt, L>(r, type, ty, ftz, ptx, sm);
  addPackedBools<Ge, L>(r, type, ty, ftz, ptx, sm);
  addPackedBools<Equ, L>(r, type, ty, ftz, ptx, sm);
  addPackedBools<Neu, L>(r, type, ty, ftz, ptx, sm);
  addPackedBools<Ltu, L>(r, type, ty, ftz, ptx, sm);
  addPackedBools<Leu, L>(r, type, ty, ftz, ptx, sm);
  addPackedBools<Gtu, L>(r, type, ty, ftz, ptx, sm);
  addPackedBools<Geu, L>(r, type, ty, ftz, ptx, sm);
  addPackedBools<Num, L>(r, type, ty, ftz, ptx, sm);
  addPackedBools<Nan, L>(r, type, ty, ftz, ptx, sm);
}

template <class T> void select(Warp &w, const Op &o) {
  const T *a = w.reg<T>(o.a), *b = w.reg<T>(o.b);
  u32 p = *w.reg<u32>(o.c);
  storeLanes(w, w.reg<T>(o.d),
             [&](int i) -> T { return p >> i & 1 ? a[i] : b[i]; });
}
template <class T>
void addSelect(Registry &r, std::initializer_list<Ty> types) {
  for (Ty t : types) {
    r.plain(std::string("selp.") + nameOf(t), select<T>, t, {t, t, Ty::Pred});
    r.plain(std::string("slct.") + nameOf(t) + ".s32",
            X3(T, T, T, s32, c >= 0 ? a : b), t, {t, t, Ty::S32});
    r.plain(std::string("slct.") + nameOf(t) + ".f32",
            X3(T, T, T, float, c >= 0 ? a : b), t, {t, t, Ty::F32});
    r.plain(std::string("slct.ftz.") + nameOf(t) + ".f32",
            X3(T, T, T, float, flush<true>(c) >= 0 ? a : b), t,
            {t, t, Ty::F32});
  }
}

} // namespace

void registerCompare(Registry &r) {
  addEqNe<Itself<u16>>(r, "b16", Ty::B16);
  addEqNe<Itself<u32>>(r, "b32", Ty::B32);
  addEqNe<Itself<u64>>(r, "b64", Ty::B64);
  addOrdered<Itself<u16>>(r, "u16", Ty::U16);
  addOrdered<Itself<s16>>(r, "s16", Ty::S16);
  addOrdered<Itself<u32>>(r, "u32", Ty::U32);
  addOrdered<Itself<s32>>(r, "s32", Ty::S32);
  addOrdered<Itself<u64>>(r, "u64", Ty::U64);
  addOrdered<Itself<s64>>(r, "s64", Ty::S64);
  addUnsignedNames<u16>(r, "u16");
  addUnsignedNames<u32>(r, "u32");
  addUnsignedNames<u64>(r, "u64");
  addFloat<Itself<float>>(r, "f32", Ty::F32);
  addFloat<FlushedFloat>(r, "f32", Ty::F32, true);
  addFloat<Itself<double>>(r, "f64", Ty::F64);
  addFloat<Half>(r, "f16", Ty::F16, false, 42, 53);
  addFloat<FlushedHalf>(r, "f16", Ty::F16, true, 42, 53);
  addFloat<BHalf>(r, "bf16", Ty::BF16, false, 78, 90);
  addPackedFloat<Half>(r, "f16x2", Ty::F16x2, false, 42, 53);
  addPackedFloat<FlushedHalf>(r, "f16x2", Ty::F16x2, true, 42, 53);
  addPackedFloat<BHalf>(r, "bf16x2", Ty::BF16x2, false, 78, 90);
  addSelect<u16>(r, {Ty::B16, Ty::U16, Ty::S16});
  addSelect<u32>(r, {Ty::B32, Ty::U32, Ty::S32, Ty::F32});
  addSelect<u64>(r, {Ty::B64, Ty::U64, Ty::S64, Ty::F64});
  r.plain("selp.f16", select<u16>, Ty::F16, {Ty::F16, Ty::F16, Ty::Pred});
}

} // namespace tds::sim
