//===- Inputs.cpp - scalars from --set beside data from files -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Inputs.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace tdsrun {

static std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin)
      parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

[[noreturn]] static void badValue(const tds::Port &port,
                                  const std::string &text) {
  throw UsageError("--set " + port.name + "=" + text + ": input '" + port.name +
                   "' takes one " + tds_type_name(port.type) +
                   "; write a number that fits");
}

static tds::Tensor parseScalar(const tds::Port &port, const std::string &text) {
  if (port.type == TDS_BOOL) {
    if (text != "true" && text != "false" && text != "1" && text != "0")
      badValue(port, text);
    return tds::Tensor(text == "true" || text == "1");
  }
  char *end = nullptr;
  errno = 0;
  if (port.type == TDS_F32 || port.type == TDS_F64) {
    double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end || (errno == ERANGE && std::isinf(value)))
      badValue(port, text);
    if (port.type == TDS_F64)
      return tds::Tensor(value);
    if (std::isfinite(value) &&
        std::fabs(value) > std::numeric_limits<float>::max())
      badValue(port, text);
    return tds::Tensor(static_cast<float>(value));
  }
  if (port.type == TDS_F16 || port.type == TDS_BF16)
    throw UsageError("--set " + port.name + ": input '" + port.name + "' is " +
                     tds_type_name(port.type) +
                     ", which has no text form here; declare it f32 and cast "
                     "in the program");
  long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end || errno == ERANGE)
    badValue(port, text);
  auto narrow = [&](auto zero) {
    using T = decltype(zero);
    if (value < std::numeric_limits<T>::min() ||
        value > std::numeric_limits<T>::max())
      badValue(port, text);
    return tds::Tensor(static_cast<T>(value));
  };
  switch (port.type) {
  case TDS_I8:
    return narrow(int8_t());
  case TDS_U8:
    return narrow(uint8_t());
  case TDS_I32:
    return narrow(int32_t());
  default:
    return narrow(int64_t());
  }
}

/// The pairs of all --set options.
static std::vector<std::pair<std::string, std::string>>
pairsOf(const std::vector<std::string> &set) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string &option : set)
    for (const std::string &pair : split(option, ',')) {
      size_t equals = pair.find('=');
      if (equals == std::string::npos)
        throw UsageError("--set " + pair + ": write name=value");
      pairs.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
    }
  return pairs;
}

/// The index of a scalar input, or the number of inputs.
static size_t findScalar(const tds::Entry &entry, const std::string &name) {
  const std::vector<tds::Port> &ports = entry.inputs();
  size_t i = 0;
  while (i < ports.size() && (ports[i].name != name || !ports[i].shape.empty()))
    ++i;
  return i;
}

void checkSetNames(const std::vector<std::string> &set,
                   const std::vector<tds::Entry> &entries) {
  for (const auto &[name, value] : pairsOf(set)) {
    bool known = false;
    for (const tds::Entry &entry : entries)
      known |= findScalar(entry, name) < entry.inputs().size();
    if (!known)
      throw UsageError("--set " + name + "=" + value + ": entry '" +
                       entries[0].name() + "' has no scalar input '" + name +
                       "'");
  }
}

FixedInputs::FixedInputs(const tds::Entry &entry,
                         const std::vector<std::string> &set,
                         const std::string &data)
    : values(entry.inputs().size()) {
  const std::vector<tds::Port> &ports = entry.inputs();
  for (const auto &[name, value] : pairsOf(set)) {
    size_t i = findScalar(entry, name);
    if (i < ports.size())
      values[i] = parseScalar(ports[i], value);
  }
  for (size_t i = 0; i < ports.size(); ++i) {
    bool bound = false;
    for (const std::string &pair : split(data, ','))
      bound |=
          pair.compare(0, ports[i].name.size() + 1, ports[i].name + "=") == 0;
    if (bound || values[i].data() || ports[i].hasDefault || ports[i].isWeight)
      continue;
    throw UsageError("input '" + ports[i].name + "' of entry '" + entry.name() +
                     "' has no value; bind a file with --data " +
                     ports[i].name + "=FILE" +
                     (ports[i].shape.empty()
                          ? " or a number with --set " + ports[i].name + "=…"
                          : ""));
  }
}

void FixedInputs::apply(std::vector<tds_tensor> &inputs) const {
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i].data())
      inputs[i] = values[i].raw();
}

} // namespace tdsrun
