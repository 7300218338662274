//===- ApiTest.cpp - the C and C++ interfaces themselves -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ToyProgram.h"
#include "core/ElementType.h"

#include <tds/runtime.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

namespace {

TEST(CApi, RefusesNull) {
  tds_device *device = nullptr;
  tds_module *module = nullptr;
  tds_entry *entry = nullptr;
  tds_loader *loader = nullptr;
  char *text = nullptr;
  tds_port_info port;
  tds_variable_info variable;
  tds_kernel_profile profile;
  tds_memory_info memory;
  EXPECT_EQ(tds_device_open(nullptr, nullptr, &device), TDS_INVALID_ARGUMENT);
  EXPECT_STREQ(tds_last_error(), "spec is NULL");
  EXPECT_EQ(tds_device_open("cpu", nullptr, nullptr), TDS_INVALID_ARGUMENT);
  EXPECT_EQ(tds_device_open_for(nullptr, nullptr, &device),
            TDS_INVALID_ARGUMENT);
  EXPECT_EQ(tds_module_load("x", nullptr, nullptr, &module),
            TDS_INVALID_ARGUMENT);
  EXPECT_EQ(tds_module_load_memory(nullptr, 1, "x", nullptr, nullptr, &module),
            TDS_INVALID_ARGUMENT);
  EXPECT_EQ(tds_module_memory(nullptr, &memory), TDS_INVALID_ARGUMENT);
  EXPECT_EQ(tds_artifact_describe(nullptr, &text), TDS_INVALID_ARGUMENT);
  EXPECT_EQ(tds_module_variable(nullptr, 0, &variable), TDS_INVALID_ARGUMENT);
  EXPECT_EQ(tds_module_find_variable(nullptr, "w", &variable),
            TDS_INVALID_ARGUMENT);
  EXPECT_EQ(tds_module_read(nullptr, "w", nullptr, 0), TDS_INVALID_ARGUMENT);
  EXPECT_EQ(tds_module_write(nullptr, "w", nullptr, 0), TDS_INVALID_ARGUMENT);
  EXPECT_EQ(tds_module_initialize(nullptr, 0), TDS_INVALID_ARGUMENT);
  EXPECT_EQ(tds_module_synchronize(nullptr), TDS_INVALID_ARGUMENT);
  EXPECT_EQ(tds_module_kernel_profile(nullptr, 0, &profile),
            TDS_INVALID_ARGUMENT);
  EXPECT_EQ(tds_module_entry(nullptr, "x", &entry), TDS_INVALID_ARGUMENT);
  EXPECT_EQ(tds_module_entry_at(nullptr, 0, &entry), TDS_INVALID_ARGUMENT);
  EXPECT_EQ(tds_entry_input(nullptr, 0, &port), TDS_INVALID_ARGUMENT);
  EXPECT_EQ(tds_entry_result(nullptr, 0, &port), TDS_INVALID_ARGUMENT);
  EXPECT_EQ(tds_entry_call(nullptr, nullptr, 0, nullptr, 0),
            TDS_INVALID_ARGUMENT);
  EXPECT_EQ(tds_entry_call_device(nullptr, nullptr, 0, nullptr, 0, nullptr),
            TDS_INVALID_ARGUMENT);
  EXPECT_EQ(tds_entry_read_result(nullptr, 0, nullptr, 0),
            TDS_INVALID_ARGUMENT);
  EXPECT_EQ(tds_module_save(nullptr, "x", nullptr), TDS_INVALID_ARGUMENT);
  EXPECT_EQ(tds_module_restore(nullptr, "x", nullptr), TDS_INVALID_ARGUMENT);
  EXPECT_EQ(tds_module_init_from(nullptr, "x", nullptr, nullptr),
            TDS_INVALID_ARGUMENT);
  EXPECT_EQ(tds_checkpoint_inspect(nullptr, nullptr), TDS_INVALID_ARGUMENT);
  EXPECT_EQ(tds_loader_create(nullptr, "", nullptr, &loader),
            TDS_INVALID_ARGUMENT);
  EXPECT_EQ(tds_loader_seek(nullptr, 0, 0), TDS_INVALID_ARGUMENT);
  const tds_tensor *batch = nullptr;
  EXPECT_EQ(tds_loader_next(nullptr, &batch, nullptr), TDS_INVALID_ARGUMENT);
  EXPECT_EQ(tds_devices_describe(nullptr), TDS_INVALID_ARGUMENT);
  // Nothing was given out; releasing nothing is fine.
  EXPECT_EQ(device, nullptr);
  tds_device_release(nullptr);
  tds_module_release(nullptr);
  tds_entry_release(nullptr);
  tds_loader_release(nullptr);
  tds_string_free(nullptr);
}

TEST(CApi, HandlesKeepAliveWhatTheyNeed) {
  std::string bytes = toy::program();
  tds_device *device = nullptr;
  tds_device_options options{};
  options.threads = 2;
  ASSERT_EQ(tds_device_open("cpu", &options, &device), TDS_OK);
  tds_module *module = nullptr;
  ASSERT_EQ(tds_module_load_memory(bytes.data(), bytes.size(), "toy.so", device,
                                   nullptr, &module),
            TDS_OK);
  tds_entry *entry = nullptr;
  ASSERT_EQ(tds_module_entry(module, "fill", &entry), TDS_OK);
  tds_device_release(device);
  tds_module_retain(module);
  tds_module_release(module);
  tds_module_release(module);
  std::vector<int64_t> out(1000);
  const int64_t shape[] = {1000};
  tds_tensor result{TDS_I64, 1, shape, out.data()};
  EXPECT_EQ(tds_entry_call(entry, nullptr, 0, &result, 1), TDS_OK);
  EXPECT_EQ(out[999], 2997);
  EXPECT_STREQ(tds_entry_name(entry), "fill");
  tds_entry_release(entry);
}

TEST(CApi, ErrorsBelongToTheirThread) {
  tds_device *device = nullptr;
  EXPECT_EQ(tds_device_open("one", nullptr, &device), TDS_INVALID_ARGUMENT);
  std::thread([] {
    EXPECT_STREQ(tds_last_error(), "");
    tds_device *device = nullptr;
    tds_device_open("two", nullptr, &device);
  }).join();
  EXPECT_NE(std::string(tds_last_error()).find("'one'"), std::string::npos);
}

TEST(CApi, Types) {
  EXPECT_STREQ(tds_type_name(TDS_BF16), "bf16");
  EXPECT_EQ(tds_type_size(TDS_F64), 8u);
  EXPECT_EQ(tds_type_name(static_cast<tds_type>(9)), nullptr);
  EXPECT_EQ(tds_type_size(static_cast<tds_type>(-1)), 0u);
  EXPECT_STREQ(tds_version(), "0.1.0");
}

TEST(CppApi, TrainsFromFiles) {
  toy::TemporaryFolder folder;
  std::vector<float> x, y;
  toy::linearData(100, x, y);
  std::string bindings =
      "x=" + folder.write("x.npy", toy::npy("<f4", {100, 4}, toy::bytesOf(x))) +
      ",y=" + folder.write("y.npy", toy::npy("<f4", {100}, toy::bytesOf(y)));
  std::string path = folder.write("toy.so", toy::program());

  std::vector<std::string> notes;
  tds::setLog([&](tds_log_level level, const std::string &message) {
    EXPECT_EQ(level, TDS_LOG_NOTE);
    notes.push_back(message);
    throw std::runtime_error("what a log throws goes nowhere");
  });
  tds::Device device = tds::Device::bestFor(path, 2);
  EXPECT_EQ(device.reason(), "cpu: the artefact carries CPU code only");
  tds::Module net = tds::Module::load(path, device, 1);
  tds::Entry train = net.entry("train");
  EXPECT_TRUE(train.isStep());
  EXPECT_TRUE(train.inputs()[2].hasDefault);
  tds::Loader loader(train, bindings);
  EXPECT_EQ(loader.batches(), 6u);
  float loss = 0;
  size_t steps = 0;
  for (int epoch = 0; epoch < 60; ++epoch)
    for (const tds::Batch &b : loader) {
      loss = train(b["x"], b["y"], 0.1f).scalar<float>();
      ++steps;
    }
  tds::setLog({});
  EXPECT_EQ(steps, 360u);
  EXPECT_LT(loss, 1e-3f);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("leaves out 4 of 100 rows"), std::string::npos);

