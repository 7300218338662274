//===- ExamplesTest.cpp - twenty steps of each example -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The short form of the examples with real data: at small sizes and on random
// inputs the losses of the CPU code and of the PTX in the simulator are those
// of the evaluator. The full form is scripts/examples --full.
//
//===----------------------------------------------------------------------===//

#include "CompiledProgram.h"

#include <random>

using namespace tdsl;
using namespace tdsl::test;
using reference::ElementKind;

namespace {
struct Input {
  const char *name;
  ElementKind kind;
  std::vector<int64_t> shape;
  int bound; ///< of integers
};

struct Example {
  const char *name, *file, *flags;
  std::vector<Input> inputs;
  /// Steps of the PTX in the simulator, which takes longer.
  unsigned ptxSteps;
  /// Learning rate, where that of the example makes rounding errors grow
  /// tenfold each step at this size.
  float rate = 0;
};

void PrintTo(const Example &example, std::ostream *os) { *os << example.name; }

class Examples : public ::testing::TestWithParam<Example> {};
} // namespace

TEST_P(Examples, TwentySteps) {
  const Example &example = GetParam();
  CompileOptions options;
  options.flags = example.flags;
  options.ptx = true;
  auto paths = compileProgram(
      readSource(std::string("examples/") + example.file), options);
  ASSERT_GE(paths.size(), 2u);
  std::vector<Named> expected;
  for (auto &path : paths) {
    SCOPED_TRACE(path->name());
    std::mt19937 generator(3);
    std::normal_distribution<double> normal;
    const unsigned steps =
        path->name() == "PTX in the simulator" ? example.ptxSteps : 20;
    for (unsigned step = 0; step < steps; ++step) {
      Named batch;
      for (const Input &input : example.inputs) {
        Tensor tensor(input.kind, input.shape);
        for (int64_t i = 0; i < tensor.numElements(); ++i)
          if (reference::isFloat(input.kind))
            tensor.set(i, normal(generator));
          else
            tensor.set(i, static_cast<int64_t>(generator() % input.bound));
        batch.insert({input.name, tensor});
      }
      if (example.rate)
        batch.insert({"lr", Tensor::of(ElementKind::F32, {}, {example.rate})});
      Named results = path->call("train", batch);
      if (path == paths.front())
        expected.push_back(results);
      else
        for (auto &[name, tensor] : results)
          ASSERT_TRUE(areClose(tensor, expected[step].at(name), 1e-4, 1e-4))
              << name << " in step " << step;
    }
  }
}

static Input images(int64_t rows) {
  return {"x", ElementKind::U8, {rows, 28, 28}, 256};
}
static Input labels(int64_t rows) {
  return {"y", ElementKind::I32, {rows}, 10};
}

INSTANTIATE_TEST_SUITE_P(
    Short, Examples,
    ::testing::Values(
        Example{"LeNet",
                "04-lenet-fashion/lenet.tds",
                "-D B=4 -D C1=2 -D C2=3",
                {images(4), labels(4)},
                5},
        Example{"ResNet",
                "05-resnet/resnet.tds",
                "-D B=3 -D W=1",
                {images(3), labels(3)},
                2,
                1e-3f},
        Example{"CharGpt",
                "06-chargpt/chargpt.tds",
                "-D B=2 -D T=6 -D V=32 -D D=8 -D H=2 -D L=2",
                {{"ids", ElementKind::U8, {2, 7}, 32}},
                20},
        Example{
            "Vae", "07-vae/vae.tds", "-D B=4 -D H=8 -D Z=3", {images(4)}, 20},
        Example{"Lstm",
                "08-lstm/lstm.tds",
                "-D B=3 -D H=4",
                {images(3), labels(3)},
                5},
        Example{
            "Gan", "09-gan/gan.tds", "-D B=4 -D Z=3 -D H=8", {images(4)}, 20},
        Example{"Newton",
                "10-newton/newton.tds",
                "-D B=16",
                {{"x", ElementKind::F32, {16, 4}, 0},
                 {"y", ElementKind::F32, {16}, 0}},
                20},
        Example{"Gpt2",
                "11-gpt2/gpt2.tds",
                "-D B=2 -D T=6 -D V=33 -D D=8 -D H=2 -D L=2",
                {{"ids", ElementKind::I32, {2, 7}, 33}},
                5}),
    [](const auto &info) { return std::string(info.param.name); });
