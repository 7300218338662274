//===- EmitLoop.cpp - element kernels and scatters on the GPU -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::gpu;
using target::LaneIndex;

void KernelEmitter::emitLoop() {
  auto generics = kernel.getBlock()->getOps<tds::GenericOp>();
  ArrayRef<int64_t> extents =
      generics.empty()
          ? cast<RankedTensorType>(kernel.getOutputs()[0].getType()).getShape()
          : (*generics.begin()).getExtents();
  int64_t vector = getInt("vector", 1), merged = getInt("collapse", 1);
  int64_t points = ShapedType::getNumElements(extents);
  // The last axes as one; in their places all but the last index are 0.
  SmallVector<int64_t> units(extents);
  while (merged > 1 && units.size() + merged > extents.size() + 1) {
    int64_t last = units.pop_back_val();
    units.back() *= last;
  }
  auto emitPoint = [&](ArrayRef<LaneIndex> unitPoint) {
    SmallVector<LaneIndex> point(unitPoint);
    while (point.size() < extents.size())
      point.insert(point.end() - 1, lanes.constantIndex(0));
    for (tds::GenericOp op : generics)
      body.setRegister(op, evaluateSerially(op, point));
    storeOutputs(point, [](Value) { return true; });
  };
  int64_t whole = points / vector;
  Value linear = lanes.add(
      lanes.mul(getBlock(), lanes.i64(getArray("block")[0])), getThread());
  lanes.setLanes(vector);
  lanes.ifThen(lessThan(linear, lanes.i64(whole)),
               [&] { emitPoint(getPoint(linear, units, vector)); });
  if (points % vector == 0)
    return;
  // One thread for each of the points that fill no vector; all axes are one
  // then.
  lanes.setLanes(1);
  Value rest = lanes.sub(linear, lanes.i64(whole));
  Value isRest = arith::AndIOp::create(
      builder, loc,
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, rest,
                            lanes.i64(0)),
      lessThan(rest, lanes.i64(points % vector)));
  lanes.ifThen(isRest, [&] {
    Value index = lanes.add(rest, lanes.i64(whole * vector));
    emitPoint({lanes.index(index)});
  });
}

