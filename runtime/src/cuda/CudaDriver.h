//===- CudaDriver.h - the CUDA driver, loaded when it is there -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All that the runtime uses of libcuda.so.1 is in one table of functions. The
// driver is opened with dlopen (TDS_CUDA_DRIVER=PATH takes another library of
// the same interface), so that nothing of CUDA is needed to build or to run on
// a machine without it. Tests put their own functions into the table.
//
//===----------------------------------------------------------------------===//

#ifndef TDS_CUDA_CUDADRIVER_H
#define TDS_CUDA_CUDADRIVER_H

#include "core/Error.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tdsrt {

// The driver's binary interface, as far as it is used here.
using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = void *;
using CUmodule = void *;
using CUfunction = void *;
using CUstream = void *;
using CUevent = void *;
using CUgraph = void *;
using CUgraphNode = void *;
using CUgraphExec = void *;

/// CUDA_KERNEL_NODE_PARAMS_v2; the first version is its beginning.
struct CudaKernelNode {
  CUfunction function;
  unsigned grid[3], block[3], sharedBytes;
  void **parameters;
  void **extra;
  void *kernel;
  CUcontext context;
};
static_assert(sizeof(CudaKernelNode) == 72);

constexpr unsigned memoryHost = 1, memoryDevice = 2;

/// CUDA_MEMCPY3D.
struct CudaCopyNode {
  struct Side {
    size_t x, y, z, lod;
    unsigned type;
    void *host;
    CUdeviceptr device;
    void *array, *reserved;
    size_t pitch, height;
  };
  Side from, to;
  size_t width, height, depth;
};
static_assert(sizeof(CudaCopyNode) == 200);

/// CUDA_MEMSET_NODE_PARAMS.
struct CudaFillNode {
  CUdeviceptr to;
  size_t pitch;
  unsigned value, elementSize;
  size_t width, height;
};
static_assert(sizeof(CudaFillNode) == 40);

constexpr CUresult cudaErrorOutOfMemory = 2;
constexpr CUresult cudaErrorNoDevice = 100;
constexpr CUresult cudaErrorNotFound = 500;
constexpr CUresult cudaErrorNotReady = 600;
constexpr int attributeClock = 13; // kHz
constexpr int attributeMultiprocessors = 16;
constexpr int attributeMemoryClock = 36; // kHz
constexpr int attributeMemoryBusBits = 37;
constexpr int attributeMemoryPools = 115;
constexpr int attributeMaxSharedOptin = 97;
constexpr int attributeComputeMajor = 75;
constexpr int attributeComputeMinor = 76;
constexpr int functionMaxDynamicShared = 8;
constexpr int jitInfoLog = 3, jitInfoLogBytes = 4;
constexpr int jitErrorLog = 5, jitErrorLogBytes = 6;
constexpr unsigned eventDisableTiming = 2;
constexpr unsigned streamNonBlocking = 1;

