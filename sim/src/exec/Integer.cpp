//===- Integer.cpp - integer and bit operations -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX manual, "Integer Arithmetic Instructions", "Extended-Precision Integer
// Arithmetic", "Logic and Shift Instructions", "Data Movement: prmt".
//
//===----------------------------------------------------------------------===//

#include "decode/Registry.h"
#include "exec/Lanes.h"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace tds::sim {

namespace {

template <class T> struct Wide;
template <> struct Wide<u16> {
  using type = u32;
};
template <> struct Wide<s16> {
  using type = s32;
};
template <> struct Wide<u32> {
  using type = u64;
};
template <> struct Wide<s32> {
  using type = s64;
};
template <> struct Wide<u64> {
  using type = unsigned __int128;
};
template <> struct Wide<s64> {
  using type = __int128;
};

template <class T> using Unsigned = std::make_unsigned_t<T>;

// Arithmetic that wraps, computed without signed overflow.
template <class T> inline T addWrap(T a, T b) {
  return (T)(Unsigned<T>)((u64)a + (u64)b);
}
template <class T> inline T subWrap(T a, T b) {
  return (T)(Unsigned<T>)((u64)a - (u64)b);
}
template <class T> inline T mulLow(T a, T b) {
  return (T)(Unsigned<T>)((u64)a * (u64)b);
}
template <class T> inline T mulHigh(T a, T b) {
  using W = typename Wide<T>::type;
  return (T)(((W)a * (W)b) >> (sizeof(T) * 8));
}
/// Division by zero gives an unspecified value on hardware; here all ones.
template <class T> inline T divide(T a, T b) {
  if (b == 0)
    return (T) ~(T)0;
  if (std::is_signed<T>::value && b == (T)-1)
    return subWrap<T>(0, a);
  return (T)(a / b);
}
template <class T> inline T remainder(T a, T b) {
  if (b == 0)
    return a;
  if (std::is_signed<T>::value && b == (T)-1)
    return 0;
  return (T)(a % b);
}
inline s32 addSat(s32 a, s32 b) {
  s64 r = (s64)a + b;
  return (s32)std::min<s64>(std::max<s64>(r, INT32_MIN), INT32_MAX);
}
inline s32 subSat(s32 a, s32 b) {
  s64 r = (s64)a - b;
  return (s32)std::min<s64>(std::max<s64>(r, INT32_MIN), INT32_MAX);
}
inline s32 madHighSat(s32 a, s32 b, s32 c) {
  return addSat(mulHigh<s32>(a, b), c);
}
inline s32 mul24Low(s32 a, s32 b, bool isSigned) {
  if (isSigned) {
    s64 x = (s32)((u32)a << 8) >> 8, y = (s32)((u32)b << 8) >> 8;
    return (s32)(u32)(x * y);
  }
  return (s32)(u32)((u64)((u32)a & 0xffffff) * ((u32)b & 0xffffff));
}
inline s32 mul24High(s32 a, s32 b, bool isSigned) {
  if (isSigned) {
    s64 x = (s32)((u32)a << 8) >> 8, y = (s32)((u32)b << 8) >> 8;
    return (s32)(u32)((x * y) >> 16);
  }
  return (s32)(u32)(((u64)((u32)a & 0xffffff) * ((u32)b & 0xffffff)) >> 16);
}

template <class T> void arithmetic(Registry &r, const char *name, Ty ty) {
  std::string t = std::string(".") + name;
  using W = typename Wide<T>::type;
  r.plain("add" + t, X2(T, T, T, addWrap<T>(a, b)), ty, {ty, ty});
  r.plain("sub" + t, X2(T, T, T, subWrap<T>(a, b)), ty, {ty, ty});
  r.plain("mul.lo" + t, X2(T, T, T, mulLow<T>(a, b)), ty, {ty, ty});
  r.plain("mul.hi" + t, X2(T, T, T, mulHigh<T>(a, b)), ty, {ty, ty});
  r.plain("mad.lo" + t, X3(T, T, T, T, addWrap<T>(mulLow<T>(a, b), c)), ty,
          {ty, ty, ty});
  r.plain("mad.hi" + t, X3(T, T, T, T, addWrap<T>(mulHigh<T>(a, b), c)), ty,
          {ty, ty, ty});
  r.plain("div" + t, X2(T, T, T, divide<T>(a, b)), ty, {ty, ty});
  r.plain("rem" + t, X2(T, T, T, remainder<T>(a, b)), ty, {ty, ty});
  r.plain("min" + t, X2(T, T, T, a < b ? a : b), ty, {ty, ty});
  r.plain("max" + t, X2(T, T, T, a > b ? a : b), ty, {ty, ty});
  r.plain("sad" + t,
          X3(T, T, T, T,
             addWrap<T>(c, a < b ? subWrap<T>(b, a) : subWrap<T>(a, b))),
          ty, {ty, ty, ty});
  if constexpr (sizeof(T) < 8) {
    Ty wide = sizeof(T) == 2 ? (std::is_signed<T>::value ? Ty::S32 : Ty::U32)
                             : (std::is_signed<T>::value ? Ty::S64 : Ty::U64);
    r.plain("mul.wide" + t, X2(W, T, T, (W)a * (W)b), wide, {ty, ty});
    r.plain("mad.wide" + t, X3(W, T, T, W, addWrap<W>((W)a * (W)b, c)), wide,
            {ty, ty, wide});
  }
  if constexpr (std::is_signed<T>::value) {
    r.plain("abs" + t, X1(T, T, a < 0 ? subWrap<T>(0, a) : a), ty, {ty});
    r.plain("neg" + t, X1(T, T, subWrap<T>(0, a)), ty, {ty});
  }
}

template <class T> void bits(Registry &r, const char *width, Ty ty) {
  std::string t = std::string(".b") + width;
  r.plain("and" + t, X2(T, T, T, (T)(a & b)), ty, {ty, ty});
  r.plain("or" + t, X2(T, T, T, (T)(a | b)), ty, {ty, ty});
  r.plain("xor" + t, X2(T, T, T, (T)(a ^ b)), ty, {ty, ty});
  r.plain("not" + t, X1(T, T, (T)~a), ty, {ty});
  r.plain("cnot" + t, X1(T, T, (T)(a == 0)), ty, {ty});
  constexpr u32 n = sizeof(T) * 8;
  using S = std::make_signed_t<T>;
  r.plain("shl" + t, X2(T, T, u32, b >= n ? (T)0 : (T)((u64)a << b)), ty,
          {ty, Ty::U32});
  for (const char *kind : {".b", ".u"})
    r.plain("shr" + std::string(kind) + width,
            X2(T, T, u32, b >= n ? (T)0 : (T)(a >> b)), ty, {ty, Ty::U32});
  r.plain("shr.s" + std::string(width),
          X2(S, S, u32, (S)(a >> (b >= n ? n - 1 : b))), ty, {ty, Ty::U32});
}

template <class T> inline u32 leadingZeros(T v) {
  return v ? (u32)__builtin_clzll((u64)v) - (64 - (u32)sizeof(T) * 8)
           : (u32)sizeof(T) * 8;
}
template <class T> inline T reverseBits(T v) {
  u64 x = (u64)v;
  x = (x >> 1 & 0x5555555555555555ull) | (x & 0x5555555555555555ull) << 1;
  x = (x >> 2 & 0x3333333333333333ull) | (x & 0x3333333333333333ull) << 2;
  x = (x >> 4 & 0x0f0f0f0f0f0f0f0full) | (x & 0x0f0f0f0f0f0f0f0full) << 4;
  x = __builtin_bswap64(x);
  return (T)(x >> (64 - sizeof(T) * 8));
}
template <class T> inline T extract(T a, u32 b, u32 c) {
  using U = Unsigned<T>;
  constexpr u32 msb = sizeof(T) * 8 - 1;
  u32 pos = b & 255, len = c & 255;
  bool fill = false;
  if (std::is_signed<T>::value && len != 0) {
    u32 at = std::min(pos + len - 1, msb);
    fill = (U)a >> at & 1;
  }
  if (len == 0)
    return 0;
  U field = pos > msb ? 0 : (U)a >> pos;
  u32 have = pos > msb ? 0 : std::min(len, msb + 1 - pos);
  if (have <= msb)
    field &= ((U)1 << have) - 1;
  if (fill && have <= msb)
    field |= (U) ~(U)0 << have;
  return (T)field;
}
/// bfi: the low `d` bits of `a` put into `b` at bit `c`.
template <class T> inline T insert(T a, T b, u32 c, u32 d) {
  constexpr u32 n = sizeof(T) * 8;
  u32 pos = c & 255, len = d & 255;
  if (pos >= n || len == 0)
    return b;
  T mask = len >= n ? (T) ~(T)0 : (T)(((T)1 << len) - 1);
  mask = (T)(mask << pos);
  return (T)((b & ~mask) | ((T)(a << pos) & mask));
}
template <class T> inline u32 findBit(T a, bool shiftAmount) {
  using U = Unsigned<T>;
  constexpr u32 msb = sizeof(T) * 8 - 1;
  U v = (U)a;
  if (std::is_signed<T>::value && a < 0)
    v = (U)~v;
  if (v == 0)
    return ~0u;
  u32 at = msb - leadingZeros<U>(v);
  return shiftAmount ? msb - at : at;
}

template <class T> void fields(Registry &r, const char *name, Ty ty) {
  std::string t = std::string(".") + name;
  r.plain("bfe" + t, X3(T, T, u32, u32, extract<T>(a, b, c)), ty,
          {ty, Ty::U32, Ty::U32});
  r.plain("bfind" + t, X1(u32, T, findBit<T>(a, false)), Ty::U32, {ty});
  r.plain("bfind.shiftamt" + t, X1(u32, T, findBit<T>(a, true)), Ty::U32, {ty});
}
template <class T> void counts(Registry &r, const char *width, Ty ty) {
  std::string t = std::string(".b") + width;
  r.plain("popc" + t, X1(u32, T, popcount(a)), Ty::U32, {ty});
  r.plain("clz" + t, X1(u32, T, leadingZeros<T>(a)), Ty::U32, {ty});
  r.plain("brev" + t, X1(T, T, reverseBits<T>(a)), ty, {ty});
  r.plain("bfi" + t,
          [](Warp &w, const Op &o) {
            const T *a = w.reg<T>(o.a), *b = w.reg<T>(o.b);
            const u32 *c = w.reg<u32>(o.c);
            const u32 *d = w.reg<u32>(w.code->ext[o.ext]);
            storeLanes(w, w.reg<T>(o.d), [&](int i) -> T {
              return insert<T>(a[i], b[i], c[i], d[i]);
            });
          },
          ty, {ty, ty, Ty::U32, Ty::U32});
}

inline u32 permuteByte(u64 bytes, u32 selector) {
  u32 v = (u32)(bytes >> ((selector & 7) * 8)) & 255;
  if (selector & 8)
    v = v & 0x80 ? 255 : 0;
  return v;
}
inline u32 permute(u32 a, u32 b, u32 c) {
  u64 bytes = (u64)b << 32 | a;
  u32 r = 0;
  for (u32 i = 0; i < 4; ++i)
    r |= permuteByte(bytes, c >> (4 * i) & 15) << (8 * i);
  return r;
}
enum { F4e, B4e, Rc8, Ecl, Ecr, Rc16 };
template <int Mode> inline u32 permuteMode(u32 a, u32 b, u32 c) {
  static const u8 table[6][4][4] = {
      {{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}},
      {{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}},
      {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}},
      {{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}},
      {{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}},
      {{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}}};
  u64 bytes = (u64)b << 32 | a;
  u32 r = 0;
  for (u32 i = 0; i < 4; ++i)
    r |= permuteByte(bytes, table[Mode][c & 3][i]) << (8 * i);
  return r;
}

