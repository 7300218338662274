//===- GradientCheckTest.cpp - the check finds wrong rules -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Catalogue.h"
#include "Programs.h"

#include <map>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::test;

static std::string report(llvm::StringRef text, bool &passes,
                          const std::string &scaleRule = "") {
  autodiff::GradientCheckOptions options;
  options.scaleRule = scaleRule;
  auto module = parse(text);
  std::string written;
  llvm::raw_string_ostream os(written);
  passes = module && succeeded(autodiff::checkGradients(*module, os, options));
  return written;
}

/// Scaled by 1.01, every rule makes some program of the catalogue fail, and the
/// report names the operation and its place.
TEST(GradientCheck, namesEveryScaledRule) {
  std::map<std::string, std::vector<const CatalogueEntry *>> byOp;
  for (const CatalogueEntry &entry : getCatalogue())
    byOp[entry.op].push_back(&entry);
  byOp.erase("tds.stop_gradient"); // its rule gives nothing to scale
  for (auto &[op, entries] : byOp) {
    bool found = false;
    for (const CatalogueEntry *entry : entries) {
      bool passes = false;
      std::string text = report(entry->program, passes, op + ":1.01");
      if (!passes && text.find("the derivative of '" + op + "' at test.tds:") !=
                         std::string::npos) {
        found = true;
        break;
      }
    }
    EXPECT_TRUE(found) << op;
  }
}

/// In a larger program the right operation is named, and no other.
TEST(GradientCheck, namesOnlyTheWrongOperation) {
  const char *text =
      R"(func.func @f(%x: tensor<4x6xf32>, %w: tensor<6x3xf32> {tds.input = "w"}) -> tensor<6x3xf32> {
    %h = tds.contract %x[0, 2], %w[2, 1] to [0, 1] : tensor<4x6xf32>, tensor<6x3xf32> to tensor<4x3xf32>
    %t = tds.tanh %h : tensor<4x3xf32>
    %e = tds.generic (%i) in (4) sum (%j) in (3) : tensor<4xf32> {
      %a = tds.read %t[%i, %j] : tensor<4x3xf32>
      %b = tds.exp %a : f32
      %c = tds.sin %b : f32
      tds.yield %c : f32
    }
    %l = tds.reduce sum %e axes [0] : tensor<4xf32> to tensor<f32>
    %g = tds.gradient %l wrt %w : tensor<f32> wrt tensor<6x3xf32>
    return %g : tensor<6x3xf32>
  })";
  bool passes = false;
  report(text, passes);
  EXPECT_TRUE(passes);
  for (auto [op, place] :
       {std::pair("tds.contract", "2:"), std::pair("tds.tanh", "3:"),
        std::pair("tds.exp", "6:"), std::pair("tds.sin", "7:"),
        std::pair("tds.generic", "4:"), std::pair("tds.reduce", "10:")}) {
    std::string written = report(text, passes, std::string(op) + ":1.01");
    EXPECT_FALSE(passes) << op;
    EXPECT_NE(written.find("the derivative of '" + std::string(op) +
                           "' at test.tds:" + place),
              std::string::npos)
        << written;
    size_t first = written.find("the derivative of");
    EXPECT_EQ(written.find("the derivative of", first + 1), std::string::npos)
        << written;
  }
}

static const char *kCustom = R"(
  func.func private @swish(%x: tensor<5xf32>) -> tensor<5xf32> attributes {tds.vjp = @swish_vjp} {
    %s = tds.sigmoid %x : tensor<5xf32>
    %r = tds.mul %x, %s : tensor<5xf32>
    return %r : tensor<5xf32>
  }
  func.func private @swish_vjp(%x: tensor<5xf32>, %y: tensor<5xf32>, %dy: tensor<5xf32>) -> tensor<5xf32> {
    %one = tds.constant dense<FACTOR> : tensor<5xf32>
    %s = tds.sigmoid %x : tensor<5xf32>
    %n = tds.sub %one, %s : tensor<5xf32>
    %p = tds.mul %y, %n : tensor<5xf32>
    %q = tds.add %s, %p : tensor<5xf32>
    %r = tds.mul %dy, %q : tensor<5xf32>
    return %r : tensor<5xf32>
  }
  func.func @f(%x: tensor<5xf32> {tds.input = "x"}, %w: tensor<5xf32>) -> tensor<5xf32> {
    %y = call @swish(%x) : (tensor<5xf32>) -> tensor<5xf32>
    %p = tds.mul %y, %w : tensor<5xf32>
    %l = tds.reduce sum %p axes [0] : tensor<5xf32> to tensor<f32>
    %g = tds.gradient %l wrt %x : tensor<f32> wrt tensor<5xf32>
    %q = tds.mul %g, %g : tensor<5xf32>
    %m = tds.reduce sum %q axes [0] : tensor<5xf32> to tensor<f32>
    %h = tds.gradient %m wrt %x : tensor<f32> wrt tensor<5xf32>
    return %h : tensor<5xf32>
  })";

TEST(GradientCheck, checksCustomDerivatives) {
  std::string text = kCustom;
  size_t at = text.find("FACTOR");
  bool passes = false;
  std::string written =
      report(text.substr(0, at) + "1.0" + text.substr(at + 6), passes);
  EXPECT_TRUE(passes) << written;
  written = report(text.substr(0, at) + "1.0" + text.substr(at + 6), passes,
                   "func.call:1.01");
  EXPECT_FALSE(passes);
  EXPECT_NE(written.find("the vjp of 'swish'"), std::string::npos) << written;
  written = report(text.substr(0, at) + "1.1" + text.substr(at + 6), passes);
  EXPECT_FALSE(passes);
  EXPECT_NE(written.find("the vjp of 'swish'"), std::string::npos) << written;
}

