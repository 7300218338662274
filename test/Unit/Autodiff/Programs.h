//===- Programs.h - small programs for the tests of derivatives -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TEST_UNIT_AUTODIFF_PROGRAMS_H
#define TDSL_TEST_UNIT_AUTODIFF_PROGRAMS_H

#include "tdsl/Autodiff/Autodiff.h"
#include "tdsl/Autodiff/GradientCheck.h"
#include "tdsl/Dialect/TDS/TDSDialect.h"
#include "tdsl/Reference/Evaluator.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

namespace tdsl::test {

inline mlir::MLIRContext &getContext() {
  static mlir::MLIRContext *context = [] {
    mlir::DialectRegistry registry;
    registry.insert<tds::TDSDialect, mlir::func::FuncDialect>();
    autodiff::registerAutodiffModels(registry);
    auto *made =
        new mlir::MLIRContext(registry, mlir::MLIRContext::Threading::DISABLED);
    made->loadAllAvailableDialects();
    return made;
  }();
  return *context;
}

inline mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef text) {
  auto module =
      mlir::parseSourceString<mlir::ModuleOp>(text, &getContext(), "test.tds");
  EXPECT_TRUE(module) << text.str();
  return module;
}

/// "tensor<2x3xf32>".
inline std::string tensorOf(llvm::ArrayRef<int64_t> shape,
                            llvm::StringRef element = "f32") {
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + element.str() + ">";
}

/// A tensor in a program: its name and its type.
struct Typed {
  std::string name, type;
};

/// The function f of `arguments` whose body defines %y of `resultType`; it
/// gives the gradients of sum(y * weights) by `wrt`. The weights are the last
/// argument.
inline std::string
gradientProgram(llvm::ArrayRef<Typed> arguments, llvm::StringRef body,
                llvm::StringRef resultType, unsigned resultRank,
                llvm::ArrayRef<Typed> wrt, llvm::StringRef element = "f32") {
  std::string text = "func.func @f(", names, types;
  for (const Typed &argument : arguments)
    text += "%" + argument.name + ": " + argument.type + " {tds.input = \"" +
            argument.name + "\"}, ";
  text += "%weights: " + resultType.str() + " {tds.input = \"weights\"}) -> (";
  for (const Typed &variable : wrt) {
    names += (names.empty() ? "%" : ", %") + variable.name;
    types += (types.empty() ? "" : ", ") + variable.type;
  }
  std::string axes;
  for (unsigned i = 0; i < resultRank; ++i)
    axes += (i ? ", " : "") + std::to_string(i);
  std::string scalar = "tensor<" + element.str() + ">";
  text += types + ") {\n" + body.str() +
          "\n  %weighted = tds.mul %y, %weights : " + resultType.str() +
          "\n  %loss = tds.reduce sum %weighted axes [" + axes +
          "] : " + resultType.str() + " to " + scalar +
          "\n  %grad:" + std::to_string(wrt.size()) +
          " = tds.gradient %loss wrt " + names + " : " + scalar + " wrt " +
          types + "\n  return ";
  for (unsigned i = 0; i < wrt.size(); ++i)
    text += (i ? ", %grad#" : "%grad#") + std::to_string(i);
  return text + " : " + types + "\n}\n";
}

/// Checks all gradients of a program; the report says what went wrong.
inline testing::AssertionResult
checks(llvm::StringRef text, autodiff::GradientCheckOptions options = {}) {
  auto module = parse(text);
  std::string report;
  llvm::raw_string_ostream os(report);
  if (!module)
    return testing::AssertionFailure() << text.str();
  if (mlir::succeeded(autodiff::checkGradients(*module, os, options)))
    return testing::AssertionSuccess() << report;
  return testing::AssertionFailure() << text.str() << report;
}

/// The results of @f after differentiation.
inline std::vector<reference::Tensor>
evaluate(llvm::StringRef text, llvm::ArrayRef<reference::Tensor> arguments) {
  auto module = parse(text);
  if (!module || mlir::failed(autodiff::differentiate(*module)) ||
      mlir::failed(mlir::verify(*module))) {
    ADD_FAILURE() << text.str();
    return {};
  }
  auto results = reference::runEntry(*module, "f", arguments);
  if (!results) {
    ADD_FAILURE() << llvm::toString(results.takeError());
    return {};
  }
  return std::move(*results);
}

inline reference::Tensor floats(llvm::ArrayRef<int64_t> shape,
                                llvm::ArrayRef<double> values) {
  return reference::Tensor::of(reference::ElementKind::F32, shape, values);
}
inline reference::Tensor ints(llvm::ArrayRef<int64_t> shape,
                              llvm::ArrayRef<double> values) {
  return reference::Tensor::of(reference::ElementKind::I32, shape, values);
}

inline std::vector<double> numbers(const reference::Tensor &tensor) {
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.numElements(); ++i)
    values.push_back(tensor.getDouble(i));
  return values;
}

} // namespace tdsl::test

#endif // TDSL_TEST_UNIT_AUTODIFF_PROGRAMS_H
