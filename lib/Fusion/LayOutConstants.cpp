//===- LayOutConstants.cpp - constant factors as they are read -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See the description of tds-lay-out-constants in Passes.td.
//
//===----------------------------------------------------------------------===//

#include "tdsl/Dialect/TDS/Evaluate.h"
#include "tdsl/Dialect/TDS/TDSOps.h"
#include "tdsl/Fusion/Passes.h"

#include "llvm/ADT/STLExtras.h"

namespace tdsl {
#define GEN_PASS_DEF_LAYOUTCONSTANTSPASS
#include "tdsl/Fusion/Passes.h.inc"
} // namespace tdsl

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

/// The order in which a matrix product reads the axes of one operand: those of
/// the batch, then its own rows before the summed ones, or its own columns
/// behind them. Columns are where the result is innermost. Empty where the
/// contraction is no matrix product. Sums keep their order.
static SmallVector<int64_t> getOrder(ContractOp op, bool isLhs) {
  ArrayRef<int64_t> own = isLhs ? op.getLhsAxes() : op.getRhsAxes(),
                    other = isLhs ? op.getRhsAxes() : op.getLhsAxes(),
                    result = op.getResultAxes();
  if (op.hasWindow() || result.empty())
    return {};
  auto isIn = [](ArrayRef<int64_t> axes, int64_t axis) {
    return llvm::is_contained(axes, axis);
  };
  SmallVector<int64_t> batch, alone, summed;
  for (int64_t axis : result)
    if (isIn(own, axis))
      (isIn(other, axis) ? batch : alone).push_back(axis);
  // The left operand says in which order terms are added: it stays.
  for (int64_t axis : op.getLhsAxes())
    if (!isIn(result, axis) && isIn(op.getRhsAxes(), axis))
      summed.push_back(axis);
  bool otherIsAlone = llvm::any_of(other, [&](int64_t axis) {
    return isIn(result, axis) && !isIn(own, axis);
  });
  if (alone.empty() || summed.empty() || !otherIsAlone ||
      batch.size() + alone.size() + summed.size() != own.size() ||
      isIn(batch, result.back()))
    return {};
  bool areColumns = isIn(alone, result.back());
  SmallVector<int64_t> order = batch;
  llvm::append_range(order, areColumns ? summed : alone);
  llvm::append_range(order, areColumns ? alone : summed);
  return order;
}

/// For each axis of the new layout the axis of the old one.
static SmallVector<int64_t> getPermutation(ArrayRef<int64_t> axes,
                                           ArrayRef<int64_t> order) {
  SmallVector<int64_t> permutation;
  for (int64_t axis : order)
    permutation.push_back(llvm::find(axes, axis) - axes.begin());
  return permutation;
}

static DenseElementsAttr permute(DenseElementsAttr elements,
                                 ArrayRef<int64_t> permutation) {
  auto type = cast<RankedTensorType>(elements.getType());
  std::optional<reference::Tensor> from = toTensor(elements);
  SmallVector<int64_t> shape, steps(type.getRank(), 1), strides;
  for (int64_t axis = type.getRank() - 2; axis >= 0; --axis)
    steps[axis] = steps[axis + 1] * type.getDimSize(axis + 1);
  for (int64_t axis : permutation) {
    shape.push_back(type.getDimSize(axis));
    strides.push_back(steps[axis]);
  }
  reference::Tensor to(from->kind(), shape);
  unsigned size = reference::bytesOf(from->kind());
  SmallVector<int64_t> at(shape.size(), 0);
  int64_t source = 0;
  for (int64_t i = 0, end = to.numElements(); i < end; ++i) {
    std::memcpy(to.data() + i * size, from->data() + source * size, size);
    // The next point.
    for (int64_t axis = shape.size() - 1; axis >= 0; --axis) {
      source += strides[axis];
      if (++at[axis] < shape[axis])
        break;
      source -= strides[axis] * shape[axis];
      at[axis] = 0;
    }
  }
  return cast<DenseElementsAttr>(
      toAttribute(to, RankedTensorType::get(shape, type.getElementType())));
}

namespace {

struct LayOutConstantsPass
    : public tdsl::impl::LayOutConstantsPassBase<LayOutConstantsPass> {
  void runOnOperation() override {
    SmallVector<ConstantOp> constants;
    getOperation().walk([&](ConstantOp op) { constants.push_back(op); });
    for (ConstantOp constant : constants)
      layOut(constant);
  }

  /// Lays a constant out anew where all that read it are contractions that
  /// want the same order.
  void layOut(ConstantOp constant) {
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!elements || elements.isSplat() || constant->use_empty())
      return;
    SmallVector<int64_t> permutation;
    for (OpOperand &use : constant->getUses()) {
      auto contract = dyn_cast<ContractOp>(use.getOwner());
      if (!contract)
        return;
      bool isLhs = use.getOperandNumber() == 0;
      SmallVector<int64_t> order = getOrder(contract, isLhs);
      if (order.empty())
        return;
      SmallVector<int64_t> wanted = getPermutation(
          isLhs ? contract.getLhsAxes() : contract.getRhsAxes(), order);
      if (!permutation.empty() && wanted != permutation)
        return;
      permutation = wanted;
    }
    if (llvm::is_sorted(permutation))
      return;
    for (OpOperand &use : constant->getUses()) {
      auto contract = cast<ContractOp>(use.getOwner());
      bool isLhs = use.getOperandNumber() == 0;
      SmallVector<int64_t> order = getOrder(contract, isLhs);
      if (isLhs)
        contract.setLhsAxes(order);
      else
        contract.setRhsAxes(order);
    }
    DenseElementsAttr placed = permute(elements, permutation);
    constant.setValueAttr(placed);
    constant.getResult().setType(placed.getType());
    ++numConstants;
  }
};

} // namespace
