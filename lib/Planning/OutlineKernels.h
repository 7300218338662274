//===- OutlineKernels.h - kernels as functions, equal ones once -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_PLANNING_OUTLINEKERNELS_H
#define TDSL_LIB_PLANNING_OUTLINEKERNELS_H

#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/StringMap.h"

namespace tdsl {

/// Makes private functions `@tds_k<N>_<kind>` of kernels at the end of a
/// module. Kernels that print alike, with one pattern of shared buffers, are
/// one function.
class KernelOutliner {
public:
  explicit KernelOutliner(mlir::ModuleOp module) : module(module) {}

  /// The function for a clone of `kernel`; `inPlace`, `counters` and `disjoint`
  /// become its attributes.
  mlir::func::FuncOp outline(tds::KernelOp kernel,
                             llvm::ArrayRef<int64_t> inPlace,
                             llvm::ArrayRef<int64_t> counters, bool disjoint);

  unsigned getNumKernels() const { return functions.size(); }

private:
  mlir::ModuleOp module;
  llvm::StringMap<mlir::func::FuncOp> functions;
};

} // namespace tdsl

#endif // TDSL_LIB_PLANNING_OUTLINEKERNELS_H
