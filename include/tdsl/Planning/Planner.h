//===- Planner.h - rules and checks of memory planning -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_PLANNING_PLANNER_H
#define TDSL_PLANNING_PLANNER_H

#include "tdsl/Dialect/Plan/PlanOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tdsl {

/// Whether output `output` of a kernel may share the buffer of input `input`:
/// the input is read, if at all, only by generics over the points of the kernel
/// and at the point's own element, which is the one that the output writes.
/// Of a `row` kernel what there is once a row may, when all threads of the row
/// have read; and an output over the points of its rows, which are written when
/// all reductions and values of the row are known, so that these may read
/// anything of their own row. `scatter` and the bare result of a contraction
/// may not.
bool mayShareBuffer(tds::KernelOp kernel, unsigned output, unsigned input);

/// Replays `plan` command by command over the bytes of its spaces and compares
/// it with `entry`, the function that was planned: every launch must find in
/// each input exactly the value that the kernel was given, and at the end every
/// result and variable must hold its value. Fails after an error at the command
/// that is wrong: the one that writes over bytes which are still needed, or the
/// one that reads what was never there. Independent of how the plan was made.
llvm::LogicalResult checkPlan(mlir::func::FuncOp entry, plan::EntryOp plan);

} // namespace tdsl

#endif // TDSL_PLANNING_PLANNER_H
