//===- PlantedBugsTest.cpp - the checks find planted bugs -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Testing/PlantedBugs.h"
#include "tdsl/Testing/ProgramCheck.h"
#include "tdsl/Testing/RandomProgram.h"

#include "gtest/gtest.h"

using namespace tdsl::testing;

/// The check that finds the bug; the others are left out for speed.
static CheckOptions getOptions(PlantedBug bug) {
  CheckOptions options;
  options.gradients = options.folding = options.fusion = options.cpu = false;
  switch (bug) {
  case PlantedBug::FoldOffByOneUlp:
    options.folding = true;
    break;
  case PlantedBug::MaxTie:
  case PlantedBug::WindowGuard:
    options.gradients = true;
    break;
  case PlantedBug::InPlaceReuse:
    options.cpu = true;
    break;
  default:
    options.fusion = true;
  }
  return options;
}

class PlantedBugs : public ::testing::TestWithParam<PlantedBug> {};

TEST_P(PlantedBugs, IsFoundWithinAThousandPrograms) {
  CheckOptions options = getOptions(GetParam());
  ProgramChecker checker;
  uint64_t seed = 1;
  for (;; ++seed) {
    ASSERT_LE(seed, 1000u) << "not found";
    options.seed = seed;
    options.bug = GetParam();
    std::string text = makeRandomProgram(seed).text;
    if (checker.check(text, options).failures.empty())
      continue;
    // It is the bug that is found, not another one.
    options.bug = PlantedBug::None;
    CheckReport report = checker.check(text, options);
    EXPECT_TRUE(report.failures.empty())
        << "seed " << seed
        << " fails without the bug: " << report.failures.front().message;
    break;
  }
  RecordProperty("programs", static_cast<int>(seed));
  std::printf("%s: found in program %d\n", getName(GetParam()).str().c_str(),
              static_cast<int>(seed));
}

static std::string nameBug(const ::testing::TestParamInfo<PlantedBug> &info) {
  std::string name = getName(info.param).str();
  for (char &c : name)
    c = c == '-' ? '_' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, PlantedBugs,
                         ::testing::ValuesIn(std::vector<PlantedBug>(
                             getPlantedBugs().begin(), getPlantedBugs().end())),
                         nameBug);
