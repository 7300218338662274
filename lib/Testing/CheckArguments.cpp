//===- CheckArguments.cpp - random arguments of a program -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckArguments.h"

#include "tdsl/Dialect/TDS/Evaluate.h"
#include "tdsl/Dialect/TDS/TDSOps.h"

#include <cmath>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::testing;
using reference::ElementKind;
using reference::Tensor;

std::map<std::string, InputHint> testing::parseHints(StringRef text) {
  std::map<std::string, InputHint> hints;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    line = line.trim();
    if (!line.consume_front("// input "))
      continue;
    auto [name, words] = line.split(':');
    InputHint hint;
    words = words.trim();
    hint.whole = words == "whole";
    hint.any = words == "any";
    if (words.consume_front("ids ")) {
      auto [below, place] = words.split(' ');
      (void)below.getAsInteger(10, hint.below);
      hint.outside = place == "outside";
    }
    hints[name.trim().str()] = hint;
  }
  return hints;
}

static bool isInteger(Value value) {
  return isa<IntegerType, IndexType>(getElementTypeOrSelf(value.getType()));
}

/// Below what numbers of `input` have to be, where they are indices or are
/// compared with one as they are; 0 where they are neither.
static int64_t getIndexBound(Value input) {
  std::optional<int64_t> bound;
  auto limit = [&](int64_t extent) {
    bound = std::min(bound.value_or(extent), extent);
  };
  SmallVector<Value> worklist{input};
  llvm::DenseSet<Value> seen;
  auto follow = [&](Value value) {
    if (isInteger(value) && seen.insert(value).second)
      worklist.push_back(value);
  };
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (auto read = dyn_cast<tds::ReadOp>(user)) {
        if (read.getTensor() == value)
          follow(read.getResult());
        for (auto [axis, index] : llvm::enumerate(read.getIndices()))
          if (index == value)
            limit(read.getTensorType().getDimSize(axis));
      } else if (auto compare = dyn_cast<tds::CompareOp>(user)) {
        Value other = user->getOperand(1 - use.getOperandNumber());
        while (auto cast = other.getDefiningOp<tds::CastOp>())
          other = cast.getOperand();
        auto index = dyn_cast<BlockArgument>(other);
        auto generic =
            index ? dyn_cast<tds::GenericOp>(index.getOwner()->getParentOp())
                  : tds::GenericOp();
        if (generic && index.getArgNumber() < generic.getNumParallel())
          limit(generic.getExtents()[index.getArgNumber()]);
      } else if (auto fold = dyn_cast<tds::FoldOp>(user)) {
        for (auto [outer, inner] : llvm::zip_equal(
                 fold.getInvariants(), fold.getInvariantArguments()))
          if (outer == value)
            follow(inner);
        for (auto [outer, inner] :
             llvm::zip_equal(fold.getSlices(), fold.getSliceArguments()))
          if (outer == value)
            follow(inner);
      } else if (isa<tds::YieldOp>(user)) {
        auto generic = dyn_cast<tds::GenericOp>(user->getParentOp());
        if (generic && !generic.hasReduction())
          follow(generic.getResult());
      } else if (auto scatter = dyn_cast<tds::ScatterOp>(user->getParentOp());
                 scatter && user->hasTrait<OpTrait::IsTerminator>()) {
        for (auto [axis, index] : llvm::enumerate(scatter.getYieldedIndices()))
          if (index == value)
            limit(scatter.getType().getDimSize(axis));
      } else if (isa<tds::CastOp, tds::ReshapeOp, tds::BroadcastOp,
                     tds::TransposeOp, tds::SelectOp, tds::StopGradientOp,
                     tds::IndependentOp>(user)) {
        follow(user->getResult(0));
      }
    }
  }
  // Every integer type holds it.
  return std::min<int64_t>(bound.value_or(0), 128);
}

static double uniform(Random &random, double low, double high) {
  return low +
         (high - low) * static_cast<double>(random.next() >> 11) * 0x1p-53;
}

/// Any number of the kind, the odd ones often.
static void setAny(Tensor &tensor, int64_t i, Random &random) {
  static const double floats[] = {
      NAN,  INFINITY, -INFINITY,    0.0,    -0.0,    1,    -1,
      0.5,  1e-40,    65504,        3.4e38, -3.4e38, 6e-8, 2.5,
      -2.5, 1e10,     2147483648.0, 127.5,  -128.5,  255.5};
  static const int64_t integers[] = {
      0,         1,        -1, 2, -2, 127, -128, 255, 2147483647, -2147483648LL,
      INT64_MAX, INT64_MIN};
  if (tensor.kind() == ElementKind::Bool)
    tensor.set(i, static_cast<int64_t>(random.pick(2)));
  else if (reference::isFloat(tensor.kind()))
    tensor.set(i, random.chance(25) ? floats[random.pick(std::size(floats))]
                                    : std::ldexp(uniform(random, -1, 1),
                                                 int(random.pick(12)) - 4));
  else
    tensor.set(i, random.chance(25)
                      ? integers[random.pick(std::size(integers))]
                      : static_cast<int64_t>(random.pick(40)) - 20);
}

