//===- GemmPacking.cpp - operands of a product as panels -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GemmBuilder.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::cpu;
using namespace tdsl::target;

//===----------------------------------------------------------------------===//
// Packing: to[k * panel + p] = from[p * strideP + k * strideK], 0 for p >=
// valid
//===----------------------------------------------------------------------===//

/// strideP is 1: whole vectors.
void GemmBuilder::packContiguous(Value to, Value from, Value strideK,
                                 Value depth, unsigned panel) {
  lanes.setLanes(panel);
  lanes.loop(lanes.i64(0), depth, 1, [&](Value k) {
    Value source = lanes.address(from, in, lanes.mul(k, strideK));
    Value value = convert(vectorLoad(source, in, panel));
    vectorStore(value, lanes.address(to, sum, lanes.mul(k, lanes.i64(panel))));
  });
  lanes.setLanes(1);
}

/// strideP is 1, a panel that is not full: vectors under a mask.
void GemmBuilder::packMasked(Value to, Value from, Value strideK, Value depth,
                             Value valid, unsigned panel) {
  lanes.setLanes(panel);
  auto type = VectorType::get({panel}, in);
  Value mask = lanes.maskBelow(valid);
  Value zero = arith::ConstantOp::create(
      builder, loc, cast<TypedAttr>(builder.getZeroAttr(type)));
  unsigned bytes = in.getIntOrFloatBitWidth() / 8;
  lanes.loop(lanes.i64(0), depth, 1, [&](Value k) {
    Value source = lanes.address(from, in, lanes.mul(k, strideK));
    Value value = LLVM::MaskedLoadOp::create(
        builder, loc, type, source, mask, zero,
        builder.getI32IntegerAttr(bytes), UnitAttr());
    vectorStore(value, lanes.address(to, sum, lanes.mul(k, lanes.i64(panel))));
  });
  lanes.setLanes(1);
}

/// strideK is 1 and elements have 32 bits: blocks of 8 x 8 through registers,
/// k from low to high in steps of 8.
void GemmBuilder::packTransposed(Value to, Value from, Value strideP, Value low,
                                 Value high, unsigned panel) {
  auto shuffle = [&](Value x, Value y, ArrayRef<int32_t> chosen) -> Value {
    return LLVM::ShuffleVectorOp::create(builder, loc, x, y, chosen);
  };
  // Three rounds that never move single elements between halves of a register.
  const int32_t rounds[3][2][8] = {
      {{0, 8, 1, 9, 4, 12, 5, 13}, {2, 10, 3, 11, 6, 14, 7, 15}},
      {{0, 1, 8, 9, 4, 5, 12, 13}, {2, 3, 10, 11, 6, 7, 14, 15}},
      {{0, 1, 2, 3, 8, 9, 10, 11}, {4, 5, 6, 7, 12, 13, 14, 15}}};
  lanes.loop(lanes.i64(0), lanes.i64(panel), 8, [&](Value p) {
    lanes.loop(low, high, 8, [&](Value k) {
      Value x[8], y[8];
      for (unsigned i = 0; i < 8; ++i) {
        Value row = lanes.mul(lanes.add(p, lanes.i64(i)), strideP);
        x[i] = vectorLoad(lanes.address(from, in, lanes.add(row, k)), in, 8);
      }
      for (unsigned i = 0; i < 4; ++i)
        for (unsigned h = 0; h < 2; ++h)
          y[2 * i + h] = shuffle(x[2 * i], x[2 * i + 1], rounds[0][h]);
      for (unsigned quad : {0, 4})
        for (unsigned i = 0; i < 2; ++i)
          for (unsigned h = 0; h < 2; ++h)
            x[quad + 2 * i + h] =
                shuffle(y[quad + i], y[quad + i + 2], rounds[1][h]);
      for (unsigned i = 0; i < 4; ++i)
        for (unsigned h = 0; h < 2; ++h)
          y[i + 4 * h] = shuffle(x[i], x[i + 4], rounds[2][h]);
      for (unsigned i = 0; i < 8; ++i) {
        Value line = lanes.mul(lanes.add(k, lanes.i64(i)), lanes.i64(panel));
        vectorStore(y[i], lanes.address(to, sum, lanes.add(line, p)));
      }
    });
  });
}

