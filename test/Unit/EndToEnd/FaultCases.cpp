//===- FaultCases.cpp - programs with their right answers -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FaultCases.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstring>
#include <regex>

using namespace tdsl;
using namespace tdsl::test;
using llvm::StringRef;
using reference::ElementKind;

static std::optional<ElementKind> findKind(StringRef name) {
  for (int i = 0; i <= static_cast<int>(ElementKind::F64); ++i)
    if (nameOf(static_cast<ElementKind>(i)) == name)
      return static_cast<ElementKind>(i);
  return std::nullopt;
}

/// "f32[2, 3]"
static std::optional<Port> parsePort(StringRef name, StringRef type) {
  Port port{name.str(), type.str(), ElementKind::F32, {}};
  auto [element, extents] = type.split('[');
  std::optional<ElementKind> kind = findKind(element.trim());
  if (!kind)
    return std::nullopt;
  port.kind = *kind;
  extents = extents.rtrim("] ");
  while (!extents.empty()) {
    auto [first, rest] = extents.split(',');
    int64_t extent;
    if (first.trim().getAsInteger(10, extent))
      return std::nullopt;
    port.shape.push_back(extent);
    extents = rest;
  }
  return port;
}

/// The inputs of "x: f32[2, 3], y: i32".
static std::optional<std::vector<Port>> parsePorts(StringRef text) {
  std::vector<Port> ports;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    char c = i < text.size() ? text[i] : ',';
    depth += (c == '[') - (c == ']');
    if (c != ',' || depth != 0)
      continue;
    auto [name, type] = text.slice(begin, i).split(':');
    begin = i + 1;
    if (name.trim().empty())
      continue;
    std::optional<Port> port = parsePort(name.trim(), type.trim());
    if (!port)
      return std::nullopt;
    ports.push_back(*port);
  }
  return ports;
}

/// Sets element `i` to a number as it is written.
static bool setElement(Tensor &tensor, int64_t i, StringRef number) {
  if (number == "true" || number == "false") {
    tensor.set(i, static_cast<int64_t>(number == "true"));
    return true;
  }
  if (reference::isFloat(tensor.kind())) {
    std::string text = number.str();
    char *end = nullptr;
    tensor.set(i, std::strtod(text.c_str(), &end));
    return end != text.c_str() && *end == 0;
  }
  int64_t value;
  if (number.getAsInteger(10, value))
    return false;
  tensor.set(i, value);
  return true;
}

/// Fills a tensor as `values` says.
static bool parseValues(Tensor &tensor, StringRef values) {
  values = values.trim();
  if (values.consume_front("all ")) {
    for (int64_t i = 0; i < tensor.numElements(); ++i)
      if (!setElement(tensor, i, values.trim()))
        return false;
    return true;
  }
  if (values.consume_front("from ")) {
    int64_t first;
    if (values.trim().getAsInteger(10, first))
      return false;
    for (int64_t i = 0; i < tensor.numElements(); ++i)
      if (reference::isFloat(tensor.kind()))
        tensor.set(i, static_cast<double>(first + i));
      else
        tensor.set(i, first + i);
    return true;
  }
  if (values.consume_front("bits ")) {
    uint64_t bits;
    if (values.trim().getAsInteger(0, bits))
      return false;
    unsigned size = reference::bytesOf(tensor.kind());
    for (int64_t i = 0; i < tensor.numElements(); ++i)
      std::memcpy(tensor.data() + i * size, &bits, size);
    return true;
  }
  llvm::SmallVector<StringRef> numbers;
  llvm::SplitString(values, numbers, "[], ");
  if (static_cast<int64_t>(numbers.size()) != tensor.numElements())
    return false;
  for (auto [i, number] : llvm::enumerate(numbers))
    if (!setElement(tensor, i, number))
      return false;
  return true;
}

/// "4 ulp" or "1e-6"
static bool parseTolerance(StringRef text, Tolerance &tolerance) {
  text = text.trim();
  bool isUlps = text.consume_back("ulp");
  double number;
  if (text.trim().getAsDouble(number))
    return false;
  (isUlps ? tolerance.ulps : tolerance.absolute) = number;
  return true;
}

