//===- ShapeFixesTest.cpp - Ways out of shapes that don't meet -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each message about shapes proposes a change. A fix is applied here, and the
// program has to be right then; a note is looked up by its words.
//
//===----------------------------------------------------------------------===//

#include "Support.h"

using namespace tdsl;
using namespace tdsl::test;

namespace {
struct Fixed {
  const char *program, *code, *fix;
};
} // namespace

static void check(llvm::ArrayRef<Fixed> all) {
  for (const Fixed &one : all) {
    Checked wrong(one.program);
    EXPECT_EQ(wrong.codes(), one.code) << one.program << wrong.text();
    EXPECT_NE(wrong.text().find(one.fix), std::string::npos)
        << one.program << "\nlacks: " << one.fix << "\n"
        << wrong.text();
    std::string right = applyFixIts(one.program, wrong);
    EXPECT_NE(right, one.program) << wrong.text();
    Checked checked(right);
    EXPECT_EQ(checked.codes(), "") << right << "\n" << checked.text();
  }
}

TEST(ShapeFixes, OperandsOfOtherAxes) {
  check({{"export fn f(x: f32[4, 3], b: f32[4]) -> f32[4, 3] { x + b }",
          "E0401", "reshape(b, [_, 1])"},
         {"export fn f(x: f32[4, 3], b: f32[4]) -> f32[4, 3] { max(b, x) }",
          "E0401", "reshape(b, [_, 1])"},
         {"export fn f(x: f32[2, 5, 7, 3], b: f32[5]) -> f32[2, 5, 7, 3] {\n"
          "  x * b }",
          "E0401", "reshape(b, [_, 1, 1])"},
         {"export fn f(x: f32[2, 5, 3], b: f32[2, 5]) -> f32[2, 5, 3] {\n"
          "  if x > b then x else x * 2 }",
          "E0401", "reshape(b, [_, 5, 1])"},
         {"export fn f(x: f32[4, 3], b: f32[3, 4]) -> f32[4, 3] { x - b }",
          "E0401", "transpose(b)"},
         {"export fn f(x: f32[2, 5, 7, 3], y: f32[2, 3, 5, 7])\n"
          "  -> f32[2, 5, 7, 3] { x + y }",
          "E0401", "permute(y, [0, 2, 3, 1])"},
         {"export fn f(x: f32[4, 3], b: f32[12]) -> f32[4, 3] { x + b }",
          "E0401", "reshape(b, [_, 3])"},
         {"export fn f(x: f32[4, 3]) -> f32[4, 3] { x / sum(x, axis = 1) }",
          "E0401", ", keep = true"},
         {"fn g(x: f32[n, k], y: f32[m, k]) -> f32[m, k] { x + y }\n"
          "export fn f(x: f32[1, 3], y: f32[4, 3]) -> f32[4, 3] { g(x, y) }",
          "E0401", "1"}});
}

TEST(ShapeFixes, Parts) {
  check({{"export fn f(x: f32[8, 28], y: f32[8, 3]) -> f32[8, 31] {\n"
          "  concat([x, y]) }",
          "E0401", ", axis = 1"},
         {"export fn f(x: f32[8, 28], y: f32[9, 28]) -> f32[17, 28] {\n"
          "  concat([x, y], axis = 1) }",
          "E0401", "0"},
         {"export fn f(x: f32[8, 28], y: f32[9, 28]) -> f32[17, 28] {\n"
          "  concat([x, y], 1) }",
          "E0401", "0"},
         {"export fn f(x: f32[8, 3], y: f32[3, 8]) -> f32[2, 8, 3] {\n"
          "  stack([x, y]) }",
          "E0401", "transpose(y)"}});
}

TEST(ShapeFixes, Products) {
  check({{"export fn f(x: f32[4, 3], w: f32[2, 3]) -> f32[4, 2] { x @ w }",
          "E0404", "transpose(w)"},
         {"export fn f(x: f32[3, 4], w: f32[3, 2]) -> f32[4, 2] { x @ w }",
          "E0404", "transpose(x)"},
         {"export fn f(x: f32[8, 28, 28], w: f32[784, 10]) -> f32[8, 10] {\n"
          "  x @ w }",
          "E0404", "reshape(x, [_, 784])"}});
}

TEST(ShapeFixes, Arguments) {
  check({{"fn add(a: f32[n, m], b: f32[n, m]) -> f32[n, m] { a + b }\n"
          "export fn f(x: f32[4, 3], y: f32[3, 4]) -> f32[4, 3] { add(x, y) }",
          "E0405", "transpose(y)"},
         {"use nn\nlayer fc = nn.Linear(784, 10)\n"
          "export fn f(x: f32[8, 28, 28]) -> f32[8, 10] { fc(x) }",
          "E0405", "reshape(x, [_, 784])"},
         {"use nn\nlayer fc = nn.Linear(32, 10)\n"
          "export fn f(x: f32[32, 8]) -> f32[8, 10] { fc(x) }",
          "E0405", "transpose(x)"},
         {"use nn\nlayer c = nn.Conv2d(3, 16, 3)\n"
          "export fn f(x: f32[8, 32, 20, 3]) -> f32[8, 16, 30, 18] { c(x) }",
          "E0405", "permute(x, [0, 3, 1, 2])"},
         {"use nn\nlayer c = nn.Conv2d(3, 16, 3)\n"
          "export fn f(x: f32[8, 1, 20, 20]) -> f32[8, 16, 18, 18] { c(x) }",
          "E0405", "1"},
         {"use nn\nmodule Net {\n  layer a = nn.Linear(4, 8)\n"
          "  layer b = nn.Linear(Out = 2, In = 9)\n"
          "  fn call(x: f32[n, 4]) -> f32[n, 2] { b(a(x)) }\n}\n"
          "layer net = Net()\n"
          "export fn f(x: f32[5, 4]) -> f32[5, 2] { net(x) }",
          "E0405", "8"},
         {"fn g(a: f32[n, 784]) -> f32[n] { sum(a, axis = 1) }\n"
          "export fn f(x: f32[8, 28, 28]) -> f32[8] { g(x) }",
          "E0406", "reshape(x, [_, 784])"}});
}

