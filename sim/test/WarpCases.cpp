//===- WarpCases.cpp - opcodes of a warp, of memory, of carries -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stretches of PTX that 32 threads run together; what each thread shall get is
// computed from all threads' inputs by the words of the PTX manual.
//
//===----------------------------------------------------------------------===//

#include "OpcodeCases.h"

#include <algorithm>

namespace simtest {

namespace {
using u32 = uint32_t;
using Lanes = std::vector<u32>;
} // namespace

std::vector<WarpCase> warpCases() {
  std::vector<WarpCase> cases;
  auto add = [&](const std::string &name, const std::string &body,
                 std::function<u32(const Lanes &, const Lanes &, int)> want) {
    cases.push_back({name, body, std::move(want)});
  };
  // shfl.sync: the manual's pseudocode, segments of 32 and of 8 lanes.
  struct Segment {
    u32 mask;
    const char *down, *up;
  };
  for (Segment s : {Segment{0, "0x1f", "0"}, {24, "0x181f", "0x1800"}}) {
    auto shuffle = [&](const char *mode, auto source) {
      bool up = std::string(mode) == "up";
      std::string tail = s.mask ? " of 8 lanes" : "";
      std::string body = std::string("shfl.sync.") + mode + ".b32 %d|%p, %x, " +
                         (mode[0] == 'i' ? "%y" : "3") + ", " +
                         (up ? s.up : s.down) +
                         ", -1;\n@!%p xor.b32 %d, %d, 0x40000000;";
      add(std::string("shfl.sync.") + mode + tail, body,
          [=](const Lanes &x, const Lanes &y, int lane) {
            int first = lane & (int)s.mask, last = first | (31 & ~(int)s.mask);
            int from = source(lane, (int)y[(size_t)lane], first, last);
            bool in = from >= first && from <= last;
            return x[(size_t)(in ? from : lane)] ^ (in ? 0 : 0x40000000u);
          });
    };
    shuffle("up", [](int l, int, int, int) { return l - 3; });
    shuffle("down", [](int l, int, int, int) { return l + 3; });
    shuffle("bfly", [](int l, int, int, int) { return l ^ 3; });
    shuffle("idx", [](int, int n, int first, int last) {
      return first | (n & (last - first));
    });
  }
  // Votes about "x is even" among the lanes whose y is below 20.
  const std::string some =
      "and.b32 %u1, %x, 1; setp.eq.u32 %p, %u1, 0; setp.lt.u32 %q, %y, 20;\n"
      "vote.sync.ballot.b32 %u2, %q, -1;\nmov.u32 %d, 77;\n";
  auto members = [](const Lanes &y) {
    u32 m = 0;
    for (size_t i = 0; i < 32; ++i)
      m |= (u32)(y[i] < 20) << i;
    return m;
  };
  auto even = [](const Lanes &x) {
    u32 m = 0;
    for (size_t i = 0; i < 32; ++i)
      m |= (u32) !(x[i] & 1) << i;
    return m;
  };
  auto vote = [&](const char *kind, const char *take, auto result) {
    add(std::string("vote.sync.") + kind,
        some + "@!%q bra OUT;\nvote.sync." + kind + " " + take + "\nOUT:",
        [=](const Lanes &x, const Lanes &y, int lane) -> u32 {
          u32 m = members(y);
          return m >> lane & 1 ? (u32)result(even(x) & m, m) : 77;
        });
  };
  vote("ballot.b32", "%d, %p, %u2;", [](u32 p, u32) { return p; });
  vote("all.pred", "%p, %p, %u2; selp.b32 %d, 1, 0, %p;",
       [](u32 p, u32 m) { return p == m; });
  vote("any.pred", "%p, %p, %u2; selp.b32 %d, 1, 0, %p;",
       [](u32 p, u32) { return p != 0; });
  vote("uni.pred", "%p, %p, %u2; selp.b32 %d, 1, 0, %p;",
       [](u32 p, u32 m) { return p == 0 || p == m; });
  add("activemask", some + "@!%q bra OUT;\nactivemask.b32 %d;\nOUT:",
      [=](const Lanes &, const Lanes &y, int lane) -> u32 {
        return members(y) >> lane & 1 ? members(y) : 77;
      });
  add("elect.sync",
      "elect.sync %d|%p, 0xfff0ff00;\nselp.b32 %u1, 100, 0, "
      "%p;\nadd.u32 %d, %d, %u1;",
      [](const Lanes &, const Lanes &, int lane) -> u32 {
        return 8 + (lane == 8 ? 100 : 0);
      });
  // elect needs its members alone.
  cases.back().body = "setp.lt.u32 %q, %t, 8;\nmov.u32 %d, 8;\n@%q bra "
                      "OUT;\nelect.sync %d|%p, 0xffffff00;\nselp.b32 %u1, 100, "
                      "0, %p;\nadd.u32 %d, %d, %u1;\nOUT:";
  add("match.any.sync.b32", "match.any.sync.b32 %d, %y, -1;",
      [](const Lanes &, const Lanes &y, int lane) {
        u32 m = 0;
        for (size_t i = 0; i < 32; ++i)
          m |= (u32)(y[i] == y[(size_t)lane]) << i;
        return m;
      });
  add("match.all.sync.b32",
      "and.b32 %u1, %y, 0;\nmatch.all.sync.b32 %d|%p, %u1, -1;\n@!%p mov.u32 "
      "%d, 5;\nmatch.all.sync.b32 %u2|%p, %y, -1;\n@!%p add.u32 %d, %d, %u2;",
      [](const Lanes &, const Lanes &, int) { return 0xffffffffu; });
  auto redux = [&](const std::string &kind, auto f) {
    add("redux.sync." + kind, "redux.sync." + kind + " %d, %x, -1;",
        [=](const Lanes &x, const Lanes &, int) {
          u32 r = x[0];
          for (size_t i = 1; i < 32; ++i)
            r = f(r, x[i]);
          return r;
        });
  };
  redux("add.u32", [](u32 a, u32 b) { return a + b; });
  redux("min.u32", [](u32 a, u32 b) { return std::min(a, b); });
  redux("max.u32", [](u32 a, u32 b) { return std::max(a, b); });
  redux("min.s32", [](u32 a, u32 b) { return (u32)std::min((int)a, (int)b); });
  redux("max.s32", [](u32 a, u32 b) { return (u32)std::max((int)a, (int)b); });
  redux("and.b32", [](u32 a, u32 b) { return a & b; });
  redux("or.b32", [](u32 a, u32 b) { return a | b; });
  redux("xor.b32", [](u32 a, u32 b) { return a ^ b; });
  // Atomics: lane by lane on a word of its own, old value and new one.
  struct Atomic {
    const char *op;
    u32 (*f)(u32 old, u32 v);
  };
  for (const char *space : {"global", "shared"})
    for (const Atomic &k :
         {Atomic{"add.u32", [](u32 o, u32 v) { return o + v; }},
          {"min.s32",
           [](u32 o, u32 v) { return (u32)std::min((int)o, (int)v); }},
          {"max.u32", [](u32 o, u32 v) { return std::max(o, v); }},
          {"and.b32", [](u32 o, u32 v) { return o & v; }},
          {"or.b32", [](u32 o, u32 v) { return o | v; }},
          {"xor.b32", [](u32 o, u32 v) { return o ^ v; }},
          {"exch.b32", [](u32, u32 v) { return v; }},
          {"inc.u32", [](u32 o, u32 v) { return o >= v ? 0 : o + 1; }},
          {"dec.u32",
           [](u32 o, u32 v) { return o == 0 || o > v ? v : o - 1; }}}) {
      const std::string at = space[0] == 'g' ? "[%a]" : "[%s]";
      const std::string s = std::string(".") + space;
      const bool exchange = k.op[0] == 'e';
      std::string body = "add.s64 %a, %g, %i;\nst" + s + ".u32 " + at +
                         ", %x;\natom" + s + "." + k.op + " %u1, " + at +
                         ", %y;\n";
      if (!exchange)
        body += "red" + s + "." + k.op + " " + at + ", %y;\n";
      body +=
          "ld" + s + ".u32 %u2, " + at + ";\nmad.lo.u32 %d, %u1, 1000, %u2;";
      auto f = k.f;
      add("atom." + std::string(space) + "." + k.op, body,
          [=](const Lanes &x, const Lanes &y, int lane) {
            u32 old = x[(size_t)lane], v = y[(size_t)lane];
            u32 now = f(old, v);
            if (!exchange)
              now = f(now, v);
            return old * 1000 + now;
          });
    }
  add("atom.global.cas.b32",
      "add.s64 %a, %g, %i;\nst.global.u32 [%a], %y;\natom.global.cas.b32 %u1, "
      "[%a], 7, %x;\natom.global.cas.b32 %u2, [%a], %y, 9;\nld.global.u32 %u3, "
      "[%a];\nmad.lo.u32 %d, %u1, 1000, %u2;\nmad.lo.u32 %d, %d, 1000, %u3;",
      [](const Lanes &x, const Lanes &y, int lane) {
        u32 m = y[(size_t)lane], a = m;
        if (m == 7)
          m = x[(size_t)lane];
        u32 b = m;
        if (m == y[(size_t)lane])
          m = 9;
        return (a * 1000 + b) * 1000 + m;
      });
  // All lanes on one word: the sum is there whatever the order.
  add("red.global.add.u32 on one word",
      "red.global.add.u32 [%g], %x;\nbar.warp.sync -1;\nld.global.u32 %d, "
      "[%g];",
      [](const Lanes &x, const Lanes &, int) {
        u32 s = 0;
        for (u32 v : x)
          s += v;
        return s;
      });
  // 64-bit arithmetic by carries.
  auto wide = [](const Lanes &x, const Lanes &y, int lane) {
    return (unsigned long long)x[(size_t)lane] * 0x9e3779b97f4a7c15ull +
           y[(size_t)lane];
  };
  const std::string pair =
      "mul.wide.u32 %wide0, %x, 1;\nmul.lo.u64 %wide0, %wide0, "
      "0x9e3779b97f4a7c15;\ncvt.u64.u32 %wide1, %y;\nadd.u64 %wide0, %wide0, "
      "%wide1;\nmov.b64 {%u1, %u2}, %wide0;\nmov.b64 {%u3, %u4}, "
      "0xf123456789abcdef;\n";
  add("add.cc addc",
      pair + "add.cc.u32 %u5, %u1, %u3; addc.u32 %u6, %u2, %u4; xor.b32 %d, "
             "%u5, %u6;",
      [=](const Lanes &x, const Lanes &y, int lane) {
        auto r = wide(x, y, lane) + 0xf123456789abcdefull;
        return (u32)r ^ (u32)(r >> 32);
      });
  add("sub.cc subc",
      pair + "sub.cc.u32 %u5, %u1, %u3; subc.u32 %u6, %u2, %u4; xor.b32 %d, "
             "%u5, %u6;",
      [=](const Lanes &x, const Lanes &y, int lane) {
        auto r = wide(x, y, lane) - 0xf123456789abcdefull;
        return (u32)r ^ (u32)(r >> 32);
      });
  add("mad.lo.cc madc.hi",
      pair + "mad.lo.cc.u32 %u5, %u1, %u3, %u4; madc.hi.u32 %u6, %u1, %u3, "
             "%u2; xor.b32 %d, %u5, %u6;",
      [=](const Lanes &x, const Lanes &y, int lane) {
        auto v = wide(x, y, lane);
        auto r = (unsigned long long)(u32)v * 0x89abcdefu + 0xf1234567u;
        return (u32)r ^ (u32)((r >> 32) + (v >> 32));
      });
  // Vector and narrow accesses in shared and global memory.
  add("st.v4 and ld.v2",
      "mul.lo.u32 %u1, %x, 3;\nst.shared.v4.u32 [%s], {%x, %y, %u1, %t};\n"
      "ld.shared.v2.u32 {%u2, %u3}, [%s+8];\nld.shared.u16 %h1, [%s+2];\n"
      "cvt.u32.u16 %u4, %h1;\nadd.u32 %d, %u2, %u3;\nadd.u32 %d, %d, %u4;",
      [](const Lanes &x, const Lanes &, int lane) {
        u32 v = x[(size_t)lane];
        return v * 3 + (u32)lane + (v >> 16);
      });
  add("ld of narrow types extends",
      "st.shared.u32 [%s], 0x80ff7f01;\nld.shared.s8 %u1, [%s+3];\n"
      "ld.shared.u8 %u2, [%s+2];\nld.shared.s16 %u3, [%s+2];\nadd.u32 %d, "
      "%u1, %u2;\nxor.b32 %d, %d, %u3;",
      [](const Lanes &, const Lanes &, int) {
        u32 a = 0xffffff80u, b = 0xff, c = 0xffff80ffu;
        return (a + b) ^ c;
      });
  add("bar.red",
      "and.b32 %u1, %x, 1; setp.eq.u32 %p, %u1, 0;\nbar.red.popc.u32 %d, 0, "
      "%p;\nbar.red.and.pred %q, 0, %p;\nselp.b32 %u2, 100, 0, %q;\nadd.u32 "
      "%d, %d, %u2;\nbar.red.or.pred %q, 0, !%p;\nselp.b32 %u2, 1000, 0, "
      "%q;\nadd.u32 %d, %d, %u2;",
      [=](const Lanes &x, const Lanes &, int) {
        u32 e = even(x);
        return (u32)__builtin_popcount(e) + (e == ~0u ? 100 : 0) +
               (e != ~0u ? 1000 : 0);
      });
  return cases;
}

} // namespace simtest
