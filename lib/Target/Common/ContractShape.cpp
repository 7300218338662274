//===- ContractShape.cpp - a contraction as loops over m, n and k -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tdsl/Target/Common/ContractShape.h"

#include "tdsl/Target/Common/LaneBuilder.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::target;
using Axis = ContractShape::Axis;

/// Merges neighbours that one index can run over in every tensor.
static void merge(SmallVectorImpl<Axis> &axes, bool mayMerge) {
  SmallVector<Axis> result;
  for (const Axis &axis : axes) {
    if (axis.extent == 1)
      continue;
    if (mayMerge && !result.empty()) {
      Axis &last = result.back();
      if (last.lhs == axis.lhs * axis.extent &&
          last.rhs == axis.rhs * axis.extent &&
          last.out == axis.out * axis.extent) {
        SmallVector<int64_t, 2> both(last.resultAxes);
        both.append(axis.resultAxes);
        last = {last.extent * axis.extent, axis.lhs, axis.rhs, axis.out, both};
        continue;
      }
    }
    result.push_back(axis);
  }
  axes.assign(result);
}

ContractShape ContractShape::get(tds::ContractOp op, bool mergeColumns) {
  ContractShape shape;
  auto stridesOf = [](ArrayRef<int64_t> numbers, ArrayRef<int64_t> strides) {
    llvm::SmallDenseMap<int64_t, int64_t> result;
    for (auto [number, stride] : llvm::zip_equal(numbers, strides))
      result[number] = stride;
    return result;
  };
  auto extents = op.getExtentOfAxis();
  ArrayRef<int64_t> results = op.getResultAxes();
  for (int64_t number : llvm::reverse(results))
    if (extents[number] != 1) {
      shape.swapped = llvm::is_contained(op.getLhsAxes(), number) &&
                      !llvm::is_contained(op.getRhsAxes(), number);
      break;
    }
  ArrayRef<int64_t> left = shape.swapped ? op.getRhsAxes() : op.getLhsAxes();
  ArrayRef<int64_t> right = shape.swapped ? op.getLhsAxes() : op.getRhsAxes();
  auto [lhsStrides, lhsOffset] = op.getStrides(/*isLhs=*/!shape.swapped);
  auto [rhsStrides, rhsOffset] = op.getStrides(/*isLhs=*/shape.swapped);
  shape.lhsOffset = lhsOffset;
  shape.rhsOffset = rhsOffset;
  auto lhs = stridesOf(left, lhsStrides);
  auto rhs = stridesOf(right, rhsStrides);
  auto resultType = cast<RankedTensorType>(op.getType());
  auto out = stridesOf(results, denseStrides(resultType.getShape()));
  auto axisOf = [&](int64_t number) {
    return Axis{extents[number],
                lhs.lookup(number),
                rhs.lookup(number),
                out.lookup(number),
                {}};
  };
  for (auto [position, number] : llvm::enumerate(results)) {
    bool inLeft = lhs.contains(number), inRight = rhs.contains(number);
    Axis axis = axisOf(number);
    axis.resultAxes.push_back(position);
    (inLeft && inRight ? shape.batch
     : inLeft          ? shape.m
                       : shape.n)
        .push_back(axis);
  }
  for (int64_t number : op.getReducedAxes())
    shape.k.push_back(axisOf(number));
  for (auto *axes : {&shape.batch, &shape.m, &shape.n, &shape.k})
    merge(*axes, axes != &shape.n || mergeColumns);
  return shape;
}

void target::expandContract(tds::KernelOp kernel, StringRef kind) {
  kernel.setKind(kind);
  tds::ContractOp op = *kernel.getBlock()->getOps<tds::ContractOp>().begin();
  OpBuilder builder(op);
  auto type = cast<RankedTensorType>(op.getType());
  SmallVector<int64_t> reduced = op.getReducedAxes();
  auto extents = op.getExtentOfAxis();
  SmallVector<int64_t> reduceExtents;
  for (int64_t number : reduced)
    reduceExtents.push_back(extents[number]);
  bool isSum = !reduced.empty();
  auto body = [&](OpBuilder &b, Location loc, ValueRange indices) {
    return op.buildProduct(b, loc, indices);
  };
  auto generic = tds::GenericOp::create(
      builder, op.getLoc(), type, reduceExtents,
      isSum ? std::optional(tds::ReductionKind::Sum) : std::nullopt, body);
  op.getResult().replaceAllUsesWith(generic.getResult());
  op.erase();
}
