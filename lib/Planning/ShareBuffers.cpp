//===- ShareBuffers.cpp - buffers that serve again, and the arena -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockPlanner.h"

#include "tdsl/Planning/Planner.h"

#include <tuple>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::plan;
using tds::FoldOp;
using tds::KernelOp;

int64_t BlockPlanner::getLastRead(Value input) {
  int64_t last = 0;
  for (unsigned reader : readers.lookup(input))
    last = std::max<int64_t>(last, 1 + position[reader]);
  for (const Copy &copy : copiesBehind)
    if (copy.from == home[input])
      last = getEnd();
  return last;
}

bool BlockPlanner::takeInput(OpResult output, Value input, int64_t at) {
  unsigned number = bufferOf[output];
  if (!donate || !llvm::is_contained(inputs, input) ||
      occupiedUntil.contains(input) || getLastRead(input) != at ||
      home[input].getBytes() != buffers[number].bytes)
    return false;
  occupiedUntil[input] = buffers[number].last;
  buffers[number].bytes = 0;
  home[output] = home[input];
  bufferOf.erase(output);
  return true;
}

void BlockPlanner::useInputs() {
  if (!donate)
    return;
  SmallVector<FreeRange> ranges;
  for (Value input : inputs) {
    int64_t last = std::max(getLastRead(input), occupiedUntil.lookup(input));
    ranges.push_back(
        {home[input].getOffset(), home[input].getBytes(), last + 1});
  }
  SmallVector<bool> mayMove(buffers.size());
  for (auto &[output, number] : bufferOf)
    mayMove[number] = true;
  // The stacks of trails hold several values.
  for (auto &[output, offset] : offsetIn)
    if (auto it = bufferOf.find(output); it != bufferOf.end())
      mayMove[it->second] = false;
  SmallVector<int64_t> offsets =
      placeBeside(buffers, mayMove, ranges, kAlignment);
  SmallVector<Value> moved;
  for (auto &[output, number] : bufferOf)
    if (offsets[number] >= 0) {
      home[output] =
          makeBuffer(Space::Input, 0, offsets[number], output.getType());
      moved.push_back(output);
    }
  for (auto [number, offset] : llvm::enumerate(offsets))
    if (offset >= 0)
      buffers[number].bytes = 0;
  bufferOf.remove_if([&](auto &entry) { return offsets[entry.second] >= 0; });
  for (auto [input, range] : llvm::zip(inputs, ranges)) {
    bool isWritten = occupiedUntil.contains(input);
    for (Value output : moved)
      isWritten |= home[output].overlaps(home[input]);
    plan.donated.push_back(isWritten);
  }
}

void BlockPlanner::shareDyingBuffers() {
  for (unsigned number : order) {
    if (auto fold = dyn_cast<FoldOp>(items[number])) {
      shareInitialValues(fold, 1 + position[number]);
      continue;
    }
    auto kernel = cast<KernelOp>(items[number]);
    // The epilogue of a contraction keeps to its own buffers: the variants
    // would cost more code than the bytes are worth.
    if (kernel.getKind() != "loop" && kernel.getKind() != "row")
      continue;
    llvm::SmallDenseSet<int64_t> taken;
    for (OpResult output : kernel->getResults())
      if (auto it = sharedInput.find(output); it != sharedInput.end())
        taken.insert(it->second);
    for (OpResult output : kernel->getResults()) {
      auto own = bufferOf.find(output);
      if (own == bufferOf.end())
        continue;
      for (auto [i, input] : llvm::enumerate(kernel.getInputs())) {
        Value value = getViewedValue(input);
        auto other = bufferOf.find(value);
        int64_t operand = i;
        if (other == bufferOf.end() && !taken.contains(operand) &&
            findOperand(kernel, value) == operand &&
            mayShareBuffer(kernel, output.getResultNumber(), operand) &&
            takeInput(output, value, 1 + position[number])) {
          sharedInput[output] = operand;
          taken.insert(operand);
          break;
        }
        if (other == bufferOf.end() || taken.contains(operand) ||
            offsetIn.contains(value) || findOperand(kernel, value) != operand ||
            buffers[other->second].last != 1 + position[number] ||
            buffers[other->second].bytes != buffers[own->second].bytes ||
            !mayShareBuffer(kernel, output.getResultNumber(), operand))
          continue;
        buffers[other->second].last = buffers[own->second].last;
        buffers[own->second].bytes = 0;
        own->second = other->second;
        sharedInput[output] = operand;
        taken.insert(operand);
        break;
      }
    }
  }
}