/// One "//:" line about the case that follows.
static bool parseDirective(StringRef line, FaultCase &found) {
  if (line.starts_with("computed:")) {
    found.folds = false;
    return true;
  }
  if (line.starts_with("run time only:")) {
    found.hasConstantForm = false;
    return true;
  }
  if (line.consume_front("paths within "))
    return parseTolerance(line, found.paths);
  if (line.contains("->")) {
    auto [name, rest] = line.split("->");
    auto [values, tolerance] = rest.split("within");
    FaultCase::Answer answer{values.trim().str(), {}};
    if (!tolerance.empty() && !parseTolerance(tolerance, answer.tolerance))
      return false;
    name = name.trim();
    return found.answers.insert({name.empty() ? "result" : name.str(), answer})
        .second;
  }
  auto [name, values] = line.split('=');
  return found.written.insert({name.trim().str(), values.trim().str()}).second;
}

/// Replaces the word N.
static std::string replaceN(const std::string &text, const std::string &value) {
  return std::regex_replace(text, std::regex("\\bN\\b"), value);
}

/// The case of these directives and this entry.
static bool parseCase(llvm::ArrayRef<std::string> directives,
                      const std::string &entry, FaultCase &found) {
  std::smatch match;
  if (!std::regex_search(
          entry, match, std::regex("^export fn (\\w+)\\((.*)\\) -> (.*?) \\{")))
    return false;
  found.name = match[1];
  std::optional<std::vector<Port>> inputs = parsePorts(match[2].str());
  if (!inputs)
    return false;
  found.inputs = *inputs;
  found.results = match[3];
  for (const std::string &line : directives)
    if (!parseDirective(line, found))
      return false;
  for (const Port &port : found.inputs) {
    auto it = found.written.find(port.name);
    if (it == found.written.end())
      return false;
    Tensor tensor(port.kind, port.shape);
    if (!parseValues(tensor, it->second))
      return false;
    found.given.insert({port.name, tensor});
  }
  return found.written.size() == found.inputs.size() && !found.answers.empty();
}

FaultFile test::readFaultFile(const std::string &path) {
  FaultFile file;
  std::string source = readSource(path);
  std::vector<std::string> directives, values;
  std::string entry;
  bool inEntry = false;
  auto finish = [&] {
    std::vector<std::string> once = {""};
    for (const std::string &number : values.empty() ? once : values) {
      std::vector<std::string> lines = directives;
      std::string text = entry;
      if (!number.empty()) {
        for (std::string &line : lines)
          line = replaceN(line, number);
        text = replaceN(text, number);
        text = std::regex_replace(text, std::regex("^export fn (\\w+)"),
                                  "export fn $1_" + number);
      }
      FaultCase found;
      if (!parseCase(lines, text, found))
        ADD_FAILURE() << path << ": not a case:\n" << text;
      file.cases.push_back(found);
      file.text += text;
    }
    directives.clear();
    values.clear();
    entry.clear();
    inEntry = false;
  };
  llvm::SmallVector<StringRef> lines;
  StringRef(source).split(lines, '\n');
  for (StringRef line : lines) {
    if (!inEntry && line.consume_front("//:")) {
      line = line.trim();
      if (line.consume_front("for N =")) {
        llvm::SmallVector<StringRef> numbers;
        llvm::SplitString(line, numbers, ", ");
        for (StringRef number : numbers)
          values.push_back(number.str());
      } else {
        directives.push_back(line.str());
      }
      continue;
    }
    inEntry |= line.starts_with("export fn ");
    (inEntry ? entry : file.text) += line.str() + "\n";
    if (inEntry && line.ends_with("}") && !line.starts_with(" "))
      finish();
  }
  if (inEntry || !directives.empty())
    ADD_FAILURE() << path << ": the last case has no end";
  return file;
}

/// A number of this kind in TDS.
static std::string writeElement(const Tensor &tensor, int64_t i) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (tensor.kind() == ElementKind::Bool)
    return tensor.getInt(i) ? "true" : "false";
  if (!reference::isFloat(tensor.kind())) {
    os << nameOf(tensor.kind()) << '(' << tensor.getInt(i) << ')';
    return text;
  }
  double value = tensor.getDouble(i);
  os << nameOf(tensor.kind()) << '(';
  if (std::isnan(value))
    os << "nan";
  else if (std::isinf(value))
    os << (value < 0 ? "-inf" : "inf");
  else
    os << llvm::format("%.17g", value);
  os << ')';
  return text;
}