void GemmBuilder::packAny(Value to, Value from, Value strideP, Value strideK,
                          Value valid, Value low, Value high, unsigned panel) {
  Value zero = arith::ConstantOp::create(
      builder, loc, cast<TypedAttr>(builder.getZeroAttr(sum)));
  lanes.loop(lanes.i64(0), lanes.i64(panel), 1, [&](Value p) {
    Value target = lanes.address(to, sum, p);
    Value isValid = arith::CmpIOp::create(builder, loc,
                                          arith::CmpIPredicate::slt, p, valid);
    ifElse(
        isValid,
        [&] {
          Value row = lanes.address(from, in, lanes.mul(p, strideP));
          lanes.loop(low, high, 1, [&](Value k) {
            Value element = LLVM::LoadOp::create(
                builder, loc, in,
                lanes.address(row, in, lanes.mul(k, strideK)));
            LLVM::StoreOp::create(
                builder, loc, convert(element),
                lanes.address(target, sum, lanes.mul(k, lanes.i64(panel))));
          });
        },
        [&] {
          lanes.loop(low, high, 1, [&](Value k) {
            LLVM::StoreOp::create(
                builder, loc, zero,
                lanes.address(target, sum, lanes.mul(k, lanes.i64(panel))));
          });
        });
  });
}

/// pack(to, from, strideP, strideK, count, depth): all panels of a block, one
/// after another, `depth` steps of k each.
LLVM::LLVMFuncOp GemmBuilder::getPack(unsigned panel) {
  OpBuilder::InsertionGuard guard(builder);
  auto [function, isNew] =
      begin("tds_pack_" + suffix(panel), {ptr, ptr, i64, i64, i64, i64});
  if (!isNew)
    return function;
  Block &block = function.getBody().front();
  Value to = block.getArgument(0), from = block.getArgument(1);
  Value strideP = block.getArgument(2), strideK = block.getArgument(3);
  Value count = block.getArgument(4), depth = block.getArgument(5);
  function.setArgAttr(0, LLVM::LLVMDialect::getNoAliasAttrName(),
                      builder.getUnitAttr());
  Value zero = lanes.i64(0);
  lanes.loop(zero, count, panel, [&](Value p) {
    Value target = lanes.address(to, sum, lanes.mul(p, depth));
    Value source = lanes.address(from, in, lanes.mul(p, strideP));
    Value valid = lanes.sub(count, p);
    Value isWhole = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::sge, valid, lanes.i64(panel));
    auto any = [&](Value low) {
      packAny(target, source, strideP, strideK, valid, low, depth, panel);
    };
    bool canTranspose =
        in == sum && sum.getIntOrFloatBitWidth() == 32 && panel % 8 == 0;
    auto transposed = [&] {
      Value blocks = lanes.mul(lanes.divU(depth, 8), lanes.i64(8));
      packTransposed(target, source, strideP, zero, blocks, panel);
      any(blocks);
    };
    auto whole = [&] {
      ifElse(
          isEqual(strideP, 1),
          [&] { packContiguous(target, source, strideK, depth, panel); },
          [&] {
            if (canTranspose)
              ifElse(isEqual(strideK, 1), transposed, [&] { any(zero); });
            else
              any(zero);
          });
    };
    bool canMask = in == sum && lanes.options.maskedBits &&
                   in.getIntOrFloatBitWidth() >= lanes.options.maskedBits;
    auto partial = [&] {
      if (canMask)
        ifElse(
            isEqual(strideP, 1),
            [&] { packMasked(target, source, strideK, depth, valid, panel); },
            [&] { any(zero); });
      else
        any(zero);
    };
    ifElse(isWhole, whole, partial);
  });
  end();
  return function;
}

//===----------------------------------------------------------------------===//
// Packing through tables: to[k * panel + p] = from[tableP[p] + tableK[k]]
//===----------------------------------------------------------------------===//

/// An entry of a table of i32, as i64.
Value GemmBuilder::loadIndex(Value table, Value at) {
  Type i32 = builder.getI32Type();
  Value entry =
      LLVM::LoadOp::create(builder, loc, i32, lanes.address(table, i32, at));
  return arith::ExtSIOp::create(builder, loc, i64, entry);
}

