//===- KernelEmitter.h - what all GPU kernel emitters share -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_TARGET_GPU_KERNELEMITTER_H
#define TDSL_LIB_TARGET_GPU_KERNELEMITTER_H

#include "PartFunctions.h"

#include "tdsl/Dialect/TDS/TDSOps.h"
#include "tdsl/Target/Common/BodyEmitter.h"
#include "tdsl/Target/Common/KernelAnalysis.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace tdsl::gpu {

/// One outlined kernel on its way to an `llvm.func`: the function with its
/// buffer arguments, and the code builder inside it. Each kind of kernel has an
/// `emit…` function that fills the body.
class KernelEmitter {
public:
  /// Makes the function of a kernel in `target` and opens its body.
  KernelEmitter(const target::OutlinedKernel &outlined, mlir::ModuleOp target);
  /// Makes the function `name` of a part that several kernels have.
  KernelEmitter(SharedPart &shared, llvm::StringRef name,
                mlir::ModuleOp target);

  /// Emits the kernel, or its parts, and closes the function. Parts that are
  /// functions by now are called.
  void emit(const target::OutlinedKernel &outlined, const PartFunctions &parts);
  /// Emits the shared part, and closes its function.
  void emit(SharedPart &shared);

private:
  /// What the function says of its buffers: their alignment, and whether they
  /// overlap.
  void describeBuffers(const target::OutlinedKernel &outlined);
  /// Emits each part under a test of the block's number.
  void emitParts(const target::OutlinedKernel &outlined,
                 const PartFunctions &parts);
  /// Emits the parts that the last block runs when all have run those of stage
  /// 0, whose number is `firstBlock`.
  void emitLaterStages(llvm::ArrayRef<target::OutlinedKernel> later,
                       const PartFunctions &parts);
  /// Whether the block is the last of `blocks` to come here; what the others
  /// have written by then it may read.
  mlir::Value arriveLast(int64_t blocks);
  void callPart(const PartFunctions::Call &call, mlir::Value block);
  /// Takes up a kernel, or a part of one: where its tensors are, and how it
  /// runs.
  void enter(const target::OutlinedKernel &outlined);
  /// Emits the kernel that was entered, by its kind.
  void emitKind();
  void emitLoop();
  void emitRowBlock();
  void emitRowSerial();
  void emitContract();
  void emitScatter();
  void emitAttention();
  void emitAttentionGrad();

  //===--- schedule ---===//
  int64_t getInt(llvm::StringRef name, int64_t otherwise = 0) {
    auto attr = schedule.getAs<mlir::IntegerAttr>(name);
    return attr ? attr.getInt() : otherwise;
  }
  llvm::ArrayRef<int64_t> getArray(llvm::StringRef name) {
    return llvm::cast<mlir::DenseI64ArrayAttr>(schedule.get(name)).asArrayRef();
  }

  //===--- indices ---===//
  /// threadIdx.x, and blockIdx.x among the blocks of the part, as i64.
  mlir::Value getThread();
  mlir::Value getBlock();
  mlir::Value lessThan(mlir::Value x, mlir::Value y);
  /// `linear` (in units of `vector` points) as indices of `extents`; the
  /// innermost holds `vector` consecutive points.
  llvm::SmallVector<target::LaneIndex>
  getPoint(mlir::Value linear, llvm::ArrayRef<int64_t> extents, int64_t vector);

  //===--- bodies ---===//
  using PointVisitor = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      llvm::ArrayRef<target::LaneIndex> at, mlir::ValueRange carried)>;
  /// Nested loops over `extents`, the last innermost. `visit` gets `outer` and
  /// the loop indices, and the carried values; it gives the next ones.
  llvm::SmallVector<mlir::Value>
  overExtents(llvm::ArrayRef<int64_t> extents,
              llvm::ArrayRef<target::LaneIndex> outer, mlir::ValueRange carried,
              PointVisitor visit);
  /// The register value of `op` at `indices` (its parallel indices), running
  /// its reduction, if any, as nested loops.
  mlir::Value evaluateSerially(tds::GenericOp op,
                               llvm::ArrayRef<target::LaneIndex> indices);
  /// Makes the constants of the kernel known to its bodies: splats as values,
  /// others as data beside the code.
  void bindConstants();
  /// Stores the outputs whose value is at `indices`, those for which `select`
  /// holds.
  void storeOutputs(llvm::ArrayRef<target::LaneIndex> indices,
                    llvm::function_ref<bool(mlir::Value)> select);

  //===--- shared memory and warps ---===//
  /// A static shared array of `count` elements; the result is an address in
  /// address space 3. The arrays of parts lie in one place: a block runs one
  /// part only.
  mlir::Value createShared(llvm::StringRef name, mlir::Type element,
                           int64_t count);
  mlir::Value loadShared(mlir::Value base, mlir::Type element,
                         mlir::Value offset, unsigned lanes = 1);
  void storeShared(mlir::Value base, mlir::Value value, mlir::Value offset);
  /// All threads of the block. Where the kernel has stages, those of each warp
  /// meet before: code that they leave one by one, in a loop over blocks, need
  /// not lie before the barrier.
  void barrier();
  /// `value` of the lane whose number differs by `mask` in its bits.
  mlir::Value shuffleXor(mlir::Value value, int64_t mask);

  friend class AttentionEmitter;

  tds::KernelOp kernel;
  mlir::DictionaryAttr schedule;
  unsigned numData = 0;
  /// Whether an output lies in the place of an input.
  bool sharesBuffers = false;
  /// The buffers and the numbers of iterations that the function is given.
  llvm::SmallVector<mlir::Value> pointers, iterations;
  /// The first block of the part; in the function of a part its argument.
  int64_t firstBlock = 0;
  mlir::Value blockOfPart;
  /// In a later stage: which of the part's blocks the last block runs.
  mlir::Value blockInTurn;
  bool hasStages = false;
  /// Of a kernel with parts: the shared memory of all of them, how much of it
  /// the part at hand has, and how much the largest has.
  mlir::LLVM::GlobalOp sharedOfParts;
  /// In the function of a part: where its shared memory is.
  mlir::Value sharedOfPart;
  int64_t sharedBytes = 0, mostSharedBytes = 0;
  mlir::ModuleOp target;
  mlir::LLVM::LLVMFuncOp function;
  mlir::OpBuilder builder;
  mlir::Location loc;
  target::LaneBuilder lanes;
  target::BodyEmitter body;
  /// Where each output of the kernel is written.
  llvm::SmallVector<target::Buffer> outputs;
};

} // namespace tdsl::gpu

#endif // TDSL_LIB_TARGET_GPU_KERNELEMITTER_H
