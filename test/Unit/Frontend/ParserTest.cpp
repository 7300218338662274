//===- ParserTest.cpp - Tokens, lines and recovery -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tdsl/Frontend/Parser.h"
#include "Support.h"
#include "tdsl/Frontend/Lexer.h"
#include <fstream>
#include <sstream>

using namespace tdsl;
using namespace tdsl::test;

namespace {
struct Parsed {
  SourceManager sources;
  DiagnosticEngine diags{sources};
  ASTContext context;
  ast::File file;

  explicit Parsed(llvm::StringRef text) {
    file =
        parseFile(sources, sources.addText(text, "test.tds"), context, diags);
  }
  std::string ast() const {
    std::string out;
    llvm::raw_string_ostream os(out);
    printAST(file, os);
    return out;
  }
};

/// The tree of one expression.
std::string expr(const std::string &text) {
  Parsed parsed("const c = " + text);
  EXPECT_FALSE(parsed.diags.hasErrors()) << text;
  std::string out = parsed.ast();
  return out.substr(std::string("const c: _ ").size(),
                    out.size() - std::string("const c: _ ").size() - 1);
}
} // namespace

TEST(Parser, Precedence) {
  EXPECT_EQ(expr("a + b * c"), "(+ a (* b c))");
  EXPECT_EQ(expr("a - b - c"), "(- (- a b) c)");
  EXPECT_EQ(expr("-a ** 2"), "(neg (** a 2))");
  EXPECT_EQ(expr("2 ** -a ** b"), "(** 2 (neg (** a b)))");
  EXPECT_EQ(expr("-a * b"), "(* (neg a) b)");
  EXPECT_EQ(expr("not a == b and c or d"), "(or (and (not (== a b)) c) d)");
  EXPECT_EQ(expr("a @ b // c % d"), "(% (// (@ a b) c) d)");
  EXPECT_EQ(expr("if a then b else c + d"), "(select a b (+ c d))");
  EXPECT_EQ(expr("sum[k, u < 3](x[k, u])"), "(sum[k, u < 3] (index x k u))");
  EXPECT_EQ(expr("x[2:10, :, -1]"),
            "(index x (slice 2 10) (slice none none) (neg 1))");
  EXPECT_EQ(expr("f(a, b = 1)[0].w"), "(. (index (call f a b=1) 0) w)");
  EXPECT_EQ(expr("((a))"), "a");
}

TEST(Parser, LineEnds) {
  EXPECT_EQ(Parsed("fn f() {\n  let a = (1\n    + 2)\n  f\n  (a)\n}")
                .diags.getDiagnostics()
                .size(),
            1u); // `f` is an expression before the last one
  EXPECT_FALSE(
      Parsed("fn f() {\n  let a = 1 +\n    2\n  a\n}").diags.hasErrors());
  EXPECT_FALSE(Parsed("fn f() { let a = 1; a }").diags.hasErrors());
  EXPECT_FALSE(Parsed("fn f() { -1 }").diags.hasErrors());
  EXPECT_TRUE(Parsed("fn f() { let a = 1\n -1 }").diags.hasErrors());
  EXPECT_FALSE(Parsed("fn f(x: f32) -> f32 { x }\nvjp (x, y, dy) -> (dx) "
                      "{ dy }")
                   .diags.hasErrors());
}

TEST(Parser, LineEndKinds) {
  std::string unix = "dim N = 4\nfn f(x: f32[N]) -> f32[N] {\n  x\n}\n";
  std::string dos, bare = unix.substr(0, unix.size() - 1);
  for (char c : unix)
    dos += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(Parsed(unix).ast(), Parsed(dos).ast());
  EXPECT_EQ(Parsed(unix).ast(), Parsed(bare).ast());
  Checked a("dim N = 4\ndim M = Q\n"), b("dim N = 4\r\ndim M = Q\r\n");
  EXPECT_EQ(a.text(), b.text());
}

TEST(Parser, SlashesDivideOrComment) {
  EXPECT_EQ(expr("n // 2"), "(// n 2)");
  EXPECT_EQ(expr("n //2"), "(// n 2)");
  EXPECT_EQ(expr("(n)//2"), "(// n 2)");
  EXPECT_EQ(expr("n  // half of it"), "n");
  EXPECT_EQ(expr("n\t// half of it"), "n");
  EXPECT_EQ(expr("n /// half of it"), "n");
  EXPECT_EQ(expr("n + // half of it\n 2"), "(+ n 2)");
  EXPECT_EQ(expr("f(a, // the first\n b)"), "(call f a b)");
}

TEST(Parser, DocComments) {
  Parsed parsed("/// The batch.\n/// As a size.\ndim B = 4\n// no doc\ndim C");
  ASSERT_EQ(parsed.file.decls.size(), 2u);
  EXPECT_EQ(parsed.file.decls[0]->doc, "The batch.\nAs a size.");
  EXPECT_TRUE(parsed.file.decls[1]->doc.empty());
}

TEST(Parser, WordsThatAreKeywordsInPlacesOnly) {
  EXPECT_FALSE(Parsed("fn step(over: f32, with: f32) -> f32 {\n"
                      "  let apply = over\n  let fold = with\n"
                      "  apply + fold\n}")
                   .diags.hasErrors());
  EXPECT_EQ(expr("optim.step(x)"), "(call (. optim step) x)");
}

TEST(Parser, OneMistakeOneMessage) {
  // Several mistakes in one file are all found.
  Parsed parsed("fn f(x: f32) -> f32 {\n  let a = * 2\n  let b = (1 + \n"
                "  x\n}\nfn g() { ]\n}\ndim = 3\n");
  EXPECT_GE(parsed.diags.getNumErrors(), 4u);
  EXPECT_LE(parsed.diags.getNumErrors(), 5u);
}

/// Without any one token a program has one or two syntax errors at most, the
/// first of them near the place.
TEST(Parser, DeletedTokens) {
  std::ifstream file(TDSL_SOURCE_DIR "/test/Unit/Frontend/Inputs/page.tds");
  std::stringstream buffer;
  buffer << file.rdbuf();
  std::string text = buffer.str();
  SourceManager sources;
  DiagnosticEngine ignored(sources);
  auto id = sources.addText(text, "page.tds");
  ASTContext context;
  Lexer lexer(sources, id, ignored, context.arena);
  for (Token token = lexer.next(); token.kind != Tok::Eof;
       token = lexer.next()) {
    size_t at = sources.getOffset(token.range.begin);
    std::string mutant = text;
    mutant.erase(at, token.range.end.offset - token.range.begin.offset);
    Parsed parsed(mutant);
    unsigned line = sources.getLineColumn(token.range.begin).line;
    EXPECT_LE(parsed.diags.getNumErrors(), 2u)
        << "without `" << token.text.str() << "` in line " << line;
  }
}
