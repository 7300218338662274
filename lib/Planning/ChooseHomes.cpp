//===- ChooseHomes.cpp - where values live, and the order of kernels -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockPlanner.h"

#include "tdsl/Planning/Planner.h"

#include <queue>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::plan;
using tds::FoldOp;
using tds::KernelOp;

bool BlockPlanner::reaches(unsigned from, unsigned to) {
  llvm::DenseSet<unsigned> seen{from};
  SmallVector<unsigned> worklist{from};
  while (!worklist.empty()) {
    unsigned kernel = worklist.pop_back_val();
    if (kernel == to)
      return true;
    for (unsigned next : successors[kernel])
      if (seen.insert(next).second)
        worklist.push_back(next);
  }
  return false;
}

int64_t BlockPlanner::findOperand(KernelOp kernel, Value value) {
  int64_t found = -1;
  for (auto [i, input] : llvm::enumerate(kernel.getInputs())) {
    if (getViewedValue(input) != value)
      continue;
    if (found != -1)
      return -2;
    found = i;
  }
  return found;
}

bool BlockPlanner::writeInPlace(OpResult value, BufferAttr variable) {
  auto kernel = cast<KernelOp>(value.getOwner());
  unsigned writer = numberOf[kernel];
  Value old = oldValueOf.lookup(variable);
  if (old && old != value) {
    for (unsigned reader : readers[old]) {
      if (reader == writer) {
        int64_t operand = findOperand(kernel, old);
        if (operand < 0 ||
            !mayShareBuffer(kernel, value.getResultNumber(), operand))
          return false;
        sharedInput[value] = operand;
      } else if (reaches(writer, reader)) {
        sharedInput.erase(value);
        return false;
      }
    }
    for (unsigned reader : readers[old])
      if (reader != writer)
        successors[reader].insert(writer);
  }
  home[value] = variable;
  return true;
}

void BlockPlanner::chooseHomes() {
  for (Destination &destination : destinations) {
    auto value = dyn_cast<OpResult>(destination.value);
    if (!value || !isa<KernelOp>(value.getOwner()) || !destination.isVariable ||
        home.contains(value))
      continue;
    writeInPlace(value, destination.buffer);
  }
  for (Destination &destination : destinations) {
    auto value = dyn_cast<OpResult>(destination.value);
    if (!value || !isItem(value.getOwner()) || destination.isVariable ||
        !destination.isAligned || home.contains(value))
      continue;
    home[value] = destination.buffer;
  }
}

void BlockPlanner::sort() {
  SmallVector<unsigned> waiting(items.size());
  for (auto &next : successors)
    for (unsigned kernel : next)
      ++waiting[kernel];
  std::priority_queue<unsigned, std::vector<unsigned>, std::greater<unsigned>>
      ready;
  for (unsigned kernel = 0; kernel < items.size(); ++kernel)
    if (waiting[kernel] == 0)
      ready.push(kernel);
  position.resize(items.size());
  while (!ready.empty()) {
    unsigned kernel = ready.top();
    ready.pop();
    position[kernel] = order.size();
    order.push_back(kernel);
    for (unsigned next : successors[kernel])
      if (--waiting[next] == 0)
        ready.push(next);
  }
  assert(order.size() == items.size() &&
         "the order of the kernels has a cycle");
}

bool BlockPlanner::changes(Value old) {
  auto it = newValueOf.find(home[old]);
  return it != newValueOf.end() && it->second != old;
}

LogicalResult BlockPlanner::planFolds() {
  for (unsigned number : order) {
    auto fold = dyn_cast<FoldOp>(items[number]);
    if (!fold)
      continue;
    layOutTrails(fold, number);
    FailureOr<BlockPlan> body =
        BlockPlanner(*fold.getBlock(), layout, depth + 1, hasTrails)
            .runFold(fold, trailsOf[number]);
    if (failed(body))
      return failure();
    plan.numTrails += body->numTrails + trailsOf[number].size();
    int64_t at = 1 + position[number];
    bodyBuffer[number] = addBuffer(body->arenaBytes, at, at);
    plan.scratchBytes = std::max(plan.scratchBytes, body->scratchBytes);
    bodies[number] = std::make_unique<BlockPlan>(std::move(*body));
  }
  return success();
}

