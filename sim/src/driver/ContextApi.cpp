//===- ContextApi.cpp - devices and contexts --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "driver/Driver.h"

#include <algorithm>
#include <cstring>

using namespace tds::sim;

namespace tds::sim {

/// A context with its default stream. The mutex is held.
Context *makeContext(Driver &driver, Device &device, unsigned flags) {
  auto *context = new Context;
  context->device = &device;
  context->flags = flags;
  context->legacy = std::make_unique<Stream>();
  context->legacy->context = context;
  context->legacy->isLegacy = true;
  driver.contexts.insert(context);
  return context;
}

/// Waits for the context's work, then frees all that belongs to it.
void destroyContext(Entry &entry, Context *context) {
  Driver &driver = entry.driver;
  driver.drainContext(entry.lock, *context);
  if (!driver.contexts.count(context))
    return;
  for (const auto &allocation : context->allocations)
    context->device->memory->release(allocation.first);
  for (Stream *s : context->streams) {
    driver.streams.erase(s);
    delete s;
  }
  for (ModuleState *m : context->modules) {
    for (auto &f : m->functions)
      driver.functions.erase(f.second.get());
    for (const auto &g : m->program->globals)
      context->device->memory->release(g.address);
    driver.modules.erase(m);
    delete m;
  }
  for (auto it = driver.events.begin(); it != driver.events.end();) {
    EventState *e = *it;
    if (e->context == context) {
      it = driver.events.erase(it);
      delete e;
    } else {
      ++it;
    }
  }
  for (Context *other : driver.contexts)
    other->peers.erase(context);
  driver.contexts.erase(context);
  auto &stack = contextStack();
  stack.erase(std::remove(stack.begin(), stack.end(), context), stack.end());
  delete context;
}

} // namespace tds::sim

namespace {

Device *deviceOf(Driver &driver, CUdevice d) {
  return d >= 0 && (size_t)d < driver.devices.size() ? driver.devices[d].get()
                                                     : nullptr;
}

#define TDS_DEVICE(var, ordinal)                                               \
  Device *var = deviceOf(entry.driver, ordinal);                               \
  if (!var)                                                                    \
  return CUDA_ERROR_INVALID_DEVICE

int attribute(const Settings &set, CUdevice_attribute a, bool &known) {
  known = true;
  bool hopper = set.sm >= 90, ampere = set.sm >= 80;
  switch (a) {
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    return 1024;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    return 1024;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
    return 1024;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
    return 64;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
    return 2147483647;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    return 65535;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
    return 65535;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
    return 49152;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    return (int)tds::sim::maxDynamicShared(set.sm);
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
    return (int)tds::sim::maxDynamicShared(set.sm) + 1024;
  case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
    return ampere ? 1024 : 0;
  case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
    return 65536;
  case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
    return 32;
  case CU_DEVICE_ATTRIBUTE_MAX_PITCH:
    return 2147483647;
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
    return 65536;
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
    return 65536;
  case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
    return 1755000;
  case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
    return 2619000;
  case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
    return 5120;
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
    return 50 << 20;
  case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
    return 512;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    return hopper ? 132 : ampere ? 108 : 80;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
    return set.sm == 75 ? 1024 : 2048;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
    return 32;
  case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
    return 1;
  case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
    return 3;
  case CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT:
    return 0;
  case CU_DEVICE_ATTRIBUTE_INTEGRATED:
    return 0;
  case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    return 1;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE:
    return 0;
  case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    return 1;
  case CU_DEVICE_ATTRIBUTE_ECC_ENABLED:
    return 1;
  case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
    return 1;
  case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
    return 0;
  case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
    return 0;
  case CU_DEVICE_ATTRIBUTE_TCC_DRIVER:
    return 0;
  case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    return 1;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    return (int)set.sm / 10;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    return (int)set.sm % 10;
  case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
    return 1;
  case CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED:
    return 1;
  case CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED:
    return 1;
  case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
    return 0;
  case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
    return 0;
  case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS:
    return 0;
  case CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED:
    return 0;
  case CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD:
    return 0;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
    return 1;
  case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    return 1;
  case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
    return 1;
  case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
    return 1;
  case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    return 1;
  case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    return 0;
  case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
  case CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED:
    return hopper;
  default:
    known = false;
    return 0;
  }
}

} // namespace

