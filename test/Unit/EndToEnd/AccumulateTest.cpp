//===- AccumulateTest.cpp - gradients of micro-batches on every path -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CompiledProgram.h"

#include <cmath>
#include <cstdio>
#include <random>

using namespace tdsl;
using namespace tdsl::test;
using reference::ElementKind;

/// Dropout, gradients clipped by their norm, a convolution, a result of each
/// row, a counter, and a schedule: none of it may see the parts of the batch.
static const char kProgram[] = R"(
use nn, optim
dim B = 10, I = 6, H = 8
layer fc1 = nn.Linear(I, H)
layer conv = nn.Conv2d(1, 2, 3, padding = 1)
layer fc2 = nn.Linear(H, 3)
state it: i64 = 0
fn scores(x: f32[n, I]) -> f32[n, 3] {
  let h = nn.dropout(nn.gelu(fc1(x)), 0.3)
  let c = sum(nn.relu(conv(reshape(h, [n, 1, 2, 4]))), axis = [1])
  fc2(h + reshape(c, [n, H]))
}
step train(x: f32[B, I], y: i32[B], lr: f32 = 0.05) -> (loss: f32, norm: f32, each: f32[B], best: i32[B], rate: f32) {
  let s = scores(x)
  let each = nn.cross_entropy(s, y)
  let loss = mean(each)
  let (g, norm) = optim.clip_by_norm(grad(loss, fc1), 0.5)
  apply g to fc1 with optim.adamw(lr = lr)
  minimize loss over conv, fc2 with optim.momentum(lr = optim.cosine(it, peak = lr, warmup = 2, total = 9))
  it <- it + 1
  (loss, norm, each, argmax(s, axis = 1), lr * 2)
}
)";

static const std::vector<std::string> kVariables = {
    "fc1.w", "fc1.b",   "conv.w", "conv.b", "fc2.w", "opt.train.0.fc1.w.v",
    "it",    "tds.step"};

static Named makeBatch(std::mt19937 &generator, int64_t rows = 10) {
  std::normal_distribution<double> normal;
  Tensor x(ElementKind::F32, {rows, 6}), y(ElementKind::I32, {rows});
  for (int64_t i = 0; i < x.numElements(); ++i)
    x.set(i, normal(generator));
  for (int64_t i = 0; i < rows; ++i)
    y.set(i, static_cast<int64_t>(generator() % 3));
  return {{"x", x}, {"y", y}};
}

/// Trains three steps; what came out, and the variables.
static std::vector<Named> train(Path &path, int64_t rows = 10) {
  std::mt19937 generator(1);
  std::vector<Named> all;
  for (unsigned step = 0; step < 3; ++step)
    all.push_back(path.call("train", makeBatch(generator, rows)));
  Named variables;
  for (const std::string &name : kVariables)
    variables.insert({name, path.read(name)});
  all.push_back(variables);
  return all;
}

static void expectClose(const std::vector<Named> &actual,
                        const std::vector<Named> &expected, double relative,
                        double absolute) {
  ASSERT_EQ(actual.size(), expected.size());
  for (unsigned i = 0; i < actual.size(); ++i)
    for (const auto &[name, tensor] : actual[i])
      if (name != "tds.flags") // the evaluator's alone
        EXPECT_TRUE(areClose(tensor, expected[i].at(name), relative, absolute))
            << name << " in step " << i;
}

/// What `run` gives is the same in parts, on every path, as the evaluator's
/// for the whole batch.
static void expectWhole(const char *program,
                        llvm::ArrayRef<const char *> partings,
                        llvm::function_ref<std::vector<Named>(Path &)> run,
                        const std::string &always = "") {
  CompileOptions whole;
  whole.flags = always;
  whole.ptx = whole.cpu = false;
  auto reference = compileProgram(program, whole);
  ASSERT_EQ(reference.size(), 1u);
  std::vector<Named> expected = run(*reference.front());
  for (const char *flags : partings) {
    SCOPED_TRACE(flags);
    CompileOptions options;
    options.flags = always + " " + flags;
    auto paths = compileProgram(program, options);
    ASSERT_GE(paths.size(), 2u);
    for (auto &path : paths) {
      SCOPED_TRACE(path->name());
      expectClose(run(*path), expected, 1e-4, 1e-5);
    }
  }
}

