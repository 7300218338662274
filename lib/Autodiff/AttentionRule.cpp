//===- AttentionRule.cpp - derivative of tds.attention -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The adjoint of the result gives a tds.attention_grad, which computes the
// weights again from what the forward pass knows of each row. Where more is
// asked, such as the derivative by a tensor that the scores read, or one of a
// derivative, the operation is taken apart and its steps are differentiated.
//
//===----------------------------------------------------------------------===//

#include "GenericRule.h"
#include "Reverse.h"
#include "Rules.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;
using namespace tdsl::autodiff;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Step by step
//===----------------------------------------------------------------------===//

template <typename Op>
static LogicalResult
differentiateSteps(Op op, OpBuilder &builder, ArrayRef<Value> ofResults,
                   ArrayRef<bool> needed, SmallVectorImpl<Value> &adjoints) {
  Operation *before = builder.getInsertionPoint() == builder.getBlock()->begin()
                          ? nullptr
                          : &*std::prev(builder.getInsertionPoint());
  SmallVector<Value> results = decompose(builder, op);
  SmallVector<Operation *> steps;
  for (auto it = before ? std::next(before->getIterator())
                        : builder.getBlock()->begin();
       it != builder.getInsertionPoint(); ++it)
    steps.push_back(&*it);
  SmallVector<Value> inputs = getDifferentiationInputs(op), sources;
  for (auto [input, isNeeded] : llvm::zip_equal(inputs, needed))
    if (isNeeded)
      sources.push_back(input);
  llvm::DenseSet<Value> varying = findVarying(steps, sources);
  AdjointMap map;
  for (auto [result, adjoint] : llvm::zip_equal(results, ofResults))
    map.add(result, adjoint);
  if (failed(reverseSweep(builder, steps, varying, map)))
    return failure();
  adjoints.assign(inputs.size(), Value());
  llvm::DenseSet<Value> given;
  // An operand that stands twice has one adjoint, which counts once.
  for (auto [i, input] : llvm::enumerate(inputs))
    if (needed[i] && given.insert(input).second)
      adjoints[i] = map.get(builder, op.getLoc(), input);
  return success();
}

//===----------------------------------------------------------------------===//
// In one operation
//===----------------------------------------------------------------------===//

/// Puts the derivative of the body of `op` into `region`: the adjoint of the
/// score of a query and a key from that of what the body yields. It is that of
/// an index definition with this body, which reads the score from a tensor.
static LogicalResult buildSlope(AttentionOp op, Region &region) {
  MLIRContext *context = op.getContext();
  Location loc = op.getLoc();
  SmallVector<int64_t> extents(op.getBatch());
  extents.append({op.getNumQueries(), op.getNumKeys()});
  auto type = RankedTensorType::get(extents, op.getComputeType());
  OpBuilder builder(context);
  OwningOpRef<func::FuncOp> holder = func::FuncOp::create(
      builder, loc, "slope", builder.getFunctionType({type, type}, {}));
  Block *block = holder->addEntryBlock();
  Value scores = block->getArgument(0), adjoint = block->getArgument(1);
  builder.setInsertionPointToStart(block);
  Block &body = op.getScore().front();
  auto generic = GenericOp::create(
      builder, loc, type, {}, std::nullopt,
      [&](OpBuilder &b, Location, ValueRange indices) -> Value {
        IRMapping mapping;
        mapping.map(body.getArguments().drop_back(), indices);
        mapping.map(body.getArguments().back(),
                    ReadOp::create(b, loc, scores, indices).getResult());
        for (Operation &inner : body.without_terminator())
          b.clone(inner, mapping);
        return mapping.lookupOrDefault(body.getTerminator()->getOperand(0));
      });
  AdjointBuilder emit(builder, loc);
  SmallVector<Value> adjoints;
  if (failed(buildGenericAdjoints(emit, generic, generic.getResult(), adjoint,
                                  {scores}, {true}, adjoints)))
    return failure();

  Block *slope = new Block;
  region.push_back(slope);
  for (Type argument : body.getArgumentTypes())
    slope->addArgument(argument, loc);
  Value g = slope->addArgument(op.getComputeType(), loc);
  Value s = slope->getArgument(slope->getNumArguments() - 2);
  ValueRange indices = slope->getArguments().drop_back(2);
  builder.setInsertionPointToEnd(slope);
  Value result;
  auto given = adjoints.front() ? adjoints.front().getDefiningOp<GenericOp>()
                                : GenericOp();
  if (!adjoints.front()) {
    result = emit.constant(op.getComputeType(), 0);
  } else if (adjoints.front() == adjoint) {
    result = g;
  } else if (given && !given.hasReduction()) {
    IRMapping mapping;
    mapping.map(given.getIndices(), indices);
    for (Operation &inner : given.getBlock()->without_terminator()) {
      auto read = dyn_cast<ReadOp>(inner);
      bool isPlaceholder =
          read && (read.getTensor() == scores || read.getTensor() == adjoint);
      if (!isPlaceholder) {
        builder.clone(inner, mapping);
        continue;
      }
      // The body reads both where it is.
      if (!llvm::equal(read.getIndices(), given.getIndices()))
        return failure();
      mapping.map(read.getResult(), read.getTensor() == scores ? s : g);
    }
    result = mapping.lookupOrDefault(given.getYielded());
  } else {
    return failure();
  }
  YieldOp::create(builder, loc, result);
  return success();
}

