//===- PassErrors.h - what passes say, as messages of the compiler -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TOOLS_TDSLC_PASSERRORS_H
#define TDSL_TOOLS_TDSLC_PASSERRORS_H

#include "Compile.h"

#include "tdsl/Frontend/Diagnostics.h"

#include "mlir/IR/Diagnostics.h"

namespace tdslc {

/// While it lives, errors of the passes over `program` are collected; in the
/// end they are printed as the messages of the front end are, at their places
/// in the program.
class PassErrors {
public:
  PassErrors(const Program &program, const Options &options);
  ~PassErrors();

private:
  mlir::LogicalResult add(mlir::Diagnostic &error);

  /// JSON is one array: the front end leaves it to this where it had nothing to
  /// say.
  bool asJSON, isFirst;
  tdsl::SourceManager sources;
  tdsl::DiagnosticEngine diagnostics;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace tdslc

#endif // TDSL_TOOLS_TDSLC_PASSERRORS_H
