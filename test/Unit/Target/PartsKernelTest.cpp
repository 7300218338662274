//===- PartsKernelTest.cpp - kernels side by side on CPU and GPU -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelRunner.h"

#include "gtest/gtest.h"

using namespace tdsl::test;

// Parts of every kind, most of them with shared memory and barriers of their
// own: two contractions with tiles of both sizes, rows that a warp holds, rows
// that a block holds, a serial row, a loop, a scatter.
TEST(PartsKernel, EveryKind) {
  checkKernel(R"(
func.func private @k(%x: tensor<70x40xf32>, %y: tensor<40x33xf32>, %z: tensor<7x1500xf32>, %ids: tensor<70xi32>)
    -> (tensor<70x33xf32>, tensor<70xf32>, tensor<7xf32>, tensor<70x40xf32>, tensor<15x40xf32>, tensor<40x40xf32>, tensor<40xf32>) {
  %0:7 = tds.kernel "parts" (%x, %y, %z, %ids) : (tensor<70x40xf32>, tensor<40x33xf32>, tensor<7x1500xf32>, tensor<70xi32>)
      -> (tensor<70x33xf32>, tensor<70xf32>, tensor<7xf32>, tensor<70x40xf32>, tensor<15x40xf32>, tensor<40x40xf32>, tensor<40xf32>) {
  ^bb0(%a: tensor<70x40xf32>, %b: tensor<40x33xf32>, %c: tensor<7x1500xf32>, %d: tensor<70xi32>):
    %p0 = tds.kernel "contract" (%a, %b) : (tensor<70x40xf32>, tensor<40x33xf32>) -> tensor<70x33xf32> {
    ^bb0(%m: tensor<70x40xf32>, %n: tensor<40x33xf32>):
      %r = tds.contract %m[0, 2], %n[2, 1] to [0, 1] : tensor<70x40xf32>, tensor<40x33xf32> to tensor<70x33xf32>
      tds.yield %r : tensor<70x33xf32>
    }
    %p1 = tds.kernel "row" (%a) : (tensor<70x40xf32>) -> tensor<70xf32> {
    ^bb0(%m: tensor<70x40xf32>):
      %r = tds.generic (%i) in (70) max (%j) in (40) : tensor<70xf32> {
        %v = tds.read %m[%i, %j] : tensor<70x40xf32>
        tds.yield %v : f32
      }
      tds.yield %r : tensor<70xf32>
    }
    %p2 = tds.kernel "row" (%c) : (tensor<7x1500xf32>) -> tensor<7xf32> {
    ^bb0(%m: tensor<7x1500xf32>):
      %r = tds.generic (%i) in (7) min (%j) in (1500) : tensor<7xf32> {
        %v = tds.read %m[%i, %j] : tensor<7x1500xf32>
        tds.yield %v : f32
      }
      tds.yield %r : tensor<7xf32>
    }
    %p3 = tds.kernel "loop" (%a) : (tensor<70x40xf32>) -> tensor<70x40xf32> {
    ^bb0(%m: tensor<70x40xf32>):
      %r = tds.generic (%i, %j) in (70, 40) : tensor<70x40xf32> {
        %v = tds.read %m[%i, %j] : tensor<70x40xf32>
        %w = tds.mul %v, %v : f32
        tds.yield %w : f32
      }
      tds.yield %r : tensor<70x40xf32>
    }
    %p4 = tds.kernel "scatter" (%d, %a) : (tensor<70xi32>, tensor<70x40xf32>) -> tensor<15x40xf32> {
    ^bb0(%m: tensor<70xi32>, %n: tensor<70x40xf32>):
      %r = tds.scatter (%i, %j) in (70, 40) : tensor<15x40xf32> {
        %u = tds.read %m[%i] : tensor<70xi32>
        %at = tds.cast %u : i32 to index
        %v = tds.read %n[%i, %j] : tensor<70x40xf32>
        tds.scatter_yield %v at [%at, %j] : f32
      }
      tds.yield %r : tensor<15x40xf32>
    }
    %p5 = tds.kernel "contract" (%a) : (tensor<70x40xf32>) -> tensor<40x40xf32> {
    ^bb0(%m: tensor<70x40xf32>):
      %q = tds.contract %m[2, 0], %m[2, 1] to [0, 1] : tensor<70x40xf32>, tensor<70x40xf32> to tensor<40x40xf32>
      %r = tds.generic (%i, %j) in (40, 40) : tensor<40x40xf32> {
        %v = tds.read %q[%i, %j] : tensor<40x40xf32>
        %one = tds.constant 1.0 : f32
        %w = tds.max %v, %one : f32
        tds.yield %w : f32
      }
      tds.yield %r : tensor<40x40xf32>
    }
    %p6 = tds.kernel "row" (%a) : (tensor<70x40xf32>) -> tensor<40xf32> {
    ^bb0(%m: tensor<70x40xf32>):
      %r = tds.generic (%j) in (40) max (%i) in (70) : tensor<40xf32> {
        %v = tds.read %m[%i, %j] : tensor<70x40xf32>
        tds.yield %v : f32
      }
      tds.yield %r : tensor<40xf32>
    }
    tds.yield %p0, %p1, %p2, %p3, %p4, %p5, %p6
      : tensor<70x33xf32>, tensor<70xf32>, tensor<7xf32>, tensor<70x40xf32>, tensor<15x40xf32>, tensor<40x40xf32>, tensor<40xf32>
  }
  return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6
    : tensor<70x33xf32>, tensor<70xf32>, tensor<7xf32>, tensor<70x40xf32>, tensor<15x40xf32>, tensor<40x40xf32>, tensor<40xf32>
})",
              1e-5);
}

