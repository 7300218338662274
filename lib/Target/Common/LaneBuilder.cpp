//===- LaneBuilder.cpp - code for some consecutive points at once -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tdsl/Target/Common/LaneBuilder.h"

#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/AffineExpr.h"

#include <numeric>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::target;

Buffer Buffer::dense(Value pointer, RankedTensorType type) {
  return {pointer, type.getElementType(), SmallVector<int64_t>(type.getShape()),
          denseStrides(type.getShape())};
}

SmallVector<int64_t> target::denseStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

Type target::getRegisterType(Type element) {
  MLIRContext *context = element.getContext();
  if (element.isF16() || element.isBF16())
    return Float32Type::get(context);
  if (element.isIndex())
    return IntegerType::get(context, 64);
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(context, integer.getWidth());
  return element;
}

Type target::getMemoryType(Type element) {
  MLIRContext *context = element.getContext();
  if (element.isInteger(1))
    return IntegerType::get(context, 8);
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(context, integer.getWidth());
  return element;
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value LaneBuilder::i64(int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI64IntegerAttr(value));
}
Value LaneBuilder::i32(int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI32IntegerAttr(value));
}
Value LaneBuilder::add(Value x, Value y) {
  return builder.createOrFold<arith::AddIOp>(loc, x, y);
}
Value LaneBuilder::sub(Value x, Value y) {
  return builder.createOrFold<arith::SubIOp>(loc, x, y);
}
Value LaneBuilder::mul(Value x, Value y) {
  return builder.createOrFold<arith::MulIOp>(loc, x, y);
}
Value LaneBuilder::minS(Value x, Value y) {
  return builder.createOrFold<arith::MinSIOp>(loc, x, y);
}
Value LaneBuilder::divU(Value x, int64_t divisor) {
  if (divisor == 1)
    return x;
  return builder.createOrFold<arith::DivUIOp>(loc, x, i64(divisor));
}
Value LaneBuilder::remU(Value x, int64_t divisor) {
  if (divisor == 1)
    return i64(0);
  return builder.createOrFold<arith::RemUIOp>(loc, x, i64(divisor));
}

SmallVector<Value> LaneBuilder::delinearize(Value linear,
                                            ArrayRef<int64_t> extents) {
  SmallVector<Value> indices(extents.size());
  for (size_t i = extents.size(); i-- > 0;) {
    int64_t extent = std::max<int64_t>(extents[i], 1);
    // The first index needs no remainder: `linear` is in range.
    indices[i] = i == 0 ? linear : remU(linear, extent);
    linear = divU(linear, extent);
  }
  return indices;
}

Value LaneBuilder::address(Value pointer, Type element, Value offset) {
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), element, pointer,
                             ArrayRef<LLVM::GEPArg>{offset});
}

SmallVector<Value> LaneBuilder::loop(Value low, Value high, int64_t step,
                                     ValueRange carried, LoopBody body) {
  auto op = scf::ForOp::create(
      builder, loc, low, high, i64(step), carried,
      [&](OpBuilder &, Location, Value index, ValueRange values) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToEnd(index.getParentBlock());
        SmallVector<Value> next = body(index, values);
        scf::YieldOp::create(builder, loc, next);
      });
  return SmallVector<Value>(op.getResults());
}

void LaneBuilder::loop(Value low, Value high, int64_t step,
                       function_ref<void(Value)> body) {
  loop(low, high, step, ValueRange{}, [&](Value index, ValueRange) {
    body(index);
    return SmallVector<Value>{};
  });
}

