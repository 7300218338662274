//===- LayoutTests.cpp - fragment layouts, lane by lane ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tables of the PTX manual, "Matrix Fragments for mma.m16n8k…" and
// "Warp-level matrix load instruction: ldmatrix", written out once more here:
// matrices of small integers are dealt to the lanes by them, multiplied by the
// instruction, and gathered by them.
//
//===----------------------------------------------------------------------===//

#include "Client.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

using namespace simtest;

namespace {

using u16 = uint16_t;
using u32 = uint32_t;

struct At {
  int row, col;
};
struct Mma {
  const char *op;
  int m, n, k;
  int regsA, regsB, regsC;
  int perReg; // elements of A and B in a register
  char type;  // h f16, b bf16, t tf32, d f64, s s8, u u8
  bool halfC;
  std::function<At(int lane, int i)> a, b, c;
};

u32 encode(char type, int v) {
  float f = (float)v;
  u32 bits;
  memcpy(&bits, &f, 4);
  switch (type) {
  case 'h': {
    if (v == 0)
      return 0;
    int e;
    float m = std::frexp(std::fabs(f), &e);
    return (u32)((v < 0 ? 0x8000 : 0) | (e + 14) << 10 |
                 ((int)(m * 2048) & 0x3ff));
  }
  case 'b':
    return bits >> 16;
  case 't':
  case 'd': // widened by the kernel
    return bits;
  default:
    return (u32)v & 255;
  }
}
int decodeHalf(u32 h) {
  h &= 0xffff;
  if (!(h & 0x7fff))
    return 0;
  float v = std::ldexp((float)((h & 0x3ff) | 0x400), (int)(h >> 10 & 31) - 25);
  return (int)(h & 0x8000 ? -v : v);
}

void checkMma(const Mma &x) {
  SCOPED_TRACE(x.op);
  auto list = [](int base, int n) {
    std::string s = "{";
    for (int i = 0; i < n; ++i)
      s += (i ? ", %r" : "%r") + std::to_string(base + i);
    return s + "}";
  };
  const bool isDouble = x.type == 'd';
  int total = x.regsA + x.regsB + x.regsC;
  std::string ptx = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible "
                    ".entry k(.param .u64 p)\n{ .reg .b64 %rd<4>; .reg .f32 "
                    "%f; .reg .b32 %t; .reg " +
                    std::string(isDouble ? ".f64" : ".b32") +
                    " %r<60>;\nld.param.u64 %rd1, [p]; mov.u32 %t, "
                    "%tid.x; mul.wide.u32 %rd2, %t, " +
                    std::to_string(total * 4) + "; add.s64 %rd3, %rd1, %rd2;\n";
  for (int i = 0; i < total; ++i) {
    std::string r = "%r" + std::to_string(i),
                at = ", [%rd3+" + std::to_string(4 * i) + "];\n";
    ptx += isDouble ? "ld.global.f32 %f" + at + "cvt.f64.f32 " + r + ", %f;\n"
                    : "ld.global.b32 " + r + at;
  }
  int c0 = x.regsA + x.regsB;
  ptx += std::string(x.op) + " " + list(c0, x.regsC) + ", " + list(0, x.regsA) +
         ", " + list(x.regsA, x.regsB) + ", " + list(c0, x.regsC) + ";\n";
  for (int i = 0; i < x.regsC; ++i) {
    std::string r = "%r" + std::to_string(c0 + i),
                at = " [%rd3+" + std::to_string(4 * (c0 + i)) + "], ";
    ptx += isDouble
               ? "cvt.rn.f32.f64 %f, " + r + ";\nst.global.f32" + at + "%f;\n"
               : "st.global.b32" + at + r + ";\n";
  }
  ptx += "ret; }\n";

  Random g(77);
  auto draw = [&] {
    return x.type == 'u' ? (int)(g.next() % 9) : (int)(g.next() % 9) - 4;
  };
  std::vector<std::vector<int>> A(x.m, std::vector<int>(x.k)),
      B(x.k, std::vector<int>(x.n)), C(x.m, std::vector<int>(x.n));
  for (auto *m : {&A, &B, &C})
    for (auto &row : *m)
      for (int &v : row)
        v = draw();
  std::vector<u32> data(32 * total);
  const int width = 32 / x.perReg;
  for (int l = 0; l < 32; ++l) {
    for (int i = 0; i < x.regsA * x.perReg; ++i) {
      At p = x.a(l, i);
      data[l * total + i / x.perReg] |= encode(x.type, A[p.row][p.col])
                                        << (i % x.perReg * width % 32);
    }
    for (int i = 0; i < x.regsB * x.perReg; ++i) {
      At p = x.b(l, i);
      data[l * total + x.regsA + i / x.perReg] |=
          encode(x.type, B[p.row][p.col]) << (i % x.perReg * width % 32);
    }
    for (int i = 0; i < x.regsC * (x.halfC ? 2 : 1); ++i) {
      At p = x.c(l, i);
      int v = C[p.row][p.col];
      if (x.halfC)
        data[l * total + c0 + i / 2] |= encode('h', v) << (i % 2 * 16);
      else
        data[l * total + c0 + i] =
            x.type == 's' || x.type == 'u' ? (u32)v : encode('t', v);
    }
  }
  Gpu gpu;
  ASSERT_EQ(gpu.load(ptx), CUDA_SUCCESS) << gpu.log();
  CUdeviceptr P = gpu.upload(data);
  ASSERT_EQ(gpu.launch("k", 1, 32, 0, P), CUDA_SUCCESS);
  auto out = gpu.download<u32>(P, data.size());
  for (int l = 0; l < 32; ++l)
    for (int i = 0; i < x.regsC * (x.halfC ? 2 : 1); ++i) {
      At p = x.c(l, i);
      int want = C[p.row][p.col];
      for (int k = 0; k < x.k; ++k)
        want += A[p.row][k] * B[k][p.col];
      u32 r = out[l * total + c0 + (x.halfC ? i / 2 : i)];
      int got;
      float f;
      memcpy(&f, &r, 4);
      got = x.halfC                          ? decodeHalf(r >> (i % 2 * 16))
            : x.type == 's' || x.type == 'u' ? (int)r
                                             : (int)f;
      ASSERT_EQ(got, want) << "lane " << l << " element " << i;
    }
}

TEST(Layouts, MmaFragments) {
  // groupID = lane >> 2, threadID_in_group = lane % 4 throughout.
  auto c16 = [](int l, int i) {
    return At{i < 2 ? l / 4 : l / 4 + 8, l % 4 * 2 + (i & 1)};
  };
  auto a16k16 = [](int l, int i) {
    bool low = (i >= 0 && i < 2) || (i >= 4 && i < 6);
    return At{low ? l / 4 : l / 4 + 8, l % 4 * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
  };
  auto b16k16 = [](int l, int i) {
    return At{l % 4 * 2 + (i & 1) + (i >= 2 ? 8 : 0), l / 4};
  };
  auto a16k8 = [](int l, int i) {
    return At{i < 2 ? l / 4 : l / 4 + 8, l % 4 * 2 + (i & 1)};
  };
  auto b16k8 = [](int l, int i) { return At{l % 4 * 2 + i, l / 4}; };
  auto at8 = [](int l, int i) {
    return At{i == 0 || i == 2 ? l / 4 : l / 4 + 8, i < 2 ? l % 4 : l % 4 + 4};
  };
  auto bt8 = [](int l, int i) { return At{i == 0 ? l % 4 : l % 4 + 4, l / 4}; };
  auto at4 = [](int l, int i) { return At{i == 0 ? l / 4 : l / 4 + 8, l % 4}; };
  auto bt4 = [](int l, int) { return At{l % 4, l / 4}; };
  auto ai16 = [](int l, int i) {
    return At{i < 4 ? l / 4 : l / 4 + 8, l % 4 * 4 + (i & 3)};
  };
  auto bi16 = [](int l, int i) { return At{l % 4 * 4 + i, l / 4}; };
  auto ai32 = [](int l, int i) {
    bool low = (i >= 0 && i < 4) || (i >= 8 && i < 12);
    return At{low ? l / 4 : l / 4 + 8, l % 4 * 4 + (i & 3) + (i >= 8 ? 16 : 0)};
  };
  auto bi32 = [](int l, int i) {
    return At{l % 4 * 4 + (i & 3) + (i >= 4 ? 16 : 0), l / 4};
  };
  auto a8i = [](int l, int i) { return At{l / 4, l % 4 * 4 + i}; };
  auto c8 = [](int l, int i) { return At{l / 4, l % 4 * 2 + i}; };
  const std::string p = "mma.sync.aligned.";
  for (char type : {'h', 'b'}) {
    std::string t = type == 'h' ? "f16.f16" : "bf16.bf16";
    checkMma({(p + "m16n8k16.row.col.f32." + t + ".f32").c_str(), 16, 8, 16, 4,
              2, 4, 2, type, false, a16k16, b16k16, c16});
    checkMma({(p + "m16n8k8.row.col.f32." + t + ".f32").c_str(), 16, 8, 8, 2, 1,
              4, 2, type, false, a16k8, b16k8, c16});
  }
  checkMma({"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", 16, 8, 16, 4,
            2, 2, 2, 'h', true, a16k16, b16k16, c16});
  checkMma({"mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", 16, 8, 8, 2, 1,
            2, 2, 'h', true, a16k8, b16k8, c16});
  checkMma({"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 16, 8, 8, 4,
            2, 4, 1, 't', false, at8, bt8, c16});
  checkMma({"mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", 16, 8, 4, 2,
            1, 4, 1, 't', false, at4, bt4, c16});
  auto ad16 = [](int l, int i) {
    return At{i % 2 == 0 ? l / 4 : l / 4 + 8,
              i % 2 == 0 ? i * 2 + l % 4 : i * 2 - 2 + l % 4};
  };
  auto bd = [](int l, int i) { return At{l % 4 + 4 * i, l / 4}; };
  const std::string f64 = ".row.col.f64.f64.f64.f64";
  checkMma({(p + "m16n8k4" + f64).c_str(), 16, 8, 4, 2, 1, 4, 1, 'd', false,
            at4, bt4, c16});
  checkMma({(p + "m16n8k8" + f64).c_str(), 16, 8, 8, 4, 2, 4, 1, 'd', false,
            at8, bt8, c16});
  checkMma({(p + "m16n8k16" + f64).c_str(), 16, 8, 16, 8, 4, 4, 1, 'd', false,
            ad16, bd, c16});
  for (char type : {'s', 'u'}) {
    std::string t = type == 's' ? ".s32.s8.s8.s32" : ".s32.u8.u8.s32";
    checkMma({(p + "m16n8k16.row.col" + t).c_str(), 16, 8, 16, 2, 1, 4, 4, type,
              false, ai16, bi16, c16});
    checkMma({(p + "m16n8k32.row.col.satfinite" + t).c_str(), 16, 8, 32, 4, 2,
              4, 4, type, false, ai32, bi32, c16});
    checkMma({(p + "m8n8k16.row.col" + t).c_str(), 8, 8, 16, 1, 1, 2, 4, type,
              false, a8i, bi16, c8});
  }
}

TEST(Layouts, LdmatrixAndStmatrix) {
  for (int n : {1, 2, 4})
    for (bool trans : {false, true}) {
      std::string count = std::to_string(n), regs = "{";
      for (int i = 0; i < n; ++i)
        regs += (i ? ", %r" : "%r") + std::to_string(i);
      regs += "}";
      // Row i of the matrices lies at 16 * ((i * 5) % 32): scattered on
      // purpose.
      std::string mod = ".sync.aligned.m8n8.x" + count +
                        (trans ? ".trans" : "") + ".shared.b16 ";
      std::string ptx =
          ".version 8.0\n.target sm_90a\n.address_size 64\n.shared .align 16 "
          ".b8 s[1024];\n"
          ".visible .entry k(.param .u64 p)\n{ .reg .b64 %rd<6>; .reg .b32 "
          "%r<5>, %t, %a, %b, %v;\n"
          "ld.param.u64 %rd1, [p]; mov.u32 %t, %tid.x; mul.wide.u32 %rd2, %t, "
          "16; add.s64 %rd3, %rd1, %rd2;\n"
          "mov.u32 %a, s; shl.b32 %b, %t, 4; add.u32 %b, %a, %b;\n";
      for (int i = 0; i < 4; ++i)
        ptx += "ld.global.b32 %v, [%rd3+" + std::to_string(4 * i) +
               "]; st.shared.b32 [%b+" + std::to_string(4 * i) + "], %v;\n";
      ptx += "bar.sync 0;\nmul.lo.u32 %b, %t, 5; and.b32 %b, %b, 31; shl.b32 "
             "%b, %b, 4; add.u32 %b, %a, %b;\n"
             "ldmatrix" +
             mod + regs + ", [%b];\nbar.sync 0;\n";
      for (int i = 0; i < n; ++i)
        ptx += "st.global.b32 [%rd3+" + std::to_string(512 + 4 * i) + "], %r" +
               std::to_string(i) + ";\n";
      // Back to the second half of the buffer by stmatrix.
      ptx += "shl.b32 %b, %t, 4; add.u32 %b, %a, %b;\nstmatrix" + mod +
             "[%b+512], " + regs + ";\nbar.sync 0;\n";
      for (int i = 0; i < 4; ++i)
        if (n == 4)
          ptx += "ld.shared.b32 %v, [%b+" + std::to_string(512 + 4 * i) +
                 "]; st.global.b32 [%rd3+" + std::to_string(1024 + 4 * i) +
                 "], %v;\n";
      ptx += "ret; }\n";
      Gpu gpu;
      ASSERT_EQ(gpu.load(ptx), CUDA_SUCCESS) << gpu.log();
      std::vector<u16> data(256);
      for (size_t i = 0; i < 256; ++i)
        data[i] = (u16)(i * 3 + 1);
      std::vector<u16> memory(768);
      std::copy(data.begin(), data.end(), memory.begin());
      CUdeviceptr P = gpu.upload(memory);
      ASSERT_EQ(gpu.launch("k", 1, 32, 0, P), CUDA_SUCCESS);
      auto out = gpu.download<u16>(P, 768);
      for (int q = 0; q < n; ++q)
        for (int l = 0; l < 32; ++l)
          for (int h = 0; h < 2; ++h) {
            int row = l / 4, col = l % 4 * 2 + h;
            if (trans)
              std::swap(row, col);
            int lane = q * 8 + row; // whose address names the row
            ASSERT_EQ(out[256 + l * 8 + q * 2 + h],
                      data[(lane * 5 % 32) * 8 + col])
                << n << trans << " lane " << l;
          }
      if (n == 4)
        for (int r = 0; r < 32; ++r)
          for (int c = 0; c < 8; ++c)
            ASSERT_EQ(out[512 + r * 8 + c], data[(r * 5 % 32) * 8 + c]);
    }
}

} // namespace
