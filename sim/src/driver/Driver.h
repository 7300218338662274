//===- Driver.h - objects behind the driver's handles -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state that the libcuda look-alike keeps. Handles are pointers to these
// objects, and every handle that comes in is looked up among the live ones, so
// a stale or made-up handle is an error and never a crash.
//
//===----------------------------------------------------------------------===//
#ifndef TDSL_SIM_DRIVER_DRIVER_H
#define TDSL_SIM_DRIVER_DRIVER_H

#include "driver/DeviceMemory.h"
#include "exec/Run.h"

#include <cuda.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>

namespace tds::sim {

/// What the environment asks for, read once at cuInit.
struct Settings {
  int devices = 1;
  u32 sm = 90;
  char smSuffix = 'a';
  int driverVersion = 13000;
  u32 maxPtx = 90;
  u64 memoryBytes = 16ull << 30;
  u32 threads = 1;
  Schedule schedule;
  bool delays = false; // streams are served in random order
  CheckFlags checks;
  u64 maxSteps = 0;
  bool quiet = false;
  std::string problem; // why the settings cannot be used
};

struct Context;
struct Stream;

/// A place in the order of work: set once by the engine, waited for by others.
struct Signal {
  std::atomic<bool> done{false};
  std::chrono::steady_clock::time_point when;
};

struct Work {
  std::function<CUresult()> run; // may be empty
  std::vector<std::shared_ptr<Signal>> waits;
  std::shared_ptr<Signal> signal; // may be null
  u64 sequence = 0;
  Context *context = nullptr;
  bool always = false; // runs even after an error (frees, events)
  bool copies = false; // between host and device: for the copy engine
};

struct Device {
  int ordinal = 0;
  std::unique_ptr<DeviceMemory> memory;
  Context *primary = nullptr;
  unsigned primaryCount = 0;
  unsigned primaryFlags = 0;
  u64 poolReserved = 0;
};

struct Context {
  Device *device = nullptr;
  unsigned flags = 0;
  bool isPrimary = false;
  std::atomic<int> sticky{CUDA_SUCCESS};
  std::set<Stream *> streams; // without the default one
  std::unique_ptr<Stream> legacy;
  std::set<struct ModuleState *> modules;
  std::map<u64, bool> allocations; // address -> stream-ordered
  std::set<Context *> peers;
  size_t limits[16] = {};
};

struct FunctionState {
  struct ModuleState *module = nullptr;
  Code *code = nullptr;
  u32 dynamicLimit = 48 * 1024;
  bool largeClusters = false; // of more blocks than the portable ones
};

struct ModuleState {
  Context *context = nullptr;
  std::unique_ptr<Program> program;
  std::map<std::string, std::unique_ptr<FunctionState>> functions;
};

struct GraphState;

struct Stream {
  Context *context = nullptr;
  bool blocking = true; // ordered with the default stream
  bool isLegacy = false;
  int priority = 0;
  u64 id = 0;
  std::deque<Work> queue;
  bool running = false;
  // Capture.
  GraphState *capture = nullptr;
  bool captureOrigin = false, captureInvalid = false;
  std::vector<struct NodeState *> captureTail;
};

struct EventState {
  Context *context = nullptr;
  unsigned flags = 0;
  std::shared_ptr<Signal> last; // of the latest record; null: never recorded
  GraphState *capture = nullptr;
  std::vector<struct NodeState *> captureNodes;
};

struct KernelLaunch {
  FunctionState *function = nullptr;
  u32 grid[3], block[3];
  u32 cluster[3] = {0, 0, 0}; // as the launch asks; zeros: it does not
  u32 shared = 0;
  bool cooperative = false;
  std::vector<u8> params;
};

struct NodeState {
  GraphState *graph = nullptr;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  std::vector<NodeState *> dependencies;
  KernelLaunch kernel;
  CUDA_MEMCPY3D copy;
  CUDA_MEMSET_NODE_PARAMS set;
  CUDA_HOST_NODE_PARAMS host;
  CUevent event = nullptr;
  GraphState *child = nullptr;
  std::vector<void *> paramPointers; // for KernelNodeGetParams
  u32 index = 0;
};

struct GraphState {
  std::vector<std::unique_ptr<NodeState>> nodes;
  bool isChild = false;
};

struct GraphExecState {
  Context *context = nullptr;
  std::unique_ptr<GraphState> graph; // a private copy
  std::map<NodeState *, NodeState *> fromOriginal;
};

class Driver {
public:
  /// The one instance, never destroyed (work may outlive static destructors).
  static Driver &get();

  CUresult initialise();
  bool initialised() const { return isInitialised; }
  const Settings &settings() const { return set; }

