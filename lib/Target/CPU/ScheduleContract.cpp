//===- ScheduleContract.cpp - schedules of contractions and scatters -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ScheduleContract.h"

#include "tdsl/Target/Common/KernelAnalysis.h"
#include "tdsl/Target/Common/LaneBuilder.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::cpu;
using namespace tdsl::target;

namespace {

/// Cycles of a work item, about 50 microseconds: packing is shared by fewer
/// multiplications in smaller ones. Small products make smaller items, down to
/// the second number, so that threads have something to share.
constexpr double itemCycles = 150000, leastItemCycles = 30000;
constexpr double itemsToShare = 8;
constexpr int64_t largestTile = 256;
/// Steps of k in a packed block: a panel of B stays in the first-level cache.
constexpr int64_t largestDepth = 256;

int64_t roundUp(int64_t x, int64_t unit) {
  return llvm::divideCeil(x, unit) * unit;
}

NamedAttribute number(Builder &b, StringRef key, int64_t value) {
  return b.getNamedAttr(key, b.getI64IntegerAttr(value));
}

} // namespace

/// Along a last axis of k shorter than this, blocks of k go through a table.
static constexpr int64_t shortAxis = 64;

/// Whether the operations behind the product can walk the result's axes from
/// `first` on as one.
static bool mayMergeFrom(tds::KernelOp kernel, tds::ContractOp op,
                         int64_t first) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(op.getType()).getShape();
  // The merged index stands in the place of the last axis.
  if (shape.back() == 1)
    return false;
  return llvm::all_of(
      kernel.getBlock()->getOps<tds::GenericOp>(), [&](tds::GenericOp generic) {
        return canCollapse(generic.getBlock(), shape, first, shape.size());
      });
}

/// Whether tables of i32 hold every offset in the operands.
static bool hasSmallOffsets(tds::ContractOp op) {
  return llvm::all_of(op->getOperandTypes(), [](Type type) {
    return cast<RankedTensorType>(type).getNumElements() <= INT32_MAX;
  });
}

MatrixAxes MatrixAxes::get(tds::KernelOp kernel, tds::ContractOp op) {
  MatrixAxes result;
  // The other operations of the kernel want the index along n as it is.
  bool isAlone = kernel.getBlock()->getOps<tds::GenericOp>().empty();
  result.shape = ContractShape::get(op, /*mergeColumns=*/isAlone);
  ContractShape &shape = result.shape;
  result.m = result.n = result.k = Axis{1, 0, 0, 0, {}};
  result.outer.append(shape.batch);
  if (!shape.m.empty()) {
    // The longest m axis; of two, the inner one.
    unsigned best = 0;
    for (unsigned i = 1; i < shape.m.size(); ++i)
      if (shape.m[i].extent >= shape.m[best].extent)
        best = i;
    for (unsigned i = 0; i < shape.m.size(); ++i)
      if (i != best)
        result.outer.push_back(shape.m[i]);
    result.m = shape.m[best];
  }
  // The last n axes that lie next to each other in the result.
  size_t firstN = shape.n.empty() ? 0 : shape.n.size() - 1;
  while (firstN > 0 &&
         shape.n[firstN - 1].out ==
             shape.n[firstN].out * shape.n[firstN].extent &&
         mayMergeFrom(kernel, op, shape.n[firstN - 1].resultAxes.front()))
    --firstN;
  bool splitsN = shape.n.size() > firstN + 1,
       splitsK = shape.k.size() > 1 && shape.k.back().extent < shortAxis;
  if ((splitsN || splitsK) && !shape.n.empty() && !shape.k.empty() &&
      hasSmallOffsets(op)) {
    result.tableN.assign(shape.n.begin() + firstN, shape.n.end());
    result.tableK.assign(shape.k);
    result.outer.append(shape.n.begin(), shape.n.begin() + firstN);
    result.n = Axis{
        ContractShape::getExtent(result.tableN), 0, 0, shape.n.back().out, {}};
    for (const Axis &axis : result.tableN)
      llvm::append_range(result.n.resultAxes, axis.resultAxes);
    result.k = Axis{ContractShape::getExtent(shape.k), 0, 0, 0, {}};
    return result;
  }
  if (!shape.n.empty()) {
    result.outer.append(shape.n.begin(), shape.n.end() - 1);
    result.n = shape.n.back();
  }
  if (!shape.k.empty()) {
    result.outerK.append(shape.k.begin(), shape.k.end() - 1);
    result.k = shape.k.back();
  }
  return result;
}

