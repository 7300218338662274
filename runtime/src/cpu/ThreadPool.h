//===- ThreadPool.h - workers with a short way to work -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step is a few dozen launches of some microseconds each, so that what
// counts is the time from a launch to the moment all threads work on it.
// Workers spin for a short while after each launch (the next one is usually
// behind it) and sleep when none comes. A launch never waits for a worker that
// has not begun: on a busy machine one may come too late, and then the others
// have done its share.
//
//===----------------------------------------------------------------------===//

#ifndef TDS_CPU_THREADPOOL_H
#define TDS_CPU_THREADPOOL_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace tdsrt {

/// Rounding and flush modes (MXCSR) that kernels are compiled for, set for the
/// lifetime of the object and restored after it.
class FloatModeScope {
public:
  FloatModeScope();
  ~FloatModeScope();
  FloatModeScope(const FloatModeScope &) = delete;
  FloatModeScope &operator=(const FloatModeScope &) = delete;

private:
  unsigned savedSse;
  unsigned short savedX87;
};

class ThreadPool {
public:
  /// `threads` counts the calling thread; at least 1.
  explicit ThreadPool(unsigned threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  unsigned size() const { return static_cast<unsigned>(workers.size()) + 1; }

  /// body(context, first, last, worker) is called for disjoint ranges that
  /// together cover [0, work), on all threads; worker is below size(). Returns
  /// when all is done. One caller at a time: callers take turns.
  using Body = void (*)(void *context, int64_t first, int64_t last,
                        unsigned worker);
  void parallelFor(int64_t work, Body body, void *context);

private:
  void workerLoop(unsigned worker);
  void takeChunks(unsigned worker);

  std::vector<std::thread> workers;
  std::mutex callerMutex; ///< callers take turns

  /// `state` is the number of the job, whether workers may still join it, and
  /// how many are at it. Who joins may read the job's fields until it leaves;
  /// they are written only while nobody is at it.
  static constexpr uint64_t jobStep = uint64_t(1) << 16;
  static constexpr uint64_t openBit = uint64_t(1) << 15;
  static constexpr uint64_t memberMask = openBit - 1;
  static uint64_t jobNumber(uint64_t state) { return state / jobStep; }

  Body job = nullptr;
  void *jobContext = nullptr;
  int64_t jobGrain = 1;
  /// Contiguous parts of the job's work, one a thread. A thread begins with its
  /// own and then helps with the others'.
  struct alignas(64) Share {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };
  std::vector<Share> shares;

  alignas(64) std::atomic<uint64_t> state{0};
  alignas(64) std::atomic<int> sleepers{0};
  std::atomic<bool> stopping{false};
  std::mutex sleepMutex;
  std::condition_variable wake;
  bool oversubscribed = false;
};

/// Processors this process may run on; at least 1.
unsigned allowedProcessors();

} // namespace tdsrt

#endif // TDS_CPU_THREADPOOL_H
