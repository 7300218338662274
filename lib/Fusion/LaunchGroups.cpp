//===- LaunchGroups.cpp - which kernels share a launch -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Between two groups there may be no path: along results, and from a reader of
// a variable's old value to the kernel that writes the new one, since that
// would take a copy of the variable. The carried values of a loop are variables
// to the kernels of its body.
//
//===----------------------------------------------------------------------===//

#include "LaunchGroups.h"

#include <queue>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

SmallVector<Update> tdsl::getUpdates(Block &block) {
  SmallVector<Update> updates;
  if (auto fold = dyn_cast<FoldOp>(block.getParentOp())) {
    for (auto [before, after] :
         llvm::zip_equal(fold.getCarried(), fold.getYieldedCarried()))
      updates.push_back({before, after});
    return updates;
  }
  auto function = cast<func::FuncOp>(block.getParentOp());
  llvm::DenseMap<Attribute, Value> oldValues;
  for (BlockArgument argument : function.getArguments())
    if (Attribute variable =
            function.getArgAttr(argument.getArgNumber(), attr::kVariable))
      oldValues[variable] = argument;
  for (OpOperand &operand : block.getTerminator()->getOpOperands())
    if (Attribute variable =
            function.getResultAttr(operand.getOperandNumber(), attr::kVariable))
      updates.push_back({oldValues.lookup(variable), operand.get()});
  return updates;
}

Value tdsl::getViewed(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getOperand();
  return value;
}

static double getBytes(Value value) { return getNumBytes(value.getType()); }

LaunchGroups::LaunchGroups(Block &block, ArrayRef<Update> updates,
                           func::FuncOp function, const CostModel &model)
    : function(function), model(model) {
  for (Operation &op : block) {
    if (!isa<KernelOp, FoldOp>(op))
      continue;
    numberOf[&op] = kernels.size();
    groupOf.push_back(kernels.size());
    groups.push_back({unsigned(kernels.size())});
    stageOf.push_back(0);
    kernels.push_back(&op);
  }
  successors.resize(kernels.size());
  addEdges(block, updates);
  mostBytes = getPeak() + model.getBytesOfLaunch();
}

void LaunchGroups::addEdges(Block &block, ArrayRef<Update> updates) {
  llvm::DenseMap<Value, SmallVector<unsigned, 4>> readers;
  llvm::DenseSet<Value> returned;
  for (auto [number, kernel] : llvm::enumerate(kernels))
    for (Value input : kernel->getOperands()) {
      Value value = getViewed(input);
      if (!llvm::is_contained(readers[value], number))
        readers[value].push_back(number);
      auto producer = numberOf.find(value.getDefiningOp());
      if (producer != numberOf.end())
        successors[producer->second].insert(number);
    }
  close();
  for (Value value : block.getTerminator()->getOperands())
    returned.insert(getViewed(value));
  for (const Update &update : updates) {
    auto writer = numberOf.find(getViewed(update.after).getDefiningOp());
    if (writer == numberOf.end())
      continue;
    unsigned to = writer->second;
    for (unsigned reader : readers[update.before])
      if (reader != to && !reached[to].test(reader)) {
        successors[reader].insert(to);
        close();
      }
  }
  for (auto [number, kernel] : llvm::enumerate(kernels))
    for (Value output : kernel->getResults())
      if (!returned.contains(output))
        buffers.push_back(
            {unsigned(number), getBytes(output), readers[output]});
}

void LaunchGroups::close() {
  // A kernel reaches what any of its group reaches.
  reached.assign(kernels.size(), llvm::BitVector(kernels.size()));
  SmallVector<unsigned> order = getOrder();
  for (unsigned group : llvm::reverse(order)) {
    llvm::BitVector all(kernels.size());
    for (unsigned member : groups[group])
      for (unsigned next : successors[member]) {
        for (unsigned other : groups[groupOf[next]])
          all.set(other);
        all |= reached[next];
      }
    for (unsigned member : groups[group])
      reached[member] = all;
  }
}

SmallVector<unsigned> LaunchGroups::getOrder() const {
  SmallVector<unsigned> waiting(groups.size()), order;
  auto forEachNext = [&](unsigned group, auto visit) {
    for (unsigned member : groups[group])
      for (unsigned next : successors[member])
        if (groupOf[next] != group)
          visit(groupOf[next]);
  };
  for (unsigned group = 0; group < groups.size(); ++group)
    forEachNext(group, [&](unsigned next) { ++waiting[next]; });
  std::priority_queue<unsigned, std::vector<unsigned>, std::greater<unsigned>>
      ready;
  for (unsigned group = 0; group < groups.size(); ++group)
    if (!groups[group].empty() && waiting[group] == 0)
      ready.push(group);
  while (!ready.empty()) {
    unsigned group = ready.top();
    ready.pop();
    order.push_back(group);
    forEachNext(group, [&](unsigned next) {
      if (--waiting[next] == 0)
        ready.push(next);
    });
  }
  return order;
}

