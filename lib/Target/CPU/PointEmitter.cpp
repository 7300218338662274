//===- PointEmitter.cpp - loop and row kernels -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PointEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::cpu;
using namespace tdsl::target;

static int64_t product(ArrayRef<int64_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t(1),
                         std::multiplies<int64_t>());
}

/// The extents with the last `merged` ones as one.
static SmallVector<int64_t> mergeLast(ArrayRef<int64_t> extents,
                                      unsigned merged) {
  SmallVector<int64_t> result(extents);
  for (unsigned i = 1; i < merged && result.size() > 1; ++i) {
    int64_t last = result.pop_back_val();
    result.back() *= last;
  }
  return result;
}

bool PointEmitter::isFull(Value tensor) const {
  const PointKernel::Part *part = point.find(tensor);
  if (part)
    return part->kind == PointKernel::Class::Full;
  // An operand or a constant that is yielded as it is.
  return !point.inner.empty() &&
         cast<RankedTensorType>(tensor.getType()).getRank() >
             int64_t(point.rows.size());
}

void PointEmitter::keepInScratch(ArrayRef<int64_t> positions) {
  int64_t bytes = 0;
  unsigned position = 0;
  tds::KernelOp kernel = point.kernel;
  for (Operation &op : kernel.getBlock()->without_terminator()) {
    if (!llvm::is_contained(positions, int64_t(position++)))
      continue;
    auto generic = cast<tds::GenericOp>(op);
    Buffer buffer = Buffer::dense(frame.scratchAt(bytes), generic.getType());
    for (size_t i = 0; i < point.rows.size(); ++i)
      buffer.strides[i] = 0;
    buffer.alignment = 64;
    bytes += llvm::alignTo(
        product(point.inner) * tds::getElementBytes(buffer.element), 64);
    kept[generic.getResult()] = {buffer};
  }
}

void PointEmitter::emitLaneRange(LaneBuilder &lanes, unsigned width, Value low,
                                 Value high, int64_t extent,
                                 function_ref<void(const LaneIndex &)> emit) {
  lanes.setLanes(width);
  if (width == 1) {
    lanes.loop(low, high, 1, [&](Value i) { emit(lanes.index(i)); });
    return;
  }
  int64_t rest = extent % width;
  Value whole = high;
  if (rest)
    whole = lanes.add(low, lanes.mul(lanes.divU(lanes.sub(high, low), width),
                                     lanes.i64(width)));
  if (extent >= width)
    lanes.loop(low, whole, width,
               [&](Value i) { emit(lanes.consecutive(i, width)); });
  if (!rest)
    return;
  Value some = arith::CmpIOp::create(lanes.builder, lanes.loc,
                                     arith::CmpIPredicate::slt, whole, high);
  lanes.ifThen(some, [&]() {
    lanes.setLanes(width, lanes.maskBelow(lanes.i64(rest)), rest);
    emit(lanes.consecutive(whole, width));
  });
  lanes.setLanes(width);
}

void PointEmitter::emitItems(int64_t rowsPerItem, int64_t chunk) {
  SmallVector<int64_t> extents = mergeLast(point.rows, mergedRows);
  unsigned leading = point.rows.size() - extents.size();
  int64_t laneExtent = 1;
  bool split = lanesOnRows && !extents.empty();
  if (split)
    laneExtent = extents.pop_back_val();
  int64_t count = product(extents);
  int64_t chunks =
      split ? std::max<int64_t>(llvm::divideCeil(laneExtent, chunk), 1) : 1;

  // Merged axes: all but the last one stay 0.
  auto withIndices = [&](ArrayRef<Value> outer) {
    SmallVector<LaneIndex> rows;
    for (Value index : outer)
      rows.push_back(lanes.index(index));
    if (split)
      for (unsigned i = 0; i < leading; ++i)
        rows.push_back(lanes.constantIndex(0));
    return rows;
  };
  lanes.loop(frame.first, frame.last, 1, [&](Value item) {
    lanes.setLanes(1);
    Value block = lanes.divU(item, chunks), part = lanes.remU(item, chunks);
    Value low = lanes.mul(block, lanes.i64(rowsPerItem));
    Value high =
        lanes.minS(lanes.add(low, lanes.i64(rowsPerItem)), lanes.i64(count));
    Value partLow = lanes.mul(part, lanes.i64(chunk));
    Value partHigh =
        lanes.minS(lanes.add(partLow, lanes.i64(chunk)), lanes.i64(laneExtent));
    lanes.loop(low, high, 1, [&](Value row) {
      lanes.setLanes(1);
      SmallVector<LaneIndex> rows =
          withIndices(lanes.delinearize(row, extents));
      if (!split) {
        emitPoint(rows);
        return;
      }
      emitLaneRange(lanes, width, partLow, partHigh, laneExtent,
                    [&](const LaneIndex &index) {
                      rows.push_back(index);
                      emitPoint(rows);
                      rows.pop_back();
                    });
    });
  });
}

