//===- WriteCommands.cpp - the commands of a plan -*- C++ -*-===//
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

void BlockPlanner::writeCopy(BufferAttr from, BufferAttr to) {
  PlannedCommand command{PlannedCommand::Copy};
  command.from = from;
  command.to = to;
  plan.commands.push_back(std::move(command));
}

void BlockPlanner::writeFill(BufferAttr to, uint8_t byte) {
  PlannedCommand command{PlannedCommand::Fill};
  command.to = to;
  command.byte = byte;
  plan.commands.push_back(std::move(command));
}

void BlockPlanner::writeCommands() {
  for (auto &[from, to] : copiesBefore)
    writeCopy(from, to);
  for (unsigned number : order)
    if (auto kernel = dyn_cast<KernelOp>(items[number]))
      writeLaunch(kernel, number);
    else
      writeLoop(cast<FoldOp>(items[number]), number);
  for (auto &[from, to] : copiesBehind)
    writeCopy(from, to);
  for (const Fill &fill : fills)
    writeFill(fill.to, fill.byte);
}

void BlockPlanner::writeLaunch(KernelOp kernel, unsigned number) {
  PlannedCommand launch{PlannedCommand::Launch};
  launch.op = kernel;
  launch.origin = number;
  for (auto [i, input] : llvm::enumerate(kernel.getInputs())) {
    launch.inputs.push_back(home[getViewedValue(input)]);
    if (launch.inputs.back().getSpace() == Space::Counter)
      launch.counters.push_back(i);
  }
  for (OpResult output : kernel->getResults()) {
    launch.outputs.push_back(home[output]);
    auto shared = sharedInput.find(output);
    launch.inPlace.push_back(shared == sharedInput.end() ? -1 : shared->second);
  }
  if (auto schedule = kernel->getAttrOfType<DictionaryAttr>("schedule"))
    if (auto scratch = schedule.getAs<IntegerAttr>("scratch"))
      plan.scratchBytes = std::max(plan.scratchBytes, scratch.getInt());
  plan.commands.push_back(std::move(launch));
}

BufferAttr BlockPlanner::getSlice(BufferAttr stack, FoldOp fold, Type slice) {
  SmallVector<int64_t> strides(stack.getStrides()), trips(stack.getTrips());
  strides.resize(depth);
  trips.resize(depth, 1);
  int64_t bytes = getTensorBytes(slice);
  strides.push_back(bytes);
  trips.push_back(fold.getTrips());
  return BufferAttr::get(context, stack.getSpace(), stack.getIndex(),
                         stack.getOffset(), bytes, strides, trips);
}

void BlockPlanner::writeLoop(FoldOp fold, unsigned number) {
  PlannedCommand loop{PlannedCommand::Loop};
  loop.op = fold;
  loop.origin = number;
  for (auto [init, result] : llvm::zip(fold.getInits(), fold.getFinal())) {
    BufferAttr place = home[result];
    loop.places.push_back(place);
    if (isInPlace.contains(result))
      continue;
    Value value = getViewedValue(init);
    auto constant = value.getDefiningOp<tds::ConstantOp>();
    std::optional<uint8_t> byte =
        constant ? getUniformByte(constant) : std::nullopt;
    if (byte)
      writeFill(place, *byte);
    else
      writeCopy(home[value], place);
  }
  for (auto [slice, argument] :
       llvm::zip(fold.getSlices(), fold.getSliceArguments()))
    loop.places.push_back(
        getSlice(home[getViewedValue(slice)], fold, argument.getType()));
  for (Value invariant : fold.getInvariants())
    loop.places.push_back(home[getViewedValue(invariant)]);
  for (auto [result, value] :
       llvm::zip(fold.getCollected(), fold.getYieldedCollected()))
    loop.places.push_back(getSlice(home[result], fold, value.getType()));
  loop.bodyArena = buffers[bodyBuffer[number]].offset;
  loop.body = std::move(bodies[number]);
  plan.commands.push_back(std::move(loop));
}
