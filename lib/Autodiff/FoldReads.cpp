//===- FoldReads.cpp - slices of what an iteration reads -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An iteration that reads x[t, i] or x[i, t - 1] of a whole tensor uses one
// place of one axis. The tensor of these places is made in front of the fold,
// which then takes slices of it. With x[t, …] over the whole axis it is x.
//
//===----------------------------------------------------------------------===//

#include "Reverse.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;
using namespace tdsl::autodiff;

namespace {
/// What an index of a body is computed from.
struct IndexUse {
  bool iteration = false;
  /// Loop indices of the body.
  bool indices = false;
  /// Anything that is not known in front of the fold.
  bool others = false;
};
} // namespace

static void findUse(Value index, FoldOp fold, IndexUse &use) {
  if (isa<BlockArgument>(index)) {
    use.indices = true;
    return;
  }
  Operation *op = index.getDefiningOp();
  if (auto read = dyn_cast<ReadOp>(op)) {
    auto argument = dyn_cast<BlockArgument>(read.getTensor());
    if (argument && argument == fold.getCounter())
      use.iteration = true;
    else if (!argument || argument.getOwner() != fold.getBlock() ||
             !llvm::is_contained(fold.getInvariantArguments(), argument))
      use.others = true;
  } else if (!isa<ApplyOp, ConstantOp>(op) && !op->hasTrait<ElementwiseOp>()) {
    use.others = true;
  }
  for (Value operand : op->getOperands())
    if (!isa<RankedTensorType>(operand.getType()))
      findUse(operand, fold, use);
}

/// `index`, which depends on the iteration and on invariants, at iteration
/// `number`, in a body in front of the fold.
static Value cloneIndex(OpBuilder &builder, Value index, FoldOp fold,
                        Value number, IRMapping &map) {
  if (Value done = map.lookupOrNull(index))
    return done;
  Operation *op = index.getDefiningOp();
  if (auto read = dyn_cast<ReadOp>(op);
      read && read.getTensor() == fold.getCounter()) {
    Value value =
        CastOp::create(builder, op->getLoc(), builder.getI32Type(), number);
    map.map(index, value);
    return value;
  }
  for (Value operand : op->getOperands())
    if (!isa<RankedTensorType>(operand.getType()))
      cloneIndex(builder, operand, fold, number, map);
  return builder.clone(*op, map)->getResult(0);
}

/// The axis of a read that the iteration selects, where it alone depends on it
/// and depends on nothing that is not known in front of the fold.
static std::optional<unsigned> getIterationAxis(ReadOp read, FoldOp fold) {
  std::optional<unsigned> found;
  for (auto [axis, index] : llvm::enumerate(read.getIndices())) {
    IndexUse use;
    findUse(index, fold, use);
    if (!use.iteration)
      continue;
    if (found || use.indices || use.others)
      return std::nullopt;
    found = axis;
  }
  return found;
}

/// The tensor over the iterations of what `read` selects by `axis` of `tensor`.
static Value makeStack(FoldOp fold, ReadOp read, unsigned axis, Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  Value index = read.getIndices()[axis];
  auto cast = index.getDefiningOp<CastOp>();
  auto counter = cast ? cast.getOperand().getDefiningOp<ReadOp>() : ReadOp();
  if (axis == 0 && counter && counter.getTensor() == fold.getCounter() &&
      type.getDimSize(0) == static_cast<int64_t>(fold.getTrips()))
    return tensor;
  SmallVector<int64_t> shape{static_cast<int64_t>(fold.getTrips())};
  for (auto [i, extent] : llvm::enumerate(type.getShape()))
    if (i != axis)
      shape.push_back(extent);
  OpBuilder builder(fold);
  return GenericOp::create(
      builder, read.getLoc(), type.clone(shape), {}, std::nullopt,
      [&](OpBuilder &inner, Location loc, ValueRange loops) -> Value {
        IRMapping map;
        map.map(fold.getInvariantArguments(), fold.getInvariants());
        Value place = cloneIndex(inner, index, fold, loops[0], map);
        SmallVector<Value> indices(loops.drop_front());
        indices.insert(indices.begin() + axis, place);
        return ReadOp::create(inner, loc, tensor, indices, read.getGuardAttr(),
                              read.getClamped());
      });
}

static bool sliceReads(FoldOp fold, const llvm::DenseSet<Value> &varying) {
  bool changed = false;
  for (unsigned i = 0; i < fold.getInvariants().size(); ++i) {
    Value tensor = fold.getInvariants()[i];
    if (!varying.contains(tensor))
      continue;
    for (Operation *user : llvm::make_early_inc_range(
             fold.getInvariantArguments()[i].getUsers())) {
      auto read = dyn_cast<ReadOp>(user);
      std::optional<unsigned> axis =
          read ? getIterationAxis(read, fold) : std::nullopt;
      if (!axis)
        continue;
      Value stack = makeStack(fold, read, *axis, tensor);
      BlockArgument slice = fold.getBlock()->insertArgument(
          1 + fold.getNumCarried() + fold.getSlices().size(),
          FoldOp::getSliceType(stack.getType()), read.getLoc());
      fold.getSlicesMutable().append(stack);
      SmallVector<Value> indices(read.getIndices());
      indices.erase(indices.begin() + *axis);
      OpBuilder builder(read);
      bool isScalar = indices.empty();
      read.replaceAllUsesWith(
          ReadOp::create(builder, read.getLoc(), slice, indices,
                         isScalar ? TypedAttr() : read.getGuardAttr(),
                         !isScalar && read.getClamped())
              .getResult());
      read.erase();
      changed = true;
    }
  }
  return changed;
}

bool autodiff::sliceReadsOfIterations(ArrayRef<Operation *> ops,
                                      const llvm::DenseSet<Value> &varying) {
  bool changed = false;
  for (Operation *op : ops)
    if (auto fold = dyn_cast<FoldOp>(op))
      changed |= sliceReads(fold, varying);
  return changed;
}
