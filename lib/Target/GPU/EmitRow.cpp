//===- EmitRow.cpp - row kernels on the GPU -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row kernel has rows (the parallel extents R of its reductions) and an axis
// A (their reduction extents). Its generics are row values (over R), full
// values (over R and A) or reductions from full to row values.
//
// Strategy "block": the threads of a warp, or of a whole block, share a row. A
// thread has the chunks t, t + T, t + 2T, … of `vector` consecutive points of
// A. Where a thread has few chunks, the full values of the row stay in
// registers between the reductions; otherwise each pass computes them again. A
// reduction is a sequence within a thread, a fixed tree over the lanes of a
// vector, butterflies within a warp and a sequence over warps.
//
// Strategy "serial": a thread computes a row alone; neighbouring threads have
// neighbouring rows. Right where A is short or strides through memory.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::gpu;
using target::LaneIndex;

/// Chunks of a row that a thread may keep in registers.
static constexpr int64_t kMaxHeldChunks = 8;

namespace {
/// The generics of a row kernel by what they are.
struct RowShape {
  ArrayRef<int64_t> rows, axis;
  SmallVector<tds::GenericOp> ops;
  int64_t numRows = 1, axisSize = 1;

  explicit RowShape(tds::KernelOp kernel) {
    for (auto op : kernel.getBlock()->getOps<tds::GenericOp>()) {
      ops.push_back(op);
      if (op.hasReduction()) {
        rows = op.getExtents();
        axis = op.getReduceExtents();
      }
    }
    numRows = ShapedType::getNumElements(rows);
    axisSize = ShapedType::getNumElements(axis);
  }
  /// Over the rows and the axis, and not a reduction.
  bool isFull(Value value) const {
    return cast<RankedTensorType>(value.getType()).getRank() ==
           static_cast<int64_t>(rows.size() + axis.size());
  }
};
} // namespace

void KernelEmitter::emitRowSerial() {
  RowShape shape(kernel);
  Value row = lanes.add(lanes.mul(getBlock(), lanes.i64(getArray("block")[0])),
                        getThread());
  lanes.ifThen(lessThan(row, lanes.i64(shape.numRows)), [&] {
    SmallVector<LaneIndex> point = getPoint(row, shape.rows, 1);
    // Full values are computed where they are read: before each term of a
    // reduction and before each output.
    auto computeFull = [&](ArrayRef<LaneIndex> at, tds::GenericOp until) {
      for (tds::GenericOp op : shape.ops) {
        if (op == until)
          return;
        if (!op.hasReduction() && shape.isFull(op.getResult()))
          body.setRegister(op, body.evaluate(op, at));
      }
    };
    auto overAxis = [&](ValueRange carried, PointVisitor visit) {
      return overExtents(shape.axis, point, carried, visit);
    };
    for (tds::GenericOp op : shape.ops) {
      if (op.hasReduction()) {
        target::Reduction reduction(lanes, op);
        SmallVector<Value> total =
            overAxis(reduction.identity(false),
                     [&](ArrayRef<LaneIndex> at, ValueRange values) {
                       computeFull(at, op);
                       return reduction.step(values, body.evaluateTerm(op, at),
                                             at.back());
                     });
        body.setRegister(op, reduction.finish(total));
      } else if (!shape.isFull(op.getResult())) {
        body.setRegister(op, body.evaluate(op, point));
      }
    }
    auto yielded = kernel.getBlock()->getTerminator()->getOperands();
    if (llvm::any_of(yielded, [&](Value value) { return shape.isFull(value); }))
      overAxis({}, [&](ArrayRef<LaneIndex> at, ValueRange) {
        computeFull(at, nullptr);
        storeOutputs(at, [&](Value value) { return shape.isFull(value); });
        return SmallVector<Value>{};
      });
    storeOutputs(point, [&](Value value) { return !shape.isFull(value); });
  });
}

