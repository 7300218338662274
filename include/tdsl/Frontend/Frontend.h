//===- Frontend.h - From text to a checked program -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_FRONTEND_FRONTEND_H
#define TDSL_FRONTEND_FRONTEND_H

#include "tdsl/Frontend/AST.h"
#include "tdsl/Frontend/Diagnostics.h"
#include "tdsl/Frontend/Program.h"
#include <functional>
#include <map>

namespace tdsl {

/// A file that an `import` names.
struct ImportedFile {
  /// Equal for two paths of one file.
  std::string identity;
  /// Null where the file can't be read.
  std::unique_ptr<llvm::MemoryBuffer> text;
  /// Why not.
  std::string problem;
};

/// Reads regular files up to 64 MiB from the disk.
ImportedFile readImportedFile(llvm::StringRef path);

struct FrontendOptions {
  /// `-D name=value`.
  std::map<std::string, int64_t> defines;
  /// Build code for `assert`s that are not known at compile time.
  bool checked = false;
  /// Where imports come from. The path is that of the importing file's folder
  /// and the import's own, joined.
  std::function<ImportedFile(llvm::StringRef path)> readFile = readImportedFile;
};

/// A program has at most this many files, standard modules left out.
constexpr unsigned kFileLimit = 256;

/// What one run of the front end owns. The program refers to the sources and
/// to the syntax trees; keep them together.
struct FrontendResult {
  ASTContext context;
  ast::File main;
  /// Null where there were errors.
  std::unique_ptr<typed::Program> program;
};

/// Parses and checks the file `main` of `sources`; standard modules that it
/// uses are added to `sources` under names like "<nn>", files that it imports
/// under their paths. Problems go to
/// `diags`; warnings alone leave a program. Never fails in another way,
/// whatever the text holds.
std::unique_ptr<FrontendResult> compile(SourceManager &sources,
                                        SourceManager::FileId main,
                                        const FrontendOptions &options,
                                        DiagnosticEngine &diags);

} // namespace tdsl

#endif // TDSL_FRONTEND_FRONTEND_H
