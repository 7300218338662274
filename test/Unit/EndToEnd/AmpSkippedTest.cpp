//===- AmpSkippedTest.cpp - what a skipped step returns -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CompiledProgram.h"

#include <cmath>
#include <random>

using namespace tdsl;
using namespace tdsl::test;
using reference::ElementKind;

/// A step that reads every kind of variable behind its write: a param between
/// two writes, a layer of a loop, an average, a count, a state of a module, and
/// for a second loss. `seen` and `passed` are values of the batch, not of a
/// variable.
static const char kProgram[] = R"(
use nn, optim
dim B = 4
layer f[8] = nn.Linear(3, 3)
layer norm = nn.BatchNorm1d(3)
param w: f32[3] = 0.5
param v: f32[3] = 0.25
param table: f32[4, 3] = 0.125
state average: f32[3] = 0
state n: i32 = 3
state m: i32 = 0
step go(x: f32[B, 3], y: f32[B], k: i32[B], boost: f32 = 1) -> (
    loss: f32, w: f32[3], most: f32, n: i32, twice: f32[3], second: f32, between: f32, seen: i32,
    product: f32, layer3: f32[3, 3], running: f32[3], row: f32[3], passed: f32[3]) {
  let h = norm(x)
  for g in f { h = tanh(g(h)) }
  let each[i] = sum[j](table[k[i], j])
  let loss = mean((h @ w - y + each) ** 2) * boost
  minimize loss over w, f, table with optim.adam(lr = 0.1) as one
  let between = sum(w)
  w <- clamp(w, -1, 1)
  let passed = 0.5 * average + 0.5 * x[0, :]
  average <- passed + 0 * w
  let seen = n + 1
  n <- seen
  let second = mean((x @ (w * v) - y) ** 2)
  minimize second over v with optim.sgd(lr = 0.1) as two
  m <- m + n
  (loss, w, max(w), n, average * 2, second, between, seen,
   f32(m) * v[0], f[3].w, norm.run_mean, table[k[1]], passed)
}
)";

namespace {
struct Variables {
  Tensor w, v, average, n, m, running, table, layer3;
};
} // namespace

/// The evaluator has the variables of a loop over layers in one.
static bool hasLayers(Path &path, const std::string &flags) {
  return path.name() != "evaluator" ||
         flags.find("--roll-layers=0") != std::string::npos;
}

static Variables readAll(Path &path, const std::string &flags) {
  return {path.read("w"),
          path.read("v"),
          path.read("average"),
          path.read("n"),
          path.read("m"),
          path.read("norm.run_mean"),
          path.read("table"),
          hasLayers(path, flags) ? path.read("f.3.w") : Tensor()};
}

static bool isSame(const Tensor &a, const Tensor &b) {
  return bool(areClose(a, b, 0, 0));
}

