//===- tds-translate.cpp - kernels to target code, for tests -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a module of outlined kernels (private functions that hold one
// tds.kernel) and prints the code of a target. Kernels without a schedule get
// the target's choice.
//
//===----------------------------------------------------------------------===//

#include "tdsl/Dialect/TDS/TDSOps.h"
#include "tdsl/Target/GPU/GPUTarget.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mlir/Tools/mlir-translate/Translation.h"

#include "llvm/Support/CommandLine.h"

static llvm::cl::opt<std::string> archName("arch",
                                           llvm::cl::desc("GPU architecture"),
                                           llvm::cl::init("sm_80"));
static llvm::cl::opt<bool>
    printLLVM("print-llvm",
              llvm::cl::desc("print the optimised LLVM IR instead"));

static llvm::LogicalResult translate(mlir::Operation *op,
                                     llvm::raw_ostream &os) {
  auto module = llvm::cast<mlir::ModuleOp>(op);
  const tdsl::gpu::Arch *arch = tdsl::gpu::lookupArch(archName);
  if (!arch)
    return module.emitError("unknown architecture ") << archName;
  module.walk([](tdsl::tds::KernelOp kernel) {
    if (!kernel->hasAttr("schedule"))
      kernel->setAttr("schedule", tdsl::gpu::selectSchedule(kernel));
  });
  std::string llvmText;
  llvm::FailureOr<std::string> ptx =
      tdsl::gpu::compileKernels(module, *arch, /*manifest=*/{}, &llvmText);
  if (failed(ptx))
    return llvm::failure();
  os << (printLLVM ? llvmText : *ptx);
  return llvm::success();
}

int main(int argc, char **argv) {
  mlir::TranslateFromMLIRRegistration toPTX(
      "tds-to-ptx", "outlined kernels to PTX", translate,
      [](mlir::DialectRegistry &registry) {
        registry.insert<tdsl::tds::TDSDialect, mlir::func::FuncDialect>();
      });
  return failed(mlir::mlirTranslateMain(argc, argv, "TDS translation tool\n"));
}
