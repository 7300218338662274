//===- Manifest.cpp - parse and check the manifest -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One pass over the document: each value is checked as it is read, against
// what was read before it (slabs before variables, kernels before commands).
//
//===----------------------------------------------------------------------===//

#include "core/Manifest.h"
#include "core/Json.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_set>

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

namespace {

constexpr unsigned formatMajor = 1;
constexpr unsigned kernelAbi = 1;
constexpr uint64_t variableAlignment = 256;
constexpr uint64_t argumentAlignment = 16;
// No slab, slot or arena of one device comes near this; sums of a few thousand
// of them stay far below 2^64.
constexpr uint64_t spaceLimit = uint64_t(1) << 50;
constexpr uint32_t maxKernelArguments = 4096;
// A short entry may stand for many variables.
constexpr uint64_t maxVariables = 1 << 20;

/// [offset, offset + bytes) of something named, to find overlaps.
struct Range {
  uint64_t begin, end;
  std::string name;
};

/// The names of the first two ranges that share a byte, if any do.
std::optional<std::pair<std::string, std::string>>
findOverlap(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const Range &a, const Range &b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  const Range *last = nullptr;
  for (const Range &range : ranges) {
    if (range.begin == range.end)
      continue;
    if (last && range.begin < last->end)
      return std::make_pair(last->name, range.name);
    last = &range;
  }
  return std::nullopt;
}

tds_role parseRole(const JsonCursor &at) {
  const std::string &text = at.string();
  if (text == "param")
    return TDS_ROLE_PARAM;
  if (text == "state")
    return TDS_ROLE_STATE;
  if (text == "optimizer")
    return TDS_ROLE_OPTIMIZER;
  if (text == "counter")
    return TDS_ROLE_COUNTER;
  at.bad("is '", printable(text),
         "', which is not param, state, optimizer or counter");
}

ElementType parseType(const JsonCursor &at) {
  const std::string &text = at.string();
  if (std::optional<ElementType> type = languageType(text))
    return *type;
  at.bad("is '", printable(text), "', which is no element type");
}

bool isHex(const std::string &text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
}

bool isSymbol(const std::string &text) {
  if (text.empty() || text.size() > 63 || (text[0] >= '0' && text[0] <= '9'))
    return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || c == '_';
  });
}

std::vector<uint8_t> decodeBase64(const JsonCursor &at, uint64_t bytes) {
  if (!at.raw().is_string())
    at.bad("is not a string");
  const std::string &text = at.raw().get_ref<const std::string &>();
  if (text.size() != (bytes + 2) / 3 * 4)
    at.bad("has ", text.size(), " characters, but ", bytes, " bytes take ",
           (bytes + 2) / 3 * 4);
  auto digit = [&](char c) -> uint32_t {
    if (c >= 'A' && c <= 'Z')
      return c - 'A';
    if (c >= 'a' && c <= 'z')
      return c - 'a' + 26;
    if (c >= '0' && c <= '9')
      return c - '0' + 52;
    if (c == '+')
      return 62;
    if (c == '/')
      return 63;
    at.bad("is not base64");
  };
  std::vector<uint8_t> out;
  out.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    size_t left = bytes - out.size(); // at least 1
    uint32_t word = digit(text[i]) << 18 | digit(text[i + 1]) << 12;
    if (left > 1)
      word |= digit(text[i + 2]) << 6;
    else if (text[i + 2] != '=')
      at.bad("is not base64");
    if (left > 2)
      word |= digit(text[i + 3]);
    else if (text[i + 3] != '=')
      at.bad("is not base64");
    out.push_back(static_cast<uint8_t>(word >> 16));
    if (left > 1)
      out.push_back(static_cast<uint8_t>(word >> 8));
    if (left > 2)
      out.push_back(static_cast<uint8_t>(word));
  }
  return out;
}

