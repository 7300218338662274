//===- ScatterRule.cpp - derivative of tds.scatter -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each scattered scalar was added at one place, so its adjoint is the result's
// adjoint read there: a gather, 0 where the place lies outside.
//
//===----------------------------------------------------------------------===//

#include "BodyAdjoint.h"
#include "Rules.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;
using namespace tdsl::autodiff;

static LogicalResult scatterRule(ScatterOp op, RuleContext &c) {
  BodyProblem problem;
  problem.body = op.getBlock();
  problem.yielded = op.getYielded();
  problem.extents.assign(op.getExtents().begin(), op.getExtents().end());
  auto seed = [&](AdjointBuilder &emit, BodyClone &clone) -> Value {
    SmallVector<Value> places;
    for (Value index : op.getYieldedIndices())
      places.push_back(clone.lookup(index));
    auto read = ReadOp::create(emit.builder, emit.loc, c.g, ValueRange(places));
    read.setGuardAttr(
        cast<TypedAttr>(emit.builder.getZeroAttr(read.getType())));
    return read;
  };
  problem.seed = seed;
  SmallVector<Value> inputs = getDifferentiationInputs(op), adjoints;
  SmallVector<bool> needed;
  for (unsigned i = 0; i < inputs.size(); ++i)
    needed.push_back(c.wants(i));
  if (failed(buildBodyAdjoints(c, problem, inputs, needed, adjoints)))
    return failure();
  for (auto [i, adjoint] : llvm::enumerate(adjoints))
    c.give(i, adjoint);
  return success();
}

void autodiff::attachScatterRule(MLIRContext *context) {
  attachRule<ScatterOp, scatterRule>(context);
}
