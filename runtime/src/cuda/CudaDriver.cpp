//===- CudaDriver.cpp - the CUDA driver, loaded when it is there -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cuda/CudaDriver.h"

#include <cstdlib>
#include <dlfcn.h>

namespace tdsrt {

std::shared_ptr<CudaDriver> CudaDriver::shared() {
  static std::shared_ptr<CudaDriver> driver = [] {
    const char *path = std::getenv("TDS_CUDA_DRIVER");
    return open(path && *path ? path : "libcuda.so.1");
  }();
  return driver;
}

std::shared_ptr<CudaDriver> CudaDriver::open(const std::string &path) {
  auto driver = std::make_shared<CudaDriver>();
  driver->libraryPath = path;
  // Never closed: drivers do not support being unloaded.
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *error = dlerror();
    driver->unusableReason =
        cat("no CUDA driver (", printable(error ? error : path, 200), ")");
    return driver;
  }
  std::string missing;
#define TDS_RESOLVE(field, symbol, parameters)                                 \
  driver->call.field =                                                         \
      reinterpret_cast<CUresult(*) parameters>(dlsym(library, symbol));        \
  if (!driver->call.field && missing.empty())                                  \
    missing = symbol;
  TDS_CUDA_FUNCTIONS(TDS_RESOLVE)
#undef TDS_RESOLVE
  if (!missing.empty()) {
    driver->unusableReason =
        cat("the CUDA driver ", printable(path, 200), " has no function '",
            missing, "'; it is too old or not a CUDA driver");
    return driver;
  }
  driver->initialize();
  return driver;
}

std::shared_ptr<CudaDriver>
CudaDriver::fromSymbols(const CudaSymbols &symbols) {
  auto driver = std::make_shared<CudaDriver>();
  driver->libraryPath = "given table";
  driver->call = symbols;
  driver->initialize();
  return driver;
}

void CudaDriver::initialize() {
  CUresult result = call.init(0);
  int count = 0;
  if (result == 0)
    result = call.driverGetVersion(&driverVersion);
  if (result == 0)
    result = call.deviceGetCount(&count);
  if (result == cudaErrorNoDevice || (result == 0 && count <= 0)) {
    unusableReason = "the CUDA driver is there, but it sees no GPU (check "
                     "nvidia-smi and CUDA_VISIBLE_DEVICES)";
    return;
  }
  if (result != 0) {
    unusableReason =
        cat("the CUDA driver does not start (", errorText(result), ")");
    return;
  }
  devices = static_cast<unsigned>(count);
}

std::string CudaDriver::describe() const {
  if (!usable())
    return cat("unavailable: ", unusableReason);
  return cat("CUDA ", cudaVersionText(driverVersion), " (", libraryPath, "), ",
             devices, devices == 1 ? " device" : " devices");
}

std::string CudaDriver::errorText(CUresult result) const {
  const char *name = nullptr, *text = nullptr;
  if (call.getErrorName && call.getErrorName(result, &name) != 0)
    name = nullptr;
  if (call.getErrorString && call.getErrorString(result, &text) != 0)
    text = nullptr;
  std::string out = name ? name : cat("CUDA error ", result);
  if (text)
    out += cat(": ", text);
  return out;
}

void CudaDriver::check(CUresult result, const std::string &what) const {
  if (result == 0)
    return;
  if (result == cudaErrorOutOfMemory)
    fail(TDS_OUT_OF_MEMORY, what, ": the GPU has too little free memory (",
         errorText(result), "); use a smaller batch or free the GPU");
  fail(TDS_DEVICE_ERROR, what, " failed (", errorText(result),
       "); reload the module, and if it happens again, report it");
}

std::string cudaVersionText(uint64_t version) {
  return cat(version / 1000, '.', version % 1000 / 10);
}

unsigned ptxIsaOfDriver(int version) {
  int major = version / 1000, minor = version % 1000 / 10;
  switch (major) {
  case 9:
    return 60 + minor;
  case 10:
    return 63 + minor;
  case 11:
    return 70 + minor;
  case 12: {
    // 12.5 and 12.6 share one ISA; from there on they differ by one.
    static const unsigned ofMinor[] = {80, 81, 82, 83, 84, 85, 85, 86, 87, 88};
    return ofMinor[minor > 9 ? 9 : minor];
  }
  default:
    return major < 9 ? 50 : static_cast<unsigned>((major - 4) * 10 + minor);
  }
}

} // namespace tdsrt
