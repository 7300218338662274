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
  GeneralizePassOptions generalizeOptions;
  generalizeOptions.steps = !options.fuse;
  functions.addPass(createGeneralizePass(generalizeOptions));
  if (options.fuse) {
    functions.addPass(createMoveReshapesPass());
    SplitStridesPassOptions strideOptions;
    strideOptions.target = options.target;
    functions.addPass(createSplitStridesPass(strideOptions));
    functions.addPass(createRecogniseContractionsPass());
    functions.addPass(createLayOutConstantsPass());
    // What fills the edges of windows reads reshapes, too.
    functions.addPass(createMoveReshapesPass());
    SplitReductionsPassOptions splitOptions;
    splitOptions.target = options.target;
    functions.addPass(createSplitReductionsPass(splitOptions));
    InlineProducersPassOptions inlineOptions;
    inlineOptions.target = options.target;
    functions.addPass(createInlineProducersPass(inlineOptions));
    // Bodies that came together fold.
    functions.addPass(createCanonicalizerPass());
  }
  FormKernelsPassOptions formOptions;
  formOptions.fuse = options.fuse;
  formOptions.saveMemory = options.saveMemory;
  formOptions.target = options.target;
  functions.addPass(createFormKernelsPass(formOptions));
  if (options.fuse) {
    FuseProloguesPassOptions prologueOptions;
    prologueOptions.target = options.target;
    functions.addPass(createFuseProloguesPass(prologueOptions));
    MergeKernelsPassOptions mergeOptions;
    mergeOptions.target = options.target;
    functions.addPass(createMergeKernelsPass(mergeOptions));
  }
}

namespace {
struct FusionPipelineOptions
    : public PassPipelineOptions<FusionPipelineOptions> {
  Option<bool> fuse{*this, "fuse",
                    llvm::cl::desc("Join operations into kernels"),
                    llvm::cl::init(true)};
  Option<std::string> target{
      *this, "target", llvm::cl::desc("Name or file of the target description"),
      llvm::cl::init("host-cpu")};
};
} // namespace

void tdsl::registerFusionPasses() {
  registerTDSLFusionPasses();
  PassPipelineRegistration<FusionPipelineOptions>(
      "tds-fusion-pipeline", "From differentiated tds functions to kernels",
      [](OpPassManager &manager, const FusionPipelineOptions &options) {
        FusionOptions fusion;
        fusion.fuse = options.fuse;
        fusion.target = options.target;
        buildFusionPipeline(manager, fusion);
      });
}
