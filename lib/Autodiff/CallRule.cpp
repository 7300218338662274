//===- CallRule.cpp - custom derivatives of functions -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call of a function with `tds.vjp = @g` is differentiated by calling @g :
// (args..., result, d_result) -> (d_args...). Its results are the adjoints of
// the arguments that are floats, in order; a function that gives one result for
// every argument is accepted too. The call of @g is inlined at once, so that
// derivatives of derivatives see its operations.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "tdsl/Autodiff/InlineFunction.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;
using namespace tdsl::autodiff;

static LogicalResult callRule(func::CallOp op, RuleContext &c) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      op, op.getCalleeAttr());
  auto vjpName = callee ? callee->getAttrOfType<FlatSymbolRefAttr>(attr::kVjp)
                        : FlatSymbolRefAttr();
  if (!vjpName)
    return op.emitError() << "no derivative for a call of @" << op.getCallee();
  auto vjp = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, vjpName);
  if (!vjp)
    return op.emitError() << "the derivative " << vjpName << " of @"
                          << op.getCallee() << " does not exist";
  SmallVector<Value> arguments(op.getOperands());
  llvm::append_range(arguments, op.getResults());
  arguments.push_back(c.g);
  SmallVector<unsigned> floats;
  for (auto [i, operand] : llvm::enumerate(op.getOperands()))
    if (carriesGradient(operand.getType()))
      floats.push_back(i);
  if (TypeRange(vjp.getArgumentTypes()) != TypeRange(ValueRange(arguments)))
    return op.emitError() << "the derivative " << vjpName << " of @"
                          << op.getCallee() << " takes "
                          << vjp.getFunctionType().getInputs() << ", expected "
                          << TypeRange(ValueRange(arguments));
  bool onePerArgument = vjp.getNumResults() == op.getNumOperands();
  if (!onePerArgument && vjp.getNumResults() != floats.size())
    return op.emitError() << "the derivative " << vjpName << " of @"
                          << op.getCallee() << " gives " << vjp.getNumResults()
                          << " results, expected " << floats.size();
  FailureOr<SmallVector<Value>> results =
      inlineFunction(c.builder, op.getLoc(), vjp, arguments);
  if (failed(results))
    return failure();
  for (auto [k, i] : llvm::enumerate(floats)) {
    Value adjoint = (*results)[onePerArgument ? i : k];
    if (adjoint.getType() != op.getOperand(i).getType())
      return op.emitError()
             << "the derivative " << vjpName << " of @" << op.getCallee()
             << " gives " << adjoint.getType() << " for argument " << i
             << " of type " << op.getOperand(i).getType();
    c.give(i, adjoint);
  }
  return success();
}

void autodiff::attachCallRule(MLIRContext *context) {
  attachRule<func::CallOp, callRule>(context);
}
