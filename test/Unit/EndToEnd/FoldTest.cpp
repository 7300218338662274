//===- FoldTest.cpp - loops at run time and their unrolled twins -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A `fold` gives on every path what the same loop gives as a `for`, which is
// unrolled: values, gradients and second derivatives.
//
//===----------------------------------------------------------------------===//

#include "CompiledProgram.h"

#include <random>

using namespace tdsl;
using namespace tdsl::test;
using reference::ElementKind;

static Tensor randomFloats(llvm::ArrayRef<int64_t> shape,
                           std::mt19937 &generator) {
  std::normal_distribution<double> normal;
  Tensor tensor(ElementKind::F32, shape);
  for (int64_t i = 0; i < tensor.numElements(); ++i)
    tensor.set(i, normal(generator));
  return tensor;
}

/// Calls both entries on every path; all results agree with those of `twin` by
/// the evaluator.
static void checkTwins(std::vector<std::unique_ptr<Path>> &paths,
                       const std::string &entry, const std::string &twin,
                       const Named &inputs, double relative, double absolute) {
  ASSERT_GE(paths.size(), 2u);
  Named expected = paths.front()->call(twin, inputs);
  ASSERT_FALSE(expected.empty());
  for (auto &path : paths)
    for (const std::string &name : {entry, twin}) {
      SCOPED_TRACE(path->name() + " " + name);
      Named results = path->call(name, inputs);
      EXPECT_EQ(results.size(), expected.size());
      for (auto &[result, tensor] : results)
        EXPECT_TRUE(areClose(tensor, expected[result], relative, absolute))
            << result;
    }
}

TEST(Fold, LstmIsItsUnrolledTwin) {
  auto paths = compileProgram(readSource("test/Unit/EndToEnd/Inputs/lstm.tds"));
  std::mt19937 generator(1);
  Named inputs{{"x", randomFloats({2, 24, 3}, generator)},
               {"h0", randomFloats({2, 4}, generator)}};
  checkTwins(paths, "by_fold", "by_for", inputs, 2e-4, 2e-4);
}

/// The inputs of the entries of folds.tds, by the name without the twin.
static Named inputsOf(const std::string &name, int64_t t, int64_t s, int64_t n,
                      std::mt19937 &generator) {
  if (name == "mixed") {
    Tensor k(ElementKind::I32, {t});
    for (int64_t i = 0; i < t; ++i)
      k.set(i, static_cast<int64_t>(generator() % 5));
    return {{"x", randomFloats({t, n}, generator)},
            {"y", randomFloats({n, t}, generator)},
            {"k", k}};
  }
  if (name == "nested")
    return {{"x", randomFloats({t, s, n}, generator)}};
  if (name == "inner")
    return {{"x", randomFloats({t, s, n}, generator)},
            {"w", randomFloats({n}, generator)}};
  return {{"x", randomFloats({t, n}, generator)},
          {"w", randomFloats({n, n}, generator)}};
}

static const char *const kTwins[] = {"mixed", "nested", "second",
                                     "inner", "check",  "collect"};

static void checkAll(const std::string &flags, int64_t t, int64_t s,
                     int64_t n) {
  CompileOptions options;
  options.flags = flags;
  auto paths = compileProgram(readSource("test/Unit/EndToEnd/Inputs/folds.tds"),
                              options);
  std::mt19937 generator(7);
  for (const char *name : kTwins) {
    std::string twin = name;
    checkTwins(paths, twin + "_fold", twin + "_for",
               inputsOf(twin, t, s, n, generator), 1e-3, 1e-4);
  }
}

// Slices of 12 bytes are no place for a kernel's buffer; those of 16 are.
TEST(Fold, TwinsWithSlicesThatAreCopied) { checkAll("", 5, 3, 3); }
TEST(Fold, TwinsWithSlicesInPlace) { checkAll("-D N=4 -D S=2", 5, 2, 4); }
TEST(Fold, TwinsUnfused) { checkAll("--fusion=off -D T=3", 3, 3, 3); }
