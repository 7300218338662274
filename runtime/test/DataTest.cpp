//===- DataTest.cpp - readers, order of rows, batches -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ToyProgram.h"
#include "core/Error.h"
#include "data/DataSource.h"
#include "data/Loader.h"
#include "data/Permutation.h"
#include "data/Safetensors.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <unistd.h>

using namespace tdsrt;

namespace {

template <typename T> std::vector<T> elements(const DataSource &source) {
  std::vector<T> out(source.bytes() / sizeof(T));
  source.read(0, out.data(), source.bytes());
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

Port port(const char *name, ElementType type, std::vector<int64_t> shape,
          bool dataAxis = true) {
  Port out;
  out.name = name;
  out.type = type;
  out.shape = std::move(shape);
  out.bytes = *byteCount(out.shape, type);
  out.hasDataAxis = dataAxis;
  return out;
}

EntryPlan entryOf(std::vector<Port> inputs, std::vector<Port> results = {}) {
  EntryPlan entry;
  entry.name = "e";
  entry.inputs = std::move(inputs);
  entry.results = std::move(results);
  return entry;
}

TEST(Readers, NpyTypesAndByteOrder) {
  toy::TemporaryFolder folder;
  auto open = [&](const std::string &bytes) {
    return openDataSource(folder.write("a.npy", bytes));
  };
  auto source =
      open(toy::npy("<i2", {2, 2}, toy::bytesOf<int16_t>({1, -2, 3, -4})));
  EXPECT_EQ(source->type, ElementType::I16);
  EXPECT_EQ(source->shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(elements<int16_t>(*source), (std::vector<int16_t>{1, -2, 3, -4}));
  source =
      open(toy::npy(">i4", {2}, std::string("\0\0\0\x01\xff\xff\xff\xfe", 8)));
  EXPECT_EQ(elements<int32_t>(*source), (std::vector<int32_t>{1, -2}));
  source = open(toy::npy("|b1", {}, "\x01"));
  EXPECT_EQ(source->type, ElementType::Bool);
  EXPECT_TRUE(source->shape.empty());
  source = open(toy::npy("<f8", {0, 3}, ""));
  EXPECT_EQ(source->bytes(), 0u);
  EXPECT_NE(
      failure([&] { open(toy::npy("<c8", {1}, "12345678")); }).find("'<c8'"),
      std::string::npos);
  EXPECT_NE(
      failure([&] { open(toy::npy("<f4", {3}, "1234")); }).find("cut short"),
      std::string::npos);
}

// The order that the header names is the order that is read, also packed
// and with the other byte order.
TEST(Readers, FortranOrder) {
  toy::TemporaryFolder folder;
  auto inFortranOrder = [](std::string bytes) {
    return bytes.replace(bytes.find("False"), 5, "True ");
  };
  std::string data = toy::bytesOf<float>({1, 2, 3, 4, 5, 6});
  std::string rows = toy::npy("<f4", {2, 3}, data);
  EXPECT_EQ(elements<float>(*openDataSource(folder.write("rows.npy", rows))),
            (std::vector<float>{1, 2, 3, 4, 5, 6}));
  std::string columns = inFortranOrder(rows);
  const std::vector<float> expected = {1, 3, 5, 2, 4, 6};
  EXPECT_EQ(elements<float>(*openDataSource(folder.write("a.npy", columns))),
            expected);
  std::string npz =
      folder.write("a.npz", toy::zipOf({{"x.npy", columns}}, false));
  EXPECT_EQ(elements<float>(*openDataSource(npz + ":x")), expected);
  std::string packed = folder.path("a.npy.gz");
  gzFile file = gzopen(packed.c_str(), "wb");
  gzwrite(file, columns.data(), static_cast<unsigned>(columns.size()));
  gzclose(file);
  EXPECT_EQ(elements<float>(*openDataSource(packed)), expected);

  std::string big = inFortranOrder(toy::npy(
      ">i2", {2, 3, 2},
      std::string("\0\x01\0\x02\0\x03\0\x04\0\x05\0\x06\0\x07\0\x08\0\x09\0\x0a"
                  "\0\x0b\0\x0c",
                  24)));
  EXPECT_EQ(elements<int16_t>(*openDataSource(folder.write("b.npy", big))),
            (std::vector<int16_t>{1, 7, 3, 9, 5, 11, 2, 8, 4, 10, 6, 12}));
  // One axis has one order.
  EXPECT_EQ(elements<float>(*openDataSource(folder.write(
                "c.npy", inFortranOrder(toy::npy("<f4", {6}, data))))),
            (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(openDataSource(folder.write("d.npy", inFortranOrder(toy::npy(
                                                     "<f4", {0, 3}, ""))))
                ->bytes(),
            0u);
}

TEST(Readers, IdxNpzSafetensorsAndGzip) {
  toy::TemporaryFolder folder;
  std::string idx("\0\0\x0c\x01\0\0\0\x02\0\0\x01\0\xff\xff\xff\xff", 16);
  EXPECT_EQ(elements<int32_t>(*openDataSource(folder.write("a.idx", idx))),
            (std::vector<int32_t>{256, -1}));
  std::string packed = folder.path("a.idx.gz");
  // Two members in a row are one file, as gzip has it.
  for (const std::string &part : {idx.substr(0, 5), idx.substr(5)}) {
    gzFile file = gzopen(packed.c_str(), "ab");
    gzwrite(file, part.data(), static_cast<unsigned>(part.size()));
    gzclose(file);
  }
  EXPECT_EQ(elements<int32_t>(*openDataSource(packed)),
            (std::vector<int32_t>{256, -1}));

  std::string one = toy::npy("<i4", {1}, toy::bytesOf<int32_t>({7}));
  std::string two = toy::npy("<i4", {1}, toy::bytesOf<int32_t>({8}));
  std::string npz = folder.write(
      "a.npz", toy::zipOf({{"one.npy", one}, {"two.npy", two}}, false));
  EXPECT_EQ(elements<int32_t>(*openDataSource(npz + ":two"))[0], 8);
  EXPECT_NE(failure([&] { openDataSource(npz); }).find("one, two"),
            std::string::npos);

  std::string tensors = folder.path("a.safetensors");
  float value = 2.5f;
  writeSafetensors(tensors, {{"k", "v"}},
                   {{"w", {ElementType::F32, {1}, 4, [&](void *out) {
                             std::memcpy(out, &value, 4);
                           }}}});
  EXPECT_EQ(elements<float>(*openDataSource(tensors + ":w"))[0], 2.5f);
  EXPECT_EQ(SafetensorsFile(tensors).metadata().at("k"), "v");
  EXPECT_EQ((toy::readAll(tensors).size() - 4) % 8, 0u);
}

TEST(Readers, IntegersWidenAndNothingElse) {
  EXPECT_TRUE(widens(ElementType::U8, ElementType::I32));
  EXPECT_TRUE(widens(ElementType::U32, ElementType::I64));
  EXPECT_TRUE(widens(ElementType::I8, ElementType::I64));
  EXPECT_FALSE(widens(ElementType::I64, ElementType::I32));
  EXPECT_FALSE(widens(ElementType::U64, ElementType::I64));
  EXPECT_FALSE(widens(ElementType::I8, ElementType::U8));
  EXPECT_FALSE(widens(ElementType::U8, ElementType::F32));
  EXPECT_FALSE(widens(ElementType::Bool, ElementType::I32));
  EXPECT_FALSE(widens(ElementType::F32, ElementType::F64));
  uint16_t words[] = {65535, 1};
  int64_t wide[2];
  widenElements(words, ElementType::U16, wide, ElementType::I64, 2);
  EXPECT_EQ(wide[0], 65535);
  int8_t bytes[] = {-128, 127};
  int32_t ints[2];
  widenElements(bytes, ElementType::I8, ints, ElementType::I32, 2);
  EXPECT_EQ(ints[0], -128);
}

TEST(Readers, AxesMergeAndSplit) {
  EXPECT_TRUE(mergesOrSplits({28, 28}, {784}));
  EXPECT_TRUE(mergesOrSplits({784}, {28, 28}));
  EXPECT_TRUE(mergesOrSplits({2, 3, 4, 5}, {6, 20}));
  EXPECT_TRUE(mergesOrSplits({2, 12}, {2, 3, 4}));
  EXPECT_TRUE(mergesOrSplits({1}, {}));
  EXPECT_TRUE(mergesOrSplits({5, 1}, {1, 5}));
  EXPECT_TRUE(mergesOrSplits({6, 4}, {2, 3, 4}));
  EXPECT_FALSE(mergesOrSplits({2, 6}, {4, 3}));
  EXPECT_FALSE(mergesOrSplits({2, 3}, {3, 2}));
  EXPECT_FALSE(mergesOrSplits({3}, {4}));
  EXPECT_FALSE(mergesOrSplits({0, 2}, {0, 3}));
}

TEST(Readers, HalfPrecisionValues) {
  EXPECT_EQ(floatFromF16(0x3c00), 1.0f);
  EXPECT_EQ(floatFromF16(0xc000), -2.0f);
  EXPECT_EQ(floatFromF16(0x0001), std::ldexp(1.0f, -24));
  EXPECT_EQ(floatFromF16(0x7bff), 65504.0f);
  EXPECT_TRUE(std::isinf(floatFromF16(0x7c00)));
  EXPECT_TRUE(std::isnan(floatFromF16(0x7e00)));
  EXPECT_TRUE(std::signbit(floatFromF16(0x8000)));
  EXPECT_EQ(floatFromBF16(0x3f80), 1.0f);
}

TEST(Permutation, IsOne) {
  for (uint64_t count : {1, 2, 3, 4, 5, 16, 17, 1000, 4097}) {
    std::set<uint64_t> seen;
    Permutation order(count, 3, 1);
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t at = order(i);
      ASSERT_LT(at, count);
      seen.insert(at);
    }
    EXPECT_EQ(seen.size(), count);
  }
  // Beyond any table.
  Permutation large(uint64_t(1) << 40, 3, 1);
  EXPECT_LT(large(12345), uint64_t(1) << 40);
}

TEST(Permutation, DependsOnSeedAndEpochAlone) {
  auto firsts = [](uint64_t seed, uint64_t epoch) {
    Permutation order(60000, seed, epoch);
    std::vector<uint64_t> out;
    for (uint64_t i = 0; i < 64; ++i)
      out.push_back(order(i));
    return out;
  };
  EXPECT_EQ(firsts(1, 2), firsts(1, 2));
  EXPECT_NE(firsts(1, 2), firsts(1, 3));
  EXPECT_NE(firsts(1, 2), firsts(2, 2));
  EXPECT_NE(firsts(0, 1), firsts(1, 0));
  // Spread evenly: the mean of many first batches is about the middle.
  double sum = 0;
  for (uint64_t epoch = 0; epoch < 500; ++epoch)
    for (uint64_t at : firsts(9, epoch))
      sum += double(at);
  EXPECT_NEAR(sum / (500 * 64), 30000, 500);
}

/// Rows 0, 1, 2 ... as u8 labels.
std::string rowsFile(const toy::TemporaryFolder &folder, int64_t rows) {
  std::string data;
  for (int64_t i = 0; i < rows; ++i)
    data += static_cast<char>(i);
  return folder.write("rows.npy", toy::npy("|u1", {rows}, data));
}

std::vector<int32_t> labels(const tds_tensor *batch) {
  const auto *at = static_cast<const int32_t *>(batch[0].data);
  return std::vector<int32_t>(at, at + batch[0].shape[0]);
}

TEST(Loader, ShufflesAndDropsTheRest) {
  toy::TemporaryFolder folder;
  EntryPlan entry = entryOf({port("y", ElementType::I32, {8})});
  tds_loader_options options{};
  options.seed = 5;
  Loader loader(entry, "y=" + rowsFile(folder, 30), options);
  EXPECT_EQ(loader.batches(), 3u);
  std::vector<std::vector<int32_t>> epochs(3);
  for (std::vector<int32_t> &epoch : epochs) {
    uint64_t rows = 0;
    while (const tds_tensor *batch = loader.next(&rows)) {
      EXPECT_EQ(rows, 8u);
      for (int32_t label : labels(batch))
        epoch.push_back(label);
    }
    EXPECT_EQ(std::set<int32_t>(epoch.begin(), epoch.end()).size(), 24u);
  }
  EXPECT_NE(epochs[0], epochs[1]);

  // Any place can be gone to.
  loader.seek(1, 2);
  EXPECT_EQ(labels(loader.next(nullptr)),
            std::vector<int32_t>(epochs[1].begin() + 16, epochs[1].end()));
  EXPECT_EQ(loader.next(nullptr), nullptr);
  EXPECT_EQ(labels(loader.next(nullptr)),
            std::vector<int32_t>(epochs[2].begin(), epochs[2].begin() + 8));
}

TEST(Loader, PadsAndWeightsEvaluation) {
  toy::TemporaryFolder folder;
  Port weight = port("weight", ElementType::F32, {8});
  weight.isWeight = true;
  EntryPlan entry = entryOf({port("y", ElementType::I32, {8}), weight},
                            {port("accuracy", ElementType::F32, {}, false)});
  tds_loader_options options{};
  options.mode = TDS_LOADER_EVAL;
  Loader loader(entry, "y=" + rowsFile(folder, 11), options);
  EXPECT_EQ(loader.batches(), 2u);
  uint64_t rows = 0;
  EXPECT_EQ(labels(loader.next(&rows)),
            (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  const tds_tensor *last = loader.next(&rows);
  EXPECT_EQ(rows, 3u);
  EXPECT_EQ(labels(last), (std::vector<int32_t>{8, 9, 10, 10, 10, 10, 10, 10}));
  const auto *weights = static_cast<const float *>(last[1].data);
  EXPECT_EQ(std::vector<float>(weights, weights + 8),
            (std::vector<float>{1, 1, 1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(loader.next(&rows), nullptr);

  EntryPlan without = entryOf({port("y", ElementType::I32, {8})},
                              {port("accuracy", ElementType::F32, {}, false)});
  EXPECT_NE(failure([&] {
              Loader(without, "y=" + folder.path("rows.npy"), options);
            }).find("weight: f32[8]"),
            std::string::npos);
}

TEST(Loader, CutsTextIntoWindows) {
  toy::TemporaryFolder folder;
  std::string path = folder.write("t.txt", "abcdefghij");
  EntryPlan entry = entryOf({port("ids", ElementType::I32, {1, 4})});
  tds_loader_options options{};
  options.keep_order = 1;
  Loader loader(entry, "ids=" + path, options);
  EXPECT_EQ(loader.rows(), 3u); // abcd defg ghij
  std::string text;
  while (const tds_tensor *batch = loader.next(nullptr))
    for (int i = 0; i < 4; ++i)
      text += static_cast<char>(static_cast<const int32_t *>(batch[0].data)[i]);
  EXPECT_EQ(text, "abcddefgghij");
  EntryPlan wide = entryOf({port("ids", ElementType::U8, {1, 11})});
  EXPECT_NE(failure([&] {
              Loader(wide, "ids=" + path, options);
            }).find("less than one window of 11"),
            std::string::npos);
}

TEST(Loader, SaysWhatDoesNotFit) {
  toy::TemporaryFolder folder;
  std::string rows = rowsFile(folder, 30);
  auto text = [&](std::vector<Port> inputs, const std::string &bindings) {
    EntryPlan entry = entryOf(std::move(inputs));
    return failure([&] { Loader(entry, bindings, {}); });
  };
  Port y = port("y", ElementType::I32, {8});
  EXPECT_NE(text({y}, "z=" + rows).find("no input 'z'"), std::string::npos);
  EXPECT_NE(text({y}, "y").find("input=file"), std::string::npos);
  EXPECT_NE(text({y}, "y=" + rows + ",y=" + rows).find("two files"),
            std::string::npos);
  EXPECT_NE(text({port("y", ElementType::F32, {8})}, "y=" + rows)
                .find("no conversion between integers, floats"),
            std::string::npos);
  EXPECT_NE(text({port("y", ElementType::I32, {8, 2})}, "y=" + rows)
                .find("holds u8[30]"),
            std::string::npos);
  EXPECT_NE(text({port("y", ElementType::I32, {31})}, "y=" + rows)
                .find("smaller batch"),
            std::string::npos);
  std::string other = folder.write("o.npy", toy::npy("|u1", {2}, "ab"));
  EXPECT_NE(
      text({port("y", ElementType::I32, {1}), port("z", ElementType::I32, {1})},
           "y=" + rows + ",z=" + other)
          .find("same number of rows"),
      std::string::npos);
}

TEST(Loader, ReportsAFileThatShrinks) {
  toy::TemporaryFolder folder;
  // Large enough not to be cached.
  constexpr int64_t rows = 70 << 20;
  std::string header = toy::npy("<f4", {rows}, "");
  std::string path = folder.write("big.npy", header);
  ASSERT_EQ(truncate(path.c_str(), off_t(header.size()) + rows * 4), 0);
  EntryPlan entry = entryOf({port("x", ElementType::F32, {4})});
  tds_loader_options options{};
  options.prefetch = 1;
  Loader loader(entry, "x=" + path, options);
  ASSERT_NE(loader.next(nullptr), nullptr);
  ASSERT_EQ(truncate(path.c_str(), off_t(header.size())), 0);
  std::string text = failure([&] {
    for (int i = 0; i < 10; ++i)
      loader.next(nullptr);
  });
  EXPECT_NE(text.find("cut short"), std::string::npos) << text;
}

} // namespace
