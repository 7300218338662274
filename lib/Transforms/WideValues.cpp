//===- WideValues.cpp - what a narrow float may not hold -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WideValues.h"

#include "tdsl/Dialect/TDS/BlockInputs.h"

#include "mlir/IR/Matchers.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallBitVector.h"

#include <cmath>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

static constexpr llvm::StringLiteral kWide = "wide";

static bool isF32(Value value) {
  return getElementType(value.getType()).isF32();
}

MulOp tdsl::getProductOfContraction(GenericOp generic) {
  if (generic.getKind() != ReductionKind::Sum || !isF32(generic.getResult()))
    return {};
  auto product = generic.getYielded().getDefiningOp<MulOp>();
  if (!product)
    return {};
  Block *block = generic.getBlock();
  auto getIndices = [&](Value factor) {
    llvm::SmallBitVector indices(block->getNumArguments());
    SmallVector<Value> open{factor};
    llvm::SmallPtrSet<Operation *, 16> seen;
    while (!open.empty()) {
      Value value = open.pop_back_val();
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        if (argument.getOwner() == block)
          indices.set(argument.getArgNumber());
        continue;
      }
      Operation *op = value.getDefiningOp();
      if (op->getBlock() == block && seen.insert(op).second)
        llvm::append_range(open, op->getOperands());
    }
    return indices;
  };
  llvm::SmallBitVector lhs = getIndices(product.getLhs()),
                       rhs = getIndices(product.getRhs());
  bool lhsOwn = false, rhsOwn = false;
  for (unsigned i = 0, end = block->getNumArguments(); i < end; ++i) {
    if (i >= generic.getNumParallel()) {
      if (!lhs[i] || !rhs[i])
        return {};
      continue;
    }
    bool counts = generic.getExtents()[i] != 1;
    lhsOwn |= counts && lhs[i] && !rhs[i];
    rhsOwn |= counts && rhs[i] && !lhs[i];
  }
  return lhsOwn && rhsOwn ? product : MulOp();
}

static int64_t getNumElements(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getNumElements() : 1;
}

/// Where a value that is repeated along axes comes from.
static Value skipBroadcasts(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<BroadcastOp, ReshapeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// The number that each element of `value` is.
static std::optional<double> getNumber(Value value) {
  Attribute attribute;
  if (!matchPattern(skipBroadcasts(value), m_Constant(&attribute)))
    return std::nullopt;
  if (auto elements = dyn_cast<DenseElementsAttr>(attribute))
    attribute =
        elements.isSplat() ? elements.getSplatValue<Attribute>() : Attribute();
  if (auto number = dyn_cast_if_present<FloatAttr>(attribute))
    return number.getValue().convertToDouble();
  return std::nullopt;
}

/// Whether an element operation, on tensors or in a body, gives what f16 cannot
/// hold of values that it can.
static bool isSourceOperation(Operation *op) {
  if (isa<ExpOp, Expm1Op, LogOp, Log1pOp, PowOp, RsqrtOp>(op))
    return true;
  if (auto product = dyn_cast<MulOp>(op))
    return product.getLhs() == product.getRhs();
  auto quotient = dyn_cast<DivOp>(op);
  return quotient && getNumber(quotient.getLhs());
}

static bool isSumOrProduct(ReductionKind kind) {
  return kind == ReductionKind::Sum || kind == ReductionKind::Prod;
}

/// How many terms the sum `value` has; 0 where it is none.
static int64_t getNumTerms(Value value) {
  value = skipBroadcasts(value);
  if (auto reduce = value.getDefiningOp<ReduceOp>())
    if (reduce.getKind() == ReductionKind::Sum)
      return getNumElements(reduce.getOperand()) /
             std::max<int64_t>(getNumElements(value), 1);
  auto generic = value.getDefiningOp<GenericOp>();
  return generic && generic.getKind() == ReductionKind::Sum
             ? generic.getReductionSize()
             : 0;
}

/// Whether an element operation gives a wide value, by what `isWide` says of
/// its operands and `isSmall` of those that are fewer than its results: what is
/// divided by a statistic, as in a norm, is no larger than f16 can hold.
static bool isWideResult(Operation *op, llvm::function_ref<bool(Value)> isWide,
                         llvm::function_ref<bool(Value)> isSmall) {
  if (isSourceOperation(op))
    return true;
  // What these give is small whatever they read.
  if (isa<TanhOp, SigmoidOp, ErfOp, SinOp, CosOp, SignOp>(op))
    return false;
  if (auto quotient = dyn_cast<DivOp>(op)) {
    Value lhs = quotient.getLhs(), rhs = quotient.getRhs();
    return isWide(lhs) || (isWide(rhs) && !isSmall(rhs));
  }
  auto product = dyn_cast<MulOp>(op);
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    Operation *made = skipBroadcasts(operand).getDefiningOp();
    bool isInverse = product && made && isSmall(operand) &&
                     (isa<RsqrtOp>(made) ||
                      (isa<DivOp>(made) && getNumber(made->getOperand(0))));
    return isWide(operand) && !isInverse;
  });
}

/// The values of a body from its reads on.
static bool isWideBody(GenericOp generic,
                       llvm::function_ref<bool(Value)> isWideTensor) {
  llvm::DenseSet<Value> wide, small;
  int64_t points = generic.getReductionSize();
  for (int64_t extent : generic.getExtents())
    points *= extent;
  for (Operation &op : generic.getBlock()->without_terminator()) {
    if (op.getNumResults() != 1)
      continue;
    Value value = op.getResult(0);
    if (auto read = dyn_cast<ReadOp>(op)) {
      if (isWideTensor(read.getTensor()))
        wide.insert(value);
      if (getNumElements(read.getTensor()) < points)
        small.insert(value);
      continue;
    }
    auto isSmall = [&](Value operand) { return small.contains(operand); };
    if (llvm::all_of(op.getOperands(), isSmall))
      small.insert(value);
    if (isF32(value) &&
        isWideResult(
            &op, [&](Value operand) { return wide.contains(operand); },
            isSmall))
      wide.insert(value);
  }
  return wide.contains(generic.getYielded());
}

