//===- AmpTest.cpp - mixed precision on every path -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CompiledProgram.h"

#include <cmath>
#include <limits>
#include <random>

using namespace tdsl;
using namespace tdsl::test;
using reference::ElementKind;

/// A perceptron whose loss can be made as large or as small as one likes.
static const char kPerceptron[] = R"(
use nn, optim
dim B = 4, I = 6, H = 8
param a: f32[I, H] = init.normal(std = 0.5)
param c: f32[H] = 0.1
param d: f32[H, 2] = init.normal(std = 0.5)
state seen: i64 = 0
fn scores(x: f32[n, I]) -> f32[n, 2] { tanh(x @ a + c) @ d }
export fn predict(x: f32[B, I]) -> f32[B, 2] { scores(x) }
step train(x: f32[B, I], boost: f32 = 1, lr: f32 = 0.01) -> (loss: f32) {
  let y = scores(x)
  let loss = mean(y * y) * boost
  minimize loss with optim.adamw(lr = lr)
  seen <- seen + 1
  (loss)
}
)";

static const std::vector<std::string> kVariables = {"a",
                                                    "c",
                                                    "d",
                                                    "seen",
                                                    "opt.train.0.t",
                                                    "opt.train.0.a.m",
                                                    "opt.train.0.a.v",
                                                    "opt.train.0.c.m",
                                                    "opt.train.0.d.v"};

static Tensor makeBatch(std::mt19937 &generator) {
  std::normal_distribution<double> normal;
  Tensor tensor(ElementKind::F32, {4, 6});
  for (int64_t i = 0; i < tensor.numElements(); ++i)
    tensor.set(i, normal(generator));
  return tensor;
}

static Tensor number(double value) {
  return Tensor::of(ElementKind::F32, {}, {value});
}

static std::map<std::string, Tensor> readAll(Path &path) {
  std::map<std::string, Tensor> values;
  for (const std::string &name : kVariables)
    values.insert({name, path.read(name)});
  return values;
}

static void expectSame(const std::map<std::string, Tensor> &actual,
                       const std::map<std::string, Tensor> &expected) {
  for (const auto &[name, value] : expected)
    EXPECT_TRUE(areClose(actual.at(name), value, 0, 0)) << name;
}

// Every path computes with the values that the evaluator computes with: what is
// rounded does not depend on how kernels are formed.
TEST(Amp, PathsAgree) {
  for (std::string flags :
       {"--amp=bf16", "--amp=f16", "--amp=f16 --fusion=off"}) {
    SCOPED_TRACE(flags);
    CompileOptions options;
    options.flags = flags;
    auto paths = compileProgram(kPerceptron, options);
    ASSERT_GE(paths.size(), 2u);
    std::vector<Named> expected;
    for (auto &path : paths) {
      SCOPED_TRACE(path->name());
      std::mt19937 generator(1);
      for (unsigned step = 0; step < 5; ++step) {
        Named batch{{"x", makeBatch(generator)}};
        Named results = path->call("train", batch);
        Named scores = path->call("predict", batch);
        results.insert(scores.begin(), scores.end());
        if (path == paths.front()) {
          expected.push_back(results);
          continue;
        }
        for (auto &[name, tensor] : results)
          EXPECT_TRUE(areClose(tensor, expected[step].at(name), 4e-3, 1e-3))
              << name << " in step " << step;
      }
    }
  }
}

// The results are those of f32 to the precision of the narrow type, but not the
// same: rounding takes place.
TEST(Amp, RoundsToTheNarrowType) {
  std::vector<Tensor> scores;
  for (std::string flags : {"", "--amp=bf16", "--amp=f16"}) {
    CompileOptions options;
    options.flags = flags;
    options.ptx = false;
    auto paths = compileProgram(kPerceptron, options);
    ASSERT_GE(paths.size(), 2u);
    std::mt19937 generator(1);
    scores.push_back(paths.back()
                         ->call("predict", {{"x", makeBatch(generator)}})
                         .at("result"));
  }
  EXPECT_TRUE(areClose(scores[1], scores[0], 2e-2, 1e-2));
  EXPECT_FALSE(areClose(scores[1], scores[0], 1e-4, 1e-4));
  EXPECT_TRUE(areClose(scores[2], scores[0], 2e-3, 1e-3));
  EXPECT_FALSE(areClose(scores[2], scores[0], 1e-6, 1e-6));
}

