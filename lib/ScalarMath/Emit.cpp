//===- Emit.cpp - the scalar maths library as IR -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tdsl/ScalarMath/Emit.h"

#include "tdsl/ScalarMath/Detail/Kernels.h"
#include "tdsl/ScalarMath/MlirBuilder.h"

#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace tdsl::scalarmath::detail;

namespace tdsl::scalarmath {

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

namespace {

template <class T> Value emitUnary(MlirBuilder &b, Unary function, Value x) {
#define CASE(KIND)                                                             \
  case Unary::KIND:                                                            \
    return unaryKernel<Unary::KIND, T>(b, x);
  switch (function) {
    CASE(Exp)
    CASE(Expm1)
    CASE(Log)
    CASE(Log1p)
    CASE(Sqrt)
    CASE(Rsqrt)
    CASE(Tanh)
    CASE(Sigmoid)
    CASE(Erf)
    CASE(Sin)
    CASE(Cos)
    CASE(Floor)
    CASE(Ceil)
    CASE(Round)
    CASE(Abs)
    CASE(Sign)
  }
#undef CASE
  llvm_unreachable("unknown function");
}

template <class T>
Value emitBinary(MlirBuilder &b, Binary function, Value x, Value y,
                 const EmitOptions &options) {
  bool native = options.nativeMinMax;
  switch (function) {
  case Binary::Pow:
    return powKernel<T>(b, x, y);
  case Binary::Min:
    if (native)
      return arith::MinimumFOp::create(b.getBuilder(), b.getLoc(), x, y);
    return minKernel<T>(b, x, y);
  case Binary::Max:
    if (native)
      return arith::MaximumFOp::create(b.getBuilder(), b.getLoc(), x, y);
    return maxKernel<T>(b, x, y);
  case Binary::FloorDiv:
    return floorDivKernel<T>(b, x, y);
  case Binary::Mod:
    return modKernel<T>(b, x, y);
  }
  llvm_unreachable("unknown function");
}

bool isSmallFloat(Type element) { return element.isF16() || element.isBF16(); }

/// An integer value with elements of `width` bits instead.
Value resize(MlirBuilder &b, Value x, unsigned width, bool isSigned) {
  unsigned from = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
  Type type = b.typeOf(b.getBuilder().getIntegerType(width));
  if (from == width)
    return x;
  if (from > width)
    return arith::TruncIOp::create(b.getBuilder(), b.getLoc(), type, x);
  if (isSigned)
    return arith::ExtSIOp::create(b.getBuilder(), b.getLoc(), type, x);
  return arith::ExtUIOp::create(b.getBuilder(), b.getLoc(), type, x);
}

Value bitcastTo(MlirBuilder &b, Value x, Type element) {
  return arith::BitcastOp::create(b.getBuilder(), b.getLoc(), b.typeOf(element),
                                  x);
}

/// A 16-bit float as f32.
Value widenSmall(MlirBuilder &b, Value x, const EmitOptions &options) {
  OpBuilder &builder = b.getBuilder();
  bool isHalf = getElementTypeOrSelf(x.getType()).isF16();
  if (isHalf && options.nativeF16)
    return arith::ExtFOp::create(builder, b.getLoc(),
                                 b.typeOf(builder.getF32Type()), x);
  Value word = resize(b, bitcastTo(b, x, builder.getIntegerType(16)), 32,
                      /*isSigned=*/false);
  return isHalf ? widenHalf(b, word) : widenBFloat(b, word);
}

/// f32 or f64 rounded to the 16-bit float `element`.
Value narrowSmall(MlirBuilder &b, Value x, Type element,
                  const EmitOptions &options) {
  OpBuilder &builder = b.getBuilder();
  bool isF32 = getElementTypeOrSelf(x.getType()).isF32();
  if (element.isF16() && isF32 && options.nativeF16)
    return arith::TruncFOp::create(builder, b.getLoc(), b.typeOf(element), x);
  Value word;
  if (element.isF16())
    word = isF32 ? narrowToSmall<HalfFormat, float>(b, x)
                 : narrowToSmall<HalfFormat, double>(b, x);
  else
    word = isF32 ? narrowToSmall<BFloatFormat, float>(b, x)
                 : narrowToSmall<BFloatFormat, double>(b, x);
  return bitcastTo(b, resize(b, word, 16, /*isSigned=*/false), element);
}

} // namespace

Value emit(OpBuilder &builder, Location loc, Unary function, Value x,
           const EmitOptions &options) {
  MlirBuilder b(builder, loc, x.getType());
  Type element = getElementTypeOrSelf(x.getType());
  if (isSmallFloat(element))
    return narrowSmall(b,
                       emitUnary<float>(b, function, widenSmall(b, x, options)),
                       element, options);
  return element.isF64() ? emitUnary<double>(b, function, x)
                         : emitUnary<float>(b, function, x);
}

Value emit(OpBuilder &builder, Location loc, Binary function, Value x, Value y,
           const EmitOptions &options) {
  MlirBuilder b(builder, loc, x.getType());
  Type element = getElementTypeOrSelf(x.getType());
  if (isSmallFloat(element))
    return narrowSmall(b,
                       emitBinary<float>(b, function, widenSmall(b, x, options),
                                         widenSmall(b, y, options), options),
                       element, options);
  return element.isF64() ? emitBinary<double>(b, function, x, y, options)
                         : emitBinary<float>(b, function, x, y, options);
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

Value emitFloatCast(OpBuilder &builder, Location loc, Value x, Type element,
                    const EmitOptions &options) {
  MlirBuilder b(builder, loc, x.getType());
  Type from = getElementTypeOrSelf(x.getType());
  if (from == element)
    return x;
  if (isSmallFloat(from)) {
    x = widenSmall(b, x, options);
    from = builder.getF32Type();
  }
  if (isSmallFloat(element))
    return narrowSmall(b, x, element, options);
  if (from == element)
    return x;
  return element.isF64() ? b.widen(x) : b.narrow(x);
}

Value emitFloatToInt(OpBuilder &builder, Location loc, Value x, Type element,
                     bool isUnsigned, const EmitOptions &options) {
  MlirBuilder b(builder, loc, x.getType());
  if (isSmallFloat(getElementTypeOrSelf(x.getType())))
    x = widenSmall(b, x, options);
  bool isF64 = getElementTypeOrSelf(x.getType()).isF64();
  unsigned width = element.getIntOrFloatBitWidth();
  if (width == 1)
    return b.bnot(isF64 ? b.eq(x, b.constant(0.0)) : b.eq(x, b.constant(0.0f)));
  assert((!isUnsigned || width < 64) && "no unsigned 64-bit element type");
  int64_t low = isUnsigned ? 0 : -(int64_t(1) << (width - 2)) * 2;
  int64_t high = isUnsigned ? (int64_t(1) << width) - 1 : ~low;
  // The conversion itself is signed, of the narrowest type with room.
  if (width == 64 || (isUnsigned && width == 32)) {
    Value r = isF64 ? saturateToInt<uint64_t, double>(b, x, low, high)
                    : saturateToInt<uint64_t, float>(b, x, low, high);
    return resize(b, r, width, /*isSigned=*/false);
  }
  Value r = isF64 ? saturateToInt<uint32_t, double>(b, x, low, high)
                  : saturateToInt<uint32_t, float>(b, x, low, high);
  return resize(b, r, width, /*isSigned=*/false);
}

Value emitIntToFloat(OpBuilder &builder, Location loc, Value x, Type element,
                     bool isUnsigned, const EmitOptions &options) {
  MlirBuilder b(builder, loc, x.getType());
  unsigned width = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
  // An i1 is 0 or 1, never -1.
  bool isSigned = !isUnsigned && width > 1;
  bool is64 = width == 64 || (isUnsigned && width == 32);
  x = resize(b, x, is64 ? 64 : 32, isSigned);
  if (element.isF64())
    return b.fromSigned<double>(x);
  if (element.isF32())
    return b.fromSigned<float>(x);
  Value wide = is64 ? int64ToOddF64(b, x) : b.fromSigned<double>(x);
  return narrowSmall(b, wide, element, options);
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

static DivMod<Value> emitDivMod(OpBuilder &builder, Location loc, Value x,
                                Value y, bool isUnsigned) {
  MlirBuilder b(builder, loc, x.getType());
  switch (getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth()) {
  case 8:
    return intDivMod<uint8_t>(b, x, y, isUnsigned);
  case 16:
    return intDivMod<uint16_t>(b, x, y, isUnsigned);
  case 32:
    return intDivMod<uint32_t>(b, x, y, isUnsigned);
  case 64:
    return intDivMod<uint64_t>(b, x, y, isUnsigned);
  }
  llvm_unreachable("integers have 8, 16, 32 or 64 bits");
}

Value emitIntFloorDiv(OpBuilder &builder, Location loc, Value x, Value y,
                      bool isUnsigned) {
  return emitDivMod(builder, loc, x, y, isUnsigned).div;
}

Value emitIntMod(OpBuilder &builder, Location loc, Value x, Value y,
                 bool isUnsigned) {
  return emitDivMod(builder, loc, x, y, isUnsigned).mod;
}

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

std::array<Value, 4> emitPhilox(OpBuilder &builder, Location loc, Value key,
                                std::array<Value, 4> counter) {
  MlirBuilder b(builder, loc, key.getType());
  auto words = philoxKernel(
      b, key, Words<Value>{{counter[0], counter[1], counter[2], counter[3]}});
  return {words.word[0], words.word[1], words.word[2], words.word[3]};
}

Value emitUniform(OpBuilder &builder, Location loc, Value word) {
  MlirBuilder b(builder, loc, word.getType());
  return uniformKernel(b, word);
}

std::pair<Value, Value> emitNormalPair(OpBuilder &builder, Location loc,
                                       Value radiusWord, Value angleWord) {
  MlirBuilder b(builder, loc, radiusWord.getType());
  auto pair = normalKernel(b, radiusWord, angleWord);
  return {pair.first, pair.second};
}

Value emitUniformAt(OpBuilder &builder, Location loc, Value seed, Value index,
                    Value iteration, Value step, Value site) {
  MlirBuilder b(builder, loc, seed.getType());
  return uniformAtKernel(b, seed, index, iteration, step, site);
}

Value emitNormalAt(OpBuilder &builder, Location loc, Value seed, Value index,
                   Value iteration, Value step, Value site) {
  MlirBuilder b(builder, loc, seed.getType());
  return normalAtKernel(b, seed, index, iteration, step, site);
}

} // namespace tdsl::scalarmath
