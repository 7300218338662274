//===- Schedule.cpp - how GPU kernels are cut into blocks and threads -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Target/GPU/GPUTarget.h"

#include "tdsl/Target/Common/AttentionViews.h"
#include "tdsl/Target/Common/ContractShape.h"
#include "tdsl/Target/Common/KernelAnalysis.h"
#include "tdsl/Target/Common/LaneBuilder.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tdsl;
using target::ContractShape;

/// Bytes of the widest memory access of a thread.
static constexpr int64_t kAccessBytes = 16;
static constexpr int64_t kBlockThreads = 256;
/// Shared memory that a block has on every GPU without asking for more.
static constexpr int64_t kStaticSharedBytes = 48 * 1024;
/// A thread sums this many terms alone before a whole warp is worth it.
static constexpr int64_t kSerialTerms = 16;

/// The most consecutive points along an innermost axis of `extent` that a
/// thread can move in one access of every tensor.
static int64_t getVector(tds::KernelOp kernel, int64_t extent) {
  int64_t bytes = 1;
  for (Value value : llvm::concat<Value>(kernel.getBlock()->getArguments(),
                                         kernel.getOutputs())) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getNumElements() > 1)
      bytes = std::max(bytes, tds::getElementBytes(type.getElementType()));
  }
  int64_t vector = std::min<int64_t>(kAccessBytes / bytes, 8);
  while (vector > 1 && extent % vector != 0)
    vector /= 2;
  return vector;
}

namespace {
class ScheduleBuilder {
public:
  explicit ScheduleBuilder(tds::KernelOp kernel)
      : builder(kernel.getContext()) {}
  void set(StringRef name, int64_t value) {
    entries.emplace_back(builder.getStringAttr(name),
                         builder.getI64IntegerAttr(value));
  }
  void set(StringRef name, StringRef text) {
    entries.emplace_back(builder.getStringAttr(name),
                         builder.getStringAttr(text));
  }
  DictionaryAttr finish(int64_t blocks, int64_t threads) {
    // Past the limit of the x dimension nothing could be launched; an entry of
    // that size has long been refused.
    entries.emplace_back(
        builder.getStringAttr("grid"),
        builder.getDenseI64ArrayAttr({std::max<int64_t>(blocks, 1), 1, 1}));
    entries.emplace_back(builder.getStringAttr("block"),
                         builder.getDenseI64ArrayAttr({threads, 1, 1}));
    set("shared", 0); // dynamic shared memory; the tiles are static arrays,
                      // which the driver knows
    return builder.getDictionaryAttr(entries);
  }

private:
  Builder builder;
  SmallVector<NamedAttribute> entries;
};
} // namespace

/// How many of the last axes the kernel can walk as one.
static unsigned countMergedAxes(tds::KernelOp kernel,
                                ArrayRef<int64_t> extents) {
  unsigned rank = extents.size(), merged = 1;
  auto collapses = [&](tds::GenericOp op) {
    return target::canCollapse(op.getBlock(), extents, rank - merged - 1, rank);
  };
  while (merged < rank &&
         llvm::all_of(kernel.getBlock()->getOps<tds::GenericOp>(), collapses))
    ++merged;
  return merged;
}

static DictionaryAttr scheduleLoop(tds::KernelOp kernel) {
  ScheduleBuilder schedule(kernel);
  auto type = cast<RankedTensorType>(kernel.getOutputs()[0].getType());
  int64_t points = type.getNumElements(), vector = 1;
  unsigned merged = 1;
  // Inner reductions run once a point: more points, not more lanes.
  auto reduces = [](tds::GenericOp op) { return op.hasReduction(); };
  bool hasReduction =
      llvm::any_of(kernel.getBlock()->getOps<tds::GenericOp>(), reduces);
  if (type.getRank() && !hasReduction) {
    merged = countMergedAxes(kernel, type.getShape());
    int64_t extent =
        ShapedType::getNumElements(type.getShape().take_back(merged));
    // What is left over goes point by point, where that is next to nothing.
    bool mayLeaveSome = merged == type.getRank() && extent >= 1024;
    vector = getVector(kernel, mayLeaveSome ? kAccessBytes * extent : extent);
  }
  schedule.set("collapse", merged);
  schedule.set("vector", vector);
  int64_t threads = points / vector + points % vector;
  return schedule.finish(llvm::divideCeil(threads, kBlockThreads),
                         kBlockThreads);
}

