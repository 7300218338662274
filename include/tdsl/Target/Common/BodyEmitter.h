//===- BodyEmitter.h - bodies of index definitions as code -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits the scalar body of a tds.generic or tds.scatter for the lanes of a
// LaneBuilder. The emitter of a kernel says where each tensor is: in memory
// (setBuffer) or, for one made in the kernel, in a register that holds its
// value at the current point (setRegister). CPU and GPU emitters share this.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TARGET_COMMON_BODYEMITTER_H
#define TDSL_TARGET_COMMON_BODYEMITTER_H

#include "tdsl/Dialect/TDS/TDSOps.h"
#include "tdsl/Target/Common/LaneBuilder.h"

#include "llvm/ADT/DenseMap.h"

namespace tdsl::target {

/// One term of a reduction: a value, or the two factors of a product that is to
/// be accumulated by fused multiply-add.
struct Term {
  mlir::Value value;
  mlir::Value factor;
};

class BodyEmitter {
public:
  explicit BodyEmitter(LaneBuilder &lanes) : lanes(lanes) {}

  void setBuffer(mlir::Value tensor, Buffer buffer) {
    buffers[tensor] = std::move(buffer);
  }
  void setRegister(mlir::Value tensor, mlir::Value value) {
    registers[tensor] = value;
  }
  void clearRegister(mlir::Value tensor) { registers.erase(tensor); }
  mlir::Value getRegister(mlir::Value tensor) {
    return registers.lookup(tensor);
  }
  /// Makes the value of a scalar tds.constant, or the site of a tds.random,
  /// `value` (register form) instead of what the operation says.
  void setNumber(mlir::Operation *op, mlir::Value value) {
    numbers[op] = value;
  }
  const Buffer *getBuffer(mlir::Value tensor) {
    auto it = buffers.find(tensor);
    return it == buffers.end() ? nullptr : &it->second;
  }

  /// The value of `tensor` at `indices`, wherever it is.
  mlir::Value valueAt(mlir::Value tensor, llvm::ArrayRef<LaneIndex> indices);

  /// What the body yields at `indices` (parallel, then reduction indices), in
  /// register form.
  mlir::Value evaluate(tds::GenericOp op, llvm::ArrayRef<LaneIndex> indices);

  /// The same for a body that is reduced, see Reduction.
  Term evaluateTerm(tds::GenericOp op, llvm::ArrayRef<LaneIndex> indices);

  /// The yielded value of a scatter and the place it goes to.
  std::pair<mlir::Value, llvm::SmallVector<LaneIndex>>
  evaluate(tds::ScatterOp op, llvm::ArrayRef<LaneIndex> indices);

  /// What a body yields whose arguments are `indices` and then `scalars` (in
  /// register form), as that of an attention.
  mlir::Value evaluate(mlir::Block *block, llvm::ArrayRef<LaneIndex> indices,
                       llvm::ArrayRef<mlir::Value> scalars);

  LaneBuilder &lanes;

private:
  void bind(mlir::Block *body, llvm::ArrayRef<LaneIndex> indices,
            mlir::Operation *except = nullptr,
            llvm::ArrayRef<mlir::Value> scalars = {});
  void emit(mlir::Operation *op);
  mlir::Value emitRead(tds::ReadOp op);
  mlir::Value emitRandom(tds::RandomOp op);
  void emitCast(tds::CastOp op);
  mlir::Value emitCompare(tds::CompareOp op);
  /// The value as scalar or vector, also where it is an index (then i64).
  mlir::Value get(mlir::Value value);

  llvm::DenseMap<mlir::Value, Buffer> buffers;
  llvm::DenseMap<mlir::Value, mlir::Value> registers;
  llvm::DenseMap<mlir::Operation *, mlir::Value> numbers;
  // Of the body at hand.
  llvm::DenseMap<mlir::Value, mlir::Value> values;
  llvm::DenseMap<mlir::Value, LaneIndex> indexValues;
};

/// Emits an element operation (a trait of the dialect) on operands in register
/// form, all scalars or all vectors. Casts to and from index, and constants,
/// are not among them.
mlir::Value emitElementOp(LaneBuilder &lanes, mlir::Operation *op,
                          llvm::ArrayRef<mlir::Value> operands);

/// A value of `from` (register form) as element type `to`; both as in the
/// dialect, neither an index.
mlir::Value emitElementCast(LaneBuilder &lanes, mlir::Value value,
                            mlir::Type from, mlir::Type to);

/// How a reduction runs: its accumulators are one value, or the best value and
/// its index for argmax and argmin. Sums and products of f16 and bf16
/// accumulate in f32 and are rounded once at the end.
class Reduction {
public:
  Reduction(LaneBuilder &lanes, tds::GenericOp op) : lanes(lanes), op(op) {}

  /// The accumulators before the first term: scalars, or vectors with one
  /// accumulator a lane.
  llvm::SmallVector<mlir::Value> identity(bool asVector);
  /// The accumulators after one more term. Under a mask, other lanes keep
  /// theirs. `index` is the reduction index (for argmax and argmin).
  llvm::SmallVector<mlir::Value> step(mlir::ValueRange accumulators, Term term,
                                      const LaneIndex &index);
  /// Two sets of accumulators as one; those of `x` saw lower indices only where
  /// that is known.
  llvm::SmallVector<mlir::Value> merge(mlir::ValueRange x, mlir::ValueRange y);
  /// Scalars from vectors, by halving: a fixed tree.
  llvm::SmallVector<mlir::Value> mergeLanes(mlir::ValueRange accumulators);
  /// The result in register form.
  mlir::Value finish(mlir::ValueRange accumulators);

  tds::GenericOp getOp() const { return op; }
  unsigned size() { return isArg() ? 2 : 1; }

private:
  bool isArg() {
    return op.getKind() == tds::ReductionKind::ArgMax ||
           op.getKind() == tds::ReductionKind::ArgMin;
  }
  mlir::Value combine(mlir::Value x, mlir::Value y);
  mlir::Value isBetter(mlir::Value x, mlir::Value y);

  LaneBuilder &lanes;
  tds::GenericOp op;
};

} // namespace tdsl::target

#endif // TDSL_TARGET_COMMON_BODYEMITTER_H
