//===- SecondOrderTest.cpp - gradients of gradients -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Catalogue.h"
#include "Programs.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::test;

/// Puts after the gradients of a catalogue program the sum of their squares and
/// the gradient of that by the first variable.
static std::string squareGradients(const std::string &program) {
  size_t at = program.find("  return ");
  std::string head = program.substr(0, at);
  auto module = parse(program);
  if (!module)
    return "";
  tds::GradientOp gradient;
  module->walk([&](tds::GradientOp op) { gradient = op; });
  std::string text = head, total, first;
  for (auto [i, type] : llvm::enumerate(gradient.getResultTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    std::string t = tensorOf(tensor.getShape()), n = std::to_string(i), axes;
    for (int64_t axis = 0; axis < tensor.getRank(); ++axis)
      axes += (axis ? ", " : "") + std::to_string(axis);
    text += "  %sq" + n + " = tds.mul %grad#" + n + ", %grad#" + n + " : " + t +
            "\n  %part" + n + " = tds.reduce sum %sq" + n + " axes [" + axes +
            "] : " + t + " to tensor<f32>\n";
    if (i == 0) {
      first = t;
      total = "%part0";
      continue;
    }
    text += "  %total" + n + " = tds.add " + total + ", %part" + n +
            " : tensor<f32>\n";
    total = "%total" + n;
  }
  // The name of the first variable is the first after "wrt".
  size_t name = head.find(" wrt %") + 5;
  std::string variable =
      head.substr(name, head.find_first_of(" ,:", name) - name);
  text += "  %second = tds.gradient " + total + " wrt " + variable +
          " : tensor<f32> wrt " + first + "\n  return %second : " + first +
          "\n}\n";
  // One result instead of the gradients.
  size_t arrow = text.find(" -> ("), close = text.find(")", arrow);
  return text.substr(0, arrow) + " -> (" + first + text.substr(close);
}

/// Linear programs have no second derivative; the check reports these as zero.
TEST(SecondOrder, agreesWithDifferences) {
  unsigned compared = 0;
  for (const CatalogueEntry &entry : getCatalogue()) {
    if (entry.label == "mixed quotients")
      continue; // slow
    std::string text = squareGradients(entry.program);
    auto module = parse(text);
    ASSERT_TRUE(module) << text;
    std::string report;
    llvm::raw_string_ostream os(report);
    bool passes = succeeded(autodiff::checkGradients(*module, os));
    // A gradient that does not depend on the variable is right to be 0.
    bool onlyZeros = report.find(" 0 wrong,") != std::string::npos;
    EXPECT_TRUE(passes || onlyZeros) << entry.op << ", " << entry.label << "\n"
                                     << text << report;
    compared += passes;
  }
  // Element operations, contractions, index definitions, gathers and reductions
  // alike.
  EXPECT_GE(compared, 60u);
}

/// A strong zero is a product to the second derivative: d^2/dx^2 of (w x)^2 / 2
/// at x = 0, where the first adjoint is exactly 0, is w^2.
TEST(SecondOrder, zeroAdjointsKeepTheirDerivative) {
  auto results = evaluate(R"(
    func.func @f(%x: tensor<1xf32>, %w: tensor<1xf32>) -> tensor<1xf32> {
      %y = tds.mul %x, %w : tensor<1xf32>
      %q = tds.mul %y, %y : tensor<1xf32>
      %l = tds.reduce sum %q axes [0] : tensor<1xf32> to tensor<f32>
      %g = tds.gradient %l wrt %x : tensor<f32> wrt tensor<1xf32>
      %m = tds.reduce sum %g axes [0] : tensor<1xf32> to tensor<f32>
      %h = tds.gradient %m wrt %x : tensor<f32> wrt tensor<1xf32>
      return %h : tensor<1xf32>
    })",
                          {floats({1}, {0}), floats({1}, {3})});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].getDouble(0), 18);
}
