//===- ContractEmitter.cpp - contractions as matrix products -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A work item is a tile of C (for one point of the outer axes): the shared gemm
// function makes it, in scratch or straight in the output, then the kernel's
// other operations run over it while it is in cache.
//
//===----------------------------------------------------------------------===//

#include "GemmFunctions.h"
#include "PointEmitter.h"
#include "ScheduleContract.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::cpu;
using namespace tdsl::target;

namespace {

class ContractEmitter {
public:
  ContractEmitter(KernelFrame &frame, const PointKernel &point)
      : frame(frame), point(point), lanes(frame.lanes),
        op(onlyOne<tds::ContractOp>(frame.kernel.kernel)),
        axes(MatrixAxes::get(frame.kernel.kernel, op)),
        in(tds::getElementType(op.getLhs().getType())),
        sum(tds::getAccumulatorType(in)), tileM(frame.getInt("tile_m")),
        tileN(frame.getInt("tile_n")), depth(frame.getInt("depth")),
        isDirect(frame.getSchedule().contains("direct")) {}

  void emit();

private:
  using Axis = MatrixAxes::Axis;
  Value offset(ArrayRef<Axis> over, ArrayRef<Value> indices,
               int64_t Axis::*stride);
  void multiply(Value a, Value b, Value c, Value m, Value n, int64_t strideC);
  void multiplyIndexed(Value a, Value b, Value c, Value m, Value n,
                       int64_t strideC);
  void fillTable(Value table, ArrayRef<Axis> over, int64_t Axis::*stride,
                 Value from, Value count, int64_t extent);
  GemmScratch getScratch() const {
    return GemmScratch::get(depth, tileM, tileN, tds::getElementBytes(sum),
                            isDirect, axes.isIndexed());
  }
  void emitEpilogue(ArrayRef<Value> outer, Value lowM, Value highM, Value lowN,
                    Value highN, Value tile);
  void setIndices(MutableArrayRef<LaneIndex> rows, const Axis &axis,
                  Value index);

  KernelFrame &frame;
  const PointKernel &point;
  LaneBuilder &lanes;
  tds::ContractOp op;
  MatrixAxes axes;
  Type in, sum;
  int64_t tileM, tileN, depth;
  bool isDirect;
  LLVM::LLVMFuncOp gemm;
};

} // namespace

Value ContractEmitter::offset(ArrayRef<Axis> over, ArrayRef<Value> indices,
                              int64_t Axis::*stride) {
  Value result = lanes.i64(0);
  for (auto [axis, index] : llvm::zip_equal(over, indices))
    result = lanes.add(result, lanes.mul(index, lanes.i64(axis.*stride)));
  return result;
}

/// table[i] = the offset of point min(from + i, extent - 1) of the axes.
void ContractEmitter::fillTable(Value table, ArrayRef<Axis> over,
                                int64_t Axis::*stride, Value from, Value count,
                                int64_t extent) {
  SmallVector<int64_t> extents;
  for (const Axis &axis : over)
    extents.push_back(axis.extent);
  Type i32 = lanes.builder.getI32Type();
  lanes.loop(lanes.i64(0), count, 1, [&](Value i) {
    Value point = lanes.minS(lanes.add(from, i), lanes.i64(extent - 1));
    Value at = offset(over, lanes.delinearize(point, extents), stride);
    LLVM::StoreOp::create(
        lanes.builder, lanes.loc,
        arith::TruncIOp::create(lanes.builder, lanes.loc, i32, at),
        lanes.address(table, i32, i));
  });
}

/// The product block after block of k; the table of the columns is filled.
void ContractEmitter::multiplyIndexed(Value a, Value b, Value c, Value m,
                                      Value n, int64_t strideC) {
  GemmScratch scratch = getScratch();
  Value tableN = frame.scratchAt(scratch.tableN),
        tableBk = frame.scratchAt(scratch.tableBk),
        tableAk = frame.scratchAt(scratch.tableAk);
  int64_t extent = axes.k.extent;
  bool isDirectA = axes.isDirect() && in == sum;
  lanes.loop(
      lanes.i64(0), lanes.i64(llvm::divideCeil(extent, depth)), 1,
      [&](Value block) {
        Value low = lanes.mul(block, lanes.i64(depth));
        Value steps =
            lanes.minS(lanes.i64(depth), lanes.sub(lanes.i64(extent), low));
        fillTable(tableBk, axes.tableK, &Axis::rhs, low, steps, extent);
        Value fromA = a;
        if (isDirectA)
          fromA = lanes.address(a, getMemoryType(in), low);
        else
          fillTable(tableAk, axes.tableK, &Axis::lhs, low, steps, extent);
        Value isLater = arith::CmpIOp::create(lanes.builder, lanes.loc,
                                              arith::CmpIPredicate::ne, block,
                                              lanes.i64(0));
        SmallVector<Value> arguments = {
            fromA,
            b,
            c,
            frame.scratchAt(scratch.packA),
            frame.scratch,
            tableAk,
            tableN,
            tableBk,
            m,
            n,
            steps,
            lanes.i64(axes.m.lhs),
            lanes.i64(strideC),
            lanes.i64(isDirectA),
            arith::ExtUIOp::create(lanes.builder, lanes.loc,
                                   lanes.builder.getI64Type(), isLater)};
        LLVM::CallOp::create(lanes.builder, lanes.loc, gemm, arguments);
      });
}

