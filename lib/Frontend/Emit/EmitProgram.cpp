//===- EmitProgram.cpp - Variables, functions and whole tensors -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emitter.h"
#include "mlir/IR/Verifier.h"
#include "tdsl/Dialect/TDS/CheckAttribute.h"
#include "tdsl/Dialect/TDS/FoldAttributes.h"

using namespace tdsl;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using typed::Op;
namespace attr = tdsl::tds::attr;

//===----------------------------------------------------------------------===//
// Types, constants and places
//===----------------------------------------------------------------------===//

mlir::Type Emitter::getElement(typed::Elem elem) {
  switch (elem) {
  case typed::Elem::Bool:
    return builder.getI1Type();
  case typed::Elem::I8:
    return builder.getIntegerType(8);
  case typed::Elem::U8:
    return builder.getIntegerType(8, /*isSigned=*/false);
  case typed::Elem::I32:
    return builder.getI32Type();
  case typed::Elem::I64:
    return builder.getI64Type();
  case typed::Elem::F16:
    return builder.getF16Type();
  case typed::Elem::BF16:
    return builder.getBF16Type();
  case typed::Elem::F32:
    return builder.getF32Type();
  case typed::Elem::F64:
    return builder.getF64Type();
  case typed::Elem::Index:
    return builder.getIndexType();
  }
  return {};
}

mlir::Type Emitter::getType(const typed::Type &type, bool scalar) {
  mlir::Type element = getElement(type.elem);
  if (scalar)
    return element;
  SmallVector<int64_t, 4> shape;
  for (const typed::Axis &axis : type.axes)
    shape.push_back(axis.size);
  return mlir::RankedTensorType::get(shape, element);
}

/// The number as an attribute of its own element type.
mlir::Attribute Emitter::getNumber(const typed::Scalar &scalar) {
  mlir::Type element = getElement(scalar.elem);
  if (typed::isFloat(scalar.elem))
    return mlir::FloatAttr::get(element, scalar.real);
  return mlir::IntegerAttr::get(
      element, llvm::APInt(element.getIntOrFloatBitWidth(), scalar.integer,
                           /*isSigned=*/true, /*implicitTrunc=*/true));
}

/// A constant of `type`: a number, or a splat of it.
mlir::TypedAttr Emitter::getScalar(const typed::Scalar &scalar,
                                   mlir::Type type) {
  mlir::Attribute number = getNumber(scalar);
  if (auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type))
    return mlir::DenseElementsAttr::get(tensor, number);
  return llvm::cast<mlir::TypedAttr>(number);
}

mlir::Location Emitter::getLoc(SourceRange range, StringRef name,
                               StringRef doc) {
  if (!range.isValid())
    return builder.getUnknownLoc();
  LineColumn at = sources.getLineColumn(range.begin);
  mlir::Location loc = mlir::FileLineColLoc::get(builder.getContext(), at.file,
                                                 at.line, at.column);
  if (!name.empty())
    loc = mlir::NameLoc::get(builder.getStringAttr(name), loc);
  if (!doc.empty())
    loc = mlir::NameLoc::get(builder.getStringAttr(doc), loc);
  return loc;
}

mlir::Value Emitter::get(const typed::Value &value) {
  return values.find(value.node)->second[value.result];
}

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

void Emitter::emitVariables() {
  for (const typed::Variable &variable : program.variables)
    tds::VariableOp::create(
        builder, getLoc(variable.range, {}, variable.doc),
        builder.getStringAttr(variable.name),
        tds::VariableRoleAttr::get(builder.getContext(),
                                   tds::VariableRole(int(variable.role))),
        mlir::TypeAttr::get(getType(variable.type)));
}

mlir::OwningOpRef<mlir::ModuleOp> Emitter::run() {
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  emitVariables();
  for (const typed::Function *function : program.order) {
    builder.setInsertionPointToEnd(module->getBody());
    emitFunction(*function);
  }
  if (mlir::failed(mlir::verify(*module)))
    return {};
  return module;
}

