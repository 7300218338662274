//===- Checkpoint.cpp - save and restore a module -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading is in two halves: everything that can be wrong is found first, with
// all tensors in host memory, and only then are variables written. A failed
// restore has changed nothing.
//
//===----------------------------------------------------------------------===//

#include "checkpoint/Checkpoint.h"
#include "core/Error.h"
#include "data/Safetensors.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>

namespace tdsrt {

namespace {

constexpr const char *formatName = "tdsl-checkpoint-1";

/// Metadata are strings; numbers in them are decimal. What is not there is 0.
uint64_t metadataNumber(const SafetensorsFile &file, const char *key) {
  auto found = file.metadata().find(key);
  if (found == file.metadata().end())
    return 0;
  const std::string &text = found->second;
  uint64_t value = 0;
  const char *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || stop != end || error != std::errc())
    fail(TDS_BAD_DATA, file.path(), ": its metadata '", key, "' is '",
         printable(text), "', which is no number; the checkpoint is damaged");
  return value;
}

struct Staged {
  const Variable *variable;
  std::vector<char> data;
};

void writeAll(Module &module, const std::vector<Staged> &staged) {
  for (const Staged &item : staged)
    module.write(*item.variable, item.data.data());
}

std::string describe(const SafeTensor &tensor) {
  return cat(tensor.unknownType.empty() ? nameOf(tensor.type)
                                        : printable(tensor.unknownType),
             shapeText(tensor.shape));
}

std::string describe(const Variable &variable) {
  return cat(nameOf(variable.type), shapeText(variable.shape));
}

void noteUnused(const SafetensorsFile &file,
                const std::set<std::string> &used) {
  std::string names;
  size_t count = 0;
  for (const auto &[name, tensor] : file.tensors()) {
    if (used.count(name))
      continue;
    if (++count <= 5)
      names += cat(count > 1 ? ", " : "", printable(name));
  }
  if (count)
    log(TDS_LOG_NOTE,
        cat(file.path(), ": ", count,
            count == 1 ? " key is not used: " : " keys are not used: ", names,
            count > 5 ? ", ..." : ""));
}

} // namespace

void saveCheckpoint(Module &module, const std::string &path,
                    const tds_progress &progress) {
  std::map<std::string, std::string> metadata = {
      {"format", formatName},
      {"program", module.manifest().programHash},
      {"epoch", std::to_string(progress.epoch)},
      {"batch", std::to_string(progress.batch)},
      {"order_seed", std::to_string(progress.order_seed)}};
  std::map<std::string, TensorToWrite> tensors;
  for (const Variable &variable : module.manifest().variables)
    tensors[variable.name] = {
        variable.type, variable.shape, variable.bytes,
        [&module, &variable](void *out) { module.read(variable, out); }};
  writeSafetensors(path, metadata, tensors);
}

static tds_progress progressOf(const SafetensorsFile &file) {
  auto format = file.metadata().find("format");
  if (format == file.metadata().end() || format->second != formatName)
    fail(TDS_BAD_DATA, file.path(),
         ": is not a checkpoint of tdsl (metadata format '",
         format == file.metadata().end() ? "" : printable(format->second),
         "'); to take weights from another program, use --init-from");
  return {metadataNumber(file, "epoch"), metadataNumber(file, "batch"),
          metadataNumber(file, "order_seed")};
}

tds_progress inspectCheckpoint(const std::string &path) {
  return progressOf(SafetensorsFile(path));
}

tds_progress restoreCheckpoint(Module &module, const std::string &path) {
  SafetensorsFile file(path);
  tds_progress progress = progressOf(file);

  std::vector<Staged> staged;
  std::set<std::string> used;
  for (const Variable &variable : module.manifest().variables) {
    auto found = file.tensors().find(variable.name);
    if (found == file.tensors().end())
      fail(TDS_BAD_DATA, path, ": has no '", variable.name, "' (",
           describe(variable),
           "), which the program needs; it was saved by "
           "another program: use --init-from to take what fits");
    const SafeTensor &tensor = found->second;
    if (!tensor.unknownType.empty() || tensor.type != variable.type ||
        tensor.shape != variable.shape)
      fail(TDS_BAD_DATA, path, ": '", variable.name, "' is ", describe(tensor),
           ", but the program has ", describe(variable),
           "; it was saved by another program or with other sizes");
    Staged item{&variable, std::vector<char>(variable.bytes)};
    file.input()->readAt(tensor.offset, item.data.data(), tensor.bytes);
    staged.push_back(std::move(item));
    used.insert(variable.name);
  }
  noteUnused(file, used);
  auto program = file.metadata().find("program");
  if (program == file.metadata().end() ||
      program->second != module.manifest().programHash)
    log(TDS_LOG_WARNING,
        cat(path, ": was saved by another version of the program or with "
                  "other compiler options"));
  writeAll(module, staged);
  return progress;
}

bool globMatches(std::string_view pattern, std::string_view text) {
  // Backtracks to the last star only: linear in pattern times text.
  size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() &&
               (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*')
    ++p;
  return p == pattern.size();
}

namespace {

struct Mapping {
  std::string theirs;
  bool transpose = false;
};

std::string trimmed(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos)
    return "";
  return std::string(
      text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1));
}

