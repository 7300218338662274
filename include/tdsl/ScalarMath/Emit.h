//===- Emit.h - the scalar maths library as IR -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the target emitters call. Each function emits straight-line `arith` ops
// and LLVM intrinsics (`llvm.intr.fma`, `.sqrt`, `.floor`, ...), none with a
// fast-math flag, at the builder's insertion point; Mod on floats also emits
// one `scf.while`. Operands are scalars or 1-D vectors; all operands of a call
// have one shape and the result has it too. The bits equal Host.h on every
// target.
//
// Dialects that must be loaded: arith, LLVM, and scf for Mod.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_SCALARMATH_EMIT_H
#define TDSL_SCALARMATH_EMIT_H

#include "tdsl/ScalarMath/Functions.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

#include <array>
#include <utility>

namespace tdsl::scalarmath {

/// What the target can do by itself. The bits are the same either way (those of
/// a NaN apart).
struct EmitOptions {
  /// f32 <-> f16 conversion instructions (F16C on x86-64-v3, every NVPTX
  /// target). Otherwise integer arithmetic, which needs no run-time library.
  bool nativeF16 = false;
  /// `arith.maximumf`/`minimumf` become `llvm.maximum`/`minimum`; all targets
  /// of LLVM lower them. Off only for tests.
  bool nativeMinMax = true;
};

/// The function of `x`, whose elements are f16, bf16, f32 or f64 (the 16-bit
/// types compute in f32 and round once).
mlir::Value emit(mlir::OpBuilder &builder, mlir::Location loc, Unary function,
                 mlir::Value x, const EmitOptions &options = {});
mlir::Value emit(mlir::OpBuilder &builder, mlir::Location loc, Binary function,
                 mlir::Value x, mlir::Value y, const EmitOptions &options = {});

/// `x` converted to elements of `element`, both float types. Rounds once to
/// nearest even.
mlir::Value emitFloatCast(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value x, mlir::Type element,
                          const EmitOptions &options = {});

/// Float to integer of 8, 32 or 64 bits: truncates, saturates, NaN gives 0.
/// `isUnsigned` is for u8 only. To i1: x != 0 (true for NaN).
mlir::Value emitFloatToInt(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value x, mlir::Type element, bool isUnsigned,
                           const EmitOptions &options = {});

/// Integer (or i1: 0 and 1) to float, rounded once.
mlir::Value emitIntToFloat(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value x, mlir::Type element, bool isUnsigned,
                           const EmitOptions &options = {});

/// Floor division and its remainder with the language's conventions for a zero
/// divisor and for INT_MIN // -1.
mlir::Value emitIntFloorDiv(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value x, mlir::Value y, bool isUnsigned);
mlir::Value emitIntMod(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value x, mlir::Value y, bool isUnsigned);

/// Philox4x32-10. `key` is i64, the counter words are i32.
std::array<mlir::Value, 4> emitPhilox(mlir::OpBuilder &builder,
                                      mlir::Location loc, mlir::Value key,
                                      std::array<mlir::Value, 4> counter);

/// f32 (word >> 8) * 2^-24 of an i32 word.
mlir::Value emitUniform(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value word);

/// Box-Muller of two i32 words, see NormalPair in Host.h.
std::pair<mlir::Value, mlir::Value> emitNormalPair(mlir::OpBuilder &builder,
                                                   mlir::Location loc,
                                                   mlir::Value radiusWord,
                                                   mlir::Value angleWord);

/// The random value of logical element `index` (i64), as uniformAt and normalAt
/// of Host.h. Where a lane makes four neighbouring elements, one emitPhilox
/// with two emitNormalPair is four times cheaper and has the same bits.
mlir::Value emitUniformAt(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value seed, mlir::Value index,
                          mlir::Value iteration, mlir::Value step,
                          mlir::Value site);
mlir::Value emitNormalAt(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value seed, mlir::Value index,
                         mlir::Value iteration, mlir::Value step,
                         mlir::Value site);

} // namespace tdsl::scalarmath

#endif // TDSL_SCALARMATH_EMIT_H
