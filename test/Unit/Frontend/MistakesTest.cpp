//===- MistakesTest.cpp - One mistake, one message -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mistake gives one message, which says what is wrong: its code, and words
// of its text.
//
//===----------------------------------------------------------------------===//

#include "Support.h"

using namespace tdsl;
using namespace tdsl::test;

namespace {
struct Mistake {
  const char *program, *code, *words;
};
} // namespace

static void check(llvm::ArrayRef<Mistake> mistakes) {
  for (const Mistake &mistake : mistakes) {
    Checked checked(mistake.program);
    EXPECT_EQ(checked.codes(), mistake.code) << mistake.program << "\n"
                                             << checked.text();
    EXPECT_NE(checked.text().find(mistake.words), std::string::npos)
        << mistake.program << "\nlacks: " << mistake.words << "\n"
        << checked.text();
  }
}

TEST(Mistakes, ResultsHaveNamesOfTheirOwn) {
  check({{"export fn e(x: f32) -> (a: f32, a: f32) { (x, x) }", "E0202",
          "`a` is declared twice"},
         {"fn g(x: f32) -> (a: f32, b: f32, a: f32) { (x, x, x) }", "E0202",
          "first declared here"},
         {"step s(x: f32) -> (l: f32, l: f32) { (x, x) }", "E0202", "`l`"}});
  EXPECT_EQ(
      Checked("export fn e(x: f32) -> (a: f32, x: f32) { (x, x) }").codes(),
      "");
}

TEST(Mistakes, TypesKeepTheirNames) {
  const char *words = "is a name of the language";
  check(
      {{"export fn f32(x: f32[4]) -> f32[4] { x }", "E0209", words},
       {"module i32 { param w: f32 = 0 }\n"
        "export fn f(x: i32) -> i32 { x }",
        "E0209", words},
       {"dim float = 3\nexport fn f(x: f32) -> f32 { g(x) }\n"
        "fn g(x: float) -> float { x }",
        "E0209", words},
       {"const bool = 3\nexport fn f(x: bool) -> bool { x }", "E0209", words},
       {"param f64: f32 = 0", "E0209", words},
       {"optimizer u8(lr: f32) { fn update(p, g) { p <- g } }", "E0209", words},
       {"fn g(f32: f32) -> f32 { f32 + 1 }", "E0209", "types keep"},
       {"export fn f(x: f32) -> f32 { let i64 = x\n i64 }", "E0209", words},
       {"export fn f(x: f32) -> f32 { let (num, b) = (x, x)\n b }", "E0209",
        words},
       {"export fn f(x: f32) -> f32 { let h = x\n for f32 in 0..3 { h = h + "
        "1 }\n h }",
        "E0209", words},
       {"module M(int: dim) { param w: f32 = 0 }", "E0209", words}});
  // An index may be called like one: no type stands where an index does.
  EXPECT_EQ(Checked("export fn f(x: f32[3]) -> f32[3] { let y[i8] = x[i8]\n"
                    "  y }")
                .codes(),
            "");
}

TEST(Mistakes, PartsThatDontMeet) {
  check({{"export fn f(x: f32[5, 2], y: f32[5, 3]) -> f32[10, 2] {\n"
          "  concat([x, y], axis = 0) }",
          "E0401", "axis 1 is 2 and 3"},
         {"export fn f(x: f32[5, 2], y: f32[4, 3]) -> f32[10, 2] {\n"
          "  concat([x, y], axis = 1) }",
          "E0401", "axis 0 is 5 and 4"},
         {"export fn f(x: f32[5, 2], y: f32[5, 3]) -> f32[2, 5, 2] {\n"
          "  stack([x, y], axis = 0) }",
          "E0401", "axis 1 is 2 and 3"},
         {"export fn f(x: f32[5, 2], y: f32[5]) -> f32[10, 2] {\n"
          "  concat([x, y], axis = 0) }",
          "E0406", "`f32[5]` stands where 2 axes are asked for"},
         {"export fn f(x: f32[5], y: f32) -> f32[2, 5] { stack([x, y]) }",
          "E0406", "`f32` stands where 1 axis are asked for"}});
}

