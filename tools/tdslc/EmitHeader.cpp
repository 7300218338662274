//===- EmitHeader.cpp - a typed C++ wrapper of a program -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmitHeader.h"

#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace tdsl;

namespace {
/// An input or a result of an entry.
struct Port {
  std::string name;
  RankedTensorType type;
  Attribute defaultValue;
};
} // namespace

/// The C++ type of an element; empty for f16 and bf16, which C++17 lacks.
static StringRef getCppType(Type element) {
  return llvm::StringSwitch<StringRef>(tds::getElementName(element))
      .Case("bool", "bool")
      .Case("i8", "int8_t")
      .Case("u8", "uint8_t")
      .Case("i32", "int32_t")
      .Case("i64", "int64_t")
      .Case("f32", "float")
      .Case("f64", "double")
      .Default("");
}

/// `name` as a C++ identifier that is no keyword.
static std::string getIdentifier(StringRef name) {
  static const llvm::StringSet<> keywords = {
      "alignas",       "alignof",      "and",
      "asm",           "auto",         "bool",
      "break",         "case",         "catch",
      "char",          "class",        "const",
      "constexpr",     "continue",     "decltype",
      "default",       "delete",       "do",
      "double",        "else",         "enum",
      "explicit",      "export",       "extern",
      "false",         "float",        "for",
      "friend",        "goto",         "if",
      "inline",        "int",          "long",
      "mutable",       "namespace",    "new",
      "noexcept",      "not",          "nullptr",
      "operator",      "or",           "private",
      "protected",     "public",       "register",
      "return",        "short",        "signed",
      "sizeof",        "static",       "struct",
      "switch",        "template",     "this",
      "throw",         "true",         "try",
      "typedef",       "typeid",       "typename",
      "union",         "unsigned",     "using",
      "virtual",       "void",         "volatile",
      "wchar_t",       "while",        "xor",
      "tds",           "std",          "main",
      "char8_t",       "char16_t",     "char32_t",
      "and_eq",        "bitand",       "bitor",
      "compl",         "not_eq",       "or_eq",
      "xor_eq",        "co_await",     "co_return",
      "co_yield",      "concept",      "requires",
      "consteval",     "constinit",    "const_cast",
      "static_cast",   "dynamic_cast", "reinterpret_cast",
      "static_assert", "thread_local", "typename",
      "NAN",           "INFINITY",     "INT64_MIN",
      "INT32_MIN"};
  std::string result;
  for (char c : name)
    result += llvm::isAlnum(c) || c == '_' ? c : '_';
  if (result.empty() || llvm::isDigit(result[0]) || keywords.contains(result))
    result += "_";
  if (llvm::isDigit(result[0]))
    result = "_" + result;
  return result;
}

namespace {
/// The names of one C++ scope: each is given once.
class Scope {
public:
  Scope(std::initializer_list<StringRef> taken) {
    for (StringRef name : taken)
      names.insert(name);
  }
  std::string take(StringRef name) {
    std::string result = getIdentifier(name);
    while (!names.insert(result).second)
      result += "_";
    return result;
  }

private:
  llvm::StringSet<> names;
};

/// An entry and the names that it has in the class.
struct Method {
  func::FuncOp entry;
  std::string name, resultType, member;
};
} // namespace

static std::string getShapeText(RankedTensorType type) {
  std::string text = tds::getElementName(type.getElementType()).str();
  if (type.getRank() == 0)
    return text;
  text += "[";
  for (auto [i, extent] : llvm::enumerate(type.getShape()))
    text += (i ? ", " : "") + std::to_string(extent);
  return text + "]";
}

static std::string getExtents(RankedTensorType type) {
  std::string text = "{";
  for (auto [i, extent] : llvm::enumerate(type.getShape()))
    text += (i ? ", " : "") + std::to_string(extent);
  return text + "}";
}

/// The default of a scalar input as a C++ literal.
static std::string getLiteral(const Port &port) {
  if (auto number = dyn_cast<FloatAttr>(port.defaultValue)) {
    SmallString<32> text;
    number.getValue().toString(text);
    if (!StringRef(text).contains_insensitive("e") &&
        !StringRef(text).contains('.'))
      text += ".0";
    if (!number.getValue().isFinite())
      return number.getValue().isNaN()        ? "NAN"
             : number.getValue().isNegative() ? "-INFINITY"
                                              : "INFINITY";
    return (text + (port.type.getElementType().isF32() ? "f" : "")).str();
  }
  auto integer = cast<IntegerAttr>(port.defaultValue);
  if (port.type.getElementType().isInteger(1))
    return integer.getValue().isZero() ? "false" : "true";
  // In C++ the least number is minus the greatest, minus 1.
  if (integer.getValue().isMinSignedValue() &&
      integer.getValue().getBitWidth() >= 32)
    return integer.getValue().getBitWidth() == 64 ? "INT64_MIN" : "INT32_MIN";
  return std::to_string(integer.getValue().getSExtValue());
}

