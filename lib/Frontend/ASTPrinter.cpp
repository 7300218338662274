//===- ASTPrinter.cpp - The tree as nested lists -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One declaration or statement a line, expressions in prefix form. The form
// is for people and tests; it is not read back.
//
//===----------------------------------------------------------------------===//

#include "tdsl/Frontend/AST.h"
#include "llvm/Support/raw_ostream.h"

using namespace tdsl;
using namespace tdsl::ast;
using llvm::cast;
using llvm::isa;
using llvm::raw_ostream;
using llvm::StringRef;

namespace {
class Printer {
public:
  explicit Printer(raw_ostream &os) : os(os) {}
  void print(const Decl *decl, unsigned indent);

private:
  void print(const Expr *e, unsigned indent);
  void print(const Block *block, unsigned indent);
  void print(const Stmt *stmt, unsigned indent);
  void print(const TypeExpr *type, unsigned indent);
  void printParams(llvm::ArrayRef<ParamDecl> params, unsigned indent);
  void printBinders(llvm::ArrayRef<Binder> binders, unsigned indent);
  void printNames(llvm::ArrayRef<Ident> names);
  void printDoc(StringRef doc, unsigned indent);

  raw_ostream &os;
};
} // namespace

void Printer::printNames(llvm::ArrayRef<Ident> names) {
  os << '(';
  llvm::interleave(names, os, [&](const Ident &n) { os << n.name; }, " ");
  os << ')';
}

void Printer::printBinders(llvm::ArrayRef<Binder> binders, unsigned indent) {
  os << '[';
  llvm::interleave(
      binders, os,
      [&](const Binder &b) {
        os << b.name.name;
        if (b.bound) {
          os << " < ";
          print(b.bound, indent);
        }
      },
      ", ");
  os << ']';
}

void Printer::print(const Expr *e, unsigned indent) {
  if (!e) {
    os << "none";
    return;
  }
  switch (e->kind) {
  case ExprKind::Error:
    os << "<error>";
    return;
  case ExprKind::Int:
    os << cast<IntExpr>(e)->value;
    return;
  case ExprKind::Float:
    os << cast<FloatExpr>(e)->text;
    return;
  case ExprKind::Bool:
    os << (cast<BoolExpr>(e)->value ? "true" : "false");
    return;
  case ExprKind::Name:
    os << cast<NameExpr>(e)->name;
    return;
  case ExprKind::Unary: {
    auto *unary = cast<UnaryExpr>(e);
    os << (unary->op == UnaryOp::Neg ? "(neg " : "(not ");
    print(unary->operand, indent);
    os << ')';
    return;
  }
  case ExprKind::Binary: {
    // The left spine in a loop; it may be as long as the file.
    llvm::SmallVector<const BinaryExpr *> spine;
    const Expr *left = e;
    while (auto *binary = llvm::dyn_cast<BinaryExpr>(left)) {
      spine.push_back(binary);
      left = binary->lhs;
    }
    for (const BinaryExpr *binary : spine)
      os << '(' << spelling(binary->op) << ' ';
    print(left, indent);
    for (const BinaryExpr *binary : llvm::reverse(spine)) {
      os << ' ';
      print(binary->rhs, indent);
      os << ')';
    }
    return;
  }
  case ExprKind::Select: {
    auto *select = cast<SelectExpr>(e);
    os << "(select ";
    print(select->cond, indent);
    os << ' ';
    print(select->thenValue, indent);
    os << ' ';
    print(select->elseValue, indent);
    os << ')';
    return;
  }
  case ExprKind::IfBlock: {
    auto *branch = cast<IfBlockExpr>(e);
    os << "(if ";
    print(branch->cond, indent);
    print(branch->thenBlock, indent);
    if (branch->elseBlock) {
      os << '\n';
      os.indent(indent) << "else";
      print(branch->elseBlock, indent);
    }
    os << ')';
    return;
  }
  case ExprKind::Call: {
    auto *call = cast<CallExpr>(e);
    os << "(call ";
    print(call->callee, indent);
    for (const Arg &arg : call->args) {
      os << ' ';
      if (arg.name.isValid())
        os << arg.name.name << '=';
      if (arg.isPack)
        os << "...";
      print(arg.value, indent);
    }
    os << ')';
    return;
  }
  case ExprKind::Member:
    os << "(. ";
    print(cast<MemberExpr>(e)->base, indent);
    os << ' ' << cast<MemberExpr>(e)->member.name << ')';
    return;
  case ExprKind::Index: {
    auto *index = cast<IndexExpr>(e);
    os << "(index ";
    print(index->base, indent);
    for (const IndexItem &item : index->items) {
      os << ' ';
      if (!item.isSlice) {
        print(item.value, indent);
        continue;
      }
      os << "(slice ";
      print(item.low, indent);
      os << ' ';
      print(item.high, indent);
      os << ')';
    }
    os << ')';
    return;
  }
  case ExprKind::Reduce: {
    auto *reduce = cast<ReduceExpr>(e);
    os << '(' << reduce->op.name;
    printBinders(reduce->binders, indent);
    os << ' ';
    print(reduce->body, indent);
    os << ')';
    return;
  }
  case ExprKind::Tuple:
    os << "(tuple";
    for (const Expr *elem : cast<TupleExpr>(e)->elems) {
      os << ' ';
      print(elem, indent);
    }
    os << ')';
    return;
  case ExprKind::List:
    os << "[";
    llvm::interleave(
        cast<ListExpr>(e)->items, os,
        [&](const ListItem &item) {
          if (item.isPack)
            os << "...";
          print(item.value, indent);
        },
        ", ");
    os << ']';
    return;
  }
}

