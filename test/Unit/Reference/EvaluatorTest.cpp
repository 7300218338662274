//===- EvaluatorTest.cpp - calls, options and program state -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include "tdsl/Reference/Npy.h"

#include <cmath>

using namespace tdsl;
using namespace tdsl::test;

namespace {

/// In f64 mode no float is rounded to its type, and results are f64.
TEST(Evaluator, EverythingInDouble) {
  Program program(R"(
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf16> {
      %third = tds.constant dense<3.0> : tensor<2xf32>
      %q = tds.div %x, %third : tensor<2xf32>
      %e = tds.exp %q : tensor<2xf32>
      %h = tds.cast %e : tensor<2xf32> to tensor<2xf16>
      return %h : tensor<2xf16>
    })");
  reference::EvaluatorOptions options;
  options.f64 = true;
  Tensor x = Tensor::of(ElementKind::F32, {2}, {1.0, 2.0});
  Tensor result = program.run("f", x, options)[0];
  EXPECT_EQ(result.kind(), ElementKind::F64);
  EXPECT_EQ(result.getDouble(0), scalarmath::exp(1.0 / 3.0));
  EXPECT_EQ(result.getDouble(1), scalarmath::exp(2.0 / 3.0));
  EXPECT_EQ(program.run("f", x)[0].kind(), ElementKind::F16);
  // f64 arguments are taken too.
  x = x.convertedTo(ElementKind::F64);
  EXPECT_EQ(program.run("f", x, options)[0].getDouble(0),
            scalarmath::exp(1.0 / 3.0));
}

/// What stop_gradient passes is frozen at the recorded point, in tensors and in
/// bodies.
TEST(Evaluator, StopsReplay) {
  Program program(R"(
    func.func @f(%x: tensor<300xf32>) -> (tensor<300xf32>, tensor<300xf32>) {
      %s = tds.stop_gradient %x : tensor<300xf32>
      %a = tds.mul %s, %x : tensor<300xf32>
      %b = tds.generic (%i) in (300) : tensor<300xf32> {
        %v = tds.read %x[%i] : tensor<300xf32>
        %t = tds.stop_gradient %v : f32
        %p = tds.mul %t, %v : f32
        tds.yield %p : f32
      }
      return %a, %b : tensor<300xf32>, tensor<300xf32>
    })");
  reference::StopRecorder stops;
  reference::EvaluatorOptions options;
  options.stops = &stops;
  Tensor three = Tensor::splat(ElementKind::F32, {300}, 3.0);
  Tensor five = Tensor::splat(ElementKind::F32, {300}, 5.0);
  for (const Tensor &result : program.run("f", three, options))
    EXPECT_EQ(result, Tensor::splat(ElementKind::F32, {300}, 9.0));
  for (int repeat = 0; repeat < 2; ++repeat) {
    stops.startReplay();
    for (const Tensor &result : program.run("f", five, options))
      EXPECT_EQ(result, Tensor::splat(ElementKind::F32, {300}, 15.0));
  }
  for (const Tensor &result : program.run("f", five))
    EXPECT_EQ(result, Tensor::splat(ElementKind::F32, {300}, 25.0));
}

TEST(Evaluator, VariablesLiveBetweenCalls) {
  Program program(R"(
    tds.variable @w param : tensor<2xf32>
    tds.variable @n state : tensor<i64>
    func.func @init(%seed: tensor<i64> {tds.input = "seed"})
        -> (tensor<2xf32> {tds.variable = @w}) attributes {tds.entry = "init"} {
      %c = tds.constant dense<[1.0, 2.0]> : tensor<2xf32>
      return %c : tensor<2xf32>
    }
    func.func @step(%x: tensor<2xf32> {tds.input = "x"}, %lr: tensor<f32> {tds.input = "lr", tds.default = 0.5 : f32},
                    %w: tensor<2xf32> {tds.variable = @w}, %n: tensor<i64> {tds.variable = @n})
        -> (tensor<2xf32> {tds.result = "old"}, tensor<2xf32> {tds.variable = @w}, tensor<i64> {tds.variable = @n})
        attributes {tds.entry = "step"} {
      %l = tds.broadcast %lr axes [] : tensor<f32> to tensor<2xf32>
      %d = tds.mul %l, %x : tensor<2xf32>
      %new = tds.sub %w, %d : tensor<2xf32>
      %one = tds.constant dense<1> : tensor<i64>
      %m = tds.add %n, %one : tensor<i64>
      return %w, %new, %m : tensor<2xf32>, tensor<2xf32>, tensor<i64>
    })");
  reference::ProgramState state(*program.module);
  EXPECT_FALSE(bool(state.init(3)));
  std::map<std::string, Tensor> inputs;
  inputs.emplace("x", Tensor::splat(ElementKind::F32, {2}, 1.0));
  for (double old : {1.0, 0.5, 0.0}) {
    auto results = state.call("step", inputs);
    ASSERT_TRUE(bool(results));
    ASSERT_EQ(results->size(), 1u);
    EXPECT_EQ((*results)[0].first, "old");
    EXPECT_EQ((*results)[0].second.getDouble(0), old);
  }
  EXPECT_EQ(state.variables.at("w").getDouble(1), 0.5);
  EXPECT_EQ(state.variables.at("n").getInt(0), 3);
  inputs.emplace("lr", Tensor::splat(ElementKind::F32, {}, 0.25));
  ASSERT_TRUE(bool(state.call("step", inputs)));
  EXPECT_EQ(state.variables.at("w").getDouble(1), 0.25);
}

/// A long chain of operations does not use the machine's stack, nor keep all of
/// its values.
TEST(Evaluator, LongPrograms) {
  std::string text = "func.func @f(%v0: tensor<i32>) -> tensor<i32> {\n";
  constexpr int length = 20000;
  for (int i = 0; i < length; ++i)
    text += "%v" + std::to_string(i + 1) + " = tds.add %v" + std::to_string(i) +
            ", %v0 : tensor<i32>\n";
  text += "return %v" + std::to_string(length) + " : tensor<i32>\n}\n";
  Program program(text);
  EXPECT_EQ(program.run("f", Tensor::splat(ElementKind::I32, {}, int64_t(1)))[0]
                .getInt(0),
            length + 1);
}

/// Headers that lie end in a sentence, never in a read past the end.
TEST(Npy, HostileFiles) {
  auto file = [](const std::string &header, const std::string &data) {
    std::string text("\x93NUMPY\x01\x00", 8);
    text += char(header.size() & 0xff);
    text += char(header.size() >> 8);
    return text + header + data;
  };
  const std::string good =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
  auto result = reference::parseNpy(file(good, std::string(8, '\0')), "good");
  ASSERT_TRUE(bool(result));
  EXPECT_EQ(*result, Tensor(ElementKind::F32, {2}));
  const std::string bad[] = {
      "",
      "\x93NUMPY",
      file(good, std::string(7, '\0')),
      file("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, "
           "4294967296)}",
           "abcd"),
      file("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "abcd"),
      file("{'descr': '<f4', 'fortran_order': False, 'shape': (x,)}", "abcd"),
      file("{'descr': '<f4', 'fortran_order': False}", "abcd"),
      file("{'descr': '<c8', 'fortran_order': False, 'shape': ()}", "abcd"),
      file("{'descr': ", "")};
  for (const std::string &bytes : bad) {
    auto refused = reference::parseNpy(bytes, "bad");
    EXPECT_FALSE(bool(refused));
    if (!refused)
      EXPECT_NE(llvm::toString(refused.takeError()).find("'bad'"),
                std::string::npos);
  }
  // Every prefix of a good file.
  std::string whole = file(good, std::string(8, '\0'));
  for (size_t length = 0; length < whole.size(); ++length) {
    auto refused =
        reference::parseNpy(llvm::StringRef(whole).take_front(length), "cut");
    EXPECT_FALSE(bool(refused));
    llvm::consumeError(refused.takeError());
  }
}

} // namespace
