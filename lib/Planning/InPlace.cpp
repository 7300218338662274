//===- InPlace.cpp - which outputs may share an input's buffer -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Fusion/Bodies.h"
#include "tdsl/Fusion/CostModel.h"
#include "tdsl/Fusion/KernelRules.h"
#include "tdsl/Planning/Planner.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

/// The rank of the rows of a row kernel: what its reductions leave.
static size_t getRowRank(KernelOp kernel) {
  for (auto generic : kernel.getBlock()->getOps<GenericOp>())
    if (generic.hasReduction())
      return generic.getExtents().size();
  return 0;
}

/// Whether an output over the points of a row kernel's rows may lie in the
/// place of `argument`. Such outputs are written last, point by point, when all
/// that there is once a row is known (emitRowBlock, emitPoint). So reductions
/// and values of the row may read anything of their own row, the others only
/// the element that they are computed for.
static bool mayReplaceRow(KernelOp kernel, BlockArgument argument,
                          size_t rowRank) {
  for (Operation *user : argument.getUsers()) {
    auto read = dyn_cast<ReadOp>(user);
    auto reader = read ? dyn_cast<GenericOp>(read->getParentOp()) : GenericOp();
    if (!reader)
      return false;
    size_t rank = reader.getExtents().size();
    ValueRange own = reader.getParallelIndices();
    if (rank > rowRank) {
      if (read.getClamped() || !readsAt(read, own))
        return false;
      continue;
    }
    if (rank < rowRank || read.getClamped())
      return false;
    for (auto [index, row] :
         llvm::zip(read.getIndices(), own.take_front(rowRank)))
      if (index != row)
        return false;
  }
  return true;
}

bool tdsl::mayShareBuffer(KernelOp kernel, unsigned output, unsigned input) {
  if (kernel.hasParts()) {
    // Beside parts of earlier stages, which have read it by then, only the part
    // that makes the output may read the input, once.
    auto [part, partOutput] = kernel.getPartOf(output);
    BlockArgument argument = kernel.getBlock()->getArgument(input);
    OpOperand *own = nullptr;
    for (OpOperand &use : argument.getUses()) {
      if (cast<KernelOp>(use.getOwner()).getStage() < part.getStage())
        continue;
      if (own || use.getOwner() != part)
        return false;
      own = &use;
    }
    if (!own)
      return getNumBytes(argument.getType()) ==
             getNumBytes(part.getOutputs()[partOutput].getType());
    // The places of parts are no part of the code that alike ones share.
    auto generic = part.getBlock()
                       ->getTerminator()
                       ->getOperand(partOutput)
                       .getDefiningOp<GenericOp>();
    if (part.getKind() == "row" && generic &&
        generic.getExtents().size() > getRowRank(part))
      return false;
    return mayShareBuffer(part, partOutput, own->getOperandNumber());
  }
  StringRef kind = kernel.getKind();
  if (kind != "loop" && kind != "contract" && kind != "row")
    return false;
  Value yielded = kernel.getBlock()->getTerminator()->getOperand(output);
  auto generic = yielded.getDefiningOp<GenericOp>();
  if (!generic)
    return false;
  BlockArgument argument = kernel.getBlock()->getArgument(input);
  auto from = cast<RankedTensorType>(argument.getType()),
       to = generic.getType();
  if (from.getShape() != to.getShape() ||
      getElementBytes(from.getElementType()) !=
          getElementBytes(to.getElementType()))
    return false;
  // Two outputs that yield one tensor are written from it one after the other.
  if (llvm::count(kernel.getBlock()->getTerminator()->getOperands(), yielded) !=
      1)
    return false;
  // Of a row only what there is once may be in place: it is written when all
  // threads of the row have read.
  size_t rank = generic.getExtents().size();
  if (kind == "row" && rank > getRowRank(kernel))
    return getRowRank(kernel) > 0 &&
           mayReplaceRow(kernel, argument, getRowRank(kernel));
  if (kind == "row")
    for (auto other : kernel.getBlock()->getOps<GenericOp>())
      if (other.hasReduction() && other.getExtents().size() != rank)
        return false;
  for (Operation *user : argument.getUsers()) {
    auto read = dyn_cast<ReadOp>(user);
    auto reader = read ? dyn_cast<GenericOp>(read->getParentOp()) : GenericOp();
    if (!reader || isPrologue(reader) || read.getClamped() ||
        (kind != "row" && reader.getExtents() != generic.getExtents()) ||
        reader.getExtents().size() < rank ||
        reader.getExtents().take_front(rank) != generic.getExtents() ||
        !readsAt(read, reader.getParallelIndices().take_front(rank)))
      return false;
  }
  return true;
}
