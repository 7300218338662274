//===- HostileTest.cpp - damaged and malicious files -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whatever is in a file, reading it ends in a sentence or in a sound value:
// no crash, no hang, no read out of bounds (run these under the sanitizers).
// Mutations are drawn from a fixed seed.
//
//===----------------------------------------------------------------------===//

#include "ToyProgram.h"
#include "checkpoint/Checkpoint.h"
#include "core/Error.h"
#include "data/DataSource.h"
#include "data/Loader.h"
#include "data/Safetensors.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <functional>
#include <random>

using namespace tdsrt;
using nlohmann::json;

namespace {

/// What reading a file came to. A failure must be the runtime's own error
/// with a sentence; anything else fails the test.
enum class Result { Sound, Refused };

Result attempt(const std::function<void()> &read, const std::string &what) {
  try {
    read();
    return Result::Sound;
  } catch (const Error &error) {
    EXPECT_GT(std::string(error.what()).size(), 20u) << what;
    EXPECT_NE(error.status, TDS_INTERNAL) << what << ": " << error.what();
    return Result::Refused;
  }
  // Other exceptions are let through and fail the test.
}

/// Damages a few bytes: flips, overwrites, cuts, repeats.
class Mutator {
public:
  explicit Mutator(unsigned seed) : random(seed) {}

  size_t below(size_t limit) {
    return std::uniform_int_distribution<size_t>(0, limit - 1)(random);
  }

