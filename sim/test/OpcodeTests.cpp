//===- OpcodeTests.cpp - opcodes against independent values -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each opcode runs on a grid of operands in a kernel of its own; what it gives
// is compared bit for bit with a value computed by other means (see
// OpcodeCases.h). The same results are compared with vectors that
// `record-golden` took from a GPU, where there are any.
//
//===----------------------------------------------------------------------===//

#include "Client.h"
#include "Golden.h"
#include "OpcodeCases.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

using namespace simtest;

namespace {

using u32 = uint32_t;
using u64 = unsigned long long;

void check(const std::vector<Case> &cases) {
  for (const Case &c : cases) {
    Outcome got = run(c);
    if (!got.error.empty()) {
      ADD_FAILURE() << got.error;
      continue;
    }
    ASSERT_FALSE(got.results.empty()) << c.op;
    int bad = 0;
    for (size_t i = 0; i < got.results.size() && bad < 3; ++i) {
      const Args &v = got.operands[i];
      u64 want = narrowed(c, c.want(v)), result = narrowed(c, got.results[i]);
      if (result == want || sameNan(c, want, result))
        continue;
      ++bad;
      ADD_FAILURE() << c.op << c.suffix << std::hex << " of 0x" << v.a << ", 0x"
                    << v.b << ", 0x" << v.c << " gives 0x" << result
                    << ", not 0x" << want;
    }
  }
}

TEST(Opcodes, Integers) { check(integerCases()); }
TEST(Opcodes, Comparisons) { check(compareCases()); }
TEST(Opcodes, Conversions) { check(convertCases()); }
TEST(Opcodes, Floats) { check(floatCases()); }
TEST(Opcodes, Halves) { check(halfCases()); }

TEST(Opcodes, WarpsMemoryAndCarries) {
  for (const WarpCase &c : warpCases()) {
    Outcome got = run(c);
    if (!got.error.empty()) {
      ADD_FAILURE() << got.error;
      continue;
    }
    std::vector<u32> x, y;
    for (const Args &v : got.operands) {
      x.push_back((u32)v.a);
      y.push_back((u32)v.b);
    }
    for (int lane = 0; lane < 32; ++lane)
      EXPECT_EQ(got.results[(size_t)lane], c.want(x, y, lane))
          << c.name << ", lane " << lane;
  }
}

// Names are keys of the golden vectors.
TEST(Opcodes, CasesAreDistinct) {
  std::set<std::string> names;
  for (const Case &c : allCases())
    EXPECT_TRUE(names.insert(keyOf(c)).second) << keyOf(c);
  for (const WarpCase &c : warpCases())
    EXPECT_TRUE(names.insert(c.name).second) << c.name;
  printf("  %zu opcodes and sequences\n", names.size());
}

// What a GPU gave, where somebody has recorded it.
TEST(Opcodes, GoldenVectors) {
  std::vector<GoldenFile> files = goldenFiles(TDS_SIM_GOLDEN);
  if (files.empty())
    GTEST_SKIP() << "not yet confirmed on hardware: no vectors in sim/test/"
                    "golden; sim/tools/record-golden writes them on a GPU";
  for (const GoldenFile &file : files) {
    SCOPED_TRACE(file.path);
    ASSERT_EQ(file.error, "");
    size_t compared = 0;
    for (const Case &c : allCases()) {
      auto found = file.results.find(keyOf(c));
      if (found == file.results.end())
        continue;
      Outcome got = run(c);
      ASSERT_EQ(got.error, "");
      ASSERT_EQ(got.results.size(), found->second.size())
          << keyOf(c) << ": the cases have changed; record again";
      ++compared;
      int bad = 0;
      for (size_t i = 0; i < got.results.size() && bad < 3; ++i) {
        u64 want = narrowed(c, found->second[i]),
            result = narrowed(c, got.results[i]);
        if (result != want && !sameNan(c, want, result)) {
          ++bad;
          ADD_FAILURE() << c.op << std::hex << " of 0x" << got.operands[i].a
                        << ", 0x" << got.operands[i].b << ", 0x"
                        << got.operands[i].c << " gives 0x" << result
                        << ", the GPU 0x" << want;
        }
      }
    }
    for (const WarpCase &c : warpCases()) {
      auto found = file.results.find(c.name);
      if (found == file.results.end())
        continue;
      ++compared;
      EXPECT_EQ(run(c).results, found->second) << c.name;
    }
    EXPECT_GT(compared, 0u);
  }
}

// Recording and reading back give the same, whatever device is loaded.
TEST(Opcodes, GoldenVectorsCanBeRecorded) {
  std::vector<Case> some = halfCases();
  some.resize(3);
  std::vector<WarpCase> warps = warpCases();
  warps.resize(2);
  std::string path = testing::TempDir() + "tds-golden-test.txt", error;
  ASSERT_TRUE(recordGolden(path, "test device", some, warps, error)) << error;
  GoldenFile file = readGolden(path);
  ASSERT_EQ(file.error, "");
  EXPECT_EQ(file.device, "test device");
  ASSERT_EQ(file.results.size(), 5u);
  for (const Case &c : some)
    EXPECT_EQ(file.results[keyOf(c)], run(c).results);
  for (const WarpCase &c : warps)
    EXPECT_EQ(file.results[c.name], run(c).results);
  remove(path.c_str());
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
