//===- ThreadPool.h - workers with a short way to work -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step is a few dozen launches of some microseconds each, so that what
// counts is the time from a launch to the moment all threads work on it.
// Workers spin for a short while after each launch (the next one is usually
// behind it) and sleep when none comes.
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

  // One job at a time; written by the caller before `generation` rises.
  Body job = nullptr;
  void *jobContext = nullptr;
  int64_t jobWork = 0;
  int64_t jobGrain = 1;

  alignas(64) std::atomic<int64_t> next{0};
  alignas(64) std::atomic<uint64_t> generation{0};
  alignas(64) std::atomic<int> busy{0};
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