void ContractEmitter::multiply(Value a, Value b, Value c, Value m, Value n,
                               int64_t strideC) {
  if (axes.isIndexed())
    return multiplyIndexed(a, b, c, m, n, strideC);
  GemmScratch scratch = getScratch();
  SmallVector<int64_t> extents;
  int64_t count = 1;
  for (const Axis &axis : axes.outerK) {
    extents.push_back(axis.extent);
    count *= axis.extent;
  }
  Type memory = getMemoryType(in);
  auto callOnce = [&](Value index, Value accumulate) {
    SmallVector<Value> at = lanes.delinearize(index, extents);
    Value fromA = lanes.address(a, memory, offset(axes.outerK, at, &Axis::lhs));
    Value fromB = lanes.address(b, memory, offset(axes.outerK, at, &Axis::rhs));
    SmallVector<Value> arguments = {fromA,
                                    fromB,
                                    c,
                                    frame.scratchAt(scratch.packA),
                                    frame.scratch,
                                    m,
                                    n,
                                    lanes.i64(axes.k.extent),
                                    lanes.i64(axes.m.lhs),
                                    lanes.i64(axes.k.lhs),
                                    lanes.i64(axes.n.rhs),
                                    lanes.i64(axes.k.rhs),
                                    lanes.i64(strideC),
                                    lanes.i64(depth),
                                    accumulate};
    LLVM::CallOp::create(lanes.builder, lanes.loc, gemm, arguments);
  };
  if (extents.empty()) {
    callOnce(lanes.i64(0), lanes.i64(0));
    return;
  }
  lanes.loop(lanes.i64(0), lanes.i64(count), 1, [&](Value index) {
    Value isLater =
        arith::CmpIOp::create(lanes.builder, lanes.loc,
                              arith::CmpIPredicate::ne, index, lanes.i64(0));
    callOnce(index,
             arith::ExtUIOp::create(lanes.builder, lanes.loc,
                                    lanes.builder.getI64Type(), isLater));
  });
}

void ContractEmitter::setIndices(MutableArrayRef<LaneIndex> rows,
                                 const Axis &axis, Value index) {
  SmallVector<int64_t> extents;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(op.getType()).getShape();
  for (int64_t resultAxis : axis.resultAxes)
    extents.push_back(shape[resultAxis]);
  for (auto [resultAxis, part] :
       llvm::zip_equal(axis.resultAxes, lanes.delinearize(index, extents)))
    rows[resultAxis] = lanes.index(part);
}

/// Everything that follows the product, over the points of a tile.
void ContractEmitter::emitEpilogue(ArrayRef<Value> outer, Value lowM,
                                   Value highM, Value lowN, Value highN,
                                   Value tile) {
  auto type = cast<RankedTensorType>(op.getType());
  int64_t extent = axes.n.extent;
  // Tiles begin at multiples of the columns.
  unsigned width = std::min<uint64_t>({16, llvm::PowerOf2Ceil(uint64_t(extent)),
                                       uint64_t(frame.getInt("columns"))});
  PointEmitter points(frame, point, width, /*lanesOnRows=*/true);
  // Merged axes of the result: all but the last one stay 0.
  points.collapseRows(type.getRank() - axes.n.resultAxes.front());
  Buffer buffer{tile, sum, {}, {tileN, 1}, 64};
  SmallVector<LaneIndex> rows(type.getRank(), lanes.constantIndex(0));
  for (auto [axis, index] : llvm::zip_equal(axes.outer, outer))
    setIndices(rows, axis, index);
  bool isAlone = point.parts.empty();
  lanes.loop(lowM, highM, 1, [&](Value m) {
    lanes.setLanes(1);
    setIndices(rows, axes.m, m);
    Value inTile = lanes.sub(m, lowM);
    PointEmitter::emitLaneRange(
        lanes, width, lowN, highN, extent, [&](const LaneIndex &n) {
          LaneIndex column = n;
          column.base = lanes.sub(n.base, lowN);
          Value value = lanes.load(buffer, {lanes.index(inTile), column});
          value = emitElementCast(lanes, value, sum, type.getElementType());
          if (isAlone) {
            // Merged columns: the result as a matrix.
            Buffer out = frame.outputBuffer(0);
            out.strides = {axes.m.out, axes.n.out};
            out.shape = {axes.m.extent, extent};
            Value base = offset(axes.outer, outer, &Axis::out);
            out.pointer =
                lanes.address(out.pointer, getMemoryType(out.element), base);
            lanes.store(out, {lanes.index(m), n}, value);
            return;
          }
          rows[axes.n.resultAxes.back()] = n;
          frame.body.setRegister(op.getResult(), value);
          points.emitPoint(rows);
        });
  });
}

