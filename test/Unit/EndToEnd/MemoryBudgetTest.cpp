//===- MemoryBudgetTest.cpp - training within a budget -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CompiledProgram.h"

#include <random>
#include <regex>

using namespace tdsl;
using namespace tdsl::test;
using reference::ElementKind;

static const char kTransformer[] = "examples/06-chargpt/chargpt.tds";
static const char kSizes[] = "-D B=4 -D T=16 -D V=32 -D D=16 -D H=2 -D L=2";

/// Bytes of the arena of a step, and what lives in it at once.
static std::pair<int64_t, int64_t> getArena(const std::string &text,
                                            const std::string &flags) {
  std::string plan = emitStage(text, "plan", flags);
  std::smatch found;
  std::regex expression("plan.entry @train \"step\" arena (\\d+) [^\\n]*"
                        " live = (\\d+)");
  if (!std::regex_search(plan, found, expression)) {
    ADD_FAILURE() << "no arena in the plan";
    return {0, 0};
  }
  return {std::stoll(found[1]), std::stoll(found[2])};
}

static std::vector<double> train(Path &path, unsigned steps) {
  std::mt19937 generator(3);
  std::vector<double> losses;
  for (unsigned step = 0; step < steps; ++step) {
    Tensor ids(ElementKind::U8, {4, 17});
    for (int64_t i = 0; i < ids.numElements(); ++i)
      ids.set(i, static_cast<int64_t>(generator() % 32));
    losses.push_back(
        path.call("train", {{"ids", ids}}).at("loss").getDouble(0));
  }
  return losses;
}

// The arena keeps the budget, and what is computed again has the values of the
// first time: the losses are those without a budget.
TEST(MemoryBudget, TheTransformerTrainsInLess) {
  std::string text = readSource(kTransformer);
  std::string sizes = kSizes;
  int64_t live = getArena(text, sizes).second;
  EXPECT_LE(getArena(text, sizes + " --memory-budget=60%").first, 0.6 * live);
  CompileOptions whole, less;
  whole.flags = sizes;
  less.flags = sizes + " --memory-budget=60%";
  auto first = compileProgram(text, whole), second = compileProgram(text, less);
  ASSERT_EQ(first.size(), second.size());
  for (size_t i = 0; i < first.size(); ++i) {
    SCOPED_TRACE(first[i]->name());
    unsigned steps = first[i]->name() == "PTX in the simulator" ? 2 : 8;
    std::vector<double> expected = train(*first[i], steps),
                        actual = train(*second[i], steps);
    for (unsigned step = 0; step < steps; ++step)
      EXPECT_NEAR(actual[step], expected[step], 2e-5 * expected[step]) << step;
  }
}

// Equal layers of one width keep nothing but what they carry. As a loop, which
// becomes a loop of loops, and one after the other they train as ever, with the
// random numbers of each layer.
TEST(MemoryBudget, LayersOfOneWidth) {
  std::string text = R"(
use nn, optim
dim B = 256
layer fs[12] = nn.Linear(8, 8)
step train(x: f32[B, 8]) -> (loss: f32) {
  let h = x
  for f in fs { h = nn.dropout(tanh(f(h)), 0.1) }
  let loss = mean((h - 0.5) * (h - 0.5))
  minimize loss with optim.sgd(lr = 0.5)
  (loss)
}
)";
  for (std::string layers : {"--roll-layers=8", "--roll-layers=0"}) {
    SCOPED_TRACE(layers);
    int64_t live = getArena(text, layers).second;
    CompileOptions whole, less;
    whole.flags = layers;
    less.flags = layers + " --memory-budget=70%";
    EXPECT_LE(getArena(text, less.flags).first, 0.7 * live);
    auto first = compileProgram(text, whole),
         second = compileProgram(text, less);
    ASSERT_EQ(first.size(), second.size());
    Tensor x(ElementKind::F32, {256, 8});
    std::mt19937 generator(5);
    std::normal_distribution<double> normal;
    for (int64_t i = 0; i < x.numElements(); ++i)
      x.set(i, normal(generator));
    for (size_t i = 0; i < first.size(); ++i) {
      SCOPED_TRACE(first[i]->name());
      for (unsigned step = 0; step < 2; ++step) {
        double expected =
            first[i]->call("train", {{"x", x}}).at("loss").getDouble(0);
        EXPECT_NEAR(
            second[i]->call("train", {{"x", x}}).at("loss").getDouble(0),
            expected, 1e-5 * expected)
            << step;
      }
    }
  }
}

// A budget that is kept already changes nothing.
TEST(MemoryBudget, KeptAlready) {
  std::string text = readSource(kTransformer), sizes = kSizes;
  EXPECT_EQ(getArena(text, sizes + " --memory-budget=1GiB"),
            getArena(text, sizes));
}

// Convolutions, loops over parts of the batch, and mixed precision.
TEST(MemoryBudget, WithOtherOptions) {
  std::string text = readSource("examples/05-resnet/resnet.tds");
  int64_t live = getArena(text, "-D B=8").second;
  EXPECT_LE(getArena(text, "-D B=8 --memory-budget=70%").first, 0.7 * live);
  text = readSource(kTransformer);
  for (std::string flags : {"--accum=2", "--amp=f16"}) {
    flags = std::string(kSizes) + " " + flags;
    live = getArena(text, flags).second;
    EXPECT_LE(getArena(text, flags + " --memory-budget=75%").first, 0.75 * live)
        << flags;
  }
}

// Where the budget cannot be kept, the least figure is named.
TEST(MemoryBudget, Refusals) {
  auto messageOf = [](const std::string &flags) {
    auto [code, text] =
        runTdslc(TDSL_SOURCE_DIR "/" + std::string(kTransformer) + " " +
                 kSizes + " --emit=plan -o /dev/null " + flags);
    EXPECT_EQ(code, 1) << text;
    return text;
  };
  std::string text = messageOf("--memory-budget=1%");
  std::smatch found;
  ASSERT_TRUE(std::regex_search(
      text, found,
      std::regex("--memory-budget=1% cannot be kept: the arena of 'train' for "
                 "x86-64-v3 needs at least ([0-9.]+) %")))
      << text;
  double least = std::stod(found[1]);
  EXPECT_GT(least, 1);
  EXPECT_LT(least, 60);
  text = messageOf("--memory-budget=1KiB");
  ASSERT_TRUE(std::regex_search(
      text, found,
      std::regex("the entry '\\w+' for x86-64-v3 needs at least (\\d+) bytes")))
      << text;
  // The least is reachable.
  std::string bytes = found[1];
  EXPECT_EQ(runTdslc(TDSL_SOURCE_DIR "/" + std::string(kTransformer) + " " +
                     kSizes +
                     " --emit=plan -o /dev/null --memory-budget=" + bytes)
                .first,
            0);
}
