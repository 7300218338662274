//===- RowKernelTest.cpp - reductions on the CPU -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelRunner.h"

#include "llvm/Support/FormatVariadic.h"

#include "gtest/gtest.h"

using namespace tdsl::test;
using llvm::formatv;

namespace {

/// Reduces a matrix along one of its axes.
std::string reduction(int rows, int columns, const char *kind, const char *type,
                      bool alongColumns) {
  bool isArg = llvm::StringRef(kind).starts_with("arg");
  std::string result = isArg ? "i32" : type;
  int outer = alongColumns ? columns : rows,
      inner = alongColumns ? rows : columns;
  return formatv(R"(
func.func private @k(%x: tensor<{0}x{1}x{2}>) -> tensor<{3}x{4}> {{
  %0 = tds.kernel "row" (%x) : (tensor<{0}x{1}x{2}>) -> tensor<{3}x{4}> {{
  ^bb0(%p: tensor<{0}x{1}x{2}>):
    %r = tds.generic (%i) in ({3}) {5} (%j) in ({6}) : tensor<{3}x{4}> {{
      %a = tds.read %p[{7}] : tensor<{0}x{1}x{2}>
      tds.yield %a : {2}
    }
    tds.yield %r : tensor<{3}x{4}>
  }
  return %0 : tensor<{3}x{4}>
})",
                 rows, columns, type, outer, result, kind, inner,
                 alongColumns ? "%j, %i" : "%i, %j")
      .str();
}

std::string softmax(int rows, int columns) {
  return formatv(R"(
func.func private @k(%x: tensor<{0}x{1}xf32>) -> (tensor<{0}x{1}xf32>, tensor<{0}xf32>) {{
  %0:2 = tds.kernel "row" (%x) : (tensor<{0}x{1}xf32>) -> (tensor<{0}x{1}xf32>, tensor<{0}xf32>) {{
  ^bb0(%p: tensor<{0}x{1}xf32>):
    %m = tds.generic (%i) in ({0}) max (%j) in ({1}) : tensor<{0}xf32> {{
      %a = tds.read %p[%i, %j] : tensor<{0}x{1}xf32>
      tds.yield %a : f32
    }
    %e = tds.generic (%i, %j) in ({0}, {1}) : tensor<{0}x{1}xf32> {{
      %a = tds.read %p[%i, %j] : tensor<{0}x{1}xf32>
      %b = tds.read %m[%i] : tensor<{0}xf32>
      %d = tds.sub %a, %b : f32
      %r = tds.exp %d : f32
      tds.yield %r : f32
    }
    %s = tds.generic (%i) in ({0}) sum (%j) in ({1}) : tensor<{0}xf32> {{
      %a = tds.read %e[%i, %j] : tensor<{0}x{1}xf32>
      tds.yield %a : f32
    }
    %l = tds.generic (%i) in ({0}) : tensor<{0}xf32> {{
      %a = tds.read %s[%i] : tensor<{0}xf32>
      %b = tds.log %a : f32
      tds.yield %b : f32
    }
    %y = tds.generic (%i, %j) in ({0}, {1}) : tensor<{0}x{1}xf32> {{
      %a = tds.read %e[%i, %j] : tensor<{0}x{1}xf32>
      %b = tds.read %s[%i] : tensor<{0}xf32>
      %d = tds.div %a, %b : f32
      tds.yield %d : f32
    }
    tds.yield %y, %l : tensor<{0}x{1}xf32>, tensor<{0}xf32>
  }
  return %0#0, %0#1 : tensor<{0}x{1}xf32>, tensor<{0}xf32>
})",
                 rows, columns)
      .str();
}

} // namespace

TEST(RowKernel, EveryKindAndType) {
  for (const char *type :
       {"f32", "f64", "f16", "bf16", "i32", "i8", "ui8", "i64"})
    for (const char *kind : {"sum", "prod", "max", "min", "argmax", "argmin"})
      for (bool along : {false, true}) {
        bool isSum =
            llvm::StringRef(kind) == "sum" || llvm::StringRef(kind) == "prod";
        bool isFloat = type[0] == 'f' || type[0] == 'b';
        bool isNarrow = llvm::StringRef(type).ends_with("16");
        double tolerance = !(isSum && isFloat) ? 0 : isNarrow ? 0.01 : 1e-5;
        checkKernel(reduction(7, 43, kind, type, along), tolerance,
                    /*hostile=*/tolerance == 0);
        if (testing::Test::HasFatalFailure())
          FAIL() << kind << " of " << type;
      }
}

TEST(RowKernel, TruthValues) {
  for (const char *kind : {"any", "all"})
    for (bool along : {false, true})
      checkKernel(reduction(5, 37, kind, "i1", along));
}

TEST(RowKernel, AnyShape) {
  const int shapes[][2] = {{1, 1},    {64, 10},  {3, 0},    {0, 5},
                           {1, 1000}, {1000, 1}, {257, 63}, {16, 64}};
  for (auto [rows, columns] : shapes)
    for (bool along : {false, true}) {
      checkKernel(reduction(rows, columns, "sum", "f32", along), 1e-5);
      checkKernel(reduction(rows, columns, "max", "f32", along), 0, true);
    }
}

TEST(RowKernel, Softmax) {
  const int shapes[][2] = {{64, 10}, {5, 100}, {3, 16}, {1, 1}, {2, 1000}};
  for (auto [rows, columns] : shapes)
    checkKernel(softmax(rows, columns), 1e-6);
}

TEST(RowKernel, SumsOfProductsAndScalars) {
  // A mean over two axes, of products.
  checkKernel(R"(
func.func private @k(%x: tensor<9x31xf32>, %y: tensor<9x31xf32>) -> tensor<f32> {
  %0 = tds.kernel "row" (%x, %y) : (tensor<9x31xf32>, tensor<9x31xf32>) -> tensor<f32> {
  ^bb0(%p: tensor<9x31xf32>, %q: tensor<9x31xf32>):
    %s = tds.generic () in () sum (%i, %j) in (9, 31) : tensor<f32> {
      %a = tds.read %p[%i, %j] : tensor<9x31xf32>
      %b = tds.read %q[%i, %j] : tensor<9x31xf32>
      %c = tds.mul %a, %b : f32
      tds.yield %c : f32
    }
    %m = tds.generic () in () : tensor<f32> {
      %a = tds.read %s[] : tensor<f32>
      %n = tds.constant 279.0 : f32
      %c = tds.div %a, %n : f32
      tds.yield %c : f32
    }
    tds.yield %m : tensor<f32>
  }
  return %0 : tensor<f32>
})",
              1e-5);
}
