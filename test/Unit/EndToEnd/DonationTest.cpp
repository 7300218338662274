//===- DonationTest.cpp - places of inputs hold other values -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CompiledProgram.h"

using namespace tdsl;
using namespace tdsl::test;

// A call finds its inputs whatever the one before left in their places, given
// or by default.
TEST(Donation, EveryCallIsAlike) {
  const char program[] = R"(
dim N = 40
export fn f(x: f32[N, N] = 0.125, s: f32 = 1) -> f32[N, N] {
  let a = x @ x
  let b = a @ (a + 0.5)
  tanh(b @ b) * s
}
)";
  for (std::string flags : {"--targets=cpu", "--targets=sm_80"})
    EXPECT_NE(emitStage(program, "plan", flags)
                  .find("plan.input \"x\" : tensor<40x40xf32> at 0 default "
                        "1.250000e-01 : f32 {data_axis, donated}"),
              std::string::npos);
  auto paths = compileProgram(program);
  ASSERT_GE(paths.size(), 2u);
  Tensor x(reference::ElementKind::F32, {40, 40});
  for (int64_t i = 0; i < x.numElements(); ++i)
    x.set(i, (i * 37 % 101 - 50) / 200.0);
  std::vector<Tensor> expected;
  for (auto &path : paths) {
    SCOPED_TRACE(path->name());
    for (unsigned call = 0; call < 4; ++call) {
      Named inputs;
      if (call % 2 == 0)
        inputs.insert({"x", x});
      Tensor result = path->call("f", inputs).at("result");
      if (path == paths.front())
        expected.push_back(result);
      EXPECT_TRUE(areClose(result, expected[call], 1e-5, 1e-6)) << call;
    }
  }
  EXPECT_FALSE(areClose(expected[0], expected[1], 1e-2, 1e-2));
}
