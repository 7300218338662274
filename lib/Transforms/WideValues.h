//===- WideValues.h - what a narrow float may not hold -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of tds-mixed-precision: which values of f32 are not stored in 16 bits
// of their own accord.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_TRANSFORMS_WIDEVALUES_H
#define TDSL_LIB_TRANSFORMS_WIDEVALUES_H

#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tdsl {

/// The factors of the products that a generic sums, where that is a
/// contraction: each factor has a loop index of its own, and each summed index
/// is in both. A sum without these reads what it reads once and is bound by
/// memory.
tds::MulOp getProductOfContraction(tds::GenericOp generic);

/// Marks the operations of a function, and of its loops, that give values whose
/// range or precision is that of f32: operations that leave the range of f16
/// soon or lose what it cannot hold (exponentials, logarithms, powers and
/// squares, reciprocals, sums and products over axes), and element operations
/// of such values. Behind a contraction the range is that of its operands
/// again; a mean has that of its terms, and what is divided by a statistic, as
/// in a norm, its own. The list is that of PyTorch's autocast. Gradients of
/// scaled losses are not marked: where they overflow the scale shrinks.
void markWide(mlir::func::FuncOp function);

/// Takes the marks away.
void unmarkWide(mlir::func::FuncOp function);

/// Whether the operation that gives `value` is marked.
bool isWide(mlir::Value value);

/// Whether it is marked and would be if all that it reads were narrow.
bool isWideSource(mlir::Value value);

} // namespace tdsl

#endif // TDSL_LIB_TRANSFORMS_WIDEVALUES_H