// An infinity among the gradients skips one step: nothing changes but the scale
// and the counts.
TEST(Amp, AnInfinitySkipsOneStep) {
  CompileOptions options;
  options.flags = "--amp=f16";
  auto paths = compileProgram(kPerceptron, options);
  ASSERT_GE(paths.size(), 2u);
  for (auto &path : paths) {
    SCOPED_TRACE(path->name());
    std::mt19937 generator(1);
    Tensor x = makeBatch(generator);
    Named first = path->call("train", {{"x", x}});
    EXPECT_EQ(first.at("amp_scale").getDouble(0), 65536);
    EXPECT_EQ(first.at("amp_skipped").getInt(0), 0);
    auto before = readAll(*path);
    // The loss is finite; its gradients leave the range of f16.
    Named second = path->call("train", {{"x", x}, {"boost", number(1e6)}});
    EXPECT_TRUE(std::isfinite(second.at("loss").getDouble(0)));
    EXPECT_EQ(second.at("amp_scale").getDouble(0), 32768);
    EXPECT_EQ(second.at("amp_skipped").getInt(0), 1);
    expectSame(readAll(*path), before);
    // An infinity that comes from outside.
    Tensor broken = x;
    broken.set(5, std::numeric_limits<double>::infinity());
    Named third = path->call("train", {{"x", broken}});
    EXPECT_EQ(third.at("amp_scale").getDouble(0), 16384);
    EXPECT_EQ(third.at("amp_skipped").getInt(0), 2);
    expectSame(readAll(*path), before);
    // Skipped steps did run: random numbers move on.
    EXPECT_EQ(path->read("tds.step").getInt(0), 3);
    Named fourth = path->call("train", {{"x", x}});
    EXPECT_EQ(fourth.at("amp_scale").getDouble(0), 16384);
    EXPECT_EQ(fourth.at("amp_skipped").getInt(0), 2);
    EXPECT_FALSE(areClose(path->read("a"), before.at("a"), 0, 0));
    EXPECT_EQ(path->read("seen").getInt(0), 2);
  }
}

// 2000 steps in a row without an overflow double the scale; its ends hold.
TEST(Amp, TheScaleGrows) {
  CompileOptions options;
  options.flags = "--amp=f16";
  auto paths = compileProgram(kPerceptron, options);
  ASSERT_GE(paths.size(), 2u);
  for (auto &path : paths) {
    SCOPED_TRACE(path->name());
    std::mt19937 generator(1);
    Named batch{{"x", makeBatch(generator)}};
    auto set = [&](double scale, int64_t good) {
      path->write("amp.train.scale", number(scale));
      Tensor count(ElementKind::I64, {});
      count.set(0, good);
      path->write("amp.train.good", count);
    };
    auto call = [&] { return path->call("train", batch).at("amp_scale"); };
    set(1024, 1998);
    EXPECT_EQ(call().getDouble(0), 1024);
    EXPECT_EQ(path->read("amp.train.good").getInt(0), 1999);
    EXPECT_EQ(call().getDouble(0), 2048);
    EXPECT_EQ(path->read("amp.train.good").getInt(0), 0);
    set(16777216, 1999);
    batch.insert({"boost", number(1e-4)});
    EXPECT_EQ(call().getDouble(0), 16777216);
    set(1, 5);
    batch.at("boost") = number(1e9);
    EXPECT_EQ(call().getDouble(0), 1);
    EXPECT_EQ(path->read("amp.train.good").getInt(0), 0);
  }
}

