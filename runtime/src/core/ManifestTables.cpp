//===- ManifestTables.cpp - slabs, variables, constants and kernels -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/ManifestParser.h"

#include <unordered_set>

namespace tdsrt {

void ManifestParser::parseSlabs() {
  JsonCursor list = root.get("slabs");
  for (size_t i = 0; i < list.size(); ++i) {
    JsonCursor at = list.at(i);
    manifest.slabs.push_back({parseRole(at.get("role")),
                              parseType(at.get("type")),
                              at.get("bytes").integer(spaceLimit)});
  }
  addTotal(list, manifest.slabBytes());
}

void ManifestParser::addTotal(const JsonCursor &at, uint64_t bytes) {
  totalBytes += bytes;
  if (bytes > spaceLimit || totalBytes > spaceLimit)
    at.bad("adds up to more than ", bytesInWords(spaceLimit));
}

void ManifestParser::parseVariables() {
  JsonCursor list = root.get("variables");
  std::unordered_set<std::string> names;
  std::vector<std::vector<Range>> ranges(manifest.slabs.size());
  for (size_t i = 0; i < list.size(); ++i) {
    JsonCursor at = list.at(i);
    Variable variable;
    variable.name = at.get("name").string();
    if (variable.name.empty())
      at.get("name").bad("is empty");
    if (!names.insert(variable.name).second)
      at.get("name").bad("is '", printable(variable.name),
                         "', which an earlier variable has too");
    variable.role = parseRole(at.get("role"));
    variable.type = parseType(at.get("type"));
    variable.shape = at.get("shape").shape();
    variable.bytes = countBytes(at.get("shape"), variable.shape, variable.type);
    if (manifest.slabs.empty())
      at.get("slab").bad("points to a slab, but there is none");
    variable.slab = static_cast<uint32_t>(
        at.get("slab").integer(manifest.slabs.size() - 1));
    variable.offset = at.get("offset").integer(spaceLimit);
    const Slab &slab = manifest.slabs[variable.slab];
    if (slab.role != variable.role || slab.type != variable.type)
      at.get("slab").bad("is ", variable.slab,
                         ", whose role or type is not that of variable '",
                         printable(variable.name), "'");
    checkPlacement(at.get("offset"), variable.offset, variable.bytes,
                   slab.bytes, "slab");
    ranges[variable.slab].push_back(
        {variable.offset, variable.offset + variable.bytes, variable.name});
    if (variable.role == TDS_ROLE_COUNTER &&
        (variable.type != ElementType::I64 || !variable.shape.empty()))
      at.bad("is a counter, but no i64 scalar");
    if (at.has("layers") && !at.get("layers").raw().is_boolean())
      at.get("layers").bad("is not true or false");
    if (at.has("layers") && at.get("layers").raw().get<bool>())
      addLayers(at, variable, names);
    else
      manifest.variables.push_back(std::move(variable));
  }
  for (std::vector<Range> &slabRanges : ranges)
    if (auto overlap = findOverlap(std::move(slabRanges)))
      list.bad("places '", printable(overlap->first), "' and '",
               printable(overlap->second), "' over each other");
}

void ManifestParser::addLayers(const JsonCursor &at, const Variable &all,
                               std::unordered_set<std::string> &names) {
  size_t star = all.name.find('*');
  if (star == std::string::npos ||
      all.name.find('*', star + 1) != all.name.npos)
    at.get("name").bad("is '", printable(all.name),
                       "', in which not exactly one * stands for the number "
                       "of the layer");
  if (all.shape.empty())
    at.get("shape").bad("has no axis of layers");
  uint64_t layers = static_cast<uint64_t>(all.shape.front());
  if (layers > maxVariables ||
      manifest.variables.size() + layers > maxVariables)
    at.get("shape").bad("has ", layers, " layers; there may be ", maxVariables,
                        " variables in all");
  for (uint64_t layer = 0; layer < layers; ++layer) {
    Variable one = all;
    one.name = all.name.substr(0, star) + std::to_string(layer) +
               all.name.substr(star + 1);
    if (!names.insert(one.name).second)
      at.get("name").bad("stands for '", printable(one.name),
                         "', which another variable is called too");
    one.shape.erase(one.shape.begin());
    one.bytes = all.bytes / layers;
    one.offset = all.offset + layer * one.bytes;
    manifest.variables.push_back(std::move(one));
  }
}

void ManifestParser::checkPlacement(const JsonCursor &at, uint64_t offset,
                                    uint64_t bytes, uint64_t spaceBytes,
                                    const char *space) {
  if (offset % variableAlignment != 0)
    at.bad("is ", offset, ", which is not a multiple of ", variableAlignment);
  if (offset > spaceBytes || bytes > spaceBytes - offset)
    at.bad("is ", offset, ", and ", bytes,
           " bytes from there pass the end of the ", space, " of ", spaceBytes,
           " bytes");
}

void ManifestParser::parseConstants() {
  JsonCursor list = root.get("constants");
  for (size_t i = 0; i < list.size(); ++i) {
    JsonCursor at = list.at(i);
    uint64_t bytes = at.get("bytes").integer(spaceLimit);
    manifest.constants.push_back(decodeBase64(at.get("base64"), bytes));
  }
  addTotal(list, manifest.constantBytes());
}

void ManifestParser::parseKernels() {
  JsonCursor list = root.get("kernels");
  std::unordered_set<std::string> symbols;
  for (size_t i = 0; i < list.size(); ++i) {
    JsonCursor at = list.at(i);
    Kernel kernel;
    kernel.symbol = at.get("symbol").string();
    if (!isSymbol(kernel.symbol))
      at.get("symbol").bad("is '", printable(kernel.symbol),
                           "', which is no symbol");
    if (!symbols.insert(kernel.symbol).second)
      at.get("symbol").bad("is '", printable(kernel.symbol),
                           "', which an earlier kernel has too");
    kernel.kind = at.get("kind").string();
    kernel.title = at.get("title").string();
    kernel.source = at.get("source").string();
    JsonCursor block = at.get("block");
    if (block.size() != 3)
      block.bad("has ", block.size(), " numbers instead of 3");
    uint64_t threads = 1;
    for (size_t axis = 0; axis < 3; ++axis) {
      uint64_t extent = block.at(axis).integer(1024);
      if (extent == 0)
        block.at(axis).bad("is 0");
      kernel.block[axis] = static_cast<uint32_t>(extent);
      threads *= extent;
    }
    if (threads > 1024)
      block.bad("has ", threads, " threads, but a block has at most 1024");
    kernel.sharedBytes = static_cast<uint32_t>(
        at.get("shared_bytes").integer(uint64_t(1) << 20));
    kernel.buffers =
        static_cast<uint32_t>(at.get("buffers").integer(maxKernelArguments));
    kernel.sizes =
        static_cast<uint32_t>(at.get("sizes").integer(maxKernelArguments));
    manifest.kernels.push_back(std::move(kernel));
  }
}

} // namespace tdsrt