std::map<std::string, Mapping> readMap(const Module &module,
                                       const std::string &path) {
  std::map<std::string, Mapping> map;
  std::string text = readFile(path, uint64_t(64) << 20);
  size_t line = 0;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view row(text.data() + begin, end - begin);
    begin = end + 1;
    ++line;
    row = row.substr(0, row.find('#'));
    if (trimmed(row).empty())
      continue;
    size_t equals = row.find('=');
    if (equals == std::string_view::npos)
      fail(TDS_INVALID_ARGUMENT, path, ":", line,
           ": has no '='; write `ours = theirs` or `ours = theirs transpose`");
    std::string ours = trimmed(row.substr(0, equals));
    std::string rest = trimmed(row.substr(equals + 1));
    Mapping mapping;
    size_t space = rest.find_last_of(" \t");
    if (space != std::string::npos && rest.substr(space + 1) == "transpose") {
      mapping.transpose = true;
      rest = trimmed(std::string_view(rest).substr(0, space));
    }
    mapping.theirs = rest;
    if (ours.empty() || rest.empty())
      fail(TDS_INVALID_ARGUMENT, path, ":", line,
           ": a name is missing; write "
           "`ours = theirs` or `ours = theirs transpose`");
    if (!module.findVariable(ours))
      fail(TDS_INVALID_ARGUMENT, path, ":", line,
           ": the program has no "
           "variable '",
           printable(ours), "'; `tds-run info` lists them");
    if (!map.emplace(ours, mapping).second)
      fail(TDS_INVALID_ARGUMENT, path, ":", line, ": '", printable(ours),
           "' is mapped twice");
  }
  return map;
}

std::vector<std::string> splitGlobs(const std::string &text) {
  std::vector<std::string> globs;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    std::string glob =
        trimmed(std::string_view(text).substr(begin, end - begin));
    if (!glob.empty())
      globs.push_back(glob);
    begin = end + 1;
  }
  return globs;
}

/// Swaps the two axes of a matrix of `rows` x `columns` elements.
std::vector<char> transposed(const std::vector<char> &data, uint64_t rows,
                             uint64_t columns, unsigned size) {
  std::vector<char> out(data.size());
  for (uint64_t r = 0; r < rows; ++r)
    for (uint64_t c = 0; c < columns; ++c)
      std::memcpy(&out[(c * rows + r) * size], &data[(r * columns + c) * size],
                  size);
  return out;
}

/// f16 and bf16 weights become f32 without loss.
std::vector<char> widenedFloats(const std::vector<char> &data,
                                ElementType type) {
  std::vector<char> out(data.size() * 2);
  for (size_t i = 0; i < data.size() / 2; ++i) {
    uint16_t bits;
    std::memcpy(&bits, &data[2 * i], sizeof bits);
    float value =
        type == ElementType::BF16 ? floatFromBF16(bits) : floatFromF16(bits);
    std::memcpy(&out[4 * i], &value, sizeof value);
  }
  return out;
}

} // namespace

void initializeFrom(Module &module, const std::string &path,
                    const std::string &mapPath,
                    const std::string &allowMissing) {
  SafetensorsFile file(path);
  std::map<std::string, Mapping> map;
  if (!mapPath.empty())
    map = readMap(module, mapPath);
  std::vector<std::string> globs = splitGlobs(allowMissing);

  std::vector<Staged> staged;
  std::set<std::string> used;
  size_t kept = 0;
  for (const Variable &variable : module.manifest().variables) {
    auto mapped = map.find(variable.name);
    bool named = mapped != map.end();
    // Statistics (float states) belong to the weights; counters and schedules
    // (integer states) belong to a run and begin anew.
    bool wanted = variable.role == TDS_ROLE_PARAM ||
                  (variable.role == TDS_ROLE_STATE && isFloat(variable.type));
    if (!wanted && !named)
      continue;
    const std::string &theirs = named ? mapped->second.theirs : variable.name;
    auto found = file.tensors().find(theirs);
    if (found == file.tensors().end()) {
      bool allowed =
          (variable.role == TDS_ROLE_STATE && !named) ||
          std::any_of(globs.begin(), globs.end(), [&](const std::string &g) {
            return globMatches(g, variable.name);
          });
      if (!allowed)
        fail(TDS_BAD_DATA, path, ": has no '", printable(theirs), "' for ",
             variable.name, " (", describe(variable),
             "); name it in --map, or "
             "allow it with --allow-missing '",
             variable.name, "'");
      ++kept;
      continue;
    }
    const SafeTensor &tensor = found->second;
    bool transpose = named && mapped->second.transpose;
    std::vector<int64_t> shape = tensor.shape;
    if (transpose) {
      if (shape.size() != 2)
        fail(TDS_BAD_DATA, path, ": '", printable(theirs), "' is ",
             describe(tensor), ", but transpose in --map takes a matrix");
      std::swap(shape[0], shape[1]);
    }
    bool widenFloat =
        variable.type == ElementType::F32 &&
        (tensor.type == ElementType::F16 || tensor.type == ElementType::BF16);
    if (!tensor.unknownType.empty() || shape != variable.shape ||
        (tensor.type != variable.type && !widenFloat))
      fail(TDS_BAD_DATA, path, ": '", printable(theirs), "' is ",
           describe(tensor), transpose ? " (to be transposed)" : "", ", but ",
           variable.name, " is ", describe(variable),
           "; a matrix that is stored the other way round takes `transpose` in "
           "--map");
    std::vector<char> data(tensor.bytes);
    file.input()->readAt(tensor.offset, data.data(), tensor.bytes);
    if (transpose)
      data = transposed(data, static_cast<uint64_t>(tensor.shape[0]),
                        static_cast<uint64_t>(tensor.shape[1]),
                        sizeOf(tensor.type));
    if (widenFloat)
      data = widenedFloats(data, tensor.type);
    staged.push_back({&variable, std::move(data)});
    used.insert(theirs);
  }
  noteUnused(file, used);
  log(TDS_LOG_NOTE,
      cat(path, ": ", staged.size(), " variables taken",
          kept ? cat(", ", kept, " kept as initialised") : std::string()));
  writeAll(module, staged);
}

} // namespace tdsrt