/// `let NAME = …` of an input's value.
static std::string writeConstant(const Port &port, const Tensor &value,
                                 StringRef written) {
  std::string text = "  let " + port.name;
  llvm::raw_string_ostream os(text);
  if (port.shape.empty()) {
    os << " = " << writeElement(value, 0) << "\n";
    return text;
  }
  if (value.numElements() == 0 || written.starts_with("all ")) {
    os << "[";
    llvm::interleaveComma(llvm::enumerate(port.shape), os, [&](auto axis) {
      os << "at" << axis.index() << " < " << axis.value();
    });
    os << "] = "
       << (value.numElements() == 0 ? writeElement(Tensor(port.kind, {}), 0)
                                    : writeElement(value, 0))
       << "\n";
    return text;
  }
  os << " = reshape(";
  if (written.starts_with("from ")) {
    os << nameOf(port.kind) << "(iota(" << value.numElements() << ")) + "
       << writeElement(value, 0);
  } else {
    os << "stack([";
    for (int64_t i = 0; i < value.numElements(); ++i)
      os << (i ? ", " : "") << writeElement(value, i);
    os << "], 0)";
  }
  os << ", [";
  llvm::interleaveComma(port.shape, os);
  os << "])\n";
  return text;
}

std::string test::withConstantForms(const FaultFile &file) {
  std::string text = file.text;
  llvm::raw_string_ostream os(text);
  for (const FaultCase &entry : file.cases) {
    if (!entry.hasConstantForm)
      continue;
    os << "export fn constant_" << entry.name << "() -> " << entry.results
       << " {\n";
    for (const Port &port : entry.inputs)
      os << writeConstant(port, entry.given.at(port.name),
                          entry.written.at(port.name));
    os << "  " << entry.name << "(";
    llvm::interleaveComma(entry.inputs, os,
                          [&](const Port &port) { os << port.name; });
    os << ")\n}\n";
  }
  return text;
}

/// The distance from `value`, of this kind, to its next.
static double ulpOf(ElementKind kind, double value) {
  int digits = 53, lowest = -1074;
  switch (kind) {
  case ElementKind::F16:
    digits = 11, lowest = -24;
    break;
  case ElementKind::BF16:
    digits = 8, lowest = -133;
    break;
  case ElementKind::F32:
    digits = 24, lowest = -149;
    break;
  default:
    break;
  }
  if (value == 0 || !std::isfinite(value))
    return std::ldexp(1.0, lowest);
  return std::ldexp(1.0, std::max(std::ilogb(value) - digits + 1, lowest));
}

::testing::AssertionResult test::areSame(const Tensor &actual,
                                         const Tensor &expected,
                                         const Tolerance &tolerance) {
  if (actual.kind() != expected.kind() || actual.shape() != expected.shape())
    return ::testing::AssertionFailure() << "another type or shape";
  unsigned size = reference::bytesOf(actual.kind());
  for (int64_t i = 0; i < actual.numElements(); ++i) {
    if (std::memcmp(actual.data() + i * size, expected.data() + i * size,
                    size) == 0)
      continue;
    double a = actual.getDouble(i), e = expected.getDouble(i);
    if (std::isnan(a) && std::isnan(e))
      continue;
    double bound =
        tolerance.absolute + tolerance.ulps * ulpOf(expected.kind(), e);
    if (bound > 0 && std::abs(a - e) <= bound)
      continue;
    return ::testing::AssertionFailure()
           << "element " << i << " is " << writeElement(actual, i)
           << ", expected " << writeElement(expected, i);
  }
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult test::isAnswer(const Tensor &actual,
                                          const FaultCase::Answer &answer) {
  Tensor expected(actual.kind(), actual.shape());
  if (!parseValues(expected, answer.values))
    return ::testing::AssertionFailure()
           << "a result of " << actual.numElements() << " elements of type "
           << nameOf(actual.kind()).str() << " is not compared with "
           << answer.values;
  return areSame(actual, expected, answer.tolerance);
}
