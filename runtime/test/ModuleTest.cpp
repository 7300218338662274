//===- ModuleTest.cpp - load, call, read and write -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ToyProgram.h"

#include <tds/runtime.hpp>

#include <gtest/gtest.h>

namespace {

tds::Module loadToy(int threads = 2, int64_t seed = 7) {
  std::string bytes = toy::program();
  return tds::Module::load(bytes.data(), bytes.size(), "toy.so",
                           tds::Device::open("cpu", threads), seed);
}

/// The sentence that `function` fails with.
template <typename Function> std::string failure(Function &&function) {
  try {
    function();
  } catch (const tds::Error &error) {
    return error.what();
  }
  return "no failure";
}

TEST(Module, TrainsAndPredicts) {
  tds::Module net = loadToy();
  tds::Entry train = net.entry("train");
  std::vector<float> x, y;
  toy::linearData(toy::batch, x, y);
  tds::Tensor inputs(x, {toy::batch, toy::features}), targets(y, {toy::batch});
  float first = train(inputs, targets).scalar<float>(), last = 0;
  for (int i = 0; i < 2000; ++i)
    last = train(inputs, targets, 0.1).scalar<float>("loss");
  EXPECT_GT(first, 1);
  EXPECT_LT(last, 1e-4);
  EXPECT_EQ(net.read("tds.step").scalar<int64_t>(), 2001);
  EXPECT_EQ(net.read("tds.seed").scalar<int64_t>(), 7);
  EXPECT_EQ(net.read("seen").scalar<int64_t>(), 2001 * toy::batch);
  EXPECT_NEAR(net.read("net.b").scalar<float>(), 5, 0.01);
  EXPECT_NEAR(net.read("net.w").as<float>()[3], 4, 0.01);
  tds::Results out = net.entry("predict")(inputs);
  EXPECT_NEAR(out["p"].as<float>()[0], y[0], 0.02);
}

TEST(Module, ThreadsDoNotChangeBits) {
  std::vector<float> x, y;
  toy::linearData(toy::batch, x, y);
  std::vector<float> expected;
  for (int threads : {1, 2, 3, 5}) {
    tds::Module net = loadToy(threads);
    tds::Entry train = net.entry("train");
    for (int i = 0; i < 50; ++i)
      train(tds::Tensor(x, {toy::batch, toy::features}),
            tds::Tensor(y, {toy::batch}));
    tds::Tensor w = net.read("net.w");
    std::vector<float> got(w.as<float>(), w.as<float>() + w.size());
    if (expected.empty())
      expected = got;
    EXPECT_EQ(got, expected) << threads << " threads";
  }
}

TEST(Module, SeedsDiffer) {
  tds::Tensor a = loadToy(1, 1).read("net.w"), b = loadToy(1, 2).read("net.w");
  EXPECT_NE(a.as<float>()[0], b.as<float>()[0]);
  tds::Module net = loadToy(1, 1);
  net.initialize(2);
  EXPECT_EQ(net.read("net.w").as<float>()[0], b.as<float>()[0]);
}

TEST(Module, WritesVariables) {
  tds::Module net = loadToy();
  net.write("net.w", tds::Tensor(std::vector<float>{1, 2, 3, 4}, {4}));
  net.write("net.b", 0.5f);
  std::vector<float> ones(toy::batch * toy::features, 1);
  tds::Results out =
      net.entry("predict")(tds::Tensor(ones, {toy::batch, toy::features}));
  EXPECT_EQ(out[0].as<float>()[15], 10.5f);
  EXPECT_NE(failure([&] { net.write("net.w", 1.0f); }).find("shape"),
            std::string::npos);
  EXPECT_NE(failure([&] { net.read("net.q"); }).find("no variable 'net.q'"),
            std::string::npos);
}

TEST(Module, LayersAreVariables) {
  nlohmann::json manifest = toy::manifest();
  nlohmann::json &variable = manifest["variables"][0];
  variable["name"] = "net.*.w";
  variable["shape"] = {2, 2};
  variable["layers"] = true;
  auto load = [&] {
    std::string bytes = toy::packSo(manifest.dump());
    return tds::Module::load(bytes.data(), bytes.size(), "toy.so",
                             tds::Device::open("cpu", 2), 7);
  };
  tds::Module net = load();
  net.write("net.0.w", tds::Tensor(std::vector<float>{1, 2}, {2}));
  net.write("net.1.w", tds::Tensor(std::vector<float>{3, 4}, {2}));
  net.write("net.b", 0.5f);
  std::vector<float> ones(toy::batch * toy::features, 1);
  tds::Results out =
      net.entry("predict")(tds::Tensor(ones, {toy::batch, toy::features}));
  EXPECT_EQ(out[0].as<float>()[15], 10.5f);
  EXPECT_EQ(net.read("net.1.w").as<float>()[1], 4);
  for (const char *none : {"net.*.w", "net.2.w", "net.w"})
    EXPECT_NE(failure([&] { net.read(none); }).find("no variable"),
              std::string::npos);

  auto error = [&](const char *key, const nlohmann::json &value) {
    nlohmann::json before = variable[key];
    variable[key] = value;
    std::string text = failure(load);
    variable[key] = before;
    return text;
  };
  EXPECT_NE(error("name", "net.w").find("not exactly one *"),
            std::string::npos);
  EXPECT_NE(error("name", "*.*.w").find("not exactly one *"),
            std::string::npos);
  EXPECT_NE(error("shape", nlohmann::json::array()).find("no axis of layers"),
            std::string::npos);
  EXPECT_NE(error("shape", {2000000, 0}).find("2000000 layers"),
            std::string::npos);
  EXPECT_NE(error("layers", 2).find("not true or false"), std::string::npos);
  manifest["variables"][1]["name"] = "net.1.w";
  EXPECT_NE(failure(load).find("net.1.w"), std::string::npos);
}

TEST(Module, ScratchIsPrivateToThreads) {
  tds::Module net = loadToy(4);
  for (int repeat = 0; repeat < 50; ++repeat) {
    tds::Results out = net.entry("fill")();
    for (int64_t i = 0; i < 1000; ++i)
      ASSERT_EQ(out[0].as<int64_t>()[i], 3 * i);
  }
}

TEST(Module, AllocatesWhatWasPromised) {
  tds_memory_info memory = loadToy(3).memory();
  EXPECT_EQ(memory.slabs, 512u + 512 + 8 + 264);
  EXPECT_EQ(memory.constants, 32u);
  EXPECT_EQ(memory.arena, 8000u);
  EXPECT_EQ(memory.slots,
            8u + 516 + 4 + 256 + 64 + 576 + 260 + 64 + 260 + 8000);
  EXPECT_EQ(memory.scratch, 3 * 64u);
}

TEST(Module, FlagsAreErrorsWithTheirPlace) {
  tds::Module net = loadToy();
  tds::Entry guarded = net.entry("guarded");
  ASSERT_EQ(guarded.results().size(), 1u); // tds.flags is hidden
  std::vector<int32_t> ids(toy::batch, 3);
  EXPECT_EQ(guarded(tds::Tensor(ids, {toy::batch}))[0].as<float>()[5], 3);
  ids[4] = 8;
  std::string text = failure([&] { guarded(tds::Tensor(ids, {toy::batch})); });
  EXPECT_NE(text.find("toy.tds:12:7: gather index out of range"),
            std::string::npos)
      << text;
  // Steps are refused from then on, functions are not.
  ids[4] = 0;
  text = failure([&] { guarded(tds::Tensor(ids, {toy::batch})); });
  EXPECT_NE(text.find("refused"), std::string::npos) << text;
  EXPECT_EQ(net.entry("fill")().size(), 1u);
  net.initialize(1);
  guarded(tds::Tensor(ids, {toy::batch}));
}

TEST(Module, CallsWithCallersMemory) {
  tds::Module net = loadToy();
  tds::Entry predict = net.entry("predict");
  std::vector<float> x(toy::batch * toy::features, 0), p(toy::batch, -1);
  predict.callDevice({x.data()}, {p.data()});
  EXPECT_EQ(p[3], net.read("net.b").scalar<float>());
  std::vector<float> again(toy::batch);
  ASSERT_EQ(tds_entry_read_result(predict.get(), 0, again.data(),
                                  again.size() * sizeof(float)),
            TDS_OK);
  EXPECT_EQ(again, p);
}

TEST(Module, RefusesWrongCalls) {
  tds::Module net = loadToy();
  tds::Entry train = net.entry("train");
  std::vector<float> x(toy::batch * toy::features), y(toy::batch);
  auto text = [&](tds::Tensor a, tds::Tensor b) {
    return failure([&] { train(a, b); });
  };
  EXPECT_EQ(text(tds::Tensor(x, {toy::features, toy::batch}),
                 tds::Tensor(y, {toy::batch})),
            "input 'x' of entry 'train' is f32[16, 4], but the tensor given is "
            "f32[4, 16]; pass a tensor of that type and shape");
  EXPECT_NE(text(tds::Tensor(x, {toy::batch, toy::features}),
                 tds::Tensor(std::vector<int32_t>(toy::batch), {toy::batch}))
                .find("i32[16]"),
            std::string::npos);
  EXPECT_NE(failure([&] { train(); }).find("'x'"), std::string::npos);
  EXPECT_NE(failure([&] { train(1.f, 1.f, 1.f, 1.f); }).find("has 3 inputs"),
            std::string::npos);
  EXPECT_NE(failure([&] { net.entry("init"); }).find("no entry 'init'"),
            std::string::npos);
  EXPECT_NE(failure([&] { net.entry("tran"); }).find("train, predict"),
            std::string::npos);
  // Nothing of it has changed the module.
  EXPECT_EQ(net.read("tds.step").scalar<int64_t>(), 0);
}

TEST(Module, CountsKernels) {
  tds::Module net = loadToy();
  for (int i = 0; i < 3; ++i)
    net.entry("fill")();
  for (const tds_kernel_profile &kernel : net.profile())
    if (std::string(kernel.symbol) == "toy_scratch") {
      EXPECT_EQ(kernel.calls, 3u);
      EXPECT_GT(kernel.seconds, 0);
      EXPECT_STREQ(kernel.title, "3 * i");
    }
}

TEST(Module, RefusesTooMuchMemory) {
  nlohmann::json manifest = toy::manifest();
  manifest["entries"][5]["arena_bytes"] = int64_t(1) << 48;
  manifest["entries"][5]["peak_bytes"] =
      manifest["entries"][5]["peak_bytes"].get<int64_t>() - 8000 +
      (int64_t(1) << 48);
  std::string bytes = toy::packSo(manifest.dump());
  std::string text = failure([&] {
    tds::Module::load(bytes.data(), bytes.size(), "big.so",
                      tds::Device::open("cpu"));
  });
  EXPECT_NE(text.find("big.so: needs 256.0 TiB"), std::string::npos) << text;
}

TEST(Module, TakesTheBestCodeOfABundle) {
  toy::TemporaryFolder folder;
  auto member = [](const std::string &arch) {
    return toy::Member{"cpu." + arch + ".so", "cpu", arch,
                       toy::packSo(toy::manifest(arch).dump())};
  };
  std::string path = folder.write(
      "toy.tdsx", toy::packTdsx({member("x86-64-v2"),
                                 member("x86-64-v3"),
                                 {"cuda.sm_80.ptx", "cuda", "sm_80",
                                  toy::packPtx(toy::cudaManifest().dump())}}));
  tds::Module net = tds::Module::load(path, tds::Device::open("cpu"));
  EXPECT_EQ(net.entries().size(), 5u);
  std::string words = tds::describeArtifact(path);
  EXPECT_NE(words.find("target 3 of 3"), std::string::npos) << words;
  EXPECT_NE(words.find("largest 16 bytes: param w, f32[4] (toy.tds:1:1)\n"
                       "    largest 8 bytes: value\n"),
            std::string::npos)
      << words;
}

TEST(Module, RefusesAnotherProcessor) {
  nlohmann::json manifest = toy::manifest("native");
  manifest["target"]["features"] = {"sse2", "amx-complex", "xop"};
  std::string bytes = toy::packSo(manifest.dump());
  std::string text = failure([&] {
    tds::Module::load(bytes.data(), bytes.size(), "n.so",
                      tds::Device::open("cpu"));
  });
  EXPECT_NE(text.find("lacks"), std::string::npos) << text;
  manifest["target"]["features"] = {"sse9"};
  bytes = toy::packSo(manifest.dump());
  text = failure([&] {
    tds::Module::load(bytes.data(), bytes.size(), "n.so",
                      tds::Device::open("cpu"));
  });
  EXPECT_NE(text.find("cannot check (sse9)"), std::string::npos) << text;
}

TEST(Module, RefusesAnEditedManifest) {
  nlohmann::json manifest = toy::manifest();
  std::string plan = manifest.dump();
  manifest["entries"][1]["commands"][0]["work"] = 1000000;
  std::string bytes = toy::packSo(manifest.dump(), plan);
  std::string text = failure([&] {
    tds::Module::load(bytes.data(), bytes.size(), "edited.so",
                      tds::Device::open("cpu"));
  });
  EXPECT_NE(text.find("another manifest"), std::string::npos) << text;
}

TEST(Module, LoadsDifferentProgramsAtOnce) {
  std::vector<tds::Module> modules;
  for (int64_t extra = 0; extra < 3; ++extra) {
    nlohmann::json manifest = toy::manifest();
    manifest["producer"] = "variant " + std::to_string(extra);
    std::string bytes = toy::packSo(manifest.dump());
    modules.push_back(tds::Module::load(bytes.data(), bytes.size(), "toy.so",
                                        tds::Device::open("cpu", 1), extra));
  }
  EXPECT_EQ(modules[2].read("tds.seed").scalar<int64_t>(), 2);
}

TEST(Device, SaysWhy) {
  tds::Device device = tds::Device::best(3);
  EXPECT_FALSE(device.reason().empty());
  if (device.kind() == TDS_DEVICE_CPU) {
    EXPECT_NE(device.description().find("3 threads"), std::string::npos);
    EXPECT_EQ(device.reason().find("cpu: "), 0u) << device.reason();
  }
  EXPECT_NE(failure([] { tds::Device::open("gpu"); }).find("'gpu'"),
            std::string::npos);
  EXPECT_NE(tds::describeDevices().find("driver"), std::string::npos);
}

} // namespace