  /// Mutates within [begin, end) of `text`; at least one byte changes place or
  /// value, as a rule.
  std::string operator()(std::string text, size_t begin, size_t end) {
    static const char *const words[] = {
        "-1",    "0",    "2147483648", "9223372036854775807",
        "1e308", "null", "[]",         "{}",
        "\"\"",  "true", "99999",      "-0.5"};
    for (size_t edits = 1 + below(3); edits > 0 && end > begin; --edits) {
      size_t at = begin + below(end - begin);
      switch (below(6)) {
      case 0:
        text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 1:
        text[at] = static_cast<char>(below(256));
        break;
      case 2: { // cut out
        size_t count = std::min(end - at, 1 + below(16));
        text.erase(at, count);
        end -= count;
        break;
      }
      case 3: { // repeat
        std::string part = text.substr(at, std::min(end - at, 1 + below(16)));
        text.insert(at, part);
        end += part.size();
        break;
      }
      case 4: { // a word that means something
        std::string word = words[below(std::size(words))];
        size_t count = std::min(end - at, word.size());
        text.replace(at, count, word);
        end += word.size() - count;
        break;
      }
      case 5: { // a digit
        for (size_t i = at; i < end; ++i)
          if (text[i] >= '0' && text[i] <= '9') {
            text[i] = static_cast<char>('0' + below(10));
            break;
          }
        break;
      }
      }
    }
    return text;
  }

private:
  std::mt19937 random;
};

std::shared_ptr<Device> cpu() {
  static std::shared_ptr<Device> device = openDevice("cpu", 2);
  return device;
}

Result tryProgram(const std::string &bytes, const std::string &what) {
  return attempt(
      [&] {
        auto module = Module::load(Container::fromMemory(bytes, "hostile.so"),
                                   cpu(), 1, 0);
        describeArtifact(Container::fromMemory(bytes, "hostile.so"));
      },
      what);
}

/// Every number in a document, by JSON pointer.
void collectNumbers(const json &value, const std::string &path,
                    std::vector<std::string> &out) {
  if (value.is_number())
    out.push_back(path);
  if (value.is_object())
    for (auto item = value.begin(); item != value.end(); ++item)
      collectNumbers(*item, path + "/" + item.key(), out);
  if (value.is_array())
    for (size_t i = 0; i < value.size(); ++i)
      collectNumbers(value[i], path + "/" + std::to_string(i), out);
}

TEST(Hostile, EveryNumberOfTheManifest) {
  json sound = toy::manifest();
  std::string plan = sound.dump();
  ASSERT_EQ(tryProgram(toy::packSo(plan), "as it is"), Result::Sound);
  std::vector<std::string> numbers;
  collectNumbers(sound, "", numbers);
  ASSERT_GT(numbers.size(), 200u);
  for (const std::string &path : numbers) {
    json::json_pointer pointer(path);
    for (const json &value :
         {json(-1), json(0), json(int64_t(1) << 31), json(INT64_MAX),
          json(UINT64_MAX), json(0.5), json("1"), json(nullptr)}) {
      json mutated = sound;
      if (mutated[pointer] == value)
        continue;
      mutated[pointer] = value;
      std::string what = path + " = " + value.dump();
      // A wrong number is refused, or the code was not compiled for it.
      EXPECT_EQ(tryProgram(toy::packSo(mutated.dump(), plan), what),
                Result::Refused)
          << what;
      // What can never be right is refused by the manifest's own check.
      bool isDefault = path.find("/default") != std::string::npos;
      if (value == json(-1) || value == json(INT64_MAX) || value.is_string() ||
          value.is_null()) {
        bool optional =
            value.is_null() &&
            (isDefault || path.find("/data_axis") != std::string::npos);
        if (!optional && !(isDefault && value.is_number()))
          EXPECT_EQ(attempt([&] { parseManifest(mutated.dump(), "m"); }, what),
                    Result::Refused)
              << what;
      }
    }
  }
}

TEST(Hostile, EveryOffsetPastItsEnd) {
  json sound = toy::manifest();
  std::vector<std::string> numbers;
  collectNumbers(sound, "", numbers);
  size_t offsets = 0;
  for (const std::string &path : numbers) {
    // Offsets of variables and ports, and the third part of an operand.
    bool isOffset =
        path.size() > 7 && path.substr(path.size() - 7) == "/offset";
    bool isOperand = path.size() > 2 && path.substr(path.size() - 2) == "/2" &&
                     (path.find("/args/") != std::string::npos ||
                      path.find("/to/") != std::string::npos ||
                      path.find("/from/") != std::string::npos);
    if (!isOffset && !isOperand)
      continue;
    ++offsets;
    for (int64_t step :
         {int64_t(1) << 20, int64_t(1) << 32, int64_t(1) << 49}) {
      json mutated = sound;
      json::json_pointer pointer(path);
      mutated[pointer] = mutated[pointer].get<int64_t>() + step;
      EXPECT_EQ(attempt([&] { parseManifest(mutated.dump(), "m"); }, path),
                Result::Refused)
          << path;
    }
  }
  EXPECT_GT(offsets, 50u);
}

TEST(Hostile, EveryKeyMissing) {
  json sound = toy::manifest();
  std::function<void(const json &, const std::string &)> walk =
      [&](const json &value, const std::string &path) {
        if (value.is_object())
          for (auto item = value.begin(); item != value.end(); ++item) {
            json mutated = sound;
            mutated[json::json_pointer(path)].erase(item.key());
            std::string what = path + "/" + item.key();
            Result result =
                attempt([&] { parseManifest(mutated.dump(), "m"); }, what);
            bool optional = item.key() == "data_axis" ||
                            item.key() == "default" || item.key() == "role" ||
                            item.key() == "peak" || item.key() == "reverse";
            // Of a tensor at the peak, name, source and type may be missing.
            if (what.find("/largest/") != std::string::npos)
              optional = item.key() != "role" && item.key() != "bytes" &&
                         item.key() != "shape";
            if (!optional || what.find("/variables") == 0 ||
                what.find("/slabs") == 0)
              EXPECT_EQ(result, Result::Refused) << what;
            walk(*item, what);
          }
        if (value.is_array())
          for (size_t i = 0; i < value.size(); ++i)
            walk(value[i], path + "/" + std::to_string(i));
      };
  walk(sound, "");
}

TEST(Hostile, MutatedPrograms) {
  Mutator mutate(1);
  std::string plan = toy::manifest().dump();
  std::string image = toy::packSo(plan);
  size_t manifestBegin = image.rfind("{\"constants\"");
  ASSERT_NE(manifestBegin, std::string::npos);
  size_t refused = 0, runs = 4000;
  for (size_t i = 0; i < runs; ++i) {
    std::string what = "program mutation " + std::to_string(i);
    if (i % 2) {
      // Re-signed: the hash fits, so that the manifest itself is looked at.
      std::string text = mutate(plan, 0, plan.size());
      refused += tryProgram(toy::packSo(text, plan), what) == Result::Refused;
      continue;
    }
    // Anywhere in the file; the hash no longer fits.
    std::string bytes = mutate(image, 0, image.size());
    if (i % 8 == 0)
      bytes.resize(mutate.below(bytes.size()));
    refused += tryProgram(bytes, what) == Result::Refused;
  }
  // The few others are mutations that change nothing.
  EXPECT_GT(refused, runs * 95 / 100);
}

TEST(Hostile, MutatedPtx) {
  Mutator mutate(2);
  std::string text = toy::cudaManifest().dump();
  std::string image = toy::packPtx(text);
  auto tryPtx = [&](const std::string &bytes, const std::string &what) {
    return attempt(
        [&] { describeArtifact(Container::fromMemory(bytes, "h.ptx")); }, what);
  };
  ASSERT_EQ(tryPtx(image, "as it is"), Result::Sound);
  for (size_t i = 0; i < 2000; ++i) {
    std::string what = "ptx mutation " + std::to_string(i);
    if (i % 2)
      tryPtx(toy::packPtx(mutate(text, 0, text.size())), what);
    else
      tryPtx(mutate(image, 0, image.size()), what);
  }
  // The manifest of a file without comment marks, with a right hash.
  std::string body = ".version 7.0\n" + text + "\n";
  EXPECT_EQ(tryPtx(toy::sign(body, 13, text.size() + 1), "no comments"),
            Result::Refused);
}

TEST(Hostile, MutatedBundles) {
  Mutator mutate(3);
  std::string plan = toy::manifest().dump();
  std::string image = toy::packSo(plan);
  std::string bundle =
      toy::packTdsx({{"cpu.x86-64-v2.so", "cpu", "x86-64-v2", image}});
  ASSERT_EQ(tryProgram(bundle, "as it is"), Result::Sound);
  for (size_t i = 0; i < 1500; ++i)
    tryProgram(mutate(bundle, 0, bundle.size()),
               "bundle mutation " + std::to_string(i));
  // The directory at the end, where the sizes are.
  size_t directory = bundle.rfind("PK\001\002");
  for (size_t i = 0; i < 1000; ++i)
    tryProgram(mutate(bundle, directory - 50, bundle.size()),
               "directory mutation " + std::to_string(i));
  // A sound zip around a damaged list.
  json list = {{"format", {{"major", 1}, {"minor", 0}}},
               {"container", "tdsx"},
               {"targets",
                {{{"file", "a.so"},
                  {"kind", "cpu"},
                  {"arch", "x86-64-v2"},
                  {"bytes", image.size()},
                  {"sha256", hexText(sha256(image))}}}}};
  std::string text = list.dump();
  for (size_t i = 0; i < 500; ++i)
    tryProgram(toy::zipOf({{"manifest.json", mutate(text, 0, text.size())},
                           {"a.so", image}}),
               "list mutation " + std::to_string(i));
  EXPECT_EQ(
      tryProgram(toy::zipOf({{"manifest.json", text}, {"a.so", image}}, false),
                 "compressed"),
      Result::Refused);
}

TEST(Hostile, StrangeFiles) {
  std::string random(100000, '\0');
  std::mt19937 engine(4);
  for (char &c : random)
    c = static_cast<char>(engine());
  std::vector<std::pair<const char *, std::string>> manifests = {
      {"empty", ""},
      {"brackets", std::string(100000, '[')},
      {"objects",
       [] {
         std::string text;
         for (int i = 0; i < 100000; ++i)
           text += "{\"a\":";
         return text;
       }()},
      {"random", random},
      {"ten megabytes", std::string(10 << 20, ' ')},
      {"long string", "\"" + std::string(10 << 20, 'x') + "\""},
      {"number", "1"},
      {"nothing", "null"},
      {"list", "[]"},
      {"half", toy::manifest().dump().substr(0, 1000)},
  };
  for (const auto &[name, text] : manifests) {
    EXPECT_EQ(tryProgram(toy::packSo(text), name), Result::Refused) << name;
    EXPECT_EQ(tryProgram(toy::packPtx(text), name), Result::Refused) << name;
    EXPECT_EQ(tryProgram(text, name), Result::Refused) << name;
    EXPECT_EQ(tryProgram(toy::zipOf({{"manifest.json", text}}), name),
              Result::Refused)
        << name;
  }
  for (const char *footer :
       {"// tds-manifest \n", "// tds-manifest 0 0 \n",
        "// tds-manifest -1 5 x\n",
        "// tds-manifest 99999999999999999999 1 x\n", "\n", "// tds-manifest",
        "// tds-manifest 1 2 3 4 5 6\n"})
    EXPECT_EQ(tryProgram(footer, footer), Result::Refused) << footer;
}

TEST(Hostile, NewerVersionsAreRefusedInWords) {
  for (const char *key : {"/format/major", "/kernel_abi"}) {
    json manifest = toy::manifest();
    manifest[json::json_pointer(key)] = 2;
    try {
      parseManifest(manifest.dump(), "new.so");
      FAIL();
    } catch (const Error &error) {
      EXPECT_EQ(error.status, TDS_UNSUPPORTED);
      EXPECT_NE(std::string(error.what()).find("install a newer tdsl runtime"),
                std::string::npos);
    }
  }
}

// Only what is donated of the inputs may be written, and nothing beside it.
TEST(Hostile, WritesToInputs) {
  auto parse = [](json donated, uint64_t offset, uint64_t stride) {
    json manifest = toy::manifest();
    json &train = manifest["/entries/1"_json_pointer];
    EXPECT_EQ(train["name"], "train");
    EXPECT_EQ(train["inputs"][0]["offset"], 0); // of 256 bytes
    if (!donated.is_null())
      train["inputs"][0]["donated"] = donated;
    json to = json::array({"input", 0, offset, 64, json::array({stride})});
    json fill = {{"op", "fill"}, {"to", to}, {"bytes", 64}, {"byte", 0}};
    train["commands"].push_back(
        {{"op", "loop"}, {"trips", 3}, {"commands", json::array({fill})}});
    parseManifest(manifest.dump(), "m");
  };
  EXPECT_NO_THROW(parse(true, 0, 0));
  EXPECT_NO_THROW(parse(true, 64, 64));
  for (const auto &[donated, offset, stride] : {std::tuple(json(), 0, 0),
                                                {json(false), 0, 0},
                                                {json(true), 256, 0},
                                                {json(true), 224, 0},
                                                {json(true), 80, 64},
                                                {json(1), 0, 0},
                                                {json("yes"), 0, 0}})
    EXPECT_THROW(parse(donated, offset, stride), Error)
        << donated << " " << offset << " " << stride;
}

TEST(Hostile, MutatedCheckpoints) {
  toy::TemporaryFolder folder;
  auto module = Module::load(Container::fromMemory(toy::program(), "toy.so"),
                             cpu(), 1, 0);
  std::string path = folder.path("c.safetensors");
  saveCheckpoint(*module, path, {3, 4, 5});
  std::string image = toy::readAll(path);
  restoreCheckpoint(*module, path);
  size_t header = image.find("}}");
  ASSERT_NE(header, std::string::npos);
  Mutator mutate(5);
  size_t refused = 0;
  for (size_t i = 0; i < 1500; ++i) {
    // Most of it in the header, where it matters.
    size_t end = i % 4 ? image.rfind("}") + 1 : image.size();
    std::string bytes = mutate(image, i % 4 == 1 ? 0 : 8, end);
    if (i % 5 == 0)
      bytes.resize(mutate.below(bytes.size() + 1));
    else if (i % 4 >= 2) { // A header length that fits again.
      size_t length = bytes.rfind("}") + 1 - 8;
      for (int b = 0; b < 8 && bytes.size() > 8; ++b)
        bytes[static_cast<size_t>(b)] = static_cast<char>(length >> (8 * b));
    }
    folder.write("m.safetensors", bytes);
    std::string what = "checkpoint mutation " + std::to_string(i);
    refused +=
        attempt(
            [&] { restoreCheckpoint(*module, folder.path("m.safetensors")); },
            what) == Result::Refused;
    attempt(
        [&] {
          initializeFrom(*module, folder.path("m.safetensors"), "", "net.*");
        },
        what);
  }
  EXPECT_GT(refused, 750u);
}

TEST(Hostile, MutatedData) {
  toy::TemporaryFolder folder;
  Manifest manifest = parseManifest(toy::manifest().dump(), "toy");
  const EntryPlan &train = *manifest.findEntry("train");
  std::vector<float> x, y;
  toy::linearData(40, x, y);
  std::string labels = toy::npy("<f4", {40}, toy::bytesOf(y));
  folder.write("y.npy", labels);
  std::string npy = toy::npy("<f4", {40, 4}, toy::bytesOf(x));
  std::string idx("\0\0\x0d\x02\0\0\0\x28\0\0\0\x04", 12);
  idx += toy::bytesOf(x);
  std::string npz = toy::zipOf({{"a.npy", npy}}, false);
  auto gzip = [](const std::string &bytes) {
    std::string out(bytes.size() + 1000, '\0');
    z_stream stream{};
    deflateInit2(&stream, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
    stream.next_in =
        reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef *>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
  };
  struct Case {
    const char *name;
    std::string bytes;
    size_t headerEnd;
  };
  Mutator mutate(6);
  for (const Case &c :
       {Case{"a.npy", npy, 128}, Case{"a.idx", idx, 12},
        Case{"a.npz", npz, npz.size()}, Case{"a.npy.gz", gzip(npy), 40},
        Case{"a.idx.gz", gzip(idx), 40}}) {
    auto load = [&](const std::string &bytes, const std::string &what) {
      folder.write(c.name, bytes);
      return attempt(
          [&] {
            Loader loader(
                train,
                "x=" + folder.path(c.name) + ",y=" + folder.path("y.npy"), {});
            uint64_t rows = 0;
            while (loader.next(&rows))
              ;
          },
          what);
    };
    ASSERT_EQ(load(c.bytes, c.name), Result::Sound) << c.name;
    for (size_t i = 0; i < 400; ++i) {
      std::string bytes =
          mutate(c.bytes, 0, i % 3 ? c.headerEnd : c.bytes.size());
      std::string what = std::string(c.name) + " mutation " + std::to_string(i);
      if (i % 2 && c.bytes.substr(0, 2) == "\x1f\x8b")
        bytes =
            gzip(mutate(c.name[2] == 'n' ? npy : idx, 0, 12)); // "re-signed"
      if (i % 7 == 0)
        bytes.resize(mutate.below(bytes.size() + 1));
      load(bytes, what);
    }
    // Every header byte to extremes.
    for (size_t at = 0; at < std::min<size_t>(c.headerEnd, 200); ++at)
      for (char value : {'\0', '\x7f', '\xff'}) {
        std::string bytes = c.bytes;
        bytes[at] = value;
        load(bytes, std::string(c.name) + " byte " + std::to_string(at));
      }
  }
}

// Shape and byte range are checked against each other, against the file and
// against the other tensors.
TEST(Hostile, SafetensorsRanges) {
  toy::TemporaryFolder folder;
  auto open = [&](const std::string &header, size_t dataBytes) {
    std::string bytes;
    for (unsigned i = 0; i < 8; ++i)
      bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
    folder.write("a.safetensors", bytes + header + std::string(dataBytes, 1));
    return attempt([&] { openDataSource(folder.path("a.safetensors:a")); },
                   header.c_str());
  };
  auto tensor = [](const char *name, const char *shape, const char *range) {
    return std::string("\"") + name +
           "\":{\"dtype\":\"F32\",\"shape\":" + shape +
           ",\"data_offsets\":" + range + "}";
  };
  EXPECT_EQ(open("{" + tensor("a", "[4]", "[0,16]") + "}", 16), Result::Sound);
  for (const std::string &tensors :
       {tensor("a", "[1000,1000]", "[0,4]"),
        tensor("a", "[4]", "[0,16]") + "," + tensor("b", "[4]", "[0,16]"),
        tensor("a", "[4]", "[0,16]") + "," + tensor("b", "[1]", "[12,16]"),
        tensor("a", "[4]", "[16,0]"), tensor("a", "[5]", "[0,20]"),
        tensor("a", "[4]", "[4,20]"),
        tensor("a", "[4294967296,4294967296]", "[0,0]"),
        tensor("a", "[4294967296,4294967296]", "[0,16]"),
        tensor("a", "[4611686018427387904]", "[0,0]"),
        tensor("a", "[-4]", "[0,16]"),
        tensor("a", "[4]", "[0,18446744073709551616]")})
    EXPECT_EQ(open("{" + tensors + "}", 16), Result::Refused) << tensors;
}

TEST(Hostile, HeadersThatPromiseTooMuch) {
  toy::TemporaryFolder folder;
  auto open = [&](const char *name, const std::string &bytes) {
    folder.write(name, bytes);
    return attempt([&] { openDataSource(folder.path(name)); }, name);
  };
  EXPECT_EQ(open("a.npy", toy::npy("<f4", {int64_t(1) << 60}, "")),
            Result::Refused);
  EXPECT_EQ(
      open("a.npy", toy::npy("<f4", {int64_t(1) << 40, int64_t(1) << 40}, "")),
      Result::Refused);
  EXPECT_EQ(open("a.idx", std::string("\0\0\x08\x03\xff\xff\xff\xff\xff\xff\xff"
                                      "\xff\xff\xff\xff\xff",
                                      16)),
            Result::Refused);
  std::string huge("\xff\xff\xff\xff\xff\xff\xff\x7f", 8);
  EXPECT_EQ(open("a.safetensors", huge + "{}"), Result::Refused);
  EXPECT_EQ(open("a.txt", ""), Result::Sound);
  EXPECT_EQ(open("a.unknown", "hello"), Result::Refused);
  EXPECT_EQ(open("a.npz", "PK\003\004"), Result::Refused);
  EXPECT_EQ(attempt([&] { openDataSource(folder.path("none.npy")); }, "none"),
            Result::Refused);
  EXPECT_EQ(attempt([&] { openDataSource("/dev/zero"); }, "device"),
            Result::Refused);
  EXPECT_EQ(attempt([&] { openDataSource(folder.path("")); }, "folder"),
            Result::Refused);
}

} // namespace
