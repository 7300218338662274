//===- CudaTest.cpp - the CUDA backend over a recording driver -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver here is a table of functions that keep device memory on the host,
// check how they are called, record it, and run the tests' kernels on the CPU.
//
//===----------------------------------------------------------------------===//

#include "ToyProgram.h"
#include "core/Error.h"
#include "core/Module.h"
#include "cuda/CudaDevice.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>

using namespace tdsrt;

namespace {

struct FakeKernel {
  std::string name;
  void (*run)(void *const *, const int64_t *, int64_t, int64_t, void *);
  unsigned buffers;
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
  size_t peakBytes = 0;
  int contexts = 0, retained = 0, streams = 0, events = 0, modules = 0;
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

FakeDriver *fake = nullptr;

char *host(unsigned long long address) {
  return reinterpret_cast<char *>(address);
}

CudaSymbols fakeSymbols() {
  CudaSymbols s{};
  s.init = [](unsigned) { return fake->initResult; };
  s.driverGetVersion = [](int *out) {
    *out = fake->version;
    return 0;
  };
  s.getErrorName = [](CUresult result, const char **out) {
    *out = result == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
           : result == 218 ? "CUDA_ERROR_INVALID_PTX"
           : result == 222 ? "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
                           : "CUDA_ERROR_OTHER";
    return 0;
  };
  s.getErrorString = [](CUresult, const char **out) {
    *out = "words of the driver";
    return 0;
  };
  s.deviceGetCount = [](int *out) {
    *out = fake->count;
    return fake->count ? 0 : cudaErrorNoDevice;
  };
  s.deviceGet = [](CUdevice *out, int index) {
    *out = 40 + index;
    return 0;
  };
  s.deviceGetName = [](char *out, int size, CUdevice) {
    std::strncpy(out, "Fake GPU", static_cast<size_t>(size));
    return 0;
  };
  s.deviceGetAttribute = [](int *out, int which, CUdevice) {
    *out = which == attributeComputeMajor   ? fake->major
           : which == attributeComputeMinor ? fake->minor
                                            : 100 * 1024;
    return 0;
  };
  s.deviceTotalMem = [](size_t *out, CUdevice) {
    *out = fake->totalMemory;
    return 0;
  };
  s.primaryCtxRetain = [](CUcontext *out, CUdevice) {
    ++fake->retained;
    *out = fake;
    return 0;
  };
  s.primaryCtxRelease = [](CUdevice) {
    --fake->retained;
    return 0;
  };
  s.ctxPushCurrent = [](CUcontext context) {
    EXPECT_EQ(context, fake);
    ++fake->contexts;
    return 0;
  };
  s.ctxPopCurrent = [](CUcontext *) {
    --fake->contexts;
    return 0;
  };
  s.memGetInfo = [](size_t *free, size_t *total) {
    EXPECT_GT(fake->contexts, 0);
    *free = fake->freeMemory;
    *total = fake->totalMemory;
    return 0;
  };
  s.memAlloc = [](CUdeviceptr *out, size_t bytes) {
    EXPECT_GT(fake->contexts, 0);
    EXPECT_GT(bytes, 0u);
    if (fake->bytes() + bytes > fake->freeMemory)
      return cudaErrorOutOfMemory;
    auto *memory =
        static_cast<char *>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
    std::memset(memory, 0xcd, bytes);
    fake->memory[memory] = bytes;
    fake->peakBytes = std::max(fake->peakBytes, fake->bytes());
    *out = reinterpret_cast<CUdeviceptr>(memory);
    return 0;
  };
  s.memFree = [](CUdeviceptr address) {
    EXPECT_GT(fake->contexts, 0);
    EXPECT_EQ(fake->memory.erase(host(address)), 1u);
    std::free(host(address));
    return 0;
  };
  s.memcpyHtoDAsync = [](CUdeviceptr to, const void *from, size_t bytes,
                         CUstream) {
    EXPECT_TRUE(fake->inside(to, bytes));
    std::memcpy(host(to), from, bytes);
    fake->record("HtoD " + std::to_string(bytes));
    return 0;
  };
  s.memcpyDtoHAsync = [](void *to, CUdeviceptr from, size_t bytes, CUstream) {
    std::memcpy(to, host(from), bytes);
    fake->record("DtoH " + std::to_string(bytes));
    return 0;
  };
  s.memcpyDtoDAsync = [](CUdeviceptr to, CUdeviceptr from, size_t bytes,
                         CUstream) {
    std::memcpy(host(to), host(from), bytes);
    fake->record("DtoD " + std::to_string(bytes));
    return 0;
  };
  s.memsetD8Async = [](CUdeviceptr to, unsigned char byte, size_t bytes,
                       CUstream) {
    EXPECT_TRUE(fake->inside(to, bytes));
    std::memset(host(to), byte, bytes);
    fake->record("memset " + std::to_string(bytes));
    return 0;
  };
  s.moduleLoadDataEx = [](CUmodule *out, const void *image, unsigned count,
                          int *options, void **values) {
    EXPECT_GT(fake->contexts, 0);
    if (!fake->rejectPtx.empty()) {
      for (unsigned i = 0; i < count; ++i)
        if (options[i] == jitErrorLog)
          std::strcpy(static_cast<char *>(values[i]), fake->rejectPtx.c_str());
      return 218;
    }
    fake->loadedPtx = static_cast<const char *>(image);
    ++fake->modules;
    *out = fake;
    return 0;
  };
  s.moduleUnload = [](CUmodule) {
    EXPECT_GT(fake->contexts, 0);
    --fake->modules;
    return 0;
  };
  s.moduleGetFunction = [](CUfunction *out, CUmodule, const char *name) {
    auto found = fake->kernels.find(name);
    if (found == fake->kernels.end())
      return cudaErrorNotFound;
    *out = &found->second;
    return 0;
  };
  s.moduleGetGlobal = [](CUdeviceptr *out, size_t *bytes, CUmodule,
                         const char *name) {
    EXPECT_STREQ(name, "tds_plan_sha256");
    if (fake->planHash.empty())
      return cudaErrorNotFound;
    *out = reinterpret_cast<CUdeviceptr>(fake->planHash.data());
    *bytes = fake->planHash.size();
    return 0;
  };
  s.funcSetAttribute = [](CUfunction function, int which, int value) {
    EXPECT_EQ(which, functionMaxDynamicShared);
    fake->record("shared " + static_cast<FakeKernel *>(function)->name + " " +
                 std::to_string(value));
    return 0;
  };
  s.launchKernel = [](CUfunction function, unsigned x, unsigned, unsigned,
                      unsigned blockX, unsigned, unsigned, unsigned shared,
                      CUstream stream, void **parameters, void **) {
    auto *kernel = static_cast<FakeKernel *>(function);
    EXPECT_GT(fake->contexts, 0);
    EXPECT_EQ(blockX, 64u);
    fake->sharedAtLaunch[kernel->name] = shared;
    if (fake->launchResult)
      return fake->launchResult;
    std::vector<void *> buffers;
    for (unsigned i = 0; i < kernel->buffers; ++i)
      buffers.push_back(*static_cast<void **>(parameters[i]));
    alignas(64) char scratch[64];
    int64_t noSizes = 0;
    bool hasSizes =
        kernel->name == "toy_gradient" || kernel->name == "toy_count" ||
        kernel->name == "toy_evaluate" || kernel->name == "toy_gather";
    kernel->run(buffers.data(),
                hasSizes
                    ? static_cast<const int64_t *>(parameters[kernel->buffers])
                    : &noSizes,
                0, x, scratch);
    fake->record(
        "launch " + kernel->name + " on " +
        (stream ? std::to_string(*static_cast<int *>(stream)) : "default"));
    return 0;
  };
  s.streamCreate = [](CUstream *out, unsigned) {
    static int own = 1;
    ++fake->streams;
    *out = &own;
    return 0;
  };
  s.streamDestroy = [](CUstream) {
    --fake->streams;
    return 0;
  };
  s.streamSynchronize = [](CUstream) { return 0; };
  s.streamWaitEvent = [](CUstream, CUevent, unsigned) {
    fake->record("wait");
    return 0;
  };
  s.eventCreate = [](CUevent *out, unsigned flags) {
    EXPECT_EQ(flags, eventDisableTiming);
    ++fake->events;
    *out = fake;
    return 0;
  };
  s.eventDestroy = [](CUevent) {
    --fake->events;
    return 0;
  };
  s.eventRecord = [](CUevent, CUstream) { return 0; };
  s.eventSynchronize = [](CUevent) {
    fake->record("synchronize");
    return 0;
  };
  return s;
}

class Cuda : public testing::Test {
protected:
  void SetUp() override {
    fake = &driver;
    driver.library = dlopen(TOY_KERNELS, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(driver.library, nullptr);
    nlohmann::json manifest = toy::cudaManifest();
    for (const auto &kernel : manifest["kernels"]) {
      std::string name = kernel["symbol"];
      driver.kernels[name] = {name,
                              reinterpret_cast<decltype(FakeKernel::run)>(
                                  dlsym(driver.library, name.c_str())),
                              kernel["buffers"].get<unsigned>()};
    }
  }
  void TearDown() override {
    // Whatever happened, nothing is left behind.
    EXPECT_EQ(driver.contexts, 0);
    EXPECT_EQ(driver.retained, 0);
    EXPECT_EQ(driver.streams, 0);
    EXPECT_EQ(driver.events, 0);
    EXPECT_EQ(driver.modules, 0);
    EXPECT_TRUE(driver.memory.empty());
    dlclose(driver.library);
    fake = nullptr;
  }

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
std::vector<float> trained(Module &module) {
  std::vector<float> x, y;
  toy::linearData(toy::batch, x, y);
  const int64_t shapeX[] = {toy::batch, toy::features}, shapeY[] = {toy::batch};
  float loss = 0;
  tds_tensor inputs[] = {{TDS_F32, 2, shapeX, x.data()},
                         {TDS_F32, 1, shapeY, y.data()},
                         {TDS_F32, 0, nullptr, nullptr}};
  tds_tensor results[] = {{TDS_F32, 0, nullptr, &loss}};
  for (int i = 0; i < 10; ++i)
    module.call(1, inputs, 3, results, 1);
  std::vector<float> w(toy::features);
  module.read(module.variable("net.w"), w.data());
  EXPECT_GT(loss, 0);
  return w;
}

TEST_F(Cuda, GivesTheSameAsTheCpu) {
  auto module = load(toy::cudaManifest(), open());
  EXPECT_EQ(driver.loadedPtx.substr(0, 8), ".version");
  auto onCpu = Module::load(Container::fromMemory(toy::program(), "toy.so"),
                            openDevice("cpu", 1), 7, 0);
  EXPECT_EQ(trained(*module), trained(*onCpu));
  // Device memory is what was promised.
  EXPECT_EQ(driver.bytes(), module->memory().total());
  EXPECT_EQ(module->memory().scratch, 0u);
  EXPECT_EQ(module->counters(1).calls, 10u);
}

TEST_F(Cuda, QueuesAStepInOrder) {
  auto module = load(toy::cudaManifest(), open());
  driver.calls.clear();
  std::vector<float> x(toy::batch * toy::features), y(toy::batch);
  const void *inputs[] = {x.data(), y.data(), nullptr};
  float loss = -1;
  void *results[] = {&loss};
  int stream = 9;
  module->callDevice(1, inputs, 3, results, 1, &stream);
  EXPECT_EQ(driver.calls,
            (std::vector<std::string>{
                // After init, on the caller's stream.
                "wait", "DtoD 256", "DtoD 64", "HtoD 4",
                "launch toy_forward on 9", "launch toy_gradient on 9",
                "launch toy_update on 9", "launch toy_update on 9",
                "launch toy_count on 9", "launch toy_count on 9", "DtoD 4"}));
  EXPECT_GE(loss, 0);
  driver.calls.clear();
  module->callDevice(1, inputs, 3, results, 1, &stream);
  EXPECT_EQ(std::count(driver.calls.begin(), driver.calls.end(), "wait"), 0);
}

TEST_F(Cuda, ReportsFlagsAtMostOneCallLate) {
  auto module = load(toy::cudaManifest(), open());
  uint32_t guarded = 4;
  std::vector<int32_t> ids(toy::batch, 99);
  const void *inputs[] = {ids.data()};
  void *results[] = {nullptr};
  module->callDevice(guarded, inputs, 1, results, 1, nullptr);
  EXPECT_THROW(module->synchronize(), Error);
  EXPECT_THROW(module->callDevice(guarded, inputs, 1, results, 1, nullptr),
               Error);
  module->initialize(1);
  module->callDevice(guarded, inputs, 1, results, 1, nullptr);
  EXPECT_THROW(module->callDevice(guarded, inputs, 1, results, 1, nullptr),
               Error);
}

TEST_F(Cuda, ChecksNeedsFirst) {
  nlohmann::json manifest = toy::cudaManifest("sm_90");
  EXPECT_EQ(failure(manifest),
            "toy.ptx: was compiled for sm_90, but Fake GPU has compute "
            "capability 8.6; compile it with --arch=sm_86");
  manifest = toy::cudaManifest("sm_80a");
  EXPECT_NE(failure(manifest).find("sm_80a (that chip alone)"),
            std::string::npos);
  manifest = toy::cudaManifest();
  manifest["target"]["min_driver"] = 12080;
  EXPECT_NE(failure(manifest).find("needs a driver for CUDA 12.8 or newer, but "
                                   "this one is for CUDA 12.4"),
            std::string::npos);
  manifest["target"]["min_driver"] = 11000;
  manifest["target"]["ptx_isa"] = "8.5";
  EXPECT_NE(failure(manifest).find("is PTX ISA 8.5, but this driver (CUDA "
                                   "12.4) compiles PTX up to 8.4"),
            std::string::npos);
  manifest = toy::cudaManifest("sm_80b");
  EXPECT_NE(failure(manifest).find("no CUDA architecture"), std::string::npos);
  driver.freeMemory = 1000;
  EXPECT_NE(failure(toy::cudaManifest()).find("the device has 1000 bytes left"),
            std::string::npos);
  EXPECT_TRUE(driver.loadedPtx.empty()); // none of them came so far
}

TEST_F(Cuda, PutsTheJitLogIntoTheError) {
  driver.rejectPtx = "ptxas fatal: line 7; unknown opcode";
  std::string text = failure(toy::cudaManifest());
  EXPECT_NE(text.find("CUDA_ERROR_INVALID_PTX"), std::string::npos) << text;
  EXPECT_NE(text.find("line 7; unknown opcode"), std::string::npos);
}

TEST_F(Cuda, ReportsMissingKernelsAndSharedMemory) {
  driver.kernels.erase("toy_update");
  EXPECT_NE(failure(toy::cudaManifest()).find("no kernel 'toy_update'"),
            std::string::npos);
  SetUp();
  nlohmann::json manifest = toy::cudaManifest();
  manifest["kernels"][1]["shared_bytes"] = 99 * 1024;
  manifest["kernels"][0]["shared_bytes"] = 1000;
  EXPECT_EQ(failure(manifest), "no failure");
  EXPECT_EQ(driver.calls[0], "shared toy_forward 101376");
  EXPECT_EQ(driver.sharedAtLaunch["toy_init"], 1000u);
  manifest["kernels"][1]["shared_bytes"] = 101 * 1024;
  EXPECT_NE(failure(manifest).find("of shared memory"), std::string::npos);
}

TEST_F(Cuda, RefusesCodeOfAnotherPlan) {
  driver.planHash = std::string(32, 'x');
  EXPECT_NE(failure(toy::cudaManifest()).find("another manifest"),
            std::string::npos);
  Sha256 right = sha256(toy::cudaManifest().dump());
  driver.planHash.assign(right.begin(), right.end());
  EXPECT_EQ(failure(toy::cudaManifest()), "no failure");
}

TEST_F(Cuda, LaunchErrorsNameTheKernel) {
  auto module = load(toy::cudaManifest(), open());
  driver.launchResult = 700;
  try {
    trained(*module);
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.status, TDS_DEVICE_ERROR);
    EXPECT_NE(std::string(error.what())
                  .find("launching toy_forward (x @ w + b, toy.tds:1:1)"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(Cuda, SaysWhyThereIsNoDevice) {
  auto reason = [&](unsigned index) {
    try {
      open(index);
    } catch (const Error &error) {
      EXPECT_EQ(error.status, TDS_UNAVAILABLE);
      return std::string(error.what());
    }
    return std::string("no failure");
  };
  EXPECT_NE(reason(3).find("the driver sees 1 GPU"), std::string::npos);
  driver.count = 0;
  EXPECT_NE(reason(0).find("sees no GPU"), std::string::npos);
  driver.count = 1;
  driver.initResult = 999;
  EXPECT_NE(reason(0).find("does not start (CUDA_ERROR_OTHER: words of the "
                           "driver)"),
            std::string::npos);
  EXPECT_NE(
      CudaDriver::open("/no/such/libcuda.so")->reason().find("no CUDA driver"),
      std::string::npos);
  EXPECT_NE(CudaDriver::open("libm.so.6")->reason().find("'cuInit'"),
            std::string::npos);
}

TEST_F(Cuda, KnowsArchitecturesAndVersions) {
  auto device = open();
  EXPECT_GT(device->rank("sm_86"), device->rank("sm_80"));
  EXPECT_GT(device->rank("sm_80"), device->rank("sm_75"));
  EXPECT_LT(device->rank("sm_89"), 0);
  EXPECT_LT(device->rank("x86-64-v3"), 0);
  driver.major = 9, driver.minor = 0;
  auto hopper = open();
  EXPECT_GT(hopper->rank("sm_90a"), hopper->rank("sm_90"));
  driver.major = 10, driver.minor = 3;
  auto blackwell = open();
  EXPECT_LT(blackwell->rank("sm_90a"), 0);
  EXPECT_GE(blackwell->rank("sm_100f"), 0);
  EXPECT_GE(blackwell->rank("sm_90"), 0);
  EXPECT_EQ(ptxIsaOfDriver(11000), 70u);
  EXPECT_EQ(ptxIsaOfDriver(11080), 78u);
  EXPECT_EQ(ptxIsaOfDriver(12060), 85u);
  EXPECT_EQ(ptxIsaOfDriver(12080), 87u);
  EXPECT_EQ(ptxIsaOfDriver(13000), 90u);
  EXPECT_EQ(cudaVersionText(12040), "12.4");
}

} // namespace
