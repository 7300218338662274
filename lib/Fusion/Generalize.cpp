//===- Generalize.cpp - whole-tensor operations as index definitions -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphPass.h"

#include "tdsl/Fusion/Bodies.h"
#include "tdsl/Fusion/Passes.h"

#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

namespace tdsl {
#define GEN_PASS_DEF_GENERALIZEPASS
#include "tdsl/Fusion/Passes.h.inc"
} // namespace tdsl

namespace {

RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// The scalar that every element of `value` is, if it is a splat constant.
TypedAttr getSplat(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant)
    return {};
  auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!dense || !dense.isSplat())
    return {};
  return cast<TypedAttr>(dense.getSplatValue<Attribute>());
}

/// An unguarded read, or the scalar where the tensor is a splat constant.
Value createRead(OpBuilder &builder, Location loc, Value tensor,
                 ValueRange indices) {
  if (TypedAttr scalar = getSplat(tensor))
    return ConstantOp::create(builder, loc, scalar);
  return ReadOp::create(builder, loc, tensor, indices);
}

Value createIndexConstant(OpBuilder &builder, Location loc, int64_t value) {
  return ConstantOp::create(builder, loc,
                            TypedAttr(builder.getIndexAttr(value)));
}

//===----------------------------------------------------------------------===//
// One rewrite an operation
//===----------------------------------------------------------------------===//

Value generalizeElementwise(OpBuilder &builder, Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  return GenericOp::create(
      builder, op->getLoc(), type, {}, std::nullopt,
      [&](OpBuilder &b, Location loc, ValueRange indices) -> Value {
        SmallVector<Value> scalars;
        for (Value operand : op->getOperands())
          scalars.push_back(createRead(b, loc, operand, indices));
        OperationState state(loc, op->getName());
        state.addOperands(scalars);
        state.addAttributes(op->getAttrDictionary().getValue());
        state.addTypes(type.getElementType());
        return b.create(state)->getResult(0);
      });
}

Value generalizeBroadcast(OpBuilder &builder, BroadcastOp op) {
  RankedTensorType from = tensorType(op.getOperand()),
                   to = tensorType(op.getResult());
  return GenericOp::create(
      builder, op.getLoc(), to, {}, std::nullopt,
      [&](OpBuilder &b, Location loc, ValueRange indices) -> Value {
        SmallVector<Value> at;
        for (auto [i, axis] : llvm::enumerate(op.getAxes()))
          at.push_back(from.getDimSize(i) == to.getDimSize(axis)
                           ? Value(indices[axis])
                           : createIndexConstant(b, loc, 0));
        return createRead(b, loc, op.getOperand(), at);
      });
}

Value generalizeTranspose(OpBuilder &builder, TransposeOp op) {
  return GenericOp::create(
      builder, op.getLoc(), tensorType(op.getResult()), {}, std::nullopt,
      [&](OpBuilder &b, Location loc, ValueRange indices) -> Value {
        SmallVector<Value> at(indices.size());
        for (auto [i, axis] : llvm::enumerate(op.getPermutation()))
          at[axis] = indices[i];
        return createRead(b, loc, op.getOperand(), at);
      });
}

Value generalizeReduce(OpBuilder &builder, ReduceOp op) {
  RankedTensorType from = tensorType(op.getOperand());
  if (op.getAxes().empty())
    return op.getOperand();
  SmallVector<int64_t> reduceExtents;
  for (int64_t axis : op.getAxes())
    reduceExtents.push_back(from.getDimSize(axis));
  return GenericOp::create(
      builder, op.getLoc(), tensorType(op.getResult()), reduceExtents,
      op.getKind(),
      [&](OpBuilder &b, Location loc, ValueRange indices) -> Value {
        size_t parallel = 0, reduction = tensorType(op.getResult()).getRank();
        SmallVector<Value> at;
        for (int64_t axis = 0; axis < from.getRank(); ++axis)
          at.push_back(
              indices[llvm::is_contained(op.getAxes(), axis) ? reduction++
                                                             : parallel++]);
        return createRead(b, loc, op.getOperand(), at);
      });
}

