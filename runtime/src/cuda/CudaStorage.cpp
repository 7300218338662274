//===- CudaStorage.cpp - all memory of a program on a GPU -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cuda/CudaStorage.h"

#include <cstring>

namespace tdsrt {

CudaStorage::CudaStorage(const Artifact &artifact, const CudaDevice &device,
                         const MemoryPlan &plan, CUstream stream)
    : artifact(artifact), device(device), driver(device.api()), stream(stream) {
  allocate(plan);
  for (uint32_t i = 0; i < entries.size(); ++i)
    resolve(i);
}

CudaBlock CudaStorage::block(uint64_t bytes, const char *what) {
  bool ordered = driver.hasPools() && device.hasMemoryPools();
  return CudaBlock(driver, bytes, ordered ? stream : nullptr, what);
}

static void chooseFetched(const EntryPlan &entry, CudaEntry &state) {
  // A slot of few bytes is one copy; of a large one only what is small.
  constexpr uint64_t smallSlot = 16 * 1024, smallPort = 1024;
  bool whole = entry.resultBytes <= smallSlot;
  if (whole && entry.resultBytes)
    state.fetched.push_back({0, entry.resultBytes});
  for (const Port &port : entry.results) {
    bool fetched = whole || port.bytes <= smallPort;
    state.isFetched.push_back(fetched);
    if (fetched && !whole && port.bytes)
      state.fetched.push_back({port.offset, port.bytes});
  }
  if (!whole && entry.flagsPort)
    state.fetched.push_back({entry.flagsPort->offset, entry.flagsPort->bytes});
}

void CudaStorage::allocate(const MemoryPlan &plan) {
  const Manifest &manifest = artifact.manifest;
  for (const Slab &slab : manifest.slabs)
    slabs.push_back(block(slab.bytes, "variables"));
  for (const std::vector<uint8_t> &data : manifest.constants) {
    constants.push_back(block(data.size(), "constants"));
    if (!data.empty())
      driver.check(driver.call.memcpyHtoDAsync(constants.back().address,
                                               data.data(), data.size(),
                                               stream),
                   "copying constants to the GPU");
  }
  arena = block(plan.arena, "intermediate values");
  entries.resize(manifest.entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    CudaEntry &state = entries[i];
    auto cleared = [&](CudaBlock &block) {
      if (block.bytes)
        driver.check(
            driver.call.memsetD8Async(block.address, 0, block.bytes, stream),
            "clearing the slots");
    };
    for (CudaSlot &slot : state.slots) {
      slot.input = block(manifest.entries[i].inputBytes, "inputs");
      cleared(slot.input);
    }
    state.result = block(manifest.entries[i].resultBytes, "results");
    cleared(state.result);
    chooseFetched(manifest.entries[i], state);
  }
}

CUdeviceptr CudaStorage::addressOf(Address at, unsigned slot) const {
  switch (at.space) {
  case Space::Slab:
    return slabs[at.index].address + at.offset;
  case Space::Constant:
    return constants[at.index].address + at.offset;
  case Space::Arena:
    return arena.address + at.offset;
  case Space::Input:
    return entries[at.entry].slots[slot].input.address + at.offset;
  case Space::Result:
    return entries[at.entry].result.address + at.offset;
  }
  return 0;
}

void CudaStorage::resolve(uint32_t index) {
  const EntryPlan &entry = artifact.manifest.entries[index];
  entries[index].runs = countRuns(entry.commands);
  for (unsigned slot = 0; slot < callSlots; ++slot)
    entries[index].slots[slot].steps = resolve(index, slot, entry.commands);
}

std::vector<CudaStep>
CudaStorage::resolve(uint32_t index, unsigned slot,
                     const std::vector<Command> &commands) const {
  auto address = [&](const Operand &operand) {
    return addressOf({operand.space, operand.index, index, operand.offset},
                     slot);
  };
  std::vector<CudaStep> steps;
  for (const Command &command : commands) {
    CudaStep step;
    step.op = command.op;
    if (command.op == Command::Op::Launch) {
      if (command.work == 0)
        continue;
      step.kernel = command.kernel;
      step.grid = command.grid;
      for (const Operand &operand : command.args) {
        step.buffers.push_back(address(operand));
        step.strides.push_back(operand.strides);
      }
      step.firstBuffers = step.buffers;
      for (const SizeArgument &size : command.sizes)
        step.sizes.push_back(size.number);
      step.loopSizes = command.sizes;
      step.bytes = command.operandBytes;
      step.flops = command.flops;
    } else if (command.op == Command::Op::Loop) {
      step.trips = command.trips;
      step.reverse = command.reverse;
      step.body = resolve(index, slot, command.body);
      if (step.body.empty())
        continue;
    } else {
      step.to = step.firstTo = address(command.to);
      if (command.op == Command::Op::Copy)
        step.from = step.firstFrom = address(command.from);
      step.toStrides = command.to.strides;
      step.fromStrides = command.from.strides;
      step.bytes = command.bytes;
      step.byte = command.byte;
      if (!step.bytes)
        continue;
    }
    steps.push_back(std::move(step));
  }
  // Only now do buffers and sizes stay where they are.
  for (CudaStep &step : steps) {
    for (CUdeviceptr &buffer : step.buffers)
      step.parameters.push_back(&buffer);
    for (int64_t &size : step.sizes)
      step.parameters.push_back(&size);
  }
  return steps;
}

CudaSlot &CudaStorage::prepared(uint32_t entry, unsigned index) {
  CudaEntry &state = entries[entry];
  CudaSlot &slot = state.slots[index];
  if (slot.prepared)
    return slot;
  slot.staged = CudaPinned(driver, slot.input.bytes, "inputs");
  slot.fetched = CudaPinned(driver, state.result.bytes, "results");
  slot.uploaded = CudaEvent(driver);
  slot.done = CudaEvent(driver);
  if (slot.staged.data()) // The gaps between inputs are sent too.
    std::memset(slot.staged.data(), 0, slot.input.bytes);
  slot.prepared = true;
  return slot;
}

char *CudaStorage::defaults(uint32_t index) {
  CudaEntry &state = entries[index];
  if (state.defaults.data())
    return state.defaults.data();
  const EntryPlan &entry = artifact.manifest.entries[index];
  CudaPinned memory(driver, entry.inputBytes, "defaults");
  for (const Port &port : entry.inputs)
    fillDefault(port, memory.data() + port.offset);
  state.defaults = std::move(memory);
  return state.defaults.data();
}

} // namespace tdsrt
