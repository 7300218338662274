//===- StructureFolds.cpp - folders of whole-tensor operations -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Float sums and products fold only where every order of the terms gives the
// same bits, because the order belongs to the schedule.
//
//===----------------------------------------------------------------------===//

#include "EvaluateContract.h"
#include "Folding.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;
using reference::Tensor;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// A constant operand that is small enough to compute with.
static std::optional<Tensor> smallConstant(Attribute value, Value operand) {
  if (!value || tensorType(operand).getNumElements() > maxFoldedPoints)
    return std::nullopt;
  return toTensor(value);
}

/// The operation on constant operands, if its result has at most `limit`
/// elements.
static OpFoldResult foldStructure(Operation *op, ArrayRef<Attribute> operands,
                                  int64_t limit = maxFoldedElements) {
  if (tensorType(op->getResult(0)).getNumElements() > limit)
    return {};
  SmallVector<Tensor> values;
  for (auto [value, operand] : llvm::zip(operands, op->getOperands())) {
    std::optional<Tensor> tensor = smallConstant(value, operand);
    if (!tensor)
      return {};
    values.push_back(std::move(*tensor));
  }
  std::optional<Tensor> result = evaluateOn(op, values);
  if (!result)
    return {};
  return toAttribute(*result, op->getResult(0).getType());
}

//===----------------------------------------------------------------------===//
// ReduceOp
//===----------------------------------------------------------------------===//

OpFoldResult ReduceOp::fold(FoldAdaptor adaptor) {
  bool isArg =
      getKind() == ReductionKind::ArgMax || getKind() == ReductionKind::ArgMin;
  if (getAxes().empty() && !isArg)
    return getOperand();
  RankedTensorType from = tensorType(getOperand()),
                   to = tensorType(getResult());
  if (isOrderFree(getKind(), from.getElementType()))
    return foldStructure(*this, adaptor.getOperands());
  int64_t count =
      to.getNumElements() ? from.getNumElements() / to.getNumElements() : 0;
  if (count == 0)
    return foldStructure(*this, adaptor.getOperands());
  if (getKind() != ReductionKind::Sum ||
      to.getNumElements() > maxFoldedElements)
    return {};
  std::optional<Tensor> operand =
      smallConstant(adaptor.getOperand(), getOperand());
  if (!operand)
    return {};
  // The reduced axes last, so that each sum is a row.
  SmallVector<int64_t> axes =
      llvm::to_vector(llvm::seq<int64_t>(from.getRank()));
  SmallVector<int64_t> order;
  for (int64_t axis : axes)
    if (!llvm::is_contained(getAxes(), axis))
      order.push_back(axis);
  llvm::append_range(order, getAxes());
  llvm::SmallDenseMap<int64_t, int64_t> extents;
  for (int64_t axis : axes)
    extents[axis] = from.getDimSize(axis);
  llvm::Expected<Tensor> terms =
      arrangeAxes(*operand, axes, order, extents, operand->kind());
  if (!terms) {
    llvm::consumeError(terms.takeError());
    return {};
  }
  if (std::optional<Tensor> sum = sumExactly(*terms, nullptr, to.getShape()))
    return toAttribute(*sum, to);
  return {};
}

/// A reduction of a reduction of the same kind, over all axes at once. A sum of
/// 16-bit floats is rounded in between, so that it stays as it is.
static LogicalResult reduceOfReduce(ReduceOp op, PatternRewriter &rewriter) {
  auto inner = op.getOperand().getDefiningOp<ReduceOp>();
  ReductionKind kind = op.getKind();
  if (!inner || inner.getKind() != kind || kind == ReductionKind::ArgMax ||
      kind == ReductionKind::ArgMin)
    return failure();
  Type element = tensorType(op.getOperand()).getElementType();
  if (!isOrderFree(kind, element) && getAccumulatorType(element) != element)
    return failure();
  SmallVector<int64_t> kept, axes(inner.getAxes());
  for (int64_t axis = 0; axis < tensorType(inner.getOperand()).getRank();
       ++axis)
    if (!llvm::is_contained(inner.getAxes(), axis))
      kept.push_back(axis);
  for (int64_t axis : op.getAxes())
    axes.push_back(kept[axis]);
  llvm::sort(axes);
  rewriter.replaceOpWithNewOp<ReduceOp>(op, op.getType(), kind,
                                        inner.getOperand(), axes);
  return success();
}

void ReduceOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *) {
  patterns.add(reduceOfReduce);
}

//===----------------------------------------------------------------------===//
// ContractOp
//===----------------------------------------------------------------------===//

OpFoldResult ContractOp::fold(FoldAdaptor adaptor) {
  RankedTensorType type = tensorType(getResult());
  llvm::SmallDenseMap<int64_t, int64_t> extents = getExtentOfAxis();
  int64_t points = 1;
  for (auto [axis, extent] : extents) {
    points *= extent;
    if (points > maxFoldedPoints)
      return {};
  }
  if (!isa<FloatType>(type.getElementType()))
    return foldStructure(*this, adaptor.getOperands());
  std::optional<Tensor> lhs = smallConstant(adaptor.getLhs(), getLhs());
  std::optional<Tensor> rhs = smallConstant(adaptor.getRhs(), getRhs());
  if (!lhs || !rhs || type.getNumElements() > maxFoldedElements)
    return {};
  SmallVector<int64_t> order(getResultAxes());
  llvm::append_range(order, getReducedAxes());
  // f32 holds 16-bit floats, and is what they accumulate in.
  auto kind =
      *getElementKind(getAccumulatorType(getElementType(getLhs().getType())));
  auto left = arrangeOperand(*this, /*isLhs=*/true, *lhs, order, extents, kind);
  auto right =
      arrangeOperand(*this, /*isLhs=*/false, *rhs, order, extents, kind);
  if (!left || !right) {
    llvm::consumeError(left.takeError());
    llvm::consumeError(right.takeError());
    return {};
  }
  std::optional<Tensor> sum = sumExactly(*left, &*right, type.getShape());
  if (!sum)
    return {};
  return toAttribute(sum->convertedTo(*getElementKind(type.getElementType())),
                     type);
}

//===----------------------------------------------------------------------===//
// BroadcastOp, ReshapeOp and TransposeOp
//===----------------------------------------------------------------------===//

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  if (auto inner = getOperand().getDefiningOp<BroadcastOp>()) {
    SmallVector<int64_t> axes;
    for (int64_t axis : inner.getAxes())
      axes.push_back(getAxes()[axis]);
    getOperandMutable().assign(inner.getOperand());
    setAxes(axes);
    return getResult();
  }
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getOperand()))
    return splat.resizeSplat(cast<ShapedType>(getType()));
  // Repeating costs nothing inside a kernel, but memory as a constant.
  constexpr int64_t maxRepeated = 4096;
  return foldStructure(*this, adaptor.getOperands(), maxRepeated);
}

/// A broadcast that only adds axes of extent 1 is a reshape.
static LogicalResult broadcastOfUnitAxes(BroadcastOp op,
                                         PatternRewriter &rewriter) {
  if (tensorType(op.getOperand()).getNumElements() !=
      tensorType(op.getResult()).getNumElements())
    return failure();
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getOperand());
  return success();
}

void BroadcastOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *) {
  patterns.add(broadcastOfUnitAxes);
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  if (auto inner = getOperand().getDefiningOp<ReshapeOp>()) {
    getOperandMutable().assign(inner.getOperand());
    return getResult();
  }
  if (auto elements = dyn_cast_or_null<DenseElementsAttr>(adaptor.getOperand()))
    return elements.reshape(cast<ShapedType>(getType()));
  return {};
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (llvm::is_sorted(getPermutation()))
    return getOperand();
  if (auto inner = getOperand().getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> permutation;
    for (int64_t axis : getPermutation())
      permutation.push_back(inner.getPermutation()[axis]);
    getOperandMutable().assign(inner.getOperand());
    setPermutation(permutation);
    return getResult();
  }
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getOperand()))
    return splat.resizeSplat(cast<ShapedType>(getType()));
  return foldStructure(*this, adaptor.getOperands());
}
