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
  EXPECT_EQ(result.findRare(), std::vector<std::string>{});
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

/// Lets PTX run in the simulator, unless the environment names a driver.
static void useSimulator() {
  setenv("TDS_CUDA_DRIVER", TDSL_BUILD_DIR "/lib/libtds_cudasim.so",
         /*overwrite=*/0);
}

TEST(RandomPrograms, PtxInTheSimulatorAgrees) {
  useSimulator();
  CheckOptions options;
  options.gradients = options.folding = options.fusion = options.cpu = false;
  options.ptx = true;
  expectAgreement(7000, 30, options);
}

TEST(RandomPrograms, FusionLowersLaunches) {
  CheckOptions options;
  options.gradients = options.folding = options.cpu = false;
  options.launches = true;
  RunResult result = expectAgreement(8000, 40, options);
  ASSERT_EQ(result.launches.size(), 2u);
  for (const auto &[target, counts] : result.launches) {
    EXPECT_EQ(counts.programs, 40u) << target;
    EXPECT_GT(counts.fewer, 30u) << target;
    EXPECT_EQ(counts.more, 0u) << target;
    EXPECT_LT(counts.fused * 3, counts.unfused) << target;
  }
}

// What random programs have found, as kinds.
// A text that no generator wrote says nothing of its inputs: what is an index
// stays inside, so that no gather fails, and labels meet every class.
TEST(RandomPrograms, IndicesOfAnyText) {
  const char *text = R"(use nn
dim B = 6
param w: f32[3, 2] = init.normal()
param e: f32[3, 3] = init.normal()
export fn loss(ids: i32[B], y: i64[B]) -> (loss: f32) {
  let x[i, k] = e[ids[i], k]
  (mean(nn.cross_entropy(x @ w, y)))
}
export fn hot(y: u8[B]) -> (most: f32) {
  let h[i, c < 2] = if i64(y[i]) == c then 1.0 else 0.0
  let each = sum(h, axis = 1)
  assert(all(each == 1.0))
  (max(each))
}
)";
  for (uint64_t seed = 1; seed < 6; ++seed) {
    CheckOptions options;
    options.seed = seed;
    CheckReport report = ProgramChecker().check(text, options);
    for (const Failure &failure : report.failures)
      ADD_FAILURE() << failure.check << ": " << failure.message;
    EXPECT_EQ(report.entries, 2u);
    EXPECT_EQ(report.features.count("flag raised"), 0u);
  }
}

TEST(RandomPrograms, FoundFaults) {
  useSimulator();
  const char *texts[] = {
      // An exponent that becomes known by folding is no literal: x ** 4 by
      // products has other bits than the power.
      R"(
// input x: any
export fn power(x: f32[9], n: f32) -> (a: f32[9], b: f32[9], c: f32[9]) {
  (x ** f32(i32(min(abs(n), 4))), pow(x, 3), x ** 3)
}
)",
      // A group of operations that has become a part of another is not joined
      // once more.
      R"(
use nn, optim
dim A = 4, B = 3, C = 7
fn fun0(x: float[...s], y: float[...s]) -> float[...s] {
  let a = (sin(y)) ** 4
  0 * x + (max(a, a)) ** 0
}
param p2: f32[C, A] = 0
param p3: f32[B] = 0
param p4: f16[B] = 0
state q5: i64[C] = 0
step e0(x6: f32[B, 7], x7: bf16[B, C, 4]) -> (r0: f32) {
  let v8 = (if ((f32(q5) // (abs(0.1) + 0.5)) >= (f32(q5) - f32(q5))) then ((u8(q5) + 4) + clamp(u8(q5), 1, 5)) else ((if bool(q5) then u8(q5) else u8(q5)) + (u8(q5) // u8(q5))))
  let v9 = sign(abs(abs(v8)))
  let v10[j11 < 6] = tanh(prod[r12 < 3, r13 < 2](erf(x7[j11 // 2, v9[2 * r13] % 7, r12 % A])))
  let v16[j17 < 2, j18 < 3, j19 < 2] = erf(prod[r20 < 2](tanh(fun0((f32(p4[B - 1 - r20])) ** 1, (p3[B - 1 - j17] * f32(p4[j18]))))))
  let loss21 = sum(v16) + mean(p3 * p3)
  minimize loss21 with optim.adamw(lr = 0.01, weight_decay = 0.1)
  q5 <- (abs(q5) * clamp(q5, 1, 7))
  (loss21)
}
)",
      // Variables without elements share their place.
      R"(
param a: f32[6, 0] = 0
param b: f32[0, 6, 13] = 0
param c: f32[0, 0] = 1
export fn total() -> f32 { sum(a) + sum(b) + sum(c) }
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
      // No rows, each of many terms.
      R"(
export fn none(x: u8[0, 40], y: f32[40, 0]) -> (a: u8[0], b: f32[0]) {
  let a[i] = min[j](x[i, j])
  let b[i] = sum[j](y[j, i] * y[j, i])
  (a, b)
}
)",
      // Neighbours at the end of a tensor whose size is no multiple of 16
      // bytes.
      R"(
export fn ends(x: f32[7], y: f16[3, 3], z: f64[3]) -> (a: f32, b: f32, c: f16[3], d: f64) {
  let m = x - mean(x)
  let r = flip(m, 0)
  let c[i] = sum[j](y[i, j] * y[2 - i, j])
  (mean(r * r) + mean(m), sum(x * x), c, sum(z * z) + f64([0.5, 1.5, 2.5, 4.5, 5.5][2]))
}
)",
      // A body that reads a tensor where the same tensor says.
      R"(
export fn nested() -> (r: i8[13, 12]) {
  let a[i < 13, j < 13] = f64(i)
  let b = i32(a)
  let c[i, j < 12] = min[k](i8(b[j, b[i, k + i] % 2]))
  c
}
)",
      // Asserts that hold, and one that may not; a program of two files.
      R"(
import "a.tds" as a
param w: f32[3] = 0
dim B = 4
step checked(x: f32[B, 3]) -> (l: f32) {
  assert a.small(x), "x is small"
  assert x[0, 0] < 1.5, "and its first element even smaller"
  let l = mean(x * w)
  w <- w + 1
  (l)
}
// file a.tds
fn small(x: float[n, m]) -> bool { all(abs(x) < 3) }
)",
  };
  CheckOptions options;
  options.cpuUnfused = options.ptx = true;
  for (const char *text : texts)
    for (uint64_t seed = 0; seed < 4; ++seed) {
      options.seed = seed;
      CheckReport report = ProgramChecker().check(text, options);
      EXPECT_TRUE(report.failures.empty())
          << text << report.failures.front().check << ": "
          << report.failures.front().message;
    }
}