// Gradients too small for f16 train with the scale, and are lost without it.
TEST(Amp, SmallGradientsTrain) {
  CompileOptions options;
  options.flags = "--amp=f16";
  auto paths = compileProgram(kPerceptron, options);
  ASSERT_GE(paths.size(), 2u);
  for (auto &path : paths) {
    SCOPED_TRACE(path->name());
    for (bool scaled : {false, true}) {
      path->write("amp.train.scale", number(scaled ? 16777216 : 1));
      Tensor before = path->read("a");
      std::mt19937 generator(1);
      Tensor x = makeBatch(generator);
      Named inputs{{"x", x}, {"boost", number(1e-8)}};
      double first = path->call("train", inputs).at("loss").getDouble(0),
             last = 0;
      for (unsigned step = 0; step < 10; ++step)
        last = path->call("train", inputs).at("loss").getDouble(0);
      EXPECT_EQ(path->read("amp.train.skipped").getInt(0), 0);
      // Weight decay moves the weights by a ten-thousandth a step.
      EXPECT_EQ(bool(areClose(path->read("a"), before, 5e-3, 0)), !scaled);
      EXPECT_EQ(last < 0.8 * first, scaled) << first << " " << last;
    }
  }
}

// Convolutions, loops at run time and recomputation.
TEST(Amp, ConvolutionsAndLoops) {
  const char program[] = R"(
use nn, optim
dim B = 3, T = 5, D = 4, H = 6
layer conv = nn.Conv2d(1, 3, 3, padding = 1)
param u: f32[H, H] = init.normal(std = 0.3)
param w: f32[D, H] = init.normal(std = 0.3)
param o: f32[H, 2] = init.normal(std = 0.3)
step train(x: f32[B, T, D], image: f32[B, 1, 6, 6]) -> (loss: f32) {
  fold h = nn.relu(x[:, 0, :] @ w) for t in 0..T {
    tanh(x[:, t, :] @ w + h @ u)
  }
  let y = checkpoint(tanh(h @ o) @ transpose(o))
  let z = nn.max_pool2d(nn.relu(conv(image)), 2)
  let loss = mean(y * y) + mean(z * z)
  minimize loss with optim.sgd(lr = 0.1)
  (loss)
}
)";
  for (std::string flags : {"--amp=bf16", "--amp=f16"}) {
    SCOPED_TRACE(flags);
    CompileOptions options;
    options.flags = flags;
    auto paths = compileProgram(program, options);
    ASSERT_GE(paths.size(), 2u);
    std::vector<Named> expected;
    for (auto &path : paths) {
      SCOPED_TRACE(path->name());
      std::mt19937 generator(1);
      std::normal_distribution<double> normal;
      for (unsigned step = 0; step < 3; ++step) {
        Tensor x(ElementKind::F32, {3, 5, 4}),
            image(ElementKind::F32, {3, 1, 6, 6});
        for (Tensor *tensor : {&x, &image})
          for (int64_t i = 0; i < tensor->numElements(); ++i)
            tensor->set(i, normal(generator));
        Named results = path->call("train", {{"x", x}, {"image", image}});
        if (path == paths.front()) {
          expected.push_back(results);
          continue;
        }
        for (auto &[name, tensor] : results)
          EXPECT_TRUE(areClose(tensor, expected[step].at(name), 5e-3, 1e-3))
              << name << " in step " << step;
      }
      if (path != paths.front())
        for (std::string name : {"u", "w", "o", "conv.w", "conv.b"})
          EXPECT_TRUE(
              areClose(path->read(name), paths.front()->read(name), 1e-2, 2e-3))
              << name;
    }
  }
}