// Threads own columns: loop indices that are themselves indices of the result.
// A thread walks all other points in lexicographic order and adds into its own
// elements only, so no two threads meet and the order of the additions is
// fixed. The first computed axis is also cut into ranges, one a grid row, to
// have more threads.
void KernelEmitter::emitScatter() {
  tds::ScatterOp op = *kernel.getBlock()->getOps<tds::ScatterOp>().begin();
  ArrayRef<int64_t> shape = op.getType().getShape(), extents = op.getExtents();
  SmallVector<int64_t> ownedAxis(
      shape.size(), -1); // loop index that owns this axis of the result
  SmallVector<int64_t> ownedExtents;
  SmallVector<unsigned> ownedLoops;
  for (auto [axis, index] : llvm::enumerate(op.getYieldedIndices())) {
    auto argument = dyn_cast<BlockArgument>(index);
    if (argument && argument.getOwner() == op.getBlock() &&
        extents[argument.getArgNumber()] == shape[axis] &&
        !llvm::is_contained(ownedLoops, argument.getArgNumber())) {
      ownedAxis[axis] = argument.getArgNumber();
      ownedLoops.push_back(argument.getArgNumber());
      ownedExtents.push_back(shape[axis]);
    }
  }
  int64_t firstComputed =
      std::distance(ownedAxis.begin(), llvm::find(ownedAxis, -1));
  bool isCut = firstComputed < static_cast<int64_t>(shape.size());
  int64_t columns = ShapedType::getNumElements(ownedExtents),
          parts = getInt("parts");
  Value linear = lanes.add(
      lanes.mul(getBlock(), lanes.i64(getArray("block")[0])), getThread());

  lanes.ifThen(lessThan(linear, lanes.i64(columns * parts)), [&] {
    SmallVector<Value> column =
        lanes.delinearize(lanes.remU(linear, columns), ownedExtents);
    Value low = lanes.i64(0),
          high = isCut ? lanes.i64(shape[firstComputed]) : lanes.i64(1);
    if (isCut && parts > 1) {
      int64_t length = llvm::divideCeil(shape[firstComputed], parts);
      low = lanes.mul(lanes.divU(linear, columns), lanes.i64(length));
      high = lanes.minS(lanes.add(low, lanes.i64(length)), high);
    }
    target::Buffer &result = outputs[0];
    auto ownedIndex = [&](int64_t loop) {
      return column[std::distance(ownedLoops.begin(),
                                  llvm::find(ownedLoops, loop))];
    };

    Value zero = arith::ConstantOp::create(
        builder, loc,
        builder.getZeroAttr(target::getRegisterType(result.element)));
    SmallVector<LaneIndex> place(shape.size()), point(extents.size());
    // f16 and bf16 sums are rounded once, so they cannot live in memory between
    // terms: each element goes through all points by itself.
    bool isNarrow = result.element.isF16() || result.element.isBF16();
    std::function<SmallVector<Value>(unsigned, ValueRange)> gather =
        [&](unsigned loop, ValueRange sum) -> SmallVector<Value> {
      if (loop == extents.size()) {
        auto [value, indices] = body.evaluate(op, point);
        Value next = arith::AddFOp::create(builder, loc, sum[0], value);
        for (auto [axis, index] : llvm::enumerate(indices))
          if (ownedAxis[axis] < 0)
            next = arith::SelectOp::create(
                builder, loc,
                arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                      lanes.materialize(index),
                                      place[axis].base),
                next, sum[0]);
        return {next};
      }
      if (llvm::is_contained(ownedLoops, loop)) {
        point[loop] = lanes.index(ownedIndex(loop));
        return gather(loop + 1, sum);
      }
      return lanes.loop(lanes.i64(0), lanes.i64(extents[loop]), 1, sum,
                        [&](Value index, ValueRange carried) {
                          point[loop] = lanes.index(index);
                          return gather(loop + 1, carried);
                        });
    };

    // Zero (or, when narrow, sum up) the elements that this thread owns.
    std::function<void(unsigned)> clear = [&](unsigned axis) {
      if (axis == shape.size())
        return lanes.store(result, place, isNarrow ? gather(0, zero)[0] : zero);
      if (ownedAxis[axis] >= 0) {
        place[axis] = lanes.index(ownedIndex(ownedAxis[axis]));
        return clear(axis + 1);
      }
      bool first = static_cast<int64_t>(axis) == firstComputed;
      lanes.loop(first ? low : lanes.i64(0),
                 first ? high : lanes.i64(shape[axis]), 1, [&](Value index) {
                   place[axis] = lanes.index(index);
                   clear(axis + 1);
                 });
    };
    clear(0);
    if (isNarrow)
      return;

    // Walk the points.
    std::function<void(unsigned)> walk = [&](unsigned loop) {
      if (loop == extents.size()) {
        auto [value, indices] = body.evaluate(op, point);
        Value inside;
        for (auto [axis, index] : llvm::enumerate(indices)) {
          if (ownedAxis[axis] >= 0)
            continue;
          bool first = static_cast<int64_t>(axis) == firstComputed;
          Value at = lanes.materialize(index);
          Value above =
              arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, at,
                                    first ? low : lanes.i64(0));
          Value both = arith::AndIOp::create(
              builder, loc, above,
              lessThan(at, first ? high : lanes.i64(shape[axis])));
          inside = inside ? arith::AndIOp::create(builder, loc, inside, both)
                                .getResult()
                          : both;
        }
        auto add = [&, value = value, indices = indices] {
          Value old = lanes.load(result, indices);
          Value sum =
              isa<FloatType>(old.getType())
                  ? arith::AddFOp::create(builder, loc, old, value).getResult()
                  : arith::AddIOp::create(builder, loc, old, value).getResult();
          lanes.store(result, indices, sum);
        };
        if (inside)
          lanes.ifThen(inside, add);
        else
          add();
        return;
      }
      if (llvm::is_contained(ownedLoops, loop)) {
        point[loop] = lanes.index(ownedIndex(loop));
        return walk(loop + 1);
      }
      lanes.loop(lanes.i64(0), lanes.i64(extents[loop]), 1, [&](Value index) {
        point[loop] = lanes.index(index);
        walk(loop + 1);
      });
    };
    walk(0);
  });
}
