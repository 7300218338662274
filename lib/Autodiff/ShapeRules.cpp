//===- ShapeRules.cpp - broadcast, reshape, transpose, independent -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;
using namespace tdsl::autodiff;

/// Sums over the axes that the broadcast added or stretched.
static LogicalResult broadcastRule(BroadcastOp op, RuleContext &c) {
  auto from = cast<RankedTensorType>(op.getOperand().getType());
  auto to = cast<RankedTensorType>(op.getType());
  SmallVector<bool> isKept(to.getRank(), false);
  for (auto [i, axis] : llvm::enumerate(op.getAxes()))
    isKept[axis] = from.getDimSize(i) == to.getDimSize(axis);
  SmallVector<int64_t> axes, shape;
  bool onlyUnits = true;
  for (int64_t axis = 0; axis < to.getRank(); ++axis) {
    if (isKept[axis]) {
      shape.push_back(to.getDimSize(axis));
      continue;
    }
    axes.push_back(axis);
    onlyUnits &= to.getDimSize(axis) == 1;
  }
  Value sum = c.g;
  if (!onlyUnits)
    sum = ReduceOp::create(c.builder, c.loc,
                           RankedTensorType::get(shape, from.getElementType()),
                           ReductionKind::Sum, sum, axes);
  c.give(0, c.reshape(sum, from));
  return success();
}

static LogicalResult reshapeRule(ReshapeOp op, RuleContext &c) {
  c.give(0, c.reshape(c.g, cast<RankedTensorType>(op.getOperand().getType())));
  return success();
}

static LogicalResult transposeRule(TransposeOp op, RuleContext &c) {
  SmallVector<int64_t> inverse(op.getPermutation().size());
  for (auto [i, axis] : llvm::enumerate(op.getPermutation()))
    inverse[axis] = i;
  Type type = op.getOperand().getType();
  if (std::optional<double> splat = getSplat(c.g))
    c.give(0, c.constant(type, *splat));
  else
    c.give(0, TransposeOp::create(c.builder, c.loc, type, c.g, inverse));
  return success();
}

static LogicalResult independentRule(IndependentOp, RuleContext &c) {
  c.give(0, c.g);
  return success();
}

void autodiff::attachShapeRules(MLIRContext *context) {
  attachRule<BroadcastOp, broadcastRule>(context);
  attachRule<IndependentOp, independentRule>(context);
  attachRule<ReshapeOp, reshapeRule>(context);
  attachRule<TransposeOp, transposeRule>(context);
}
