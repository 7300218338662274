//===- Peaks.cpp - what this processor can reach --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "profile/Peaks.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace tdsrt {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

constexpr int64_t rounds = 200'000;
constexpr int chains = 10; ///< enough for latency 4 to 5 on two units

/// One thread's multiply-adds; gives their number, and a sum to keep them.
using FlopLoop = double (*)(float &keep);

#ifdef __x86_64__
// A chain converges to 2, so that no value is subnormal or overflows.
__attribute__((target("avx512f"))) double wideLoop(float &keep) {
  __m512 sums[chains];
  for (int i = 0; i < chains; ++i)
    sums[i] = _mm512_set1_ps(float(i));
  const __m512 half = _mm512_set1_ps(0.5f), one = _mm512_set1_ps(1);
  for (int64_t round = 0; round < rounds; ++round)
    for (int i = 0; i < chains; ++i)
      sums[i] = _mm512_fmadd_ps(sums[i], half, one);
  for (int i = 0; i < chains; ++i)
    keep += _mm512_cvtss_f32(sums[i]);
  return double(rounds) * chains * 16 * 2;
}

__attribute__((target("avx2,fma"))) double middleLoop(float &keep) {
  __m256 sums[chains];
  for (int i = 0; i < chains; ++i)
    sums[i] = _mm256_set1_ps(float(i));
  const __m256 half = _mm256_set1_ps(0.5f), one = _mm256_set1_ps(1);
  for (int64_t round = 0; round < rounds; ++round)
    for (int i = 0; i < chains; ++i)
      sums[i] = _mm256_fmadd_ps(sums[i], half, one);
  for (int i = 0; i < chains; ++i)
    keep += _mm256_cvtss_f32(sums[i]);
  return double(rounds) * chains * 8 * 2;
}
#endif

double plainLoop(float &keep) {
  float sums[chains * 4];
  for (int i = 0; i < chains * 4; ++i)
    sums[i] = float(i);
  for (int64_t round = 0; round < rounds; ++round)
    for (float &sum : sums)
      sum = sum * 0.5f + 1;
  for (float sum : sums)
    keep += sum;
  return double(rounds) * chains * 4 * 2;
}

FlopLoop bestLoop() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f"))
    return wideLoop;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return middleLoop;
#endif
  return plainLoop;
}

} // namespace

DevicePeaks measureCpuPeaks(ThreadPool &pool) {
  DevicePeaks peaks;
  struct Work {
    FlopLoop loop;
    std::vector<float> kept;
    std::vector<double> operations;
    std::unique_ptr<char[]> from, to;
    int64_t block;
  } work;
  int64_t threads = pool.size();
  work.loop = bestLoop();
  work.kept.resize(static_cast<size_t>(threads));
  work.operations.resize(static_cast<size_t>(threads));
  constexpr int repetitions = 3;
  for (int i = 0; i < repetitions; ++i) {
    auto begin = Clock::now();
    pool.parallelFor(
        threads,
        [](void *opaque, int64_t first, int64_t last, unsigned) {
          auto &work = *static_cast<Work *>(opaque);
          for (int64_t at = first; at < last; ++at) {
            auto index = static_cast<size_t>(at);
            work.operations[index] = work.loop(work.kept[index]);
          }
        },
        &work);
    double seconds = secondsSince(begin), sum = 0;
    for (double operations : work.operations)
      sum += operations;
    if (seconds > 0)
      peaks.flopsPerSecond = std::max(peaks.flopsPerSecond, sum / seconds);
  }

  // More than the caches of most processors hold.
  constexpr int64_t bytes = int64_t(64) << 20;
  constexpr int64_t blocks = 64;
  work.block = bytes / blocks;
  work.from.reset(new char[bytes]);
  work.to.reset(new char[bytes]);
  std::memset(work.from.get(), 1, bytes);
  std::memset(work.to.get(), 2, bytes); // touched once before it is timed
  for (int i = 0; i < repetitions; ++i) {
    auto begin = Clock::now();
    pool.parallelFor(
        blocks,
        [](void *opaque, int64_t first, int64_t last, unsigned) {
          auto &work = *static_cast<Work *>(opaque);
          std::memcpy(work.to.get() + first * work.block,
                      work.from.get() + first * work.block,
                      static_cast<size_t>((last - first) * work.block));
        },
        &work);
    double seconds = secondsSince(begin);
    if (seconds > 0)
      peaks.bytesPerSecond =
          std::max(peaks.bytesPerSecond, 2.0 * bytes / seconds);
  }
  return peaks;
}

} // namespace tdsrt
