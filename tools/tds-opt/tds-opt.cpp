//===- tds-opt.cpp - the pass driver -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Autodiff/Autodiff.h"
#include "tdsl/Autodiff/Passes.h"
#include "tdsl/Dialect/Plan/PlanOps.h"
#include "tdsl/Dialect/TDS/TDSDialect.h"
#include "tdsl/Fusion/Passes.h"
#include "tdsl/Planning/Passes.h"
#include "tdsl/Transforms/Passes.h"

#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<tdsl::tds::TDSDialect, tdsl::plan::PlanDialect, mlir::func::FuncDialect>();
  mlir::func::registerInlinerExtension(registry);
  tdsl::autodiff::registerAutodiffModels(registry);
  mlir::registerTransformsPasses();
  tdsl::registerTransformsPasses();
  tdsl::autodiff::registerAutodiffPasses();
  tdsl::registerFusionPasses();
  tdsl::registerTDSLPlanningPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "TDS pass driver\n", registry));
}
