//===- AmpRangeTest.cpp - what f16 cannot hold -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exponentials, squares, reciprocals and sums beyond the range of f16 in the
// forward pass, of which a program makes something small: stored between
// kernels, in loops and in checkpoints they are f32.
//
//===----------------------------------------------------------------------===//

#include "CompiledProgram.h"

#include <cmath>
#include <random>

using namespace tdsl;
using namespace tdsl::test;
using reference::ElementKind;

static std::vector<Named> train(Path &path, unsigned steps) {
  std::mt19937 generator(1);
  std::normal_distribution<double> normal;
  std::vector<Named> all;
  for (unsigned step = 0; step < steps; ++step) {
    Tensor x(ElementKind::F32, {4, 8}), y(ElementKind::F32, {4, 8});
    for (int64_t i = 0; i < 32; ++i) {
      x.set(i, normal(generator));
      y.set(i, normal(generator));
    }
    all.push_back(path.call("go", {{"x", x}, {"y", y}}));
  }
  return all;
}

/// The loss is that of f32 within what rounding makes of it, and a scale is
/// found with which steps are done.
static void check(const std::string &body) {
  std::string program = "use nn, optim\ndim B = 4, D = 8\n"
                        "param w: f32[D, D] = reshape(sin(f32(iota(64)) * 3), "
                        "[D, D])\n"
                        "layer f[8] = nn.Linear(D, D)\n" +
                        body;
  for (std::string flags : {"", " --fusion=off --accum=2"}) {
    CompileOptions exact;
    exact.flags = flags;
    exact.cpu = exact.ptx = false;
    auto reference = compileProgram(program, exact);
    ASSERT_EQ(reference.size(), 1u);
    double expected = train(*reference.front(), 1)[0].at("loss").getDouble(0);
    ASSERT_TRUE(std::isfinite(expected));
    CompileOptions options;
    options.flags = "--amp=f16" + flags;
    auto paths = compileProgram(program, options);
    ASSERT_GE(paths.size(), 2u);
    for (auto &path : paths) {
      SCOPED_TRACE(path->name() + flags);
      std::vector<Named> all = train(*path, 10);
      EXPECT_NEAR(all[0].at("loss").getDouble(0), expected,
                  0.02 * std::abs(expected));
      for (Named &step : all)
        EXPECT_TRUE(std::isfinite(step.at("loss").getDouble(0)));
      EXPECT_LT(all[9].at("amp_skipped").getInt(0), 8);
    }
  }
}

TEST(AmpRange, StoredBetweenKernels) {
  check(R"(
step go(x: f32[B, D], y: f32[B, D]) -> (loss: f32) {
  let s = 14 * tanh(x @ w)
  let e = exp(s)
  let a = e / sum(e, axis = 1, keep = true)
  let q = (x @ w * 500) ** 2
  let b = q / (1 + sum(q, axis = 0, keep = true))
  let p = pow(abs(x @ w) * 60 + 1, 3.0)
  let c = sqrt(p) / (1 + sqrt(sum(p, axis = 0, keep = true)))
  let loss = mean(((a + b + c) @ w - y) ** 2) + 0.01 * mean(log(sum(e, axis = 0)))
  minimize loss over w with optim.sgd(lr = 0.001)
  (loss)
}
)");
}

TEST(AmpRange, AttentionWithoutMaxima) {
  check(R"(
dim T = 4, C = 2
step go(x: f32[B, D], y: f32[B, D]) -> (loss: f32) {
  let h = reshape(x @ w, [B, T, C])
  let s[n, i, j] = sum[c](h[n, i, c] * h[n, j, c])
  let e = exp(13 * tanh(s))
  let a = e / sum(e, axis = 2, keep = true)
  let o[n, i, c] = sum[j](a[n, i, j] * h[n, j, c])
  let loss = mean((reshape(o, [B, D]) - y) ** 2)
  minimize loss over w with optim.sgd(lr = 0.001)
  (loss)
}
)");
}

TEST(AmpRange, CarriedAndCollected) {
  check(R"(
step go(x: f32[B, D], y: f32[B, D]) -> (loss: f32) {
  fold (above, below, h) = (x * 0, x * 0 + 1, x) for t in 0..5 {
    let e = exp(13 * tanh(h @ w))
    let k = tanh(h @ w)
    let next = above + e * k
    (next, below + e, next / (below + e))
  }
  let loss = mean((above / below - y) ** 2)
  minimize loss over w with optim.sgd(lr = 0.001)
  (loss)
}
)");
}

TEST(AmpRange, LayersInALoopAndCheckpoints) {
  for (const char *call : {"block(h, g(h))", "checkpoint(block(h, g(h)))"})
    check(std::string(R"(
fn block(h: f32[n, D], g: f32[n, D]) -> f32[n, D] {
  let e = exp(13 * tanh(g))
  h * 0.5 + e / sum(e, axis = 1, keep = true) + 0.01 * log(sum(e, axis = 0, keep = true))
}
step go(x: f32[B, D], y: f32[B, D]) -> (loss: f32) {
  let h = x
  for g in f { h = )") +
          call + R"( }
  let loss = mean((h @ w - y) ** 2)
  minimize loss over w, f with optim.sgd(lr = 0.001)
  (loss)
}
)");
}