/// Whether the contraction does work of a higher order than its operands: each
/// side has a result axis of its own, and what is summed is in both. Others
/// (dot products, matrix times vector, outer products) are bound by memory and
/// fuse better as generics.
bool isTrueContraction(ContractOp op) {
  auto extents = op.getExtentOfAxis();
  SmallVector<int64_t> reduced = op.getReducedAxes();
  if (reduced.empty())
    return false;
  for (int64_t axis : reduced)
    if (!llvm::is_contained(op.getLhsAxes(), axis) ||
        !llvm::is_contained(op.getRhsAxes(), axis))
      return false;
  auto hasOwn = [&](ArrayRef<int64_t> mine, ArrayRef<int64_t> other) {
    return llvm::any_of(mine, [&](int64_t axis) {
      return extents[axis] != 1 &&
             llvm::is_contained(op.getResultAxes(), axis) &&
             !llvm::is_contained(other, axis);
    });
  };
  return hasOwn(op.getLhsAxes(), op.getRhsAxes()) &&
         hasOwn(op.getRhsAxes(), op.getLhsAxes());
}

Value generalizeContract(OpBuilder &builder, ContractOp op) {
  auto extents = op.getExtentOfAxis();
  SmallVector<int64_t> reduced = op.getReducedAxes(), reduceExtents;
  for (int64_t axis : reduced)
    reduceExtents.push_back(extents[axis]);
  RankedTensorType type = tensorType(op.getResult());
  std::optional<ReductionKind> kind;
  if (!reduced.empty())
    kind = ReductionKind::Sum;
  return GenericOp::create(builder, op.getLoc(), type, reduceExtents, kind,
                           [&](OpBuilder &b, Location loc, ValueRange indices) {
                             return op.buildProduct(b, loc, indices);
                           });
}

/// The work a scatter may repeat for each element of its result when it becomes
/// a generic: on the host CPU two times what writing an f32 to memory takes (8
/// operations), on the GPUs less than that once.
constexpr int64_t maxScatterBodyCost = 16;

/// A scatter each of whose loop indices is itself an index of the result: an
/// element gets one term at most, so that it is a select.
Value generalizeScatter(OpBuilder &builder, ScatterOp op) {
  RankedTensorType type = op.getType();
  SmallVector<int64_t> axisOfLoop(op.getExtents().size(), -1);
  for (auto [axis, index] : llvm::enumerate(op.getYieldedIndices())) {
    auto argument = dyn_cast<BlockArgument>(index);
    if (!argument || argument.getOwner() != op.getBlock() ||
        axisOfLoop[argument.getArgNumber()] >= 0)
      continue;
    if (op.getExtents()[argument.getArgNumber()] != type.getDimSize(axis))
      return {};
    axisOfLoop[argument.getArgNumber()] = axis;
  }
  if (llvm::is_contained(axisOfLoop, -1) ||
      getBodyCost(op) > maxScatterBodyCost)
    return {};
  return GenericOp::create(
      builder, op.getLoc(), type, {}, std::nullopt,
      [&](OpBuilder &b, Location loc, ValueRange indices) -> Value {
        SmallVector<Value> at;
        for (int64_t axis : axisOfLoop)
          at.push_back(indices[axis]);
        IRMapping mapping;
        cloneBody(b, op, at, mapping);
        Value zero = ConstantOp::createSplat(b, loc, type.getElementType(), 0);
        // A scatter adds to +0, which makes a -0 a +0.
        Value sum = AddOp::create(b, loc, zero,
                                  mapping.lookupOrDefault(op.getYielded()));
        Value hit;
        for (auto [axis, index] : llvm::enumerate(op.getYieldedIndices())) {
          if (llvm::is_contained(axisOfLoop, static_cast<int64_t>(axis)))
            continue;
          Value equal = CompareOp::create(b, loc, ComparePredicate::EQ,
                                          mapping.lookupOrDefault(index),
                                          Value(indices[axis]));
          hit = hit ? Value(AndOp::create(b, loc, hit, equal)) : equal;
        }
        return hit ? Value(SelectOp::create(b, loc, hit, sum, zero)) : sum;
      });
}

