//===- Scopes.cpp - The files of a program -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file brings its own declarations, the standard modules that it uses and
// the files that it imports. What is imported is a library: constants,
// functions, modules and optimizers, but no variables and no entries. Paths
// are relative to the file that imports; a file that is reached in several
// ways is read once.
//
//===----------------------------------------------------------------------===//

#include "Checker.h"
#include "tdsl/Frontend/Parser.h"
#include "tdsl/Std/StandardModules.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace tdsl;
using namespace tdsl::sema;
using llvm::dyn_cast;
using llvm::StringRef;
using llvm::Twine;

/// No file of a program is larger.
static constexpr uint64_t maxFileSize = uint64_t(64) << 20;
static constexpr size_t maxPathLength = 1024;

ImportedFile tdsl::readImportedFile(StringRef path) {
  ImportedFile file;
  llvm::SmallString<256> real;
  std::error_code error = llvm::sys::fs::real_path(path, real);
  file.identity = error ? path.str() : real.str().str();
  llvm::sys::fs::file_status status;
  if (!error)
    error = llvm::sys::fs::status(path, status);
  if (error) {
    file.problem = error.message();
    return file;
  }
  // Devices and pipes have no end, or none that comes soon.
  if (status.type() != llvm::sys::fs::file_type::regular_file) {
    file.problem = "it is not a regular file";
    return file;
  }
  if (status.getSize() > maxFileSize) {
    file.problem = "it is larger than 64 MiB";
    return file;
  }
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/true,
                                            /*IsVolatile=*/true);
  if (buffer)
    file.text = std::move(*buffer);
  else
    file.problem = buffer.getError().message();
  return file;
}

//===----------------------------------------------------------------------===//
// Imports
//===----------------------------------------------------------------------===//

/// What is wrong with the path of an import; empty when nothing is.
static StringRef findPathProblem(StringRef path) {
  if (path.empty())
    return "it is empty";
  if (path.size() > maxPathLength)
    return "it is longer than 1024 bytes";
  if (llvm::any_of(path, [](char c) { return uint8_t(c) < 0x20 || c == 0x7f; }))
    return "it holds a control character";
  if (path.contains('\\'))
    return "folders are parted by `/`";
  if (llvm::sys::path::is_absolute(path))
    return "it must be relative to this file, so that the program can be moved";
  if (!path.ends_with(".tds"))
    return "it must name a .tds file";
  return {};
}

/// "main.tds imports lib.tds, which imports …"
void Checker::reportCycle(const ast::ImportDecl *import, StringRef identity,
                          StringRef path) {
  size_t first = 0;
  while (reading[first].identity != identity)
    ++first;
  auto d = report(Diag::ImportCycle, import->pathRange);
  d << path;
  std::string chain = reading[first].path;
  for (size_t i = first + 1; i < reading.size(); ++i) {
    d.label(reading[i].import, "imported here");
    chain += " -> " + reading[i].path;
  }
  d.note("the cycle is " + chain + " -> " + path);
  d.note("move what both need to a file that imports neither");
}

FileScope *Checker::readImport(const ast::ImportDecl *import,
                               const FileScope &from) {
  Range range = import->pathRange;
  StringRef problem = findPathProblem(import->path);
  if (from.path.empty())
    problem = "standard modules import nothing";
  if (!problem.empty()) {
    report(Diag::ImportPath, range) << problem;
    return nullptr;
  }
  llvm::SmallString<256> path(llvm::sys::path::parent_path(from.path));
  llvm::sys::path::append(path, import->path);
  llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/false);

  ImportedFile file = options.readFile(path);
  for (const Reading &outer : reading)
    if (outer.identity == file.identity) {
      reportCycle(import, file.identity, path);
      return nullptr;
    }
  auto known = imported.find(file.identity);
  if (known != imported.end())
    return known->second;
  if (!file.text) {
    report(Diag::ImportNotRead, range) << path << file.problem;
    return nullptr;
  }
  imported[file.identity] = nullptr;
  SourceManager::FileId id = ~0u;
  if (imported.size() < kFileLimit)
    id = sources.addFile(std::move(file.text), path.str().str());
  if (id == ~0u) {
    report(Diag::TooManyFiles, range) << Twine(kFileLimit);
    aborted = true;
    return nullptr;
  }
  unsigned before = diags.getNumErrors();
  ast::File tree = parseFile(sources, id, context, diags);
  if (diags.getNumErrors() != before)
    return nullptr;
  reading.push_back({file.identity, path.str().str(), range});
  // Function names in the IR begin with the file's.
  std::string name = llvm::sys::path::stem(path).str();
  for (char &c : name)
    if (!llvm::isAlnum(c))
      c = '_';
  FileScope *scope = makeScope(tree, name, path.str().str());
  reading.pop_back();
  // A program that is imported is one mistake, whatever it holds.
  for (const ast::Decl *decl : tree.decls) {
    auto *fn = dyn_cast<ast::FnDecl>(decl);
    bool entry = fn && fn->fnKind != ast::FnKind::Plain;
    if (!entry && !llvm::isa<ast::VarDecl, ast::LayerDecl>(decl))
      continue;
    report(Diag::MemberOutOfPlace, decl->name.range)
            .label(range, "imported here")
            .note("a file that is imported holds sizes, constants, functions, "
                  "modules and optimizers; entries and their params stand in "
                  "the program's own file")
        << (fn ? (fn->fnKind == ast::FnKind::Step ? "a step" : "an `export fn`")
            : llvm::isa<ast::LayerDecl>(decl)         ? "a layer"
            : llvm::cast<ast::VarDecl>(decl)->isParam ? "a param"
                                                      : "a state")
        << "a file that is imported";
    break;
  }
  resolveNames(*scope, diags, unknownNames);
  if (diags.getNumErrors() != before)
    return nullptr;
  return imported[file.identity] = scope;
}

