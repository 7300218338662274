//===- tdslc.cpp - the compiler of TDS -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compile.h"
#include "InternalErrors.h"
#include "Options.h"

#include "tdsl/Frontend/Diagnostics.h"

#include "llvm/Support/raw_ostream.h"

using namespace tdslc;

/// Prints the catalogue entry of an error code.
static ExitCode explain(const Options &options) {
  llvm::StringRef text = tdsl::explain(options.explainCode);
  if (text.empty()) {
    llvm::errs() << "tdslc: there is no error code '" << options.explainCode
                 << "'; codes look like E0401, see docs/Errors.md\n";
    return UsageWrong;
  }
  llvm::outs() << text.rtrim() << "\n";
  return Fine;
}

int main(int argc, char **argv) {
  installInternalErrorHandlers(argc, argv);
  Options options = parseOptions(argc, argv);
  switch (options.command) {
  case Command::Compile:
    return compile(options);
  case Command::Check:
    return check(options);
  case Command::Explain:
    return explain(options);
  case Command::Format:
    return format(options);
  case Command::Document:
    return document(options);
  }
}
