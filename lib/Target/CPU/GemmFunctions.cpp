//===- GemmFunctions.cpp - the functions that multiply matrices -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scheme is Goto's: a block of B is packed into panels of `columns`, and
// the inner loop walks a panel with `rows` rows of A. A with unit stride along
// k is read where it is: each row is a stream of its own, and a scalar of it
// feeds as many multiply-adds as the tile has vectors across.
//
// Code for x86-64-v3 has a second inner loop with registers of 512 bits for
// processors that turn out to have them: it walks a whole panel where the first
// walks it in parts. Each element of C is the same chain of multiply-adds.
//
//===----------------------------------------------------------------------===//

#include "GemmFunctions.h"
#include "WideVectors.h"

#include "tdsl/Target/Common/BodyEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::cpu;
using namespace tdsl::target;

namespace {

class GemmFunctions {
public:
  GemmFunctions(ModuleOp module, const CPUTarget &target,
                const GemmVariant &variant)
      : module(module), variant(variant), builder(module.getContext()),
        loc(module.getLoc()), lanes(builder, loc, target.laneOptions()),
        sum(getRegisterType(variant.sum)), in(getMemoryType(variant.in)),
        ptr(LLVM::LLVMPointerType::get(module.getContext())),
        i64(builder.getI64Type()) {
    unsigned bits = sum.getIntOrFloatBitWidth();
    vectorLanes = std::min(target.vectorBits / bits, variant.columns);
    wideLanes = 512 / bits;
    hasWide = target.vectorBits == 256 && variant.columns % wideLanes == 0;
    // 16 registers hold two vectors across a tile of six rows.
    tileColumns = target.vectorBits == 256
                      ? std::min(2 * vectorLanes, variant.columns)
                      : variant.columns;
  }

  LLVM::LLVMFuncOp getGemm();
  LLVM::LLVMFuncOp getIndexedGemm();

private:
  std::string suffix(unsigned panel);
  /// A function that exists already, or a new one with the builder inside.
  std::pair<LLVM::LLVMFuncOp, bool> begin(const std::string &name,
                                          ArrayRef<Type> parameters);
  void end() { LLVM::ReturnOp::create(builder, loc, ValueRange{}); }
  void call(LLVM::LLVMFuncOp function, ValueRange arguments) {
    LLVM::CallOp::create(builder, loc, function, arguments);
  }
  LLVM::LLVMFuncOp getPack(unsigned panel);
  LLVM::LLVMFuncOp getIndexedPack();
  LLVM::LLVMFuncOp getIndexedRowPack();
  LLVM::LLVMFuncOp getInner(bool isWide);
  Value loadIndex(Value table, Value at);
  void emitTiles(Value spaceA, Value spaceB, Value directA, Value c, Value m,
                 Value n, Value steps, Value packs, Value strideAm,
                 Value strideAk, Value strideC, Value fromC);
  void packContiguous(Value to, Value from, Value strideK, Value depth,
                      unsigned panel);
  void packMasked(Value to, Value from, Value strideK, Value depth, Value valid,
                  unsigned panel);
  void packTransposed(Value to, Value from, Value strideP, Value low,
                      Value high, unsigned panel);
  void packAny(Value to, Value from, Value strideP, Value strideK, Value valid,
               Value low, Value high, unsigned panel);
  Value multiplyAdd(Value a, Value b, Value c);
  Value convert(Value value) {
    return emitElementCast(lanes, lanes.fromMemory(value, variant.in),
                           variant.in, variant.sum);
  }
  Value vectorLoad(Value from, Type element, unsigned count) {
    return LLVM::LoadOp::create(builder, loc, VectorType::get({count}, element),
                                from, element.getIntOrFloatBitWidth() / 8);
  }
  void vectorStore(Value value, Value to) {
    auto type = cast<VectorType>(value.getType());
    LLVM::StoreOp::create(builder, loc, value, to,
                          type.getElementTypeBitWidth() / 8);
  }
  Value isEqual(Value x, int64_t y) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, x,
                                 lanes.i64(y));
  }
  void ifElse(Value condition, function_ref<void()> yes,
              function_ref<void()> no);
  Value roundUp(Value x, int64_t unit) {
    return lanes.mul(lanes.divU(lanes.add(x, lanes.i64(unit - 1)), unit),
                     lanes.i64(unit));
  }

  ModuleOp module;
  GemmVariant variant;
  OpBuilder builder;
  Location loc;
  LaneBuilder lanes;
  Type sum, in, ptr, i64;
  /// Of a vector register; of one of 512 bits.
  unsigned vectorLanes, wideLanes;
  /// Columns of a panel that the first inner loop walks at once.
  unsigned tileColumns;
  bool hasWide;
};

} // namespace

