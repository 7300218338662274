//===- fake_nvml.c - a management library for tests -*- C -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two GPUs; the second does not know its power, as some do not.
//
//===----------------------------------------------------------------------===//

#include <stdio.h>
#include <string.h>

#define API __attribute__((visibility("default")))

static int gpus[2] = {0, 1};

API int nvmlInit_v2(void) { return 0; }
API int nvmlShutdown(void) { return 0; }
API const char *nvmlErrorString(int result) {
  return result == 6 ? "Not Found" : "Not Supported";
}
API int nvmlDeviceGetCount_v2(unsigned *out) {
  *out = 2;
  return 0;
}
API int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out) {
  if (index > 1)
    return 6;
  *out = &gpus[index];
  return 0;
}
API int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **out) {
  if (strcmp(bus, "0000:65:00.0") != 0)
    return 6;
  *out = &gpus[1];
  return 0;
}
API int nvmlDeviceGetName(void *gpu, char *out, unsigned size) {
  snprintf(out, size, "Test GPU %d", *(int *)gpu);
  return 0;
}
struct Pci {
  char legacy[16];
  unsigned domain, bus, device, ids[2];
  char id[32];
};
API int nvmlDeviceGetPciInfo_v3(void *gpu, struct Pci *out) {
  memset(out, 0, sizeof *out);
  snprintf(out->id, sizeof out->id, "00000000:%d:00.0", *(int *)gpu ? 65 : 17);
  return 0;
}
struct Utilization {
  unsigned gpu, memory;
};
API int nvmlDeviceGetUtilizationRates(void *gpu, struct Utilization *out) {
  out->gpu = *(int *)gpu ? 75 : 0;
  out->memory = 20;
  return 0;
}
struct Memory {
  unsigned long long total, free, used;
};
API int nvmlDeviceGetMemoryInfo(void *gpu, struct Memory *out) {
  (void)gpu;
  out->total = 8ull << 30;
  out->used = 3ull << 30;
  out->free = out->total - out->used;
  return 0;
}
API int nvmlDeviceGetTemperature(void *gpu, int sensor, unsigned *out) {
  (void)gpu;
  *out = sensor == 0 ? 54 : 0;
  return 0;
}
API int nvmlDeviceGetPowerUsage(void *gpu, unsigned *out) {
  *out = 123500;
  return *(int *)gpu ? 3 : 0;
}