void Emitter::emitFunction(const typed::Function &function) {
  SmallVector<mlir::Type> operandTypes, results;
  for (const typed::Input &input : function.inputs)
    operandTypes.push_back(getType(input.type));
  for (const typed::VariableUse &read : function.reads)
    operandTypes.push_back(getType(read.value.type()));
  for (const typed::Result &result : function.results)
    results.push_back(getType(result.value.type()));
  for (const typed::VariableUse &write : function.writes)
    results.push_back(getType(write.value.type()));
  for (const typed::Check &check : function.checks)
    results.push_back(getType(check.value.type()));
  mlir::Location loc = getLoc(function.range, {}, function.doc);
  auto func = mlir::func::FuncOp::create(
      builder, loc, function.name,
      builder.getFunctionType(operandTypes, results));

  bool isEntry = function.kind != typed::FunctionKind::Private;
  if (isEntry) {
    StringRef kind = function.kind == typed::FunctionKind::Step     ? "step"
                     : function.kind == typed::FunctionKind::Export ? "function"
                                                                    : "init";
    func->setAttr(attr::kEntry, builder.getStringAttr(kind));
    // All at once: setting them one by one makes a list of all each time.
    SmallVector<mlir::NamedAttrList> ofArguments(operandTypes.size()),
        ofResults(results.size());
    unsigned n = 0;
    for (const typed::Input &input : function.inputs) {
      ofArguments[n].set(attr::kInput, builder.getStringAttr(input.name));
      if (input.defaultValue)
        ofArguments[n].set(attr::kDefault, getNumber(*input.defaultValue));
      if (input.dataAxis)
        ofArguments[n].set(attr::kDataAxis, builder.getUnitAttr());
      if (input.isWeight)
        ofArguments[n].set(attr::kRole, builder.getStringAttr("weight"));
      ++n;
    }
    for (const typed::VariableUse &read : function.reads)
      ofArguments[n++].set(
          attr::kVariable,
          mlir::FlatSymbolRefAttr::get(builder.getContext(), read.name));
    n = 0;
    for (const typed::Result &result : function.results) {
      // Every result of an entry has a name in the artefact.
      std::string name = result.name;
      if (name.empty())
        name = function.results.size() == 1 ? "result"
                                            : "result" + std::to_string(n);
      ofResults[n].set(attr::kResult, builder.getStringAttr(name));
      if (result.dataAxis)
        ofResults[n].set(attr::kDataAxis, builder.getUnitAttr());
      ++n;
    }
    for (const typed::VariableUse &write : function.writes)
      ofResults[n++].set(
          attr::kVariable,
          mlir::FlatSymbolRefAttr::get(builder.getContext(), write.name));
    for (const typed::Check &check : function.checks)
      ofResults[n++].set(attr::kCheck, getCheck(check));
    auto getAll = [&](llvm::ArrayRef<mlir::NamedAttrList> lists) {
      SmallVector<mlir::DictionaryAttr> all;
      for (const mlir::NamedAttrList &list : lists)
        all.push_back(list.getDictionary(builder.getContext()));
      return all;
    };
    func.setAllArgAttrs(getAll(ofArguments));
    func.setAllResultAttrs(getAll(ofResults));
  } else {
    func.setPrivate();
    if (function.vjp)
      func->setAttr(attr::kVjp, mlir::FlatSymbolRefAttr::get(
                                    builder.getContext(), function.vjp->name));
  }

  values.clear();
  indices.clear();
  mlir::Block *block = func.addEntryBlock();
  builder.setInsertionPointToStart(block);
  for (auto [argument, input] :
       llvm::zip(block->getArguments().take_front(function.inputs.size()),
                 function.inputs))
    argument.setLoc(getLoc(input.range, input.name));
  arguments.assign(block->args_begin(), block->args_end());
  for (const typed::Node *node : function.nodes)
    emit(node);
  SmallVector<mlir::Value> out;
  for (const typed::Result &result : function.results) {
    bindArgument(result.value.node);
    out.push_back(get(result.value));
  }
  for (const typed::VariableUse &write : function.writes) {
    bindArgument(write.value.node);
    out.push_back(get(write.value));
    // The last value is known as that by its result.
    if (mlir::Operation *op = out.back().getDefiningOp())
      op->removeDiscardableAttr(tds::attr::kWritten);
  }
  for (const typed::Check &check : function.checks) {
    bindArgument(check.value.node);
    out.push_back(get(check.value));
  }
  mlir::func::ReturnOp::create(builder, loc, out);
}

