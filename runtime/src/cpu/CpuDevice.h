//===- CpuDevice.h - programs on this processor -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDS_CPU_CPUDEVICE_H
#define TDS_CPU_CPUDEVICE_H

#include "core/Device.h"
#include "cpu/ThreadPool.h"

#include <mutex>

namespace tdsrt {

class CpuDevice : public Device {
public:
  /// 0 threads takes all processors allowed.
  explicit CpuDevice(unsigned threads);

  tds_device_kind kind() const override { return TDS_DEVICE_CPU; }
  std::string description() const override;
  int rank(const std::string &arch) const override;
  void checkNeeds(const Target &target, const std::string &name) const override;
  uint64_t availableMemory() const override;
  unsigned scratchThreads() const override { return threads; }
  /// Measured at the first call, in about a tenth of a second.
  DevicePeaks peaks() const override;
  std::unique_ptr<Program>
  load(std::shared_ptr<const Artifact> artifact) override;

private:
  unsigned threads;
  mutable std::once_flag peaksMeasured;
  mutable DevicePeaks measured;
  std::once_flag poolMade;
  std::shared_ptr<ThreadPool> pool; ///< made by the first load
};

} // namespace tdsrt

#endif // TDS_CPU_CPUDEVICE_H