TDS_API cuInit(unsigned flags) {
  if (flags)
    return CUDA_ERROR_INVALID_VALUE;
  return Driver::get().initialise();
}
TDS_API cuDriverGetVersion(int *version) {
  if (!version)
    return CUDA_ERROR_INVALID_VALUE;
  Driver &d = Driver::get();
  *version = d.initialised() ? d.settings().driverVersion
                             : readSettings().driverVersion;
  return CUDA_SUCCESS;
}
TDS_API cuDeviceGetCount(int *count) {
  TDS_ENTER(false);
  if (!count)
    return CUDA_ERROR_INVALID_VALUE;
  *count = (int)entry.driver.devices.size();
  return CUDA_SUCCESS;
}
TDS_API cuDeviceGet(CUdevice *device, int ordinal) {
  TDS_ENTER(false);
  if (!device)
    return CUDA_ERROR_INVALID_VALUE;
  TDS_DEVICE(d, ordinal);
  (void)d;
  *device = ordinal;
  return CUDA_SUCCESS;
}
TDS_API cuDeviceGetName(char *name, int length, CUdevice device) {
  TDS_ENTER(false);
  TDS_DEVICE(d, device);
  (void)d;
  if (!name || length <= 0)
    return CUDA_ERROR_INVALID_VALUE;
  const Settings &s = entry.driver.settings();
  snprintf(name, (size_t)length, "TDS simulated sm_%u%s", s.sm,
           s.smSuffix ? "a" : "");
  return CUDA_SUCCESS;
}
TDS_API cuDeviceGetUuid(CUuuid *uuid, CUdevice device) {
  TDS_ENTER(false);
  TDS_DEVICE(d, device);
  if (!uuid)
    return CUDA_ERROR_INVALID_VALUE;
  memset(uuid, 0, sizeof *uuid);
  memcpy(uuid->bytes, "tds-cudasim", 11);
  uuid->bytes[15] = (char)d->ordinal;
  return CUDA_SUCCESS;
}
TDS_API cuDeviceTotalMem(size_t *bytes, CUdevice device) {
  TDS_ENTER(false);
  TDS_DEVICE(d, device);
  if (!bytes)
    return CUDA_ERROR_INVALID_VALUE;
  *bytes = d->memory->totalBytes();
  return CUDA_SUCCESS;
}
TDS_API cuDeviceGetAttribute(int *value, CUdevice_attribute a,
                             CUdevice device) {
  TDS_ENTER(false);
  TDS_DEVICE(d, device);
  (void)d;
  if (!value)
    return CUDA_ERROR_INVALID_VALUE;
  bool known;
  int v = attribute(entry.driver.settings(), a, known);
  // What the simulator does not know it does not have; the real driver
  // answers 0 there too.
  if (!known && ((int)a < 1 || (int)a >= CU_DEVICE_ATTRIBUTE_MAX))
    return CUDA_ERROR_INVALID_VALUE;
  if (a == CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)
    v = device;
  *value = v;
  return CUDA_SUCCESS;
}
TDS_API cuDeviceComputeCapability(int *major, int *minor, CUdevice device) {
  TDS_ENTER(false);
  TDS_DEVICE(d, device);
  (void)d;
  if (!major || !minor)
    return CUDA_ERROR_INVALID_VALUE;
  *major = (int)entry.driver.settings().sm / 10;
  *minor = (int)entry.driver.settings().sm % 10;
  return CUDA_SUCCESS;
}
TDS_API cuDeviceGetPCIBusId(char *text, int length, CUdevice device) {
  TDS_ENTER(false);
  TDS_DEVICE(d, device);
  (void)d;
  if (!text || length <= 0)
    return CUDA_ERROR_INVALID_VALUE;
  snprintf(text, (size_t)length, "0000:01:%02x.0", device);
  return CUDA_SUCCESS;
}
TDS_API cuDeviceCanAccessPeer(int *can, CUdevice a, CUdevice b) {
  TDS_ENTER(false);
  TDS_DEVICE(da, a);
  TDS_DEVICE(db, b);
  if (!can)
    return CUDA_ERROR_INVALID_VALUE;
  *can = da != db;
  return CUDA_SUCCESS;
}

