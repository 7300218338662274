//===- AccuracyTest.cpp - errors against true values -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Accuracy.h"
#include "Reference.h"
#include "tdsl/ScalarMath/Host.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace tdsl::scalarmath;

namespace {

constexpr uint64_t points = 60000;

class UnaryAccuracy : public testing::TestWithParam<unsigned> {};
class BinaryAccuracy : public testing::TestWithParam<unsigned> {};

TEST_P(UnaryAccuracy, WithinTwoUlps) {
  Unary f = Unary(GetParam());
  Worst f32 = sweepF32(f, 4099, 2);
  EXPECT_GT(f32.points, 1000000u);
  EXPECT_LE(f32.ulps, 2) << nameOf(f) << "(" << f32.x << ") = " << f32.result;
  Worst f64 = sweepF64(f, points, 2);
  EXPECT_LE(f64.ulps, 2) << nameOf(f) << "(" << f64.x << ") = " << f64.result;
  if (isExact(f)) {
    EXPECT_EQ(f32.ulps, 0);
    EXPECT_EQ(f64.ulps, 0);
  }
}

TEST_P(BinaryAccuracy, WithinTwoUlps) {
  Binary f = Binary(GetParam());
  for (bool isF64 : {false, true}) {
    Worst worst = isF64 ? sweepF64(f, points, 2) : sweepF32(f, points, 2);
    EXPECT_LE(worst.ulps, isExact(f) ? 0 : 2)
        << nameOf(f) << (isF64 ? " f64 (" : " f32 (") << worst.x << ", "
        << worst.y << ") = " << worst.result;
  }
}

INSTANTIATE_TEST_SUITE_P(All, UnaryAccuracy, testing::Range(0u, numUnary),
                         [](const auto &info) {
                           return nameOf(Unary(info.param));
                         });
INSTANTIATE_TEST_SUITE_P(All, BinaryAccuracy, testing::Range(0u, numBinary),
                         [](const auto &info) {
                           return nameOf(Binary(info.param));
                         });

// The measure itself must see an error: a result one and three places off, the
// wrong sign of a zero, a NaN, an infinity.
TEST(Measure, SeesErrors) {
  double y = std::exp(0.3);
  EXPECT_LE(errorInUlps(Unary::Exp, 0.3, y), 1);
  double three = y;
  for (int i = 0; i < 3; ++i)
    three = std::nextafter(three, 10.0);
  EXPECT_GT(errorInUlps(Unary::Exp, 0.3, three), 2);
  EXPECT_GT(errorInUlps(Unary::Exp, 0.3f, 1.35f), 2);
  EXPECT_GT(errorInUlps(Unary::Sin, -0.0, 0.0), 2);
  EXPECT_GT(errorInUlps(Unary::Exp, 0.3, std::nan("")), 2);
  EXPECT_GT(errorInUlps(Unary::Exp, 0.3, HUGE_VAL), 2);
  EXPECT_GT(errorInUlps(Binary::FloorDiv, 1.0, 0.1, 10.0), 2);
  EXPECT_GT(errorInUlps(Binary::Pow, 10.0f, 3.0f, std::nextafterf(1000, 0)), 2);
  EXPECT_EQ(errorInUlps(Unary::Sigmoid, -HUGE_VAL, 0.0), 0);
}

} // namespace
