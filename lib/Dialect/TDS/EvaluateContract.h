//===- EvaluateContract.h - the value of a contraction -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_DIALECT_TDS_EVALUATECONTRACT_H
#define TDSL_LIB_DIALECT_TDS_EVALUATECONTRACT_H

#include "tdsl/Dialect/TDS/Evaluate.h"

namespace tdsl::tds {

/// Sums in the order of op.getReducedAxes(), the last one fastest.
llvm::Expected<reference::Tensor> evaluateContract(ContractOp op,
                                                   const reference::Tensor &lhs,
                                                   const reference::Tensor &rhs,
                                                   bool f64);

/// An operand with the axis numbers `axes`, as a tensor over the numbers
/// `order` in that order, converted to `kind`. An axis that it lacks is
/// repeated.
llvm::Expected<reference::Tensor>
arrangeAxes(const reference::Tensor &operand, llvm::ArrayRef<int64_t> axes,
            llvm::ArrayRef<int64_t> order,
            llvm::SmallDenseMap<int64_t, int64_t> &extents,
            reference::ElementKind kind);

/// arrangeAxes for an operand of `op`, which may be a window.
llvm::Expected<reference::Tensor>
arrangeOperand(ContractOp op, bool isLhs, const reference::Tensor &operand,
               llvm::ArrayRef<int64_t> order,
               llvm::SmallDenseMap<int64_t, int64_t> &extents,
               reference::ElementKind kind);

} // namespace tdsl::tds

#endif // TDSL_LIB_DIALECT_TDS_EVALUATECONTRACT_H
