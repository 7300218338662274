//===- NewcomerTest.cpp - Messages that lead to the right program -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// test/Frontend/Inputs/Newcomer holds programs as a newcomer gets them wrong
// (name.tds), what the compiler says (name.txt), and the program put right
// (name.right.tds). For those in exact-fixes.txt the fix-its of the JSON form
// give the right program exactly.
//
//===----------------------------------------------------------------------===//

#include "Support.h"
#include "tdsl/Frontend/Lexer.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace tdsl;
using namespace tdsl::test;

static const char folder[] = TDSL_SOURCE_DIR "/test/Frontend/Inputs/Newcomer/";

static std::string readFile(const std::string &name) {
  auto buffer = llvm::MemoryBuffer::getFile(folder + name);
  EXPECT_TRUE(bool(buffer)) << name;
  return buffer ? (*buffer)->getBuffer().str() : "";
}

static std::vector<std::string> listCases() {
  std::vector<std::string> names;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(folder, error), end;
       it != end && !error; it.increment(error)) {
    llvm::StringRef name = llvm::sys::path::filename(it->path());
    if (name.consume_back(".tds") && !name.ends_with(".right"))
      names.push_back(name.str());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Applies the first fix-it of each message, as an editor does.
static std::string applyJSON(std::string text, llvm::StringRef json) {
  struct Edit {
    int64_t offset, length;
    std::string replacement;
  };
  std::vector<Edit> edits;
  auto value = llvm::json::parse(json);
  EXPECT_TRUE(bool(value));
  if (!value)
    return {};
  for (const llvm::json::Value &message : *value->getAsArray()) {
    const llvm::json::Array &fixes = *message.getAsObject()->getArray("fixIts");
    if (fixes.empty())
      continue;
    const llvm::json::Object &fix = *fixes[0].getAsObject();
    const llvm::json::Object &range = *fix.getObject("range");
    edits.push_back({*range.getInteger("offset"), *range.getInteger("length"),
                     fix.getString("replacement")->str()});
  }
  std::sort(edits.begin(), edits.end(),
            [](const Edit &a, const Edit &b) { return a.offset > b.offset; });
  for (const Edit &edit : edits)
    text.replace(edit.offset, edit.length, edit.replacement);
  return text;
}

TEST(Newcomer, MessagesAreExact) {
  std::vector<std::string> names = listCases();
  EXPECT_GE(names.size(), 30u);
  for (const std::string &name : names) {
    Checked wrong(readFile(name + ".tds"), {}, name + ".tds");
    EXPECT_EQ(wrong.text(), readFile(name + ".txt")) << name;
    EXPECT_EQ(wrong.diags.getNumErrors(), 1u) << name;
    Checked right(readFile(name + ".right.tds"), {}, name + ".right.tds");
    EXPECT_EQ(right.text(), "") << name;
  }
}

TEST(Newcomer, FixItsGiveTheRightProgram) {
  std::string list = readFile("exact-fixes.txt");
  llvm::SmallVector<llvm::StringRef> names;
  llvm::StringRef(list).split(names, '\n', -1, /*KeepEmpty=*/false);
  EXPECT_GE(names.size(), 15u);
  for (llvm::StringRef name : names) {
    std::string text = readFile(name.str() + ".tds");
    Checked wrong(text, {}, name);
    std::string json;
    llvm::raw_string_ostream os(json);
    wrong.diags.renderJSON(os);
    EXPECT_EQ(applyJSON(text, json), readFile(name.str() + ".right.tds"))
        << name.str() << "\n"
        << wrong.text();
  }
}

/// A program of the examples without one token: at most two messages, the
/// first within a line of the place.
TEST(Newcomer, DeletedTokens) {
  std::error_code error;
  unsigned numTokens = 0, numWrong = 0, numFar = 0;
  std::string far;
  for (llvm::sys::fs::recursive_directory_iterator
           it(TDSL_SOURCE_DIR "/examples", error),
       end;
       it != end && !error; it.increment(error)) {
    llvm::StringRef path = it->path();
    if (!path.ends_with(".tds"))
      continue;
    auto buffer = llvm::MemoryBuffer::getFile(path);
    ASSERT_TRUE(bool(buffer));
    std::string text = (*buffer)->getBuffer().str();
    SourceManager sources;
    DiagnosticEngine ignored(sources);
    auto id = sources.addText(text, "example.tds");
    ASTContext context;
    Lexer lexer(sources, id, ignored, context.arena);
    for (Token token = lexer.next(); token.kind != Tok::Eof;
         token = lexer.next()) {
      std::string mutant = text;
      mutant.erase(sources.getOffset(token.range.begin),
                   token.range.end.offset - token.range.begin.offset);
      // An example of several files keeps its imports.
      Checked checked(mutant, {}, path);
      unsigned line = sources.getLineColumn(token.range.begin).line;
      ++numTokens;
      if (checked.diags.getNumErrors() == 0)
        continue;
      ++numWrong;
      // The first error of the source.
      const Diagnostic *first = nullptr;
      for (const Diagnostic &d : checked.diags.getDiagnostics())
        if (d.severity == Severity::Error &&
            (!first || d.range.begin < first->range.begin))
          first = &d;
      unsigned at = first->range.isValid()
                        ? checked.sources.getLineColumn(first->range.begin).line
                        : 0;
      if (checked.diags.getNumErrors() <= 2 &&
          std::max(at, line) - std::min(at, line) <= 1)
        continue;
      ++numFar;
      far += path.str() + " without `" + sources.getText(token.range).str() +
             "` in line " + std::to_string(line) + "\n" + checked.text();
    }
  }
  EXPECT_GE(numTokens, 500u);
  EXPECT_GE(numWrong, numTokens / 2);
  EXPECT_EQ(numFar, 0u) << far;
}
