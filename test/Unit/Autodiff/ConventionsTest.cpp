//===- ConventionsTest.cpp - zeros, kinks, ties, infinities -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Zeros, kinks, ties, infinities, and broadcasts that must be undone.
//
//===----------------------------------------------------------------------===//

#include "Programs.h"

#include <cmath>

using namespace tdsl;
using namespace tdsl::test;

using Numbers = std::vector<double>;

/// The gradients of sum(y) for one-dimensional arguments of equal length.
static std::vector<Numbers>
gradients(const std::string &body,
          std::vector<std::pair<std::string, Numbers>> arguments) {
  std::vector<Typed> typed;
  std::vector<reference::Tensor> values;
  int64_t n = arguments.front().second.size();
  std::string type = tensorOf({n});
  for (auto &[name, numbers] : arguments) {
    typed.push_back({name, type});
    values.push_back(floats({n}, numbers));
  }
  std::string text = body;
  for (size_t at; (at = text.find("$T")) != std::string::npos;)
    text.replace(at, 2, type);
  for (size_t at; (at = text.find("$B")) != std::string::npos;)
    text.replace(at, 2, tensorOf({n}, "i1"));
  values.push_back(floats({n}, Numbers(n, 1)));
  std::vector<Numbers> results;
  for (const auto &result :
       evaluate(gradientProgram(typed, text, type, 1, typed), values))
    results.push_back(numbers(result));
  results.resize(typed.size());
  return results;
}

static const double kInf = INFINITY;
static const double kNan = NAN;

TEST(Conventions, branchesThatAreOffGiveZero) {
  // where(x > 0, sqrt(x), x)
  auto g = gradients(R"(
    %z = tds.constant dense<0.0> : $T
    %c = tds.compare gt %x, %z : $T
    %s = tds.sqrt %x : $T
    %y = tds.select %c, %s, %x : $B, $T)",
                     {{"x", {-1, -9, 4}}});
  EXPECT_EQ(g[0], (Numbers{1, 1, 0.25}));
  // where(x == 0, 0, x * sqrt(x))
  g = gradients(R"(
    %z = tds.constant dense<0.0> : $T
    %c = tds.compare eq %x, %z : $T
    %s = tds.sqrt %x : $T
    %p = tds.mul %x, %s : $T
    %y = tds.select %c, %z, %p : $B, $T)",
                {{"x", {0, 4}}});
  EXPECT_EQ(g[0], (Numbers{0, 3}));
  // A factor 0 before functions whose derivatives are infinite or NaN.
  for (const char *op :
       {"log", "sqrt", "rsqrt", "log1p", "tanh", "exp", "sin"}) {
    g = gradients(std::string(R"(
    %z = tds.constant dense<0.0> : $T
    %a = tds.)") + op +
                      R"( %x : $T
    %y = tds.mul %a, %z : $T)",
                  {{"x", {0, -1, kNan, kInf, -kInf}}});
    EXPECT_EQ(g[0], Numbers(5, 0)) << op;
  }
}

TEST(Conventions, squareRootAtZero) {
  auto g = gradients("%y = tds.sqrt %x : $T", {{"x", {0}}});
  EXPECT_EQ(g[0], Numbers{kInf});
}

TEST(Conventions, powers) {
  auto g = gradients("%y = tds.pow %a, %b : $T",
                     {{"a", {0, 2, 0, 0, -2}}, {"b", {1, 1, 2, 0, 3}}});
  EXPECT_EQ(g[0], (Numbers{1, 1, 0, 0, 12}));
  EXPECT_EQ(g[1][0], 0);
  EXPECT_NEAR(g[1][1], 1.3862943611, 1e-6);
  EXPECT_EQ(g[1][2], 0);
  EXPECT_EQ(g[1][3], 0);
  for (const auto &[exponent, expected] :
       {std::pair("2.0", Numbers{0, 4, -4}), std::pair("0.0", Numbers{0, 0, 0}),
        std::pair("3.0", Numbers{0, 12, 12}),
        std::pair("1.0", Numbers{1, 1, 1})}) {
    g = gradients(std::string("%e = tds.constant dense<") + exponent +
                      "> : $T\n %y = tds.pow %a, %e : $T",
                  {{"a", {0, 2, -2}}});
    EXPECT_EQ(g[0], expected) << exponent;
  }
}

