//===- FormatTest.cpp - The standard form of programs -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tdsl/Frontend/Format.h"
#include "Support.h"
#include "tdsl/Frontend/Parser.h"
#include "tdsl/Std/StandardModules.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <random>

using namespace tdsl;
using namespace tdsl::test;

/// The text in standard form; empty where it does not parse.
static std::string format(llvm::StringRef text) {
  SourceManager sources;
  auto file = sources.addText(text, "test.tds");
  DiagnosticEngine diags(sources);
  return formatFile(sources, file, diags);
}

static std::string treeOf(llvm::StringRef text) {
  SourceManager sources;
  auto file = sources.addText(text, "test.tds");
  DiagnosticEngine diags(sources);
  ASTContext context;
  ast::File tree = parseFile(sources, file, context, diags);
  std::string out;
  llvm::raw_string_ostream os(out);
  printAST(tree, os);
  return out;
}

/// Every comment of a text, in order. Strings of tests hold no `//`.
static std::string commentsOf(llvm::StringRef text) {
  std::string out;
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  for (llvm::StringRef line : lines) {
    size_t at = line.find("  //");
    if (at == llvm::StringRef::npos)
      at = line.ltrim().starts_with("//") ? 0 : llvm::StringRef::npos;
    if (at != llvm::StringRef::npos)
      out += line.substr(at).trim().str() + "\n";
  }
  return out;
}

static void checkFormat(llvm::StringRef text, llvm::StringRef name) {
  std::string once = format(text);
  ASSERT_FALSE(once.empty()) << name.str();
  EXPECT_EQ(format(once), once) << name.str();
  EXPECT_EQ(treeOf(once), treeOf(text)) << name.str();
  EXPECT_EQ(commentsOf(once), commentsOf(text)) << name.str();
}

TEST(Format, Blanks) {
  EXPECT_EQ(format("dim   N=4\n"), "dim N = 4\n");
  EXPECT_EQ(format("fn f( x:f32[n,2] ,k :dim=3 )->f32[n,2]{x*-1+(2-x)**2}"),
            "fn f(x: f32[n, 2], k: dim = 3) -> f32[n, 2] { x * -1 + (2 - x) ** "
            "2 }\n");
  EXPECT_EQ(format("fn f(x: f32[9]) -> f32 { sum[ i<3 ](x [2 : 5] [ i ]) }"),
            "fn f(x: f32[9]) -> f32 { sum[i < 3](x[2:5][i]) }\n");
  EXPECT_EQ(format("fn f(x: i32) -> i32 { x // 2 % - 3 }"),
            "fn f(x: i32) -> i32 { x // 2 % -3 }\n");
  EXPECT_EQ(
      format("fn f(x: f32[...s], a: bool) { if not (a) then m . f(x,axis=1) "
             "else [ 1,2 ] }"),
      "fn f(x: f32[...s], a: bool) { if not (a) then m.f(x, axis = 1) "
      "else [1, 2] }\n");
  EXPECT_EQ(
      format("step s() -> f32 { for i in 0 .. 3 { } ;minimize -x over (a, "
             "b) with o() }"),
      "step s() -> f32 { for i in 0..3 { }; minimize -x over (a, b) with "
      "o() }\n");
}

TEST(Format, Lines) {
  EXPECT_EQ(format("\n\n\ndim A = 1\n\n\n\ndim B = 2\n\n"),
            "dim A = 1\n\ndim B = 2\n");
  EXPECT_EQ(format("dim A = 1,\nB = 2\r\n"), "dim A = 1,\n  B = 2\n");
  EXPECT_EQ(format("module M {\n\n      param w: f32 = 0\n\n\n fn call(x: "
                   "f32) -> f32 {\nlet y = x +\nw\nf(y,\n  x)\n}\n\n}\n"),
            "module M {\n  param w: f32 = 0\n\n  fn call(x: f32) -> f32 {\n"
            "    let y = x +\n      w\n    f(y,\n      x)\n  }\n}\n");
}

