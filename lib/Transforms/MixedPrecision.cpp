//===- MixedPrecision.cpp - contractions on 16-bit floats -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See the description of tds-mixed-precision in Passes.td. The pass decides
// before any kernel is formed which values are rounded, so that every target,
// fused or not, and the reference evaluator compute with the same ones.
//
//===----------------------------------------------------------------------===//

#include "NarrowFolds.h"
#include "Phases.h"
#include "WideValues.h"

#include "tdsl/Dialect/TDS/LayerAttributes.h"
#include "tdsl/Dialect/TDS/TDSOps.h"
#include "tdsl/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace tdsl {
#define GEN_PASS_DEF_MIXEDPRECISIONPASS
#include "tdsl/Transforms/Passes.h.inc"
} // namespace tdsl

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

//===----------------------------------------------------------------------===//
// What is what
//===----------------------------------------------------------------------===//

static bool isF32(Value value) {
  return getElementType(value.getType()).isF32();
}

static int64_t getNumElements(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

/// The operation of the graph that `user` belongs to: a generic where `user` is
/// a read in its body.
static Operation *getGraphUser(Operation *user) {
  return isa<ReadOp>(user) ? user->getParentOp() : user;
}

/// The reads of `tensor` in the body of `op`.
static SmallVector<ReadOp> getReadsOf(Value tensor, Operation *op) {
  SmallVector<ReadOp> reads;
  for (ReadOp read : op->getRegion(0).front().getOps<ReadOp>())
    if (read.getTensor() == tensor)
      reads.push_back(read);
  return reads;
}

/// The tensor whose elements `op` only puts in other places, or null.
static Value getMoved(Operation *op) {
  if (!op)
    return {};
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return reshape.getOperand();
  if (auto transpose = dyn_cast<TransposeOp>(op))
    return transpose.getOperand();
  auto generic = dyn_cast<GenericOp>(op);
  if (!generic || generic.hasReduction())
    return {};
  auto read = generic.getYielded().getDefiningOp<ReadOp>();
  if (!read || read.getGuard())
    return {};
  // A gather may take few elements of a large table.
  for (Value index : read.getIndices())
    if (!getAffineIndex(index, generic.getIndices()))
      return {};
  return read.getTensor();
}

/// The 16-bit tensor that `value` only widens, or null.
static Value getWidened(Value value) {
  auto cast = value.getDefiningOp<CastOp>();
  bool isNarrow = cast && isa<RankedTensorType>(cast.getType()) &&
                  isa<Float16Type, BFloat16Type>(
                      getElementType(cast.getOperand().getType()));
  return isNarrow && isF32(value) ? cast.getOperand() : Value();
}

/// Whether `op` only moves elements, each to a place of its own, along other
/// axes: a contraction can write its result that way.
static bool isPermutation(Operation *op) {
  if (isa<TransposeOp>(op))
    return true;
  auto generic = dyn_cast<GenericOp>(op);
  Value moved = getMoved(op);
  if (!generic || !moved)
    return false;
  auto read = generic.getYielded().getDefiningOp<ReadOp>();
  return !read.getClamped() &&
         getNumElements(moved) == getNumElements(generic.getResult()) &&
         llvm::all_of(read.getIndices(), llvm::IsaPred<BlockArgument>);
}

/// What an attention, or its derivative, multiplies.
static SmallVector<OpOperand *> getFactors(Operation *op) {
  SmallVector<OpOperand *> factors;
  for (OpOperand &operand : op->getOpOperands())
    factors.push_back(&operand);
  if (isa<AttentionGradOp>(op)) {
    // Query, key, value and adjoint, without what is known of the rows.
    factors.erase(factors.begin() + 3, factors.begin() + 6);
  }
  return factors;
}

/// Whether `op` gives each element of its result from elements at the same
/// place, of `tensor` among others, or only moves them.
static bool isElementwiseOf(Operation *op, Value tensor) {
  if (op->getNumResults() != 1 || !isF32(op->getResult(0)))
    return false;
  if (getNumElements(op->getResult(0)) != getNumElements(tensor))
    return false;
  if (isa<ReshapeOp, TransposeOp>(op))
    return true;
  if (op->hasTrait<ElementwiseOp>())
    return !isa<CastOp>(op);
  auto generic = dyn_cast<GenericOp>(op);
  return generic && !generic.hasReduction() &&
         llvm::all_of(getReadsOf(tensor, op), [&](ReadOp read) {
           return !read.getGuard() && !read.getClamped() &&
                  llvm::all_of(read.getIndices(), llvm::IsaPred<BlockArgument>);
         });
}

/// Whether the terminator takes `value` for nothing but stores between loops.
static bool isOnlyStored(Value value, Operation *terminator) {
  auto fold = dyn_cast<FoldOp>(terminator->getParentOp());
  return fold && llvm::all_of(terminator->getOpOperands(), [&](OpOperand &use) {
           return use.get() != value ||
                  (use.getOperandNumber() >= fold.getNumCarried() &&
                   isStore(fold.getResult(use.getOperandNumber())));
         });
}

/// A reduction that runs against memory, or a read at other places than the
/// reader's own: these are seldom in the kernel that makes `tensor`.
static bool isReadAcross(Value tensor, Operation *user) {
  if (auto reduce = dyn_cast<ReduceOp>(user))
    return reduce.getAxes().back() !=
           cast<RankedTensorType>(tensor.getType()).getRank() - 1;
  auto generic = dyn_cast<GenericOp>(user);
  if (!generic)
    return isa<ScatterOp>(user);
  ValueRange parallel = generic.getParallelIndices();
  for (ReadOp read : getReadsOf(tensor, user)) {
    unsigned i = 0;
    for (Value index : read.getIndices()) {
      bool own = i < parallel.size() && index == parallel[i];
      auto argument = dyn_cast<BlockArgument>(index);
      bool reduced = argument && argument.getOwner() == generic.getBlock() &&
                     argument.getArgNumber() == i && i >= parallel.size();
      if (!own && !reduced)
        return true;
      ++i;
    }
  }
  return false;
}

//===----------------------------------------------------------------------===//
// One block
//===----------------------------------------------------------------------===//

namespace {

/// Narrows the contractions of one block of operations on whole tensors.
class BlockNarrower {
public:
  BlockNarrower(Block &block, FloatType narrow)
      : block(block), narrow(narrow) {}

  void run();

  /// The carried values of `fold`, whose body this is, that would be stored in
  /// 16 bits if its iterations stood one after the other.
  SmallVector<unsigned> findStoredCarried(FoldOp fold);

  unsigned numContractions = 0, numRounded = 0, numCasts = 0;

private:
  void collect();
  void collectOperands();
  void collectStored();
  bool mayRound(Value value);
  Value findRoot(Value value);
  void addRoot(Value value);
  bool escapes(Value value);
  Value getLast(Value result);
  static Value getRoot(Value value);
  void round(Value value);
  void spread(Value value, Value small);
  Value getNarrow(Value value);
  void narrowContraction(ContractOp contract);
  void narrowFactor(GenericOp generic, OpOperand &factor);
  Type getNarrowType(Type type) { return withElementType(type, narrow); }

  Block &block;
  FloatType narrow;
  SmallVector<Operation *> contractions;
  llvm::SetVector<Value> rounded;
  llvm::DenseMap<Value, Value> narrowed;
};

} // namespace

/// The value whose elements `value` holds in other places.
Value BlockNarrower::getRoot(Value value) {
  while (Value moved = getMoved(value.getDefiningOp()))
    value = moved;
  return value;
}

/// Whether the value, moved or not, is a result of the block or belongs to the
/// update of the variables: these keep all of their bits.
bool BlockNarrower::escapes(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    Operation *op = getGraphUser(user);
    return (op->hasTrait<OpTrait::IsTerminator>() &&
            !isOnlyStored(value, op)) ||
           isUpdate(op) || (getMoved(op) == value && escapes(op->getResult(0)));
  });
}

