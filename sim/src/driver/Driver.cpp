//===- Driver.cpp - the engine that does a device's work --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All work (kernels, copies, fills, host calls) is queued on streams and done
// by two engine threads, one for copies between host and device, one for the
// rest. They take the heads of the streams in the order of submission. Under a
// reverse or random schedule one engine does all, in an order that only events
// and the default stream's rule restrain.
//
//===----------------------------------------------------------------------===//

#include "driver/Driver.h"
#include "check/BlockOrder.h"
#include "tds/cudasim.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace tds::sim {

Driver &Driver::get() {
  static Driver *driver = new Driver;
  return *driver;
}

std::vector<Context *> &contextStack() {
  thread_local std::vector<Context *> stack;
  return stack;
}
Context *currentContext() {
  return contextStack().empty() ? nullptr : contextStack().back();
}

CUresult Driver::initialise() {
  std::lock_guard<std::mutex> lock(mutex);
  if (isInitialised)
    return CUDA_SUCCESS;
  set = readSettings();
  if (!set.problem.empty()) {
    fprintf(stderr, "tds-cudasim: %s\n", set.problem.c_str());
    return CUDA_ERROR_INVALID_VALUE;
  }
#if defined(__x86_64__) && defined(__AVX2__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    fprintf(stderr, "tds-cudasim: this build needs a processor with AVX2 and "
                    "FMA (x86-64-v3)\n");
    return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
  }
#endif
  if (set.devices == 0)
    return CUDA_ERROR_NO_DEVICE;
  for (int i = 0; i < set.devices; ++i) {
    auto device = std::make_unique<Device>();
    device->ordinal = i;
    device->memory = std::make_unique<DeviceMemory>(i, set.memoryBytes);
    if (!device->memory->valid()) {
      fprintf(stderr,
              "tds-cudasim: cannot reserve %llu bytes of address space for a "
              "virtual device; set TDS_SIM_MEMORY lower\n",
              (unsigned long long)set.memoryBytes);
      devices.clear();
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    devices.push_back(std::move(device));
  }
  isInitialised = true;
  return CUDA_SUCCESS;
}

/// The file that an environment variable names, or null where there is none.
static FILE *openLog(const char *variable) {
  const char *path = getenv(variable);
  FILE *opened = path && *path ? fopen(path, "we") : nullptr;
  if (path && *path && !opened)
    fprintf(stderr, "tds-cudasim: %s=%s cannot be written\n", variable, path);
  if (opened)
    setvbuf(opened, nullptr, _IOLBF, 0);
  return opened;
}

static FILE *trafficLog() {
  static FILE *file = openLog("TDS_SIM_TRAFFIC");
  return file;
}

void logTraffic(const char *what, u64 read, u64 written) {
  if (FILE *file = trafficLog())
    fprintf(file, "%s %llu %llu\n", what, (unsigned long long)read,
            (unsigned long long)written);
}

void logCall(const char *function) {
  static FILE *file = openLog("TDS_SIM_LOG");
  if (!file)
    return;
  // Helpers that several entry points share.
  static const std::pair<const char *, const char *> names[] = {
      {"createContext", "cuCtxCreate"},     {"allocateHost", "cuMemHostAlloc"},
      {"allocateAsync", "cuMemAllocAsync"}, {"launchKernel", "cuLaunchKernel"},
      {"createStream", "cuStreamCreate"},   {"recordEvent", "cuEventRecord"},
      {"instantiate", "cuGraphInstantiate"}};
  for (const auto &[helper, name] : names)
    if (!strcmp(function, helper))
      function = name;
  fprintf(file, "%s\n", function);
}

Entry::Entry(bool needContext, const char *function)
    : driver(Driver::get()), lock(driver.mutex) {
  logCall(function);
  if (!driver.initialised()) {
    status = CUDA_ERROR_NOT_INITIALIZED;
    return;
  }
  context = currentContext();
  if (context && !driver.contexts.count(context)) {
    // Destroyed by another thread.
    if (needContext)
      status = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    context = nullptr;
    return;
  }
  if (!needContext)
    return;
  if (!context)
    status = CUDA_ERROR_INVALID_CONTEXT;
  else if (context->sticky != CUDA_SUCCESS)
    status = (CUresult)context->sticky.load();
}

Stream *streamFromHandle(Entry &entry, CUstream handle) {
  Context *context = entry.context;
  if (handle == nullptr || handle == CU_STREAM_LEGACY) {
    return context ? context->legacy.get() : nullptr;
  }
  if (handle == CU_STREAM_PER_THREAD) {
    thread_local std::map<Context *, Stream *> mine;
    Stream *&s = mine[context];
    if (!s || !entry.driver.streams.count(s)) {
      s = new Stream;
      s->context = context;
      s->id = ++entry.driver.sequence;
      context->streams.insert(s);
      entry.driver.streams.insert(s);
    }
    return s;
  }
  Stream *s = (Stream *)handle;
  return entry.driver.streams.count(s) ? s : nullptr;
}

