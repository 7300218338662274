//===- MeasuringDriver.cpp - a driver that counts what it allocates -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A shared library that is linked to the simulated driver and has its own
// functions for device memory: they count the bytes and pass the call on.
// Everything else the runtime finds in the simulated driver behind it.
//
//===----------------------------------------------------------------------===//

#include <cstddef>
#include <dlfcn.h>

namespace {
size_t allocated = 0;

template <typename Function> Function findNext(const char *name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}
} // namespace

/// The driver spells the types of its own functions; a checker of the types of
/// called functions finds these others.
#define TDS_CALLS_A_DRIVER __attribute__((no_sanitize("undefined")))

extern "C" {
__attribute__((visibility("default"))) size_t tdsMeasuredBytes() {
  return allocated;
}

__attribute__((visibility("default"))) TDS_CALLS_A_DRIVER int
cuMemAlloc_v2(unsigned long long *address, size_t bytes) {
  allocated += bytes;
  return findNext<int (*)(unsigned long long *, size_t)>("cuMemAlloc_v2")(
      address, bytes);
}

__attribute__((visibility("default"))) TDS_CALLS_A_DRIVER int
cuMemAllocAsync(unsigned long long *address, size_t bytes, void *stream) {
  allocated += bytes;
  return findNext<int (*)(unsigned long long *, size_t, void *)>(
      "cuMemAllocAsync")(address, bytes, stream);
}
}
