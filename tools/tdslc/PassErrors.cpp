//===- PassErrors.cpp - what passes say, as messages of the compiler ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PassErrors.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace tdslc;

PassErrors::PassErrors(const Program &program, const Options &options)
    : asJSON(options.jsonDiagnostics), isFirst(!program.hasMessages),
      diagnostics(sources),
      handler(&program.context,
              [this](Diagnostic &error) { return add(error); }) {
  // The user has the source line; a whole function in the form of the compiler
  // would hide the message.
  program.context.printOpOnDiagnostic(false);
  for (const tdsl::report::SourceFile &file : program.sources)
    sources.addText(file.text, file.name);
}

/// The word at a place; columns count code points.
static tdsl::SourceRange getRange(const tdsl::SourceManager &sources,
                                  FileLineColLoc place) {
  for (unsigned id = 0; id < sources.getNumFiles(); ++id) {
    if (sources.getName(id) != place.getFilename().getValue())
      continue;
    StringRef line = sources.getLine(id, place.getLine());
    size_t begin = 0;
    for (unsigned column = 1; column < place.getColumn() && begin < line.size();
         ++column)
      do
        ++begin;
      while (begin < line.size() && (line[begin] & 0xc0) == 0x80);
    size_t end = std::min(begin + 1, line.size());
    while (end < line.size() && (llvm::isAlnum(line[end]) || line[end] == '_'))
      ++end;
    size_t offset = line.data() - sources.getText(id).data();
    return {sources.getLoc(id, offset + begin),
            sources.getLoc(id, offset + end)};
  }
  return {};
}

LogicalResult PassErrors::add(Diagnostic &error) {
  if (error.getSeverity() != DiagnosticSeverity::Error)
    return failure();
  auto place = error.getLocation()->findInstanceOf<FileLineColLoc>();
  tdsl::SourceRange range =
      place ? getRange(sources, place) : tdsl::SourceRange();
  auto message = diagnostics.report(tdsl::Diag::PassError, range);
  std::string text = error.str();
  if (place && !range.isValid())
    text += " (" + place.getFilename().str() + ":" +
            std::to_string(place.getLine()) + ")";
  message << text;
  for (Diagnostic &note : error.getNotes())
    message.note(note.str());
  return success();
}

PassErrors::~PassErrors() {
  if (diagnostics.getDiagnostics().empty() && !(asJSON && isFirst))
    return;
  if (asJSON)
    diagnostics.renderJSON(llvm::errs());
  else
    diagnostics.render(llvm::errs(),
                       llvm::WithColor(llvm::errs()).colorsEnabled());
}
