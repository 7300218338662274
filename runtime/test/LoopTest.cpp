//===- LoopTest.cpp - loops of commands -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ToyProgram.h"
#include "core/Error.h"
#include "core/Manifest.h"

#include <gtest/gtest.h>

using namespace tdsrt;
using nlohmann::json;

namespace {

/// An operand that moves.
json moving(const char *space, int64_t offset, int64_t bytes,
            std::vector<int64_t> strides) {
  return json::array({space, 0, offset, bytes, strides});
}

json copyCommand(json to, json from, int64_t bytes) {
  return {{"op", "copy"}, {"to", to}, {"from", from}, {"bytes", bytes}};
}

template <typename... Commands> json list(const Commands &...commands) {
  json out = json::array();
  (out.push_back(commands), ...);
  return out;
}

json loop(int64_t trips, json commands, bool reverse = false) {
  json out = {{"op", "loop"}, {"trips", trips}, {"commands", commands}};
  if (reverse)
    out["reverse"] = true;
  return out;
}

/// The toy program whose entry `fill` (8000 bytes of arena and result) ends in
/// `command` instead of its copy.
json with(json command) {
  json manifest = toy::manifest();
  manifest["entries"][5]["commands"][1] = command;
  return manifest;
}

/// What is wrong with it, or nothing.
std::string complaint(json command) {
  try {
    parseManifest(with(command).dump(), "toy");
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

void expectRefused(json command, const std::string &part) {
  std::string text = complaint(command);
  EXPECT_NE(text.find(part), std::string::npos)
      << command.dump() << "\n  " << text;
}

TEST(Loops, AreRead) {
  json inner =
      loop(5, list(copyCommand(moving("result", 0, 160, {800, 160}),
                               moving("arena", 0, 160, {800, 160}), 160)));
  Manifest manifest =
      parseManifest(with(loop(10, list(inner), true)).dump(), "toy");
  const Command &command = manifest.entries[5].commands[1];
  EXPECT_EQ(command.op, Command::Op::Loop);
  EXPECT_EQ(command.trips, 10u);
  EXPECT_TRUE(command.reverse);
  ASSERT_EQ(command.body.size(), 1u);
  EXPECT_FALSE(command.body[0].reverse);
  ASSERT_EQ(command.body[0].body.size(), 1u);
  EXPECT_EQ(command.body[0].body[0].to.strides,
            (std::vector<uint64_t>{800, 160}));
  EXPECT_EQ(countCommands(manifest.entries[5].commands, true), 1u);
  EXPECT_EQ(countCommands(manifest.entries[5].commands, false), 50u);
}

TEST(Loops, IterationsRunInTheirDirection) {
  Iterations iterations;
  std::vector<uint64_t> seen;
  iterations.forEach(2, false, [&] {
    iterations.forEach(3, true, [&] {
      seen.push_back(iterations.offsetOf({100, 1}));
      EXPECT_EQ(iterations.valueOf({0, 0}), int64_t(seen.back() / 100));
      EXPECT_EQ(iterations.valueOf({7, -1}), 7);
    });
  });
  EXPECT_EQ(seen, (std::vector<uint64_t>{2, 1, 0, 102, 101, 100}));
}

TEST(Loops, RangesStayInsideInEveryIteration) {
  auto one = [](std::vector<int64_t> to, int64_t trips) {
    return loop(trips, list(copyCommand(moving("result", 0, 800, to),
                                        moving("arena", 0, 800, {0}), 800)));
  };
  EXPECT_EQ(complaint(one({800}, 10)), "");
  EXPECT_EQ(complaint(one({800}, 0)), "");
  expectRefused(one({800}, 11), "past the end of the result");
  expectRefused(one({int64_t(1) << 50}, 3), "past the end of the result");
  expectRefused(one({800, 0}, 10), "2 strides, but the command stands in 1");
  expectRefused(one({800}, -1), "trips");
  expectRefused(one({800}, int64_t(1) << 31), "trips");
  expectRefused(copyCommand(moving("result", 0, 800, {0}),
                            moving("arena", 0, 800, {}), 800),
                "1 strides, but the command stands in 0");
}

TEST(Loops, CopiesDoNotOverlapInPart) {
  expectRefused(
      loop(10, list(copyCommand(moving("arena", 0, 800, {400}),
                                moving("arena", 800, 800, {0}), 800))),
      "overlap in part");
  EXPECT_EQ(complaint(loop(
                5, list(copyCommand(moving("arena", 0, 800, {800}),
                                    moving("arena", 4000, 800, {800}), 800)))),
            "");
}

TEST(Loops, AreBounded) {
  json deep = loop(1, list(copyCommand(moving("result", 0, 8, {}),
                                       moving("arena", 0, 8, {}), 8)));
  for (int depth = 1; depth < 8; ++depth)
    deep = loop(1, list(deep));
  EXPECT_EQ(complaint(deep), "");
  expectRefused(loop(1, list(deep)), "nested deeper than 8");
  json many = loop(1 << 30, json::array());
  expectRefused(loop(1 << 30, list(many)), "more than 2^40 iterations");
  json wrong = loop(3, json::array());
  wrong["reverse"] = 1;
  expectRefused(wrong, "is not true or false");
  wrong["op"] = "jump";
  expectRefused(wrong, "which is not launch, copy, fill or loop");
}

TEST(Loops, SizesNameLoopsAroundThem) {
  // toy_gather takes one size.
  json launch = toy::manifest()["entries"][4]["commands"][1];
  json manifest = toy::manifest();
  auto attempt = [&](json command) -> std::string {
    manifest["entries"][4]["commands"][1] = command;
    try {
      parseManifest(manifest.dump(), "toy");
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  };
  launch["sizes"][0] = json{{"loop", 0}};
  EXPECT_EQ(attempt(loop(2, list(launch))), "");
  EXPECT_NE(attempt(launch).find("stands in none"), std::string::npos);
  launch["sizes"][0] = json{{"loop", 1}};
  EXPECT_NE(attempt(loop(2, list(launch))), "");
  launch["sizes"][0] = 8;
  launch["args"][0] = moving("const", 0, 16, {8});
  EXPECT_NE(attempt(loop(2, list(launch))).find("not a multiple of 16"),
            std::string::npos);
}

} // namespace
