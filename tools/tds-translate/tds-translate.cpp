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

static llvm::cl::OptionCategory category("Options of tds-translate");
static llvm::cl::opt<std::string> archName("arch", llvm::cl::cat(category),
                                           llvm::cl::desc("GPU architecture"),
                                           llvm::cl::init("sm_80"));
static llvm::cl::opt<bool>
    printLLVM("print-llvm", llvm::cl::cat(category),
              llvm::cl::desc("print the optimised LLVM IR instead"));

/// LLVM registers hundreds of options of its own; users see ours and those that
/// choose a translation and its files.
static void hideOtherOptions() {
  for (auto &[name, option] : llvm::cl::getRegisteredOptions()) {
    bool isOurs = llvm::is_contained(option->Categories, &category);
    bool isCommon = name == "o" || name == "help" || name == "version" ||
                    name == "split-input-file" ||
                    name == "verify-diagnostics" || name.starts_with("tds-");
    if (!isOurs && !isCommon)
      option->setHiddenFlag(llvm::cl::ReallyHidden);
  }
}

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
  hideOtherOptions();
  return failed(mlir::mlirTranslateMain(argc, argv, "TDS translation tool\n"));
}