void LaneBuilder::ifThen(Value condition, function_ref<void()> body) {
  auto op = scf::IfOp::create(builder, loc, condition,
                              /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(op.thenBlock());
  body();
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

Value LaneBuilder::splat(Value value) {
  if (width == 1 || isa<VectorType>(value.getType()))
    return value;
  auto type = VectorType::get({width}, value.getType());
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    return arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(type, constant.getValue()));
  Value undefined = LLVM::PoisonOp::create(builder, loc, type);
  Value first = LLVM::InsertElementOp::create(builder, loc, type, undefined,
                                              value, i32(0));
  SmallVector<int32_t> zeros(width, 0);
  return LLVM::ShuffleVectorOp::create(builder, loc, first, undefined, zeros);
}

Value LaneBuilder::constant(Type registerType, TypedAttr value) {
  TypedAttr attr;
  if (auto real = dyn_cast<FloatAttr>(value)) {
    bool lost;
    llvm::APFloat number = real.getValue();
    number.convert(cast<FloatType>(registerType).getFloatSemantics(),
                   llvm::APFloat::rmNearestTiesToEven, &lost);
    attr = FloatAttr::get(registerType, number);
  } else {
    attr = IntegerAttr::get(registerType, cast<IntegerAttr>(value).getValue());
  }
  return arith::ConstantOp::create(builder, loc, attr);
}

void LaneBuilder::unify(MutableArrayRef<Value> values) {
  if (llvm::none_of(values,
                    [](Value v) { return isa<VectorType>(v.getType()); }))
    return;
  for (Value &value : values)
    value = splat(value);
}

Value LaneBuilder::iota(unsigned bits) {
  auto type = VectorType::get({width}, builder.getIntegerType(bits));
  SmallVector<APInt> numbers;
  for (unsigned i = 0; i < width; ++i)
    numbers.push_back(APInt(bits, i));
  return arith::ConstantOp::create(builder, loc,
                                   DenseElementsAttr::get(type, numbers));
}

Value LaneBuilder::maskBelow(Value count) {
  Value narrow =
      builder.createOrFold<arith::TruncIOp>(loc, builder.getI32Type(), count);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                               iota(32), splat(narrow));
}

Value LaneBuilder::half(Value vector, bool second) {
  auto type = cast<VectorType>(vector.getType());
  unsigned lanes = type.getNumElements() / 2;
  if (lanes == 1)
    return extract(vector, second ? 1 : 0);
  SmallVector<int32_t> chosen;
  for (unsigned i = 0; i < lanes; ++i)
    chosen.push_back(i + (second ? lanes : 0));
  return LLVM::ShuffleVectorOp::create(builder, loc, vector, vector, chosen);
}

Value LaneBuilder::extract(Value vector, unsigned lane) {
  return LLVM::ExtractElementOp::create(builder, loc, vector, i32(lane));
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

LaneIndex LaneBuilder::constantIndex(int64_t value) {
  return {i64(value), 0, std::abs(value), {}};
}
LaneIndex LaneBuilder::index(Value base, int64_t multiple) {
  return {base, 0, multiple, {}};
}
LaneIndex LaneBuilder::consecutive(Value base, int64_t multiple) {
  return {base, width == 1 ? 0 : 1, multiple, {}};
}

LaneIndex LaneBuilder::addIndex(const LaneIndex &x, const LaneIndex &y) {
  if (x.lanes || y.lanes) {
    Value sum = arith::AddIOp::create(builder, loc, splat(materialize(x)),
                                      splat(materialize(y)));
    return {{}, 0, 1, sum};
  }
  return {add(x.base, y.base),
          x.step + y.step,
          std::gcd(x.multiple, y.multiple),
          {}};
}

LaneIndex LaneBuilder::scaleIndex(const LaneIndex &x, int64_t factor) {
  if (factor == 0)
    return constantIndex(0);
  if (factor == 1)
    return x;
  if (x.lanes)
    return {{},
            0,
            1,
            arith::MulIOp::create(builder, loc, x.lanes, splat(i64(factor)))};
  return {mul(x.base, i64(factor)),
          x.step * factor,
          x.multiple * std::abs(factor),
          {}};
}

LaneIndex LaneBuilder::evaluate(AffineExpr expr, ArrayRef<LaneIndex> dims) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constantIndex(constant.getValue());
  auto binary = cast<AffineBinaryOpExpr>(expr);
  AffineExpr left = binary.getLHS(), right = binary.getRHS();
  if (expr.getKind() == AffineExprKind::Add)
    return addIndex(evaluate(left, dims), evaluate(right, dims));
  if (expr.getKind() == AffineExprKind::Mul) {
    if (isa<AffineConstantExpr>(left))
      std::swap(left, right);
    if (auto factor = dyn_cast<AffineConstantExpr>(right))
      return scaleIndex(evaluate(left, dims), factor.getValue());
    Value x = materialize(evaluate(left, dims));
    Value y = materialize(evaluate(right, dims));
    Value pair[] = {x, y};
    unify(pair);
    return fromValue(arith::MulIOp::create(builder, loc, pair[0], pair[1]));
  }
  // Division by a positive constant, towards minus or plus infinity.
  Value pair[] = {materialize(evaluate(left, dims)),
                  materialize(evaluate(right, dims))};
  unify(pair);
  if (expr.getKind() == AffineExprKind::CeilDiv)
    return fromValue(
        arith::CeilDivSIOp::create(builder, loc, pair[0], pair[1]));
  // floor(x / d) = (x - (x < 0 ? d - 1 : 0)) / d, with a truncating division.
  Value zero = i64(0), one = i64(1);
  Value triple[] = {pair[0], zero, one};
  unify(triple);
  Value negative = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::slt, pair[0], triple[1]);
  Value less = arith::SubIOp::create(builder, loc, pair[1], triple[2]);
  Value shift =
      arith::SelectOp::create(builder, loc, negative, less, triple[1]);
  Value shifted = arith::SubIOp::create(builder, loc, pair[0], shift);
  Value quotient = arith::DivSIOp::create(builder, loc, shifted, pair[1]);
  if (expr.getKind() == AffineExprKind::FloorDiv)
    return fromValue(quotient);
  Value whole = arith::MulIOp::create(builder, loc, quotient, pair[1]);
  return fromValue(arith::SubIOp::create(builder, loc, pair[0], whole));
}

