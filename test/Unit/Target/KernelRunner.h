//===- KernelRunner.h - compiles and runs kernels in tests -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_TEST_UNIT_TARGET_KERNELRUNNER_H
#define TDSL_TEST_UNIT_TARGET_KERNELRUNNER_H

#include "tdsl/Reference/Evaluator.h"
#include "tdsl/Target/CPU/CompileCPU.h"
#include "tdsl/Target/Common/KernelAnalysis.h"

#include "mlir/IR/MLIRContext.h"

#include <random>

namespace tdsl::test {

using reference::ElementKind;
using reference::Tensor;

/// Whether this machine can run code for `arch`.
bool canRun(llvm::StringRef arch);

/// A module with outlined kernels, compiled, loaded and called.
class KernelRunner {
public:
  /// Fails the test where the text does not parse or compile.
  explicit KernelRunner(llvm::StringRef text,
                        llvm::StringRef arch = "x86-64-v3");
  ~KernelRunner();

  /// Runs the kernel, one call for each piece between `cuts` (in [0, work]).
  /// Guards behind every buffer and behind the scratch must stay whole.
  std::vector<Tensor> run(llvm::StringRef name,
                          llvm::ArrayRef<Tensor> arguments,
                          llvm::ArrayRef<int64_t> cuts = {});
  /// What the reference evaluator says.
  std::vector<Tensor> expected(llvm::StringRef name,
                               llvm::ArrayRef<Tensor> arguments);
  int64_t workOf(llvm::StringRef name);
  mlir::DictionaryAttr scheduleOf(llvm::StringRef name);
  mlir::ModuleOp getModule() { return *module; }
  /// Random values for the arguments of a kernel; some floats are 0, infinite
  /// or NaN where `hostile`.
  std::vector<Tensor> randomArguments(llvm::StringRef name, unsigned seed,
                                      bool hostile = false);
  /// Keeps code for x86-64-v3 from taking its functions for wider registers;
  /// false where it has none.
  bool refuseWideVectors();
  bool isLoaded() const { return handle != nullptr; }

private:
  target::OutlinedKernel find(llvm::StringRef name);

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  void *handle = nullptr;
};

/// Runs kernel `k` on random arguments, whole and in pieces, and expects the
/// bits of the evaluator (`tolerance` 0) or values within `tolerance` of the
/// largest element.
void checkKernel(llvm::StringRef text, double tolerance = 0,
                 bool hostile = false);

} // namespace tdsl::test

#endif // TDSL_TEST_UNIT_TARGET_KERNELRUNNER_H