void Printer::print(const TypeExpr *type, unsigned indent) {
  if (!type) {
    os << '_';
    return;
  }
  os << type->elem.name;
  if (type->isLike())
    os << ' ' << type->like.name;
  if (!type->hasShape)
    return;
  os << '[';
  llvm::interleave(
      type->shape, os,
      [&](const ShapeItem &item) {
        if (item.kind == ShapeItem::Pack)
          os << "..." << item.pack.name;
        else if (item.kind == ShapeItem::Infer)
          os << '_';
        else
          print(item.size, indent);
      },
      ", ");
  os << ']';
}

void Printer::print(const Block *block, unsigned indent) {
  for (const Stmt *stmt : block->stmts) {
    os << '\n';
    os.indent(indent + 2);
    print(stmt, indent + 2);
  }
  if (block->value) {
    os << '\n';
    os.indent(indent + 2) << "value ";
    print(block->value, indent + 2);
  }
}

void Printer::print(const Stmt *stmt, unsigned indent) {
  switch (stmt->kind) {
  case StmtKind::Error:
    os << "<error>";
    return;
  case StmtKind::Let: {
    auto *let = cast<LetStmt>(stmt);
    os << "let ";
    if (let->isTuple)
      printNames(let->names);
    else
      os << let->names.front().name;
    os << ' ';
    print(let->value, indent);
    return;
  }
  case StmtKind::IndexDef: {
    auto *def = cast<IndexDefStmt>(stmt);
    os << "let " << def->name.name;
    printBinders(def->binders, indent);
    os << ' ';
    print(def->value, indent);
    return;
  }
  case StmtKind::Assign:
    os << "assign " << cast<AssignStmt>(stmt)->name.name << ' ';
    print(cast<AssignStmt>(stmt)->value, indent);
    return;
  case StmtKind::Dim:
    os << "dim " << cast<DimStmt>(stmt)->name.name << ' ';
    print(cast<DimStmt>(stmt)->value, indent);
    return;
  case StmtKind::For: {
    auto *loop = cast<ForStmt>(stmt);
    os << "for " << loop->name.name << ' ';
    print(loop->low, indent);
    if (loop->high) {
      os << " .. ";
      print(loop->high, indent);
    }
    print(loop->body, indent);
    return;
  }
  case StmtKind::Fold: {
    auto *fold = cast<FoldStmt>(stmt);
    os << "fold ";
    printNames(fold->names);
    os << ' ';
    print(fold->init, indent);
    os << " for " << fold->index.name << ' ';
    print(fold->low, indent);
    os << " .. ";
    print(fold->high, indent);
    print(fold->body, indent);
    return;
  }
  case StmtKind::Assert:
    os << "assert ";
    print(cast<AssertStmt>(stmt)->cond, indent);
    return;
  case StmtKind::Write:
    os << "write ";
    print(cast<WriteStmt>(stmt)->target, indent);
    os << ' ';
    print(cast<WriteStmt>(stmt)->value, indent);
    return;
  case StmtKind::Minimize:
  case StmtKind::Apply: {
    auto *minimize = llvm::dyn_cast<MinimizeStmt>(stmt);
    auto *apply = llvm::dyn_cast<ApplyStmt>(stmt);
    os << (minimize ? "minimize " : "apply ");
    print(minimize ? minimize->loss : apply->gradient, indent);
    os << " over";
    for (const Expr *e : minimize ? minimize->over : apply->over) {
      os << ' ';
      print(e, indent);
    }
    os << " with ";
    print(minimize ? minimize->optimizer : apply->optimizer, indent);
    const Ident &name = minimize ? minimize->name : apply->name;
    if (name.isValid())
      os << " as " << name.name;
    return;
  }
  case StmtKind::Expr:
    os << "do ";
    print(cast<ExprStmt>(stmt)->value, indent);
    return;
  }
}

