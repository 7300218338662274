//===- Safetensors.cpp - the .safetensors format -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "data/Safetensors.h"
#include "core/Json.h"
#include "data/OutputFile.h"

#include <algorithm>
#include <cstring>

namespace tdsrt {

namespace {

struct TypeName {
  ElementType type;
  const char *name;
};
constexpr TypeName typeNames[] = {
    {ElementType::Bool, "BOOL"}, {ElementType::I8, "I8"},
    {ElementType::U8, "U8"},     {ElementType::I16, "I16"},
    {ElementType::U16, "U16"},   {ElementType::I32, "I32"},
    {ElementType::U32, "U32"},   {ElementType::I64, "I64"},
    {ElementType::U64, "U64"},   {ElementType::F16, "F16"},
    {ElementType::BF16, "BF16"}, {ElementType::F32, "F32"},
    {ElementType::F64, "F64"}};

constexpr uint64_t headerLimit = uint64_t(100) << 20; // as other readers have

} // namespace

SafetensorsFile::SafetensorsFile(const std::string &path)
    : file(std::make_shared<InputFile>(path)) {
  auto bad = [&](const auto &...what) {
    fail(TDS_BAD_DATA, path, ": ", what...,
         "; it is damaged or no .safetensors file");
  };
  if (file->size() < 8)
    bad("has only ", file->size(), " bytes");
  uint8_t lengthBytes[8];
  file->readAt(0, lengthBytes, sizeof lengthBytes);
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i)
    length = length << 8 | lengthBytes[i];
  if (length > file->size() - 8 || length > headerLimit)
    bad("its header claims ", length, " bytes, but the file has ",
        file->size());
  std::string text(length, '\0');
  file->readAt(8, text.data(), length);
  nlohmann::json document = parseJson(text, path, 8);
  if (!document.is_object())
    bad("its header is no JSON object");
  uint64_t dataBytes = file->size() - 8 - length;

  struct Range {
    uint64_t begin, end;
    const std::string *name;
  };
  std::vector<Range> ranges;
  for (auto member = document.begin(); member != document.end(); ++member) {
    const std::string &name = member.key();
    if (name == "__metadata__") {
      if (!member->is_object())
        bad("its __metadata__ is no JSON object");
      for (auto item = member->begin(); item != member->end(); ++item)
        if (item->is_string())
          meta[item.key()] = item->get<std::string>();
      continue;
    }
    JsonCursor at(*member, path, cat("'", printable(name), "'"));
    SafeTensor tensor;
    const std::string &type = at.get("dtype").string(32);
    auto known =
        std::find_if(std::begin(typeNames), std::end(typeNames),
                     [&](const TypeName &t) { return type == t.name; });
    if (known != std::end(typeNames))
      tensor.type = known->type;
    else
      tensor.unknownType = type;
    tensor.shape = at.get("shape").shape();
    JsonCursor offsets = at.get("data_offsets");
    if (offsets.size() != 2)
      offsets.bad("has ", offsets.size(), " numbers instead of 2");
    uint64_t begin = offsets.at(0).integer(), end = offsets.at(1).integer();
    if (begin > end || end > dataBytes)
      offsets.bad("is [", begin, ", ", end, "], but there are ", dataBytes,
                  " bytes of data");
    tensor.offset = 8 + length + begin;
    tensor.bytes = end - begin;
    if (tensor.unknownType.empty()) {
      std::optional<uint64_t> bytes = byteCount(tensor.shape, tensor.type);
      if (!bytes || *bytes != tensor.bytes)
        offsets.bad("spans ", tensor.bytes, " bytes, which is not what ",
                    nameOf(tensor.type), shapeText(tensor.shape), " takes");
    }
    auto placed = entries.emplace(name, std::move(tensor)).first;
    ranges.push_back({begin, end, &placed->first});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range &a, const Range &b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  const Range *last = nullptr;
  for (const Range &range : ranges) {
    if (range.begin == range.end)
      continue;
    if (last && range.begin < last->end)
      bad("its tensors '", printable(*last->name), "' and '",
          printable(*range.name), "' lie over each other");
    last = &range;
  }
}

void writeSafetensors(const std::string &path,
                      const std::map<std::string, std::string> &metadata,
                      const std::map<std::string, TensorToWrite> &tensors) {
  nlohmann::json header = nlohmann::json::object(); // keys in order
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  uint64_t offset = 0, largest = 0;
  for (const auto &[name, tensor] : tensors) {
    const char *type = nullptr;
    for (const TypeName &candidate : typeNames)
      if (candidate.type == tensor.type)
        type = candidate.name;
    header[name] = {{"dtype", type},
                    {"shape", tensor.shape},
                    {"data_offsets", {offset, offset + tensor.bytes}}};
    offset += tensor.bytes;
    largest = std::max(largest, tensor.bytes);
  }
  std::string text =
      header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' '); // data begins aligned
  uint8_t length[8];
  for (int i = 0; i < 8; ++i)
    length[i] = static_cast<uint8_t>(uint64_t(text.size()) >> (8 * i));

  OutputFile out(path);
  out.write(length, sizeof length);
  out.write(text.data(), text.size());
  std::vector<char> buffer(largest);
  for (const auto &[name, tensor] : tensors) {
    tensor.read(buffer.data());
    out.write(buffer.data(), tensor.bytes);
  }
  out.commit();
}

} // namespace tdsrt
