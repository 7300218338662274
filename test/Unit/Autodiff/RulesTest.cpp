//===- RulesTest.cpp - every rule against central differences -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Catalogue.h"
#include "Programs.h"

#include <set>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::test;

TEST(Rules, agreeWithDifferences) {
  for (const CatalogueEntry &entry : getCatalogue())
    EXPECT_TRUE(checks(entry.program)) << entry.op << ", " << entry.label;
}

/// Adjoint code must verify and must not differ between f32 and f64 programs.
TEST(Rules, verify) {
  for (const CatalogueEntry &entry : getCatalogue()) {
    auto module = parse(entry.program);
    ASSERT_TRUE(module);
    EXPECT_TRUE(succeeded(autodiff::differentiate(*module)));
    EXPECT_TRUE(succeeded(verify(*module))) << entry.op << ", " << entry.label;
  }
}

/// Every operation that has a rule occurs in the catalogue.
TEST(Rules, areAllInTheCatalogue) {
  std::set<std::string> covered;
  for (const CatalogueEntry &entry : getCatalogue())
    covered.insert(entry.op);
  // Their derivative is 0 everywhere, so there is nothing to compare.
  for (const char *op :
       {"tds.ceil", "tds.floor", "tds.floordiv", "tds.round", "tds.sign"})
    covered.insert(op);
  covered.insert("func.call"); // GradientCheckTest
  for (RegisteredOperationName name : getContext().getRegisteredOperations())
    if (name.hasInterface<tds::DifferentiableOpInterface>())
      EXPECT_TRUE(covered.count(name.getStringRef().str()))
          << name.getStringRef().str();
}

TEST(Rules, piecewiseConstantFunctionsGiveZero) {
  for (const char *op : {"ceil", "floor", "round", "sign"}) {
    std::string type = tensorOf({4});
    auto results = evaluate(
        gradientProgram({{"x", type}},
                        "  %y = tds." + std::string(op) + " %x : " + type, type,
                        1, {{"x", type}}),
        {floats({4}, {-1.5, 0.25, 2, 7}), floats({4}, {1, 2, 3, 4})});
    ASSERT_EQ(results.size(), 1u);
    EXPECT_EQ(numbers(results[0]), (std::vector<double>{0, 0, 0, 0})) << op;
  }
}

TEST(Rules, narrowFloats) {
  // f16 and bf16 programs differentiate and verify; sums in the accumulator.
  for (const char *element : {"f16", "bf16"}) {
    std::string matrix = tensorOf({3, 4}, element),
                row = tensorOf({4}, element);
    std::string text = gradientProgram(
        {{"x", matrix}, {"w", tensorOf({4, 2}, element)}},
        "  %c = tds.contract %x[0, 2], %w[2, 1] to [0, 1] : " + matrix + ", " +
            tensorOf({4, 2}, element) + " to " + tensorOf({3, 2}) +
            "\n  %y = tds.cast %c : " + tensorOf({3, 2}) + " to " +
            tensorOf({3, 2}, element),
        tensorOf({3, 2}, element), 2,
        {{"x", matrix}, {"w", tensorOf({4, 2}, element)}}, element);
    auto module = parse(text);
    ASSERT_TRUE(module);
    EXPECT_TRUE(succeeded(autodiff::differentiate(*module)));
    EXPECT_TRUE(succeeded(verify(*module)));
    EXPECT_TRUE(checks(text));
  }
}
