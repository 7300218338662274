//===- Unfolding.cpp - tensors as expressions of their elements -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Unfolding.h"

#include "tdsl/Fusion/Bodies.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

/// Operations that are looked through before the rest is left as it is.
static constexpr unsigned maxSteps = 512;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

Unfolding::Unfolding(Block &graph)
    : graph(graph), scratch(new Block),
      builder(graph.getParent()->getContext()),
      loc(graph.getParentOp()->getLoc()) {
  region.push_back(scratch);
  builder.setInsertionPointToEnd(scratch);
  zeroIndex =
      ConstantOp::create(builder, loc, TypedAttr(builder.getIndexAttr(0)));
}

Value Unfolding::createIndex() {
  return scratch->addArgument(builder.getIndexType(), loc);
}

/// Whether the body may stand in another one: all reads are at affine indices
/// and inside.
bool Unfolding::mayUnfold(GenericOp generic, bool copiesOnly) {
  if (generic.hasReduction())
    return false;
  if (copiesOnly && (!generic.getYielded().getDefiningOp<ReadOp>() ||
                     getBodyCost(generic) != 0))
    return false;
  for (Operation &op : generic.getBlock()->without_terminator()) {
    if (isa<RandomOp>(op))
      return false;
    auto read = dyn_cast<ReadOp>(op);
    if (!read)
      continue;
    if (read.getGuard() || read.getClamped())
      return false;
    for (Value index : read.getIndices())
      if (!getAffineIndex(index, generic.getIndices()))
        return false;
  }
  return true;
}

Value Unfolding::cloneBody(GenericOp generic, ValueRange indices,
                           unsigned levels) {
  IRMapping mapping;
  mapping.map(generic.getIndices(), indices);
  for (Operation &op : generic.getBlock()->without_terminator()) {
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(mapping.lookupOrDefault(operand));
    if (auto apply = dyn_cast<ApplyOp>(op)) {
      mapping.map(apply.getResult(),
                  tdsl::createIndex(builder, loc, apply.getMap(), operands));
      continue;
    }
    auto read = dyn_cast<ReadOp>(op);
    if (read && !read.getGuard() && !read.getClamped()) {
      mapping.map(read.getResult(),
                  getElement(read.getTensor(),
                             ValueRange(operands).drop_front(), levels));
      continue;
    }
    builder.clone(op, mapping);
  }
  return mapping.lookupOrDefault(generic.getYielded());
}

/// The element of the result of `op`, or null where it is not unfolded.
Value Unfolding::unfold(Operation *op, ValueRange indices, unsigned levels) {
  unsigned below = levels == everything ? everything : levels - 1;
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!elements || !elements.isSplat())
      return {};
    return ConstantOp::create(
        builder, loc, cast<TypedAttr>(elements.getSplatValue<Attribute>()));
  }
  if (auto generic = dyn_cast<GenericOp>(op)) {
    bool isCopy = mayUnfold(generic, /*copiesOnly=*/true);
    if (!isCopy && (levels == 0 || !mayUnfold(generic, false)))
      return {};
    return cloneBody(generic, indices, isCopy ? levels : below);
  }
  auto at = [&](Value tensor, ArrayRef<Value> places) {
    return getElement(tensor, places, levels);
  };
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    RankedTensorType from = tensorType(broadcast.getOperand()),
                     to = tensorType(broadcast.getResult());
    SmallVector<Value> places;
    for (auto [i, axis] : llvm::enumerate(broadcast.getAxes()))
      places.push_back(from.getDimSize(i) == to.getDimSize(axis)
                           ? Value(indices[axis])
                           : zeroIndex);
    return at(broadcast.getOperand(), places);
  }
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    SmallVector<Value> places(indices.size());
    for (auto [i, axis] : llvm::enumerate(transpose.getPermutation()))
      places[axis] = indices[i];
    return at(transpose.getOperand(), places);
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    // Where only axes of extent 1 come or go.
    SmallVector<Value> rest, places;
    for (auto [index, extent] :
         llvm::zip_equal(indices, tensorType(reshape.getResult()).getShape()))
      if (extent != 1)
        rest.push_back(index);
    size_t next = 0;
    SmallVector<int64_t> squeezed, present;
    for (int64_t extent : tensorType(reshape.getResult()).getShape())
      if (extent != 1)
        present.push_back(extent);
    for (int64_t extent : tensorType(reshape.getOperand()).getShape())
      if (extent != 1)
        squeezed.push_back(extent);
    if (squeezed != present)
      return {};
    for (int64_t extent : tensorType(reshape.getOperand()).getShape())
      places.push_back(extent == 1 ? zeroIndex : rest[next++]);
    return at(reshape.getOperand(), places);
  }
  if (levels == 0 || !op->hasTrait<ElementwiseOp>() || isa<RandomOp>(op))
    return {};
  SmallVector<Value> scalars;
  for (Value operand : op->getOperands())
    scalars.push_back(getElement(operand, indices, below));
  OperationState state(loc, op->getName());
  state.addOperands(scalars);
  state.addAttributes(op->getAttrDictionary().getValue());
  state.addTypes(tensorType(op->getResult(0)).getElementType());
  return builder.create(state)->getResult(0);
}

