//===- Device.h - what a module needs of a device -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A Device makes Programs; a Program is an artefact's code together with all
// storage it will ever use on that device. Module (core/Module.h) sits above
// and does what is the same everywhere: initialisers, variables, flags.
//
//===----------------------------------------------------------------------===//

#ifndef TDS_CORE_DEVICE_H
#define TDS_CORE_DEVICE_H

#include "core/Artifact.h"

#include <memory>
#include <string>
#include <vector>

namespace tdsrt {

/// A place in a program's storage. `entry` matters for the slots and is the
/// index in the manifest.
struct Address {
  Space space = Space::Slab;
  uint32_t index = 0;
  uint32_t entry = 0;
  uint64_t offset = 0;
};

/// A CUstream; null is the default stream. Ignored on the CPU.
using Stream = void *;

/// The program's own stream, for calls with host tensors.
inline char programStreamMark;
inline const Stream programStream = &programStreamMark;

struct KernelCounters {
  uint64_t calls = 0;
  double seconds = 0;
};

/// Bytes of everything a program holds.
struct MemoryPlan {
  uint64_t slabs = 0, constants = 0, arena = 0, slots = 0, scratch = 0;
  uint64_t total() const { return slabs + constants + arena + slots + scratch; }
  /// `threads` is the number of CPU threads, 0 on a device without scratch.
  static MemoryPlan of(const Manifest &manifest, unsigned threads);
};

class Program {
public:
  virtual ~Program();

  /// Runs all commands of an entry, in order. On CUDA they are queued.
  virtual void run(uint32_t entry, Stream stream) = 0;

  /// Host to storage and back. `host` may be reused on return; download waits.
  virtual void upload(Address to, const void *host, uint64_t bytes,
                      Stream stream) = 0;
  virtual void download(Address from, void *host, uint64_t bytes,
                        Stream stream) = 0;

  /// Between storage and memory of the caller on the same device; queued.
  virtual void copyIn(Address to, const void *device, uint64_t bytes,
                      Stream stream) = 0;
  virtual void copyOut(Address from, void *device, uint64_t bytes,
                       Stream stream) = 0;

  /// Fills every slab with zeros.
  virtual void clearSlabs(Stream stream) = 0;
  virtual void synchronize(Stream stream) = 0;

  /// The exported bytes `symbol` of the native code, if it has that symbol.
  virtual bool readSymbol(const char *symbol, void *out, size_t bytes) = 0;

  virtual MemoryPlan memory() const = 0;
  virtual KernelCounters counters(size_t kernel) const = 0;
};

class Device {
public:
  virtual ~Device();
  virtual tds_device_kind kind() const = 0;
  virtual std::string description() const = 0;

  /// How good code for `arch` is here: higher is better, negative when this
  /// device cannot run it. Used to pick a member of a bundle.
  virtual int rank(const std::string &arch) const = 0;

  /// Throws TDS_UNSUPPORTED with a sentence when this device lacks what the
  /// target asks for.
  virtual void checkNeeds(const Target &target,
                          const std::string &name) const = 0;

  /// Bytes that a program may take now.
  virtual uint64_t availableMemory() const = 0;
  virtual unsigned scratchThreads() const = 0;

  /// Loads code and allocates; needs and memory have been checked.
  virtual std::unique_ptr<Program>
  load(std::shared_ptr<const Artifact> artifact) = 0;

  std::string reason; ///< why this device was taken
};

/// Opens "cpu", "cuda", "cuda:1" or "auto". When `container` is given, "auto"
/// takes only a device that it carries code for.
std::shared_ptr<Device> openDevice(const std::string &spec, unsigned threads,
                                   const Container *container = nullptr);

/// The best member of `container` for `device`, loaded, its needs checked.
Artifact selectArtifact(const Container &container, const Device &device);

/// The report of `tds-run devices`.
std::string describeDevices();

} // namespace tdsrt

#endif // TDS_CORE_DEVICE_H
