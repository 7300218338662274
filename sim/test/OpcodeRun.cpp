//===- OpcodeRun.cpp - runs opcode cases on a device ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Client.h"
#include "OpcodeCases.h"

namespace simtest {

namespace {

using u32 = uint32_t;
using u64 = unsigned long long;

std::vector<u64> integers(int bits) {
  std::vector<u64> v = {0, 1, 2, 3, 7, 31, 33, 100, 255};
  const u64 top = 1ull << (bits - 1);
  for (u64 x : {top, top - 1, top + 1, ~0ull, ~0ull - 6, top / 3 * 2,
                (u64)0x123456789abcdef1ull, (u64)0xfedcba9876543210ull})
    v.push_back(bits == 64 ? x : x & ((1ull << bits) - 1));
  return v;
}

std::vector<u64> valuesOf(Values kind, int bits) {
  switch (kind) {
  case Values::Integers:
    return integers(bits);
  case Values::Shifts:
    return {0, 1, 5, 8, 15, 16, 31, 32, 33, 63, 64, 0x104, 0xffffffff};
  case Values::F32:
    return {0,          0x80000000, 0x3f800000, 0xbf800000, 0x3dcccccd,
            0xc0700000, 0x3f800001, 0x449a522b, 0xbeaaaaaa, 0x40ffffff,
            0x4b800001, 1,          0x80000123, 0x00800000, 0x7f7fffff,
            0x7f800000, 0xff800000, 0x7fc00001};
  case Values::F64:
    return {0,
            0x8000000000000000ull,
            0x3ff0000000000000ull,
            0xbff0000000000001ull,
            0x3fb999999999999aull,
            0xc00e000000000000ull,
            0x40934a456d5cfaadull,
            0x433fffffffffffffull,
            1,
            0x800fffffffffffffull,
            0x7fefffffffffffffull,
            0x7ff0000000000000ull,
            0x7ff8000000000001ull};
  case Values::F16:
    return {0,      0x8000, 0x3c00, 0xbc00, 0x3555, 0xc380, 0x3c01, 0x4248,
            0x0001, 0x8003, 0x0400, 0x7bff, 0x7c00, 0xfc00, 0x7e01};
  case Values::Bf16:
    return {0,      0x8000, 0x3f80, 0xbf80, 0x3eab, 0xc070, 0x3f81, 0x4049,
            0x0001, 0x8003, 0x0080, 0x7f7f, 0x7f80, 0xff80, 0x7fc1};
  case Values::F16x2:
    return {0x3c003c00, 0x80000001, 0x7bff3555, 0xfc007e01, 0x4248c380};
  case Values::Bf16x2:
    return {0x3f803f80, 0x80000001, 0x7f7f3eab, 0xff807fc1, 0x4049c070};
  }
  return {};
}

std::string registerOf(const std::string &width, int number) {
  return (width == "64"   ? "%w"
          : width == "32" ? "%x"
          : width == "p"  ? "%p"
                          : "%h") +
         std::to_string(number);
}

} // namespace

Outcome run(const Case &c) {
  size_t eq = c.shape.find('=');
  std::string dst = c.shape.substr(0, eq);
  std::vector<std::string> src;
  for (size_t at = eq + 1; at < c.shape.size();) {
    size_t comma = std::min(c.shape.find(',', at), c.shape.size());
    src.push_back(c.shape.substr(at, comma - at));
    at = comma + 1;
  }
  Outcome out;
  if (!c.rows.empty()) {
    out.operands = c.rows;
  } else {
    std::vector<std::vector<u64>> lists;
    for (size_t i = 0; i < src.size(); ++i) {
      Values kind = c.values.empty()
                        ? Values::Integers
                        : c.values[std::min(i, c.values.size() - 1)];
      lists.push_back(src[i] == "p" ? std::vector<u64>{0, 1}
                                    : valuesOf(kind, std::stoi(src[i])));
    }
    while (lists.size() < 3)
      lists.push_back({0});
    // Three operands: every third value of the last.
    if (src.size() == 3 && src[2] != "p") {
      std::vector<u64> fewer;
      for (size_t i = 0; i < lists[2].size(); i += 3)
        fewer.push_back(lists[2][i]);
      lists[2] = fewer;
    }
    for (u64 x : lists[0])
      for (u64 y : lists[1])
        for (u64 z : lists[2])
          if (!c.skip || !c.skip({x, y, z}))
            out.operands.push_back({x, y, z});
  }
  const u32 n = (u32)out.operands.size();
  std::string ptx =
      ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry "
      "k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd, "
      ".param .u32 pn)\n{\n.reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred "
      "%p<6>, %g;\n.reg .b64 %w<4>; .reg .b32 %x<4>; .reg .b16 %h<4>;\nmov.u32 "
      "%r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.s32 "
      "%r4, %r1, %r2, %r3;\nld.param.u32 %r5, [pn]; setp.ge.u32 %g, %r4, %r5; "
      "@%g bra DONE;\nmul.wide.u32 %rd1, %r4, 8;\n";
  const char *params[] = {"pa", "pb", "pc"};
  std::string operands;
  for (size_t i = 0; i < src.size(); ++i) {
    std::string reg = registerOf(src[i], (int)i + 1);
    ptx += std::string("ld.param.u64 %rd2, [") + params[i] +
           "]; add.s64 %rd3, %rd2, %rd1;\n";
    if (src[i] == "p")
      ptx += "ld.global.b32 %r6, [%rd3]; setp.ne.b32 " + reg + ", %r6, 0;\n";
    else
      ptx += "ld.global.b" + src[i] + " " + reg + ", [%rd3];\n";
    operands += ", " + reg;
  }
  std::string d = registerOf(dst, 0);
  ptx += c.op + " " + d + operands + c.suffix + ";\n";
  if (dst == "p")
    ptx += "selp.b32 %x0, 1, 0, %p0;\n";
  std::string width = dst == "p" ? "32" : dst == "8" ? "16" : dst;
  ptx += "ld.param.u64 %rd2, [pd]; add.s64 %rd3, %rd2, %rd1;\nst.global.b" +
         width + " [%rd3], " + (dst == "p" ? "%x0" : d) + ";\nDONE: ret;\n}\n";
  Gpu gpu;
  if (gpu.load(ptx) != CUDA_SUCCESS) {
    out.error = c.op + ": " + gpu.log();
    return out;
  }
  std::vector<u64> a, b, e;
  for (const Args &v : out.operands) {
    a.push_back(v.a);
    b.push_back(v.b);
    e.push_back(v.c);
  }
  CUdeviceptr A = gpu.upload(a), B = gpu.upload(b), C = gpu.upload(e),
              D = gpu.upload(std::vector<u64>(n));
  if (gpu.launch("k", (n + 127) / 128, 128, 0, A, B, C, D, n) != CUDA_SUCCESS) {
    out.error = c.op + " does not run";
    return out;
  }
  out.results = gpu.download<u64>(D, n);
  return out;
}

Outcome run(const WarpCase &c) {
  Outcome out;
  std::vector<u32> x(32), y(32);
  Random g(99);
  for (u32 i = 0; i < 32; ++i) {
    x[i] = (u32)(g.next() % 41) * (i % 3 ? 1 : 0x10001u);
    y[i] = (u32)(g.next() % 32);
    out.operands.push_back({x[i], y[i], 0});
  }
  std::string ptx =
      ".version 8.0\n.target sm_90a\n.address_size 64\n.shared .align 16 .b8 "
      "s[1024];\n.visible .entry k(.param .u64 px, .param .u64 py, .param .u64 "
      "pd, .param .u64 pq)\n{\n.reg .b64 %i, %a, %g, %wide<4>; .reg .b32 %x, "
      "%y, %d, %t, %s, %u<9>; .reg .b16 %h<4>; .reg .pred %p, %q;\nmov.u32 "
      "%t, %tid.x; mul.wide.u32 %i, %t, 4; mov.u32 %s, s; mad.lo.u32 %s, %t, "
      "16, %s;\nld.param.u64 %a, [px]; add.s64 %a, %a, %i; ld.global.b32 %x, "
      "[%a];\nld.param.u64 %a, [py]; add.s64 %a, %a, %i; ld.global.b32 %y, "
      "[%a];\nld.param.u64 %g, [pq];\n" +
      c.body +
      "\nld.param.u64 %a, [pd]; add.s64 %a, %a, %i; st.global.b32 [%a], %d;\n"
      "ret;\n}\n";
  Gpu gpu;
  if (gpu.load(ptx) != CUDA_SUCCESS) {
    out.error = c.name + ": " + gpu.log();
    return out;
  }
  CUdeviceptr X = gpu.upload(x), Y = gpu.upload(y),
              D = gpu.upload(std::vector<u32>(32)),
              Q = gpu.upload(std::vector<u32>(256));
  if (gpu.launch("k", 1, 32, 0, X, Y, D, Q) != CUDA_SUCCESS) {
    out.error = c.name + " does not run";
    return out;
  }
  for (u32 v : gpu.download<u32>(D, 32))
    out.results.push_back(v);
  return out;
}

std::vector<Case> allCases() {
  std::vector<Case> all;
  for (auto *list :
       {&integerCases, &compareCases, &convertCases, &floatCases, &halfCases})
    for (Case &c : (*list)())
      all.push_back(std::move(c));
  return all;
}

} // namespace simtest
