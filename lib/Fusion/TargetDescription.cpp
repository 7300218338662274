//===- TargetDescription.cpp - the figures of a device -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Fusion/TargetDescription.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>

using namespace tdsl;
namespace json = llvm::json;

namespace {

struct EmbeddedDescription {
  llvm::StringRef name, text;
};
#include "TargetDescriptions.inc"

/// A figure's key and where it goes; those of GPUs have no meaning on a CPU.
struct Figure {
  llvm::StringRef key;
  double TargetDescription::*member;
  bool isOfGPU;
  /// Not every device has it.
  bool isOptional = false;
};
constexpr Figure figures[] = {
    {"multiprocessors", &TargetDescription::multiprocessors, false},
    {"threads_per_multiprocessor", &TargetDescription::threadsPerMultiprocessor,
     true},
    {"registers_per_multiprocessor",
     &TargetDescription::registersPerMultiprocessor, true},
    {"registers_per_thread", &TargetDescription::registersPerThread, true},
    {"shared_bytes_per_block", &TargetDescription::sharedBytesPerBlock, true},
    {"shared_bytes_per_multiprocessor",
     &TargetDescription::sharedBytesPerMultiprocessor, true},
    {"parameter_bytes", &TargetDescription::parameterBytes, false},
    {"memory_gb_per_s", &TargetDescription::memoryGBPerS, false},
    {"cache_bytes", &TargetDescription::cacheBytes, false},
    {"cache_gb_per_s", &TargetDescription::cacheGBPerS, false},
    {"cache_latency_ns", &TargetDescription::cacheLatencyNs, true},
    {"f32_gflop_per_s", &TargetDescription::f32GflopPerS, false},
    {"f16_tensor_gflop_per_s", &TargetDescription::f16TensorGflopPerS, true,
     true},
    {"bf16_tensor_gflop_per_s", &TargetDescription::bf16TensorGflopPerS, true,
     true},
    {"element_gop_per_s", &TargetDescription::elementGopPerS, false},
    {"launch_ns", &TargetDescription::launchNs, false},
};

llvm::Error fail(llvm::StringRef name, const llvm::Twine &what) {
  return llvm::createStringError("the target description '" + name + "' " +
                                 what);
}

/// The most that a description may have: the parser goes as deep as the text
/// does.
constexpr uint64_t maxBytes = 1 << 20;
constexpr unsigned maxDepth = 16;

bool isTooDeep(llvm::StringRef text) {
  unsigned depth = 0;
  bool isString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (isString) {
      isString = c != '"';
      i += c == '\\';
    } else if (c == '"') {
      isString = true;
    } else if (c == '[' || c == '{') {
      if (++depth > maxDepth)
        return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

} // namespace

llvm::Expected<TargetDescription>
TargetDescription::parse(llvm::StringRef text, llvm::StringRef name) {
  if (text.size() > maxBytes || isTooDeep(text))
    return fail(name, "is no description: it is larger, or deeper, than any");
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value)
    return fail(name, "is no JSON: " + llvm::toString(value.takeError()));
  const json::Object *object = value->getAsObject();
  if (!object)
    return fail(name, "is no JSON object");
  for (const auto &entry : *object)
    if (entry.first != "name" && entry.first != "kind" &&
        entry.first != "archs" && entry.first != "figures")
      return fail(name, "has the unknown key '" + llvm::StringRef(entry.first) +
                            "'; there are name, kind, archs and figures");
  TargetDescription result;
  std::optional<llvm::StringRef> own = object->getString("name"),
                                 kind = object->getString("kind");
  if (!own || own->empty())
    return fail(name, "has no name");
  result.name = own->str();
  if (!kind || (*kind != "cpu" && *kind != "cuda"))
    return fail(name, "has no kind; it is cpu or cuda");
  result.isCPU = *kind == "cpu";
  if (const json::Value *archs = object->get("archs")) {
    const json::Array *array = archs->getAsArray();
    if (!array)
      return fail(name, "has archs that are no list of names");
    for (const json::Value &arch : *array) {
      std::optional<llvm::StringRef> text = arch.getAsString();
      if (!text)
        return fail(name, "has archs that are no list of names");
      result.archs.push_back(text->str());
    }
  }
  const json::Object *given = object->getObject("figures");
  if (!given)
    return fail(name, "has no figures");
  llvm::StringSet<> known;
  for (const Figure &figure : figures) {
    known.insert(figure.key);
    const json::Value *entry = given->get(figure.key);
    if (!entry && (figure.isOptional || (figure.isOfGPU && result.isCPU)))
      continue;
    if (!entry)
      return fail(name, "lacks the figure '" + figure.key + "'");
    const json::Object *described = entry->getAsObject();
    std::optional<double> number =
        described ? described->getNumber("value") : entry->getAsNumber();
    // Wide enough for every device, and such that no product overflows.
    if (!number || !(*number >= 1e-3 && *number <= 1e15))
      return fail(name, "has a '" + figure.key +
                            "' that is no number from 0.001 to 1e15; write "
                            "{\"value\": 1, \"source\": \"…\"}");
    result.*figure.member = *number;
  }
  for (const auto &entry : *given)
    if (!known.contains(llvm::StringRef(entry.first)))
      return fail(name, "has the unknown figure '" +
                            llvm::StringRef(entry.first) + "'");
  return result;
}

llvm::Expected<TargetDescription>
TargetDescription::load(llvm::StringRef nameOrPath) {
  for (const EmbeddedDescription &description : embeddedDescriptions)
    if (description.name == nameOrPath)
      return parse(description.text, nameOrPath);
  // A device or a pipe may have no end.
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(nameOrPath, status) &&
      (!llvm::sys::fs::is_regular_file(status) || status.getSize() > maxBytes))
    return fail(nameOrPath, "is no file of at most 1 MiB");
  auto file = llvm::MemoryBuffer::getFile(nameOrPath, /*IsText=*/true);
  if (file)
    return parse((*file)->getBuffer(), nameOrPath);
  std::string names;
  for (const EmbeddedDescription &description : embeddedDescriptions)
    names += (names.empty() ? "" : ", ") + description.name.str();
  return llvm::createStringError(
      "cannot read the target description '" + nameOrPath + "' (" +
      file.getError().message() + "); give a file, or one of " + names);
}

std::string TargetDescription::getNameFor(llvm::StringRef arch) {
  for (const EmbeddedDescription &embedded : embeddedDescriptions) {
    llvm::Expected<TargetDescription> description =
        parse(embedded.text, embedded.name);
    if (!description) {
      llvm::consumeError(description.takeError());
      continue;
    }
    for (const std::string &own : description->archs)
      if (own == arch)
        return description->name;
  }
  return arch.starts_with("sm_") ? "a100" : "host-cpu";
}
