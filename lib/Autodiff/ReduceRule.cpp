//===- ReduceRule.cpp - derivative of tds.reduce -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BodyAdjoint.h"
#include "GenericRule.h"
#include "Rules.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;
using namespace tdsl::autodiff;

/// The same reduction as an index definition.
static GenericOp buildGeneric(AdjointBuilder &emit, ReduceOp op) {
  auto from = cast<RankedTensorType>(op.getOperand().getType());
  SmallVector<int64_t> reduceExtents;
  for (int64_t axis : op.getAxes())
    reduceExtents.push_back(from.getDimSize(axis));
  auto type = cast<RankedTensorType>(op.getType());
  auto body = [&](OpBuilder &builder, Location loc,
                  ValueRange indices) -> Value {
    SmallVector<Value> at;
    unsigned nextKept = 0, nextReduced = type.getRank();
    for (int64_t axis = 0; axis < from.getRank(); ++axis)
      at.push_back(
          indices[llvm::is_contained(op.getAxes(), axis) ? nextReduced++
                                                         : nextKept++]);
    return ReadOp::create(builder, loc, op.getOperand(), ValueRange(at));
  };
  return GenericOp::create(emit.builder, emit.loc, type, reduceExtents,
                           op.getKind(), body);
}

static LogicalResult reduceRule(ReduceOp op, RuleContext &c) {
  auto from = cast<RankedTensorType>(op.getOperand().getType());
  if (op.getKind() == ReductionKind::Sum) {
    SmallVector<int64_t> kept;
    for (int64_t axis = 0; axis < from.getRank(); ++axis)
      if (!llvm::is_contained(op.getAxes(), axis))
        kept.push_back(axis);
    c.give(0, c.broadcast(c.g, from, kept));
    return success();
  }
  GenericOp generic = buildGeneric(c, op);
  SmallVector<Value> adjoints;
  LogicalResult built = buildGenericAdjoints(
      c, generic, op.getResult(), c.g, {op.getOperand()}, {true}, adjoints);
  generic.erase();
  if (failed(built))
    return failure();
  c.give(0, adjoints[0]);
  return success();
}

void autodiff::attachReduceRule(MLIRContext *context) {
  attachRule<ReduceOp, reduceRule>(context);
}