  net.save(folder.path("toy.safetensors"), {1, 2, 3});
  tds::Module again = tds::Module::load(path, device, 2);
  EXPECT_EQ(again.restore(folder.path("toy.safetensors")).batch, 2u);
  EXPECT_EQ(again.read("net.b").scalar<float>(),
            net.read("net.b").scalar<float>());
  EXPECT_EQ(again.programHash(), std::string(64, 'a'));
  for (const tds::Batch &b : loader) {
    EXPECT_THROW(b["lr"], tds::Error);
    break;
  }
}

TEST(CppApi, LoadsOntoTheBestDevice) {
  toy::TemporaryFolder folder;
  std::string path = folder.write("toy.so", toy::program());
  tds::Module net = tds::Module::loadBest(path, 7, 0, 2);
  EXPECT_EQ(net.device().kind(), TDS_DEVICE_CPU);
  EXPECT_EQ(net.device().reason(), "cpu: the artefact carries CPU code only");
  EXPECT_EQ(net.read("tds.seed").scalar<int64_t>(), 7);
  EXPECT_EQ(net.memory().scratch, 2 * 64u);

  // A limit on memory, a byte too low and just right.
  tds_memory_info memory = net.memory();
  uint64_t bytes = memory.slabs + memory.constants + memory.arena +
                   memory.slots + memory.scratch;
  std::string image = toy::program();
  EXPECT_NO_THROW(tds::Module::load(path, net.device(), 0, bytes));
  EXPECT_NO_THROW(tds::Module::loadBest(path, 0, bytes, 2));
  EXPECT_NO_THROW(tds::Module::load(image.data(), image.size(), "toy",
                                    net.device(), 0, bytes));
  try {
    tds::Module::load(path, net.device(), 0, bytes - 1);
    ADD_FAILURE();
  } catch (const tds::Error &error) {
    EXPECT_EQ(error.status, TDS_OUT_OF_MEMORY);
    EXPECT_NE(std::string(error.what()).find("the limit given is"),
              std::string::npos)
        << error.what();
  }
  EXPECT_THROW(tds::Module::load(image.data(), image.size(), "toy",
                                 net.device(), 0, bytes - 1),
               tds::Error);
  // Code for a GPU alone does not load on the CPU, and the sentence says so.
  std::string gpu =
      folder.write("toy.ptx", toy::packPtx(toy::cudaManifest().dump()));
  try {
    tds::Module::load(gpu, net.device());
    ADD_FAILURE();
  } catch (const tds::Error &error) {
    EXPECT_NE(std::string(error.what())
                  .find("carries no code for the CPU (it "
                        "has sm_80)"),
              std::string::npos)
        << error.what();
  }
}