/// Whether the three parts have nothing in common and are the whole of a tensor
/// of `type`.
static bool isPartition(RankedTensorType type, ArrayRef<AffineMap> maps,
                        ArrayRef<int64_t> sizes) {
  int64_t size = 0;
  for (auto [i, map] : llvm::enumerate(maps)) {
    if (!isPlacement(map))
      return false;
    size += sizes[i];
    for (AffineMap other : maps.take_front(i)) {
      auto differ = [](auto pair) {
        auto [x, y] = pair;
        return isa<AffineConstantExpr>(x) && isa<AffineConstantExpr>(y) &&
               x != y;
      };
      if (!llvm::any_of(llvm::zip(map.getResults(), other.getResults()),
                        differ))
        return false;
    }
  }
  return size == type.getNumElements();
}

static LogicalResult buildGrad(AttentionOp op, AdjointBuilder &emit,
                               Value adjoint, ArrayRef<bool> needed,
                               SmallVectorImpl<Value> &adjoints) {
  OpBuilder &builder = emit.builder;
  Region slope;
  if (failed(buildSlope(op, slope)))
    return failure();
  int64_t batch = 1;
  for (int64_t extent : op.getBatch())
    batch *= extent;
  SmallVector<Value> operands{op.getQuery(), op.getKey(), op.getValue()};
  SmallVector<AffineMap> maps{op.getQueryMap(), op.getKeyMap(),
                              op.getValueMap()};
  SmallVector<int64_t> rows{op.getNumQueries(), op.getNumKeys(),
                            op.getNumKeys()},
      columns{op.getDepth(), op.getDepth(), op.getWidth()}, sizes;
  for (auto [row, column] : llvm::zip_equal(rows, columns))
    sizes.push_back(batch * row * column);
  bool isWhole = llvm::all_equal(operands) &&
                 isPartition(tensorType(operands[0]), maps, sizes);
  SmallVector<AffineMap> gradMaps;
  SmallVector<Type> types;
  SmallVector<bool> isDirect;
  for (unsigned i = 0; i < 3; ++i) {
    auto type = tensorType(operands[i]);
    bool covers = isPlacement(maps[i]) && type.getNumElements() == sizes[i];
    isDirect.push_back(isWhole || covers);
    if (!isDirect.back()) {
      SmallVector<int64_t> shape(op.getBatch());
      shape.append({rows[i], columns[i]});
      type = RankedTensorType::get(shape, type.getElementType());
    }
    gradMaps.push_back(isDirect.back()
                           ? maps[i]
                           : AffineMap::getMultiDimIdentityMap(
                                 op.getNumBatch() + 2, builder.getContext()));
    if (!isWhole || i == 0)
      types.push_back(type);
  }
  auto grad = AttentionGradOp::create(
      builder, op.getLoc(), types, op.getQuery(), op.getKey(), op.getValue(),
      op.getResult(), op.getMost(), op.getTotal(), adjoint, op.getExtentsAttr(),
      op.getQueryMapAttr(), op.getKeyMapAttr(), op.getValueMapAttr(),
      op.getResultMapAttr(), op.getNarrowWeightsAttr(),
      op.getNarrowFactorsAttr(), builder.getAffineMapArrayAttr(gradMaps));
  IRMapping mapping;
  op.getScore().cloneInto(&grad.getScore(), mapping);
  grad.getSlope().takeBody(slope);
  for (unsigned i = 0; i < 3; ++i) {
    if (!needed[i] || (isWhole && i > 0))
      continue;
    if (isDirect[i]) {
      adjoints[i] = grad.getGradient(i);
      continue;
    }
    // The part of the operand that was read, as an index definition, knows how
    // its adjoint becomes that of the operand.
    auto part = GenericOp::create(
        builder, op.getLoc(), cast<RankedTensorType>(types[i]), {},
        std::nullopt,
        [&](OpBuilder &b, Location loc, ValueRange indices) -> Value {
          SmallVector<Value> at;
          for (AffineExpr expr : maps[i].getResults())
            at.push_back(b.createOrFold<ApplyOp>(
                loc, b.getIndexType(),
                AffineMapAttr::get(AffineMap::get(indices.size(), 0, expr)),
                indices));
          return ReadOp::create(b, loc, operands[i], at);
        });
    SmallVector<Value> given;
    if (failed(buildGenericAdjoints(emit, part, part.getResult(),
                                    grad.getGradient(i), {operands[i]}, {true},
                                    given)))
      return failure();
    part.erase();
    adjoints[i] = given.front();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

namespace {
struct AttentionModel
    : DifferentiableOpInterface::ExternalModel<AttentionModel, AttentionOp> {
  LogicalResult buildAdjoints(Operation *operation, OpBuilder &builder,
                              ArrayRef<Value> ofResults, ArrayRef<bool> needed,
                              SmallVectorImpl<Value> &adjoints) const {
    auto op = cast<AttentionOp>(operation);
    bool byBody = llvm::is_contained(needed.drop_front(3), true);
    if (byBody || !ofResults[0] || ofResults[1] || ofResults[2])
      return differentiateSteps(op, builder, ofResults, needed, adjoints);
    adjoints.assign(needed.size(), Value());
    AdjointBuilder emit(builder, op.getLoc());
    if (failed(buildGrad(op, emit, ofResults[0], needed, adjoints)))
      return op.emitError("no derivative for this attention");
    return success();
  }
};

struct AttentionGradModel
    : DifferentiableOpInterface::ExternalModel<AttentionGradModel,
                                               AttentionGradOp> {
  LogicalResult buildAdjoints(Operation *operation, OpBuilder &builder,
                              ArrayRef<Value> ofResults, ArrayRef<bool> needed,
                              SmallVectorImpl<Value> &adjoints) const {
    return differentiateSteps(cast<AttentionGradOp>(operation), builder,
                              ofResults, needed, adjoints);
  }
};
} // namespace

void autodiff::attachAttentionRules(MLIRContext *context) {
  AttentionOp::attachInterface<AttentionModel>(*context);
  AttentionGradOp::attachInterface<AttentionGradModel>(*context);
}
