//===- KernelRules.cpp - what a kernel of each kind may hold -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Fusion/KernelRules.h"
#include "tdsl/Fusion/Bodies.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

StringRef tdsl::getKernelKindName(KernelKind kind) {
  switch (kind) {
  case KernelKind::Loop:
    return "loop";
  case KernelKind::Row:
    return "row";
  case KernelKind::Contract:
    return "contract";
  case KernelKind::Scatter:
    return "scatter";
  case KernelKind::Attention:
    return "attention";
  case KernelKind::AttentionGrad:
    return "attention_grad";
  }
  llvm_unreachable("unknown kernel kind");
}

/// How a read's innermost index runs: with the reduction, with the results, or
/// with neither (a window, a gather).
enum class Direction { Along, Across, Neither };

static Direction getDirection(GenericOp generic, Value index) {
  unsigned numDims = generic.getIndices().size(),
           numParallel = generic.getNumParallel();
  std::optional<AffineExpr> expr = getAffineIndex(index, generic.getIndices());
  SmallVector<int64_t> coefficients;
  if (!expr || failed(getFlattenedAffineExpr(*expr, numDims, 0, &coefficients)))
    return Direction::Neither;
  SmallVector<int64_t> extents(generic.getExtents());
  llvm::append_range(extents, generic.getReduceExtents());
  bool byParallel = false, byReduction = false, isBlocked = true,
       isDense = false;
  int64_t span = 1;
  for (unsigned i = numParallel; i < numDims; ++i) {
    byReduction |= coefficients[i] != 0;
    isDense |= std::abs(coefficients[i]) == 1;
    span += std::abs(coefficients[i]) * std::max<int64_t>(extents[i] - 1, 0);
  }
  for (unsigned i = 0; i < numParallel; ++i) {
    byParallel |= coefficients[i] != 0;
    isBlocked &= coefficients[i] == 0 || std::abs(coefficients[i]) >= span;
  }
  // Each result may reduce a block of its own: that is a row, unlike
  // overlapping windows.
  if (byReduction && isDense && isBlocked && coefficients.size() == numDims + 1)
    return Direction::Along;
  return byParallel ? Direction::Across : Direction::Neither;
}

bool tdsl::isRowReduction(GenericOp generic) {
  if (!generic.hasReduction())
    return false;
  int64_t along = 0, across = 0;
  bool readsAnything = false;
  for (ReadOp read : getReads(generic)) {
    int64_t rank = read.getTensorType().getRank();
    // The innermost axis that is longer than 1 decides how the read runs
    // through memory.
    while (rank > 0 && read.getTensorType().getDimSize(rank - 1) == 1)
      --rank;
    if (rank == 0)
      continue;
    readsAnything = true;
    int64_t elements = read.getTensorType().getNumElements();
    Direction direction = getDirection(generic, read.getIndices()[rank - 1]);
    if (direction == Direction::Along)
      along = std::max(along, elements);
    else if (direction == Direction::Across)
      across = std::max(across, elements);
  }
  if (!readsAnything)
    return generic.getReductionSize() >= 32;
  return along > 0 && along >= across;
}

KernelShape tdsl::getShapeOf(Operation *op) {
  KernelShape shape;
  if (auto generic = dyn_cast<GenericOp>(op)) {
    shape.rows.assign(generic.getExtents().begin(), generic.getExtents().end());
    if (isRowReduction(generic)) {
      shape.kind = KernelKind::Row;
      shape.columns.assign(generic.getReduceExtents().begin(),
                           generic.getReduceExtents().end());
    }
  } else if (auto contract = dyn_cast<ContractOp>(op)) {
    shape.kind = KernelKind::Contract;
    ArrayRef<int64_t> extents =
        cast<RankedTensorType>(contract.getResult().getType()).getShape();
    shape.rows.assign(extents.begin(), extents.end());
  } else if (auto attention = dyn_cast<AttentionOp>(op)) {
    shape.kind = KernelKind::Attention;
    shape.rows.assign(attention.getExtents().begin(),
                      attention.getExtents().end());
  } else if (auto grad = dyn_cast<AttentionGradOp>(op)) {
    shape.kind = KernelKind::AttentionGrad;
    shape.rows.assign(grad.getExtents().begin(), grad.getExtents().end());
  } else {
    shape.kind = KernelKind::Scatter;
    ArrayRef<int64_t> extents = cast<ScatterOp>(op).getExtents();
    shape.rows.assign(extents.begin(), extents.end());
  }
  return shape;
}