void ContractEmitter::emit() {
  GemmVariant variant{in, sum, unsigned(frame.getInt("rows")),
                      unsigned(frame.getInt("columns"))};
  gemm = axes.isIndexed() ? getIndexedGemm(frame.module, frame.target, variant)
                          : getGemm(frame.module, frame.target, variant);
  const Buffer &lhs = *frame.body.getBuffer(axes.shape.lhs(op));
  const Buffer &rhs = *frame.body.getBuffer(axes.shape.rhs(op));
  GemmScratch scratch = getScratch();
  SmallVector<int64_t> extents;
  for (const Axis &axis : axes.outer)
    extents.push_back(axis.extent);
  extents.push_back(llvm::divideCeil(axes.m.extent, tileM));
  extents.push_back(llvm::divideCeil(axes.n.extent, tileN));
  Type memory = getMemoryType(in);

  lanes.loop(frame.first, frame.last, 1, [&](Value item) {
    lanes.setLanes(1);
    SmallVector<Value> at = lanes.delinearize(item, extents);
    Value lowN = lanes.mul(at.pop_back_val(), lanes.i64(tileN));
    Value lowM = lanes.mul(at.pop_back_val(), lanes.i64(tileM));
    Value highM =
        lanes.minS(lanes.add(lowM, lanes.i64(tileM)), lanes.i64(axes.m.extent));
    Value highN =
        lanes.minS(lanes.add(lowN, lanes.i64(tileN)), lanes.i64(axes.n.extent));
    Value offsetA = lanes.add(offset(axes.outer, at, &Axis::lhs),
                              lanes.mul(lowM, lanes.i64(axes.m.lhs)));
    offsetA = lanes.add(offsetA, lanes.i64(axes.shape.lhsOffset));
    Value offsetB = lanes.add(offset(axes.outer, at, &Axis::rhs),
                              lanes.mul(lowN, lanes.i64(axes.n.rhs)));
    offsetB = lanes.add(offsetB, lanes.i64(axes.shape.rhsOffset));
    Value a = lanes.address(lhs.pointer, memory, offsetA);
    Value b = lanes.address(rhs.pointer, memory, offsetB);
    Value m = lanes.sub(highM, lowM), n = lanes.sub(highN, lowN);
    if (axes.isIndexed()) {
      int64_t columns = frame.getInt("columns");
      Value whole =
          lanes.mul(lanes.divU(lanes.add(n, lanes.i64(columns - 1)), columns),
                    lanes.i64(columns));
      fillTable(frame.scratchAt(scratch.tableN), axes.tableN, &Axis::rhs, lowN,
                whole, axes.n.extent);
    }
    if (isDirect) {
      Value offsetC =
          lanes.add(lanes.add(offset(axes.outer, at, &Axis::out),
                              lanes.mul(lowM, lanes.i64(axes.m.out))),
                    lowN);
      Value c = lanes.address(frame.outputBuffer(0).pointer, getMemoryType(sum),
                              offsetC);
      multiply(a, b, c, m, n, axes.m.out);
      return;
    }
    Value tile = frame.scratchAt(scratch.tile);
    multiply(a, b, tile, m, n, tileN);
    emitEpilogue(at, lowM, highM, lowN, highN, tile);
  });
}

LogicalResult cpu::emitContract(KernelFrame &frame) {
  FailureOr<PointKernel> point = PointKernel::get(frame.kernel.kernel);
  if (failed(point))
    return failure();
  ContractEmitter(frame, *point).emit();
  return success();
}
