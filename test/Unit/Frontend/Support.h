//===- Support.h - Checking programs in tests -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_TEST_UNIT_FRONTEND_SUPPORT_H
#define TDSL_TEST_UNIT_FRONTEND_SUPPORT_H

#include "tdsl/Frontend/Frontend.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

namespace tdsl::test {

/// One run of the front end over a text.
struct Checked {
  SourceManager sources;
  DiagnosticEngine diags{sources};
  std::unique_ptr<FrontendResult> result;

  explicit Checked(llvm::StringRef text, FrontendOptions options = {},
                   llvm::StringRef fileName = "test.tds") {
    // `// check: -D N=3` in the first line sets a size.
    llvm::StringRef first = text.split('\n').first;
    if (first.consume_front("// check: -D ")) {
      auto [name, value] = first.split('=');
      int64_t number = 0;
      value.getAsInteger(10, number);
      options.defines[name.str()] = number;
    }
    auto file = sources.addText(text, fileName.str());
    result = compile(sources, file, options, diags);
  }

  std::string codes() const {
    std::string out;
    for (const Diagnostic &d : diags.getDiagnostics())
      out += (out.empty() ? "" : " ") + getCode(d.kind).str();
    return out;
  }
  std::string text() const {
    std::string out;
    llvm::raw_string_ostream os(out);
    diags.render(os);
    return out;
  }
  const typed::Function *function(llvm::StringRef name) const {
    if (result->program)
      for (const typed::Function *fn : result->program->order)
        if (fn->name == name)
          return fn;
    return nullptr;
  }
  std::string variables() const {
    std::string out;
    if (result->program)
      for (const typed::Variable &v : result->program->variables)
        out += v.name + ": " + toString(v.type) + "\n";
    return out;
  }
};

/// Replaces by the fix-its of all messages, from the end to the front.
std::string applyFixIts(llvm::StringRef text, const Checked &checked);

} // namespace tdsl::test

#endif // TDSL_TEST_UNIT_FRONTEND_SUPPORT_H