std::optional<KernelShape> tdsl::joinShapes(const KernelShape &lhs,
                                            bool lhsHasReduction,
                                            const KernelShape &rhs,
                                            bool rhsHasReduction) {
  auto isAlone = [](KernelKind kind) {
    return kind == KernelKind::Scatter || kind == KernelKind::Attention ||
           kind == KernelKind::AttentionGrad;
  };
  if (isAlone(lhs.kind) || isAlone(rhs.kind))
    return std::nullopt;
  if (lhs.kind == rhs.kind) {
    if (lhs.kind == KernelKind::Contract || !(lhs == rhs))
      return std::nullopt;
    return lhs;
  }
  if (lhs.kind != KernelKind::Loop && rhs.kind != KernelKind::Loop)
    return std::nullopt;
  const KernelShape &loop = lhs.kind == KernelKind::Loop ? lhs : rhs;
  const KernelShape &other = lhs.kind == KernelKind::Loop ? rhs : lhs;
  // A serial reduction has no place in rows and epilogues.
  if (lhs.kind == KernelKind::Loop ? lhsHasReduction : rhsHasReduction)
    return std::nullopt;
  if (loop.rows == other.rows)
    return other;
  if (other.kind != KernelKind::Row)
    return std::nullopt;
  SmallVector<int64_t> full(other.rows);
  llvm::append_range(full, other.columns);
  if (loop.rows == full)
    return other;
  return std::nullopt;
}

bool tdsl::isAlignedRead(ReadOp read, const KernelShape &shape) {
  auto reader = dyn_cast<GenericOp>(read->getParentOp());
  if (!reader)
    return false;
  ValueRange indices = reader.getIndices();
  size_t rank = read.getIndices().size();
  if (shape.kind != KernelKind::Row)
    return rank == shape.rows.size() &&
           read.getTensorType().getShape() == ArrayRef<int64_t>(shape.rows) &&
           readsAt(read, ValueRange(indices).take_front(rank));
  bool isRowTensor =
      read.getTensorType().getShape() == ArrayRef<int64_t>(shape.rows);
  bool isFullTensor = rank == shape.rows.size() + shape.columns.size();
  if (isFullTensor && !isRowTensor)
    // All the reader's indices: those over rows alone have too few.
    return indices.size() == rank && readsAt(read, indices);
  return isRowTensor && readsAt(read, ValueRange(indices).take_front(rank));
}

/// Whether the generic has a place in a row kernel.
static bool fitsRows(GenericOp generic, const KernelShape &shape) {
  if (generic.hasReduction())
    return generic.getExtents() == ArrayRef<int64_t>(shape.rows) &&
           generic.getReduceExtents() == ArrayRef<int64_t>(shape.columns);
  SmallVector<int64_t> full(shape.rows);
  llvm::append_range(full, shape.columns);
  return generic.getExtents() == ArrayRef<int64_t>(shape.rows) ||
         generic.getExtents() == ArrayRef<int64_t>(full);
}

bool tdsl::isPrologue(GenericOp generic) {
  return llvm::any_of(generic->getUsers(), [](Operation *user) {
    auto reader = dyn_cast<GenericOp>(user->getParentOp());
    return isa<ContractOp>(user) || (reader && isPrologue(reader));
  });
}

