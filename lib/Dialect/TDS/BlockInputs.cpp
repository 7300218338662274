//===- BlockInputs.cpp - what an operation reads of its block -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Dialect/TDS/BlockInputs.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

SmallVector<Value> tdsl::tds::getBlockInputs(Operation *op) {
  llvm::SetVector<Value> inputs;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (operand.getParentBlock() == op->getBlock())
        inputs.insert(operand);
  });
  return inputs.takeVector();
}
