//===- LoopKernelTest.cpp - element kernels on the CPU -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelRunner.h"

#include "gtest/gtest.h"

#include <string>
#include <vector>

using namespace tdsl::test;

/// A kernel that applies `body` (%a and %b to %r) to every element.
static std::string elementwise(const std::string &shape, const std::string &in,
                               const std::string &out,
                               const std::string &body) {
  std::string dims, indices;
  unsigned rank = 0;
  for (size_t at = 0; at < shape.size(); ++rank) {
    size_t end = shape.find('x', at);
    if (end == std::string::npos)
      end = shape.size();
    dims += (rank ? ", " : "") + shape.substr(at, end - at);
    indices += (rank ? ", %i" : "%i") + std::to_string(rank);
    at = end + 1;
  }
  std::string prefix = shape.empty() ? "" : shape + "x";
  std::string tin = "tensor<" + prefix + in + ">";
  std::string tout = "tensor<" + prefix + out + ">";
  return "func.func private @k(%x: " + tin + ", %y: " + tin + ") -> " + tout +
         " {\n  %0 = tds.kernel \"loop\" (%x, %y) : (" + tin + ", " + tin +
         ") -> " + tout + " {\n  ^bb0(%p: " + tin + ", %q: " + tin +
         "):\n    %g = tds.generic (" + indices + ") in (" + dims +
         ") : " + tout + " {\n      %a = tds.read %p[" + indices +
         "] : " + tin + "\n      %b = tds.read %q[" + indices + "] : " + tin +
         "\n      " + body + "\n      tds.yield %r : " + out +
         "\n    }\n    tds.yield %g : " + tout +
         "\n  }\n  return %0 : " + tout + "\n}\n";
}

TEST(LoopKernel, AddsOneVector) {
  checkKernel(elementwise("64", "f32", "f32", "%r = tds.add %a, %b : f32"));
}

TEST(LoopKernel, AnyShape) {
  for (const char *shape : {"", "0", "1", "3", "16", "17", "1000", "7x10",
                            "3x0x5", "5x1x33", "2x3x4x5", "100000", "1x1"})
    checkKernel(elementwise(shape, "f32", "f32", "%r = tds.mul %a, %b : f32"));
}

// Axes that are walked as one, with vectors and a rest that fills none.
TEST(LoopKernel, OddLengths) {
  for (const char *shape : {"1023", "33x31", "101x3x7", "1x1025", "2047x1"})
    for (const char *type : {"f32", "f64", "bf16", "ui8"}) {
      SCOPED_TRACE(std::string(shape) + " of " + type);
      checkKernel(elementwise(shape, type, type,
                              std::string("%r = tds.add %a, %b : ") + type));
    }
}

static const char *const floats[] = {"f32", "f64", "f16", "bf16"};
static const char *const integers[] = {"i8", "ui8", "i32", "i64"};

/// Every operation on one type in one kernel a test would hide which is wrong;
/// one kernel each would take minutes. A few results at once are a compromise.
static std::string several(const std::string &type,
                           const std::vector<std::string> &bodies,
                           const std::string &out) {
  std::string tin = "tensor<83x" + type + ">", tout = "tensor<83x" + out + ">";
  std::string generics, names, types, returned;
  for (size_t i = 0; i < bodies.size(); ++i) {
    std::string n = std::to_string(i);
    generics += "    %g" + n + " = tds.generic (%i) in (83) : " + tout +
                " {\n      %a = tds.read %p[%i] : " + tin +
                "\n      %b = tds.read %q[%i] : " + tin + "\n      " +
                bodies[i] + "\n      tds.yield %r : " + out + "\n    }\n";
    names += (i ? ", %g" : "%g") + n;
    types += (i ? ", " : "") + tout;
    returned += (i ? ", %0#" : "%0#") + n;
  }
  if (bodies.size() == 1)
    returned = "%0";
  std::string count = std::to_string(bodies.size());
  return "func.func private @k(%x: " + tin + ", %y: " + tin + ") -> (" + types +
         ") {\n  %0:" + count + " = tds.kernel \"loop\" (%x, %y) : (" + tin +
         ", " + tin + ") -> (" + types + ") {\n  ^bb0(%p: " + tin +
         ", %q: " + tin + "):\n" + generics + "    tds.yield " + names + " : " +
         types + "\n  }\n  return " + returned + " : " + types + "\n}\n";
}

