//===- ExpandFMA.h - fused multiply-add without the instruction -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_LIB_TARGET_CPU_EXPANDFMA_H
#define TDSL_LIB_TARGET_CPU_EXPANDFMA_H

namespace llvm {
class Function;
class Module;
} // namespace llvm

namespace tdsl::cpu {

/// Replaces every f32 `llvm.fma` by arithmetic in f64 that has the same bits,
/// for processors that would call a library. Returns a function where an f64
/// one is left (nothing wider is there to compute it in), null where there is
/// none.
llvm::Function *expandFMA(llvm::Module &module);

} // namespace tdsl::cpu

#endif // TDSL_LIB_TARGET_CPU_EXPANDFMA_H
