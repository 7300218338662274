//===- ProgramState.cpp - entries called as the runtime calls them -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Reference/Evaluator.h"

#include <cstring>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::reference;

static constexpr llvm::StringLiteral seedVariable = "tds.seed";

ProgramState::ProgramState(ModuleOp module, EvaluatorOptions options)
    : module(module), options(options) {
  for (auto variable : module.getOps<tds::VariableOp>()) {
    auto type = cast<RankedTensorType>(variable.getType());
    variables.emplace(
        variable.getSymName().str(),
        Tensor(*tds::getElementKind(type.getElementType(), options.f64),
               type.getShape()));
  }
}

llvm::Error ProgramState::init(uint64_t seed) {
  auto seedValue = Tensor::splat(ElementKind::I64, {}, int64_t(seed));
  auto known = variables.find(seedVariable.str());
  if (known != variables.end())
    known->second = seedValue;
  for (auto function : module.getOps<func::FuncOp>()) {
    auto kind = function->getAttrOfType<StringAttr>(tds::attr::kEntry);
    if (!kind || kind != "init")
      continue;
    std::map<std::string, Tensor> inputs;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto name =
              function.getArgAttrOfType<StringAttr>(i, tds::attr::kInput))
        inputs.emplace(name.getValue().str(), seedValue);
    llvm::Expected<Named> results = call(function.getName(), inputs);
    if (!results)
      return results.takeError();
  }
  return llvm::Error::success();
}

llvm::Expected<ProgramState::Named>
ProgramState::call(llvm::StringRef entry,
                   const std::map<std::string, Tensor> &inputs) {
  auto function = module.lookupSymbol<func::FuncOp>(entry);
  if (!function || !function->hasAttr(tds::attr::kEntry))
    return llvm::createStringError("the program has no entry '" + entry + "'");
  std::vector<Tensor> arguments;
  size_t taken = 0;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    if (auto variable = function.getArgAttrOfType<FlatSymbolRefAttr>(
            i, tds::attr::kVariable)) {
      auto it = variables.find(variable.getValue().str());
      if (it == variables.end())
        return llvm::createStringError("there is no variable '" +
                                       variable.getValue() + "'");
      arguments.push_back(it->second);
      continue;
    }
    auto name = function.getArgAttrOfType<StringAttr>(i, tds::attr::kInput);
    auto it = inputs.find(name ? name.getValue().str() : "");
    if (it != inputs.end()) {
      ++taken;
      arguments.push_back(it->second);
      continue;
    }
    std::optional<Tensor> known =
        tds::toTensor(function.getArgAttr(i, tds::attr::kDefault));
    auto type = cast<RankedTensorType>(function.getArgumentTypes()[i]);
    std::optional<ElementKind> kind =
        tds::getElementKind(type.getElementType(), options.f64);
    if (!known || !kind || known->numElements() != 1)
      return llvm::createStringError(
          "entry '" + entry + "' needs the input '" +
          (name ? name.getValue() : llvm::StringRef("?")) + "'");
    // The number is the value of every element.
    Tensor one = known->convertedTo(*kind);
    Tensor all(*kind, type.getShape());
    for (size_t at = 0; at < all.numBytes(); at += one.numBytes())
      std::memcpy(all.data() + at, one.data(), one.numBytes());
    arguments.push_back(std::move(all));
  }
  if (taken != inputs.size())
    for (const auto &[name, value] : inputs) {
      bool known = false;
      for (unsigned i = 0; i < function.getNumArguments(); ++i) {
        auto attr = function.getArgAttrOfType<StringAttr>(i, tds::attr::kInput);
        known |= attr && attr.getValue() == name;
      }
      if (!known)
        return llvm::createStringError("entry '" + entry + "' has no input '" +
                                       name + "'");
    }
  llvm::Expected<std::vector<Tensor>> results =
      Evaluator(module, options).call(function, arguments);
  if (!results)
    return results.takeError();
  Named named;
  for (auto [i, result] : llvm::enumerate(*results)) {
    if (auto variable = function.getResultAttrOfType<FlatSymbolRefAttr>(
            i, tds::attr::kVariable)) {
      variables.insert_or_assign(variable.getValue().str(), std::move(result));
      continue;
    }
    auto name = function.getResultAttrOfType<StringAttr>(i, tds::attr::kResult);
    named.emplace_back(name ? name.getValue().str() : "", std::move(result));
  }
  return named;
}
