//===- Registration.cpp - attaches the derivative rules -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace tdsl;

void autodiff::registerAutodiffModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tds::TDSDialect *) {
    attachAttentionRules(context);
    attachContractRule(context);
    attachElementRules(context);
    attachFoldRule(context);
    attachGenericRule(context);
    attachReduceRule(context);
    attachScatterRule(context);
    attachShapeRules(context);
  });
  registry.addExtension(+[](MLIRContext *context, func::FuncDialect *) {
    attachCallRule(context);
  });
}
