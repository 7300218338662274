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

// Arguments next to a multiple of pi/2, found by continued fractions: the
// nearest of all f32 and of all f64, above and below the multiple. What is left
// of the argument has few digits there, and either sign.
TEST(Trigonometric, BesideMultiplesOfAQuarterTurn) {
  const float f32[] = {0x1.f37c8ap+95f,  0x1.47d0fep+34f, 0x1.f9cbe2p+7f,
                       0x1.32ede2p+85f,  0x1.13093p+76f,  0x1.628d4cp+40f,
                       0x1.b08c4ap+111f, 0x1.abb4bp+89f,  0x1.7f4134p+101f,
                       0x1.5c0e66p+73f,  0x1.7b9b4p+126f, 0x1.f37c8ap+96f,
                       0x1.628d4cp+41f,  0x1.b08c4ap+112f};
  const double f64[] = {
      0x1.6ac5b262ca1ffp+849, 0x1.6c6cbc45dc8dep+5,   0x1.6ac5b262ca1ffp+850,
      0x1.6c6cbc45dc8dep+6,   0x1.4c96c11134d36p+577, 0x1.e7e44a78ac18cp+197,
      0x1.83009e2e9e2ebp+614, 0x1.b951f1572eba5p+23,  0x1.504cac51f1eafp+131,
      0x1.e009c53148be1p+991, 0x1.cfe482285f8edp+860, 0x1.db41f3cb71d7bp+680,
      0x1.b951f1572eba5p+24,  0x1.504cac51f1eafp+132, 0x1.e009c53148be1p+992};
  auto check = [](auto x) {
    using T = decltype(x);
    for (Unary f : {Unary::Sin, Unary::Cos})
      for (T in : {x, -x}) {
        T out;
        evaluate(f, &in, &out, 1);
        EXPECT_LE(errorInUlps(f, in, out), 2)
            << nameOf(f) << "(" << in << ") = " << out;
      }
  };
  for (float x : f32)
    check(x);
  for (double x : f64)
    check(x);
}

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
