//===- AST.h - Syntax tree of TDS -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain nodes that live in the arena of an ASTContext and are never destroyed
// one by one. Children are arrays in the same arena. A tree is never deeper
// than the parser's nesting limit, counting a chain of left-associative
// operators as one level: walk the left spine of a BinaryExpr in a loop.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_FRONTEND_AST_H
#define TDSL_FRONTEND_AST_H

#include "tdsl/Frontend/SourceManager.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/Casting.h"

namespace llvm {
class raw_ostream;
}

namespace tdsl {
namespace ast {

struct Block;
struct TypeExpr;

struct Ident {
  llvm::StringRef name;
  SourceRange range;
  bool isValid() const { return !name.empty(); }
};

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

enum class ExprKind : uint8_t {
  Error,
  Int,
  Float,
  Bool,
  Name,
  Unary,
  Binary,
  Select,
  IfBlock,
  Call,
  Member,
  Index,
  Reduce,
  Tuple,
  List,
};

struct Expr {
  ExprKind kind;
  /// Levels below this node, left spines counted once.
  uint16_t height = 1;
  SourceRange range;

protected:
  Expr(ExprKind kind, SourceRange range) : kind(kind), range(range) {}
};

#define TDSL_AST_EXPR(NAME)                                                    \
  static bool classof(const Expr *e) { return e->kind == ExprKind::NAME; }

struct ErrorExpr : Expr {
  explicit ErrorExpr(SourceRange r) : Expr(ExprKind::Error, r) {}
  TDSL_AST_EXPR(Error)
};
struct IntExpr : Expr {
  uint64_t value;
  IntExpr(SourceRange r, uint64_t v) : Expr(ExprKind::Int, r), value(v) {}
  TDSL_AST_EXPR(Int)
};
/// Also `inf` and `nan`; `text` has no underscores.
struct FloatExpr : Expr {
  llvm::StringRef text;
  FloatExpr(SourceRange r, llvm::StringRef t)
      : Expr(ExprKind::Float, r), text(t) {}
  TDSL_AST_EXPR(Float)
};
struct BoolExpr : Expr {
  bool value;
  BoolExpr(SourceRange r, bool v) : Expr(ExprKind::Bool, r), value(v) {}
  TDSL_AST_EXPR(Bool)
};
struct NameExpr : Expr {
  llvm::StringRef name;
  NameExpr(SourceRange r, llvm::StringRef n)
      : Expr(ExprKind::Name, r), name(n) {}
  TDSL_AST_EXPR(Name)
};

enum class UnaryOp : uint8_t { Neg, Not };
struct UnaryExpr : Expr {
  UnaryOp op;
  Expr *operand;
  UnaryExpr(SourceRange r, UnaryOp op, Expr *e)
      : Expr(ExprKind::Unary, r), op(op), operand(e) {}
  TDSL_AST_EXPR(Unary)
};

enum class BinaryOp : uint8_t {
  Or,
  And,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Mod,
  MatMul,
  Pow,
};
llvm::StringRef spelling(BinaryOp op);
struct BinaryExpr : Expr {
  BinaryOp op;
  Expr *lhs, *rhs;
  SourceRange opRange;
  BinaryExpr(SourceRange r, BinaryOp op, Expr *l, Expr *rh, SourceRange o)
      : Expr(ExprKind::Binary, r), op(op), lhs(l), rhs(rh), opRange(o) {}
  TDSL_AST_EXPR(Binary)
};
/// `if c then a else b`
struct SelectExpr : Expr {
  Expr *cond, *thenValue, *elseValue;
  SelectExpr(SourceRange r, Expr *c, Expr *t, Expr *e)
      : Expr(ExprKind::Select, r), cond(c), thenValue(t), elseValue(e) {}
  TDSL_AST_EXPR(Select)
};
/// `if c { … } else { … }`; `elseBlock` may be null. `else if` is an else
/// block that holds one IfBlock.
struct IfBlockExpr : Expr {
  Expr *cond;
  Block *thenBlock, *elseBlock;
  IfBlockExpr(SourceRange r, Expr *c, Block *t, Block *e)
      : Expr(ExprKind::IfBlock, r), cond(c), thenBlock(t), elseBlock(e) {}
  TDSL_AST_EXPR(IfBlock)
};
struct Arg {
  Ident name; // invalid for a positional argument
  Expr *value;
  bool isPack = false; // `...s`: value is a NameExpr
};
struct CallExpr : Expr {
  Expr *callee;
  llvm::ArrayRef<Arg> args;
  CallExpr(SourceRange r, Expr *c, llvm::ArrayRef<Arg> a)
      : Expr(ExprKind::Call, r), callee(c), args(a) {}
  TDSL_AST_EXPR(Call)
};
struct MemberExpr : Expr {
  Expr *base;
  Ident member;
  MemberExpr(SourceRange r, Expr *b, Ident m)
      : Expr(ExprKind::Member, r), base(b), member(m) {}
  TDSL_AST_EXPR(Member)
};
struct IndexItem {
  bool isSlice = false;
  Expr *value = nullptr; // without a slice
  Expr *low = nullptr, *high = nullptr;
  SourceRange range;
};
struct IndexExpr : Expr {
  Expr *base;
  llvm::ArrayRef<IndexItem> items;
  IndexExpr(SourceRange r, Expr *b, llvm::ArrayRef<IndexItem> i)
      : Expr(ExprKind::Index, r), base(b), items(i) {}
  TDSL_AST_EXPR(Index)
};
/// An index that a definition or a reduction binds, `i` or `i < n`.
struct Binder {
  Ident name;
  Expr *bound; // null when the range is inferred
};
/// `sum[k, u < n](e)`
struct ReduceExpr : Expr {
  Ident op;
  llvm::ArrayRef<Binder> binders;
  Expr *body;
  ReduceExpr(SourceRange r, Ident op, llvm::ArrayRef<Binder> b, Expr *e)
      : Expr(ExprKind::Reduce, r), op(op), binders(b), body(e) {}
  TDSL_AST_EXPR(Reduce)
};
struct TupleExpr : Expr {
  llvm::ArrayRef<Expr *> elems;
  TupleExpr(SourceRange r, llvm::ArrayRef<Expr *> e)
      : Expr(ExprKind::Tuple, r), elems(e) {}
  TDSL_AST_EXPR(Tuple)
};
/// `[a, ...s, b]`, a shape or a list of axes.
struct ListItem {
  bool isPack = false; // `...s`: value is a NameExpr
  Expr *value;
};
struct ListExpr : Expr {
  llvm::ArrayRef<ListItem> items;
  ListExpr(SourceRange r, llvm::ArrayRef<ListItem> i)
      : Expr(ExprKind::List, r), items(i) {}
  TDSL_AST_EXPR(List)
};
#undef TDSL_AST_EXPR

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

struct ShapeItem {
  enum Kind : uint8_t { Size, Pack, Infer } kind = Size;
  Expr *size = nullptr; // Size
  Ident pack;           // Pack
  SourceRange range;
};

/// `f32`, `float[n, ...s]`, `dim`, `like x`.
struct TypeExpr {
  Ident elem; // "dim" for a size argument, "like" for `like x`
  bool hasShape = false;
  llvm::ArrayRef<ShapeItem> shape;
  Ident like; // of `like x`
  SourceRange range;
  bool isLike() const { return like.isValid(); }
};

struct ResultType {
  Ident name; // may be invalid
  TypeExpr *type;
};

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

enum class StmtKind : uint8_t {
  Error,
  Let,
  IndexDef,
  Assign,
  Dim,
  For,
  Fold,
  Assert,
  Write,
  Minimize,
  Apply,
  Expr,
};

struct Stmt {
  StmtKind kind;
  SourceRange range;

protected:
  Stmt(StmtKind kind, SourceRange range) : kind(kind), range(range) {}
};

#define TDSL_AST_STMT(NAME)                                                    \
  static bool classof(const Stmt *s) { return s->kind == StmtKind::NAME; }

struct ErrorStmt : Stmt {
  explicit ErrorStmt(SourceRange r) : Stmt(StmtKind::Error, r) {}
  TDSL_AST_STMT(Error)
};
/// `let x = e`, `let (a, b) = e`
struct LetStmt : Stmt {
  bool isTuple;
  llvm::ArrayRef<Ident> names;
  Expr *value;
  LetStmt(SourceRange r, bool t, llvm::ArrayRef<Ident> n, Expr *v)
      : Stmt(StmtKind::Let, r), isTuple(t), names(n), value(v) {}
  TDSL_AST_STMT(Let)
};
/// `let y[i, j < n] = e`
struct IndexDefStmt : Stmt {
  Ident name;
  llvm::ArrayRef<Binder> binders;
  Expr *value;
  llvm::StringRef doc;
  IndexDefStmt(SourceRange r, Ident n, llvm::ArrayRef<Binder> b, Expr *v)
      : Stmt(StmtKind::IndexDef, r), name(n), binders(b), value(v) {}
  TDSL_AST_STMT(IndexDef)
};
/// `x = e`
struct AssignStmt : Stmt {
  Ident name;
  Expr *value;
  AssignStmt(SourceRange r, Ident n, Expr *v)
      : Stmt(StmtKind::Assign, r), name(n), value(v) {}
  TDSL_AST_STMT(Assign)
};
struct DimStmt : Stmt {
  Ident name;
  Expr *value;
  DimStmt(SourceRange r, Ident n, Expr *v)
      : Stmt(StmtKind::Dim, r), name(n), value(v) {}
  TDSL_AST_STMT(Dim)
};
/// `for k in lo..hi { … }` or `for b in layers { … }` (then `high` is null).
struct ForStmt : Stmt {
  Ident name;
  Expr *low, *high;
  Block *body;
  ForStmt(SourceRange r, Ident n, Expr *l, Expr *h, Block *b)
      : Stmt(StmtKind::For, r), name(n), low(l), high(h), body(b) {}
  TDSL_AST_STMT(For)
};
/// `fold h = h0 for t in lo..hi { … }`
struct FoldStmt : Stmt {
  llvm::ArrayRef<Ident> names;
  Expr *init;
  Ident index;
  Expr *low, *high;
  Block *body;
  FoldStmt(SourceRange r, llvm::ArrayRef<Ident> n, Expr *i, Ident x, Expr *l,
           Expr *h, Block *b)
      : Stmt(StmtKind::Fold, r), names(n), init(i), index(x), low(l), high(h),
        body(b) {}
  TDSL_AST_STMT(Fold)
};
struct AssertStmt : Stmt {
  Expr *cond;
  llvm::StringRef text;
  AssertStmt(SourceRange r, Expr *c, llvm::StringRef t)
      : Stmt(StmtKind::Assert, r), cond(c), text(t) {}
  TDSL_AST_STMT(Assert)
};
/// `w <- e`
struct WriteStmt : Stmt {
  Expr *target, *value;
  WriteStmt(SourceRange r, Expr *t, Expr *v)
      : Stmt(StmtKind::Write, r), target(t), value(v) {}
  TDSL_AST_STMT(Write)
};
/// `minimize l over a, b with o(...) as name`
struct MinimizeStmt : Stmt {
  Expr *loss;
  llvm::ArrayRef<Expr *> over;
  Expr *optimizer;
  Ident name;
  MinimizeStmt(SourceRange r, Expr *l, llvm::ArrayRef<Expr *> o, Expr *p,
               Ident n)
      : Stmt(StmtKind::Minimize, r), loss(l), over(o), optimizer(p), name(n) {}
  TDSL_AST_STMT(Minimize)
};
/// `apply g to a, b with o(...) as name`
struct ApplyStmt : Stmt {
  Expr *gradient;
  llvm::ArrayRef<Expr *> over;
  Expr *optimizer;
  Ident name;
  ApplyStmt(SourceRange r, Expr *g, llvm::ArrayRef<Expr *> o, Expr *p, Ident n)
      : Stmt(StmtKind::Apply, r), gradient(g), over(o), optimizer(p), name(n) {}
  TDSL_AST_STMT(Apply)
};
struct ExprStmt : Stmt {
  Expr *value;
  explicit ExprStmt(Expr *v) : Stmt(StmtKind::Expr, v->range), value(v) {}
  TDSL_AST_STMT(Expr)
};
#undef TDSL_AST_STMT

struct Block {
  llvm::ArrayRef<Stmt *> stmts;
  Expr *value = nullptr; // the last expression, null when there is none
  SourceRange range;
  /// Levels below, as Expr::height.
  uint16_t height = 0;
};

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

enum class DeclKind : uint8_t {
  Dim,
  Const,
  Var,
  Module,
  Layer,
  Fn,
  Optimizer,
  Use,
  Import,
  If,
};

struct Decl {
  DeclKind kind;
  Ident name;
  SourceRange range;
  llvm::StringRef doc;

protected:
  Decl(DeclKind kind, Ident name, SourceRange range)
      : kind(kind), name(name), range(range) {}
};

#define TDSL_AST_DECL(NAME)                                                    \
  static bool classof(const Decl *d) { return d->kind == DeclKind::NAME; }

/// `dim N = 4`, `dim N`, `dim N <= 4096`
struct DimDecl : Decl {
  Expr *value = nullptr, *bound = nullptr;
  DimDecl(Ident n, SourceRange r) : Decl(DeclKind::Dim, n, r) {}
  TDSL_AST_DECL(Dim)
};
struct ConstDecl : Decl {
  TypeExpr *type = nullptr;
  Expr *value = nullptr;
  ConstDecl(Ident n, SourceRange r) : Decl(DeclKind::Const, n, r) {}
  TDSL_AST_DECL(Const)
};
/// `param` or `state`
struct VarDecl : Decl {
  bool isParam = false;
  TypeExpr *type = nullptr;
  Expr *init = nullptr;
  VarDecl(Ident n, SourceRange r) : Decl(DeclKind::Var, n, r) {}
  TDSL_AST_DECL(Var)
};
/// `layer f[count] = M(...)`
struct LayerDecl : Decl {
  Expr *count = nullptr;
  Expr *value = nullptr;
  LayerDecl(Ident n, SourceRange r) : Decl(DeclKind::Layer, n, r) {}
  TDSL_AST_DECL(Layer)
};
struct ParamDecl {
  Ident name;
  TypeExpr *type = nullptr; // null where it is left out
  Expr *defaultValue = nullptr;
};
struct Vjp {
  llvm::ArrayRef<Ident> params;
  llvm::ArrayRef<Ident> results;
  Block *body = nullptr;
  SourceRange range;
};
enum class FnKind : uint8_t { Plain, Export, Step };
struct FnDecl : Decl {
  FnKind fnKind = FnKind::Plain;
  llvm::ArrayRef<ParamDecl> params;
  bool hasResult = false, isTuple = false;
  llvm::ArrayRef<ResultType> results;
  Block *body = nullptr;
  Vjp *vjp = nullptr;
  SourceRange signature;
  FnDecl(Ident n, SourceRange r) : Decl(DeclKind::Fn, n, r) {}
  TDSL_AST_DECL(Fn)
};
struct ModuleDecl : Decl {
  llvm::ArrayRef<ParamDecl> params;
  llvm::ArrayRef<Decl *> members;
  ModuleDecl(Ident n, SourceRange r) : Decl(DeclKind::Module, n, r) {}
  TDSL_AST_DECL(Module)
};
struct OptimizerDecl : Decl {
  llvm::ArrayRef<ParamDecl> params;
  llvm::ArrayRef<Decl *> members; // VarDecl and FnDecl
  OptimizerDecl(Ident n, SourceRange r) : Decl(DeclKind::Optimizer, n, r) {}
  TDSL_AST_DECL(Optimizer)
};
/// One name of `use a, b`.
struct UseDecl : Decl {
  UseDecl(Ident n, SourceRange r) : Decl(DeclKind::Use, n, r) {}
  TDSL_AST_DECL(Use)
};
/// `import "file.tds" as name`
struct ImportDecl : Decl {
  llvm::StringRef path;
  SourceRange pathRange;
  ImportDecl(Ident n, SourceRange r) : Decl(DeclKind::Import, n, r) {}
  TDSL_AST_DECL(Import)
};
/// `if cond { … } else { … }` around members of a module. It has no name.
/// `else if` is an else part that holds one IfDecl.
struct IfDecl : Decl {
  Expr *cond = nullptr;
  llvm::ArrayRef<Decl *> thenMembers, elseMembers;
  bool hasElse = false;
  explicit IfDecl(SourceRange r) : Decl(DeclKind::If, Ident(), r) {}
  TDSL_AST_DECL(If)
};
#undef TDSL_AST_DECL

struct File {
  SourceManager::FileId id = 0;
  llvm::ArrayRef<Decl *> decls;
};

} // namespace ast

/// Owns the nodes of any number of files.
class ASTContext {
public:
  llvm::BumpPtrAllocator arena;

  template <typename T, typename... Args> T *make(Args &&...args) {
    return new (arena.Allocate<T>()) T(std::forward<Args>(args)...);
  }
  template <typename T> llvm::ArrayRef<T> copy(llvm::ArrayRef<T> items) {
    T *out = arena.Allocate<T>(items.size());
    std::uninitialized_copy(items.begin(), items.end(), out);
    return llvm::ArrayRef<T>(out, items.size());
  }
};

/// Prints a file as nested lists, one node a line, for `--emit=ast`.
void printAST(const ast::File &file, llvm::raw_ostream &os);

} // namespace tdsl

#endif // TDSL_FRONTEND_AST_H
