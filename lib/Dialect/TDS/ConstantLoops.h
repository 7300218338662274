//===- ConstantLoops.h - loops whose operands are known -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_DIALECT_TDS_CONSTANTLOOPS_H
#define TDSL_LIB_DIALECT_TDS_CONSTANTLOOPS_H

#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/IR/PatternMatch.h"

namespace tdsl::tds {

/// Replaces a loop of constants by its results, where the iterations are few
/// enough to be run by the compiler and their bits depend on no order.
mlir::LogicalResult evaluateConstantLoop(FoldOp op,
                                         mlir::PatternRewriter &rewriter);

} // namespace tdsl::tds

#endif // TDSL_LIB_DIALECT_TDS_CONSTANTLOOPS_H
