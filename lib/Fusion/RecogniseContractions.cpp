//===- RecogniseContractions.cpp - sums of products as contractions -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Fusion/Bodies.h"
#include "tdsl/Fusion/Passes.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

namespace tdsl {
#define GEN_PASS_DEF_RECOGNISECONTRACTIONSPASS
#include "tdsl/Fusion/Passes.h.inc"
} // namespace tdsl

namespace {

/// The loop indices (by number) of a read whose indices are distinct loop
/// indices.
std::optional<SmallVector<int64_t>> getProjectedPermutation(ReadOp read,
                                                            Block *block) {
  if (read.getGuard() || read.getClamped())
    return std::nullopt;
  SmallVector<int64_t> axes;
  for (Value index : read.getIndices()) {
    auto argument = dyn_cast<BlockArgument>(index);
    if (!argument || argument.getOwner() != block ||
        llvm::is_contained(axes, argument.getArgNumber()))
      return std::nullopt;
    axes.push_back(argument.getArgNumber());
  }
  return axes;
}

/// One factor of the product: everything in the body that it is computed from.
struct Factor {
  Value value;
  llvm::SetVector<Operation *> ops;
  llvm::SmallBitVector indices;
  /// The read that the factor is, or null where it is more than a read.
  ReadOp read;

  Factor(Value value, Block *block)
      : value(value), indices(block->getNumArguments()) {
    collect(value, block);
    read = value.getDefiningOp<ReadOp>();
    if (read && !getProjectedPermutation(read, block))
      read = {};
  }

private:
  void collect(Value from, Block *block) {
    if (auto argument = dyn_cast<BlockArgument>(from)) {
      if (argument.getOwner() == block)
        indices.set(argument.getArgNumber());
      return;
    }
    Operation *op = from.getDefiningOp();
    if (op->getBlock() != block || ops.contains(op))
      return;
    for (Value operand : op->getOperands())
      collect(operand, block);
    ops.insert(op);
  }
};

/// What a factor that is no plain read may cost for each element; dearer ones
/// stay in the sum.
constexpr int64_t maxFactorCost = 64;

struct RecogniseContractionsPass
    : public tdsl::impl::RecogniseContractionsPassBase<
          RecogniseContractionsPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    Block &block = function.getBody().front();
    sinkScalars(block);
    for (auto generic : llvm::make_early_inc_range(block.getOps<GenericOp>()))
      recognise(generic);
    for (auto contract : llvm::make_early_inc_range(block.getOps<ContractOp>()))
      absorbTransposes(contract);
    for (auto contract : llvm::make_early_inc_range(block.getOps<ContractOp>()))
      absorbResultTranspose(contract);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (op.use_empty() && isa<GenericOp, ContractOp>(op))
        op.erase();
  }

  void recognise(GenericOp generic) {
    if (generic.getKind() != ReductionKind::Sum)
      return;
    auto product = generic.getYielded().getDefiningOp<MulOp>();
    if (!product)
      return;
    Block *block = generic.getBlock();
    Type element = generic.getType().getElementType();
    Value lhsValue = product.getLhs(), rhsValue = product.getRhs();
    // Casts from one type to its accumulator type belong to the contraction.
    auto lhsCast = lhsValue.getDefiningOp<CastOp>(),
         rhsCast = rhsValue.getDefiningOp<CastOp>();
    if (lhsCast && rhsCast) {
      Type from = lhsCast.getOperand().getType();
      if (from == rhsCast.getOperand().getType() && !from.isIndex() &&
          !from.isInteger(1) && getAccumulatorType(from) == element) {
        lhsValue = lhsCast.getOperand();
        rhsValue = rhsCast.getOperand();
      }
    }
    if (lhsValue.getType().isIndex() || lhsValue.getType().isInteger(1))
      return;
    // Products of narrow floats are rounded in the body, but not in a
    // contraction, which the definition of a sum allows; narrow integers would
    // wrap in the body only.
    if (lhsValue.getType() == element && isa<IntegerType>(element) &&
        getAccumulatorType(element) != element)
      return;
    Factor lhs(lhsValue, block), rhs(rhsValue, block);
    unsigned numParallel = generic.getNumParallel(),
             numIndices = block->getNumArguments();
    bool lhsOwn = false, rhsOwn = false;
    for (unsigned i = 0; i < numIndices; ++i) {
      if (!lhs.indices[i] && !rhs.indices[i])
        return;
      if (i >= numParallel) {
        if (!lhs.indices[i] || !rhs.indices[i])
          return;
        continue;
      }
      bool counts = generic.getExtents()[i] != 1;
      lhsOwn |= counts && !rhs.indices[i];
      rhsOwn |= counts && !lhs.indices[i];
    }
    if (!lhsOwn || !rhsOwn)
      return;
    SmallVector<int64_t> extents(generic.getExtents());
    llvm::append_range(extents, generic.getReduceExtents());
    // A factor that reads a smaller tensor in overlapping windows (a
    // convolution) would be written out many times over.
    if (expands(lhs, extents) || expands(rhs, extents))
      return;
    OpBuilder builder(generic);
    auto [left, lhsAxes] = getOperand(builder, generic, lhs, extents);
    auto [right, rhsAxes] = getOperand(builder, generic, rhs, extents);
    auto resultAxes = llvm::to_vector(llvm::seq<int64_t>(numParallel));
    auto contract =
        ContractOp::create(builder, generic.getLoc(), generic.getType(), left,
                           right, lhsAxes, rhsAxes, resultAxes);
    generic.replaceAllUsesWith(contract.getResult());
    generic.erase();
    ++numContractions;
  }

  static bool expands(const Factor &factor, ArrayRef<int64_t> extents) {
    if (factor.read)
      return false;
    int64_t points = 1, cost = 0, largest = 0;
    for (unsigned i : factor.indices.set_bits())
      points *= extents[i];
    for (Operation *op : factor.ops) {
      cost += getCost(op);
      if (auto read = dyn_cast<ReadOp>(op))
        largest = std::max(largest, read.getTensorType().getNumElements());
    }
    return points > 2 * largest || cost > maxFactorCost;
  }

  /// The factor as a tensor, and its axis numbers.
  std::pair<Value, SmallVector<int64_t>> getOperand(OpBuilder &builder,
                                                    GenericOp generic,
                                                    const Factor &factor,
                                                    ArrayRef<int64_t> extents) {
    if (factor.read)
      return {
          ReadOp(factor.read).getTensor(),
          *getProjectedPermutation(ReadOp(factor.read), generic.getBlock())};
    SmallVector<int64_t> axes, shape;
    for (unsigned i : factor.indices.set_bits()) {
      axes.push_back(i);
      shape.push_back(extents[i]);
    }
    auto type = RankedTensorType::get(shape, factor.value.getType());
    Value tensor = GenericOp::create(
        builder, generic.getLoc(), type, {}, std::nullopt,
        [&](OpBuilder &b, Location, ValueRange indices) -> Value {
          IRMapping mapping;
          for (auto [axis, index] : llvm::zip(axes, indices))
            mapping.map(generic.getBlock()->getArgument(axis), index);
          for (Operation *op : factor.ops)
            b.clone(*op, mapping);
          return mapping.lookup(factor.value);
        });
    return {tensor, axes};
  }

  /// A generic that only permutes the axes of a tensor: the axis of the tensor
  /// for each axis of the result.
  static std::optional<SmallVector<int64_t>> getPermutation(Value value,
                                                            Value &source) {
    auto generic = value.getDefiningOp<GenericOp>();
    if (!generic || generic.hasReduction())
      return std::nullopt;
    auto read = generic.getYielded().getDefiningOp<ReadOp>();
    if (!read || read.getTensorType().getRank() !=
                     static_cast<int64_t>(generic.getNumParallel()))
      return std::nullopt;
    auto axes = getProjectedPermutation(read, generic.getBlock());
    if (!axes)
      return std::nullopt;
    SmallVector<int64_t> permutation(axes->size());
    for (auto [tensorAxis, loop] : llvm::enumerate(*axes))
      permutation[loop] = tensorAxis;
    source = read.getTensor();
    return permutation;
  }

  void absorbTransposes(ContractOp contract) {
    auto absorb = [&](Value operand, ArrayRef<int64_t> axes, bool isLhs) {
      Value source;
      std::optional<SmallVector<int64_t>> permutation =
          getPermutation(operand, source);
      if (!permutation)
        return false;
      SmallVector<int64_t> sourceAxes(axes.size());
      for (auto [resultAxis, sourceAxis] : llvm::enumerate(*permutation))
        sourceAxes[sourceAxis] = axes[resultAxis];
      if (isLhs) {
        contract.getLhsMutable().assign(source);
        contract.setLhsAxes(sourceAxes);
      } else {
        contract.getRhsMutable().assign(source);
        contract.setRhsAxes(sourceAxes);
      }
      return true;
    };
    while (absorb(contract.getLhs(), contract.getLhsAxes(), true)) {
    }
    while (absorb(contract.getRhs(), contract.getRhsAxes(), false)) {
    }
  }

  /// A contraction that is only read by one transpose gives the transpose.
  void absorbResultTranspose(ContractOp contract) {
    if (!contract->hasOneUse())
      return;
    auto read = dyn_cast<ReadOp>(*contract->user_begin());
    if (!read)
      return;
    auto generic = dyn_cast<GenericOp>(read->getParentOp());
    Value source;
    if (!generic)
      return;
    std::optional<SmallVector<int64_t>> permutation =
        getPermutation(generic.getResult(), source);
    if (!permutation || source != contract.getResult())
      return;
    SmallVector<int64_t> axes;
    for (int64_t axis : *permutation)
      axes.push_back(contract.getResultAxes()[axis]);
    OpBuilder builder(generic);
    auto permuted = ContractOp::create(
        builder, contract.getLoc(), generic.getType(), contract.getLhs(),
        contract.getRhs(), contract.getLhsAxes(), contract.getRhsAxes(), axes);
    generic.replaceAllUsesWith(permuted.getResult());
    generic.erase();
    contract.erase();
  }
};

} // namespace
