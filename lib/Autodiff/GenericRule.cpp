//===- GenericRule.cpp - derivative of tds.generic -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The adjoint g[p] of a result goes to every term t(p, r) of its reduction,
// times a factor:
//
//   none, sum   1
//   prod        the product of the other terms
//   max, min    1 / (number of terms equal to the result) for these terms, else
//   0
//
// and from the terms through the scalar body to the tensors (BodyAdjoint.h).
//
// Note: products of the others. `result / term` fails at zeros, so short
// products multiply the others out anew, which is exact, also for derivatives
// of derivatives, but takes n^2 multiplications. Beyond kShortProduct terms the
// zeros are counted instead: with none, the product of all is divided by the
// term; with one, its own factor is the product of the rest and all other
// factors are 0; with more, all are 0.
//
//===----------------------------------------------------------------------===//

#include "GenericRule.h"

#include "BodyAdjoint.h"
#include "Rules.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;
using namespace tdsl::autodiff;

/// The longest product whose factors are multiplied out anew.
static constexpr int64_t kShortProduct = 64;

namespace {
/// What the seed needs from tensors that are computed before the adjoint
/// generics.
class Seeds {
public:
  Seeds(AdjointBuilder &emit, GenericOp generic, Value result, Value adjoint)
      : generic(generic), result(result), adjoint(adjoint),
        numParallel(generic.getNumParallel()),
        numIndices(generic.getIndices().size()) {
    for (unsigned i = 0; i < numIndices; ++i)
      all.push_back(i);
    prepare(emit);
  }

  Value operator()(AdjointBuilder &emit, BodyClone &clone);

private:
  void prepare(AdjointBuilder &emit);
  /// A generic over the parallel extents that reduces `term(body value,
  /// indices)`.
  template <typename Term>
  Value reduce(AdjointBuilder &emit, ReductionKind kind, Type element,
               Term term);
  Value othersByProduct(AdjointBuilder &emit);
  /// False for a term that falls behind the result; a NaN falls behind nothing,
  /// so that the count is never 0.
  Value falls(AdjointBuilder &emit, Value term, Value best) {
    bool isMax = *generic.getKind() == ReductionKind::Max;
    return emit.compare(isMax ? ComparePredicate::LT : ComparePredicate::GT,
                        term, best);
  }
  ArrayRef<unsigned> parallel() const {
    return ArrayRef(all).take_front(numParallel);
  }

  GenericOp generic;
  Value result, adjoint;
  unsigned numParallel, numIndices;
  SmallVector<unsigned> all;
  /// max, min: adjoint / count. prod: the others of each term, or the zeros and
  /// the product of the rest.
  Value share, others, zeros, rest;
};
} // namespace

template <typename Term>
Value Seeds::reduce(AdjointBuilder &emit, ReductionKind kind, Type element,
                    Term term) {
  auto type = RankedTensorType::get(generic.getExtents(), element);
  auto body = [&](OpBuilder &builder, Location loc,
                  ValueRange indices) -> Value {
    AdjointBuilder inner(builder, loc);
    Value value = cloneBody(builder, generic.getBlock(),
                            SmallVector<Value>(indices), generic.getYielded());
    return term(inner, value, indices);
  };
  auto created = GenericOp::create(emit.builder, emit.loc, type,
                                   generic.getReduceExtents(), kind, body);
  eraseDead(created.getBlock());
  return created;
}

Value Seeds::othersByProduct(AdjointBuilder &emit) {
  SmallVector<int64_t> extents(generic.getExtents());
  llvm::append_range(extents, generic.getReduceExtents());
  auto type =
      RankedTensorType::get(extents, generic.getType().getElementType());
  auto body = [&](OpBuilder &builder, Location loc,
                  ValueRange indices) -> Value {
    // Indices: parallel, then the term left out, then the term taken.
    AdjointBuilder inner(builder, loc);
    SmallVector<Value> at(indices.take_front(numParallel));
    llvm::append_range(at, indices.drop_front(numIndices));
    Value value =
        cloneBody(builder, generic.getBlock(), at, generic.getYielded());
    Value isSame;
    for (unsigned i = numParallel; i < numIndices; ++i)
      isSame = inner.both(isSame,
                          inner.compare(ComparePredicate::EQ, indices[i],
                                        indices[i + numIndices - numParallel]));
    return inner.select(isSame, inner.constant(value.getType(), 1), value);
  };
  auto created =
      GenericOp::create(emit.builder, emit.loc, type,
                        generic.getReduceExtents(), ReductionKind::Prod, body);
  eraseDead(created.getBlock());
  return created;
}