TDS_API cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device) {
  TDS_ENTER(false);
  TDS_DEVICE(d, device);
  if (!out)
    return CUDA_ERROR_INVALID_VALUE;
  if (!d->primary) {
    d->primary = makeContext(entry.driver, *d, d->primaryFlags);
    d->primary->isPrimary = true;
  }
  ++d->primaryCount;
  *out = (CUcontext)d->primary;
  return CUDA_SUCCESS;
}
TDS_API cuDevicePrimaryCtxRelease(CUdevice device) {
  TDS_ENTER(false);
  TDS_DEVICE(d, device);
  if (!d->primaryCount)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (--d->primaryCount == 0) {
    Context *c = d->primary;
    destroyContext(entry, c);
    if (d->primary == c)
      d->primary = nullptr;
  }
  return CUDA_SUCCESS;
}
TDS_API cuDevicePrimaryCtxReset(CUdevice device) {
  TDS_ENTER(false);
  TDS_DEVICE(d, device);
  if (Context *c = d->primary) {
    destroyContext(entry, c);
    d->primary = nullptr;
    d->primaryCount = 0;
  }
  return CUDA_SUCCESS;
}
TDS_API cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags,
                                   int *active) {
  TDS_ENTER(false);
  TDS_DEVICE(d, device);
  if (!flags || !active)
    return CUDA_ERROR_INVALID_VALUE;
  *flags = d->primary ? d->primary->flags : d->primaryFlags;
  *active = d->primary != nullptr;
  return CUDA_SUCCESS;
}
TDS_API cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
  TDS_ENTER(false);
  TDS_DEVICE(d, device);
  d->primaryFlags = flags;
  if (d->primary)
    d->primary->flags = flags;
  return CUDA_SUCCESS;
}

