//===- Driver.cpp - the check kernels on a GPU or its simulator -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declares the few driver functions it needs itself, so that no CUDA header is
// needed to build.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include <tuple>

using namespace llvm;

namespace tdsl::scalarmath {

using Handle = void *;

struct DeviceKernels::Api {
#define DRIVER_FUNCTIONS(X)                                                    \
  X(init, "cuInit", (unsigned))                                                \
  X(getErrorString, "cuGetErrorString", (int, const char **))                  \
  X(deviceGet, "cuDeviceGet", (int *, int))                                    \
  X(deviceGetAttribute, "cuDeviceGetAttribute", (int *, int, int))             \
  X(primaryCtxRetain, "cuDevicePrimaryCtxRetain", (Handle *, int))             \
  X(ctxPushCurrent, "cuCtxPushCurrent_v2", (Handle))                           \
  X(streamCreate, "cuStreamCreate", (Handle *, unsigned))                      \
  X(streamSynchronize, "cuStreamSynchronize", (Handle))                        \
  X(moduleLoadDataEx, "cuModuleLoadDataEx",                                    \
    (Handle *, const void *, unsigned, int *, void **))                        \
  X(moduleUnload, "cuModuleUnload", (Handle))                                  \
  X(moduleGetFunction, "cuModuleGetFunction",                                  \
    (Handle *, Handle, const char *))                                          \
  X(memAlloc, "cuMemAlloc_v2", (uint64_t *, size_t))                           \
  X(memFree, "cuMemFree_v2", (uint64_t))                                       \
  X(memcpyHtoDAsync, "cuMemcpyHtoDAsync_v2",                                   \
    (uint64_t, const void *, size_t, Handle))                                  \
  X(memcpyDtoHAsync, "cuMemcpyDtoHAsync_v2",                                   \
    (void *, uint64_t, size_t, Handle))                                        \
  X(launchKernel, "cuLaunchKernel",                                            \
    (Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,       \
     unsigned, Handle, void **, void **))
#define MEMBER(NAME, SYMBOL, ARGUMENTS) int(*NAME) ARGUMENTS = nullptr;
  DRIVER_FUNCTIONS(MEMBER)
#undef MEMBER

  Error load(StringRef file) {
    std::string message;
    auto library =
        sys::DynamicLibrary::getPermanentLibrary(file.str().c_str(), &message);
    if (!library.isValid())
      return createStringError("cannot load %s: %s", file.str().c_str(),
                               message.c_str());
#define LOOKUP(NAME, SYMBOL, ARGUMENTS)                                        \
  NAME =                                                                       \
      reinterpret_cast<int(*) ARGUMENTS>(library.getAddressOfSymbol(SYMBOL));  \
  if (!NAME)                                                                   \
    return createStringError("%s has no function " SYMBOL, file.str().c_str());
    DRIVER_FUNCTIONS(LOOKUP)
#undef LOOKUP
    return Error::success();
  }

  Error check(int result, const char *what) const {
    if (!result)
      return Error::success();
    const char *text = nullptr;
    getErrorString(result, &text);
    return createStringError("%s failed: %s (error %d)", what,
                             text ? text : "unknown error", result);
  }
};

DeviceKernels::DeviceKernels() : api(std::make_unique<Api>()) {}

DeviceKernels::~DeviceKernels() {
  for (auto [address, bytes] : buffers)
    if (address)
      api->memFree(address);
  if (module)
    api->moduleUnload(module);
}

Expected<std::unique_ptr<DeviceKernels>>
DeviceKernels::open(StringRef library) {
  std::unique_ptr<DeviceKernels> result(new DeviceKernels());
  if (Error error = result->start(library))
    return error;
  return result;
}

Error DeviceKernels::start(StringRef library) {
  if (Error error = api->load(library))
    return error;
  int device = 0, major = 0, minor = 0;
  Handle context = nullptr;
  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR.
  constexpr int majorAttribute = 75, minorAttribute = 76;
  for (auto [result, what] : {
           std::pair(api->init(0), "starting the driver"),
           std::pair(api->deviceGet(&device, 0), "finding a device"),
           std::pair(api->deviceGetAttribute(&major, majorAttribute, device),
                     "asking for the compute capability"),
           std::pair(api->deviceGetAttribute(&minor, minorAttribute, device),
                     "asking for the compute capability"),
           std::pair(api->primaryCtxRetain(&context, device),
                     "making a context"),
       })
    if (Error error = api->check(result, what))
      return error;
  if (Error error =
          api->check(api->ctxPushCurrent(context), "entering the context"))
    return error;
  if (Error error =
          api->check(api->streamCreate(&stream, 1), "making a stream"))
    return error;
  // PTX for an older chip runs on every newer one.
  chipName = major >= 9 ? "sm_90" : major == 8 ? "sm_80" : "sm_75";
  auto ptx = compileToPtx(chipName);
  if (!ptx)
    return ptx.takeError();
  return api->check(
      api->moduleLoadDataEx(&module, ptx->c_str(), 0, nullptr, nullptr),
      "loading the PTX");
}

Error DeviceKernels::reserve(size_t buffer, size_t bytes) {
  if (buffers.size() <= buffer)
    buffers.resize(buffer + 1);
  auto &[address, held] = buffers[buffer];
  if (held >= bytes)
    return Error::success();
  if (address)
    api->memFree(address);
  address = 0;
  held = 0;
  if (Error error =
          api->check(api->memAlloc(&address, bytes), "allocating memory"))
    return error;
  held = bytes;
  return Error::success();
}

Error DeviceKernels::run(const CheckKernel &kernel, const void *const *inputs,
                         void *output, int64_t n) {
  Handle function = nullptr;
  if (Error error = api->check(
          api->moduleGetFunction(&function, module, kernel.name.c_str()),
          "finding a kernel"))
    return error;
  size_t count = kernel.inputs.size();
  for (size_t i = 0; i < count; ++i) {
    size_t bytes = size_t(n) * bytesOf(kernel.inputs[i]);
    if (Error error = reserve(i, bytes))
      return error;
    if (Error error = api->check(
            api->memcpyHtoDAsync(buffers[i].first, inputs[i], bytes, stream),
            "copying to the device"))
      return error;
  }
  size_t bytes = size_t(n) * bytesOf(kernel.output);
  if (Error error = reserve(count, bytes))
    return error;

  std::vector<void *> parameters;
  for (size_t i = 0; i <= count; ++i)
    parameters.push_back(&buffers[i].first);
  parameters.push_back(&n);
  constexpr unsigned blockSize = 256;
  unsigned blocks = unsigned((n + blockSize - 1) / blockSize);
  if (Error error =
          api->check(api->launchKernel(function, blocks, 1, 1, blockSize, 1, 1,
                                       0, stream, parameters.data(), nullptr),
                     "launching a kernel"))
    return error;
  if (Error error = api->check(
          api->memcpyDtoHAsync(output, buffers[count].first, bytes, stream),
          "copying from the device"))
    return error;
  return api->check(api->streamSynchronize(stream), "running a kernel");
}

} // namespace tdsl::scalarmath
