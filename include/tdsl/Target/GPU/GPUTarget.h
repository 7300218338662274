//===- GPUTarget.h - kernels to PTX -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TARGET_GPU_GPUTARGET_H
#define TDSL_TARGET_GPU_GPUTARGET_H

#include "tdsl/Target/GPU/TranslatePTX.h"

#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/IR/OwningOpRef.h"

namespace tdsl::target {
class UnitStore;
} // namespace tdsl::target

namespace tdsl::gpu {

/// The schedule of a kernel: `grid`, `block` (array<i64: x, y, z>) and `shared`
/// (bytes of shared memory a block uses), and
/// - loop: `collapse`, how many of the last axes are walked as one, and
/// `vector`, the consecutive points a thread computes (what is left over goes
/// point by point);
/// - row: `strategy` ("block": a row is shared by `threads` threads of a block
/// that holds `rows` rows; "serial": a thread computes a row alone) and
/// `vector`;
/// - contract: `tile_m`, `tile_n`, `tile_k`, and `thread_m`, `thread_n`, the
/// part of the tile that one thread accumulates;
/// - scatter: `parts`, into how many ranges the first computed axis of the
/// result is cut;
/// - parts: nothing more; each part has a schedule with as many threads a
/// block.
mlir::DictionaryAttr selectSchedule(tds::KernelOp kernel);

/// Every outlined kernel of `plan` (private functions that hold one
/// `tds.kernel` with a schedule) as a function in the arith, scf, llvm and nvvm
/// dialects, in a module of its own.
llvm::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
emitKernels(mlir::ModuleOp plan);

/// The same as one PTX module for `arch`, compiled in units of which `store`,
/// where it is not null, may have some (CodeUnits.h). A manifest
/// that is not empty is tied to the code: its SHA-256 becomes the global
/// `tds_plan_sha256` (docs/Artifact.md). `llvmText` receives the optimised LLVM
/// IR where it is not null, for which all is compiled.
llvm::FailureOr<std::string> compileKernels(mlir::ModuleOp plan,
                                            const Arch &arch,
                                            llvm::StringRef manifest = {},
                                            std::string *llvmText = nullptr,
                                            target::UnitStore *store = nullptr);

/// PTX with the global `tds_plan_sha256`, which ties it to its manifest.
std::string addPlanHash(llvm::StringRef ptx, llvm::StringRef manifest);

} // namespace tdsl::gpu

#endif // TDSL_TARGET_GPU_GPUTARGET_H