// What a step returns of variables that it writes is what they are behind it,
// be it skipped or not.
static void check(const std::string &flags, double tolerance) {
  CompileOptions options;
  options.flags = flags;
  auto paths = compileProgram(kProgram, options);
  ASSERT_GE(paths.size(), 2u);
  for (auto &path : paths) {
    SCOPED_TRACE(path->name());
    std::mt19937 generator(1);
    std::normal_distribution<double> normal;
    Tensor x(ElementKind::F32, {4, 3}), y(ElementKind::F32, {4}),
        k(ElementKind::I32, {4});
    for (int64_t i = 0; i < 12; ++i)
      x.set(i, normal(generator));
    for (int64_t i = 0; i < 4; ++i)
      k.set(i, i);
    for (double boost : {1.0, 1e30, 1.0}) {
      Variables before = readAll(*path, flags);
      Named results = path->call(
          "go", {{"x", x},
                 {"y", y},
                 {"k", k},
                 {"boost", Tensor::of(ElementKind::F32, {}, {boost})}});
      Variables after = readAll(*path, flags);
      bool isSkipped = boost != 1;
      EXPECT_EQ(isSame(before.w, after.w), isSkipped);
      EXPECT_EQ(isSame(before.v, after.v), isSkipped);
      EXPECT_EQ(isSame(before.average, after.average), isSkipped);
      EXPECT_EQ(isSame(before.running, after.running), isSkipped);
      EXPECT_EQ(isSame(before.table, after.table), isSkipped);
      EXPECT_EQ(before.n.getInt(0) + !isSkipped, after.n.getInt(0));

      EXPECT_TRUE(isSame(results.at("w"), after.w));
      if (hasLayers(*path, flags)) {
        EXPECT_EQ(isSame(before.layer3, after.layer3), isSkipped);
        EXPECT_TRUE(isSame(results.at("layer3"), after.layer3));
      }
      EXPECT_TRUE(isSame(results.at("running"), after.running));
      EXPECT_EQ(results.at("n").getInt(0), after.n.getInt(0));
      double most = -INFINITY, sum = 0, squares = 0;
      for (int64_t i = 0; i < 3; ++i) {
        double w = after.w.getDouble(i);
        most = std::max(most, w);
        sum += w;
        EXPECT_EQ(results.at("twice").getDouble(i),
                  2 * after.average.getDouble(i));
        EXPECT_EQ(results.at("row").getDouble(i), after.table.getDouble(3 + i));
        EXPECT_TRUE(std::isfinite(results.at("passed").getDouble(i)));
      }
      EXPECT_EQ(results.at("most").getDouble(0), most);
      // No weight is as large as the bound.
      EXPECT_NEAR(results.at("between").getDouble(0), sum, 1e-5);
      EXPECT_NEAR(results.at("product").getDouble(0),
                  after.m.getInt(0) * after.v.getDouble(0), 1e-5);
      // The second loss has read what stands; y is 0.
      for (int64_t i = 0; i < 4; ++i) {
        double dot = 0;
        for (int64_t j = 0; j < 3; ++j)
          dot += x.getDouble(3 * i + j) * after.w.getDouble(j) *
                 before.v.getDouble(j);
        squares += dot * dot / 4;
      }
      EXPECT_NEAR(results.at("second").getDouble(0), squares,
                  tolerance * (1 + squares));
      // Of the batch.
      EXPECT_EQ(results.at("seen").getInt(0), before.n.getInt(0) + 1);
      EXPECT_NEAR(results.at("passed").getDouble(0),
                  0.5 * before.average.getDouble(0) + 0.5 * x.getDouble(0),
                  1e-5);
    }
    EXPECT_EQ(path->read("amp.go.skipped").getInt(0), 1);
  }
}

TEST(AmpSkipped, ResultsReadWhatStands) {
  check("--amp=f16 --roll-layers=8", 1e-2);
}

TEST(AmpSkipped, WithoutFusion) {
  check("--amp=f16 --roll-layers=8 --fusion=off", 1e-2);
}

TEST(AmpSkipped, WithoutLoops) {
  check("--amp=f16 --roll-layers=0 --unchecked", 1e-2);
}

// In parts, where what the update makes stands behind the loop.
TEST(AmpSkipped, InParts) {
  CompileOptions options;
  options.flags = "--amp=f16 --accum=2";
  auto paths = compileProgram(R"(
use optim
dim B = 4
param w: f32[3] = 0.5
state average: f32[3] = 0
state level: f32 = 0
step go(x: f32[B, 3], boost: f32 = 1) -> (w: f32[3], twice: f32[3], high: f32) {
  let loss = mean((x * w) ** 2) * boost
  minimize loss with optim.momentum(lr = 0.1)
  average <- 0.5 * average + 0.5 * w
  level <- level * 0.5 + mean(x)
  (w, average * 2, level * 4)
}
)",
                              options);
  ASSERT_GE(paths.size(), 2u);
  for (auto &path : paths) {
    SCOPED_TRACE(path->name());
    Tensor x(ElementKind::F32, {4, 3});
    for (int64_t i = 0; i < 12; ++i)
      x.set(i, 0.125 * double(i + 1));
    for (double boost : {1.0, 1e37, 1.0}) {
      Tensor before = path->read("w");
      Named results = path->call(
          "go",
          {{"x", x}, {"boost", Tensor::of(ElementKind::F32, {}, {boost})}});
      EXPECT_EQ(isSame(before, path->read("w")), boost != 1);
      EXPECT_TRUE(isSame(results.at("w"), path->read("w")));
      EXPECT_EQ(results.at("twice").getDouble(1),
                2 * path->read("average").getDouble(1));
      EXPECT_EQ(results.at("high").getDouble(0),
                4 * path->read("level").getDouble(0));
    }
  }
}
