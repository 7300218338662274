//===- CudaTest.cpp - the CUDA backend over a recording driver -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FakeCuda.h"

#include <cstring>

using namespace tdsrt;
using namespace toy;

namespace {

using Cuda = CudaFixture;

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
                "wait", "graph", "DtoD 256", "DtoD 64", "HtoD 4",
                "launch toy_forward on 9", "launch toy_gradient on 9",
                "launch toy_update on 9", "launch toy_update on 9",
                "launch toy_count on 9", "launch toy_count on 9", "DtoD 4"}));
  EXPECT_GE(loss, 0);
  auto count = [&](const char *what) {
    return std::count(driver.calls.begin(), driver.calls.end(), what);
  };
  driver.calls.clear();
  module->callDevice(1, inputs, 3, results, 1, &stream);
  EXPECT_EQ(count("wait"), 0);
  EXPECT_EQ(count("graph"), 1);

  // A second set of pointers has a graph of its own; a third takes the place
  // of the one that was used less lately, which is pointed to it.
  EXPECT_EQ(driver.executables, 1);
  float other = -1, third = -1;
  results[0] = &other;
  module->callDevice(1, inputs, 3, results, 1, &stream);
  EXPECT_EQ(driver.executables, 2);
  EXPECT_EQ(count("update"), 0);
  EXPECT_GE(other, 0);
  results[0] = &third;
  float before = loss;
  module->callDevice(1, inputs, 3, results, 1, &stream);
  EXPECT_EQ(driver.executables, 2);
  EXPECT_EQ(count("update"), 1);
  EXPECT_GE(third, 0);
  EXPECT_EQ(loss, before);
  // Without a result it is another graph.
  results[0] = nullptr;
  module->callDevice(1, inputs, 3, results, 1, &stream);
  EXPECT_EQ(driver.executables, 2);
  EXPECT_EQ(count("graph"), 4);
}

/// One batch and where its loss goes.
struct Batch {
  Batch() { toy::linearData(toy::batch, x, y); }
  std::shared_ptr<Call> start(Module &module) {
    tds_tensor inputs[] = {{TDS_F32, 2, shapeX, x.data()},
                           {TDS_F32, 1, shapeY, y.data()},
                           {TDS_F32, 0, nullptr, nullptr}};
    tds_tensor results[] = {{TDS_F32, 0, nullptr, &loss}};
    return module.start(1, inputs, 3, results, 1);
  }
  int64_t shapeX[2] = {toy::batch, toy::features}, shapeY[1] = {toy::batch};
  std::vector<float> x, y;
  float loss = -1;
};

TEST_F(Cuda, KeepsTwoCallsInFlight) {
  auto module = load(toy::cudaManifest(), open());
  auto onCpu = Module::load(Container::fromMemory(toy::program(), "toy.so"),
                            openDevice("cpu", 1), 7, 0);
  std::vector<float> losses, expected;
  Batch batches[2], one;
  std::shared_ptr<Call> calls[2];
  for (int step = 0; step < 6; ++step) {
    Batch &batch = batches[step % 2];
    if (calls[step % 2]) {
      module->wait(*calls[step % 2]);
      losses.push_back(batch.loss);
    }
    if (step == 2) {
      driver.calls.clear();
      driver.made = 0;
    }
    calls[step % 2] = batch.start(*module);
    onCpu->wait(*one.start(*onCpu));
    expected.push_back(one.loss);
  }
  // From the third step on: an upload and a graph a step, nothing else, and
  // nothing is made.
  EXPECT_EQ(driver.made, 0);
  EXPECT_EQ(std::count(driver.calls.begin(), driver.calls.end(), "graph"), 4);
  std::string upload =
      "HtoD " + std::to_string(module->manifest().entries[1].inputBytes);
  EXPECT_EQ(std::count(driver.calls.begin(), driver.calls.end(), upload), 4);
  for (int step : {0, 1}) {
    module->wait(*calls[step]);
    module->wait(*calls[step]); // again is fine
    losses.push_back(batches[step].loss);
  }
  EXPECT_EQ(losses, expected);
  // A call that nobody waits for writes nothing, and a third waits for it.
  Batch lost;
  std::shared_ptr<Call> call = lost.start(*module);
  module->abandon(*call);
  for (int i = 0; i < 3; ++i)
    calls[0] = batches[0].start(*module);
  module->wait(*calls[0]);
  EXPECT_EQ(lost.loss, -1);
}

