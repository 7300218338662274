//===- EmitContract.cpp - contractions through shared memory -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block computes a tile_m x tile_n tile of the result. For each tile_k of the
// summed axis it stages the two operand tiles in shared memory, both with k
// outermost, so that a thread reads its thread_m and thread_n factors as
// vectors and makes their outer product in registers. Each element is one chain
// of fused multiply-adds over k in order, so the result does not depend on the
// tile. A factor that generics of the kernel make (prologue) is computed as it
// is staged. Behind the loop the tile goes through shared memory once more, to
// be finished (epilogue generics) and stored along the rows of the result.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

#include "tdsl/Fusion/Bodies.h"
#include "tdsl/Fusion/KernelRules.h"
#include "tdsl/Target/Common/ContractShape.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::gpu;
using target::ContractShape;
using ContractAxis = target::ContractShape::Axis;
using target::LaneIndex;

namespace {
/// Which tensor of a contraction a stride belongs to.
enum class Side { Lhs, Rhs, Result };
} // namespace

static int64_t getStride(const ContractAxis &axis, Side side) {
  return side == Side::Lhs ? axis.lhs : side == Side::Rhs ? axis.rhs : axis.out;
}

/// Where point `index` of a group of axes lies in a tensor, in elements.
static Value getOffset(target::LaneBuilder &lanes, ArrayRef<ContractAxis> group,
                       Value index, Side side) {
  SmallVector<int64_t> extents;
  for (const ContractAxis &axis : group)
    extents.push_back(axis.extent);
  SmallVector<Value> indices = lanes.delinearize(index, extents);
  Value offset = lanes.i64(0);
  for (auto [i, axis] : llvm::enumerate(group))
    offset = lanes.add(offset,
                       lanes.mul(indices[i], lanes.i64(getStride(axis, side))));
  return offset;
}

/// The indices of an element of a tensor whose axes are axes of `groups`, with
/// the point at hand of each; nothing where several of its axes run as one.
static SmallVector<Value>
getTensorIndices(target::LaneBuilder &lanes,
                 ArrayRef<std::pair<ArrayRef<ContractAxis>, Value>> groups,
                 Side side, ArrayRef<int64_t> shape) {
  SmallVector<Value> indices(shape.size());
  SmallVector<int64_t> strides = target::denseStrides(shape);
  for (auto &[group, point] : groups) {
    SmallVector<int64_t> extents;
    for (const ContractAxis &axis : group)
      extents.push_back(axis.extent);
    SmallVector<Value> inGroup = lanes.delinearize(point, extents);
    for (auto [axis, index] : llvm::zip(group, inGroup))
      for (size_t i = 0; i < shape.size(); ++i)
        if (shape[i] == axis.extent && strides[i] == getStride(axis, side) &&
            !indices[i])
          indices[i] = index;
  }
  for (auto [index, extent] : llvm::zip(indices, shape)) {
    if (!index && extent != 1)
      return {};
    if (!index)
      index = lanes.i64(0);
  }
  return indices;
}

/// Whether neighbours in the group are neighbours in memory.
static bool isContiguous(ArrayRef<ContractAxis> group, Side side) {
  return !group.empty() && getStride(group.back(), side) == 1;
}

/// The generics that make a factor, in order; none where it lies in memory.
static SmallVector<tds::GenericOp> getPrologue(Value factor) {
  llvm::SmallPtrSet<Operation *, 4> makers;
  SmallVector<Value> open = {factor};
  while (!open.empty()) {
    auto generic = open.pop_back_val().getDefiningOp<tds::GenericOp>();
    if (!generic || !makers.insert(generic).second)
      continue;
    for (tds::ReadOp read : getReads(generic))
      open.push_back(read.getTensor());
  }
  SmallVector<tds::GenericOp> inOrder;
  if (Operation *made = factor.getDefiningOp())
    for (auto generic : made->getBlock()->getOps<tds::GenericOp>())
      if (makers.contains(generic))
        inOrder.push_back(generic);
  return inOrder;
}

