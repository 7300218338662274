//===- BodyAdjoint.cpp - adjoints of what a body reads -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BodyAdjoint.h"

#include "ReadInversion.h"
#include "Reverse.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;
using namespace tdsl::autodiff;

//===----------------------------------------------------------------------===//
// Evaluating a body elsewhere
//===----------------------------------------------------------------------===//

BodyClone::BodyClone(OpBuilder &builder, Block *body,
                     ArrayRef<Value> newIndices, ArrayRef<bool> newMayLeave)
    : indices(newIndices), mayLeave(newMayLeave) {
  // Values that depend on an index outside of its extent: reads at them need a
  // guard to be safe. Where the conditions fail the value is thrown away.
  llvm::SmallDenseSet<Value, 8> isLoose;
  for (auto [old, index, leaves] :
       llvm::zip(body->getArguments(), indices, mayLeave)) {
    map.map(old, index);
    if (leaves)
      isLoose.insert(old);
  }
  for (Operation &op : body->without_terminator()) {
    Operation *clone = builder.clone(op, map);
    operations.push_back(clone);
    bool loose = llvm::any_of(op.getOperands(), [&](Value operand) {
      return isLoose.contains(operand);
    });
    if (!loose)
      continue;
    auto read = dyn_cast<ReadOp>(clone);
    if (!read) {
      for (Value result : op.getResults())
        isLoose.insert(result);
      continue;
    }
    if (!isa<FloatType>(read.getType()))
      isLoose.insert(op.getResult(0));
    if (!read.getGuardAttr() && !read.getClamped())
      read.setGuardAttr(cast<TypedAttr>(builder.getZeroAttr(read.getType())));
  }
}

Value BodyClone::read(AdjointBuilder &emit, Value tensor,
                      ArrayRef<unsigned> positions) {
  SmallVector<Value> at;
  bool guarded = false;
  for (unsigned position : positions) {
    at.push_back(indices[position]);
    guarded |= mayLeave[position];
  }
  return readElement(emit, tensor, at, guarded);
}

Value autodiff::readElement(AdjointBuilder &emit, Value tensor,
                            ArrayRef<Value> indices, bool guarded) {
  if (std::optional<double> splat = getSplat(tensor))
    return emit.constant(getElementType(tensor.getType()), *splat);
  if (auto broadcast = tensor.getDefiningOp<BroadcastOp>()) {
    SmallVector<Value> inner;
    auto from = cast<RankedTensorType>(broadcast.getOperand().getType());
    auto to = cast<RankedTensorType>(broadcast.getType());
    for (auto [i, axis] : llvm::enumerate(broadcast.getAxes())) {
      bool isStretched = from.getDimSize(i) != to.getDimSize(axis);
      inner.push_back(isStretched
                          ? emit.constant(emit.builder.getIndexType(), 0)
                          : indices[axis]);
    }
    return readElement(emit, broadcast.getOperand(), inner, guarded);
  }
  auto read =
      ReadOp::create(emit.builder, emit.loc, tensor, ValueRange(indices));
  if (guarded)
    read.setGuardAttr(
        cast<TypedAttr>(emit.builder.getZeroAttr(read.getType())));
  return read;
}

Value autodiff::cloneBody(OpBuilder &builder, Block *body,
                          ArrayRef<Value> indices, Value yielded) {
  SmallVector<bool> mayLeave(indices.size(), false);
  return BodyClone(builder, body, indices, mayLeave).lookup(yielded);
}

void autodiff::eraseDead(Block *block) {
  SmallVector<Operation *> operations;
  for (Operation &op : block->without_terminator())
    operations.push_back(&op);
  for (Operation *op : llvm::reverse(operations))
    if (isOpTriviallyDead(op))
      op->erase();
}

//===----------------------------------------------------------------------===//
// Groups of reads
//===----------------------------------------------------------------------===//

namespace {
/// Reads of one tensor at the same indices.
struct ReadGroup {
  SmallVector<ReadOp> reads;
  /// The indices over the iteration space; null where one is computed.
  SmallVector<AffineExpr> affine;
  bool isAffine = true;
  bool isClamped = false;
};
} // namespace