TEST(LoopKernel, FloatFunctions) {
  for (std::string type : floats) {
    std::vector<std::string> unary, binary;
    for (const char *name :
         {"neg", "abs", "sign", "floor", "ceil", "round", "sqrt", "rsqrt",
          "exp", "expm1", "log", "log1p", "tanh", "sigmoid", "erf", "sin",
          "cos", "stop_gradient"})
      unary.push_back(std::string("%r = tds.") + name + " %a : " + type);
    for (const char *name :
         {"add", "sub", "mul", "div", "floordiv", "mod", "pow", "max", "min"})
      binary.push_back(std::string("%r = tds.") + name + " %a, %b : " + type);
    binary.push_back("%r = tds.clamp %a, %b, %a : " + type);
    checkKernel(several(type, unary, type), 0, /*hostile=*/true);
    checkKernel(several(type, binary, type), 0, /*hostile=*/true);
    if (HasFailure())
      FAIL() << type;
  }
}

// Without FMA and F16C instructions, the same bits. (sin, cos and pow compute
// in f64 and are refused there.)
TEST(LoopKernel, OldProcessors) {
  for (std::string type : {"f32", "f16", "bf16"}) {
    std::vector<std::string> bodies;
    for (const char *name : {"exp", "log", "tanh", "sigmoid", "rsqrt"})
      bodies.push_back(std::string("%r = tds.") + name + " %a : " + type);
    KernelRunner runner(several(type, bodies, type), "x86-64-v2");
    ASSERT_TRUE(runner.isLoaded());
    auto arguments = runner.randomArguments("k", 5, /*hostile=*/true);
    auto actual = runner.run("k", arguments);
    auto expected = runner.expected("k", arguments);
    for (size_t i = 0; i < actual.size(); ++i)
      EXPECT_TRUE(tdsl::reference::sameBits(actual[i], expected[i]))
          << bodies[i];
  }
}

TEST(LoopKernel, IntegerOperations) {
  for (std::string type : integers) {
    std::vector<std::string> bodies;
    for (const char *name :
         {"add", "sub", "mul", "floordiv", "mod", "pow", "max", "min"})
      bodies.push_back(std::string("%r = tds.") + name + " %a, %b : " + type);
    for (const char *name : {"neg", "abs", "sign"})
      bodies.push_back(std::string("%r = tds.") + name + " %a : " + type);
    checkKernel(several(type, bodies, type), 0, /*hostile=*/true);
    if (HasFailure())
      FAIL() << type;
  }
}

TEST(LoopKernel, TruthValuesAndChoices) {
  for (std::string type :
       {"f32", "f64", "f16", "bf16", "i8", "ui8", "i32", "i64"}) {
    std::vector<std::string> bodies;
    for (const char *name : {"eq", "ne", "lt", "le", "gt", "ge"})
      bodies.push_back(std::string("%r = tds.compare ") + name +
                       " %a, %b : " + type);
    if (type.find('f') != std::string::npos) {
      bodies.push_back("%r = tds.isnan %a : " + type);
      bodies.push_back("%r = tds.isfinite %a : " + type);
    }
    bodies.push_back("%c = tds.compare lt %a, %b : " + type +
                     "\n %d = tds.compare eq %a, %b : " + type +
                     "\n %e = tds.or %c, %d : i1\n %f = tds.not %d : i1\n"
                     " %r = tds.and %e, %f : i1");
    checkKernel(several(type, bodies, "i1"), 0, /*hostile=*/true);
    checkKernel(several(type,
                        {"%c = tds.compare lt %a, %b : " + type +
                         "\n %r = tds.select %c, %b, %a : i1, " + type},
                        type),
                0, /*hostile=*/true);
    if (HasFailure())
      FAIL() << type;
  }
}

/// All casts of one type in one kernel.
static std::string castsFrom(const std::string &from) {
  std::string tin = "tensor<83x" + from + ">";
  std::string generics, names, types, returned;
  int number = 0;
  for (std::string to :
       {"i1", "i8", "ui8", "i32", "i64", "f16", "bf16", "f32", "f64"}) {
    if (from == to)
      continue;
    std::string n = std::to_string(number), tout = "tensor<83x" + to + ">";
    generics += "    %g" + n + " = tds.generic (%i) in (83) : " + tout +
                " {\n      %a = tds.read %p[%i] : " + tin +
                "\n      %r = tds.cast %a : " + from + " to " + to +
                "\n      tds.yield %r : " + to + "\n    }\n";
    names += (number ? ", %g" : "%g") + n;
    types += (number ? ", " : "") + tout;
    returned += (number ? ", %0#" : "%0#") + n;
    ++number;
  }
  return "func.func private @k(%x: " + tin + ") -> (" + types +
         ") {\n  %0:" + std::to_string(number) +
         " = tds.kernel \"loop\" (%x) : (" + tin + ") -> (" + types +
         ") {\n  ^bb0(%p: " + tin + "):\n" + generics + "    tds.yield " +
         names + " : " + types + "\n  }\n  return " + returned + " : " + types +
         "\n}\n";
}

TEST(LoopKernel, Casts) {
  for (const char *from :
       {"i1", "i8", "ui8", "i32", "i64", "f16", "bf16", "f32", "f64"})
    checkKernel(castsFrom(from), 0, /*hostile=*/true);
}

