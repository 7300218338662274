//===- DiagnosticsTest.cpp - How messages look -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Support.h"
#include "llvm/Support/JSON.h"

using namespace tdsl;
using namespace tdsl::test;

std::string tdsl::test::applyFixIts(llvm::StringRef text,
                                    const Checked &checked) {
  std::vector<FixIt> fixes;
  for (const Diagnostic &d : checked.diags.getDiagnostics())
    if (!d.fixIts.empty())
      fixes.push_back(d.fixIts.front());
  std::sort(fixes.begin(), fixes.end(), [](const FixIt &a, const FixIt &b) {
    return b.range.begin < a.range.begin;
  });
  std::string out = text.str();
  for (const FixIt &fix : fixes)
    out.replace(checked.sources.getOffset(fix.range.begin),
                fix.range.end.offset - fix.range.begin.offset, fix.replacement);
  return out;
}

TEST(Diagnostics, LooksLikeThis) {
  Checked checked("use nn\n"
                  "export fn f(x: f32[4, 3], b: f32[4]) -> f32[4, 3] {\n"
                  "  x + b\n"
                  "}\n");
  EXPECT_EQ(checked.text(),
            "error[E0401]: `f32[4, 3]` and `f32[4]` don't meet in `+`: axis 1 "
            "is 3 and 4\n"
            " --> test.tds:3:3\n"
            "  |\n"
            "3 |   x + b\n"
            "  |   ^^^^^\n"
            "  |   - this is f32[4, 3]\n"
            "  |       - this is f32[4]\n"
            "  = note: trailing axes align: the last axis meets the last axis\n"
            "  = help: write the axes that stretch: `reshape(b, [_, 1])`\n"
            "\n");
}

TEST(Diagnostics, ColumnsCountCharacters) {
  Checked checked("dim N = 3  // größer\nfn f(x: f32) -> f32 { ä }");
  EXPECT_NE(checked.text().find("test.tds:2:23"), std::string::npos)
      << checked.text();
}

TEST(Diagnostics, AtMostTwenty) {
  std::string text;
  for (int i = 0; i < 50; ++i)
    text += "dim N" + std::to_string(i) + " = oops\n";
  Checked checked(text);
  EXPECT_EQ(checked.diags.getNumErrors(), 50u);
  std::string shown = checked.text();
  size_t count = 0;
  for (size_t at = shown.find("error["); at != std::string::npos;
       at = shown.find("error[", at + 1))
    ++count;
  EXPECT_EQ(count, 20u);
  EXPECT_NE(shown.find("30 more errors not shown"), std::string::npos);
}

TEST(Diagnostics, JSON) {
  Checked checked("export fn f(x: f32[4]) -> f32[4] { epx(x) }");
  std::string out;
  llvm::raw_string_ostream os(out);
  checked.diags.renderJSON(os);
  auto value = llvm::json::parse(out);
  ASSERT_TRUE(bool(value));
  const llvm::json::Array *all = value->getAsArray();
  ASSERT_EQ(all->size(), 1u);
  const llvm::json::Object &d = *(*all)[0].getAsObject();
  EXPECT_EQ(d.getString("code"), llvm::StringRef("E0201"));
  EXPECT_EQ(d.getObject("range")->getInteger("column"), 36);
  const llvm::json::Object &fix = *(*d.getArray("fixIts"))[0].getAsObject();
  EXPECT_EQ(fix.getString("replacement"), llvm::StringRef("exp"));
}

/// The first fix-it of each message, carried out, gives a right program.
TEST(Diagnostics, FixItsMend) {
  static const std::pair<const char *, const char *> cases[] = {
      {"export fn f(x: f32[4]) -> f32[4] { epx(x) }",
       "export fn f(x: f32[4]) -> f32[4] { exp(x) }"},
      {"export fn f(x: float32[4]) -> f32[4] { x }",
       "export fn f(x: f32[4]) -> f32[4] { x }"},
      {"export fn f(x: f32[4], n: i32[4]) -> f32[4] { x * n }",
       "export fn f(x: f32[4], n: i32[4]) -> f32[4] { x * f32(n) }"},
      {"export fn f(x: i32[4]) -> i32[4] { x / 2 }",
       "export fn f(x: i32[4]) -> i32[4] { x // 2 }"},
      {"export fn f(x: f32[4]) -> f32 { sum(x > 0) }",
       "export fn f(x: f32[4]) -> f32 { sum(f32(x > 0)) }"},
      {"export fn f(x: i32[4]) -> f32[4] { sqrt(x) }",
       "export fn f(x: i32[4]) -> f32[4] { sqrt(f32(x)) }"},
      {"export fn f(a: f32[4, 3], b: f32[5, 3]) -> f32[4, 5] { a @ b }",
       "export fn f(a: f32[4, 3], b: f32[5, 3]) -> f32[4, 5] { a @ "
       "transpose(b) }"},
      {"dim N = 4\nexport fn f(x: f32[N]) -> f32[N] { x / N }",
       "dim N = 4\nexport fn f(x: f32[N]) -> f32[N] { x / f32(N) }"},
      {"export fn f(x: f32[4, 3]) -> f32[4] { sum(x, axes = 1) }",
       "export fn f(x: f32[4, 3]) -> f32[4] { sum(x, axis = 1) }"},
      {"dim N = 7, M = N / 2", "dim N = 7, M = N // 2"},
      {"export fn f(x: f32[4]) -> bool[4] { 0 < x < 1 }",
       "export fn f(x: f32[4]) -> bool[4] { 0 < x and x < 1 }"},
      {"export fn f(x: f32[4]) -> i32[4] { x * 2 }",
       "export fn f(x: f32[4]) -> i32[4] { i32(x * 2) }"},
      {"dim B = 64 // the batch", "dim B = 64  // the batch"},
      {"use optm", "use optim"},
      {"export fn f(x: f32[4], y: f32[3]) -> f32[3] {\n  let z[i] = x[i] + "
       "y[i]\n  z\n}",
       "export fn f(x: f32[4], y: f32[3]) -> f32[3] {\n  let z[i < 3] = x[i] + "
       "y[i]\n  z\n}"},
  };
  for (auto [wrong, right] : cases) {
    Checked checked(wrong);
    EXPECT_TRUE(checked.diags.hasErrors()) << wrong;
    EXPECT_EQ(applyFixIts(wrong, checked), right);
    EXPECT_EQ(Checked(right).codes(), "") << right;
  }
}

TEST(Diagnostics, Nearest) {
  EXPECT_EQ(findNearest("sofmax", {"softmax", "log_softmax", "relu"}),
            "softmax");
  EXPECT_EQ(findNearest("Relu", {"relu", "gelu"}), "relu");
  EXPECT_EQ(findNearest("zzz", {"softmax", "relu"}), "");
  EXPECT_EQ(findNearest("x", {"y"}), "");
}
