//===- CpuTest.cpp - thread pool, float modes, processor features -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cpu/CpuFeatures.h"
#include "cpu/ThreadPool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <immintrin.h>
#include <set>
#include <sstream>

using namespace tdsrt;

namespace {

TEST(ThreadPool, CoversAllWorkOnce) {
  for (unsigned threads : {1u, 2u, 3u, 8u}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    for (int64_t work : {0, 1, 2, 7, 100, 4097}) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(work));
      struct Context {
        std::vector<std::atomic<int>> *seen;
        unsigned threads;
      } context{&seen, threads};
      for (int repeat = 0; repeat < 20; ++repeat)
        pool.parallelFor(
            work,
            [](void *opaque, int64_t first, int64_t last, unsigned worker) {
              auto *context = static_cast<Context *>(opaque);
              EXPECT_LT(worker, context->threads);
              for (int64_t i = first; i < last; ++i)
                (*context->seen)[static_cast<size_t>(i)]++;
            },
            &context);
      for (std::atomic<int> &count : seen)
        ASSERT_EQ(count, 20);
    }
  }
}

TEST(ThreadPool, WakesAfterSleep) {
  ThreadPool pool(2);
  std::atomic<int64_t> sum{0};
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    pool.parallelFor(
        100,
        [](void *sum, int64_t first, int64_t last, unsigned) {
          *static_cast<std::atomic<int64_t> *>(sum) += last - first;
        },
        &sum);
  }
  EXPECT_EQ(sum, 2000);
}

TEST(ThreadPool, CallersTakeTurns) {
  ThreadPool pool(3);
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 100; ++round)
        pool.parallelFor(
            50,
            [](void *sum, int64_t first, int64_t last, unsigned) {
              *static_cast<std::atomic<int64_t> *>(sum) += last - first;
            },
            &sum);
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(sum, 4 * 100 * 50);
}

TEST(FloatMode, IsSetAndRestored) {
  unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040 | 0x6000); // flush to zero, round towards zero
  unsigned ours = _mm_getcsr();
  {
    FloatModeScope scope;
    EXPECT_EQ(_mm_getcsr() & 0xffc0, 0x1f80u);
  }
  EXPECT_EQ(_mm_getcsr() & 0xffc0, ours & 0xffc0);
  _mm_setcsr(before);
}

TEST(CpuFeatures, AgreeWithTheKernel) {
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> flags;
  for (std::string line; std::getline(file, line);)
    if (line.rfind("flags", 0) == 0) {
      std::istringstream words(line.substr(line.find(':') + 1));
      for (std::string word; words >> word;)
        flags.insert(word);
      break;
    }
  if (flags.empty())
    GTEST_SKIP() << "/proc/cpuinfo lists no flags";
  for (auto [ours, theirs] : {std::pair{"sse4.2", "sse4_2"},
                              {"avx", "avx"},
                              {"avx2", "avx2"},
                              {"fma", "fma"},
                              {"bmi2", "bmi2"},
                              {"avx512f", "avx512f"},
                              {"avx512vl", "avx512vl"},
                              {"popcnt", "popcnt"},
                              {"lzcnt", "abm"},
                              {"movbe", "movbe"},
                              {"f16c", "f16c"},
                              {"xop", "xop"}})
    EXPECT_EQ(cpuFeature(ours) == Feature::Present, flags.count(theirs) == 1)
        << ours;
  EXPECT_EQ(cpuFeature("sse9"), Feature::Unknown);
  EXPECT_EQ(levelOf("x86-64-v3"), 3);
  EXPECT_EQ(levelOf("x86-64-v5"), 0);
  EXPECT_TRUE(missingForLevel(bestLevel()).empty());
}

} // namespace
