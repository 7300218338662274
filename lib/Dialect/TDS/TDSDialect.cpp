//===- TDSDialect.cpp - registration and attribute checks of the tds dialect -*-
// C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Dialect/TDS/TDSDialect.h"
#include "tdsl/Dialect/TDS/CheckAttribute.h"
#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FoldInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/InliningUtils.h"

using namespace mlir;
using namespace tdsl::tds;

#include "tdsl/Dialect/TDS/TDSDialect.cpp.inc"
#include "tdsl/Dialect/TDS/TDSEnums.cpp.inc"
#include "tdsl/Dialect/TDS/TDSInterfaces.cpp.inc"

namespace {
/// Every operation of the dialect is pure, so calls may be inlined anywhere.
struct TDSInlinerInterface : public DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final {
    return true;
  }
};

/// Constants of a body stay in it: outside of bodies there are no scalars.
struct TDSFoldInterface : public DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;
  bool shouldMaterializeInto(Region *region) const final {
    return isa<GenericOp, ScatterOp, AttentionOp, AttentionGradOp>(
        region->getParentOp());
  }
};
} // namespace

void TDSDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "tdsl/Dialect/TDS/TDSOps.cpp.inc"
      >();
  addInterfaces<TDSInlinerInterface, TDSFoldInterface>();
}

Operation *TDSDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                           Type type, Location loc) {
  auto typed = dyn_cast<TypedAttr>(value);
  if (!typed || typed.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, typed);
}

/// The flags of an entry: a text and a place in the source for each element of
/// its last result.
static LogicalResult verifyFlags(func::FuncOp function, Attribute value) {
  auto flags = dyn_cast<ArrayAttr>(value);
  bool isList = flags && llvm::all_of(flags, [](Attribute flag) {
                  auto entry = dyn_cast<DictionaryAttr>(flag);
                  return entry && entry.getAs<StringAttr>("text") &&
                         entry.getAs<StringAttr>("source");
                });
  if (!isList)
    return function.emitOpError(
        "attribute 'tds.flags' must be a list of {text, source}");
  unsigned last = function.getNumResults() - 1;
  auto name =
      function.getNumResults()
          ? function.getResultAttrOfType<StringAttr>(last, attr::kResult)
          : StringAttr();
  auto type = function.getNumResults()
                  ? dyn_cast<RankedTensorType>(function.getResultTypes()[last])
                  : RankedTensorType();
  int64_t count = flags.size();
  if (!name || name != attr::kFlags || !type ||
      type.getShape() != ArrayRef(count) ||
      !type.getElementType().isInteger(32))
    return function.emitOpError("has ")
           << count
           << " flags, expected a last result 'tds.flags' of type tensor<"
           << count << "xi32>";
  return success();
}

/// Checks what an argument or a result of type `type` says of its variable.
static LogicalResult verifyVariable(Operation *op, FlatSymbolRefAttr symbol,
                                    VariableOp variable, Type type,
                                    StringRef what) {
  if (!variable)
    return op->emitOpError() << "'tds.variable' names " << symbol
                             << ", which is not a tds.variable";
  if (variable.getType() != type)
    return op->emitOpError()
           << what << " has type " << type << ", its variable " << symbol
           << " has type " << variable.getType();
  return success();
}

/// Checks the variables of an entry. There may be thousands: each is looked up
/// in a table, not by a walk through the module.
static LogicalResult verifyVariables(FunctionOpInterface function) {
  llvm::DenseMap<StringAttr, VariableOp> variables;
  if (auto module = function->getParentOfType<ModuleOp>())
    for (auto variable : module.getOps<VariableOp>())
      variables.try_emplace(variable.getSymNameAttr(), variable);
  auto checkEach = [&](TypeRange types, auto getAttr,
                       StringRef what) -> LogicalResult {
    for (auto [i, type] : llvm::enumerate(types))
      if (auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(getAttr(i)))
        if (failed(verifyVariable(function, symbol,
                                  variables.lookup(symbol.getAttr()), type,
                                  what)))
          return failure();
    return success();
  };
  if (failed(checkEach(
          function.getArgumentTypes(),
          [&](unsigned i) { return function.getArgAttr(i, attr::kVariable); },
          "argument")))
    return failure();
  return checkEach(
      function.getResultTypes(),
      [&](unsigned i) { return function.getResultAttr(i, attr::kVariable); },
      "result");
}