TEST(Mistakes, Optimizers) {
  auto with = [](llvm::StringRef members) {
    return ("dim B = 2\nparam w: f32 = 1\noptimizer o(lr: f32) {\n" + members +
            "\n}\nstep t(x: f32[B]) -> f32 {\n  let l = sum(x) * w\n"
            "  minimize l with o(lr = 1)\n  l\n}\n")
        .str();
  };
  std::string extra = with("fn update(p, g) { p <- g }\nfn foo(x: f32) { x }"),
              param = with("fn update(p, g) { p <- g }\nparam q: f32 = 1"),
              typo = with("fn updte(p, g) { p <- g }"),
              three = with("fn update(p, g, h) { p <- g }"),
              none = with("fn begin() { }");
  check({{extra.c_str(), "E0723",
          "the function `foo` can't stand in an optimizer"},
         {param.c_str(), "E0723", "a param can't stand in an optimizer"},
         {typo.c_str(), "E0723", "did you mean: `update`"},
         {three.c_str(), "E0619", "this one takes 3 values"},
         {none.c_str(), "E0619", "has no `fn update(p, g)`"}});
}

TEST(Mistakes, InIndexDefinitions) {
  check({{"export fn f(x: f32[3]) -> f32[3] { let y[i] = if true { assert x[i] "
          "> 0, \"a\"\n x[i] } else { 0 }\n y }",
          "E0602", "`assert all(x > 0)`"},
         {"export fn f(x: f32[3, 4]) -> i32 { argmax[i, j](x[i, j]) }", "E0421",
          "`argmax` runs along one index, not along 2"},
         {"export fn f(x: f32[3, 4]) -> i32 { argmax(x) }", "E0421",
          "`argmax` runs along one axis; `f32[3, 4]` needs `axis =`"},
         {"fn g(a: f32) -> f32 { let y[i < 3] = a\n sum(y) }\n"
          "export fn f(x: f32[4]) -> f32[4] { let y[i] = g(x[i])\n y }",
          "E0512", "another index definition works on whole tensors"},
         {"fn g(a: f32) -> f32 { let y[i < 3] = a\n norm(flip(y, 0)) }\n"
          "export fn f(x: f32[4]) -> f32[4] { let y[i] = g(x[i])\n y }",
          "E0512", "another index definition works on whole tensors"},
         {"export fn f(x: f32[4]) -> f32[4] { let y[i] = if true {\n"
          "  let t[j < 3] = x[i]\n  t[0] * 2 } else { 0 }\n y }",
          "E0512", "another index definition works on whole tensors"},
         {"fn g(a: f32) -> f32 { sum(a) }\n"
          "export fn f(x: f32[4]) -> f32[4] { let y[i] = g(x[i])\n y }",
          "E0512", "`sum` works on whole tensors"},
         {"fn g(a: f32) -> f32 { a * a } vjp (a, r, d) -> (da) { d * a * 2 }\n"
          "export fn f(x: f32[4]) -> f32[4] { let y[i] = g(x[i])\n y }",
          "E0514", "give its types a shape pack: `a: f32[...s]`"}});
}

TEST(Mistakes, Sizes) {
  check({{"dim N = 2 ** -1", "E0410", "2 ** -1 is not a whole number"},
         {"dim N = 7 / 2", "E0410", "7 / 2 is not a whole number"},
         {"export fn f(x: f32[7]) -> (f32[3], f32[3]) { split(x, 2) }", "E0410",
          "7 / 2 is not a whole number"}});
}

TEST(Mistakes, TooMuch) {
  // At the place, and at once.
  check({{"use nn\nlayer a[100000000] = nn.Linear(3, 3)\n"
          "export fn f(x: f32[2, 3]) -> f32[2, 3] { x }",
          "E0803", "layer a[100000000]"},
         {"use nn\nmodule M {\n  layer a[9000000000000000000] = nn.Linear(3, "
          "3)\n  fn call(x: f32) -> f32 { x }\n}\nlayer m[2] = M()\n"
          "export fn f(x: f32) -> f32 { x }",
          "E0803", "layer a[9000000000000000000]"},
         {"module M { fn call(x: f32) -> f32 { x } }\nlayer m[6000000] = M()\n"
          "export fn f(x: f32) -> f32 { x }",
          "E0803", "layer m[6000000]"}});
}

