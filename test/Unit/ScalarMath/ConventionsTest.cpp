//===- ConventionsTest.cpp - the language's conventions, value by value -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tdsl/ScalarMath/Host.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>

namespace sm = tdsl::scalarmath;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
const float nan = std::nanf("");

/// Equal, and of the same sign where zero.
testing::AssertionResult same(double a, double b) {
  if (a == b && std::signbit(a) == std::signbit(b))
    return testing::AssertionSuccess();
  if (std::isnan(a) && std::isnan(b))
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << a << " against " << b;
}

TEST(Division, IntegersFloor) {
  const int32_t x[] = {-7, 7, -1, -6}, y[] = {2, -2, 2, 3};
  const int32_t div[] = {-4, -4, -1, -2}, mod[] = {1, -1, 1, 0};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(sm::floorDiv(x[i], y[i]), div[i]);
    EXPECT_EQ(sm::mod(x[i], y[i]), mod[i]);
    EXPECT_EQ(sm::floorDiv(int64_t(x[i]), int64_t(y[i])), div[i]);
    EXPECT_EQ(sm::mod(int8_t(x[i]), int8_t(y[i])), mod[i]);
  }
  EXPECT_EQ(sm::floorDiv(std::numeric_limits<int32_t>::min(), -1),
            std::numeric_limits<int32_t>::min());
  EXPECT_EQ(sm::mod(std::numeric_limits<int32_t>::min(), -1), 0);
  EXPECT_EQ(sm::floorDiv(std::numeric_limits<int64_t>::min(), int64_t(-1)),
            std::numeric_limits<int64_t>::min());
  EXPECT_EQ(sm::floorDiv(int8_t(-128), int8_t(-1)), -128);
  EXPECT_EQ(sm::floorDiv(7, 0), 0);
  EXPECT_EQ(sm::mod(7, 0), 0);
  EXPECT_EQ(sm::mod(uint8_t(200), uint8_t(7)), 4);
  EXPECT_EQ(sm::floorDiv(uint8_t(200), uint8_t(0)), 0);
}

// All pairs of i8: x = (x // y) y + x % y, and the remainder's range.
TEST(Division, EveryByte) {
  for (int x = -128; x < 128; ++x)
    for (int y = -128; y < 128; ++y) {
      int q = sm::floorDiv(int8_t(x), int8_t(y)),
          r = sm::mod(int8_t(x), int8_t(y));
      if (y == 0) {
        ASSERT_EQ(q, 0);
        ASSERT_EQ(r, 0);
        continue;
      }
      ASSERT_EQ(int8_t(q * y + r), int8_t(x)) << x << " // " << y;
      ASSERT_TRUE(y > 0 ? r >= 0 && r < y : r <= 0 && r > y) << x << " % " << y;
    }
}

TEST(Division, FloatsFloorTheExactQuotient) {
  EXPECT_EQ(sm::floorDiv(1.0f, 0.1f), 9);
  EXPECT_EQ(sm::floorDiv(6.0f, 0.2f), 29);
  EXPECT_EQ(sm::floorDiv(0.5f, 0.1f), 4);
  EXPECT_EQ(sm::floorDiv(1.0, 0.1), 9);
  EXPECT_EQ(sm::floorDiv(6.0, 0.2), 29);
  EXPECT_EQ(sm::floorDiv(0.5, 0.1), 4);
  EXPECT_EQ(sm::mod(1.0f, 0.1f), 0.09999998658895493f);
  EXPECT_EQ(sm::mod(1.0, 0.1), 0.09999999999999995);
  EXPECT_EQ(sm::floorDiv(-7.0f, 2.0f), -4);
  EXPECT_EQ(sm::mod(-7.0f, 2.0f), 1);
  EXPECT_EQ(sm::mod(7.0f, -2.0f), -1);
  EXPECT_TRUE(same(sm::mod(-6.0f, 3.0f), 0.0));
  EXPECT_TRUE(same(sm::mod(6.0f, -3.0f), -0.0));
  EXPECT_EQ(sm::floorDiv(1.0f, 0.0f), inf);
  EXPECT_TRUE(same(sm::floorDiv(0.0f, 0.0f), nan));
  EXPECT_TRUE(same(sm::mod(1.0f, 0.0f), nan));
  EXPECT_TRUE(same(sm::mod(inf, 2.0f), nan));
  EXPECT_EQ(sm::mod(5.0f, inf), 5);
  EXPECT_EQ(sm::mod(-5.0f, inf), inf);
  EXPECT_EQ(sm::floorDiv(-5.0f, inf), -1);
  // The quotient is 16777217 1/3 and rounds to 16777218; its floor lies in the
  // middle of two numbers and rounds to the even one.
  EXPECT_EQ(25165826.0f / 1.5f, 16777218.0f);
  EXPECT_EQ(sm::floorDiv(25165826.0f, 1.5f), 16777216.0f);
  EXPECT_EQ(sm::floorDiv(-25165826.0f, 1.5f), -16777218.0f);
  EXPECT_EQ(sm::mod(0x1.fffffep127f, 0x1p-149f), 0);
  EXPECT_EQ(sm::mod(0x1.fffffep127f, 0x1.8p-148f),
            std::fmod(double(0x1.fffffep127f), double(0x1.8p-148f)));
}

