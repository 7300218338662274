//===- Trails.cpp - carried values that move through a stack -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The derivative of a loop needs what each iteration was given, or what it has
// made of it, so the loop collects it. A carried value in a place of its own
// would be copied to the stack, and what follows from it to its place: two
// copies an iteration. Instead it lies in the stack. An iteration finds it
// where the one before left it, and leaves the next one behind it; the values
// before and behind each iteration are one stack, of one place more than there
// are iterations.
//
//===----------------------------------------------------------------------===//

#include "BlockPlanner.h"

#include "tdsl/Planning/Planner.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::plan;
using tds::FoldOp;

SmallVector<Trail> BlockPlanner::findTrails(FoldOp fold) {
  SmallVector<Trail> trails;
  if (!hasTrails || fold.getTrips() < 2)
    return trails;
  for (unsigned i = 0; i < fold.getNumCarried(); ++i) {
    Value next = getViewedValue(fold.getYielded()[i]),
          final = fold.getFinal()[i];
    int64_t bytes = getTensorBytes(final.getType());
    // What is another value that is carried or given is copied.
    if (!isItem(next.getDefiningOp()) || bytes == 0 ||
        bytes % kernelAlignment != 0 || home.contains(final) ||
        llvm::count_if(fold.getYieldedCarried(), [&](Value other) {
          return getViewedValue(other) == next;
        }) != 1)
      continue;
    Trail trail{i, std::nullopt, std::nullopt};
    for (auto [k, value] : llvm::enumerate(fold.getYieldedCollected())) {
      if (home.contains(fold.getCollected()[k]))
        continue;
      if (getViewedValue(value) == fold.getCarried()[i] && !trail.before)
        trail.before = k;
      else if (getViewedValue(value) == next && !trail.behind)
        trail.behind = k;
    }
    if (trail.before || trail.behind)
      trails.push_back(trail);
  }
  return trails;
}

void BlockPlanner::layOutTrails(FoldOp fold, unsigned number) {
  SmallVector<Trail> trails = findTrails(fold);
  int64_t at = 1 + position[number];
  for (Trail &trail : trails) {
    Value final = fold.getFinal()[trail.carried];
    int64_t bytes = getTensorBytes(final.getType()), trips = fold.getTrips();
    trail.buffer = addBuffer((trips + 1) * bytes, at, at);
    auto place = [&](Value value, int64_t index) {
      bufferOf[value] = trail.buffer;
      offsetIn[value] = index * bytes;
    };
    bool reverse = fold.getReverse();
    place(final, reverse ? 0 : trips);
    if (trail.before)
      place(fold.getCollected()[*trail.before], reverse ? 1 : 0);
    if (trail.behind)
      place(fold.getCollected()[*trail.behind], reverse ? 0 : 1);
  }
  trailsOf[number] = std::move(trails);
}
