//===- FormatCommands.cpp - tdslc fmt and tdslc doc -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compile.h"
#include "ReadProgram.h"

#include "tdsl/Frontend/Format.h"
#include "tdsl/Std/StandardModules.h"

#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"

using namespace tdslc;
using llvm::StringRef;

static ExitCode formatOne(const std::string &path, bool onlyCheck,
                          unsigned &numChanged) {
  std::optional<std::string> text = readProgram(path);
  if (!text)
    return ProgramWrong;
  tdsl::SourceManager sources;
  tdsl::SourceManager::FileId file = sources.addText(*text, path);
  if (file == ~0u) {
    llvm::errs() << "tdslc: " << path << " is larger than 4 GiB\n";
    return ProgramWrong;
  }
  tdsl::DiagnosticEngine diagnostics(sources);
  std::string formatted = tdsl::formatFile(sources, file, diagnostics);
  if (diagnostics.hasErrors()) {
    diagnostics.render(llvm::errs(),
                       llvm::WithColor(llvm::errs()).colorsEnabled());
    return ProgramWrong;
  }
  bool changed = formatted != *text;
  numChanged += changed;
  if (onlyCheck) {
    if (changed)
      llvm::outs() << path << " is not formatted\n";
    return Fine;
  }
  if (path == "-" || changed)
    return writeOutput(path, formatted);
  return Fine;
}

ExitCode tdslc::format(const Options &options) {
  ExitCode result = Fine;
  unsigned numChanged = 0;
  for (const std::string &path : options.files)
    if (ExitCode code = formatOne(path, options.onlyCheck, numChanged))
      result = code;
  if (options.onlyCheck && numChanged)
    return ProgramWrong;
  return result;
}

ExitCode tdslc::document(const Options &options) {
  std::string text = tdsl::getStandardModule(options.input).str();
  bool isStandard = !text.empty();
  if (!isStandard) {
    std::optional<std::string> program = readProgram(options.input);
    if (!program || refuseOverwriting(options.output, options.input))
      return ProgramWrong;
    text = std::move(*program);
  }
  tdsl::SourceManager sources;
  tdsl::SourceManager::FileId file = sources.addText(text, options.input);
  if (file == ~0u) {
    llvm::errs() << "tdslc: " << options.input << " is larger than 4 GiB\n";
    return ProgramWrong;
  }
  std::string title =
      isStandard ? "Standard module `" + options.input + "`"
                 : "`" + llvm::sys::path::filename(options.input).str() + "`";
  tdsl::DiagnosticEngine diagnostics(sources);
  std::string page = tdsl::documentFile(sources, file, title, diagnostics);
  if (diagnostics.hasErrors()) {
    diagnostics.render(llvm::errs(),
                       llvm::WithColor(llvm::errs()).colorsEnabled());
    return ProgramWrong;
  }
  return writeOutput(options.output, page);
}
