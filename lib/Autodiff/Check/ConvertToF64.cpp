//===- ConvertToF64.cpp - programs with every float type f64 -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConvertToF64.h"

#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

static Type convertType(Type type) {
  if (isa<FloatType>(type))
    return Float64Type::get(type.getContext());
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.clone(convertType(tensor.getElementType()));
  return type;
}

static SmallVector<Type> convertTypes(TypeRange types) {
  return llvm::map_to_vector(types, convertType);
}

static APFloat widen(APFloat value) {
  bool losesInfo = false;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value;
}

static Attribute convertAttribute(Attribute attribute) {
  Type f64 = Float64Type::get(attribute.getContext());
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return FloatAttr::get(f64, widen(number.getValue()));
  if (auto elements = dyn_cast<DenseFPElementsAttr>(attribute))
    return elements.mapValues(f64, [](const APFloat &value) {
      return widen(value).bitcastToAPInt();
    });
  if (auto type = dyn_cast<TypeAttr>(attribute))
    return TypeAttr::get(convertType(type.getValue()));
  return attribute;
}

static void convertOperation(Operation *op) {
  if (auto random = dyn_cast<RandomOp>(op)) {
    // Random numbers stay the f32 numbers that they are.
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    auto cast = CastOp::create(builder, op->getLoc(), builder.getF64Type(),
                               random.getResult());
    random.getResult().replaceAllUsesExcept(cast, cast);
    return;
  }
  if (isa<ConstantOp, ReadOp, VariableOp>(op)) {
    SmallVector<NamedAttribute> attributes;
    for (NamedAttribute attribute : op->getAttrs())
      attributes.emplace_back(attribute.getName(),
                              convertAttribute(attribute.getValue()));
    op->setAttrs(attributes);
  }
  for (Value result : op->getResults())
    result.setType(convertType(result.getType()));
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Value argument : block.getArguments())
        argument.setType(convertType(argument.getType()));
  if (auto function = dyn_cast<func::FuncOp>(op)) {
    FunctionType type = function.getFunctionType();
    function.setFunctionType(
        FunctionType::get(op->getContext(), convertTypes(type.getInputs()),
                          convertTypes(type.getResults())));
  }
}

void autodiff::convertToF64(ModuleOp module) {
  SmallVector<Operation *> operations;
  module.walk([&](Operation *op) { operations.push_back(op); });
  for (Operation *op : operations)
    convertOperation(op);
}
