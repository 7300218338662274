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
#include <string>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace tdsl::target {
class UnitStore;
} // namespace tdsl::target

namespace tdsl::cpu {

struct CPUOptions {
  /// See CPUTarget.
  std::string arch = "x86-64-v3";
  /// Where not empty: writes `<prefix>.ll` (optimised IR), `<prefix>.s` and
  /// `<prefix>.o` as well, each with all units in one.
  std::string saveTemps;
};

/// Sets `schedule` on a kernel for the CPU. Fails after an error at the kernel.
mlir::LogicalResult selectSchedule(tds::KernelOp kernel,
                                   const CPUTarget &target);

/// The kernels of `plan` as a module of the arith, scf and llvm dialects; every
/// llvm.func without internal linkage is a kernel.
mlir::OwningOpRef<mlir::ModuleOp> emitKernels(mlir::ModuleOp plan,
                                              const CPUTarget &target);

/// Lowers all that to the llvm dialect.
mlir::LogicalResult lowerControlFlow(mlir::ModuleOp module);

/// Both.
mlir::OwningOpRef<mlir::ModuleOp> lowerToLLVMDialect(mlir::ModuleOp plan,
                                                     const CPUTarget &target);

/// The kernels of `plan` as optimised LLVM IR, with target attributes set: what
/// `compileObjects` makes code of, joined. Null after an error.
std::unique_ptr<llvm::Module> emitLLVM(mlir::ModuleOp plan,
                                       const CPUTarget &target,
                                       llvm::LLVMContext &context);

/// The kernels of `plan` as object files, one for each unit (CodeUnits.h), of
/// which `store`, where it is not null, may have some. Schedules kernels that
/// have no schedule yet. Fails after an error in the module's diagnostics.
mlir::FailureOr<std::vector<std::string>>
compileObjects(mlir::ModuleOp plan, const CPUOptions &options,
               target::UnitStore *store = nullptr);

/// Links such code; `manifest` becomes the section `.tds.manifest`, its hash
/// the constant `tds_plan_sha256`.
llvm::Error linkProgram(llvm::ArrayRef<std::string> objects,
                        llvm::StringRef manifest,
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