// Two parts that write in the place of their inputs, and one that does not: a
// row writes when all its threads have read.
TEST(PartsKernel, InPlace) {
  checkKernel(R"(
func.func private @k(%x: tensor<300xf32>, %s: tensor<5xf32>, %z: tensor<5x2100xf32>) -> (tensor<300xf32>, tensor<5xf32>, tensor<5x2100xf32>)
    attributes {plan.in_place = array<i64: 0, 1, -1>} {
  %0:3 = tds.kernel "parts" (%x, %s, %z) : (tensor<300xf32>, tensor<5xf32>, tensor<5x2100xf32>) -> (tensor<300xf32>, tensor<5xf32>, tensor<5x2100xf32>) {
  ^bb0(%a: tensor<300xf32>, %b: tensor<5xf32>, %c: tensor<5x2100xf32>):
    %p0 = tds.kernel "loop" (%a) : (tensor<300xf32>) -> tensor<300xf32> {
    ^bb0(%m: tensor<300xf32>):
      %r = tds.generic (%i) in (300) : tensor<300xf32> {
        %v = tds.read %m[%i] : tensor<300xf32>
        %w = tds.add %v, %v : f32
        tds.yield %w : f32
      }
      tds.yield %r : tensor<300xf32>
    }
    %p1:2 = tds.kernel "row" (%b, %c) : (tensor<5xf32>, tensor<5x2100xf32>) -> (tensor<5xf32>, tensor<5x2100xf32>) {
    ^bb0(%m: tensor<5xf32>, %n: tensor<5x2100xf32>):
      %t = tds.generic (%i) in (5) max (%j) in (2100) : tensor<5xf32> {
        %v = tds.read %n[%i, %j] : tensor<5x2100xf32>
        tds.yield %v : f32
      }
      %r = tds.generic (%i) in (5) : tensor<5xf32> {
        %v = tds.read %m[%i] : tensor<5xf32>
        %w = tds.read %t[%i] : tensor<5xf32>
        %u = tds.add %v, %w : f32
        tds.yield %u : f32
      }
      %f = tds.generic (%i, %j) in (5, 2100) : tensor<5x2100xf32> {
        %v = tds.read %n[%i, %j] : tensor<5x2100xf32>
        %w = tds.read %m[%i] : tensor<5xf32>
        %u = tds.mul %v, %w : f32
        tds.yield %u : f32
      }
      tds.yield %r, %f : tensor<5xf32>, tensor<5x2100xf32>
    }
    tds.yield %p0, %p1#0, %p1#1 : tensor<300xf32>, tensor<5xf32>, tensor<5x2100xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<300xf32>, tensor<5xf32>, tensor<5x2100xf32>
})");
}

// Parts that are alike are one function on the GPU: with other buffers, in the
// place of their inputs or not, with shared memory and barriers, with other
// numbers in their bodies.
TEST(PartsKernel, Alike) {
  std::string
      loop = R"(tds.kernel "loop" (%X) : (tensor<301xf32>) -> tensor<301xf32> {
    ^bb0(%m: tensor<301xf32>):
      %r = tds.generic (%i) in (301) : tensor<301xf32> {
        %v = tds.read %m[%i] : tensor<301xf32>
        %n = tds.constant FACTOR : f32
        %w = tds.mul %v, %n : f32
        %s = tds.constant 3 : i64
        %at = tds.apply affine_map<(d0) -> (d0)> (%i)
        %q = tds.random uniform %s, %s, %at {site = SITE : i32} : f32
        %z0 = tds.add %w, %q : f32
        tds.yield %z0 : f32
      }
      tds.yield %r : tensor<301xf32>
    })",
      row = R"(tds.kernel "row" (%X) : (tensor<3x1500xf32>) -> (tensor<3xf32>) {
    ^bb0(%m: tensor<3x1500xf32>):
      %t = tds.generic (%i) in (3) max (%j) in (1500) : tensor<3xf32> {
        %v = tds.read %m[%i, %j] : tensor<3x1500xf32>
        %n = tds.constant FACTOR : f32
        %w = tds.mul %v, %n : f32
        tds.yield %w : f32
      }
      tds.yield %t : tensor<3xf32>
    })";
  auto make = [](std::string text, std::string input, std::string factor,
                 std::string site = "0") {
    auto put = [&](const std::string &what, const std::string &with) {
      size_t at = text.find(what);
      if (at != std::string::npos)
        text.replace(at, what.size(), with);
    };
    put("%X", input);
    put("FACTOR", factor);
    put("SITE", site);
    return text;
  };
  checkKernel(
      R"(
func.func private @k(%x: tensor<301xf32>, %y: tensor<301xf32>, %z: tensor<3x1500xf32>, %u: tensor<3x1500xf32>)
    -> (tensor<301xf32>, tensor<301xf32>, tensor<301xf32>, tensor<3xf32>, tensor<3xf32>)
    attributes {plan.in_place = array<i64: -1, -1, 1, -1, -1>, plan.disjoint} {
  %0:5 = tds.kernel "parts" (%x, %y, %z, %u) : (tensor<301xf32>, tensor<301xf32>, tensor<3x1500xf32>, tensor<3x1500xf32>)
      -> (tensor<301xf32>, tensor<301xf32>, tensor<301xf32>, tensor<3xf32>, tensor<3xf32>) {
  ^bb0(%a: tensor<301xf32>, %b: tensor<301xf32>, %c: tensor<3x1500xf32>, %d: tensor<3x1500xf32>):
    %p0 = )" +
      make(loop, "%a", "2.0", "4") + "%p1 = " + make(row, "%c", "0.5") +
      "%p2 = " + make(loop, "%a", "3.0", "5") + "%p3 = " +
      make(row, "%d", "-1.0") + "%p4 = " + make(loop, "%b", "4.0", "6") + R"(
    tds.yield %p0, %p2, %p4, %p1, %p3 : tensor<301xf32>, tensor<301xf32>, tensor<301xf32>, tensor<3xf32>, tensor<3xf32>
  }
  return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<301xf32>, tensor<301xf32>, tensor<301xf32>, tensor<3xf32>, tensor<3xf32>
})");
}
