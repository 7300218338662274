//===- ScatterEmitter.cpp - sums at computed places -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A work item owns some rows of the result. It looks at every point in order
// and adds what falls into its rows, so that each element sums in one order
// whatever the number of threads.
//
//===----------------------------------------------------------------------===//

#include "PointEmitter.h"
#include "ScheduleContract.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::cpu;
using namespace tdsl::target;

namespace {

class ScatterEmitter {
public:
  explicit ScatterEmitter(KernelFrame &frame)
      : frame(frame), lanes(frame.lanes),
        op(onlyOne<tds::ScatterOp>(frame.kernel.kernel)),
        width(frame.getInt("width", 1)), rows(frame.getInt("rows", 1)),
        shape(op.getType().getShape()) {}

  void emit();

private:
  void emitPoint(ArrayRef<LaneIndex> point, const Buffer &sums, Value low,
                 Value high);
  void forElements(Value low, Value high,
                   function_ref<void(const LaneIndex &)> emit);
  Value numberOf(int64_t value);

  KernelFrame &frame;
  LaneBuilder &lanes;
  tds::ScatterOp op;
  unsigned width;
  int64_t rows;
  SmallVector<int64_t> shape;
};

} // namespace

/// The elements of rows [low, high) as a flat range.
void ScatterEmitter::forElements(Value low, Value high,
                                 function_ref<void(const LaneIndex &)> emit) {
  int64_t inner = 1;
  for (int64_t extent : ArrayRef(shape).drop_front(shape.empty() ? 0 : 1))
    inner *= extent;
  Value first = lanes.mul(low, lanes.i64(inner));
  Value last = lanes.mul(high, lanes.i64(inner));
  constexpr unsigned step = 16;
  Value whole =
      lanes.add(first, lanes.mul(lanes.divU(lanes.sub(last, first), step),
                                 lanes.i64(step)));
  lanes.setLanes(step);
  lanes.loop(first, whole, step, [&](Value i) { emit(lanes.consecutive(i)); });
  lanes.setLanes(1);
  lanes.loop(whole, last, 1, [&](Value i) { emit(lanes.index(i)); });
}

void ScatterEmitter::emitPoint(ArrayRef<LaneIndex> point, const Buffer &sums,
                               Value low, Value high) {
  OpBuilder &b = lanes.builder;
  // The value is computed again inside the branch; outside it is dead code.
  SmallVector<LaneIndex> place = frame.body.evaluate(op, point).second;
  Value inside;
  auto require = [&](Value condition) {
    inside =
        inside
            ? arith::AndIOp::create(b, lanes.loc, inside, condition).getResult()
            : condition;
  };
  // With lanes the last index is that of the point and in range.
  size_t checked = width > 1 ? place.size() - 1 : place.size();
  for (size_t i = 0; i < checked; ++i) {
    Value index = place[i].base;
    if (i == 0) {
      require(arith::CmpIOp::create(b, lanes.loc, arith::CmpIPredicate::sge,
                                    index, low));
      require(arith::CmpIOp::create(b, lanes.loc, arith::CmpIPredicate::slt,
                                    index, high));
    } else {
      require(arith::CmpIOp::create(b, lanes.loc, arith::CmpIPredicate::ult,
                                    index, lanes.i64(shape[i])));
    }
  }
  auto add = [&] {
    auto [value, at] = frame.body.evaluate(op, point);
    Value old = lanes.load(sums, at);
    Value pair[] = {old, value};
    lanes.unify(pair);
    Value sum =
        isa<FloatType>(getRegisterType(sums.element))
            ? arith::AddFOp::create(b, lanes.loc, pair[0], pair[1]).getResult()
            : arith::AddIOp::create(b, lanes.loc, pair[0], pair[1]).getResult();
    lanes.store(sums, at, sum);
  };
  if (inside)
    lanes.ifThen(inside, add);
  else
    add();
}

void ScatterEmitter::emit() {
  auto type = op.getType();
  Type element = type.getElementType(), held = getRegisterType(element);
  bool inScratch = isa<FloatType>(element) && held != element;
  Buffer out = frame.outputBuffer(0);
  int64_t first = shape.empty() ? 1 : shape[0];
  int64_t inner = 1;
  for (int64_t extent : ArrayRef(shape).drop_front(shape.empty() ? 0 : 1))
    inner *= extent;

  lanes.loop(frame.first, frame.last, 1, [&](Value item) {
    lanes.setLanes(1);
    Value low = lanes.mul(item, lanes.i64(rows));
    Value high = lanes.minS(lanes.add(low, lanes.i64(rows)), lanes.i64(first));
    Buffer sums = out;
    if (inScratch) {
      // Addressed by the indices of the whole result.
      Value back = lanes.sub(lanes.i64(0), lanes.mul(low, lanes.i64(inner)));
      sums.element = held;
      sums.pointer = lanes.address(frame.scratch, held, back);
      sums.alignment = 4;
    }
    auto flat = [&](Buffer buffer) {
      buffer.shape = {first * inner};
      buffer.strides = {1};
      return buffer;
    };
    Value zero = lanes.constant(getRegisterType(sums.element),
                                cast<TypedAttr>(lanes.builder.getZeroAttr(
                                    getRegisterType(sums.element))));
    forElements(low, high,
                [&](const LaneIndex &i) { lanes.store(flat(sums), i, zero); });

    SmallVector<int64_t> extents(op.getExtents());
    int64_t laneExtent = width > 1 ? extents.pop_back_val() : 1;
    int64_t count = 1;
    for (int64_t extent : extents)
      count *= extent;
    lanes.loop(lanes.i64(0), lanes.i64(count), 1, [&](Value linear) {
      lanes.setLanes(1);
      SmallVector<LaneIndex> point;
      for (Value index : lanes.delinearize(linear, extents))
        point.push_back(lanes.index(index));
      if (width == 1) {
        emitPoint(point, sums, low, high);
        return;
      }
      PointEmitter::emitLaneRange(lanes, width, lanes.i64(0),
                                  lanes.i64(laneExtent), laneExtent,
                                  [&](const LaneIndex &index) {
                                    point.push_back(index);
                                    emitPoint(point, sums, low, high);
                                    point.pop_back();
                                  });
    });
    lanes.setLanes(1);
    if (inScratch)
      forElements(low, high, [&](const LaneIndex &i) {
        lanes.store(flat(out), i, lanes.load(flat(sums), i));
      });
  });
}

LogicalResult cpu::emitScatter(KernelFrame &frame) {
  auto op = onlyOne<tds::ScatterOp>(frame.kernel.kernel);
  Operation *yield = frame.kernel.kernel.getBlock()->getTerminator();
  if (yield->getNumOperands() != 1 || yield->getOperand(0) != op.getResult())
    return frame.kernel.kernel.emitError(
        "yields something other than its scatter");
  ScatterEmitter(frame).emit();
  return success();
}