FileScope *Checker::loadImport(const ast::ImportDecl *import,
                               const FileScope &from) {
  FileScope *scope = aborted ? nullptr : readImport(import, from);
  importFailed |= !scope;
  return scope;
}

//===----------------------------------------------------------------------===//
// Scopes
//===----------------------------------------------------------------------===//

FileScope *Checker::makeScope(const ast::File &file, std::string name,
                              std::string path) {
  auto owned = std::make_unique<FileScope>();
  FileScope *scope = owned.get();
  scope->file = file;
  scope->name = name;
  scope->path = path;
  scope->begin = sources.getLoc(file.id, 0);
  // A path and the name of a standard module are never equal.
  scopes[path.empty() ? name : path + "#" + std::to_string(scopes.size())] =
      std::move(owned);
  auto redefined = [&](const ast::Ident &ident, Range first) {
    report(Diag::Redefined, ident.range).label(first, "first declared here")
        << ident.name;
  };
  llvm::StringMap<Range> importNames;
  for (const ast::Decl *decl : file.decls) {
    if (!decl->name.isValid())
      continue;
    if (auto *use = dyn_cast<ast::UseDecl>(decl)) {
      // Null where there is none, so that its members are not missed too.
      scope->modules[use->name.name] =
          loadModule(use->name.name, use->name.range);
      continue;
    }
    bool reserved = decl->name.name == "_" || getElem(decl->name.name) ||
                    isClassWord(decl->name.name);
    auto *import = dyn_cast<ast::ImportDecl>(decl);
    if (import && !reserved) {
      auto [it, fresh] =
          importNames.try_emplace(import->name.name, import->name.range);
      if (!fresh || scope->modules.count(import->name.name)) {
        redefined(import->name, it->second);
        continue;
      }
      scope->modules[import->name.name] = loadImport(import, *scope);
      continue;
    }
    // The name keeps the meaning that the language gives it.
    if (reserved) {
      report(Diag::ReservedName, decl->name.range) << decl->name.name;
      continue;
    }
    auto [it, fresh] = scope->decls.try_emplace(decl->name.name, decl);
    if (!fresh)
      redefined(decl->name, it->second->name.range);
  }
  for (auto &entry : importNames) {
    auto it = scope->decls.find(entry.getKey());
    if (it != scope->decls.end())
      redefined(it->second->name, entry.second);
  }
  return scope;
}

FileScope *Checker::loadModule(StringRef name, Range range) {
  auto it = scopes.find(name.str());
  if (it != scopes.end())
    return it->second.get();
  StringRef text = getStandardModule(name);
  if (text.empty()) {
    llvm::SmallVector<StringRef, 8> names;
    for (const StandardModule &module : getStandardModules())
      names.push_back(module.name);
    auto d = report(Diag::UnknownModule, range);
    d << name;
    StringRef nearest = findNearest(name, names);
    if (!nearest.empty())
      d.fix(range, nearest, "did you mean");
    d.note("standard modules are " + llvm::join(names, ", "));
    return nullptr;
  }
  SourceManager::FileId id = sources.addText(text, ("<" + name + ">").str());
  ast::File file = parseFile(sources, id, context, diags);
  FileScope *scope = makeScope(file, name.str(), "");
  resolveNames(*scope, diags, unknownNames);
  return scope;
}
