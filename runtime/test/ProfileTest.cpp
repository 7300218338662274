//===- ProfileTest.cpp - recordings, peaks, readings of GPUs -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ToyProgram.h"
#include "core/Module.h"
#include "cuda/Nvml.h"
#include "profile/Recorder.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace tdsrt;

namespace {

TEST(Nvml, ReadsWhatTheLibrarySays) {
  Nvml nvml(FAKE_NVML);
  EXPECT_EQ(nvml.reason(), "");
  EXPECT_EQ(nvml.count(), 2u);
  tds_gpu_readings first = nvml.read(size_t(0));
  EXPECT_STREQ(first.name, "Test GPU 0");
  EXPECT_STREQ(first.pci_bus_id, "00000000:17:00.0");
  EXPECT_EQ(first.gpu_utilization, 0);
  EXPECT_EQ(first.memory_used, 3.0 * (1 << 30));
  EXPECT_EQ(first.memory_total, 8.0 * (1 << 30));
  EXPECT_EQ(first.temperature, 54);
  EXPECT_DOUBLE_EQ(first.power, 123.5);
  tds_gpu_readings second = nvml.read("0000:65:00.0");
  EXPECT_STREQ(second.name, "Test GPU 1");
  EXPECT_EQ(second.gpu_utilization, 0.75);
  EXPECT_EQ(second.memory_utilization, 0.2);
  EXPECT_EQ(second.power, -1); // not measured there
}

TEST(Nvml, SaysWhyThereAreNoReadings) {
  auto failure = [](auto &&read) {
    try {
      read();
    } catch (const Error &error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  Nvml nvml(FAKE_NVML);
  EXPECT_EQ(failure([&] { nvml.read(size_t(2)); }),
            "finding a GPU failed (NVML: Not Found); nvidia-smi may say more");
  Nvml absent("/no/such/libnvidia-ml.so");
  EXPECT_NE(failure([&] { absent.count(); }).find("no NVML (/no/such"),
            std::string::npos);
  Nvml other("libm.so.6");
  EXPECT_NE(failure([&] { other.count(); }).find("'nvmlInit_v2'"),
            std::string::npos);
}

TEST(Recorder, KeepsABoundedTraceOfValidJson) {
  Manifest manifest;
  manifest.programName = "a \"name\"\n";
  manifest.kernels.push_back(
      {"k", "loop", "x \xff y", "m.tds:1:2", {1, 1, 1}, 0, 0, 0});
  Recorder recorder(3);
  std::string entry = "train";
  recorder.span(Recorder::Track::Host, "call", &entry, 7, 1e-6, 2e-6);
  recorder.span(Recorder::Track::Copies, "upload", &entry, 7, 0, 1, 99);
  for (int i = 0; i < 5; ++i)
    recorder.kernel(0, &entry, 8, 0.5, 0.25, 10, 20);
  EXPECT_EQ(recorder.dropped(), 4u);
  auto trace = nlohmann::json::parse(recorder.json(manifest, "a device"));
  std::vector<nlohmann::json> spans;
  for (const auto &event : trace["traceEvents"])
    if (event["ph"] == "X")
      spans.push_back(event);
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[0]["ts"], 1.0);
  EXPECT_EQ(spans[0]["dur"], 2.0);
  EXPECT_EQ(spans[0]["args"]["call"], 7);
  EXPECT_EQ(spans[1]["cat"], "copy");
  EXPECT_EQ(spans[1]["args"]["bytes"], 99);
  EXPECT_EQ(spans[2]["ts"], 5e5);
  EXPECT_EQ(spans[2]["args"]["flops"], 20);
  EXPECT_EQ(spans[2]["args"]["source"], "m.tds:1:2");
  EXPECT_NE(spans[2]["tid"], spans[1]["tid"]);
}

TEST(Profile, CountsTheCallsOfTheCpu) {
  auto module = Module::load(Container::fromMemory(toy::program(), "toy.so"),
                             openDevice("cpu", 2), 7, 0);
  auto predict = [&] {
    std::vector<float> x(toy::batch * toy::features);
    const int64_t shape[] = {toy::batch, toy::features};
    tds_tensor inputs[] = {{TDS_F32, 2, shape, x.data()}};
    module->call(2, inputs, 1, nullptr, 0);
  };
  predict();
  EXPECT_EQ(module->counters(1).calls, 1u);
  module->profileStart();
  predict();
  predict();
  KernelCounters counters = module->counters(1);
  EXPECT_EQ(counters.calls, 2u);
  EXPECT_EQ(counters.timedCalls, 2u);
  // x, w, b and p, each once a launch.
  EXPECT_EQ(counters.bytes, 2u * (256 + 16 + 4 + 64));
  double seconds = 0;
  auto trace = nlohmann::json::parse(module->trace());
  for (const auto &event : trace["traceEvents"])
    if (event.value("cat", "") == "kernel")
      seconds += event["dur"].get<double>() * 1e-6;
  EXPECT_NEAR(seconds, counters.seconds, 2e-9);
}

TEST(Profile, KnowsWhatTheProcessorReaches) {
  DevicePeaks peaks = openDevice("cpu", 1)->peaks();
  EXPECT_GT(peaks.bytesPerSecond, 1e8);
  EXPECT_LT(peaks.bytesPerSecond, 1e13);
  EXPECT_GT(peaks.flopsPerSecond, 1e8);
  EXPECT_LT(peaks.flopsPerSecond, 1e13);
}

} // namespace
