//===- FrontendFuzzer.cpp - No text harms the front end -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lexer, parser, checker, the messages in both forms, and the formatter, whose
// form must not change by formatting it again.
//
//===----------------------------------------------------------------------===//

#include "tdsl/Frontend/Format.h"
#include "tdsl/Frontend/Frontend.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

using namespace tdsl;

/// LLVM's library is not instrumented, and shares containers with us.
extern "C" const char *__asan_default_options() {
  return "detect_container_overflow=0:detect_leaks=0";
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  SourceManager sources;
  auto file = sources.addText(text, "fuzz.tds");
  DiagnosticEngine diags(sources);
  FrontendOptions options;
  // A file that imports itself under every name but one.
  options.readFile = [](llvm::StringRef path) {
    ImportedFile found;
    found.identity = path == "a.tds" ? "a.tds" : "fuzz.tds";
    found.text = llvm::MemoryBuffer::getMemBuffer("fn f(x: f32) -> f32 { x }");
    return found;
  };
  auto result = compile(sources, file, options, diags);
  std::string messages;
  llvm::raw_string_ostream os(messages);
  diags.render(os);
  diags.renderJSON(os);

  DiagnosticEngine formatDiags(sources);
  std::string once = formatFile(sources, file, formatDiags);
  if (formatDiags.hasErrors())
    return 0;
  SourceManager again;
  auto formatted = again.addText(once, "fuzz.tds");
  DiagnosticEngine againDiags(again);
  if (formatFile(again, formatted, againDiags) != once)
    std::abort();
  return 0;
}
