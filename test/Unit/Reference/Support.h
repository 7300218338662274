//===- Support.h - random tensors and small modules for the tests -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TEST_UNIT_REFERENCE_SUPPORT_H
#define TDSL_TEST_UNIT_REFERENCE_SUPPORT_H

#include "tdsl/Reference/Evaluator.h"
#include "tdsl/ScalarMath/Host.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include "gtest/gtest.h"

#include <limits>
#include <random>

namespace tdsl::test {

using reference::ElementKind;
using reference::Tensor;

inline constexpr ElementKind allKinds[] = {
    ElementKind::Bool, ElementKind::I8,  ElementKind::U8,
    ElementKind::I32,  ElementKind::I64, ElementKind::F16,
    ElementKind::BF16, ElementKind::F32, ElementKind::F64};

/// The kind's name in MLIR text.
inline std::string mlirName(ElementKind kind) {
  if (kind == ElementKind::Bool)
    return "i1";
  if (kind == ElementKind::U8)
    return "ui8";
  return reference::nameOf(kind).str();
}

inline std::string typeOf(ElementKind kind, llvm::ArrayRef<int64_t> shape) {
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + mlirName(kind) + ">";
}

/// Random bits, and among them the values that break things: extremes, zeros of
/// both signs, infinities, NaN, subnormals, small integers and halves.
inline Tensor hostile(ElementKind kind, llvm::ArrayRef<int64_t> shape,
                      std::mt19937_64 &random) {
  Tensor tensor(kind, shape);
  static constexpr double special[] = {0.0,
                                       -0.0,
                                       1,
                                       -1,
                                       2,
                                       -2,
                                       0.5,
                                       -0.5,
                                       1.5,
                                       2.5,
                                       3,
                                       4,
                                       10,
                                       0.1,
                                       std::numeric_limits<double>::infinity(),
                                       -std::numeric_limits<double>::infinity(),
                                       std::numeric_limits<double>::quiet_NaN(),
                                       3.0e38,
                                       -3.0e38,
                                       1.0e-40,
                                       65504,
                                       65520,
                                       127,
                                       128,
                                       255,
                                       256,
                                       2147483647,
                                       2147483648.0,
                                       -2147483648.0,
                                       9.0e18,
                                       1.0e19,
                                       1.0e-45,
                                       5.0e-324,
                                       88.7,
                                       -103.9};
  unsigned size = reference::bytesOf(kind);
  for (int64_t i = 0; i < tensor.numElements(); ++i) {
    if (kind == ElementKind::Bool) {
      tensor.set(i, int64_t(random() & 1));
    } else if (random() % 2) {
      tensor.set(i, special[random() % std::size(special)]);
    } else {
      uint64_t bits = random();
      std::memcpy(tensor.data() + i * size, &bits, size);
    }
  }
  return tensor;
}

/// Small integers, exact in every type.
inline Tensor small(ElementKind kind, llvm::ArrayRef<int64_t> shape,
                    std::mt19937_64 &random) {
  Tensor tensor(kind, shape);
  for (int64_t i = 0; i < tensor.numElements(); ++i)
    tensor.set(i, int64_t(random() % 7) - 3);
  return tensor;
}

/// Values of ordinary size that round.
inline Tensor ordinary(ElementKind kind, llvm::ArrayRef<int64_t> shape,
                       std::mt19937_64 &random) {
  std::normal_distribution<double> normal;
  Tensor tensor(kind, shape);
  for (int64_t i = 0; i < tensor.numElements(); ++i)
    tensor.set(i, reference::isFloat(kind) ? normal(random)
                                           : normal(random) * 100);
  return tensor;
}

inline std::string print(const Tensor &tensor) {
  std::string text;
  llvm::raw_string_ostream os(text);
  tensor.print(os);
  return text;
}

/// A context and a parsed module; a parse error fails the test.
class Program {
public:
  explicit Program(const std::string &text) {
    context.loadDialect<tds::TDSDialect, mlir::func::FuncDialect>();
    context.disableMultithreading();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
  }

  /// The results of a function; an error fails the test.
  std::vector<Tensor> run(llvm::StringRef function,
                          llvm::ArrayRef<Tensor> arguments,
                          reference::EvaluatorOptions options = {}) {
    auto results = reference::runEntry(*module, function, arguments, options);
    if (!results) {
      ADD_FAILURE() << llvm::toString(results.takeError());
      return {Tensor()};
    }
    return std::move(*results);
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace tdsl::test

#endif // TDSL_TEST_UNIT_REFERENCE_SUPPORT_H
