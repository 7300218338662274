//===- TranslatePTX.h - LLVM-dialect kernels to PTX text -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TARGET_GPU_TRANSLATEPTX_H
#define TDSL_TARGET_GPU_TRANSLATEPTX_H

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace tdsl::gpu {

/// What tdsl knows of a GPU architecture.
struct Arch {
  llvm::StringRef name;   ///< "sm_80"; "sm_90a" for architecture-specific code
  int computeCapability;  ///< 80
  llvm::StringRef ptxIsa; ///< the lowest PTX ISA version that has it, "7.0"
  int minDriver;          ///< least driver that reads this PTX ISA, as
                          ///< cuDriverGetVersion prints it: 11000
};

/// The architectures that code can be made for, lowest first.
llvm::ArrayRef<Arch> getArchs();

/// The architecture of this name; null where there is none.
const Arch *lookupArch(llvm::StringRef name);

/// Translates `module` (only llvm and nvvm dialect operations) to PTX text for
/// `arch`. With `llvmText` also gives the LLVM IR after optimisation. On
/// failure an error is emitted at the module's location.
llvm::FailureOr<std::string> translateToPTX(mlir::ModuleOp module,
                                            const Arch &arch,
                                            std::string *llvmText = nullptr);

} // namespace tdsl::gpu

#endif // TDSL_TARGET_GPU_TRANSLATEPTX_H
