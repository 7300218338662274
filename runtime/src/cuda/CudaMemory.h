//===- CudaMemory.h - what a program owns on a GPU -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Owners of device memory, pinned host memory, streams and events. Each is
// made and destroyed while its context is current; an empty one owns nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TDS_CUDA_CUDAMEMORY_H
#define TDS_CUDA_CUDAMEMORY_H

#include "cuda/CudaDriver.h"

#include <utility>

namespace tdsrt {

/// Device memory. With stream-ordered allocation (a stream was given) it is
/// taken and given back in the order of that stream, so that neither waits for
/// the device; the stream outlives the block.
class CudaBlock {
public:
  CudaBlock() = default;
  CudaBlock(const CudaDriver &driver, uint64_t bytes, CUstream stream,
            const char *what)
      : driver(&driver), stream(stream), bytes(bytes) {
    if (bytes)
      driver.check(stream ? driver.call.memAllocAsync(&address, bytes, stream)
                          : driver.call.memAlloc(&address, bytes),
                   cat("allocating ", bytesInWords(bytes), " for the ", what));
  }
  CudaBlock(CudaBlock &&other) noexcept { *this = std::move(other); }
  CudaBlock &operator=(CudaBlock &&other) noexcept {
    std::swap(driver, other.driver);
    std::swap(stream, other.stream);
    std::swap(address, other.address);
    std::swap(bytes, other.bytes);
    return *this;
  }
  ~CudaBlock() {
    if (!address)
      return;
    if (stream)
      driver->call.memFreeAsync(address, stream);
    else
      driver->call.memFree(address);
  }

  const CudaDriver *driver = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr address = 0;
  uint64_t bytes = 0;
};

/// Page-locked host memory, which the device copies from and to by itself.
class CudaPinned {
public:
  CudaPinned() = default;
  CudaPinned(const CudaDriver &driver, uint64_t bytes, const char *what)
      : driver(&driver) {
    void *memory = nullptr;
    if (bytes)
      driver.check(driver.call.memHostAlloc(&memory, bytes, 0),
                   cat("allocating ", bytesInWords(bytes),
                       " of page-locked host memory for the ", what));
    pointer = static_cast<char *>(memory);
  }
  CudaPinned(CudaPinned &&other) noexcept { *this = std::move(other); }
  CudaPinned &operator=(CudaPinned &&other) noexcept {
    std::swap(driver, other.driver);
    std::swap(pointer, other.pointer);
    return *this;
  }
  ~CudaPinned() {
    if (pointer)
      driver->call.memFreeHost(pointer);
  }
  char *data() const { return pointer; }

private:
  const CudaDriver *driver = nullptr;
  char *pointer = nullptr;
};

class CudaStream {
public:
  CudaStream() = default;
  explicit CudaStream(const CudaDriver &driver) : driver(&driver) {
    driver.check(driver.call.streamCreate(&handle, streamNonBlocking),
                 "creating a stream");
  }
  CudaStream(CudaStream &&other) noexcept { *this = std::move(other); }
  CudaStream &operator=(CudaStream &&other) noexcept {
    std::swap(driver, other.driver);
    std::swap(handle, other.handle);
    return *this;
  }
  ~CudaStream() {
    if (handle)
      driver->call.streamDestroy(handle);
  }
  CUstream get() const { return handle; }

private:
  const CudaDriver *driver = nullptr;
  CUstream handle = nullptr;
};

/// An event, and whether it was ever recorded: one that was not is passed at
/// once by whoever waits for it.
class CudaEvent {
public:
  CudaEvent() = default;
  explicit CudaEvent(const CudaDriver &driver,
                     unsigned flags = eventDisableTiming)
      : driver(&driver) {
    driver.check(driver.call.eventCreate(&handle, flags), "creating an event");
  }
  CudaEvent(CudaEvent &&other) noexcept { *this = std::move(other); }
  CudaEvent &operator=(CudaEvent &&other) noexcept {
    std::swap(driver, other.driver);
    std::swap(handle, other.handle);
    std::swap(recorded, other.recorded);
    return *this;
  }
  ~CudaEvent() {
    if (handle)
      driver->call.eventDestroy(handle);
  }

  void record(CUstream stream) {
    driver->check(driver->call.eventRecord(handle, stream),
                  "recording an event");
    recorded = true;
  }
  /// The same where nothing can be thrown; false when it failed.
  bool tryRecord(CUstream stream) {
    if (driver->call.eventRecord(handle, stream) != 0)
      return false;
    return recorded = true;
  }
  /// Lets the stream wait on the device.
  void waitOn(CUstream stream) const {
    if (recorded)
      driver->check(driver->call.streamWaitEvent(stream, handle, 0),
                    "ordering two streams");
  }
  /// Waits on the host.
  void synchronize(const std::string &what = "work on the GPU") const {
    if (recorded)
      driver->check(driver->call.eventSynchronize(handle), what);
  }
  void trySynchronize() const {
    if (recorded)
      driver->call.eventSynchronize(handle);
  }
  CUevent get() const { return handle; }

private:
  const CudaDriver *driver = nullptr;
  CUevent handle = nullptr;
  bool recorded = false;
};

} // namespace tdsrt

#endif // TDS_CUDA_CUDAMEMORY_H
