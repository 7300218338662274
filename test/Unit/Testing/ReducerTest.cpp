//===- ReducerTest.cpp - programs are shrunk -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Testing/Reducer.h"
#include "tdsl/Testing/ProgramCheck.h"
#include "tdsl/Testing/RandomProgram.h"

#include "gtest/gtest.h"

using namespace tdsl::testing;

// Declarations, statements, results and operands go that the fault does not
// need.
TEST(Reducer, KeepsWhatTheFaultNeeds) {
  std::string text = R"(use nn, optim
dim A = 17, B = 5
fn g(x: float[...s]) -> float[...s] { tanh(x) }
export fn other(x: f32[A]) -> (r: f32[A]) {
  (g(x))
}
export fn e(x: f32[A, B], y: i32[A]) -> (r0: f32[A, B], r1: i32[A]) {
  let a = g(x) + 1
  let b = (y * 3) // (y + 2)
  let c = if A > 3 {
    x
  } else { a }
  (c, b)
}
)";
  CheckOptions options;
  options.gradients = options.folding = options.cpu = false;
  options.bug = PlantedBug::FloorDivisionOrder;
  ProgramChecker checker;
  auto fails = [&](const std::string &candidate) {
    CheckReport report = checker.check(candidate, options);
    return !report.failures.empty() &&
           report.failures.front().check == "fusion";
  };
  ASSERT_TRUE(fails(text));
  std::string small = reduceProgram(text, fails);
  EXPECT_TRUE(fails(small));
  EXPECT_NE(small.find("//"), std::string::npos);
  EXPECT_EQ(small.find("tanh"), std::string::npos) << small;
  EXPECT_LT(small.size(), 120u) << small;
}

// Whatever the text, the reducer ends, and with a text that fails.
TEST(Reducer, TextsThatAreNoPrograms) {
  for (std::string text :
       {"", "\n", ")))", "(((", "{ [ ( } ] )", "let x = (\n", "// only\n",
        "a ++ b,,c", "\xff\xfe", "if then else", "x[", "0x 1..2...3"}) {
    std::string small =
        reduceProgram(text, [](const std::string &) { return true; });
    EXPECT_LE(small.size(), text.size());
    EXPECT_EQ(
        reduceProgram(text, [&](const std::string &t) { return t == text; }),
        text);
  }
}

TEST(Reducer, ARandomProgram) {
  auto fails = [](const std::string &candidate) {
    return candidate.find("mean[") != std::string::npos;
  };
  uint64_t seed = 1;
  while (!fails(makeRandomProgram(seed).text))
    ++seed;
  std::string small = reduceProgram(makeRandomProgram(seed).text, fails);
  EXPECT_LT(small.size(), 30u) << small;
}
