//===- Compile.h - the check module as machine code and PTX -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_SCALARMATH_CHECK_COMPILE_H
#define TDSL_SCALARMATH_CHECK_COMPILE_H

#include "tdsl/ScalarMath/CheckModule.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace llvm::orc {
class LLJIT;
}

namespace tdsl::scalarmath {

/// Runs kernels of the check module somewhere.
class KernelRunner {
public:
  virtual ~KernelRunner() = default;
  /// Runs a kernel on n elements; the rows lie in this process.
  virtual llvm::Error run(const CheckKernel &kernel, const void *const *inputs,
                          void *output, int64_t n) = 0;
};

/// The check module compiled in process for one x86-64 level ("x86-64",
/// "x86-64-v3", ...), `lanes` elements at a time.
class CompiledKernels : public KernelRunner {
public:
  static llvm::Expected<std::unique_ptr<CompiledKernels>>
  compile(llvm::StringRef cpu, unsigned lanes);
  ~CompiledKernels() override;

  /// n is a multiple of the lanes.
  llvm::Error run(const CheckKernel &kernel, const void *const *inputs,
                  void *output, int64_t n) override;

private:
  explicit CompiledKernels(std::unique_ptr<llvm::orc::LLJIT> jit);
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

/// Whether this processor can run code for that level.
bool hostHas(llvm::StringRef cpu);

/// The PTX of the check module for a chip ("sm_75"), one kernel an entry.
llvm::Expected<std::string> compileToPtx(llvm::StringRef chip);

} // namespace tdsl::scalarmath

#endif // TDSL_SCALARMATH_CHECK_COMPILE_H