void PointEmitter::emitPoint(ArrayRef<LaneIndex> rows) {
  rowIndices.assign(rows.begin(), rows.end());
  for (auto &entry : kept)
    entry.second.written = false;
  if (!lanesOnRows)
    lanes.setLanes(1);
  emitRowParts(0);
  for (unsigned level = 1; level <= point.levels; ++level) {
    for (ArrayRef<tds::GenericOp> round : point.roundsOf(level))
      emitRound(round, /*outputs=*/false);
    emitRowParts(level);
  }
  tds::KernelOp kernel = point.kernel;
  if (llvm::any_of(kernel.getBlock()->getTerminator()->getOperands(),
                   [&](Value value) { return isFull(value); }))
    emitRound({}, /*outputs=*/true);
  storeOutputs(/*full=*/false, rowIndices);
  for (const PointKernel::Part &part : point.parts)
    body.clearRegister(tds::GenericOp(part.op).getResult());
}

void PointEmitter::emitRowParts(unsigned level) {
  for (const PointKernel::Part &part : point.parts) {
    tds::GenericOp op = part.op;
    if (part.kind == PointKernel::Class::Row && part.level == level)
      body.setRegister(op.getResult(), body.evaluate(op, rowIndices));
  }
}

/// One visit of all inner points: reductions, or the outputs over them.
void PointEmitter::emitRound(ArrayRef<tds::GenericOp> reductions,
                             bool outputs) {
  ArrayRef<int64_t> extents = point.inner;
  if (!reductions.empty())
    extents = tds::GenericOp(reductions[0]).getReduceExtents();
  bool asVector = width > 1;
  Values carried;
  lanes.setLanes(width, lanesOnRows ? lanes.getMask() : Value(),
                 lanesOnRows ? lanes.getCount() : 0);
  for (tds::GenericOp op : reductions)
    carried.append(Reduction(lanes, op).identity(asVector));
  SmallVector<LaneIndex> inner;
  carried =
      emitNest(0, extents, inner, std::move(carried), reductions, outputs);
  if (!lanesOnRows)
    lanes.setLanes(width);
  unsigned at = 0;
  for (tds::GenericOp op : reductions) {
    Reduction reduction(lanes, op);
    Values accumulators(ArrayRef(carried).slice(at, reduction.size()));
    at += reduction.size();
    if (!lanesOnRows) {
      accumulators = reduction.mergeLanes(accumulators);
      lanes.setLanes(1);
    }
    body.setRegister(op.getResult(), reduction.finish(accumulators));
    if (!lanesOnRows)
      lanes.setLanes(width);
  }
  if (!lanesOnRows)
    lanes.setLanes(1);
  // What this round has kept can be read from now on.
  for (auto &entry : kept)
    if (entry.second.written)
      body.setBuffer(entry.first, entry.second.buffer);
}

