//===- Convert.cpp - cvt ----------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX manual, "Data Movement and Conversion Instructions: cvt". Registers of
// another width than the type are widened or narrowed by the decoder, so here
// a value has the width of its type (8-bit types live in 16-bit lanes).
//
//===----------------------------------------------------------------------===//

#include "decode/Registry.h"
#include "exec/FloatSemantics.h"
#include "exec/Lanes.h"

#include <limits>
#include <type_traits>

namespace tds::sim {

namespace {

// How a type lies in its lane.
template <class T> struct Lane {
  using Storage = T;
  static T load(T v) { return v; }
  static T store(T v) { return v; }
};
template <> struct Lane<u8> {
  using Storage = u16;
  static u8 load(u16 v) { return (u8)v; }
  static u16 store(u8 v) { return v; }
};
template <> struct Lane<s8> {
  using Storage = u16;
  static s8 load(u16 v) { return (s8)v; }
  static u16 store(s8 v) { return (u16)(s16)v; }
};

template <class D, class S> inline D clampTo(S v) {
  __int128 x = v;
  __int128 lo = std::numeric_limits<D>::min(),
           hi = std::numeric_limits<D>::max();
  return (D)(x < lo ? lo : x > hi ? hi : x);
}

template <class D, class S, bool Sat> void intToInt(Warp &w, const Op &o) {
  lanes1<typename Lane<D>::Storage, typename Lane<S>::Storage>(
      w, o, [](typename Lane<S>::Storage a) {
        S v = Lane<S>::load(a);
        return Lane<D>::store(Sat ? clampTo<D, S>(v) : (D)v);
      });
}

// Floating formats, seen as values of double (exact for all of them).
struct F16 {
  using Storage = u16;
  static double load(u16 v) { return halfToFloat(v); }
  static u16 store(double v, Rnd r) { return doubleToHalf(v, r); }
};
struct BF16 {
  using Storage = u16;
  static double load(u16 v) { return bf16ToFloat(v); }
  static u16 store(double v, Rnd r) { return doubleToBf16(v, r); }
};
template <bool Ftz> struct F32 {
  using Storage = float;
  static double load(float v) { return flush<Ftz>(v); }
  static float store(double v, Rnd r) {
    if (v != v)
      return canon(NAN);
    float f;
    if (r == Rnd::N) {
      f = (float)v;
    } else {
      RoundingScope scope(r);
      volatile double in = v;
      volatile float out = (float)in;
      f = out;
    }
    return flush<Ftz>(f);
  }
};
struct F64 {
  using Storage = double;
  static double load(double v) { return v; }
  static double store(double v, Rnd) { return v; }
};

inline double roundIntegral(double v, Rnd r) {
  switch (r) {
  case Rnd::Z:
    return std::trunc(v);
  case Rnd::M:
    return std::floor(v);
  case Rnd::P:
    return std::ceil(v);
  default:
    return std::nearbyint(v);
  }
}

template <class D, class F> inline D floatToInt(double v, Rnd r) {
  constexpr bool wide = sizeof(D) == 8 || std::is_same<F, F64>::value;
  if (v != v)
    return !wide                      ? (D)0
           : std::is_signed<D>::value ? std::numeric_limits<D>::min()
                                      : (D)((D)1 << (sizeof(D) * 8 - 1));
  v = roundIntegral(v, r);
  // The bounds as doubles; for 64 bits the upper one is not representable.
  constexpr double lo = (double)std::numeric_limits<D>::min();
  const double hi =
      std::ldexp(1.0, (int)sizeof(D) * 8 - std::is_signed<D>::value);
  if (v <= lo)
    return std::numeric_limits<D>::min();
  if (v >= hi)
    return std::numeric_limits<D>::max();
  return (D)v;
}
// The rounding comes with the operation (aux): as a template parameter it would
// only multiply the code.
template <class D, class F> void floatToIntOp(Warp &w, const Op &o) {
  const Rnd r = (Rnd)o.aux;
  lanes1<typename Lane<D>::Storage, typename F::Storage>(
      w, o, [r](typename F::Storage a) {
        return Lane<D>::store(floatToInt<D, F>(F::load(a), r));
      });
}
// The common f32 -> s32 truncation in a form that vectorises.
void truncF32S32(Warp &w, const Op &o) {
  lanes1<s32, float>(w, o, [](float v) -> s32 {
    float c = v < -2147483648.f ? -2147483648.f : v;
    s32 r = (s32)(c < 2147483648.f ? c : 0.f);
    r = v >= 2147483648.f ? INT32_MAX : r;
    return v == v ? r : 0;
  });
}

template <class S> inline double exactOrSticky(S v) {
  // Formats of at most 24 bits of precision need no more than this of an
  // integer beyond 2^53: its leading bits and whether others are set.
  bool negative = v < 0;
  u64 m = negative ? 0 - (u64)v : (u64)v;
  if (m >> 53)
    m = (m & ~0xfffull) | ((m & 0xfff) ? 0x800 : 0);
  return negative ? -(double)m : (double)m;
}
template <class F, class S> void intToFloatOp(Warp &w, const Op &o) {
  using Storage = typename F::Storage;
  const Rnd r = (Rnd)o.aux;
  if (std::is_same<Storage, float>::value && r == Rnd::N) {
    lanes1<float, typename Lane<S>::Storage>(
        w, o, [](typename Lane<S>::Storage a) -> float {
          return (float)Lane<S>::load(a);
        });
    return;
  }
  const auto *a = w.reg<typename Lane<S>::Storage>(o.a);
  Storage out[32];
  if (std::is_same<Storage, double>::value ||
      std::is_same<Storage, float>::value) {
    RoundingScope scope(r);
    for (int i = 0; i < 32; ++i) {
      volatile S v = Lane<S>::load(a[i]);
      volatile Storage f = (Storage)v;
      // The host's sequence for unsigned zero gives -0 when rounding down.
      out[i] = v == 0 ? (Storage)0 : (Storage)f;
    }
  } else {
    for (int i = 0; i < 32; ++i)
      out[i] = F::store(exactOrSticky<S>(Lane<S>::load(a[i])), r);
  }
  storeLanes(w, w.reg<Storage>(o.d), [&](int i) { return out[i]; });
}

/// aux: the rounding; aux2: 1 to an integral value, 2 saturate.
template <class D, class S> void floatToFloatOp(Warp &w, const Op &o) {
  const Rnd r = (Rnd)o.aux;
  const bool integral = o.aux2 & 1, sat = o.aux2 & 2;
  lanes1<typename D::Storage, typename S::Storage>(
      w, o, [=](typename S::Storage a) -> typename D::Storage {
        double v = S::load(a);
        if (integral)
          v = roundIntegral(v, r);
        if (sat)
          v = saturate<true>(v);
        return D::store(v, integral ? Rnd::N : r);
      });
}

/// cvt.rn.f16x2.f32 d, a, b: a in the high half, b in the low one.
template <class D, Rnd R, bool Relu, bool Finite, bool Ftz>
void packTwo(Warp &w, const Op &o) {
  const float *a = w.reg<float>(o.a), *b = w.reg<float>(o.b);
  auto one = [](float f) -> u32 {
    double v = flush<Ftz>(f);
    if (Relu && v < 0)
      v = 0;
    u16 r = D::store(v, R);
    if (Finite && v == v) {
      u16 inf = std::is_same<D, F16>::value ? 0x7c00 : 0x7f80;
      if ((r & 0x7fff) == inf)
        r = (u16)(r - 1);
    }
    if (Relu && r == 0x8000)
      r = 0;
    return r;
  };
  storeLanes(w, w.reg<u32>(o.d),
             [&](int i) -> u32 { return one(a[i]) << 16 | one(b[i]); });
}
template <class D, Rnd R, bool Relu, bool Finite, bool Ftz>
void toNarrow(Warp &w, const Op &o) {
  const float *a = w.reg<float>(o.a);
  storeLanes(w, w.reg<u16>(o.d), [&](int i) -> u16 {
    double v = flush<Ftz>(a[i]);
    if (Relu && v < 0)
      v = 0;
    u16 r = D::store(v, R);
    u16 inf = std::is_same<D, F16>::value ? 0x7c00 : 0x7f80;
    if (Finite && v == v && (r & 0x7fff) == inf)
      r = (u16)(r - 1);
    return Relu && r == 0x8000 ? 0 : r;
  });
}

/// tf32: f32 with 10 bits of mantissa; the low 13 bits become zero.
template <Rnd R, bool Relu> void toTf32(Warp &w, const Op &o) {
  lanes1<u32, float>(w, o, [](float a) -> u32 {
    if (a != a)
      return 0x7fffffffu;
    if (Relu && !(a > 0))
      return 0;
    u32 b = bitCast<u32>(a);
    if ((b & 0x7f800000u) == 0x7f800000u)
      return b;
    if (R == Rnd::NA)
      b += 0x1000;
    else if (R == Rnd::N)
      b += 0xfff + (b >> 13 & 1);
    return b & 0xffffe000u;
  });
}

struct Key {
  const char *name;
  Ty type;
};

OpInfo &addCvt(Registry &r, const std::string &opcode, Handler fn, Ty d, Ty s,
               u16 ptx = 0, u16 sm = 0) {
  OpInfo &info = r.plain(opcode, fn, d, {s}, ptx, sm);
  info.form = Form::Convert;
  return info;
}

template <class D, class S> void pairIntInt(Registry &r, Key d, Key s) {
  std::string t = std::string(".") + d.name + "." + s.name;
  addCvt(r, "cvt" + t, intToInt<D, S, false>, d.type, s.type);
  addCvt(r, "cvt.sat" + t, intToInt<D, S, true>, d.type, s.type);
}
template <class D> void rowIntInt(Registry &r, Key d) {
  pairIntInt<D, u8>(r, d, {"u8", Ty::U8});
  pairIntInt<D, s8>(r, d, {"s8", Ty::S8});
  pairIntInt<D, u16>(r, d, {"u16", Ty::U16});
  pairIntInt<D, s16>(r, d, {"s16", Ty::S16});
  pairIntInt<D, u32>(r, d, {"u32", Ty::U32});
  pairIntInt<D, s32>(r, d, {"s32", Ty::S32});
  pairIntInt<D, u64>(r, d, {"u64", Ty::U64});
  pairIntInt<D, s64>(r, d, {"s64", Ty::S64});
}

template <class D, class F>
void pairFloatInt(Registry &r, Key d, Key s, bool ftz, u16 ptx, u16 sm) {
  auto add = [&](const char *rnd, Rnd k) {
    for (const char *sat : {"", ".sat"})
      addCvt(r,
             std::string("cvt") + rnd + (ftz ? ".ftz" : "") + sat + "." +
                 d.name + "." + s.name,
             floatToIntOp<D, F>, d.type, s.type, ptx, sm)
          .aux = (u8)k;
  };
  add(".rni", Rnd::N);
  add(".rzi", Rnd::Z);
  add(".rmi", Rnd::M);
  add(".rpi", Rnd::P);
}
template <class F, class S>
void pairIntFloat(Registry &r, Key d, Key s, u16 ptx, u16 sm) {
  auto add = [&](const char *rnd, Rnd k) {
    addCvt(r, std::string("cvt") + rnd + "." + d.name + "." + s.name,
           intToFloatOp<F, S>, d.type, s.type, ptx, sm)
        .aux = (u8)k;
  };
  add(".rn", Rnd::N);
  add(".rz", Rnd::Z);
  add(".rm", Rnd::M);
  add(".rp", Rnd::P);
}
template <class I> void withInt(Registry &r, Key i) {
  pairFloatInt<I, F16>(r, i, {"f16", Ty::F16}, false, 42, 53);
  pairFloatInt<I, BF16>(r, i, {"bf16", Ty::BF16}, false, 78, 90);
  pairFloatInt<I, F32<false>>(r, i, {"f32", Ty::F32}, false, 0, 0);
  pairFloatInt<I, F32<true>>(r, i, {"f32", Ty::F32}, true, 0, 0);
  pairFloatInt<I, F64>(r, i, {"f64", Ty::F64}, false, 0, 0);
  pairIntFloat<F16, I>(r, {"f16", Ty::F16}, i, 42, 53);
  pairIntFloat<BF16, I>(r, {"bf16", Ty::BF16}, i, 78, 90);
  pairIntFloat<F32<false>, I>(r, {"f32", Ty::F32}, i, 0, 0);
  pairIntFloat<F64, I>(r, {"f64", Ty::F64}, i, 0, 0);
}

/// Conversions that change the format and round (or widen exactly).
template <class D, class S>
void formatPair(Registry &r, Key d, Key s, bool ftz, bool narrowing, u16 ptx,
                u16 sm) {
  std::string t = std::string(".") + d.name + "." + s.name;
  std::string f = ftz ? ".ftz" : "";
  auto add = [&](const std::string &rnd, Rnd k) {
    for (u8 sat : {0, 2}) {
      OpInfo &info = addCvt(r, "cvt" + rnd + f + (sat ? ".sat" : "") + t,
                            floatToFloatOp<D, S>, d.type, s.type, ptx, sm);
      info.aux = (u8)k;
      info.aux2 = sat;
    }
  };
  if (!narrowing) {
    add("", Rnd::N);
    return;
  }
  add(".rn", Rnd::N);
  add(".rz", Rnd::Z);
  add(".rm", Rnd::M);
  add(".rp", Rnd::P);
}
/// cvt.rni.f32.f32 and the like: round to an integral value.
template <class F>
void integral(Registry &r, Key k, bool ftz, u16 ptx, u16 sm) {
  std::string t = std::string(".") + k.name + "." + k.name;
  std::string f = ftz ? ".ftz" : "";
  auto add = [&](const std::string &rnd, Rnd mode, u8 whole) {
    for (u8 sat : {0, 2}) {
      OpInfo &info = addCvt(r, "cvt" + rnd + f + (sat ? ".sat" : "") + t,
                            floatToFloatOp<F, F>, k.type, k.type, ptx, sm);
      info.aux = (u8)mode;
      info.aux2 = (u8)(whole | sat);
    }
  };
  add(".rni", Rnd::N, 1);
  add(".rzi", Rnd::Z, 1);
  add(".rmi", Rnd::M, 1);
  add(".rpi", Rnd::P, 1);
  add("", Rnd::N, 0);
}

template <class D, Rnd R, bool Relu, bool Finite>
void addNarrow(Registry &r, const std::string &mods, const char *name, Ty ty,
               Ty packed, u16 ptx, u16 sm) {
  std::string t(name);
  addCvt(r, "cvt" + mods + "." + t + ".f32",
         toNarrow<D, R, Relu, Finite, false>, ty, Ty::F32, ptx, sm);
  OpInfo &info = r.plain("cvt" + mods + "." + t + "x2.f32",
                         packTwo<D, R, Relu, Finite, false>, packed,
                         {Ty::F32, Ty::F32}, ptx, sm);
  (void)info;
}
template <class D>
void narrowFamily(Registry &r, const char *name, Ty ty, Ty packed) {
  addNarrow<D, Rnd::N, false, false>(r, ".rn", name, ty, packed, 70, 80);
  addNarrow<D, Rnd::Z, false, false>(r, ".rz", name, ty, packed, 70, 80);
  addNarrow<D, Rnd::N, true, false>(r, ".rn.relu", name, ty, packed, 70, 80);
  addNarrow<D, Rnd::Z, true, false>(r, ".rz.relu", name, ty, packed, 70, 80);
  addNarrow<D, Rnd::N, false, true>(r, ".rn.satfinite", name, ty, packed, 81,
                                    80);
  addNarrow<D, Rnd::Z, false, true>(r, ".rz.satfinite", name, ty, packed, 81,
                                    80);
  addNarrow<D, Rnd::N, true, true>(r, ".rn.relu.satfinite", name, ty, packed,
                                   81, 80);
  addNarrow<D, Rnd::Z, true, true>(r, ".rz.relu.satfinite", name, ty, packed,
                                   81, 80);
}

/// cvt.pack.sat: a and b clamped to 16 bits, or to 8 and joined with c.
template <class D, class S> void packSat16(Warp &w, const Op &o) {
  lanes2<u32, S, S>(w, o, [](S a, S b) -> u32 {
    return (u32)(u16)clampTo<D, S>(a) << 16 | (u16)clampTo<D, S>(b);
  });
}
template <class D> void packSat8(Warp &w, const Op &o) {
  lanes3<u32, s32, s32, u32>(w, o, [](s32 a, s32 b, u32 c) -> u32 {
    return c << 16 | (u32)(u8)clampTo<D, s32>(a) << 8 | (u8)clampTo<D, s32>(b);
  });
}

} // namespace

void registerConvert(Registry &r) {
  rowIntInt<u8>(r, {"u8", Ty::U8});
  rowIntInt<s8>(r, {"s8", Ty::S8});
  rowIntInt<u16>(r, {"u16", Ty::U16});
  rowIntInt<s16>(r, {"s16", Ty::S16});
  rowIntInt<u32>(r, {"u32", Ty::U32});
  rowIntInt<s32>(r, {"s32", Ty::S32});
  rowIntInt<u64>(r, {"u64", Ty::U64});
  rowIntInt<s64>(r, {"s64", Ty::S64});
  withInt<u8>(r, {"u8", Ty::U8});
  withInt<s8>(r, {"s8", Ty::S8});
  withInt<u16>(r, {"u16", Ty::U16});
  withInt<s16>(r, {"s16", Ty::S16});
  withInt<u32>(r, {"u32", Ty::U32});
  withInt<s32>(r, {"s32", Ty::S32});
  withInt<u64>(r, {"u64", Ty::U64});
  withInt<s64>(r, {"s64", Ty::S64});

  for (const char *sat : {"", ".sat"})
    addCvt(r, std::string("cvt.rzi") + sat + ".s32.f32", truncF32S32, Ty::S32,
           Ty::F32);

  const Key h{"f16", Ty::F16}, b{"bf16", Ty::BF16}, f{"f32", Ty::F32},
      d{"f64", Ty::F64};
  formatPair<F16, F32<false>>(r, h, f, false, true, 0, 53);
  formatPair<F16, F32<true>>(r, h, f, true, true, 0, 53);
  formatPair<F16, F64>(r, h, d, false, true, 0, 53);
  formatPair<F32<false>, F16>(r, f, h, false, false, 0, 53);
  formatPair<F32<true>, F16>(r, f, h, true, false, 0, 53);
  formatPair<F64, F16>(r, d, h, false, false, 0, 53);
  formatPair<F32<false>, F64>(r, f, d, false, true, 0, 0);
  formatPair<F32<true>, F64>(r, f, d, true, true, 0, 0);
  formatPair<F64, F32<false>>(r, d, f, false, false, 0, 0);
  formatPair<F64, F32<true>>(r, d, f, true, false, 0, 0);
  formatPair<F32<false>, BF16>(r, f, b, false, false, 71, 80);
  formatPair<F64, BF16>(r, d, b, false, false, 78, 90);
  formatPair<BF16, F64>(r, b, d, false, true, 78, 90);
  formatPair<BF16, F16>(r, b, h, false, true, 78, 90);
  formatPair<F16, BF16>(r, h, b, false, true, 78, 90);
  integral<F16>(r, h, false, 42, 53);
  integral<BF16>(r, b, false, 78, 90);
  integral<F32<false>>(r, f, false, 0, 0);
  integral<F32<true>>(r, f, true, 0, 0);
  integral<F64>(r, d, false, 0, 0);
  narrowFamily<BF16>(r, "bf16", Ty::BF16, Ty::BF16x2);
  // f16.f32 itself is older than the packed and relu forms.
  OpInfo rn = *r.find("cvt.rn.f16.f32"), rz = *r.find("cvt.rz.f16.f32");
  narrowFamily<F16>(r, "f16", Ty::F16, Ty::F16x2);
  r.add("cvt.rn.f16.f32", rn);
  r.add("cvt.rz.f16.f32", rz);
  addCvt(r, "cvt.rna.tf32.f32", toTf32<Rnd::NA, false>, Ty::B32, Ty::F32, 70,
         80);
  addCvt(r, "cvt.rn.tf32.f32", toTf32<Rnd::N, false>, Ty::B32, Ty::F32, 78, 90);
  addCvt(r, "cvt.rz.tf32.f32", toTf32<Rnd::Z, false>, Ty::B32, Ty::F32, 78, 90);
  addCvt(r, "cvt.rn.relu.tf32.f32", toTf32<Rnd::N, true>, Ty::B32, Ty::F32, 78,
         90);
  addCvt(r, "cvt.rz.relu.tf32.f32", toTf32<Rnd::Z, true>, Ty::B32, Ty::F32, 78,
         90);
  const Ty S = Ty::S32, U = Ty::U32, B = Ty::B32;
  r.plain("cvt.pack.sat.s16.s32", packSat16<s16, s32>, U, {S, S}, 65, 72);
  r.plain("cvt.pack.sat.u16.s32", packSat16<u16, s32>, U, {S, S}, 65, 72);
  r.plain("cvt.pack.sat.s8.s32.b32", packSat8<s8>, U, {S, S, B}, 65, 72);
  r.plain("cvt.pack.sat.u8.s32.b32", packSat8<u8>, U, {S, S, B}, 65, 72);
}

// Registers of another width than the type: see FunctionDecoder::convert.
template <class D, class S> static void resize(Warp &w, const Op &o) {
  lanes1<D, S>(w, o, [](S a) -> D { return (D)a; });
}
Handler resizeHandler(u32 to, u32 from, bool isSigned) {
  if (to == 2 && from == 4)
    return resize<u16, u32>;
  if (to == 2 && from == 8)
    return resize<u16, u64>;
  if (to == 4 && from == 8)
    return resize<u32, u64>;
  if (to == 4 && from == 2)
    return isSigned ? resize<s32, s16> : resize<u32, u16>;
  if (to == 8 && from == 2)
    return isSigned ? resize<s64, s16> : resize<u64, u16>;
  if (to == 8 && from == 4)
    return isSigned ? resize<s64, s32> : resize<u64, u32>;
  return nullptr;
}

} // namespace tds::sim