/// Bits of a float in 16 bits, rounded to nearest even.
uint16_t narrowFloat(double value, ElementType type) {
  if (type == ElementType::BF16) {
    float single = static_cast<float>(value);
    uint32_t bits;
    std::memcpy(&bits, &single, sizeof bits);
    if (std::isnan(single))
      return static_cast<uint16_t>(bits >> 16 | 0x40);
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  double magnitude = std::fabs(value);
  if (std::isnan(value))
    return sign | 0x7e00;
  if (magnitude >= 65520)
    return sign | 0x7c00;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  int scale = std::max(exponent - 11, -24); // 11 significant bits
  long units = std::lrint(std::ldexp(magnitude, -scale));
  if (magnitude == 0)
    return sign;
  // `units << 0` at the subnormal scale is the encoding itself; above it, each
  // step of the scale adds one to the exponent field.
  return static_cast<uint16_t>(sign | (units + ((scale + 24) << 10)));
}

class ManifestParser {
public:
  ManifestParser(const nlohmann::json &document, const std::string &where)
      : where(where), root(document, where) {}

  Manifest parse() {
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

private:
  void parseHead() {
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

  void parseTarget() {
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

  void parseSlabs() {
    JsonCursor list = root.get("slabs");
    for (size_t i = 0; i < list.size(); ++i) {
      JsonCursor at = list.at(i);
      manifest.slabs.push_back({parseRole(at.get("role")),
                                parseType(at.get("type")),
                                at.get("bytes").integer(spaceLimit)});
    }
    addTotal(list, manifest.slabBytes());
  }

  /// Keeps the running sum of everything a module holds below the limit.
  void addTotal(const JsonCursor &at, uint64_t bytes) {
    totalBytes += bytes;
    if (bytes > spaceLimit || totalBytes > spaceLimit)
      at.bad("adds up to more than ", bytesInWords(spaceLimit));
  }

  void parseVariables() {
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
      std::optional<uint64_t> bytes = byteCount(variable.shape, variable.type);
      if (!bytes)
        at.get("shape").bad("is ", shapeText(variable.shape),
                            ", more elements than any memory holds");
      variable.bytes = *bytes;
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

  /// One variable for each layer: `*` in the name is its number, axis 0 of the
  /// shape counts them.
  void addLayers(const JsonCursor &at, const Variable &all,
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
      at.get("shape").bad("has ", layers, " layers; there may be ",
                          maxVariables, " variables in all");
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

  void checkPlacement(const JsonCursor &at, uint64_t offset, uint64_t bytes,
                      uint64_t spaceBytes, const char *space) {
    if (offset % variableAlignment != 0)
      at.bad("is ", offset, ", which is not a multiple of ", variableAlignment);
    if (offset > spaceBytes || bytes > spaceBytes - offset)
      at.bad("is ", offset, ", and ", bytes,
             " bytes from there pass the end of the ", space, " of ",
             spaceBytes, " bytes");
  }

  void parseConstants() {
    JsonCursor list = root.get("constants");
    for (size_t i = 0; i < list.size(); ++i) {
      JsonCursor at = list.at(i);
      uint64_t bytes = at.get("bytes").integer(spaceLimit);
      manifest.constants.push_back(decodeBase64(at.get("base64"), bytes));
    }
    addTotal(list, manifest.constantBytes());
  }

  void parseKernels() {
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

  Port parsePort(const JsonCursor &at, uint64_t slotBytes, const char *slot) {
    Port port;
    port.name = at.get("name").string();
    if (port.name.empty())
      at.get("name").bad("is empty");
    port.type = parseType(at.get("type"));
    port.shape = at.get("shape").shape();
    std::optional<uint64_t> bytes = byteCount(port.shape, port.type);
    if (!bytes)
      at.get("shape").bad("is ", shapeText(port.shape),
                          ", more elements than any memory holds");
    port.bytes = *bytes;
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

  void parseDefault(const JsonCursor &at, Port &port) {
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

  void checkSlot(const JsonCursor &list, const std::vector<Range> &ranges) {
    std::unordered_set<std::string> names;
    for (const Range &range : ranges)
      if (!names.insert(range.name).second)
        list.bad("has two of the name '", printable(range.name), "'");
    if (auto overlap = findOverlap(ranges))
      list.bad("places '", printable(overlap->first), "' and '",
               printable(overlap->second), "' over each other");
  }

  void parseEntry(const JsonCursor &at) {
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

  void parsePeak(const JsonCursor &at, EntryPlan &entry) {
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

  void parseInputs(const JsonCursor &list, EntryPlan &entry) {
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

  void parseResults(const JsonCursor &at, EntryPlan &entry) {
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

  Operand parseOperand(const JsonCursor &at, const EntryPlan &entry) {
    if (at.size() != 4 && at.size() != 5)
      at.bad("has ", at.size(), " parts instead of 4 or 5");
    const std::string &space = at.at(0).string();
    Operand operand;
    uint64_t spaceBytes = 0;
    auto choose = [&](Space kind, uint64_t count) {
      operand.space = kind;
      if (count == 0)
        at.at(1).bad("points to a ", space, ", but there is none");
      operand.index = static_cast<uint32_t>(at.at(1).integer(count - 1));
    };
    if (space == "slab") {
      choose(Space::Slab, manifest.slabs.size());
      spaceBytes = manifest.slabs[operand.index].bytes;
    } else if (space == "const") {
      choose(Space::Constant, manifest.constants.size());
      spaceBytes = manifest.constants[operand.index].size();
    } else if (space == "arena") {
      choose(Space::Arena, 1);
      spaceBytes = entry.arenaBytes;
    } else if (space == "input") {
      choose(Space::Input, 1);
      spaceBytes = entry.inputBytes;
    } else if (space == "result") {
      choose(Space::Result, 1);
      spaceBytes = entry.resultBytes;
    } else {
      at.at(0).bad("is '", printable(space),
                   "', which is not slab, arena, input, result or const");
    }
    operand.offset = at.at(2).integer(spaceLimit);
    operand.bytes = at.at(3).integer(spaceLimit);
    if (operand.offset > spaceBytes ||
        operand.bytes > spaceBytes - operand.offset)
      at.bad("reaches from byte ", operand.offset, " over ", operand.bytes,
             " bytes, past the end of the ", space, " of ", spaceBytes,
             " bytes");
    if (at.size() == 5)
      parseStrides(at.at(4), operand, spaceBytes, space);
    return operand;
  }

  /// In the last iteration of all loops the range still lies in its space.
  void parseStrides(const JsonCursor &at, Operand &operand, uint64_t spaceBytes,
                    const std::string &space) {
    if (at.size() > loops.size())
      at.bad("has ", at.size(), " strides, but the command stands in ",
             loops.size(), " loops");
    uint64_t room = spaceBytes - operand.offset - operand.bytes;
    for (size_t d = 0; d < at.size(); ++d) {
      uint64_t stride = at.at(d).integer(spaceLimit);
      uint64_t steps = loops[d] ? loops[d] - 1 : 0;
      if (stride && steps > room / stride)
        at.at(d).bad("moves the range past the end of the ", space, " of ",
                     spaceBytes, " bytes");
      room -= stride * steps;
      operand.strides.push_back(stride);
    }
  }

  /// Past the last byte of the range in any iteration.
  uint64_t spanEnd(const Operand &operand, uint64_t bytes) const {
    uint64_t end = operand.offset + bytes;
    for (size_t d = 0; d < operand.strides.size(); ++d)
      end += operand.strides[d] * (loops[d] ? loops[d] - 1 : 0);
    return end;
  }

  /// Whether a copy may read what it has written in part.
  bool overlapInPart(const Operand &to, const Operand &from,
                     uint64_t bytes) const {
    if (to.space != from.space || to.index != from.index || bytes == 0)
      return false;
    if (to.strides == from.strides)
      return to.offset != from.offset &&
             std::max(to.offset, from.offset) -
                     std::min(to.offset, from.offset) <
                 bytes;
    return to.offset < spanEnd(from, bytes) && from.offset < spanEnd(to, bytes);
  }

  /// An operand that a copy or a fill of `bytes` bytes writes.
  Operand parseTarget(const JsonCursor &at, const EntryPlan &entry,
                      uint64_t bytes) {
    Operand operand = parseOperand(at, entry);
    bool isDonated = false;
    for (const Port &port : entry.inputs)
      isDonated |= port.isDonated && operand.offset >= port.offset &&
                   spanEnd(operand, bytes) <= port.offset + port.bytes;
    if ((operand.space == Space::Input && !isDonated) ||
        operand.space == Space::Constant)
      at.bad("is written, but constants and inputs that are not donated are "
             "read-only");
    if (bytes > operand.bytes)
      at.bad("has ", operand.bytes, " bytes, but ", bytes, " are written");
    return operand;
  }

  Command parseCommand(const JsonCursor &at, const EntryPlan &entry) {
    Command command;
    const std::string &op = at.get("op").string();
    if (op == "launch") {
      parseLaunch(at, entry, command);
    } else if (op == "copy") {
      command.op = Command::Op::Copy;
      command.bytes = at.get("bytes").integer(spaceLimit);
      command.to = parseTarget(at.get("to"), entry, command.bytes);
      command.from = parseOperand(at.get("from"), entry);
      const Operand &to = command.to, &from = command.from;
      if (command.bytes > from.bytes)
        at.get("from").bad("has ", from.bytes, " bytes, but ", command.bytes,
                           " are read");
      if (overlapInPart(to, from, command.bytes))
        at.bad("copies between ranges that overlap in part");
    } else if (op == "fill") {
      command.op = Command::Op::Fill;
      command.bytes = at.get("bytes").integer(spaceLimit);
      command.byte = static_cast<uint8_t>(at.get("byte").integer(255));
      command.to = parseTarget(at.get("to"), entry, command.bytes);
    } else if (op == "loop") {
      parseLoop(at, entry, command);
    } else {
      at.get("op").bad("is '", printable(op),
                       "', which is not launch, copy, fill or loop");
    }
    return command;
  }

  void parseLoop(const JsonCursor &at, const EntryPlan &entry,
                 Command &command) {
    command.op = Command::Op::Loop;
    if (loops.size() == maxLoopDepth)
      at.bad("is nested deeper than ", maxLoopDepth, " loops");
    command.trips = at.get("trips").integer(INT32_MAX);
    // A call must end.
    constexpr uint64_t mostIterations = uint64_t(1) << 40;
    uint64_t iterations = command.trips;
    for (uint64_t trips : loops)
      if (trips && iterations > mostIterations / trips)
        at.get("trips").bad("makes more than 2^40 iterations");
      else
        iterations *= trips;
    if (at.has("reverse")) {
      if (!at.get("reverse").raw().is_boolean())
        at.get("reverse").bad("is not true or false");
      command.reverse = at.get("reverse").raw().get<bool>();
    }
    loops.push_back(command.trips);
    JsonCursor commands = at.get("commands");
    command.body.reserve(commands.size());
    for (size_t i = 0; i < commands.size(); ++i)
      command.body.push_back(parseCommand(commands.at(i), entry));
    loops.pop_back();
  }

  void parseLaunch(const JsonCursor &at, const EntryPlan &entry,
                   Command &command) {
    command.op = Command::Op::Launch;
    JsonCursor kernelAt = at.get("kernel");
    if (manifest.kernels.empty())
      kernelAt.bad("points to a kernel, but there is none");
    command.kernel =
        static_cast<uint32_t>(kernelAt.integer(manifest.kernels.size() - 1));
    const Kernel &kernel = manifest.kernels[command.kernel];
    command.work = at.get("work").integer();
    JsonCursor grid = at.get("grid");
    if (grid.size() != 3)
      grid.bad("has ", grid.size(), " numbers instead of 3");
    for (size_t axis = 0; axis < 3; ++axis) {
      uint64_t extent = grid.at(axis).integer(axis == 0 ? INT32_MAX : 65535);
      if (extent == 0 && command.work != 0)
        grid.at(axis).bad("is 0, but there is work");
      command.grid[axis] = static_cast<uint32_t>(extent);
    }
    JsonCursor args = at.get("args");
    if (args.size() != kernel.buffers)
      args.bad("has ", args.size(), " operands, but kernel '", kernel.symbol,
               "' takes ", kernel.buffers);
    for (size_t i = 0; i < args.size(); ++i) {
      Operand operand = parseOperand(args.at(i), entry);
      if (operand.offset % argumentAlignment != 0)
        args.at(i).at(2).bad("is ", operand.offset,
                             ", which is not a multiple of ",
                             argumentAlignment);
      bool seen = false;
      for (const Operand &other : command.args)
        seen |= other.space == operand.space && other.index == operand.index &&
                other.offset == operand.offset &&
                other.strides == operand.strides;
      if (!seen)
        command.operandBytes += operand.bytes;
      for (size_t d = 0; d < operand.strides.size(); ++d)
        if (operand.strides[d] % argumentAlignment != 0)
          args.at(i).at(4).at(d).bad("is ", operand.strides[d],
                                     ", which is not a multiple of ",
                                     argumentAlignment);
      command.args.push_back(operand);
    }
    if (at.has("flops"))
      command.flops = at.get("flops").integer();
    // At most what the operands are: it is read from a file.
    if (at.has("updated"))
      command.operandBytes +=
          std::min<uint64_t>(at.get("updated").integer(), command.operandBytes);
    JsonCursor sizes = at.get("sizes");
    if (sizes.size() != kernel.sizes)
      sizes.bad("has ", sizes.size(), " numbers, but kernel '", kernel.symbol,
                "' takes ", kernel.sizes);
    for (size_t i = 0; i < sizes.size(); ++i) {
      SizeArgument size;
      if (sizes.at(i).raw().is_object()) {
        JsonCursor loop = sizes.at(i).get("loop");
        if (loops.empty())
          loop.bad("names a loop, but the command stands in none");
        size.loop = static_cast<int32_t>(loop.integer(loops.size() - 1));
      } else {
        size.number = static_cast<int64_t>(sizes.at(i).integer());
      }
      command.sizes.push_back(size);
    }
  }

  const std::string &where;
  JsonCursor root;
  Manifest manifest;
  uint64_t totalBytes = 0;
  /// Iterations of the loops around the command that is read.
  std::vector<uint64_t> loops;
};

} // namespace

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