// The step in parts is the step, with parts of one size and with a smaller one
// at the end, down to single rows.
TEST(Accumulate, EqualsTheWholeStep) {
  expectWhole(kProgram, {"--accum=2", "--accum=4", "--accum=10 --fusion=off"},
              [](Path &path) { return train(path); });
}

// A row draws its own numbers wherever it draws: in loops over layers, in
// checkpoints of several results and shapes, along another axis.
TEST(Accumulate, RowsDrawTheirOwnNumbers) {
  const char program[] = R"(
use nn, optim
dim B = 10, I = 6
layer f[8] = nn.Linear(I, I)
layer out = nn.Linear(I, 3)
fn two(x: f32[n, I]) -> (f32[n, I], f32[n, 2, I]) {
  let d = nn.dropout(x, 0.5)
  (d, stack([nn.dropout(d, 0.2), d], axis = 1))
}
fn across(x: f32[n, I]) -> f32[n, I] {
  let r = random.uniform([2, n, I])
  x * r[0, :, :] + r[1, :, :]
}
fn net(x: f32[n, I]) -> f32[n, I] {
  let h = x
  for g in f { h = nn.dropout(nn.gelu(g(h)), 0.4) }
  let (a, b) = checkpoint(two(h + across(h) * 0.5))
  a + b[:, 0, :] * 0.5 - b[:, 1, :]
}
step train(x: f32[B, I], y: i32[B]) -> (loss: f32, each: f32[B]) {
  let each = nn.cross_entropy(out(net(x)), y)
  let loss = mean(each)
  minimize loss with optim.sgd(lr = 0.1)
  (loss, each)
}
)";
  auto run = [](Path &path) {
    std::mt19937 generator(1);
    std::vector<Named> all;
    for (unsigned step = 0; step < 3; ++step)
      all.push_back(path.call("train", makeBatch(generator)));
    return all;
  };
  expectWhole(program, {"--accum=2", "--accum=4"}, run, "--roll-layers=8");
}

// The commands of a step do not depend on the number of parts.
TEST(Accumulate, KernelsDoNotGrow) {
  auto count = [](const std::string &flags) {
    std::string plan = emitStage(kProgram, "plan", "-D B=64 " + flags);
    unsigned launches = 0;
    for (size_t at = 0;
         (at = plan.find("plan.launch", at)) != std::string::npos; ++at)
      ++launches;
    return launches;
  };
  unsigned few = count("--accum=2");
  EXPECT_GT(few, 0u);
  EXPECT_EQ(count("--accum=4"), few);
  EXPECT_EQ(count("--accum=32"), few);
}

static std::string messageOf(const std::string &program,
                             const std::string &flags) {
  std::string path = ::testing::TempDir() + "/accumulate.tds";
  FILE *file = fopen(path.c_str(), "w");
  fputs(program.c_str(), file);
  fclose(file);
  auto [code, text] = runTdslc(path + " --emit=plan -o /dev/null " + flags);
  EXPECT_EQ(code, 1) << text;
  return text;
}