static SmallVector<ReadGroup> groupReads(const BodyProblem &problem,
                                         Value tensor) {
  SmallVector<ReadGroup> groups;
  for (Operation &op : problem.body->without_terminator()) {
    auto read = dyn_cast<ReadOp>(op);
    if (!read || read.getTensor() != tensor)
      continue;
    ReadGroup group;
    group.reads.push_back(read);
    bool isInside = true;
    for (auto [index, extent] :
         llvm::zip(read.getIndices(), read.getTensorType().getShape())) {
      std::optional<AffineExpr> expr =
          getAffineIndex(index, problem.body->getArguments());
      group.isAffine &= expr.has_value();
      if (!expr) {
        group.affine.push_back(AffineExpr());
        continue;
      }
      group.affine.push_back(
          simplifyAffineExpr(*expr, problem.extents.size(), 0));
      auto bounds = getBounds(group.affine.back(), problem.extents);
      isInside &= bounds && bounds->first >= 0 && bounds->second < extent;
    }
    // A clamped read that never leaves the tensor is an ordinary one.
    group.isClamped = read.getClamped() && !(group.isAffine && isInside);
    auto same = llvm::find_if(groups, [&](const ReadGroup &other) {
      if (other.isAffine != group.isAffine ||
          other.isClamped != group.isClamped)
        return false;
      ReadOp first = other.reads.front();
      return group.isAffine ? other.affine == group.affine
                            : first.getIndices() == read.getIndices();
    });
    if (same != groups.end())
      same->reads.push_back(read);
    else
      groups.push_back(std::move(group));
  }
  return groups;
}

/// The adjoint of the reads of a group at the place of `clone`; null where it
/// is zero.
static FailureOr<Value> buildReadAdjoint(AdjointBuilder &emit,
                                         const BodyProblem &problem,
                                         const ReadGroup &group,
                                         BodyClone &clone) {
  Value seed = problem.seed(emit, clone);
  if (!seed)
    return Value();
  SmallVector<Value> sources;
  for (ReadOp read : group.reads)
    sources.push_back(clone.lookup(read.getResult()));
  Value result = clone.lookup(problem.yielded);
  AdjointMap adjoints;
  adjoints.add(result, seed);
  llvm::DenseSet<Value> varying = findVarying(clone.getOperations(), sources);
  auto plainProduct = [&](Operation *op, Value adjoint) {
    auto product = dyn_cast<MulOp>(op);
    if (!problem.isContraction || !product || product.getResult() != result ||
        product.getLhs() == product.getRhs() || product->hasAttr(kRuleScale))
      return false;
    for (auto [factor, other] : {std::pair(product.getLhs(), product.getRhs()),
                                 std::pair(product.getRhs(), product.getLhs())})
      if (varying.contains(factor))
        adjoints.add(factor, emit.mul(adjoint, other));
    return true;
  };
  if (failed(reverseSweep(emit.builder, clone.getOperations(), varying,
                          adjoints, plainProduct)))
    return failure();
  SmallVector<Value> parts;
  for (Value source : sources)
    parts.push_back(adjoints.get(emit.builder, emit.loc, source));
  return emit.sum(parts);
}

static bool groupReachesYield(const BodyProblem &problem,
                              const ReadGroup &group) {
  SmallVector<Operation *> ops;
  for (Operation &op : problem.body->without_terminator())
    ops.push_back(&op);
  SmallVector<Value> sources;
  for (ReadOp read : group.reads)
    sources.push_back(read.getResult());
  return findVarying(ops, sources).contains(problem.yielded);
}

//===----------------------------------------------------------------------===//
// Gathered form
//===----------------------------------------------------------------------===//

/// `expr` over `indices`, with only the indices that it uses.
static Value buildIndex(AdjointBuilder &emit, AffineExpr expr,
                        ValueRange indices) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return indices[dim.getPosition()];
  Type type = emit.builder.getIndexType();
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return emit.constant(type, constant.getValue());
  SmallVector<Value> used;
  SmallVector<AffineExpr> renamed;
  for (auto [position, index] : llvm::enumerate(indices)) {
    bool isUsed = expr.isFunctionOfDim(position);
    renamed.push_back(isUsed ? getAffineDimExpr(used.size(), expr.getContext())
                             : getAffineConstantExpr(0, expr.getContext()));
    if (isUsed)
      used.push_back(index);
  }
  auto map = AffineMap::get(used.size(), 0, expr.replaceDims(renamed));
  return ApplyOp::create(emit.builder, emit.loc, type, AffineMapAttr::get(map),
                         used);
}

