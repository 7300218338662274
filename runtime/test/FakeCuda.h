//===- FakeCuda.h - a recording CUDA driver for tests -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table of driver functions that keep device memory on the host, check how
// they are called, record it, and run the tests' kernels on the CPU. Work is
// done when it is queued.
//
//===----------------------------------------------------------------------===//

#ifndef TDS_TEST_FAKECUDA_H
#define TDS_TEST_FAKECUDA_H

#include "ToyProgram.h"
#include "core/Error.h"
#include "core/Module.h"
#include "cuda/CudaDevice.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace toy {

using namespace tdsrt;

struct FakeKernel {
  std::string name;
  void (*run)(void *const *, const int64_t *, int64_t, int64_t, void *);
  unsigned buffers, sizes;
};

struct FakeDriver {
  int version = 12040;
  int count = 1;
  int major = 8, minor = 6;
  size_t totalMemory = size_t(8) << 30;
  size_t freeMemory = size_t(7) << 30;
  int initResult = 0;
  std::string rejectPtx; ///< the compiler's log when it does not accept PTX
  int launchResult = 0;

  std::vector<std::string> calls;
  std::map<char *, size_t> memory;
  std::set<void *> pinned;
  size_t peakBytes = 0;
  int contexts = 0, retained = 0, streams = 0, events = 0, modules = 0;
  int graphs = 0, executables = 0;
  int made = 0; ///< allocations, streams, events and graphs, ever
  std::map<std::string, FakeKernel> kernels;
  void *library = nullptr;
  std::string loadedPtx;
  std::string planHash;
  std::map<std::string, unsigned> sharedAtLaunch;

  void record(const std::string &what) { calls.push_back(what); }
  size_t bytes() const {
    size_t total = 0;
    for (auto &[at, size] : memory)
      total += size;
    return total;
  }
  /// True when the range lies in one allocation.
  bool inside(unsigned long long address, size_t size) const {
    char *at = reinterpret_cast<char *>(address);
    for (auto &[begin, length] : memory)
      if (at >= begin && at + size <= begin + length)
        return true;
    return false;
  }
};

/// The one that the functions work on.
extern FakeDriver *fake;
CudaSymbols fakeSymbols();

/// Sets the driver up, and sees to it that nothing is left behind.
class CudaFixture : public testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;

  std::shared_ptr<CudaDevice> open(unsigned index = 0) {
    return CudaDevice::open(CudaDriver::fromSymbols(fakeSymbols()), index);
  }
  std::shared_ptr<Module> load(const nlohmann::json &manifest,
                               std::shared_ptr<Device> device) {
    return Module::load(
        Container::fromMemory(toy::packPtx(manifest.dump()), "toy.ptx"),
        std::move(device), 7, 0);
  }
  std::string failure(const nlohmann::json &manifest) {
    try {
      load(manifest, open());
    } catch (const Error &error) {
      return error.what();
    }
    return "no failure";
  }

  FakeDriver driver;
};

/// Trains on a module and gives the parameters.
std::vector<float> trained(Module &module);

} // namespace toy

#endif // TDS_TEST_FAKECUDA_H
