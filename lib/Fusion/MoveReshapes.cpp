//===- MoveReshapes.cpp - reshapes out of chains of element generics -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A reshape is free as a view of memory, but no kernel may hold one: it
// separates what would run as one kernel. Two moves help. A generic that reads
// at its own indices only runs at any shape (the reshape moves behind it), and
// a read of a reshape that splits axes or adds unit axes is a read of the
// operand at an affine index.
//
//===----------------------------------------------------------------------===//

#include "GraphPass.h"

#include "tdsl/Fusion/Bodies.h"
#include "tdsl/Fusion/Passes.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

namespace tdsl {
#define GEN_PASS_DEF_MOVERESHAPESPASS
#include "tdsl/Fusion/Passes.h.inc"
} // namespace tdsl

namespace {

RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

SmallVector<int64_t> withoutUnits(ArrayRef<int64_t> shape) {
  return llvm::filter_to_vector(shape,
                                [](int64_t extent) { return extent != 1; });
}

/// For a reshape from `from` to `to`: each axis of `from` as an affine
/// expression of the indices of `to`, without divisions. Fails where one is
/// needed, which is where axes are merged.
LogicalResult getSourceIndices(MLIRContext *context, ArrayRef<int64_t> from,
                               ArrayRef<int64_t> to,
                               SmallVectorImpl<AffineExpr> &exprs) {
  size_t next = 0;
  for (int64_t extent : from) {
    AffineExpr expr = getAffineConstantExpr(0, context);
    int64_t product = 1;
    while (product != extent || (next < to.size() && to[next] == 1)) {
      if (next == to.size())
        return failure();
      product *= to[next];
      if (product > extent || product == 0)
        return failure();
      if (to[next] != 1)
        expr = expr * to[next] + getAffineDimExpr(next, context);
      ++next;
      if (product == extent)
        break;
    }
    exprs.push_back(expr);
  }
  while (next < to.size() && to[next] == 1)
    ++next;
  return success(next == to.size());
}

struct MoveReshapesPass
    : public GraphPass<MoveReshapesPass,
                       tdsl::impl::MoveReshapesPassBase<MoveReshapesPass>> {
  using GraphPass::GraphPass;

  void runOnBlock(Block &block) {
    sinkScalars(block);
    for (auto reshape : llvm::make_early_inc_range(block.getOps<ReshapeOp>()))
      foldIntoReads(reshape);
    // Down: in program order, so that a chain of generics follows its first
    // one.
    for (auto generic : llvm::make_early_inc_range(block.getOps<GenericOp>()))
      moveDown(generic);
    // Up: in reverse order, so that a chain follows its last one.
    SmallVector<GenericOp> generics =
        llvm::to_vector(block.getOps<GenericOp>());
    for (GenericOp generic : llvm::reverse(generics))
      moveUp(generic);
    for (auto reshape : llvm::make_early_inc_range(block.getOps<ReshapeOp>()))
      foldReshape(reshape);
    for (auto reshape : llvm::make_early_inc_range(block.getOps<ReshapeOp>()))
      foldIntoReads(reshape);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (op.use_empty() && isa<ReshapeOp, GenericOp>(op))
        op.erase();
  }

  /// A read that may leave its tensor keeps its meaning where unit axes alone
  /// go, and it stays inside those.
  static bool mayFold(ReadOp read, bool isUnits) {
    if (!read.getGuard() && !read.getClamped())
      return true;
    if (!isUnits)
      return false;
    auto generic = dyn_cast<GenericOp>(read->getParentOp());
    for (auto [index, extent] :
         llvm::zip(read.getIndices(), read.getTensorType().getShape())) {
      auto argument = dyn_cast<BlockArgument>(index);
      bool isLoop = generic && argument &&
                    argument.getOwner() == generic.getBlock() &&
                    argument.getArgNumber() < generic.getNumParallel();
      if (extent == 1 &&
          !(isLoop && generic.getExtents()[argument.getArgNumber()] == 1))
        return false;
    }
    return true;
  }

  /// Reads of `reshape` read its operand, where unit axes are all that differs,
  /// or where the operand is the result of a generic that could be inlined
  /// there.
  void foldIntoReads(ReshapeOp reshape) {
    ArrayRef<int64_t> from = tensorType(reshape.getOperand()).getShape(),
                      to = reshape.getType().getShape();
    bool isUnits = withoutUnits(from) == withoutUnits(to);
    Operation *producer = reshape.getOperand().getDefiningOp();
    bool isInlinable = isElementGeneric(producer) && !onlyRounds(producer) &&
                       reshape.getOperand().hasOneUse();
    // Kernels read inputs and variables without their unit axes, whose elements
    // lie at the same places.
    if (isUnits && !producer && from.size() > to.size())
      return;
    SmallVector<AffineExpr> exprs;
    if ((!isUnits && !isInlinable) ||
        failed(getSourceIndices(&getContext(), from, to, exprs)))
      return;
    for (Operation *user : llvm::make_early_inc_range(reshape->getUsers())) {
      auto read = dyn_cast<ReadOp>(user);
      if (!read || !mayFold(read, isUnits))
        continue;
      OpBuilder builder(read);
      SmallVector<Value> indices;
      for (AffineExpr expr : exprs)
        indices.push_back(createIndex(builder, read.getLoc(),
                                      AffineMap::get(to.size(), 0, expr),
                                      read.getIndices()));
      auto direct =
          ReadOp::create(builder, read.getLoc(), reshape.getOperand(), indices);
      direct.setGuardAttr(read.getGuardAttr());
      direct.setClamped(read.getClamped());
      read.replaceAllUsesWith(direct.getResult());
      read.erase();
    }
    if (reshape.use_empty())
      reshape.erase();
  }

  /// Whether each read of an element generic is at its own indices or of a
  /// rank-0 tensor, and, but for `mayUseIndices`, no index is used otherwise.
  static bool readsOwnIndicesOnly(GenericOp generic,
                                  bool mayUseIndices = false) {
    if (generic.hasReduction() || generic.getNumParallel() == 0)
      return false;
    for (ReadOp read : getReads(generic))
      if (read.getTensorType().getRank() != 0 &&
          !readsAt(read, generic.getIndices()))
        return false;
    for (BlockArgument index : generic.getIndices())
      for (Operation *user : index.getUsers())
        if (!isa<ReadOp>(user) && !mayUseIndices)
          return false;
    return true;
  }

  /// `generic` at `shape`; the operands are viewed. Where its body uses its
  /// indices, they must be expressions of those of `shape`.
  GenericOp createAt(OpBuilder &builder, GenericOp generic,
                     ArrayRef<int64_t> shape) {
    auto type =
        RankedTensorType::get(shape, generic.getType().getElementType());
    IRMapping views;
    for (ReadOp read : getReads(generic)) {
      Value tensor = read.getTensor();
      if (read.getTensorType().getRank() == 0 || views.contains(tensor))
        continue;
      auto reshape = tensor.getDefiningOp<ReshapeOp>();
      if (reshape && tensorType(reshape.getOperand()).getShape() == shape)
        views.map(tensor, reshape.getOperand());
      else
        views.map(tensor,
                  ReshapeOp::create(builder, generic.getLoc(),
                                    read.getTensorType().clone(shape), tensor)
                      .getResult());
    }
    return GenericOp::create(
        builder, generic.getLoc(), type, {}, std::nullopt,
        [&](OpBuilder &b, Location loc, ValueRange indices) -> Value {
          IRMapping mapping;
          SmallVector<AffineExpr> exprs;
          if (succeeded(getSourceIndices(&getContext(), generic.getExtents(),
                                         shape, exprs)))
            for (auto [index, expr] : llvm::zip(generic.getIndices(), exprs))
              mapping.map(index,
                          createIndex(b, loc,
                                      AffineMap::get(shape.size(), 0, expr),
                                      indices));
          for (Operation &op : generic.getBlock()->without_terminator()) {
            auto read = dyn_cast<ReadOp>(op);
            if (!read || read.getTensorType().getRank() == 0) {
              b.clone(op, mapping);
              continue;
            }
            mapping.map(read.getResult(),
                        ReadOp::create(b, read.getLoc(),
                                       views.lookup(read.getTensor()), indices)
                            .getResult());
          }
          return mapping.lookupOrDefault(generic.getYielded());
        });
  }

  static bool isComputed(Value value) {
    return isa_and_nonnull<GenericOp, ContractOp>(value.getDefiningOp());
  }

  /// Whether the generic makes its elements from nothing but their place, such
  /// as random numbers.
  static bool isGenerator(Value tensor) {
    auto generic = tensor.getDefiningOp<GenericOp>();
    return generic && !generic.hasReduction() && generic.getNumParallel() > 0 &&
           llvm::all_of(getReads(generic), [](ReadOp read) {
             return read.getTensorType().getRank() == 0;
           });
  }

  void moveDown(GenericOp generic) {
    // Widening goes into what reads: elements are kept as they are.
    if (!readsOwnIndicesOnly(generic, /*mayUseIndices=*/true) ||
        onlyWidens(generic))
      return;
    ReshapeOp through;
    llvm::SmallSetVector<Value, 2> generators;
    for (ReadOp read : getReads(generic)) {
      if (read.getTensorType().getRank() == 0)
        continue;
      // An operand that is computed at this shape would be cut off instead.
      if (isGenerator(read.getTensor())) {
        generators.insert(read.getTensor());
        continue;
      }
      if (isComputed(read.getTensor()))
        return;
      auto reshape = read.getTensor().getDefiningOp<ReshapeOp>();
      if (reshape && isComputed(reshape.getOperand()) && !through)
        through = reshape;
    }
    if (!through)
      return;
    ArrayRef<int64_t> finer = tensorType(through.getOperand()).getShape();
    SmallVector<AffineExpr> exprs;
    if ((!readsOwnIndicesOnly(generic) || !generators.empty()) &&
        failed(getSourceIndices(&getContext(), generic.getExtents(), finer,
                                exprs)))
      return;
    for (Value tensor : generators)
      replaceAt(tensor.getDefiningOp<GenericOp>(), finer);
    replaceAt(generic, finer);
  }

  /// Moves `generic` to `shape`, and a reshape behind it.
  void replaceAt(GenericOp generic, ArrayRef<int64_t> shape) {
    OpBuilder builder(generic);
    GenericOp moved = createAt(builder, generic, shape);
    generic.replaceAllUsesWith(
        ReshapeOp::create(builder, generic.getLoc(), generic.getType(), moved)
            .getResult());
    generic.erase();
    ++numMoved;
  }

  /// A generic that is only read through one reshape, by generics, and computes
  /// from nothing that another kernel could be part of.
  void moveUp(GenericOp generic) {
    if (!generic->hasOneUse() || !readsOwnIndicesOnly(generic))
      return;
    auto reshape = dyn_cast<ReshapeOp>(*generic->user_begin());
    if (!reshape || llvm::any_of(reshape->getUsers(), [](Operation *user) {
          return !isa<ReadOp>(user);
        }))
      return;
    for (ReadOp read : getReads(generic))
      if (isComputed(read.getTensor()))
        return;
    OpBuilder builder(generic);
    GenericOp moved = createAt(builder, generic, reshape.getType().getShape());
    reshape.replaceAllUsesWith(moved.getResult());
    reshape.erase();
    generic.erase();
    ++numMoved;
  }

  /// A reshape of a reshape looks through the first; one that changes nothing
  /// is its operand.
  void foldReshape(ReshapeOp reshape) {
    while (auto inner = reshape.getOperand().getDefiningOp<ReshapeOp>())
      reshape.getOperandMutable().assign(inner.getOperand());
    if (reshape.getOperand().getType() != reshape.getType())
      return;
    reshape.replaceAllUsesWith(reshape.getOperand());
    reshape.erase();
  }
};

} // namespace
