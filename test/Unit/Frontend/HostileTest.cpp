//===- HostileTest.cpp - No text crashes the front end -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Support.h"
#include <fstream>
#include <random>
#include <sstream>

using namespace tdsl;
using namespace tdsl::test;

static void mustFail(const std::string &text) {
  Checked checked(text);
  EXPECT_TRUE(checked.diags.hasErrors());
  EXPECT_EQ(checked.result->program, nullptr);
  EXPECT_LE(checked.text().size(), 1u << 20);
}

TEST(Hostile, ManyBrackets) {
  for (char c : {'(', '[', '{'}) {
    mustFail(std::string(100000, c));
    mustFail("fn f() { " + std::string(100000, c));
  }
  mustFail("fn f() { " + std::string(100000, '(') + "1" +
           std::string(100000, ')') + " }");
}

TEST(Hostile, LongChains) {
  std::string unary = "fn f() { (";
  std::string calls = "fn f() { x", members = "fn f() { x";
  std::string branches = "fn f() { ", powers = "fn f() { 1";
  for (int i = 0; i < 20000; ++i) {
    unary += "- ";
    calls += "(1)";
    members += ".a";
    branches += "if a { ";
    powers += " ** 2";
  }
  mustFail(unary);
  mustFail(calls + " }");
  mustFail(members + " }");
  mustFail(branches);
  mustFail(powers + " }");
}

TEST(Hostile, LongSumsAreFine) {
  std::string text = "export fn f(x: f32) -> f32 { x";
  for (int i = 0; i < 5000; ++i)
    text += " + x";
  Checked checked(text + " }");
  EXPECT_EQ(checked.codes(), "");
}

TEST(Hostile, DeepCallsOfDeepExpressions) {
  // 200 functions, each calling the next from 100 levels below.
  std::string text;
  for (int i = 0; i < 200; ++i)
    text += "fn g" + std::to_string(i) + "(x: f32) -> f32 { " +
            std::string(100, '(') + "g" + std::to_string(i + 1) + "(x)" +
            std::string(100, ')') + " }\n";
  text += "fn g200(x: f32) -> f32 { x }\n"
          "export fn f(x: f32) -> f32 { g0(x) }";
  Checked checked(text);
  EXPECT_TRUE(checked.codes().empty() || checked.codes() == "E0801");
}

TEST(Hostile, ManyMissingBracesInALongText) {
  std::string text = "fn f() {\n";
  for (int i = 0; i < 250; ++i)
    text += "  if true {\n";
  for (int i = 0; i < 200000; ++i)
    text += "x\n";
  mustFail(text);
}

TEST(Hostile, LongLineAndBytes) {
  mustFail(std::string(10'000'000, 'a'));
  mustFail(std::string(10'000'000, '1'));
  mustFail("fn f() { \"" + std::string(1'000'000, 'x'));
  mustFail(std::string("fn f() { 1 \0 2 }", 16));
  mustFail("\r\r\r}\r");
}

TEST(Hostile, Empty) {
  for (const char *text : {"", "\n", "// nothing", "/// doc", "\xEF\xBB\xBF"})
    EXPECT_EQ(Checked(text).codes(), "");
}

TEST(Hostile, HugeLoops) {
  EXPECT_EQ(Checked("export fn f(x: f32) -> f32 {\n"
                    "  for i in 0..9223372036854775807 { }\n  x\n}")
                .codes(),
            "E0803");
}

/// Tokens of the language in any order.
TEST(Hostile, RandomTokens) {
  static const char *const words[] = {
      "fn",   "let",  "x",     "y",     "f32",    "[",     "]",         "(",
      ")",    "{",    "}",     ",",     ":",      "=",     "->",        "<-",
      "+",    "-",    "*",     "/",     " // ",   "**",    "@",         "if",
      "then", "else", "for",   "in",    "..",     "dim",   "N",         "1",
      "2.5",  "\n",   ";",     "sum",   "step",   "s",     "export",    "mean",
      "i",    "...s", "param", "state", "module", "layer", "minimize",  "over",
      "with", "not",  "and",   "<",     "==",     ".",     "optimizer", "use",
      "nn",   "vjp",  "true",  "inf",   "\"a\""};
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::string text = round % 2 ? "export fn f(x: f32[4]) -> f32[4] { " : "";
    int length = random() % 60;
    for (int i = 0; i < length; ++i) {
      text += words[random() % (sizeof(words) / sizeof(*words))];
      text += random() % 4 ? " " : "";
    }
    Checked checked(text);
    checked.text();
  }
}

TEST(Hostile, RandomBytes) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int i = 0; i < 300; ++i)
      text += char(random() % (round % 2 ? 128 : 256));
    Checked checked(text);
    checked.text();
  }
}

/// Programs with one token or byte changed.
TEST(Hostile, MutatedPrograms) {
  std::ifstream file(TDSL_SOURCE_DIR "/test/Unit/Frontend/Inputs/page.tds");
  std::stringstream buffer;
  buffer << file.rdbuf();
  std::string text = buffer.str();
  ASSERT_FALSE(text.empty());
  ASSERT_EQ(Checked(text).codes(), "");
  std::mt19937 random(3);
  for (int round = 0; round < 1500; ++round) {
    std::string mutant = text;
    size_t at = random() % mutant.size();
    switch (random() % 4) {
    case 0:
      mutant.erase(at, 1 + random() % 4);
      break;
    case 1:
      mutant[at] = " ()[]{},:=+-*/<>.0123456789abcnx\n"[random() % 33];
      break;
    case 2:
      mutant.insert(at, mutant.substr(random() % mutant.size(), random() % 12));
      break;
    default:
      mutant.resize(at);
    }
    Checked checked(mutant);
    checked.text();
  }
}
