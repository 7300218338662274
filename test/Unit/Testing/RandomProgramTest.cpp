//===- RandomProgramTest.cpp - random programs agree on every path -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A few hundred programs of fixed seeds; `tds-random` runs more.
//
//===----------------------------------------------------------------------===//

#include "tdsl/Testing/RandomProgram.h"
#include "tdsl/Testing/ProgramCheck.h"
#include "tdsl/Testing/ProgramRun.h"

#include "gtest/gtest.h"

using namespace tdsl::testing;

static RunResult expectAgreement(uint64_t first, unsigned count,
                                 const CheckOptions &options) {
  std::string log;
  llvm::raw_string_ostream os(log);
  RunResult result = runPrograms(first, count, options, 3, os);
  EXPECT_EQ(result.failures, 0u) << log;
  EXPECT_EQ(result.programs, count);
  return result;
}

TEST(RandomPrograms, OneSeedIsOneText) {
  for (uint64_t seed = 1; seed < 20; ++seed)
    EXPECT_EQ(makeRandomProgram(seed).text, makeRandomProgram(seed).text);
  EXPECT_NE(makeRandomProgram(1).text, makeRandomProgram(2).text);
}

TEST(RandomPrograms, EvaluatorFolderFusionAndDerivativesAgree) {
  CheckOptions options;
  options.cpu = false;
  RunResult result = expectAgreement(1, 300, options);
  EXPECT_GT(result.gradients, 200u);
  EXPECT_GT(result.exact, 100000u);
  EXPECT_GT(result.bounded, 10000u);
  EXPECT_GE(result.differentiating * 10, result.programs * 3);
}

TEST(RandomPrograms, CpuCodeAgrees) {
  CheckOptions options;
  options.gradients = options.folding = options.fusion = false;
  RunResult result = expectAgreement(5000, 12, options);
  EXPECT_GT(result.kernels, 40u);
}

TEST(RandomPrograms, UnfusedCpuCodeAgrees) {
  CheckOptions options;
  options.gradients = options.folding = options.fusion = options.cpu = false;
  options.cpuUnfused = true;
  expectAgreement(6000, 2, options);
}

// What random programs have found, as kinds.
TEST(RandomPrograms, FoundFaults) {
  const char *texts[] = {
      // An exponent that becomes known by folding is no literal: x ** 4 by
      // products has other bits than the power.
      R"(
// input x: any
export fn power(x: f32[9], n: f32) -> (a: f32[9], b: f32[9], c: f32[9]) {
  (x ** f32(i32(min(abs(n), 4))), pow(x, 3), x ** 3)
}
)",
      // A batch of no rows.
      R"(
dim B = 0
param w: f32[3] = 0
export fn empty(x: f32[B, 3]) -> (r: f32[B, 3]) { (x + w) }
step train(x: f32[B, 3], lr: f32 = 0.1) -> (l: f32) {
  (sum(x * w))
}
)",
  };
  CheckOptions options;
  options.cpuUnfused = true;
  for (const char *text : texts)
    for (uint64_t seed = 0; seed < 4; ++seed) {
      options.seed = seed;
      CheckReport report = ProgramChecker().check(text, options);
      EXPECT_TRUE(report.failures.empty())
          << text << report.failures.front().check << ": "
          << report.failures.front().message;
    }
}
