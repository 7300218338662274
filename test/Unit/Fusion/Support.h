//===- Support.h - modules, pipelines and values for the tests of fusion and
// planning -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TEST_UNIT_FUSION_SUPPORT_H
#define TDSL_TEST_UNIT_FUSION_SUPPORT_H

#include "tdsl/Dialect/Plan/PlanOps.h"
#include "tdsl/Dialect/TDS/TDSOps.h"
#include "tdsl/Fusion/Passes.h"
#include "tdsl/Reference/Evaluator.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tdsl::test {

struct Context {
  mlir::MLIRContext context;
  Context() {
    context.loadDialect<tds::TDSDialect, plan::PlanDialect,
                        mlir::func::FuncDialect>();
    context.disableMultithreading();
  }
  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text) {
    return mlir::parseSourceString<mlir::ModuleOp>(text, &context, "test.tds");
  }
};

inline bool runFusion(mlir::ModuleOp module, bool fuse,
                      llvm::StringRef target = "host-cpu") {
  mlir::PassManager manager(module.getContext());
  FusionOptions options;
  options.fuse = fuse;
  options.target = target.str();
  buildFusionPipeline(manager, options);
  return succeeded(manager.run(module));
}

/// Small values: floats in [-1, 1], integers from -1 to 4.
inline std::vector<reference::Tensor> makeArguments(mlir::func::FuncOp function,
                                                    uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<reference::Tensor> arguments;
  for (mlir::Type type : function.getArgumentTypes()) {
    auto tensor = llvm::cast<mlir::RankedTensorType>(type);
    reference::Tensor value(*tds::getElementKind(tensor.getElementType()),
                            tensor.getShape());
    for (int64_t i = 0; i < value.numElements(); ++i) {
      if (reference::isFloat(value.kind()))
        value.set(i, std::uniform_real_distribution<double>(-1, 1)(random));
      else
        value.set(i, std::uniform_int_distribution<int64_t>(-1, 4)(random));
    }
    arguments.push_back(value);
  }
  return arguments;
}

inline std::vector<reference::Tensor>
evaluate(mlir::ModuleOp module, llvm::StringRef function,
         llvm::ArrayRef<reference::Tensor> arguments, bool f64 = false) {
  reference::EvaluatorOptions options;
  options.f64 = f64;
  auto results = reference::runEntry(module, function, arguments, options);
  if (!results) {
    ADD_FAILURE() << llvm::toString(results.takeError());
    return {};
  }
  return *results;
}

/// Equal up to a relative error where the values are floats.
inline bool isClose(const reference::Tensor &a, const reference::Tensor &b,
                    double tolerance) {
  if (a.kind() != b.kind() || a.shape() != b.shape())
    return false;
  for (int64_t i = 0; i < a.numElements(); ++i) {
    double x = a.getDouble(i), y = b.getDouble(i);
    if (std::isnan(x) && std::isnan(y))
      continue;
    if (!(std::abs(x - y) <= tolerance * std::max(1.0, std::abs(x))) && x != y)
      return false;
  }
  return true;
}

/// Kernels as they are launched: parts of one do not count.
inline unsigned countKernels(mlir::ModuleOp module) {
  unsigned count = 0;
  module.walk([&](tds::KernelOp kernel) { count += !kernel.isPart(); });
  return count;
}

} // namespace tdsl::test

#endif // TDSL_TEST_UNIT_FUSION_SUPPORT_H