GemmScratch GemmScratch::get(int64_t depth, int64_t tileM, int64_t tileN,
                             int64_t sumBytes, bool isDirect, bool isIndexed) {
  GemmScratch result;
  result.packA = roundUp(depth * tileN * sumBytes, 64);
  result.tile = result.packA + roundUp(depth * tileM * sumBytes, 64);
  result.tableN =
      result.tile + (isDirect ? 0 : roundUp(tileM * tileN * sumBytes, 64));
  result.tableBk = result.tableN + (isIndexed ? roundUp(tileN * 4, 64) : 0);
  int64_t ofSteps = isIndexed ? roundUp(depth * 4, 64) : 0;
  result.tableAk = result.tableBk + ofSteps;
  result.total = result.tableAk + ofSteps;
  return result;
}

/// The contraction as a reduction: for shapes where packing does not pay.
static FailureOr<DictionaryAttr> scheduleExpanded(tds::KernelOp kernel) {
  StringRef kind = onlyOne<tds::ContractOp>(kernel).getReducedAxes().empty()
                       ? "loop"
                       : "row";
  OpBuilder builder(kernel);
  auto copy = cast<tds::KernelOp>(builder.clone(*kernel));
  expandContract(copy, kind);
  FailureOr<DictionaryAttr> schedule = schedulePoints(copy);
  copy.erase();
  if (failed(schedule))
    return failure();
  NamedAttrList attrs(*schedule);
  attrs.append("expand", builder.getStringAttr(kind));
  return attrs.getDictionary(builder.getContext());
}

FailureOr<DictionaryAttr> cpu::scheduleContract(tds::KernelOp kernel,
                                                const CPUTarget &target) {
  auto op = onlyOne<tds::ContractOp>(kernel);
  MatrixAxes axes = MatrixAxes::get(kernel, op);
  int64_t m = axes.m.extent, n = axes.n.extent, k = axes.k.extent;
  int64_t count = 1, countK = 1;
  for (const MatrixAxes::Axis &axis : axes.outer)
    count *= axis.extent;
  for (const MatrixAxes::Axis &axis : axes.outerK)
    countK *= axis.extent;
  bool isMatrix = m >= 3 && n >= 2 && k >= 2 && count > 0 && countK > 0 &&
                  axes.n.out == 1 && double(m) * n * k >= 4096;
  if (!isMatrix)
    return scheduleExpanded(kernel);

  auto type = cast<RankedTensorType>(op.getType());
  Type in = tds::getElementType(op.getLhs().getType());
  Type sum = tds::getAccumulatorType(in);
  if (isa<FloatType>(sum) && !target.hasFMA)
    return scheduleExpanded(kernel);
  int64_t sumBytes = tds::getElementBytes(sum);
  int64_t lanes = target.vectorBits / 8 / sumBytes;
  int64_t columns = n > lanes ? 2 * lanes : lanes;
  // Wide enough for two registers of 512 bits, which a processor may have.
  if (target.vectorBits == 256 &&
      (n % (4 * lanes) == 0 || (axes.isIndexed() && n > 2 * lanes)))
    columns = 4 * lanes;
  // Rows of the register tile, and what a tile of fewer rows costs more.
  struct Choice {
    int64_t rows;
    double cost;
  };
  Choice choices[] = {{4, 1.1}, {target.vectorBits == 512 ? 8 : 6, 1}};
  if (target.vectorBits == 128)
    choices[1] = choices[0];
  int64_t rows = 4;
  double least = 0;
  for (Choice choice : choices) {
    double cost = roundUp(m, choice.rows) * choice.cost;
    if (least == 0 || cost < least) {
      least = cost;
      rows = choice.rows;
    }
  }

  int64_t depthBlocks = llvm::divideCeil(k, largestDepth);
  int64_t depth = roundUp(llvm::divideCeil(k, depthBlocks), 8);
  double cycles = double(m) * n * k * countK * count / (2.0 * lanes);
  int64_t wanted =
      std::max<double>({1, cycles / itemCycles,
                        std::min(itemsToShare, cycles / leastItemCycles)});
  auto split = [](int64_t extent, int64_t limit, int64_t unit) {
    int64_t parts = llvm::divideCeil(extent, limit);
    return roundUp(llvm::divideCeil(extent, parts), unit);
  };
  int64_t tileM = split(m, largestTile, rows);
  int64_t tileN = split(n, largestTile, columns);
  // Packing through tables costs more: it is shared by more multiplications.
  int64_t leastM = 4 * rows, leastN = columns;
  if (axes.isIndexed()) {
    leastM = 64;
    leastN = 128;
    wanted = std::min<int64_t>(wanted, itemsToShare);
  }
  auto items = [&] {
    return count * llvm::divideCeil(m, tileM) * llvm::divideCeil(n, tileN);
  };
  while (int64_t(items()) < wanted) {
    bool canM = tileM > leastM, canN = tileN > leastN;
    if (!canM && !canN)
      break;
    if (canN && (tileN >= tileM || !canM))
      tileN = split(n, llvm::divideCeil(tileN, 2), columns);
    else
      tileM = split(m, llvm::divideCeil(tileM, 2), rows);
  }

  // Straight into the output where nothing else is done with the product and
  // the register tiles fit.
  bool isAlone = kernel.getBlock()->getOps<tds::GenericOp>().empty();
  bool isDirect = isAlone && kernel.getOutputs().size() == 1 &&
                  type.getElementType() == sum && m % rows == 0 &&
                  n % columns == 0;
  GemmScratch scratch = GemmScratch::get(depth, tileM, tileN, sumBytes,
                                         isDirect, axes.isIndexed());
  Builder b(kernel.getContext());
  SmallVector<NamedAttribute> attrs = {
      number(b, "work", items()),
      number(b, "scratch", scratch.total),
      number(b, "rows", rows),
      number(b, "columns", columns),
      number(b, "tile_m", tileM),
      number(b, "tile_n", tileN),
      number(b, "depth", depth),
      b.getNamedAttr("emitter", b.getStringAttr("gemm"))};
  if (isDirect)
    attrs.push_back(b.getNamedAttr("direct", b.getUnitAttr()));
  return b.getDictionaryAttr(attrs);
}

