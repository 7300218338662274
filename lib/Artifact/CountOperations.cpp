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

/// The pairs that the mask of an attention leaves.
template <typename Op> static int64_t countPairs(Op op) {
  return times(countPoints(op.getBatch()),
               getBand(op).countPairs(op.getNumQueries(), op.getNumKeys()));
}

namespace {
/// What an attention multiplies for each pair, and the types of the factors.
struct PairProduct {
  int64_t operations;
  Type lhs, rhs;
};
} // namespace

/// What is computed of queries and keys has the type of the sums, unless the
/// operation says that it is rounded.
template <typename Op> static SmallVector<PairProduct> getPairProducts(Op op) {
  int64_t depth = 2 * op.getDepth(), width = 2 * op.getWidth();
  auto typeOf = [](Value value) {
    return getElementTypeOrSelf(value.getType());
  };
  Type query = typeOf(op.getQuery()), key = typeOf(op.getKey()),
       value = typeOf(op.getValue());
  bool isNarrow = op.getNarrowFactors();
  Type weight = isNarrow || op.getNarrowWeights() ? value : op.getComputeType();
  if constexpr (std::is_same_v<Op, AttentionOp>) {
    return {{depth, query, key}, {width, weight, value}};
  } else {
    // Queries and keys each compute scores and weights for themselves.
    Type adjoint = typeOf(op.getAdjoint()),
         slope = isNarrow ? value : op.getComputeType();
    return {{2 * depth, query, key},
            {2 * width, adjoint, value},
            {depth, slope, key},
            {depth, slope, query},
            {width, weight, adjoint}};
  }
}

/// Each weight is a difference, an exp and a quotient, or two with a product.
template <typename Op> static int64_t countAttention(Op op) {
  int64_t each = 4;
  for (Region &region : op->getRegions())
    each += countBody(region.front());
  for (const PairProduct &product : getPairProducts(op))
    each += product.operations;
  return times(countPairs(op), each);
}

static int64_t countContraction(ContractOp contract) {
  int64_t terms = 1;
  for (auto [axis, extent] : contract.getExtentOfAxis())
    terms = times(terms, extent);
  return times(terms, 2);
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
        return isFloat(contract.getResult()) ? countContraction(contract) : 0;
      })
      .Case([](AttentionOp op) { return countAttention(op); })
      .Case([](AttentionGradOp op) { return countAttention(op); })
      .Case([](KernelOp part) { return countFloatOperations(part); })
      .Default([](Operation &) { return int64_t(0); });
}

int64_t tdsl::countFloatOperations(KernelOp kernel) {
  int64_t total = 0;
  for (Operation &op : kernel.getBody().front())
    total = std::min(kMost, total + countOperation(op));
  return total;
}

int64_t tdsl::countProducts(KernelOp kernel, Type type) {
  auto countPairsOf = [&](auto op) {
    int64_t each = 0;
    for (const PairProduct &product : getPairProducts(op))
      if (product.lhs == type && product.rhs == type)
        each += product.operations;
    return times(countPairs(op), each);
  };
  int64_t total = 0;
  kernel.walk([&](Operation *op) {
    int64_t count =
        llvm::TypeSwitch<Operation *, int64_t>(op)
            .Case([&](ContractOp contract) {
              bool isOf = llvm::all_of(
                  ValueRange{contract.getLhs(), contract.getRhs()},
                  [&](Value factor) {
                    return getElementTypeOrSelf(factor.getType()) == type;
                  });
              return isOf ? countContraction(contract) : 0;
            })
            .Case<AttentionOp, AttentionGradOp>(countPairsOf)
            .Default([](Operation *) { return int64_t(0); });
    total = std::min(kMost, total + count);
  });
  return total;
}
