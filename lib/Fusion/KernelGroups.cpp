//===- KernelGroups.cpp - operations grouped into kernels to be -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelGroups.h"

#include "tdsl/Fusion/Bodies.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

/// The operand values of `op` that are tensors from outside its body.
static llvm::SetVector<Value> getTensorOperands(Operation *op) {
  llvm::SetVector<Value> values;
  for (Value operand : op->getOperands())
    values.insert(operand);
  if (isa<GenericOp, ScatterOp>(op))
    for (ReadOp read : getReads(op))
      values.insert(read.getTensor());
  if (isa<AttentionOp, AttentionGradOp>(op))
    values.insert_range(getBodyTensors(op));
  return values;
}

/// Whether `op` makes the new value of a variable, or of what a fold carries,
/// whose old value it reads.
static bool updatesVariable(Operation *op) {
  if (auto fold = dyn_cast<FoldOp>(op->getParentOp())) {
    // So does the next value of what a fold carries.
    for (OpOperand &use : op->getResult(0).getUses()) {
      unsigned number = use.getOperandNumber();
      if (!isa<GenericOp>(op) ||
          use.getOwner() != op->getBlock()->getTerminator() ||
          number >= fold.getNumCarried())
        continue;
      for (Value value : getTensorOperands(op)) {
        while (auto reshape = value.getDefiningOp<ReshapeOp>())
          value = reshape.getOperand();
        if (value == fold.getCarried()[number])
          return true;
      }
    }
    return false;
  }
  auto function = dyn_cast<func::FuncOp>(op->getParentOp());
  if (!function || !isa<GenericOp>(op))
    return false;
  for (OpOperand &use : op->getResult(0).getUses()) {
    if (!isa<func::ReturnOp>(use.getOwner()))
      continue;
    auto variable = function.getResultAttrOfType<FlatSymbolRefAttr>(
        use.getOperandNumber(), attr::kVariable);
    if (!variable)
      continue;
    for (Value value : getTensorOperands(op)) {
      while (auto reshape = value.getDefiningOp<ReshapeOp>())
        value = reshape.getOperand();
      auto argument = dyn_cast<BlockArgument>(value);
      if (argument && function.getArgAttr(argument.getArgNumber(),
                                          attr::kVariable) == variable)
        return true;
    }
  }
  return false;
}

KernelGroups::KernelGroups(Block &block, unsigned maxBuffers, bool saveMemory)
    : maxBuffers(maxBuffers), saveMemory(saveMemory) {
  for (Operation &op : block.without_terminator()) {
    if (!isa<GenericOp, ContractOp, ScatterOp, AttentionOp, AttentionGradOp,
             KernelOp, FoldOp>(op))
      continue;
    unsigned index = ops.size();
    ops.push_back(&op);
    indexOf[&op] = index;
    producers.emplace_back();
    consumers.emplace_back();
    connect(index);
    Group group;
    group.members.push_back(index);
    group.position = index;
    if (isa<KernelOp, FoldOp>(op)) {
      group.isOpaque = true;
    } else {
      group.shape = getShapeOf(&op);
      auto generic = dyn_cast<GenericOp>(op);
      group.hasReduction = generic && generic.hasReduction();
      if (updatesVariable(&op))
        group.updates.push_back(generic.getExtents());
    }
    groups.push_back(group);
    groupOf.push_back(index);
    order.push_back(index);
  }
  findWriters(block);
}

void KernelGroups::findWriters(Block &block) {
  auto function = dyn_cast<func::FuncOp>(block.getParentOp());
  if (!function)
    return;
  for (OpOperand &operand : block.getTerminator()->getOpOperands()) {
    Attribute variable =
        function.getResultAttr(operand.getOperandNumber(), attr::kVariable);
    Value value = operand.get();
    while (auto reshape = value.getDefiningOp<ReshapeOp>())
      value = reshape.getOperand();
    auto writer = indexOf.find(value.getDefiningOp());
    if (!variable || writer == indexOf.end())
      continue;
    for (BlockArgument argument : function.getArguments())
      if (function.getArgAttr(argument.getArgNumber(), attr::kVariable) ==
          variable)
        writers[argument] = writer->second;
  }
}

bool KernelGroups::mayRead(Value tensor, unsigned group) const {
  while (auto reshape = tensor.getDefiningOp<ReshapeOp>())
    tensor = reshape.getOperand();
  auto writer = writers.find(tensor);
  if (writer == writers.end() || groupOf[writer->second] == group)
    return true;
  return !getReached({groupOf[writer->second]}).contains(group);
}

