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

#include "GemmBuilder.h"
#include "WideVectors.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::cpu;
using namespace tdsl::target;

std::string GemmBuilder::suffix(unsigned panel) {
  return (tds::getElementName(variant.in) + "_" +
          tds::getElementName(variant.sum) + "_" + llvm::Twine(panel))
      .str();
}

std::pair<LLVM::LLVMFuncOp, bool>
GemmBuilder::begin(const std::string &name, ArrayRef<Type> parameters) {
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

void GemmBuilder::ifElse(Value condition, function_ref<void()> yes,
                         function_ref<void()> no) {
  auto op = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(op.thenBlock());
  yes();
  builder.setInsertionPointToStart(op.elseBlock());
  no();
}

Value GemmBuilder::multiplyAdd(Value a, Value b, Value c) {
  if (isa<FloatType>(sum))
    return LLVM::FMAOp::create(builder, loc, a, b, c);
  Value product = arith::MulIOp::create(builder, loc, a, b);
  return arith::AddIOp::create(builder, loc, product, c);
}

//===----------------------------------------------------------------------===//
// The inner loop
//===----------------------------------------------------------------------===//

/// inner(A, B, C, strideAm, strideAk, strideC, depth, valid, fromC): a register
/// tile of C over `depth` steps of k. B is a packed panel, or a part of one.
/// Rows of A from `valid` on repeat the last valid one.
LLVM::LLVMFuncOp GemmBuilder::getInner(bool isWide) {
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
void GemmBuilder::emitTiles(Value spaceA, Value spaceB, Value directA, Value c,
                            Value m, Value n, Value steps, Value packs,
                            Value strideAm, Value strideAk, Value strideC,
                            Value fromC) {
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

LLVM::LLVMFuncOp GemmBuilder::getGemm() {
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

LLVM::LLVMFuncOp GemmBuilder::getIndexedGemm() {
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
  return GemmBuilder(module, target, variant).getIndexedGemm();
}

LLVM::LLVMFuncOp cpu::getGemm(ModuleOp module, const CPUTarget &target,
                              const GemmVariant &variant) {
  return GemmBuilder(module, target, variant).getGemm();
}
