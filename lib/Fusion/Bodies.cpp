//===- Bodies.cpp - reading and rewriting the bodies of index definitions -*-
// C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Fusion/Bodies.h"

#include "tdsl/Dialect/TDS/Stages.h"

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

SmallVector<Block *> tdsl::getGraphBlocks(func::FuncOp function) {
  SmallVector<Block *> blocks;
  function.walk([&](FoldOp fold) { blocks.push_back(fold.getBlock()); });
  blocks.push_back(&function.getBody().front());
  return blocks;
}

LogicalResult tdsl::rewriteGraph(func::FuncOp function,
                                 function_ref<LogicalResult(Block &)> rewrite) {
  if (function.isExternal())
    return success();
  if (failed(checkIsExpanded(function)))
    return failure();
  for (Block *block : getGraphBlocks(function))
    if (failed(rewrite(*block)))
      return failure();
  return success();
}

bool tdsl::isElementGeneric(Operation *op) {
  auto generic = dyn_cast_or_null<GenericOp>(op);
  return generic && !generic.hasReduction();
}

SmallVector<ReadOp> tdsl::getReads(Operation *op) {
  return llvm::to_vector(op->getRegion(0).front().getOps<ReadOp>());
}

ValueRange tdsl::getLoopIndices(Operation *op) {
  return op->getRegion(0).front().getArguments();
}

int64_t tdsl::getNumPoints(Operation *op) {
  auto multiply = [](ArrayRef<int64_t> extents) {
    int64_t points = 1;
    for (int64_t extent : extents)
      points *= extent;
    return points;
  };
  return TypeSwitch<Operation *, int64_t>(op)
      .Case([&](ScatterOp scatter) { return multiply(scatter.getExtents()); })
      .Case<AttentionOp, AttentionGradOp>([&](auto attention) {
        return multiply(attention.getBatch()) * attention.getNumQueries() *
               attention.getNumKeys();
      })
      .Case([](GenericOp generic) {
        return generic.getType().getNumElements() * generic.getReductionSize();
      });
}

bool tdsl::readsAt(ReadOp read, ValueRange indices) {
  return !read.getGuard() && llvm::equal(read.getIndices(), indices);
}

/// How many bits a body that is one cast of one read adds to floats.
static int getAddedBits(Operation *op) {
  if (!isElementGeneric(op))
    return 0;
  auto cast = llvm::cast<GenericOp>(op).getYielded().getDefiningOp<CastOp>();
  if (!cast || !cast.getOperand().getDefiningOp<ReadOp>())
    return 0;
  auto from = dyn_cast<FloatType>(cast.getOperand().getType()),
       to = dyn_cast<FloatType>(cast.getType());
  return from && to ? int(to.getWidth()) - int(from.getWidth()) : 0;
}

bool tdsl::onlyWidens(Operation *op) { return getAddedBits(op) > 0; }

bool tdsl::yieldsRounded(Operation *op) {
  if (!isElementGeneric(op))
    return false;
  auto cast = llvm::cast<GenericOp>(op).getYielded().getDefiningOp<CastOp>();
  if (!cast)
    return false;
  auto from = dyn_cast<FloatType>(cast.getOperand().getType()),
       to = dyn_cast<FloatType>(cast.getType());
  return from && to && to.getWidth() < from.getWidth();
}

bool tdsl::onlyRounds(Operation *op) {
  if (getAddedBits(op) >= 0)
    return false;
  ReadOp read = getReads(op).front();
  return readsAt(read, getLoopIndices(op)) && read.getTensor().getDefiningOp();
}

int64_t tdsl::getCost(Operation *op) {
  return TypeSwitch<Operation *, int64_t>(op)
      .Case<ConstantOp, ApplyOp, YieldOp, ScatterYieldOp, StopGradientOp>(
          [](auto) { return 0; })
      .Case([](ReadOp read) {
        // A gather waits for its index; the guard's compare is free beside it.
        for (Value index : read.getIndices())
          if (!getAffineIndex(index, read->getBlock()->getArguments()))
            return 4;
        return 0;
      })
      .Case<DivOp, SqrtOp, FloorDivOp, ModOp>([](auto) { return 4; })
      .Case<RsqrtOp>([](auto) { return 6; })
      .Case<ExpOp, Expm1Op, LogOp, Log1pOp, TanhOp, SigmoidOp, ErfOp, SinOp,
            CosOp>([](auto) { return 12; })
      .Case<PowOp>([](auto) { return 30; })
      .Case<RandomOp>([](auto) { return 40; })
      .Default([](Operation *) { return 1; });
}

int64_t tdsl::getBodyCost(Operation *op) {
  int64_t cost = 0;
  for (Operation &inner : op->getRegion(0).front())
    cost += getCost(&inner);
  return cost;
}

