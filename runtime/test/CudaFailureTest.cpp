//===- CudaFailureTest.cpp - every driver call fails once -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run that uses all of the CUDA backend is repeated with the first driver
// call failing, then the second, and so on: each time with that call alone, and
// as after a fault on the device, with all from it on. Each must end in an
// error that says what the driver said, and leave nothing behind.
//
//===----------------------------------------------------------------------===//

#include "FakeCuda.h"

#include <array>
#include <cstring>

using namespace tdsrt;
using namespace toy;

namespace {

/// Which call fails, and how.
struct Injection {
  long failAt = 0; ///< from 1; 0: none
  bool lasting = false;
  CUresult result = 719;

  long calls = 0;
  long callsOfUse = 0; ///< the others give back what is left, in destructors
  std::string failed;  ///< the first that did
  bool failedWasRelease = false;
} injection;

CudaSymbols real;

/// Functions that give something back do so even when they report an error (of
/// earlier work, as the driver does).
bool releases(const char *name) {
  for (const char *part :
       {"Free", "Destroy", "Unload", "Release", "PopCurrent"})
    if (std::strstr(name, part))
      return true;
  return false;
}

template <auto Member> struct Hook;
template <typename... A, CUresult (*CudaSymbols::*Member)(A...)>
struct Hook<Member> {
  static inline const char *name = "";
  static CUresult call(A... arguments) {
    ++injection.calls;
    bool fails = injection.failAt &&
                 (injection.lasting ? injection.calls >= injection.failAt
                                    : injection.calls == injection.failAt);
    // What errors are called can always be asked, and a fault of the device
    // does not keep its context from being made current.
    if (std::strstr(name, "GetError") || (std::strstr(name, "PushCurrent") &&
                                          injection.calls != injection.failAt))
      fails = false;
    if (fails && injection.failed.empty()) {
      injection.failed = name;
      injection.failedWasRelease = releases(name);
    }
    if (fails && !releases(name))
      return injection.result;
    CUresult result = (real.*Member)(arguments...);
    return fails ? injection.result : result;
  }
};

CudaSymbols failingSymbols() {
  CudaSymbols table{};
#define TDS_HOOK(field, symbol, parameters)                                    \
  Hook<&CudaSymbols::field>::name = symbol;                                    \
  table.field = Hook<&CudaSymbols::field>::call;
  TDS_CUDA_FUNCTIONS(TDS_HOOK)
  TDS_CUDA_POOL_FUNCTIONS(TDS_HOOK)
  TDS_CUDA_GRAPH_FUNCTIONS(TDS_HOOK)
#undef TDS_HOOK
  return table;
}

class CudaFailure : public CudaFixture {
protected:
  void SetUp() override {
    CudaFixture::SetUp();
    real = fakeSymbols();
  }

  /// Uses everything once.
  void run() {
    auto device =
        CudaDevice::open(CudaDriver::fromSymbols(failingSymbols()), 0);
    device->availableMemory();
    auto module = load(toy::cudaManifest(), device);
    std::vector<float> x, y;
    toy::linearData(toy::batch, x, y);
    const int64_t shapeX[] = {toy::batch, toy::features};
    const int64_t shapeY[] = {toy::batch};
    float losses[3];
    tds_tensor inputs[] = {{TDS_F32, 2, shapeX, x.data()},
                           {TDS_F32, 1, shapeY, y.data()},
                           {TDS_F32, 0, nullptr, nullptr}};
    std::array<std::shared_ptr<Call>, 3> calls;
    for (int i = 0; i < 3; ++i) {
      tds_tensor results[] = {{TDS_F32, 0, nullptr, &losses[i]}};
      try {
        calls[static_cast<size_t>(i)] = module->start(1, inputs, 3, results, 1);
      } catch (const Error &) {
        for (auto &call : calls) // One before it may be what failed.
          if (call)
            module->wait(*call);
        throw;
      }
    }
    for (auto &call : calls)
      module->wait(*call);

    // Memory of the device, on a stream of the caller: a graph, another one,
    // one that is pointed elsewhere, and one that takes the place of another.
    int stream = 9;
    const void *pointers[] = {x.data(), y.data(), nullptr};
    for (float &loss : losses) {
      void *results[] = {&loss};
      module->callDevice(1, pointers, 3, results, 1, &stream);
    }
    module->callDevice(1, pointers, 3, nullptr, 0, &stream);
    std::vector<int32_t> ids(toy::batch, 1);
    const void *guarded[] = {ids.data()};
    module->callDevice(4, guarded, 1, nullptr, 0, &stream);
    module->synchronize();

    float w[toy::features];
    module->read(module->variable("net.w"), w);
    module->write(module->variable("net.w"), w);
    module->readResult(1, 0, losses, sizeof(float));
    std::vector<int64_t> filled(1000);
    const int64_t shape[] = {1000};
    tds_tensor out[] = {{TDS_I64, 1, shape, filled.data()}};
    module->call(5, nullptr, 0, out, 1);
    module->initialize(8);

    module->profileStart();
    tds_tensor results[] = {{TDS_F32, 0, nullptr, &losses[0]}};
    module->call(1, inputs, 3, results, 1);
    module->callDevice(1, pointers, 3, nullptr, 0, &stream);
    module->trace();
    module->profileStop();
    injection.callsOfUse = injection.calls;
  }