/// What a failed check says, and where it stands.
mlir::Attribute Emitter::getCheck(const typed::Check &check) {
  LineColumn at = sources.getLineColumn(check.range.begin);
  std::string source =
      (at.file + ":" + llvm::Twine(at.line) + ":" + llvm::Twine(at.column))
          .str();
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("source", builder.getStringAttr(source)),
       builder.getNamedAttr(
           "text", builder.getStringAttr("assertion failed: " + check.text))});
}

/// Arguments are nodes that stand in no list; they are known by their number.
void Emitter::bindArgument(const typed::Node *node) {
  if (node->op == Op::Argument && !values.count(node))
    set(node, arguments[node->number]);
}

void Emitter::emit(const typed::Node *node) {
  for (const typed::Value &operand : node->operands)
    bindArgument(operand.node);
  if (node->body)
    for (const typed::Node *inner : node->body->nodes)
      for (const typed::Value &operand : inner->operands)
        bindArgument(operand.node);
  mlir::Location loc = getLoc(node->range, node->name);
  switch (node->op) {
  case Op::Call:
    return emitCall(node);
  case Op::Gradient:
    return emitGradient(node);
  case Op::Generic:
    return set(node, emitGeneric(node));
  case Op::Fold:
    return emitFold(node);
  case Op::Literal: {
    SmallVector<mlir::Attribute> elements;
    for (const typed::Scalar *element : node->elements)
      elements.push_back(getNumber(*element));
    auto type = llvm::cast<mlir::RankedTensorType>(getType(node->types[0]));
    return set(node,
               tds::ConstantOp::create(
                   builder, loc, mlir::DenseElementsAttr::get(type, elements)));
  }
  default:
    break;
  }
  mlir::Type type = getType(node->types[0]);
  if (mlir::Value value = emitElementwise(node, type, loc)) {
    if (!node->written.empty())
      value.getDefiningOp()->setDiscardableAttr(
          tds::attr::kWritten,
          mlir::FlatSymbolRefAttr::get(builder.getContext(), node->written));
    return set(node, value);
  }
  auto operand = [&](unsigned i) { return get(node->operands[i]); };
  switch (node->op) {
  case Op::Broadcast:
    return set(node, tds::BroadcastOp::create(
                         builder, loc, type, operand(0),
                         builder.getDenseI64ArrayAttr(node->numbers)));
  case Op::Reshape:
    return set(node, tds::ReshapeOp::create(builder, loc, type, operand(0)));
  case Op::Transpose:
    return set(node, tds::TransposeOp::create(
                         builder, loc, type, operand(0),
                         builder.getDenseI64ArrayAttr(node->numbers)));
  case Op::Reduce: {
    // Over no axes nothing is combined.
    if (node->numbers.empty() && getType(node->operands[0].type()) == type)
      return set(node, operand(0));
    auto kind = tds::ReductionKindAttr::get(
        builder.getContext(), tds::ReductionKind(int(node->reduction)));
    return set(node, tds::ReduceOp::create(
                         builder, loc, type, kind, operand(0),
                         builder.getDenseI64ArrayAttr(node->numbers)));
  }
  case Op::Contract: {
    unsigned l = node->operands[0].type().rank();
    unsigned r = node->operands[1].type().rank();
    ArrayRef<int64_t> numbers = node->numbers;
    return set(node,
               tds::ContractOp::create(
                   builder, loc, type, operand(0), operand(1),
                   builder.getDenseI64ArrayAttr(numbers.take_front(l)),
                   builder.getDenseI64ArrayAttr(numbers.slice(l, r)),
                   builder.getDenseI64ArrayAttr(numbers.drop_front(l + r))));
  }
  default:
    llvm_unreachable("a node of a body outside of it");
  }
}