void LaunchGroups::move(ArrayRef<unsigned> members, unsigned group) {
  llvm::append_range(groups[group], members);
  for (unsigned member : members) {
    llvm::erase(groups[groupOf[member]], member);
    groupOf[member] = group;
  }
}

double LaunchGroups::getPeak() const {
  SmallVector<unsigned> order = getOrder(), position(groups.size());
  for (auto [place, group] : llvm::enumerate(order))
    position[group] = place;
  SmallVector<double> change(order.size() + 1);
  for (const Buffer &buffer : buffers) {
    unsigned first = position[groupOf[buffer.writer]], last = first;
    for (unsigned reader : buffer.readers)
      last = std::max(last, position[groupOf[reader]]);
    change[first] += buffer.bytes;
    change[last + 1] -= buffer.bytes;
  }
  double live = 0, most = 0;
  for (double bytes : change)
    most = std::max(most, live += bytes);
  return most;
}

/// Makes the members of a group one kernel. Results that a later stage reads
/// stay the part's own there.
static void buildParts(OpBuilder &builder,
                       ArrayRef<std::pair<KernelOp, unsigned>> members) {
  llvm::SetVector<Value> inputs;
  llvm::SmallPtrSet<Operation *, 8> own;
  SmallVector<Value> outputs;
  SmallVector<Type> outputTypes;
  SmallVector<Location> locs, inputLocs;
  for (auto [kernel, stage] : members)
    own.insert(kernel);
  auto isMadeHere = [&](Value value) {
    return own.contains(value.getDefiningOp());
  };
  for (auto [kernel, stage] : members) {
    for (Value input : kernel.getInputs())
      if (!isMadeHere(input))
        inputs.insert(input);
    llvm::append_range(outputs, kernel.getOutputs());
    locs.push_back(kernel.getLoc());
  }
  for (Value output : outputs)
    outputTypes.push_back(output.getType());
  SmallVector<Type> inputTypes;
  for (Value input : inputs) {
    inputTypes.push_back(input.getType());
    inputLocs.push_back(input.getLoc());
  }
  auto joined =
      KernelOp::create(builder, builder.getFusedLoc(locs), outputTypes,
                       builder.getStringAttr("parts"), inputs.getArrayRef());
  for (auto [output, result] : llvm::zip(outputs, joined.getOutputs()))
    output.replaceUsesWithIf(
        result, [&](OpOperand &use) { return !own.contains(use.getOwner()); });
  Block *body =
      builder.createBlock(&joined.getBody(), {}, inputTypes, inputLocs);
  auto end = YieldOp::create(builder, joined.getLoc(), outputs);
  for (auto [kernel, stage] : members) {
    kernel->moveBefore(end);
    if (stage > 0)
      kernel->setAttr("stage", builder.getI64IntegerAttr(stage));
    for (OpOperand &operand : kernel->getOpOperands()) {
      if (isMadeHere(operand.get()))
        continue;
      auto it = llvm::find(inputs, operand.get());
      operand.set(body->getArgument(std::distance(inputs.begin(), it)));
    }
  }
  builder.setInsertionPointAfter(joined);
}

void LaunchGroups::build(Block &block) {
  Operation *terminator = block.getTerminator();
  OpBuilder builder(terminator);
  llvm::DenseSet<Operation *> placed;
  auto place = [&](auto &self, Value value) -> void {
    Operation *op = value.getDefiningOp();
    if (!op || isa<KernelOp, FoldOp>(op) || !placed.insert(op).second)
      return;
    for (Value operand : op->getOperands())
      self(self, operand);
    op->moveBefore(terminator);
  };
  for (unsigned group : getOrder()) {
    SmallVector<std::pair<KernelOp, unsigned>> members;
    for (unsigned member : groups[group]) {
      for (Value input : kernels[member]->getOperands())
        place(place, input);
      if (groups[group].size() > 1)
        members.emplace_back(getKernel(member), stageOf[member]);
      else
        kernels[member]->moveBefore(terminator);
    }
    if (!members.empty())
      buildParts(builder, members);
  }
  for (Value operand : terminator->getOperands())
    place(place, operand);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isa<ReshapeOp, ConstantOp>(op) && op.use_empty())
      op.erase();
}
