//===- MemoryProfile.h - what lives when in a plan -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_PLANNING_MEMORYPROFILE_H
#define TDSL_PLANNING_MEMORYPROFILE_H

#include "tdsl/Dialect/Plan/PlanOps.h"

namespace tdsl {

/// A tensor in the arena, from the command that writes it to the last one that
/// reads it. Commands are the launches, copies, fills and loops of an entry,
/// counted from 0. All that is used in a loop is used during that one command.
struct ArenaTensor {
  plan::BufferAttr buffer;
  int64_t first = 0, last = 0;
  /// Where the program makes it.
  mlir::Location loc;
  /// Null where a copy made it.
  mlir::RankedTensorType type;
};

/// What a plan keeps in the arena over time. It follows from the commands
/// alone.
struct MemoryProfile {
  /// In the order in which they are written. One that is written in place of
  /// another has its buffer, and both live during that command.
  llvm::SmallVector<ArenaTensor> tensors;
  /// For each command the bytes of the arena that are in use while it runs,
  /// each tensor rounded up to the alignment of the arena, shared bytes once.
  llvm::SmallVector<int64_t> liveBytes;
  /// The first command with the most live bytes.
  int64_t peakCommand = 0;

  /// The most bytes that live at one command: no arena for these commands is
  /// smaller.
  int64_t getBound() const {
    return liveBytes.empty() ? 0 : liveBytes[peakCommand];
  }
};

MemoryProfile profileMemory(plan::EntryOp entry);

/// A tensor that is in memory when an entry uses most.
struct PeakTensor {
  /// "param", "state", "optimizer", "counter", "input", "result", "constant",
  /// or "value" for what lies in the arena.
  std::string role;
  /// Of a variable, input or result.
  std::string name;
  int64_t bytes = 0;
  /// Null where only the bytes are known.
  mlir::RankedTensorType type;
  mlir::Location loc;
};

/// The `count` largest tensors in memory at the peak, variables and slots
/// included; of equal ones, those that come first in the plan.
llvm::SmallVector<PeakTensor> getLargestAtPeak(plan::EntryOp entry,
                                               const MemoryProfile &profile,
                                               unsigned count);

/// Writes the attribute `plan.peak` of an entry, with its five largest tensors.
void recordPeak(plan::EntryOp entry);

} // namespace tdsl

#endif // TDSL_PLANNING_MEMORYPROFILE_H
