//===- LaneBuilder.h - code for some consecutive points at once -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emitters compute a body for one point or for `width` consecutive points of
// one index: the lanes. A value that is the same in all lanes is a scalar, any
// other a 1-D vector. LaneBuilder holds what does not depend on the tds
// dialect: index arithmetic, memory access, and the forms that element types
// have in registers and in memory. Everything is emitted as `arith` and `llvm`
// ops.
//
// In registers f16 and bf16 are held as f32 (each operation rounds back, which
// equals one correctly rounded narrow operation), bool as i1, u8 as i8, an
// index as i64. In memory bool is a byte.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TARGET_COMMON_LANEBUILDER_H
#define TDSL_TARGET_COMMON_LANEBUILDER_H

#include "tdsl/ScalarMath/Emit.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace tdsl::target {

/// Properties of a target that change how lanes are emitted, never the values.
struct LaneOptions {
  scalarmath::EmitOptions math;
  /// The narrowest element, in bits, that the target loads and stores under a
  /// vector mask; narrower ones go lane by lane. 0: no masked accesses.
  unsigned maskedBits = 0;
  /// Load under a mask by AVX2's own instructions. LLVM 22 loses the mask of a
  /// generic masked load whose lower or upper half it only finds to be off
  /// while it selects instructions, and then loads that half.
  bool avx2Masks = false;
  /// Alignment in bytes that every buffer has at its start.
  unsigned bufferAlignment = 16;
  /// Largest alignment in bytes to promise for a vector access.
  unsigned accessAlignment = 16;
};

/// An integer for each lane.
struct LaneIndex {
  /// i64: the value of lane 0; null where `lanes` is set.
  mlir::Value base;
  /// Lane l has base + l * step.
  int64_t step = 0;
  /// A number that `base` is known to be a multiple of; 0 where base is 0.
  int64_t multiple = 1;
  /// The general form, a vector of i64.
  mlir::Value lanes;

  bool isUniform() const { return !lanes && step == 0; }
};

/// A tensor in memory. `strides` count elements; the address of an element is
/// pointer + sum(index * stride).
struct Buffer {
  mlir::Value pointer;
  /// The tds element type, e.g. ui8 or bf16.
  mlir::Type element;
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<int64_t> strides;
  /// Alignment of `pointer` in bytes; 0: that of every buffer.
  unsigned alignment = 0;
  /// Nothing writes the tensor while the kernel runs.
  bool isInvariant = false;

  /// A dense row-major tensor.
  static Buffer dense(mlir::Value pointer, mlir::RankedTensorType type);
};

/// Row-major strides of `shape`, in elements.
llvm::SmallVector<int64_t> denseStrides(llvm::ArrayRef<int64_t> shape);

/// Signless type that a tds element has in a register or in memory.
mlir::Type getRegisterType(mlir::Type element);
mlir::Type getMemoryType(mlir::Type element);

class LaneBuilder {
public:
  LaneBuilder(mlir::OpBuilder &builder, mlir::Location loc,
              const LaneOptions &options)
      : builder(builder), loc(loc), options(options) {}

  /// The number of lanes that vectors have from now on, and which of them count
  /// (vector of i1, or null for all). Lanes that do not count are neither
  /// loaded nor stored. `newCount`: the number of lanes that count, where it is
  /// known and they are the first ones; 0 otherwise.
  void setLanes(unsigned newWidth, mlir::Value newMask = {},
                unsigned newCount = 0) {
    width = newWidth;
    mask = newMask;
    count = newCount;
  }
  unsigned getWidth() const { return width; }
  mlir::Value getMask() const { return mask; }
  unsigned getCount() const { return count; }

