//===- TensorOps.cpp - whole-tensor operations -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace tdsl::tds;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// ContractOp
//===----------------------------------------------------------------------===//

llvm::SmallDenseMap<int64_t, int64_t> ContractOp::getExtentOfAxis() {
  llvm::SmallDenseMap<int64_t, int64_t> extents;
  for (auto [axis, extent] :
       llvm::zip(getLhsAxes(), tensorType(getLhs()).getShape()))
    extents[axis] = extent;
  for (auto [axis, extent] :
       llvm::zip(getRhsAxes(), tensorType(getRhs()).getShape()))
    extents[axis] = extent;
  return extents;
}

SmallVector<int64_t> ContractOp::getReducedAxes() {
  SmallVector<int64_t> axes;
  for (int64_t axis : llvm::concat<const int64_t>(getLhsAxes(), getRhsAxes()))
    if (!llvm::is_contained(getResultAxes(), axis) &&
        !llvm::is_contained(axes, axis))
      axes.push_back(axis);
  return axes;
}

LogicalResult ContractOp::verify() {
  auto checkList = [&](ArrayRef<int64_t> axes, Value tensor,
                       StringRef what) -> LogicalResult {
    if (static_cast<int64_t>(axes.size()) != tensorType(tensor).getRank())
      return emitOpError("names ")
             << axes.size() << " axes of the " << what << ", expected its rank "
             << tensorType(tensor).getRank() << " (contract_c1)";
    for (size_t i = 0; i < axes.size(); ++i)
      if (llvm::is_contained(axes.take_front(i), axes[i]))
        return emitOpError("names axis ")
               << axes[i] << " of the " << what << " twice (contract_c1)";
    return success();
  };
  if (failed(checkList(getLhsAxes(), getLhs(), "left operand")) ||
      failed(checkList(getRhsAxes(), getRhs(), "right operand")) ||
      failed(checkList(getResultAxes(), getResult(), "result")))
    return failure();
  llvm::SmallDenseMap<int64_t, int64_t> extents;
  auto checkExtents = [&](ArrayRef<int64_t> axes, Value tensor,
                          bool mayAdd) -> LogicalResult {
    for (auto [axis, extent] : llvm::zip(axes, tensorType(tensor).getShape())) {
      auto it = extents.find(axis);
      if (it == extents.end()) {
        if (!mayAdd)
          return emitOpError("has axis ")
                 << axis << " in the result only (contract_c3)";
        extents[axis] = extent;
      } else if (it->second != extent) {
        return emitOpError("has extents ")
               << it->second << " and " << extent << " for axis " << axis
               << " (contract_c2)";
      }
    }
    return success();
  };
  if (failed(checkExtents(getLhsAxes(), getLhs(), true)) ||
      failed(checkExtents(getRhsAxes(), getRhs(), true)) ||
      failed(checkExtents(getResultAxes(), getResult(), false)))
    return failure();
  Type lhs = tensorType(getLhs()).getElementType(),
       rhs = tensorType(getRhs()).getElementType();
  Type result = tensorType(getResult()).getElementType();
  if (lhs != rhs || lhs.isInteger(1))
    return emitOpError("multiplies ")
           << lhs << " and " << rhs
           << ", expected numbers of one type (contract_c4)";
  if (result != lhs && result != getAccumulatorType(lhs))
    return emitOpError("gives ") << result << ", expected " << lhs
                                 << " or its accumulator type (contract_c4)";
  return success();
}

//===----------------------------------------------------------------------===//
// ReduceOp
//===----------------------------------------------------------------------===//

static bool risesStrictly(ArrayRef<int64_t> axes, int64_t rank) {
  int64_t last = -1;
  for (int64_t axis : axes) {
    if (axis <= last || axis >= rank)
      return false;
    last = axis;
  }
  return true;
}

