//===- LoopKernelTest.cpp - element kernels on the CPU -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelRunner.h"

#include "gtest/gtest.h"

#include <string>

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
         "):\n    %g = tds.generic (" + indices + ") in (" + dims + ") : " +
         tout + " {\n      %a = tds.read %p[" + indices + "] : " + tin +
         "\n      %b = tds.read %q[" + indices + "] : " + tin + "\n      " +
         body + "\n      tds.yield %r : " + out + "\n    }\n    tds.yield %g : " +
         tout + "\n  }\n  return %0 : " + tout + "\n}\n";
}

TEST(LoopKernel, AddsOneVector) {
  checkKernel(elementwise("64", "f32", "f32", "%r = tds.add %a, %b : f32"));
}

TEST(LoopKernel, AnyShape) {
  for (const char *shape : {"", "0", "1", "3", "16", "17", "1000", "7x10",
                            "3x0x5", "5x1x33", "2x3x4x5", "100000", "1x1"})
    checkKernel(
        elementwise(shape, "f32", "f32", "%r = tds.mul %a, %b : f32"));
}