TEST(Format, SignaturesOverSeveralLines) {
  EXPECT_EQ(format("fn f(x: f32[n],\ny: f32[n])\n-> f32[n] {\nlet z = sum[k](\n"
                   "x[k]\n* y[k])\nif z > 0\nthen x[ :,1, : ]\nelse y\n}\n"),
            "fn f(x: f32[n],\n  y: f32[n])\n  -> f32[n] {\n"
            "  let z = sum[k](\n    x[k]\n    * y[k])\n  if z > 0\n"
            "    then x[:, 1, :]\n    else y\n}\n");
}

TEST(Format, Comments) {
  EXPECT_EQ(format("// a\ndim A = 1   // b\ndim Long = 2  // c\n\n/// d\n"
                   "fn f(x: f32) -> f32 {\n// e\nx  // f\n// g\n}\n// h"),
            "// a\ndim A = 1     // b\ndim Long = 2  // c\n\n/// d\n"
            "fn f(x: f32) -> f32 {\n  // e\n  x  // f\n  // g\n}\n// h\n");
  EXPECT_EQ(format("// only"), "// only\n");
  EXPECT_EQ(format(""), "");
}

TEST(Format, WrongTextsHaveNoForm) {
  EXPECT_EQ(format("fn f( {"), "");
  EXPECT_EQ(format("dim N = 1 $"), "");
  EXPECT_EQ(format("dim N = \xff"), "");
}

TEST(Format, StandardModulesAndExamples) {
  for (const StandardModule &module : getStandardModules())
    checkFormat(module.text, module.name);
  unsigned numFiles = 0;
  std::error_code error;
  for (llvm::sys::fs::recursive_directory_iterator
           it(TDSL_SOURCE_DIR "/examples", error),
       end;
       it != end && !error; it.increment(error)) {
    if (!llvm::StringRef(it->path()).ends_with(".tds"))
      continue;
    auto buffer = llvm::MemoryBuffer::getFile(it->path());
    ASSERT_TRUE(buffer) << it->path();
    checkFormat((*buffer)->getBuffer(), it->path());
    ++numFiles;
  }
  EXPECT_GE(numFiles, 4u);
}

/// Tokens in any order and with any blanks: what parses keeps its tree.
TEST(Format, RandomTokens) {
  static const char *const words[] = {
      "x",    "y",   "1",        "2.5",  "+",  "-",   "*",    " // ",
      "**",   "@",   "%",        "(",    ")",  "[",   "]",    ",",
      "\n",   "not", "and",      "<",    "==", "if",  "then", "else",
      "f",    ".",   "  // c\n", "...s", ":",  "=",   "sum",  "over",
      "true", "inf", "{",        "}",    ";",  "let", "1e5",  "0x1f"};
  std::mt19937 random(7);
  unsigned numParsed = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = "fn f() { ";
    int length = 1 + random() % 9;
    for (int i = 0; i < length; ++i) {
      text += words[random() % (sizeof(words) / sizeof(*words))];
      text.append(random() % 3, ' ');
    }
    text += " }";
    std::string once = format(text);
    if (once.empty())
      continue;
    ++numParsed;
    ASSERT_EQ(format(once), once) << text;
    ASSERT_EQ(treeOf(once), treeOf(text)) << text;
  }
  EXPECT_GE(numParsed, 500u);
}

TEST(Document, Pages) {
  SourceManager sources;
  auto file = sources.addText(
      "/// A file.\n\n/// Twice x.\nfn twice( x:f32 ) -> f32 { x + x }\n"
      "dim N = 3\n/// Scales.\n/// By w.\nmodule Scale(D, on: bool = true) {\n"
      "  if on { param w: f32[D] = 1 }\n"
      "  /// Applies it.\n  fn call(x: f32[D]) -> f32[D] { x }\n}\n",
      "a.tds");
  DiagnosticEngine diags(sources);
  EXPECT_EQ(documentFile(sources, file, "a", diags),
            "# a\n\nA file.\n\n## `twice`\n\n```tds\nfn twice(x: f32) -> "
            "f32\n```\n\nTwice x.\n\n## `Scale`\n\n```tds\nmodule Scale(D, on: "
            "bool = true)\n```\n\nScales.\nBy w.\n\n- `param w: f32[D]`, if "
            "`on`\n- `fn call(x: f32[D]) -> f32[D]`: Applies it.\n");
}
