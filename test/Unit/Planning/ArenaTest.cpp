//===- ArenaTest.cpp - offsets by lifetimes -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Planning/Arena.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

using namespace tdsl;

static void expectDisjoint(const std::vector<LiveBuffer> &buffers,
                           int64_t size) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(buffers[i].offset % 256, 0);
    EXPECT_LE(buffers[i].offset + buffers[i].bytes, size);
    for (size_t j = 0; j < i; ++j) {
      bool liveTogether = buffers[i].first <= buffers[j].last &&
                          buffers[j].first <= buffers[i].last;
      bool overlap = buffers[i].offset < buffers[j].offset + buffers[j].bytes &&
                     buffers[j].offset < buffers[i].offset + buffers[i].bytes;
      EXPECT_FALSE(liveTogether && overlap) << i << " and " << j;
    }
  }
}

TEST(Arena, Empty) {
  std::vector<LiveBuffer> none;
  EXPECT_EQ(allocateArena(none, 256), 0);
  EXPECT_EQ(getLivenessBound(none, 256), 0);
}

TEST(Arena, ChainUsesTwoPlaces) {
  std::vector<LiveBuffer> chain;
  for (int i = 0; i < 20; ++i)
    chain.push_back({1000, i, i + 1, 0});
  int64_t size = allocateArena(chain, 256);
  EXPECT_EQ(size, 2048);
  expectDisjoint(chain, size);
}

// A step: forward values live until their backward kernel.
TEST(Arena, NestedLifetimesMeetTheBound) {
  std::vector<LiveBuffer> buffers;
  for (int i = 0; i < 30; ++i)
    buffers.push_back({int64_t(1 + i % 7) * 4096, i, 60 - i, 0});
  int64_t size = allocateArena(buffers, 256);
  EXPECT_EQ(size, getLivenessBound(buffers, 256));
  expectDisjoint(buffers, size);
}

TEST(Arena, RandomLifetimes) {
  std::mt19937 random(5);
  double worst = 1;
  for (int round = 0; round < 200; ++round) {
    std::vector<LiveBuffer> buffers(2 + random() % 60);
    for (LiveBuffer &buffer : buffers) {
      buffer.bytes = random() % 20000;
      buffer.first = random() % 100;
      buffer.last = buffer.first + random() % 20;
    }
    std::vector<LiveBuffer> again = buffers;
    int64_t size = allocateArena(buffers, 256),
            bound = getLivenessBound(buffers, 256);
    expectDisjoint(buffers, size);
    EXPECT_GE(size, bound);
    if (bound)
      worst = std::max(worst, double(size) / double(bound));
    // The same input, the same offsets.
    EXPECT_EQ(allocateArena(again, 256), size);
    for (size_t i = 0; i < again.size(); ++i)
      EXPECT_EQ(again[i].offset, buffers[i].offset);
  }
  EXPECT_LE(worst, 1.35);
}