bool BlockNarrower::mayRound(Value value) {
  Operation *op = value.getDefiningOp();
  return op && op->getBlock() == &block && isF32(value) &&
         !isa<ConstantOp, FoldOp>(op) && !getWidened(value) && !isUpdate(op) &&
         !escapes(value);
}

/// Follows the result of a contraction through element operations that have it
/// to themselves, such as a bias or a residual: they end its kernel. An
/// exponential, and what is made of it, is not rounded but for a contraction
/// that reads it.
Value BlockNarrower::getLast(Value result) {
  Value last = result;
  while (result.hasOneUse()) {
    Operation *op = getGraphUser(*result.getUsers().begin());
    if (op->getBlock() != &block || !isElementwiseOf(op, result))
      break;
    result = op->getResult(0);
    if (!isWide(result) || rounded.contains(findRoot(result)))
      last = result;
  }
  return last;
}

/// Where the elements of `value` come from. What permutes these first and has
/// them to itself comes before: it is part of the kernel.
Value BlockNarrower::findRoot(Value value) {
  Value root = getRoot(value);
  while (root.hasOneUse()) {
    Operation *op = getGraphUser(*root.getUsers().begin());
    if (op->getBlock() != &block || !isPermutation(op))
      break;
    root = op->getResult(0);
  }
  return root;
}

