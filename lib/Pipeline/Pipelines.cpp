//===- Pipelines.cpp - which passes run, in which order -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Pipeline/Pipelines.h"

#include "tdsl/Autodiff/Autodiff.h"
#include "tdsl/Autodiff/Passes.h"
#include "tdsl/Dialect/Plan/PlanOps.h"
#include "tdsl/Dialect/TDS/TDSOps.h"
#include "tdsl/Fusion/Passes.h"
#include "tdsl/Fusion/TargetDescription.h"
#include "tdsl/Planning/Passes.h"
#include "tdsl/Target/CPU/CompileCPU.h"
#include "tdsl/Target/GPU/GPUTarget.h"
#include "tdsl/Target/Passes.h"
#include "tdsl/Transforms/Passes.h"

#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace tdsl;

void tdsl::registerAllDialects(DialectRegistry &registry) {
  registry.insert<tds::TDSDialect, plan::PlanDialect, func::FuncDialect>();
  func::registerInlinerExtension(registry);
  autodiff::registerAutodiffModels(registry);
  cpu::registerCPUTarget(registry);
}

void tdsl::registerAllPasses() {
  mlir::registerTransformsPasses();
  tdsl::registerTransformsPasses();
  autodiff::registerAutodiffPasses();
  registerFusionPasses();
  registerTDSLPlanningPasses();
  registerTDSLTargetPasses();
}

void tdsl::buildLayerPipeline(OpPassManager &manager, int64_t minLayers,
                              int64_t minOps) {
  // Before anything else: calls of layers and derivatives by their variables
  // are what shows that layers are equal.
  if (minLayers != 0)
    manager.addPass(createRollLayersPass({minLayers, minOps}));
}

void tdsl::buildEntryPipeline(OpPassManager &manager,
                              const PipelineOptions &options) {
  // Derivatives are taken of whole functions: calls go first, but those with a
  // derivative of their own stay until it has been used.
  manager.addPass(autodiff::createInlineCallsPass());
  if (options.amp == "f16") {
    ScaleLossesPassOptions scaling;
    scaling.checkNumerics = options.checkNumerics;
    manager.addPass(createScaleLossesPass(scaling));
  }
}

/// Rewrites that are no canonicalisation: they change bits of floats where that
/// is allowed, or look at more than an operation and its operands.
static void addSimplifications(OpPassManager &manager,
                               const FastMath &fastMath) {
  if (fastMath.signedZeros || fastMath.finite || fastMath.reciprocal ||
      fastMath.reassociate) {
    RelaxMathPassOptions relaxed;
    relaxed.signedZeros = fastMath.signedZeros;
    relaxed.finite = fastMath.finite;
    relaxed.reciprocal = fastMath.reciprocal;
    relaxed.reassociate = fastMath.reassociate;
    manager.addNestedPass<func::FuncOp>(createRelaxMathPass(relaxed));
    manager.addPass(createCanonicalizerPass());
    manager.addPass(createCSEPass());
  }
  ReorderProductsPassOptions order;
  order.floats = fastMath.reassociate;
  manager.addNestedPass<func::FuncOp>(createReorderProductsPass(order));
}

void tdsl::buildDifferentiationPipeline(OpPassManager &manager,
                                        const PipelineOptions &options) {
  if (options.accumulate)
    manager.addPass(createAccumulatePass());
  else
    buildEntryPipeline(manager, options);
  manager.addPass(createCanonicalizerPass());
  // What is computed twice would be differentiated twice.
  manager.addPass(createCSEPass());
  manager.addNestedPass<func::FuncOp>(createBatchFoldsPass());
  // Its derivative is not that of its parts. Checks want to see each part.
  if (options.fusion && !options.checkNumerics)
    manager.addNestedPass<func::FuncOp>(createRecogniseAttentionPass());
  if (options.recompute >= 0) {
    RecomputeSegmentsPassOptions recompute;
    recompute.count = options.recompute;
    recompute.join = options.recomputeJoin;
    manager.addPass(createRecomputeSegmentsPass(recompute));
  }
  bool isMixed = !options.amp.empty();
  if (options.checkNumerics || isMixed) {
    MarkPhasesPassOptions marks;
    marks.updatesOnly = !options.checkNumerics;
    manager.addPass(createMarkPhasesPass(marks));
  }
  manager.addPass(autodiff::createDifferentiatePass());
  if (options.checkNumerics || isMixed) {
    // Only what is computed is to be checked and rounded, and what is computed
    // twice is rounded once.
    manager.addPass(createCanonicalizerPass());
    manager.addPass(createCSEPass());
  }
  if (isMixed) {
    MixedPrecisionPassOptions mixed;
    mixed.type = options.amp;
    mixed.keepPhases = options.checkNumerics;
    manager.addPass(createMixedPrecisionPass(mixed));
  }
  if (options.guardGathers || options.checkNumerics) {
    GuardGathersPassOptions guards;
    guards.gathers = options.guardGathers;
    guards.numerics = options.checkNumerics;
    manager.addPass(createGuardGathersPass(guards));
  }
  // The reverse sweep recomputes what the forward pass has, and leaves what
  // nobody asked for.
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  addSimplifications(manager, options.fastMath);
  manager.addPass(createSymbolDCEPass());
}

void tdsl::buildKernelPipeline(OpPassManager &manager,
                               const PipelineOptions &options,
                               StringRef target) {
  FusionOptions fusion;
  fusion.fuse = options.fusion;
  // A budget that has to be worked for.
  fusion.saveMemory = options.recompute > 0;
  fusion.target = options.targetDescription.empty()
                      ? TargetDescription::getNameFor(target)
                      : options.targetDescription;
  buildFusionPipeline(manager, fusion);
  SelectSchedulePassOptions schedule;
  bool isGPU = gpu::lookupArch(target) != nullptr;
  schedule.target = isGPU ? "cuda" : "cpu";
  if (!isGPU)
    schedule.arch = target.str();
  manager.addPass(createSelectSchedulePass(schedule));
}

void tdsl::buildPlanningPipeline(OpPassManager &manager) {
  manager.addPass(createPlanPass());
}