/// Whether a reduction over one term is that term. A float sum is not: it
/// starts from +0, which makes a -0 a +0.
bool isTermOfOne(ReductionKind kind, Type element) {
  switch (kind) {
  case ReductionKind::Max:
  case ReductionKind::Min:
  case ReductionKind::Any:
  case ReductionKind::All:
    return true;
  case ReductionKind::Sum:
  case ReductionKind::Prod:
    return !isa<FloatType>(element);
  case ReductionKind::ArgMax:
  case ReductionKind::ArgMin:
    return false;
  }
  llvm_unreachable("unknown reduction");
}

/// Runs a generic without its axes of extent 1, and views the result as before;
/// null where there is none to drop.
Value dropUnitAxes(OpBuilder &builder, GenericOp op) {
  Type element = op.getType().getElementType();
  SmallVector<int64_t> shape, reduceExtents;
  for (int64_t extent : op.getExtents())
    if (extent != 1)
      shape.push_back(extent);
  std::optional<ReductionKind> kind = op.getKind();
  bool isArg = kind == ReductionKind::ArgMax || kind == ReductionKind::ArgMin;
  for (int64_t extent : op.getReduceExtents())
    if (extent != 1 || isArg)
      reduceExtents.push_back(extent);
  if (kind && reduceExtents.empty()) {
    if (isTermOfOne(*kind, element))
      kind.reset();
    else
      reduceExtents.push_back(1);
  }
  if (shape.size() == op.getExtents().size() &&
      reduceExtents.size() == op.getReduceExtents().size())
    return {};
  auto type = RankedTensorType::get(shape, element);
  Value squeezed = GenericOp::create(
      builder, op.getLoc(), type, reduceExtents, kind,
      [&](OpBuilder &b, Location loc, ValueRange indices) -> Value {
        SmallVector<Value> at;
        size_t next = 0;
        for (int64_t extent : op.getExtents())
          at.push_back(extent == 1 ? createIndexConstant(b, loc, 0)
                                   : Value(indices[next++]));
        for (int64_t extent : op.getReduceExtents())
          at.push_back(extent == 1 && !isArg ? createIndexConstant(b, loc, 0)
                                             : Value(indices[next++]));
        IRMapping mapping;
        cloneBody(b, op, at, mapping);
        return mapping.lookupOrDefault(op.getYielded());
      });
  if (type == op.getType())
    return squeezed;
  return ReshapeOp::create(builder, op.getLoc(), op.getType(), squeezed);
}

/// A contraction without its axes of extent 1, viewed as before; null where
/// there is none to drop.
ReshapeOp dropUnitAxes(OpBuilder &builder, ContractOp op) {
  auto squeeze = [&](Value tensor, ArrayRef<int64_t> axes,
                     SmallVectorImpl<int64_t> &kept) {
    RankedTensorType type = tensorType(tensor);
    SmallVector<int64_t> shape;
    for (auto [axis, extent] : llvm::zip(axes, type.getShape()))
      if (extent != 1) {
        kept.push_back(axis);
        shape.push_back(extent);
      }
    return type.clone(shape);
  };
  if (op.hasWindow())
    return {};
  SmallVector<int64_t> lhsAxes, rhsAxes, resultAxes;
  RankedTensorType lhs = squeeze(op.getLhs(), op.getLhsAxes(), lhsAxes),
                   rhs = squeeze(op.getRhs(), op.getRhsAxes(), rhsAxes),
                   result =
                       squeeze(op.getResult(), op.getResultAxes(), resultAxes);
  if (lhs == op.getLhs().getType() && rhs == op.getRhs().getType() &&
      result == op.getResult().getType())
    return {};
  // Without a reduced axis the sum would be gone.
  bool reduces = llvm::any_of(lhsAxes,
                              [&](int64_t axis) {
                                return !llvm::is_contained(resultAxes, axis);
                              }) ||
                 llvm::any_of(rhsAxes, [&](int64_t axis) {
                   return !llvm::is_contained(resultAxes, axis);
                 });
  if (!reduces)
    return {};
  auto view = [&](Value tensor, RankedTensorType type) -> Value {
    if (tensor.getType() == type)
      return tensor;
    return ReshapeOp::create(builder, op.getLoc(), type, tensor);
  };
  auto squeezed =
      ContractOp::create(builder, op.getLoc(), result, view(op.getLhs(), lhs),
                         view(op.getRhs(), rhs), lhsAxes, rhsAxes, resultAxes);
  return ReshapeOp::create(builder, op.getLoc(), op.getResult().getType(),
                           squeezed);
}