/// Rounds where the elements of `value` come from, for all that read it. Others
/// than the contraction read exponentials and sums as they are.
void BlockNarrower::addRoot(Value value) {
  Value root = findRoot(value);
  if (mayRound(root) && !isWideSource(getRoot(root)))
    rounded.insert(root);
}

/// Finds the contractions, and rounds what they read.
void BlockNarrower::collectOperands() {
  for (Operation &op : block) {
    if (isUpdate(&op))
      continue;
    if (auto contract = dyn_cast<ContractOp>(op)) {
      if (!isF32(contract.getLhs()))
        continue;
      addRoot(contract.getLhs());
      addRoot(contract.getRhs());
    } else if (isa<AttentionOp, AttentionGradOp>(op)) {
      SmallVector<OpOperand *> factors = getFactors(&op);
      if (!llvm::all_of(factors,
                        [](OpOperand *factor) { return isF32(factor->get()); }))
        continue;
      for (OpOperand *factor : factors)
        addRoot(factor->get());
    } else if (auto generic = dyn_cast<GenericOp>(op)) {
      MulOp product = getProductOfContraction(generic);
      if (!product)
        continue;
      for (Value factor : product.getOperands())
        if (auto read = factor.getDefiningOp<ReadOp>())
          addRoot(read.getTensor());
    } else {
      continue;
    }
    contractions.push_back(&op);
  }
}

/// Rounds what is kept in memory all the same.
void BlockNarrower::collectStored() {
  for (Operation &op : block) {
    if (op.getNumResults() != 1 || getMoved(&op) ||
        !(op.hasTrait<ElementwiseOp>() || isa<GenericOp>(op)))
      continue;
    Value value = op.getResult(0);
    llvm::SmallPtrSet<Operation *, 4> users;
    bool across = false;
    for (Operation *user : value.getUsers()) {
      Operation *reader = getGraphUser(user);
      users.insert(reader);
      across |= isReadAcross(value, reader);
    }
    if (users.size() > 1 && across && mayRound(value) && !isWide(value))
      rounded.insert(value);
  }
}

void BlockNarrower::collect() {
  collectOperands();
  for (Operation *op : contractions)
    for (Value result : op->getResults())
      // What attention knows of its rows keeps all of its bits.
      if (!isa<AttentionOp>(op) || result == op->getResult(0))
        addRoot(getLast(result));
  collectStored();
}