/// pack(to, from, tableP, tableK, count, depth): panels of columns. tableP has
/// entries up to the next multiple of the columns.
LLVM::LLVMFuncOp GemmBuilder::getIndexedPack() {
  OpBuilder::InsertionGuard guard(builder);
  unsigned panel = variant.columns;
  // As many elements at once as a register of sums holds.
  unsigned width = std::min(panel, 2 * vectorLanes);
  auto [function, isNew] = begin("tds_pack_indexed_" + suffix(panel),
                                 {ptr, ptr, ptr, ptr, i64, i64});
  if (!isNew)
    return function;
  Block &block = function.getBody().front();
  Value to = block.getArgument(0), from = block.getArgument(1);
  Value tableP = block.getArgument(2), tableK = block.getArgument(3);
  Value count = block.getArgument(4), depth = block.getArgument(5);
  function.setArgAttr(0, LLVM::LLVMDialect::getNoAliasAttrName(),
                      builder.getUnitAttr());
  Type i32 = builder.getI32Type();
  auto vector = [&](Type element) { return VectorType::get({width}, element); };
  auto spread = [&](Value scalar) -> Value {
    lanes.setLanes(width);
    Value result = lanes.splat(scalar);
    lanes.setLanes(1);
    return result;
  };
  lanes.loop(lanes.i64(0), count, panel, [&](Value p) {
    for (unsigned part = 0; part < panel; part += width) {
      Value first = lanes.add(p, lanes.i64(part));
      Value offsets = vectorLoad(lanes.address(tableP, i32, first), i32, width);
      Value target = lanes.address(lanes.address(to, sum, lanes.mul(p, depth)),
                                   sum, lanes.i64(part));
      auto store = [&](Value k, Value elements) {
        lanes.setLanes(width);
        Value value = convert(elements);
        lanes.setLanes(1);
        vectorStore(value,
                    lanes.address(target, sum, lanes.mul(k, lanes.i64(panel))));
      };
      lanes.setLanes(width);
      Value iota = lanes.iota(32);
      lanes.setLanes(1);
      Value begin =
          LLVM::ExtractElementOp::create(builder, loc, offsets, lanes.i32(0));
      Value neighbours = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::eq, offsets,
          arith::AddIOp::create(builder, loc, spread(begin), iota));
      Value areNeighbours = LLVM::vector_reduce_and::create(
          builder, loc, builder.getI1Type(), neighbours);
      ifElse(
          areNeighbours,
          [&] {
            Value source = lanes.address(
                from, in, arith::ExtSIOp::create(builder, loc, i64, begin));
            lanes.loop(lanes.i64(0), depth, 1, [&](Value k) {
              Value at = lanes.address(source, in, loadIndex(tableK, k));
              store(k, vectorLoad(at, in, width));
            });
          },
          [&] {
            Value apart =
                arith::ExtSIOp::create(builder, loc, vector(i64), offsets);
            Value all = arith::ConstantOp::create(
                builder, loc,
                DenseElementsAttr::get(vector(builder.getI1Type()), true));
            auto pointers = VectorType::get({width}, ptr);
            lanes.loop(lanes.i64(0), depth, 1, [&](Value k) {
              Value at = lanes.address(from, in, loadIndex(tableK, k));
              Value places = LLVM::GEPOp::create(builder, loc, pointers, in, at,
                                                 ValueRange{apart});
              Value passed = LLVM::PoisonOp::create(builder, loc, vector(in));
              store(k, LLVM::masked_gather::create(
                           builder, loc, vector(in), places, all, passed,
                           builder.getI32IntegerAttr(
                               in.getIntOrFloatBitWidth() / 8)));
            });
          });
    }
  });
  end();
  return function;
}

/// pack(to, from, strideP, tableK, count, depth): panels of rows. Rows from
/// `count` on repeat the last one.
LLVM::LLVMFuncOp GemmBuilder::getIndexedRowPack() {
  OpBuilder::InsertionGuard guard(builder);
  unsigned panel = variant.rows;
  auto [function, isNew] =
      begin("tds_pack_rows_" + suffix(panel), {ptr, ptr, i64, ptr, i64, i64});
  if (!isNew)
    return function;
  Block &block = function.getBody().front();
  Value to = block.getArgument(0), from = block.getArgument(1);
  Value strideP = block.getArgument(2), tableK = block.getArgument(3);
  Value count = block.getArgument(4), depth = block.getArgument(5);
  function.setArgAttr(0, LLVM::LLVMDialect::getNoAliasAttrName(),
                      builder.getUnitAttr());
  Value last = lanes.sub(count, lanes.i64(1));
  lanes.loop(lanes.i64(0), count, panel, [&](Value p) {
    Value target = lanes.address(to, sum, lanes.mul(p, depth));
    SmallVector<Value> rows;
    for (unsigned i = 0; i < panel; ++i) {
      Value row = lanes.minS(lanes.add(p, lanes.i64(i)), last);
      rows.push_back(lanes.address(from, in, lanes.mul(row, strideP)));
    }
    lanes.loop(lanes.i64(0), depth, 1, [&](Value k) {
      Value at = loadIndex(tableK, k);
      Value line = lanes.mul(k, lanes.i64(panel));
      for (unsigned i = 0; i < panel; ++i) {
        Value element = LLVM::LoadOp::create(builder, loc, in,
                                             lanes.address(rows[i], in, at));
        LLVM::StoreOp::create(
            builder, loc, convert(element),
            lanes.address(target, sum, lanes.add(line, lanes.i64(i))));
      }
    });
  });
  end();
  return function;
}