TEST(CppApi, InspectsCheckpoints) {
  toy::TemporaryFolder folder;
  std::string path = folder.path("c.safetensors");
  tds::Module net =
      tds::Module::loadBest(folder.write("toy.so", toy::program()));
  net.save(path, {4, 5, 18446744073709551615u});
  tds::Progress progress = tds::inspectCheckpoint(path);
  EXPECT_EQ(progress.epoch, 4u);
  EXPECT_EQ(progress.batch, 5u);
  EXPECT_EQ(progress.order_seed, 18446744073709551615u);
  EXPECT_EQ(tds_checkpoint_inspect(path.c_str(), nullptr), TDS_OK);
  EXPECT_EQ(tds_checkpoint_inspect(folder.path("none").c_str(), nullptr),
            TDS_NOT_FOUND);
  EXPECT_EQ(tds_checkpoint_inspect(folder.path("toy.so").c_str(), nullptr),
            TDS_BAD_DATA);
}

/// The reader of the runtime, written apart, is the reference.
TEST(CppApi, HalfPrecisionElements) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    tds::F16 half;
    half.bits = static_cast<uint16_t>(bits);
    float value = tdsrt::floatFromF16(half.bits);
    tds::BF16 brain;
    brain.bits = half.bits;
    float wide = tdsrt::floatFromBF16(brain.bits);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(float(half)));
      ASSERT_TRUE(std::isnan(float(tds::F16(value))));
    } else {
      ASSERT_EQ(float(half), value);
      ASSERT_EQ(tds::F16(value).bits, half.bits);
      // What lies between two neighbours goes to the nearer one, a tie to the
      // even one.
      float next = tdsrt::floatFromF16(static_cast<uint16_t>(bits + 1));
      if (std::isfinite(value) && std::isfinite(next) &&
          (bits & 0x7fff) < 0x7bff) {
        float middle = (value + next) / 2;
        ASSERT_EQ(tds::F16(middle).bits, bits + (bits & 1));
        ASSERT_EQ(tds::F16(std::nextafter(middle, value)).bits, bits);
        ASSERT_EQ(tds::F16(std::nextafter(middle, next)).bits, bits + 1);
      }
    }
    if (std::isnan(wide)) {
      ASSERT_TRUE(std::isnan(float(tds::BF16(wide))));
    } else {
      ASSERT_EQ(float(brain), wide);
      ASSERT_EQ(tds::BF16(wide).bits, brain.bits);
    }
  }
  EXPECT_EQ(tds::F16(65519.0f).bits, 0x7bff);
  EXPECT_EQ(tds::F16(65520.0f).bits, 0x7c00); // a tie, up to infinity
  EXPECT_EQ(tds::F16(-1e30f).bits, 0xfc00);
  EXPECT_EQ(tds::BF16(1.00390625f).bits, 0x3f80); // 1 + 2^-8, a tie
  EXPECT_EQ(tds::BF16(1.01171875f).bits, 0x3f82); // 1 + 3 * 2^-8, a tie
  EXPECT_EQ(tds::BF16(3.4e38f).bits, 0x7f80);

  std::vector<tds::F16> values = {tds::F16(1), tds::F16(-2)};
  tds::Tensor tensor(values, {2});
  EXPECT_EQ(tensor.type(), TDS_F16);
  EXPECT_EQ(float(tensor.as<tds::F16>()[1]), -2);
  EXPECT_THROW(tensor.as<tds::BF16>(), tds::Error);
  EXPECT_EQ(tds::Tensor::view(values.data(), {2}).data(), values.data());
  tds::BF16 one(1);
  EXPECT_EQ(tds::Tensor::view(&one, {}).type(), TDS_BF16);
}

