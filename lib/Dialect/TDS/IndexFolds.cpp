//===- IndexFolds.cpp - folders of index definitions -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Folding.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;
using reference::Tensor;

//===----------------------------------------------------------------------===//
// ReadOp
//===----------------------------------------------------------------------===//

/// Drops a guard or a clamp that never acts.
static bool dropProtection(ReadOp op) {
  if ((!op.getGuard() && !op.getClamped()) || !isProvablyInside(op))
    return false;
  op.removeGuardAttr();
  op.setClamped(false);
  return true;
}

OpFoldResult ReadOp::fold(FoldAdaptor adaptor) {
  if (dropProtection(*this))
    return getResult();
  auto elements = dyn_cast_or_null<DenseElementsAttr>(adaptor.getTensor());
  ArrayRef<int64_t> shape = getTensorType().getShape();
  // Known indices: the offset of the element, or an index that is outside.
  int64_t offset = 0;
  bool known = true, outside = false;
  for (auto [index, extent] : llvm::zip(adaptor.getIndices(), shape)) {
    auto number = dyn_cast_or_null<IntegerAttr>(index);
    if (!number) {
      known = false;
      continue;
    }
    int64_t at = number.getInt();
    if (getClamped())
      at = std::max<int64_t>(0, std::min(at, extent - 1));
    outside |= at < 0 || at >= extent;
    offset = offset * extent + at;
  }
  // Outside, a guarded read stays for those who report it.
  if (outside)
    return {};
  if (!elements || elements.empty())
    return {};
  if (elements.isSplat()) {
    // A guard of the same bits makes no difference.
    Attribute splat = elements.getSplatValue<Attribute>();
    if (!getGuard() || splat == *getGuard())
      return splat;
  }
  if (known)
    return elements.getValues<Attribute>()[offset];
  return {};
}

//===----------------------------------------------------------------------===//
// ApplyOp
//===----------------------------------------------------------------------===//

OpFoldResult ApplyOp::fold(FoldAdaptor adaptor) {
  AffineExpr expr = getMap().getResult(0);
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return getOperands()[dim.getPosition()];
  Type indexType = IndexType::get(getContext());
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return IntegerAttr::get(indexType, constant.getValue());
  SmallVector<Attribute> constants;
  for (Attribute operand : adaptor.getOperands()) {
    if (!operand)
      return {};
    constants.push_back(operand);
  }
  SmallVector<Attribute> results;
  if (failed(getMap().constantFold(constants, results)))
    return {};
  return IntegerAttr::get(indexType, cast<IntegerAttr>(results[0]).getInt());
}

/// Substitutes operands that are themselves applied maps or constants, and
/// drops operands that are unused or given twice.
static LogicalResult composeApply(ApplyOp op, PatternRewriter &rewriter) {
  MLIRContext *context = op.getContext();
  SmallVector<Value> operands;
  auto dimOf = [&](Value value) {
    auto it = llvm::find(operands, value);
    unsigned position = it - operands.begin();
    if (it == operands.end())
      operands.push_back(value);
    return getAffineDimExpr(position, context);
  };
  SmallVector<AffineExpr> replacements;
  AffineExpr expr = op.getMap().getResult(0);
  for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
    if (!expr.isFunctionOfDim(i)) {
      replacements.push_back(getAffineConstantExpr(0, context));
      continue;
    }
    if (auto inner = operand.getDefiningOp<ApplyOp>()) {
      SmallVector<AffineExpr> dims;
      for (Value value : inner.getOperands())
        dims.push_back(dimOf(value));
      replacements.push_back(inner.getMap().getResult(0).replaceDims(dims));
    } else if (auto constant = operand.getDefiningOp<ConstantOp>()) {
      replacements.push_back(getAffineConstantExpr(
          cast<IntegerAttr>(constant.getValue()).getInt(), context));
    } else {
      replacements.push_back(dimOf(operand));
    }
  }
  AffineExpr composed =
      simplifyAffineExpr(expr.replaceDims(replacements), operands.size(), 0);
  if (composed == expr && operands.size() == op.getOperands().size())
    return failure();
  rewriter.replaceOpWithNewOp<ApplyOp>(
      op, op.getType(),
      AffineMapAttr::get(AffineMap::get(operands.size(), 0, composed)),
      operands);
  return success();
}

void ApplyOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *) {
  patterns.add(composeApply);
}

//===----------------------------------------------------------------------===//
// GenericOp
//===----------------------------------------------------------------------===//

/// A body that gives a constant at every point is a splat.
static LogicalResult constantBody(GenericOp op, PatternRewriter &rewriter) {
  auto constant = op.getYielded().getDefiningOp<ConstantOp>();
  if (op.hasReduction() || !constant)
    return failure();
  rewriter.replaceOpWithNewOp<ConstantOp>(
      op, DenseElementsAttr::get(op.getType(), Attribute(constant.getValue())));
  return success();
}