/// A generic that makes a factor is evaluated wherever the contraction loads an
/// element of that, so it is no sum, and the tensors that are made for it are
/// read where it is evaluated.
static LogicalResult verifyPrologue(GenericOp generic) {
  if (generic.hasReduction())
    return generic.emitOpError(
        "makes a factor of a contraction, and reduces (kernel_c1)");
  for (ReadOp read : getReads(generic))
    if (read.getTensor().getDefiningOp<GenericOp>() &&
        !(read.getTensorType().getShape() == generic.getExtents() &&
          readsAt(read, generic.getIndices())))
      return read.emitOpError("reads a tensor that is made in its kernel at "
                              "other indices than its own (kernel_c1)");
  for (Operation *user : generic->getUsers()) {
    auto read = dyn_cast<ReadOp>(user);
    auto reader = read ? dyn_cast<GenericOp>(read->getParentOp()) : GenericOp();
    if (!isa<ContractOp>(user) && !(reader && isPrologue(reader)))
      return user->emitOpError("uses a tensor that is made for a factor of a "
                               "contraction (kernel_c1)");
  }
  return success();
}

LogicalResult tdsl::verifyKernelKind(KernelOp kernel) {
  Block *block = kernel.getBlock();
  KernelShape shape;
  bool found = false;
  // Of those the verifier has seen that there is one; it reads memory only.
  if (kernel.getKind() == "attention" || kernel.getKind() == "attention_grad") {
    for (Operation &op : block->without_terminator())
      if (!isa<AttentionOp, AttentionGradOp, ConstantOp>(op))
        return op.emitOpError(
            "stands beside an attention in a kernel (kernel_c1)");
    return success();
  }
  for (Operation &op : block->without_terminator()) {
    bool decides = kernel.getKind() == "contract"
                       ? isa<ContractOp>(op)
                       : isa<GenericOp, ScatterOp>(op);
    if (auto generic = dyn_cast<GenericOp>(op);
        generic && kernel.getKind() == "row")
      decides = generic.hasReduction();
    if (decides && !found) {
      found = true;
      if (auto contract = dyn_cast<ContractOp>(op))
        shape = getShapeOf(contract);
      else if (auto generic = dyn_cast<GenericOp>(op)) {
        shape.rows.assign(generic.getExtents().begin(),
                          generic.getExtents().end());
        shape.columns.assign(generic.getReduceExtents().begin(),
                             generic.getReduceExtents().end());
      }
    }
  }
  shape.kind = llvm::StringSwitch<KernelKind>(kernel.getKind())
                   .Case("row", KernelKind::Row)
                   .Case("contract", KernelKind::Contract)
                   .Case("scatter", KernelKind::Scatter)
                   .Default(KernelKind::Loop);
  if (!found)
    return kernel.emitOpError("of kind '")
           << kernel.getKind()
           << "' holds nothing that its kind is about (kernel_c1)";
  if (shape.kind == KernelKind::Scatter) {
    for (Operation &op : block->without_terminator())
      if (!isa<ScatterOp, ConstantOp>(op))
        return op.emitOpError(
            "stands beside a scatter in a kernel (kernel_c1)");
    return success();
  }
  for (Operation &op : block->without_terminator()) {
    auto generic = dyn_cast<GenericOp>(op);
    if (!generic)
      continue;
    if (shape.kind == KernelKind::Contract && isPrologue(generic)) {
      if (failed(verifyPrologue(generic)))
        return failure();
      continue;
    }
    bool fits =
        shape.kind == KernelKind::Row
            ? fitsRows(generic, shape)
            : generic.getExtents() == ArrayRef<int64_t>(shape.rows) &&
                  (shape.kind == KernelKind::Loop || !generic.hasReduction());
    if (!fits)
      return generic.emitOpError("has extents that a kernel of kind '")
             << kernel.getKind() << "' does not allow (kernel_c1)";
    for (ReadOp read : getReads(generic)) {
      Operation *made = read.getTensor().getDefiningOp();
      if (made && !isa<ConstantOp>(made) && !isAlignedRead(read, shape))
        return read.emitOpError("reads a tensor that is made in its kernel at "
                                "other indices than its own (kernel_c1)");
    }
  }
  return success();
}
