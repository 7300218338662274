//===- Module.h - a loaded program and its variables -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDS_CORE_MODULE_H
#define TDS_CORE_MODULE_H

#include "core/Device.h"
#include "core/Error.h"

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace tdsrt {

class Recorder;

/// A call of an entry that was started. Its module's mutex guards it.
struct Call {
  uint32_t entry = 0;
  unsigned slot = 0;
  uint64_t number = 0;         ///< of the module's calls, from 1
  std::vector<void *> results; ///< where each goes; null: not wanted
  bool settled = false;        ///< results are there, or `error`
  std::optional<Error> error;
};

class Module {
public:
  ~Module();
  /// Picks the code for the device, checks needs and memory, allocates, and
  /// runs the initialisers. `memoryLimit` 0 is what the device has.
  static std::shared_ptr<Module> load(const Container &container,
                                      std::shared_ptr<Device> device,
                                      uint64_t seed, uint64_t memoryLimit);

  const Manifest &manifest() const { return artifact->manifest; }
  const std::string &name() const { return artifact->name; }
  MemoryPlan memory() const { return program->memory(); }
  KernelCounters counters(size_t kernel) const {
    std::lock_guard<std::recursive_mutex> guard(mutex);
    return program->counters(kernel);
  }
  /// Indices of all entries but `init`, in the manifest's order.
  const std::vector<uint32_t> &publicEntries() const { return visible; }

  /// Every variable anew; also lifts the refusal that a failed step left.
  void initialize(uint64_t seed);

  const Variable &variable(const std::string &name) const;
  const Variable *findVariable(const std::string &name) const;
  void read(const Variable &variable, void *out);
  void write(const Variable &variable, const void *data);

  /// See tds_entry_call and its neighbours.
  std::shared_ptr<Call> start(uint32_t entry, const tds_tensor *inputs,
                              size_t inputCount, const tds_tensor *results,
                              size_t resultCount);
  void wait(Call &call);
  void abandon(Call &call);
  void call(uint32_t entry, const tds_tensor *inputs, size_t inputCount,
            const tds_tensor *results, size_t resultCount);
  void callDevice(uint32_t entry, const void *const *inputs, size_t inputCount,
                  void *const *results, size_t resultCount, Stream stream);
  void readResult(uint32_t entry, size_t index, void *out, size_t bytes);
  void synchronize();

  /// Times launches from now on, see tds_module_profile_start.
  void profileStart();
  void profileStop();
  /// The trace so far, as JSON.
  std::string trace();
  DevicePeaks peaks() const { return device->peaks(); }

private:
  Module() = default;
  void checkPlanHash();
  void refuseAfterFailure(const EntryPlan &entry) const;
  void checkFlags(uint32_t entry, const int32_t *values);
  void settle(Call &call);
  void settleAll();
  void settleBefore(const EntryPlan &entry);
  void settleDevice();
  void failStep(const EntryPlan &entry, const std::string &why);

  std::shared_ptr<const Artifact> artifact;
  std::shared_ptr<Device> device;
  std::unique_ptr<Program> program;
  std::vector<uint32_t> visible;
  std::unordered_map<std::string, size_t> variableIndex;

  mutable std::recursive_mutex
      mutex;              ///< one call at a time: entries share the arena
  std::string failedStep; ///< why steps are refused; empty: they are not
  std::vector<std::array<std::shared_ptr<Call>, callSlots>> inFlight;
  std::vector<unsigned> nextSlot; ///< by entry
  /// Called with device memory, flags not yet seen.
  int64_t deviceEntry = -1;
  uint64_t callNumber = 0;
  std::unique_ptr<Recorder> recorder; ///< kept for its trace when stopped
  bool recording = false;
};

/// The artefact in words, for `tds-run info`.
std::string describeArtifact(const Container &container);

} // namespace tdsrt

#endif // TDS_CORE_MODULE_H
