//===- WeighRows.cpp - gradients by rows of a micro-batch -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A gradient by something that has the rows is no mean over the micro-batches:
// each of them has its part of it. Where the loss is a mean, that of the batch
// divides by more rows than that of a micro-batch. How the two differ is read
// off the numbers that the step and its copy multiply with and divide by.
//
//===----------------------------------------------------------------------===//

#include "StepSplitter.h"

#include "tdsl/Dialect/TDS/BlockInputs.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::accumulation;
using namespace tdsl::tds;

std::optional<double> accumulation::getNumber(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getOperand();
  if (auto scalar = value.getDefiningOp<ConstantOp>())
    if (auto number = dyn_cast<FloatAttr>(scalar.getValue()))
      return number.getValueAsDouble();
  DenseElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)) || !elements.isSplat() ||
      !isa<FloatType>(elements.getElementType()))
    return std::nullopt;
  return elements.getSplatValue<APFloat>().convertToDouble();
}

namespace {

/// How much of the derivative in a micro-batch is the derivative in the batch.
class Weights {
public:
  Weights(func::FuncOp part, ArrayRef<Operation *> ops,
          ArrayRef<Operation *> others)
      : part(part) {
    for (auto [op, other] : llvm::zip_equal(ops, others))
      otherOf[op] = other;
  }

  /// Of a value that does not depend on the rows: none. Fails where ways from
  /// the rows to the value have different weights.
  FailureOr<std::optional<double>> get(Value value) {
    auto [it, isNew] = known.try_emplace(value);
    if (!isNew)
      return it->second;
    FailureOr<std::optional<double>> weight = compute(value);
    if (succeeded(weight))
      known[value] = *weight;
    return weight;
  }

private:
  bool hasRows(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return value.getType() !=
             part.getArgument(argument.getArgNumber()).getType();
    auto result = cast<OpResult>(value);
    return value.getType() != otherOf.lookup(result.getOwner())
                                  ->getResult(result.getResultNumber())
                                  .getType();
  }

  FailureOr<std::optional<double>> compute(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || isa<GradientOp>(op)) // a gradient has been weighed
      return std::optional<double>(hasRows(value) ? std::optional<double>(1)
                                                  : std::nullopt);
    Operation *other = otherOf.lookup(op);
    std::optional<double> weight;
    for (Value input : getBlockInputs(op)) {
      // What all rows read sums what each of them gives.
      if (hasRows(value) && !hasRows(input))
        continue;
      FailureOr<std::optional<double>> next = get(input);
      if (failed(next))
        return failure();
      if (!*next)
        continue;
      if (weight && std::abs(*weight - **next) > 1e-5 * std::abs(*weight))
        return failure();
      weight = *next;
    }
    if (!weight)
      return weight;
    for (auto [mine, its] :
         llvm::zip_equal(op->getOperands(), other->getOperands())) {
      std::optional<double> number = getNumber(mine), less = getNumber(its);
      if (!number || !less || *number == *less)
        continue;
      if (isa<MulOp>(op))
        *weight *= *number / *less;
      else if (isa<DivOp>(op) && mine == op->getOperand(1))
        *weight *= *less / *number;
      else if (!isa<AddOp, SubOp>(op))
        return failure();
    }
    return weight;
  }

  func::FuncOp part;
  llvm::DenseMap<Operation *, Operation *> otherOf;
  llvm::DenseMap<Value, std::optional<double>> known;
};

} // namespace

/// Weighs what the copy of operation `number` gives, if that is a gradient by
/// something that has the rows.
LogicalResult StepSplitter::weighRows(OpBuilder &builder, func::FuncOp part,
                                      unsigned number, IRMapping &mapping) {
  auto gradient = dyn_cast<GradientOp>(ops[number]);
  if (!gradient || llvm::none_of(gradient->getResults(), [&](OpResult result) {
        return hasRows(result);
      }))
    return success();
  SmallVector<Operation *> others = getOps(part);
  FailureOr<std::optional<double>> weight =
      Weights(part, ops, others).get(gradient.getLoss());
  if (failed(weight))
    return emitError(gradient.getLoc())
           << "--accum cannot split the step '" << step.getName()
           << "': this gradient of each row is that of a loss that joins sums "
              "and means over the rows; take the gradients of its parts one by "
              "one";
  double factor = weight->value_or(1);
  if (factor == 1)
    return success();
  for (auto [whole, mine] :
       llvm::zip_equal(gradient->getResults(), others[number]->getResults())) {
    if (!hasRows(whole))
      continue;
    Value old = mapping.lookup(mine);
    mapping.map(
        mine, MulOp::create(builder, gradient.getLoc(), old.getType(), old,
                            ConstantOp::createSplat(builder, gradient.getLoc(),
                                                    old.getType(), factor)));
  }
  return success();
}
