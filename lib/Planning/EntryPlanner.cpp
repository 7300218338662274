//===- EntryPlanner.cpp - order, homes and offsets for one entry -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps: every value gets a home (a variable's place in its slab, a
// result's slot, or the arena); readers of a variable's old value are ordered
// before the kernel that writes its new one, which is given up where the order
// would have a cycle; the kernels are sorted; lifetimes follow from the order;
// dying buffers are taken over in place; what remains gets offsets in the
// arena.
//
// Copies run before all kernels (old values that are returned although their
// variable changes) or behind all of them. The latter read and write no place
// twice: an old value that another variable receives while its own changes has
// been saved before.
//
// The body of a fold is planned like an entry: what it carries is a variable,
// slices and invariants are inputs, and what it collects are results. Where
// these are is not known then; they are numbered places. For the surrounding
// block the loop is one kernel that needs the body's arena as a buffer. The
// carried values live in the buffers of the fold's results, to which the
// initial values are copied unless they lie there. A carried value that is also
// collected moves through the stack (Trails.cpp).
//
//===----------------------------------------------------------------------===//

#include "BlockPlanner.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::plan;
using tds::FoldOp;
using tds::KernelOp;

/// For trails an arena may be larger by one part in so many.
static constexpr int64_t kTrailPart = 32;

Value tdsl::getViewedValue(Value value) {
  while (auto reshape = value.getDefiningOp<tds::ReshapeOp>())
    value = reshape.getOperand();
  return value;
}

FailureOr<EntryPlan> BlockPlanner::runEntry(func::FuncOp entry) {
  if (failed(collect()))
    return failure();
  layOutSlots(entry);
  if (failed(collectDestinations(entry)) || failed(run()))
    return failure();
  resolvePlan(plan);
  return std::move(plan);
}

FailureOr<BlockPlan> BlockPlanner::runFold(FoldOp fold,
                                           ArrayRef<Trail> trails) {
  if (failed(collect()))
    return failure();
  layOutFold(fold, trails);
  if (failed(run()))
    return failure();
  return std::move(static_cast<BlockPlan &>(plan));
}

LogicalResult BlockPlanner::run() {
  layOutConstants();
  chooseHomes();
  sort();
  if (failed(planFolds()))
    return failure();
  planCopies();
  mergeFills();
  shareDyingBuffers();
  allocate();
  writeCommands();
  return success();
}

static FailureOr<EntryPlan> planWith(func::FuncOp entry, ModuleLayout &layout,
                                     bool hasTrails, bool donate) {
  Block &block = entry.getBody().front();
  FailureOr<EntryPlan> plain =
      BlockPlanner(block, layout, 0, hasTrails).runEntry(entry);
  if (failed(plain) || !donate || plain->arenaBytes == 0)
    return plain;
  FailureOr<EntryPlan> donated =
      BlockPlanner(block, layout, 0, hasTrails, /*donate=*/true)
          .runEntry(entry);
  return failed(donated) || donated->arenaBytes < plain->arenaBytes
             ? std::move(donated)
             : std::move(plain);
}

FailureOr<EntryPlan> tdsl::planEntry(func::FuncOp entry, ModuleLayout &layout,
                                     bool donate) {
  FailureOr<EntryPlan> plan = planWith(entry, layout, true, donate);
  if (failed(plan) || plan->numTrails == 0)
    return plan;
  // A stack keeps a place more as long as any of it is needed. Copies are
  // better where that costs much.
  FailureOr<EntryPlan> copying = planWith(entry, layout, false, donate);
  return failed(copying) || plan->arenaBytes - copying->arenaBytes >
                                copying->arenaBytes / kTrailPart
             ? std::move(copying)
             : std::move(plan);
}
