//===- BlockInputs.h - what an operation reads of its block -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_DIALECT_TDS_BLOCKINPUTS_H
#define TDSL_DIALECT_TDS_BLOCKINPUTS_H

#include "mlir/IR/Operation.h"

namespace tdsl::tds {

/// The values of its block that an operation reads, also inside of its regions,
/// each once, in the order in which they are met.
llvm::SmallVector<mlir::Value> getBlockInputs(mlir::Operation *op);

} // namespace tdsl::tds

#endif // TDSL_DIALECT_TDS_BLOCKINPUTS_H