Value Unfolding::getElement(Value tensor, ValueRange at, unsigned levels) {
  // Along an axis of extent 1 there is one place, whatever leads there: two
  // ways to the same element are the same expression.
  SmallVector<Value> indices(at);
  for (auto [index, extent] :
       llvm::zip_equal(indices, tensorType(tensor).getShape()))
    if (extent == 1)
      index = zeroIndex;
  std::vector<const void *> key{
      tensor.getAsOpaquePointer(),
      reinterpret_cast<const void *>(static_cast<uintptr_t>(levels))};
  for (Value index : indices)
    key.push_back(index.getAsOpaquePointer());
  if (auto it = known.find(key); it != known.end())
    return it->second;
  Value value;
  Operation *op = tensor.getDefiningOp();
  if (op && op->getBlock() == &graph && ++steps <= maxSteps) {
    value = unfold(op, indices, levels);
    if (value)
      visited.insert(op);
  }
  if (!value)
    value = ReadOp::create(builder, loc, tensor, indices);
  known[key] = value;
  return value;
}

Value Unfolding::deepen(Value value, unsigned levels) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return value;
  if (auto read = dyn_cast<ReadOp>(op)) {
    if (read.getGuard() || read.getClamped())
      return value;
    return getElement(read.getTensor(), read.getIndices(), levels);
  }
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, deepen(operand, levels));
  return builder.clone(*op, mapping)->getResult(0);
}

std::optional<Unfolding::Term>
Unfolding::getTerm(Value tensor, ValueRange indices, unsigned levels) {
  Operation *op = tensor.getDefiningOp();
  if (!op || op->getBlock() != &graph)
    return std::nullopt;
  Term term;
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    term.kind = reduce.getKind();
    SmallVector<Value> places;
    size_t next = 0;
    for (int64_t axis = 0; axis < tensorType(reduce.getOperand()).getRank();
         ++axis) {
      if (llvm::is_contained(reduce.getAxes(), axis))
        places.push_back(term.indices.emplace_back(createIndex()));
      else
        places.push_back(indices[next++]);
    }
    // The tensor of the terms is a step of its own.
    term.value = getElement(reduce.getOperand(), places,
                            levels == everything ? everything : levels + 1);
  } else if (auto generic = dyn_cast<GenericOp>(op);
             generic && generic.hasReduction()) {
    term.kind = *generic.getKind();
    SmallVector<Value> places(indices);
    for (unsigned i = 0; i < generic.getNumReductions(); ++i)
      places.push_back(term.indices.emplace_back(createIndex()));
    term.value = cloneBody(generic, places, levels);
  } else if (auto contract = dyn_cast<ContractOp>(op);
             contract && !contract.hasWindow()) {
    term.kind = ReductionKind::Sum;
    llvm::SmallDenseMap<int64_t, Value> places;
    for (auto [axis, index] :
         llvm::zip_equal(contract.getResultAxes(), indices))
      places[axis] = index;
    for (int64_t axis : contract.getReducedAxes())
      places[axis] = term.indices.emplace_back(createIndex());
    Type element = tensorType(contract.getResult()).getElementType();
    Type narrow = tensorType(contract.getLhs()).getElementType();
    if (element == narrow)
      element = getAccumulatorType(element);
    Value factors[2];
    for (unsigned i = 0; i < 2; ++i) {
      SmallVector<Value> at;
      for (int64_t axis :
           i == 0 ? contract.getLhsAxes() : contract.getRhsAxes())
        at.push_back(places[axis]);
      factors[i] = getElement(i == 0 ? contract.getLhs() : contract.getRhs(),
                              at, levels);
      if (narrow != element)
        factors[i] = CastOp::create(builder, loc, element, factors[i]);
    }
    term.value = MulOp::create(builder, loc, factors[0], factors[1]);
  } else {
    return std::nullopt;
  }
  visited.insert(op);
  return term;
}

bool Unfolding::areEqual(Value lhs, Value rhs, Value from, Value to) {
  llvm::DenseSet<std::pair<Value, Value>> seen;
  auto compare = [&](auto &self, Value a, Value b) -> bool {
    if (!seen.insert({a, b}).second)
      return true;
    if (a == from || b == to)
      return a == from && b == to;
    Operation *first = a.getDefiningOp(), *second = b.getDefiningOp();
    if (!first || !second)
      return a == b;
    // Tensors are what they are.
    if (isa<RankedTensorType>(a.getType()))
      return a == b;
    if (first->getName() != second->getName() ||
        first->getAttrDictionary() != second->getAttrDictionary() ||
        a.getType() != b.getType() ||
        first->getNumOperands() != second->getNumOperands())
      return false;
    for (auto [x, y] :
         llvm::zip_equal(first->getOperands(), second->getOperands()))
      if (!self(self, x, y))
        return false;
    return true;
  };
  return compare(compare, lhs, rhs);
}

bool Unfolding::uses(Value value, Value index) {
  llvm::DenseSet<Value> seen;
  auto find = [&](auto &self, Value at) -> bool {
    if (at == index)
      return true;
    Operation *op = at.getDefiningOp();
    if (!op || isa<RankedTensorType>(at.getType()) || !seen.insert(at).second)
      return false;
    return llvm::any_of(op->getOperands(),
                        [&](Value operand) { return self(self, operand); });
  };
  return find(find, value);
}

llvm::SetVector<Operation *> Unfolding::getSlice(Value value) const {
  llvm::SetVector<Operation *> slice;
  auto collect = [&](auto &self, Value at) -> void {
    Operation *op = at.getDefiningOp();
    if (!op || op->getBlock() != scratch || slice.contains(op))
      return;
    for (Value operand : op->getOperands())
      self(self, operand);
    slice.insert(op);
  };
  collect(collect, value);
  return slice;
}
