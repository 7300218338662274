//===- FusionValuesTest.cpp - fusion keeps values -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs with float reductions run in f64, where only what has been folded is
// as coarse as f32. Random entries through the fusion pipeline, on and off,
// against the evaluator on the program as it was. With TDSL_TEST_PROGRAMS=n in
// the environment n programs are run instead of the quick number.
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"
#include "Support.h"

#include "tdsl/Fusion/KernelRules.h"

#include <cstdlib>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::test;

static unsigned getNumPrograms() {
  const char *text = std::getenv("TDSL_TEST_PROGRAMS");
  return text ? std::atoi(text) : 150;
}

static void runPrograms(bool floatReductions, uint64_t firstSeed) {
  unsigned fewer = 0, total = getNumPrograms();
  for (unsigned i = 0; i < total; ++i) {
    RandomProgramOptions options;
    options.floatReductions = floatReductions;
    options.operations = 6 + i % 20;
    std::string text = RandomProgram(firstSeed + i, options).make();
    Context context;
    auto original = context.parse(text);
    ASSERT_TRUE(original) << text;
    auto arguments =
        makeArguments(original->lookupSymbol<func::FuncOp>("f"), i);
    auto expected = evaluate(*original, "f", arguments, floatReductions);
    unsigned kernels[2];
    for (bool fuse : {false, true}) {
      OwningOpRef<ModuleOp> module = original->clone();
      // What GPUs do otherwise is right, too.
      ASSERT_TRUE(runFusion(*module, fuse, i % 2 ? "a100" : "host-cpu"))
          << "seed " << firstSeed + i << "\n"
          << text;
      kernels[fuse] = countKernels(*module);
      auto actual = evaluate(*module, "f", arguments, floatReductions);
      ASSERT_EQ(expected.size(), actual.size());
      for (size_t k = 0; k < expected.size(); ++k) {
        bool isRight = floatReductions ? isClose(expected[k], actual[k], 1e-5)
                                       : sameBits(expected[k], actual[k]);
        if (isRight)
          continue;
        std::string dump;
        llvm::raw_string_ostream os(dump);
        os << "expected ";
        expected[k].print(os);
        os << "\nactual ";
        actual[k].print(os);
        os << "\n" << *module->getOperation();
        FAIL() << "seed " << firstSeed + i << ", result " << k << ", fuse "
               << fuse << "\n"
               << text << dump;
      }
    }
    EXPECT_LE(kernels[1], kernels[0]) << "seed " << firstSeed + i << "\n"
                                      << text;
    fewer += kernels[1] < kernels[0];
  }
  EXPECT_GE(fewer * 10, total * 6)
      << "fusion lowers the launches of " << fewer << " programs of " << total;
}

TEST(FusionValues, WithoutFloatReductionsNoBitChanges) {
  runPrograms(false, 1000);
}

TEST(FusionValues, FloatReductionsDifferByRoundingOnly) {
  runPrograms(true, 500000);
}

// Long reductions take the two-stage path; the rest of an uneven split counts.
TEST(FusionValues, SplitReductions) {
  Context context;
  auto module = context.parse(R"(
    func.func @f(%x: tensor<20011xi32> {tds.input = "x"}, %y: tensor<1601x13xf32> {tds.input = "y"}, %b: tensor<20000xi1> {tds.input = "b"})
        -> (tensor<i32> {tds.result = "s"}, tensor<i32> {tds.result = "m"}, tensor<13xf32> {tds.result = "c"}, tensor<f32> {tds.result = "t"}, tensor<i1> {tds.result = "a"})
        attributes {tds.entry = "function"} {
      %s = tds.reduce sum %x axes [0] : tensor<20011xi32> to tensor<i32>
      %m = tds.reduce min %x axes [0] : tensor<20011xi32> to tensor<i32>
      %c = tds.reduce sum %y axes [0] : tensor<1601x13xf32> to tensor<13xf32>
      %t = tds.reduce sum %y axes [0, 1] : tensor<1601x13xf32> to tensor<f32>
      %a = tds.reduce all %b axes [0] : tensor<20000xi1> to tensor<i1>
      return %s, %m, %c, %t, %a : tensor<i32>, tensor<i32>, tensor<13xf32>, tensor<f32>, tensor<i1>
    })");
  ASSERT_TRUE(module);
  auto arguments = makeArguments(module->lookupSymbol<func::FuncOp>("f"), 7);
  auto expected = evaluate(*module, "f", arguments, true);
  ASSERT_TRUE(runFusion(*module, true));
  unsigned reductions = 0;
  module->walk([&](tds::GenericOp op) { reductions += op.hasReduction(); });
  EXPECT_GE(reductions, 10u);
  auto actual = evaluate(*module, "f", arguments, true);
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(isClose(expected[i], actual[i], 1e-9)) << i;
}

TEST(FusionValues, NarrowContractions) {
  Context context;
  auto module = context.parse(R"(
    func.func @f(%a: tensor<5x1x7xbf16> {tds.input = "a"}, %b: tensor<7x6xbf16> {tds.input = "b"}, %c: tensor<5x7xi8> {tds.input = "c"}, %d: tensor<7x3xi8> {tds.input = "d"})
        -> (tensor<5x1x6xf32> {tds.result = "r"}, tensor<5x3xi32> {tds.result = "s"}) attributes {tds.entry = "function"} {
      %r = tds.contract %a[0, 3, 2], %b[2, 1] to [0, 3, 1] : tensor<5x1x7xbf16>, tensor<7x6xbf16> to tensor<5x1x6xf32>
      %s = tds.generic (%i, %j) in (5, 3) sum (%k) in (7) : tensor<5x3xi32> {
        %x0 = tds.read %c[%i, %k] : tensor<5x7xi8>
        %y0 = tds.read %d[%k, %j] : tensor<7x3xi8>
        %x = tds.cast %x0 : i8 to i32
        %y = tds.cast %y0 : i8 to i32
        %p = tds.mul %x, %y : i32
        tds.yield %p : i32
      }
      return %r, %s : tensor<5x1x6xf32>, tensor<5x3xi32>
    })");
  ASSERT_TRUE(module);
  auto arguments = makeArguments(module->lookupSymbol<func::FuncOp>("f"), 3);
  auto expected = evaluate(*module, "f", arguments);
  ASSERT_TRUE(runFusion(*module, true));
  unsigned contractions = 0;
  module->walk([&](tds::ContractOp) { ++contractions; });
  EXPECT_EQ(contractions, 2u);
  auto actual = evaluate(*module, "f", arguments);
  EXPECT_TRUE(isClose(expected[0], actual[0], 1e-6));
  EXPECT_TRUE(sameBits(expected[1], actual[1]));
}
