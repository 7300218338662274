//===- ShiftRandoms.h - random numbers of a micro-batch -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_TRANSFORMS_ACCUMULATION_SHIFTRANDOMS_H
#define TDSL_LIB_TRANSFORMS_ACCUMULATION_SHIFTRANDOMS_H

#include "mlir/IR/Operation.h"

namespace tdsl::accumulation {

/// Gives the rows of a micro-batch the random numbers that they have in the
/// whole batch. `copy` is a clone of `original`, an operation of the step for
/// the rows of a micro-batch, and `whole` the same operation of the step for
/// all rows. `iteration` is the number of the micro-batch, a rank-0 tensor of
/// i32 that is visible at `copy`; null for the last micro-batch, whose rows
/// are the last ones of the batch.
///
/// Reports random numbers that cannot be told apart by rows: those of a loop
/// over the rows, and those of functions that stay calls.
mlir::LogicalResult shiftRandoms(mlir::Operation *copy,
                                 mlir::Operation *original,
                                 mlir::Operation *whole, mlir::Value iteration);

} // namespace tdsl::accumulation

#endif // TDSL_LIB_TRANSFORMS_ACCUMULATION_SHIFTRANDOMS_H