TEST(LoopKernel, RandomNumbers) {
  for (const char *kind : {"uniform", "normal"})
    for (const char *shape : {"6x13", "4x64"}) {
      std::string text = R"(
func.func private @k(%s: tensor<i64>, %t: tensor<i64>) -> tensor<SHAPExf32> {
  %0 = tds.kernel "loop" (%s, %t) : (tensor<i64>, tensor<i64>) -> tensor<SHAPExf32> {
  ^bb0(%p: tensor<i64>, %q: tensor<i64>):
    %g = tds.generic (%i, %j) in (DIMS) : tensor<SHAPExf32> {
      %seed = tds.read %p[] : tensor<i64>
      %step = tds.read %q[] : tensor<i64>
      %l = tds.apply affine_map<(d0, d1) -> (d0 * COLUMNS + d1)> (%i, %j)
      %u = tds.random KIND %seed, %step, %l {site = 5 : i32} : f32
      tds.yield %u : f32
    }
    tds.yield %g : tensor<SHAPExf32>
  }
  return %0 : tensor<SHAPExf32>
})";
      auto replace = [&](const std::string &name, const std::string &value) {
        for (size_t at; (at = text.find(name)) != std::string::npos;)
          text.replace(at, name.size(), value);
      };
      std::string s = shape;
      size_t x = s.find('x');
      replace("SHAPE", s);
      replace("DIMS", s.substr(0, x) + ", " + s.substr(x + 1));
      replace("COLUMNS", s.substr(x + 1));
      replace("KIND", kind);
      checkKernel(text);
    }
}