PointEmitter::Values
PointEmitter::emitNest(unsigned axis, ArrayRef<int64_t> extents,
                       SmallVectorImpl<LaneIndex> &inner, Values carried,
                       ArrayRef<tds::GenericOp> reductions, bool outputs) {
  unsigned laneAxis = extents.size();
  int64_t laneExtent = 0;
  if (!lanesOnRows) {
    SmallVector<int64_t> merged = mergeLast(extents, mergedInner);
    laneAxis = merged.size() - 1;
    laneExtent = merged.back();
  }
  if (axis == extents.size())
    return emitInner(inner, std::move(carried), reductions, outputs);
  if (axis < laneAxis) {
    return lanes.loop(lanes.i64(0), lanes.i64(extents[axis]), 1, carried,
                      [&](Value index, ValueRange values) {
                        inner.push_back(lanes.index(index));
                        Values next =
                            emitNest(axis + 1, extents, inner, Values(values),
                                     reductions, outputs);
                        inner.pop_back();
                        return next;
                      });
  }
  // The axis of the lanes; the merged ones before it stay 0.
  unsigned leading = extents.size() - 1 - axis;
  for (unsigned i = 0; i < leading; ++i)
    inner.push_back(lanes.constantIndex(0));
  int64_t whole = laneExtent / width * width, rest = laneExtent % width;
  lanes.setLanes(width);
  if (whole)
    carried = lanes.loop(lanes.i64(0), lanes.i64(whole), width, carried,
                         [&](Value index, ValueRange values) {
                           inner.push_back(lanes.consecutive(index, width));
                           Values next = emitInner(inner, Values(values),
                                                   reductions, outputs);
                           inner.pop_back();
                           return next;
                         });
  if (rest) {
    lanes.setLanes(width, lanes.maskBelow(lanes.i64(rest)), rest);
    inner.push_back(lanes.consecutive(lanes.i64(whole), width));
    carried = emitInner(inner, std::move(carried), reductions, outputs);
    inner.pop_back();
    lanes.setLanes(width);
  }
  inner.truncate(inner.size() - leading);
  return carried;
}

PointEmitter::Values
PointEmitter::emitInner(ArrayRef<LaneIndex> inner, Values carried,
                        ArrayRef<tds::GenericOp> reductions, bool outputs) {
  SmallVector<LaneIndex> indices(rowIndices);
  indices.append(inner.begin(), inner.end());
  SmallVector<tds::GenericOp> roots(reductions.begin(), reductions.end());
  if (outputs)
    roots.append(point.fullOutputs());
  SmallVector<tds::GenericOp> full = point.fullPartsFor(roots);
  // A part whose value is in scratch hides those that only it needs; they are
  // dead code and go.
  for (tds::GenericOp op : full) {
    Value tensor = op.getResult();
    auto it = kept.find(tensor);
    if (it != kept.end() && it->second.written && body.getBuffer(tensor)) {
      body.setRegister(tensor, lanes.load(it->second.buffer, indices));
      continue;
    }
    Value value = body.evaluate(op, indices);
    body.setRegister(tensor, value);
    if (it != kept.end()) {
      lanes.store(it->second.buffer, indices, value);
      it->second.written = true;
    }
  }
  Values next;
  unsigned at = 0;
  for (tds::GenericOp op : reductions) {
    Reduction reduction(lanes, op);
    Term term = body.evaluateTerm(op, indices);
    next.append(reduction.step(ArrayRef(carried).slice(at, reduction.size()),
                               term, inner.back()));
    at += reduction.size();
  }
  if (outputs)
    storeOutputs(/*full=*/true, indices);
  for (tds::GenericOp op : full)
    body.clearRegister(op.getResult());
  return next;
}

void PointEmitter::storeOutputs(bool full, ArrayRef<LaneIndex> indices) {
  tds::KernelOp kernel = point.kernel;
  OperandRange yielded = kernel.getBlock()->getTerminator()->getOperands();
  // All values before the first store: an output may lie in an input's place.
  Values values;
  for (Value tensor : yielded)
    values.push_back(isFull(tensor) == full ? body.valueAt(tensor, indices)
                                            : Value());
  for (auto [i, value] : llvm::enumerate(values))
    if (value)
      lanes.store(frame.outputBuffer(i), indices, value);
}

LogicalResult cpu::emitPoints(KernelFrame &frame) {
  FailureOr<PointKernel> point = PointKernel::get(frame.kernel.kernel);
  if (failed(point))
    return failure();
  PointEmitter emitter(frame, *point, frame.getInt("width", 1),
                       frame.getString("lanes") != "reduce");
  emitter.collapseRows(frame.getInt("collapse", 1));
  emitter.collapseInner(frame.getInt("collapse_inner", 1));
  if (auto positions = frame.getSchedule().getAs<DenseI64ArrayAttr>("keep"))
    emitter.keepInScratch(positions);
  emitter.emitItems(frame.getInt("rows", 1), frame.getInt("chunk", 1));
  return success();
}
