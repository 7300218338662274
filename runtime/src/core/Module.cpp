//===- Module.cpp - a loaded program and its variables -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core/Module.h"
#include "core/Error.h"

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
  for (uint32_t i = 0; i < manifest.entries.size(); ++i)
    if (manifest.entries[i].kind != EntryPlan::Kind::Init)
      module->visible.push_back(i);
  for (size_t i = 0; i < manifest.variables.size(); ++i)
    module->variableIndex.emplace(manifest.variables[i].name, i);
  module->initialize(seed);
  return module;
}

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
  failedStep.clear();
  pendingEntry = -1;
  program->clearSlabs(programStream);
  for (uint32_t i = 0; i < manifest().entries.size(); ++i) {
    const EntryPlan &entry = manifest().entries[i];
    if (entry.kind != EntryPlan::Kind::Init)
      continue;
    program->upload({Space::Input, 0, i, entry.inputs[0].offset}, &seed,
                    sizeof seed, programStream);
    program->run(i, programStream);
    checkFlags(i);
  }
  program->synchronize(programStream);
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
                    variable.bytes, programStream);
}

void Module::write(const Variable &variable, const void *data) {
  std::lock_guard<std::recursive_mutex> guard(mutex);
  program->upload({Space::Slab, variable.slab, 0, variable.offset}, data,
                  variable.bytes, programStream);
  program->synchronize(programStream);
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

/// The default in every element of the port. It lives as long as the module, as
/// copies to the device may end after the call.
const void *Module::defaultOf(const Port &port) {
  if (port.shape.empty())
    return port.defaultBytes.data();
  std::vector<uint8_t> &bytes = filledDefaults[&port];
  if (bytes.size() != port.bytes) {
    size_t size = sizeOf(port.type);
    bytes.resize(port.bytes);
    for (size_t at = 0; at < port.bytes; at += size)
      std::memcpy(bytes.data() + at, port.defaultBytes.data(), size);
  }
  return bytes.data();
}

void Module::beginCall(const EntryPlan &entry) {
  settlePending();
  if (entry.kind == EntryPlan::Kind::Step && !failedStep.empty())
    fail(TDS_PROGRAM_ERROR, "entry '", entry.name,
         "' is refused, since an earlier step failed (", failedStep,
         "); load the module again");
}

void Module::call(uint32_t index, const tds_tensor *inputs, size_t inputCount,
                  const tds_tensor *results, size_t resultCount) {
  std::lock_guard<std::recursive_mutex> guard(mutex);
  const EntryPlan &entry = manifest().entries[index];
  checkCounts(entry, inputCount, resultCount);
  for (size_t i = 0; i < inputCount; ++i) {
    if (inputs[i].data)
      checkTensor(inputs[i], entry.inputs[i], "input", entry);
    else
      needDefault(entry.inputs[i], entry);
  }
  for (size_t i = 0; i < resultCount; ++i)
    if (results[i].data)
      checkTensor(results[i], entry.results[i], "result", entry);
  beginCall(entry);
  for (size_t i = 0; i < inputCount; ++i) {
    const Port &port = entry.inputs[i];
    if (port.bytes != 0)
      program->upload({Space::Input, 0, index, port.offset},
                      inputs[i].data ? inputs[i].data : defaultOf(port),
                      port.bytes, programStream);
  }
  program->run(index, programStream);
  checkFlags(index);
  for (size_t i = 0; i < resultCount; ++i)
    if (results[i].data)
      program->download({Space::Result, 0, index, entry.results[i].offset},
                        results[i].data, entry.results[i].bytes, programStream);
  program->synchronize(programStream);
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
  beginCall(entry);
  for (size_t i = 0; i < inputCount; ++i) {
    const Port &port = entry.inputs[i];
    Address to{Space::Input, 0, index, port.offset};
    if (inputs[i])
      program->copyIn(to, inputs[i], port.bytes, stream);
    else if (port.bytes != 0)
      program->upload(to, defaultOf(port), port.bytes, stream);
  }
  program->run(index, stream);
  for (size_t i = 0; i < resultCount; ++i)
    if (results[i])
      program->copyOut({Space::Result, 0, index, entry.results[i].offset},
                       results[i], entry.results[i].bytes, stream);
  if (entry.flagsPort)
    pendingEntry = index;
  if (device->kind() == TDS_DEVICE_CPU)
    settlePending();
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
  settlePending();
  program->download({Space::Result, 0, index, port.offset}, out, bytes,
                    programStream);
}

void Module::synchronize() {
  std::lock_guard<std::recursive_mutex> guard(mutex);
  program->synchronize(programStream);
  settlePending();
}

void Module::settlePending() {
  if (pendingEntry < 0)
    return;
  uint32_t entry = static_cast<uint32_t>(pendingEntry);
  pendingEntry = -1;
  checkFlags(entry);
}

void Module::checkFlags(uint32_t index) {
  const EntryPlan &entry = manifest().entries[index];
  if (!entry.flagsPort)
    return;
  std::vector<int32_t> values(entry.flags.size());
  program->download({Space::Result, 0, index, entry.flagsPort->offset},
                    values.data(), entry.flagsPort->bytes, programStream);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0)
      continue;
    std::string what = cat(entry.flags[i].source, ": ", entry.flags[i].text);
    bool isStep = entry.kind == EntryPlan::Kind::Step;
    if (isStep)
      failedStep = what;
    fail(TDS_PROGRAM_ERROR, what, " (in entry '", entry.name, "'",
         isStep ? "; the step changed nothing, and further ones are refused "
                  "until the module is loaded again)"
                : ")",
         "; check the data that was passed in");
  }
}

} // namespace tdsrt
