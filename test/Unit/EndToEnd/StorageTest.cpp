//===- StorageTest.cpp - inputs' places, constants' layout -*- C++ -*-===//
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

// Constant factors lie as kernels read them: columns behind the summed axis,
// rows before it.
TEST(ConstantFactors, AreLaidOut) {
  const char program[] = R"(
export fn f(x: f32[8, 4]) -> (y: f32[8, 3], z: f32[3, 8]) {
  let w = [[1.0, 2.5, 3.0, 4.0], [0.5, 6.0, 7.0, 8.0], [9.0, 1.5, 2.0, 3.0]]
  let v = [[1.5, 0.5, 9.0], [2.5, 6.0, 1.5], [3.0, 7.0, 2.0], [4.0, 8.0, 3.0]]
  let y[i, j] = sum[k](x[i, k] * w[j, k])
  let z[j, i] = sum[k](v[k, j] * x[i, k])
  (y, z)
}
)";
  std::string plan = emitStage(program, "plan", "--targets=cpu");
  for (const char *constant :
       {"dense<[[1.000000e+00, 5.000000e-01, 9.000000e+00], [2.500000e+00, "
        "6.000000e+00, 1.500000e+00], [3.000000e+00, 7.000000e+00, "
        "2.000000e+00], [4.000000e+00, 8.000000e+00, 3.000000e+00]]>",
        "dense<[[1.500000e+00, 2.500000e+00, 3.000000e+00, 4.000000e+00], "
        "[5.000000e-01, 6.000000e+00, 7.000000e+00, 8.000000e+00], "
        "[9.000000e+00, 1.500000e+00, 2.000000e+00, 3.000000e+00]]>"})
    EXPECT_NE(plan.find(std::string("plan.constant ") + constant),
              std::string::npos)
        << plan;
  auto paths = compileProgram(program);
  ASSERT_GE(paths.size(), 2u);
  Tensor x(reference::ElementKind::F32, {8, 4});
  for (int64_t i = 0; i < x.numElements(); ++i)
    x.set(i, (i * 7 % 11 - 5) / 4.0);
  Named expected = paths.front()->call("f", {{"x", x}});
  for (auto &path : paths)
    for (auto &[name, tensor] : path->call("f", {{"x", x}}))
      EXPECT_TRUE(areClose(tensor, expected.at(name), 0, 0))
          << name << ", " << path->name();
}

// A row kernel writes its rows over those that it reads, when each thread has
// read what others write: here the score of the label.
TEST(Rows, InPlace) {
  for (int64_t size : {5, 70, 2500}) {
    SCOPED_TRACE(size);
    std::string program = "dim R = 4, V = " + std::to_string(size) + R"(
export fn f(x: f32[R, 3], w: f32[3, V], u: f32[V, 2], y: i32[R]) -> (loss: f32[R], d: f32[R, 2]) {
  let z = x @ w
  let m = max(z, axis = 1)
  let e[i, j] = exp(z[i, j] - m[i])
  let s = sum(e, axis = 1)
  let loss[i] = log(s[i]) + m[i] - z[i, y[i]]
  let p[i, j] = e[i, j] / s[i]
  (loss, p @ u)
}
)";
    // On a GPU few rows are the work of the block that ends last, whose stages
    // write no buffer in place.
    for (std::string flags : {"--targets=cpu", "--targets=sm_80 -D R=4096"})
      EXPECT_NE(emitStage(program, "plan", flags)
                    .find("plan.in_place = array<i64: -1, 0>"),
                std::string::npos)
          << flags;
    auto paths = compileProgram(program);
    ASSERT_GE(paths.size(), 2u);
    auto fill = [](llvm::ArrayRef<int64_t> shape, int64_t step) {
      Tensor tensor(reference::ElementKind::F32, shape);
      for (int64_t i = 0; i < tensor.numElements(); ++i)
        tensor.set(i, (i * step % 23 - 11) / 8.0);
      return tensor;
    };
    Tensor y(reference::ElementKind::I32, {4});
    for (int64_t i = 0; i < 4; ++i)
      y.set(i, (i * size) / 4);
    Named inputs{{"x", fill({4, 3}, 7)},
                 {"w", fill({3, size}, 5)},
                 {"u", fill({size, 2}, 3)},
                 {"y", y}};
    Named expected = paths.front()->call("f", inputs);
    for (auto &path : paths)
      for (auto &[name, tensor] : path->call("f", inputs))
        EXPECT_TRUE(areClose(tensor, expected.at(name), 1e-5, 1e-5))
            << name << ", " << path->name();
  }
}
