//===- CheckInputs.cpp - random arguments for a gradient check -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckInputs.h"

#include "tdsl/Dialect/TDS/Evaluate.h"
#include "tdsl/Dialect/TDS/TDSOps.h"

#include <cmath>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;
using namespace tdsl::autodiff;

/// Range of an integer of which nothing is known: small, as labels are.
static constexpr int64_t kSmallBound = 4;

double autodiff::drawUniform(Random &random, double low, double high) {
  return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
}

reference::Tensor autodiff::drawTensor(RankedTensorType type, Random &random,
                                       FloatDomain domain, int64_t bound,
                                       double scale) {
  auto kind = getElementKind(type.getElementType());
  reference::Tensor tensor(*kind, type.getShape());
  if (bound == 0)
    bound = *kind == reference::ElementKind::Bool ? 2
            : *kind == reference::ElementKind::U8 ? 256
                                                  : kSmallBound;
  for (int64_t i = 0; i < tensor.numElements(); ++i) {
    if (!reference::isFloat(*kind)) {
      tensor.set(i, static_cast<int64_t>(random() % bound));
      continue;
    }
    double value = 0;
    switch (domain) {
    case FloatDomain::Signed:
      value = drawUniform(random, -1, 1);
      break;
    case FloatDomain::Positive:
      value = drawUniform(random, 0.1, 1);
      break;
    case FloatDomain::AboveOne:
      value = drawUniform(random, 1.1, 2);
      break;
    }
    tensor.set(i, value * scale);
  }
  return tensor;
}

//===----------------------------------------------------------------------===//
// Ranges of indices
//===----------------------------------------------------------------------===//

namespace {
/// Finds the arguments that integers come from.
class SourceTracer {
public:
  SourceTracer(func::FuncOp function, SmallVectorImpl<int64_t> &bounds)
      : function(function), bounds(bounds) {}

  /// `value` is used as an index below `extent`.
  void limit(Value value, int64_t extent) {
    seen.clear();
    trace(value, extent);
  }

private:
  void trace(Value value, int64_t extent) {
    if (!seen.insert(value).second)
      return;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      unsigned number = argument.getArgNumber();
      auto fold = dyn_cast<FoldOp>(argument.getOwner()->getParentOp());
      if (fold && number > 0) {
        trace(fold->getOperand(number - 1), extent);
        if (number <= fold.getNumCarried())
          trace(fold.getYielded()[number - 1], extent);
      }
      if (argument.getOwner() != &function.getBody().front())
        return;
      int64_t &bound = bounds[argument.getArgNumber()];
      bound = bound == 0 ? extent : std::min(bound, extent);
      return;
    }
    Operation *op = value.getDefiningOp();
    if (auto fold = dyn_cast<FoldOp>(op)) {
      unsigned number = cast<OpResult>(value).getResultNumber();
      if (number < fold.getNumCarried())
        trace(fold.getInits()[number], extent);
      return trace(fold.getYielded()[number], extent);
    }
    if (auto generic = dyn_cast<GenericOp>(op))
      return trace(generic.getYielded(), extent);
    if (auto read = dyn_cast<ReadOp>(op))
      return trace(read.getTensor(), extent);
    for (Value operand : op->getOperands())
      if (getElementTypeOrSelf(operand.getType()).isIntOrIndex())
        trace(operand, extent);
  }

  func::FuncOp function;
  SmallVectorImpl<int64_t> &bounds;
  llvm::DenseSet<Value> seen;
};
} // namespace

static SmallVector<int64_t> findBounds(func::FuncOp function) {
  SmallVector<int64_t> bounds(function.getNumArguments(), 0);
  SourceTracer tracer(function, bounds);
  function.walk([&](Operation *op) {
    auto limit = [&](ValueRange indices, ArrayRef<int64_t> shape) {
      for (auto [index, extent] : llvm::zip(indices, shape))
        if (!isa<BlockArgument>(index))
          tracer.limit(index, std::max<int64_t>(extent, 1));
    };
    if (auto read = dyn_cast<ReadOp>(op))
      limit(read.getIndices(), read.getTensorType().getShape());
    else if (auto scatter = dyn_cast<ScatterOp>(op))
      limit(scatter.getYieldedIndices(), scatter.getType().getShape());
  });
  return bounds;
}

std::vector<reference::Tensor> autodiff::drawArguments(func::FuncOp function,
                                                       Random &random,
                                                       FloatDomain domain) {
  SmallVector<int64_t> bounds = findBounds(function);
  std::vector<reference::Tensor> arguments;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    // Weights are scaled by their fan-in, as an initialiser would, so that sums
    // stay of order one and nothing saturates.
    double scale = 1;
    bool isVariable = !!function.getArgAttr(i, attr::kVariable);
    int64_t count = tensor.getNumElements();
    if (isVariable && tensor.getRank() >= 2 && count > 0 &&
        domain == FloatDomain::Signed)
      scale = std::sqrt(3.0 * tensor.getShape().back() / count);
    // Scalars are rates and scales.
    FloatDomain own = tensor.getRank() == 0 && domain == FloatDomain::Signed
                          ? FloatDomain::Positive
                          : domain;
    arguments.push_back(drawTensor(tensor, random, own, bounds[i], scale));
  }
  return arguments;
}
