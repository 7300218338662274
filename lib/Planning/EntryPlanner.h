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

namespace tdsl {

/// The value behind views.
mlir::Value getViewedValue(mlir::Value value);

/// What the entries of a module share: the places of variables and constants.
struct ModuleLayout {
  llvm::DenseMap<mlir::StringAttr, plan::BufferAttr> variables;
  llvm::MapVector<mlir::Attribute, plan::BufferAttr> constants;
};

/// The plan of one entry: kernels in order with the places of their operands,
/// and copies before and behind them.
struct EntryPlan {
  struct Copy {
    plan::BufferAttr from, to;
  };
  struct Fill {
    plan::BufferAttr to;
    uint8_t byte;
  };
  struct Launch {
    tds::KernelOp kernel;
    /// Number of the kernel in the entry.
    int64_t origin;
    llvm::SmallVector<plan::BufferAttr> inputs, outputs;
    /// For each output the input whose buffer it shares, or -1.
    llvm::SmallVector<int64_t> inPlace;
    bool disjoint = true;
  };
  llvm::SmallVector<Copy> copiesBefore, copiesBehind;
  llvm::SmallVector<Launch> launches;
  llvm::SmallVector<Fill> fills;
  /// Offsets of the inputs (arguments that are no variables) and results, in
  /// order.
  llvm::SmallVector<int64_t> inputOffsets, resultOffsets;
  int64_t arenaBytes = 0, inputBytes = 0, resultBytes = 0, scratchBytes = 0;
  /// No arena of these buffers is smaller.
  int64_t arenaBound = 0;
};

/// Plans an entry that holds nothing but kernels, reshapes, constants and its
/// return. Fails after an error.
mlir::FailureOr<EntryPlan> planEntry(mlir::func::FuncOp entry,
                                     ModuleLayout &layout);

} // namespace tdsl

#endif // TDSL_LIB_PLANNING_ENTRYPLANNER_H