TEST_F(Cuda, WaitsForTheFlagsOfAStepBeforeTheNext) {
  auto module = load(toy::cudaManifest(), open());
  std::vector<int32_t> good(toy::batch, 1), bad(toy::batch, 99);
  const int64_t shape[] = {toy::batch};
  std::vector<float> out(toy::batch, -1);
  auto start = [&](std::vector<int32_t> &ids) {
    tds_tensor inputs[] = {{TDS_I32, 1, shape, ids.data()}};
    tds_tensor results[] = {{TDS_F32, 1, shape, out.data()}};
    return module->start(4, inputs, 1, results, 1);
  };
  std::shared_ptr<Call> first = start(bad);
  driver.calls.clear();
  EXPECT_THROW(start(good), Error);
  EXPECT_EQ(std::count(driver.calls.begin(), driver.calls.end(), "graph"), 0);
  try {
    module->wait(*first);
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.status, TDS_PROGRAM_ERROR);
    EXPECT_NE(std::string(error.what()).find("toy.tds:"), std::string::npos);
  }
  EXPECT_EQ(out[0], -1);
  module->initialize(3);
  module->wait(*start(good));
  EXPECT_EQ(out[0], 1);
}

TEST_F(Cuda, LaunchesOneByOneWithoutGraphs) {
  CudaSymbols symbols = fakeSymbols();
  symbols.graphLaunch = nullptr;
  symbols.memAllocAsync = nullptr;
  auto module = load(toy::cudaManifest(),
                     CudaDevice::open(CudaDriver::fromSymbols(symbols), 0));
  auto withGraphs = load(toy::cudaManifest(), open());
  EXPECT_EQ(trained(*module), trained(*withGraphs));
  driver.calls.clear();
  std::vector<float> x(toy::batch * toy::features), y(toy::batch);
  const void *inputs[] = {x.data(), y.data(), nullptr};
  module->callDevice(1, inputs, 3, nullptr, 0, nullptr);
  EXPECT_EQ(std::count(driver.calls.begin(), driver.calls.end(), "graph"), 0);
  EXPECT_EQ(driver.calls.back(), "launch toy_count on default");
}

TEST_F(Cuda, RecordsWhatRanWhen) {
  auto module = load(toy::cudaManifest(), open());
  EXPECT_THROW(module->trace(), Error);
  module->profileStart();
  Batch batch;
  module->wait(*batch.start(*module));
  module->wait(*batch.start(*module));
  auto trace = nlohmann::json::parse(module->trace());
  std::map<std::string, double> seconds;
  int uploads = 0, waits = 0;
  for (const auto &event : trace["traceEvents"]) {
    if (event["ph"] != "X")
      continue;
    if (event["cat"] == "kernel") {
      seconds[event["args"]["symbol"]] += event["dur"].get<double>() * 1e-6;
      EXPECT_EQ(event["args"]["entry"], "train");
      EXPECT_NE(event["args"]["source"].get<std::string>().find("toy.tds:"),
                std::string::npos);
    }
    uploads += event["name"] == "upload";
    waits += event["name"] == "wait";
  }
  EXPECT_EQ(uploads, 2);
  EXPECT_EQ(waits, 2);
  for (size_t i = 0; i < module->manifest().kernels.size(); ++i) {
    KernelCounters counters = module->counters(i);
    EXPECT_EQ(counters.calls, counters.timedCalls);
    EXPECT_NEAR(counters.seconds, seconds[module->manifest().kernels[i].symbol],
                1e-9);
  }
  EXPECT_EQ(module->counters(3).calls, 4u); // toy_update, twice a step
  EXPECT_NEAR(module->counters(3).seconds, 4 * 0.5e-3, 1e-9);
  EXPECT_GT(module->counters(3).bytes, 0u);
  module->profileStop();
  module->wait(*batch.start(*module));
  EXPECT_EQ(module->counters(3).calls, 6u);
  EXPECT_EQ(module->counters(3).timedCalls, 4u);
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

TEST_F(Cuda, LaunchErrorsNameTheKernelOrTheEntry) {
  for (bool graphs : {false, true}) {
    CudaSymbols symbols = fakeSymbols();
    if (!graphs)
      symbols.graphLaunch = nullptr;
    driver.launchResult = 0;
    auto module = load(toy::cudaManifest(),
                       CudaDevice::open(CudaDriver::fromSymbols(symbols), 0));
    driver.launchResult = 700;
    try {
      trained(*module);
      FAIL();
    } catch (const Error &error) {
      EXPECT_EQ(error.status, TDS_DEVICE_ERROR);
      EXPECT_NE(std::string(error.what())
                    .find(graphs ? "launching entry 'train' failed"
                                 : "launching toy_forward (x @ w + b, "
                                   "toy.tds:1:1) failed"),
                std::string::npos)
          << error.what();
    }
    // What the step left half done is not built upon.
    driver.launchResult = 0;
    EXPECT_THROW(trained(*module), Error);
    module->initialize(7);
    trained(*module);
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
