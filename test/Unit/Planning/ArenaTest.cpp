//===- ArenaTest.cpp - offsets by lifetimes -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Planning/Arena.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

using namespace llvm;
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

// Of what lives at the fullest point the largest that has room goes first.
TEST(Arena, PlacesBeside) {
  std::vector<LiveBuffer> buffers{
      {1000, 0, 9, 0}, {500, 2, 5, 0}, {700, 3, 4, 0}, {200, 6, 9, 0}};
  bool mayMove[]{true, true, true, true};
  // The first lives too early, the third is the largest that fits; then the
  // peak is elsewhere, and the second fits beside no other.
  SmallVector<int64_t> offsets =
      placeBeside(buffers, mayMove, {{512, 800, 1}}, 256);
  EXPECT_EQ(offsets, (SmallVector<int64_t>{-1, -1, 512, -1}));
  mayMove[2] = false;
  offsets = placeBeside(buffers, mayMove, {{512, 800, 1}}, 256);
  EXPECT_EQ(offsets, (SmallVector<int64_t>{-1, 512, -1, -1}));
}

TEST(Arena, RandomBuffersBeside) {
  std::mt19937 random(7);
  unsigned numMoved = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<LiveBuffer> buffers(2 + random() % 40);
    auto mayMove = std::make_unique<bool[]>(buffers.size());
    for (size_t i = 0; i < buffers.size(); ++i) {
      buffers[i].bytes = random() % 20000;
      buffers[i].first = random() % 50;
      buffers[i].last = buffers[i].first + random() % 20;
      mayMove[i] = random() % 4 != 0;
    }
    FreeRange ranges[]{{0, 30000, int64_t(random() % 30)},
                       {30208, 9000, int64_t(random() % 30)}};
    SmallVector<int64_t> offsets = placeBeside(
        buffers, ArrayRef(mayMove.get(), buffers.size()), ranges, 256);
    std::vector<LiveBuffer> moved, rest;
    for (auto [i, offset] : llvm::enumerate(offsets)) {
      if (offset < 0) {
        rest.push_back(buffers[i]);
        continue;
      }
      EXPECT_TRUE(mayMove[i]);
      moved.push_back(buffers[i]);
      moved.back().offset = offset;
      bool isInside = false;
      for (const FreeRange &range : ranges)
        isInside |= offset >= range.offset &&
                    offset + buffers[i].bytes <= range.offset + range.bytes &&
                    buffers[i].first >= range.first;
      EXPECT_TRUE(isInside);
    }
    expectDisjoint(moved, 40000);
    EXPECT_LE(getLivenessBound(rest, 256), getLivenessBound(buffers, 256));
    numMoved += moved.size();
  }
  EXPECT_GT(numMoved, 200u);
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
