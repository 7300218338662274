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

void BlockPlanner::writeCopy(BufferAttr from, BufferAttr to,
                             const Reason &reason) {
  PlannedCommand command{PlannedCommand::Copy};
  command.from = from;
  command.to = to;
  command.why = reason.why;
  command.loc = reason.loc;
  plan.commands.push_back(std::move(command));
}

void BlockPlanner::writeFill(BufferAttr to, uint8_t byte,
                             const Reason &reason) {
  PlannedCommand command{PlannedCommand::Fill};
  command.to = to;
  command.byte = byte;
  command.why = reason.why;
  command.loc = reason.loc;
  plan.commands.push_back(std::move(command));
}

void BlockPlanner::writeCommands() {
  for (auto &[from, to, reason] : copiesBefore)
    writeCopy(from, to, reason);
  for (unsigned number : order)
    if (auto kernel = dyn_cast<KernelOp>(items[number]))
      writeLaunch(kernel, number);
    else
      writeLoop(cast<FoldOp>(items[number]), number);
  for (auto &[from, to, reason] : copiesBehind)
    writeCopy(from, to, reason);
  for (const Fill &fill : fills) {
    Reason reason = fill.reason;
    if (fill.count > 1)
      reason.why += ", as are " + std::to_string(fill.count - 1) + " beside it";
    writeFill(fill.to, fill.byte, reason);
  }
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
  // For the results of trails: where the first iteration finds the value, and
  // the stacks of what iterations find and leave.
  llvm::DenseMap<Value, BufferAttr> starts, stacks, nextStacks;
  for (const Trail &trail : trailsOf[number]) {
    Value result = fold.getFinal()[trail.carried];
    int64_t trips = fold.getTrips(), bytes = getTensorBytes(result.getType()),
            at = buffers[trail.buffer].offset;
    auto place = [&](int64_t index, int64_t count) {
      return BufferAttr::get(context, Space::Arena, 0, at + index * bytes,
                             count * bytes);
    };
    starts[result] = place(fold.getReverse() ? trips : 0, 1);
    stacks[result] = place(fold.getReverse() ? 1 : 0, trips);
    nextStacks[result] = place(fold.getReverse() ? 0 : 1, trips);
  }
  for (auto [init, result] : llvm::zip(fold.getInits(), fold.getFinal())) {
    BufferAttr place = home[result];
    if (auto it = starts.find(result); it != starts.end()) {
      place = it->second;
      loop.places.push_back(getSlice(stacks[result], fold, result.getType()));
    } else {
      loop.places.push_back(place);
    }
    if (isInPlace.contains(result))
      continue;
    Value value = getViewedValue(init);
    auto constant = value.getDefiningOp<tds::ConstantOp>();
    std::optional<uint8_t> byte =
        constant ? getUniformByte(constant) : std::nullopt;
    if (byte)
      writeFill(place, *byte, explainInitial(fold, value));
    else
      writeCopy(home[value], place, explainInitial(fold, value));
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
  for (const Trail &trail : trailsOf[number]) {
    Value result = fold.getFinal()[trail.carried];
    loop.places.push_back(getSlice(nextStacks[result], fold, result.getType()));
  }
  loop.bodyArena = buffers[bodyBuffer[number]].offset;
  loop.body = std::move(bodies[number]);
  plan.commands.push_back(std::move(loop));
}