SmallVector<unsigned> BlockNarrower::findStoredCarried(FoldOp fold) {
  collectOperands();
  SmallVector<unsigned> stored;
  for (unsigned i = 0; i < fold.getNumCarried(); ++i) {
    Value carried = fold.getCarried()[i], next = fold.getYieldedCarried()[i];
    if (!isF32(carried) || !next.getDefiningOp() ||
        isUpdate(next.getDefiningOp()) || isWide(next))
      continue;
    llvm::SmallPtrSet<Operation *, 4> users;
    bool across = false, isFactor = false, isResult = false;
    for (Operation *user : carried.getUsers()) {
      Operation *reader = getGraphUser(user);
      users.insert(reader);
      across |= isReadAcross(carried, reader);
    }
    for (Operation *op : contractions) {
      isFactor |= llvm::any_of(op->getOperands(), [&](Value operand) {
        return getRoot(operand) == carried;
      });
      op->walk([&](ReadOp read) {
        isFactor |= isa<GenericOp>(op) && getRoot(read.getTensor()) == carried;
      });
      isResult |= llvm::any_of(op->getResults(), [&](Value result) {
        return getLast(result) == next;
      });
    }
    if (isFactor || isResult || (users.size() > 1 && across))
      stored.push_back(i);
  }
  return stored;
}

/// Rounds a value for all that read it.
void BlockNarrower::round(Value value) {
  Operation *op = value.getDefiningOp();
  OpBuilder builder(&block, std::next(op->getIterator()));
  Value small = CastOp::create(builder, op->getLoc(),
                               getNarrowType(value.getType()), value);
  copyPhase(op, small.getDefiningOp());
  spread(value, small);
  ++numRounded;
}

/// Lets all that reads `value` read `small` instead, widened. What moves
/// elements moves the small ones.
void BlockNarrower::spread(Value value, Value small) {
  narrowed[value] = small;
  llvm::SetVector<Operation *> moves;
  for (Operation *user : value.getUsers())
    if (Operation *op = getGraphUser(user);
        op->getBlock() == &block && getMoved(op) == value)
      moves.insert(op);
  for (Operation *move : moves) {
    Value result = move->getResult(0);
    spread(result, getNarrow(result));
  }
  Operation *made = small.getDefiningOp();
  OpBuilder builder(&block, std::next(made->getIterator()));
  Value wide = CastOp::create(builder, made->getLoc(), value.getType(), small);
  copyPhase(made, wide.getDefiningOp());
  narrowed[wide] = small;
  value.replaceUsesWithIf(wide, [&](OpOperand &use) {
    return use.getOwner() != made &&
           !moves.contains(getGraphUser(use.getOwner()));
  });
}

/// The value in 16 bits, made once for all that ask.
Value BlockNarrower::getNarrow(Value value) {
  if (Value known = narrowed.lookup(value))
    return known;
  if (Value small = getWidened(value);
      small && getElementType(small.getType()) == narrow)
    return small;
  Operation *op = value.getDefiningOp();
  OpBuilder builder(block.getParentOp()->getContext());
  if (op)
    builder.setInsertionPointAfter(op);
  else
    builder.setInsertionPointToStart(&block);
  Value small;
  if (Value moved = getMoved(op)) {
    // Elements are rounded where they come from.
    IRMapping mapping;
    Value source = getNarrow(moved);
    builder.setInsertionPointAfter(op);
    Operation *copy = builder.clone(*op, mapping);
    small = copy->getResult(0);
    small.setType(cast<RankedTensorType>(getNarrowType(value.getType())));
    if (auto generic = dyn_cast<GenericOp>(copy)) {
      auto read = generic.getYielded().getDefiningOp<ReadOp>();
      read.getTensorMutable().assign(source);
      read.getResult().setType(narrow);
    } else {
      copy->setOperand(0, source);
    }
  } else {
    small = CastOp::create(builder, op ? op->getLoc() : value.getLoc(),
                           getNarrowType(value.getType()), value);
    if (op)
      copyPhase(op, small.getDefiningOp());
    else
      markForward(small.getDefiningOp());
    ++numCasts;
  }
  narrowed[value] = small;
  return small;
}

void BlockNarrower::narrowContraction(ContractOp contract) {
  contract.getLhsMutable().assign(getNarrow(contract.getLhs()));
  contract.getRhsMutable().assign(getNarrow(contract.getRhs()));
}