/// Reads of an entry's input or variable leave out its axes of extent 1: a view
/// of it is read.
void dropUnitAxes(GenericOp op) {
  for (ReadOp read : getReads(op)) {
    RankedTensorType type = read.getTensorType();
    if (read.getGuard() || !isa<BlockArgument>(read.getTensor()) ||
        !llvm::is_contained(type.getShape(), 1))
      continue;
    SmallVector<int64_t> shape;
    SmallVector<Value> indices;
    for (auto [extent, index] : llvm::zip(type.getShape(), read.getIndices()))
      if (extent != 1) {
        shape.push_back(extent);
        indices.push_back(index);
      }
    OpBuilder builder(op);
    Value view = ReshapeOp::create(builder, read.getLoc(), type.clone(shape),
                                   read.getTensor());
    builder.setInsertionPoint(read);
    auto squeezed = ReadOp::create(builder, read.getLoc(), view, indices);
    squeezed.setClamped(read.getClamped());
    read.replaceAllUsesWith(squeezed.getResult());
    read.erase();
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

bool isNarrowFloat(Type type) {
  Type element = getElementType(type);
  return element.isF16() || element.isBF16();
}

/// The tensor of 16-bit floats that `value` is a conversion of, perhaps in
/// another shape; null where it is none.
Value getNarrowSource(Value value) {
  if (auto reshape = value.getDefiningOp<ReshapeOp>()) {
    Value source = getNarrowSource(reshape.getOperand());
    if (!source)
      return {};
    OpBuilder builder(reshape);
    return ReshapeOp::create(
        builder, reshape.getLoc(),
        tensorType(value).clone(tensorType(source).getElementType()), source);
  }
  auto cast = value.getDefiningOp<CastOp>();
  return cast && isNarrowFloat(cast.getOperand().getType()) ? cast.getOperand()
                                                            : Value();
}

struct GeneralizePass
    : public GraphPass<GeneralizePass,
                       tdsl::impl::GeneralizePassBase<GeneralizePass>> {
  using GraphPass::GraphPass;

  void runOnBlock(Block &block) {
    sinkScalars(block);
    for (auto contract :
         llvm::make_early_inc_range(block.getOps<ContractOp>())) {
      OpBuilder builder(contract);
      if (ReshapeOp squeezed = dropUnitAxes(builder, contract)) {
        contract.replaceAllUsesWith(squeezed.getResult());
        contract.erase();
      }
    }
    if (steps)
      takeApart(block);
    else
      absorbCasts(block);
    for (Operation &op : llvm::make_early_inc_range(block))
      rewrite(&op);
    for (auto constant : llvm::make_early_inc_range(block.getOps<ConstantOp>()))
      rewriteConstant(constant);
    for (auto generic : llvm::make_early_inc_range(block.getOps<GenericOp>())) {
      OpBuilder builder(generic);
      if (Value squeezed = dropUnitAxes(builder, generic)) {
        generic.replaceAllUsesWith(squeezed);
        generic.erase();
      }
    }
    for (auto generic : block.getOps<GenericOp>())
      dropUnitAxes(generic);
    mergeEqualOps(block);
  }

  /// Attention reads and writes 16-bit floats as it does others: conversions
  /// of its operands and results go.
  static void absorbCasts(Block &block) {
    SmallVector<Operation *> attentions;
    for (Operation &op : block)
      if (isa<AttentionOp, AttentionGradOp>(op))
        attentions.push_back(&op);
    for (Operation *op : attentions) {
      bool isForward = isa<AttentionOp>(op);
      for (OpOperand &operand : op->getOpOperands()) {
        // Of a derivative operands 4 and 5 are what is known of the rows.
        unsigned number = operand.getOperandNumber();
        if (!isForward && (number == 4 || number == 5))
          continue;
        if (Value narrow = getNarrowSource(operand.get()))
          operand.set(narrow);
      }
      for (Value result :
           op->getResults().take_front(isForward ? 1 : op->getNumResults())) {
        auto cast = result.hasOneUse() ? dyn_cast<CastOp>(*result.user_begin())
                                       : CastOp();
        if (!cast || !isNarrowFloat(cast.getType()) ||
            isNarrowFloat(result.getType()))
          continue;
        auto type = llvm::cast<RankedTensorType>(cast.getType());
        cast.replaceAllUsesWith(result);
        cast.erase();
        result.setType(type);
      }
    }
  }

  static void takeApart(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      OpBuilder builder(&op);
      SmallVector<Value> results;
      if (auto attention = dyn_cast<AttentionOp>(op))
        results = decompose(builder, attention);
      else if (auto grad = dyn_cast<AttentionGradOp>(op))
        results = decompose(builder, grad);
      else
        continue;
      op.replaceAllUsesWith(results);
      op.erase();
    }
  }

  void rewrite(Operation *op) {
    OpBuilder builder(op);
    Value result;
    if (auto stop = dyn_cast<StopGradientOp>(op)) {
      stop.replaceAllUsesWith(stop.getOperand());
      stop.erase();
      return;
    }
    if (op->hasTrait<ElementwiseOp>())
      result = generalizeElementwise(builder, op);
    else if (auto broadcast = dyn_cast<BroadcastOp>(op))
      result = generalizeBroadcast(builder, broadcast);
    else if (auto transpose = dyn_cast<TransposeOp>(op))
      result = generalizeTranspose(builder, transpose);
    else if (auto reduce = dyn_cast<ReduceOp>(op))
      result = generalizeReduce(builder, reduce);
    else if (auto contract = dyn_cast<ContractOp>(op))
      result = isTrueContraction(contract)
                   ? Value()
                   : generalizeContract(builder, contract);
    else if (auto scatter = dyn_cast<ScatterOp>(op)) {
      result = generalizeScatter(builder, scatter);
      numScatters += result ? 1 : 0;
    } else if (isa<GenericOp, AttentionOp, AttentionGradOp>(op)) {
      removeStops(op);
      return;
    }
    if (!result)
      return;
    ++numGenerics;
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }

  /// Drops `tds.stop_gradient` in a body: derivatives have been taken.
  void removeStops(Operation *op) {
    for (Region &region : op->getRegions())
      for (auto stop : llvm::make_early_inc_range(
               region.front().getOps<StopGradientOp>())) {
        stop.replaceAllUsesWith(stop.getOperand());
        stop.erase();
      }
  }

  /// Reads of a splat become scalars; other users get a tensor that is
  /// computed, except a return, which is filled or copied.
  void rewriteConstant(ConstantOp constant) {
    TypedAttr scalar = getSplat(constant.getResult());
    if (!scalar)
      return;
    Value computed;
    for (OpOperand &use : llvm::make_early_inc_range(constant->getUses())) {
      Operation *user = use.getOwner();
      if (auto read = dyn_cast<ReadOp>(user)) {
        if (read.getGuard() && read.getGuard() != scalar)
          continue;
        OpBuilder builder(read);
        read.replaceAllUsesWith(
            ConstantOp::create(builder, read.getLoc(), scalar).getResult());
        read.erase();
      } else if (isa<ContractOp>(user)) {
        if (!computed) {
          OpBuilder builder(constant);
          builder.setInsertionPointAfter(constant);
          computed = GenericOp::create(
              builder, constant.getLoc(), tensorType(constant.getResult()), {},
              std::nullopt,
              [&](OpBuilder &b, Location loc, ValueRange) -> Value {
                return ConstantOp::create(b, loc, scalar);
              });
        }
        use.set(computed);
      }
    }
    if (constant.use_empty())
      constant.erase();
  }
};

} // namespace
