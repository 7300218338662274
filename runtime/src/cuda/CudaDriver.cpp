//===- CudaDriver.cpp - the CUDA driver, loaded when it is there -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cuda/CudaDriver.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>
#include <vector>

namespace tdsrt {

std::shared_ptr<CudaDriver> CudaDriver::shared() {
  static std::shared_ptr<CudaDriver> driver = [] {
    const char *path = std::getenv("TDS_CUDA_DRIVER");
    return open(path && *path ? path : "libcuda.so.1");
  }();
  return driver;
}

std::shared_ptr<CudaDriver> CudaDriver::open(const std::string &path) {
  return open(path, "");
}

/// Where the simulator is looked for: where TDS_CUDA_DRIVER points, beside the
/// library of this code, beside the program, and by name.
static std::vector<std::string> simulatorPaths() {
  constexpr char name[] = "libtds_cudasim.so";
  std::vector<std::string> paths;
  const char *given = std::getenv("TDS_CUDA_DRIVER");
  if (given && std::strstr(given, name))
    paths.push_back(given);
  auto folderOf = [](std::string path) {
    size_t slash = path.rfind('/');
    return slash == std::string::npos ? std::string(".")
                                      : path.substr(0, slash);
  };
  Dl_info self;
  if (dladdr(reinterpret_cast<void *>(&simulatorPaths), &self) &&
      self.dli_fname)
    paths.push_back(folderOf(self.dli_fname) + '/' + name);
  char program[4096];
  ssize_t length = readlink("/proc/self/exe", program, sizeof program);
  if (length > 0)
    paths.push_back(
        folderOf(std::string(program, static_cast<size_t>(length))) +
        "/../lib/" + name);
  paths.push_back(name);
  return paths;
}

std::shared_ptr<CudaDriver> CudaDriver::simulator(const std::string &arch) {
  // One a process: the look-alike is initialised once. A later wish for
  // another architecture is answered by it with an error.
  for (const std::string &path : simulatorPaths())
    if (path.find('/') == std::string::npos || access(path.c_str(), R_OK) == 0)
      return open(path, arch.empty() ? "default" : arch);
  return nullptr;
}

std::shared_ptr<CudaDriver> CudaDriver::open(const std::string &path,
                                             const std::string &simulatedArch) {
  auto driver = std::make_shared<CudaDriver>();
  driver->libraryPath = path;
  // Never closed: drivers do not support being unloaded.
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *error = dlerror();
    driver->unusableReason =
        cat(simulatedArch.empty() ? "no CUDA driver (" : "no simulator (",
            printable(error ? error : path, 200), ")");
    return driver;
  }
  if (!simulatedArch.empty()) {
    auto setArch = reinterpret_cast<int (*)(const char *)>(
        dlsym(library, "tdsSimSetArch"));
    if (!setArch) {
      driver->unusableReason =
          cat(printable(path, 200), " is not the simulator of this version");
      return driver;
    }
    if (simulatedArch != "default" && !setArch(simulatedArch.c_str())) {
      driver->unusableReason =
          cat("the simulator cannot be ", printable(simulatedArch, 20),
              "; write sim:sm_50 to sim:sm_90a, and one architecture a "
              "process");
      return driver;
    }
  }
  std::string missing;
#define TDS_RESOLVE(field, symbol, parameters)                                 \
  driver->call.field =                                                         \
      reinterpret_cast<CUresult(*) parameters>(dlsym(library, symbol));        \
  if (!driver->call.field && missing.empty())                                  \
    missing = symbol;
  TDS_CUDA_FUNCTIONS(TDS_RESOLVE)
#undef TDS_RESOLVE
  // A group of which a function is missing is not there.
  bool whole = true;
  auto resolve = [&](const char *symbol) {
    void *found = dlsym(library, symbol);
    whole &= found != nullptr;
    return found;
  };
#define TDS_RESOLVE(field, symbol, parameters)                                 \
  driver->call.field =                                                         \
      reinterpret_cast<CUresult(*) parameters>(resolve(symbol));
  TDS_CUDA_POOL_FUNCTIONS(TDS_RESOLVE)
  if (!whole)
    driver->call.memAllocAsync = nullptr;
  whole = true;
  TDS_CUDA_GRAPH_FUNCTIONS(TDS_RESOLVE)
#undef TDS_RESOLVE
  // Before CUDA 12 the node's structure was shorter and its function had no
  // suffix.
  if (!driver->call.graphAddKernel) {
    driver->call.graphAddKernel =
        reinterpret_cast<decltype(driver->call.graphAddKernel)>(
            dlsym(library, "cuGraphAddKernelNode"));
    whole = driver->call.graphAddKernel && driver->call.graphCreate &&
            driver->call.graphDestroy && driver->call.graphAddCopy &&
            driver->call.graphAddFill && driver->call.graphInstantiate &&
            driver->call.graphExecDestroy && driver->call.graphExecSetCopy;
  }
  if (!whole)
    driver->call.graphLaunch = nullptr;
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
