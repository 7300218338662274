//===- ExplainGroups.cpp - why two groups are not one kernel --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelGroups.h"

#include "tdsl/Fusion/Bodies.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

/// "64 x 10", or "one point" for a scalar.
static std::string describeExtents(ArrayRef<int64_t> extents) {
  if (extents.empty())
    return "one point";
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(extents, os, " x ");
  return text;
}

/// What a kernel of a shape runs over, in words.
static std::string describeShape(const KernelShape &shape) {
  switch (shape.kind) {
  case KernelKind::Loop:
    return "a loop over " + describeExtents(shape.rows);
  case KernelKind::Row:
    return "rows of " + describeExtents(shape.columns) + " over " +
           describeExtents(shape.rows);
  case KernelKind::Contract:
    return "a contraction to " + describeExtents(shape.rows);
  case KernelKind::Scatter:
    return "a scatter";
  case KernelKind::Attention:
    return "an attention";
  case KernelKind::AttentionGrad:
    return "the derivative of an attention";
  }
  llvm_unreachable("a kind of kernel without a name");
}

static std::string describeKinds(const KernelGroups::Group &lhs,
                                 const KernelGroups::Group &rhs) {
  KernelKind left = lhs.shape.kind, right = rhs.shape.kind;
  if (left == KernelKind::Scatter || right == KernelKind::Scatter)
    return "a scatter is a kernel of its own";
  for (KernelKind kind : {left, right})
    if (kind == KernelKind::Attention || kind == KernelKind::AttentionGrad)
      return "an attention is a kernel of its own";
  if (left == KernelKind::Contract && right == KernelKind::Contract)
    return "a kernel holds one contraction";
  const KernelGroups::Group &loop = left == KernelKind::Loop ? lhs : rhs;
  if (left != right && loop.shape.kind == KernelKind::Loop && loop.hasReduction)
    return "a loop that reduces has no place among rows or behind a "
           "contraction";
  return "no kernel runs over both: " + describeShape(lhs.shape) + ", and " +
         describeShape(rhs.shape);
}

/// How `reader` takes the result of `producer` so that it must be in memory.
static std::string describeReads(Operation *producer, Operation *reader) {
  if (isa<ContractOp>(reader))
    return "a contraction reads it more than once";
  if (isa<ScatterOp>(reader))
    return "a scatter is a kernel of its own";
  if (isa<AttentionOp, AttentionGradOp>(reader))
    return "an attention reads it more than once";
  bool isDirect = llvm::any_of(producer->getUsers(), [&](Operation *user) {
    return isa<ReadOp>(user) && user->getParentOp() == reader;
  });
  if (!isDirect)
    return "it is read in another shape";
  return "it is read at other places than the one that is computed";
}

std::string KernelGroups::describeObstacle(unsigned lhs, unsigned rhs) const {
  switch (findObstacle(lhs, rhs)) {
  case Obstacle::None:
    return "nothing forbids it, but joining was not tried";
  case Obstacle::Opaque:
    return "one was a kernel before";
  case Obstacle::Kinds:
    return describeKinds(groups[lhs], groups[rhs]);
  case Obstacle::Reads:
    for (auto [from, to] : {std::pair(lhs, rhs), std::pair(rhs, lhs)})
      for (unsigned op : groups[to].members)
        for (unsigned producer : producers[op])
          if (groupOf[producer] == from)
            return describeReads(ops[producer], ops[op]);
    return "one reads the other's result at other places";
  case Obstacle::Update:
    return "a variable is updated in place, at other points than the rows";
  case Obstacle::Members:
    return "one kernel would hold too many operations";
  case Obstacle::Buffers:
    return "one kernel would have more than " + std::to_string(maxBuffers) +
           " inputs and outputs";
  case Obstacle::Order:
    return "another kernel stands between the two: it reads from one and "
           "gives to the other";
  case Obstacle::Memory:
    return "the contraction's operands would stay in memory until other "
           "kernels have run, which the memory budget has no room for";
  }
  llvm_unreachable("an obstacle without words");
}
