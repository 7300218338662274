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

constexpr CUresult cudaErrorOutOfMemory = 2;
constexpr CUresult cudaErrorNoDevice = 100;
constexpr CUresult cudaErrorNotFound = 500;
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
  X(eventSynchronize, "cuEventSynchronize", (CUevent))

/// The functions that are used; all of them are set.
struct CudaSymbols {
#define TDS_DECLARE(field, symbol, parameters) CUresult(*field) parameters;
  TDS_CUDA_FUNCTIONS(TDS_DECLARE)
#undef TDS_DECLARE
};

class CudaDriver {
public:
  /// The process's driver, opened at the first call.
  static std::shared_ptr<CudaDriver> shared();
  /// Opens a library; never throws: what went wrong is in reason().
  static std::shared_ptr<CudaDriver> open(const std::string &path);
  /// Takes a table as it is.
  static std::shared_ptr<CudaDriver> fromSymbols(const CudaSymbols &symbols);

  bool usable() const { return unusableReason.empty(); }
  /// Why there is no driver to use; empty when there is.
  const std::string &reason() const { return unusableReason; }
  int version() const { return driverVersion; }
  unsigned deviceCount() const { return devices; }
  /// One line for the report of devices.
  std::string describe() const;

  /// The one place where a CUresult becomes an error; `what` says what was
  /// being done.
  void check(CUresult result, const std::string &what) const;
  std::string errorText(CUresult result) const;

  CudaSymbols call{};

private:
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
