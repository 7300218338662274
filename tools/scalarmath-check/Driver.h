//===- Driver.h - the check kernels on a GPU or its simulator -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_SCALARMATH_CHECK_DRIVER_H
#define TDSL_SCALARMATH_CHECK_DRIVER_H

#include "Compile.h"

#include "llvm/Support/DynamicLibrary.h"

namespace tdsl::scalarmath {

/// The check module as PTX, run through a library with the CUDA driver's
/// interface: the driver itself, or the PTX simulator.
class DeviceKernels : public KernelRunner {
public:
  /// `library` is a file name as for dlopen ("libcuda.so.1"). Takes its first
  /// device. Fails with a sentence where there is none.
  static llvm::Expected<std::unique_ptr<DeviceKernels>>
  open(llvm::StringRef library);
  ~DeviceKernels() override;

  llvm::Error run(const CheckKernel &kernel, const void *const *inputs,
                  void *output, int64_t n) override;

  /// The chip that the PTX was made for, as "sm_80".
  llvm::StringRef chip() const { return chipName; }

private:
  struct Api;
  DeviceKernels();
  llvm::Error start(llvm::StringRef library);

  std::unique_ptr<Api> api;
  std::string chipName;
  void *module = nullptr;
  void *stream = nullptr;
  /// One buffer an operand, grown as needed: address and bytes.
  std::vector<std::pair<uint64_t, size_t>> buffers;
  llvm::Error reserve(size_t buffer, size_t bytes);
};

} // namespace tdsl::scalarmath

#endif // TDSL_SCALARMATH_CHECK_DRIVER_H