Value LaneBuilder::materialize(const LaneIndex &x) {
  if (x.lanes)
    return x.lanes;
  if (x.step == 0)
    return x.base;
  Value steps = iota(64);
  if (x.step != 1)
    steps = arith::MulIOp::create(builder, loc, steps, splat(i64(x.step)));
  return arith::AddIOp::create(builder, loc, splat(x.base), steps);
}

LaneIndex LaneBuilder::fromValue(Value value) {
  if (isa<VectorType>(value.getType()))
    return {{}, 0, 1, value};
  return {value, 0, 1, {}};
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

LaneIndex LaneBuilder::offsetOf(const Buffer &buffer,
                                ArrayRef<LaneIndex> indices) {
  LaneIndex offset = constantIndex(0);
  for (auto [index, stride] : llvm::zip_equal(indices, buffer.strides))
    offset = addIndex(offset, scaleIndex(index, stride));
  return offset;
}

unsigned LaneBuilder::alignmentOf(const Buffer &buffer, const LaneIndex &offset,
                                  unsigned bytes) {
  unsigned start =
      buffer.alignment ? buffer.alignment : options.bufferAlignment;
  // No more than the access itself: LLVM would take it as a licence to read
  // further, up to that alignment, also behind the end of the buffer.
  unsigned alignment =
      std::min({start, options.accessAlignment, unsigned(width) * bytes});
  if (offset.multiple == 0)
    return std::max(alignment, bytes);
  // The largest power of two that divides the byte offset.
  uint64_t multiple = uint64_t(offset.multiple) * bytes;
  uint64_t power = multiple & (~multiple + 1);
  return std::max<uint64_t>(std::min<uint64_t>(alignment, power), bytes);
}

bool LaneBuilder::canMask(Type memoryType) {
  return options.maskedBits &&
         memoryType.getIntOrFloatBitWidth() >= options.maskedBits;
}

Value LaneBuilder::maskedLoad(VectorType type, Value from, Value active,
                              unsigned bytes) {
  int64_t lanes = type.getNumElements();
  if (!options.avx2Masks || lanes * bytes < 16) {
    Value zero = arith::ConstantOp::create(
        builder, loc, cast<TypedAttr>(builder.getZeroAttr(type)));
    return LLVM::MaskedLoadOp::create(builder, loc, type, from, active, zero,
                                      builder.getI32IntegerAttr(bytes),
                                      UnitAttr());
  }
  auto range = [](int64_t low, int64_t count) {
    return llvm::to_vector(llvm::map_range(
        llvm::seq(low, low + count), [](int64_t i) -> int32_t { return i; }));
  };
  Type element = type.getElementType();
  if (lanes * bytes > 32) {
    int64_t half = lanes / 2;
    auto halfType = VectorType::get({half}, element);
    auto part = [&](int64_t low) {
      Value mask = LLVM::ShuffleVectorOp::create(builder, loc, active, active,
                                                 range(low, half));
      return maskedLoad(halfType, address(from, element, i64(low)), mask,
                        bytes);
    };
    Value low = part(0), high = part(half);
    return LLVM::ShuffleVectorOp::create(builder, loc, low, high,
                                         range(0, lanes));
  }
  bool isFloat = isa<FloatType>(element);
  std::string name =
      isFloat ? "llvm.x86.avx.maskload.p" : "llvm.x86.avx2.maskload.";
  name += isFloat ? (bytes == 4 ? "s" : "d") : (bytes == 4 ? "d" : "q");
  if (lanes * bytes == 32)
    name += ".256";
  Value mask = arith::ExtSIOp::create(
      builder, loc, VectorType::get({lanes}, builder.getIntegerType(bytes * 8)),
      active);
  return LLVM::CallIntrinsicOp::create(
             builder, loc, type, builder.getStringAttr(name), {from, mask})
      .getResult(0);
}

Value LaneBuilder::fromMemory(Value value, Type element) {
  if (element.isInteger(1)) {
    Value zero = constant(builder.getI8Type(), builder.getI8IntegerAttr(0));
    if (isa<VectorType>(value.getType()))
      zero = splat(zero);
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value,
                                 zero);
  }
  if (element.isF16() || element.isBF16())
    return scalarmath::emitFloatCast(builder, loc, value, builder.getF32Type(),
                                     options.math);
  return value;
}