void KernelEmitter::emitContract() {
  tds::ContractOp op = *kernel.getBlock()->getOps<tds::ContractOp>().begin();
  ContractShape layout = ContractShape::get(op);
  int64_t sizeM = ContractShape::getExtent(layout.m),
          sizeN = ContractShape::getExtent(layout.n);
  int64_t sizeK = ContractShape::getExtent(layout.k);
  int64_t tileM = getInt("tile_m"), tileN = getInt("tile_n"),
          tileK = getInt("tile_k");
  int64_t threadM = getInt("thread_m"), threadN = getInt("thread_n");
  int64_t numThreads = getArray("block")[0];
  int64_t tilesM = llvm::divideCeil(sizeM, tileM),
          tilesN = llvm::divideCeil(sizeN, tileN);
  int64_t threadsN = tileN / threadN;

  Type element = op.getType().getElementType();
  Type accumulator = target::getRegisterType(element);
  bool isFloat = isa<FloatType>(accumulator);
  Type operandElement =
      cast<RankedTensorType>(op.getLhs().getType()).getElementType();

  // A row of padding keeps the transposing stores free of bank conflicts.
  int64_t pitchM = tileM + 4, pitchN = tileN + 4;
  int64_t staged = tileK * (pitchM + pitchN), finished = tileM * tileN;
  Value shared = createShared("tile", accumulator, std::max(staged, finished));
  Value lhsTile = shared,
        rhsTile = lanes.address(shared, accumulator, lanes.i64(tileK * pitchM));

  Value thread = getThread();
  Value block = getBlock();
  Value blockN = lanes.remU(block, tilesN), rest = lanes.divU(block, tilesN);
  Value blockM = lanes.remU(rest, tilesM), batch = lanes.divU(rest, tilesM);
  Value firstM = lanes.mul(blockM, lanes.i64(tileM)),
        firstN = lanes.mul(blockN, lanes.i64(tileN));
  Value threadRow = lanes.mul(lanes.divU(thread, threadsN), lanes.i64(threadM));
  Value threadColumn =
      lanes.mul(lanes.remU(thread, threadsN), lanes.i64(threadN));
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(accumulator));

  // Stages one operand tile; `group` is the axis of the tile beside k. Threads
  // walk memory in the direction in which it is contiguous.
  auto stage = [&](Value tensor, Side side, ArrayRef<ContractAxis> group,
                   int64_t size, Value first, int64_t tile, int64_t pitch,
                   Value into, Value firstK) {
    // What lies in memory, or what is computed here of what does.
    SmallVector<tds::GenericOp> prologue = getPrologue(tensor);
    bool isWindow =
        bool((side == Side::Lhs) != layout.swapped ? op.getLhsMap()
                                                   : op.getRhsMap());
    auto load = [&](Value offset, Value at, Value atK) -> Value {
      if (prologue.empty()) {
        const target::Buffer &buffer = *body.getBuffer(tensor);
        target::Buffer flat{
            buffer.pointer, buffer.element, {INT64_MAX}, {1}, buffer.alignment};
        return lanes.load(flat, {lanes.index(offset)});
      }
      ArrayRef<int64_t> shape =
          cast<RankedTensorType>(tensor.getType()).getShape();
      std::pair<ArrayRef<ContractAxis>, Value> groups[] = {
          {layout.batch, batch}, {group, at}, {layout.k, atK}};
      SmallVector<Value> indices;
      if (!isWindow)
        indices = getTensorIndices(lanes, groups, side, shape);
      if (indices.empty())
        indices = lanes.delinearize(offset, shape);
      SmallVector<LaneIndex> point;
      for (Value index : indices)
        point.push_back(lanes.index(index));
      for (tds::GenericOp generic : prologue)
        body.setRegister(generic, body.evaluate(generic, point));
      return body.getRegister(tensor);
    };
    int64_t begin = side == Side::Lhs ? layout.lhsOffset : layout.rhsOffset;
    Value base = lanes.add(getOffset(lanes, layout.batch, batch, side),
                           lanes.i64(begin));
    bool alongK = isContiguous(layout.k, side) && !isContiguous(group, side);
    int64_t count = tile * tileK;
    auto move = [&](Value number) {
      Value inTile =
          alongK ? lanes.divU(number, tileK) : lanes.remU(number, tile);
      Value k = alongK ? lanes.remU(number, tileK) : lanes.divU(number, tile);
      Value at = lanes.add(first, inTile), atK = lanes.add(firstK, k);
      Value inside =
          arith::AndIOp::create(builder, loc, lessThan(at, lanes.i64(size)),
                                lessThan(atK, lanes.i64(sizeK)));
      auto loaded = scf::IfOp::create(
          builder, loc, inside,
          [&](OpBuilder &, Location) {
            OpBuilder::InsertionGuard guard(builder);
            Value offset = lanes.add(
                base, lanes.add(getOffset(lanes, group, at, side),
                                getOffset(lanes, layout.k, atK, side)));
            Value value = load(offset, at, atK);
            if (operandElement != element)
              value = target::emitElementCast(lanes, value, operandElement,
                                              element);
            scf::YieldOp::create(builder, loc, value);
          },
          [&](OpBuilder &, Location) {
            scf::YieldOp::create(builder, loc, zero);
          });
      storeShared(into, loaded.getResult(0),
                  lanes.add(lanes.mul(k, lanes.i64(pitch)), inTile));
    };
    for (int64_t start = 0; start < count; start += numThreads) {
      Value number = lanes.add(thread, lanes.i64(start));
      if (start + numThreads <= count)
        move(number);
      else
        lanes.ifThen(lessThan(number, lanes.i64(count)), [&] { move(number); });
    }
  };

  SmallVector<Value> sums(threadM * threadN, zero);
  sums = lanes.loop(
      lanes.i64(0), lanes.i64(sizeK), tileK, sums,
      [&](Value firstK, ValueRange carried) {
        barrier(); // the tile before has been read
        stage(layout.lhs(op), Side::Lhs, layout.m, sizeM, firstM, tileM, pitchM,
              lhsTile, firstK);
        stage(layout.rhs(op), Side::Rhs, layout.n, sizeN, firstN, tileN, pitchN,
              rhsTile, firstK);
        barrier();
        // Past the end of k both tiles hold zeros, and adding 0 * 0 could still
        // turn a sum of -0 into +0: stop at the end instead.
        Value endK =
            lanes.minS(lanes.i64(tileK), lanes.sub(lanes.i64(sizeK), firstK));
        return lanes.loop(
            lanes.i64(0), endK, 1, carried, [&](Value k, ValueRange inner) {
              Value row = lanes.add(lanes.mul(k, lanes.i64(pitchM)), threadRow);
              Value column =
                  lanes.add(lanes.mul(k, lanes.i64(pitchN)), threadColumn);
              SmallVector<Value> left, right, next;
              for (int64_t i = 0; i < threadM; ++i)
                left.push_back(loadShared(lhsTile, accumulator,
                                          lanes.add(row, lanes.i64(i))));
              for (int64_t j = 0; j < threadN; ++j)
                right.push_back(loadShared(rhsTile, accumulator,
                                           lanes.add(column, lanes.i64(j))));
              for (int64_t i = 0; i < threadM; ++i)
                for (int64_t j = 0; j < threadN; ++j) {
                  Value sum = inner[i * threadN + j];
                  if (isFloat)
                    next.push_back(LLVM::FMAOp::create(builder, loc, left[i],
                                                       right[j], sum));
                  else
                    next.push_back(arith::AddIOp::create(
                        builder, loc, sum,
                        arith::MulIOp::create(builder, loc, left[i],
                                              right[j])));
                }
              return next;
            });
      });

  // The finished tile, row by row.
  barrier();
  for (int64_t i = 0; i < threadM; ++i)
    for (int64_t j = 0; j < threadN; ++j)
      storeShared(shared, sums[i * threadN + j],
                  lanes.add(lanes.mul(lanes.add(threadRow, lanes.i64(i)),
                                      lanes.i64(tileN)),
                            lanes.add(threadColumn, lanes.i64(j))));
  barrier();
  ArrayRef<int64_t> shape = cast<RankedTensorType>(op.getType()).getShape();
  lanes.loop(thread, lanes.i64(tileM * tileN), numThreads, [&](Value number) {
    Value m = lanes.add(firstM, lanes.divU(number, tileN)),
          n = lanes.add(firstN, lanes.remU(number, tileN));
    Value inside =
        arith::AndIOp::create(builder, loc, lessThan(m, lanes.i64(sizeM)),
                              lessThan(n, lanes.i64(sizeN)));
    lanes.ifThen(inside, [&] {
      Value offset =
          lanes.add(getOffset(lanes, layout.batch, batch, Side::Result),
                    lanes.add(getOffset(lanes, layout.m, m, Side::Result),
                              getOffset(lanes, layout.n, n, Side::Result)));
      SmallVector<LaneIndex> point;
      for (Value index : lanes.delinearize(offset, shape))
        point.push_back(lanes.index(index));
      body.setRegister(op, loadShared(shared, accumulator, number));
      for (auto epilogue : kernel.getBlock()->getOps<tds::GenericOp>())
        if (!isPrologue(epilogue))
          body.setRegister(epilogue, evaluateSerially(epilogue, point));
      storeOutputs(point, [](Value) { return true; });
    });
  });
}
