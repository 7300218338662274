//===- MlirBuilder.h - kernels emitted as IR -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The builder of Detail/Common.h that emits `arith` ops and LLVM intrinsics.
// Most emitters want the ready functions of Emit.h instead; this class is for a
// kernel of their own that must match the host bit by bit.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_SCALARMATH_MLIRBUILDER_H
#define TDSL_SCALARMATH_MLIRBUILDER_H

#include "tdsl/ScalarMath/Detail/Common.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

#include "llvm/ADT/DenseMap.h"

#include <type_traits>

namespace tdsl::scalarmath {

/// Emits at the insertion point of `builder`. `shape` gives the form of every
/// value: a scalar or a 1-D vector, of any element type. Constants are kept and
/// used again while the insertion block stays the same, so an object must not
/// outlive one straight piece of emission.
class MlirBuilder {
public:
  using Value = mlir::Value;

  MlirBuilder(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type shape)
      : builder(builder), loc(loc),
        vector(llvm::dyn_cast<mlir::VectorType>(shape)) {}

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() const { return loc; }
  /// `element`, or a vector of it as long as the shape.
  mlir::Type typeOf(mlir::Type element) {
    return vector ? mlir::Type(vector.clone(element)) : element;
  }

  template <class T> Value constant(T value) {
    if constexpr (std::is_floating_point_v<T>)
      return attribute(builder.getFloatAttr(
          sizeof(T) == 4 ? mlir::Type(builder.getF32Type())
                         : mlir::Type(builder.getF64Type()),
          llvm::APFloat(value)));
    else
      return attribute(
          builder.getIntegerAttr(builder.getIntegerType(sizeof(T) * 8),
                                 llvm::APInt(sizeof(T) * 8, uint64_t(value))));
  }

  Value add(Value x, Value y) { return make<mlir::arith::AddFOp>(x, y); }
  Value sub(Value x, Value y) { return make<mlir::arith::SubFOp>(x, y); }
  Value mul(Value x, Value y) { return make<mlir::arith::MulFOp>(x, y); }
  Value div(Value x, Value y) { return make<mlir::arith::DivFOp>(x, y); }
  Value neg(Value x) { return make<mlir::arith::NegFOp>(x); }
  Value fma(Value x, Value y, Value z) {
    return typed<mlir::LLVM::FMAOp>(x.getType(), x, y, z);
  }
  Value sqrt(Value x) { return typed<mlir::LLVM::SqrtOp>(x.getType(), x); }
  Value abs(Value x) { return typed<mlir::LLVM::FAbsOp>(x.getType(), x); }
  Value floor(Value x) { return typed<mlir::LLVM::FFloorOp>(x.getType(), x); }
  Value ceil(Value x) { return typed<mlir::LLVM::FCeilOp>(x.getType(), x); }
  Value roundEven(Value x) {
    return typed<mlir::LLVM::RoundEvenOp>(x.getType(), x);
  }

  Value lt(Value x, Value y) { return compare(FP::OLT, x, y); }
  Value le(Value x, Value y) { return compare(FP::OLE, x, y); }
  Value gt(Value x, Value y) { return compare(FP::OGT, x, y); }
  Value ge(Value x, Value y) { return compare(FP::OGE, x, y); }
  Value eq(Value x, Value y) { return compare(FP::OEQ, x, y); }
  Value band(Value x, Value y) { return make<mlir::arith::AndIOp>(x, y); }
  Value bor(Value x, Value y) { return make<mlir::arith::OrIOp>(x, y); }
  Value bxor(Value x, Value y) { return make<mlir::arith::XOrIOp>(x, y); }
  Value bnot(Value x) {
    return bxor(x, attribute(builder.getIntegerAttr(builder.getI1Type(), 1)));
  }
  Value select(Value c, Value x, Value y) {
    return x == y ? x : make<mlir::arith::SelectOp>(c, x, y);
  }

  Value bitsOf(Value x) {
    return typed<mlir::arith::BitcastOp>(
        typeOf(builder.getIntegerType(widthOf(x))), x);
  }
  Value floatOf(Value x) {
    return typed<mlir::arith::BitcastOp>(typeOf(floatType(widthOf(x))), x);
  }

