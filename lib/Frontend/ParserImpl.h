//===- ParserImpl.h - The parser's state and helpers -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recursive descent with a nesting limit. After an error the parser stays
// silent until it has found the next statement or declaration, so that one
// mistake gives one message. A missing bracket or keyword of a declaration is
// reported and taken as given; anything else gives up the statement.
//
// A line end ends a statement only outside brackets: `bracketDepth` counts
// the open `(` and `[` since the innermost `{`.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_FRONTEND_PARSERIMPL_H
#define TDSL_LIB_FRONTEND_PARSERIMPL_H

#include "tdsl/Frontend/Lexer.h"
#include "tdsl/Frontend/Parser.h"

namespace tdsl {

class Parser {
public:
  Parser(const SourceManager &sources, SourceManager::FileId file,
         ASTContext &context, DiagnosticEngine &diags);

  ast::File parseFile();

private:
  /// How many tokens a guess about a mistake looks at.
  static constexpr unsigned kLookAhead = 256;

  // Tokens.
  const Token &peek(unsigned n = 0);
  Token consume();
  bool at(Tok kind) { return peek().kind == kind; }
  bool atWord(llvm::StringRef word) {
    return peek().kind == Tok::Ident && peek().text == word;
  }
  bool accept(Tok kind);
  /// The current token cannot continue the expression before it.
  bool endsHere() { return bracketDepth == 0 && peek().afterNewline; }
  SourceRange rangeFrom(SourceLoc begin) { return {begin, previousEnd}; }

  // Errors.
  DiagBuilder error(Diag kind, SourceRange range);
  void errorExpected(const llvm::Twine &what);
  std::string describeCurrent();
  /// Where something is missing: at the current token, or behind the one
  /// before it when a line end stands between.
  SourceRange missingRange();
  bool expect(Tok kind);
  /// Takes the `{` of a body; where it is missing, says so and goes on with the
  /// next one. Its place, for the message about a missing `}`.
  SourceRange openBrace();
  bool expectClose(Tok kind, SourceRange open);
  bool danglingComma(Tok closer, llvm::StringRef what);
  bool findMissingBrace(SourceRange &open, SourceRange &place);
  ast::Ident expectName(llvm::StringRef what);
  void abortParsing();
  void skipStatement();
  void skipToBrace();
  bool closesBeforeElse();
  void skipDecl();
  bool atDeclStart();
  bool endStatement();

  /// Counts a level for its lifetime; false when the limit is reached.
  class Level {
  public:
    explicit Level(Parser &p);
    ~Level() { --parser.level; }
    explicit operator bool() const { return ok; }

  private:
    Parser &parser;
    bool ok;
  };

  // Expressions (ParseExpr.cpp).
  ast::Expr *parseExpr() { return parseBinary(0); }
  ast::Expr *parseBinary(unsigned minPrecedence);
  ast::Expr *parseCompoundAssign(ast::Expr *target, const Token &op);
  ast::Expr *parsePrefix();
  ast::Expr *parsePostfix();
  ast::Expr *parsePrimary();
  ast::Expr *parseIf();
  ast::Expr *parseParens();
  ast::Expr *parseList();
  ast::Expr *parseCall(ast::Expr *callee);
  ast::Expr *parseIndex(ast::Expr *base);
  ast::Expr *parseReduce(ast::IndexExpr *head);
  bool toBinders(llvm::ArrayRef<ast::IndexItem> items,
                 llvm::SmallVectorImpl<ast::Binder> &binders);
  llvm::ArrayRef<ast::Binder> parseBinders();
  ast::Expr *makeError(SourceRange range);
  ast::Expr *makeInt(const Token &token);
  template <typename T, typename... Args>
  T *makeExpr(unsigned height, Args &&...args);

  // Statements (ParseStmt.cpp).
  ast::Block *parseBlock();
  ast::Stmt *parseStmt();
  ast::Stmt *parseLet();
  ast::Stmt *parseFor();
  ast::Stmt *parseFold();
  ast::Stmt *parseMinimize();
  ast::Stmt *parseApply();
  ast::Stmt *parseExprStmt();
  void parseUpdateTail(llvm::SmallVectorImpl<ast::Expr *> &over,
                       ast::Expr *&optimizer, ast::Ident &name,
                       llvm::StringRef overWord);

  // Declarations (ParseDecl.cpp).
  using DeclList = llvm::SmallVectorImpl<ast::Decl *>;
  void parseDecl(DeclList &out, llvm::StringRef where);
  void parseDim(DeclList &out);
  void parseUse(DeclList &out);
  ast::Decl *parseImport();
  ast::Decl *parseConst();
  ast::Decl *parseVar();
  ast::Decl *parseModule();
  ast::Decl *parseLayer();
  ast::Decl *parseOptimizer();
  ast::Decl *parseFn(ast::FnKind kind);
  ast::Vjp *parseVjp();
  llvm::ArrayRef<ast::ParamDecl> parseParams();
  void parseTypeWithoutColon(ast::ParamDecl &param);
  llvm::ArrayRef<ast::Decl *> parseMembers(llvm::StringRef where,
                                           bool mayChoose);
  ast::Decl *parseIfDecl(llvm::StringRef where);
  llvm::ArrayRef<ast::Ident> parseNameList(llvm::StringRef what);
  void parseResult(ast::FnDecl *fn);
  ast::TypeExpr *parseType();

  const SourceManager &sources;
  SourceManager::FileId file;
  ASTContext &context;
  DiagnosticEngine &diags;
  Lexer lexer;
  llvm::SmallVector<Token, 4> ahead;
  SourceLoc previousEnd;
  unsigned bracketDepth = 0;
  unsigned level = 0;
  bool silent = false;
  bool aborted = false;
  /// The last `//` that was taken for a division, for the message about
  /// comments with a single blank.
  SourceRange lastFloorDiv;
  /// What findMissingBrace() found, once it has looked: the `{` and the place.
  bool searchedBrace = false;
  std::pair<SourceRange, SourceRange> missingBrace;
};

} // namespace tdsl

#endif // TDSL_LIB_FRONTEND_PARSERIMPL_H
