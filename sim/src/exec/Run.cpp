//===- Run.cpp - execution of a launch --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Four levels. runWarp() advances one warp until it waits, ends or has used its
// share. A BlockRunner picks among the warps of a block by the schedule and
// completes barriers. A ClusterRunner gives the blocks of a cluster their
// turns. runLaunch() hands clusters to host threads; one that has run for long
// without ending is set aside so that another may start, because blocks may
// wait for each other.
//
//===----------------------------------------------------------------------===//

#include "exec/Run.h"
#include "exec/Cluster.h"

#include <algorithm>
#include <cfenv>
#include <chrono>
#include <mutex>
#include <thread>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tds::sim {

namespace {

struct Shared {
  std::atomic<u64> work{0}; // grows while any block gets on
  std::atomic<u64> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
};

void worker(const LaunchInfo &launch, Shared &shared, Report &report) {
  // Handlers rely on the default rounding and on subnormals being kept.
  fenv_t environment;
  fegetenv(&environment);
  fesetenv(FE_DFL_ENV);
#if defined(__x86_64__)
  unsigned control = _mm_getcsr();
  _mm_setcsr(0x1f80);
#endif
  const u64 clusters = (u64)launch.grid[0] * launch.grid[1] * launch.grid[2] /
                       launch.clusterBlocks;
  // How many blocks may be under way at once: what a device would hold.
  const size_t resident = std::max<size_t>(
      1, 132 * std::max<u32>(1, 2048 / std::max(32u, launch.threads)) /
             launch.clusterBlocks);
  std::vector<std::unique_ptr<ClusterRunner>> running, idle;
  bool exhausted = false;
  size_t turn = 0;
  u64 spins = 0, lastWork = 0;
  auto spinStart = std::chrono::steady_clock::now();
  while (!shared.failed) {
    ClusterRunner *current = nullptr;
    try {
      if (!exhausted && running.size() < resident) {
        u64 index = shared.next++;
        if (index >= clusters) {
          exhausted = true;
        } else {
          if (launch.schedule.order == Schedule::Reverse)
            index = clusters - 1 - index;
          if (idle.empty())
            idle.push_back(
                std::make_unique<ClusterRunner>(launch, shared.work));
          running.push_back(std::move(idle.back()));
          idle.pop_back();
          running.back()->start(index);
          turn = running.size() - 1;
        }
      }
      if (running.empty())
        break;
      if (turn >= running.size())
        turn = 0;
      current = running[turn].get();
      bool ended =
          current->resume(running.size() > 1 || exhausted ? 200000 : 1000000);
      // All clusters spin and nobody has got on for seconds: nobody will.
      if (!current->spins() || shared.work != lastWork) {
        lastWork = shared.work;
        spins = 0;
        spinStart = std::chrono::steady_clock::now();
      } else if (++spins > 20000 && exhausted &&
                 std::chrono::steady_clock::now() - spinStart >
                     std::chrono::seconds(3)) {
        current->deadlock();
      }
      if (ended) {
        idle.push_back(std::move(running[turn]));
        running.erase(running.begin() + (long)turn);
      } else {
        ++turn;
      }
    } catch (const Fault &fault) {
      std::lock_guard<std::mutex> lock(shared.mutex);
      if (!shared.failed) {
        describe(launch, fault.block ? *fault.block : current->state(), fault,
                 report);
        shared.failed = true;
      }
    } catch (const std::exception &e) {
      std::lock_guard<std::mutex> lock(shared.mutex);
      if (!shared.failed) {
        report.kernel = launch.entry->name;
        report.kind = FaultKind::BadLaunch;
        report.message =
            std::string("the simulator ran out of resources: ") + e.what();
        report.text = report.message;
        shared.failed = true;
      }
    }
  }
#if defined(__x86_64__)
  _mm_setcsr(control);
#endif
  fesetenv(&environment);
}

} // namespace

bool runLaunch(const LaunchInfo &launch, u32 threads, Report &report) {
  Shared shared;
  const u64 blocks = (u64)launch.grid[0] * launch.grid[1] * launch.grid[2];
  u32 n =
      (u32)std::min<u64>(std::max(1u, threads), blocks / launch.clusterBlocks);
  std::vector<std::thread> pool;
  for (u32 i = 1; i < n; ++i)
    pool.emplace_back([&] { worker(launch, shared, report); });
  worker(launch, shared, report);
  for (std::thread &t : pool)
    t.join();
  return !shared.failed;
}

} // namespace tds::sim