std::map<std::string, Tensor> testing::drawVariables(ModuleOp module,
                                                     Random &random) {
  std::map<std::string, Tensor> variables;
  for (auto variable : module.getOps<tds::VariableOp>()) {
    auto type = cast<RankedTensorType>(variable.getType());
    Tensor tensor(*tds::getElementKind(type.getElementType()), type.getShape());
    bool whole = random.chance(25);
    for (int64_t i = 0; i < tensor.numElements(); ++i) {
      if (variable.getRole() == tds::VariableRole::Counter)
        tensor.set(i, static_cast<int64_t>(3));
      else if (!reference::isFloat(tensor.kind()))
        tensor.set(i, static_cast<int64_t>(random.pick(
                          tensor.kind() == ElementKind::Bool ? 2 : 5)));
      else if (variable.getRole() == tds::VariableRole::Optimizer)
        tensor.set(i,
                   uniform(random, 0, 0.1)); // a second moment isn't negative
      else
        tensor.set(i, whole ? static_cast<double>(random.pick(5)) - 2
                            : uniform(random, -1, 1));
    }
    variables.emplace(variable.getSymName().str(), std::move(tensor));
  }
  return variables;
}

std::map<std::string, Tensor>
testing::drawInputs(func::FuncOp entry,
                    const std::map<std::string, InputHint> &hints,
                    Random &random) {
  std::map<std::string, Tensor> inputs;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    auto name = entry.getArgAttrOfType<StringAttr>(i, tds::attr::kInput);
    if (!name)
      continue;
    if (entry.getArgAttr(i, tds::attr::kDefault) && random.chance(50))
      continue;
    auto known = hints.find(name.getValue().str());
    InputHint hint = known == hints.end() ? InputHint() : known->second;
    // A text without such lines: what is an index stays inside.
    if (known == hints.end() && isInteger(entry.getArgument(i)))
      hint.below = getIndexBound(entry.getArgument(i));
    auto type = cast<RankedTensorType>(entry.getArgumentTypes()[i]);
    Tensor tensor(*tds::getElementKind(type.getElementType()), type.getShape());
    for (int64_t k = 0; k < tensor.numElements(); ++k) {
      if (hint.below > 0)
        tensor.set(k, static_cast<int64_t>(random.pick(hint.below)));
      else if (hint.any)
        setAny(tensor, k, random);
      else if (tensor.kind() == ElementKind::Bool)
        tensor.set(k, static_cast<int64_t>(random.pick(2)));
      else if (!reference::isFloat(tensor.kind()))
        tensor.set(k, static_cast<int64_t>(random.pick(8)));
      else
        tensor.set(k, hint.whole ? static_cast<double>(random.pick(7)) - 3
                                 : uniform(random, -2, 2));
    }
    if (hint.outside && tensor.numElements())
      tensor.set(random.pick(tensor.numElements()),
                 random.chance(50) ? hint.below : int64_t(-1));
    inputs.emplace(name.getValue().str(), std::move(tensor));
  }
  return inputs;
}

std::vector<Tensor>
testing::makeArguments(func::FuncOp function,
                       const std::map<std::string, Tensor> &inputs,
                       const std::map<std::string, Tensor> &variables) {
  std::vector<Tensor> arguments;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    if (auto variable = function.getArgAttrOfType<FlatSymbolRefAttr>(
            i, tds::attr::kVariable)) {
      arguments.push_back(variables.at(variable.getValue().str()));
      continue;
    }
    auto name = function.getArgAttrOfType<StringAttr>(i, tds::attr::kInput);
    auto it = inputs.find(name ? name.getValue().str() : "");
    if (it != inputs.end()) {
      arguments.push_back(it->second);
      continue;
    }
    auto type = cast<RankedTensorType>(function.getArgumentTypes()[i]);
    auto kind = tds::getElementKind(type.getElementType());
    auto known = tds::toTensor(function.getArgAttr(i, tds::attr::kDefault));
    arguments.push_back(
        known ? known->convertedTo(*kind).reshapedTo(type.getShape())
              : Tensor(*kind, type.getShape()));
  }
  return arguments;
}

std::vector<std::string> testing::nameResults(func::FuncOp function) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto variable = function.getResultAttrOfType<FlatSymbolRefAttr>(
        i, tds::attr::kVariable);
    auto name = function.getResultAttrOfType<StringAttr>(i, tds::attr::kResult);
    names.push_back(variable ? "@" + variable.getValue().str()
                    : name   ? name.getValue().str()
                             : "");
  }
  return names;
}
