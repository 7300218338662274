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

class Recorder;

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

/// Sums of the launches of a kernel. Times and what belongs to them are of the
/// launches that were timed: all on the CPU, on CUDA those while profiling.
struct KernelCounters {
  uint64_t calls = 0;
  uint64_t timedCalls = 0;
  double seconds = 0;
  uint64_t bytes = 0; ///< of the operands, each counted once a launch
  uint64_t flops = 0;
};

/// Bytes of everything a program holds.
struct MemoryPlan {
  uint64_t slabs = 0, constants = 0, arena = 0, slots = 0, scratch = 0;
  uint64_t total() const { return slabs + constants + arena + slots + scratch; }
  /// `threads` is the number of CPU threads, 0 on a device without scratch. A
  /// GPU program has two input slots an entry, so that the next inputs arrive
  /// while a call computes.
  static MemoryPlan of(const Manifest &manifest, unsigned threads);
};

/// Calls of an entry that may be in flight at a time.
constexpr unsigned callSlots = 2;

class Program {
public:
  virtual ~Program();

  // A call with host memory goes through these, in order. It is one of two of
  // its entry (`slot`) that may be in flight; calls compute one after another.

  /// Memory to put the inputs into, laid out as the entry's input slot. Waits
  /// until what was there before has been sent. Null where there are no bytes.
  /// `number` names the call in recordings.
  virtual char *stageInputs(uint32_t entry, unsigned slot, uint64_t number) = 0;
  /// Begins to send them; what is staged must not be touched any more.
  virtual void sendInputs(uint32_t entry, unsigned slot) = 0;
  /// Queues the entry's commands behind all earlier work, and the copies of
  /// the results for which `wanted` has true (flags always come).
  virtual void start(uint32_t entry, unsigned slot,
                     const std::vector<bool> &wanted) = 0;
  /// Waits for the call. The memory is laid out as the entry's result slot,
  /// holds what was wanted, and stays until the slot is started again.
  virtual const char *finish(uint32_t entry, unsigned slot) = 0;

  /// A call with memory of the caller on the device, one pointer for each
  /// input (null: its default) and result (null: not wanted); queued.
  virtual void runDevice(uint32_t entry, const void *const *inputs,
                         void *const *results, size_t resultCount,
                         Stream stream, uint64_t number) = 0;

  /// Host to storage and back. `host` may be reused on return; download waits.
  virtual void upload(Address to, const void *host, uint64_t bytes) = 0;
  virtual void download(Address from, void *host, uint64_t bytes) = 0;

  /// Fills every slab with zeros.
  virtual void clearSlabs() = 0;
  virtual void synchronize() = 0;

  /// The exported bytes `symbol` of the native code, if it has that symbol.
  virtual bool readSymbol(const char *symbol, void *out, size_t bytes) = 0;

  virtual MemoryPlan memory() const = 0;

  /// From here on all launches are timed and recorded, and counters begin at
  /// nothing; null ends it. The recorder outlives that.
  virtual void profile(Recorder *recorder) = 0;
  virtual KernelCounters counters(size_t kernel) const = 0;
};

/// What a device can reach at most; 0 where not known.
struct DevicePeaks {
  double bytesPerSecond = 0;
  double flopsPerSecond = 0; ///< f32, multiply and add counted as two
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
  virtual DevicePeaks peaks() const = 0;
  /// Where NVML finds it: "00000000:65:00.0"; empty on a CPU.
  virtual std::string pciBusId() const { return ""; }

  /// Loads code and allocates; needs and memory have been checked.
  virtual std::unique_ptr<Program>
  load(std::shared_ptr<const Artifact> artifact) = 0;

  std::string reason; ///< why this device was taken
};

/// Opens "cpu", "cuda", "cuda:1", "sim", "sim:sm_90a" or "auto". When
/// `container` is given, "auto" takes only a device that it carries code for.
std::shared_ptr<Device> openDevice(const std::string &spec, unsigned threads,
                                   const Container *container = nullptr);

/// The best member of `container` for `device`, loaded, its needs checked.
Artifact selectArtifact(const Container &container, const Device &device);

/// The report of `tds-run devices`.
std::string describeDevices();

} // namespace tdsrt

#endif // TDS_CORE_DEVICE_H
