//===- AttentionOps.cpp - attention and its derivative -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace tdsl::tds;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

SmallVector<Value> tdsl::tds::getBodyTensors(Operation *attention) {
  llvm::SetVector<Value> tensors;
  for (Region &region : attention->getRegions())
    for (auto read : region.getOps<ReadOp>())
      tensors.insert(read.getTensor());
  return tensors.takeVector();
}

bool tdsl::tds::isPlacement(AffineMap map) {
  llvm::SmallBitVector seen(map.getNumDims());
  for (AffineExpr expr : map.getResults()) {
    if (isa<AffineConstantExpr>(expr))
      continue;
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || seen.test(dim.getPosition()))
      return false;
    seen.set(dim.getPosition());
  }
  return map.getNumSymbols() == 0 && seen.all();
}

/// Checks that `map` of indices with `extents` is linear and stays inside
/// `type`.
static LogicalResult verifyMap(Operation *op, StringRef what, AffineMap map,
                               ArrayRef<int64_t> extents,
                               RankedTensorType type) {
  if (map.getNumDims() != extents.size() || map.getNumSymbols() != 0 ||
      static_cast<int64_t>(map.getNumResults()) != type.getRank())
    return op->emitOpError("has the ")
           << what << " map " << AffineMapAttr::get(map) << ", expected one of "
           << extents.size() << " dimensions to " << type.getRank()
           << " indices (attention_c2)";
  for (auto [expr, size] : llvm::zip_equal(map.getResults(), type.getShape())) {
    SmallVector<int64_t> linear;
    if (failed(getFlattenedAffineExpr(expr, map.getNumDims(), 0, &linear)) ||
        linear.size() != extents.size() + 1)
      return op->emitOpError("has the ")
             << what << " map " << AffineMapAttr::get(map)
             << ", which is not linear (attention_c2)";
    int64_t low = linear.back(), high = linear.back();
    for (auto [factor, extent] : llvm::zip(linear, extents))
      (factor < 0 ? low : high) += factor * (extent - 1);
    if (low < 0 || high >= size)
      return op->emitOpError("has the ")
             << what << " map " << AffineMapAttr::get(map)
             << ", which leaves its tensor of type " << type
             << " (attention_c2)";
  }
  return success();
}

/// What both operations have in common. `results` lie as the result's map says;
/// `factors` are multiplied.
template <typename Op>
static LogicalResult verifyCommon(Op op, ArrayRef<Value> results,
                                  ArrayRef<Value> factors) {
  ArrayRef<int64_t> extents = op.getExtents();
  if (extents.size() < 4 ||
      llvm::any_of(extents, [](int64_t extent) { return extent < 1; }))
    return op.emitOpError("has extents [")
           << extents
           << "], expected those of the batch and four more, all above 0 "
              "(attention_c1)";
  auto withBatch = [&](int64_t row, int64_t column) {
    SmallVector<int64_t> all(op.getBatch());
    all.append({row, column});
    return all;
  };
  SmallVector<int64_t> query = withBatch(op.getNumQueries(), op.getDepth()),
                       key = withBatch(op.getNumKeys(), op.getDepth()),
                       value = withBatch(op.getNumKeys(), op.getWidth()),
                       result = withBatch(op.getNumQueries(), op.getWidth());
  if (failed(verifyMap(op, "query", op.getQueryMap(), query,
                       tensorType(op.getQuery()))) ||
      failed(
          verifyMap(op, "key", op.getKeyMap(), key, tensorType(op.getKey()))) ||
      failed(verifyMap(op, "value", op.getValueMap(), value,
                       tensorType(op.getValue()))))
    return failure();
  for (Value of : results) {
    if (failed(
            verifyMap(op, "result", op.getResultMap(), result, tensorType(of))))
      return failure();
    int64_t count = 1;
    for (int64_t extent : result)
      count *= extent;
    if (!op.getResultMap().isPermutation() ||
        tensorType(of).getNumElements() != count)
      return op.emitOpError("has the result map ")
             << AffineMapAttr::get(op.getResultMap())
             << ", which is no permutation (attention_c2)";
  }
  Type compute = op.getComputeType();
  SmallVector<int64_t> rows(op.getBatch());
  rows.push_back(op.getNumQueries());
  auto statistic = RankedTensorType::get(rows, compute);
  if (!compute.isF32() && !compute.isF64())
    return op.emitOpError("computes in ")
           << compute << ", expected f32 or f64 (attention_c3)";
  for (Value of : {Value(op.getMost()), Value(op.getTotal())})
    if (of.getType() != statistic)
      return op.emitOpError("has a statistic of the rows of type ")
             << of.getType() << ", expected " << statistic << " (attention_c3)";
  auto fits = [&](Value value) {
    Type element = tensorType(value).getElementType();
    return element == compute || element.isF16() || element.isBF16();
  };
  SmallVector<Value> all{op.getQuery(), op.getKey(), op.getValue()};
  llvm::append_range(all, results);
  for (Value of : all)
    if (!fits(of))
      return op.emitOpError("has an operand or result of type ")
             << of.getType() << ", but computes in " << compute
             << " (attention_c3)";
  if (!op.getNarrowFactors())
    return success();
  if (op.getNarrowWeights())
    return op.emitOpError("has narrow_factors and narrow_weights, which round "
                          "the same weights (attention_c4)");
  Type element = tensorType(op.getValue()).getElementType();
  for (Value of : factors)
    if (tensorType(of).getElementType() != element)
      return op.emitOpError("has narrow_factors and an operand of type ")
             << of.getType() << " beside values of " << element
             << " (attention_c4)";
  return success();
}