TEST(LoopKernel, ReadsOfEveryForm) {
  // Transposed, diagonal, broadcast, strided, guarded, clamped, floor-divided
  // and gathered.
  checkKernel(R"(
func.func private @k(%x: tensor<33x33xf32>, %v: tensor<33xf32>, %ids: tensor<33xi32>, %s: tensor<f32>) -> (tensor<33x33xf32>, tensor<33x33xf32>, tensor<33x33xf32>) {
  %0:3 = tds.kernel "loop" (%x, %v, %ids, %s) : (tensor<33x33xf32>, tensor<33xf32>, tensor<33xi32>, tensor<f32>) -> (tensor<33x33xf32>, tensor<33x33xf32>, tensor<33x33xf32>) {
  ^bb0(%p: tensor<33x33xf32>, %q: tensor<33xf32>, %d: tensor<33xi32>, %t: tensor<f32>):
    %g = tds.generic (%i, %j) in (33, 33) : tensor<33x33xf32> {
      %a = tds.read %p[%j, %i] : tensor<33x33xf32>
      %b = tds.read %q[%j] : tensor<33xf32>
      %c = tds.read %q[%i] : tensor<33xf32>
      %e = tds.read %t[] : tensor<f32>
      %f = tds.read %p[%i, %i] : tensor<33x33xf32>
      %1 = tds.add %a, %b : f32
      %2 = tds.mul %1, %c : f32
      %3 = tds.sub %2, %e : f32
      %4 = tds.add %3, %f : f32
      tds.yield %4 : f32
    }
    %h = tds.generic (%i, %j) in (33, 33) : tensor<33x33xf32> {
      %z = tds.read %g[%i, %j] : tensor<33x33xf32>
      %i1 = tds.apply affine_map<(d0) -> (d0 - 1)> (%i)
      %j1 = tds.apply affine_map<(d0) -> (2 * d0 - 5)> (%j)
      %j2 = tds.apply affine_map<(d0) -> (d0 + 3)> (%j)
      %a = tds.read %p[%i1, %j1] guard 7.0 : f32 : tensor<33x33xf32>
      %b = tds.read %p[%i1, %j2] guard 7.0 : f32 : tensor<33x33xf32>
      %c = tds.read %p[%i1, %j2] clamped : tensor<33x33xf32>
      %1 = tds.add %a, %b : f32
      %2 = tds.mul %1, %c : f32
      %3 = tds.add %2, %z : f32
      tds.yield %3 : f32
    }
    %k = tds.generic (%i, %j) in (33, 33) : tensor<33x33xf32> {
      %j1 = tds.apply affine_map<(d0) -> ((d0 - 20) floordiv 3 + 7)> (%j)
      %j2 = tds.apply affine_map<(d0) -> ((d0 - 20) mod 5)> (%j)
      %j3 = tds.apply affine_map<(d0) -> (d0 ceildiv 2)> (%j)
      %a = tds.read %p[%j1, %j2] : tensor<33x33xf32>
      %l = tds.read %d[%j3] : tensor<33xi32>
      %m = tds.cast %l : i32 to index
      %b = tds.read %p[%i, %m] guard 0.0 : f32 : tensor<33x33xf32>
      %n = tds.read %d[%i] : tensor<33xi32>
      %o = tds.cast %n : i32 to index
      %c = tds.read %p[%o, %j] guard 0.0 : f32 : tensor<33x33xf32>
      %u = tds.cast %j : index to i32
      %w = tds.cast %u : i32 to f32
      %y = tds.compare lt %i, %j : index
      %1 = tds.add %a, %b : f32
      %2 = tds.mul %1, %c : f32
      %3 = tds.select %y, %2, %w : i1, f32
      tds.yield %3 : f32
    }
    tds.yield %g, %h, %k : tensor<33x33xf32>, tensor<33x33xf32>, tensor<33x33xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<33x33xf32>, tensor<33x33xf32>, tensor<33x33xf32>
})");
}

TEST(LoopKernel, InnerReductionsKeepTheirOrder) {
  // A convolution with a bias and a window maximum; serial, so bit for bit.
  checkKernel(R"(
func.func private @k(%x: tensor<2x3x12x21xf32>, %f: tensor<4x3x3x3xf32>, %b: tensor<4xf32>) -> tensor<2x4x10x19xf32> {
  %0 = tds.kernel "loop" (%x, %f, %b) : (tensor<2x3x12x21xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<2x4x10x19xf32> {
  ^bb0(%p: tensor<2x3x12x21xf32>, %q: tensor<4x3x3x3xf32>, %r: tensor<4xf32>):
    %c = tds.generic (%n, %o, %i, %j) in (2, 4, 10, 19) sum (%h, %u, %v) in (3, 3, 3) : tensor<2x4x10x19xf32> {
      %iu = tds.apply affine_map<(d0, d1) -> (d0 + d1)> (%i, %u)
      %jv = tds.apply affine_map<(d0, d1) -> (d0 + d1)> (%j, %v)
      %a = tds.read %p[%n, %h, %iu, %jv] : tensor<2x3x12x21xf32>
      %w = tds.read %q[%o, %h, %u, %v] : tensor<4x3x3x3xf32>
      %m = tds.mul %a, %w : f32
      tds.yield %m : f32
    }
    %d = tds.generic (%n, %o, %i, %j) in (2, 4, 10, 19) max (%u) in (3) : tensor<2x4x10x19xf32> {
      %iu = tds.apply affine_map<(d0, d1) -> (d0 + d1 - 1)> (%i, %u)
      %a = tds.read %p[%n, %o, %iu, %j] guard 0.0 : f32 : tensor<2x3x12x21xf32>
      tds.yield %a : f32
    }
    %e = tds.generic (%n, %o, %i, %j) in (2, 4, 10, 19) : tensor<2x4x10x19xf32> {
      %a = tds.read %c[%n, %o, %i, %j] : tensor<2x4x10x19xf32>
      %g = tds.read %d[%n, %o, %i, %j] : tensor<2x4x10x19xf32>
      %w = tds.read %r[%o] : tensor<4xf32>
      %m = tds.add %a, %w : f32
      %l = tds.mul %m, %g : f32
      tds.yield %l : f32
    }
    tds.yield %e : tensor<2x4x10x19xf32>
  }
  return %0 : tensor<2x4x10x19xf32>
})");
}

TEST(LoopKernel, InPlace) {
  std::string text =
      elementwise("1000", "f32", "f32", "%r = tds.sub %a, %b : f32");
  size_t at = text.find(" {\n");
  text.insert(at, " attributes {plan.in_place = array<i64: 0>, plan.disjoint}");
  checkKernel(text);
}

TEST(LoopKernel, ConstantTensors) {
  checkKernel(R"(
func.func private @k(%x: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xi1>, tensor<3x2xf32>) {
  %0:3 = tds.kernel "loop" (%x) : (tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xi1>, tensor<3x2xf32>) {
  ^bb0(%p: tensor<3x2xf32>):
    %c = tds.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
    %t = tds.constant dense<[[true, false], [false, false], [true, true]]> : tensor<3x2xi1>
    %s = tds.constant dense<2.5> : tensor<3x2xf32>
    %g = tds.generic (%i, %j) in (3, 2) : tensor<3x2xf32> {
      %a = tds.read %p[%i, %j] : tensor<3x2xf32>
      %b = tds.read %c[%i, %j] : tensor<3x2xf32>
      %d = tds.read %s[%i, %j] : tensor<3x2xf32>
      %m = tds.mul %a, %b : f32
      %n = tds.add %m, %d : f32
      tds.yield %n : f32
    }
    tds.yield %g, %t, %s : tensor<3x2xf32>, tensor<3x2xi1>, tensor<3x2xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<3x2xf32>, tensor<3x2xi1>, tensor<3x2xf32>
})");
}
