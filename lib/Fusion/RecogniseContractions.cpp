//===- RecogniseContractions.cpp - sums of products as contractions -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphPass.h"

#include "tdsl/Fusion/Bodies.h"
#include "tdsl/Fusion/Passes.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/IR/Remarks.h"
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
/// indices that run over the whole tensor; `extents` are those of the loops. A
/// contraction has no way to say that it reads a part.
std::optional<SmallVector<int64_t>>
getProjectedPermutation(ReadOp read, Block *block, ArrayRef<int64_t> extents) {
  if (read.getGuard() || read.getClamped())
    return std::nullopt;
  SmallVector<int64_t> axes;
  for (auto [index, extent] :
       llvm::zip_equal(read.getIndices(), read.getTensorType().getShape())) {
    auto argument = dyn_cast<BlockArgument>(index);
    if (!argument || argument.getOwner() != block ||
        extents[argument.getArgNumber()] != extent ||
        llvm::is_contained(axes, argument.getArgNumber()))
      return std::nullopt;
    axes.push_back(argument.getArgNumber());
  }
  return axes;
}

/// A read at sums of multiples of loop indices.
struct Window {
  ReadOp read;
  /// The indices of the read over the loop indices that `axes` lists.
  AffineMap map;
  SmallVector<int64_t> axes;
  /// The least and the greatest index along each axis of the tensor.
  SmallVector<int64_t> least, greatest;

  /// Whether some of it lies outside of the tensor.
  bool isPadded() {
    ArrayRef<int64_t> shape = read.getTensorType().getShape();
    for (auto [low, high, extent] : llvm::zip_equal(least, greatest, shape))
      if (low < 0 || high >= extent)
        return true;
    return false;
  }
  /// Elements of the part of the (padded) tensor that it reads.
  int64_t getNumElements() const {
    int64_t product = 1;
    for (auto [low, high] : llvm::zip_equal(least, greatest))
      product *= high - low + 1;
    return product;
  }

  static std::optional<Window> get(ReadOp read, Block *block,
                                   ArrayRef<int64_t> extents);
};

std::optional<Window> Window::get(ReadOp read, Block *block,
                                  ArrayRef<int64_t> extents) {
  // Without elements there is nothing to multiply.
  if (llvm::is_contained(extents, 0))
    return std::nullopt;
  ValueRange indices = block->getArguments();
  SmallVector<SmallVector<int64_t>> rows;
  llvm::SmallBitVector used(extents.size());
  Window window;
  for (Value index : read.getIndices()) {
    std::optional<AffineExpr> expr = getAffineIndex(index, indices);
    SmallVector<int64_t> linear;
    if (!expr ||
        failed(getFlattenedAffineExpr(*expr, indices.size(), 0, &linear)) ||
        linear.size() != indices.size() + 1)
      return std::nullopt;
    int64_t low = linear.back(), high = linear.back();
    for (auto [i, extent] : llvm::enumerate(extents)) {
      if (linear[i] != 0)
        used.set(i);
      int64_t last = linear[i] * (extent - 1);
      (last < 0 ? low : high) += last;
    }
    window.least.push_back(low);
    window.greatest.push_back(high);
    rows.push_back(std::move(linear));
  }
  window.read = read;
  if (window.isPadded() && !read.getGuard() && !read.getClamped())
    return std::nullopt;
  llvm::append_range(window.axes, used.set_bits());
  SmallVector<AffineExpr> results;
  for (const SmallVector<int64_t> &linear : rows) {
    AffineExpr sum = getAffineConstantExpr(linear.back(),
                                           block->getParentOp()->getContext());
    for (auto [dim, axis] : llvm::enumerate(window.axes))
      sum = sum + getAffineDimExpr(dim, sum.getContext()) * linear[axis];
    results.push_back(sum);
  }
  window.map = AffineMap::get(window.axes.size(), 0, results,
                              block->getParentOp()->getContext());
  return window;
}

/// One factor of the product: everything in the body that it is computed from.
struct Factor {
  Value value;
  llvm::SetVector<Operation *> ops;
  llvm::SmallBitVector indices;
  /// The read that the factor is, or null where it is more than a read.
  ReadOp read;
  /// The read that the factor is, where it is no permutation of a tensor.
  std::optional<Window> window;

