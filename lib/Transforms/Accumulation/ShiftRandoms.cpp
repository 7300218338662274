//===- ShiftRandoms.cpp - random numbers of a micro-batch -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A random number is drawn by its place in the tensor that it fills. The
// tensor of a micro-batch is a part of that of the batch, so a draw gets the
// place that it has there: its index along the axis that holds the rows is
// moved behind those of the micro-batches before, and the places are counted
// as the whole tensor counts them. Loops and checkpoints see nothing but their
// arguments, so the number of the micro-batch is handed down to them.
//
//===----------------------------------------------------------------------===//

#include "ShiftRandoms.h"

#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

static SmallVector<RandomOp> getRandoms(Operation *op) {
  SmallVector<RandomOp> randoms;
  op->walk([&](RandomOp random) { randoms.push_back(random); });
  return randoms;
}

/// Whether the function that `call` stands for draws, itself or in a function
/// that it calls.
static bool draws(func::CallOp call, llvm::DenseSet<Operation *> &seen) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      call, call.getCalleeAttr());
  if (!callee || !seen.insert(callee).second)
    return false;
  WalkResult found = callee.walk([&](Operation *op) {
    auto inner = dyn_cast<func::CallOp>(op);
    bool isDraw = isa<RandomOp>(op) || (inner && draws(inner, seen));
    return isDraw ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found.wasInterrupted();
}

namespace {

/// The number of the micro-batch wherever it is needed inside of `copy`.
class Iteration {
public:
  Iteration(Operation *copy, Value number) : copy(copy), number(number) {}

  /// In the body of the loops around `op`, up to the copy itself.
  Value getAt(Operation *op) {
    Operation *parent = op->getParentOp();
    if (op == copy)
      return number;
    Value outside = getAt(parent);
    auto fold = dyn_cast<FoldOp>(parent);
    if (!fold)
      return outside;
    Value &argument = arguments[fold];
    if (!argument) {
      fold.getInvariantsMutable().append(outside);
      argument =
          fold.getBlock()->addArgument(outside.getType(), outside.getLoc());
    }
    return argument;
  }

private:
  Operation *copy;
  Value number;
  llvm::DenseMap<Operation *, Value> arguments;
};

} // namespace

/// Moves one draw; false where its place does not tell the row.
static bool shiftRandom(RandomOp random, RandomOp original, RandomOp whole,
                        Iteration *iteration) {
  auto points = original->getParentOfType<GenericOp>();
  auto allPoints = whole->getParentOfType<GenericOp>();
  auto loop = original->getParentOfType<FoldOp>();
  auto wholeLoop = whole->getParentOfType<FoldOp>();
  for (; loop && wholeLoop; loop = loop->getParentOfType<FoldOp>(),
                            wholeLoop = wholeLoop->getParentOfType<FoldOp>())
    if (loop.getTrips() != wholeLoop.getTrips())
      return false;
  if (!points || !allPoints)
    return false;
  auto getExtents = [](GenericOp generic) {
    SmallVector<int64_t> extents(generic.getExtents());
    llvm::append_range(extents, generic.getReduceExtents());
    return extents;
  };
  SmallVector<int64_t> some = getExtents(points), all = getExtents(allPoints);
  if (some == all)
    return true;
  auto place = random.getLinear().getDefiningOp<ApplyOp>();
  auto wholePlace = whole.getLinear().getDefiningOp<ApplyOp>();
  if (some.size() != all.size() || !place || !wholePlace ||
      place.getOperands().size() != wholePlace.getOperands().size())
    return false;

  OpBuilder builder(random);
  Location loc = random.getLoc();
  SmallVector<Value> operands;
  SmallVector<AffineExpr> indices;
  Value number;
  for (auto [operand, other] :
       llvm::zip(place.getOperands(), wholePlace.getOperands())) {
    auto index = dyn_cast<BlockArgument>(operand);
    auto wholeIndex = dyn_cast<BlockArgument>(other);
    if (!index || !wholeIndex ||
        wholeIndex.getOwner() != &allPoints.getBody().front() ||
        index.getArgNumber() != wholeIndex.getArgNumber())
      return false;
    AffineExpr expr = builder.getAffineDimExpr(operands.size());
    operands.push_back(operand);
    int64_t own = some[index.getArgNumber()], rows = all[index.getArgNumber()];
    if (own != rows && iteration) {
      if (!number)
        number = CastOp::create(builder, loc, builder.getIndexType(),
                                ReadOp::create(builder, loc,
                                               iteration->getAt(random),
                                               ValueRange()));
      expr = expr + builder.getAffineDimExpr(operands.size()) * own;
      operands.push_back(number);
    } else if (own != rows) {
      expr = expr + (rows - own);
    }
    indices.push_back(expr);
  }
  AffineMap map = wholePlace.getMap();
  AffineMap moved = map.compose(
      AffineMap::get(operands.size(), 0, indices, builder.getContext()));
  random.getLinearMutable().assign(
      ApplyOp::create(builder, loc, moved, operands));
  return true;
}

LogicalResult accumulation::shiftRandoms(Operation *copy, Operation *original,
                                         Operation *whole, Value iteration) {
  auto refuse = [&](Location loc, StringRef why) {
    return emitError(loc) << "--accum cannot split the step: " << why;
  };
  llvm::DenseSet<Operation *> seen;
  WalkResult calls = original->walk([&](func::CallOp call) {
    return draws(call, seen) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (calls.wasInterrupted())
    return refuse(original->getLoc(),
                  "a function with a derivative of its own draws random "
                  "numbers, which rows of micro-batches would share");
  SmallVector<RandomOp> randoms = getRandoms(copy),
                        originals = getRandoms(original),
                        wholes = getRandoms(whole);
  if (randoms.size() != wholes.size() || originals.size() != wholes.size())
    return refuse(original->getLoc(),
                  "how many random numbers are drawn here depends on the size "
                  "of the batch");
  Iteration numbers(copy, iteration);
  for (auto [random, part, all] : llvm::zip_equal(randoms, originals, wholes))
    if (!shiftRandom(random, part, all, iteration ? &numbers : nullptr))
      return refuse(part->getLoc(),
                    "the random numbers of a row depend on the size of the "
                    "batch in more than their place");
  return success();
}
