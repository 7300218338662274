//===- Reasons.cpp - why a plan copies -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockPlanner.h"

#include "tdsl/Planning/Planner.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::plan;
using tds::FoldOp;

static std::string quote(const Twine &before, StringRef name) {
  return (before + "`" + name + "`").str();
}

std::string BlockPlanner::describe(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return value.getDefiningOp<tds::ConstantOp>() ? "a constant"
                                                  : "a computed value";
  unsigned number = argument.getArgNumber();
  if (auto entry = dyn_cast<func::FuncOp>(block.getParentOp())) {
    if (auto variable = entry.getArgAttrOfType<FlatSymbolRefAttr>(
            number, tds::attr::kVariable))
      return quote("variable ", variable.getValue());
    auto name = entry.getArgAttrOfType<StringAttr>(number, tds::attr::kInput);
    return quote("the input ", name ? name.getValue() : "");
  }
  auto fold = cast<FoldOp>(block.getParentOp());
  if (argument == fold.getCounter())
    return "the number of the iteration";
  if (number <= fold.getNumCarried())
    return "a value that the loop carries";
  return number <= fold.getNumCarried() + fold.getSlices().size()
             ? "a part of what the loop goes over"
             : "what the loop is given";
}

std::string BlockPlanner::describe(const Destination &destination) const {
  unsigned number = destination.returned;
  if (auto entry = dyn_cast<func::FuncOp>(block.getParentOp())) {
    if (auto variable = entry.getResultAttrOfType<FlatSymbolRefAttr>(
            number, tds::attr::kVariable))
      return quote("variable ", variable.getValue());
    auto name =
        entry.getResultAttrOfType<StringAttr>(number, tds::attr::kResult);
    return quote("the result ", name ? name.getValue() : "");
  }
  return number < cast<FoldOp>(block.getParentOp()).getNumCarried()
             ? "what the loop carries on"
             : "what the loop collects";
}

BlockPlanner::Reason
BlockPlanner::explainKept(const Destination &destination) const {
  return {llvm::formatv("{0} becomes {1}, which changes: the old value is kept",
                        describe(destination), describe(destination.value)),
          destination.value.getLoc()};
}

BlockPlanner::Reason
BlockPlanner::explain(const Destination &destination) const {
  Value value = destination.value;
  std::string what = describe(destination);
  auto say = [&](const Twine &why) {
    return Reason{(what + why).str(), value.getLoc()};
  };
  if (isa<BlockArgument>(value) || value.getDefiningOp<tds::ConstantOp>())
    return say(" is " + describe(value));
  if (!destination.isAligned)
    return say(llvm::formatv(": parts of {0} bytes are no multiple of {1}, "
                             "where no kernel may write",
                             destination.buffer.getBytes(), kernelAlignment)
                   .str());
  if (destination.isVariable && isa<FoldOp>(value.getDefiningOp()))
    return say(" is the result of a loop inside, which has a place of its own");
  auto known = home.find(value);
  if (destination.isVariable &&
      (known == home.end() || known->second.getSpace() == Space::Arena))
    return say(" is still read when its new value is made, which gets another "
               "place");
  return say(" is a value that has another place already");
}

BlockPlanner::Reason BlockPlanner::explainUnaligned(Value part) const {
  return {llvm::formatv("parts of {0} bytes are no multiple of {1}, where no "
                        "kernel may read",
                        getTensorBytes(part.getType()), kernelAlignment),
          part.getLoc()};
}

BlockPlanner::Reason BlockPlanner::explainInitial(FoldOp fold,
                                                  Value value) const {
  return {"the loop begins with " + describe(value) +
              ", and changes it in a place of its own",
          fold.getLoc()};
}