TEST(Casts, FloatToInteger) {
  const float in[] = {2147483520.0f, -0.9f, 2.9f, -2.9f, 3e9f,
                      -3e9f,         inf,   -inf, nan};
  const int32_t out[] = {2147483520, 0,
                         2,          -2,
                         2147483647, std::numeric_limits<int32_t>::min(),
                         2147483647, std::numeric_limits<int32_t>::min(),
                         0};
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(sm::toI32(in[i]), out[i]) << in[i];
    EXPECT_EQ(sm::toI32(double(in[i])),
              in[i] == 2147483520.0f ? 2147483520 : out[i]);
  }
  EXPECT_EQ(sm::toI64(1e30f), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(sm::toI64(-1e30), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(sm::toI64(nan), 0);
  EXPECT_EQ(sm::toI64(0x1.fffffffffffffp62), 0x7ffffffffffffc00);
  EXPECT_EQ(sm::toI8(127.9f), 127);
  EXPECT_EQ(sm::toI8(-128.9f), -128);
  EXPECT_EQ(sm::toI8(1e9f), 127);
  EXPECT_EQ(sm::toU8(-0.5f), 0);
  EXPECT_EQ(sm::toU8(-1e9f), 0);
  EXPECT_EQ(sm::toU8(255.9f), 255);
  EXPECT_EQ(sm::toU8(256.0), 255);
}

TEST(Casts, IntegerToFloat) {
  EXPECT_EQ(sm::toF32(int64_t(16777217)), 16777216);
  EXPECT_EQ(sm::toF64(int64_t(9007199254740993)), 9007199254740992);
  // 2^54 + 2^46 + 1 lies above the middle of two bf16; f64 cannot hold the 1.
  EXPECT_EQ(
      sm::fromBF16(sm::toBF16((int64_t(1) << 54) + (int64_t(1) << 46) + 1)),
      0x1.02p54f);
  EXPECT_EQ(sm::fromBF16(sm::toBF16((int64_t(1) << 54) + (int64_t(1) << 46))),
            0x1p54f);
  EXPECT_EQ(sm::fromF16(sm::toF16(int64_t(65519))), 65504);
  EXPECT_EQ(sm::fromF16(sm::toF16(int64_t(65520))), inf);
}

TEST(Casts, Narrowing) {
  auto bf16 = [](float x) { return sm::fromBF16(sm::toBF16(x)); };
  auto f16 = [](float x) { return sm::fromF16(sm::toF16(x)); };
  EXPECT_EQ(bf16(3.14f), 3.140625f);
  EXPECT_EQ(bf16(1.00390625f), 1.0f);
  EXPECT_EQ(bf16(1.01171875f), 1.015625f);
  EXPECT_EQ(bf16(1.99609375f), 2.0f);
  EXPECT_EQ(bf16(std::numeric_limits<float>::max()), inf);
  EXPECT_EQ(bf16(3.3895313892515355e38f), 3.3895313892515355e38f);
  EXPECT_TRUE(std::isnan(bf16(std::numeric_limits<float>::signaling_NaN())));
  EXPECT_EQ(f16(65519), 65504);
  EXPECT_EQ(f16(65520), inf);
  EXPECT_EQ(f16(0x1p-24f), 0x1p-24f);
  EXPECT_EQ(f16(0x1p-25f), 0);
  EXPECT_EQ(f16(0x1p-25f * (1 + 0x1p-15f)), 0x1p-24f);
  EXPECT_EQ(f16(0x3p-25f), 0x1p-23f);
  EXPECT_TRUE(same(f16(-0x1p-30f), -0.0));
  // From f64 in one rounding: by way of f32 these would go the other way.
  EXPECT_EQ(sm::fromBF16(sm::toBF16(1.00390625 + 0x1p-40)), 1.0078125f);
  EXPECT_EQ(sm::fromF16(sm::toF16(1.0 + 0x1p-11 + 0x1p-40)), 1.0f + 0x1p-10f);
  EXPECT_EQ(sm::fromBF16(sm::toBF16(0x1p-134)), 0);
  EXPECT_EQ(sm::fromBF16(sm::toBF16(0x1.0000001p-134)), 0x1p-133f);
}

// Each of the 65,536 values survives the way through f32 and f64.
TEST(Casts, EverySixteenBitFloat) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float half = sm::fromF16(uint16_t(bits)),
          bfloat = sm::fromBF16(uint16_t(bits));
    if (half == half) {
      ASSERT_EQ(sm::toF16(half), bits);
      ASSERT_EQ(sm::toF16(double(half)), bits);
    } else {
      ASSERT_GT(bits & 0x7fff, 0x7c00u);
      ASSERT_GT(sm::toF16(half) & 0x7fff, 0x7c00);
    }
    if (bfloat == bfloat) {
      ASSERT_EQ(sm::toBF16(bfloat), bits);
      ASSERT_EQ(sm::toBF16(double(bfloat)), bits);
    }
  }
}

