//===- FoldOps.cpp - loops at run time -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/IR/Builders.h"

#include <limits>

using namespace mlir;
using namespace tdsl::tds;

RankedTensorType FoldOp::getSliceType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape().drop_front(),
                               tensor.getElementType());
}

RankedTensorType FoldOp::getStackedType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape{static_cast<int64_t>(getTrips())};
  llvm::append_range(shape, tensor.getShape());
  return RankedTensorType::get(shape, tensor.getElementType());
}

void FoldOp::build(OpBuilder &builder, OperationState &state, int64_t trips,
                   bool reverse, ValueRange inits, ValueRange slices,
                   ValueRange invariants, TypeRange collected) {
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.setTrips(builder.getI64IntegerAttr(trips));
  if (reverse)
    properties.setReverse(builder.getUnitAttr());
  properties.setOperandSegmentSizes({static_cast<int32_t>(inits.size()),
                                     static_cast<int32_t>(slices.size()),
                                     static_cast<int32_t>(invariants.size())});
  state.addOperands(inits);
  state.addOperands(slices);
  state.addOperands(invariants);
  state.addTypes(inits.getTypes());
  state.addTypes(collected);
  Block *block = new Block();
  state.addRegion()->push_back(block);
  block->addArgument(RankedTensorType::get({}, builder.getI32Type()),
                     state.location);
  for (Value init : inits)
    block->addArgument(init.getType(), init.getLoc());
  for (Value slice : slices)
    block->addArgument(getSliceType(slice.getType()), slice.getLoc());
  for (Value invariant : invariants)
    block->addArgument(invariant.getType(), invariant.getLoc());
}

LogicalResult FoldOp::verify() {
  int64_t trips = getTrips();
  if (trips < 0 || trips > std::numeric_limits<int32_t>::max())
    return emitOpError("runs ")
           << trips << " times, expected 0 to 2147483647 (fold_c3)";
  for (Value slice : getSlices()) {
    auto type = cast<RankedTensorType>(slice.getType());
    if (type.getRank() == 0 || type.getDimSize(0) != trips)
      return emitOpError("takes a slice of ")
             << type << " in each of " << trips << " iterations (fold_c1)";
  }
  if (getNumResults() < getNumCarried() ||
      TypeRange(getFinal().getTypes()) != TypeRange(getInits().getTypes()))
    return emitOpError("has results of other types than its initial values "
                       "(fold_c2)");
  for (Value collected : getCollected()) {
    auto type = cast<RankedTensorType>(collected.getType());
    if (type.getRank() == 0 || type.getDimSize(0) != trips)
      return emitOpError("collects ")
             << trips << " iterations in " << type << " (fold_c2)";
  }
  return success();
}

LogicalResult FoldOp::verifyRegions() {
  SmallVector<Type> expected{
      RankedTensorType::get({}, IntegerType::get(getContext(), 32))};
  llvm::append_range(expected, getInits().getTypes());
  for (Value slice : getSlices())
    expected.push_back(getSliceType(slice.getType()));
  llvm::append_range(expected, getInvariants().getTypes());
  if (TypeRange(getBlock()->getArgumentTypes()) != TypeRange(expected))
    return emitOpError("has block arguments of types ")
           << getBlock()->getArgumentTypes() << ", expected " << expected
           << " (fold_c1)";
  auto yield = dyn_cast<YieldOp>(getBlock()->getTerminator());
  if (!yield)
    return emitOpError("must end in a tds.yield (fold_c2)");
  SmallVector<Type> yielded(getInits().getTypes());
  for (Value collected : getCollected())
    yielded.push_back(getSliceType(collected.getType()));
  if (TypeRange(yield.getOperandTypes()) != TypeRange(yielded))
    return emitOpError("yields ") << yield.getOperandTypes() << ", expected "
                                  << yielded << " (fold_c2)";
  return success();
}
