//===- CollectBlock.cpp - the kernels, places and returned values of a block -*-
// C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockPlanner.h"

#include "tdsl/Planning/Planner.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::plan;
using tds::FoldOp;
using tds::KernelOp;

bool BlockPlanner::isItem(Operation *op) {
  return isa_and_nonnull<KernelOp, FoldOp>(op);
}

LogicalResult BlockPlanner::collect() {
  for (Operation &op : block.without_terminator()) {
    if (isItem(&op)) {
      unsigned number = items.size();
      numberOf[&op] = number;
      items.push_back(&op);
      successors.emplace_back();
      for (Value input : op.getOperands()) {
        Value value = getViewedValue(input);
        readers[value].insert(number);
        if (Operation *producer = value.getDefiningOp(); isItem(producer))
          successors[numberOf[producer]].insert(number);
      }
    } else if (!isa<tds::ReshapeOp, tds::ConstantOp>(op)) {
      return op.emitOpError("stands outside a kernel in an entry that is "
                            "planned; run tds-form-kernels first");
    }
  }
  return success();
}

BufferAttr BlockPlanner::makeBuffer(Space space, int64_t index, int64_t offset,
                                    Type type) {
  return BufferAttr::get(context, space, index, offset, getTensorBytes(type));
}

void BlockPlanner::layOutSlots(func::FuncOp entry) {
  for (BlockArgument argument : entry.getArguments()) {
    if (auto variable = entry.getArgAttrOfType<FlatSymbolRefAttr>(
            argument.getArgNumber(), tds::attr::kVariable)) {
      home[argument] = layout.variables.lookup(variable.getAttr());
      oldValueOf[home[argument]] = argument;
      continue;
    }
    home[argument] =
        makeBuffer(Space::Input, 0, plan.inputBytes, argument.getType());
    inputs.push_back(argument);
    plan.inputOffsets.push_back(plan.inputBytes);
    plan.inputBytes += alignUp(getTensorBytes(argument.getType()));
  }
}

void BlockPlanner::layOutFold(FoldOp fold, ArrayRef<Trail> trails) {
  int64_t number = 0;
  llvm::DenseSet<unsigned> trailing;
  for (const Trail &trail : trails)
    trailing.insert(trail.carried);
  auto makePlace = [&](Type type) {
    return makeBuffer(Space::Arena, ++number, 0, type);
  };
  home[fold.getCounter()] =
      BufferAttr::get(context, Space::Counter, depth - 1, 0, 4);
  for (auto [i, argument] : llvm::enumerate(fold.getCarried())) {
    BufferAttr place = makePlace(argument.getType());
    home[argument] = place;
    if (trailing.contains(i))
      continue;
    oldValueOf[place] = argument;
    destinations.push_back({static_cast<unsigned>(i),
                            getViewedValue(fold.getYielded()[i]), place,
                            /*isVariable=*/true});
    newValueOf[place] = destinations.back().value;
  }
  for (BlockArgument argument : fold.getSliceArguments()) {
    home[argument] = makePlace(argument.getType());
    if (getTensorBytes(argument.getType()) % kernelAlignment != 0)
      unaligned.push_back(argument);
  }
  for (BlockArgument argument : fold.getInvariantArguments())
    home[argument] = makePlace(argument.getType());
  // The values of a trail are in it before and behind each iteration.
  llvm::DenseMap<unsigned, BufferAttr> inTrail;
  int64_t behind = number + fold.getNumCollected();
  for (const Trail &trail : trails) {
    Value value = fold.getYielded()[trail.carried];
    BufferAttr place = makeBuffer(Space::Arena, ++behind, 0, value.getType());
    destinations.push_back({trail.carried, getViewedValue(value), place,
                            /*isVariable=*/false});
    if (trail.before)
      inTrail[*trail.before] = home[fold.getCarried()[trail.carried]];
    if (trail.behind)
      inTrail[*trail.behind] = place;
  }
  unsigned next = fold.getNumCarried();
  for (auto [i, value] : llvm::enumerate(fold.getYieldedCollected())) {
    BufferAttr place = makePlace(value.getType());
    if (auto it = inTrail.find(i); it != inTrail.end()) {
      ++next;
      continue;
    }
    destinations.push_back(
        {next++, getViewedValue(value), place, /*isVariable=*/false,
         getTensorBytes(value.getType()) % kernelAlignment == 0});
  }
}

void BlockPlanner::layOutConstants() {
  for (auto constant : block.getOps<tds::ConstantOp>()) {
    bool isRead = false;
    for (unsigned reader : readers.lookup(constant.getResult()))
      isRead |= !isInitialOnly(items[reader], constant);
    for (Value returned : block.getTerminator()->getOperands())
      isRead |= getViewedValue(returned) == constant.getResult() &&
                !getUniformByte(constant);
    if (!isRead)
      continue;
    auto [it, isNew] =
        layout.constants.insert({constant.getValue(), BufferAttr()});
    if (isNew)
      it->second = makeBuffer(Space::Const, layout.constants.size() - 1, 0,
                              constant.getType());
    home[constant.getResult()] = it->second;
  }
}

bool BlockPlanner::isInitialOnly(Operation *item, tds::ConstantOp constant) {
  auto fold = dyn_cast<FoldOp>(item);
  if (!fold || !getUniformByte(constant))
    return false;
  return llvm::none_of(
      llvm::drop_begin(fold->getOperands(), fold.getNumCarried()),
      [&](Value operand) {
        return getViewedValue(operand) == constant.getResult();
      });
}

std::optional<uint8_t> BlockPlanner::getUniformByte(tds::ConstantOp constant) {
  auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!dense || !dense.isSplat())
    return std::nullopt;
  Attribute element = dense.getSplatValue<Attribute>();
  APInt bits = isa<FloatAttr>(element)
                   ? cast<FloatAttr>(element).getValue().bitcastToAPInt()
                   : cast<IntegerAttr>(element).getValue();
  if (bits.getBitWidth() < 8)
    return bits.getZExtValue();
  for (unsigned at = 8; at < bits.getBitWidth(); at += 8)
    if (bits.extractBits(8, at) != bits.extractBits(8, 0))
      return std::nullopt;
  return bits.extractBits(8, 0).getZExtValue();
}

LogicalResult BlockPlanner::collectDestinations(func::FuncOp entry) {
  Operation *terminator = block.getTerminator();
  for (auto [i, operand] : llvm::enumerate(terminator->getOperands())) {
    Destination destination{
        static_cast<unsigned>(i), getViewedValue(operand), {}, false};
    if (auto variable = entry.getResultAttrOfType<FlatSymbolRefAttr>(
            i, tds::attr::kVariable)) {
      destination.isVariable = true;
      destination.buffer = layout.variables.lookup(variable.getAttr());
      // Variables without elements may share a place.
      if (!newValueOf.insert({destination.buffer, destination.value}).second &&
          destination.buffer.getBytes() != 0)
        return entry.emitOpError("returns variable ") << variable << " twice";
    } else {
      destination.buffer =
          makeBuffer(Space::Result, 0, plan.resultBytes, operand.getType());
      plan.resultOffsets.push_back(plan.resultBytes);
      plan.resultBytes += alignUp(getTensorBytes(operand.getType()));
    }
    destinations.push_back(destination);
  }
  return success();
}