TEST(ShapeFixes, ResultsOfFunctions) {
  check({{"export fn f(x: f32[8, 28]) -> f32[28, 8] { x * 2 }", "E0405",
          "transpose(x * 2)"},
         {"export fn f(x: f32[8, 28]) -> f32[8, 27] { x * 2 }", "E0405", "28"},
         {"export fn f(x: f32[8, 28]) -> f32[8, 1] { sum(x, axis = 1) }",
          "E0713", ", keep = true"}});
}

/// Where nothing is surely meant, the candidates are named.
TEST(ShapeFixes, Candidates) {
  struct Named {
    const char *program, *code, *words;
  };
  const Named all[] = {
      {"export fn f(x: f32[4, 3], b: f32[2]) -> f32[4, 3] { x + b }", "E0401",
       "for the two to meet `b` is to be f32[3], or `x` is to be f32[4, 2], or "
       "take a part: `x[:, :2]`"},
      {"export fn f(x: f32[4, 3], b: f32[5, 3]) -> f32[4, 3] { x + b }",
       "E0401", "or take a part: `b[:4, :]`"},
      {"export fn f(x: f32[4, 4, 3], y: f32[4]) -> f32[4, 4, 3] { x * y }",
       "E0401", "`y` is to be f32[3]"},
      {"export fn f(x: f32[4, 3], w: f32[5, 2]) -> f32[4, 2] { x @ w }",
       "E0404",
       "the left side is to be f32[4, 5], or the right side f32[3, 2]"},
      {"fn add(a: f32[n], b: f32[n]) -> f32[n] { a + b }\n"
       "export fn f(x: f32[4], y: f32[5]) -> f32[4] { add(x, y) }",
       "E0405", "change `y` or `x`, or pass a part of the longer one"},
      {"dim H = 64\nuse nn\nlayer fc = nn.Linear(H, 10)\n"
       "export fn f(x: f32[8, 32]) -> f32[8, 10] { fc(x) }",
       "E0405", "pass f32[8, 64], or give the layer 32 as `In`"},
      {"fn h(x: f32[4]) -> f32[4] { x + 1 }\n"
       "export fn f(x: f32[5]) -> f32[5] { h(x) }",
       "E0405", "pass f32[4], or change the type of `x`"},
      {"fn g(x: f32[n]) -> f32[n] { concat([x, x]) }\n"
       "export fn f(x: f32[5]) -> f32[5] { g(x) }",
       "E0405", "the body has to give f32[5], or the signature another size"},
      {"export fn f(x: f32[8, 3], y: f32[9, 3]) -> f32[2, 8, 3] {\n"
       "  stack([x, y]) }",
       "E0401", "each part of `stack` is to be f32[8, 3]"}};
  for (const Named &one : all) {
    Checked checked(one.program);
    EXPECT_EQ(checked.codes(), one.code) << one.program << checked.text();
    EXPECT_NE(checked.text().find(one.words), std::string::npos)
        << one.program << "\nlacks: " << one.words << "\n"
        << checked.text();
  }
}

TEST(ShapeFixes, NoFixWhereNoneIsMeant) {
  for (const char *program :
       {// The axis may be the first or the second one.
        "export fn f(x: f32[3, 3, 2], b: f32[3]) -> f32[3, 3, 2] { x + b }",
        // No size says how the elements are to lie.
        "fn g(a: f32[n]) -> f32 { sum(a) }\n"
        "export fn f(x: f32[8, 3]) -> f32 { g(x) }",
        // Both orders of equal sizes do.
        "fn g(a: f32[n, n, 2]) -> f32 { sum(a) }\n"
        "export fn f(x: f32[2, 3, 3]) -> f32 { g(x) }"}) {
    Checked checked(program);
    EXPECT_EQ(checked.diags.getNumErrors(), 1u) << program;
    EXPECT_EQ(checked.text().find("= help"), std::string::npos)
        << checked.text();
  }
}

TEST(ShapeFixes, SizesOfNothing) {
  check({{"export fn f(x: f32[4, 0], b: f32[4]) -> f32[4, 0] { x + b }",
          "E0401", "reshape(b, [_, 1])"},
         {"export fn f(x: f32[0, 3], b: f32[0]) -> f32[0, 3] { x + b }",
          "E0401", "reshape(b, [_, 1])"},
         {"export fn f(x: f32[2, 0, 3], b: f32[2, 0]) -> f32[2, 0, 3] {\n"
          "  x + b }",
          "E0401", "reshape(b, [2, 0, 1])"}});
}
