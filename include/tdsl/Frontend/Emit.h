//===- Emit.h - A checked program as IR -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_FRONTEND_EMIT_H
#define TDSL_FRONTEND_EMIT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tdsl/Frontend/Program.h"

namespace tdsl {

/// The program as one module of the tds dialect: a `tds.variable` for each
/// variable, a `func.func` for each entry and each instantiated function. The
/// tds and func dialects are loaded into `context`. The module passes the
/// verifier; it is null only when that fails, which is an internal error.
/// Locations are FileLineColLocs of the sources; doc comments and names are
/// NameLocs around them.
mlir::OwningOpRef<mlir::ModuleOp> emitProgram(const typed::Program &program,
                                              const SourceManager &sources,
                                              mlir::MLIRContext &context);

} // namespace tdsl

#endif // TDSL_FRONTEND_EMIT_H
