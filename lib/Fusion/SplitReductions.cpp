//===- SplitReductions.cpp - long reductions in two stages -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts are over the longest reduction axis. Where it does not divide
// evenly, the rest is a third, small reduction, so that no read needs a guard.
// The first two stages are computed in the accumulator's type; the result is
// rounded once.
//
//===----------------------------------------------------------------------===//

#include "GraphPass.h"

#include "tdsl/Fusion/Bodies.h"
#include "tdsl/Fusion/CostModel.h"
#include "tdsl/Fusion/KernelRules.h"
#include "tdsl/Fusion/Passes.h"

#include "mlir/IR/Remarks.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

namespace tdsl {
#define GEN_PASS_DEF_SPLITREDUCTIONSPASS
#include "tdsl/Fusion/Passes.h.inc"
} // namespace tdsl

namespace {

// Bounds of what the cost model is asked about. They are the same for all
// devices, and so is the order of terms outside of them.

/// Rows are reduced by many threads each, so few rows fill a device; loops are
/// reduced by one thread for each result.
constexpr int64_t enoughRows = 64, enoughPoints = 8192;
/// Least number of terms of a reduction that is worth two stages.
constexpr int64_t leastTerms = 16384, leastLoopTerms = 512;
/// Least number of terms in a part, and most parts.
constexpr int64_t leastPart = 64, mostParts = 1024;

/// Number of parts for a reduction of `terms` terms with `results` results; 1
/// where it stays whole.
int64_t getNumParts(bool isRow, int64_t results, int64_t terms) {
  if (results == 0 || terms == 0)
    return 1;
  int64_t enough = isRow ? enoughRows : enoughPoints;
  if (results >= enough || terms < (isRow ? leastTerms : leastLoopTerms))
    return 1;
  int64_t parts =
      llvm::divideCeil(isRow ? 4 * enoughRows : enoughPoints, results);
  // As many parts as leave each of them long enough.
  return std::min(
      {parts, mostParts, terms / (isRow ? 16 * leastPart : leastPart)});
}

/// The first axis that is long enough, so that a part stays together in memory;
/// else the longest.
unsigned getSplitAxis(ArrayRef<int64_t> extents, int64_t parts) {
  for (auto [axis, extent] : llvm::enumerate(extents))
    if (extent >= parts)
      return axis;
  return llvm::max_element(extents) - extents.begin();
}

/// The number of parts nearest to `parts` that divides an axis evenly, up to
/// half as many more or fewer: it spares the rest, which would be a kernel of
/// its own.
int64_t adjustNumParts(int64_t parts, int64_t extent) {
  parts = std::min(parts, extent);
  for (int64_t away = 0; away <= parts / 2; ++away)
    for (int64_t tried : {parts + away, parts - away})
      if (tried >= 2 && tried <= extent && extent % tried == 0)
        return tried;
  return parts;
}

struct SplitReductionsPass
    : public CostModelPass<
          SplitReductionsPass,
          tdsl::impl::SplitReductionsPassBase<SplitReductionsPass>> {
  using CostModelPass::CostModelPass;

  void runOnBlock(Block &block) {
    sinkScalars(block);
    for (auto generic : llvm::make_early_inc_range(block.getOps<GenericOp>()))
      split(generic);
  }

  /// Whether two launches, of which the first fills more of the device, take
  /// less time than one.
  bool pays(GenericOp generic, int64_t parts) {
    double results = double(generic.getType().getNumElements());
    KernelCost whole;
    llvm::SmallDenseSet<Value> tensors;
    for (ReadOp read : getReads(generic))
      if (tensors.insert(read.getTensor()).second)
        whole.bytes += getNumBytes(read.getTensorType());
    whole.ops =
        double(getNumPoints(generic)) * double(getBodyCost(generic) + 1);
    whole.registers = 56;
    // A row is reduced by a block of a GPU, or by one thread of a CPU; results
    // of a loop lie beside each other in a block, or in the lanes of a vector.
    bool isCPU = model->getTarget().isCPU;
    whole.blocks =
        isRowReduction(generic)
            ? results
            : std::ceil(results / (isCPU ? 16 : CostModel::blockThreads));
    KernelCost first = whole, second;
    first.blocks *= double(parts);
    second.bytes = getNumBytes(generic.getType()) * double(parts + 1);
    second.ops = results * double(parts);
    second.registers = whole.registers;
    second.blocks = whole.blocks;
    double atOnce = model->getNs(whole) + model->getLaunchNs();
    double inTwo =
        model->getNs(first) + model->getNs(second) + 2 * model->getLaunchNs();
    bool isFaster = inTwo < atOnce;
    auto opts = remark::RemarkOpts::name("two-stages")
                    .category("fusion")
                    .function(getOperation().getName());
    auto text = llvm::formatv("{0} in {1} parts: {2}, {3} at once",
                              isFaster ? "reduced" : "not reduced", parts,
                              formatTime(inTwo), formatTime(atOnce))
                    .str();
    (isFaster ? remark::passed(generic.getLoc(), opts)
              : remark::missed(generic.getLoc(), opts))
        << text << remark::metric("Decision", "split");
    return isFaster;
  }

  void split(GenericOp generic) {
    std::optional<ReductionKind> kind = generic.getKind();
    if (!kind || *kind == ReductionKind::ArgMax ||
        *kind == ReductionKind::ArgMin)
      return;
    ArrayRef<int64_t> reduceExtents = generic.getReduceExtents();
    int64_t parts =
        getNumParts(isRowReduction(generic), generic.getType().getNumElements(),
                    generic.getReductionSize());
    if (parts < 2)
      return;
    unsigned axis = getSplitAxis(reduceExtents, parts);
    int64_t extent = reduceExtents[axis];
    parts = adjustNumParts(parts, extent);
    if (parts < 2 || !pays(generic, parts))
      return;
    int64_t length = extent / parts, rest = extent % parts;
    OpBuilder builder(generic);
    Location loc = generic.getLoc();
    RankedTensorType type = generic.getType();
    unsigned rank = type.getRank();
    bool adds = *kind == ReductionKind::Sum || *kind == ReductionKind::Prod;
    Type element = adds && isa<FloatType>(type.getElementType())
                       ? getAccumulatorType(type.getElementType())
                       : type.getElementType();
    // The parts: indices (part, parallel...), then the reduction indices, of
    // which `axis` runs inside the part.
    SmallVector<int64_t> partShape{parts};
    llvm::append_range(partShape, type.getShape());
    SmallVector<int64_t> partExtents(reduceExtents);
    partExtents[axis] = length;
    auto partial = GenericOp::create(
        builder, loc, RankedTensorType::get(partShape, element), partExtents,
        kind, [&](OpBuilder &b, Location, ValueRange indices) -> Value {
          SmallVector<Value> at(indices.drop_front(1));
          AffineExpr part = b.getAffineDimExpr(0),
                     inner = b.getAffineDimExpr(1);
          at[rank + axis] =
              createIndex(b, loc, AffineMap::get(2, 0, part * length + inner),
                          {indices[0], indices[1 + rank + axis]});
          return cloneTerm(b, generic, at, element);
        });
    Value remainder;
    if (rest != 0) {
      partExtents[axis] = rest;
      remainder = GenericOp::create(
          builder, loc, type.clone(element), partExtents, kind,
          [&](OpBuilder &b, Location, ValueRange indices) -> Value {
            SmallVector<Value> at(indices);
            AffineExpr inner = b.getAffineDimExpr(0);
            at[rank + axis] = createIndex(
                b, loc, AffineMap::get(1, 0, inner + parts * length),
                {indices[rank + axis]});
            return cloneTerm(b, generic, at, element);
          });
    }
    Value result = GenericOp::create(
        builder, loc, type.clone(element), {parts}, kind,
        [&](OpBuilder &b, Location, ValueRange indices) -> Value {
          SmallVector<Value> at{indices.back()};
          llvm::append_range(at, indices.drop_back());
          return ReadOp::create(b, loc, partial.getResult(), at);
        });
    if (remainder || element != type.getElementType())
      result = GenericOp::create(
          builder, loc, type, {}, std::nullopt,
          [&](OpBuilder &b, Location, ValueRange indices) -> Value {
            Value value = ReadOp::create(b, loc, result, indices);
            if (remainder)
              value = combine(
                  b, loc, *kind, value,
                  ReadOp::create(b, loc, remainder, indices).getResult());
            if (value.getType() != type.getElementType())
              value = CastOp::create(b, loc, type.getElementType(), value);
            return value;
          });
    generic.replaceAllUsesWith(result);
    generic.erase();
    ++numSplit;
  }

  /// One term of the reduction at `indices`, in the type `element`. A product
  /// of narrow floats is taken in the wide type, where it is exact, as the
  /// fused multiply-add of the whole sum would.
  static Value cloneTerm(OpBuilder &builder, GenericOp generic,
                         ValueRange indices, Type element) {
    IRMapping mapping;
    cloneBody(builder, generic, indices, mapping);
    Value value = mapping.lookupOrDefault(generic.getYielded());
    if (value.getType() == element)
      return value;
    Location loc = generic.getLoc();
    if (auto product = value.getDefiningOp<MulOp>();
        product && generic.getKind() == ReductionKind::Sum) {
      Value lhs = CastOp::create(builder, loc, element, product.getLhs());
      Value rhs = CastOp::create(builder, loc, element, product.getRhs());
      return MulOp::create(builder, loc, lhs, rhs);
    }
    return CastOp::create(builder, loc, element, value);
  }

  static Value combine(OpBuilder &builder, Location loc, ReductionKind kind,
                       Value lhs, Value rhs) {
    switch (kind) {
    case ReductionKind::Sum:
      return AddOp::create(builder, loc, lhs, rhs);
    case ReductionKind::Prod:
      return MulOp::create(builder, loc, lhs, rhs);
    case ReductionKind::Max:
      return MaxOp::create(builder, loc, lhs, rhs);
    case ReductionKind::Min:
      return MinOp::create(builder, loc, lhs, rhs);
    case ReductionKind::Any:
      return OrOp::create(builder, loc, lhs, rhs);
    case ReductionKind::All:
      return AndOp::create(builder, loc, lhs, rhs);
    case ReductionKind::ArgMax:
    case ReductionKind::ArgMin:
      break;
    }
    llvm_unreachable("argmax and argmin are not split");
  }
};

} // namespace
