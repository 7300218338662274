//===- MemoryApi.cpp - allocation, copies, fills ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies from pageable host memory take their source at once, as the driver's
// staging does; copies from pinned memory read it when they run, so that a
// staging buffer that is overwritten too early shows.
//
//===----------------------------------------------------------------------===//

#include "driver/Driver.h"

#include <algorithm>
#include <cstring>

#include <sys/mman.h>

using namespace tds::sim;

namespace tds::sim {

DeviceMemory *memoryOf(Driver &driver, CUdeviceptr p) {
  for (auto &d : driver.devices)
    if (d->memory->owns(p))
      return d->memory.get();
  return nullptr;
}

bool rangeIsValid(Driver &driver, CUdeviceptr p, size_t bytes) {
  if (DeviceMemory *m = memoryOf(driver, p))
    return m->contains(p, bytes);
  Extent e;
  return DeviceMemory::findHost(p, e) && bytes <= e.hi - p;
}

namespace {

/// The host's view of one side of a copy, or null where it is not mapped.
u8 *sideOf(Driver &driver, CUdeviceptr p, size_t bytes, u8 **init) {
  *init = nullptr;
  if (DeviceMemory *m = memoryOf(driver, p)) {
    if (!m->contains(p, bytes))
      return nullptr;
    *init = m->initShadow(p);
    return m->alias(p);
  }
  Extent e;
  if (DeviceMemory::findHost(p, e) && bytes <= e.hi - p)
    return (u8 *)p;
  return nullptr;
}

bool isPinned(const void *p) {
  Extent e;
  return DeviceMemory::findHost((u64)p, e);
}

} // namespace

CUresult performCopy(Driver &driver, const CUDA_MEMCPY3D &c) {
  size_t sp = c.srcPitch ? c.srcPitch : c.WidthInBytes;
  size_t dp = c.dstPitch ? c.dstPitch : c.WidthInBytes;
  size_t sh = c.srcHeight ? c.srcHeight : c.Height;
  size_t dh = c.dstHeight ? c.dstHeight : c.Height;
  for (size_t z = 0; z < c.Depth; ++z)
    for (size_t y = 0; y < c.Height; ++y) {
      size_t so = c.srcXInBytes + ((z + c.srcZ) * sh + y + c.srcY) * sp;
      size_t dof = c.dstXInBytes + ((z + c.dstZ) * dh + y + c.dstY) * dp;
      u8 *sInit = nullptr, *dInit = nullptr;
      u8 *s = c.srcMemoryType == CU_MEMORYTYPE_HOST
                  ? (u8 *)c.srcHost + so
                  : sideOf(driver, c.srcDevice + so, c.WidthInBytes, &sInit);
      u8 *d = c.dstMemoryType == CU_MEMORYTYPE_HOST
                  ? (u8 *)c.dstHost + dof
                  : sideOf(driver, c.dstDevice + dof, c.WidthInBytes, &dInit);
      if (!s || !d)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
      memmove(d, s, c.WidthInBytes);
      if (dInit && sInit)
        memmove(dInit, sInit, c.WidthInBytes);
      else if (dInit)
        memset(dInit, 1, c.WidthInBytes);
    }
  u64 bytes = (u64)c.WidthInBytes * c.Height * c.Depth;
  logTraffic("copy", c.srcMemoryType == CU_MEMORYTYPE_HOST ? 0 : bytes,
             c.dstMemoryType == CU_MEMORYTYPE_HOST ? 0 : bytes);
  return CUDA_SUCCESS;
}

CUresult performSet(Driver &driver, const CUDA_MEMSET_NODE_PARAMS &p) {
  for (size_t y = 0; y < p.height; ++y) {
    u8 *init;
    size_t bytes = p.width * p.elementSize;
    u8 *d = sideOf(driver, p.dst + y * p.pitch, bytes, &init);
    if (!d)
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    if (p.elementSize == 1) {
      memset(d, (int)p.value, bytes);
    } else if (p.elementSize == 2) {
      for (size_t i = 0; i < p.width; ++i)
        ((u16 *)d)[i] = (u16)p.value;
    } else {
      for (size_t i = 0; i < p.width; ++i)
        ((u32 *)d)[i] = p.value;
    }
    if (init)
      memset(init, 1, bytes);
  }
  logTraffic("set", 0, (u64)p.width * p.elementSize * p.height);
  return CUDA_SUCCESS;
}

/// Queues or captures a copy. `wait`: the call returns when it is done.
static CUresult submitCopy(Entry &entry, CUstream handle, CUDA_MEMCPY3D c,
                           bool wait) {
  Stream *stream = streamFromHandle(entry, handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (c.WidthInBytes == 0 || c.Height == 0 || c.Depth == 0)
    return CUDA_SUCCESS;
  Driver &driver = entry.driver;
  // Both ends of each side must lie in one allocation.
  auto sideOk = [&](CUmemorytype type, const void *host, CUdeviceptr dev,
                    size_t x, size_t y, size_t z, size_t pitch, size_t height) {
    if (type == CU_MEMORYTYPE_HOST)
      return host != nullptr;
    if (type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED)
      return false;
    pitch = pitch ? pitch : c.WidthInBytes;
    height = height ? height : c.Height;
    size_t first = x + (z * height + y) * pitch;
    size_t last = x + ((z + c.Depth - 1) * height + y + c.Height - 1) * pitch +
                  c.WidthInBytes;
    return last >= first && rangeIsValid(driver, dev + first, last - first);
  };
  // A unified side may be ordinary host memory.
  auto unify = [&](CUmemorytype &type, const void *&host, CUdeviceptr &dev) {
    if (type == CU_MEMORYTYPE_UNIFIED) {
      if (memoryOf(driver, dev)) {
        type = CU_MEMORYTYPE_DEVICE;
      } else {
        type = CU_MEMORYTYPE_HOST;
        host = (const void *)dev;
      }
    }
  };
  const void *dstHost = c.dstHost;
  unify(c.srcMemoryType, c.srcHost, c.srcDevice);
  unify(c.dstMemoryType, dstHost, c.dstDevice);
  c.dstHost = const_cast<void *>(dstHost);
  if (!sideOk(c.srcMemoryType, c.srcHost, c.srcDevice, c.srcXInBytes, c.srcY,
              c.srcZ, c.srcPitch, c.srcHeight) ||
      !sideOk(c.dstMemoryType, c.dstHost, c.dstDevice, c.dstXInBytes, c.dstY,
              c.dstZ, c.dstPitch, c.dstHeight))
    return CUDA_ERROR_INVALID_VALUE;
  if (stream->capture) {
    if (wait) {
      stream->captureInvalid = true;
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    NodeState *n = captureNode(entry, *stream, CU_GRAPH_NODE_TYPE_MEMCPY);
    if (!n)
      return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    n->copy = c;
    return CUDA_SUCCESS;
  }
  Work work;
  work.copies = c.srcMemoryType == CU_MEMORYTYPE_HOST ||
                c.dstMemoryType == CU_MEMORYTYPE_HOST;
  bool linear = c.Height == 1 && c.Depth == 1;
  if (c.srcMemoryType == CU_MEMORYTYPE_HOST && !wait && linear &&
      !isPinned(c.srcHost)) {
    auto staged = std::make_shared<std::vector<u8>>(
        (const u8 *)c.srcHost + c.srcXInBytes,
        (const u8 *)c.srcHost + c.srcXInBytes + c.WidthInBytes);
    c.srcHost = staged->data();
    c.srcXInBytes = 0;
    work.run = [&driver, c, staged] { return performCopy(driver, c); };
  } else {
    work.run = [&driver, c] { return performCopy(driver, c); };
    // Into pageable memory the call returns only when the data are there.
    if (c.dstMemoryType == CU_MEMORYTYPE_HOST && !isPinned(c.dstHost))
      wait = true;
    if (c.srcMemoryType == CU_MEMORYTYPE_HOST && !isPinned(c.srcHost))
      wait = true;
  }
  driver.enqueue(*stream, std::move(work));
  return wait ? driver.drain(entry.lock, *stream) : CUDA_SUCCESS;
}

static CUDA_MEMCPY3D linearCopy(size_t bytes) {
  CUDA_MEMCPY3D c;
  memset(&c, 0, sizeof c);
  c.WidthInBytes = bytes;
  c.Height = c.Depth = 1;
  return c;
}
static CUDA_MEMCPY3D hostToDevice(CUdeviceptr d, const void *s, size_t n) {
  CUDA_MEMCPY3D c = linearCopy(n);
  c.srcMemoryType = CU_MEMORYTYPE_HOST;
  c.srcHost = s;
  c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  c.dstDevice = d;
  return c;
}
static CUDA_MEMCPY3D deviceToHost(void *d, CUdeviceptr s, size_t n) {
  CUDA_MEMCPY3D c = linearCopy(n);
  c.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  c.srcDevice = s;
  c.dstMemoryType = CU_MEMORYTYPE_HOST;
  c.dstHost = d;
  return c;
}
static CUDA_MEMCPY3D between(CUdeviceptr d, CUdeviceptr s, size_t n,
                             CUmemorytype type) {
  CUDA_MEMCPY3D c = linearCopy(n);
  c.srcMemoryType = c.dstMemoryType = type;
  c.srcDevice = s;
  c.dstDevice = d;
  return c;
}

static CUresult submitSet(Entry &entry, CUstream handle,
                          const CUDA_MEMSET_NODE_PARAMS &p, bool wait) {
  Stream *stream = streamFromHandle(entry, handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (p.width == 0 || p.height == 0)
    return CUDA_SUCCESS;
  Driver &driver = entry.driver;
  size_t bytes = (p.height - 1) * p.pitch + p.width * p.elementSize;
  if (p.dst % p.elementSize || !rangeIsValid(driver, p.dst, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  if (stream->capture) {
    NodeState *n = captureNode(entry, *stream, CU_GRAPH_NODE_TYPE_MEMSET);
    if (!n)
      return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    n->set = p;
    return CUDA_SUCCESS;
  }
  Work work;
  work.run = [&driver, p] { return performSet(driver, p); };
  driver.enqueue(*stream, std::move(work));
  return wait ? driver.drain(entry.lock, *stream) : CUDA_SUCCESS;
}
static CUDA_MEMSET_NODE_PARAMS fill(CUdeviceptr d, u32 v, u32 size, size_t n,
                                    size_t height = 1, size_t pitch = 0) {
  CUDA_MEMSET_NODE_PARAMS p;
  memset(&p, 0, sizeof p);
  p.dst = d;
  p.value = v;
  p.elementSize = size;
  p.width = n;
  p.height = height;
  p.pitch = pitch;
  return p;
}

static CUresult allocateHost(void **out, size_t bytes) {
  TDS_ENTER(true);
  if (!out || bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  size_t mapped = (bytes + 4095) / 4096 * 4096;
  void *p = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    return CUDA_ERROR_OUT_OF_MEMORY;
  DeviceMemory::addHost((u64)p, bytes);
  entry.driver.hostAllocations[(u64)p] = mapped;
  *out = p;
  return CUDA_SUCCESS;
}

} // namespace tds::sim

TDS_API cuMemGetInfo(size_t *freeOut, size_t *total) {
  TDS_ENTER(true);
  DeviceMemory &m = *entry.context->device->memory;
  if (freeOut)
    *freeOut = m.freeBytes();
  if (total)
    *total = m.totalBytes();
  return CUDA_SUCCESS;
}
TDS_API cuMemAlloc(CUdeviceptr *out, size_t bytes) {
  TDS_ENTER(true);
  if (!out || bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  u64 p = entry.context->device->memory->allocate(bytes);
  if (!p)
    return CUDA_ERROR_OUT_OF_MEMORY;
  entry.context->allocations[p] = false;
  *out = p;
  return CUDA_SUCCESS;
}
TDS_API cuMemAllocPitch(CUdeviceptr *out, size_t *pitch, size_t width,
                        size_t height, unsigned) {
  if (!pitch || !width || !height || width > (1ull << 40) ||
      height > (1ull << 40) / width)
    return CUDA_ERROR_INVALID_VALUE;
  *pitch = (width + 511) / 512 * 512;
  return cuMemAlloc(out, *pitch * height);
}
TDS_API cuMemFree(CUdeviceptr p) {
  TDS_ENTER(true);
  if (!p)
    return CUDA_SUCCESS;
  // Freeing waits for everything that may use the memory.
  for (Context *c : std::vector<Context *>(entry.driver.contexts.begin(),
                                           entry.driver.contexts.end())) {
    if (!c->allocations.count(p))
      continue;
    CUresult r = entry.driver.drainContext(entry.lock, *c);
    if (!entry.driver.contexts.count(c) || !c->allocations.erase(p))
      return CUDA_ERROR_INVALID_VALUE;
    c->device->memory->release(p);
    return r;
  }
  return CUDA_ERROR_INVALID_VALUE;
}
TDS_API cuMemGetAddressRange(CUdeviceptr *base, size_t *size, CUdeviceptr p) {
  TDS_ENTER(true);
  DeviceMemory *m = memoryOf(entry.driver, p);
  Extent e;
  if (!(m ? m->find(p, e) : DeviceMemory::findHost(p, e)))
    return CUDA_ERROR_NOT_FOUND;
  if (base)
    *base = e.lo;
  if (size)
    *size = e.hi - e.lo;
  return CUDA_SUCCESS;
}
// Stream-ordered allocation: the address is handed out at once, the memory
// comes back when the stream gets to the free.
static CUresult allocateAsync(CUdeviceptr *out, size_t bytes, CUstream handle) {
  TDS_ENTER(true);
  Stream *stream = streamFromHandle(entry, handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!out || bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (stream->capture) {
    stream->captureInvalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  u64 p = stream->context->device->memory->allocate(bytes);
  if (!p) {
    // What is freed in stream order comes back only when its turn is there.
    CUresult r = entry.driver.drainContext(entry.lock, *entry.context);
    if (r != CUDA_SUCCESS)
      return r;
    p = entry.context->device->memory->allocate(bytes);
  }
  if (!p)
    return CUDA_ERROR_OUT_OF_MEMORY;
  entry.context->allocations[p] = true;
  *out = p;
  return CUDA_SUCCESS;
}
TDS_API cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream stream) {
  return allocateAsync(out, bytes, stream);
}
TDS_API cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t bytes, CUmemoryPool,
                                CUstream stream) {
  return allocateAsync(out, bytes, stream);
}
TDS_API cuMemFreeAsync(CUdeviceptr p, CUstream handle) {
  TDS_ENTER(true);
  Stream *stream = streamFromHandle(entry, handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!entry.context->allocations.count(p))
    return CUDA_ERROR_INVALID_VALUE;
  if (stream->capture) {
    stream->captureInvalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  entry.context->allocations.erase(p);
  DeviceMemory *memory = entry.context->device->memory.get();
  Work work;
  work.always = true;
  work.run = [memory, p] {
    memory->release(p);
    return CUDA_SUCCESS;
  };
  entry.driver.enqueue(*stream, std::move(work));
  return CUDA_SUCCESS;
}
// One pool a device, whose handle is the device itself.
TDS_API cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device) {
  TDS_ENTER(false);
  if (device < 0 || (size_t)device >= entry.driver.devices.size())
    return CUDA_ERROR_INVALID_DEVICE;
  if (!pool)
    return CUDA_ERROR_INVALID_VALUE;
  *pool = (CUmemoryPool)entry.driver.devices[(size_t)device].get();
  return CUDA_SUCCESS;
}
TDS_API cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device) {
  return cuDeviceGetDefaultMemPool(pool, device);
}
TDS_API cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute,
                              void *value) {
  return pool && value ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
TDS_API cuMemPoolTrimTo(CUmemoryPool pool, size_t) {
  return pool ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

TDS_API cuMemHostAlloc(void **out, size_t bytes, unsigned) {
  return allocateHost(out, bytes);
}
TDS_API cuMemAllocHost(void **out, size_t bytes) {
  return allocateHost(out, bytes);
}
TDS_API cuMemFreeHost(void *p) {
  TDS_ENTER(true);
  auto it = entry.driver.hostAllocations.find((u64)p);
  if (it == entry.driver.hostAllocations.end() || it->second == 0)
    return CUDA_ERROR_INVALID_VALUE;
  for (Context *c : std::vector<Context *>(entry.driver.contexts.begin(),
                                           entry.driver.contexts.end()))
    if (entry.driver.contexts.count(c))
      entry.driver.drainContext(entry.lock, *c);
  it = entry.driver.hostAllocations.find((u64)p);
  if (it == entry.driver.hostAllocations.end())
    return CUDA_ERROR_INVALID_VALUE;
  DeviceMemory::removeHost((u64)p);
  munmap(p, it->second);
  entry.driver.hostAllocations.erase(it);
  return CUDA_SUCCESS;
}
TDS_API cuMemHostRegister(void *p, size_t bytes, unsigned) {
  TDS_ENTER(true);
  if (!p || !bytes)
    return CUDA_ERROR_INVALID_VALUE;
  if (!entry.driver.hostAllocations.emplace((u64)p, 0).second)
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  DeviceMemory::addHost((u64)p, bytes);
  return CUDA_SUCCESS;
}
TDS_API cuMemHostUnregister(void *p) {
  TDS_ENTER(true);
  auto it = entry.driver.hostAllocations.find((u64)p);
  if (it == entry.driver.hostAllocations.end() || it->second != 0)
    return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  entry.driver.hostAllocations.erase(it);
  DeviceMemory::removeHost((u64)p);
  return CUDA_SUCCESS;
}
TDS_API cuMemHostGetDevicePointer(CUdeviceptr *out, void *p, unsigned flags) {
  TDS_ENTER(true);
  Extent e;
  if (!out || flags || !DeviceMemory::findHost((u64)p, e))
    return CUDA_ERROR_INVALID_VALUE;
  *out = (CUdeviceptr)p;
  return CUDA_SUCCESS;
}
TDS_API cuMemHostGetFlags(unsigned *flags, void *p) {
  TDS_ENTER(true);
  Extent e;
  if (!flags || !DeviceMemory::findHost((u64)p, e))
    return CUDA_ERROR_INVALID_VALUE;
  *flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
  return CUDA_SUCCESS;
}
TDS_API cuPointerGetAttribute(void *data, CUpointer_attribute a,
                              CUdeviceptr p) {
  TDS_ENTER(true);
  if (!data)
    return CUDA_ERROR_INVALID_VALUE;
  Extent e;
  DeviceMemory *m = memoryOf(entry.driver, p);
  bool found = m ? m->find(p, e) : DeviceMemory::findHost(p, e);
  if (!found)
    return CUDA_ERROR_INVALID_VALUE;
  switch (a) {
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    *(unsigned *)data = m ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    *(CUdeviceptr *)data = p;
    return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    if (m)
      return CUDA_ERROR_INVALID_VALUE;
    *(void **)data = (void *)p;
    return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: {
    int ordinal = entry.context->device->ordinal;
    for (auto &d : entry.driver.devices)
      if (d->memory.get() == m)
        ordinal = d->ordinal;
    *(int *)data = ordinal;
    return CUDA_SUCCESS;
  }
  case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    *(CUdeviceptr *)data = e.lo;
    return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    *(size_t *)data = e.hi - e.lo;
    return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    *(unsigned *)data = 0;
    return CUDA_SUCCESS;
  default:
    return CUDA_ERROR_NOT_SUPPORTED;
  }
}

#define COPY(NAME, PARAMS, MAKE)                                               \
  TDS_API NAME PARAMS {                                                        \
    TDS_ENTER(true);                                                           \
    return submitCopy(entry, nullptr, MAKE, true);                             \
  }
#define COPY_ASYNC(NAME, PARAMS, MAKE)                                         \
  TDS_API NAME PARAMS {                                                        \
    TDS_ENTER(true);                                                           \
    return submitCopy(entry, stream, MAKE, false);                             \
  }
COPY(cuMemcpyHtoD, (CUdeviceptr d, const void *s, size_t n),
     hostToDevice(d, s, n))
COPY(cuMemcpyDtoH, (void *d, CUdeviceptr s, size_t n), deviceToHost(d, s, n))
COPY(cuMemcpyDtoD, (CUdeviceptr d, CUdeviceptr s, size_t n),
     between(d, s, n, CU_MEMORYTYPE_DEVICE))
COPY(cuMemcpy, (CUdeviceptr d, CUdeviceptr s, size_t n),
     between(d, s, n, CU_MEMORYTYPE_UNIFIED))
COPY(cuMemcpyPeer,
     (CUdeviceptr d, CUcontext, CUdeviceptr s, CUcontext, size_t n),
     between(d, s, n, CU_MEMORYTYPE_DEVICE))
COPY(cuMemcpy3D, (const CUDA_MEMCPY3D *p), *p)
COPY_ASYNC(cuMemcpyHtoDAsync,
           (CUdeviceptr d, const void *s, size_t n, CUstream stream),
           hostToDevice(d, s, n))
COPY_ASYNC(cuMemcpyDtoHAsync,
           (void *d, CUdeviceptr s, size_t n, CUstream stream),
           deviceToHost(d, s, n))
COPY_ASYNC(cuMemcpyDtoDAsync,
           (CUdeviceptr d, CUdeviceptr s, size_t n, CUstream stream),
           between(d, s, n, CU_MEMORYTYPE_DEVICE))
COPY_ASYNC(cuMemcpyAsync,
           (CUdeviceptr d, CUdeviceptr s, size_t n, CUstream stream),
           between(d, s, n, CU_MEMORYTYPE_UNIFIED))
COPY_ASYNC(cuMemcpyPeerAsync,
           (CUdeviceptr d, CUcontext, CUdeviceptr s, CUcontext, size_t n,
            CUstream stream),
           between(d, s, n, CU_MEMORYTYPE_DEVICE))
COPY_ASYNC(cuMemcpy3DAsync, (const CUDA_MEMCPY3D *p, CUstream stream), *p)

static CUDA_MEMCPY3D widen(const CUDA_MEMCPY2D *p) {
  CUDA_MEMCPY3D c = linearCopy(p->WidthInBytes);
  c.Height = p->Height;
  c.srcXInBytes = p->srcXInBytes;
  c.srcY = p->srcY;
  c.srcMemoryType = p->srcMemoryType;
  c.srcHost = p->srcHost;
  c.srcDevice = p->srcDevice;
  c.srcPitch = p->srcPitch;
  c.dstXInBytes = p->dstXInBytes;
  c.dstY = p->dstY;
  c.dstMemoryType = p->dstMemoryType;
  c.dstHost = p->dstHost;
  c.dstDevice = p->dstDevice;
  c.dstPitch = p->dstPitch;
  return c;
}
COPY(cuMemcpy2D, (const CUDA_MEMCPY2D *p), widen(p))
COPY(cuMemcpy2DUnaligned, (const CUDA_MEMCPY2D *p), widen(p))
COPY_ASYNC(cuMemcpy2DAsync, (const CUDA_MEMCPY2D *p, CUstream stream), widen(p))

#define SET2(NAME, ASYNC, TYPE, SIZE)                                          \
  TDS_API NAME(CUdeviceptr d, size_t pitch, TYPE v, size_t w, size_t h) {      \
    TDS_ENTER(true);                                                           \
    return submitSet(entry, nullptr, fill(d, v, SIZE, w, h, pitch), false);    \
  }                                                                            \
  TDS_API ASYNC(CUdeviceptr d, size_t pitch, TYPE v, size_t w, size_t h,       \
                CUstream stream) {                                             \
    TDS_ENTER(true);                                                           \
    return submitSet(entry, stream, fill(d, v, SIZE, w, h, pitch), false);     \
  }
#undef cuMemsetD8
#undef cuMemsetD16
#undef cuMemsetD32
#define SETV2(NAME, TYPE, SIZE)                                                \
  TDS_API NAME##_v2(CUdeviceptr d, TYPE v, size_t n) {                         \
    TDS_ENTER(true);                                                           \
    return submitSet(entry, nullptr, fill(d, v, SIZE, n), false);              \
  }                                                                            \
  TDS_API NAME##Async(CUdeviceptr d, TYPE v, size_t n, CUstream stream) {      \
    TDS_ENTER(true);                                                           \
    return submitSet(entry, stream, fill(d, v, SIZE, n), false);               \
  }
SETV2(cuMemsetD8, unsigned char, 1)
SETV2(cuMemsetD16, unsigned short, 2)
SETV2(cuMemsetD32, unsigned, 4)
SET2(cuMemsetD2D8, cuMemsetD2D8Async, unsigned char, 1)
SET2(cuMemsetD2D16, cuMemsetD2D16Async, unsigned short, 2)
SET2(cuMemsetD2D32, cuMemsetD2D32Async, unsigned, 4)
