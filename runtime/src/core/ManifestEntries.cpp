//===- ManifestEntries.cpp - entries, their inputs and results -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/ManifestParser.h"

#include <cmath>
#include <cstring>
#include <unordered_set>

namespace tdsrt {

Port ManifestParser::parsePort(const JsonCursor &at, uint64_t slotBytes,
                               const char *slot) {
  Port port;
  port.name = at.get("name").string();
  if (port.name.empty())
    at.get("name").bad("is empty");
  port.type = parseType(at.get("type"));
  port.shape = at.get("shape").shape();
  port.bytes = countBytes(at.get("shape"), port.shape, port.type);
  port.offset = at.get("offset").integer(spaceLimit);
  checkPlacement(at.get("offset"), port.offset, port.bytes, slotBytes, slot);
  if (at.has("data_axis") && !at.get("data_axis").raw().is_null()) {
    at.get("data_axis").integer(0);
    if (port.shape.empty())
      at.get("data_axis")
          .bad("is 0, but '", printable(port.name), "' is a scalar");
    if (port.shape[0] == 0)
      at.get("data_axis")
          .bad("is 0, but '", printable(port.name), "' has no rows");
    port.hasDataAxis = true;
  }
  return port;
}

void ManifestParser::parseDefault(const JsonCursor &at, Port &port) {
  const nlohmann::json &value = at.raw();
  auto store = [&](auto number) {
    std::memcpy(port.defaultBytes.data(), &number, sizeof number);
  };
  port.hasDefault = true;
  if (port.type == ElementType::Bool) {
    if (!value.is_boolean())
      at.bad("is not a boolean");
    return store(static_cast<uint8_t>(value.get<bool>()));
  }
  if (isFloat(port.type)) {
    double number = 0;
    if (value.is_number())
      number = value.get<double>();
    else if (value.is_string() && value == "inf")
      number = INFINITY;
    else if (value.is_string() && value == "-inf")
      number = -INFINITY;
    else if (value.is_string() && value == "nan")
      number = NAN;
    else
      at.bad("is not a number");
    if (port.type == ElementType::F64)
      return store(number);
    if (port.type == ElementType::F32)
      return store(std::fabs(number) > 3.5e38
                       ? static_cast<float>(std::copysign(INFINITY, number))
                       : static_cast<float>(number));
    return store(narrowFloat(number, port.type));
  }
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() &&
       value.get<uint64_t>() > uint64_t(INT64_MAX)))
    at.bad("is not an integer of its type");
  int64_t number = value.get<int64_t>();
  auto inside = [&](int64_t low, int64_t high) {
    if (number < low || number > high)
      at.bad("is ", number, ", which is no ", nameOf(port.type));
  };
  switch (port.type) {
  case ElementType::I8:
    inside(INT8_MIN, INT8_MAX);
    return store(static_cast<int8_t>(number));
  case ElementType::U8:
    inside(0, UINT8_MAX);
    return store(static_cast<uint8_t>(number));
  case ElementType::I32:
    inside(INT32_MIN, INT32_MAX);
    return store(static_cast<int32_t>(number));
  default:
    return store(number);
  }
}

void ManifestParser::checkSlot(const JsonCursor &list,
                               const std::vector<Range> &ranges) {
  std::unordered_set<std::string> names;
  for (const Range &range : ranges)
    if (!names.insert(range.name).second)
      list.bad("has two of the name '", printable(range.name), "'");
  if (auto overlap = findOverlap(ranges))
    list.bad("places '", printable(overlap->first), "' and '",
             printable(overlap->second), "' over each other");
}

void ManifestParser::parseEntry(const JsonCursor &at) {
  EntryPlan entry;
  entry.name = at.get("name").string();
  if (entry.name.empty())
    at.get("name").bad("is empty");
  if (manifest.findEntry(entry.name))
    at.get("name").bad("is '", printable(entry.name),
                       "', which an earlier entry has too");
  const std::string &kind = at.get("kind").string();
  if (kind == "step")
    entry.kind = EntryPlan::Kind::Step;
  else if (kind == "function")
    entry.kind = EntryPlan::Kind::Function;
  else if (kind == "init")
    entry.kind = EntryPlan::Kind::Init;
  else
    at.get("kind").bad("is '", printable(kind),
                       "', which is not step, function or init");
  if ((entry.kind == EntryPlan::Kind::Init) != (entry.name == "init"))
    at.get("kind").bad("is '", kind, "' in an entry named '",
                       printable(entry.name),
                       "', but kind and name 'init' belong together");

  entry.inputBytes = at.get("input_bytes").integer(spaceLimit);
  entry.resultBytes = at.get("result_bytes").integer(spaceLimit);
  entry.arenaBytes = at.get("arena_bytes").integer(spaceLimit);
  entry.scratchBytes = at.get("scratch_bytes").integer(spaceLimit);
  entry.peakBytes = at.get("peak_bytes").integer();
  addTotal(at.get("input_bytes"), entry.inputBytes);
  addTotal(at.get("result_bytes"), entry.resultBytes);
  addTotal(at.get("arena_bytes"), entry.arenaBytes);
  addTotal(at.get("scratch_bytes"), entry.scratchBytes);
  uint64_t promised = manifest.slabBytes() + manifest.constantBytes() +
                      entry.arenaBytes + entry.inputBytes + entry.resultBytes;
  if (entry.peakBytes != promised)
    at.get("peak_bytes")
        .bad("is ", entry.peakBytes, ", but its parts add to ", promised);

  parsePeak(at, entry);
  parseInputs(at.get("inputs"), entry);
  parseResults(at, entry);
  JsonCursor commands = at.get("commands");
  entry.commands.reserve(commands.size());
  for (size_t i = 0; i < commands.size(); ++i)
    entry.commands.push_back(parseCommand(commands.at(i), entry));
  manifest.entries.push_back(std::move(entry));
}

