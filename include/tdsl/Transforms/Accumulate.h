//===- Accumulate.h - gradients of micro-batches -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `--accum=` does around the pass tds-accumulate: the program is compiled
// again for fewer rows, and its steps become functions of the module.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TRANSFORMS_ACCUMULATE_H
#define TDSL_TRANSFORMS_ACCUMULATE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LogicalResult.h"

namespace tdsl {

/// How the rows of a batch are split.
struct MicroBatches {
  int64_t rows = 0;  ///< of the whole batch
  int64_t micro = 0; ///< of each micro-batch but the last
  int64_t last = 0;  ///< of the last one, where it has fewer; else 0
};

/// How the steps of a program with all calls inlined are split into `parts`
/// micro-batches of at most ceil(rows / parts) rows. Fails with a diagnostic
/// where no step has a gradient, where one has no tensor input, or where there
/// are fewer rows than parts.
mlir::FailureOr<MicroBatches> getMicroBatches(mlir::ModuleOp module,
                                              int64_t parts);

/// Makes the steps of `part`, the same program for fewer rows, private
/// functions of `module` that the attributes `micro` or `last` of its steps
/// name, for tds-accumulate. What is left of `part` is of no use.
mlir::LogicalResult addMicroBatch(mlir::ModuleOp module, mlir::ModuleOp part,
                                  bool isLast);

} // namespace tdsl

#endif // TDSL_TRANSFORMS_ACCUMULATE_H