// Attention: with 80 keys the maximum grows from tile to tile, and what was
// rounded is scaled. The evaluator knows the last maximum from the start.
TEST(Amp, Attention) {
  const char program[] = R"(
use nn, optim
dim B = 1, T = 80, D = 8, H = 2
layer attn = nn.MultiHeadAttention(D, H, causal = true)
step train(x: f32[B, T, D]) -> (loss: f32) {
  let y = attn(x)
  let loss = mean(y * y)
  minimize loss with optim.sgd(lr = 0.05)
  (loss)
}
)";
  for (std::string flags : {"--amp=bf16", "--amp=f16"}) {
    SCOPED_TRACE(flags);
    CompileOptions options;
    options.flags = flags;
    auto paths = compileProgram(program, options);
    ASSERT_GE(paths.size(), 2u);
    std::vector<Named> expected;
    for (auto &path : paths) {
      SCOPED_TRACE(path->name());
      std::mt19937 generator(1);
      std::normal_distribution<double> normal(0, 1);
      for (unsigned step = 0; step < 2; ++step) {
        Tensor x(ElementKind::F32, {1, 80, 8});
        for (int64_t i = 0; i < x.numElements(); ++i)
          x.set(i, normal(generator) * (1 + i / 300));
        Named results = path->call("train", {{"x", x}});
        if (path == paths.front()) {
          expected.push_back(results);
          continue;
        }
        for (auto &[name, tensor] : results)
          EXPECT_TRUE(areClose(tensor, expected[step].at(name), 5e-3, 1e-4))
              << name << " in step " << step;
      }
      if (path != paths.front())
        for (std::string name : {"attn.qkv.w", "attn.out.w"})
          EXPECT_TRUE(
              areClose(path->read(name), paths.front()->read(name), 1e-2, 2e-3))
              << name;
    }
  }
}

// The weights are rounded before they are multiplied: the operands here are
// numbers of 16 bits, and where the first tile holds all keys every path rounds
// the same weights.
TEST(Amp, WeightsOfAttentionAreRounded) {
  const char program[] = R"(
use nn
export fn look(q: f32[1, 1, 6, 4]) -> f32[1, 1, 6, 4] { nn.attention(q, q, q, true) }
)";
  Tensor q(ElementKind::F32, {1, 1, 6, 4});
  for (int64_t i = 0; i < q.numElements(); ++i)
    q.set(i, (i * 7 % 11 - 5) / 4.0);
  std::vector<Tensor> results;
  for (std::string flags : {"", "--amp=bf16", "--amp=f16"}) {
    SCOPED_TRACE(flags);
    CompileOptions options;
    options.flags = flags;
    auto paths = compileProgram(program, options);
    ASSERT_GE(paths.size(), 2u);
    for (auto &path : paths) {
      SCOPED_TRACE(path->name());
      Tensor result = path->call("look", {{"q", q}}).at("result");
      if (path == paths.front())
        results.push_back(result);
      EXPECT_TRUE(areClose(result, results.back(), 2e-6, 1e-6));
    }
  }
  EXPECT_TRUE(areClose(results[1], results[0], 8e-3, 4e-3));
  EXPECT_FALSE(areClose(results[1], results[0], 1e-4, 1e-4));
  EXPECT_TRUE(areClose(results[2], results[0], 1e-3, 5e-4));
  EXPECT_FALSE(areClose(results[2], results[0], 1e-5, 1e-5));
}

// An overflow that the scale takes care of is no fault of the program; a NaN of
// the forward pass, or one at the smallest scale, is.
TEST(Amp, CheckedNumerics) {
  CompileOptions options;
  options.flags = "--amp=f16 --check-numerics";
  std::mt19937 generator(1);
  Tensor x = makeBatch(generator), broken = x;
  broken.set(5, std::numeric_limits<double>::infinity());
  for (bool atTheEnd : {false, true}) {
    auto paths = compileProgram(kPerceptron, options);
    ASSERT_GE(paths.size(), 2u);
    for (auto &path : paths) {
      if (path == paths.front())
        continue; // the evaluator reports no flags
      SCOPED_TRACE(path->name());
      path->call("train", {{"x", x}});
      auto before = readAll(*path);
      Named skipped = path->call("train", {{"x", x}, {"boost", number(1e6)}});
      EXPECT_EQ(skipped.at("amp_skipped").getInt(0), 1);
      expectSame(readAll(*path), before);
      std::string text, expected;
      if (atTheEnd) {
        path->write("amp.train.scale", number(1));
        text = path->callToFail("train", {{"x", x}, {"boost", number(1e12)}});
        expected = "in the backward pass";
      } else {
        text = path->callToFail("train", {{"x", broken}});
        expected = "input 'x' holds a NaN or an infinity";
      }
      EXPECT_NE(text.find(expected), std::string::npos) << text;
      EXPECT_EQ(path->read("amp.train.skipped").getInt(0), 1);
      expectSame(readAll(*path), before);
    }
  }
}
