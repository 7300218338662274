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
  auto stridesOf = [](Value tensor, ArrayRef<int64_t> numbers) {
    llvm::SmallDenseMap<int64_t, int64_t> result;
    auto type = cast<RankedTensorType>(tensor.getType());
    for (auto [number, stride] :
         llvm::zip_equal(numbers, denseStrides(type.getShape())))
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
  auto lhs = stridesOf(shape.lhs(op), left);
  auto rhs = stridesOf(shape.rhs(op), right);
  auto out = stridesOf(op.getResult(), results);
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
  Type element = type.getElementType();
  SmallVector<int64_t> reduced = op.getReducedAxes();
  auto extents = op.getExtentOfAxis();
  SmallVector<int64_t> reduceExtents;
  for (int64_t number : reduced)
    reduceExtents.push_back(extents[number]);
  bool isSum = !reduced.empty();
  auto body = [&](OpBuilder &b, Location loc, ValueRange indices) -> Value {
    llvm::SmallDenseMap<int64_t, Value> indexOf;
    for (auto [i, number] : llvm::enumerate(op.getResultAxes()))
      indexOf[number] = indices[i];
    for (auto [i, number] : llvm::enumerate(reduced))
      indexOf[number] = indices[type.getRank() + i];
    auto read = [&](Value tensor, ArrayRef<int64_t> numbers) -> Value {
      SmallVector<Value> at;
      for (int64_t number : numbers)
        at.push_back(indexOf[number]);
      Value value = tds::ReadOp::create(b, loc, tensor, at);
      if (value.getType() != element)
        value = tds::CastOp::create(b, loc, element, value);
      return value;
    };
    Value left = read(op.getLhs(), op.getLhsAxes());
    Value right = read(op.getRhs(), op.getRhsAxes());
    return tds::MulOp::create(b, loc, left, right);
  };
  auto generic = tds::GenericOp::create(
      builder, op.getLoc(), type, reduceExtents,
      isSum ? std::optional(tds::ReductionKind::Sum) : std::nullopt, body);
  op.getResult().replaceAllUsesWith(generic.getResult());
  op.erase();
}