  long lastOfUse = 0; ///< driver call, in a run without failures

  void failAt(long call, bool lasting, CUresult result) {
    injection = Injection();
    injection.failAt = call;
    injection.lasting = lasting;
    injection.result = result;
    std::string message;
    tds_status status = TDS_OK;
    try {
      run();
    } catch (const Error &error) {
      message = error.what();
      status = error.status;
    }
    std::string where = cat("call ", call, ", ", injection.failed,
                            lasting ? " and all behind it" : "");
    EXPECT_FALSE(injection.failed.empty()) << where;
    if (!injection.failedWasRelease && call <= lastOfUse)
      EXPECT_NE(status, TDS_OK) << where;
    else if (!lasting || call > lastOfUse)
      EXPECT_EQ(status, TDS_OK) << where << ": " << message;
    if (status != TDS_OK) {
      EXPECT_NE(message.find(result == 2 ? "CUDA_ERROR_OUT_OF_MEMORY"
                                         : "CUDA_ERROR_OTHER"),
                std::string::npos)
          << where << ": " << message;
      if (result == 2 && status != TDS_UNAVAILABLE)
        EXPECT_EQ(status, TDS_OUT_OF_MEMORY) << where << ": " << message;
    }
    EXPECT_EQ(driver.contexts, 0) << where;
    EXPECT_EQ(driver.retained, 0) << where;
    EXPECT_EQ(driver.streams, 0) << where;
    EXPECT_EQ(driver.events, 0) << where;
    EXPECT_EQ(driver.modules, 0) << where;
    EXPECT_EQ(driver.graphs, 0) << where;
    EXPECT_EQ(driver.executables, 0) << where;
    EXPECT_TRUE(driver.memory.empty()) << where;
    EXPECT_TRUE(driver.pinned.empty()) << where;
  }
};

TEST_F(CudaFailure, EveryDriverCallFailsOnce) {
  injection = Injection();
  run();
  long calls = injection.calls;
  lastOfUse = injection.callsOfUse;
  ASSERT_GT(lastOfUse, 200);
  RecordProperty("driver calls", static_cast<int>(calls));
  std::set<std::string> failed;
  for (long call = 1; call <= calls; ++call) {
    failAt(call, true, 719);
    // Every third time memory is short.
    failAt(call, false, call % 3 ? 719 : 2);
    failed.insert(injection.failed);
    if (HasFailure())
      FAIL() << "at driver call " << call << " of " << calls;
  }
  // Every function of the table took part, but the two that name errors, and
  // memAlloc and memFree, which pools stand in for.
#define TDS_COUNT(field, symbol, parameters)                                   \
  if (!std::strstr(symbol, "GetError") &&                                      \
      std::strcmp(symbol, "cuMemAlloc_v2") &&                                  \
      std::strcmp(symbol, "cuMemFree_v2") &&                                   \
      std::strcmp(symbol, "cuFuncSetAttribute"))                               \
    EXPECT_EQ(failed.count(symbol), 1u) << symbol;
  TDS_CUDA_FUNCTIONS(TDS_COUNT)
  TDS_CUDA_POOL_FUNCTIONS(TDS_COUNT)
  TDS_CUDA_GRAPH_FUNCTIONS(TDS_COUNT)
#undef TDS_COUNT
}

} // namespace
