//===- EntryPlanner.h - order, homes and offsets for one entry -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_PLANNING_ENTRYPLANNER_H
#define TDSL_LIB_PLANNING_ENTRYPLANNER_H

#include "tdsl/Dialect/Plan/PlanOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

#include <memory>
#include <vector>

namespace tdsl {

/// The value behind views.
mlir::Value getViewedValue(mlir::Value value);

/// What the entries of a module share: the places of variables and constants.
struct ModuleLayout {
  llvm::DenseMap<mlir::StringAttr, plan::BufferAttr> variables;
  llvm::MapVector<mlir::Attribute, plan::BufferAttr> constants;
};

struct BlockPlan;

/// A command of a plan.
struct PlannedCommand {
  enum Kind { Copy, Fill, Launch, Loop };
  Kind kind;
  /// Copy, Fill.
  plan::BufferAttr from = {}, to = {};
  uint8_t byte = 0;
  std::string why = {};
  /// Copy, Fill: why it is there, and where in the program.
  std::optional<mlir::Location> loc = {};
  /// Launch, Loop: the kernel or fold, and its number among those of its block.
  mlir::Operation *op = nullptr;
  int64_t origin = 0;
  /// Launch.
  llvm::SmallVector<plan::BufferAttr> inputs = {}, outputs = {};
  /// For each output the input whose buffer it shares, or -1.
  llvm::SmallVector<int64_t> inPlace = {};
  /// The inputs that are the number of an iteration.
  llvm::SmallVector<int64_t> counters = {};
  bool disjoint = true;
  /// Loop: the commands of its body, and where what the body names by number
  /// is (see BlockPlan): carried values, slices, invariants, collected values,
  /// and where the next values of trails go.
  std::unique_ptr<BlockPlan> body = {};
  llvm::SmallVector<plan::BufferAttr> places = {};
  /// Loop: where the body's own arena begins.
  int64_t bodyArena = 0;
};

/// The plan of a block. In the body of a fold, `arena[0]` is the arena of the
/// body alone, and `arena[k]` for k > 0 is number k - 1 of the places of the
/// loop; resolvePlan replaces both.
struct BlockPlan {
  BlockPlan() = default;
  BlockPlan(BlockPlan &&) = default;
  BlockPlan &operator=(BlockPlan &&) = default;

  std::vector<PlannedCommand> commands;
  int64_t arenaBytes = 0, scratchBytes = 0;
  /// No arena of these buffers is smaller.
  int64_t arenaBound = 0;
  /// Carried values of loops that move through a stack.
  unsigned numTrails = 0;
};

/// The plan of one entry.
struct EntryPlan : BlockPlan {
  /// Offsets of the inputs (arguments that are no variables) and results, in
  /// order.
  llvm::SmallVector<int64_t> inputOffsets, resultOffsets;
  /// By the number of an input: whether its place holds other values once all
  /// have read it.
  llvm::SmallVector<bool> donated;
  int64_t inputBytes = 0, resultBytes = 0;
};

/// Names the places of loops in the spaces of the entry, and finds out which
/// launches have disjoint buffers.
void resolvePlan(BlockPlan &plan);

/// Plans an entry that holds nothing but kernels, folds of such, reshapes,
/// constants and its return. With `donate` values may lie in the places of
/// inputs that have been read, where the arena is smaller for it. Fails after
/// an error.
mlir::FailureOr<EntryPlan> planEntry(mlir::func::FuncOp entry,
                                     ModuleLayout &layout, bool donate);

} // namespace tdsl

#endif // TDSL_LIB_PLANNING_ENTRYPLANNER_H
