//===- Pipeline.cpp - the fusion pipeline -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Fusion/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace tdsl;

namespace tdsl {
#define GEN_PASS_REGISTRATION
#include "tdsl/Fusion/Passes.h.inc"
} // namespace tdsl

void tdsl::buildFusionPipeline(OpPassManager &manager,
                               const FusionOptions &options) {
  OpPassManager &functions = manager.nest<func::FuncOp>();
  functions.addPass(createGeneralizePass());
  if (options.fuse) {
    functions.addPass(createMoveReshapesPass());
    functions.addPass(createRecogniseContractionsPass());
    functions.addPass(createSplitReductionsPass());
    functions.addPass(createInlineProducersPass());
    // Bodies that came together fold.
    functions.addPass(createCanonicalizerPass());
  }
  FormKernelsPassOptions formOptions;
  formOptions.fuse = options.fuse;
  functions.addPass(createFormKernelsPass(formOptions));
}

namespace {
struct FusionPipelineOptions
    : public PassPipelineOptions<FusionPipelineOptions> {
  Option<bool> fuse{*this, "fuse",
                    llvm::cl::desc("Join operations into kernels"),
                    llvm::cl::init(true)};
};
} // namespace

void tdsl::registerFusionPasses() {
  registerTDSLFusionPasses();
  PassPipelineRegistration<FusionPipelineOptions>(
      "tds-fusion-pipeline", "From differentiated tds functions to kernels",
      [](OpPassManager &manager, const FusionPipelineOptions &options) {
        FusionOptions fusion;
        fusion.fuse = options.fuse;
        buildFusionPipeline(manager, fusion);
      });
}