void KernelGroups::connect(unsigned op) {
  for (Value value : getTensorOperands(ops[op])) {
    while (auto reshape = value.getDefiningOp<ReshapeOp>())
      value = reshape.getOperand();
    auto it = indexOf.find(value.getDefiningOp());
    if (it == indexOf.end() || llvm::is_contained(producers[op], it->second))
      continue;
    producers[op].push_back(it->second);
    consumers[it->second].push_back(op);
  }
}

void KernelGroups::refresh() {
  for (unsigned op = 0; op < ops.size(); ++op) {
    producers[op].clear();
    consumers[op].clear();
  }
  for (const Group &group : groups)
    for (unsigned op : group.members)
      connect(op);
}

std::optional<unsigned> KernelGroups::getIndexOf(Operation *op) const {
  auto it = indexOf.find(op);
  if (it == indexOf.end())
    return std::nullopt;
  return it->second;
}

SmallVector<Value> KernelGroups::getInputs(ArrayRef<unsigned> members) const {
  llvm::SetVector<Value> inputs;
  for (unsigned op : members)
    for (Value value : getTensorOperands(ops[op])) {
      auto it = indexOf.find(value.getDefiningOp());
      if (it == indexOf.end() || !llvm::is_contained(members, it->second))
        inputs.insert(value);
    }
  return inputs.takeVector();
}

SmallVector<Value> KernelGroups::getOutputs(ArrayRef<unsigned> members) const {
  SmallVector<Value> outputs;
  for (unsigned op : members)
    for (Value result : ops[op]->getResults()) {
      bool isOutput = llvm::any_of(result.getUsers(), [&](Operation *user) {
        if (auto read = dyn_cast<ReadOp>(user))
          user = read->getParentOp();
        auto it = indexOf.find(user);
        return it == indexOf.end() || !llvm::is_contained(members, it->second);
      });
      if (isOutput)
        outputs.push_back(result);
    }
  return outputs;
}

bool KernelGroups::readsEachOtherAligned(unsigned lhs, unsigned rhs,
                                         const KernelShape &shape) const {
  for (auto [from, to] : {std::pair(lhs, rhs), std::pair(rhs, lhs)})
    for (unsigned op : groups[to].members)
      for (unsigned producer : producers[op]) {
        if (groupOf[producer] != from)
          continue;
        // All reads must be direct and aligned; one through a reshape does not
        // show up here as a read of the result.
        bool isDirect = false;
        for (Value value : getTensorOperands(ops[op])) {
          Value root = value;
          while (auto reshape = root.getDefiningOp<ReshapeOp>())
            root = reshape.getOperand();
          if (root.getDefiningOp() != ops[producer])
            continue;
          if (root != value)
            return false;
          isDirect = true;
        }
        if (!isDirect || !isa<GenericOp>(ops[op]))
          return false;
        for (ReadOp read : getReads(ops[op]))
          if (read.getTensor().getDefiningOp() == ops[producer] &&
              !isAlignedRead(read, shape))
            return false;
      }
  return true;
}

llvm::DenseSet<unsigned>
KernelGroups::getReached(ArrayRef<unsigned> from) const {
  llvm::DenseSet<unsigned> reached;
  SmallVector<unsigned> worklist(from);
  while (!worklist.empty())
    for (unsigned op : groups[worklist.pop_back_val()].members)
      for (unsigned consumer : consumers[op])
        if (reached.insert(groupOf[consumer]).second)
          worklist.push_back(groupOf[consumer]);
  return reached;
}

std::optional<llvm::DenseSet<unsigned>>
KernelGroups::getBehind(unsigned first, unsigned second) const {
  // What lies between and is reached from `first` must come after the joined
  // group, hence must not reach `second`.
  unsigned end = groups[second].position;
  llvm::DenseSet<unsigned> reached;
  SmallVector<unsigned> worklist{first};
  while (!worklist.empty()) {
    unsigned group = worklist.pop_back_val();
    for (unsigned op : groups[group].members)
      for (unsigned consumer : consumers[op]) {
        unsigned next = groupOf[consumer];
        if (next == group || groups[next].position > end)
          continue;
        if (next == second) {
          if (group != first)
            return std::nullopt;
          continue;
        }
        if (reached.insert(next).second)
          worklist.push_back(next);
      }
  }
  return reached;
}

