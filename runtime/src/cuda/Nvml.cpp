//===- Nvml.cpp - readings of GPUs ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cuda/Nvml.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace tdsrt {

// The library's binary interface, as far as it is used here (NVML reference
// manual, "Device Queries").
namespace {
using Handle = void *;
struct Utilization {
  unsigned gpu, memory; // percent
};
struct Memory {
  unsigned long long total, free, used; // bytes
};
struct PciInfo { // nvmlPciInfo_t, version 3
  char busIdLegacy[16];
  unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
  char busId[32];
};
constexpr unsigned temperatureOfGpu = 0;
} // namespace

struct Nvml::Functions {
  int (*init)();
  int (*shutdown)();
  const char *(*errorString)(int);
  int (*deviceCount)(unsigned *);
  int (*handleByIndex)(unsigned, Handle *);
  int (*handleByBusId)(const char *, Handle *);
  int (*deviceName)(Handle, char *, unsigned);
  int (*pciInfo)(Handle, PciInfo *);
  int (*utilization)(Handle, Utilization *);
  int (*memory)(Handle, Memory *);
  int (*temperature)(Handle, unsigned, unsigned *);
  int (*power)(Handle, unsigned *); // milliwatts
};

const Nvml &Nvml::shared() {
  static const Nvml library([] {
    const char *path = std::getenv("TDS_NVML");
    return std::string(path && *path ? path : "libnvidia-ml.so.1");
  }());
  return library;
}

Nvml::Nvml(const std::string &path) : call(std::make_unique<Functions>()) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *error = dlerror();
    unusableReason = cat("no NVML (", printable(error ? error : path, 200),
                         "); it comes with the NVIDIA driver");
    return;
  }
  auto resolve = [&](auto &function, const char *symbol) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(
        dlsym(library, symbol));
    if (!function && unusableReason.empty())
      unusableReason =
          cat("the library ", printable(path, 200), " has no function '",
              symbol, "'; it is too old or not NVML");
  };
  resolve(call->init, "nvmlInit_v2");
  resolve(call->shutdown, "nvmlShutdown");
  resolve(call->errorString, "nvmlErrorString");
  resolve(call->deviceCount, "nvmlDeviceGetCount_v2");
  resolve(call->handleByIndex, "nvmlDeviceGetHandleByIndex_v2");
  resolve(call->handleByBusId, "nvmlDeviceGetHandleByPciBusId_v2");
  resolve(call->deviceName, "nvmlDeviceGetName");
  resolve(call->pciInfo, "nvmlDeviceGetPciInfo_v3");
  resolve(call->utilization, "nvmlDeviceGetUtilizationRates");
  resolve(call->memory, "nvmlDeviceGetMemoryInfo");
  resolve(call->temperature, "nvmlDeviceGetTemperature");
  resolve(call->power, "nvmlDeviceGetPowerUsage");
  if (!unusableReason.empty())
    return;
  int result = call->init();
  if (result == 0)
    return;
  const char *text = call->errorString(result);
  unusableReason = cat("NVML does not start (",
                       printable(text ? text : "no reason given", 200), ")");
}

Nvml::~Nvml() {
  if (unusableReason.empty())
    call->shutdown();
}

void Nvml::needUsable() const {
  if (!unusableReason.empty())
    fail(TDS_UNAVAILABLE, "there are no readings: ", unusableReason);
}

void Nvml::check(int result, const char *what) const {
  if (result == 0)
    return;
  const char *text = call->errorString(result);
  fail(TDS_DEVICE_ERROR, what,
       " failed (NVML: ", printable(text ? text : "no reason given", 200),
       "); nvidia-smi may say more");
}

size_t Nvml::count() const {
  needUsable();
  unsigned count = 0;
  check(call->deviceCount(&count), "counting the GPUs");
  return count;
}

tds_gpu_readings Nvml::read(size_t index) const {
  needUsable();
  Handle device = nullptr;
  check(call->handleByIndex(static_cast<unsigned>(index), &device),
        "finding a GPU");
  return readHandle(device);
}

tds_gpu_readings Nvml::read(const std::string &pciBusId) const {
  needUsable();
  Handle device = nullptr;
  check(call->handleByBusId(pciBusId.c_str(), &device), "finding a GPU");
  return readHandle(device);
}

tds_gpu_readings Nvml::readHandle(Handle device) const {
  tds_gpu_readings out{};
  check(call->deviceName(device, out.name, sizeof out.name - 1),
        "asking a GPU for its name");
  PciInfo pci{};
  check(call->pciInfo(device, &pci), "asking a GPU for its place");
  std::memcpy(out.pci_bus_id, pci.busId, sizeof out.pci_bus_id - 1);
  // What a GPU does not measure is an error of that reading alone.
  Utilization utilization{};
  bool has = call->utilization(device, &utilization) == 0;
  out.gpu_utilization = has ? utilization.gpu / 100.0 : -1;
  out.memory_utilization = has ? utilization.memory / 100.0 : -1;
  Memory memory{};
  has = call->memory(device, &memory) == 0;
  out.memory_used = has ? double(memory.used) : -1;
  out.memory_total = has ? double(memory.total) : -1;
  unsigned value = 0;
  has = call->temperature(device, temperatureOfGpu, &value) == 0;
  out.temperature = has ? value : -1;
  has = call->power(device, &value) == 0;
  out.power = has ? value * 1e-3 : -1;
  return out;
}

} // namespace tdsrt
