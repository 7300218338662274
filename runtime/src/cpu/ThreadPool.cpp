//===- ThreadPool.cpp - workers with a short way to work -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cpu/ThreadPool.h"
#include "core/Error.h"

#include <algorithm>
#include <chrono>
#include <immintrin.h>
#include <sched.h>
#include <system_error>

namespace tdsrt {

namespace {
/// Round to nearest even, no flush to zero, all exceptions masked: the modes
/// that the language's conventions ask for.
constexpr unsigned kernelSse = 0x1f80;
constexpr unsigned short kernelX87 = 0x037f;
/// Longer than the gap between two launches of one step, or from one step to
/// the next while data come from memory.
constexpr std::chrono::microseconds spinTime(200);
} // namespace

FloatModeScope::FloatModeScope() {
  savedSse = _mm_getcsr();
  asm volatile("fnstcw %0" : "=m"(savedX87));
  _mm_setcsr(kernelSse);
  asm volatile("fldcw %0" : : "m"(kernelX87));
}

FloatModeScope::~FloatModeScope() {
  _mm_setcsr(savedSse);
  asm volatile("fldcw %0" : : "m"(savedX87));
}

unsigned allowedProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
    return static_cast<unsigned>(CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

ThreadPool::ThreadPool(unsigned threads)
    : shares(threads), oversubscribed(threads > allowedProcessors()) {
  try {
    for (unsigned worker = 1; worker < threads; ++worker)
      workers.emplace_back([this, worker] { workerLoop(worker); });
  } catch (const std::system_error &error) {
    stopping = true;
    state.fetch_add(jobStep);
    {
      std::lock_guard<std::mutex> guard(sleepMutex);
    }
    wake.notify_all();
    for (std::thread &thread : workers)
      thread.join();
    fail(TDS_OUT_OF_MEMORY, "cannot start ", threads, " threads (",
         error.what(), "); ask for fewer with --threads");
  }
}

ThreadPool::~ThreadPool() {
  stopping = true;
  state.fetch_add(jobStep);
  {
    std::lock_guard<std::mutex> guard(sleepMutex);
  }
  wake.notify_all();
  for (std::thread &thread : workers)
    thread.join();
}

void ThreadPool::workerLoop(unsigned worker) {
  FloatModeScope modes;
  uint64_t seen = 0;
  for (;;) {
    auto spinEnd = std::chrono::steady_clock::now() + spinTime;
    for (unsigned turn = 0; jobNumber(state.load()) == seen; ++turn) {
      if (turn % 32 == 31 &&
          (oversubscribed || std::chrono::steady_clock::now() > spinEnd)) {
        std::unique_lock<std::mutex> lock(sleepMutex);
        // Sequentially consistent with the caller, which changes `state` and
        // then looks for sleepers: one of the two sees the other.
        sleepers.fetch_add(1);
        wake.wait(lock, [&] { return jobNumber(state.load()) != seen; });
        sleepers.fetch_sub(1);
        break;
      }
      _mm_pause();
    }
    uint64_t now = state.load(std::memory_order_acquire);
    seen = jobNumber(now);
    if (stopping)
      return;
    while (jobNumber(now) == seen && (now & openBit)) {
      if (!state.compare_exchange_weak(now, now + 1, std::memory_order_acquire))
        continue;
      takeChunks(worker);
      state.fetch_sub(1, std::memory_order_release);
      break;
    }
  }
}

void ThreadPool::takeChunks(unsigned worker) {
  // First the worker's own share, which is the same in every launch of a
  // kernel: what the last step left in its cache is there again. Then what
  // others have not begun.
  for (unsigned i = 0; i < shares.size(); ++i) {
    Share &share = shares[(worker + i) % shares.size()];
    int64_t begin = share.next.load(std::memory_order_relaxed);
    // Guided: the first chunks are large (a kernel may prepare something for
    // each call), later ones smaller, so that threads end together.
    while (begin < share.end) {
      int64_t count = std::min(share.end - begin,
                               std::max(jobGrain, (share.end - begin) / 2));
      if (!share.next.compare_exchange_weak(begin, begin + count,
                                            std::memory_order_relaxed))
        continue;
      job(jobContext, begin, begin + count, worker);
      begin = share.next.load(std::memory_order_relaxed);
    }
  }
}

void ThreadPool::parallelFor(int64_t work, Body body, void *context) {
  if (work <= 0)
    return;
  std::lock_guard<std::mutex> turn(callerMutex);
  if (workers.empty() || work == 1)
    return body(context, 0, work, 0);
  job = body;
  jobContext = context;
  int64_t threads = size(), each = work / threads, more = work % threads;
  jobGrain = std::max<int64_t>(1, each / 8);
  int64_t begin = 0;
  for (int64_t i = 0; i < threads; ++i) {
    shares[i].next.store(begin, std::memory_order_relaxed);
    begin += each + (i < more ? 1 : 0);
    shares[i].end = begin;
  }
  uint64_t number = jobNumber(state.load(std::memory_order_relaxed)) + 1;
  state.store(number * jobStep | openBit);
  if (sleepers.load() > 0) {
    {
      std::lock_guard<std::mutex> guard(sleepMutex);
    }
    wake.notify_all();
  }
  takeChunks(0);
  state.fetch_and(~openBit, std::memory_order_relaxed);
  for (unsigned turns = 0;
       (state.load(std::memory_order_acquire) & memberMask) != 0; ++turns) {
    if (oversubscribed || turns > 4096)
      std::this_thread::yield();
    else
      _mm_pause();
  }
}

} // namespace tdsrt