// name in the table, name in the library, parameters
#define TDS_CUDA_FUNCTIONS(X)                                                  \
  X(init, "cuInit", (unsigned))                                                \
  X(driverGetVersion, "cuDriverGetVersion", (int *))                           \
  X(getErrorName, "cuGetErrorName", (CUresult, const char **))                 \
  X(getErrorString, "cuGetErrorString", (CUresult, const char **))             \
  X(deviceGetCount, "cuDeviceGetCount", (int *))                               \
  X(deviceGet, "cuDeviceGet", (CUdevice *, int))                               \
  X(deviceGetName, "cuDeviceGetName", (char *, int, CUdevice))                 \
  X(deviceGetAttribute, "cuDeviceGetAttribute", (int *, int, CUdevice))        \
  X(deviceTotalMem, "cuDeviceTotalMem_v2", (size_t *, CUdevice))               \
  X(primaryCtxRetain, "cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice))     \
  X(primaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (CUdevice))             \
  X(ctxPushCurrent, "cuCtxPushCurrent_v2", (CUcontext))                        \
  X(ctxPopCurrent, "cuCtxPopCurrent_v2", (CUcontext *))                        \
  X(memGetInfo, "cuMemGetInfo_v2", (size_t *, size_t *))                       \
  X(memAlloc, "cuMemAlloc_v2", (CUdeviceptr *, size_t))                        \
  X(memFree, "cuMemFree_v2", (CUdeviceptr))                                    \
  X(memcpyHtoDAsync, "cuMemcpyHtoDAsync_v2",                                   \
    (CUdeviceptr, const void *, size_t, CUstream))                             \
  X(memcpyDtoHAsync, "cuMemcpyDtoHAsync_v2",                                   \
    (void *, CUdeviceptr, size_t, CUstream))                                   \
  X(memcpyDtoDAsync, "cuMemcpyDtoDAsync_v2",                                   \
    (CUdeviceptr, CUdeviceptr, size_t, CUstream))                              \
  X(memsetD8Async, "cuMemsetD8Async",                                          \
    (CUdeviceptr, unsigned char, size_t, CUstream))                            \
  X(moduleLoadDataEx, "cuModuleLoadDataEx",                                    \
    (CUmodule *, const void *, unsigned, int *, void **))                      \
  X(moduleUnload, "cuModuleUnload", (CUmodule))                                \
  X(moduleGetFunction, "cuModuleGetFunction",                                  \
    (CUfunction *, CUmodule, const char *))                                    \
  X(moduleGetGlobal, "cuModuleGetGlobal_v2",                                   \
    (CUdeviceptr *, size_t *, CUmodule, const char *))                         \
  X(funcSetAttribute, "cuFuncSetAttribute", (CUfunction, int, int))            \
  X(launchKernel, "cuLaunchKernel",                                            \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,   \
     unsigned, CUstream, void **, void **))                                    \
  X(streamCreate, "cuStreamCreate", (CUstream *, unsigned))                    \
  X(streamDestroy, "cuStreamDestroy_v2", (CUstream))                           \
  X(streamSynchronize, "cuStreamSynchronize", (CUstream))                      \
  X(streamWaitEvent, "cuStreamWaitEvent", (CUstream, CUevent, unsigned))       \
  X(eventCreate, "cuEventCreate", (CUevent *, unsigned))                       \
  X(eventDestroy, "cuEventDestroy_v2", (CUevent))                              \
  X(eventRecord, "cuEventRecord", (CUevent, CUstream))                         \
  X(eventSynchronize, "cuEventSynchronize", (CUevent))                         \
  X(eventElapsedTime, "cuEventElapsedTime", (float *, CUevent, CUevent))       \
  X(memHostAlloc, "cuMemHostAlloc", (void **, size_t, unsigned))               \
  X(memFreeHost, "cuMemFreeHost", (void *))                                    \
  X(deviceGetPciBusId, "cuDeviceGetPCIBusId", (char *, int, CUdevice))

// Stream-ordered allocation, CUDA 11.2 and newer.
#define TDS_CUDA_POOL_FUNCTIONS(X)                                             \
  X(memAllocAsync, "cuMemAllocAsync", (CUdeviceptr *, size_t, CUstream))       \
  X(memFreeAsync, "cuMemFreeAsync", (CUdeviceptr, CUstream))

// Graphs, CUDA 11.4 and newer.
#define TDS_CUDA_GRAPH_FUNCTIONS(X)                                            \
  X(graphCreate, "cuGraphCreate", (CUgraph *, unsigned))                       \
  X(graphDestroy, "cuGraphDestroy", (CUgraph))                                 \
  X(graphAddKernel, "cuGraphAddKernelNode_v2",                                 \
    (CUgraphNode *, CUgraph, const CUgraphNode *, size_t,                      \
     const CudaKernelNode *))                                                  \
  X(graphAddCopy, "cuGraphAddMemcpyNode",                                      \
    (CUgraphNode *, CUgraph, const CUgraphNode *, size_t,                      \
     const CudaCopyNode *, CUcontext))                                         \
  X(graphAddFill, "cuGraphAddMemsetNode",                                      \
    (CUgraphNode *, CUgraph, const CUgraphNode *, size_t,                      \
     const CudaFillNode *, CUcontext))                                         \
  X(graphInstantiate, "cuGraphInstantiateWithFlags",                           \
    (CUgraphExec *, CUgraph, unsigned long long))                              \
  X(graphExecDestroy, "cuGraphExecDestroy", (CUgraphExec))                     \
  X(graphExecSetCopy, "cuGraphExecMemcpyNodeSetParams",                        \
    (CUgraphExec, CUgraphNode, const CudaCopyNode *, CUcontext))               \
  X(graphLaunch, "cuGraphLaunch", (CUgraphExec, CUstream))

/// The functions that are used. The first group is always set, each of the
/// others whole or not at all.
struct CudaSymbols {
#define TDS_DECLARE(field, symbol, parameters) CUresult(*field) parameters;
  TDS_CUDA_FUNCTIONS(TDS_DECLARE)
  TDS_CUDA_POOL_FUNCTIONS(TDS_DECLARE)
  TDS_CUDA_GRAPH_FUNCTIONS(TDS_DECLARE)
#undef TDS_DECLARE
};

class CudaDriver {
public:
  /// The process's driver, opened at the first call.
  static std::shared_ptr<CudaDriver> shared();
  /// Opens a library; never throws: what went wrong is in reason().
  static std::shared_ptr<CudaDriver> open(const std::string &path);
  /// The simulator as `arch` (sm_90a; empty: its own default), from the
  /// library beside this one or beside the program.
  static std::shared_ptr<CudaDriver> simulator(const std::string &arch);
  /// Takes a table as it is.
  static std::shared_ptr<CudaDriver> fromSymbols(const CudaSymbols &symbols);

  bool usable() const { return unusableReason.empty(); }
  /// Why there is no driver to use; empty when there is.
  const std::string &reason() const { return unusableReason; }
  int version() const { return driverVersion; }
  /// Whether the driver has graphs, and stream-ordered allocation.
  bool hasGraphs() const { return call.graphLaunch != nullptr; }
  bool hasPools() const { return call.memAllocAsync != nullptr; }
  unsigned deviceCount() const { return devices; }
  /// One line for the report of devices.
  std::string describe() const;

  /// The one place where a CUresult becomes an error; `what` says what was
  /// being done.
  void check(CUresult result, const std::string &what) const;
  std::string errorText(CUresult result) const;

  CudaSymbols call{};

private:
  static std::shared_ptr<CudaDriver> open(const std::string &path,
                                          const std::string &simulatedArch);
  void initialize();
  std::string unusableReason;
  std::string libraryPath;
  int driverVersion = 0;
  unsigned devices = 0;
};

/// "12.4" for 12040.
std::string cudaVersionText(uint64_t version);

/// The highest PTX ISA that a driver of this version compiles, as major * 10 +
/// minor.
unsigned ptxIsaOfDriver(int version);

} // namespace tdsrt

#endif // TDS_CUDA_CUDADRIVER_H