TEST(Conventions, kinks) {
  auto g = gradients("%y = tds.max %a, %b : $T",
                     {{"a", {1, 2, 3}}, {"b", {1, 1, 5}}});
  EXPECT_EQ(g[0], (Numbers{0.5, 1, 0}));
  EXPECT_EQ(g[1], (Numbers{0.5, 0, 1}));
  g = gradients("%y = tds.min %a, %b : $T",
                {{"a", {1, 2, 3}}, {"b", {1, 1, 5}}});
  EXPECT_EQ(g[0], (Numbers{0.5, 0, 1}));
  EXPECT_EQ(g[1], (Numbers{0.5, 1, 0}));
  g = gradients("%y = tds.abs %x : $T", {{"x", {-2, 0, -0.0, 3}}});
  EXPECT_EQ(g[0], (Numbers{-1, 0, 0, 1}));
  g = gradients("%y = tds.clamp %x, %l, %h : $T", {{"x", {0, 6, 3, -1, 7, 1}},
                                                   {"l", {0, 0, 0, 0, 0, 5}},
                                                   {"h", {6, 6, 6, 6, 6, 4}}});
  EXPECT_EQ(g[0], (Numbers{1, 1, 1, 0, 0, 0}));
  EXPECT_EQ(g[1], (Numbers{0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(g[2], (Numbers{0, 0, 0, 0, 1, 1}));
}

/// The gradient of a reduction of %x to a scalar, whole-tensor and index form.
static Numbers reduction(const std::string &kind, Numbers x, bool asGeneric) {
  int64_t n = x.size();
  std::string type = tensorOf({n});
  std::string body =
      asGeneric ? "%y = tds.generic () in () " + kind + " (%i) in (" +
                      std::to_string(n) +
                      ") : tensor<f32> {\n %e = tds.read %x[%i] : " + type +
                      "\n tds.yield %e : f32 }"
                : "%y = tds.reduce " + kind + " %x axes [0] : " + type +
                      " to tensor<f32>";
  auto results = evaluate(
      gradientProgram({{"x", type}}, body, "tensor<f32>", 0, {{"x", type}}),
      {floats({n}, x), floats({}, {1})});
  return results.empty() ? Numbers() : numbers(results[0]);
}

TEST(Conventions, reductions) {
  for (bool asGeneric : {false, true}) {
    EXPECT_EQ(reduction("max", {2, 3, 3, 1}, asGeneric),
              (Numbers{0, 0.5, 0.5, 0}));
    EXPECT_EQ(reduction("min", {1, 3, 1, 1}, asGeneric)[1], 0);
    EXPECT_EQ(reduction("prod", {2, 3, 4}, asGeneric), (Numbers{12, 8, 6}));
    EXPECT_EQ(reduction("prod", {2, 0, 4}, asGeneric), (Numbers{0, 8, 0}));
    EXPECT_EQ(reduction("prod", {0, 3, 0}, asGeneric), (Numbers{0, 0, 0}));
    // The other form of long products.
    Numbers ones(100, 1), expected(100, 0);
    ones[7] = 0;
    expected[7] = 1;
    EXPECT_EQ(reduction("prod", ones, asGeneric), expected);
    ones[8] = 0;
    EXPECT_EQ(reduction("prod", ones, asGeneric), Numbers(100, 0));
    // Where the maximum is a NaN nothing is divided by zero.
    for (double value : reduction("max", {1, kNan, 2}, asGeneric))
      EXPECT_TRUE(std::isfinite(value));
  }
}

TEST(Conventions, broadcastsAreUndone) {
  // L = sum(x.w + b): dw, db and dx have the shapes of w, b and x.
  std::string text = R"(
    func.func @f(%x: tensor<2x3xf32>, %w: tensor<3x1xf32>, %b: tensor<1x3xf32>)
        -> (tensor<2x3xf32>, tensor<3x1xf32>, tensor<1x3xf32>) {
      %p = tds.contract %x[0, 2], %w[2, 1] to [0, 1] : tensor<2x3xf32>, tensor<3x1xf32> to tensor<2x1xf32>
      %pb = tds.broadcast %p axes [0, 1] : tensor<2x1xf32> to tensor<2x3xf32>
      %bb = tds.broadcast %b axes [0, 1] : tensor<1x3xf32> to tensor<2x3xf32>
      %s = tds.add %pb, %bb : tensor<2x3xf32>
      %l = tds.reduce sum %s axes [0, 1] : tensor<2x3xf32> to tensor<f32>
      %dx, %dw, %db = tds.gradient %l wrt %x, %w, %b : tensor<f32> wrt tensor<2x3xf32>, tensor<3x1xf32>, tensor<1x3xf32>
      return %dx, %dw, %db : tensor<2x3xf32>, tensor<3x1xf32>, tensor<1x3xf32>
    })";
  auto results = evaluate(text, {floats({2, 3}, {1, 2, 3, 4, 5, 6}),
                                 floats({3, 1}, {1, 0, -1}),
                                 floats({1, 3}, {10, 20, 30})});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(numbers(results[0]), (Numbers{3, 0, -3, 3, 0, -3}));
  EXPECT_EQ(numbers(results[1]), (Numbers{15, 21, 27}));
  EXPECT_EQ(numbers(results[2]), (Numbers{2, 2, 2}));
}

TEST(Conventions, guardedAndClampedReads) {
  auto read = [](const std::string &how) {
    return "%y = tds.generic (%i) in (5) : tensor<5xf32> {\n"
           "%at = tds.apply affine_map<(d0) -> (d0 - 1)> (%i)\n"
           "%e = tds.read %x[%at] " +
           how +
           " : tensor<3xf32>\n"
           "tds.yield %e : f32 }";
  };
  for (const auto &[how, expected] :
       {std::pair("guard 7.0 : f32", Numbers{2, 4, 8}),
        std::pair("clamped", Numbers{3, 4, 24})}) {
    auto results =
        evaluate(gradientProgram({{"x", "tensor<3xf32>"}}, read(how),
                                 "tensor<5xf32>", 1, {{"x", "tensor<3xf32>"}}),
                 {floats({3}, {1, 1, 1}), floats({5}, {1, 2, 4, 8, 16})});
    ASSERT_EQ(results.size(), 1u);
    EXPECT_EQ(numbers(results[0]), expected) << how;
  }
}

TEST(Conventions, gathersOutOfRangeGetNothing) {
  std::string text =
      gradientProgram({{"t", "tensor<3xf32>"}, {"ids", "tensor<5xi32>"}},
                      R"(%y = tds.generic (%i) in (5) : tensor<5xf32> {
        %id = tds.read %ids[%i] : tensor<5xi32>
        %at = tds.cast %id : i32 to index
        %e = tds.read %t[%at] guard 0.0 : f32 : tensor<3xf32>
        tds.yield %e : f32 })",
                      "tensor<5xf32>", 1, {{"t", "tensor<3xf32>"}});
  auto results =
      evaluate(text, {floats({3}, {1, 1, 1}), ints({5}, {2, 0, -1, 2, 3}),
                      floats({5}, {1, 2, 4, 8, 16})});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(numbers(results[0]), (Numbers{2, 0, 9}));
}

TEST(Conventions, integersCarryNothing) {
  // y = x * float(k): dL/dx = k.
  std::string text =
      gradientProgram({{"x", "tensor<2xf32>"}, {"k", "tensor<2xi32>"}},
                      "%f = tds.cast %k : tensor<2xi32> to tensor<2xf32>\n"
                      "%y = tds.mul %x, %f : tensor<2xf32>",
                      "tensor<2xf32>", 1, {{"x", "tensor<2xf32>"}});
  auto results = evaluate(
      text, {floats({2}, {2, 2}), ints({2}, {3, 0}), floats({2}, {1, 1})});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(numbers(results[0]), (Numbers{3, 0}));
}
