//===- IntegerCases.cpp - integer and bit opcodes ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX manual, "Integer Arithmetic Instructions", "Extended-Precision", "Logic
// and Shift Instructions": values in 128 bits, or the manual's own loops.
//
//===----------------------------------------------------------------------===//

#include "OpcodeCases.h"

#include <algorithm>
#include <map>

namespace simtest {

namespace {

using u32 = uint32_t;
using u64 = unsigned long long;
using i128 = __int128;

struct Type {
  const char *name;
  int bits;
  bool isSigned;
  i128 value(u64 v) const {
    u64 low = bits == 64 ? v : v & ((1ull << bits) - 1);
    if (isSigned && (low >> (bits - 1) & 1))
      return (i128)low - ((i128)1 << bits);
    return low;
  }
  std::string width() const { return std::to_string(bits); }
};
const Type types[] = {{"u16", 16, false}, {"s16", 16, true},
                      {"u32", 32, false}, {"s32", 32, true},
                      {"u64", 64, false}, {"s64", 64, true}};

i128 clamp(i128 v, i128 lo, i128 hi) { return v < lo ? lo : v > hi ? hi : v; }
i128 floorShift(i128 v, int n) { return v >> n; }

} // namespace

std::vector<Case> integerCases() {
  std::vector<Case> cases;
  auto add = [&](const std::string &op, const std::string &shape,
                 std::function<u64(Args)> f, std::vector<Values> values = {}) {
    cases.push_back({op, shape, std::move(f), std::move(values), {}});
  };
  for (const Type &t : types) {
    const std::string n = std::string(".") + t.name, w = t.width(),
                      two = w + "=" + w + "," + w, three = two + "," + w;
    add("add" + n, two,
        [t](Args v) { return (u64)(t.value(v.a) + t.value(v.b)); });
    add("sub" + n, two,
        [t](Args v) { return (u64)(t.value(v.a) - t.value(v.b)); });
    add("mul.lo" + n, two, [t](Args v) {
      return (u64)((unsigned __int128)t.value(v.a) *
                   (unsigned __int128)t.value(v.b));
    });
    if (t.bits < 64) {
      add("mul.hi" + n, two, [t](Args v) {
        return (u64)floorShift(t.value(v.a) * t.value(v.b), t.bits);
      });
      std::string twice = std::to_string(2 * t.bits);
      add("mul.wide" + n, twice + "=" + w + "," + w,
          [t](Args v) { return (u64)(t.value(v.a) * t.value(v.b)); });
      add("mad.wide" + n, twice + "=" + w + "," + w + "," + twice,
          [t](Args v) { return (u64)(t.value(v.a) * t.value(v.b)) + v.c; });
      add("mad.hi" + n, three, [t](Args v) {
        return (u64)floorShift(t.value(v.a) * t.value(v.b), t.bits) + v.c;
      });
    } else {
      // Long multiplication by halves, corrected for signs.
      auto high = [t](Args v) {
        u64 al = (u32)v.a, ah = v.a >> 32, bl = (u32)v.b, bh = v.b >> 32;
        u64 mid = ah * bl + (al * bl >> 32), mid2 = al * bh + (u32)mid;
        u64 r = ah * bh + (mid >> 32) + (mid2 >> 32);
        if (t.isSigned)
          r -= (v.a >> 63 ? v.b : 0) + (v.b >> 63 ? v.a : 0);
        return r;
      };
      add("mul.hi" + n, two, high);
      add("mad.hi" + n, three, [high](Args v) { return high(v) + v.c; });
    }
    add("mad.lo" + n, three, [t](Args v) {
      return (u64)((unsigned __int128)t.value(v.a) *
                   (unsigned __int128)t.value(v.b)) +
             v.c;
    });
    add("min" + n, two,
        [t](Args v) { return (u64)std::min(t.value(v.a), t.value(v.b)); });
    add("max" + n, two,
        [t](Args v) { return (u64)std::max(t.value(v.a), t.value(v.b)); });
    add("sad" + n, three, [t](Args v) {
      i128 d = t.value(v.a) - t.value(v.b);
      return (u64)(d < 0 ? -d : d) + v.c;
    });
    auto divides = [t](Args v) {
      return t.value(v.b) == 0 || (t.isSigned && t.value(v.b) == -1 &&
                                   t.value(v.a) == -((i128)1 << (t.bits - 1)));
    };
    add("div" + n, two,
        [t](Args v) { return (u64)(t.value(v.a) / t.value(v.b)); });
    cases.back().skip = divides;
    add("rem" + n, two,
        [t](Args v) { return (u64)(t.value(v.a) % t.value(v.b)); });
    cases.back().skip = divides;
    if (t.isSigned) {
      add("abs" + n, w + "=" + w, [t](Args v) {
        i128 a = t.value(v.a);
        return (u64)(a < 0 ? -a : a);
      });
      add("neg" + n, w + "=" + w, [t](Args v) { return (u64)-t.value(v.a); });
    }
    add("shr" + n, w + "=" + w + ",32",
        [t](Args v) {
          u64 n = std::min<u64>((u32)v.b, (u64)t.bits);
          return (u64)floorShift(t.value(v.a), (int)n);
        },
        {Values::Integers, Values::Shifts});
  }
  for (int bits : {16, 32, 64}) {
    std::string w = std::to_string(bits), n = ".b" + w,
                two = w + "=" + w + "," + w;
    add("and" + n, two, [](Args v) { return v.a & v.b; });
    add("or" + n, two, [](Args v) { return v.a | v.b; });
    add("xor" + n, two, [](Args v) { return v.a ^ v.b; });
    add("not" + n, w + "=" + w, [](Args v) { return ~v.a; });
    add("cnot" + n, w + "=" + w, [](Args v) { return (u64)(v.a == 0); });
    add("shl" + n, w + "=" + w + ",32",
        [bits](Args v) { return (u32)v.b >= (u32)bits ? 0 : v.a << (u32)v.b; },
        {Values::Integers, Values::Shifts});
    if (bits == 16)
      continue;
    add("popc" + n, "32=" + w, [bits](Args v) {
      u64 r = 0;
      for (int i = 0; i < bits; ++i)
        r += v.a >> i & 1;
      return r;
    });
    add("clz" + n, "32=" + w, [bits](Args v) {
      int r = 0;
      while (r < bits && !(v.a >> (bits - 1 - r) & 1))
        ++r;
      return (u64)r;
    });
    add("brev" + n, w + "=" + w, [bits](Args v) {
      u64 r = 0;
      for (int i = 0; i < bits; ++i)
        r |= (v.a >> i & 1) << (bits - 1 - i);
      return r;
    });
    add("bfi" + n, w + "=" + w + "," + w + ",32", // length 7 is appended
        [bits](Args v) {
          // The manual's loop; c is the position, the length a number.
          u64 f = v.b;
          int pos = (int)(v.c & 255);
          for (int i = 0; i < 7 && pos + i < bits; ++i)
            f = (f & ~(1ull << (pos + i))) | (v.a >> i & 1) << (pos + i);
          return f;
        },
        {Values::Integers, Values::Integers, Values::Shifts});
    cases.back().suffix = ", 7";
    for (bool isSigned : {false, true}) {
      const Type &t = types[(bits == 64 ? 4 : 2) + isSigned];
      add(std::string("bfe.") + t.name, w + "=" + w + ",32,32",
          [bits, isSigned](Args v) {
            int msb = bits - 1, pos = (int)(v.b & 255), len = (int)(v.c & 255);
            u64 sbit = !isSigned || len == 0
                           ? 0
                           : v.a >> std::min(pos + len - 1, msb) & 1;
            u64 d = 0;
            for (int i = 0; i <= msb; ++i) {
              u64 bit = i < len && pos + i <= msb ? v.a >> (pos + i) & 1 : sbit;
              d |= bit << i;
            }
            return d;
          },
          {Values::Integers, Values::Shifts, Values::Shifts});
      for (bool shift : {false, true})
        add(std::string(shift ? "bfind.shiftamt." : "bfind.") + t.name,
            "32=" + w, [bits, isSigned, shift](Args v) {
              u64 a = v.a;
              if (isSigned && (a >> (bits - 1) & 1))
                a = ~a;
              for (int i = bits - 1; i >= 0; --i)
                if (a >> i & 1)
                  return (u64)(shift ? bits - 1 - i : i);
              return (u64)0xffffffffu;
            });
    }
  }
  auto S = [](u64 v) { return types[3].value(v); };
  add("add.sat.s32", "32=32,32", [S](Args v) {
    return (u64)clamp(S(v.a) + S(v.b), INT32_MIN, INT32_MAX);
  });
  add("sub.sat.s32", "32=32,32", [S](Args v) {
    return (u64)clamp(S(v.a) - S(v.b), INT32_MIN, INT32_MAX);
  });
  add("mad.hi.sat.s32", "32=32,32,32", [S](Args v) {
    return (u64)clamp(((S(v.a) * S(v.b)) >> 32) + S(v.c), INT32_MIN, INT32_MAX);
  });
  add("min.relu.s32", "32=32,32",
      [S](Args v) { return (u64)std::max<i128>(0, std::min(S(v.a), S(v.b))); });
  add("max.relu.s32", "32=32,32",
      [S](Args v) { return (u64)std::max<i128>(0, std::max(S(v.a), S(v.b))); });
  auto low24 = [](u64 v, bool isSigned) {
    i128 r = v & 0xffffff;
    return isSigned && (r >> 23 & 1) ? r - (1 << 24) : r;
  };
  for (bool s : {false, true}) {
    std::string n = s ? ".s32" : ".u32";
    add("mul24.lo" + n, "32=32,32",
        [=](Args v) { return (u64)(low24(v.a, s) * low24(v.b, s)); });
    add("mul24.hi" + n, "32=32,32",
        [=](Args v) { return (u64)((low24(v.a, s) * low24(v.b, s)) >> 16); });
    add("mad24.lo" + n, "32=32,32,32",
        [=](Args v) { return (u64)(low24(v.a, s) * low24(v.b, s)) + v.c; });
  }
  // Packed halves.
  for (bool s : {false, true}) {
    const Type t = types[s];
    const std::string n = s ? ".s16x2" : ".u16x2";
    auto halves = [t](std::function<i128(i128, i128)> f) {
      return [t, f](Args v) {
        u64 lo = (u64)f(t.value(v.a), t.value(v.b)) & 0xffff;
        u64 hi = (u64)f(t.value(v.a >> 16), t.value(v.b >> 16)) & 0xffff;
        return hi << 16 | lo;
      };
    };
    add("add" + n, "32=32,32", halves([](i128 a, i128 b) { return a + b; }));
    add("min" + n, "32=32,32",
        halves([](i128 a, i128 b) { return std::min(a, b); }));
    add("max" + n, "32=32,32",
        halves([](i128 a, i128 b) { return std::max(a, b); }));
  }
  // Permutations: the manual's byte tables.
  auto bytes = [](Args v) {
    std::vector<u64> b;
    for (int i = 0; i < 4; ++i)
      b.push_back(v.a >> (8 * i) & 255);
    for (int i = 0; i < 4; ++i)
      b.push_back(v.b >> (8 * i) & 255);
    return b;
  };
  add("prmt.b32", "32=32,32,32", [=](Args v) {
    auto b = bytes(v);
    u64 r = 0;
    for (int i = 0; i < 4; ++i) {
      u64 sel = v.c >> (4 * i) & 15, byte = b[sel & 7];
      if (sel & 8)
        byte = byte >= 128 ? 255 : 0;
      r |= byte << (8 * i);
    }
    return r;
  });
  const std::map<std::string, std::vector<const char *>> modes = {
      // byte numbers d.b3 d.b2 d.b1 d.b0 for selector 0, 1, 2, 3
      {"f4e", {"3210", "4321", "5432", "6543"}},
      {"b4e", {"5670", "6701", "7012", "0123"}},
      {"rc8", {"0000", "1111", "2222", "3333"}},
      {"ecl", {"3210", "3211", "3222", "3333"}},
      {"ecr", {"0000", "1110", "2210", "3210"}},
      {"rc16", {"1010", "3232", "1010", "3232"}}};
  for (const auto &mode : modes) {
    auto table = mode.second;
    add("prmt.b32." + mode.first, "32=32,32,32", [=](Args v) {
      auto b = bytes(v);
      u64 r = 0;
      for (char c : std::string(table[v.c & 3]))
        r = r << 8 | b[(size_t)(c - '0')];
      return r;
    });
  }
  for (u32 table : {0x96u, 0xe8u, 0xcau, 0x01u, 0xfeu}) {
    add("lop3.b32", "32=32,32,32", [=](Args v) {
      u64 r = 0;
      for (int i = 0; i < 32; ++i) {
        u32 at = (v.a >> i & 1) << 2 | (v.b >> i & 1) << 1 | (v.c >> i & 1);
        r |= (u64)(table >> at & 1) << i;
      }
      return r;
    });
    cases.back().suffix = ", " + std::to_string(table);
  }
  for (bool wrap : {false, true})
    for (bool left : {false, true})
      add(std::string("shf.") + (left ? "l." : "r.") +
              (wrap ? "wrap" : "clamp") + ".b32",
          "32=32,32,32",
          [=](Args v) {
            u64 n = wrap ? v.c & 31 : std::min<u64>((u32)v.c, 32);
            unsigned __int128 pair =
                (unsigned __int128)(u32)v.b << 32 | (u32)v.a;
            return left ? (u64)((pair << n) >> 32) : (u64)(pair >> n);
          },
          {Values::Integers, Values::Integers, Values::Shifts});
  for (bool sa : {false, true})
    for (bool sb : {false, true}) {
      auto byte = [](u64 v, int i, bool s) {
        i128 b = v >> (8 * i) & 255;
        return s && b > 127 ? b - 256 : b;
      };
      auto word = [](u64 v, int i, bool s) {
        i128 b = v >> (16 * i) & 65535;
        return s && b > 32767 ? b - 65536 : b;
      };
      std::string n =
          std::string(sa ? ".s32" : ".u32") + (sb ? ".s32" : ".u32");
      add("dp4a" + n, "32=32,32,32", [=](Args v) {
        i128 r = (i128)v.c;
        for (int i = 0; i < 4; ++i)
          r += byte(v.a, i, sa) * byte(v.b, i, sb);
        return (u64)r;
      });
      for (bool hi : {false, true})
        add(std::string("dp2a.") + (hi ? "hi" : "lo") + n, "32=32,32,32",
            [=](Args v) {
              i128 r = (i128)v.c;
              for (int i = 0; i < 2; ++i)
                r += word(v.a, i, sa) * byte(v.b, i + 2 * hi, sb);
              return (u64)r;
            });
    }
  add("bmsk.clamp.b32", "32=32,32",
      [](Args v) {
        u64 pos = std::min<u64>((u32)v.a, 32),
            len = std::min<u64>((u32)v.b, 32);
        u64 r = 0;
        for (u64 i = 0; i < len && pos + i < 32; ++i)
          r |= 1ull << (pos + i);
        return r;
      },
      {Values::Shifts});
  add("bmsk.wrap.b32", "32=32,32",
      [](Args v) {
        u64 r = 0;
        for (u64 i = 0; i < (v.b & 31); ++i)
          r |= 1ull << ((v.a & 31) + i);
        return r;
      },
      {Values::Shifts});
  for (bool s : {false, true})
    add(s ? "szext.wrap.s32" : "szext.wrap.u32", "32=32,32",
        [=](Args v) {
          int n = (int)(v.b & 31);
          u64 r = v.a & ((1ull << n) - 1);
          if (s && n && (r >> (n - 1) & 1))
            r |= ~0ull << n;
          return r;
        },
        {Values::Integers, Values::Shifts});
  add("fns.b32", "32=32,32,32", [](Args v) {
    // The n-th set bit from the base on, forwards or backwards.
    int base = (int)v.b, n = (int)(int32_t)v.c;
    if (n == 0)
      return v.a >> base & 1 ? (u64)base : 0xffffffffull;
    for (int i = base, left = n < 0 ? -n : n; i >= 0 && i < 32;
         i += n < 0 ? -1 : 1)
      if ((v.a >> i & 1) && --left == 0)
        return (u64)i;
    return 0xffffffffull;
  });
  for (u64 mask : {0x80000001ull, 0xff00ff00ull, 0ull})
    for (u64 base : {0ull, 8ull, 31ull})
      for (u64 n : {0ull, 1ull, 3ull, 0xffffffffull, 0xfffffffeull})
        cases.back().rows.push_back({mask, base, n});
  add("and.pred", "p=p,p", [](Args v) { return v.a & v.b; });
  add("or.pred", "p=p,p", [](Args v) { return v.a | v.b; });
  add("xor.pred", "p=p,p", [](Args v) { return v.a ^ v.b; });
  add("not.pred", "p=p", [](Args v) { return (u64)!v.a; });
  return cases;
}

std::vector<Case> compareCases() {
  std::vector<Case> cases;
  auto add = [&](const std::string &op, const std::string &shape,
                 std::function<u64(Args)> f) {
    cases.push_back({op, shape, std::move(f), {}, {}});
  };
  struct Comparison {
    const char *name;
    bool less, equal, greater;
  };
  const Comparison all[] = {
      {"eq", false, true, false}, {"ne", true, false, true},
      {"lt", true, false, false}, {"le", true, true, false},
      {"gt", false, false, true}, {"ge", false, true, true}};
  auto holds = [](const Comparison &k, i128 a, i128 b) {
    return a < b ? k.less : a > b ? k.greater : k.equal;
  };
  for (const Type &t : types)
    for (const Comparison &k : all) {
      std::string n = std::string(".") + t.name, w = t.width();
      add(std::string("setp.") + k.name + n, "p=" + w + "," + w,
          [=](Args v) { return (u64)holds(k, t.value(v.a), t.value(v.b)); });
      for (const char *b : {"and", "or", "xor"})
        add(std::string("setp.") + k.name + "." + b + n,
            "p=" + w + "," + w + ",p", [=](Args v) {
              bool r = holds(k, t.value(v.a), t.value(v.b)), c = v.c != 0;
              return (u64)(b[0] == 'a'   ? r && c
                           : b[0] == 'o' ? r || c
                                         : r != c);
            });
      add(std::string("set.") + k.name + ".u32" + n, "32=" + w + "," + w,
          [=](Args v) {
            return holds(k, t.value(v.a), t.value(v.b)) ? 0xffffffffull : 0ull;
          });
      add(std::string("set.") + k.name + ".f32" + n, "32=" + w + "," + w,
          [=](Args v) {
            return holds(k, t.value(v.a), t.value(v.b)) ? 0x3f800000ull : 0ull;
          });
    }
  const char *unsignedNames[4][2] = {
      {"lo", "lt"}, {"ls", "le"}, {"hi", "gt"}, {"hs", "ge"}};
  for (auto &pair : unsignedNames)
    for (const Comparison &k : all)
      if (std::string(k.name) == pair[1])
        add(std::string("setp.") + pair[0] + ".u32", "p=32,32", [=](Args v) {
          return (u64)holds(k, (i128)(u32)v.a, (i128)(u32)v.b);
        });
  for (const char *w : {"16", "32", "64"}) {
    add(std::string("selp.b") + w, std::string(w) + "=" + w + "," + w + ",p",
        [](Args v) { return v.c ? v.a : v.b; });
    add(std::string("slct.b") + w + ".s32",
        std::string(w) + "=" + w + "," + w + ",32",
        [](Args v) { return (int32_t)v.c >= 0 ? v.a : v.b; });
  }
  return cases;
}

} // namespace simtest
