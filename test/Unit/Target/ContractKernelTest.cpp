//===- ContractKernelTest.cpp - matrix products on the CPU -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelRunner.h"

#include "llvm/Support/FormatVariadic.h"

#include "gtest/gtest.h"

using namespace tdsl::test;
using llvm::formatv;

namespace {

std::string contraction(const std::string &left, const std::string &right,
                        const std::string &result, const char *axes) {
  return formatv(R"(
func.func private @k(%x: tensor<{0}>, %y: tensor<{1}>) -> tensor<{2}> {{
  %0 = tds.kernel "contract" (%x, %y) : (tensor<{0}>, tensor<{1}>) -> tensor<{2}> {{
  ^bb0(%p: tensor<{0}>, %q: tensor<{1}>):
    %c = tds.contract {3} : tensor<{0}>, tensor<{1}> to tensor<{2}>
    tds.yield %c : tensor<{2}>
  }
  return %0 : tensor<{2}>
})",
                 left, right, result, axes)
      .str();
}

std::string matrix(int rows, int columns, const char *type) {
  return formatv("{0}x{1}x{2}", rows, columns, type).str();
}

const char *sumType(llvm::StringRef type) {
  if (type == "f16" || type == "bf16")
    return "f32";
  if (type == "i8" || type == "ui8")
    return "i32";
  return type == "f32"   ? "f32"
         : type == "f64" ? "f64"
         : type == "i32" ? "i32"
                         : "i64";
}

} // namespace

// Matrix products sum in the order of the evaluator: the bits are equal.
TEST(ContractKernel, EveryLayout) {
  const int sizes[][3] = {{16, 32, 64},  {64, 256, 784}, {7, 5, 300},
                          {100, 10, 64}, {33, 65, 129},  {4, 48, 37},
                          {300, 70, 40}};
  for (auto [m, n, k] : sizes) {
    std::string a = matrix(m, k, "f32"), at = matrix(k, m, "f32");
    std::string b = matrix(k, n, "f32"), bt = matrix(n, k, "f32");
    std::string c = matrix(m, n, "f32"), ct = matrix(n, m, "f32");
    checkKernel(contraction(a, b, c, "%p[0, 2], %q[2, 1] to [0, 1]"));
    checkKernel(contraction(at, b, c, "%p[2, 0], %q[2, 1] to [0, 1]"));
    checkKernel(contraction(a, bt, c, "%p[0, 2], %q[1, 2] to [0, 1]"));
    checkKernel(contraction(at, bt, c, "%p[2, 0], %q[1, 2] to [0, 1]"));
    checkKernel(contraction(a, b, ct, "%p[0, 2], %q[2, 1] to [1, 0]"));
    if (testing::Test::HasFailure())
      FAIL() << m << " x " << n << " x " << k;
  }
}

// Code for x86-64-v3 has functions for AVX-512 where the columns fit, and only
// there.
TEST(ContractKernel, WideVectors) {
  auto hasWide = [&](int n, const char *arch) {
    std::string a = matrix(24, 40, "f32"), b = matrix(40, n, "f32");
    KernelRunner runner(
        contraction(a, b, matrix(24, n, "f32"), "%p[0, 2], %q[2, 1] to [0, 1]"),
        arch);
    return runner.isLoaded() && runner.refuseWideVectors();
  };
  EXPECT_TRUE(hasWide(64, "x86-64-v3"));
  EXPECT_FALSE(hasWide(8, "x86-64-v3"));
  if (canRun("x86-64-v4"))
    EXPECT_FALSE(hasWide(64, "x86-64-v4"));
}

TEST(ContractKernel, EveryType) {
  for (const char *type : {"f64", "f16", "bf16", "i32", "i64", "i8", "ui8"}) {
    std::string c = matrix(20, 40, sumType(type));
    checkKernel(contraction(matrix(20, 30, type), matrix(30, 40, type), c,
                            "%p[0, 2], %q[2, 1] to [0, 1]"));
    checkKernel(contraction(matrix(30, 20, type), matrix(40, 30, type), c,
                            "%p[2, 0], %q[1, 2] to [0, 1]"));
    if (testing::Test::HasFailure())
      FAIL() << type;
  }
  // Rounded once, at the end.
  for (const char *type : {"f16", "bf16", "i8"})
    checkKernel(contraction(matrix(20, 30, type), matrix(30, 40, type),
                            matrix(20, 40, type),
                            "%p[0, 2], %q[2, 1] to [0, 1]"));
}

TEST(ContractKernel, OddForms) {
  // Batched, permuted, several axes of each sort, none of some.
  checkKernel(contraction("3x16x20xf32", "3x20x24xf32", "3x16x24xf32",
                          "%p[0, 1, 2], %q[0, 2, 3] to [0, 1, 3]"));
  checkKernel(contraction("16x3x20xf32", "20x24x3xf32", "16x3x24xf32",
                          "%p[1, 0, 2], %q[2, 3, 0] to [1, 0, 3]"));
  checkKernel(contraction("4x5x6x7xf32", "6x7x8x9xf32", "4x5x8x9xf32",
                          "%p[0, 1, 2, 3], %q[2, 3, 4, 5] to [0, 1, 4, 5]"));
  checkKernel(contraction("4x6x5x7xf32", "7x8x6x9xf32", "5x9x4x8xf32",
                          "%p[0, 2, 1, 3], %q[3, 4, 2, 5] to [1, 5, 0, 4]"));
  checkKernel(contraction("16x24xf32", "16x24xf32", "24xf32",
                          "%p[0, 1], %q[0, 1] to [1]"),
              1e-5);
  checkKernel(
      contraction("40xf32", "50xf32", "40x50xf32", "%p[0], %q[1] to [0, 1]"));
  checkKernel(contraction("1x700xf32", "700x300xf32", "1x300xf32",
                          "%p[0, 2], %q[2, 1] to [0, 1]"));
  checkKernel(contraction("700xf32", "300x700xf32", "300xf32",
                          "%p[0], %q[1, 0] to [1]"),
              1e-5);
  checkKernel(contraction("5x0xf32", "0x7xf32", "5x7xf32",
                          "%p[0, 2], %q[2, 1] to [0, 1]"));
  checkKernel(contraction("0x8xf32", "8x7xf32", "0x7xf32",
                          "%p[0, 2], %q[2, 1] to [0, 1]"));
  // An axis that only one operand has is summed too.
  checkKernel(contraction("20x30x4xf32", "30x40xf32", "20x40xf32",
                          "%p[0, 2, 3], %q[2, 1] to [0, 1]"),
              1e-5);
}

TEST(ContractKernel, WithEpilogue) {
  const int sizes[][2] = {{64, 256}, {63, 10}, {40, 100}, {1, 50}};
  for (auto [m, n] : sizes)
    checkKernel(formatv(R"(
func.func private @k(%x: tensor<{0}x90xf32>, %y: tensor<90x{1}xf32>, %b: tensor<{1}xf32>) -> (tensor<{0}x{1}xf32>, tensor<{0}x{1}xi1>) {{
  %0:2 = tds.kernel "contract" (%x, %y, %b) : (tensor<{0}x90xf32>, tensor<90x{1}xf32>, tensor<{1}xf32>) -> (tensor<{0}x{1}xf32>, tensor<{0}x{1}xi1>) {{
  ^bb0(%p: tensor<{0}x90xf32>, %q: tensor<90x{1}xf32>, %r: tensor<{1}xf32>):
    %c = tds.contract %p[0, 2], %q[2, 1] to [0, 1] : tensor<{0}x90xf32>, tensor<90x{1}xf32> to tensor<{0}x{1}xf32>
    %g = tds.generic (%i, %j) in ({0}, {1}) : tensor<{0}x{1}xf32> {{
      %a = tds.read %c[%i, %j] : tensor<{0}x{1}xf32>
      %d = tds.read %r[%j] : tensor<{1}xf32>
      %s = tds.add %a, %d : f32
      %z = tds.constant 0.0 : f32
      %m = tds.max %s, %z : f32
      tds.yield %m : f32
    }
    %t = tds.generic (%i, %j) in ({0}, {1}) : tensor<{0}x{1}xi1> {{
      %a = tds.read %g[%i, %j] : tensor<{0}x{1}xf32>
      %z = tds.constant 0.0 : f32
      %m = tds.compare gt %a, %z : f32
      tds.yield %m : i1
    }
    tds.yield %g, %t : tensor<{0}x{1}xf32>, tensor<{0}x{1}xi1>
  }
  return %0#0, %0#1 : tensor<{0}x{1}xf32>, tensor<{0}x{1}xi1>
})",
                        m, n)
                    .str(),
                1e-5);
}

TEST(ContractKernel, HostileValues) {
  checkKernel(contraction("24x30xf32", "30x40xf32", "24x40xf32",
                          "%p[0, 2], %q[2, 1] to [0, 1]"),
              0, /*hostile=*/true);
}

namespace {

/// A kernel that multiplies window `map` (over `axes`) of x with f.
std::string windows(const std::string &x, const char *axes, const char *map,
                    const std::string &f, const char *rightAxes,
                    const std::string &result, const char *resultAxes,
                    const char *type = "f32") {
  return formatv(R"(
func.func private @k(%x: tensor<{0}x{7}>, %y: tensor<{3}x{7}>) -> tensor<{5}x{8}> {{
  %0 = tds.kernel "contract" (%x, %y) : (tensor<{0}x{7}>, tensor<{3}x{7}>) -> tensor<{5}x{8}> {{
  ^bb0(%p: tensor<{0}x{7}>, %q: tensor<{3}x{7}>):
    %c = tds.contract %p{1}, %q{4} to {6} {{lhs_map = affine_map<{2}>} : tensor<{0}x{7}>, tensor<{3}x{7}> to tensor<{5}x{8}>
    tds.yield %c : tensor<{5}x{8}>
  }
  return %0 : tensor<{5}x{8}>
})",
                 x, axes, map, f, rightAxes, result, resultAxes, type,
                 sumType(type))
      .str();
}

} // namespace

// A convolution, strided and dilated ones, and the derivatives of a plain one:
// by the filters, and by the image with steps back.
TEST(ContractKernel, Windows) {
  checkKernel(windows("3x4x12x11", "[0, 2, 3, 4, 5, 6]",
                      "(d0, d1, d2, d3, d4, d5) -> (d0, d3, d1 + d4, d2 + d5)",
                      "8x4x5x4", "[1, 4, 5, 6]", "3x8x8x8", "[0, 1, 2, 3]"));
  checkKernel(
      windows("2x3x15x16", "[0, 2, 3, 4, 5, 6]",
              "(d0, d1, d2, d3, d4, d5) -> (d0, d3, 2 * d1 + d4, 3 * d2 + d5)",
              "6x3x3x4", "[1, 4, 5, 6]", "2x6x7x5", "[0, 1, 2, 3]"));
  checkKernel(windows(
      "2x3x16x20", "[0, 2, 3, 4, 5, 6]",
      "(d0, d1, d2, d3, d4, d5) -> (d0, d3, d1 + 2 * d4 + 1, d2 + 3 * d5)",
      "5x3x3x3", "[1, 4, 5, 6]", "2x5x10x14", "[0, 1, 2, 3]"));
  checkKernel(windows("6x3x12x12", "[4, 1, 2, 3, 5, 6]",
                      "(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2 + d4, d3 + d5)",
                      "6x8x8x8", "[4, 0, 5, 6]", "8x3x5x5", "[0, 1, 2, 3]"));
  checkKernel(
      windows("3x8x12x12", "[0, 2, 3, 4, 5, 6]",
              "(d0, d1, d2, d3, d4, d5) -> (d0, d3, d1 - d4 + 4, d2 - d5 + 4)",
              "8x5x5x5", "[4, 1, 5, 6]", "3x5x8x8", "[0, 1, 2, 3]"));
  // Images with the channels last, and one axis.
  checkKernel(windows("3x12x11x4", "[0, 1, 2, 6, 4, 5]",
                      "(d0, d1, d2, d3, d4, d5) -> (d0, d1 + d4, d2 + d5, d3)",
                      "5x4x4x24", "[4, 5, 6, 3]", "3x8x8x24", "[0, 1, 2, 3]"));
  checkKernel(windows("5x300", "[0, 1, 3]", "(d0, d1, d2) -> (d0, 4 * d1 + d2)",
                      "40x16", "[2, 3]", "5x72x40", "[0, 1, 2]"));
}

TEST(ContractKernel, WindowsOfEveryType) {
  for (const char *type : {"f64", "f16", "bf16", "i32", "i8"}) {
    checkKernel(
        windows("2x3x10x10", "[0, 2, 3, 4, 5, 6]",
                "(d0, d1, d2, d3, d4, d5) -> (d0, d3, d1 + d4, d2 + d5)",
                "8x3x3x3", "[1, 4, 5, 6]", "2x8x8x8", "[0, 1, 2, 3]", type));
    if (testing::Test::HasFailure())
      FAIL() << type;
  }
}

// Operations behind the product that run over the merged axes of an image, and
// one that wants its axes apart.
TEST(ContractKernel, WindowsWithEpilogue) {
  const char *text = R"(
func.func private @k(%x: tensor<2x3x12x13xf32>, %f: tensor<8x3x3x3xf32>, %b: tensor<8xf32>, %s: tensor<{0}xf32>) -> (tensor<2x8x10x11xf32>, tensor<2x8x10x11xf32>) {
  %0:2 = tds.kernel "contract" (%x, %f, %b, %s) : (tensor<2x3x12x13xf32>, tensor<8x3x3x3xf32>, tensor<8xf32>, tensor<{0}xf32>) -> (tensor<2x8x10x11xf32>, tensor<2x8x10x11xf32>) {
  ^bb0(%p: tensor<2x3x12x13xf32>, %q: tensor<8x3x3x3xf32>, %v: tensor<8xf32>, %w: tensor<{0}xf32>):
    %c = tds.contract %p[0, 2, 3, 4, 5, 6], %q[1, 4, 5, 6] to [0, 1, 2, 3] {lhs_map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d1 + d4, d2 + d5)>} : tensor<2x3x12x13xf32>, tensor<8x3x3x3xf32> to tensor<2x8x10x11xf32>
    %e = tds.generic (%i, %j, %k, %l) in (2, 8, 10, 11) : tensor<2x8x10x11xf32> {
      %1 = tds.read %c[%i, %j, %k, %l] : tensor<2x8x10x11xf32>
      %2 = tds.read %v[%j] : tensor<8xf32>
      %3 = tds.read %w[{1}] : tensor<{0}xf32>
      %4 = tds.add %1, %2 : f32
      %5 = tds.mul %4, %3 : f32
      tds.yield %5 : f32
    }
    tds.yield %c, %e : tensor<2x8x10x11xf32>, tensor<2x8x10x11xf32>
  }
  return %0#0, %0#1 : tensor<2x8x10x11xf32>, tensor<2x8x10x11xf32>
})";
  auto fill = [&](std::string shape, std::string indices) {
    std::string result = text;
    for (const auto &[key, value] :
         {std::pair("{0}", shape), std::pair("{1}", indices)})
      for (size_t at; (at = result.find(key)) != std::string::npos;)
        result.replace(at, 3, value);
    return result;
  };
  checkKernel(fill("2x8x10x11", "%i, %j, %k, %l"));
  checkKernel(fill("11", "%l"));
}
