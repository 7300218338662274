//===- AttentionViews.cpp - the operands of an attention -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tdsl/Target/Common/AttentionViews.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>
#include <numeric>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::target;

Buffer target::viewThrough(LaneBuilder &lanes, const Buffer &whole,
                           AffineMap map, ArrayRef<int64_t> extents) {
  Buffer view;
  view.element = whole.element;
  view.shape.assign(extents.begin(), extents.end());
  view.strides.assign(extents.size(), 0);
  int64_t offset = 0;
  for (auto [expr, stride] : llvm::zip_equal(map.getResults(), whole.strides)) {
    SmallVector<int64_t> linear;
    // The verifier has seen that it is.
    [[maybe_unused]] LogicalResult isLinear =
        getFlattenedAffineExpr(expr, map.getNumDims(), 0, &linear);
    assert(succeeded(isLinear) && linear.size() == extents.size() + 1);
    for (size_t i = 0; i < extents.size(); ++i)
      view.strides[i] += stride * linear[i];
    offset += stride * linear.back();
  }
  int64_t known = whole.alignment ? whole.alignment
                                  : int64_t(lanes.options.bufferAlignment);
  view.alignment =
      std::gcd(known, offset * tds::getElementBytes(whole.element));
  view.pointer =
      offset == 0 ? whole.pointer
                  : lanes.address(whole.pointer, getMemoryType(whole.element),
                                  lanes.i64(offset));
  return view;
}

static Value createConstant(LaneBuilder &lanes, Value like, double value) {
  Type type = getElementTypeOrSelf(like.getType());
  Value constant = arith::ConstantOp::create(
      lanes.builder, lanes.loc, lanes.builder.getFloatAttr(type, value));
  return isa<VectorType>(like.getType()) ? lanes.splat(constant) : constant;
}

Value target::createLowest(LaneBuilder &lanes, Type type) {
  return arith::ConstantOp::create(
      lanes.builder, lanes.loc,
      lanes.builder.getFloatAttr(type,
                                 -std::numeric_limits<double>::infinity()));
}

Value target::emitShiftedExp(LaneBuilder &lanes, Value f, Value most) {
  OpBuilder &b = lanes.builder;
  Value lowest =
      createConstant(lanes, most, -std::numeric_limits<double>::infinity());
  Value isLowest = arith::CmpFOp::create(
      b, lanes.loc, arith::CmpFPredicate::OEQ, most, lowest);
  Value shift = arith::SelectOp::create(b, lanes.loc, isLowest,
                                        createConstant(lanes, most, 0), most);
  return scalarmath::emit(b, lanes.loc, scalarmath::Unary::Exp,
                          arith::SubFOp::create(b, lanes.loc, f, shift),
                          lanes.options.math);
}

Value target::emitShare(LaneBuilder &lanes, Value w, Value t) {
  OpBuilder &b = lanes.builder;
  Value zero = createConstant(lanes, t, 0);
  Value isZero =
      arith::CmpFOp::create(b, lanes.loc, arith::CmpFPredicate::OEQ, t, zero);
  return arith::SelectOp::create(b, lanes.loc, isZero, zero,
                                 arith::MulFOp::create(b, lanes.loc, w, t));
}

BandRows::BandRows(LaneBuilder &lanes, const tds::AttentionBand &band,
                   bool areKeys, Value first, int64_t tile, int64_t count,
                   int64_t step)
    : lanes(lanes), count(count), inside{lanes.i64(0), lanes.i64(count)} {
  // Rows from `first + low` up to `first + high`, in whole steps.
  std::optional<int64_t> low, high;
  if (areKeys) {
    low = band.from;
    if (band.to)
      high = tile - 1 + *band.to;
  } else {
    if (band.to)
      low = 1 - *band.to;
    if (band.from)
      high = tile - *band.from;
  }
  hasBefore = low.has_value();
  hasBehind = high.has_value();
  auto toStep = [&](Value row) {
    return lanes.mul(lanes.divU(row, step), lanes.i64(step));
  };
  if (low) {
    Value row = lanes.add(first, lanes.i64(*low));
    row = arith::MaxSIOp::create(lanes.builder, lanes.loc, row, lanes.i64(0));
    inside.begin = lanes.minS(toStep(row), lanes.i64(count));
  }
  if (high)
    inside.end =
        lanes.minS(toStep(lanes.add(first, lanes.i64(*high + step - 1))),
                   lanes.i64(count));
}

void BandRows::forOutside(function_ref<void(const RowRange &)> visit) const {
  if (hasBefore)
    visit({lanes.i64(0), inside.begin});
  if (hasBehind)
    visit({inside.end, lanes.i64(count)});
}

RowRange BandRows::leaveOut(Value sum) const {
  OpBuilder &b = lanes.builder;
  Value isFinite =
      arith::CmpFOp::create(b, lanes.loc, arith::CmpFPredicate::ORD, sum, sum);
  auto choose = [&](Value row, int64_t all) -> Value {
    return arith::SelectOp::create(b, lanes.loc, isFinite, row, lanes.i64(all));
  };
  return {choose(inside.begin, 0), choose(inside.end, count)};
}
