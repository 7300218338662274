//===- GemmFunctions.h - the functions that multiply matrices -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All contractions of a module share these: sizes and strides are run-time
// arguments, only element types and the register tile are fixed.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_TARGET_CPU_GEMMFUNCTIONS_H
#define TDSL_LIB_TARGET_CPU_GEMMFUNCTIONS_H

#include "tdsl/Target/CPU/CPUTarget.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace tdsl::cpu {

/// What a multiplication is specialised for.
struct GemmVariant {
  /// Element types as in the dialect: of the operands, of the sums.
  mlir::Type in, sum;
  /// Rows and columns of C that one call of the inner loop holds in registers.
  unsigned rows, columns;
};

/// `C (+)= A B` for a tile of C:
///
///     gemm(A, B, C, packA, packB, m, n, k,
///          strideAm, strideAk, strideBn, strideBk, strideC, depth, accumulate)
///
/// in elements. Each element of C is one chain of fused multiply-adds over k in
/// rising order, from 0 or (accumulate != 0) from C, whatever the other
/// arguments. C is written up to the next multiples of rows and columns. packB
/// has room for depth x n rounded up to columns; where the types differ or A
/// has no unit stride along k, packA has room for depth x m rounded up to rows.
/// depth > 0 is how many steps of k are packed at once.
mlir::LLVM::LLVMFuncOp getGemm(mlir::ModuleOp module, const CPUTarget &target,
                               const GemmVariant &variant);

/// The same for one block of k and operands that are windows:
///
///     gemm(A, B, C, packA, packB, tableAk, tableBn, tableBk,
///          m, n, steps, strideAm, strideC, direct, fromC)
///
/// Element (i, k) of A is A[i * strideAm + tableAk[k]], or A[i * strideAm + k]
/// where direct != 0 and the types are equal; element (k, j) of B is
/// B[tableBk[k] + tableBn[j]]. Tables hold i32; tableBn goes on to the next
/// multiple of columns. packA and packB have room for `steps` x m and n,
/// rounded up. C is read where fromC != 0.
mlir::LLVM::LLVMFuncOp getIndexedGemm(mlir::ModuleOp module,
                                      const CPUTarget &target,
                                      const GemmVariant &variant);

} // namespace tdsl::cpu

#endif // TDSL_LIB_TARGET_CPU_GEMMFUNCTIONS_H
