//===- Compile.h - from a program to an artefact or a stage -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TOOLS_TDSLC_COMPILE_H
#define TDSL_TOOLS_TDSLC_COMPILE_H

#include "Options.h"

#include "tdsl/Report/Report.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <optional>

namespace tdslc {

/// A program on its way: the text, and the tds module that the front end made
/// of it.
struct Program {
  std::string path;
  std::string text;
  mlir::MLIRContext &context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Its files, without the standard modules.
  std::vector<tdsl::report::SourceFile> sources = {};
  /// Gets the time of each pass, where it is asked for; else null. `passPrefix`
  /// stands before their names.
  std::vector<tdsl::report::Duration> *passTimes = nullptr;
  std::string passPrefix = {};
  std::string mainText = {}; ///< the first file alone
  bool hasMessages = false;  ///< of the front end, printed already
  std::string dataDim = {};  ///< the `dim` of the batch; empty: none
  /// What fitMemory chose; negative: there is no budget.
  int64_t recompute = -1, recomputeJoin = 1;
};

/// `tdslc model.tds -o …` and `--emit=…`.
ExitCode compile(const Options &options);

/// `tdslc check model.tds`.
ExitCode check(const Options &options);

/// `tdslc fmt [--check] files`.
ExitCode format(const Options &options);

/// `tdslc doc model.tds`, `tdslc doc nn`.
ExitCode document(const Options &options);

/// Writes `bytes` to the file, completely or not at all. What is no file, as a
/// pipe or a device, is written in place and not replaced; "" and "-" are
/// standard output.
ExitCode writeOutput(llvm::StringRef path, llvm::StringRef bytes);

/// Says so where `output` is the file `source`, which is read: nobody wants a
/// program replaced by what is made of it.
bool refuseOverwriting(llvm::StringRef output, llvm::StringRef source);

/// Reads, parses, checks and emits the program, layer by layer. On an error it
/// is printed and the result is ProgramWrong.
ExitCode runFrontend(const Options &options, Program &program);

} // namespace tdslc

#endif // TDSL_TOOLS_TDSLC_COMPILE_H
