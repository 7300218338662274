//===- CudaDevice.h - programs on a CUDA GPU -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDS_CUDA_CUDADEVICE_H
#define TDS_CUDA_CUDADEVICE_H

#include "core/Device.h"
#include "cuda/CudaDriver.h"

#include <new>

namespace tdsrt {

/// Makes the context current for its lifetime, on the calling thread.
class CudaContextScope {
public:
  CudaContextScope(const CudaDriver &driver, CUcontext context);
  /// For destructors: tries twice, and throws nothing. Where it fails, the
  /// context is gone, and with it all that would be freed in it.
  CudaContextScope(const CudaDriver &driver, CUcontext context,
                   std::nothrow_t) noexcept;
  ~CudaContextScope();
  CudaContextScope(const CudaContextScope &) = delete;
  CudaContextScope &operator=(const CudaContextScope &) = delete;

private:
  const CudaDriver &driver;
  bool pushed = true;
};

/// The primary context of one GPU; shared with whatever else the process does
/// on it.
class CudaDevice : public Device,
                   public std::enable_shared_from_this<CudaDevice> {
public:
  /// Throws TDS_UNAVAILABLE with the reason. `family` is what messages call
  /// devices of this driver: "cuda", "sim". The driver may be null: none was
  /// found.
  static std::shared_ptr<CudaDevice> open(std::shared_ptr<CudaDriver> driver,
                                          unsigned index,
                                          const char *family = "cuda");
  ~CudaDevice() override;

  tds_device_kind kind() const override { return TDS_DEVICE_CUDA; }
  std::string description() const override;
  int rank(const std::string &arch) const override;
  void checkNeeds(const Target &target, const std::string &name) const override;
  uint64_t availableMemory() const override;
  unsigned scratchThreads() const override { return 0; }
  DevicePeaks peaks() const override { return devicePeaks; }
  std::string pciBusId() const override { return busId; }
  std::unique_ptr<Program>
  load(std::shared_ptr<const Artifact> artifact) override;

  const CudaDriver &api() const { return *driver; }
  CUcontext context() const { return primary; }
  /// Most dynamic shared memory a block may ask for.
  unsigned maxSharedBytes() const { return sharedLimit; }
  bool hasMemoryPools() const { return memoryPools; }

private:
  CudaDevice() = default;
  std::shared_ptr<CudaDriver> driver;
  CUdevice handle = 0;
  CUcontext primary = nullptr;
  std::string name, busId;
  DevicePeaks devicePeaks;
  bool memoryPools = false;
  unsigned computeMajor = 0, computeMinor = 0, sharedLimit = 0;
  size_t totalMemory = 0;
};

/// An architecture like sm_80, sm_90a (that chip only) or sm_100f (family).
struct CudaArch {
  unsigned major = 0, minor = 0;
  char suffix = 0;
  static bool parse(const std::string &text, CudaArch &out);
  bool runsOn(unsigned deviceMajor, unsigned deviceMinor) const;
};

} // namespace tdsrt

#endif // TDS_CUDA_CUDADEVICE_H
