//===- Layers.cpp - variables and functions of equal layers -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Layers.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <map>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::layers;

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

namespace {
/// A name with a number taken out.
struct NamePattern {
  std::string name;
  unsigned layer;
};
} // namespace

/// `name` for each number in it, the last one first.
static SmallVector<NamePattern> getPatterns(StringRef name) {
  SmallVector<NamePattern> patterns;
  SmallVector<StringRef> parts;
  name.split(parts, '.');
  for (size_t i = parts.size(); i-- > 0;) {
    unsigned layer;
    if (!llvm::all_of(parts[i], llvm::isDigit) ||
        parts[i].getAsInteger(10, layer) || parts[i] != std::to_string(layer))
      continue;
    SmallVector<StringRef> others(parts);
    others[i] = "*";
    patterns.push_back({llvm::join(others, "."), layer});
  }
  return patterns;
}

Groups::Groups(ModuleOp module, int64_t minLayers) {
  llvm::MapVector<StringRef, std::map<unsigned, tds::VariableOp>> byName;
  llvm::StringSet<> names;
  auto forEachPattern = [&](auto visit) {
    for (auto variable : module.getOps<tds::VariableOp>())
      for (const NamePattern &pattern : getPatterns(variable.getSymName()))
        if (visit(names.insert(pattern.name).first->first(), pattern.layer,
                  variable))
          break;
  };
  forEachPattern([&](StringRef name, unsigned layer, tds::VariableOp variable) {
    byName[name].emplace(layer, variable);
    return false;
  });
  auto isWhole = [&](const std::map<unsigned, tds::VariableOp> &members) {
    tds::VariableOp first = members.begin()->second;
    return int64_t(members.size()) >= minLayers &&
           members.rbegin()->first + 1 == members.size() &&
           llvm::all_of(members, [&](auto member) {
             tds::VariableOp variable = member.second;
             return variable.getType() == first.getType() &&
                    variable.getRole() == first.getRole();
           });
  };
  forEachPattern([&](StringRef name, unsigned layer, tds::VariableOp variable) {
    const auto &members = byName[name];
    if (!isWhole(members))
      return false;
    // All members have this pattern first, or the group is found once only.
    if (layer == 0) {
      Group group;
      group.name = name.str();
      for (auto [number, member] : members)
        group.members.push_back(member);
      groups.push_back(std::move(group));
    }
    return true;
  });
  // A variable of several groups is of none but the first.
  for (auto [number, group] : llvm::enumerate(groups)) {
    for (tds::VariableOp member : group.members)
      if (places.contains(member.getSymNameAttr()))
        group.isAllowed = false;
    if (group.isAllowed)
      for (auto [layer, member] : llvm::enumerate(group.members))
        places[member.getSymNameAttr()] = {unsigned(number), unsigned(layer)};
  }
}

std::optional<Place> Groups::find(Attribute variable) const {
  if (auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(variable))
    variable = symbol.getAttr();
  auto it = places.find(variable);
  if (it == places.end() || !groups[it->second.group].isAllowed)
    return std::nullopt;
  return it->second;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

FunctionClasses::FunctionClasses(ModuleOp module) : module(module) {
  llvm::StringMap<unsigned> byText;
  StringAttr none = StringAttr::get(module.getContext(), "f");
  unsigned next = 1;
  for (auto function : module.getOps<func::FuncOp>())
    byName[function.getName()] = function;
  // A function stands behind those that it calls.
  for (auto function : module.getOps<func::FuncOp>()) {
    SmallVector<tds::RandomOp> randoms;
    SmallVector<func::CallOp> calls;
    bool isPlain = function.isPrivate() &&
                   !function->hasAttr(tds::attr::kVjp) &&
                   !function.isExternal();
    function.walk([&](Operation *op) {
      if (isa<tds::GradientOp>(op))
        differentiating.insert(function);
      if (auto call = dyn_cast<func::CallOp>(op)) {
        calls.push_back(call);
        func::FuncOp callee = lookup(call);
        if (callee && draws(callee)) {
          drawing.insert(function);
          isPlain &= !op->getParentOfType<tds::FoldOp>();
        }
        if (callee && differentiates(callee))
          differentiating.insert(function);
        isPlain &= callee && getClass(callee) != 0;
      }
      if (auto random = dyn_cast<tds::RandomOp>(op)) {
        drawing.insert(function);
        randoms.push_back(random);
        isPlain &=
            !random.getIteration() && !op->getParentOfType<tds::FoldOp>();
      }
    });
    if (!draws(function) || !isPlain || differentiates(function)) {
      classes[function] = next++;
      continue;
    }
    // What is left when the names and sites are the same for all.
    SmallVector<IntegerAttr> sites;
    SmallVector<FlatSymbolRefAttr> callees;
    StringAttr name = function.getNameAttr();
    for (tds::RandomOp random : randoms) {
      sites.push_back(random.getSiteAttr());
      random.setSite(0);
    }
    for (func::CallOp call : calls) {
      callees.push_back(call.getCalleeAttr());
      call.setCalleeAttr(FlatSymbolRefAttr::get(
          module.getContext(),
          "class" + std::to_string(getClass(lookup(call)))));
    }
    function.setName(none);
    std::string text;
    llvm::raw_string_ostream stream(text);
    function.print(stream, OpPrintingFlags().useLocalScope());
    function.setName(name);
    for (auto [random, site] : llvm::zip_equal(randoms, sites))
      random.setSiteAttr(site);
    for (auto [call, callee] : llvm::zip_equal(calls, callees))
      call.setCalleeAttr(callee);
    auto [it, isNew] = byText.try_emplace(text, next);
    next += isNew;
    classes[function] = it->second;
  }
}
