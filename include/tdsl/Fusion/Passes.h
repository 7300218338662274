//===- Passes.h - passes that turn graph operations into kernels -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_FUSION_PASSES_H
#define TDSL_FUSION_PASSES_H

#include "tdsl/Dialect/TDS/TDSDialect.h"
#include "tdsl/Support/PassStatistic.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace tdsl {

#define GEN_PASS_DECL
#include "tdsl/Fusion/Passes.h.inc"

struct FusionOptions {
  /// Join operations into kernels; otherwise each operation is a kernel of its
  /// own.
  bool fuse = true;
  /// Name or file of the target description that the cost model goes by.
  std::string target = "host-cpu";
  /// Contractions whose results are smaller than their operands do not wait for
  /// what an epilogue reads besides.
  bool saveMemory = false;
};

/// From differentiated, canonical tds functions to functions that hold nothing
/// but kernels, reshapes, constants and a return. Nests itself on `func.func`;
/// `manager` is anchored on the module.
void buildFusionPipeline(mlir::OpPassManager &manager,
                         const FusionOptions &options);

/// Registers the passes, and the pipeline as `tds-fusion-pipeline`.
void registerFusionPasses();

} // namespace tdsl

#endif // TDSL_FUSION_PASSES_H