void Emitter::emitCall(const typed::Node *node) {
  SmallVector<mlir::Value> operands;
  for (const typed::Value &operand : node->operands)
    operands.push_back(get(operand));
  SmallVector<mlir::Type> types;
  for (const typed::Type &type : node->types)
    types.push_back(getType(type));
  auto call =
      mlir::func::CallOp::create(builder, getLoc(node->range, node->name),
                                 node->callee->name, types, operands);
  values[node].assign(call.getResults().begin(), call.getResults().end());
}

void Emitter::emitGradient(const typed::Node *node) {
  SmallVector<mlir::Value> wrt;
  SmallVector<mlir::Type> types;
  for (const typed::Value &operand : node->operands.drop_front())
    wrt.push_back(get(operand));
  for (const typed::Type &type : node->types)
    types.push_back(getType(type));
  auto gradient = tds::GradientOp::create(builder, getLoc(node->range), types,
                                          get(node->operands[0]), wrt);
  values[node].assign(gradient.getResults().begin(),
                      gradient.getResults().end());
}

void Emitter::emitFold(const typed::Node *node) {
  const typed::FoldBody &body = *node->fold;
  mlir::Location loc = getLoc(node->range);
  size_t numCarried = body.arguments.size() - 1;
  SmallVector<mlir::Value> inits, captured;
  for (const typed::Value &operand : node->operands.take_front(numCarried))
    inits.push_back(get(operand));
  for (const typed::Value &operand : body.captures)
    captured.push_back(get(operand));
  SmallVector<mlir::Type> collected;
  for (const typed::Type &type : node->types.drop_front(numCarried))
    collected.push_back(getType(type));
  auto fold =
      tds::FoldOp::create(builder, loc, body.trips, /*reverse=*/false, inits,
                          mlir::ValueRange(), captured, collected);
  if (body.isCheckpoint)
    fold->setAttr(attr::kCheckpoint, builder.getUnitAttr());
  // Inside, the captured values are arguments.
  SmallVector<mlir::Value> outside;
  for (auto [value, argument] :
       llvm::zip(body.captures, fold.getInvariantArguments())) {
    mlir::Value &slot = values.find(value.node)->second[value.result];
    outside.push_back(slot);
    slot = argument;
  }
  for (auto [argument, value] :
       llvm::zip(body.arguments, fold.getBlock()->getArguments())) {
    value.setLoc(getLoc(argument->range, argument->name));
    set(argument, value);
  }
  {
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(fold.getBlock());
    for (const typed::Node *inner : body.nodes)
      emit(inner);
    SmallVector<mlir::Value> results;
    for (const typed::Value &result : body.results)
      results.push_back(get(result));
    tds::YieldOp::create(builder, loc, results);
  }
  for (auto [value, old] : llvm::zip(body.captures, outside))
    values.find(value.node)->second[value.result] = old;
  values[node].assign(fold->getResults().begin(), fold->getResults().end());
}

mlir::OwningOpRef<mlir::ModuleOp>
tdsl::emitProgram(const typed::Program &program, const SourceManager &sources,
                  mlir::MLIRContext &context) {
  context.loadDialect<tds::TDSDialect, mlir::func::FuncDialect>();
  return Emitter(program, sources, context).run();
}