// Statistics of a batch are those of a micro-batch, and the running ones are
// written by each in turn; what reads them afterwards reads what stands.
TEST(Accumulate, StatesAreWrittenInTurn) {
  const char program[] = R"(
dim B = 6
param w: f32[3] = 1
state average: f32[3] = 0
state copy: f32[3] = 0
state rows: f32 = 0
state seen: i32 = 0
step train(x: f32[B, 3]) -> (loss: f32, after: f32[3], twice: f32, n: i32) {
  let loss = mean(x * w)
  average <- average * 0.5 + mean(x, axis = 0) * 0.5
  copy <- average
  rows <- rows + sum(x[:, 0] * 0 + 1)
  seen <- seen + sum(i32(x[:, 0] * 0 + 1))
  let g = grad(loss, w)
  w <- w - g
  (loss, average, 2 * sum(average), seen * 10)
}
)";
  for (std::string flags : {"", " --amp=f16", " --checked"}) {
    CompileOptions options;
    options.flags = "--accum=3" + flags;
    auto paths = compileProgram(program, options);
    ASSERT_GE(paths.size(), 2u);
    for (auto &path : paths) {
      SCOPED_TRACE(path->name() + flags);
      Tensor x(ElementKind::F32, {6, 3});
      for (int64_t i = 0; i < 18; ++i)
        x.set(i, double(i / 3));
      Named results = path->call("train", {{"x", x}});
      EXPECT_FLOAT_EQ(results.at("loss").getDouble(0), 2.5);
      // Means of the micro-batches: 0.5, 2.5, 4.5.
      double average = ((0.5 * 0.5 + 2.5) * 0.5 + 4.5) * 0.5;
      EXPECT_FLOAT_EQ(path->read("average").getDouble(1), average);
      EXPECT_FLOAT_EQ(path->read("copy").getDouble(2), average);
      EXPECT_FLOAT_EQ(results.at("after").getDouble(1), average);
      EXPECT_FLOAT_EQ(results.at("twice").getDouble(0), 6 * average);
      EXPECT_EQ(path->read("rows").getDouble(0), 6);
      EXPECT_EQ(path->read("seen").getInt(0), 6);
      EXPECT_EQ(results.at("n").getInt(0), 60);
      EXPECT_FLOAT_EQ(path->read("w").getDouble(2), 1 - 2.5 / 3);
    }
  }
}

// A gradient of each row is that of the whole batch, be the loss a mean or a
// sum, where it is a result, where a penalty is made of it, and where it is
// scaled.
TEST(Accumulate, GradientsOfRows) {
  const char program[] = R"(
dim B = 7
param w: f32[3] = 0.5
step train(x: f32[B, 3]) -> (loss: f32, ofMean: f32[B, 3], ofSum: f32[B, 3]) {
  let y = tanh(x * w)
  let loss = mean(y ** 2) * 2 + sum(w * w)
  let ofMean = grad(loss, x)
  let ofSum = grad(sum(y ** 2), x)
  let penalty = mean((sum(ofSum * ofSum, axis = 1) - 1) ** 2)
  let g = grad(loss + 0.1 * penalty, w)
  w <- w - 0.1 * g
  (loss, ofMean, ofSum)
}
)";
  auto run = [](Path &path) {
    std::mt19937 generator(3);
    std::normal_distribution<double> normal;
    std::vector<Named> all;
    for (unsigned step = 0; step < 2; ++step) {
      Tensor x(ElementKind::F32, {7, 3});
      for (int64_t i = 0; i < 21; ++i)
        x.set(i, normal(generator));
      all.push_back(path.call("train", {{"x", x}}));
      all.back().erase("amp_scale");
      all.back().erase("amp_skipped");
    }
    all.push_back({{"w", path.read("w")}});
    return all;
  };
  expectWhole(program, {"--accum=3", "--accum=7 --amp=f16"}, run);
  EXPECT_NE(messageOf(R"(
dim B = 4
param w: f32[3] = 0.5
step train(x: f32[B, 3]) -> (g: f32[B, 3]) {
  let loss = mean(x * w) + sum(x * x * w)
  let g = grad(loss, w)
  w <- w - g
  (grad(loss, x))
}
)",
                      "--accum=2")
                .find("a loss that joins sums and means over the rows"),
            std::string::npos);
}

// Together with loss scaling, an infinity of one micro-batch skips the step.
TEST(Accumulate, WithMixedPrecision) {
  for (std::string type : {"bf16", "f16"}) {
    CompileOptions options;
    options.flags = "--amp=" + type + " --accum=3";
    auto paths = compileProgram(kProgram, options);
    ASSERT_GE(paths.size(), 2u);
    std::vector<Named> expected;
    for (auto &path : paths) {
      SCOPED_TRACE(type + ", " + path->name());
      std::vector<Named> actual = train(*path);
      if (path == paths.front()) {
        expected = actual;
        continue;
      }
      for (auto *all : {&actual, &expected})
        for (Named &named : *all)
          named.erase("best"); // nearly equal scores
      expectClose(actual, expected, 2e-2, 5e-3);
      if (type != "f16")
        continue;
      std::mt19937 generator(5);
      Named batch = makeBatch(generator);
      batch.at("x").set(50, INFINITY);
      Tensor before = path->read("fc1.w");
      int64_t skipped = path->read("amp.train.skipped").getInt(0);
      EXPECT_EQ(path->call("train", batch).at("amp_skipped").getInt(0),
                skipped + 1);
      EXPECT_TRUE(areClose(path->read("fc1.w"), before, 0, 0));
    }
  }
}