TEST(Mistakes, IndicesThatWouldWrap) {
  for (const char *index :
       {"x[i * 9223372036854775807 * 2]",
        "padded(x, 0)[i * 4611686018427387904 + 3]",
        "padded(x, 0)[i * 4611686018427387900]",
        "padded(x, 0)[i - 4611686018427387905]",
        "padded(x, 0)[(i * 2305843009213693952) // 3]",
        "clamped(x)[-(i * 9223372036854775807) - 9223372036854775807]"}) {
    Checked checked(std::string("export fn f(x: f32[4]) -> f32[4] {\n"
                                "  let y[i < 4] = ") +
                    index + "\n  y }");
    EXPECT_EQ(checked.codes(), "E0411") << index << "\n" << checked.text();
  }
  EXPECT_EQ(Checked("export fn f(x: f32[4]) -> f32[4] {\n  let y[i < 4] = "
                    "padded(x, 0)[i * 1000000000000]\n  y }")
                .codes(),
            "");
}

TEST(Mistakes, Derivatives) {
  check({{"fn f(x: f32[n]) -> f32[n] { x * x } vjp (x, r, d) -> (dx) {\n"
          "  sum(d * x) }\nexport fn g(x: f32[4]) -> f32[4] {\n"
          "  grad(sum(f(x)), x) }",
          "E0623", "f32"}});
  EXPECT_EQ(Checked("fn f(x: f32[n]) -> f32[n] { x * x } vjp (x, r, d) -> (dx) "
                    "{\n  0 }\nexport fn g(x: f32[4]) -> f32[4] {\n"
                    "  grad(sum(f(x)), x) }")
                .codes(),
            "");
}

TEST(Mistakes, WhatIsMissingIsMissedOnce) {
  check({{"use nm\nexport fn f(x: f32[4]) -> f32[4] { nm.relu(nm.gelu(x)) }",
          "E0203", "did you mean: `nn`"},
         {"use optim\ndim B = 2\nparam w: f32 = 1\n"
          "step s(x: f32[B]) -> f32 {\n  let loss = sum(x)\n"
          "  minimize loss over w with optim.sgd(lr = 0.1)\n  loss\n}",
          "E0616", "the loss reaches no param"}});
}

/// Names of standard modules, also in another case; a name of the program is
/// the likelier one where it differs in case only.
TEST(Mistakes, NamesOfStandardModules) {
  check({{"export fn f(x: f32[4]) -> f32[4] { Relu(x) }", "E0201",
          "help: `nn.relu` is in a standard module\n"
          "  = help: the standard module needs `use nn`"},
         {"layer l = Linear(3, 2)\n"
          "export fn f(x: f32[4, 3]) -> f32[4, 2] { l(x) }",
          "E0201", "`nn.Linear`"},
         {"param w: f32[3, 2] = xavier_normal()", "E0201",
          "did you mean: `init.xavier_normal`"},
         {"fn Softmax(x: f32[4]) -> f32[4] { x }\n"
          "export fn f(x: f32[4]) -> f32[4] { softMax(x) }",
          "E0201", "did you mean: `Softmax`"},
         {"use nn\nlayer l = nn.Dense(3, 2)", "E0204",
          "did you mean: `Linear`"}});
  // One `use` is enough.
  Checked both("export fn f(x: f32[4]) -> f32[4] { softmax(relu(x)) }");
  EXPECT_EQ(both.codes(), "E0201 E0201");
  size_t first = both.text().find("needs `use nn`");
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(both.text().find("needs `use nn`", first + 1), std::string::npos);
}

TEST(Mistakes, SignsOfOtherLanguages) {
  check({{"export fn f(x: f32) -> f32 { let h = x\n h[0] -= x\n h }", "E0105",
          "expected `=`, found `-=`"},
         {"export fn f(x: f32) -> f32 { let h = x\n h += if true { x } else "
          "{ 0 }\n h }",
          "E0105", "write `h = h + (if true { x } else { 0 })`"},
         {"export fn f(x: f32) -> f32 { let h = x\n h /= \n}", "E0105",
          "expected an expression, found a line end"},
         {"export fn f(x f32(3, 4)) -> f32[3, 4] { x }", "E0105 E0105",
          "`[3, 4]`"},
         {"export fn f(x: f32()) -> f32[3, 4] { x }", "E0105", "a size"},
         {"export fn f(x: f32(3, 4) -> f32[3, 4] { x }", "E0105 E0106",
          "expected `)`, found `->`"},
         {"fn g(x y: f32) -> f32 { x }", "E0106", "expected `)`, found `y`"},
         {"export fn f(x: f32[4]) -> f32[4] { stack(x, x, 0) }", "E0705",
          "`[x, x]`"},
         {"export fn f(x: f32[4]) -> f32[4] { reshape(x, [-2, 2]) }", "E0412",
          "a size can't be negative: -2"}});
}