template <typename Op>
static LogicalResult verifyRegion(Op op, Region &region, unsigned scalars) {
  Block &block = region.front();
  Type compute = op.getComputeType();
  unsigned indices = op.getNumBatch() + 2;
  bool fits = block.getNumArguments() == indices + scalars;
  for (auto [i, argument] : llvm::enumerate(block.getArguments()))
    fits &= argument.getType() ==
            (i < indices ? IndexType::get(op.getContext()) : compute);
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!fits || !yield || yield.getNumOperands() != 1 ||
      yield.getOperand(0).getType() != compute)
    return op.emitOpError("needs a body with ")
           << indices << " indices and " << scalars << " of " << compute
           << " that yields " << compute << " (attention_c3)";
  return verifyBody(op, block);
}

LogicalResult AttentionOp::verify() {
  return verifyCommon(*this, {getResult()}, {getQuery(), getKey()});
}

LogicalResult AttentionOp::verifyRegions() {
  return verifyRegion(*this, getScore(), 1);
}

LogicalResult AttentionGradOp::verify() {
  if (failed(verifyCommon(*this, {getResult(), getAdjoint()},
                          {getQuery(), getKey(), getAdjoint()})))
    return failure();
  if (getGradMaps().size() != 3 ||
      (getGradients().size() != 1 && getGradients().size() != 3))
    return emitOpError("has ")
           << getGradMaps().size() << " grad_maps and " << getGradients().size()
           << " results, expected three maps, and one or three results "
              "(attention_grad_c2)";
  int64_t written = 0, present = 0;
  for (Value gradient : getGradients())
    present += tensorType(gradient).getNumElements();
  SmallVector<int64_t> rows{getNumQueries(), getNumKeys(), getNumKeys()},
      columns{getDepth(), getDepth(), getWidth()};
  for (unsigned i = 0; i < 3; ++i) {
    SmallVector<int64_t> extents(getBatch());
    extents.append({rows[i], columns[i]});
    if (failed(verifyMap(*this, "gradient's", getGradMap(i), extents,
                         tensorType(getGradient(i)))))
      return failure();
    if (!isPlacement(getGradMap(i)))
      return emitOpError("has the gradient's map ")
             << AffineMapAttr::get(getGradMap(i))
             << ", whose results are not different dimensions "
                "(attention_grad_c2)";
    int64_t count = 1;
    for (int64_t extent : extents)
      count *= extent;
    written += count;
  }
  if (written != present)
    return emitOpError("writes ")
           << written << " elements of results that have " << present
           << " (attention_grad_c2)";
  return success();
}

LogicalResult AttentionGradOp::verifyRegions() {
  if (failed(verifyRegion(*this, getScore(), 1)))
    return failure();
  return verifyRegion(*this, getSlope(), 2);
}
