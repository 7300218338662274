//===- EmitGraph.h - a plan as a picture -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TOOLS_TDSLC_EMITGRAPH_H
#define TDSL_TOOLS_TDSLC_EMITGRAPH_H

#include "mlir/IR/BuiltinOps.h"

namespace tdslc {

/// Prints an SVG picture of the planned module: for each entry its launches in
/// layers, each as a box with kernel, source line and bytes, and a line from
/// every launch to those that read what it wrote.
void emitGraph(mlir::ModuleOp plan, llvm::raw_ostream &os);

} // namespace tdslc

#endif // TDSL_TOOLS_TDSLC_EMITGRAPH_H