Value LaneBuilder::toMemory(Value value, Type element) {
  if (element.isInteger(1)) {
    Type type = builder.getI8Type();
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      type = vector.clone(type);
    return arith::ExtUIOp::create(builder, loc, type, value);
  }
  if (element.isF16() || element.isBF16())
    return scalarmath::emitFloatCast(builder, loc, value, element,
                                     options.math);
  return value;
}

/// 16-bit floats travel as integers: LLVM would take vectors of them apart with
/// conversions.
static Type getAccessType(Type element) {
  if (element.isF16() || element.isBF16())
    return IntegerType::get(element.getContext(), 16);
  return getMemoryType(element);
}

/// `value` with elements of `type`, which has as many bits.
static Value bitcast(OpBuilder &builder, Location loc, Value value, Type type) {
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = vector.clone(type);
  if (value.getType() == type)
    return value;
  return arith::BitcastOp::create(builder, loc, type, value);
}

/// Loads lane by lane; lanes that are not active read element 0.
Value LaneBuilder::loadLanes(const Buffer &buffer, const LaneIndex &offset,
                             Value active) {
  Type type = getAccessType(buffer.element);
  LaneIndex safe = offset;
  if (active) {
    Value zero = splat(i64(0));
    safe = fromValue(arith::SelectOp::create(builder, loc, splat(active),
                                             splat(materialize(offset)), zero));
  }
  Value result =
      LLVM::PoisonOp::create(builder, loc, VectorType::get({width}, type));
  for (unsigned lane = 0; lane < width; ++lane) {
    Value at = safe.lanes ? extract(safe.lanes, lane)
                          : add(safe.base, i64(safe.step * lane));
    auto element = LLVM::LoadOp::create(builder, loc, type,
                                        address(buffer.pointer, type, at));
    element.setInvariant(buffer.isInvariant);
    result = LLVM::InsertElementOp::create(builder, loc, result.getType(),
                                           result, element, i32(lane));
  }
  return result;
}