std::string GemmFunctions::suffix(unsigned panel) {
  return (tds::getElementName(variant.in) + "_" +
          tds::getElementName(variant.sum) + "_" + llvm::Twine(panel))
      .str();
}

std::pair<LLVM::LLVMFuncOp, bool>
GemmFunctions::begin(const std::string &name, ArrayRef<Type> parameters) {
  if (auto existing = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return {existing, false};
  builder.setInsertionPointToEnd(module.getBody());
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(builder.getContext()), parameters);
  auto function = LLVM::LLVMFuncOp::create(builder, loc, name, type,
                                           LLVM::Linkage::Internal);
  function.setNoUnwind(true);
  function.setPassthroughAttr(
      builder.getArrayAttr({builder.getStringAttr("noinline")}));
  builder.setInsertionPointToStart(function.addEntryBlock(builder));
  return {function, true};
}

void GemmFunctions::ifElse(Value condition, function_ref<void()> yes,
                           function_ref<void()> no) {
  auto op = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(op.thenBlock());
  yes();
  builder.setInsertionPointToStart(op.elseBlock());
  no();
}

Value GemmFunctions::multiplyAdd(Value a, Value b, Value c) {
  if (isa<FloatType>(sum))
    return LLVM::FMAOp::create(builder, loc, a, b, c);
  Value product = arith::MulIOp::create(builder, loc, a, b);
  return arith::AddIOp::create(builder, loc, product, c);
}

//===----------------------------------------------------------------------===//
// Packing: to[k * panel + p] = from[p * strideP + k * strideK], 0 for p >=
// valid
//===----------------------------------------------------------------------===//

