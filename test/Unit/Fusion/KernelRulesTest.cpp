//===- KernelRulesTest.cpp - what a kernel of each kind may hold ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include "tdsl/Fusion/KernelRules.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::test;

/// What verifyKernelKind says of a kernel whose first factor `makes` makes, and
/// whose result `uses` uses; nothing where it is allowed.
static std::string check(StringRef makes, StringRef uses = "") {
  Context context;
  std::string said;
  ScopedDiagnosticHandler handler(&context.context,
                                  [&](Diagnostic &diagnostic) {
                                    said += diagnostic.str();
                                    return success();
                                  });
  auto module = context.parse((R"(
    func.func @f(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
      %r = tds.kernel "contract"(%x, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {
      ^bb0(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>):
        %g = tds.generic (%i, %j) in (4, 4) : tensor<4x4xf32> {
          %e = tds.read %a[%i, %j] : tensor<4x4xf32>
          %n = tds.neg %e : f32
          tds.yield %n : f32
        }
        )" + makes + R"(
        %c = tds.contract %f[0, 1], %b[1, 2] to [0, 2] : tensor<4x4xf32>, tensor<4x4xf32> to tensor<4x4xf32>
        %y = tds.generic (%i, %j) in (4, 4) : tensor<4x4xf32> {
          %e = tds.read %c[%i, %j] : tensor<4x4xf32>
          )" + (uses.empty() ? "%u = tds.neg %e : f32" : uses) +
                               R"(
          tds.yield %u : f32
        }
        tds.yield %y : tensor<4x4xf32>
      }
      return %r : tensor<4x4xf32>
    })")
                                  .str());
  if (!module)
    return "does not parse: " + said;
  bool isAllowed = true;
  module->walk([&](tds::KernelOp kernel) {
    isAllowed &= succeeded(verifyKernelKind(kernel));
  });
  EXPECT_EQ(isAllowed, said.empty());
  return said;
}

TEST(KernelRules, Prologues) {
  EXPECT_EQ(check(R"(%f = tds.generic (%i, %j) in (4, 4) : tensor<4x4xf32> {
          %e = tds.read %g[%i, %j] : tensor<4x4xf32>
          %n = tds.exp %e : f32
          tds.yield %n : f32
        })"),
            "");
  // What lies in memory is read anywhere, what is made in the kernel is not.
  EXPECT_EQ(check(R"(%f = tds.generic (%i, %j) in (4, 4) : tensor<4x4xf32> {
          %e = tds.read %a[%j, %i] : tensor<4x4xf32>
          tds.yield %e : f32
        })"),
            "");
  EXPECT_NE(check(R"(%f = tds.generic (%i, %j) in (4, 4) : tensor<4x4xf32> {
          %e = tds.read %g[%j, %i] : tensor<4x4xf32>
          tds.yield %e : f32
        })")
                .find("reads a tensor that is made in its kernel at other "
                      "indices than its own (kernel_c1)"),
            std::string::npos);
  EXPECT_NE(
      check(
          R"(%f = tds.generic (%i, %j) in (4, 4) sum (%k) in (4) : tensor<4x4xf32> {
          %e = tds.read %a[%i, %k] : tensor<4x4xf32>
          tds.yield %e : f32
        })")
          .find("makes a factor of a contraction, and reduces "
                "(kernel_c1)"),
      std::string::npos);
  EXPECT_NE(check(R"(%f = tds.generic (%i, %j) in (4, 4) : tensor<4x4xf32> {
          %e = tds.read %a[%i, %j] : tensor<4x4xf32>
          tds.yield %e : f32
        })",
                  R"(%k = tds.read %f[%i, %j] : tensor<4x4xf32>
          %u = tds.add %e, %k : f32)")
                .find("uses a tensor that is made for a factor of a "
                      "contraction (kernel_c1)"),
            std::string::npos);
}
