//===- ScatterKernelTest.cpp - sums at computed places on the CPU -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelRunner.h"

#include "llvm/Support/FormatVariadic.h"

#include "gtest/gtest.h"

using namespace tdsl::test;
using llvm::formatv;

TEST(ScatterKernel, RowsOfATable) {
  for (const char *type : {"f32", "f16", "bf16", "f64", "i32"})
    for (int columns : {1, 8, 40})
      checkKernel(formatv(R"(
func.func private @k(%ids: tensor<300xi32>, %d: tensor<300x{0}x{1}>) -> tensor<15x{0}x{1}> {{
  %0 = tds.kernel "scatter" (%ids, %d) : (tensor<300xi32>, tensor<300x{0}x{1}>) -> tensor<15x{0}x{1}> {{
  ^bb0(%p: tensor<300xi32>, %q: tensor<300x{0}x{1}>):
    %s = tds.scatter (%i, %k) in (300, {0}) : tensor<15x{0}x{1}> {{
      %id = tds.read %p[%i] : tensor<300xi32>
      %at = tds.cast %id : i32 to index
      %v = tds.read %q[%i, %k] : tensor<300x{0}x{1}>
      tds.scatter_yield %v at [%at, %k] : {1}
    }
    tds.yield %s : tensor<15x{0}x{1}>
  }
  return %0 : tensor<15x{0}x{1}>
})",
                          columns, type)
                      .str());
}

TEST(ScatterKernel, PlacesOnOneAxis) {
  checkKernel(R"(
func.func private @k(%ids: tensor<300xi32>, %d: tensor<300xf32>) -> tensor<15xf32> {
  %0 = tds.kernel "scatter" (%ids, %d) : (tensor<300xi32>, tensor<300xf32>) -> tensor<15xf32> {
  ^bb0(%p: tensor<300xi32>, %q: tensor<300xf32>):
    %s = tds.scatter (%i) in (300) : tensor<15xf32> {
      %id = tds.read %p[%i] : tensor<300xi32>
      %at = tds.cast %id : i32 to index
      %v = tds.read %q[%i] : tensor<300xf32>
      tds.scatter_yield %v at [%at] : f32
    }
    tds.yield %s : tensor<15xf32>
  }
  return %0 : tensor<15xf32>
})");
}