/// strideP is 1: whole vectors.
void GemmFunctions::packContiguous(Value to, Value from, Value strideK,
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
void GemmFunctions::packMasked(Value to, Value from, Value strideK, Value depth,
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
void GemmFunctions::packTransposed(Value to, Value from, Value strideP,
                                   Value low, Value high, unsigned panel) {
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

void GemmFunctions::packAny(Value to, Value from, Value strideP, Value strideK,
                            Value valid, Value low, Value high,
                            unsigned panel) {
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
LLVM::LLVMFuncOp GemmFunctions::getPack(unsigned panel) {
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
Value GemmFunctions::loadIndex(Value table, Value at) {
  Type i32 = builder.getI32Type();
  Value entry =
      LLVM::LoadOp::create(builder, loc, i32, lanes.address(table, i32, at));
  return arith::ExtSIOp::create(builder, loc, i64, entry);
}

/// pack(to, from, tableP, tableK, count, depth): panels of columns. tableP has
/// entries up to the next multiple of the columns.
LLVM::LLVMFuncOp GemmFunctions::getIndexedPack() {
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
LLVM::LLVMFuncOp GemmFunctions::getIndexedRowPack() {
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

//===----------------------------------------------------------------------===//
// The inner loop
//===----------------------------------------------------------------------===//

/// inner(A, B, C, strideAm, strideAk, strideC, depth, valid, fromC): a register
/// tile of C over `depth` steps of k. B is a packed panel, or a part of one.
/// Rows of A from `valid` on repeat the last valid one.
LLVM::LLVMFuncOp GemmFunctions::getInner(bool isWide) {
  OpBuilder::InsertionGuard guard(builder);
  unsigned rows = variant.rows;
  unsigned columns = isWide ? variant.columns : tileColumns;
  unsigned width = isWide ? wideLanes : vectorLanes;
  auto [function, isNew] =
      begin("tds_inner_" + suffix(rows) + "x" + std::to_string(columns) +
                (columns == variant.columns
                     ? std::string()
                     : "of" + std::to_string(variant.columns)) +
                (isWide ? "_wide" : ""),
            {ptr, ptr, ptr, i64, i64, i64, i64, i64, i64});
  if (!isNew)
    return function;
  if (isWide)
    function.setPassthroughAttr(wideVectorAttributes(builder));
  Block &block = function.getBody().front();
  Value a = block.getArgument(0), b = block.getArgument(1),
        c = block.getArgument(2), strideM = block.getArgument(3),
        strideK = block.getArgument(4), strideC = block.getArgument(5),
        depth = block.getArgument(6), valid = block.getArgument(7),
        fromC = block.getArgument(8);
  function.setArgAttr(2, LLVM::LLVMDialect::getNoAliasAttrName(),
                      builder.getUnitAttr());
  unsigned across = columns / width;
  auto vector = VectorType::get({width}, sum);
  // A is in memory as it is only where no conversion is needed.
  Type element = sum;

  SmallVector<Value> rowsOfA, rowsOfC;
  Value last = lanes.sub(valid, lanes.i64(1));
  for (unsigned i = 0; i < rows; ++i) {
    Value row = lanes.minS(lanes.i64(i), last);
    rowsOfA.push_back(lanes.address(a, element, lanes.mul(row, strideM)));
    rowsOfC.push_back(lanes.address(c, sum, lanes.mul(lanes.i64(i), strideC)));
  }
  auto placeInC = [&](unsigned i, unsigned j) {
    return lanes.address(rowsOfC[i], sum, lanes.i64(j * width));
  };
  SmallVector<Type> types(rows * across, vector);
  auto choice = scf::IfOp::create(builder, loc, types, isEqual(fromC, 0),
                                  /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard inside(builder);
    builder.setInsertionPointToStart(choice.thenBlock());
    Value zero = arith::ConstantOp::create(
        builder, loc, cast<TypedAttr>(builder.getZeroAttr(vector)));
    scf::YieldOp::create(builder, loc, SmallVector<Value>(rows * across, zero));
    builder.setInsertionPointToStart(choice.elseBlock());
    SmallVector<Value> loaded;
    for (unsigned i = 0; i < rows; ++i)
      for (unsigned j = 0; j < across; ++j)
        loaded.push_back(vectorLoad(placeInC(i, j), sum, width));
    scf::YieldOp::create(builder, loc, loaded);
  }
  lanes.setLanes(width);
  SmallVector<Value> sums = lanes.loop(
      lanes.i64(0), depth, 1, choice.getResults(),
      [&](Value k, ValueRange carried) {
        SmallVector<Value> next, vectors;
        Value panel =
            lanes.address(b, sum, lanes.mul(k, lanes.i64(variant.columns)));
        for (unsigned j = 0; j < across; ++j)
          vectors.push_back(vectorLoad(
              lanes.address(panel, sum, lanes.i64(j * width)), sum, width));
        Value at = lanes.mul(k, strideK);
        for (unsigned i = 0; i < rows; ++i) {
          Value scalar = LLVM::LoadOp::create(
              builder, loc, element, lanes.address(rowsOfA[i], element, at));
          Value spread = lanes.splat(scalar);
          for (unsigned j = 0; j < across; ++j)
            next.push_back(
                multiplyAdd(spread, vectors[j], carried[i * across + j]));
        }
        return next;
      });
  lanes.setLanes(1);
  for (unsigned i = 0; i < rows; ++i)
    for (unsigned j = 0; j < across; ++j)
      vectorStore(sums[i * across + j], placeInC(i, j));
  end();
  return function;
}

//===----------------------------------------------------------------------===//
// The blocks
//===----------------------------------------------------------------------===//

/// The register tiles of a block of k: A packed where `packs`, else in place
/// from `directA` on.
void GemmFunctions::emitTiles(Value spaceA, Value spaceB, Value directA,
                              Value c, Value m, Value n, Value steps,
                              Value packs, Value strideAm, Value strideAk,
                              Value strideC, Value fromC) {
  unsigned rows = variant.rows, columns = variant.columns;
  LLVM::LLVMFuncOp inner = getInner(/*isWide=*/false);
  LLVM::LLVMFuncOp wide = hasWide ? getInner(/*isWide=*/true) : inner;
  Value zero = lanes.i64(0), one = lanes.i64(1), usesWide;
  if (hasWide)
    usesWide = LLVM::CallOp::create(builder, loc, getHasWideVectors(module),
                                    ValueRange())
                   .getResult();
  auto either = [&](Value x, Value y) -> Value {
    return arith::SelectOp::create(builder, loc, packs, x, y);
  };
  Value strideRow = either(one, strideAm);
  Value strideStep = either(lanes.i64(rows), strideAk);
  lanes.loop(zero, n, columns, [&](Value j) {
    Value panel = lanes.address(spaceB, sum, lanes.mul(j, steps));
    lanes.loop(zero, m, rows, [&](Value i) {
      Value packed = lanes.address(spaceA, sum, lanes.mul(i, steps));
      Value direct = lanes.address(directA, in, lanes.mul(i, strideAm));
      Value rowsLeft = either(lanes.i64(rows), lanes.sub(m, i));
      Value place = lanes.address(c, sum, lanes.add(lanes.mul(i, strideC), j));
      Value rowOfA = either(packed, direct);
      auto callInner = [&](LLVM::LLVMFuncOp function, unsigned column) {
        Value shift = lanes.i64(column);
        call(function, {rowOfA, lanes.address(panel, sum, shift),
                        lanes.address(place, sum, shift), strideRow, strideStep,
                        strideC, steps, rowsLeft, fromC});
      };
      auto inParts = [&] {
        for (unsigned part = 0; part < columns; part += tileColumns)
          callInner(inner, part);
      };
      if (hasWide)
        ifElse(usesWide, [&] { callInner(wide, 0); }, inParts);
      else
        inParts();
    });
  });
}

LLVM::LLVMFuncOp GemmFunctions::getGemm() {
  unsigned rows = variant.rows, columns = variant.columns;
  LLVM::LLVMFuncOp packA = getPack(rows), packB = getPack(columns);
  SmallVector<Type> parameters(5, ptr);
  parameters.append(10, i64);
  auto [function, isNew] = begin(
      "tds_gemm_" + suffix(rows) + "x" + std::to_string(columns), parameters);
  if (!isNew)
    return function;
  Block &block = function.getBody().front();
  auto arg = [&](unsigned i) { return block.getArgument(i); };
  Value a = arg(0), b = arg(1), c = arg(2), spaceA = arg(3), spaceB = arg(4);
  Value m = arg(5), n = arg(6), k = arg(7);
  Value strideAm = arg(8), strideAk = arg(9), strideBn = arg(10),
        strideBk = arg(11), strideC = arg(12), depth = arg(13),
        accumulate = arg(14);
  Value zero = lanes.i64(0), one = lanes.i64(1);
  bool mustPack = in != sum;
  Value packs = isEqual(strideAk, 1);
  packs = arith::XOrIOp::create(
      builder, loc, packs,
      arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true)));
  if (mustPack)
    packs = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  // The blocks of k: a step that is not a constant needs its own loop form.
  Value blocks = arith::DivUIOp::create(
      builder, loc, lanes.sub(lanes.add(k, depth), one), depth);
  lanes.loop(zero, blocks, 1, [&](Value block) {
    Value low = lanes.mul(block, depth);
    Value steps = lanes.minS(depth, lanes.sub(k, low));
    Value fromB = lanes.address(b, in, lanes.mul(low, strideBk));
    Value fromA = lanes.address(a, in, lanes.mul(low, strideAk));
    call(packB, {spaceB, fromB, strideBn, strideBk, n, steps});
    lanes.ifThen(packs, [&] {
      call(packA, {spaceA, fromA, strideAm, strideAk, m, steps});
    });
    Value isFirst = isEqual(block, 0);
    Value fromC =
        arith::SelectOp::create(builder, loc, isFirst, accumulate, one);
    emitTiles(spaceA, spaceB, fromA, c, m, n, steps, packs, strideAm, strideAk,
              strideC, fromC);
  });
  end();
  return function;
}

LLVM::LLVMFuncOp GemmFunctions::getIndexedGemm() {
  unsigned rows = variant.rows, columns = variant.columns;
  LLVM::LLVMFuncOp packA = getIndexedRowPack(), packB = getIndexedPack();
  SmallVector<Type> parameters(8, ptr);
  parameters.append(7, i64);
  auto [function, isNew] =
      begin("tds_gemm_indexed_" + suffix(rows) + "x" + std::to_string(columns),
            parameters);
  if (!isNew)
    return function;
  Block &block = function.getBody().front();
  auto arg = [&](unsigned i) { return block.getArgument(i); };
  Value a = arg(0), b = arg(1), c = arg(2), spaceA = arg(3), spaceB = arg(4);
  Value tableAk = arg(5), tableBn = arg(6), tableBk = arg(7);
  Value m = arg(8), n = arg(9), steps = arg(10), strideAm = arg(11),
        strideC = arg(12), direct = arg(13), fromC = arg(14);
  call(packB, {spaceB, b, tableBn, tableBk, n, steps});
  Value packs = isEqual(direct, 0);
  if (in != sum)
    packs = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  lanes.ifThen(packs,
               [&] { call(packA, {spaceA, a, strideAm, tableAk, m, steps}); });
  emitTiles(spaceA, spaceB, a, c, m, n, steps, packs, strideAm, lanes.i64(1),
            strideC, fromC);
  end();
  return function;
}

LLVM::LLVMFuncOp cpu::getIndexedGemm(ModuleOp module, const CPUTarget &target,
                                     const GemmVariant &variant) {
  return GemmFunctions(module, target, variant).getIndexedGemm();
}

LLVM::LLVMFuncOp cpu::getGemm(ModuleOp module, const CPUTarget &target,
                              const GemmVariant &variant) {
  return GemmFunctions(module, target, variant).getGemm();
}