  //===--- scalars -------------------------------------------------------===//
  mlir::Value i64(int64_t value);
  mlir::Value i32(int64_t value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value minS(mlir::Value x, mlir::Value y);
  /// Quotient and remainder of a number that is not negative.
  mlir::Value divU(mlir::Value x, int64_t divisor);
  mlir::Value remU(mlir::Value x, int64_t divisor);
  /// `linear` as indices of a space of `extents`, row-major.
  llvm::SmallVector<mlir::Value> delinearize(mlir::Value linear,
                                             llvm::ArrayRef<int64_t> extents);
  /// The address `offset` elements of memory type `element` behind `pointer`.
  mlir::Value address(mlir::Value pointer, mlir::Type element,
                      mlir::Value offset);
  /// `for (i = low; i < high; i += step)` with carried values; the body returns
  /// the next ones.
  using LoopBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value index, mlir::ValueRange carried)>;
  llvm::SmallVector<mlir::Value> loop(mlir::Value low, mlir::Value high,
                                      int64_t step, mlir::ValueRange carried,
                                      LoopBody body);
  void loop(mlir::Value low, mlir::Value high, int64_t step,
            llvm::function_ref<void(mlir::Value)> body);
  void ifThen(mlir::Value condition, llvm::function_ref<void()> body);

  //===--- lanes ---------------------------------------------------------===//
  /// `value` in every lane; a vector stays as it is.
  mlir::Value splat(mlir::Value value);
  /// A constant of a register type: a number in every lane, as a scalar.
  mlir::Value constant(mlir::Type registerType, mlir::TypedAttr value);
  /// All values as scalars, or all as vectors where one is a vector.
  void unify(llvm::MutableArrayRef<mlir::Value> values);
  /// 0, 1, 2, … as a vector of integers of `bits`.
  mlir::Value iota(unsigned bits);
  /// The lanes below `count` (i64).
  mlir::Value maskBelow(mlir::Value count);
  /// The first or second half of the lanes of `vector` (1 lane: a scalar).
  mlir::Value half(mlir::Value vector, bool second);
  mlir::Value extract(mlir::Value vector, unsigned lane);

  //===--- indices -------------------------------------------------------===//
  LaneIndex constantIndex(int64_t value);
  /// A uniform index.
  LaneIndex index(mlir::Value base, int64_t multiple = 1);
  /// Consecutive points from `base` on, one a lane.
  LaneIndex consecutive(mlir::Value base, int64_t multiple = 1);
  LaneIndex addIndex(const LaneIndex &x, const LaneIndex &y);
  LaneIndex scaleIndex(const LaneIndex &x, int64_t factor);
  LaneIndex evaluate(mlir::AffineExpr expr, llvm::ArrayRef<LaneIndex> dims);
  /// As i64: a scalar where uniform, else a vector.
  mlir::Value materialize(const LaneIndex &x);
  LaneIndex fromValue(mlir::Value value);

  //===--- memory --------------------------------------------------------===//
  /// The element at each lane's indices, in register form. With a guard value
  /// (register type), an element out of range gives that instead. With
  /// `clamped`, indices are brought into range first.
  mlir::Value load(const Buffer &buffer, llvm::ArrayRef<LaneIndex> indices,
                   mlir::Value guard = {}, bool clamped = false);
  /// Stores `value` (register form) in the lanes that count. Where the place is
  /// the same for all lanes, `value` is a scalar.
  void store(const Buffer &buffer, llvm::ArrayRef<LaneIndex> indices,
             mlir::Value value);
  mlir::Value fromMemory(mlir::Value value, mlir::Type element);
  mlir::Value toMemory(mlir::Value value, mlir::Type element);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  LaneOptions options;

private:
  LaneIndex offsetOf(const Buffer &buffer, llvm::ArrayRef<LaneIndex> indices);
  unsigned alignmentOf(const Buffer &buffer, const LaneIndex &offset,
                       unsigned bytes);
  /// Consecutive elements under a mask; lanes that are off are 0.
  mlir::Value maskedLoad(mlir::VectorType type, mlir::Value from,
                         mlir::Value active, unsigned bytes);
  bool canMask(mlir::Type memoryType);
  mlir::Value loadLanes(const Buffer &buffer, const LaneIndex &offset,
                        mlir::Value active);

  unsigned width = 1, count = 0;
  mlir::Value mask;
};

} // namespace tdsl::target

#endif // TDSL_TARGET_COMMON_LANEBUILDER_H