void KernelEmitter::emitRowBlock() {
  RowShape shape(kernel);
  int64_t threads = getInt("threads"), rowsPerBlock = getInt("rows"),
          vector = getInt("vector");
  int64_t chunks = shape.axisSize / vector;
  int64_t turns = llvm::divideCeil(chunks, threads);
  bool held = turns <= kMaxHeldChunks;
  int64_t warps = threads / 32;

  Value thread = getThread();
  Value lane = lanes.remU(thread, threads);
  Value row = lanes.add(lanes.mul(getBlock(), lanes.i64(rowsPerBlock)),
                        lanes.divU(thread, threads));
  // Threads past the last row compute it once more, so that all take part in
  // shuffles and barriers; they store nothing.
  Value rowIsReal = lessThan(row, lanes.i64(shape.numRows));
  row = lanes.minS(row, lanes.i64(shape.numRows - 1));
  lanes.setLanes(1);
  SmallVector<LaneIndex> point = getPoint(row, shape.rows, 1);

  struct Chunk {
    SmallVector<LaneIndex> at;
    Value isReal; // null: always
  };
  auto getChunk = [&](Value number, bool isAlwaysReal) {
    Chunk chunk;
    if (!isAlwaysReal) {
      chunk.isReal = lessThan(number, lanes.i64(chunks));
      number = arith::SelectOp::create(builder, loc, chunk.isReal, number,
                                       lanes.i64(0));
    }
    chunk.at = point;
    llvm::append_range(chunk.at, getPoint(number, shape.axis, vector));
    return chunk;
  };
  llvm::DenseMap<std::pair<Value, int64_t>, Value> heldValues;
  auto computeFull = [&](const Chunk &chunk, tds::GenericOp until) {
    for (tds::GenericOp op : shape.ops) {
      if (op == until)
        return;
      if (!op.hasReduction() && shape.isFull(op.getResult()))
        body.setRegister(op, lanes.splat(body.evaluate(op, chunk.at)));
    }
  };
  /// Visits the thread's chunks in order with all full values before `until` in
  /// registers.
  auto overChunks =
      [&](ValueRange carried, tds::GenericOp until,
          function_ref<SmallVector<Value>(const Chunk &, ValueRange)> visit) {
        lanes.setLanes(vector);
        SmallVector<Value> values(carried);
        if (held) {
          for (int64_t turn = 0; turn < turns; ++turn) {
            Value number = lanes.add(lane, lanes.i64(turn * threads));
            Chunk chunk = getChunk(number, (turn + 1) * threads <= chunks);
            for (tds::GenericOp op : shape.ops) {
              if (op == until)
                break;
              if (op.hasReduction() || !shape.isFull(op.getResult()))
                continue;
              Value &value = heldValues[{op.getResult(), turn}];
              if (!value)
                value = lanes.splat(body.evaluate(op, chunk.at));
              body.setRegister(op, value);
            }
            values = visit(chunk, values);
          }
        } else {
          values = lanes.loop(lane, lanes.i64(chunks), threads, values,
                              [&](Value number, ValueRange inner) {
                                Chunk chunk = getChunk(number, true);
                                computeFull(chunk, until);
                                return visit(chunk, inner);
                              });
        }
        lanes.setLanes(1);
        return values;
      };

  unsigned numReductions = 0;
  for (tds::GenericOp op : shape.ops) {
    if (!op.hasReduction()) {
      if (!shape.isFull(op.getResult()))
        body.setRegister(op, body.evaluate(op, point));
      continue;
    }
    target::Reduction reduction(lanes, op);
    lanes.setLanes(vector);
    SmallVector<Value> start = reduction.identity(vector > 1);
    SmallVector<Value> total =
        overChunks(start, op, [&](const Chunk &chunk, ValueRange values) {
          SmallVector<Value> next = reduction.step(
              values, body.evaluateTerm(op, chunk.at), chunk.at.back());
          if (chunk.isReal)
            for (auto [value, old] : llvm::zip(next, values))
              value = arith::SelectOp::create(builder, loc, chunk.isReal, value,
                                              old);
          return next;
        });
    lanes.setLanes(vector);
    total = reduction.mergeLanes(total);
    lanes.setLanes(1);
    for (int64_t mask = 16; mask > 0; mask /= 2) {
      SmallVector<Value> other;
      for (Value value : total)
        other.push_back(shuffleXor(value, mask));
      total = reduction.merge(total, other);
    }
    if (warps > 1) {
      // One slot a warp; then every thread goes through the slots in order.
      SmallVector<Value> slots;
      Value warp = lanes.divU(lane, 32);
      Value firstSlot =
          rowsPerBlock > 1
              ? lanes.mul(lanes.divU(thread, threads), lanes.i64(warps))
              : lanes.i64(0);
      warp = lanes.add(firstSlot, warp);
      for (auto [i, value] : llvm::enumerate(total)) {
        bool isBool = value.getType().isInteger(1);
        Type memory = isBool ? builder.getI8Type() : value.getType();
        Value slot = createShared("slots" + std::to_string(numReductions) +
                                      "_" + std::to_string(i),
                                  memory, warps * rowsPerBlock);
        Value stored = isBool
                           ? arith::ExtUIOp::create(builder, loc, memory, value)
                                 .getResult()
                           : value;
        // All lanes of a warp hold the same bits; one writes.
        lanes.ifThen(arith::CmpIOp::create(builder, loc,
                                           arith::CmpIPredicate::eq,
                                           lanes.remU(lane, 32), lanes.i64(0)),
                     [&] { storeShared(slot, stored, warp); });
        slots.push_back(slot);
      }
      barrier();
      SmallVector<Value> joined;
      for (int64_t w = 0; w < warps; ++w) {
        SmallVector<Value> one;
        for (auto [slot, value] : llvm::zip(slots, total)) {
          bool isBool = value.getType().isInteger(1);
          Value loaded =
              loadShared(slot, isBool ? builder.getI8Type() : value.getType(),
                         lanes.add(firstSlot, lanes.i64(w)));
          if (isBool)
            loaded =
                arith::TruncIOp::create(builder, loc, value.getType(), loaded);
          one.push_back(loaded);
        }
        joined = w == 0 ? one : reduction.merge(joined, one);
      }
      total = joined;
    }
    ++numReductions;
    body.setRegister(op, reduction.finish(total));
  }

  // An output may lie in the place of an input of which threads of the row
  // still read elements that others write.
  if (sharesBuffers)
    barrier();
  auto yielded = kernel.getBlock()->getTerminator()->getOperands();
  if (llvm::any_of(yielded, [&](Value value) { return shape.isFull(value); }))
    overChunks({}, nullptr, [&](const Chunk &chunk, ValueRange) {
      Value real = rowIsReal;
      if (chunk.isReal)
        real = arith::AndIOp::create(builder, loc, real, chunk.isReal);
      lanes.ifThen(real, [&] {
        storeOutputs(chunk.at,
                     [&](Value value) { return shape.isFull(value); });
      });
      return SmallVector<Value>{};
    });
  // Last, since an output over the rows may lie in the place of an input that
  // all threads of the row read.
  if (sharesBuffers)
    barrier();
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        lane, lanes.i64(0));
  lanes.ifThen(arith::AndIOp::create(builder, loc, rowIsReal, isFirst), [&] {
    storeOutputs(point, [&](Value value) { return !shape.isFull(value); });
  });
}
