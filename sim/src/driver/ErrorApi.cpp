//===- ErrorApi.cpp - names of errors, addresses of functions ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "driver/Driver.h"

#include <cstring>

#include <dlfcn.h>

using namespace tds::sim;

namespace {

struct ErrorName {
  CUresult code;
  const char *name, *text;
};
#define E(code, text) {code, #code, text}
const ErrorName errorNames[] = {
    E(CUDA_SUCCESS, "no error"),
    E(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    E(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    E(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    E(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
    E(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    E(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    E(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    E(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    E(CUDA_ERROR_NO_BINARY_FOR_GPU,
      "no kernel image is available for execution on the device"),
    E(CUDA_ERROR_UNSUPPORTED_LIMIT,
      "limit is not supported on this architecture"),
    E(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"),
    E(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled"),
    E(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
    E(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
      "the provided PTX was compiled with an unsupported toolchain"),
    E(CUDA_ERROR_FILE_NOT_FOUND, "file not found"),
    E(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    E(CUDA_ERROR_ILLEGAL_STATE,
      "the operation cannot be performed in the present state"),
    E(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    E(CUDA_ERROR_NOT_READY, "device not ready"),
    E(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
    E(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
      "too many resources requested for launch"),
    E(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
    E(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
    E(CUDA_ERROR_ASSERT, "device-side assert triggered"),
    E(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
      "part or all of the requested memory range is already mapped"),
    E(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
      "pointer does not correspond to a registered memory region"),
    E(CUDA_ERROR_HARDWARE_STACK_ERROR, "hardware stack error"),
    E(CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered"),
    E(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address"),
    E(CUDA_ERROR_INVALID_ADDRESS_SPACE,
      "operation not supported on global/shared address space"),
    E(CUDA_ERROR_INVALID_PC, "invalid program counter"),
    E(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    E(CUDA_ERROR_INVALID_CLUSTER_SIZE, "invalid cluster size"),
    E(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
      "too many blocks in cooperative launch"),
    E(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
    E(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
    E(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
      "system has unsupported display driver / cuda driver combination"),
    E(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
      "operation not permitted when stream is capturing"),
    E(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
      "operation failed due to a previous error during capture"),
    E(CUDA_ERROR_STREAM_CAPTURE_MERGE,
      "operation would result in a merge of separate capture sequences"),
    E(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
      "capture was not ended in the same stream as it began"),
    E(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work"),
    E(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
      "dependency created on uncaptured work in another stream"),
    E(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
      "operation would make the legacy stream depend on a capturing blocking "
      "stream"),
    E(CUDA_ERROR_CAPTURED_EVENT, "operation not permitted on an event last "
                                 "recorded in a capturing stream"),
    E(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
      "the graph update was not performed because it included changes which "
      "violated constraints specific to instantiated graph update"),
    E(CUDA_ERROR_UNKNOWN, "unknown error"),
};
#undef E

/// The number of a code that a caller may have made up: C lets an enum hold any
/// number, C++ may not even look at one that is no enumerator.
int numberOf(const CUresult &code) {
  int number;
  std::memcpy(&number, &code, sizeof number);
  return number;
}

const ErrorName *find(int code) {
  for (const ErrorName &e : errorNames)
    if (static_cast<int>(e.code) == code)
      return &e;
  return nullptr;
}

/// Which exported symbol a version of the driver API means by a base name.
/// Names that are not listed are exported under one of the usual suffixes.
struct Versioned {
  const char *base;
  int since; // CUDA version
  const char *symbol;
};
const Versioned versioned[] = {
    {"cuGraphInstantiate", 12000, "cuGraphInstantiateWithFlags"},
    {"cuGraphInstantiate", 0, "cuGraphInstantiate_v2"},
    {"cuCtxCreate", 12050, "cuCtxCreate_v4"},
    {"cuCtxCreate", 0, "cuCtxCreate_v2"},
    {"cuGraphAddDependencies", 12030, "cuGraphAddDependencies_v2"},
    {"cuGraphAddDependencies", 0, "cuGraphAddDependencies"},
    {"cuGetProcAddress", 0, "cuGetProcAddress_v2"},
};

void *ownSymbol(const std::string &name) {
  static void *self = [] {
    Dl_info info;
    void *handle = nullptr;
    if (dladdr((void *)&ownSymbol, &info))
      handle = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    return handle;
  }();
  return self ? dlsym(self, name.c_str()) : nullptr;
}

} // namespace

TDS_API cuGetErrorName(CUresult code, const char **name) {
  if (!name)
    return CUDA_ERROR_INVALID_VALUE;
  const ErrorName *e = find(numberOf(code));
  *name = e ? e->name : nullptr;
  return e ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
TDS_API cuGetErrorString(CUresult code, const char **text) {
  if (!text)
    return CUDA_ERROR_INVALID_VALUE;
  const ErrorName *e = find(numberOf(code));
  *text = e ? e->text : nullptr;
  return e ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

#undef cuGetProcAddress
TDS_API cuGetProcAddress_v2(const char *symbol, void **out, int version,
                            cuuint64_t flags,
                            CUdriverProcAddressQueryResult *status) {
  (void)flags;
  if (!symbol || !out)
    return CUDA_ERROR_INVALID_VALUE;
  std::string name = symbol;
  void *p = nullptr;
  // Only driver functions are handed out, not what else the library exports.
  if (name.compare(0, 2, "cu") == 0) {
    bool listed = false;
    for (const Versioned &v : versioned)
      if (name == v.base && !p) {
        listed = true;
        if (version >= v.since)
          p = ownSymbol(v.symbol);
      }
    if (!listed)
      for (const char *suffix : {"_v3", "_v2", ""})
        if (!p)
          p = ownSymbol(name + suffix);
  }
  *out = p;
  if (status)
    *status =
        p ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return p ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
TDS_API cuGetProcAddress(const char *symbol, void **out, int version,
                         cuuint64_t flags) {
  CUresult r = cuGetProcAddress_v2(symbol, out, version, flags, nullptr);
  return r;
}
