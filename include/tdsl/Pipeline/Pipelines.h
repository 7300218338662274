//===- Pipelines.h - which passes run, in which order -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_PIPELINE_PIPELINES_H
#define TDSL_PIPELINE_PIPELINES_H

#include "tdsl/Pipeline/FastMath.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"

namespace tdsl {

/// The options of all pipelines; drivers fill it, passes never read global
/// state.
struct PipelineOptions {
  bool fusion = true; ///< join operations into kernels
  /// Name or file of the target description; empty: the one that the
  /// architecture is taken for.
  std::string targetDescription;
  bool guardGathers =
      true; ///< report gathers out of range; off under --unchecked
  bool checkNumerics = false; ///< report where a NaN or infinity comes from
  /// "bf16" or "f16": what contractions multiply and activations are stored in
  /// (tds-mixed-precision); f16 with loss scaling. Empty: as the program says.
  std::string amp;
  FastMath fastMath;
  /// buildEntryPipeline has run, and steps name their micro-batches (--accum).
  bool accumulate = false;
  /// How many segments of the forward passes are computed again, and how many
  /// neighbours of these at a time (tds-recompute-segments); negative: the pass
  /// does not run.
  int64_t recompute = -1, recomputeJoin = 1;
};

/// Every dialect, interface and external model that the pipelines need.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers every pass and pipeline by its flag, for tds-opt.
void registerAllPasses();

/// Makes loops of equal layers where there are `minLayers` or more, with
/// `minOps` operations; 0 layers: nothing. What the front end emits comes here
/// first.
void buildLayerPipeline(mlir::OpPassManager &manager, int64_t minLayers,
                        int64_t minOps = 0);

/// From what the front end emits to entries with all the results and variables
/// that they will have: the first part of the pipeline below.
void buildEntryPipeline(mlir::OpPassManager &manager,
                        const PipelineOptions &options);

/// From what the front end emits to differentiated, cleaned up tds functions.
void buildDifferentiationPipeline(mlir::OpPassManager &manager,
                                  const PipelineOptions &options);

/// From differentiated functions to `tds.kernel`s with the schedules of a
/// target: a CPU level or a GPU architecture.
void buildKernelPipeline(mlir::OpPassManager &manager,
                         const PipelineOptions &options,
                         llvm::StringRef target);

/// From kernels with schedules to a plan.
void buildPlanningPipeline(mlir::OpPassManager &manager);

} // namespace tdsl

#endif // TDSL_PIPELINE_PIPELINES_H