/// A guard in another float type, rounded as what is read.
static TypedAttr convertGuard(TypedAttr guard, FloatType type) {
  APFloat value = cast<FloatAttr>(guard).getValue();
  bool losesInfo;
  value.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return FloatAttr::get(type, value);
}

void BlockNarrower::narrowFactor(GenericOp generic, OpOperand &factor) {
  OpBuilder builder(factor.getOwner());
  Location loc = factor.getOwner()->getLoc();
  Value small;
  if (auto read = factor.get().getDefiningOp<ReadOp>()) {
    TypedAttr guard;
    if (read.getGuardAttr())
      guard = convertGuard(cast<TypedAttr>(read.getGuardAttr()), narrow);
    small = ReadOp::create(builder, read.getLoc(), narrow,
                           getNarrow(read.getTensor()), read.getIndices(),
                           guard, read.getClamped());
  } else {
    small = CastOp::create(builder, loc, narrow, factor.get());
  }
  factor.set(CastOp::create(builder, loc, builder.getF32Type(), small));
}

void BlockNarrower::run() {
  collect();
  for (Value value : rounded)
    round(value);
  for (Operation *op : contractions) {
    if (auto contract = dyn_cast<ContractOp>(op)) {
      narrowContraction(contract);
    } else if (isa<AttentionOp, AttentionGradOp>(op)) {
      for (OpOperand *factor : getFactors(op))
        factor->set(getNarrow(factor->get()));
      // What is computed of them is multiplied in 16 bits, too.
      if (auto forward = dyn_cast<AttentionOp>(op))
        forward.setNarrowFactors(true);
      else
        cast<AttentionGradOp>(op).setNarrowFactors(true);
    } else {
      auto generic = cast<GenericOp>(op);
      MulOp product = getProductOfContraction(generic);
      for (OpOperand &factor : product->getOpOperands())
        narrowFactor(generic, factor);
    }
    ++numContractions;
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct MixedPrecisionPass
    : public tdsl::impl::MixedPrecisionPassBase<MixedPrecisionPass> {
  using MixedPrecisionPassBase::MixedPrecisionPassBase;

  LogicalResult initialize(MLIRContext *context) override {
    if (type == "bf16")
      narrow = BFloat16Type::get(context);
    else if (type == "f16")
      narrow = Float16Type::get(context);
    else
      return emitError(UnknownLoc::get(context))
             << "tds-mixed-precision knows the types bf16 and f16, not '"
             << type << "'";
    return success();
  }

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      auto kind = function->getAttrOfType<StringAttr>(attr::kEntry);
      if (!kind || kind == "init" || function.isExternal())
        continue;
      if (narrow.isF16())
        markWide(function);
      // The innermost loops first: what they leave outside is an outer loop's.
      SmallVector<FoldOp> folds;
      function.walk([&](FoldOp fold) {
        if (!isUpdate(fold))
          folds.push_back(fold);
      });
      for (FoldOp &fold : folds) {
        // Equal layers are as precise in a loop as one after the other. What
        // the program itself carries keeps its bits.
        if (fold->hasAttr(attr::kLayers))
          fold = carryNarrowOnly(
              fold,
              BlockNarrower(*fold.getBlock(), narrow).findStoredCarried(fold),
              narrow);
        narrowBlock(*fold.getBlock());
        hoistCasts(fold, narrow);
        fold = carryNarrow(fold, narrow);
      }
      hoistSharedCasts(folds, narrow);
      narrowBlock(function.getBody().front());
      for (FoldOp fold : folds)
        narrowStores(fold, narrow);
      unmarkWide(function);
      if (!keepPhases)
        removePhases(function);
    }
  }

  void narrowBlock(Block &block) {
    BlockNarrower narrower(block, narrow);
    narrower.run();
    numContractions += narrower.numContractions;
    numRounded += narrower.numRounded;
    numCasts += narrower.numCasts;
  }

  FloatType narrow;
};

} // namespace