// Checks at run time hold for every micro-batch, and name the place.
TEST(Accumulate, ChecksOfAllParts) {
  const char program[] = R"(
use nn, optim
dim B = 5
param w: f32[4, 3] = 0.1
step train(x: f32[B, 4], y: i32[B]) -> (loss: f32) {
  assert x > 0, "positive"
  let loss = mean(nn.cross_entropy(x @ w, y))
  minimize loss with optim.sgd(lr = 0.1)
  (loss)
}
)";
  for (bool badLabel : {false, true}) {
    CompileOptions options;
    options.flags = "--accum=2 --checked";
    auto paths = compileProgram(program, options);
    ASSERT_GE(paths.size(), 2u);
    Tensor x(ElementKind::F32, {5, 4}), y(ElementKind::I32, {5});
    for (int64_t i = 0; i < 20; ++i)
      x.set(i, 1.0);
    for (auto &path : paths) {
      SCOPED_TRACE(path->name());
      path->call("train", {{"x", x}, {"y", y}});
      Tensor before = path->read("w");
      for (int64_t row : {1, 4}) {
        if (path == paths.front() || row == 4) {
          Tensor broken = x, wrong = y;
          if (badLabel)
            wrong.set(row, int64_t(3));
          else
            broken.set(4 * row, -1.0);
          std::string text =
              path->callToFail("train", {{"x", broken}, {"y", wrong}});
          EXPECT_TRUE(areClose(path->read("w"), before, 0, 0));
          if (path != paths.front())
            EXPECT_NE(text.find(badLabel ? "a gather reads out of range"
                                         : "positive"),
                      std::string::npos)
                << text;
        }
      }
    }
  }
}

// What cannot be split is said at its place.
TEST(Accumulate, Refusals) {
  const std::string head = R"(
dim B = 4
param w: f32[3] = 1
param v: f32[3] = 1
state last: f32[B] = 0
step train(x: f32[B, 3]) -> (loss: f32)";
  struct Case {
    const char *rest, *message;
  };
  const Case cases[] = {
      {") {\n  let loss = mean(x * w)\n  let g = grad(loss, w)\n  w <- w - g\n"
       "  (loss)\n}\n",
       "--accum=5 asks for more parts than the batch has rows, which are 4"},
      {") {\n  (mean(x * w))\n}\n",
       "no step of the program takes a gradient, so --accum has nothing to "
       "split"},
      {", n: i32) {\n  let loss = mean(x * w)\n  let g = grad(loss, w)\n"
       "  w <- w - g\n  (loss, sum(i32(x[:, 0] > 0)))\n}\n",
       "this value of the whole batch is no float"},
      {") {\n  let loss = mean(x * w)\n  let g = grad(loss, w)\n  w <- w - g\n"
       "  let second = mean(x * w * v)\n  let h = grad(second, v)\n"
       "  v <- v - h\n  (loss)\n}\n",
       "this loss reads what the step makes of an earlier gradient"},
      // Also where the variable is written once more.
      {") {\n  let loss = mean(x * w)\n  let g = grad(loss, w)\n  w <- w - g\n"
       "  let second = mean(x * w * v)\n  let h = grad(second, v)\n"
       "  let t = w\n  w <- v\n  v <- t - h\n  (loss)\n}\n",
       "this loss reads what the step makes of an earlier gradient"},
      {") {\n  let loss = mean(x * w)\n  let g = grad(loss, w)\n"
       "  w <- w - g * max(x[:, 0])\n  last <- x[:, 1]\n  (loss)\n}\n",
       "the shape of 'last' depends on the size of the batch"},
  };
  for (const Case &wrong : cases) {
    std::string text =
        messageOf(head + wrong.rest,
                  std::string(wrong.message).find("=5") != std::string::npos
                      ? "--accum=5"
                      : "--accum=2");
    EXPECT_NE(text.find(wrong.message), std::string::npos) << text;
  }
  EXPECT_EQ(runTdslc("/dev/null --emit=plan --accum=0").first, 2);
}
