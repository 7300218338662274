//===- TensorOps.cpp - whole-tensor operations -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"
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
  auto take = [&](ArrayRef<int64_t> axes, Value tensor) {
    for (auto [axis, extent] : llvm::zip(axes, tensorType(tensor).getShape()))
      extents[axis] = extent;
  };
  take(getResultAxes(), getResult());
  if (!getLhsMap())
    take(getLhsAxes(), getLhs());
  if (!getRhsMap())
    take(getRhsAxes(), getRhs());
  return extents;
}

std::pair<SmallVector<int64_t>, int64_t> ContractOp::getStrides(bool isLhs) {
  ArrayRef<int64_t> shape = tensorType(isLhs ? getLhs() : getRhs()).getShape();
  SmallVector<int64_t> dense(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    dense[i] = stride;
    stride *= shape[i];
  }
  std::optional<AffineMap> map = isLhs ? getLhsMap() : getRhsMap();
  if (!map)
    return {dense, 0};
  SmallVector<int64_t> strides(map->getNumDims());
  int64_t offset = 0;
  for (auto [expr, step] : llvm::zip_equal(map->getResults(), dense)) {
    SmallVector<int64_t> linear;
    (void)getFlattenedAffineExpr(expr, map->getNumDims(), 0, &linear);
    for (unsigned i = 0; i < map->getNumDims(); ++i)
      strides[i] += linear[i] * step;
    offset += linear.back() * step;
  }
  return {strides, offset};
}

Value ContractOp::buildProduct(OpBuilder &builder, Location loc,
                               ValueRange indices) {
  Type element = tensorType(getResult()).getElementType();
  llvm::SmallDenseMap<int64_t, Value> indexOfAxis;
  SmallVector<int64_t> numbers(getResultAxes());
  llvm::append_range(numbers, getReducedAxes());
  for (auto [number, index] : llvm::zip_equal(numbers, indices))
    indexOfAxis[number] = index;
  auto factor = [&](Value tensor, ArrayRef<int64_t> axes,
                    std::optional<AffineMap> map) {
    SmallVector<Value> dims, at;
    for (int64_t axis : axes)
      dims.push_back(indexOfAxis[axis]);
    if (!map)
      at = dims;
    else
      for (AffineExpr expr : map->getResults())
        if (auto dim = dyn_cast<AffineDimExpr>(expr))
          at.push_back(dims[dim.getPosition()]);
        else
          at.push_back(ApplyOp::create(
              builder, loc, AffineMap::get(map->getNumDims(), 0, expr), dims));
    Value value = ReadOp::create(builder, loc, tensor, at);
    if (value.getType() != element)
      value = CastOp::create(builder, loc, element, value);
    return value;
  };
  Value lhs = factor(getLhs(), getLhsAxes(), getLhsMap());
  Value rhs = factor(getRhs(), getRhsAxes(), getRhsMap());
  return MulOp::create(builder, loc, lhs, rhs);
}

SmallVector<int64_t> ContractOp::getReducedAxes() {
  SmallVector<int64_t> axes;
  for (int64_t axis : llvm::concat<const int64_t>(getLhsAxes(), getRhsAxes()))
    if (!llvm::is_contained(getResultAxes(), axis) &&
        !llvm::is_contained(axes, axis))
      axes.push_back(axis);
  return axes;
}

/// Whether the map is one of a window inside the tensor (contract_c5).
static LogicalResult
verifyWindow(ContractOp op, AffineMap map, ArrayRef<int64_t> axes,
             RankedTensorType tensor, StringRef what,
             llvm::SmallDenseMap<int64_t, int64_t> &extents) {
  if (map.getNumDims() != axes.size() || map.getNumSymbols() != 0 ||
      static_cast<int64_t>(map.getNumResults()) != tensor.getRank())
    return op.emitOpError("has a map of the ")
           << what << " with " << map.getNumDims() << " dimensions and "
           << map.getNumResults() << " results, expected " << axes.size()
           << " and " << tensor.getRank() << " (contract_c5)";
  for (int64_t axis : axes)
    if (!extents.contains(axis))
      return op.emitOpError("knows no extent of axis ")
             << axis << ", which only a window has (contract_c5)";
  for (auto [expr, extent] :
       llvm::zip_equal(map.getResults(), tensor.getShape())) {
    SmallVector<int64_t> linear;
    if (failed(getFlattenedAffineExpr(expr, map.getNumDims(), 0, &linear)) ||
        linear.size() != map.getNumDims() + 1)
      return op.emitOpError("has a map of the ")
             << what << " that is not linear (contract_c5)";
    int64_t least = linear.back(), greatest = linear.back();
    for (auto [axis, step] : llvm::zip(axes, linear)) {
      int64_t last = std::max<int64_t>(extents[axis] - 1, 0) * step;
      (last < 0 ? least : greatest) += last;
    }
    if (least < 0 || greatest >= extent)
      return op.emitOpError("reads the ")
             << what << " from " << least << " to " << greatest
             << " along an axis of extent " << extent << " (contract_c5)";
  }
  return success();
}

LogicalResult ContractOp::verify() {
  auto checkList = [&](ArrayRef<int64_t> axes, Value tensor, StringRef what,
                       bool isWindow) -> LogicalResult {
    if (!isWindow &&
        static_cast<int64_t>(axes.size()) != tensorType(tensor).getRank())
      return emitOpError("names ")
             << axes.size() << " axes of the " << what << ", expected its rank "
             << tensorType(tensor).getRank() << " (contract_c1)";
    for (size_t i = 0; i < axes.size(); ++i)
      if (llvm::is_contained(axes.take_front(i), axes[i]))
        return emitOpError("names axis ")
               << axes[i] << " of the " << what << " twice (contract_c1)";
    return success();
  };
  if (failed(checkList(getLhsAxes(), getLhs(), "left operand",
                       getLhsMap().has_value())) ||
      failed(checkList(getRhsAxes(), getRhs(), "right operand",
                       getRhsMap().has_value())) ||
      failed(checkList(getResultAxes(), getResult(), "result", false)))
    return failure();
  llvm::SmallDenseMap<int64_t, int64_t> extents;
  auto checkExtents = [&](ArrayRef<int64_t> axes,
                          Value tensor) -> LogicalResult {
    for (auto [axis, extent] : llvm::zip(axes, tensorType(tensor).getShape())) {
      auto it = extents.find(axis);
      if (it == extents.end()) {
        extents[axis] = extent;
      } else if (it->second != extent) {
        return emitOpError("has extents ")
               << it->second << " and " << extent << " for axis " << axis
               << " (contract_c2)";
      }
    }
    return success();
  };
  for (auto [axes, tensor, map] :
       {std::tuple(getLhsAxes(), getLhs(), getLhsMap()),
        std::tuple(getRhsAxes(), getRhs(), getRhsMap())})
    if (!map && failed(checkExtents(axes, tensor)))
      return failure();
  for (int64_t axis : getResultAxes())
    if (!llvm::is_contained(getLhsAxes(), axis) &&
        !llvm::is_contained(getRhsAxes(), axis))
      return emitOpError("has axis ")
             << axis << " in the result only (contract_c3)";
  if (failed(checkExtents(getResultAxes(), getResult())))
    return failure();
  for (auto [axes, tensor, map, what] :
       {std::tuple(getLhsAxes(), getLhs(), getLhsMap(), "left operand"),
        std::tuple(getRhsAxes(), getRhs(), getRhsMap(), "right operand")})
    if (map && failed(verifyWindow(*this, *map, axes, tensorType(tensor), what,
                                   extents)))
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