  Value iadd(Value x, Value y) { return make<mlir::arith::AddIOp>(x, y); }
  Value isub(Value x, Value y) { return make<mlir::arith::SubIOp>(x, y); }
  Value imul(Value x, Value y) { return make<mlir::arith::MulIOp>(x, y); }
  Value iand(Value x, Value y) { return make<mlir::arith::AndIOp>(x, y); }
  Value ior(Value x, Value y) { return make<mlir::arith::OrIOp>(x, y); }
  Value ixor(Value x, Value y) { return make<mlir::arith::XOrIOp>(x, y); }
  Value shl(Value x, Value n) { return make<mlir::arith::ShLIOp>(x, n); }
  Value shr(Value x, Value n) { return make<mlir::arith::ShRUIOp>(x, n); }
  Value sar(Value x, Value n) { return make<mlir::arith::ShRSIOp>(x, n); }
  Value sdiv(Value x, Value y) { return make<mlir::arith::DivSIOp>(x, y); }
  Value udiv(Value x, Value y) { return make<mlir::arith::DivUIOp>(x, y); }
  Value ieq(Value x, Value y) { return compare(Int::eq, x, y); }
  Value ult(Value x, Value y) { return compare(Int::ult, x, y); }
  Value slt(Value x, Value y) { return compare(Int::slt, x, y); }

  Value mulWide(Value x, Value y) { return imul(zext64(x), zext64(y)); }
  Value mulHigh(Value x, Value y) {
    return mlir::arith::MulUIExtendedOp::create(builder, loc, x, y).getHigh();
  }
  Value zext64(Value x) {
    return typed<mlir::arith::ExtUIOp>(typeOf(builder.getI64Type()), x);
  }
  Value sext64(Value x) {
    return typed<mlir::arith::ExtSIOp>(typeOf(builder.getI64Type()), x);
  }
  Value trunc32(Value x) {
    return typed<mlir::arith::TruncIOp>(typeOf(builder.getI32Type()), x);
  }
  Value widen(Value x) {
    return typed<mlir::arith::ExtFOp>(typeOf(builder.getF64Type()), x);
  }
  Value narrow(Value x) {
    return typed<mlir::arith::TruncFOp>(typeOf(builder.getF32Type()), x);
  }
  template <class T> Value fromSigned(Value x) {
    return typed<mlir::arith::SIToFPOp>(typeOf(floatType(sizeof(T) * 8)), x);
  }
  template <class I> Value toSigned(Value x) {
    return typed<mlir::arith::FPToSIOp>(
        typeOf(builder.getIntegerType(sizeof(I) * 8)), x);
  }

  /// Steps a state of two values while the condition holds for any lane; lanes
  /// that are done must not be changed by further steps.
  template <class S, class Condition, class Step>
  S whileAny(S state, Condition condition, Step step) {
    mlir::Type types[] = {state.r.getType(), state.left.getType()};
    auto loop = mlir::scf::WhileOp::create(
        builder, loc, types, mlir::ValueRange{state.r, state.left},
        [&](mlir::OpBuilder &, mlir::Location, mlir::ValueRange args) {
          Value goOn = condition(S{args[0], args[1]});
          if (vector)
            goOn =
                typed<mlir::LLVM::vector_reduce_or>(builder.getI1Type(), goOn);
          mlir::scf::ConditionOp::create(builder, loc, goOn, args);
        },
        [&](mlir::OpBuilder &, mlir::Location, mlir::ValueRange args) {
          S next = step(S{args[0], args[1]});
          mlir::scf::YieldOp::create(builder, loc,
                                     mlir::ValueRange{next.r, next.left});
        });
    return {loop.getResult(0), loop.getResult(1)};
  }

private:
  using FP = mlir::arith::CmpFPredicate;
  using Int = mlir::arith::CmpIPredicate;

  template <class Op, class... Values> Value make(Values... values) {
    return Op::create(builder, loc, values...);
  }
  template <class Op, class... Values>
  Value typed(mlir::Type type, Values... values) {
    return Op::create(builder, loc, type, mlir::ValueRange{values...},
                      llvm::ArrayRef<mlir::NamedAttribute>{});
  }
  Value compare(FP predicate, Value x, Value y) {
    return mlir::arith::CmpFOp::create(builder, loc, predicate, x, y);
  }
  Value compare(Int predicate, Value x, Value y) {
    return mlir::arith::CmpIOp::create(builder, loc, predicate, x, y);
  }
  unsigned widthOf(Value x) const {
    return mlir::getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
  }
  mlir::Type floatType(unsigned width) {
    return width == 64   ? mlir::Type(builder.getF64Type())
           : width == 32 ? mlir::Type(builder.getF32Type())
                         : mlir::Type(builder.getF16Type());
  }
  Value attribute(mlir::TypedAttr element) {
    mlir::TypedAttr whole = element;
    if (vector)
      whole = mlir::cast<mlir::TypedAttr>(
          mlir::Attribute(mlir::DenseElementsAttr::get(
              vector.clone(element.getType()), mlir::Attribute(element))));
    Value &known = constants[{builder.getInsertionBlock(), whole}];
    if (!known)
      known = mlir::arith::ConstantOp::create(builder, loc, whole);
    return known;
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::VectorType vector;
  llvm::DenseMap<std::pair<mlir::Block *, mlir::Attribute>, Value> constants;
};

} // namespace tdsl::scalarmath

#endif // TDSL_SCALARMATH_MLIRBUILDER_H