inline u32 logic3(u32 a, u32 b, u32 c, u32 table) {
  u32 r = 0;
  for (u32 i = 0; i < 8; ++i)
    if (table >> i & 1)
      r |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return r;
}
inline u32 funnelLeft(u32 lo, u32 hi, u32 n) {
  u64 v = (u64)hi << 32 | lo;
  return n >= 32 ? lo : (u32)(v >> (32 - n));
}
inline u32 funnelRight(u32 lo, u32 hi, u32 n) {
  u64 v = (u64)hi << 32 | lo;
  return n >= 32 ? hi : (u32)(v >> n);
}

template <class A, class B> s32 dot4(u32 a, u32 b, s32 c) {
  u32 sum = (u32)c;
  for (int i = 0; i < 4; ++i)
    sum += (u32)((s32)(A)(a >> (8 * i)) * (s32)(B)(b >> (8 * i)));
  return (s32)sum;
}
template <class A, class B> s32 dot2(u32 a, u32 b, s32 c, bool high) {
  u32 sum = (u32)c;
  for (int i = 0; i < 2; ++i)
    sum += (u32)((s32)(A)(a >> (16 * i)) *
                 (s32)(B)(b >> (8 * i + (high ? 16 : 0))));
  return (s32)sum;
}

} // namespace