Value tdsl::createIndex(OpBuilder &builder, Location loc, AffineMap map,
                        ValueRange operands) {
  // Every operand becomes an expression of values that are neither applies nor
  // constants.
  SmallVector<Value> dims;
  MLIRContext *context = builder.getContext();
  auto expand = [&](auto &self, Value value) -> AffineExpr {
    if (auto constant = value.getDefiningOp<ConstantOp>())
      return getAffineConstantExpr(
          cast<IntegerAttr>(constant.getValue()).getInt(), context);
    if (auto apply = value.getDefiningOp<ApplyOp>()) {
      SmallVector<AffineExpr> inner;
      for (Value operand : apply.getOperands())
        inner.push_back(self(self, operand));
      return apply.getMap().getResult(0).replaceDims(inner);
    }
    auto it = llvm::find(dims, value);
    unsigned position = it - dims.begin();
    if (it == dims.end())
      dims.push_back(value);
    return getAffineDimExpr(position, context);
  };
  SmallVector<AffineExpr> exprs;
  for (Value operand : operands)
    exprs.push_back(expand(expand, operand));
  AffineExpr expr =
      simplifyAffineExpr(map.getResult(0).replaceDims(exprs), dims.size(), 0);
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return ConstantOp::create(
        builder, loc, TypedAttr(builder.getIndexAttr(constant.getValue())));
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  // Dimensions that dropped out in simplification are no operands.
  SmallVector<Value> used;
  SmallVector<AffineExpr> renamed(dims.size());
  for (auto [position, dim] : llvm::enumerate(dims)) {
    if (!expr.isFunctionOfDim(position))
      continue;
    renamed[position] = getAffineDimExpr(used.size(), context);
    used.push_back(dim);
  }
  for (AffineExpr &slot : renamed)
    if (!slot)
      slot = getAffineConstantExpr(0, context);
  return ApplyOp::create(builder, loc, builder.getIndexType(),
                         AffineMapAttr::get(AffineMap::get(
                             used.size(), 0, expr.replaceDims(renamed))),
                         used);
}

void tdsl::cloneBody(OpBuilder &builder, Operation *op, ValueRange indices,
                     IRMapping &mapping) {
  mapping.map(getLoopIndices(op), indices);
  for (Operation &inner : op->getRegion(0).front().without_terminator()) {
    if (auto apply = dyn_cast<ApplyOp>(inner)) {
      SmallVector<Value> operands;
      for (Value operand : apply.getOperands())
        operands.push_back(mapping.lookupOrDefault(operand));
      mapping.map(apply.getResult(), createIndex(builder, apply.getLoc(),
                                                 apply.getMap(), operands));
      continue;
    }
    builder.clone(inner, mapping);
  }
}

Value tdsl::cloneBodyAt(OpBuilder &builder, GenericOp generic,
                        ValueRange indices) {
  IRMapping mapping;
  cloneBody(builder, generic, indices, mapping);
  return mapping.lookupOrDefault(generic.getYielded());
}

namespace {
struct BodyOpInfo : llvm::DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *op) {
    return OperationEquivalence::computeHash(
        const_cast<Operation *>(op), OperationEquivalence::directHashValue,
        OperationEquivalence::ignoreHashValue,
        OperationEquivalence::IgnoreLocations);
  }
  static bool isEqual(const Operation *lhs, const Operation *rhs) {
    if (lhs == rhs)
      return true;
    if (lhs == getTombstoneKey() || lhs == getEmptyKey() ||
        rhs == getTombstoneKey() || rhs == getEmptyKey())
      return false;
    return OperationEquivalence::isEquivalentTo(
        const_cast<Operation *>(lhs), const_cast<Operation *>(rhs),
        OperationEquivalence::IgnoreLocations);
  }
};
} // namespace

void tdsl::simplifyBody(Block *block) {
  DenseMap<Operation *, Operation *, BodyOpInfo> seen;
  for (Operation &op :
       llvm::make_early_inc_range(block->without_terminator())) {
    if (op.getNumRegions() != 0)
      continue;
    auto [it, isNew] = seen.try_emplace(&op, &op);
    if (isNew)
      continue;
    op.replaceAllUsesWith(it->second);
    op.erase();
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
    if (!op.hasTrait<OpTrait::IsTerminator>() && op.use_empty())
      op.erase();
}

void tdsl::sinkScalars(Block &block) {
  for (auto constant : llvm::make_early_inc_range(block.getOps<ConstantOp>())) {
    if (isa<RankedTensorType>(constant.getType()))
      continue;
    for (OpOperand &use : llvm::make_early_inc_range(constant->getUses())) {
      OpBuilder builder(use.getOwner());
      use.set(builder.clone(*constant)->getResult(0));
    }
    constant.erase();
  }
}

namespace {
/// Hashes an operation with its body: values of the body by their number in it,
/// values from outside by themselves.
struct NestOpInfo : llvm::DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *constOp) {
    auto *op = const_cast<Operation *>(constOp);
    llvm::hash_code hash = BodyOpInfo::getHashValue(op);
    if (op->getNumRegions() != 1 || !op->getRegion(0).hasOneBlock())
      return hash;
    llvm::SmallDenseMap<Value, unsigned, 16> numbers;
    Block &body = op->getRegion(0).front();
    for (BlockArgument argument : body.getArguments())
      numbers.try_emplace(argument, numbers.size());
    for (Operation &inner : body) {
      hash = llvm::hash_combine(
          hash, OperationEquivalence::computeHash(
                    &inner, OperationEquivalence::ignoreHashValue,
                    OperationEquivalence::ignoreHashValue,
                    OperationEquivalence::IgnoreLocations));
      for (Value operand : inner.getOperands()) {
        auto number = numbers.find(operand);
        hash = number == numbers.end()
                   ? llvm::hash_combine(hash, operand.getAsOpaquePointer())
                   : llvm::hash_combine(hash, number->second);
      }
      for (Value result : inner.getResults())
        numbers.try_emplace(result, numbers.size());
    }
    return hash;
  }
  static bool isEqual(const Operation *lhs, const Operation *rhs) {
    return BodyOpInfo::isEqual(lhs, rhs);
  }
};
} // namespace

void tdsl::mergeEqualOps(Block &block) {
  DenseMap<Operation *, Operation *, NestOpInfo> seen;
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    if (!isa<GenericOp, ScatterOp, ContractOp, ReshapeOp, ConstantOp>(op))
      continue;
    auto [it, isNew] = seen.try_emplace(&op, &op);
    if (isNew)
      continue;
    op.replaceAllUsesWith(it->second);
    op.erase();
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() &&
        isa<GenericOp, ScatterOp, ContractOp, ReshapeOp, ConstantOp>(op))
      op.erase();
}
