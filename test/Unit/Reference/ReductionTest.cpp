//===- ReductionTest.cpp - reductions against plain loops -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include <cmath>

using namespace tdsl;
using namespace tdsl::test;

namespace {

/// [rows, terms] reduced by a plain loop over doubles that rounds as the
/// accumulator of `kind` does.
Tensor plainSum(const Tensor &x, int64_t rows, int64_t terms) {
  Tensor result(x.kind(), {rows});
  for (int64_t row = 0; row < rows; ++row) {
    if (!reference::isFloat(x.kind())) {
      uint64_t sum = 0;
      for (int64_t t = 0; t < terms; ++t)
        sum += static_cast<uint64_t>(x.getInt(row * terms + t));
      result.set(row, static_cast<int64_t>(sum));
    } else if (x.kind() == ElementKind::F64) {
      double sum = 0;
      for (int64_t t = 0; t < terms; ++t)
        sum += x.getDouble(row * terms + t);
      result.set(row, sum);
    } else {
      float sum = 0;
      for (int64_t t = 0; t < terms; ++t)
        sum += static_cast<float>(x.getDouble(row * terms + t));
      result.set(row, static_cast<double>(sum));
    }
  }
  return result;
}

/// Many rows make rows the lanes, few make terms the lanes: both in order.
TEST(Reduction, SumsInOrder) {
  std::mt19937_64 random(1);
  for (ElementKind kind : allKinds) {
    if (kind == ElementKind::Bool)
      continue;
    for (auto [rows, terms] : {std::pair<int64_t, int64_t>(1, 1000),
                               {2, 257},
                               {31, 400},
                               {40, 300},
                               {600, 3},
                               {1, 1},
                               {3, 0},
                               {0, 3}}) {
      std::string type = typeOf(kind, {rows, terms});
      std::string result = typeOf(kind, {rows});
      Program program(
          "func.func @f(%x: " + type + ") -> (" + result + ", " + result +
          ") {\n%r = tds.reduce sum %x axes [1] : " + type + " to " + result +
          "\n%g = tds.generic (%i) in (" + std::to_string(rows) +
          ") sum (%k) in (" + std::to_string(terms) + ") : " + result +
          " {\n%v = tds.read %x[%i, %k] : " + type +
          "\ntds.yield %v : " + mlirName(kind) +
          "\n}\nreturn %r, %g : " + result + ", " + result + "\n}\n");
      Tensor x = ordinary(kind, {rows, terms}, random);
      auto results = program.run("f", x);
      ASSERT_EQ(results.size(), 2u);
      Tensor expected = plainSum(x, rows, terms);
      EXPECT_EQ(print(results[0]), print(expected)) << type;
      EXPECT_EQ(print(results[1]), print(expected)) << type;
    }
  }
}

TEST(Reduction, ExtremaAndPlaces) {
  std::mt19937_64 random(2);
  for (ElementKind kind : allKinds) {
    if (kind == ElementKind::Bool)
      continue;
    for (auto [rows, terms] :
         {std::pair<int64_t, int64_t>(1, 700), {5, 20}, {100, 9}}) {
      std::string type = typeOf(kind, {rows, terms});
      std::string value = typeOf(kind, {rows});
      std::string place = typeOf(ElementKind::I32, {rows});
      std::string text = "func.func @f(%x: " + type + ") -> (" + value + ", " +
                         value + ", " + place + ", " + place + ") {\n";
      for (const char *name : {"max", "min", "argmax", "argmin"})
        text += "%" + std::string(name) + " = tds.reduce " + name +
                " %x axes [1] : " + type + " to " +
                (name[0] == 'a' ? place : value) + "\n";
      text += "return %max, %min, %argmax, %argmin : " + value + ", " + value +
              ", " + place + ", " + place + "\n}\n";
      Program program(text);
      Tensor x = hostile(kind, {rows, terms}, random);
      auto results = program.run("f", x);
      ASSERT_EQ(results.size(), 4u);
      for (int64_t row = 0; row < rows; ++row) {
        int64_t high = 0, low = 0, first = row * terms;
        auto at = [&](int64_t t) { return x.getDouble(first + t); };
        auto exact = [&](int64_t t) { return x.getInt(first + t); };
        bool isFloat = reference::isFloat(kind);
        for (int64_t t = 1; t < terms; ++t) {
          bool nan = isFloat && std::isnan(at(t));
          if (!(isFloat && std::isnan(at(high))) &&
              (nan || (isFloat ? at(t) > at(high) : exact(t) > exact(high))))
            high = t;
          if (!(isFloat && std::isnan(at(low))) &&
              (nan || (isFloat ? at(t) < at(low) : exact(t) < exact(low))))
            low = t;
        }
        EXPECT_EQ(results[2].getInt(row), high) << type;
        EXPECT_EQ(results[3].getInt(row), low) << type;
        if (isFloat && std::isnan(at(high))) {
          EXPECT_TRUE(std::isnan(results[0].getDouble(row)));
          EXPECT_TRUE(std::isnan(results[1].getDouble(row)));
        } else {
          EXPECT_EQ(results[0].getDouble(row), at(high));
          EXPECT_EQ(results[1].getDouble(row), at(low));
        }
      }
    }
  }
}

/// A contraction is the generic that its documentation says, bit for bit, for
/// all kinds of axes: batch, rows, columns, shared and lone sums.
TEST(Reduction, ContractionsAreGenerics) {
  struct Shape {
    std::vector<int64_t> lhs, rhs, result;
  };
  const Shape shapes[] = {{{0, 2}, {2, 1}, {0, 1}},
                          {{2, 0}, {2, 1}, {1, 0}},
                          {{3, 0, 2}, {3, 2, 1}, {3, 0, 1}},
                          {{0, 2}, {1, 3}, {0, 1}},
                          {{2}, {2}, {}},
                          {{2, 3}, {3, 2}, {}},
                          {{0}, {1}, {1, 0}},
                          {{0, 2}, {2}, {0}},
                          {{}, {1}, {1}},
                          {{0, 1}, {0, 1}, {1, 0}}};
  const int64_t extents[] = {5, 37, 11, 3};
  std::mt19937_64 random(3);
  for (ElementKind kind : allKinds) {
    if (kind == ElementKind::Bool)
      continue;
    // With the operands' type and with the accumulator's as the result.
    ElementKind wide =
        kind == ElementKind::F16 || kind == ElementKind::BF16 ? ElementKind::F32
        : kind == ElementKind::I8 || kind == ElementKind::U8  ? ElementKind::I32
                                                              : kind;
    for (const Shape &shape : shapes)
      for (ElementKind resultKind : {kind, wide}) {
        auto extentsOf = [&](const std::vector<int64_t> &axes) {
          std::vector<int64_t> result;
          for (int64_t axis : axes)
            result.push_back(extents[axis]);
          return result;
        };
        auto list = [](llvm::ArrayRef<int64_t> values, const char *prefix) {
          std::string text;
          for (int64_t value : values)
            text += (text.empty() ? "" : ", ") + std::string(prefix) +
                    std::to_string(value);
          return text;
        };
        std::vector<int64_t> sums;
        for (const auto &axes : {shape.lhs, shape.rhs})
          for (int64_t axis : axes)
            if (!llvm::is_contained(shape.result, axis) &&
                !llvm::is_contained(sums, axis))
              sums.push_back(axis);
        std::string a = typeOf(kind, extentsOf(shape.lhs)),
                    b = typeOf(kind, extentsOf(shape.rhs)),
                    c = typeOf(resultKind, extentsOf(shape.result));
        std::string text =
            "func.func @f(%a: " + a + ", %b: " + b + ") -> (" + c + ", " + c +
            ") {\n%c = tds.contract %a[" + list(shape.lhs, "") + "], %b[" +
            list(shape.rhs, "") + "] to [" + list(shape.result, "") +
            "] : " + a + ", " + b + " to " + c + "\n%g = tds.generic (" +
            list(shape.result, "%i") + ") in (" +
            list(extentsOf(shape.result), "") + ")";
        if (!sums.empty())
          text += " sum (" + list(sums, "%i") + ") in (" +
                  list(extentsOf(sums), "") + ")";
        std::string scalar = mlirName(resultKind);
        text += " : " + c + " {\n%x = tds.read %a[" + list(shape.lhs, "%i") +
                "] : " + a + "\n%y = tds.read %b[" + list(shape.rhs, "%i") +
                "] : " + b + "\n";
        std::string x = "%x", y = "%y";
        if (resultKind != kind) {
          text += "%u = tds.cast %x : " + mlirName(kind) + " to " + scalar +
                  "\n%v = tds.cast %y : " + mlirName(kind) + " to " + scalar +
                  "\n";
          x = "%u";
          y = "%v";
        }
        text += "%p = tds.mul " + x + ", " + y + " : " + scalar +
                "\ntds.yield %p : " + scalar + "\n}\nreturn %c, %g : " + c +
                ", " + c + "\n}\n";
        Program program(text);
        auto results =
            program.run("f", {ordinary(kind, extentsOf(shape.lhs), random),
                              ordinary(kind, extentsOf(shape.rhs), random)});
        ASSERT_EQ(results.size(), 2u);
        EXPECT_EQ(print(results[0]), print(results[1])) << text;
      }
  }
}

/// One entry by hand: the fused products of a row, in order.
TEST(Reduction, ProductsAreFused) {
  std::mt19937_64 random(4);
  Program program("func.func @f(%a: tensor<900xf32>, %b: tensor<900xf32>) -> "
                  "tensor<f32> {\n%c = tds.contract %a[0], %b[0] to [] : "
                  "tensor<900xf32>, tensor<900xf32> to tensor<f32>\nreturn %c "
                  ": tensor<f32>\n}\n");
  Tensor a = ordinary(ElementKind::F32, {900}, random);
  Tensor b = ordinary(ElementKind::F32, {900}, random);
  float sum = 0;
  for (int64_t i = 0; i < 900; ++i)
    sum = std::fma(a.elements<float>()[i], b.elements<float>()[i], sum);
  EXPECT_EQ(program.run("f", {a, b})[0].elements<float>()[0], sum);
}

} // namespace
