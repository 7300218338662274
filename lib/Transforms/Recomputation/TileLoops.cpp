//===- TileLoops.cpp - loops of which some iterations are kept -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The derivative of a loop needs what each iteration carries. Of two loops, one
// in the other, the outer one keeps what it carries, and the inner one is run
// again: n iterations keep about 2 sqrt(n) values (Chen et al. 2016).
//
//===----------------------------------------------------------------------===//

#include "Segments.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

/// Whether the number of the iteration is used for random numbers alone.
static bool countsForRandomAlone(FoldOp fold) {
  bool good = true;
  fold.getBody().walk([&](ReadOp read) {
    if (read.getTensor() != fold.getCounter())
      return;
    for (Operation *user : read->getUsers())
      good &= isa<CastOp>(user) &&
              llvm::all_of(user->getUsers(),
                           [](Operation *each) { return isa<RandomOp>(each); });
  });
  for (Operation *user : fold.getCounter().getUsers())
    good &= isa<ReadOp>(user);
  return good;
}

std::optional<std::pair<int64_t, int64_t>>
tdsl::chooseTile(FoldOp fold, int64_t inIteration) {
  if (!countsForRandomAlone(fold))
    return std::nullopt;
  int64_t trips = fold.getTrips(), carried = 0;
  for (Value value : fold.getCarried())
    carried += getNumBytes(value);
  std::optional<std::pair<int64_t, int64_t>> best;
  for (int64_t tile = 2; tile <= trips / 2; ++tile) {
    if (trips % tile != 0)
      continue;
    int64_t bytes = trips / tile * carried + tile * (carried + inIteration);
    if (!best || bytes < best->second)
      best = {tile, bytes};
  }
  return best;
}

/// The type with the first axis cut into `outer` parts.
static RankedTensorType split(Type type, int64_t outer, int64_t inner) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape{outer, inner};
  llvm::append_range(shape, tensor.getShape().drop_front());
  return tensor.clone(shape);
}

void tdsl::tileLoop(FoldOp fold, int64_t tile) {
  OpBuilder builder(fold);
  Location loc = fold.getLoc();
  int64_t outerTrips = fold.getTrips() / tile;
  SmallVector<Value> slices;
  for (Value slice : fold.getSlices())
    slices.push_back(ReshapeOp::create(
        builder, loc, split(slice.getType(), outerTrips, tile), slice));
  SmallVector<Type> outerTypes, innerTypes;
  for (Value result : fold.getCollected()) {
    outerTypes.push_back(split(result.getType(), outerTrips, tile));
    innerTypes.push_back(FoldOp::getSliceType(outerTypes.back()));
  }
  auto outer =
      FoldOp::create(builder, loc, outerTrips, fold.getReverse(),
                     fold.getInits(), slices, fold.getInvariants(), outerTypes);
  OpBuilder body = OpBuilder::atBlockEnd(outer.getBlock());
  bool counts = !fold.getCounter().use_empty();
  SmallVector<Value> invariants(outer.getInvariantArguments());
  if (counts)
    invariants.push_back(outer.getCounter());
  auto inner =
      FoldOp::create(body, loc, tile, fold.getReverse(), outer.getCarried(),
                     outer.getSliceArguments(), invariants, innerTypes);
  inner->setDiscardableAttrs(fold->getDiscardableAttrDictionary());
  BlockArgument outerCount;
  if (counts)
    outerCount = fold.getBlock()->addArgument(fold.getCounter().getType(), loc);
  inner.getBody().takeBody(fold.getBody());
  if (counts) {
    OpBuilder first = OpBuilder::atBlockBegin(inner.getBlock());
    Type type = outerCount.getType();
    Value size = ConstantOp::createSplat(first, loc, type, tile);
    Value before = MulOp::create(first, loc, outerCount, size);
    Value count = AddOp::create(first, loc, before, inner.getCounter());
    inner.getCounter().replaceAllUsesExcept(count, count.getDefiningOp());
  }
  YieldOp::create(body, loc, inner.getResults());
  for (auto [from, to] : llvm::zip_equal(fold.getFinal(), outer.getFinal()))
    from.replaceAllUsesWith(to);
  for (auto [from, to] :
       llvm::zip_equal(fold.getCollected(), outer.getCollected()))
    from.replaceAllUsesWith(
        ReshapeOp::create(builder, loc, from.getType(), to));
  fold.erase();
}
