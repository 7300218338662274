//===- Nvml.h - readings of GPUs -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVIDIA's management library, opened with dlopen where it is there.
//
//===----------------------------------------------------------------------===//

#ifndef TDS_CUDA_NVML_H
#define TDS_CUDA_NVML_H

#include "core/Error.h"

#include <memory>

namespace tdsrt {

class Nvml {
public:
  /// The process's library: libnvidia-ml.so.1, or what TDS_NVML names.
  static const Nvml &shared();
  /// Opens a library; never throws: each use says what went wrong.
  explicit Nvml(const std::string &path);
  ~Nvml();
  Nvml(const Nvml &) = delete;
  Nvml &operator=(const Nvml &) = delete;

  /// Why there is no library to use; empty when there is.
  const std::string &reason() const { return unusableReason; }

  // These throw TDS_UNAVAILABLE where there is no library, and
  // TDS_DEVICE_ERROR where it fails.
  size_t count() const;
  tds_gpu_readings read(size_t index) const;
  tds_gpu_readings read(const std::string &pciBusId) const;

private:
  struct Functions;
  void needUsable() const;
  void check(int result, const char *what) const;
  tds_gpu_readings readHandle(void *device) const;
  std::unique_ptr<Functions> call;
  std::string unusableReason;
};

} // namespace tdsrt

#endif // TDS_CUDA_NVML_H
