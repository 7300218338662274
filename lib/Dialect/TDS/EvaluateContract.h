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

} // namespace tdsl::tds

#endif // TDSL_LIB_DIALECT_TDS_EVALUATECONTRACT_H
