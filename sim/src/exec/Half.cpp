//===- Half.cpp - f16 and bf16 arithmetic -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX manual, "Half Precision Floating-Point Instructions". Sums and products
// are formed in f32, whose 24 bits are enough that the second rounding cannot
// differ (2 * 11 + 2); fma goes through a rounding to odd in f64.
//
//===----------------------------------------------------------------------===//

#include "decode/Registry.h"
#include "exec/FloatSemantics.h"
#include "exec/Lanes.h"

namespace tds::sim {

namespace {

struct Half {
  static float load(u16 v) { return halfToFloat(v); }
  static u16 store(float v) { return floatToHalf(v); }
  static u16 storeWide(double v) { return doubleToHalf(v); }
  static constexpr u16 expMask = 0x7c00;
};
struct Brain {
  static float load(u16 v) { return bf16ToFloat(v); }
  static u16 store(float v) { return floatToBf16(v); }
  static u16 storeWide(double v) { return doubleToBf16(v); }
  static constexpr u16 expMask = 0x7f80;
};
constexpr u16 nanBits = 0x7fff;

template <class H, bool Ftz> inline u16 flushHalf(u16 v) {
  return Ftz && (v & H::expMask) == 0 ? (u16)(v & 0x8000) : v;
}

enum class HOp { Add, Sub, Mul, Fma };
enum class Clamp { None, Sat, Relu };

template <class H, HOp K, bool Ftz, Clamp C>
inline u16 compute(u16 a, u16 b, u16 c) {
  float x = H::load(flushHalf<H, Ftz>(a)), y = H::load(flushHalf<H, Ftz>(b));
  u16 r;
  if (K == HOp::Fma)
    r = H::storeWide(fmaToOdd(x, y, H::load(flushHalf<H, Ftz>(c))));
  else
    r = H::store(K == HOp::Add ? x + y : K == HOp::Sub ? x - y : x * y);
  r = flushHalf<H, Ftz>(r);
  bool nan = (r & 0x7fff) > H::expMask;
  if (C == Clamp::Sat) {
    if (nan || (r & 0x8000))
      return 0;
    u16 one = std::is_same<H, Half>::value ? 0x3c00 : 0x3f80;
    return r > one ? one : r;
  }
  if (C == Clamp::Relu && !nan && (r & 0x8000))
    return 0;
  return nan ? nanBits : r;
}

template <class H, HOp K, bool Ftz, Clamp C> void single(Warp &w, const Op &o) {
  const u16 *a = w.reg<u16>(o.a), *b = w.reg<u16>(o.b);
  const u16 *c = K == HOp::Fma ? w.reg<u16>(o.c) : a;
  storeLanes(w, w.reg<u16>(o.d), [&](int i) -> u16 {
    return compute<H, K, Ftz, C>(a[i], b[i], c[i]);
  });
}
template <class H, HOp K, bool Ftz, Clamp C> void packed(Warp &w, const Op &o) {
  const u32 *a = w.reg<u32>(o.a), *b = w.reg<u32>(o.b);
  const u32 *c = K == HOp::Fma ? w.reg<u32>(o.c) : a;
  storeLanes(w, w.reg<u32>(o.d), [&](int i) -> u32 {
    return (u32)compute<H, K, Ftz, C>((u16)a[i], (u16)b[i], (u16)c[i]) |
           (u32)compute<H, K, Ftz, C>((u16)(a[i] >> 16), (u16)(b[i] >> 16),
                                      (u16)(c[i] >> 16))
               << 16;
  });
}

template <class H, HOp K, bool Ftz, Clamp C>
void addOne(Registry &r, const std::string &mods, const char *type, Ty ty,
            Ty ty2, u16 ptx, u16 sm) {
  auto add = [&](const std::string &name, Handler fn, Ty t) {
    OpInfo info;
    info.fn = fn;
    info.d = t;
    info.nSrc = K == HOp::Fma ? 3 : 2;
    for (int i = 0; i < info.nSrc; ++i)
      info.s[i] = t;
    info.minPtx = ptx;
    info.minSm = sm;
    r.add(name, info);
  };
  add(mods + "." + type, single<H, K, Ftz, C>, ty);
  add(mods + "." + type + "x2", packed<H, K, Ftz, C>, ty2);
}

template <HOp K> void halfFamily(Registry &r, const std::string &name) {
  bool fma = K == HOp::Fma;
  for (const char *rn : {"", ".rn"}) {
    if (fma && !*rn)
      continue;
    std::string base = name + rn;
    addOne<Half, K, false, Clamp::None>(r, base, "f16", Ty::F16, Ty::F16x2, 42,
                                        53);
    addOne<Half, K, true, Clamp::None>(r, base + ".ftz", "f16", Ty::F16,
                                       Ty::F16x2, 42, 53);
    addOne<Half, K, false, Clamp::Sat>(r, base + ".sat", "f16", Ty::F16,
                                       Ty::F16x2, 42, 53);
    addOne<Half, K, true, Clamp::Sat>(r, base + ".ftz.sat", "f16", Ty::F16,
                                      Ty::F16x2, 42, 53);
    if (fma) {
      addOne<Half, K, false, Clamp::Relu>(r, base + ".relu", "f16", Ty::F16,
                                          Ty::F16x2, 70, 80);
      addOne<Half, K, true, Clamp::Relu>(r, base + ".ftz.relu", "f16", Ty::F16,
                                         Ty::F16x2, 70, 80);
      addOne<Brain, K, false, Clamp::Relu>(r, base + ".relu", "bf16", Ty::BF16,
                                           Ty::BF16x2, 70, 80);
    }
    addOne<Brain, K, false, Clamp::None>(r, base, "bf16", Ty::BF16, Ty::BF16x2,
                                         fma ? 70 : 78, fma ? 80 : 90);
  }
}

template <class H, bool Max, bool Nan, bool Ftz>
inline u16 minMaxHalf(u16 a, u16 b) {
  a = flushHalf<H, Ftz>(a);
  b = flushHalf<H, Ftz>(b);
  bool na = (a & 0x7fff) > H::expMask, nb = (b & 0x7fff) > H::expMask;
  if (na || nb) {
    if (Nan || (na && nb))
      return nanBits;
    return na ? b : a;
  }
  s16 ka = (s16)a, kb = (s16)b;
  ka = (s16)(ka ^ (s16)((u16)(ka >> 15) >> 1));
  kb = (s16)(kb ^ (s16)((u16)(kb >> 15) >> 1));
  return (Max ? ka > kb : ka < kb) ? a : b;
}
template <class H, bool Max, bool Nan, bool Ftz, bool Xor>
inline u16 minMaxSign(u16 a, u16 b) {
  if (!Xor)
    return minMaxHalf<H, Max, Nan, Ftz>(a, b);
  u16 r = minMaxHalf<H, Max, Nan, Ftz>(a & 0x7fff, b & 0x7fff);
  return (r & 0x7fff) > H::expMask ? r : (u16)(r | ((a ^ b) & 0x8000));
}

template <class H, bool Max, bool Nan, bool Ftz, bool Xor>
void addMinMax(Registry &r, const std::string &name, const char *type, Ty ty,
               Ty ty2, u16 ptx, u16 sm) {
  r.plain(name + "." + type,
          X2(u16, u16, u16, (minMaxSign<H, Max, Nan, Ftz, Xor>(a, b))), ty,
          {ty, ty}, ptx, sm);
  r.plain(name + "." + type + "x2",
          X2(u32, u32, u32,
             (u32)(minMaxSign<H, Max, Nan, Ftz, Xor>((u16)a, (u16)b)) |
                 (u32)(minMaxSign<H, Max, Nan, Ftz, Xor>((u16)(a >> 16),
                                                         (u16)(b >> 16)))
                     << 16),
          ty2, {ty2, ty2}, ptx, sm);
}
template <bool Max> void minMaxFamily(Registry &r, const std::string &n) {
  const Ty F = Ty::F16, F2 = Ty::F16x2, B = Ty::BF16, B2 = Ty::BF16x2;
  addMinMax<Half, Max, false, false, false>(r, n, "f16", F, F2, 70, 80);
  addMinMax<Half, Max, false, true, false>(r, n + ".ftz", "f16", F, F2, 70, 80);
  addMinMax<Half, Max, true, false, false>(r, n + ".NaN", "f16", F, F2, 70, 80);
  addMinMax<Half, Max, true, true, false>(r, n + ".ftz.NaN", "f16", F, F2, 70,
                                          80);
  addMinMax<Half, Max, false, false, true>(r, n + ".xorsign.abs", "f16", F, F2,
                                           72, 86);
  addMinMax<Half, Max, true, false, true>(r, n + ".NaN.xorsign.abs", "f16", F,
                                          F2, 72, 86);
  addMinMax<Brain, Max, false, false, false>(r, n, "bf16", B, B2, 70, 80);
  addMinMax<Brain, Max, true, false, false>(r, n + ".NaN", "bf16", B, B2, 70,
                                            80);
  addMinMax<Brain, Max, false, false, true>(r, n + ".xorsign.abs", "bf16", B,
                                            B2, 72, 86);
  addMinMax<Brain, Max, true, false, true>(r, n + ".NaN.xorsign.abs", "bf16", B,
                                           B2, 72, 86);
}

} // namespace

void registerHalf(Registry &r) {
  halfFamily<HOp::Add>(r, "add");
  halfFamily<HOp::Sub>(r, "sub");
  halfFamily<HOp::Mul>(r, "mul");
  halfFamily<HOp::Fma>(r, "fma");
  minMaxFamily<false>(r, "min");
  minMaxFamily<true>(r, "max");
  const Ty F = Ty::F16, F2 = Ty::F16x2, B = Ty::BF16, B2 = Ty::BF16x2;
  r.plain("neg.f16", X1(u16, u16, (u16)(a ^ 0x8000)), F, {F}, 60, 53);
  r.plain("abs.f16", X1(u16, u16, (u16)(a & 0x7fff)), F, {F}, 65, 53);
  r.plain("neg.ftz.f16",
          X1(u16, u16, (u16)((flushHalf<Half, true>(a)) ^ 0x8000)), F, {F}, 60,
          53);
  r.plain("abs.ftz.f16",
          X1(u16, u16, (u16)((flushHalf<Half, true>(a)) & 0x7fff)), F, {F}, 65,
          53);
  r.plain("neg.f16x2", X1(u32, u32, a ^ 0x80008000u), F2, {F2}, 60, 53);
  r.plain("abs.f16x2", X1(u32, u32, a & 0x7fff7fffu), F2, {F2}, 65, 53);
  r.plain("neg.bf16", X1(u16, u16, (u16)(a ^ 0x8000)), B, {B}, 70, 80);
  r.plain("abs.bf16", X1(u16, u16, (u16)(a & 0x7fff)), B, {B}, 70, 80);
  r.plain("neg.bf16x2", X1(u32, u32, a ^ 0x80008000u), B2, {B2}, 70, 80);
  r.plain("abs.bf16x2", X1(u32, u32, a & 0x7fff7fffu), B2, {B2}, 70, 80);
}

} // namespace tds::sim