  std::mutex mutex; // guards everything below and all objects
  std::vector<std::unique_ptr<Device>> devices;
  std::set<Context *> contexts;
  std::set<Stream *> streams;
  std::set<EventState *> events;
  std::set<ModuleState *> modules;
  std::set<FunctionState *> functions;
  std::set<GraphState *> graphs;
  std::set<NodeState *> nodes;
  std::set<GraphExecState *> graphExecs;
  std::map<u64, u64> hostAllocations; // address -> bytes mapped (0: registered)
  u64 sequence = 0, launches = 0;
  std::deque<Report> reports;

  /// Queues work and wakes the engine. The mutex must be held.
  void enqueue(Stream &stream, Work work);
  /// Waits until the stream (or all of the context) has nothing left.
  CUresult drain(std::unique_lock<std::mutex> &lock, Stream &stream);
  CUresult drainContext(std::unique_lock<std::mutex> &lock, Context &context);
  void waitSignal(std::unique_lock<std::mutex> &lock, Signal &signal);

  /// Runs one kernel now, on the engine's thread.
  CUresult execute(const KernelLaunch &launch);
  void addReport(const Report &report);
  /// See tdsSimConfigure().
  bool configure(const char *schedule, u64 seed, const char *checks);

private:
  Driver() = default;
  /// What an engine takes: a device computes and copies at the same time.
  enum class Engine { Compute, Copy };
  void engine(Engine kind);
  bool pick(Stream *&stream, Engine kind);

  Settings set;
  bool isInitialised = false;
  std::condition_variable wake, finished;
  bool engineStarted = false;
  u64 rng = 88172645463325252ull;
};

/// The calling thread's contexts, innermost last.
std::vector<Context *> &contextStack();
/// The current context or null.
Context *currentContext();

/// A lock on the driver together with the checks that open every call.
class Entry {
public:
  /// `needContext`: CUDA_ERROR_INVALID_CONTEXT without one, and the sticky
  /// error of the context where it has one.
  /// `function` is the C++ function that opened the call, for the log.
  explicit Entry(bool needContext, const char *function);
  CUresult status = CUDA_SUCCESS;
  Driver &driver;
  std::unique_lock<std::mutex> lock;
  Context *context = nullptr;
};

#define TDS_ENTER(needContext)                                                 \
  Entry entry(needContext, __func__);                                          \
  if (entry.status != CUDA_SUCCESS)                                            \
  return entry.status

/// The stream a handle stands for (null: the default one of `context`), or
/// null if the handle is not valid.
Stream *streamFromHandle(Entry &entry, CUstream handle);

/// Appends a node behind what `stream` has captured so far.
NodeState *captureNode(Entry &entry, Stream &stream, CUgraphNodeType type);

/// Performs a copy or fill node's work at once; host sides are read directly.
CUresult performCopy(Driver &driver, const CUDA_MEMCPY3D &copy);
CUresult performSet(Driver &driver, const CUDA_MEMSET_NODE_PARAMS &set);
/// Checks both sides of a linear copy; false if a side is not mapped.
bool rangeIsValid(Driver &driver, CUdeviceptr p, size_t bytes);
/// The device memory that holds `p`, or null.
DeviceMemory *memoryOf(Driver &driver, CUdeviceptr p);

CUresult submitKernel(Entry &entry, Stream &stream, KernelLaunch launch);
CUresult makeLaunch(Entry &entry, CUfunction f, const unsigned grid[3],
                    const unsigned block[3], unsigned shared, void **params,
                    void **extra, KernelLaunch &out);

Context *makeContext(Driver &driver, Device &device, unsigned flags);
void destroyContext(Entry &entry, Context *context);

/// Bytes of shared memory that a block may have by opting in.
inline u32 maxDynamicShared(u32 sm) {
  return sm >= 90               ? 232448
         : sm == 80 || sm == 87 ? 166912
         : sm >= 86             ? 101376
         : sm == 75             ? 65536
         : sm >= 70             ? 98304
                                : 49152;
}

Settings readSettings();
/// See tdsSimSetArch().
bool presetArch(const char *arch);
/// Appends a line to the file that TDS_SIM_LOG names, if it names one.
void logCall(const char *function);
/// Appends to the file that TDS_SIM_TRAFFIC names, if it names one, a kernel,
/// `copy` or `set` with the bytes of the device's memory that it read and
/// wrote.
void logTraffic(const char *what, u64 read, u64 written);
/// Words of TDS_SIM_SCHEDULE and TDS_SIM_CHECKS; sets `problem` on a bad one.
void parseSchedule(Settings &s, const char *text);
void parseChecks(Settings &s, const char *text);

} // namespace tds::sim

#define TDS_API extern "C" __attribute__((visibility("default"))) CUresult

#endif // TDSL_SIM_DRIVER_DRIVER_H
