//===- KernelUse.cpp - what a kernel does with its buffers ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelUse.h"

#include "tdsl/Artifact/CountOperations.h"
#include "tdsl/Dialect/Plan/PlanOps.h"
#include "tdsl/Fusion/Bodies.h"
#include "tdsl/Fusion/KernelRules.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::plan;
using namespace tdsl::report;

/// The argument of the outermost kernel that a value is, or -1.
static int64_t getArgument(Value value, tds::KernelOp outermost) {
  while (auto argument = dyn_cast<BlockArgument>(value)) {
    auto kernel = dyn_cast<tds::KernelOp>(argument.getOwner()->getParentOp());
    if (!kernel)
      return -1;
    if (kernel == outermost)
      return argument.getArgNumber();
    value = kernel.getInputs()[argument.getArgNumber()];
  }
  return -1;
}

/// Marks the outputs among `values`, which `kernel` or a part of it yields,
/// that are results of its contraction or attention.
static void markResults(tds::KernelOp kernel, ValueRange values,
                        MutableArrayRef<bool> isResult) {
  for (Operation &op : kernel.getBlock()->without_terminator()) {
    if (auto contract = dyn_cast<tds::ContractOp>(op)) {
      int64_t count =
          cast<RankedTensorType>(contract.getType()).getNumElements();
      for (auto [value, mark] : llvm::zip_equal(values, isResult))
        if (cast<RankedTensorType>(value.getType()).getNumElements() == count) {
          mark = true;
          break;
        }
    } else if (isa<tds::AttentionGradOp>(op)) {
      for (auto [value, mark] : llvm::zip_equal(values, isResult))
        mark = mark || value.getDefiningOp() == &op;
    } else if (auto attention = dyn_cast<tds::AttentionOp>(op)) {
      for (auto [value, mark] : llvm::zip_equal(values, isResult))
        mark = mark || value == attention.getResult();
    } else if (auto part = dyn_cast<tds::KernelOp>(op)) {
      auto yielded = part.getBlock()->getTerminator()->getOperands();
      SmallVector<bool> marks(yielded.size(), false);
      markResults(part, yielded, marks);
      for (auto [value, mark] : llvm::zip_equal(values, isResult))
        if (value.getDefiningOp() == part)
          mark = marks[cast<OpResult>(value).getResultNumber()];
    }
  }
}

KernelUse report::getUse(tds::KernelOp kernel) {
  KernelUse use;
  auto outputs = kernel.getBlock()->getTerminator()->getOperands();
  use.isResult.assign(outputs.size(), false);
  markResults(kernel, outputs, use.isResult);
  use.flops = countFloatOperations(kernel);
  MLIRContext *context = kernel.getContext();
  use.f16Flops = countProducts(kernel, Float16Type::get(context));
  use.bf16Flops = countProducts(kernel, BFloat16Type::get(context));
  unsigned numInputs = kernel.getInputs().size();
  use.isFactor.assign(numInputs, false);
  // Of a tensor that is read at computed indices only, a gather, no more is
  // read than one element for each point.
  SmallVector<int64_t> gathered(numInputs, 0);
  SmallVector<bool> isWhole(numInputs, false);
  kernel.walk([&](Operation *op) {
    if (auto contract = dyn_cast<tds::ContractOp>(op)) {
      for (Value factor : {contract.getLhs(), contract.getRhs()})
        if (int64_t argument = getArgument(factor, kernel); argument >= 0)
          use.isFactor[argument] = isWhole[argument] = true;
      // What a factor is computed of stands in its place.
      for (auto generic : contract->getBlock()->getOps<tds::GenericOp>())
        if (isPrologue(generic))
          for (tds::ReadOp read : getReads(generic))
            if (int64_t argument = getArgument(read.getTensor(), kernel);
                argument >= 0)
              use.isFactor[argument] = true;
    } else if (isa<tds::AttentionOp, tds::AttentionGradOp>(op)) {
      for (Value operand : op->getOperands())
        if (int64_t argument = getArgument(operand, kernel); argument >= 0)
          use.isFactor[argument] = isWhole[argument] = true;
    } else if (auto read = dyn_cast<tds::ReadOp>(op)) {
      int64_t argument = getArgument(read.getTensor(), kernel);
      if (argument < 0)
        return;
      Operation *body = read->getParentOp();
      bool isGather = llvm::any_of(read.getIndices(), [&](Value index) {
        return !tds::getAffineIndex(index, read->getBlock()->getArguments());
      });
      if (isGather)
        gathered[argument] +=
            getNumPoints(body) *
            tds::getElementBytes(read.getTensorType().getElementType());
      else
        isWhole[argument] = true;
    }
  });
  for (auto [i, input] : llvm::enumerate(kernel.getInputs())) {
    int64_t bytes = getTensorBytes(input.getType());
    use.inputBytes.push_back(isWhole[i] ? bytes : std::min(bytes, gathered[i]));
  }
  llvm::DenseSet<Value> inner;
  for (auto part : kernel.getBlock()->getOps<tds::KernelOp>())
    for (Value input : part.getInputs())
      if (input.getDefiningOp() && inner.insert(input).second)
        use.innerBytes += getTensorBytes(input.getType());
  return use;
}
