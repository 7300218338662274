//===- SelectSchedule.cpp - how a kernel runs on a CPU -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All numbers below that shape sums (lanes, merged axes) depend on the kernel
// alone and never on the processor: x86-64-v3 and v4 give the same bits.
//
//===----------------------------------------------------------------------===//

#include "AttentionTiles.h"
#include "ScheduleContract.h"

#include "tdsl/Target/CPU/CompileCPU.h"
#include "tdsl/Target/Common/KernelAnalysis.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::cpu;
using namespace tdsl::target;

namespace {

/// Simple operations on a vector that make a work item: about 3 microseconds,
/// some times what it costs to hand it to another thread.
constexpr double itemCost = 10000;

class PointSchedule {
public:
  PointSchedule(const PointKernel &point) : point(point) {}
  DictionaryAttr select();

private:
  void chooseLanes();
  void chooseMerging();
  void chooseWidth();
  void chooseKept();
  double costAlong(bool rows);
  double costPerRow();
  unsigned elementBits();

  const PointKernel &point;
  bool lanesOnRows = true;
  unsigned width = 1;
  unsigned mergedRows = 1, mergedInner = 1;
  SmallVector<int64_t> kept;
  int64_t scratch = 0;
};

int64_t product(ArrayRef<int64_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t(1),
                         std::multiplies<int64_t>());
}

} // namespace

/// The cost of the memory accesses with lanes along the last row axis or along
/// the last inner axis.
double PointSchedule::costAlong(bool rows) {
  double cost = 0;
  for (const PointKernel::Part &part : point.parts) {
    if (part.kind == PointKernel::Class::Row)
      continue;
    tds::GenericOp op = part.op;
    Block *body = op.getBlock();
    unsigned axis = rows ? point.rows.size() - 1 : body->getNumArguments() - 1;
    for (auto read : body->getOps<tds::ReadOp>()) {
      if (point.find(read.getTensor()))
        continue;
      std::optional<LinearForm> form;
      bool depends = true;
      if (!read.getGuard() && !read.getClamped())
        form = getLinearOffset(read, body->getArguments());
      int64_t step = form ? form->coefficients[axis] : 2;
      depends = step != 0;
      cost += !depends ? 0.1 : step == 1 ? 1 : 16;
    }
  }
  // Full outputs lie along the inner axes.
  if (rows)
    cost += 16 * point.fullOutputs().size();
  return cost;
}

void PointSchedule::chooseLanes() {
  bool hasInner = llvm::any_of(point.parts, [](const PointKernel::Part &part) {
    return part.kind != PointKernel::Class::Row;
  });
  bool isRow = tds::KernelOp(point.kernel).getKind() == "row" && hasInner &&
               !point.inner.empty();
  if (!isRow)
    return;
  if (point.rows.empty() || point.rows.back() == 1) {
    lanesOnRows = false;
    return;
  }
  double alongRows = costAlong(true), alongInner = costAlong(false);
  // Lanes that stay empty cost as much as full ones.
  auto waste = [](int64_t extent) {
    return extent >= 16 ? 1.0 : 16.0 / std::max<int64_t>(extent, 1);
  };
  lanesOnRows = alongRows * waste(point.rows.back()) <
                alongInner * waste(point.inner.back());
}

void PointSchedule::chooseMerging() {
  unsigned numRows = point.rows.size(), numInner = point.inner.size();
  if (lanesOnRows) {
    auto mayMerge = [&](unsigned count) {
      return llvm::all_of(point.parts, [&](const PointKernel::Part &part) {
        tds::GenericOp op = part.op;
        SmallVector<int64_t> extents(op.getExtents());
        extents.append(op.getReduceExtents().begin(),
                       op.getReduceExtents().end());
        return canCollapse(op.getBlock(), extents, numRows - count, numRows);
      });
    };
    while (mergedRows < numRows && mayMerge(mergedRows + 1))
      ++mergedRows;
    return;
  }
  auto mayMerge = [&](unsigned count) {
    return llvm::all_of(point.parts, [&](const PointKernel::Part &part) {
      if (part.kind == PointKernel::Class::Row)
        return true;
      tds::GenericOp op = part.op;
      SmallVector<int64_t> extents(op.getExtents());
      extents.append(op.getReduceExtents().begin(),
                     op.getReduceExtents().end());
      return canCollapse(op.getBlock(), extents, extents.size() - count,
                         extents.size());
    });
  };
  while (mergedInner < numInner && mayMerge(mergedInner + 1))
    ++mergedInner;
}

