//===- Device.cpp - choose a device and the code for it -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core/Device.h"
#include "core/Error.h"
#include "cpu/CpuDevice.h"
#include "cuda/CudaDevice.h"

#include <algorithm>
#include <dlfcn.h>

namespace tdsrt {

Program::~Program() = default;
Device::~Device() = default;

MemoryPlan MemoryPlan::of(const Manifest &manifest, unsigned threads) {
  // The parser keeps the sum of all parts below 2^50, so nothing overflows
  // but the product with the threads.
  MemoryPlan plan;
  plan.slabs = manifest.slabBytes();
  plan.constants = manifest.constantBytes();
  uint64_t scratch = 0;
  uint64_t inputSlots = manifest.target.kind == TDS_DEVICE_CUDA ? callSlots : 1;
  for (const EntryPlan &entry : manifest.entries) {
    plan.arena = std::max(plan.arena, entry.arenaBytes);
    plan.slots += entry.inputBytes * inputSlots + entry.resultBytes;
    scratch = std::max(scratch, entry.scratchBytes);
  }
  if (__builtin_mul_overflow(scratch, uint64_t(threads), &plan.scratch) ||
      plan.scratch > uint64_t(1) << 60)
    plan.scratch = uint64_t(1) << 60;
  return plan;
}

static bool carries(const Container &container, tds_device_kind kind) {
  for (size_t i = 0; i < container.size(); ++i)
    if (container.member(i).kind == kind)
      return true;
  return false;
}

std::shared_ptr<Device> openDevice(const std::string &spec, unsigned threads,
                                   const Container *container) {
  if (spec == "cpu") {
    auto device = std::make_shared<CpuDevice>(threads);
    device->reason = "cpu: asked for";
    return device;
  }
  if (spec == "cuda" || spec.rfind("cuda:", 0) == 0) {
    unsigned index = 0;
    if (spec != "cuda") {
      std::string digits = spec.substr(5);
      if (digits.empty() || digits.size() > 4 ||
          digits.find_first_not_of("0123456789") != std::string::npos)
        fail(TDS_INVALID_ARGUMENT, "device '", printable(spec),
             "' has no number behind the colon; write cuda:0");
      index = static_cast<unsigned>(std::stoul(digits));
    }
    auto device = CudaDevice::open(CudaDriver::shared(), index);
    device->reason = cat(spec, ": asked for");
    return device;
  }
  if (spec == "sim" || spec.rfind("sim:", 0) == 0) {
    auto device = CudaDevice::open(
        CudaDriver::simulator(spec == "sim" ? "" : spec.substr(4)), 0, "sim");
    device->reason = cat(spec, ": asked for; a GPU simulated on the CPU");
    return device;
  }
  if (spec != "auto")
    fail(TDS_INVALID_ARGUMENT, "device '", printable(spec),
         "' is not known; write auto, cpu, cuda, cuda:1, sim or sim:sm_90a");

  // A damaged file is reported as that, whatever devices there are.
  if (container && !container->isBundle())
    container->load(0);
  std::string why;
  if (container && !carries(*container, TDS_DEVICE_CUDA)) {
    why = "the artefact carries CPU code only";
  } else {
    try {
      auto device = CudaDevice::open(CudaDriver::shared(), 0);
      if (container)
        selectArtifact(*container, *device);
      device->reason = "cuda:0: the first usable GPU";
      return device;
    } catch (const Error &error) {
      why = error.what();
      if (container && !carries(*container, TDS_DEVICE_CPU))
        fail(error.status, "no device here runs ", container->name(), ": ",
             error.what());
    }
  }
  auto device = std::make_shared<CpuDevice>(threads);
  device->reason = cat("cpu: ", why);
  return device;
}

Artifact selectArtifact(const Container &container, const Device &device) {
  const char *kindName = device.kind() == TDS_DEVICE_CPU ? "the CPU" : "CUDA";
  int bestRank = -1;
  size_t best = 0, ofKind = 0;
  std::string offered;
  for (size_t i = 0; i < container.size(); ++i) {
    const Container::Member &member = container.member(i);
    offered += cat(offered.empty() ? "" : ", ",
                   member.kind == TDS_DEVICE_CPU ? "cpu " : "cuda ",
                   printable(member.arch, 32));
    if (member.kind != device.kind())
      continue;
    ++ofKind;
    int rank = container.isBundle() ? device.rank(member.arch) : 0;
    if (rank > bestRank || ofKind == 1) {
      bestRank = std::max(bestRank, rank);
      best = i;
    }
  }
  // The footer of a lone file says what it is for; a damaged one is reported
  // as damaged, not as made for another device.
  Artifact artifact = container.load(ofKind == 0 ? 0 : best);
  if (ofKind == 0)
    fail(TDS_UNSUPPORTED, container.name(), ": carries no code for ", kindName,
         " (it has ",
         container.isBundle() ? offered : artifact.manifest.target.arch,
         "); compile with --targets that "
         "include it, or choose another --device");
  device.checkNeeds(artifact.manifest.target, artifact.name);
  return artifact;
}

/// "found" where the library can be opened, otherwise the loader's words.
static std::string probeLibrary(const char *library) {
  if (void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL)) {
    dlclose(handle);
    return cat("found (", library, ")");
  }
  return cat("not found (", library, ")");
}

std::string describeDevices() {
  std::string text;
  CpuDevice cpu(0);
  text += cat("cpu      ", cpu.description(), '\n');
  auto driver = CudaDriver::shared();
  text += cat("driver   ", driver->describe(), '\n');
  for (unsigned i = 0; i < driver->deviceCount(); ++i) {
    try {
      text += cat("cuda:", i, "   ", CudaDevice::open(driver, i)->description(),
                  '\n');
    } catch (const Error &error) {
      text += cat("cuda:", i, "   unavailable: ", error.what(), '\n');
    }
  }
  if (driver->deviceCount() == 0)
    text += "cuda     no usable GPU; programs run on the CPU\n";
  text += cat("memory   ", bytesInWords(cpu.availableMemory()),
              " available to the CPU\n");
  text += cat("nccl     ", probeLibrary("libnccl.so.2"), '\n');
  text += cat("mpi      ", probeLibrary("libmpi.so.40"), '\n');
  return text;
}

} // namespace tdsrt
