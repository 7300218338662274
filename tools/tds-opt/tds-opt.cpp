//===- tds-opt.cpp - the pass driver -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Pipeline/Pipelines.h"
#include "tdsl/Support/PassStatistic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

#include "llvm/Support/CommandLine.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tdsl::registerAllDialects(registry);
  // What the emitters write, so that it can be read again.
  registry.insert<mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect,
                  mlir::scf::SCFDialect, mlir::vector::VectorDialect,
                  mlir::LLVM::LLVMDialect, mlir::NVVM::NVVMDialect>();
  tdsl::registerAllPasses();
  auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv, "TDS pass driver\n", registry);
  // An LLVM without statistics prints an empty report for it.
  bool countsPasses = llvm::cl::getRegisteredOptions()
                          .lookup("mlir-pass-statistics")
                          ->getNumOccurrences() > 0;
  int code = mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, input, output, registry));
  if (countsPasses)
    tdsl::printPassStatistics(llvm::errs());
  return code;
}