unsigned PointSchedule::elementBits() {
  unsigned bits = 8;
  for (const PointKernel::Part &part : point.parts)
    tds::GenericOp(part.op).getBody().walk([&](Operation *op) {
      for (Type type : op->getResultTypes())
        if (type.isIntOrFloat())
          bits = std::max(bits, getRegisterType(type).getIntOrFloatBitWidth());
    });
  return bits;
}

void PointSchedule::chooseWidth() {
  int64_t extent = 1;
  ArrayRef<int64_t> axes = lanesOnRows ? ArrayRef(point.rows) : point.inner;
  unsigned merged = lanesOnRows ? mergedRows : mergedInner;
  if (!axes.empty())
    extent = product(axes.take_back(merged));
  double cost = 0;
  bool reduces = false;
  for (const PointKernel::Part &part : point.parts) {
    cost += bodyCost(tds::GenericOp(part.op).getBlock());
    reduces |= part.kind == PointKernel::Class::Reduce;
  }
  // Cheap reductions wait for their own last addition: more lanes hide that.
  unsigned lanes = reduces && cost <= 12 ? 64 : 16;
  if (elementBits() == 64)
    lanes /= 2;
  width = std::min<uint64_t>(lanes,
                             llvm::PowerOf2Ceil(std::max<int64_t>(extent, 1)));
}

/// A value of the row that more than one visit needs is kept where computing
/// it again would cost more than a load.
void PointSchedule::chooseKept() {
  if (lanesOnRows)
    return;
  llvm::DenseMap<Operation *, unsigned> visits;
  auto visit = [&](ArrayRef<tds::GenericOp> roots) {
    for (tds::GenericOp op : point.fullPartsFor(roots))
      ++visits[op];
  };
  for (unsigned level = 1; level <= point.levels; ++level)
    for (ArrayRef<tds::GenericOp> round : point.roundsOf(level))
      visit(round);
  visit(point.fullOutputs());
  int64_t position = 0;
  for (Operation &op :
       tds::KernelOp(point.kernel).getBlock()->without_terminator()) {
    auto generic = dyn_cast<tds::GenericOp>(op);
    if (generic && visits.lookup(generic) > 1 &&
        bodyCost(generic.getBlock()) > 12) {
      int64_t bytes = llvm::alignTo(
          product(point.inner) *
              tds::getElementBytes(generic.getType().getElementType()),
          64);
      // A row that no cache holds is better computed twice.
      if (scratch + bytes <= (1 << 20)) {
        kept.push_back(position);
        scratch += bytes;
      }
    }
    ++position;
  }
}

double PointSchedule::costPerRow() {
  double cost = 2;
  for (const PointKernel::Part &part : point.parts) {
    tds::GenericOp op = part.op;
    double points = part.kind == PointKernel::Class::Full ? product(point.inner)
                    : part.kind == PointKernel::Class::Reduce
                        ? op.getReductionSize()
                        : 1;
    cost += points * (bodyCost(op.getBlock()) + 1);
  }
  return cost;
}

DictionaryAttr PointSchedule::select() {
  chooseLanes();
  chooseMerging();
  chooseWidth();
  chooseKept();

  SmallVector<int64_t> outer(point.rows);
  int64_t laneExtent = 1;
  if (lanesOnRows && !outer.empty()) {
    laneExtent = product(ArrayRef(outer).take_back(mergedRows));
    outer.truncate(outer.size() - mergedRows);
  }
  int64_t count = product(outer);
  double vectors = double(llvm::divideCeil(laneExtent, width));
  // A row without elements costs something, too.
  double perRow = std::max(1.0, lanesOnRows ? costPerRow() * vectors
                                            : costPerRow() / width + 30);
  // An item is some rows, or a part of the lanes of one row. A vector is about
  // twice the registers of the narrowest processor.
  int64_t rows = std::max<int64_t>(1, int64_t(itemCost / perRow));
  int64_t chunk = std::max<int64_t>(laneExtent, 1);
  if (perRow > 2 * itemCost && vectors > 1) {
    int64_t parts = std::min<double>(vectors, perRow / itemCost);
    chunk = llvm::divideCeil(int64_t(vectors), parts) * width;
  }
  rows = std::min(rows, std::max<int64_t>(count, 1));
  int64_t work =
      llvm::divideCeil(count, rows) * llvm::divideCeil(laneExtent, chunk);

  Builder b(tds::KernelOp(point.kernel).getContext());
  SmallVector<NamedAttribute> attrs;
  auto add = [&](StringRef key, int64_t value) {
    attrs.push_back(b.getNamedAttr(key, b.getI64IntegerAttr(value)));
  };
  add("work", work);
  add("scratch", scratch);
  attrs.push_back(b.getNamedAttr("emitter", b.getStringAttr("points")));
  attrs.push_back(b.getNamedAttr(
      "lanes", b.getStringAttr(lanesOnRows ? "rows" : "reduce")));
  add("width", width);
  add("rows", rows);
  add("chunk", chunk);
  if (mergedRows > 1)
    add("collapse", mergedRows);
  if (mergedInner > 1)
    add("collapse_inner", mergedInner);
  if (!kept.empty())
    attrs.push_back(b.getNamedAttr("keep", b.getDenseI64ArrayAttr(kept)));
  return b.getDictionaryAttr(attrs);
}