void Printer::printParams(llvm::ArrayRef<ParamDecl> params, unsigned indent) {
  os << '(';
  llvm::interleave(
      params, os,
      [&](const ParamDecl &p) {
        os << p.name.name;
        if (p.type) {
          os << ": ";
          print(p.type, indent);
        }
        if (p.defaultValue) {
          os << " = ";
          print(p.defaultValue, indent);
        }
      },
      ", ");
  os << ')';
}

void Printer::printDoc(StringRef doc, unsigned indent) {
  while (!doc.empty()) {
    auto [line, rest] = doc.split('\n');
    os.indent(indent) << "/// " << line << '\n';
    doc = rest;
  }
}

void Printer::print(const Decl *decl, unsigned indent) {
  printDoc(decl->doc, indent);
  os.indent(indent);
  switch (decl->kind) {
  case DeclKind::Dim: {
    auto *dim = cast<DimDecl>(decl);
    os << "dim " << dim->name.name;
    if (dim->value || dim->bound) {
      os << (dim->bound ? " <= " : " ");
      print(dim->bound ? dim->bound : dim->value, indent);
    }
    break;
  }
  case DeclKind::Const:
    os << "const " << decl->name.name << ": ";
    print(cast<ConstDecl>(decl)->type, indent);
    os << ' ';
    print(cast<ConstDecl>(decl)->value, indent);
    break;
  case DeclKind::Var: {
    auto *var = cast<VarDecl>(decl);
    os << (var->isParam ? "param " : "state ") << var->name.name << ": ";
    print(var->type, indent);
    os << ' ';
    print(var->init, indent);
    break;
  }
  case DeclKind::Module:
  case DeclKind::Optimizer: {
    auto *module = llvm::dyn_cast<ModuleDecl>(decl);
    auto *optimizer = llvm::dyn_cast<OptimizerDecl>(decl);
    os << (module ? "module " : "optimizer ") << decl->name.name;
    printParams(module ? module->params : optimizer->params, indent);
    os << '\n';
    for (const Decl *member : module ? module->members : optimizer->members)
      print(member, indent + 2);
    return;
  }
  case DeclKind::Layer: {
    auto *layer = cast<LayerDecl>(decl);
    os << "layer " << layer->name.name;
    if (layer->count) {
      os << '[';
      print(layer->count, indent);
      os << ']';
    }
    os << ' ';
    print(layer->value, indent);
    break;
  }
  case DeclKind::Fn: {
    auto *fn = cast<FnDecl>(decl);
    static const char *const words[] = {"fn ", "export fn ", "step "};
    os << words[size_t(fn->fnKind)] << fn->name.name;
    printParams(fn->params, indent);
    if (fn->hasResult) {
      os << " -> ";
      if (fn->isTuple)
        os << '(';
      llvm::interleave(
          fn->results, os,
          [&](const ResultType &r) {
            if (r.name.isValid())
              os << r.name.name << ": ";
            print(r.type, indent);
          },
          ", ");
      if (fn->isTuple)
        os << ')';
    }
    print(fn->body, indent);
    if (fn->vjp) {
      os << '\n';
      os.indent(indent) << "vjp ";
      printNames(fn->vjp->params);
      os << " -> ";
      printNames(fn->vjp->results);
      print(fn->vjp->body, indent);
    }
    break;
  }
  case DeclKind::Use:
    os << "use " << decl->name.name;
    break;
  case DeclKind::Import:
    os << "import \"";
    os.write_escaped(cast<ImportDecl>(decl)->path)
        << "\" as " << decl->name.name;
    break;
  case DeclKind::If: {
    auto *choice = cast<IfDecl>(decl);
    os << "if ";
    print(choice->cond, indent);
    os << '\n';
    for (const Decl *member : choice->thenMembers)
      print(member, indent + 2);
    if (choice->hasElse) {
      os.indent(indent) << "else\n";
      for (const Decl *member : choice->elseMembers)
        print(member, indent + 2);
    }
    return;
  }
  }
  os << '\n';
}

void tdsl::printAST(const File &file, raw_ostream &os) {
  Printer printer(os);
  for (const Decl *decl : file.decls)
    printer.print(decl, 0);
}
