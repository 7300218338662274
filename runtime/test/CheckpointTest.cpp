//===- CheckpointTest.cpp - save, restore, take over weights -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "checkpoint/Checkpoint.h"
#include "ToyProgram.h"
#include "core/Error.h"
#include "data/Safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

using namespace tdsrt;

namespace {

std::shared_ptr<Module> toyModule(int64_t seed) {
  return Module::load(Container::fromMemory(toy::program(), "toy.so"),
                      openDevice("cpu", 1), seed, 0);
}

std::vector<float> floats(Module &module, const char *name) {
  const Variable &variable = module.variable(name);
  std::vector<float> out(variable.bytes / 4);
  module.read(variable, out.data());
  return out;
}

template <typename Function> std::string failure(Function &&function) {
  try {
    function();
  } catch (const Error &error) {
    return error.what();
  }
  return "no failure";
}

TensorToWrite tensor(ElementType type, std::vector<int64_t> shape,
                     std::string bytes) {
  uint64_t size = bytes.size();
  return {type, std::move(shape), size,
          [bytes](void *out) { std::memcpy(out, bytes.data(), bytes.size()); }};
}

TEST(Checkpoint, KeepsEverything) {
  toy::TemporaryFolder folder;
  auto a = toyModule(3), b = toyModule(4);
  std::string path = folder.path("c.safetensors");
  saveCheckpoint(*a, path, {7, 8, ~uint64_t(8)});
  tds_progress progress = restoreCheckpoint(*b, path);
  EXPECT_EQ(progress.epoch, 7u);
  EXPECT_EQ(progress.batch, 8u);
  EXPECT_EQ(progress.order_seed, ~uint64_t(8));
  EXPECT_EQ(floats(*a, "net.w"), floats(*b, "net.w"));
  std::string again = folder.path("d.safetensors");
  saveCheckpoint(*b, again, {7, 8, ~uint64_t(8)});
  EXPECT_EQ(toy::readAll(path), toy::readAll(again));
  // No temporary file is left.
  EXPECT_NE(access((path + ".tmp").c_str(), F_OK), 0);
  SafetensorsFile file(path);
  EXPECT_EQ(file.tensors().size(), 7u);
  EXPECT_EQ(file.metadata().at("program"), std::string(64, 'a'));
  EXPECT_EQ(file.tensors().count("opt.train.0.net.w.m"), 1u);
}

TEST(Checkpoint, FailedSaveLeavesTheOldFile) {
  toy::TemporaryFolder folder;
  auto module = toyModule(3);
  std::string missing = folder.path("no/such/folder/c.safetensors");
  EXPECT_NE(failure([&] {
              saveCheckpoint(*module, missing, {});
            }).find("check that the folder exists"),
            std::string::npos);
  // A folder in the place of the file cannot be replaced.
  std::string blocked = folder.path("blocked");
  ASSERT_EQ(mkdir(blocked.c_str(), 0777), 0);
  EXPECT_NE(failure([&] {
              saveCheckpoint(*module, blocked, {});
            }).find("cannot be replaced"),
            std::string::npos);
  EXPECT_NE(access((blocked + ".tmp").c_str(), F_OK), 0);
}

TEST(Checkpoint, MissingAndMisshapenAreErrorsAndChangeNothing) {
  toy::TemporaryFolder folder;
  auto module = toyModule(3);
  std::vector<float> before = floats(*module, "net.w");
  std::string path = folder.path("c.safetensors");
  std::map<std::string, std::string> meta = {{"format", "tdsl-checkpoint-1"}};
  std::string four = toy::bytesOf<float>({9, 9, 9, 9});
  writeSafetensors(path, meta,
                   {{"net.w", tensor(ElementType::F32, {4}, four)}});
  EXPECT_NE(failure([&] {
              restoreCheckpoint(*module, path);
            }).find("has no 'net.b' (f32[])"),
            std::string::npos);
  writeSafetensors(path, meta,
                   {{"net.w", tensor(ElementType::F32, {2, 2}, four)}});
  EXPECT_NE(failure([&] {
              restoreCheckpoint(*module, path);
            }).find("'net.w' is f32[2, 2], but the program has f32[4]"),
            std::string::npos);
  writeSafetensors(path, {}, {});
  EXPECT_NE(failure([&] {
              restoreCheckpoint(*module, path);
            }).find("use --init-from"),
            std::string::npos);
  EXPECT_EQ(floats(*module, "net.w"), before);
}

TEST(Checkpoint, TakesForeignWeights) {
  toy::TemporaryFolder folder;
  auto module = toyModule(3);
  std::string path = folder.path("f.safetensors");
  // bf16 1, 2, 3, 4 as one column, and a bias under another name.
  writeSafetensors(
      path, {},
      {{"linear.weight",
        tensor(ElementType::BF16, {4},
               toy::bytesOf<uint16_t>({0x3f80, 0x4000, 0x4040, 0x4080}))},
       {"linear.bias",
        tensor(ElementType::F32, {}, toy::bytesOf<float>({0.5f}))},
       {"other", tensor(ElementType::I64, {1}, std::string(8, '\0'))}});
  EXPECT_NE(failure([&] {
              initializeFrom(*module, path, "", "");
            }).find("name it in --map"),
            std::string::npos);
  std::string map = folder.write("map.txt", "# ours = theirs\n"
                                            "net.w = linear.weight\r\n"
                                            "\n"
                                            "net.b = linear.bias # the bias\n");
  initializeFrom(*module, path, map, "");
  EXPECT_EQ(floats(*module, "net.w"), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(floats(*module, "net.b")[0], 0.5f);

  auto mapError = [&](const char *text) {
    folder.write("map.txt", text);
    return failure([&] { initializeFrom(*module, path, map, ""); });
  };
  EXPECT_NE(mapError("net.w linear.weight").find("map.txt:1: has no '='"),
            std::string::npos);
  EXPECT_NE(mapError("\nnet.q = a")
                .find("map.txt:2: the program has no "
                      "variable 'net.q'"),
            std::string::npos);
  EXPECT_NE(mapError("net.w = linear.weight transpose").find("takes a matrix"),
            std::string::npos);
  EXPECT_NE(mapError("net.w = a\nnet.w = b").find("mapped twice"),
            std::string::npos);
}

TEST(Checkpoint, TransposesMatrices) {
  toy::TemporaryFolder folder;
  nlohmann::json manifest = toy::manifest();
  manifest["variables"][0]["shape"] = {1, 4}; // net.w, the same bytes
  auto module = Module::load(
      Container::fromMemory(toy::packSo(manifest.dump()), "toy.so"),
      openDevice("cpu", 1), 3, 0);
  std::string path = folder.path("f.safetensors");
  writeSafetensors(path, {},
                   {{"t", tensor(ElementType::F16, {4, 1},
                                 toy::bytesOf<uint16_t>(
                                     {0x3c00, 0x4000, 0x4200, 0x4400}))}});
  std::string map = folder.write("map.txt", "net.w = t transpose\n");
  initializeFrom(*module, path, map, "net.b");
  EXPECT_EQ(floats(*module, "net.w"), (std::vector<float>{1, 2, 3, 4}));

  manifest["variables"][0]["shape"] = {2, 2};
  module = Module::load(
      Container::fromMemory(toy::packSo(manifest.dump()), "toy.so"),
      openDevice("cpu", 1), 3, 0);
  writeSafetensors(path, {},
                   {{"t", tensor(ElementType::F32, {2, 2},
                                 toy::bytesOf<float>({1, 2, 3, 4}))}});
  initializeFrom(*module, path, map, "net.b");
  EXPECT_EQ(floats(*module, "net.w"), (std::vector<float>{1, 3, 2, 4}));
  initializeFrom(*module, path, folder.write("m.txt", "net.w = t"), "net.b");
  EXPECT_EQ(floats(*module, "net.w"), (std::vector<float>{1, 2, 3, 4}));
}

TEST(Checkpoint, AllowsMissingByGlob) {
  toy::TemporaryFolder folder;
  auto module = toyModule(3);
  std::vector<float> before = floats(*module, "net.w");
  std::string path = folder.path("f.safetensors");
  writeSafetensors(
      path, {},
      {{"net.b", tensor(ElementType::F32, {}, toy::bytesOf<float>({2}))}});
  EXPECT_NE(failure([&] {
              initializeFrom(*module, path, "", "head.*");
            }).find("--allow-missing 'net.w'"),
            std::string::npos);
  initializeFrom(*module, path, "", "head.*, net.?");
  EXPECT_EQ(floats(*module, "net.w"), before);
  EXPECT_EQ(floats(*module, "net.b")[0], 2);
}

TEST(Checkpoint, Globs) {
  EXPECT_TRUE(globMatches("net.*", "net.fc1.w"));
  EXPECT_TRUE(globMatches("*", ""));
  EXPECT_TRUE(globMatches("*.w", "a.b.w"));
  EXPECT_TRUE(globMatches("a*b*c", "aXbYbZc"));
  EXPECT_FALSE(globMatches("a*b*c", "aXbYbZ"));
  EXPECT_FALSE(globMatches("net.?", "net.fc"));
  EXPECT_FALSE(globMatches("", "x"));
  EXPECT_FALSE(globMatches(std::string(40, '*') + "x", std::string(5000, 'a')));
}

} // namespace