static void emitEntry(const Method &method, raw_ostream &os) {
  func::FuncOp entry = method.entry;
  SmallVector<Port> inputs, results;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    if (auto name = entry.getArgAttrOfType<StringAttr>(i, tds::attr::kInput))
      inputs.push_back({name.str(),
                        cast<RankedTensorType>(entry.getArgumentTypes()[i]),
                        entry.getArgAttr(i, tds::attr::kDefault)});
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    if (auto name =
            entry.getResultAttrOfType<StringAttr>(i, tds::attr::kResult))
      if (name.getValue() != "tds.flags")
        results.push_back({name.str(),
                           cast<RankedTensorType>(entry.getResultTypes()[i]),
                           {}});

  // A parameter may hide neither the member that is called nor the local.
  Scope parameters{"results", method.member};
  SmallVector<std::string> inputNames;
  for (const Port &port : inputs)
    inputNames.push_back(parameters.take(port.name));
  Scope fields{method.resultType};
  auto isPlain = [](const Port &port) {
    return port.type.getRank() == 0 &&
           !getCppType(port.type.getElementType()).empty();
  };

  os << "\n  /// What `" << entry.getName() << "` gives.\n  struct "
     << method.resultType << " {\n";
  for (const Port &port : results)
    os << "    "
       << (isPlain(port) ? getCppType(port.type.getElementType())
                         : StringRef("tds::Tensor"))
       << " " << fields.take(port.name) << "; ///< " << getShapeText(port.type)
       << "\n";
  os << "  };\n\n  /// " << entry.getName() << "(";
  llvm::interleaveComma(inputs, os, [&](const Port &port) {
    os << port.name << ": " << getShapeText(port.type);
  });
  os << "). Pointers are to row-major elements of these shapes.\n  "
     << method.resultType << " " << method.name << "(";
  // Only trailing parameters can have defaults in C++.
  size_t firstDefault = inputs.size();
  while (firstDefault > 0 && inputs[firstDefault - 1].defaultValue &&
         isPlain(inputs[firstDefault - 1]))
    --firstDefault;
  for (auto [i, port] : llvm::enumerate(inputs)) {
    StringRef type = getCppType(port.type.getElementType());
    os << (i ? ", " : "");
    if (isPlain(port))
      os << type << " " << inputNames[i];
    else if (!type.empty())
      os << "const " << type << " *" << inputNames[i];
    else
      os << "const tds::Tensor &" << inputNames[i];
    if (i >= firstDefault && isPlain(port))
      os << " = " << getLiteral(port);
  }
  os << ") {\n    tds::Results results = " << method.member << ".call({";
  for (auto [i, port] : llvm::enumerate(inputs)) {
    os << (i ? ", " : "");
    if (isPlain(port))
      os << "tds::Tensor(" << inputNames[i] << ")";
    else if (!getCppType(port.type.getElementType()).empty())
      os << "tds::Tensor::view(" << inputNames[i] << ", "
         << getExtents(port.type) << ")";
    else
      os << inputNames[i];
  }
  os << "});\n    return {";
  for (auto [i, port] : llvm::enumerate(results)) {
    os << (i ? ", " : "");
    if (isPlain(port))
      os << "results.scalar<" << getCppType(port.type.getElementType()) << ">("
         << i << ")";
    else
      os << "results[" << i << "]";
  }
  os << "};\n  }\n";
}

void tdslc::emitHeader(ModuleOp module, StringRef programName,
                       raw_ostream &os) {
  // Entries first: they keep their names, and what is made for them gives way.
  Scope members{"Model", "module", "load"};
  SmallVector<Method> methods;
  for (auto function : module.getOps<func::FuncOp>()) {
    auto kind = function->getAttrOfType<StringAttr>(tds::attr::kEntry);
    if (kind && kind != "init")
      methods.push_back({function, members.take(function.getName()), {}, {}});
  }
  for (Method &method : methods) {
    std::string type = method.name + "Result";
    type[0] = llvm::toUpper(type[0]);
    method.resultType = members.take(type);
    method.member = members.take(method.name + "Entry");
  }
  std::string space = getIdentifier(llvm::sys::path::stem(programName));
  std::string guard = StringRef(space).upper() + "_TDS_H";
  os << "// Made by tdslc from " << llvm::sys::path::filename(programName)
     << "; do not edit.\n\n#ifndef " << guard << "\n#define " << guard
     << "\n\n#include <tds/runtime.hpp>\n\n#include <cmath>\n#include "
        "<cstdint>\n#include <string>\n#include <utility>\n\nnamespace "
     << space
     << " {\n\n/// The program on a device, with its variables. Calls throw "
        "tds::Error.\nclass Model {\npublic:\n"
        "  /// Loads an artefact of this program onto the best device that it "
        "has code for.\n"
        "  static Model load(const std::string &path, uint64_t seed = 0) {\n"
        "    return Model(tds::Module::loadBest(path, seed));\n  }\n"
        "  static Model load(const std::string &path, const tds::Device "
        "&device, uint64_t seed = 0) {\n"
        "    return Model(tds::Module::load(path, device, seed));\n  }\n"
        "  explicit Model(tds::Module loaded)\n      : "
        "module(std::move(loaded))";
  for (const Method &method : methods)
    os << ",\n        " << method.member << "(module.entry(\""
       << func::FuncOp(method.entry).getName() << "\"))";
  os << " {}\n";
  for (const Method &method : methods)
    emitEntry(method, os);
  os << "\n  /// Variables, checkpoints, memory: see tds::Module.\n  "
        "tds::Module module;\n\nprivate:\n";
  for (const Method &method : methods)
    os << "  tds::Entry " << method.member << ";\n";
  os << "};\n\n} // namespace " << space << "\n\n#endif // " << guard << "\n";
}
