//===- Check.cpp - tdslc check -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compile.h"
#include "PassErrors.h"
#include "ReadProgram.h"
#include "Stages.h"

#include "tdsl/Autodiff/GradientCheck.h"
#include "tdsl/Pipeline/Pipelines.h"

using namespace mlir;
using namespace tdslc;

/// Adds the sizes that the program's `// check: -D B=2 …` line asks for; the
/// command line goes before them. False where the line cannot be read.
static bool addSmallSizes(Options &options) {
  // Of standard input nothing is left for the front end once it is read.
  if (options.input == "-")
    return true;
  std::optional<std::string> text = readProgram(options.input);
  if (!text)
    return false;
  SmallVector<StringRef> lines;
  StringRef(*text).split(lines, '\n');
  for (StringRef line : lines) {
    line = line.trim();
    if (!line.consume_front("// check:"))
      continue;
    SmallVector<StringRef> words;
    line.split(words, ' ', -1, /*KeepEmpty=*/false);
    for (size_t i = 0; i < words.size(); ++i) {
      StringRef define = words[i];
      if (define == "-D" && i + 1 < words.size())
        define = words[++i];
      else if (!define.consume_front("-D")) {
        llvm::errs() << "tdslc: " << options.input
                     << ": a line `// check:` holds -D name=value only, not '"
                     << define << "'\n";
        return false;
      }
      auto [name, value] = define.split('=');
      int64_t number;
      if (name.empty() || value.getAsInteger(0, number)) {
        llvm::errs() << "tdslc: " << options.input
                     << ": in the line `// check:`, '" << define
                     << "' is not name=number\n";
        return false;
      }
      options.defines.emplace(name.str(), number);
    }
  }
  return true;
}

ExitCode tdslc::check(const Options &given) {
  Options options = given;
  if (options.checkGrad && !addSmallSizes(options))
    return ProgramWrong;
  DialectRegistry registry;
  tdsl::registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  Program program{{}, {}, context, {}};
  if (ExitCode code = runFrontend(options, program))
    return code;
  PassErrors errors(program, options);
  if (!runRolling(program, options, *program.module))
    return Internal;
  if (options.checkGrad) {
    tdsl::autodiff::GradientCheckOptions checkOptions;
    checkOptions.verbose = options.verbose;
    return succeeded(tdsl::autodiff::checkGradients(*program.module,
                                                    llvm::outs(), checkOptions))
               ? Fine
               : ProgramWrong;
  }
  // A program is right only if everything that it differentiates has a
  // derivative.
  if (!runDifferentiation(program, options))
    return ProgramWrong;
  llvm::outs() << options.input << ": no errors\n";
  return Fine;
}
