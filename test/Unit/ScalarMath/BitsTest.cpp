//===- BitsTest.cpp - host and compiled code agree in every bit -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Bits.h"

#include "tdsl/ScalarMath/Host.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

using namespace tdsl::scalarmath;

namespace {

struct Target {
  const char *cpu;
  unsigned lanes;
};

class SameBits : public testing::TestWithParam<Target> {};

TEST_P(SameBits, AllKernels) {
  Target target = GetParam();
  if (!hostHas(target.cpu))
    GTEST_SKIP() << "this processor cannot run " << target.cpu;
  auto compiled = CompiledKernels::compile(target.cpu, target.lanes);
  ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  for (const CheckKernel &kernel : checkKernels()) {
    EXPECT_EQ(compareBits(kernel, **compiled, 20000), "");
    if (kernel.inputs == std::vector<Element>{Element::F32})
      EXPECT_EQ(compareAllF32(kernel, **compiled, 4099 * 16 + 1), "");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Targets, SameBits,
    testing::Values(Target{"x86-64", 1}, Target{"x86-64", 4},
                    Target{"x86-64-v3", 1}, Target{"x86-64-v3", 8},
                    Target{"x86-64-v4", 16}),
    [](const auto &info) {
      std::string name = info.param.cpu;
      for (char &c : name)
        c = c == '-' ? '_' : c;
      return name + "_lanes" + std::to_string(info.param.lanes);
    });

// The comparison itself must see a difference.
TEST(SameBits, SeesADifference) {
  auto compiled = CompiledKernels::compile("x86-64", 1);
  ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  CheckKernel kernel = checkKernels().front();
  ASSERT_EQ(kernel.name, "exp_f32");
  auto host = kernel.host;
  kernel.host = [host](const void *const *in, void *out, size_t n) {
    host(in, out, n);
    // One last place of one element.
    uint32_t bits;
    char *at = static_cast<char *>(out) + 17 * sizeof(bits);
    std::memcpy(&bits, at, sizeof(bits));
    ++bits;
    std::memcpy(at, &bits, sizeof(bits));
  };
  EXPECT_NE(compareBits(kernel, **compiled, 100), "");
}

// A row and a single value take different code on the host.
TEST(HostRows, EqualSingleValues) {
  std::vector<float> in, out(4096);
  for (uint32_t i = 0; i < out.size(); ++i) {
    uint32_t pattern = i * 1048583u;
    float x;
    std::memcpy(&x, &pattern, sizeof(x));
    in.push_back(x);
  }
  for (unsigned k = 0; k < numUnary; ++k) {
    evaluate(Unary(k), in.data(), out.data(), in.size());
    for (size_t i = 0; i < in.size(); ++i) {
      float one = evaluate(Unary(k), in[i]);
      if (!std::isnan(one) || !std::isnan(out[i]))
        ASSERT_EQ(std::memcmp(&one, &out[i], sizeof(one)), 0)
            << nameOf(Unary(k)) << " of " << in[i];
    }
    // In place, too.
    std::vector<float> same = in;
    evaluate(Unary(k), same.data(), same.data(), same.size());
    for (size_t i = 0; i < in.size(); ++i)
      if (!std::isnan(same[i]))
        ASSERT_EQ(same[i], out[i]) << nameOf(Unary(k));
  }
}

} // namespace