void ManifestParser::parsePeak(const JsonCursor &at, EntryPlan &entry) {
  if (!at.has("peak") || at.get("peak").raw().is_null())
    return;
  JsonCursor peak = at.get("peak");
  entry.peakCommand = peak.get("command").integer();
  entry.peakArenaBytes = peak.get("live_arena_bytes").integer(spaceLimit);
  JsonCursor list = peak.get("largest");
  constexpr size_t most = 16;
  if (list.size() > most)
    list.bad("lists ", list.size(), " tensors, more than ", most);
  for (size_t i = 0; i < list.size(); ++i) {
    JsonCursor item = list.at(i);
    PeakTensor tensor;
    tensor.role = item.get("role").string();
    if (item.has("name"))
      tensor.name = item.get("name").string();
    if (item.has("source"))
      tensor.source = item.get("source").string();
    tensor.bytes = item.get("bytes").integer(entry.peakBytes);
    if (item.has("type")) {
      tensor.type = parseType(item.get("type"));
      tensor.shape = item.get("shape").shape();
    }
    entry.largestAtPeak.push_back(std::move(tensor));
  }
}

void ManifestParser::parseInputs(const JsonCursor &list, EntryPlan &entry) {
  std::vector<Range> ranges;
  for (size_t i = 0; i < list.size(); ++i) {
    JsonCursor at = list.at(i);
    Port port = parsePort(at, entry.inputBytes, "input slot");
    if (at.has("default") && !at.get("default").raw().is_null())
      parseDefault(at.get("default"), port);
    if (at.has("role") && !at.get("role").raw().is_null()) {
      if (at.get("role").string() != "weight")
        at.get("role").bad("is '", printable(at.get("role").string()),
                           "', which is not weight");
      if (port.type != ElementType::F32 || port.shape.size() != 1)
        at.get("role").bad("is weight, but '", printable(port.name),
                           "' is not f32 with one axis");
      port.isWeight = true;
    }
    if (at.has("donated")) {
      if (!at.get("donated").raw().is_boolean())
        at.get("donated").bad("is not true or false");
      port.isDonated = at.get("donated").raw().get<bool>();
    }
    ranges.push_back({port.offset, port.offset + port.bytes, port.name});
    entry.inputs.push_back(std::move(port));
  }
  checkSlot(list, ranges);
  if (entry.kind == EntryPlan::Kind::Init &&
      (entry.inputs.size() != 1 || entry.inputs[0].name != "seed" ||
       entry.inputs[0].type != ElementType::I64 ||
       !entry.inputs[0].shape.empty()))
    list.bad("of 'init' must be one i64 scalar named 'seed'");
  // One batch size an entry: loaders rely on it.
  int64_t rows = -1;
  for (const Port &port : entry.inputs) {
    if (!port.hasDataAxis)
      continue;
    if (rows >= 0 && port.shape[0] != rows)
      list.bad("has inputs of ", rows, " and of ", port.shape[0],
               " rows along the data axis");
    rows = port.shape[0];
  }
}

void ManifestParser::parseResults(const JsonCursor &at, EntryPlan &entry) {
  JsonCursor list = at.get("results");
  std::vector<Range> ranges;
  for (size_t i = 0; i < list.size(); ++i) {
    Port port = parsePort(list.at(i), entry.resultBytes, "result slot");
    ranges.push_back({port.offset, port.offset + port.bytes, port.name});
    entry.results.push_back(std::move(port));
  }
  checkSlot(list, ranges);
  if (at.has("flags") && !at.get("flags").raw().is_null()) {
    JsonCursor flags = at.get("flags");
    for (size_t i = 0; i < flags.size(); ++i)
      entry.flags.push_back({flags.at(i).get("text").string(),
                             flags.at(i).get("source").string()});
  }
  bool hidden =
      !entry.results.empty() && entry.results.back().name == "tds.flags";
  if (hidden != !entry.flags.empty())
    list.bad("must end with the hidden 'tds.flags' exactly where the entry "
             "has flags");
  if (!hidden)
    return;
  Port flags = std::move(entry.results.back());
  entry.results.pop_back();
  if (flags.type != ElementType::I32 || flags.shape.size() != 1 ||
      static_cast<uint64_t>(flags.shape[0]) != entry.flags.size())
    list.bad("ends with 'tds.flags', which must be i32[", entry.flags.size(),
             "]");
  entry.flagsPort = std::move(flags);
}

} // namespace tdsrt
