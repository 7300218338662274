//===- FloatCases.cpp - floating-point opcodes and conversions --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX manual, "Floating-Point Instructions", "Half Precision Floating-Point
// Instructions", "Data Movement and Conversion: cvt". Values are exact numbers
// rounded once (Exact.h).
//
//===----------------------------------------------------------------------===//

#include "Exact.h"
#include "OpcodeCases.h"

#include <algorithm>

namespace simtest {

namespace {

using u32 = uint32_t;
using u64 = unsigned long long;
using i128 = __int128;

struct Kind {
  const char *name;
  const Format *format;
  Values values;
  std::string width() const { return std::to_string(format->width()); }
};
const Kind f16{"f16", &formatF16, Values::F16},
    bf16{"bf16", &formatBf16, Values::Bf16},
    f32{"f32", &formatF32, Values::F32}, f64{"f64", &formatF64, Values::F64};

struct Mode {
  const char *name;
  char mode;
};
const Mode modes[] = {{".rn", 'N'}, {".rz", 'Z'}, {".rm", 'M'}, {".rp", 'P'}};

/// .sat: to [0, 1], NaN to +0.
u64 saturated(const Format &f, u64 bits) {
  Exact x = decode(f, bits);
  if (x.kind == Exact::Nan || x.negative || x.isZero())
    return 0;
  u64 one = (u64)f.bias() << (f.precision - 1);
  return bits > one ? one : bits;
}
u64 relu(const Format &f, u64 bits) {
  Exact x = decode(f, bits);
  return x.kind != Exact::Nan && x.negative ? 0 : bits;
}

enum class Op { Add, Sub, Mul, Fma };
/// One operation with the modifiers ftz and sat.
u64 compute(Op op, const Format &f, u64 a, u64 b, u64 c, char mode, bool ftz,
            bool sat) {
  if (ftz) {
    a = flushed(f, a);
    b = flushed(f, b);
    c = flushed(f, c);
  }
  Exact x = decode(f, a), y = decode(f, b), z = decode(f, c), r;
  switch (op) {
  case Op::Add:
    r = sum(x, y, mode);
    break;
  case Op::Sub:
    r = sum(x, negated(y), mode);
    break;
  case Op::Mul:
    r = product(x, y);
    break;
  case Op::Fma:
    r = sum(product(x, y), z, mode);
    break;
  }
  if (r.isZero() && mode == 'M' && (op == Op::Add || op == Op::Sub))
    r.negative = r.negative || (x.negative != y.negative) != (op == Op::Sub);
  u64 bits = encode(f, r, mode);
  if (ftz)
    bits = flushed(f, bits);
  return sat ? saturated(f, bits) : bits;
}

struct Arithmetic {
  const char *name;
  Op op;
  int operands;
};
const Arithmetic arithmetic[] = {{"add", Op::Add, 2},
                                 {"sub", Op::Sub, 2},
                                 {"mul", Op::Mul, 2},
                                 {"fma", Op::Fma, 3}};

std::string shapeOf(const Kind &k, int operands) {
  std::string w = k.width(), s = w + "=" + w;
  for (int i = 1; i < operands; ++i)
    s += "," + w;
  return s;
}

struct Whole {
  const char *name;
  int bits;
  bool isSigned;
  i128 low() const { return isSigned ? -((i128)1 << (bits - 1)) : 0; }
  i128 high() const { return ((i128)1 << (bits - isSigned)) - 1; }
  const char *width() const {
    return bits == 64 ? "64" : bits == 32 ? "32" : "16";
  }
  i128 value(u64 v) const {
    u64 x = bits == 64 ? v : v & ((1ull << bits) - 1);
    return isSigned && (x >> (bits - 1) & 1) ? (i128)x - ((i128)1 << bits)
                                             : (i128)x;
  }
};
const Whole wholes[] = {{"u8", 8, false},   {"s8", 8, true},
                        {"u16", 16, false}, {"s16", 16, true},
                        {"u32", 32, false}, {"s32", 32, true},
                        {"u64", 64, false}, {"s64", 64, true}};

/// A rounded number within the bounds of an integer type.
i128 bounded(const Exact &x, const Whole &t) {
  Exact lo = Exact::whole(t.low()), hi = Exact::whole(t.high());
  if (compare(x, lo) <= 0)
    return t.low();
  if (compare(x, hi) >= 0)
    return t.high();
  Natural m = x.e >= 0 ? x.m << x.e : x.m >> -x.e;
  i128 v = (i128)m.low() | (i128)(m >> 64).low() << 64;
  return x.negative ? -v : v;
}

} // namespace

std::vector<Case> floatCases() {
  std::vector<Case> cases;
  auto add = [&](const std::string &op, const std::string &shape,
                 std::function<u64(Args)> f, const Kind &k) {
    Case c{op, shape, std::move(f), {k.values}, {}};
    c.anyNan64 = k.format == &formatF64;
    cases.push_back(std::move(c));
  };
  for (const Arithmetic &a : arithmetic) {
    for (const Mode &m : modes) {
      for (bool ftz : {false, true})
        for (bool sat : {false, true})
          add(
              std::string(a.name) + m.name + (ftz ? ".ftz" : "") +
                  (sat ? ".sat" : "") + ".f32",
              shapeOf(f32, a.operands),
              [=](Args v) {
                return compute(a.op, formatF32, v.a, v.b, v.c, m.mode, ftz,
                               sat);
              },
              f32);
      add(
          std::string(a.name) + m.name + ".f64", shapeOf(f64, a.operands),
          [=](Args v) {
            return compute(a.op, formatF64, v.a, v.b, v.c, m.mode, false,
                           false);
          },
          f64);
    }
    if (a.op != Op::Fma)
      for (const Kind &k : {f32, f64})
        add(
            std::string(a.name) + "." + k.name, shapeOf(k, 2),
            [=](Args v) {
              return compute(a.op, *k.format, v.a, v.b, 0, 'N', false, false);
            },
            k);
  }
  for (const Mode &m : modes)
    for (const Kind &k : {f32, f64})
      for (bool ftz : {false, true}) {
        if (ftz && k.format == &formatF64)
          continue;
        const Format &f = *k.format;
        auto in = [=, &f](u64 v) { return decode(f, ftz ? flushed(f, v) : v); };
        auto out = [=, &f](const Exact &x) {
          u64 bits = encode(f, x, m.mode);
          return ftz ? flushed(f, bits) : bits;
        };
        std::string tail = std::string(m.name) + (ftz ? ".ftz." : ".") + k.name;
        add(
            "div" + tail, shapeOf(k, 2),
            [=](Args v) { return out(quotient(in(v.a), in(v.b))); }, k);
        add(
            "sqrt" + tail, shapeOf(k, 1),
            [=](Args v) { return out(squareRoot(in(v.a))); }, k);
        add(
            "rcp" + tail, shapeOf(k, 1),
            [=](Args v) { return out(quotient(Exact::whole(1), in(v.a))); }, k);
      }
  for (const Kind &k : {f32, f64}) {
    const Format &f = *k.format;
    const u64 sign = 1ull << (f.width() - 1);
    std::string n = std::string(".") + k.name;
    add("abs" + n, shapeOf(k, 1), [=](Args v) { return v.a & ~sign; }, k);
    add("neg" + n, shapeOf(k, 1), [=](Args v) { return v.a ^ sign; }, k);
    add(
        "copysign" + n, shapeOf(k, 2),
        [=](Args v) { return (v.a & sign) | (v.b & ~sign); }, k);
    auto test = [&](const char *what,
                    std::function<bool(const Exact &, u64)> p) {
      add(
          std::string("testp.") + what + n, "p=" + k.width(),
          [=, &f](Args v) { return (u64)p(decode(f, v.a), v.a); }, k);
    };
    test("finite", [](const Exact &x, u64) { return x.kind == Exact::Finite; });
    test("infinite",
         [](const Exact &x, u64) { return x.kind == Exact::Infinite; });
    test("number", [](const Exact &x, u64) { return x.kind != Exact::Nan; });
    test("notanumber",
         [](const Exact &x, u64) { return x.kind == Exact::Nan; });
    test("normal", [&f](const Exact &x, u64 v) {
      return x.kind == Exact::Finite && !x.isZero() && flushed(f, v) == v;
    });
    test("subnormal", [&f](const Exact &x, u64 v) {
      return !x.isZero() && flushed(f, v) != v;
    });
  }
  // min and max: a number beats NaN; -0 < +0.
  for (const Kind &k : {f32, f64, f16, bf16})
    for (bool max : {false, true})
      for (bool nan : {false, true})
        for (bool ftz : {false, true}) {
          const Format &f = *k.format;
          if ((ftz && k.format != &formatF32 && k.format != &formatF16) ||
              (nan && k.format == &formatF64))
            continue;
          const u64 sign = 1ull << (f.width() - 1);
          add(
              std::string(max ? "max" : "min") + (ftz ? ".ftz" : "") +
                  (nan ? ".NaN" : "") + "." + k.name,
              shapeOf(k, 2),
              [=, &f](Args v) -> u64 {
                u64 a = ftz ? flushed(f, v.a) : v.a,
                    b = ftz ? flushed(f, v.b) : v.b;
                Exact x = decode(f, a), y = decode(f, b);
                bool nx = x.kind == Exact::Nan, ny = y.kind == Exact::Nan;
                if ((nx && ny) || (nan && (nx || ny)))
                  return f.nan;
                if (nx || ny)
                  return nx ? b : a;
                int order = compare(x, y);
                if (order == 0)
                  return max ? ((a & b & sign) | (a & ~sign))
                             : (((a | b) & sign) | (a & ~sign));
                return (order < 0) != max ? a : b;
              },
              k);
        }
  // Comparisons, ordered and not.
  struct Comparison {
    const char *name;
    bool less, equal, greater, unordered;
  };
  for (const Comparison &c : {Comparison{"eq", false, true, false, false},
                              {"ne", true, false, true, false},
                              {"lt", true, false, false, false},
                              {"le", true, true, false, false},
                              {"gt", false, false, true, false},
                              {"ge", false, true, true, false},
                              {"equ", false, true, false, true},
                              {"neu", true, false, true, true},
                              {"ltu", true, false, false, true},
                              {"leu", true, true, false, true},
                              {"gtu", false, false, true, true},
                              {"geu", false, true, true, true},
                              {"num", true, true, true, false},
                              {"nan", false, false, false, true}})
    for (const Kind &k : {f32, f64, f16, bf16})
      for (bool ftz : {false, true}) {
        const Format &f = *k.format;
        if (ftz && k.format != &formatF32 && k.format != &formatF16)
          continue;
        add(
            std::string("setp.") + c.name + (ftz ? ".ftz." : ".") + k.name,
            "p=" + k.width() + "," + k.width(),
            [=, &f](Args v) {
              u64 a = ftz ? flushed(f, v.a) : v.a,
                  b = ftz ? flushed(f, v.b) : v.b;
              int order = compare(decode(f, a), decode(f, b));
              return (u64)(order == 2   ? c.unordered
                           : order < 0  ? c.less
                           : order == 0 ? c.equal
                                        : c.greater);
            },
            k);
      }
  return cases;
}

std::vector<Case> halfCases() {
  std::vector<Case> cases;
  for (const Kind &k : {f16, bf16}) {
    const Format &f = *k.format;
    const bool isHalf = k.format == &formatF16;
    auto add = [&](const std::string &op, int operands,
                   std::function<u64(u64, u64, u64)> one) {
      cases.push_back({op + "." + k.name,
                       shapeOf(k, operands),
                       [=](Args v) { return one(v.a, v.b, v.c); },
                       {k.values},
                       {}});
      std::string shape = "32=32";
      for (int i = 1; i < operands; ++i)
        shape += ",32";
      cases.push_back({op + "." + k.name + "x2",
                       shape,
                       [=](Args v) {
                         return one(v.a >> 16 & 0xffff, v.b >> 16 & 0xffff,
                                    v.c >> 16 & 0xffff)
                                    << 16 |
                                one(v.a & 0xffff, v.b & 0xffff, v.c & 0xffff);
                       },
                       {isHalf ? Values::F16x2 : Values::Bf16x2},
                       {}});
    };
    for (const Arithmetic &a : arithmetic) {
      const bool fma = a.op == Op::Fma;
      auto plain = [&](const std::string &mods, bool ftz, bool sat, bool pos) {
        add(std::string(a.name) + mods, a.operands,
            [=, &f](u64 x, u64 y, u64 z) {
              u64 r = compute(a.op, f, x, y, z, 'N', ftz, sat);
              return pos ? relu(f, r) : r;
            });
      };
      if (!fma)
        plain("", false, false, false);
      plain(".rn", false, false, false);
      if (isHalf) {
        plain(".rn.ftz", true, false, false);
        plain(".rn.sat", false, true, false);
        plain(".rn.ftz.sat", true, true, false);
      }
      if (fma)
        plain(".rn.relu", false, false, true);
    }
    add("neg", 1, [](u64 x, u64, u64) { return x ^ 0x8000; });
    add("abs", 1, [](u64 x, u64, u64) { return x & 0x7fff; });
  }
  return cases;
}

std::vector<Case> convertCases() {
  std::vector<Case> cases;
  // Whole numbers among each other.
  for (const Whole &d : wholes)
    for (const Whole &s : wholes)
      for (bool sat : {false, true})
        cases.push_back(
            {std::string("cvt") + (sat ? ".sat." : ".") + d.name + "." + s.name,
             std::string(d.width()) + "=" + s.width(),
             [=](Args v) {
               i128 x = s.value(v.a);
               if (sat)
                 x = std::min(std::max(x, d.low()), d.high());
               else
                 x = d.value((u64)x);
               return (u64)x;
             },
             {Values::Integers},
             {}});
  // From whole numbers, all roundings.
  for (const Mode &m : modes)
    for (const Whole &s : wholes)
      for (const Kind &k : {f16, bf16, f32, f64}) {
        const Format &f = *k.format;
        cases.push_back(
            {std::string("cvt") + m.name + "." + k.name + "." + s.name,
             k.width() + "=" + s.width(),
             [=, &f](Args v) {
               return encode(f, Exact::whole(s.value(v.a)), m.mode);
             },
             {Values::Integers},
             {}});
      }
  // To whole numbers; what NaN gives differs by type and is left out.
  const Mode whole[] = {
      {".rni", 'N'}, {".rzi", 'Z'}, {".rmi", 'M'}, {".rpi", 'P'}};
  for (const Mode &m : whole)
    for (const Whole &d : wholes)
      for (const Kind &k : {f16, bf16, f32, f64}) {
        const Format &f = *k.format;
        Case c{std::string("cvt") + m.name + "." + d.name + "." + k.name,
               std::string(d.width()) + "=" + k.width(),
               [=, &f](Args v) {
                 return (u64)bounded(roundToWhole(decode(f, v.a), m.mode), d);
               },
               {k.values},
               {}};
        c.skip = [=, &f](Args v) { return decode(f, v.a).kind == Exact::Nan; };
        cases.push_back(std::move(c));
      }
  cases.push_back({"cvt.rzi.s32.f32",
                   "32=32",
                   [](Args) { return 0ull; },
                   {},
                   {{0x7fc00000, 0, 0}, {0xffc00001, 0, 0}}});
  // Between the formats, and to whole values of the same format.
  const Kind kinds[] = {f16, bf16, f32, f64};
  for (const Kind &d : kinds)
    for (const Kind &s : kinds) {
      const Format &to = *d.format, &from = *s.format;
      if (&to == &from) {
        for (const Mode &m : whole) {
          if (&to == &formatBf16)
            continue;
          Case c{std::string("cvt") + m.name + "." + d.name + "." + d.name,
                 shapeOf(d, 1),
                 [=, &to](Args v) {
                   return encode(to, roundToWhole(decode(to, v.a), m.mode),
                                 'N');
                 },
                 {d.values},
                 {}};
          c.skip = [=, &to](Args v) {
            return decode(to, v.a).kind == Exact::Nan;
          };
          cases.push_back(std::move(c));
        }
        continue;
      }
      bool exact =
          to.precision > from.precision && to.exponentBits >= from.exponentBits;
      for (const Mode &m : modes) {
        if (exact && m.mode != 'N')
          continue;
        // Pairs of bf16 exist to f32 and from f32 in two roundings.
        if (&from == &formatBf16 && &to != &formatF32)
          continue;
        if (&to == &formatBf16 &&
            (&from != &formatF32 || m.mode == 'M' || m.mode == 'P'))
          continue;
        Case c{std::string("cvt") + (exact ? "" : m.name) + "." + d.name + "." +
                   s.name,
               d.width() + "=" + s.width(),
               [=, &to, &from](Args v) {
                 return encode(to, decode(from, v.a), m.mode);
               },
               {s.values},
               {}};
        c.anyNan64 = &to == &formatF64;
        c.skip = [=, &from](Args v) {
          return decode(from, v.a).kind == Exact::Nan;
        };
        cases.push_back(std::move(c));
      }
    }
  // Two f32 into a pair: the first operand goes high.
  for (const Kind &k : {f16, bf16})
    for (const char *mods : {".rn", ".rz", ".rn.relu"}) {
      const Format &f = *k.format;
      char mode = mods[2] == 'n' ? 'N' : 'Z';
      bool positive = std::string(mods).size() > 3;
      cases.push_back({std::string("cvt") + mods + "." + k.name + "x2.f32",
                       "32=32,32",
                       [=, &f](Args v) {
                         auto one = [&](u64 x) {
                           u64 r = encode(f, decode(formatF32, x), mode);
                           return positive ? relu(f, r) : r;
                         };
                         return one(v.a) << 16 | one(v.b);
                       },
                       {Values::F32},
                       {}});
    }
  // tf32: ten bits of significand, ties away from zero.
  Case tf32{"cvt.rna.tf32.f32",
            "32=32",
            [](Args v) {
              if ((v.a & 0x7f800000) == 0x7f800000)
                return v.a;
              return (u64)((u32)(v.a + 0x1000) & 0xffffe000u);
            },
            {Values::F32},
            {}};
  tf32.skip = [](Args v) { return decode(formatF32, v.a).kind == Exact::Nan; };
  cases.push_back(std::move(tf32));
  return cases;
}

} // namespace simtest
