//===- RandomTest.cpp - Philox and the values made of it -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tdsl/ScalarMath/Host.h"

#include "gtest/gtest.h"

#include <cmath>
#include <vector>

namespace sm = tdsl::scalarmath;

namespace {

// Salmon et al., "Parallel random numbers: as easy as 1, 2, 3": the published
// known answers of Philox4x32-10.
TEST(Philox, KnownAnswers) {
  sm::PhiloxWords w = sm::philox(0, 0, 0, 0, 0);
  EXPECT_EQ(w.word[0], 0x6627e8d5u);
  EXPECT_EQ(w.word[1], 0xe169c58du);
  EXPECT_EQ(w.word[2], 0xbc57ac4cu);
  EXPECT_EQ(w.word[3], 0x9b00dbd8u);
  w = sm::philox(~uint64_t(0), ~0u, ~0u, ~0u, ~0u);
  EXPECT_EQ(w.word[0], 0x408f276du);
  EXPECT_EQ(w.word[1], 0x41c83b0eu);
  EXPECT_EQ(w.word[2], 0xa20bc7c6u);
  EXPECT_EQ(w.word[3], 0x6d5451fdu);
  w = sm::philox(0x299f31d0a4093822, 0x243f6a88, 0x85a308d3, 0x13198a2e,
                 0x03707344);
  EXPECT_EQ(w.word[0], 0xd16cfe09u);
  EXPECT_EQ(w.word[1], 0x94fdccebu);
  EXPECT_EQ(w.word[2], 0x5001e420u);
  EXPECT_EQ(w.word[3], 0x24126ea1u);
}

TEST(Uniform, EndsOfTheRange) {
  EXPECT_EQ(sm::uniform(0), 0);
  EXPECT_EQ(sm::uniform(0xff), 0);
  EXPECT_EQ(sm::uniform(~0u), 1 - 0x1p-24f);
}

TEST(Normal, EndsOfTheRange) {
  // u1 is never 0, so the radius is finite; u1 = 1 gives radius 0.
  sm::NormalPair largest = sm::normalPair(0, 0);
  EXPECT_NEAR(largest.first, std::sqrt(2 * 24 * std::log(2.0)), 1e-5);
  EXPECT_EQ(largest.second, 0);
  sm::NormalPair smallest = sm::normalPair(~0u, 0x12345678);
  EXPECT_EQ(smallest.first, 0);
  EXPECT_EQ(smallest.second, 0);
}

TEST(Normal, FollowsTheDefinition) {
  for (uint32_t i = 0; i < 100000; ++i) {
    uint32_t a = i * 2654435761u, b = i * 40503u * 65537u + 12345;
    double u1 = ((a >> 8) + 1) * 0x1p-24, u2 = (b >> 8) * 0x1p-24;
    double radius = std::sqrt(-2 * std::log(u1)), pi = std::acos(-1.0);
    sm::NormalPair pair = sm::normalPair(a, b);
    ASSERT_NEAR(pair.first, radius * std::cos(2 * pi * u2), 2e-6) << i;
    ASSERT_NEAR(pair.second, radius * std::sin(2 * pi * u2), 2e-6) << i;
  }
}

TEST(Draw, TakesTheWordsAsDocumented) {
  uint64_t seed = 0x123456789abcdef0;
  for (uint64_t i : {uint64_t(0), uint64_t(1), uint64_t(2), uint64_t(3),
                     uint64_t(4), uint64_t(1001), uint64_t(5) << 31}) {
    sm::PhiloxWords w = sm::philox(seed, uint32_t(i / 4), 7, 8, 9);
    EXPECT_EQ(sm::uniformAt(seed, i, 7, 8, 9), sm::uniform(w.word[i % 4]));
    unsigned first = i % 4 / 2 * 2;
    sm::NormalPair pair = sm::normalPair(w.word[first], w.word[first + 1]);
    EXPECT_EQ(sm::normalAt(seed, i, 7, 8, 9), i % 2 ? pair.second : pair.first);
  }
}

TEST(Draw, RowsEqualSingleValues) {
  std::vector<float> uniforms(1003), normals(1003);
  sm::uniformRow(42, 3, 0, 5, 1, uniforms.data(), uniforms.size());
  sm::normalRow(42, 3, 0, 5, 1, normals.data(), normals.size());
  for (size_t i = 0; i < normals.size(); ++i) {
    ASSERT_EQ(uniforms[i], sm::uniformAt(42, 3 + i, 0, 5, 1));
    ASSERT_EQ(normals[i], sm::normalAt(42, 3 + i, 0, 5, 1));
  }
}

TEST(Draw, MomentsOfAMillion) {
  std::vector<float> row(1000000);
  double sum = 0, squares = 0, fourths = 0;
  sm::normalRow(1, 0, 0, 0, 0, row.data(), row.size());
  for (double v : row) {
    sum += v;
    squares += v * v;
    fourths += v * v * v * v;
  }
  EXPECT_NEAR(sum / 1e6, 0, 0.005);
  EXPECT_NEAR(squares / 1e6, 1, 0.01);
  EXPECT_NEAR(fourths / 1e6, 3, 0.1);
  sm::uniformRow(1, 0, 0, 0, 0, row.data(), row.size());
  sum = 0;
  for (double v : row)
    sum += v;
  EXPECT_NEAR(sum / 1e6, 0.5, 0.002);
}

} // namespace