TEST(GradientCheck, reportsZeroGradients) {
  bool passes = true;
  std::string written = report(R"(
    func.func @f(%x: tensor<5xf32> {tds.input = "x"}, %z: tensor<5xf32> {tds.input = "z"}) -> (tensor<5xf32>, tensor<5xf32>) {
      %l = tds.reduce sum %x axes [0] : tensor<5xf32> to tensor<f32>
      %g, %h = tds.gradient %l wrt %x, %z : tensor<f32> wrt tensor<5xf32>, tensor<5xf32>
      return %g, %h : tensor<5xf32>, tensor<5xf32>
    })",
                               passes);
  EXPECT_FALSE(passes);
  EXPECT_NE(written.find("0 in every direction"), std::string::npos) << written;
  EXPECT_NE(written.find("0 wrong, 1 with a variable of gradient 0"),
            std::string::npos)
      << written;
}

TEST(GradientCheck, saysWhyNothingWasCompared) {
  bool passes = true;
  std::string written = report(R"(
    func.func @f(%x: tensor<5xf32> {tds.input = "x"}) -> tensor<5xf32> {
      %big = tds.constant dense<1.0e30> : tensor<5xf32>
      %y = tds.mul %x, %big : tensor<5xf32>
      %e = tds.exp %y : tensor<5xf32>
      %l = tds.reduce sum %e axes [0] : tensor<5xf32> to tensor<f32>
      %g = tds.gradient %l wrt %x : tensor<f32> wrt tensor<5xf32>
      return %g : tensor<5xf32>
    })",
                               passes);
  EXPECT_FALSE(passes);
  EXPECT_NE(written.find("not compared: the loss is not finite"),
            std::string::npos)
      << written;
}

TEST(GradientCheck, drawsIndicesInsideOfTheTensor) {
  // Through a reshape and an index definition; an index outside would read 0
  // and leave a variable without gradient.
  EXPECT_TRUE(checks(R"(
    func.func @f(%t: tensor<2xf32> {tds.input = "t"}, %ids: tensor<2x3xi32>) -> tensor<2xf32> {
      %flat = tds.reshape %ids : tensor<2x3xi32> to tensor<6xi32>
      %next = tds.generic (%i) in (6) : tensor<6xi32> {
        %id = tds.read %flat[%i] : tensor<6xi32>
        tds.yield %id : i32
      }
      %y = tds.generic () in () sum (%i) in (6) : tensor<f32> {
        %id = tds.read %next[%i] : tensor<6xi32>
        %at = tds.cast %id : i32 to index
        %e = tds.read %t[%at] : tensor<2xf32>
        %s = tds.sin %e : f32
        tds.yield %s : f32
      }
      %g = tds.gradient %y wrt %t : tensor<f32> wrt tensor<2xf32>
      return %g : tensor<2xf32>
    })"));
}

TEST(GradientCheck, holdsStoppedValues) {
  EXPECT_TRUE(checks(R"(
    func.func @f(%x: tensor<3x4xf32> {tds.input = "x"}) -> tensor<3x4xf32> {
      %m = tds.generic (%i) in (3) max (%j) in (4) : tensor<3xf32> {
        %a = tds.read %x[%i, %j] : tensor<3x4xf32>
        %s = tds.stop_gradient %a : f32
        tds.yield %s : f32
      }
      %l = tds.generic () in () sum (%i, %j) in (3, 4) : tensor<f32> {
        %a = tds.read %x[%i, %j] : tensor<3x4xf32>
        %b = tds.read %m[%i] : tensor<3xf32>
        %p = tds.mul %a, %b : f32
        tds.yield %p : f32
      }
      %g = tds.gradient %l wrt %x : tensor<f32> wrt tensor<3x4xf32>
      return %g : tensor<3x4xf32>
    })"));
}

/// Where the loss jumps within the smallest step, other arguments are tried: of
/// these 200 numbers one is that close to a jump at many a seed.
TEST(GradientCheck, drawsOtherArgumentsWhereTheLossJumps) {
  const char *text =
      R"(func.func @f(%x: tensor<200xf32>) -> tensor<200xf32> {
    %y = tds.generic (%i) in (200) : tensor<200xf32> {
      %a = tds.read %x[%i] : tensor<200xf32>
      %c = tds.constant 1.0e+02 : f32
      %b = tds.mul %a, %c : f32
      %f = tds.floor %b : f32
      %s = tds.add %a, %f : f32
      tds.yield %s : f32
    }
    %l = tds.reduce sum %y axes [0] : tensor<200xf32> to tensor<f32>
    %g = tds.gradient %l wrt %x : tensor<f32> wrt tensor<200xf32>
    return %g : tensor<200xf32>
  })";
  for (uint64_t seed = 0; seed < 40; ++seed) {
    autodiff::GradientCheckOptions options;
    options.seed = seed;
    auto module = parse(text);
    ASSERT_TRUE(module);
    std::string written;
    llvm::raw_string_ostream os(written);
    EXPECT_TRUE(succeeded(autodiff::checkGradients(*module, os, options)))
        << "seed " << seed << "\n"
        << written;
    // A wrong rule is found all the same.
    options.scaleRule = "tds.add:1.01";
    EXPECT_FALSE(succeeded(autodiff::checkGradients(*module, os, options)))
        << "seed " << seed;
  }
}
