//===- GemmBuilder.h - writes the functions that multiply matrices -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GemmFunctions.cpp holds the loops over tiles and blocks, GemmPacking.cpp what
// copies the operands into panels.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_TARGET_CPU_GEMMBUILDER_H
#define TDSL_LIB_TARGET_CPU_GEMMBUILDER_H

#include "GemmFunctions.h"

#include "tdsl/Target/Common/BodyEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tdsl::cpu {

class GemmBuilder {
public:
  GemmBuilder(mlir::ModuleOp module, const CPUTarget &target,
              const GemmVariant &variant)
      : module(module), variant(variant), builder(module.getContext()),
        loc(module.getLoc()), lanes(builder, loc, target.laneOptions()),
        sum(target::getRegisterType(variant.sum)),
        in(target::getMemoryType(variant.in)),
        ptr(mlir::LLVM::LLVMPointerType::get(module.getContext())),
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

  mlir::LLVM::LLVMFuncOp getGemm();
  mlir::LLVM::LLVMFuncOp getIndexedGemm();

private:
  std::string suffix(unsigned panel);
  /// A function that exists already, or a new one with the builder inside.
  std::pair<mlir::LLVM::LLVMFuncOp, bool>
  begin(const std::string &name, llvm::ArrayRef<mlir::Type> parameters);
  void end() { mlir::LLVM::ReturnOp::create(builder, loc, mlir::ValueRange{}); }
  void call(mlir::LLVM::LLVMFuncOp function, mlir::ValueRange arguments) {
    mlir::LLVM::CallOp::create(builder, loc, function, arguments);
  }
  mlir::LLVM::LLVMFuncOp getPack(unsigned panel);
  mlir::LLVM::LLVMFuncOp getIndexedPack();
  mlir::LLVM::LLVMFuncOp getIndexedRowPack();
  mlir::LLVM::LLVMFuncOp getInner(bool isWide);
  mlir::Value loadIndex(mlir::Value table, mlir::Value at);
  void emitTiles(mlir::Value spaceA, mlir::Value spaceB, mlir::Value directA,
                 mlir::Value c, mlir::Value m, mlir::Value n, mlir::Value steps,
                 mlir::Value packs, mlir::Value strideAm, mlir::Value strideAk,
                 mlir::Value strideC, mlir::Value fromC);
  void packContiguous(mlir::Value to, mlir::Value from, mlir::Value strideK,
                      mlir::Value depth, unsigned panel);
  void packMasked(mlir::Value to, mlir::Value from, mlir::Value strideK,
                  mlir::Value depth, mlir::Value valid, unsigned panel);
  void packTransposed(mlir::Value to, mlir::Value from, mlir::Value strideP,
                      mlir::Value low, mlir::Value high, unsigned panel);
  void packAny(mlir::Value to, mlir::Value from, mlir::Value strideP,
               mlir::Value strideK, mlir::Value valid, mlir::Value low,
               mlir::Value high, unsigned panel);
  mlir::Value multiplyAdd(mlir::Value a, mlir::Value b, mlir::Value c);
  mlir::Value convert(mlir::Value value) {
    return target::emitElementCast(lanes, lanes.fromMemory(value, variant.in),
                                   variant.in, variant.sum);
  }
  mlir::Value vectorLoad(mlir::Value from, mlir::Type element, unsigned count) {
    return mlir::LLVM::LoadOp::create(
        builder, loc, mlir::VectorType::get({count}, element), from,
        element.getIntOrFloatBitWidth() / 8);
  }
  void vectorStore(mlir::Value value, mlir::Value to) {
    auto type = llvm::cast<mlir::VectorType>(value.getType());
    mlir::LLVM::StoreOp::create(builder, loc, value, to,
                                type.getElementTypeBitWidth() / 8);
  }
  mlir::Value isEqual(mlir::Value x, int64_t y) {
    return mlir::arith::CmpIOp::create(
        builder, loc, mlir::arith::CmpIPredicate::eq, x, lanes.i64(y));
  }
  void ifElse(mlir::Value condition, llvm::function_ref<void()> yes,
              llvm::function_ref<void()> no);

  mlir::ModuleOp module;
  GemmVariant variant;
  mlir::OpBuilder builder;
  mlir::Location loc;
  target::LaneBuilder lanes;
  mlir::Type sum, in, ptr, i64;
  /// Of a vector register; of one of 512 bits.
  unsigned vectorLanes, wideLanes;
  /// Columns of a panel that the first inner loop walks at once.
  unsigned tileColumns;
  bool hasWide;
};

} // namespace tdsl::cpu

#endif // TDSL_LIB_TARGET_CPU_GEMMBUILDER_H