void Driver::enqueue(Stream &stream, Work work) {
  work.sequence = ++sequence;
  work.context = stream.context;
  stream.queue.push_back(std::move(work));
  if (!engineStarted) {
    engineStarted = true;
    std::thread([this] { engine(Engine::Compute); }).detach();
    std::thread([this] { engine(Engine::Copy); }).detach();
  }
  wake.notify_all();
}

/// A stream whose head may run now, by the schedule. The mutex is held.
bool Driver::pick(Stream *&chosen, Engine kind) {
  std::vector<Stream *> ready;
  bool later = set.delays;
  // One engine does all where the order of work is part of the schedule.
  if (later && kind == Engine::Copy)
    return false;
  for (Context *context : contexts) {
    u64 legacyHead = context->legacy->queue.empty()
                         ? ~0ull
                         : context->legacy->queue.front().sequence;
    u64 lowest = ~0ull;
    auto consider = [&](Stream *s) {
      if (s->queue.empty() || s->running)
        return;
      const Work &head = s->queue.front();
      // Events and waits take no time; either engine passes them.
      if (!later && head.run && head.copies != (kind == Engine::Copy))
        return;
      for (const auto &wait : head.waits)
        if (!wait->done)
          return;
      ready.push_back(s);
    };
    for (Stream *s : context->streams) {
      if (s->blocking && !s->queue.empty())
        lowest = std::min(lowest, s->queue.front().sequence);
      if (s->blocking && !s->queue.empty() &&
          s->queue.front().sequence > legacyHead)
        continue;
      consider(s);
    }
    if (legacyHead < lowest)
      consider(context->legacy.get());
  }
  if (ready.empty())
    return false;
  if (!later) {
    chosen =
        *std::min_element(ready.begin(), ready.end(), [](Stream *a, Stream *b) {
          return a->queue.front().sequence < b->queue.front().sequence;
        });
  } else if (set.schedule.order == Schedule::Reverse) {
    chosen =
        *std::max_element(ready.begin(), ready.end(), [](Stream *a, Stream *b) {
          return a->queue.front().sequence < b->queue.front().sequence;
        });
  } else {
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    chosen = ready[rng % ready.size()];
  }
  return true;
}

void Driver::engine(Engine kind) {
  std::unique_lock<std::mutex> lock(mutex);
  if (kind == Engine::Compute)
    rng += set.schedule.seed * 0x9e3779b97f4a7c15ull;
  for (;;) {
    Stream *stream = nullptr;
    if (!pick(stream, kind)) {
      wake.wait(lock);
      continue;
    }
    // The head stays in the queue while it runs: others wait for it there.
    stream->running = true;
    Work &work = stream->queue.front();
    Context *context = work.context;
    CUresult result = CUDA_SUCCESS;
    if (work.run && (work.always || context->sticky == CUDA_SUCCESS)) {
      auto run = std::move(work.run);
      lock.unlock();
      result = run();
      run = nullptr; // destroyed without the lock
      lock.lock();
    }
    if (result != CUDA_SUCCESS && context->sticky == CUDA_SUCCESS)
      context->sticky = result;
    Work &front = stream->queue.front();
    if (front.signal) {
      front.signal->when = std::chrono::steady_clock::now();
      front.signal->done = true;
    }
    stream->queue.pop_front();
    stream->running = false;
    finished.notify_all();
    wake.notify_all(); // The other engine may have waited for this.
  }
}

CUresult Driver::drain(std::unique_lock<std::mutex> &lock, Stream &stream) {
  Context *context = stream.context;
  Stream *s = &stream;
  finished.wait(lock, [&] {
    if (!contexts.count(context))
      return true;
    if (s != context->legacy.get() && !streams.count(s))
      return true;
    if (!s->queue.empty())
      return false;
    if (s->isLegacy)
      for (Stream *other : context->streams)
        if (other->blocking && !other->queue.empty())
          return false;
    return true;
  });
  if (!contexts.count(context))
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return (CUresult)context->sticky.load();
}

CUresult Driver::drainContext(std::unique_lock<std::mutex> &lock,
                              Context &context) {
  Context *c = &context;
  finished.wait(lock, [&] {
    if (!contexts.count(c))
      return true;
    if (!c->legacy->queue.empty())
      return false;
    for (Stream *s : c->streams)
      if (!s->queue.empty())
        return false;
    return true;
  });
  if (!contexts.count(c))
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return (CUresult)c->sticky.load();
}

void Driver::waitSignal(std::unique_lock<std::mutex> &lock, Signal &signal) {
  finished.wait(lock, [&] { return signal.done.load(); });
}

namespace {
CUresult resultOf(FaultKind kind) {
  switch (kind) {
  case FaultKind::OutOfBounds:
  case FaultKind::ReadOnly:
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  case FaultKind::Misaligned:
    return CUDA_ERROR_MISALIGNED_ADDRESS;
  case FaultKind::StackOverflow:
    return CUDA_ERROR_HARDWARE_STACK_ERROR;
  case FaultKind::StepLimit:
    return CUDA_ERROR_LAUNCH_TIMEOUT;
  case FaultKind::Trap:
    return CUDA_ERROR_LAUNCH_FAILED;
  default:
    return CUDA_ERROR_LAUNCH_FAILED;
  }
}
} // namespace