static CUresult createContext(CUcontext *out, unsigned flags, CUdevice device) {
  TDS_ENTER(false);
  TDS_DEVICE(d, device);
  if (!out)
    return CUDA_ERROR_INVALID_VALUE;
  Context *c = makeContext(entry.driver, *d, flags);
  contextStack().push_back(c);
  *out = (CUcontext)c;
  return CUDA_SUCCESS;
}
#undef cuCtxCreate
TDS_API cuCtxCreate_v2(CUcontext *out, unsigned flags, CUdevice device) {
  return createContext(out, flags, device);
}
TDS_API cuCtxCreate_v4(CUcontext *out, CUctxCreateParams *params,
                       unsigned flags, CUdevice device) {
  if (params && (params->numExecAffinityParams || params->cigParams))
    return CUDA_ERROR_NOT_SUPPORTED;
  return createContext(out, flags, device);
}
TDS_API cuCtxDestroy(CUcontext handle) {
  TDS_ENTER(false);
  auto *c = (Context *)handle;
  if (!entry.driver.contexts.count(c) || c->isPrimary)
    return CUDA_ERROR_INVALID_CONTEXT;
  destroyContext(entry, c);
  return CUDA_SUCCESS;
}
TDS_API cuCtxSetCurrent(CUcontext handle) {
  TDS_ENTER(false);
  auto &stack = contextStack();
  if (!handle) {
    if (!stack.empty())
      stack.pop_back();
    return CUDA_SUCCESS;
  }
  if (!entry.driver.contexts.count((Context *)handle))
    return CUDA_ERROR_INVALID_CONTEXT;
  if (stack.empty())
    stack.push_back((Context *)handle);
  else
    stack.back() = (Context *)handle;
  return CUDA_SUCCESS;
}
TDS_API cuCtxGetCurrent(CUcontext *out) {
  TDS_ENTER(false);
  if (!out)
    return CUDA_ERROR_INVALID_VALUE;
  *out = (CUcontext)entry.context;
  return CUDA_SUCCESS;
}
TDS_API cuCtxPushCurrent(CUcontext handle) {
  TDS_ENTER(false);
  if (!entry.driver.contexts.count((Context *)handle))
    return CUDA_ERROR_INVALID_CONTEXT;
  contextStack().push_back((Context *)handle);
  return CUDA_SUCCESS;
}
TDS_API cuCtxPopCurrent(CUcontext *out) {
  TDS_ENTER(false);
  auto &stack = contextStack();
  if (stack.empty())
    return CUDA_ERROR_INVALID_CONTEXT;
  if (out)
    *out = (CUcontext)stack.back();
  stack.pop_back();
  return CUDA_SUCCESS;
}
TDS_API cuCtxGetDevice(CUdevice *device) {
  TDS_ENTER(false);
  if (!device)
    return CUDA_ERROR_INVALID_VALUE;
  if (!entry.context)
    return CUDA_ERROR_INVALID_CONTEXT;
  *device = entry.context->device->ordinal;
  return CUDA_SUCCESS;
}
TDS_API cuCtxGetFlags(unsigned *flags) {
  TDS_ENTER(false);
  if (!flags)
    return CUDA_ERROR_INVALID_VALUE;
  if (!entry.context)
    return CUDA_ERROR_INVALID_CONTEXT;
  *flags = entry.context->flags;
  return CUDA_SUCCESS;
}
TDS_API cuCtxGetApiVersion(CUcontext handle, unsigned *version) {
  TDS_ENTER(false);
  if (!version)
    return CUDA_ERROR_INVALID_VALUE;
  if (handle && !entry.driver.contexts.count((Context *)handle))
    return CUDA_ERROR_INVALID_CONTEXT;
  *version = 3020;
  return CUDA_SUCCESS;
}
TDS_API cuCtxGetId(CUcontext handle, unsigned long long *id) {
  TDS_ENTER(false);
  Context *c = handle ? (Context *)handle : entry.context;
  if (!id)
    return CUDA_ERROR_INVALID_VALUE;
  if (!c || !entry.driver.contexts.count(c))
    return CUDA_ERROR_INVALID_CONTEXT;
  *id = (unsigned long long)c;
  return CUDA_SUCCESS;
}
TDS_API cuCtxSynchronize(void) {
  TDS_ENTER(true);
  return entry.driver.drainContext(entry.lock, *entry.context);
}
TDS_API cuCtxSetLimit(CUlimit limit, size_t value) {
  TDS_ENTER(true);
  if ((unsigned)limit >= 16)
    return CUDA_ERROR_UNSUPPORTED_LIMIT;
  entry.context->limits[limit] = value;
  return CUDA_SUCCESS;
}
TDS_API cuCtxGetLimit(size_t *value, CUlimit limit) {
  TDS_ENTER(true);
  if (!value)
    return CUDA_ERROR_INVALID_VALUE;
  if ((unsigned)limit >= 16)
    return CUDA_ERROR_UNSUPPORTED_LIMIT;
  *value = entry.context->limits[limit];
  return CUDA_SUCCESS;
}
TDS_API cuCtxGetCacheConfig(CUfunc_cache *config) {
  TDS_ENTER(true);
  if (!config)
    return CUDA_ERROR_INVALID_VALUE;
  *config = CU_FUNC_CACHE_PREFER_NONE;
  return CUDA_SUCCESS;
}
TDS_API cuCtxSetCacheConfig(CUfunc_cache) {
  TDS_ENTER(true);
  return CUDA_SUCCESS;
}
TDS_API cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  TDS_ENTER(true);
  if (least)
    *least = 0;
  if (greatest)
    *greatest = -5;
  return CUDA_SUCCESS;
}
TDS_API cuCtxEnablePeerAccess(CUcontext handle, unsigned flags) {
  TDS_ENTER(true);
  auto *peer = (Context *)handle;
  if (flags || !entry.driver.contexts.count(peer))
    return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CONTEXT;
  if (peer->device == entry.context->device)
    return CUDA_ERROR_INVALID_DEVICE;
  if (!entry.context->peers.insert(peer).second)
    return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  entry.context->device->memory->addPeer(peer->device->memory.get());
  return CUDA_SUCCESS;
}
TDS_API cuCtxDisablePeerAccess(CUcontext handle) {
  TDS_ENTER(true);
  auto *peer = (Context *)handle;
  if (!entry.context->peers.erase(peer))
    return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
  entry.context->device->memory->removePeer(peer->device->memory.get());
  return CUDA_SUCCESS;
}