DictionaryAttr cpu::scheduleScatter(tds::KernelOp kernel) {
  auto op = onlyOne<tds::ScatterOp>(kernel);
  ArrayRef<int64_t> shape = op.getType().getShape();
  ArrayRef<int64_t> extents = op.getExtents();
  // Lanes along the last axis where it is copied: each lane adds to its own
  // element, so the order of the additions to one element stays.
  Block *body = op.getBlock();
  // The first axis is what work items own; it never carries the lanes.
  bool hasLanes = shape.size() > 1 && !extents.empty() &&
                  extents.back() == shape.back() && shape.back() > 1 &&
                  op.getYieldedIndices().back() == body->getArguments().back();
  if (hasLanes)
    for (Value index : op.getYieldedIndices().drop_back()) {
      llvm::SmallVector<Value> pending{index};
      while (!pending.empty()) {
        Value value = pending.pop_back_val();
        hasLanes &= value != body->getArguments().back();
        if (Operation *source = value.getDefiningOp())
          if (source->getBlock() == body)
            pending.append(source->operand_begin(), source->operand_end());
      }
    }
  int64_t width =
      hasLanes
          ? std::min<int64_t>(
                tds::getElementBytes(op.getType().getElementType()) == 8 ? 8
                                                                         : 16,
                llvm::PowerOf2Ceil(shape.back()))
          : 1;
  int64_t first = shape.empty() ? 1 : shape[0], inner = 1, points = 1;
  for (int64_t extent : shape.drop_front(shape.empty() ? 0 : 1))
    inner *= extent;
  for (int64_t extent : extents)
    points *= extent;
  // Every item looks at all points; it pays while the additions cost more.
  double cost = double(points) * (bodyCost(body) + 4) / width +
                double(first) * inner / 16;
  int64_t items = std::min<int64_t>(
      {std::max<int64_t>(1, cost / 20000), 16, std::max<int64_t>(first, 1)});
  int64_t rows = std::max<int64_t>(llvm::divideCeil(first, items), 1);
  int64_t scratch = 0;
  Type element = op.getType().getElementType();
  Type sum = getRegisterType(element);
  // A narrow float sums in f32, beside the output.
  if (isa<FloatType>(element) && sum != element) {
    int64_t bytes = tds::getElementBytes(sum);
    while (rows > 1 && rows * inner * bytes > (1 << 20))
      rows = llvm::divideCeil(rows, 2);
    scratch = roundUp(rows * inner * bytes, 64);
  }
  Builder b(kernel.getContext());
  return b.getDictionaryAttr(
      {number(b, "work", llvm::divideCeil(first, rows)),
       number(b, "scratch", scratch), number(b, "rows", rows),
       number(b, "width", width),
       b.getNamedAttr("emitter", b.getStringAttr("scatter"))});
}
