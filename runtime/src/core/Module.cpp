//===- Module.cpp - a loaded program and its variables -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core/Module.h"
#include "core/Error.h"
#include "profile/Recorder.h"

#include <cstring>

namespace tdsrt {

std::shared_ptr<Module> Module::load(const Container &container,
                                     std::shared_ptr<Device> device,
                                     uint64_t seed, uint64_t memoryLimit) {
  std::shared_ptr<Module> module(new Module);
  module->artifact =
      std::make_shared<Artifact>(selectArtifact(container, *device));
  const Manifest &manifest = module->manifest();

  MemoryPlan plan = MemoryPlan::of(manifest, device->scratchThreads());
  uint64_t available = device->availableMemory();
  if (memoryLimit && plan.total() > memoryLimit)
    fail(TDS_OUT_OF_MEMORY, module->name(), ": needs ",
         bytesInWords(plan.total()), ", but the limit given is ",
         bytesInWords(memoryLimit),
         "; raise it or compile with a smaller "
         "batch");
  if (plan.total() > available)
    fail(TDS_OUT_OF_MEMORY, module->name(), ": needs ",
         bytesInWords(plan.total()), ", but the device has ",
         bytesInWords(available), " left; compile with a smaller batch");

  module->device = std::move(device);
  module->program = module->device->load(module->artifact);
  module->checkPlanHash();
  module->inFlight.resize(manifest.entries.size());
  module->nextSlot.resize(manifest.entries.size());
  for (uint32_t i = 0; i < manifest.entries.size(); ++i)
    if (manifest.entries[i].kind != EntryPlan::Kind::Init)
      module->visible.push_back(i);
  for (size_t i = 0; i < manifest.variables.size(); ++i)
    module->variableIndex.emplace(manifest.variables[i].name, i);
  module->initialize(seed);
  return module;
}

// The recorder outlives the program, which may still write into it.
Module::~Module() { program.reset(); }

/// Native code trusts the plan it was compiled with: how much work a launch
/// has and how large its buffers are. The code carries the hash of that plan,
/// so that an edited manifest never reaches it.
void Module::checkPlanHash() {
  Sha256 built;
  if (program->readSymbol("tds_plan_sha256", built.data(), built.size()) &&
      built != artifact->manifestHash)
    fail(TDS_BAD_DATA, name(),
         ": its code was compiled for another manifest, "
         "so the manifest was changed; nothing of it was run, compile it "
         "again");
}

void Module::initialize(uint64_t seed) {
  std::lock_guard<std::recursive_mutex> guard(mutex);
  settleAll();
  if (deviceEntry >= 0) {
    deviceEntry = -1;
    program->synchronize();
  }
  failedStep.clear();
  program->clearSlabs();
  for (uint32_t i = 0; i < manifest().entries.size(); ++i) {
    const EntryPlan &entry = manifest().entries[i];
    if (entry.kind != EntryPlan::Kind::Init)
      continue;
    char *staged = program->stageInputs(i, 0, ++callNumber);
    std::memcpy(staged + entry.inputs[0].offset, &seed, sizeof seed);
    program->sendInputs(i, 0);
    program->start(i, 0, {});
    const char *results = program->finish(i, 0);
    if (entry.flagsPort)
      checkFlags(i, reinterpret_cast<const int32_t *>(results +
                                                      entry.flagsPort->offset));
  }
  program->synchronize();
}

const Variable *Module::findVariable(const std::string &name) const {
  auto found = variableIndex.find(name);
  return found == variableIndex.end() ? nullptr
                                      : &manifest().variables[found->second];
}

const Variable &Module::variable(const std::string &name) const {
  if (const Variable *found = findVariable(name))
    return *found;
  fail(TDS_NOT_FOUND, this->name(), ": has no variable '", printable(name),
       "'; `tds-run info` lists them");
}

void Module::read(const Variable &variable, void *out) {
  std::lock_guard<std::recursive_mutex> guard(mutex);
  program->download({Space::Slab, variable.slab, 0, variable.offset}, out,
                    variable.bytes);
}

void Module::write(const Variable &variable, const void *data) {
  std::lock_guard<std::recursive_mutex> guard(mutex);
  program->upload({Space::Slab, variable.slab, 0, variable.offset}, data,
                  variable.bytes);
}

/// "input 'x' of entry 'train'" and what is wrong with a tensor for it.
static void checkTensor(const tds_tensor &tensor, const Port &port,
                        const char *what, const EntryPlan &entry) {
  auto type = static_cast<unsigned>(tensor.type);
  if (type >= numLanguageTypes)
    fail(TDS_INVALID_ARGUMENT, what, " '", port.name, "' of entry '",
         entry.name, "': ", type, " is no element type");
  std::vector<int64_t> shape;
  if (tensor.rank < 0 || tensor.rank > 64 || (tensor.rank && !tensor.shape))
    fail(TDS_INVALID_ARGUMENT, what, " '", port.name, "' of entry '",
         entry.name, "': a tensor of rank ", tensor.rank, " without a shape");
  shape.assign(tensor.shape, tensor.shape + tensor.rank);
  if (static_cast<ElementType>(type) != port.type || shape != port.shape)
    fail(TDS_INVALID_ARGUMENT, what, " '", port.name, "' of entry '",
         entry.name, "' is ", nameOf(port.type), shapeText(port.shape),
         ", but the tensor given is ", nameOf(static_cast<ElementType>(type)),
         shapeText(shape), "; pass a tensor of that type and shape");
}

static void checkCounts(const EntryPlan &entry, size_t inputs, size_t results) {
  if (inputs != entry.inputs.size())
    fail(TDS_INVALID_ARGUMENT, "entry '", entry.name, "' has ",
         entry.inputs.size(), " inputs, but ", inputs, " were given");
  if (results > entry.results.size())
    fail(TDS_INVALID_ARGUMENT, "entry '", entry.name, "' has ",
         entry.results.size(), " results, but ", results, " were asked for");
}

static void needDefault(const Port &port, const EntryPlan &entry) {
  if (!port.hasDefault && port.bytes != 0)
    fail(TDS_INVALID_ARGUMENT, "input '", port.name, "' of entry '", entry.name,
         "' has no default; give it a value");
}

void Module::refuseAfterFailure(const EntryPlan &entry) const {
  if (entry.kind == EntryPlan::Kind::Step && !failedStep.empty())
    fail(TDS_PROGRAM_ERROR, "entry '", entry.name,
         "' is refused, since an earlier step failed (", failedStep,
         "); load the module again");
}

void Module::failStep(const EntryPlan &entry, const std::string &why) {
  if (entry.kind == EntryPlan::Kind::Step && failedStep.empty())
    failedStep = why;
}

/// Waits for a call, and gives its results to the caller or keeps its error.
void Module::settle(Call &call) {
  if (call.settled)
    return;
  call.settled = true;
  const EntryPlan &entry = manifest().entries[call.entry];
  inFlight[call.entry][call.slot] = nullptr;
  try {
    const char *results = nullptr;
    try {
      double begin = recording ? recorder->now() : 0;
      results = program->finish(call.entry, call.slot);
      if (recording)
        recorder->span(Recorder::Track::Host, "wait", &entry.name, call.number,
                       begin, recorder->now() - begin);
    } catch (const Error &error) {
      failStep(entry, error.what());
      throw;
    }
    if (entry.flagsPort)
      checkFlags(call.entry, reinterpret_cast<const int32_t *>(
                                 results + entry.flagsPort->offset));
    for (size_t i = 0; i < call.results.size(); ++i)
      if (call.results[i] && entry.results[i].bytes)
        std::memcpy(call.results[i], results + entry.results[i].offset,
                    entry.results[i].bytes);
  } catch (const Error &error) {
    call.error = error;
  }
}

void Module::settleAll() {
  for (auto &slots : inFlight)
    for (const std::shared_ptr<Call> &slot : slots)
      // Settling may give up the slot.
      if (std::shared_ptr<Call> kept = slot)
        settle(*kept);
}

/// A step must not begin before it is known that none before it failed: what
/// it would change is what the failed one left unchanged.
void Module::settleBefore(const EntryPlan &entry) {
  if (entry.kind != EntryPlan::Kind::Step)
    return;
  for (size_t i = 0; i < inFlight.size(); ++i)
    if (manifest().entries[i].flagsPort &&
        manifest().entries[i].kind == EntryPlan::Kind::Step)
      for (const std::shared_ptr<Call> &slot : inFlight[i])
        if (std::shared_ptr<Call> kept = slot)
          settle(*kept);
}

std::shared_ptr<Call> Module::start(uint32_t index, const tds_tensor *inputs,
                                    size_t inputCount,
                                    const tds_tensor *results,
                                    size_t resultCount) {
  std::lock_guard<std::recursive_mutex> guard(mutex);
  const EntryPlan &entry = manifest().entries[index];
  checkCounts(entry, inputCount, resultCount);
  for (size_t i = 0; i < inputCount; ++i) {
    if (inputs[i].data)
      checkTensor(inputs[i], entry.inputs[i], "input", entry);
    else
      needDefault(entry.inputs[i], entry);
  }
  auto call = std::make_shared<Call>();
  call->entry = index;
  call->number = ++callNumber;
  std::vector<bool> wanted(resultCount);
  for (size_t i = 0; i < resultCount; ++i) {
    if (results[i].data)
      checkTensor(results[i], entry.results[i], "result", entry);
    call->results.push_back(results[i].data);
    wanted[i] = results[i].data != nullptr;
  }
  settleDevice();
  refuseAfterFailure(entry);
  call->slot = nextSlot[index];
  if (std::shared_ptr<Call> earlier = inFlight[index][call->slot])
    settle(*earlier);

  double begin = recording ? recorder->now() : 0;
  char *staged = program->stageInputs(index, call->slot, call->number);
  for (size_t i = 0; i < inputCount; ++i) {
    const Port &port = entry.inputs[i];
    if (inputs[i].data && port.bytes)
      std::memcpy(staged + port.offset, inputs[i].data, port.bytes);
    else
      fillDefault(port, staged + port.offset);
  }
  program->sendInputs(index, call->slot);
  settleBefore(entry);
  refuseAfterFailure(entry);
  try {
    program->start(index, call->slot, wanted);
  } catch (const Error &error) {
    failStep(entry, error.what());
    throw;
  }
  nextSlot[index] = (call->slot + 1) % callSlots;
  inFlight[index][call->slot] = call;
  if (recording)
    recorder->span(Recorder::Track::Host, "call", &entry.name, call->number,
                   begin, recorder->now() - begin);
  // A CPU has done it all; its results must not wait in the slot, which both
  // calls share.
  if (device->kind() == TDS_DEVICE_CPU)
    settle(*call);
  return call;
}

void Module::wait(Call &call) {
  std::lock_guard<std::recursive_mutex> guard(mutex);
  settle(call);
  if (call.error)
    throw Error(*call.error);
}

void Module::abandon(Call &call) {
  std::lock_guard<std::recursive_mutex> guard(mutex);
  call.results.assign(call.results.size(), nullptr);
}

void Module::call(uint32_t index, const tds_tensor *inputs, size_t inputCount,
                  const tds_tensor *results, size_t resultCount) {
  wait(*start(index, inputs, inputCount, results, resultCount));
}

void Module::callDevice(uint32_t index, const void *const *inputs,
                        size_t inputCount, void *const *results,
                        size_t resultCount, Stream stream) {
  std::lock_guard<std::recursive_mutex> guard(mutex);
  const EntryPlan &entry = manifest().entries[index];
  checkCounts(entry, inputCount, resultCount);
  for (size_t i = 0; i < inputCount; ++i)
    if (!inputs[i])
      needDefault(entry.inputs[i], entry);
  settleDevice();
  settleAll();
  refuseAfterFailure(entry);
  ++callNumber;
  try {
    program->runDevice(index, inputs, results, resultCount, stream, callNumber);
  } catch (const Error &error) {
    failStep(entry, error.what());
    throw;
  }
  if (entry.flagsPort)
    deviceEntry = index;
  if (device->kind() == TDS_DEVICE_CPU)
    settleDevice();
}

void Module::readResult(uint32_t index, size_t result, void *out,
                        size_t bytes) {
  std::lock_guard<std::recursive_mutex> guard(mutex);
  const EntryPlan &entry = manifest().entries[index];
  if (result >= entry.results.size())
    fail(TDS_INVALID_ARGUMENT, "entry '", entry.name, "' has ",
         entry.results.size(), " results, so there is none with index ",
         result);
  const Port &port = entry.results[result];
  if (bytes != port.bytes)
    fail(TDS_INVALID_ARGUMENT, "result '", port.name, "' of entry '",
         entry.name, "' has ", port.bytes, " bytes, but ", bytes,
         " were given");
  settleDevice();
  settleAll();
  program->download({Space::Result, 0, index, port.offset}, out, bytes);
}

void Module::synchronize() {
  std::lock_guard<std::recursive_mutex> guard(mutex);
  settleAll();
  program->synchronize();
  settleDevice();
}

/// Looks at the flags of the last call with device memory, and throws if one
/// is set.
void Module::settleDevice() {
  if (deviceEntry < 0)
    return;
  uint32_t index = static_cast<uint32_t>(deviceEntry);
  deviceEntry = -1;
  const EntryPlan &entry = manifest().entries[index];
  std::vector<int32_t> values(entry.flags.size());
  program->download({Space::Result, 0, index, entry.flagsPort->offset},
                    values.data(), entry.flagsPort->bytes);
  checkFlags(index, values.data());
}

void Module::checkFlags(uint32_t index, const int32_t *values) {
  const EntryPlan &entry = manifest().entries[index];
  for (size_t i = 0; i < entry.flags.size(); ++i) {
    if (values[i] == 0)
      continue;
    std::string what = cat(entry.flags[i].source, ": ", entry.flags[i].text);
    bool isStep = entry.kind == EntryPlan::Kind::Step;
    failStep(entry, what);
    fail(TDS_PROGRAM_ERROR, what, " (in entry '", entry.name, "'",
         isStep ? "; the step changed nothing, and further ones are refused "
                  "until the module is loaded again)"
                : ")",
         "; check the data that was passed in");
  }
}

void Module::profileStart() {
  std::lock_guard<std::recursive_mutex> guard(mutex);
  settleAll();
  recording = false;
  program->profile(nullptr);
  auto fresh = std::make_unique<Recorder>();
  program->profile(fresh.get());
  recorder = std::move(fresh);
  recording = true;
}

void Module::profileStop() {
  std::lock_guard<std::recursive_mutex> guard(mutex);
  settleAll();
  program->profile(nullptr);
  recording = false;
}

std::string Module::trace() {
  std::lock_guard<std::recursive_mutex> guard(mutex);
  if (!recorder)
    fail(TDS_INVALID_ARGUMENT, name(),
         ": was not profiled; call tds_module_profile_start first");
  settleAll();
  program->synchronize();
  if (recorder->dropped())
    log(TDS_LOG_WARNING, cat("the trace lacks its last ", recorder->dropped(),
                             " spans, which were too many; trace fewer steps"));
  return recorder->json(manifest(), device->description());
}

} // namespace tdsrt