FailureOr<DictionaryAttr> cpu::schedulePoints(tds::KernelOp kernel) {
  FailureOr<PointKernel> point = PointKernel::get(kernel);
  if (failed(point))
    return failure();
  return PointSchedule(*point).select();
}

/// A work item of the whole is as large a fraction of each part, so that every
/// thread has its share of all of them. Parts with few items give them to
/// different ends: `phases` says how far a part runs ahead, in items of the
/// whole. A thread does one part at a time, so that the scratch is that of the
/// part that needs most.
static FailureOr<DictionaryAttr> scheduleParts(tds::KernelOp kernel,
                                               const CPUTarget &target) {
  int64_t work = 0, scratch = 0;
  SmallVector<int64_t> counts, phases;
  for (auto part : kernel.getBlock()->getOps<tds::KernelOp>()) {
    if (!part->hasAttr("schedule") && failed(cpu::selectSchedule(part, target)))
      return failure();
    auto schedule = part->getAttrOfType<DictionaryAttr>("schedule");
    counts.push_back(cast<IntegerAttr>(schedule.get("work")).getInt());
    work = std::max(work, counts.back());
    scratch =
        std::max(scratch, cast<IntegerAttr>(schedule.get("scratch")).getInt());
  }
  // Whole items first, then rests: those of one part at the front, of the next
  // at the end.
  bool isFront = false;
  for (int64_t count : counts) {
    bool isEven = work == 0 || work % std::max<int64_t>(count, 1) == 0;
    phases.push_back(isEven && count > 1 ? 0 : isFront ? work - 1 : 0);
    if (!isEven || count == 1)
      isFront = !isFront;
  }
  Builder b(kernel.getContext());
  return b.getDictionaryAttr(
      {b.getNamedAttr("work", b.getI64IntegerAttr(work)),
       b.getNamedAttr("scratch", b.getI64IntegerAttr(scratch)),
       b.getNamedAttr("emitter", b.getStringAttr("parts")),
       b.getNamedAttr("phases", b.getDenseI64ArrayAttr(phases))});
}

/// Work items of an attention, or of its derivative, are tiles of rows.
static DictionaryAttr scheduleAttention(tds::KernelOp kernel) {
  AttentionTiles tiles;
  for (Operation &op : *kernel.getBlock()) {
    if (auto attention = dyn_cast<tds::AttentionOp>(op))
      tiles = AttentionTiles::get(attention);
    else if (auto grad = dyn_cast<tds::AttentionGradOp>(op))
      tiles = AttentionTiles::get(grad);
  }
  Builder b(kernel.getContext());
  return b.getDictionaryAttr(
      {b.getNamedAttr("work",
                      b.getI64IntegerAttr(tiles.queryItems + tiles.keyItems)),
       b.getNamedAttr("scratch", b.getI64IntegerAttr(tiles.scratchBytes)),
       b.getNamedAttr("emitter", b.getStringAttr(kernel.getKind()))});
}

LogicalResult cpu::selectSchedule(tds::KernelOp kernel,
                                  const CPUTarget &target) {
  FailureOr<DictionaryAttr> schedule =
      kernel.hasParts() ? scheduleParts(kernel, target)
      : kernel.getKind() == "scatter"
          ? FailureOr<DictionaryAttr>(scheduleScatter(kernel))
      : kernel.getKind() == "attention" || kernel.getKind() == "attention_grad"
          ? FailureOr<DictionaryAttr>(scheduleAttention(kernel))
      : kernel.getKind() == "contract" ? scheduleContract(kernel, target)
                                       : schedulePoints(kernel);
  if (failed(schedule))
    return failure();
  kernel->setAttr("schedule", *schedule);
  return success();
}