static Value buildCondition(AdjointBuilder &emit,
                            ArrayRef<ReadCondition> conditions,
                            ValueRange indices) {
  Value all;
  for (const ReadCondition &condition : conditions) {
    Value value = buildIndex(emit, condition.expr, indices);
    auto predicate = condition.kind == ReadCondition::Zero
                         ? ComparePredicate::EQ
                         : ComparePredicate::GE;
    all = emit.both(all, emit.compare(predicate, value, 0));
  }
  return all;
}

/// Builds the body of a new operation; takes away what nobody uses and, where
/// the adjoint is zero, the operation itself.
static FailureOr<Value> finish(Operation *op, Block *block,
                               FailureOr<Value> adjoint) {
  if (failed(adjoint))
    return failure();
  if (!*adjoint) {
    op->erase();
    return Value();
  }
  eraseDead(block);
  return op->getResult(0);
}

/// A generic that only repeats a tensor along new axes, or gives one number
/// everywhere, as a broadcast or a constant.
static Value simplifyCopy(AdjointBuilder &emit, GenericOp generic) {
  if (generic.hasReduction())
    return generic;
  auto type = generic.getType();
  Value replacement;
  if (std::optional<double> splat = getSplat(generic.getYielded())) {
    replacement = emit.constant(type, *splat);
  } else if (auto read = generic.getYielded().getDefiningOp<ReadOp>()) {
    SmallVector<int64_t> axes;
    for (auto [index, extent] :
         llvm::zip(read.getIndices(), read.getTensorType().getShape())) {
      auto argument = dyn_cast<BlockArgument>(index);
      if (!argument || argument.getOwner() != generic.getBlock() ||
          type.getDimSize(argument.getArgNumber()) != extent ||
          (!axes.empty() && axes.back() >= argument.getArgNumber()))
        return generic;
      axes.push_back(argument.getArgNumber());
    }
    replacement = emit.broadcast(read.getTensor(), type, axes);
  }
  if (!replacement)
    return generic;
  generic.erase();
  return replacement;
}

static FailureOr<Value> gatherAdjoint(AdjointBuilder &outer,
                                      const BodyProblem &problem,
                                      const ReadGroup &group,
                                      RankedTensorType type,
                                      const ReadInversion &inversion) {
  FailureOr<Value> adjoint = Value();
  auto kind = inversion.freeExtents.empty() ? std::nullopt
                                            : std::optional(ReductionKind::Sum);
  auto body = [&](OpBuilder &builder, Location loc,
                  ValueRange indices) -> Value {
    AdjointBuilder emit(builder, loc);
    SmallVector<Value> old;
    for (AffineExpr expr : inversion.indexExprs)
      old.push_back(buildIndex(emit, expr, indices));
    BodyClone clone(builder, problem.body, old, inversion.mayLeave);
    adjoint = buildReadAdjoint(emit, problem, group, clone);
    if (failed(adjoint) || !*adjoint)
      return emit.constant(type.getElementType(), 0);
    // A range that fails because a parallel index has left its extent needs no
    // guard where the seed is 0 there: every rule maps 0 to 0.
    bool rangesImplied = problem.seedVanishesOutside;
    for (unsigned i = 0; i < problem.extents.size(); ++i)
      rangesImplied &= !inversion.mayLeave[i] || i < problem.numParallel;
    SmallVector<ReadCondition> conditions(inversion.equations);
    if (!rangesImplied)
      llvm::append_range(conditions, inversion.ranges);
    Value condition = buildCondition(emit, conditions, indices);
    // A computed index is compared with the place.
    ReadOp first = group.reads.front();
    for (auto [axis, expr] : llvm::enumerate(group.affine))
      if (!expr)
        condition = emit.both(
            condition, emit.compare(ComparePredicate::EQ,
                                    clone.lookup(first.getIndices()[axis]),
                                    indices[axis]));
    if (condition)
      adjoint = emit.select(condition, *adjoint, Value());
    return *adjoint;
  };
  auto generic = GenericOp::create(outer.builder, outer.loc, type,
                                   inversion.freeExtents, kind, body);
  FailureOr<Value> result = finish(generic, generic.getBlock(), adjoint);
  if (succeeded(result) && *result)
    result = simplifyCopy(outer, generic);
  return result;
}

