//===- ContractRule.cpp - derivative of tds.contract -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The adjoint of one factor is the contraction of the result's adjoint with the
// other factor, to the numbers of that factor's axes. An axis that only the
// factor itself has was summed alone, so the adjoint does not vary along it: it
// is broadcast. Contractions are exempt from strong zeros.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;
using namespace tdsl::autodiff;

static Value buildFactorAdjoint(ContractOp op, RuleContext &c, Value factor,
                                ArrayRef<int64_t> factorAxes, Value other,
                                ArrayRef<int64_t> otherAxes) {
  auto type = cast<RankedTensorType>(factor.getType());
  SmallVector<int64_t> axes, shape, positions;
  for (auto [position, axis] : llvm::enumerate(factorAxes)) {
    if (!llvm::is_contained(otherAxes, axis) &&
        !llvm::is_contained(op.getResultAxes(), axis))
      continue;
    axes.push_back(axis);
    shape.push_back(type.getDimSize(position));
    positions.push_back(position);
  }
  // Where the result was kept in the accumulator's type, its adjoint is rounded
  // to the operands' type, so that the product stays one of narrow factors.
  Value adjoint = c.cast(c.g, type.getElementType());
  Value lhs = adjoint, rhs = other;
  ArrayRef<int64_t> lhsAxes = op.getResultAxes(), rhsAxes = otherAxes;
  // The right operand is the one that has the innermost axis of the result, as
  // in a matrix product.
  if (!axes.empty() && !llvm::is_contained(rhsAxes, axes.back())) {
    std::swap(lhs, rhs);
    std::swap(lhsAxes, rhsAxes);
  }
  auto productType = RankedTensorType::get(shape, type.getElementType());
  Value product = ContractOp::create(c.builder, c.loc, productType, lhs, rhs,
                                     lhsAxes, rhsAxes, axes);
  return c.broadcast(product, type, positions);
}

static LogicalResult contractRule(ContractOp op, RuleContext &c) {
  if (op.hasWindow())
    return op.emitError("a window is multiplied; derivatives are taken before "
                        "tds-recognise-contractions");
  if (c.wants(0))
    c.give(0, buildFactorAdjoint(op, c, op.getLhs(), op.getLhsAxes(),
                                 op.getRhs(), op.getRhsAxes()));
  if (c.wants(1))
    c.give(1, buildFactorAdjoint(op, c, op.getRhs(), op.getRhsAxes(),
                                 op.getLhs(), op.getLhsAxes()));
  return success();
}

void autodiff::attachContractRule(MLIRContext *context) {
  attachRule<ContractOp, contractRule>(context);
}