Value LaneBuilder::load(const Buffer &buffer, ArrayRef<LaneIndex> given,
                        Value guard, bool clamped) {
  Type registerType = getRegisterType(buffer.element);
  if (llvm::is_contained(buffer.shape, 0)) {
    if (guard)
      return guard;
    return constant(registerType,
                    cast<TypedAttr>(builder.getZeroAttr(registerType)));
  }
  SmallVector<LaneIndex> indices(given);
  Value inside;
  for (auto [i, index] : llvm::enumerate(indices)) {
    if (!guard && !clamped)
      break;
    Value pair[] = {materialize(index), i64(buffer.shape[i])};
    unify(pair);
    if (clamped) {
      Value last = i64(buffer.shape[i] - 1), first = i64(0);
      Value triple[] = {pair[0], last, first};
      unify(triple);
      Value below = arith::MinSIOp::create(builder, loc, triple[0], triple[1]);
      index = fromValue(arith::MaxSIOp::create(builder, loc, below, triple[2]));
      continue;
    }
    // One unsigned comparison: a negative index is a large number.
    Value within = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ult, pair[0], pair[1]);
    if (inside) {
      Value both[] = {inside, within};
      unify(both);
      within = arith::AndIOp::create(builder, loc, both[0], both[1]);
    }
    inside = within;
  }

  LaneIndex offset = offsetOf(buffer, indices);
  Type type = getAccessType(buffer.element);
  unsigned bytes = tds::getElementBytes(buffer.element);
  Value value;
  if (offset.isUniform() && (!inside || !isa<VectorType>(inside.getType()))) {
    Value at = offset.base;
    if (inside)
      at = arith::SelectOp::create(builder, loc, inside, at, i64(0));
    auto element = LLVM::LoadOp::create(builder, loc, type,
                                        address(buffer.pointer, type, at));
    element.setInvariant(buffer.isInvariant);
    value = element;
  } else {
    Value active = mask;
    if (inside)
      active = active
                   ? arith::AndIOp::create(builder, loc, active, splat(inside))
                         .getResult()
                   : splat(inside);
    auto vector = VectorType::get({width}, type);
    if (offset.lanes || offset.step != 1 || (active && !canMask(type))) {
      value = loadLanes(buffer, offset, active);
    } else {
      Value from = address(buffer.pointer, type, offset.base);
      unsigned alignment = alignmentOf(buffer, offset, bytes);
      if (active) {
        value = maskedLoad(vector, from, active, bytes);
      } else {
        auto whole =
            LLVM::LoadOp::create(builder, loc, vector, from, alignment);
        whole.setInvariant(buffer.isInvariant);
        value = whole;
      }
    }
  }
  value = bitcast(builder, loc, value, getMemoryType(buffer.element));
  value = fromMemory(value, buffer.element);
  if (!guard)
    return value;
  Value choice[] = {inside, value, guard};
  // A rank-0 tensor has no index that could be out of range.
  if (!inside)
    return value;
  unify(choice);
  return arith::SelectOp::create(builder, loc, choice[0], choice[1], choice[2]);
}

void LaneBuilder::store(const Buffer &buffer, ArrayRef<LaneIndex> indices,
                        Value value) {
  LaneIndex offset = offsetOf(buffer, indices);
  Type type = getAccessType(buffer.element);
  unsigned bytes = tds::getElementBytes(buffer.element);
  if (offset.isUniform()) {
    value = bitcast(builder, loc, toMemory(value, buffer.element), type);
    LLVM::StoreOp::create(builder, loc, value,
                          address(buffer.pointer, type, offset.base));
    return;
  }
  value = toMemory(splat(value), buffer.element);
  value = bitcast(builder, loc, value, type);
  // LLVM 22 writes 32 bits for a masked store of one narrow lane that was
  // truncated, where the mask is constant.
  bool isSingle = mask && count == 1;
  if (!offset.lanes && offset.step == 1 && !isSingle &&
      (!mask || canMask(type))) {
    Value to = address(buffer.pointer, type, offset.base);
    if (mask)
      LLVM::MaskedStoreOp::create(builder, loc, value, to, mask, bytes);
    else
      LLVM::StoreOp::create(builder, loc, value, to,
                            alignmentOf(buffer, offset, bytes));
    return;
  }
  for (unsigned lane = 0; lane < (isSingle ? 1 : width); ++lane) {
    auto put = [&]() {
      Value at = offset.lanes ? extract(offset.lanes, lane)
                              : add(offset.base, i64(offset.step * lane));
      LLVM::StoreOp::create(builder, loc, extract(value, lane),
                            address(buffer.pointer, type, at));
    };
    if (mask && !isSingle)
      ifThen(extract(mask, lane), put);
    else
      put();
  }
}