//===----------------------------------------------------------------------===//
// Scattered form
//===----------------------------------------------------------------------===//

static FailureOr<Value> scatterAdjoint(AdjointBuilder &outer,
                                       const BodyProblem &problem,
                                       const ReadGroup &group,
                                       RankedTensorType type) {
  // Narrow floats are added up in their accumulator's type.
  auto wide = cast<RankedTensorType>(
      withElementType(type, getAccumulatorType(type.getElementType())));
  FailureOr<Value> adjoint = Value();
  auto body = [&](OpBuilder &builder, Location loc,
                  ValueRange indices) -> std::pair<Value, SmallVector<Value>> {
    AdjointBuilder emit(builder, loc);
    SmallVector<bool> mayLeave(indices.size(), false);
    BodyClone clone(builder, problem.body, SmallVector<Value>(indices),
                    mayLeave);
    adjoint = buildReadAdjoint(emit, problem, group, clone);
    Value value = failed(adjoint) || !*adjoint
                      ? emit.constant(wide.getElementType(), 0)
                      : emit.cast(*adjoint, wide.getElementType());
    SmallVector<Value> places;
    ReadOp read = group.reads.front();
    for (auto [index, extent] : llvm::zip(read.getIndices(), type.getShape())) {
      Value place = clone.lookup(index);
      if (group.isClamped) {
        Type i64 = builder.getI64Type();
        Value number = CastOp::create(builder, loc, i64, place);
        number =
            ClampOp::create(builder, loc, i64, number, emit.constant(i64, 0),
                            emit.constant(i64, extent - 1));
        place = CastOp::create(builder, loc, builder.getIndexType(), number);
      }
      places.push_back(place);
    }
    return {value, places};
  };
  auto scatter =
      ScatterOp::create(outer.builder, outer.loc, wide, problem.extents, body);
  FailureOr<Value> result = finish(scatter, scatter.getBlock(), adjoint);
  if (succeeded(result) && *result)
    result = outer.cast(*result, type.getElementType());
  return result;
}

//===----------------------------------------------------------------------===//
// All inputs
//===----------------------------------------------------------------------===//

LogicalResult autodiff::buildBodyAdjoints(AdjointBuilder &emit,
                                          const BodyProblem &problem,
                                          ArrayRef<Value> inputs,
                                          ArrayRef<bool> needed,
                                          SmallVectorImpl<Value> &adjoints) {
  adjoints.assign(inputs.size(), Value());
  for (auto [input, isNeeded, adjoint] : llvm::zip(inputs, needed, adjoints)) {
    if (!isNeeded)
      continue;
    auto type = cast<RankedTensorType>(input.getType());
    SmallVector<Value> parts;
    for (const ReadGroup &group : groupReads(problem, input)) {
      if (!groupReachesYield(problem, group))
        continue;
      ReadInversion inversion =
          invertRead(group.affine, type.getShape(), problem.extents,
                     problem.numParallel, emit.builder.getContext());
      // A gather is turned round too where its other axes determine the whole
      // iteration, as in x[i, label[i]]: then each element is looked at once.
      bool isDetermined =
          llvm::all_of(inversion.freeExtents, [](int64_t n) { return n == 1; });
      bool canGather = !group.isClamped && (group.isAffine || isDetermined);
      FailureOr<Value> part =
          canGather ? gatherAdjoint(emit, problem, group, type, inversion)
                    : scatterAdjoint(emit, problem, group, type);
      if (failed(part))
        return failure();
      parts.push_back(*part);
    }
    adjoint = emit.sum(parts);
  }
  return success();
}
