//===- Document.cpp - Pages about what a file declares -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TokenSpacing.h"
#include "tdsl/Frontend/Format.h"
#include "tdsl/Frontend/Parser.h"
#include "llvm/Support/raw_ostream.h"

using namespace tdsl;
using llvm::cast;
using llvm::dyn_cast;
using llvm::isa;
using llvm::StringRef;

namespace {
class Writer {
public:
  Writer(const SourceManager &sources, llvm::ArrayRef<Token> tokens,
         llvm::raw_ostream &os)
      : sources(sources), tokens(tokens), os(os) {}

  void write(const ast::Decl *decl, StringRef introduction);

private:
  std::string getSignature(SourceLoc begin, SourceLoc end);
  std::string getHeader(const ast::Decl *decl);
  void writeMembers(llvm::ArrayRef<ast::Decl *> members, StringRef condition);

  const SourceManager &sources;
  llvm::ArrayRef<Token> tokens;
  llvm::raw_ostream &os;
};
} // namespace

/// The tokens of a range on one line.
std::string Writer::getSignature(SourceLoc begin, SourceLoc end) {
  TokenSpacing spacing(sources);
  std::string text;
  for (const Token &token : tokens) {
    if (token.range.begin < begin || token.kind == Tok::Eof)
      continue;
    if (!(token.range.begin < end))
      break;
    if (spacing.next(token))
      text += ' ';
    text += spell(sources, token);
  }
  return text;
}

/// A declaration up to its body or its value.
std::string Writer::getHeader(const ast::Decl *decl) {
  auto fromName = [&](SourceLoc end) {
    return getSignature(decl->name.range.begin, end);
  };
  switch (decl->kind) {
  case ast::DeclKind::Fn: {
    auto *fn = cast<ast::FnDecl>(decl);
    static const char *const words[] = {"fn ", "export fn ", "step "};
    return words[size_t(fn->fnKind)] + fromName(fn->signature.end);
  }
  case ast::DeclKind::Module:
  case ast::DeclKind::Optimizer: {
    // Up to the brace.
    SourceLoc end = decl->range.end;
    for (const Token &token : tokens)
      if (token.kind == Tok::LBrace &&
          decl->name.range.begin < token.range.begin) {
        end = token.range.begin;
        break;
      }
    return (isa<ast::ModuleDecl>(decl) ? "module " : "optimizer ") +
           fromName(end);
  }
  case ast::DeclKind::Var: {
    auto *var = cast<ast::VarDecl>(decl);
    return (var->isParam ? "param " : "state ") +
           fromName(var->type->range.end);
  }
  case ast::DeclKind::Dim:
    return "dim " + fromName(decl->range.end);
  case ast::DeclKind::Const:
    return "const " + fromName(decl->range.end);
  case ast::DeclKind::Layer:
    return "layer " + fromName(decl->range.end);
  case ast::DeclKind::Use:
  case ast::DeclKind::Import:
  case ast::DeclKind::If:
    break;
  }
  return {};
}

void Writer::writeMembers(llvm::ArrayRef<ast::Decl *> members,
                          StringRef condition) {
  for (const ast::Decl *member : members) {
    if (auto *choice = dyn_cast<ast::IfDecl>(member)) {
      std::string cond =
          getSignature(choice->cond->range.begin, choice->cond->range.end);
      writeMembers(choice->thenMembers, ", if `" + cond + "`");
      writeMembers(choice->elseMembers, ", if not `" + cond + "`");
      continue;
    }
    os << "- `" << getHeader(member) << "`" << condition;
    if (!member->doc.empty()) {
      os << ": ";
      llvm::SmallVector<StringRef, 4> lines;
      member->doc.split(lines, '\n');
      llvm::interleave(lines, os, " ");
    }
    os << "\n";
  }
}

void Writer::write(const ast::Decl *decl, StringRef introduction) {
  StringRef doc = decl->doc;
  doc.consume_front(introduction);
  doc = doc.trim();
  bool always = isa<ast::FnDecl, ast::ModuleDecl, ast::OptimizerDecl>(decl);
  std::string header = getHeader(decl);
  if (header.empty() || (!always && doc.empty()))
    return;
  os << "\n## `" << decl->name.name << "`\n\n```tds\n" << header << "\n```\n";
  if (!doc.empty())
    os << "\n" << doc << "\n";
  auto *module = dyn_cast<ast::ModuleDecl>(decl);
  if (module && !module->members.empty()) {
    os << "\n";
    writeMembers(module->members, "");
  }
}

/// The `///` lines at the top of a file that an empty line parts from the
/// first declaration.
static std::string getIntroduction(StringRef text) {
  std::string result;
  StringRef rest = text;
  while (rest.starts_with("///")) {
    auto [line, after] = rest.split('\n');
    if (!result.empty())
      result += "\n";
    result += line.drop_front(3).trim().str();
    rest = after;
  }
  bool parted =
      rest.empty() || rest.starts_with("\n") || rest.starts_with("\r\n");
  return parted ? result : std::string();
}

std::string tdsl::documentFile(const SourceManager &sources,
                               SourceManager::FileId file, StringRef title,
                               DiagnosticEngine &diags) {
  ASTContext context;
  unsigned before = diags.getNumErrors();
  ast::File tree = parseFile(sources, file, context, diags);
  if (diags.getNumErrors() != before)
    return {};
  DiagnosticEngine ignored(sources);
  std::vector<Token> tokens = lexFile(sources, file, ignored, context.arena);
  std::string introduction = getIntroduction(sources.getText(file));
  std::string out;
  llvm::raw_string_ostream os(out);
  os << "# " << title << "\n";
  if (!introduction.empty())
    os << "\n" << introduction << "\n";
  Writer writer(sources, tokens, os);
  for (const ast::Decl *decl : tree.decls)
    writer.write(decl, introduction);
  return out;
}
