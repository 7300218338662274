//===- CompileCPU.h - kernels to a shared object -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a module with outlined kernels (OutlinedKernel in KernelAnalysis.h, with
// a schedule for the CPU on each) to a shared object: llvm dialect, LLVM IR,
// object code, link by liblld in this process. Kernels have the ABI
//
//     void k(void *const *buf, const int64_t *size,
//            int64_t first, int64_t last, void *scratch)
//
// and the object needs no symbol from anywhere.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TARGET_CPU_COMPILECPU_H
#define TDSL_TARGET_CPU_COMPILECPU_H

#include "tdsl/Dialect/TDS/TDSOps.h"
#include "tdsl/Target/CPU/CPUTarget.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace tdsl::cpu {

struct CPUOptions {
  /// See CPUTarget.
  std::string arch = "x86-64-v3";
  /// Where not empty: writes `<prefix>.ll` (optimised IR), `<prefix>.s` and
  /// `<prefix>.o` as well.
  std::string saveTemps;
};

/// Sets `schedule` on a kernel for the CPU. Fails after an error at the kernel.
mlir::LogicalResult selectSchedule(tds::KernelOp kernel,
                                   const CPUTarget &target);

/// The kernels of `plan` as a module of the llvm dialect. Structured control
/// flow is already lowered; every llvm.func without internal linkage is a
/// kernel.
mlir::OwningOpRef<mlir::ModuleOp> lowerToLLVMDialect(mlir::ModuleOp plan,
                                                     const CPUTarget &target);

/// The same as optimised LLVM IR, with target attributes set. Null after an
/// error.
std::unique_ptr<llvm::Module> emitLLVM(mlir::ModuleOp plan,
                                       const CPUTarget &target,
                                       llvm::LLVMContext &context);

/// The kernels of `plan` as object code, which depends on them and the options
/// only. Schedules kernels that have no schedule yet. Fails after an error in
/// the module's diagnostics.
mlir::LogicalResult compileObject(mlir::ModuleOp plan,
                                  const CPUOptions &options,
                                  llvm::SmallVectorImpl<char> &object);

/// Links such code; `manifest` becomes the section `.tds.manifest`, its hash
/// the constant `tds_plan_sha256`.
llvm::Error linkProgram(llvm::StringRef object, llvm::StringRef manifest,
                        llvm::SmallVectorImpl<char> &sharedObject);

/// Compiles the kernels of `plan` and links them; `manifest` becomes the
/// section
/// `.tds.manifest`. Schedules kernels that have no schedule yet. Fails after an
/// error in the module's diagnostics.
mlir::LogicalResult compileCPU(mlir::ModuleOp plan, const CPUOptions &options,
                               llvm::StringRef manifest,
                               llvm::SmallVectorImpl<char> &sharedObject);

/// Registers the dialects and translations that the functions above load.
void registerCPUTarget(mlir::DialectRegistry &registry);

} // namespace tdsl::cpu

#endif // TDSL_TARGET_CPU_COMPILECPU_H
