//===- CountOperations.cpp - how much a kernel computes -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Artifact/CountOperations.h"

#include "tdsl/Dialect/TDS/AttentionBand.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

static constexpr int64_t kMost = (int64_t(1) << 53) - 1;

static int64_t times(int64_t a, int64_t b) {
  int64_t product;
  return llvm::MulOverflow(a, b, product) ? kMost : std::min(product, kMost);
}

static int64_t countPoints(ArrayRef<int64_t> extents) {
  int64_t count = 1;
  for (int64_t extent : extents)
    count = times(count, extent);
  return count;
}

static bool isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

static bool computes(Operation &op) {
  return op.hasTrait<tds::ElementwiseOp>() && isFloat(op.getResult(0)) &&
         !isa<SelectOp, CastOp, StopGradientOp>(op);
}

static int64_t countBody(Block &body) { return llvm::count_if(body, computes); }

/// An attention with products over the depth and over the width of the heads,
/// of the pairs that its mask leaves.
/// Each weight is a difference, an exp and a quotient, or two with a product.
template <typename Op>
static int64_t countAttention(Op op, int64_t byDepth, int64_t byWidth) {
  int64_t pairs =
      times(countPoints(op.getBatch()),
            getBand(op).countPairs(op.getNumQueries(), op.getNumKeys()));
  int64_t body = 4;
  for (Region &region : op->getRegions())
    body += countBody(region.front());
  return times(pairs,
               2 * (byDepth * op.getDepth() + byWidth * op.getWidth()) + body);
}

/// Kernels hold nothing else (kernel_c1).
static int64_t countOperation(Operation &op) {
  return llvm::TypeSwitch<Operation &, int64_t>(op)
      .Case([](GenericOp generic) {
        bool reduces = generic.hasReduction() && isFloat(generic.getResult());
        return times(countPoints(generic.getExtents()),
                     times(countPoints(generic.getReduceExtents()),
                           countBody(*generic.getBlock()) + reduces));
      })
      .Case([](ScatterOp scatter) {
        return times(countPoints(scatter.getExtents()),
                     countBody(*scatter.getBlock()) +
                         isFloat(scatter.getResult()));
      })
      .Case([](ContractOp contract) {
        if (!isFloat(contract.getResult()))
          return int64_t(0);
        int64_t terms = 1;
        for (auto [axis, extent] : contract.getExtentOfAxis())
          terms = times(terms, extent);
        return times(terms, 2);
      })
      .Case([](AttentionOp op) { return countAttention(op, 1, 1); })
      .Case([](AttentionGradOp op) { return countAttention(op, 4, 3); })
      .Case([](KernelOp part) { return countFloatOperations(part); })
      .Default([](Operation &) { return int64_t(0); });
}

int64_t tdsl::countFloatOperations(KernelOp kernel) {
  int64_t total = 0;
  for (Operation &op : kernel.getBody().front())
    total = std::min(kMost, total + countOperation(op));
  return total;
}