/// Whether the reductions mostly read memory that is contiguous along their
/// last index.
static bool isContiguousAlongAxis(tds::KernelOp kernel) {
  int64_t along = 0, across = 0;
  for (auto op : kernel.getBlock()->getOps<tds::GenericOp>()) {
    if (!op.hasReduction())
      continue;
    BlockArgument last = op.getReductionIndices().back();
    op.getBlock()->walk([&](tds::ReadOp read) {
      if (read.getIndices().empty())
        return;
      SmallVector<Value> indices(op.getIndices());
      bool uses = false, innermost = false;
      for (auto [i, index] : llvm::enumerate(read.getIndices())) {
        std::optional<AffineExpr> expr = tds::getAffineIndex(index, indices);
        if (!expr || expr->isFunctionOfDim(last.getArgNumber())) {
          uses = true;
          innermost = i + 1 == read.getIndices().size() && expr &&
                      isa<AffineDimExpr>(*expr);
        }
      }
      if (uses)
        (innermost ? along : across) += read.getTensorType().getNumElements();
    });
  }
  return along >= across;
}

static DictionaryAttr scheduleRow(tds::KernelOp kernel) {
  ScheduleBuilder schedule(kernel);
  tds::GenericOp reduction;
  for (auto op : kernel.getBlock()->getOps<tds::GenericOp>())
    if (op.hasReduction())
      reduction = op;
  int64_t rows = ShapedType::getNumElements(reduction.getExtents()),
          axis = reduction.getReductionSize();
  bool isSerial =
      axis <= kSerialTerms || (!isContiguousAlongAxis(kernel) && rows >= 32);
  if (isSerial) {
    schedule.set("strategy", "serial");
    // A part has the threads that all parts have.
    int64_t threads = rows >= 4096 || kernel.isPart() ? kBlockThreads : 64;
    return schedule.finish(llvm::divideCeil(rows, threads), threads);
  }
  int64_t vector = getVector(kernel, reduction.getReduceExtents().back());
  int64_t chunks = axis / vector;
  int64_t threads = 32, most = kernel.isPart() ? kBlockThreads : 512;
  while (threads < most && threads * 4 < chunks)
    threads *= 2;
  int64_t rowsPerBlock = kernel.isPart() ? kBlockThreads / threads
                         : threads == 32 ? std::clamp<int64_t>(rows, 1, 4)
                                         : 1;
  schedule.set("strategy", "block");
  schedule.set("vector", vector);
  schedule.set("threads", threads);
  schedule.set("rows", rowsPerBlock);
  return schedule.finish(llvm::divideCeil(rows, rowsPerBlock),
                         threads * rowsPerBlock);
}

static DictionaryAttr scheduleContract(tds::KernelOp kernel) {
  ScheduleBuilder schedule(kernel);
  tds::ContractOp op = *kernel.getBlock()->getOps<tds::ContractOp>().begin();
  ContractShape layout = ContractShape::get(op);
  int64_t m = ContractShape::getExtent(layout.m),
          n = ContractShape::getExtent(layout.n);
  int64_t batch = ContractShape::getExtent(layout.batch);
  // Large tiles reuse more, small ones give more blocks: take the large one
  // where it still gives a block to most processors of a GPU.
  bool isLarge =
      batch * llvm::divideCeil(m, 64) * llvm::divideCeil(n, 64) >= 64;
  int64_t tile = isLarge ? 64 : 32, part = isLarge ? 4 : 2;
  int64_t bytes = tds::getElementBytes(target::getRegisterType(
      cast<RankedTensorType>(op.getType()).getElementType()));
  int64_t tileK = bytes > 4 ? 8 : 16;
  schedule.set("tile_m", tile);
  schedule.set("tile_n", tile);
  schedule.set("tile_k", tileK);
  schedule.set("thread_m", part);
  schedule.set("thread_n", part);
  return schedule.finish(
      batch * llvm::divideCeil(m, tile) * llvm::divideCeil(n, tile), 256);
}

