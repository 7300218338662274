//===- Describe.cpp - an artefact in words -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core/Error.h"
#include "core/Module.h"
#include "cuda/CudaDriver.h"

#include <algorithm>
#include <cstring>

namespace tdsrt {

namespace {

std::string typeText(const Port &port) {
  return cat(nameOf(port.type),
             port.shape.empty() ? std::string() : shapeText(port.shape));
}

std::string defaultText(const Port &port) {
  auto as = [&](auto zero) {
    std::memcpy(&zero, port.defaultBytes.data(), sizeof zero);
    return zero;
  };
  switch (port.type) {
  case ElementType::Bool:
    return as(uint8_t()) ? "true" : "false";
  case ElementType::I8:
    return cat(int(as(int8_t())));
  case ElementType::U8:
    return cat(unsigned(as(uint8_t())));
  case ElementType::I32:
    return cat(as(int32_t()));
  case ElementType::I64:
    return cat(as(int64_t()));
  case ElementType::F16:
    return cat(floatFromF16(as(uint16_t())));
  case ElementType::BF16:
    return cat(floatFromBF16(as(uint16_t())));
  case ElementType::F64:
    return cat(as(double()));
  default:
    return cat(as(float()));
  }
}

std::string plural(uint64_t count, const char *one, const char *many) {
  return cat(count, ' ', count == 1 ? one : many);
}

void describeNeeds(const Target &target, std::string &out) {
  if (target.kind == TDS_DEVICE_CUDA) {
    out += cat("  needs     a GPU that runs ", target.arch,
               target.arch.back() == 'a' ? " (that chip alone)" : " or newer",
               ", a driver for CUDA ", cudaVersionText(target.minDriver),
               " or newer (PTX ISA ", target.ptxMajor, '.', target.ptxMinor,
               ")\n");
    return;
  }
  out += cat("  needs     an x86-64 processor of level ", target.arch);
  if (!target.features.empty()) {
    out += " with";
    for (const std::string &feature : target.features)
      out += ' ' + feature;
  }
  out += '\n';
}

void describeEntry(const Manifest &manifest, const EntryPlan &entry,
                   std::string &out) {
  out += cat("  entry     ", entry.name,
             entry.kind == EntryPlan::Kind::Step ? " (step: changes variables)"
                                                 : " (function)",
             '\n');
  for (const Port &port : entry.inputs) {
    out += cat("    takes   ", port.name, ": ", typeText(port));
    if (port.hasDataAxis)
      out += ", rows along the data axis";
    if (port.isWeight)
      out += ", the weight of each row";
    if (port.hasDefault)
      out += cat(", default ", defaultText(port));
    if (port.isDonated)
      out += ", donated";
    out += '\n';
  }
  for (const Port &port : entry.results)
    out += cat("    gives   ", port.name, ": ", typeText(port),
               port.hasDataAxis ? ", rows along the data axis" : "", '\n');
  size_t launches = countCommands(entry.commands, true);
  out += cat("    runs    ",
             plural(launches, "kernel launch", "kernel launches"), " and ",
             plural(countCommands(entry.commands, false), "copy or fill",
                    "copies and fills"),
             " a call\n    memory  ", bytesInWords(entry.peakBytes),
             " at its peak");
  if (manifest.target.kind == TDS_DEVICE_CPU && entry.scratchBytes)
    out += cat(", and ", bytesInWords(entry.scratchBytes), " for each thread");
  out += '\n';
  for (const PeakTensor &tensor : entry.largestAtPeak) {
    out += cat("    largest ", bytesInWords(tensor.bytes), ": ",
               printable(tensor.role));
    if (!tensor.name.empty())
      out += ' ' + printable(tensor.name);
    if (tensor.type)
      out +=
          cat(", ", nameOf(*tensor.type),
              tensor.shape.empty() ? std::string() : shapeText(tensor.shape));
    if (!tensor.source.empty())
      out += cat(" (", printable(tensor.source), ')');
    out += '\n';
  }
  if (!entry.flags.empty())
    out += cat("    checks  ", plural(entry.flags.size(), "place", "places"),
               " at run time\n");
}

void describeMember(const Artifact &artifact, std::string &out) {
  const Manifest &manifest = artifact.manifest;
  describeNeeds(manifest.target, out);
  uint64_t elements[4] = {}, counts[4] = {};
  for (const Variable &variable : manifest.variables) {
    ++counts[variable.role];
    elements[variable.role] += variable.bytes / sizeOf(variable.type);
  }
  static const char *const roles[] = {"parameters", "states",
                                      "optimizer states", "counters"};
  out += cat("  holds     ",
             plural(manifest.variables.size(), "variable", "variables"), " (",
             bytesInWords(manifest.slabBytes()), ")");
  for (int role = 0; role < 4; ++role)
    if (counts[role])
      out += cat(", ", roles[role], ": ", counts[role], " of ",
                 plural(elements[role], "element", "elements"));
  out += cat("\n  kernels   ", manifest.kernels.size(), '\n');
  static const char *const roleWords[] = {"param", "state", "optimizer",
                                          "counter"};
  for (const Variable &variable : manifest.variables)
    out +=
        cat("  variable  ", variable.name, ": ", nameOf(variable.type),
            variable.shape.empty() ? std::string() : shapeText(variable.shape),
            " (", roleWords[variable.role], ")\n");
  uint64_t peak = 0, scratch = 0;
  for (const EntryPlan &entry : manifest.entries) {
    peak = std::max(peak, entry.peakBytes);
    scratch = std::max(scratch, entry.scratchBytes);
    if (entry.kind != EntryPlan::Kind::Init)
      describeEntry(manifest, entry, out);
  }
  out +=
      cat("  peak      ", peak, " bytes in the largest entry, ",
          MemoryPlan::of(manifest, 0).total(), " bytes for the whole module");
  // On a GPU scratch is part of the arena.
  if (manifest.target.kind == TDS_DEVICE_CPU && scratch)
    out += cat(" + ", scratch, " bytes for each thread");
  out += '\n';
}

} // namespace

std::string describeArtifact(const Container &container) {
  std::string out;
  for (size_t i = 0; i < container.size(); ++i) {
    Artifact artifact = container.load(i);
    const Manifest &manifest = artifact.manifest;
    if (i == 0)
      out +=
          cat(container.name(), ": ", manifest.programName, ", written by ",
              manifest.producer, "\n  program   ", manifest.programHash, '\n');
    if (container.isBundle())
      out += cat("target ", i + 1, " of ", container.size(), ": ",
                 artifact.name, '\n');
    describeMember(artifact, out);
  }
  return out;
}

} // namespace tdsrt
