//===- ResolvePlan.cpp - the places of loops in the entry -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EntryPlanner.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::plan;

namespace {
/// What the body of a loop names by number, and where its own arena is.
struct Surroundings {
  ArrayRef<BufferAttr> places;
  int64_t arena = 0;
};
} // namespace

/// `buffer` behind the beginning of `base`; both move with the loops.
static BufferAttr moveInto(BufferAttr base, BufferAttr buffer) {
  SmallVector<int64_t> strides(base.getStrides()), trips(base.getTrips());
  ArrayRef<int64_t> more = buffer.getStrides();
  if (more.size() > strides.size()) {
    strides.resize(more.size());
    trips.resize(more.size(), 1);
  }
  for (auto [d, stride] : llvm::enumerate(more)) {
    strides[d] += stride;
    if (stride)
      trips[d] = buffer.getTrips()[d];
  }
  return BufferAttr::get(base.getContext(), base.getSpace(), base.getIndex(),
                         base.getOffset() + buffer.getOffset(),
                         buffer.getBytes(), strides, trips);
}

static BufferAttr resolve(BufferAttr buffer, const Surroundings &outer) {
  if (!buffer || buffer.getSpace() != Space::Arena)
    return buffer;
  if (buffer.getIndex() == 0)
    return BufferAttr::get(buffer.getContext(), Space::Arena, 0,
                           buffer.getOffset() + outer.arena, buffer.getBytes(),
                           buffer.getStrides(), buffer.getTrips());
  return moveInto(outer.places[buffer.getIndex() - 1], buffer);
}

static void resolve(BlockPlan &plan, const Surroundings &outer) {
  for (PlannedCommand &command : plan.commands) {
    command.from = resolve(command.from, outer);
    command.to = resolve(command.to, outer);
    for (auto *buffers : {&command.inputs, &command.outputs, &command.places})
      for (BufferAttr &buffer : *buffers)
        buffer = resolve(buffer, outer);
    for (auto [i, buffer] : llvm::enumerate(command.inputs))
      for (BufferAttr other : ArrayRef(command.inputs).take_front(i))
        command.disjoint &= !buffer.overlaps(other);
    if (command.kind == PlannedCommand::Loop)
      resolve(*command.body, {command.places, outer.arena + command.bodyArena});
  }
}

void tdsl::resolvePlan(BlockPlan &plan) { resolve(plan, {}); }
