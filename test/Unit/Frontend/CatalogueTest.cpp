//===- CatalogueTest.cpp - Every code is provoked and explained -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The failing program of an entry of docs/Errors.md gives its code and no
// other message; the program put right gives none.
//
//===----------------------------------------------------------------------===//

#include "Support.h"

using namespace tdsl;
using namespace tdsl::test;
using llvm::StringRef;

/// The entries know one file besides their own.
static FrontendOptions withFiles() {
  FrontendOptions options;
  options.readFile = [](StringRef path) {
    ImportedFile file;
    file.identity = path.str();
    if (path == "layers.tds")
      file.text = llvm::MemoryBuffer::getMemBufferCopy(
          "fn twice(x: float[...s]) -> float[...s] { x + x }", path);
    else
      file.problem = "no such file";
    return file;
  };
  return options;
}

/// The text of the first code block that begins with `fence`.
static StringRef getBlock(StringRef entry, StringRef fence) {
  size_t at = entry.find(fence);
  if (at == StringRef::npos)
    return {};
  StringRef rest = entry.substr(at + fence.size());
  return rest.substr(0, rest.find("\n```") + 1);
}

TEST(Catalogue, EveryCodeHasAnEntryAndAProgram) {
  for (Diag kind : getAllDiags()) {
    StringRef code = getCode(kind);
    StringRef entry = explain(code);
    EXPECT_FALSE(entry.empty()) << code.str() << " has no entry";
    if (code == "E0102" || code == "E0801" || code == "E0806" ||
        code == "E0902")
      continue; // see below, ImportTest.cpp and tdslc/pass-errors.test
    StringRef bad = getBlock(entry, "```tds fails\n");
    StringRef good = getBlock(entry, "```tds\n");
    ASSERT_FALSE(bad.empty()) << code.str() << " has no failing program";
    ASSERT_FALSE(good.empty()) << code.str() << " has no program put right";
    Checked wrong(bad, withFiles());
    EXPECT_EQ(wrong.codes(), code.str()) << bad.str() << wrong.text();
    Checked right(good, withFiles());
    EXPECT_EQ(right.codes(), "") << good.str() << right.text();
  }
}

TEST(Catalogue, CodesAreUsedOnce) {
  std::set<std::string> seen;
  for (Diag kind : getAllDiags())
    EXPECT_TRUE(seen.insert(getCode(kind).str()).second) << getCode(kind).str();
}

TEST(Catalogue, NotUTF8) {
  EXPECT_EQ(Checked("dim N = 3 // \xff").codes(), "E0102");
}

TEST(Catalogue, TooDeep) {
  std::string text = "export fn f(x: f32) -> f32 { " + std::string(300, '(') +
                     "x" + std::string(300, ')') + " }";
  EXPECT_EQ(Checked(text).codes(), "E0801");
}

TEST(Catalogue, UnknownCodesHaveNoEntry) {
  EXPECT_TRUE(explain("E9999").empty());
  EXPECT_TRUE(explain("E010").empty());
  EXPECT_TRUE(explain("").empty());
}
