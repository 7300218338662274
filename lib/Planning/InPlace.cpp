//===- InPlace.cpp - which outputs may share an input's buffer -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Fusion/Bodies.h"
#include "tdsl/Planning/Planner.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

bool tdsl::mayShareBuffer(KernelOp kernel, unsigned output, unsigned input) {
  StringRef kind = kernel.getKind();
  if (kind != "loop" && kind != "contract")
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
  for (Operation *user : argument.getUsers()) {
    auto read = dyn_cast<ReadOp>(user);
    auto reader = read ? dyn_cast<GenericOp>(read->getParentOp()) : GenericOp();
    if (!reader || reader.getExtents() != generic.getExtents() ||
        !readsAt(read, reader.getParallelIndices()) || read.getClamped())
      return false;
  }
  return true;
}