TEST(Functions, SpecialCases) {
  EXPECT_TRUE(same(sm::max(-0.0f, 0.0f), 0.0));
  EXPECT_TRUE(same(sm::max(0.0f, -0.0f), 0.0));
  EXPECT_TRUE(same(sm::min(0.0f, -0.0f), -0.0));
  EXPECT_TRUE(same(sm::max(nan, 1.0f), nan));
  EXPECT_TRUE(same(sm::min(1.0f, nan), nan));
  EXPECT_TRUE(same(sm::round(2.5f), 2.0));
  EXPECT_TRUE(same(sm::round(-0.5f), -0.0));
  EXPECT_TRUE(same(sm::sign(-0.0f), -0.0));
  EXPECT_TRUE(same(sm::sign(nan), nan));
  EXPECT_EQ(sm::sign(-3.0f), -1);

  EXPECT_EQ(sm::pow(-2.0f, 3.0f), -8);
  EXPECT_EQ(sm::pow(-2.0f, 2.0f), 4);
  EXPECT_TRUE(same(sm::pow(-2.0f, 0.5f), nan));
  EXPECT_EQ(sm::pow(0.0f, 0.0f), 1);
  EXPECT_EQ(sm::pow(nan, 0.0f), 1);
  EXPECT_EQ(sm::pow(1.0f, nan), 1);
  EXPECT_EQ(sm::pow(-1.0f, inf), 1);
  EXPECT_TRUE(same(sm::pow(0.0f, 0.5f), 0.0));
  EXPECT_TRUE(same(sm::pow(-0.0f, 0.5f), 0.0));
  EXPECT_TRUE(same(sm::pow(-inf, 0.5f), inf));
  EXPECT_TRUE(same(sm::pow(-0.0f, 3.0f), -0.0));
  EXPECT_TRUE(same(sm::pow(-0.0f, -3.0f), -inf));
  EXPECT_EQ(sm::pow(3.0f, 4.0f), 81);
  EXPECT_EQ(sm::pow(10.0f, 3.0f), 1000);
  EXPECT_EQ(sm::pow(2.0f, -1.0f), 0.5f);

  EXPECT_TRUE(same(sm::log(0.0f), -inf));
  EXPECT_TRUE(same(sm::log(-0.0f), -inf));
  EXPECT_TRUE(same(sm::log(-1.0f), nan));
  EXPECT_TRUE(same(sm::log(1.0f), 0.0));
  EXPECT_TRUE(same(sm::log1p(-1.0f), -inf));
  EXPECT_TRUE(same(sm::log1p(-0.0f), -0.0));
  EXPECT_TRUE(same(sm::expm1(-0.0f), -0.0));
  EXPECT_TRUE(same(sm::expm1(-inf), -1.0));
  EXPECT_TRUE(same(sm::exp(-inf), 0.0));
  EXPECT_TRUE(same(sm::tanh(-0.0f), -0.0));
  EXPECT_TRUE(same(sm::tanh(-inf), -1.0));
  EXPECT_TRUE(same(sm::erf(inf), 1.0));
  EXPECT_TRUE(same(sm::sin(-0.0f), -0.0));
  EXPECT_TRUE(same(sm::cos(inf), nan));
  EXPECT_TRUE(same(sm::rsqrt(-0.0f), -inf));
  EXPECT_TRUE(same(sm::rsqrt(inf), 0.0));
  EXPECT_TRUE(same(sm::sqrt(-0.0f), -0.0));
  EXPECT_TRUE(same(sm::sigmoid(inf), 1.0));
  EXPECT_GT(sm::sigmoid(-100.0f), 0);
}

} // namespace
