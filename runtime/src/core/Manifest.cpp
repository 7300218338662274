//===- Manifest.cpp - the manifest of an artefact -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/ManifestParser.h"

#include <cstring>

namespace tdsrt {

uint64_t Manifest::slabBytes() const {
  uint64_t total = 0;
  for (const Slab &slab : slabs)
    total += slab.bytes;
  return total;
}

uint64_t Manifest::constantBytes() const {
  uint64_t total = 0;
  for (const std::vector<uint8_t> &constant : constants)
    total += constant.size();
  return total;
}

const EntryPlan *Manifest::findEntry(std::string_view name) const {
  for (const EntryPlan &entry : entries)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

Manifest ManifestParser::parse() {
  parseHead();
  parseTarget();
  parseSlabs();
  parseVariables();
  parseConstants();
  parseKernels();
  JsonCursor list = root.get("entries");
  for (size_t i = 0; i < list.size(); ++i)
    parseEntry(list.at(i));
  if (!manifest.variables.empty() && !manifest.findEntry("init"))
    list.bad("has no entry 'init', which gives the variables their first "
             "values");
  return std::move(manifest);
}

void ManifestParser::parseHead() {
  JsonCursor format = root.get("format");
  uint64_t major = format.get("major").integer();
  format.get("minor").integer();
  if (major > formatMajor)
    fail(TDS_UNSUPPORTED, where, ": the artefact has format ", major,
         ", but this runtime reads formats up to ", formatMajor,
         "; install a newer tdsl runtime or compile with an older tdslc");
  if (major < 1)
    format.bad("has major number 0, which never was");
  uint64_t abi = root.get("kernel_abi").integer();
  if (abi > kernelAbi)
    fail(TDS_UNSUPPORTED, where, ": the artefact has kernel ABI ", abi,
         ", but this runtime calls kernels of ABI up to ", kernelAbi,
         "; install a newer tdsl runtime or compile with an older tdslc");
  if (abi < 1)
    root.get("kernel_abi").bad("is 0, which never was");
  manifest.producer = root.get("producer").string();
  JsonCursor program = root.get("program");
  manifest.programName = program.get("name").string();
  manifest.programHash = program.get("hash").string();
  if (manifest.programHash.size() != 64 || !isHex(manifest.programHash))
    program.get("hash").bad("is not 64 lower-case hex digits");
}

void ManifestParser::parseTarget() {
  JsonCursor at = root.get("target");
  Target &target = manifest.target;
  const std::string &kind = at.get("kind").string();
  target.arch = at.get("arch").string(64);
  if (kind == "cpu") {
    target.kind = TDS_DEVICE_CPU;
    if (at.has("features")) {
      JsonCursor list = at.get("features");
      for (size_t i = 0; i < list.size(); ++i)
        target.features.push_back(list.at(i).string(64));
    }
    return;
  }
  if (kind != "cuda")
    fail(TDS_UNSUPPORTED, where, ": the artefact is for a '", printable(kind),
         "' device, which this runtime does not know; compile it for cpu or "
         "for a CUDA architecture");
  target.kind = TDS_DEVICE_CUDA;
  target.minDriver = at.get("min_driver").integer();
  JsonCursor isa = at.get("ptx_isa");
  const std::string &text = isa.string(16);
  size_t dot = text.find('.');
  auto number = [&](const std::string &digits) -> unsigned {
    if (digits.empty() || digits.size() > 3 ||
        digits.find_first_not_of("0123456789") != std::string::npos)
      isa.bad("is '", printable(text), "', which is no version like 7.0");
    return static_cast<unsigned>(std::stoul(digits));
  };
  target.ptxMajor = number(text.substr(0, dot));
  target.ptxMinor =
      number(dot == std::string::npos ? std::string() : text.substr(dot + 1));
}

void fillDefault(const Port &port, void *to) {
  size_t size = sizeOf(port.type);
  for (uint64_t at = 0; at < port.bytes; at += size)
    std::memcpy(static_cast<char *>(to) + at, port.defaultBytes.data(), size);
}

size_t countCommands(const std::vector<Command> &commands, bool launches) {
  size_t count = 0;
  for (const Command &command : commands)
    count += command.op == Command::Op::Loop
                 ? command.trips * countCommands(command.body, launches)
                 : (command.op == Command::Op::Launch) == launches;
  return count;
}

uint64_t countRuns(const std::vector<Command> &commands) {
  uint64_t count = 0;
  for (const Command &command : commands)
    count += command.op == Command::Op::Loop
                 ? command.trips * countRuns(command.body)
                 : (command.op == Command::Op::Launch ? command.work
                                                      : command.bytes) != 0;
  return count;
}

Manifest parseManifest(std::string_view json, const std::string &where) {
  nlohmann::json document = parseJson(json, where);
  return ManifestParser(document, where).parse();
}

} // namespace tdsrt
