//===- ApiTest.cpp - the C and C++ interfaces themselves -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ToyProgram.h"

#include <tds/runtime.hpp>

#include <gtest/gtest.h>

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
  tds_set_log_callback(
      [](void *user, tds_log_level, const char *message) {
        static_cast<std::vector<std::string> *>(user)->push_back(message);
      },
      &notes);
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
  tds_set_log_callback(nullptr, nullptr);
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
