//===- OpcodeTests.cpp - opcodes against independent values -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each opcode runs on a grid of operands in a kernel of its own; what it gives
// is compared bit for bit with a value computed here from the PTX manual's
// words by other means: integers in 128 bits, floats as exact integers times a
// power of two that are rounded once.
//
//===----------------------------------------------------------------------===//

#include "Client.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

using namespace simtest;

namespace {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = unsigned long long;
using s16 = int16_t;
using s32 = int32_t;
using s64 = long long;
using i128 = __int128;

struct Args {
  u64 a, b, c;
};
struct Case {
  std::string op;
  const char *shape; // widths: "32=32,32" or "p=64,64"; 'i' an immediate
  std::function<u64(Args)> want;
  int values = 0; // which operands: 0 integers, 1 f32, 2 f64, 3 f16, 4 bf16
};

std::vector<u64> integerValues(int bits) {
  std::vector<u64> v = {0, 1, 2, 3, 7, 31, 32, 33, 100, 255};
  const u64 top = 1ull << (bits - 1);
  for (u64 x : {top, top - 1, top + 1, ~0ull, ~0ull - 6, top / 3 * 2,
                (u64)0x123456789abcdef1ull, (u64)0xfedcba9876543210ull})
    v.push_back(bits == 64 ? x : x & ((1ull << bits) - 1));
  return v;
}
template <class T, class U> T bits(U u) {
  T t;
  memcpy(&t, &u, sizeof t);
  return t;
}
u64 f32(float f) { return bits<u32>(f); }
u64 f64(double d) { return bits<u64>(d); }

std::vector<u64> valuesFor(int kind, int bits) {
  std::vector<u64> v;
  switch (kind) {
  case 0:
    return integerValues(bits);
  case 1:
    for (float f : {0.f, -0.f, 1.f, -1.f, 0.1f, -3.75f, 1.0000001f, 1234.567f,
                    -0.3333333f, 7.9999995f, 2.5f, -2.5f, 0.5f, 16777217.f})
      v.push_back(f32(f));
    return v;
  case 2:
    for (double d : {0., -0., 1., -1., 0.1, -3.75, 1.0000000000000002, 1234.567,
                     2.5, -0.5, 9007199254740993., 1e-3})
      v.push_back(f64(d));
    return v;
  case 3: // f16
    return {0,      0x8000, 0x3c00, 0xbc00, 0x3555, 0xc380, 0x3c01,
            0x4248, 0x0001, 0x8003, 0x7bff, 0x2e66, 0x4500};
  default: // bf16
    return {0,      0x8000, 0x3f80, 0xbf80, 0x3eab, 0xc070,
            0x3f81, 0x4049, 0x3dcd, 0x4120, 0xc2f7};
  }
}

/// Runs one opcode over all combinations of its operands.
void check(const Case &c) {
  std::string shape = c.shape;
  size_t eq = shape.find('=');
  std::string dst = shape.substr(0, eq);
  std::vector<std::string> src;
  for (size_t at = eq + 1; at < shape.size();) {
    size_t comma = shape.find(',', at);
    if (comma == std::string::npos)
      comma = shape.size();
    src.push_back(shape.substr(at, comma - at));
    at = comma + 1;
  }
  std::vector<std::vector<u64>> lists;
  for (const std::string &s : src)
    lists.push_back(s == "p" ? std::vector<u64>{0, 1}
                             : valuesFor(c.values, std::stoi(s)));
  while (lists.size() < 3)
    lists.push_back({0});
  if (src.size() == 3 && lists[2].size() > 9)
    lists[2].resize(9);
  std::vector<u64> a, b, e;
  for (u64 x : lists[0])
    for (u64 y : lists[1])
      for (u64 z : lists[2]) {
        a.push_back(x);
        b.push_back(y);
        e.push_back(z);
      }
  u32 n = (u32)a.size();
  std::string ptx = ".version 8.0\n.target sm_90a\n.address_size 64\n"
                    ".visible .entry k(.param .u64 pa, .param .u64 pb, .param "
                    ".u64 pc, .param .u64 pd, .param .u32 pn)\n{\n"
                    ".reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p<6>;\n"
                    ".reg .b64 %w<4>; .reg .b32 %x<4>; .reg .b16 %h<4>;\n"
                    "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, "
                    "%tid.x; mad.lo.s32 %r4, %r1, %r2, %r3;\n"
                    "ld.param.u32 %r5, [pn]; setp.ge.u32 %p1, %r4, %r5; @%p1 "
                    "bra DONE;\nmul.wide.u32 %rd1, %r4, 8;\n";
  const char *params[] = {"pa", "pb", "pc"};
  std::string operands;
  for (size_t i = 0; i < src.size(); ++i) {
    std::string k = std::to_string(i + 1);
    ptx += std::string("ld.param.u64 %rd2, [") + params[i] +
           "]; add.s64 %rd3, %rd2, %rd1;\n";
    if (src[i] == "p") {
      ptx += "ld.global.b32 %r6, [%rd3]; setp.ne.b32 %p" +
             std::to_string(i + 2) + ", %r6, 0;\n";
      operands += ", %p" + std::to_string(i + 2);
    } else {
      std::string reg = (src[i] == "64"   ? "%w"
                         : src[i] == "32" ? "%x"
                                          : "%h") +
                        k;
      ptx += "ld.global.b" + std::string(src[i] == "8" ? "8" : src[i]) + " " +
             reg + ", [%rd3];\n";
      operands += ", " + reg;
    }
  }
  std::string d = dst == "p"    ? "%p5"
                  : dst == "64" ? "%w0"
                  : dst == "32" ? "%x0"
                                : "%h0";
  ptx += c.op + " " + d + operands + ";\n";
  if (dst == "p")
    ptx += "selp.b32 %x0, 1, 0, %p5;\n";
  std::string width = dst == "p" ? "32" : dst == "8" ? "16" : dst;
  std::string from = dst == "p" ? "%x0" : d;
  ptx += "ld.param.u64 %rd2, [pd]; add.s64 %rd3, %rd2, %rd1;\nst.global.b" +
         width + " [%rd3], " + from + ";\nDONE: ret;\n}\n";
  Gpu gpu;
  ASSERT_EQ(gpu.load(ptx), CUDA_SUCCESS) << c.op << ": " << gpu.log() << "\n"
                                         << ptx;
  CUdeviceptr A = gpu.upload(a), B = gpu.upload(b), C = gpu.upload(e),
              D = gpu.upload(std::vector<u64>(n));
  ASSERT_EQ(gpu.launch("k", (n + 63) / 64, 64, 0, A, B, C, D, n), CUDA_SUCCESS)
      << c.op;
  auto got = gpu.download<u64>(D, n);
  int bad = 0;
  for (u32 i = 0; i < n && bad < 3; ++i) {
    u64 want = c.want({a[i], b[i], e[i]});
    if (dst == "32")
      want = (u32)want;
    else if (dst == "16" || dst == "8")
      want = (u16)want;
    if (got[i] != want) {
      ++bad;
      ADD_FAILURE() << c.op << std::hex << " of 0x" << a[i] << ", 0x" << b[i]
                    << ", 0x" << e[i] << " gives 0x" << got[i] << ", not 0x"
                    << want;
    }
  }
}

TEST(Opcodes, Integers) {
  std::vector<Case> cases;
  auto add = [&](const char *op, const char *shape,
                 std::function<u64(Args)> f) {
    cases.push_back({op, shape, std::move(f)});
  };
#define S(x) ((i128)(s32)(x))
#define U(x) ((i128)(u32)(x))
#define SL(x) ((i128)(s64)(x))
#define UL(x) ((i128)(u64)(x))
  add("add.u32", "32=32,32", [](Args v) { return (u64)(U(v.a) + U(v.b)); });
  add("add.sat.s32", "32=32,32", [](Args v) {
    i128 r = S(v.a) + S(v.b);
    return (u64)(r > INT32_MAX ? INT32_MAX : r < INT32_MIN ? INT32_MIN : r);
  });
  add("sub.s64", "64=64,64", [](Args v) { return (u64)(UL(v.a) - UL(v.b)); });
  add("add.s16", "16=16,16", [](Args v) { return v.a + v.b; });
  add("mul.lo.s32", "32=32,32", [](Args v) { return (u64)(S(v.a) * S(v.b)); });
  add("mul.hi.s32", "32=32,32",
      [](Args v) { return (u64)((S(v.a) * S(v.b)) >> 32); });
  add("mul.hi.u32", "32=32,32",
      [](Args v) { return (u64)((U(v.a) * U(v.b)) >> 32); });
  add("mul.hi.u64", "64=64,64", [](Args v) {
    // Long multiplication by halves.
    u64 al = (u32)v.a, ah = v.a >> 32, bl = (u32)v.b, bh = v.b >> 32;
    u64 mid = ah * bl + (al * bl >> 32), mid2 = al * bh + (u32)mid;
    return ah * bh + (mid >> 32) + (mid2 >> 32);
  });
  add("mul.wide.s32", "64=32,32",
      [](Args v) { return (u64)(S(v.a) * S(v.b)); });
  add("mul.wide.u16", "32=16,16", [](Args v) { return v.a * v.b; });
  add("mad.lo.u64", "64=64,64,64", [](Args v) { return v.a * v.b + v.c; });
  add("mad.hi.s32", "32=32,32,32",
      [](Args v) { return (u64)(((S(v.a) * S(v.b)) >> 32) + S(v.c)); });
  add("mad.wide.u32", "64=32,32,64",
      [](Args v) { return (u64)(U(v.a) * U(v.b) + UL(v.c)); });
  add("sad.s32", "32=32,32,32", [](Args v) {
    i128 d = S(v.a) - S(v.b);
    return (u64)((d < 0 ? -d : d) + S(v.c));
  });
  add("min.s32", "32=32,32",
      [](Args v) { return (u64)std::min((s32)v.a, (s32)v.b); });
  add("max.u64", "64=64,64", [](Args v) { return std::max(v.a, v.b); });
  add("abs.s32", "32=32",
      [](Args v) { return (u64)(S(v.a) < 0 ? -S(v.a) : S(v.a)); });
  add("neg.s64", "64=64", [](Args v) { return 0 - v.a; });
  add("and.b32", "32=32,32", [](Args v) { return v.a & v.b; });
  add("or.b64", "64=64,64", [](Args v) { return v.a | v.b; });
  add("xor.b16", "16=16,16", [](Args v) { return v.a ^ v.b; });
  add("not.b32", "32=32", [](Args v) { return ~v.a; });
  add("cnot.b32", "32=32", [](Args v) { return (u64)(v.a == 0); });
  add("shl.b32", "32=32,32", [](Args v) { return v.b > 31 ? 0 : v.a << v.b; });
  add("shr.u32", "32=32,32", [](Args v) { return v.b > 31 ? 0 : v.a >> v.b; });
  add("shr.s32", "32=32,32",
      [](Args v) { return (u64)(S(v.a) >> (v.b > 31 ? 31 : v.b)); });
  add("shr.s64", "64=64,32",
      [](Args v) { return (u64)(SL(v.a) >> (v.b > 63 ? 63 : v.b)); });
  add("shl.b16", "16=16,32", [](Args v) { return v.b > 15 ? 0 : v.a << v.b; });
  add("popc.b64", "32=64", [](Args v) {
    u64 n = 0;
    for (int i = 0; i < 64; ++i)
      n += v.a >> i & 1;
    return n;
  });
  add("clz.b32", "32=32", [](Args v) {
    u64 n = 0;
    while (n < 32 && !(v.a >> (31 - n) & 1))
      ++n;
    return n;
  });
  add("brev.b32", "32=32", [](Args v) {
    u64 r = 0;
    for (int i = 0; i < 32; ++i)
      r |= (v.a >> i & 1) << (31 - i);
    return r;
  });
  // The manual's own loop for bfe.
  auto bfe = [](u64 a, u64 b, u64 c, int width, bool isSigned) {
    int msb = width - 1, pos = (int)(b & 255), len = (int)(c & 255);
    u64 sbit =
        !isSigned || len == 0 ? 0 : a >> std::min(pos + len - 1, msb) & 1;
    u64 d = 0;
    for (int i = 0; i <= msb; ++i) {
      u64 bit = i < len && pos + i <= msb ? a >> (pos + i) & 1 : sbit;
      d |= bit << i;
    }
    return d;
  };
  add("bfe.u32", "32=32,32,32",
      [=](Args v) { return bfe(v.a, v.b, v.c, 32, false); });
  add("bfe.s32", "32=32,32,32",
      [=](Args v) { return bfe(v.a, v.b, v.c, 32, true); });
  add("bfe.s64", "64=64,32,32",
      [=](Args v) { return bfe(v.a, v.b, v.c, 64, true); });
  add("bfind.s32", "32=32", [](Args v) {
    s32 a = (s32)v.a;
    if (a < 0)
      a = ~a;
    for (int i = 31; i >= 0; --i)
      if ((u32)a >> i & 1)
        return (u64)i;
    return (u64)0xffffffffu;
  });
  add("prmt.b32", "32=32,32,32", [](Args v) {
    u8 bytes[8];
    for (int i = 0; i < 4; ++i) {
      bytes[i] = (u8)(v.a >> (8 * i));
      bytes[4 + i] = (u8)(v.b >> (8 * i));
    }
    u64 r = 0;
    for (int i = 0; i < 4; ++i) {
      u64 sel = v.c >> (4 * i) & 15;
      u8 byte = bytes[sel & 7];
      if (sel & 8)
        byte = byte >= 128 ? 255 : 0;
      r |= (u64)byte << (8 * i);
    }
    return r;
  });
  add("shf.l.wrap.b32", "32=32,32,32", [](Args v) {
    u64 n = v.c & 31;
    return n ? v.b << n | v.a >> (32 - n) : v.b;
  });
  add("shf.r.clamp.b32", "32=32,32,32", [](Args v) {
    u64 n = std::min<u64>(v.c, 32);
    return n == 32 ? v.b : n ? (u64)(u32)v.b << (32 - n) | v.a >> n : v.a;
  });
  add("dp4a.s32.u32", "32=32,32,32", [](Args v) {
    i128 s = S(v.c);
    for (int i = 0; i < 4; ++i)
      s += (i128)(int8_t)(v.a >> (8 * i)) * (u8)(v.b >> (8 * i));
    return (u64)s;
  });
  add("setp.lt.s32", "p=32,32", [](Args v) { return (u64)(S(v.a) < S(v.b)); });
  add("setp.lo.u32", "p=32,32", [](Args v) { return (u64)(U(v.a) < U(v.b)); });
  add("setp.ge.u64", "p=64,64", [](Args v) { return (u64)(v.a >= v.b); });
  add("setp.ne.and.s16", "p=16,16,p",
      [](Args v) { return (u64)(v.a != v.b && v.c); });
  add("setp.gt.xor.u32", "p=32,32,p",
      [](Args v) { return (u64)((U(v.a) > U(v.b)) != (v.c != 0)); });
  add("set.le.u32.s32", "32=32,32",
      [](Args v) { return (u64)(S(v.a) <= S(v.b) ? ~0u : 0u); });
  add("set.eq.f32.u32", "32=32,32",
      [](Args v) { return (u64)(v.a == v.b ? 0x3f800000u : 0u); });
  add("selp.b64", "64=64,64,p", [](Args v) { return v.c ? v.a : v.b; });
  add("slct.s32.s32", "32=32,32,32",
      [](Args v) { return (s32)v.c >= 0 ? v.a : v.b; });
  add("and.pred", "p=p,p", [](Args v) { return v.a & v.b; });
  add("cvt.s64.s32", "64=32", [](Args v) { return (u64)(s64)(s32)v.a; });
  add("cvt.u64.u32", "64=32", [](Args v) { return v.a; });
  add("cvt.s32.s8", "32=16", [](Args v) { return (u64)(s32)(int8_t)v.a; });
  add("cvt.u32.u8", "32=32", [](Args v) { return v.a & 255; });
  add("cvt.u16.u32", "16=32", [](Args v) { return v.a; });
  add("cvt.s16.s8", "32=32", [](Args v) { return (u64)(s32)(s16)(int8_t)v.a; });
  add("cvt.sat.u8.s32", "16=32",
      [](Args v) { return (u64)std::min(255, std::max(0, (s32)v.a)); });
  add("cvt.sat.s32.u64", "32=64",
      [](Args v) { return std::min<u64>(v.a, INT32_MAX); });
  for (const Case &c : cases)
    check(c);
}

TEST(Opcodes, Divisions) {
  // A divisor of zero is unspecified, so those operands are left to a value
  // that is checked only for not faulting.
  Case c{"div.s32", "32=32,32", [](Args v) {
           i128 b = (s32)v.b;
           return b == 0 ? 0xffffffffull : (u64)((i128)(s32)v.a / b);
         }};
  check(c);
  check({"rem.s64", "64=64,64", [](Args v) {
           i128 b = (s64)v.b;
           return b == 0 ? v.a : (u64)((i128)(s64)v.a % b);
         }});
  check(
      {"div.u64", "64=64,64", [](Args v) { return v.b ? v.a / v.b : ~0ull; }});
  check({"rem.u16", "16=16,16", [](Args v) { return v.b ? v.a % v.b : v.a; }});
}

// ---- exact floating-point ---------------------------------------------------

/// m * 2^e.
struct Exact {
  i128 m;
  int e;
};
template <class F> Exact exact(F f) {
  int e;
  double m = std::frexp((double)f, &e);
  return {(i128)(s64)std::ldexp(m, 53), e - 53};
}
Exact trim(Exact x) {
  if (x.m == 0)
    return {0, 0};
  while (!(x.m & 1)) {
    x.m >>= 1;
    ++x.e;
  }
  return x;
}
Exact plus(Exact a, Exact b) {
  a = trim(a);
  b = trim(b);
  if (a.m == 0)
    return b;
  if (b.m == 0)
    return a;
  if (a.e < b.e)
    std::swap(a, b);
  return {a.m * (decltype(a.m)(1) << (a.e - b.e)) + b.m, b.e};
}
Exact times(Exact a, Exact b) {
  a = trim(a);
  b = trim(b);
  return {a.m * b.m, a.e + b.e};
}
/// Rounds to `p` bits with least exponent `emin` of the unit; mode N Z M P.
double roundExact(Exact x, int p, int emin, char mode) {
  x = trim(x);
  bool negative = x.m < 0;
  unsigned __int128 m =
      negative ? -(unsigned __int128)x.m : (unsigned __int128)x.m;
  int length = 0;
  for (unsigned __int128 t = m; t; t >>= 1)
    ++length;
  int unit = std::max(x.e + length - p, emin);
  if (x.e < unit) {
    int drop = unit - x.e;
    unsigned __int128 keep = drop > 126 ? 0 : m >> drop;
    unsigned __int128 rest = drop > 126 ? m : m - (keep << drop);
    unsigned __int128 half =
        drop > 126 ? ~(unsigned __int128)0 : (unsigned __int128)1 << (drop - 1);
    bool up = mode == 'N'   ? rest > half || (rest == half && (keep & 1))
              : mode == 'M' ? negative && rest
              : mode == 'P' ? !negative && rest
                            : false;
    m = keep + up;
    x.e = unit;
  }
  double v = std::ldexp((double)(u64)m, x.e);
  return negative ? -v : v;
}
u64 toF32(Exact x, char mode, bool negativeZero) {
  if (x.m == 0)
    return negativeZero ? 0x80000000u : 0;
  return f32((float)roundExact(x, 24, -149, mode));
}

TEST(Opcodes, SingleArithmetic) {
  struct Mode {
    const char *name;
    char mode;
  };
  for (Mode m : {Mode{".rn", 'N'}, {".rz", 'Z'}, {".rm", 'M'}, {".rp", 'P'}}) {
    char k = m.mode;
    auto zeroSign = [k](bool sa, bool sb, bool exactZeroes) {
      // x + (-x) and 0 + (-0): minus only when rounding down.
      return exactZeroes && sa && sb    ? true
             : sa != sb || !exactZeroes ? k == 'M'
                                        : false;
    };
    check({std::string("add") + m.name + ".f32", "32=32,32",
           [=](Args v) {
             float a = bits<float>((u32)v.a), b = bits<float>((u32)v.b);
             Exact s = plus(exact(a), exact(b));
             bool both = a == 0 && b == 0;
             return toF32(s, k,
                          zeroSign(std::signbit(a), std::signbit(b), both));
           },
           1});
    check({std::string("mul") + m.name + ".f32", "32=32,32",
           [=](Args v) {
             float a = bits<float>((u32)v.a), b = bits<float>((u32)v.b);
             return toF32(times(exact(a), exact(b)), k,
                          std::signbit(a) != std::signbit(b));
           },
           1});
    check({std::string("fma") + m.name + ".f32", "32=32,32,32",
           [=](Args v) {
             float a = bits<float>((u32)v.a), b = bits<float>((u32)v.b),
                   c = bits<float>((u32)v.c);
             Exact p = times(exact(a), exact(b)), s = plus(p, exact(c));
             bool sp = std::signbit(a) != std::signbit(b);
             return toF32(s, k,
                          zeroSign(sp, std::signbit(c), p.m == 0 && c == 0));
           },
           1});
    // Quotients and roots: the rounded value must bracket the exact one.
    check({std::string("cvt") + m.name + ".f32.s64", "32=64",
           [=](Args v) { return toF32({(i128)(s64)v.a, 0}, k, false); }});
    check({std::string("cvt") + m.name + ".f32.f64", "32=64",
           [=](Args v) {
             double d = bits<double>(v.a);
             return toF32(exact(d), k, std::signbit(d));
           },
           2});
    check({std::string("cvt") + m.name + ".f64.u64", "64=64", [=](Args v) {
             return v.a ? f64(roundExact({(i128)v.a, 0}, 53, -1074, k)) : 0;
           }});
  }
  check({"div.rn.f32", "32=32,32",
         [](Args v) {
           float a = bits<float>((u32)v.a), b = bits<float>((u32)v.b);
           if (b == 0)
             return a == 0 ? (u64)0x7fffffff
                           : (u64)((std::signbit(a) != std::signbit(b)
                                        ? 0xff800000u
                                        : 0x7f800000u));
           // A quotient of 24-bit numbers is never halfway between two others,
           // and 64 more bits with a sticky one decide it.
           Exact x = trim(exact(a)), y = trim(exact(b));
           if (x.m == 0)
             return (u64)(std::signbit(a) != std::signbit(b) ? 0x80000000u : 0);
           i128 n = (x.m < 0 ? -x.m : x.m) << 64,
                q = n / (y.m < 0 ? -y.m : y.m);
           if (q * (y.m < 0 ? -y.m : y.m) != n)
             q |= 1;
           bool neg = (x.m < 0) != (y.m < 0);
           return toF32({neg ? -q : q, x.e - 64 - y.e}, 'N', false);
         },
         1});
}

TEST(Opcodes, SingleSpecials) {
  const u64 nan = 0x7fc00001, inf = 0x7f800000, ninf = 0xff800000,
            canon = 0x7fffffff;
  const u64 sub = 1, nsub = 0x80000123, one = 0x3f800000;
  struct Row {
    const char *op;
    u64 a, b, want;
  };
  const Row rows[] = {
      {"add.f32", nan, one, canon},
      {"add.f32", inf, ninf, canon},
      {"add.f32", sub, sub, 2},
      {"add.ftz.f32", sub, nsub, 0},
      {"mul.ftz.f32", nsub, one, 0x80000000},
      {"mul.f32", nsub, one, nsub},
      {"mul.ftz.f32", 0x00800000, 0x3f000000, 0}, // a result that is subnormal
      {"add.sat.f32", one, one, one},
      {"add.sat.f32", nan, one, 0},
      {"sub.sat.f32", 0, one, 0},
      {"min.f32", nan, one, one},
      {"min.f32", nan, nan, canon},
      {"min.NaN.f32", nan, one, canon},
      {"max.f32", 0x80000000, 0, 0},
      {"min.f32", 0, 0x80000000, 0x80000000},
      {"max.ftz.f32", sub, nsub, 0},
      {"max.NaN.f32", one, nan, canon},
      {"min.xorsign.abs.f32", 0xc0000000, one, 0xbf800000},
      {"copysign.f32", 0x80000000, one, 0xbf800000},
      {"div.approx.f32", one, 0x7f000000, 0}, // |y| > 2^126
      {"div.full.f32", 0x40c00000, 0x40000000, 0x40400000},
  };
  for (const Row &r : rows) {
    SCOPED_TRACE(r.op);
    std::string ptx =
        std::string(".version 8.0\n.target sm_90a\n.address_size 64\n"
                    ".visible .entry k(.param .u64 p)\n{ .reg .b64 %rd; .reg "
                    ".b32 %a, %b, %d;\n"
                    "ld.param.u64 %rd, [p]; ld.global.b32 %a, [%rd]; "
                    "ld.global.b32 %b, [%rd+4];\n") +
        r.op + " %d, %a, %b;\nst.global.b32 [%rd+8], %d; ret; }\n";
    Gpu gpu;
    ASSERT_EQ(gpu.load(ptx), CUDA_SUCCESS) << gpu.log();
    CUdeviceptr P = gpu.upload(std::vector<u32>{(u32)r.a, (u32)r.b, 0});
    ASSERT_EQ(gpu.launch("k", 1, 1, 0, P), CUDA_SUCCESS);
    EXPECT_EQ(gpu.download<u32>(P, 3)[2], (u32)r.want)
        << std::hex << r.a << " " << r.b;
  }
}

TEST(Opcodes, HalfArithmetic) {
  auto half = [](u64 h) {
    return std::ldexp((double)(h & 0x7c00 ? (h & 0x3ff) | 0x400 : h & 0x3ff),
                      (int)std::max<u64>(h >> 10 & 31, 1) - 25) *
           (h & 0x8000 ? -1 : 1);
  };
  auto brain = [](u64 h) { return (double)bits<float>((u32)h << 16); };
  auto pack = [](double v, int p, int bias, bool neg) -> u64 {
    // v is already rounded to the format.
    u64 sign = neg ? 0x8000 : 0;
    if (v == 0)
      return sign;
    int e;
    double m = std::frexp(std::fabs(v), &e); // in [0.5, 1)
    int biased = e - 1 + bias;
    int stored = p - 1;
    if (biased >= (1 << (15 - stored)) - 1)
      return sign | (u64)((1 << (15 - stored)) - 1) << stored;
    if (biased <= 0)
      return sign | (u64)std::ldexp(std::fabs(v), bias - 1 + stored);
    return sign | (u64)biased << stored |
           ((u64)std::ldexp(m, p) & ((1u << stored) - 1));
  };
  auto toHalf = [=](Exact x, bool negativeZero) {
    double v = roundExact(x, 11, -24, 'N');
    return pack(v, 11, 15, x.m == 0 ? negativeZero : x.m < 0);
  };
  auto toBrain = [=](Exact x, bool negativeZero) {
    double v = roundExact(x, 8, -133, 'N');
    return pack(v, 8, 127, x.m == 0 ? negativeZero : x.m < 0);
  };
  auto neg = [](u64 h) { return (h >> 15 & 1) != 0; };
  check({"add.f16", "16=16,16",
         [=](Args v) {
           return toHalf(plus(exact(half(v.a)), exact(half(v.b))),
                         neg(v.a) && neg(v.b) && half(v.a) == 0 &&
                             half(v.b) == 0);
         },
         3});
  check({"mul.rn.f16", "16=16,16",
         [=](Args v) {
           return toHalf(times(exact(half(v.a)), exact(half(v.b))),
                         neg(v.a) != neg(v.b));
         },
         3});
  check({"fma.rn.f16", "16=16,16,16",
         [=](Args v) {
           Exact p = times(exact(half(v.a)), exact(half(v.b)));
           bool pn = neg(v.a) != neg(v.b);
           return toHalf(plus(p, exact(half(v.c))),
                         p.m == 0 && half(v.c) == 0 && pn && neg(v.c));
         },
         3});
  check({"fma.rn.bf16", "16=16,16,16",
         [=](Args v) {
           Exact p = times(exact(brain(v.a)), exact(brain(v.b)));
           bool pn = neg(v.a) != neg(v.b);
           return toBrain(plus(p, exact(brain(v.c))),
                          p.m == 0 && brain(v.c) == 0 && pn && neg(v.c));
         },
         4});
  check({"mul.bf16", "16=16,16",
         [=](Args v) {
           return toBrain(times(exact(brain(v.a)), exact(brain(v.b))),
                          neg(v.a) != neg(v.b));
         },
         4});
  check({"cvt.rn.f16.f32", "16=32",
         [=](Args v) {
           float f = bits<float>((u32)v.a);
           return toHalf(exact(f), std::signbit(f));
         },
         1});
  check({"cvt.rn.bf16.f32", "16=32",
         [=](Args v) {
           float f = bits<float>((u32)v.a);
           return toBrain(exact(f), std::signbit(f));
         },
         1});
  check({"cvt.f32.f16", "32=16", [=](Args v) { return f32((float)half(v.a)); },
         3});
  check({"cvt.f32.bf16", "32=16", [=](Args v) { return v.a << 16; }, 4});
  check({"cvt.rn.bf16x2.f32", "32=32,32",
         [=](Args v) {
           float a = bits<float>((u32)v.a), b = bits<float>((u32)v.b);
           return toBrain(exact(a), std::signbit(a)) << 16 |
                  toBrain(exact(b), std::signbit(b));
         },
         1});
  check({"cvt.rna.tf32.f32", "32=32",
         [=](Args v) {
           // Ties away from zero: add half a unit to the magnitude, cut.
           return (u64)(((u32)v.a + 0x1000) & 0xffffe000u);
         },
         1});
  check({"setp.ltu.f16", "p=16,16",
         [=](Args v) { return (u64)(half(v.a) < half(v.b)); }, 3});
}

TEST(Opcodes, FloatToInteger) {
  auto conv = [](const char *op, std::function<double(double)> f, double lo,
                 double hi) {
    check({op, "32=32",
           [=](Args v) {
             double r = f((double)bits<float>((u32)v.a));
             return (u64)(s64)std::min(std::max(r, lo), hi);
           },
           1});
  };
  conv(
      "cvt.rzi.s32.f32", [](double d) { return std::trunc(d); }, INT32_MIN,
      INT32_MAX);
  conv(
      "cvt.rmi.s32.f32", [](double d) { return std::floor(d); }, INT32_MIN,
      INT32_MAX);
  conv("cvt.rpi.u32.f32", [](double d) { return std::ceil(d); }, 0, UINT32_MAX);
  conv(
      "cvt.rni.s32.f32",
      [](double d) {
        double r = std::floor(d + 0.5);
        return r - d == 0.5 && std::fmod(r, 2) != 0 ? r - 1 : r;
      },
      INT32_MIN, INT32_MAX);
  struct Row {
    const char *op;
    const char *shape;
    u64 in, want;
  };
  for (Row r : {Row{"cvt.rzi.s32.f32", "32=32", 0x7fc00000, 0},
                {"cvt.rzi.s32.f32", "32=32", 0x4f800000, 0x7fffffff},
                {"cvt.rzi.s32.f32", "32=32", 0xcf800000, 0x80000000},
                {"cvt.rzi.u32.f32", "32=32", 0xbf800000, 0}}) {
    std::string ptx =
        std::string(".version 8.0\n.target sm_90a\n.address_size 64\n.visible "
                    ".entry k(.param .u64 p)\n"
                    "{ .reg .b64 %rd; .reg .b32 %a, %d;\nld.param.u64 %rd, "
                    "[p]; ld.global.b32 %a, [%rd];\n") +
        r.op + " %d, %a;\nst.global.b32 [%rd], %d; ret; }\n";
    Gpu gpu;
    ASSERT_EQ(gpu.load(ptx), CUDA_SUCCESS) << gpu.log();
    CUdeviceptr P = gpu.upload(std::vector<u32>{(u32)r.in});
    ASSERT_EQ(gpu.launch("k", 1, 1, 0, P), CUDA_SUCCESS);
    EXPECT_EQ(gpu.download<u32>(P, 1)[0], (u32)r.want) << r.op;
  }
}

// Tolerances of the PTX manual, section "Floating-Point Instructions".
TEST(Opcodes, ApproximationsStayInTheirBounds) {
  struct Row {
    const char *op;
    double (*f)(double);
    double relative, absolute;
  };
  for (const Row &r :
       {Row{"rcp.approx.f32", [](double x) { return 1 / x; }, 0x1p-23, 0},
        {"sqrt.approx.f32", [](double x) { return std::sqrt(x); }, 0x1p-23, 0},
        {"rsqrt.approx.f32", [](double x) { return 1 / std::sqrt(x); },
         0x1.68p-23, 0},
        {"ex2.approx.f32", [](double x) { return std::exp2(x); }, 0x1p-22, 0},
        {"lg2.approx.f32", [](double x) { return std::log2(x); }, 0x1p-22,
         0x1p-22},
        {"sin.approx.f32", [](double x) { return std::sin(x); }, 0, 0x1p-20},
        {"cos.approx.f32", [](double x) { return std::cos(x); }, 0, 0x1p-20},
        {"tanh.approx.f32", [](double x) { return std::tanh(x); }, 0x1p-11,
         0}}) {
    std::string ptx =
        std::string(".version 8.0\n.target sm_90a\n.address_size 64\n.visible "
                    ".entry k(.param .u64 p)\n"
                    "{ .reg .b64 %rd, %o; .reg .b32 %a, %d, %t;\nmov.u32 %t, "
                    "%tid.x; mul.wide.u32 %o, %t, 4;\n"
                    "ld.param.u64 %rd, [p]; add.s64 %rd, %rd, %o; "
                    "ld.global.b32 %a, [%rd];\n") +
        r.op + " %d, %a;\nst.global.b32 [%rd], %d; ret; }\n";
    Gpu gpu;
    ASSERT_EQ(gpu.load(ptx), CUDA_SUCCESS) << gpu.log();
    std::vector<float> x(256);
    for (int i = 0; i < 256; ++i)
      x[(size_t)i] = 0.01f + (float)i * 0.0123f;
    CUdeviceptr P = gpu.upload(x);
    ASSERT_EQ(gpu.launch("k", 1, 256, 0, P), CUDA_SUCCESS);
    auto y = gpu.download<float>(P, 256);
    for (size_t i = 0; i < 256; ++i) {
      double want = r.f((double)x[i]);
      EXPECT_LE(std::fabs(y[i] - want),
                r.relative * std::fabs(want) + r.absolute)
          << r.op << " " << x[i];
    }
  }
}

} // namespace