bool Driver::configure(const char *schedule, u64 seed, const char *checks) {
  std::lock_guard<std::mutex> lock(mutex);
  Settings next = set;
  next.problem.clear();
  if (schedule)
    parseSchedule(next, schedule);
  if (checks)
    parseChecks(next, checks);
  if (!next.problem.empty())
    return false;
  next.schedule.seed = seed;
  set = next;
  return true;
}

void Driver::addReport(const Report &report) {
  std::lock_guard<std::mutex> lock(mutex);
  if (reports.size() < 10000)
    reports.push_back(report);
  if (!set.quiet)
    fprintf(stderr, "tds-cudasim: %s\n", report.text.c_str());
}

CUresult Driver::execute(const KernelLaunch &launch) {
  LaunchInfo info;
  std::unique_lock<std::mutex> settingsLock(mutex);
  const Settings set = this->set;
  settingsLock.unlock();
  ModuleState &module = *launch.function->module;
  Device &device = *module.context->device;
  info.program = module.program.get();
  info.entry = launch.function->code;
  u64 threads = 1;
  for (int i = 0; i < 3; ++i) {
    info.grid[i] = launch.grid[i];
    info.blockDim[i] = launch.block[i];
    threads *= launch.block[i];
  }
  const u32 *cluster =
      launch.cluster[0] ? launch.cluster : info.entry->reqCluster;
  if (cluster[0]) {
    std::copy(cluster, cluster + 3, info.cluster);
    info.clusterBlocks = cluster[0] * cluster[1] * cluster[2];
    info.explicitCluster = true;
  }
  info.threads = (u32)threads;
  info.warps = (u32)((threads + 31) / 32);
  info.dynamicShared = launch.shared;
  info.sharedBytes = info.entry->sharedBytes + launch.shared;
  info.params = launch.params;
  info.params.resize(launch.params.size() + 16);
  info.memory = device.memory.get();
  info.schedule = set.schedule;
  info.checks = set.checks;
  info.maxSteps = set.maxSteps;
  info.granuleShift = info.entry->minAccess >= 4   ? 2
                      : info.entry->minAccess == 2 ? 1
                                                   : 0;
  info.launchStamp = device.memory->nextLaunchStamp();
  info.gridId = info.launchStamp;
  BlockOrder order;
  info.order = &order;
  Traffic traffic;
  if (trafficLog() && info.checks.globalRace)
    info.traffic = &traffic;
  Report report;
  if (launch.cooperative) {
    // Where the barrier of a grid group (cooperative_groups) lives.
    constexpr u64 bytes = 256;
    info.workspace = device.memory->allocate(bytes);
    if (!info.workspace)
      return CUDA_ERROR_OUT_OF_MEMORY;
    memset(device.memory->alias(info.workspace), 0, bytes);
    device.memory->markWritten(info.workspace, bytes);
  }
  bool good = runLaunch(info, set.threads, report);
  if (info.workspace)
    device.memory->release(info.workspace);
  if (good) {
    if (info.traffic)
      logTraffic(info.entry->name.c_str(), traffic.read, traffic.written);
    return CUDA_SUCCESS;
  }
  addReport(report);
  return resultOf(report.kind);
}

} // namespace tds::sim

using namespace tds::sim;

extern "C" {

TDS_SIM_EXPORT size_t tdsSimReportCount(void) {
  Driver &d = Driver::get();
  std::lock_guard<std::mutex> lock(d.mutex);
  return d.reports.size();
}
TDS_SIM_EXPORT int tdsSimReport(size_t index, TdsSimReport *out) {
  Driver &d = Driver::get();
  std::lock_guard<std::mutex> lock(d.mutex);
  if (index >= d.reports.size() || !out)
    return 0;
  // Reports are only ever added, and live in stable strings until cleared.
  const Report &r = d.reports[index];
  out->kind = nameOf(r.kind);
  out->kernel = r.kernel.c_str();
  out->message = r.message.c_str();
  out->source = r.source.c_str();
  out->text = r.text.c_str();
  for (int i = 0; i < 3; ++i) {
    out->block[i] = r.block[i];
    out->thread[i] = r.thread[i];
  }
  out->hasThread = r.hasThread;
  out->line = r.line;
  return 1;
}
TDS_SIM_EXPORT void tdsSimClearReports(void) {
  Driver &d = Driver::get();
  std::lock_guard<std::mutex> lock(d.mutex);
  d.reports.clear();
}
TDS_SIM_EXPORT int tdsSimConfigure(const char *schedule,
                                   unsigned long long seed,
                                   const char *checks) {
  return Driver::get().configure(schedule, seed, checks);
}
TDS_SIM_EXPORT int tdsSimSetArch(const char *arch) {
  return arch && presetArch(arch);
}
}