static DictionaryAttr scheduleScatter(tds::KernelOp kernel) {
  ScheduleBuilder schedule(kernel);
  tds::ScatterOp op = *kernel.getBlock()->getOps<tds::ScatterOp>().begin();
  int64_t columns = 1, cut = 1;
  for (auto [axis, index] : llvm::enumerate(op.getYieldedIndices())) {
    auto argument = dyn_cast<BlockArgument>(index);
    if (argument && op.getExtents()[argument.getArgNumber()] ==
                        op.getType().getShape()[axis])
      columns *= op.getType().getShape()[axis];
    else if (cut == 1)
      cut = op.getType().getShape()[axis];
  }
  int64_t parts = std::clamp<int64_t>(cut / 8, 1, 64);
  schedule.set("parts", parts);
  int64_t threads = kernel.isPart() ? kBlockThreads : 64;
  return schedule.finish(llvm::divideCeil(columns * parts, threads), threads);
}

/// A tile of rows a block; a derivative has blocks for queries and for keys.
template <typename Op>
static DictionaryAttr scheduleAttention(tds::KernelOp kernel, Op op) {
  ScheduleBuilder schedule(kernel);
  int64_t bytes = tds::getElementBytes(op.getComputeType());
  // The tiles of a derivative, which holds most, must fit; that of forward has
  // the same, so that both see the scores in the same places.
  auto needs = [&](int64_t tile) {
    return bytes * tile *
           (2 * (op.getDepth() + 1) + 2 * (op.getWidth() + 1) + 2 * (tile + 1) +
            4);
  };
  int64_t tile = needs(32) <= kStaticSharedBytes ? 32 : 16;
  int64_t blocks = llvm::divideCeil(op.getNumQueries(), tile);
  if (std::is_same_v<Op, tds::AttentionGradOp>)
    blocks += llvm::divideCeil(op.getNumKeys(), tile);
  schedule.set("tile", tile);
  return schedule.finish(target::getBatchSize(op) * blocks, kBlockThreads);
}

/// The blocks of the parts, one part behind the other.
static DictionaryAttr scheduleParts(tds::KernelOp kernel) {
  ScheduleBuilder schedule(kernel);
  int64_t blocks = 0;
  for (auto part : kernel.getBlock()->getOps<tds::KernelOp>()) {
    if (!part->hasAttr("schedule"))
      part->setAttr("schedule", gpu::selectSchedule(part));
    // Later stages are run by one of the blocks that there are.
    if (part.getStage() > 0)
      continue;
    auto own = part->getAttrOfType<DictionaryAttr>("schedule");
    blocks += cast<DenseI64ArrayAttr>(own.get("grid"))[0];
  }
  return schedule.finish(blocks, kBlockThreads);
}

DictionaryAttr gpu::selectSchedule(tds::KernelOp kernel) {
  if (kernel.hasParts())
    return scheduleParts(kernel);
  StringRef kind = kernel.getKind();
  if (kind == "loop")
    return scheduleLoop(kernel);
  if (kind == "row")
    return scheduleRow(kernel);
  if (kind == "contract")
    return scheduleContract(kernel);
  if (kind == "attention")
    return scheduleAttention(
        kernel, *kernel.getBlock()->getOps<tds::AttentionOp>().begin());
  if (kind == "attention_grad")
    return scheduleAttention(
        kernel, *kernel.getBlock()->getOps<tds::AttentionGradOp>().begin());
  return scheduleScatter(kernel);
}