/// A body that reads a tensor of the same type at its own indices is that
/// tensor.
static LogicalResult copiedTensor(GenericOp op, PatternRewriter &rewriter) {
  auto read = op.getYielded().getDefiningOp<ReadOp>();
  if (op.hasReduction() || !read || read.getTensorType() != op.getType() ||
      !llvm::equal(read.getIndices(), op.getParallelIndices()))
    return failure();
  rewriter.replaceOp(op, read.getTensor());
  return success();
}

/// Whether a gather (not a padded read, whose indices are affine) may be out of
/// range.
static bool mayFail(ReadOp read) {
  ValueRange dims = read->getBlock()->getArguments();
  return read.getGuard() && !isProvablyInside(read) &&
         llvm::any_of(read.getIndices(), [&](Value index) {
           return !getAffineIndex(index, dims);
         });
}

/// The value of a generic that reads constants only.
static LogicalResult constantGeneric(GenericOp op, PatternRewriter &rewriter) {
  RankedTensorType type = op.getType();
  int64_t elements = type.getNumElements();
  int64_t reduction = op.getReductionSize();
  if (elements > maxFoldedElements || reduction > maxFoldedPoints ||
      elements * reduction > maxFoldedPoints)
    return failure();
  // What it reads, if all of it is known. A gather that may be out of range is
  // left to run, so that it is reported (tds-guard-gathers).
  llvm::SmallMapVector<Value, DenseElementsAttr, 4> known;
  for (ReadOp read : op.getBlock()->getOps<ReadOp>()) {
    DenseElementsAttr value;
    if (read.getTensorType().getNumElements() > maxFoldedPoints ||
        !matchPattern(read.getTensor(), m_Constant(&value)) || mayFail(read))
      return failure();
    known.insert({read.getTensor(), value});
  }
  llvm::DenseMap<Value, Tensor> constants;
  for (auto [tensor, value] : known)
    if (std::optional<Tensor> elements = toTensor(value))
      constants.try_emplace(tensor, std::move(*elements));
  // A generic of indices alone costs less computed than loaded, unless small.
  constexpr int64_t smallResult = 16;
  if (constants.size() != known.size() ||
      (known.empty() && elements > smallResult))
    return failure();
  auto captured = [&](Value value) -> const Tensor * {
    auto it = constants.find(value);
    return it == constants.end() ? nullptr : &it->second;
  };
  auto replace = [&](const Tensor &tensor) {
    rewriter.replaceOpWithNewOp<ConstantOp>(op, toAttribute(tensor, type));
    return success();
  };
  bool ordered = op.hasReduction() && reduction > 0 &&
                 !isOrderFree(*op.getKind(), type.getElementType());
  if (!ordered) {
    llvm::Expected<Tensor> value = evaluateOperation(op, {}, captured);
    if (value)
      return replace(*value);
    llvm::consumeError(value.takeError());
    return failure();
  }
  if (op.getKind() != ReductionKind::Sum)
    return failure();
  auto terms = evaluateTerms(op, captured);
  if (!terms) {
    llvm::consumeError(terms.takeError());
    return failure();
  }
  std::optional<Tensor> sum =
      sumExactly(terms->front(), terms->size() > 1 ? &terms->back() : nullptr,
                 type.getShape());
  return sum ? replace(*sum) : failure();
}

//===----------------------------------------------------------------------===//
// ScatterOp
//===----------------------------------------------------------------------===//

/// The value of a scatter that reads constants only. Its terms are added in the
/// order of the points, wherever it runs.
static LogicalResult constantScatter(ScatterOp op, PatternRewriter &rewriter) {
  RankedTensorType type = op.getType();
  int64_t points = 1;
  for (int64_t extent : op.getExtents())
    if (llvm::MulOverflow(points, extent, points))
      return failure();
  if (points > maxFoldedPoints || type.getNumElements() > maxFoldedElements)
    return failure();
  llvm::DenseMap<Value, Tensor> constants;
  for (ReadOp read : op.getBlock()->getOps<ReadOp>()) {
    DenseElementsAttr value;
    std::optional<Tensor> tensor;
    if (read.getTensorType().getNumElements() <= maxFoldedPoints &&
        matchPattern(read.getTensor(), m_Constant(&value)) && !mayFail(read))
      tensor = toTensor(value);
    if (!tensor)
      return failure();
    constants.try_emplace(read.getTensor(), std::move(*tensor));
  }
  llvm::Expected<Tensor> value =
      evaluateOperation(op, {}, [&](Value tensor) -> const Tensor * {
        auto it = constants.find(tensor);
        return it == constants.end() ? nullptr : &it->second;
      });
  if (!value) {
    llvm::consumeError(value.takeError());
    return failure();
  }
  rewriter.replaceOpWithNewOp<ConstantOp>(op, toAttribute(*value, type));
  return success();
}

void GenericOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *) {
  patterns.add(constantBody);
  patterns.add(copiedTensor);
  patterns.add(constantGeneric);
  // Generics and scatters have their bodies in common, and their patterns.
  patterns.add(constantScatter);
}
