//===- ConstantLoops.cpp - loops whose operands are known -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConstantLoops.h"

#include "Folding.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;
using reference::ElementKind;
using reference::Tensor;

namespace {

using Values = llvm::DenseMap<Value, Tensor>;

} // namespace

/// Whether an operation has the same bits whoever computes it: sums of floats
/// depend on their order, what is random or a loop of its own is left, too.
static bool isExact(Operation &op) {
  if (auto generic = dyn_cast<GenericOp>(op)) {
    bool hasDraws = !generic.getBlock()->getOps<RandomOp>().empty();
    // A gather that may be out of range is left to run, so that it is reported.
    bool isGuarded =
        llvm::any_of(generic.getBlock()->getOps<ReadOp>(), [](ReadOp read) {
          return read.getGuard() && !isProvablyInside(read);
        });
    return !hasDraws && !isGuarded &&
           (!generic.hasReduction() ||
            isOrderFree(*generic.getKind(),
                        generic.getType().getElementType()));
  }
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return isOrderFree(
        reduce.getKind(),
        cast<RankedTensorType>(reduce.getType()).getElementType());
  return isa<ConstantOp, BroadcastOp, TransposeOp, ReshapeOp>(op) ||
         op.hasTrait<ElementwiseOp>();
}

static int64_t countElements(TypeRange types) {
  int64_t count = 0;
  for (Type type : types)
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      count += tensor.getNumElements();
  return count;
}

/// Row `t` of a tensor.
static Tensor getRow(const Tensor &tensor, int64_t t) {
  Tensor row(tensor.kind(), tensor.shape().drop_front());
  std::copy_n(tensor.data() + t * row.numBytes(), row.numBytes(), row.data());
  return row;
}

static void setRow(Tensor &tensor, int64_t t, const Tensor &row) {
  std::copy_n(row.data(), row.numBytes(), tensor.data() + t * row.numBytes());
}

/// One iteration; false where an operation cannot be evaluated.
static bool runBody(FoldOp op, Values &values) {
  for (Operation &inner : op.getBlock()->without_terminator()) {
    SmallVector<const Tensor *> operands;
    for (Value operand : inner.getOperands()) {
      auto it = values.find(operand);
      if (it == values.end())
        return false;
      operands.push_back(&it->second);
    }
    llvm::Expected<Tensor> result =
        evaluateOperation(&inner, operands, [&](Value value) -> const Tensor * {
          auto it = values.find(value);
          return it == values.end() ? nullptr : &it->second;
        });
    if (!result) {
      llvm::consumeError(result.takeError());
      return false;
    }
    // The operands point into the map: it grows behind their use.
    values.insert_or_assign(inner.getResult(0), std::move(*result));
  }
  return true;
}

LogicalResult tds::evaluateConstantLoop(FoldOp op, PatternRewriter &rewriter) {
  int64_t trips = op.getTrips(), points = 0;
  Block *block = op.getBlock();
  for (Operation &inner : block->without_terminator()) {
    if (inner.getNumResults() != 1 || !isExact(inner))
      return failure();
    if (auto generic = dyn_cast<GenericOp>(inner))
      points += generic.getType().getNumElements() * generic.getReductionSize();
    else
      points += countElements(inner.getOperandTypes()) +
                countElements(inner.getResultTypes());
  }
  if (trips < 1 || points > maxFoldedPoints / trips ||
      countElements(op.getResultTypes()) > maxFoldedElements)
    return failure();
  SmallVector<Tensor> operands;
  for (Value operand : op.getOperands()) {
    DenseElementsAttr value;
    std::optional<Tensor> tensor;
    if (matchPattern(operand, m_Constant(&value)) &&
        value.getNumElements() <= maxFoldedPoints)
      tensor = toTensor(value);
    if (!tensor)
      return failure();
    operands.push_back(std::move(*tensor));
  }
  unsigned numCarried = op.getNumCarried(), numSlices = op.getSlices().size();
  SmallVector<Tensor> carried(operands.begin(), operands.begin() + numCarried);
  SmallVector<Tensor> collected;
  for (Value value : op.getCollected()) {
    auto type = cast<RankedTensorType>(value.getType());
    std::optional<ElementKind> kind = getElementKind(type.getElementType());
    if (!kind)
      return failure();
    collected.emplace_back(*kind, type.getShape());
  }
  for (int64_t step = 0; step < trips; ++step) {
    int64_t t = op.getReverse() ? trips - 1 - step : step;
    Values values;
    values.try_emplace(op.getCounter(), Tensor::splat(ElementKind::I32, {}, t));
    for (auto [argument, value] : llvm::zip(op.getCarried(), carried))
      values.try_emplace(argument, value);
    for (auto [i, argument] : llvm::enumerate(op.getSliceArguments()))
      values.try_emplace(argument, getRow(operands[numCarried + i], t));
    for (auto [i, argument] : llvm::enumerate(op.getInvariantArguments()))
      values.try_emplace(argument, operands[numCarried + numSlices + i]);
    if (!runBody(op, values))
      return failure();
    for (auto [next, value] : llvm::zip(carried, op.getYieldedCarried()))
      next = values.find(value)->second;
    for (auto [all, value] : llvm::zip(collected, op.getYieldedCollected()))
      setRow(all, t, values.find(value)->second);
  }
  carried.append(collected.begin(), collected.end());
  SmallVector<Value> results;
  for (auto [value, result] : llvm::zip(carried, op.getResults()))
    results.push_back(ConstantOp::create(
        rewriter, op.getLoc(),
        toAttribute(value, cast<RankedTensorType>(result.getType()))));
  rewriter.replaceOp(op, results);
  return success();
}