void Seeds::prepare(AdjointBuilder &emit) {
  if (!generic.hasReduction())
    return;
  Type element = generic.getType().getElementType();
  auto bestAt = [&](AdjointBuilder &inner, ValueRange indices) {
    return readElement(inner, result,
                       SmallVector<Value>(indices.take_front(numParallel)));
  };
  switch (*generic.getKind()) {
  case ReductionKind::Max:
  case ReductionKind::Min: {
    Type wide = getAccumulatorType(element);
    Value count =
        reduce(emit, ReductionKind::Sum, wide,
               [&](AdjointBuilder &inner, Value term, ValueRange indices) {
                 return inner.select(falls(inner, term, bestAt(inner, indices)),
                                     Value(), inner.constant(wide, 1));
               });
    share = emit.cast(emit.div(emit.cast(adjoint, wide), count), element);
    return;
  }
  case ReductionKind::Prod: {
    if (generic.getReductionSize() <= kShortProduct) {
      others = othersByProduct(emit);
      return;
    }
    Type wide = getAccumulatorType(element);
    zeros = reduce(emit, ReductionKind::Sum, wide,
                   [&](AdjointBuilder &inner, Value term, ValueRange) {
                     return inner.select(
                         inner.compare(ComparePredicate::EQ, term, 0),
                         inner.constant(wide, 1), Value());
                   });
    rest = reduce(emit, ReductionKind::Prod, element,
                  [&](AdjointBuilder &inner, Value term, ValueRange) {
                    return inner.select(
                        inner.compare(ComparePredicate::EQ, term, 0),
                        inner.constant(element, 1), term);
                  });
    return;
  }
  default:
    return;
  }
}

Value Seeds::operator()(AdjointBuilder &emit, BodyClone &clone) {
  if (share) {
    Value best = clone.read(emit, result, parallel());
    Value part = clone.read(emit, share, parallel());
    return emit.select(falls(emit, clone.lookup(generic.getYielded()), best),
                       Value(), part);
  }
  Value g = clone.read(emit, adjoint, parallel());
  if (others)
    return emit.strongMul(g, clone.read(emit, others, all));
  if (!zeros)
    return g;
  Value term = clone.lookup(generic.getYielded());
  Value count = clone.read(emit, zeros, parallel());
  Value product = clone.read(emit, rest, parallel());
  Value forZero = emit.select(emit.compare(ComparePredicate::EQ, count, 1),
                              product, Value());
  Value forOther = emit.select(emit.compare(ComparePredicate::EQ, count, 0),
                               emit.div(product, term), Value());
  Value factor = emit.select(emit.compare(ComparePredicate::EQ, term, 0),
                             forZero, forOther);
  return emit.strongMul(g, factor);
}

/// A product of two elements, perhaps converted.
static bool isProductOfReads(Value value) {
  auto product = value.getDefiningOp<MulOp>();
  if (!product)
    return false;
  return llvm::all_of(product->getOperands(), [](Value factor) {
    if (auto cast = factor.getDefiningOp<CastOp>())
      factor = cast.getOperand();
    return factor.getDefiningOp<ReadOp>() != nullptr;
  });
}

LogicalResult autodiff::buildGenericAdjoints(AdjointBuilder &emit,
                                             GenericOp generic, Value result,
                                             Value adjoint,
                                             ArrayRef<Value> inputs,
                                             ArrayRef<bool> needed,
                                             SmallVectorImpl<Value> &adjoints) {
  Seeds seeds(emit, generic, result, adjoint);
  BodyProblem problem;
  problem.body = generic.getBlock();
  problem.yielded = generic.getYielded();
  problem.extents.assign(generic.getExtents().begin(),
                         generic.getExtents().end());
  llvm::append_range(problem.extents, generic.getReduceExtents());
  problem.numParallel = generic.getNumParallel();
  // A constant adjoint is not read, nor is a broadcast one at all indices, so
  // nothing makes it 0 outside.
  problem.seedVanishesOutside =
      !getSplat(adjoint) && !adjoint.getDefiningOp<BroadcastOp>();
  problem.isContraction = generic.getKind() == ReductionKind::Sum &&
                          isProductOfReads(generic.getYielded());
  auto seed = [&](AdjointBuilder &inner, BodyClone &clone) {
    return seeds(inner, clone);
  };
  problem.seed = seed;
  return buildBodyAdjoints(emit, problem, inputs, needed, adjoints);
}

static LogicalResult genericRule(GenericOp op, RuleContext &c) {
  SmallVector<Value> inputs = getDifferentiationInputs(op);
  SmallVector<bool> needed;
  for (unsigned i = 0; i < inputs.size(); ++i)
    needed.push_back(c.wants(i));
  SmallVector<Value> adjoints;
  if (failed(buildGenericAdjoints(c, op, op.getResult(), c.g, inputs, needed,
                                  adjoints)))
    return failure();
  for (auto [i, adjoint] : llvm::enumerate(adjoints))
    c.give(i, adjoint);
  return success();
}

void autodiff::attachGenericRule(MLIRContext *context) {
  attachRule<GenericOp, genericRule>(context);
}
