//===- Rows.h - scalar operations over whole rows -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference evaluator and the constant folder compile the scalar body of an
// index definition into a RowProgram: a list of instructions on registers, each
// of which holds one value for up to `rowLanes` points. A LoopNest runs such a
// program over all points of its extents and stores or reduces what it yields.
//
// Register formats: bool and u8 uint8_t, i8 int8_t, i32 int32_t, i64 and index
// int64_t, f16, bf16 and f32 float, f64 double. A 16-bit float is always a
// float that the 16-bit type holds exactly: operations compute in f32 and round
// once, which for + - * / sqrt is the correctly rounded 16-bit result.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_REFERENCE_ROWS_H
#define TDSL_REFERENCE_ROWS_H

#include "tdsl/Reference/Tensor.h"

#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace tdsl::reference {

/// Points that one instruction handles at a time.
inline constexpr unsigned rowLanes = 256;

enum class Opcode : uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Mod,
  Pow,
  Max,
  Min,
  Clamp,
  Neg,
  Abs,
  Sign,
  Floor,
  Ceil,
  Round,
  Sqrt,
  Rsqrt,
  Exp,
  Expm1,
  Log,
  Log1p,
  Tanh,
  Sigmoid,
  Erf,
  Sin,
  Cos,
  And,
  Or,
  Not,
  IsNan,
  IsFinite,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Select,
  Copy,
};

enum class Reduction : uint8_t {
  Sum,
  Prod,
  Max,
  Min,
  Any,
  All,
  ArgMax,
  ArgMin
};

using Reg = uint32_t;
struct Frame;
struct Instruction;
using RunFn = void (*)(const Instruction &, Frame &, unsigned lanes);

/// One instruction. `extra` is what the opcode needs besides registers: a
/// tensor slot, an index into a table of the program, a site.
struct Instruction {
  RunFn run = nullptr;
  Reg dst = 0, a = 0, b = 0, c = 0;
  uint32_t extra = 0;
  ElementKind kind = ElementKind::F32;
};

/// The function that computes `opcode` on operands of `kind` (for Select: of
/// the values), or null where the language has no such operation. For 16-bit
/// floats the result is not yet rounded.
RunFn getRowFunction(Opcode opcode, ElementKind kind);
/// The conversion between registers of two kinds, rounded.
RunFn getCastFunction(ElementKind from, ElementKind to);
/// Rounds a float register to a 16-bit kind in place (a = dst).
RunFn getRoundFunction(ElementKind kind);

/// Keeps what `tds.stop_gradient` passed on in one evaluation, to give the same
/// values in later ones: so a finite difference sees them as constants.
struct StopRecorder {
  bool replay = false;
  std::vector<uint8_t> bytes;
  size_t position = 0;
  /// From now on every stop_gradient gives what it gave since construction.
  void startReplay() {
    replay = true;
    position = 0;
  }
};

/// A straight-line program on rows.
class RowProgram {
public:
  Reg newReg() { return numRegs++; }

  /// A register with one value in all lanes, set before the program runs. The
  /// value is that of element 0 of `value`.
  Reg constant(const Tensor &value);
  /// The register of a loop index (I64).
  Reg index(unsigned dim);
  /// An operation on registers of `kind`; rounds the result of a 16-bit kind.
  Reg op(Opcode opcode, ElementKind kind, Reg a, Reg b = 0, Reg c = 0);
  Reg cast(Reg a, ElementKind from, ElementKind to);
  Reg stopGradient(Reg a, ElementKind kind);
  /// The random number of the language, f32: `uniform` or normal.
  Reg random(bool uniform, Reg seed, Reg step, Reg linear, Reg iteration,
             uint32_t site);

  /// Reads the element at offset `base` + sum of `strides[d]` * index d (in
  /// elements) of the tensor in `slot`; the caller has proven it inside.
  Reg affineRead(unsigned slot, ElementKind kind, int64_t base,
                 llvm::ArrayRef<int64_t> strides);
  enum class Outside { Error, Guard, Clamp };
  /// Reads at computed indices (I64 registers, one an axis). `guard` is a
  /// register of the tensor's kind.
  Reg indexedRead(unsigned slot, ElementKind kind,
                  llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<Reg> indices,
                  Outside outside, Reg guard = 0);

  struct AffineAccess {
    int64_t base;
    llvm::SmallVector<int64_t, 4> strides;
  };
  struct IndexedAccess {
    llvm::SmallVector<int64_t, 4> shape;
    llvm::SmallVector<Reg, 4> indices;
    Outside outside;
    Reg guard;
  };
  std::vector<Instruction> instructions;
  std::vector<std::pair<Reg, Tensor>> constants;
  std::vector<AffineAccess> affineAccesses;
  std::vector<IndexedAccess> indexedAccesses;
  /// Per loop index its register, or nothing where the program never uses it.
  llvm::SmallVector<std::optional<Reg>, 4> indexRegs;
  unsigned numRegs = 0;
};

/// Extents, a program and what becomes of the values that it gives.
struct LoopNest {
  llvm::SmallVector<int64_t, 4> parallel;
  llvm::SmallVector<int64_t, 4> reduce;
  RowProgram program;
  /// What the program yields: a register of kind `yieldKind`.
  Reg yield = 0;
  ElementKind yieldKind = ElementKind::F32;
  std::optional<Reduction> reduction;
  /// For a Sum of float products: the registers of the factors; `yield` is not
  /// computed then.
  std::optional<std::pair<Reg, Reg>> factors;
};

/// Runs the nest; `tensors` are the values of its slots. The result has the
/// shape `parallel` and the kind of the yielded value (i32 for ArgMax and
/// ArgMin). Reductions run in lexicographic order of the reduction indices;
/// 16-bit float sums and products accumulate in f32 and are rounded once.
/// Fails where an unguarded read is out of range.
llvm::Expected<Tensor> runNest(const LoopNest &nest,
                               llvm::ArrayRef<const Tensor *> tensors,
                               StopRecorder *stops = nullptr);

/// The adjoint of a gather: from zeros of `shape`, adds what the program of
/// `nest` yields at the places in the I64 registers `places`, in lexicographic
/// order of the points; a place out of range is left out. 16-bit float sums
/// accumulate in f32 and are rounded once.
llvm::Expected<Tensor> runScatter(const LoopNest &nest,
                                  llvm::ArrayRef<Reg> places,
                                  llvm::ArrayRef<int64_t> shape,
                                  llvm::ArrayRef<const Tensor *> tensors,
                                  StopRecorder *stops = nullptr);

/// acc[i] = fma(a[i], b[i], acc[i]), one rounding whatever the processor.
void fmaRow(const float *a, const float *b, float *acc, size_t n);
void fmaRow(const double *a, const double *b, double *acc, size_t n);
/// The same with one factor for all lanes.
void fmaRow(float a, const float *b, float *acc, size_t n);
void fmaRow(double a, const double *b, double *acc, size_t n);
/// fma(a[n-1], b[n-1], ... fma(a[0], b[0], acc)).
float fmaSerial(const float *a, const float *b, float acc, size_t n);
double fmaSerial(const double *a, const double *b, double acc, size_t n);

} // namespace tdsl::reference

#endif // TDSL_REFERENCE_ROWS_H