  Factor(Value value, Block *block, ArrayRef<int64_t> extents)
      : value(value), indices(block->getNumArguments()) {
    collect(value, block);
    read = value.getDefiningOp<ReadOp>();
    if (read && !getProjectedPermutation(read, block, extents)) {
      window = Window::get(read, block, extents);
      read = {};
    }
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
/// stay in the sum. A factor goes to a kernel of its own, in front of the
/// contraction; what costs more than a few exponentials (12 each) is rather an
/// algorithm that its author wrote as a sum.
constexpr int64_t maxFactorCost = 64;

struct RecogniseContractionsPass
    : public GraphPass<RecogniseContractionsPass,
                       tdsl::impl::RecogniseContractionsPassBase<
                           RecogniseContractionsPass>> {
  using GraphPass::GraphPass;

  void runOnBlock(Block &block) {
    sinkScalars(block);
    for (auto generic : llvm::make_early_inc_range(block.getOps<GenericOp>()))
      recognise(generic);
    mergeEqualOps(block);
    for (auto contract : llvm::make_early_inc_range(block.getOps<ContractOp>()))
      absorbTransposes(contract);
    for (auto contract : llvm::make_early_inc_range(block.getOps<ContractOp>()))
      absorbResultTranspose(contract);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (op.use_empty() && isa<GenericOp, ContractOp>(op))
        op.erase();
  }

  /// Says why a sum of products stays one.
  void refuse(GenericOp generic, const Twine &reason) {
    remark::missed(generic.getLoc(), remark::RemarkOpts::name("contraction")
                                         .category("recognise")
                                         .function(getOperation().getName()))
        << ("no contraction: " + reason).str();
  }

  /// A product that was written out before it is summed comes into the sum, as
  /// do factors that only rearrange a tensor.
  void inlineProducers(GenericOp generic) {
    bool changed = false;
    auto inlineRead = [&](ReadOp read, GenericOp producer) {
      OpBuilder builder(read);
      read.replaceAllUsesWith(
          cloneBodyAt(builder, producer, read.getIndices()));
      read.erase();
      changed = true;
    };
    auto elementsOf = [](ReadOp read) -> GenericOp {
      auto producer = read.getTensor().getDefiningOp<GenericOp>();
      if (!producer || producer.hasReduction() || read.getGuard() ||
          read.getClamped())
        return {};
      return producer;
    };
    if (auto read = generic.getYielded().getDefiningOp<ReadOp>()) {
      GenericOp producer = elementsOf(read);
      if (!producer || !producer->hasOneUse() ||
          !producer.getYielded().getDefiningOp<MulOp>() ||
          producer.getType().getNumElements() != tdsl::getNumPoints(generic))
        return;
      inlineRead(read, producer);
    }
    if (!generic.getYielded().getDefiningOp<MulOp>())
      return;
    // Copies of copies, too.
    for (bool again = true; again;) {
      again = false;
      for (ReadOp read : getReads(generic)) {
        GenericOp producer = elementsOf(read);
        if (!producer || !producer.getYielded().getDefiningOp<ReadOp>() ||
            getBodyCost(producer) != 0)
          continue;
        inlineRead(read, producer);
        again = true;
      }
    }
    if (changed)
      simplifyBody(generic.getBlock());
  }

  void recognise(GenericOp generic) {
    if (generic.getKind() != ReductionKind::Sum)
      return;
    inlineProducers(generic);
    auto product = generic.getYielded().getDefiningOp<MulOp>();
    if (auto cast = generic.getYielded().getDefiningOp<CastOp>())
      if (auto inner = cast.getOperand().getDefiningOp<MulOp>();
          inner && isa<IntegerType>(inner.getType()))
        return refuse(generic, "each product of narrow integers wraps");
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
      return refuse(generic, "the factors are no numbers from tensors");
    // Products of narrow floats are rounded in the body, but not in a
    // contraction, which the definition of a sum allows; narrow integers would
    // wrap in the body only.
    if (lhsValue.getType() == element && isa<IntegerType>(element) &&
        getAccumulatorType(element) != element)
      return refuse(generic, "each product of narrow integers wraps");
    SmallVector<int64_t> extents(generic.getExtents());
    llvm::append_range(extents, generic.getReduceExtents());
    Factor lhs(lhsValue, block, extents), rhs(rhsValue, block, extents);
    unsigned numParallel = generic.getNumParallel(),
             numIndices = block->getNumArguments();
    bool lhsOwn = false, rhsOwn = false;
    for (unsigned i = 0; i < numIndices; ++i) {
      if (!lhs.indices[i] && !rhs.indices[i])
        return refuse(generic, "an index is in no factor");
      if (i >= numParallel) {
        if (!lhs.indices[i] || !rhs.indices[i])
          return refuse(generic, "a summed index is in one factor only");
        continue;
      }
      bool counts = generic.getExtents()[i] != 1;
      lhsOwn |= counts && !rhs.indices[i];
      rhsOwn |= counts && !lhs.indices[i];
    }
    if (!lhsOwn || !rhsOwn)
      return refuse(generic, "a factor has no index of its own, so each of its "
                             "elements is used once for a result");
    // One operand may be a window: the other then knows the extents.
    bool lhsWindow = isWorthAWindow(lhs, extents),
         rhsWindow = isWorthAWindow(rhs, extents);
    // Of two windows that which has no more elements than the part of the
    // tensor that it reads is written out, like a stride through the filters.
    if (lhsWindow && rhsWindow) {
      int64_t lhsPoints = getNumPoints(*lhs.window, extents),
              rhsPoints = getNumPoints(*rhs.window, extents);
      bool lhsGains = lhsPoints > lhs.window->getNumElements(),
           rhsGains = rhsPoints > rhs.window->getNumElements();
      if (lhsGains && rhsGains)
        return refuse(generic, "both factors are windows");
      if (rhsGains || (!lhsGains && lhsPoints < rhsPoints))
        lhsWindow = false;
      else
        rhsWindow = false;
    }
    // A factor that reads a smaller tensor in overlapping windows in another
    // way would be written out many times over.
    if ((!lhsWindow && expands(lhs, extents)) ||
        (!rhsWindow && expands(rhs, extents)))
      return refuse(generic,
                    "a factor is computed from a smaller tensor, or at an "
                    "index that is no sum of multiples of loop indices");
    OpBuilder builder(generic);
    Operand left = lhsWindow ? getWindow(builder, *lhs.window)
                             : getOperand(builder, generic, lhs, extents);
    Operand right = rhsWindow ? getWindow(builder, *rhs.window)
                              : getOperand(builder, generic, rhs, extents);
    auto resultAxes = llvm::to_vector(llvm::seq<int64_t>(numParallel));
    auto contract = ContractOp::create(
        builder, generic.getLoc(), generic.getType(), left.tensor, right.tensor,
        left.axes, right.axes, resultAxes, left.map, right.map);
    remark::passed(generic.getLoc(), remark::RemarkOpts::name("contraction")
                                         .category("recognise")
                                         .function(getOperation().getName()))
        << (contract.hasWindow() ? "a contraction over a window (convolution)"
                                 : "a contraction");
    generic.replaceAllUsesWith(contract.getResult());
    generic.erase();
    ++numContractions;
  }

  struct Operand {
    Value tensor;
    SmallVector<int64_t> axes;
    AffineMapAttr map;
  };

  /// Whether the factor is read as a window: it is one, and written out it
  /// would take more memory than what it reads, padded.
  static bool isWorthAWindow(Factor &factor, ArrayRef<int64_t> extents) {
    return factor.window && (getNumPoints(*factor.window, extents) >
                                 factor.window->getNumElements() ||
                             !factor.window->read.getGuard());
  }

  /// Elements of a window written out.
  static int64_t getNumPoints(const Window &window, ArrayRef<int64_t> extents) {
    int64_t points = 1;
    for (int64_t axis : window.axes)
      points *= extents[axis];
    return points;
  }

  /// The tensor that a window looks at. Where it looks beyond the edges they
  /// are filled first.
  static Operand getWindow(OpBuilder &builder, Window &window) {
    ReadOp read = window.read;
    Value tensor = read.getTensor();
    SmallVector<AffineExpr> results(window.map.getResults());
    if (window.isPadded()) {
      SmallVector<int64_t> shape;
      for (auto [low, high] : llvm::zip_equal(window.least, window.greatest))
        shape.push_back(high - low + 1);
      auto type =
          RankedTensorType::get(shape, read.getTensorType().getElementType());
      tensor = GenericOp::create(
          builder, read.getLoc(), type, {}, std::nullopt,
          [&](OpBuilder &b, Location loc, ValueRange indices) -> Value {
            SmallVector<Value> at;
            for (auto [index, low] : llvm::zip_equal(indices, window.least)) {
              AffineExpr shifted = b.getAffineDimExpr(0) + low;
              at.push_back(
                  low == 0 ? index
                           : ApplyOp::create(
                                 b, loc, AffineMap::get(1, 0, shifted), index)
                                 .getResult());
            }
            auto copy = cast<ReadOp>(b.clone(*read));
            copy.getIndicesMutable().assign(at);
            return copy;
          });
      for (auto [expr, low] : llvm::zip_equal(results, window.least))
        expr = expr - low;
    }
    AffineMap map = AffineMap::get(window.map.getNumDims(), 0, results,
                                   builder.getContext());
    return {tensor, window.axes, AffineMapAttr::get(map)};
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
  Operand getOperand(OpBuilder &builder, GenericOp generic,
                     const Factor &factor, ArrayRef<int64_t> extents) {
    if (factor.read)
      return {ReadOp(factor.read).getTensor(),
              *getProjectedPermutation(ReadOp(factor.read), generic.getBlock(),
                                       extents),
              {}};
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
    return {tensor, axes, {}};
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
    auto axes =
        getProjectedPermutation(read, generic.getBlock(), generic.getExtents());
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
      if (isLhs ? contract.getLhsMap() : contract.getRhsMap())
        return false;
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
        contract.getRhs(), contract.getLhsAxes(), contract.getRhsAxes(), axes,
        contract.getLhsMapAttr(), contract.getRhsMapAttr());
    generic.replaceAllUsesWith(permuted.getResult());
    generic.erase();
    contract.erase();
  }
};

} // namespace