void registerInteger(Registry &r) {
  arithmetic<u16>(r, "u16", Ty::U16);
  arithmetic<s16>(r, "s16", Ty::S16);
  arithmetic<u32>(r, "u32", Ty::U32);
  arithmetic<s32>(r, "s32", Ty::S32);
  arithmetic<u64>(r, "u64", Ty::U64);
  arithmetic<s64>(r, "s64", Ty::S64);
  const Ty S = Ty::S32, U = Ty::U32;
  r.plain("add.sat.s32", X2(s32, s32, s32, addSat(a, b)), S, {S, S});
  r.plain("sub.sat.s32", X2(s32, s32, s32, subSat(a, b)), S, {S, S});
  r.plain("mad.hi.sat.s32", X3(s32, s32, s32, s32, madHighSat(a, b, c)), S,
          {S, S, S});
  r.plain("mul24.lo.s32", X2(s32, s32, s32, mul24Low(a, b, true)), S, {S, S});
  r.plain("mul24.lo.u32", X2(s32, s32, s32, mul24Low(a, b, false)), U, {U, U});
  r.plain("mul24.hi.s32", X2(s32, s32, s32, mul24High(a, b, true)), S, {S, S});
  r.plain("mul24.hi.u32", X2(s32, s32, s32, mul24High(a, b, false)), U, {U, U});
  r.plain("mad24.lo.s32",
          X3(s32, s32, s32, s32, addWrap<s32>(mul24Low(a, b, true), c)), S,
          {S, S, S});
  r.plain("mad24.lo.u32",
          X3(s32, s32, s32, s32, addWrap<s32>(mul24Low(a, b, false), c)), U,
          {U, U, U});
  // Packed 16-bit forms.
  r.plain("add.u16x2",
          X2(u32, u32, u32,
             ((a + b) & 0xffff) | ((a & 0xffff0000) + (b & 0xffff0000))),
          U, {U, U}, 80, 90);
  r.plain("add.s16x2",
          X2(u32, u32, u32,
             ((a + b) & 0xffff) | ((a & 0xffff0000) + (b & 0xffff0000))),
          U, {U, U}, 80, 90);
#define PACKED(NAME, T, OP)                                                    \
  r.plain(NAME,                                                                \
          X2(u32, u32, u32,                                                    \
             (u32)(u16)((T)a OP(T) b ? (T)a : (T)b) |                          \
                 (u32)(u16)((T)(a >> 16) OP(T)(b >> 16) ? (T)(a >> 16)         \
                                                        : (T)(b >> 16))        \
                     << 16),                                                   \
          U, {U, U}, 80, 90)
  PACKED("min.u16x2", u16, <);
  PACKED("min.s16x2", s16, <);
  PACKED("max.u16x2", u16, >);
  PACKED("max.s16x2", s16, >);
#undef PACKED
  r.plain("min.relu.s32", X2(s32, s32, s32, std::max(0, std::min(a, b))), S,
          {S, S}, 80, 90);
  r.plain("max.relu.s32", X2(s32, s32, s32, std::max(0, std::max(a, b))), S,
          {S, S}, 80, 90);

  bits<u16>(r, "16", Ty::B16);
  bits<u32>(r, "32", Ty::B32);
  bits<u64>(r, "64", Ty::B64);
  counts<u32>(r, "32", Ty::B32);
  counts<u64>(r, "64", Ty::B64);
  fields<u32>(r, "u32", Ty::U32);
  fields<s32>(r, "s32", Ty::S32);
  fields<u64>(r, "u64", Ty::U64);
  fields<s64>(r, "s64", Ty::S64);
  r.plain("bmsk.clamp.b32",
          X2(u32, u32, u32,
             a >= 32 ? 0 : (b >= 32 - a ? ~0u << a : ((1u << b) - 1) << a)),
          Ty::B32, {U, U}, 76, 70);
  r.plain("bmsk.wrap.b32",
          X2(u32, u32, u32, (((1u << (b & 31)) - 1) << (a & 31))), Ty::B32,
          {U, U}, 76, 70);
  r.plain("szext.wrap.u32",
          X2(u32, u32, u32, (b & 31) == 0 ? 0 : a & ((1u << (b & 31)) - 1)), U,
          {U, U}, 76, 70);
  r.plain(
      "szext.wrap.s32",
      X2(s32, u32, u32,
         (b & 31) == 0 ? 0 : (s32)(a << (32 - (b & 31))) >> (32 - (b & 31))),
      S, {U, U}, 76, 70);
  r.plain("fns.b32",
          [](Warp &w, const Op &o) {
            const u32 *mask = w.reg<u32>(o.a), *base = w.reg<u32>(o.b);
            const s32 *offset = w.reg<s32>(o.c);
            storeLanes(w, w.reg<u32>(o.d), [&](int i) -> u32 {
              u32 m = mask[i], at = base[i];
              s32 n = offset[i];
              if (at > 31)
                return ~0u;
              if (n == 0)
                return m >> at & 1 ? at : ~0u;
              s32 step = n > 0 ? 1 : -1;
              // No mask has more than 32 set bits.
              u32 count = n > 0 ? (u32)n : 0u - (u32)n;
              for (s32 p = (s32)at; p >= 0 && p < 32; p += step)
                if (m >> p & 1 && --count == 0)
                  return (u32)p;
              return ~0u;
            });
          },
          Ty::B32, {Ty::B32, Ty::B32, Ty::S32});

  const Ty B = Ty::B32;
  r.plain("prmt.b32", X3(u32, u32, u32, u32, permute(a, b, c)), B, {B, B, B});
  r.plain("prmt.b32.f4e", X3(u32, u32, u32, u32, permuteMode<F4e>(a, b, c)), B,
          {B, B, B});
  r.plain("prmt.b32.b4e", X3(u32, u32, u32, u32, permuteMode<B4e>(a, b, c)), B,
          {B, B, B});
  r.plain("prmt.b32.rc8", X3(u32, u32, u32, u32, permuteMode<Rc8>(a, b, c)), B,
          {B, B, B});
  r.plain("prmt.b32.ecl", X3(u32, u32, u32, u32, permuteMode<Ecl>(a, b, c)), B,
          {B, B, B});
  r.plain("prmt.b32.ecr", X3(u32, u32, u32, u32, permuteMode<Ecr>(a, b, c)), B,
          {B, B, B});
  r.plain("prmt.b32.rc16", X3(u32, u32, u32, u32, permuteMode<Rc16>(a, b, c)),
          B, {B, B, B});
  r.plain(
      "lop3.b32",
      [](Warp &w, const Op &o) {
        const u32 *a = w.reg<u32>(o.a), *b = w.reg<u32>(o.b),
                  *c = w.reg<u32>(o.c), *t = w.reg<u32>(w.code->ext[o.ext]);
        u32 table = t[0];
        storeLanes(w, w.reg<u32>(o.d), [&](int i) -> u32 {
          return logic3(a[i], b[i], c[i], table);
        });
      },
      B, {B, B, B, B}, 43, 50);
  r.plain("shf.l.clamp.b32",
          X3(u32, u32, u32, u32, funnelLeft(a, b, std::min(c, 32u))), B,
          {B, B, U});
  r.plain("shf.r.clamp.b32",
          X3(u32, u32, u32, u32, funnelRight(a, b, std::min(c, 32u))), B,
          {B, B, U});
  // With wrap a shift by 0 leaves the high word (left) or the low one (right).
  r.plain("shf.l.wrap.b32",
          X3(u32, u32, u32, u32, (c & 31) ? funnelLeft(a, b, c & 31) : b), B,
          {B, B, U});
  r.plain("shf.r.wrap.b32",
          X3(u32, u32, u32, u32, (c & 31) ? funnelRight(a, b, c & 31) : a), B,
          {B, B, U});

  r.plain("dp4a.u32.u32", X3(s32, u32, u32, s32, (dot4<u8, u8>(a, b, c))), U,
          {B, B, U}, 50, 61);
  r.plain("dp4a.u32.s32", X3(s32, u32, u32, s32, (dot4<u8, s8>(a, b, c))), S,
          {B, B, S}, 50, 61);
  r.plain("dp4a.s32.u32", X3(s32, u32, u32, s32, (dot4<s8, u8>(a, b, c))), S,
          {B, B, S}, 50, 61);
  r.plain("dp4a.s32.s32", X3(s32, u32, u32, s32, (dot4<s8, s8>(a, b, c))), S,
          {B, B, S}, 50, 61);
#define DOT2(HI, FLAG)                                                         \
  r.plain("dp2a." HI ".u32.u32",                                               \
          X3(s32, u32, u32, s32, (dot2<u16, u8>(a, b, c, FLAG))), U,           \
          {B, B, U}, 50, 61);                                                  \
  r.plain("dp2a." HI ".u32.s32",                                               \
          X3(s32, u32, u32, s32, (dot2<u16, s8>(a, b, c, FLAG))), S,           \
          {B, B, S}, 50, 61);                                                  \
  r.plain("dp2a." HI ".s32.u32",                                               \
          X3(s32, u32, u32, s32, (dot2<s16, u8>(a, b, c, FLAG))), S,           \
          {B, B, S}, 50, 61);                                                  \
  r.plain("dp2a." HI ".s32.s32",                                               \
          X3(s32, u32, u32, s32, (dot2<s16, s8>(a, b, c, FLAG))), S,           \
          {B, B, S}, 50, 61)
  DOT2("lo", false);
  DOT2("hi", true);
#undef DOT2

  // Predicates: masks of the warp.
  const Ty P = Ty::Pred;
#define PRED2(NAME, EXPR)                                                      \
  r.plain(NAME ".pred",                                                        \
          [](Warp &w, const Op &o) {                                           \
            u32 a = *w.reg<u32>(o.a), b = *w.reg<u32>(o.b);                    \
            setPred(w, o.d, EXPR);                                             \
          },                                                                   \
          P, {P, P})
  PRED2("and", a & b);
  PRED2("or", a | b);
  PRED2("xor", a ^ b);
#undef PRED2
  r.plain("not.pred",
          [](Warp &w, const Op &o) { setPred(w, o.d, ~*w.reg<u32>(o.a)); }, P,
          {P});
}

} // namespace tds::sim