LogicalResult ReduceOp::verify() {
  RankedTensorType from = tensorType(getOperand()),
                   to = tensorType(getResult());
  if (!risesStrictly(getAxes(), from.getRank()))
    return emitOpError("has axes [")
           << getAxes() << "], expected rising axes below " << from.getRank()
           << " (reduce_c1)";
  SmallVector<int64_t> shape;
  for (auto [axis, extent] : llvm::enumerate(from.getShape()))
    if (!llvm::is_contained(getAxes(), static_cast<int64_t>(axis)))
      shape.push_back(extent);
  if (ArrayRef<int64_t>(shape) != to.getShape())
    return emitOpError("gives shape [")
           << to.getShape() << "], expected [" << shape << "] (reduce_c2)";
  ReductionKind kind = getKind();
  if (kind == ReductionKind::ArgMax || kind == ReductionKind::ArgMin) {
    if (getAxes().size() != 1 || from.getDimSize(getAxes()[0]) == 0 ||
        !to.getElementType().isInteger(32))
      return emitOpError("of kind ")
             << stringifyReductionKind(kind)
             << " needs one axis that is not empty and gives i32 (reduce_c3)";
    return success();
  }
  if (from.getElementType() != to.getElementType())
    return emitOpError("gives elements ")
           << to.getElementType() << ", expected " << from.getElementType();
  bool isTruth = kind == ReductionKind::Any || kind == ReductionKind::All;
  if (isTruth != from.getElementType().isInteger(1))
    return emitOpError("of kind ")
           << stringifyReductionKind(kind) << " takes elements "
           << from.getElementType();
  return success();
}

//===----------------------------------------------------------------------===//
// BroadcastOp
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  RankedTensorType from = tensorType(getOperand()),
                   to = tensorType(getResult());
  if (static_cast<int64_t>(getAxes().size()) != from.getRank() ||
      !risesStrictly(getAxes(), to.getRank()))
    return emitOpError("has axes [")
           << getAxes() << "], expected " << from.getRank()
           << " rising axes below " << to.getRank() << " (broadcast_c1)";
  for (auto [i, axis] : llvm::enumerate(getAxes()))
    if (from.getDimSize(i) != 1 && from.getDimSize(i) != to.getDimSize(axis))
      return emitOpError("stretches axis ")
             << i << " of extent " << from.getDimSize(i) << " to "
             << to.getDimSize(axis);
  if (from.getElementType() != to.getElementType())
    return emitOpError("gives elements ")
           << to.getElementType() << ", expected " << from.getElementType();
  return success();
}

//===----------------------------------------------------------------------===//
// ReshapeOp and TransposeOp
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = tensorType(getOperand()),
                   to = tensorType(getResult());
  if (from.getNumElements() != to.getNumElements())
    return emitOpError("has ")
           << from.getNumElements() << " elements on one side and "
           << to.getNumElements() << " on the other (reshape_c1)";
  if (from.getElementType() != to.getElementType())
    return emitOpError("gives elements ")
           << to.getElementType() << ", expected " << from.getElementType();
  return success();
}

LogicalResult TransposeOp::verify() {
  RankedTensorType from = tensorType(getOperand()),
                   to = tensorType(getResult());
  SmallVector<int64_t> sorted(getPermutation());
  llvm::sort(sorted);
  bool isPermutation = static_cast<int64_t>(sorted.size()) == from.getRank();
  for (auto [i, axis] : llvm::enumerate(sorted))
    isPermutation &= axis == static_cast<int64_t>(i);
  if (!isPermutation)
    return emitOpError("has [")
           << getPermutation() << "], expected a permutation of "
           << from.getRank() << " axes (transpose_c1)";
  SmallVector<int64_t> shape;
  for (int64_t axis : getPermutation())
    shape.push_back(from.getDimSize(axis));
  if (to != RankedTensorType::get(shape, from.getElementType()))
    return emitOpError("gives ")
           << to << ", expected "
           << RankedTensorType::get(shape, from.getElementType());
  return success();
}