void BlockPlanner::shareInitialValues(FoldOp fold, int64_t at) {
  for (auto [init, result] : llvm::zip(fold.getInits(), fold.getFinal())) {
    Value value = getViewedValue(init);
    auto own = bufferOf.find(result);
    auto other = bufferOf.find(value);
    bool isTrail = offsetIn.contains(result);
    auto uses = llvm::count_if(fold->getOperands(), [&](Value operand) {
      return getViewedValue(operand) == value;
    });
    if (own == bufferOf.end() || other == bufferOf.end() || uses != 1 ||
        buffers[other->second].last != at ||
        (isTrail
             ? offsetIn.contains(value) || buffers[other->second].bytes !=
                                               getTensorBytes(value.getType())
             : buffers[other->second].bytes != buffers[own->second].bytes))
      continue;
    isInPlace.insert(result);
    if (isTrail) {
      // The first place of the stack lives from where that value is made.
      unsigned old = other->second;
      buffers[own->second].first =
          std::min(buffers[own->second].first, buffers[old].first);
      buffers[old].bytes = 0;
      int64_t first = fold.getReverse() ? fold.getTrips() : 0;
      for (auto &[sharing, number] : bufferOf)
        if (number == old) {
          number = own->second;
          offsetIn[sharing] = first * getTensorBytes(value.getType());
        }
      continue;
    }
    buffers[other->second].last = buffers[own->second].last;
    buffers[own->second].bytes = 0;
    own->second = other->second;
  }
}

void BlockPlanner::allocate() {
  useInputs();
  SmallVector<LiveBuffer> live;
  SmallVector<unsigned> numbers;
  for (auto [number, buffer] : llvm::enumerate(buffers))
    if (buffer.bytes > 0) {
      live.push_back(buffer);
      numbers.push_back(number);
    }
  plan.arenaBytes = allocateArena(live, kAlignment);
  plan.arenaBound = getLivenessBound(live, kAlignment);
  for (auto [number, buffer] : llvm::zip(numbers, live))
    buffers[number].offset = buffer.offset;
  auto arena = [&](unsigned number, Type type) {
    return makeBuffer(Space::Arena, 0, buffers[number].offset, type);
  };
  for (auto &[output, number] : bufferOf)
    home[output] = makeBuffer(Space::Arena, 0,
                              buffers[number].offset + offsetIn.lookup(output),
                              output.getType());
  for (auto &[argument, number] : aligned) {
    BufferAttr from = home[argument];
    home[argument] = arena(number, argument.getType());
    copiesBefore.push_back({from, home[argument], explainUnaligned(argument)});
  }
  for (auto &[argument, number] : saved)
    for (const LateCopy &late : lateCopies)
      if (late.buffer == number) {
        copiesBefore.push_back(
            {home[argument], arena(number, argument.getType()), late.reason});
        break;
      }
  for (auto &[number, to, reason] : lateCopies)
    copiesBehind.push_back(
        {BufferAttr::get(context, Space::Arena, 0, buffers[number].offset,
                         to.getBytes()),
         to, reason});
  for (auto &[value, targets] : copiedAtEnd)
    for (const Destination &to : targets)
      copiesBehind.push_back({home[value], to.buffer, explain(to)});
}