/// Whether the operation gives a wide value of narrow ones.
static bool isSourceOfWide(Operation *op) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return isSumOrProduct(reduce.getKind());
  if (auto generic = dyn_cast<GenericOp>(op)) {
    if (generic.hasReduction() && isSumOrProduct(*generic.getKind()))
      return !getProductOfContraction(generic);
    return isWideBody(generic, [](Value) { return false; });
  }
  return op->hasTrait<ElementwiseOp>() && isSourceOperation(op);
}

namespace {

/// Goes through a function once, through the bodies of loops until nothing
/// that they carry changes.
class WideAnalysis {
public:
  void run(func::FuncOp function);

private:
  void runBlock(Block &block);
  void runFold(FoldOp fold);
  bool isWide(Operation *op);
  bool isWide(Value value) const { return wide.contains(value); }
  /// Says of `to` what is known of `from`; true where that is new.
  bool pass(Value from, Value to) {
    bool isNew = wide.contains(from) && wide.insert(to).second;
    return (scaled.contains(from) && scaled.insert(to).second) || isNew;
  }

  llvm::DenseSet<Value> wide;
  /// What depends on the scale of a loss: gradients.
  llvm::DenseSet<Value> scaled;
};

} // namespace

bool WideAnalysis::isWide(Operation *op) {
  auto isWideValue = [&](Value value) { return isWide(value); };
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return isSourceOfWide(op) || isWide(reduce.getOperand());
  if (auto generic = dyn_cast<GenericOp>(op)) {
    if (getProductOfContraction(generic))
      return false;
    return (generic.hasReduction() && isSourceOfWide(op)) ||
           isWideBody(generic, isWideValue);
  }
  if (isa<BroadcastOp, ReshapeOp, TransposeOp>(op))
    return isWide(op->getOperand(0));
  if (!op->hasTrait<ElementwiseOp>())
    return false;
  // A mean is as large as what it is the mean of.
  if (isa<DivOp, MulOp>(op))
    for (bool isLhs : {true, false}) {
      Value sum = op->getOperand(isLhs ? 0 : 1);
      std::optional<double> number = getNumber(op->getOperand(isLhs ? 1 : 0));
      int64_t terms = getNumTerms(sum);
      if (!number || terms == 0 || (isa<DivOp>(op) && !isLhs))
        continue;
      double factor = isa<DivOp>(op) ? 1 / *number : *number;
      if (!(std::abs(factor) * double(terms) <= 1.01))
        continue;
      Operation *made = skipBroadcasts(sum).getDefiningOp();
      if (auto reduce = dyn_cast<ReduceOp>(made))
        return isWide(reduce.getOperand());
      return isWideBody(cast<GenericOp>(made), isWideValue);
    }
  auto isSmall = [&](Value operand) {
    return getNumElements(skipBroadcasts(operand)) <
           getNumElements(op->getResult(0));
  };
  return isWideResult(op, isWideValue, isSmall);
}

void WideAnalysis::runFold(FoldOp fold) {
  for (auto [operand, argument] : llvm::zip_equal(
           fold->getOperands(), fold.getBlock()->getArguments().drop_front()))
    pass(operand, argument);
  bool changes = true;
  while (changes) {
    runBlock(*fold.getBlock());
    changes = false;
    for (auto [next, carried] :
         llvm::zip_equal(fold.getYieldedCarried(), fold.getCarried()))
      changes |= pass(next, carried);
  }
  for (auto [yielded, result] :
       llvm::zip_equal(fold.getYielded(), fold.getResults()))
    pass(yielded, result);
  for (auto [carried, result] :
       llvm::zip_equal(fold.getCarried(), fold.getFinal()))
    pass(carried, result);
}

void WideAnalysis::runBlock(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (auto fold = dyn_cast<FoldOp>(op)) {
      runFold(fold);
      continue;
    }
    bool isScaled = llvm::any_of(getBlockInputs(&op), [&](Value input) {
      return scaled.contains(input);
    });
    for (Value result : op.getResults())
      if (isScaled)
        scaled.insert(result);
    if (op.getNumResults() != 1 || !isF32(op.getResult(0)) || !isWide(&op))
      continue;
    wide.insert(op.getResult(0));
    // Gradients that overflow are what the scale is for.
    if (isScaled)
      op.removeDiscardableAttr(kWide);
    else
      op.setDiscardableAttr(kWide, UnitAttr::get(op.getContext()));
  }
}

void WideAnalysis::run(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto variable =
            function.getArgAttrOfType<FlatSymbolRefAttr>(i, attr::kVariable);
        variable && variable.getValue().starts_with("amp.") &&
        variable.getValue().ends_with(".scale"))
      scaled.insert(function.getArgument(i));
  runBlock(function.getBody().front());
}

void tdsl::markWide(func::FuncOp function) { WideAnalysis().run(function); }

void tdsl::unmarkWide(func::FuncOp function) {
  function.walk([](Operation *op) { op->removeDiscardableAttr(kWide); });
}

bool tdsl::isWide(Value value) {
  Operation *op = value.getDefiningOp();
  return op && op->hasAttr(kWide);
}

bool tdsl::isWideSource(Value value) {
  return isWide(value) && isSourceOfWide(value.getDefiningOp());
}