TEST(CppApi, TensorsAreCheckedAndShared) {
  tds::Tensor a(std::vector<int32_t>{1, 2, 3, 4}, {2, 2});
  tds::Tensor b = a;
  b.as<int32_t>()[3] = 9;
  EXPECT_EQ(a.as<int32_t>()[3], 9);
  EXPECT_THROW(a.as<float>(), tds::Error);
  EXPECT_THROW(a.scalar<int32_t>(), tds::Error);
  EXPECT_THROW(tds::Tensor(std::vector<float>{1, 2}, {3}), tds::Error);
  EXPECT_EQ(tds::Tensor(2.5).scalar<double>(), 2.5);
  EXPECT_EQ(tds::Tensor(true).type(), TDS_BOOL);
}

TEST(CppApi, ModulesAreIndependentAcrossThreads) {
  std::string bytes = toy::program();
  tds::Device device = tds::Device::open("cpu", 2);
  std::vector<float> x, y;
  toy::linearData(toy::batch, x, y);
  std::vector<float> biases(4);
  std::vector<std::thread> threads;
  for (float &bias : biases)
    threads.emplace_back([&] {
      tds::Module net =
          tds::Module::load(bytes.data(), bytes.size(), "toy.so", device, 3);
      tds::Entry train = net.entry("train");
      for (int i = 0; i < 200; ++i)
        train(tds::Tensor::view(x.data(), {toy::batch, toy::features}),
              tds::Tensor::view(y.data(), {toy::batch}));
      bias = net.read("net.b").scalar<float>();
    });
  for (std::thread &thread : threads)
    thread.join();
  for (float bias : biases)
    EXPECT_EQ(bias, biases[0]);
}

} // namespace
