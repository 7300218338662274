//===- GenericRule.h - derivative of tds.generic -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_AUTODIFF_GENERICRULE_H
#define TDSL_LIB_AUTODIFF_GENERICRULE_H

#include "AdjointBuilder.h"

namespace tdsl::autodiff {

/// The rule of a generic: adjoints of the tensors `inputs` that its body reads.
/// `result` is the value that stands for the generic's result.
llvm::LogicalResult buildGenericAdjoints(
    AdjointBuilder &emit, tds::GenericOp generic, mlir::Value result,
    mlir::Value adjoint, llvm::ArrayRef<mlir::Value> inputs,
    llvm::ArrayRef<bool> needed, llvm::SmallVectorImpl<mlir::Value> &adjoints);

} // namespace tdsl::autodiff

#endif // TDSL_LIB_AUTODIFF_GENERICRULE_H