unsigned BlockPlanner::addBuffer(int64_t bytes, int64_t first, int64_t last) {
  buffers.push_back(LiveBuffer{bytes, first, last, 0});
  return buffers.size() - 1;
}

void BlockPlanner::planCopies() {
  for (Destination &destination : destinations) {
    Value value = destination.value;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (home[argument] == destination.buffer)
        continue;
      if (!destination.isVariable) {
        copiesBefore.push_back(
            {home[argument], destination.buffer, explain(destination)});
      } else if (!changes(argument)) {
        copiesBehind.push_back(
            {home[argument], destination.buffer, explain(destination)});
      } else {
        auto [it, isNew] = saved.try_emplace(argument, 0);
        if (isNew)
          it->second =
              addBuffer(getTensorBytes(argument.getType()), 0, getEnd());
        lateCopies.push_back(
            {it->second, destination.buffer, explainKept(destination)});
      }
      continue;
    }
    if (auto constant = value.getDefiningOp<tds::ConstantOp>()) {
      if (std::optional<uint8_t> byte = getUniformByte(constant))
        fills.push_back({destination.buffer, *byte, explain(destination)});
      else
        copiesBehind.push_back(
            {home[value], destination.buffer, explain(destination)});
      continue;
    }
    if (home.contains(value) && home[value] == destination.buffer)
      continue;
    if (home.contains(value))
      copiesBehind.push_back(
          {home[value], destination.buffer, explain(destination)});
    else
      copiedAtEnd[value].push_back(destination);
  }
  for (Value argument : unaligned) {
    int64_t last = 0;
    for (unsigned reader : readers[argument])
      last = std::max<int64_t>(last, 1 + position[reader]);
    if (last > 0)
      aligned[argument] =
          addBuffer(getTensorBytes(argument.getType()), 0, last);
  }
  // Outputs without another home live in the arena, from their kernel to
  // their last reader.
  for (unsigned kernel : order)
    for (OpResult output : items[kernel]->getResults()) {
      if (home.contains(output))
        continue;
      int64_t first = 1 + position[kernel], last = first;
      for (unsigned reader : readers[output])
        last = std::max<int64_t>(last, 1 + position[reader]);
      if (copiedAtEnd.contains(output))
        last = getEnd();
      // The values of a trail live as long as the longest of them.
      if (auto trail = bufferOf.find(output); trail != bufferOf.end()) {
        LiveBuffer &stack = buffers[trail->second];
        stack.last = std::max(stack.last, last);
        continue;
      }
      bufferOf[output] =
          addBuffer(getTensorBytes(output.getType()), first, last);
    }
}

void BlockPlanner::mergeFills() {
  llvm::sort(fills, [](const Fill &lhs, const Fill &rhs) {
    auto key = [](const Fill &fill) {
      return std::tuple(fill.to.getSpace(), fill.to.getIndex(),
                        fill.to.getOffset(), fill.to.getBytes());
    };
    return key(lhs) < key(rhs);
  });
  SmallVector<Fill> merged;
  for (const Fill &fill : fills) {
    if (!merged.empty() && fill.byte == 0 && merged.back().byte == 0) {
      BufferAttr last = merged.back().to;
      if (last.getSpace() == fill.to.getSpace() &&
          last.getIndex() == fill.to.getIndex() &&
          alignUp(last.getEnd()) == fill.to.getOffset()) {
        merged.back().to = BufferAttr::get(context, last.getSpace(),
                                           last.getIndex(), last.getOffset(),
                                           fill.to.getEnd() - last.getOffset());
        merged.back().count += fill.count;
        continue;
      }
    }
    merged.push_back(fill);
  }
  fills = std::move(merged);
}