LogicalResult TDSDialect::verifyOperationAttribute(Operation *op,
                                                   NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name != attr::kEntry && name != attr::kVjp && name != attr::kFlags)
    return success();
  auto function = dyn_cast<func::FuncOp>(op);
  if (!function)
    return op->emitOpError()
           << "attribute '" << name << "' belongs on a func.func";
  if (name == attr::kVjp) {
    if (!isa<FlatSymbolRefAttr>(attribute.getValue()))
      return op->emitOpError() << "attribute 'tds.vjp' must name a function";
    return success();
  }
  if (name == attr::kFlags)
    return verifyFlags(function, attribute.getValue());
  auto kind = dyn_cast<StringAttr>(attribute.getValue());
  if (!kind || (kind != "step" && kind != "function" && kind != "init"))
    return op->emitOpError() << "attribute 'tds.entry' must be \"step\", "
                                "\"function\" or \"init\"";
  auto checkEach = [&](unsigned count, auto getAttr, StringRef what,
                       StringRef nameAttr) -> LogicalResult {
    for (unsigned i = 0; i < count; ++i)
      if (!getAttr(i, attr::kVariable) && !getAttr(i, nameAttr) &&
          !getAttr(i, attr::kCheck) && !getAttr(i, attr::kSkipped))
        return op->emitOpError() << what << " " << i << " of an entry needs '"
                                 << nameAttr << "' or 'tds.variable'";
    return success();
  };
  if (failed(checkEach(
          function.getNumArguments(),
          [&](unsigned i, StringRef n) { return function.getArgAttr(i, n); },
          "argument", attr::kInput)))
    return failure();
  if (failed(checkEach(
          function.getNumResults(),
          [&](unsigned i, StringRef n) { return function.getResultAttr(i, n); },
          "result", attr::kResult)))
    return failure();
  return verifyVariables(function);
}

/// Checks an attribute of an argument or a result of type `type`.
static LogicalResult verifyBoundaryAttribute(Operation *op,
                                             NamedAttribute attribute,
                                             Type type, StringRef what) {
  StringRef name = attribute.getName();
  if (name == attr::kVariable) {
    auto symbol = dyn_cast<FlatSymbolRefAttr>(attribute.getValue());
    if (!symbol)
      return op->emitOpError()
             << "attribute 'tds.variable' must name a tds.variable";
    // Those of an entry are looked up together (verifyVariables).
    if (op->hasAttr(attr::kEntry))
      return success();
    return verifyVariable(
        op, symbol,
        SymbolTable::lookupNearestSymbolFrom<VariableOp>(op, symbol), type,
        what);
  }
  if (name == attr::kInput || name == attr::kResult || name == attr::kRole) {
    if (!isa<StringAttr>(attribute.getValue()))
      return op->emitOpError() << "attribute '" << name << "' must be a string";
    return success();
  }
  if (name == attr::kDefault || name == attr::kDataAxis)
    return success();
  if (name == attr::kCheck) {
    auto check = dyn_cast<DictionaryAttr>(attribute.getValue());
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (what != "result" || !check || !check.getAs<StringAttr>("text") ||
        !check.getAs<StringAttr>("source") || !tensor ||
        tensor.getRank() != 0 || !tensor.getElementType().isInteger(1))
      return op->emitOpError() << "attribute 'tds.check' must be {text, "
                                  "source} of a result tensor<i1>";
    return success();
  }
  if (name == attr::kSkipped) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (what != "result" || !tensor || tensor.getRank() != 0 ||
        !tensor.getElementType().isInteger(1))
      return op->emitOpError()
             << "attribute 'tds.skipped' belongs on a result tensor<i1>";
    return success();
  }
  return op->emitOpError() << "unknown attribute '" << name << "'";
}

LogicalResult TDSDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                   unsigned argument,
                                                   NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitOpError() << "attribute '" << attribute.getName()
                             << "' belongs on an argument of a function";
  return verifyBoundaryAttribute(
      op, attribute, function.getArgumentTypes()[argument], "argument");
}

LogicalResult TDSDialect::verifyRegionResultAttribute(
    Operation *op, unsigned, unsigned result, NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitOpError() << "attribute '" << attribute.getName()
                             << "' belongs on a result of a function";
  return verifyBoundaryAttribute(op, attribute,
                                 function.getResultTypes()[result], "result");
}
