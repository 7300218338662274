//===- WideVectors.h - code for registers of 512 bits -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code for x86-64-v3 may hold functions for x86-64-v4 too and take them where
// the processor has what they need. Both give the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_TARGET_CPU_WIDEVECTORS_H
#define TDSL_LIB_TARGET_CPU_WIDEVECTORS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace tdsl::cpu {

/// What a function for x86-64-v4 has as its `passthrough` attribute.
mlir::ArrayAttr wideVectorAttributes(mlir::Builder &builder);

/// A function without parameters that returns (i1) whether the processor and
/// the system have x86-64-v4's registers. It asks once and keeps the answer in
/// the byte `tds_wide_vectors` of the object: 0 not asked, 1 no, 2 yes.
mlir::LLVM::LLVMFuncOp getHasWideVectors(mlir::ModuleOp module);

} // namespace tdsl::cpu

#endif // TDSL_LIB_TARGET_CPU_WIDEVECTORS_H