void KernelGroups::makeAdjacent(unsigned first, unsigned second,
                                const llvm::DenseSet<unsigned> &behind) {
  unsigned begin = groups[first].position, end = groups[second].position;
  SmallVector<unsigned> before, after;
  for (unsigned position = begin; position <= end; ++position) {
    unsigned group = order[position];
    if (group != first && group != second)
      (behind.contains(group) ? after : before).push_back(group);
  }
  unsigned position = begin;
  auto place = [&](unsigned group) {
    order[position] = group;
    groups[group].position = position++;
  };
  llvm::for_each(before, place);
  place(first);
  place(second);
  llvm::for_each(after, place);
}

/// Operations of one kernel. More gain nothing, and the work on a kernel grows
/// with the square of its operations.
static constexpr size_t maxMembers = 128;

bool KernelGroups::keepsOperands(unsigned contraction, unsigned reader) const {
  const Group &group = groups[contraction];
  if (group.shape.kind != KernelKind::Contract)
    return false;
  bool waits = false;
  for (unsigned op : groups[reader].members)
    for (unsigned producer : producers[op])
      waits |= groupOf[producer] != reader &&
               groups[groupOf[producer]].position > group.position;
  if (!waits)
    return false;
  auto getBytes = [](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return type.getNumElements() * getElementBytes(type.getElementType());
  };
  int64_t kept = 0, made = 0;
  for (Value input : getInputs(group.members))
    if (input.getDefiningOp() && !input.getDefiningOp<ConstantOp>())
      kept += getBytes(input);
  for (Value output : getOutputs(group.members))
    made += getBytes(output);
  return kept > made;
}

KernelGroups::Obstacle KernelGroups::findObstacle(unsigned lhs,
                                                  unsigned rhs) const {
  if (groups[lhs].isOpaque || groups[rhs].isOpaque)
    return Obstacle::Opaque;
  auto shape = joinShapes(groups[lhs].shape, groups[lhs].hasReduction,
                          groups[rhs].shape, groups[rhs].hasReduction);
  if (!shape)
    return Obstacle::Kinds;
  if (!readsEachOtherAligned(lhs, rhs, *shape))
    return Obstacle::Reads;
  if (shape->kind == KernelKind::Row)
    for (unsigned group : {lhs, rhs})
      for (ArrayRef<int64_t> extents : groups[group].updates)
        if (extents != ArrayRef<int64_t>(shape->rows))
          return Obstacle::Update;
  if (groups[lhs].members.size() + groups[rhs].members.size() > maxMembers)
    return Obstacle::Members;
  SmallVector<unsigned> members(groups[lhs].members);
  llvm::append_range(members, groups[rhs].members);
  llvm::sort(members);
  if (getInputs(members).size() + getOutputs(members).size() > maxBuffers)
    return Obstacle::Buffers;
  bool isFirst = groups[lhs].position < groups[rhs].position;
  if (!getBehind(isFirst ? lhs : rhs, isFirst ? rhs : lhs))
    return Obstacle::Order;
  if (saveMemory && keepsOperands(isFirst ? lhs : rhs, isFirst ? rhs : lhs))
    return Obstacle::Memory;
  return Obstacle::None;
}

bool KernelGroups::tryJoin(unsigned lhs, unsigned rhs) {
  // A group without members has become a part of another one.
  if (lhs == rhs || groups[lhs].members.empty() ||
      groups[rhs].members.empty() || findObstacle(lhs, rhs) != Obstacle::None)
    return false;
  unsigned first = groups[lhs].position < groups[rhs].position ? lhs : rhs;
  unsigned second = first == lhs ? rhs : lhs;
  makeAdjacent(first, second, *getBehind(first, second));
  auto shape = joinShapes(groups[lhs].shape, groups[lhs].hasReduction,
                          groups[rhs].shape, groups[rhs].hasReduction);
  SmallVector<unsigned> members(groups[lhs].members);
  llvm::append_range(members, groups[rhs].members);
  llvm::sort(members);
  // `second` becomes a part of `first`, and leaves the order.
  groups[first].shape = *shape;
  groups[first].hasReduction |= groups[second].hasReduction;
  llvm::append_range(groups[first].updates, groups[second].updates);
  groups[first].members = members;
  for (unsigned op : groups[second].members)
    groupOf[op] = first;
  order.erase(order.begin() + groups[second].position);
  for (unsigned position = groups[second].position; position < order.size();
       ++position)
    groups[order[position]].position = position;
  groups[second].members.clear();
  return true;
}

void KernelGroups::remove(unsigned op) {
  llvm::erase(groups[groupOf[op]].members, op);
  for (unsigned producer : producers[op])
    llvm::erase(consumers[producer], op);
  producers[op].clear();
  indexOf.erase(ops[op]);
  ops[op] = nullptr;
}
