//===- FaultTest.cpp - classes of faults of tensor compilers -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs that tensor compilers are known to get wrong, with the right answers
// (Inputs/faults). Every program runs on every path in two forms, with its
// inputs at run time and as constants, fused and unfused, and all of them give
// the same bits. Of constants nothing is left to compute.
//
//===----------------------------------------------------------------------===//

#include "FaultCases.h"

#include "llvm/ADT/StringRef.h"

#include <set>

using namespace tdsl;
using namespace tdsl::test;

/// Entries of a plan that launch a kernel.
static std::set<std::string> findLaunchingEntries(llvm::StringRef plan) {
  std::set<std::string> entries;
  std::string entry;
  llvm::SmallVector<llvm::StringRef> lines;
  plan.split(lines, '\n');
  for (llvm::StringRef line : lines) {
    line = line.trim();
    if (line.consume_front("plan.entry @"))
      entry = line.take_until([](char c) { return c == ' '; }).str();
    if (line.starts_with("plan.launch"))
      entries.insert(entry);
  }
  return entries;
}

static void checkFile(const std::string &name, const std::string &flags,
                      bool cpu = true, const std::string &ptxFlags = {}) {
  FaultFile file =
      readFaultFile("test/Unit/EndToEnd/Inputs/faults/" + name + ".tds");
  ASSERT_FALSE(file.cases.empty());
  std::string text = withConstantForms(file);
  auto paths = compileProgram(text, {flags, ptxFlags, cpu});
  ASSERT_GE(paths.size(), 2u);
  std::set<std::string> launching =
      findLaunchingEntries(emitStage(text, "plan", flags));
  for (const FaultCase &entry : file.cases) {
    SCOPED_TRACE(entry.name);
    Named expected = paths.front()->call(entry.name, entry.given);
    // The runtime reads the flags of guarded gathers itself.
    expected.erase("tds.flags");
    EXPECT_EQ(expected.size(), entry.answers.size());
    for (auto &[result, answer] : entry.answers) {
      ASSERT_TRUE(expected.count(result)) << result;
      EXPECT_TRUE(isAnswer(expected.at(result), answer)) << result;
    }
    auto check = [&](Path &path, const std::string &called,
                     const Named &inputs) {
      SCOPED_TRACE(path.name() + ", " + called);
      Named results = path.call(called, inputs);
      for (auto &[result, tensor] : expected)
        EXPECT_TRUE(areSame(results[result], tensor, entry.paths)) << result;
    };
    for (auto &path : paths) {
      if (path != paths.front())
        check(*path, entry.name, entry.given);
      if (entry.hasConstantForm)
        check(*path, "constant_" + entry.name, {});
    }
    if (entry.hasConstantForm)
      EXPECT_EQ(launching.count("constant_" + entry.name),
                entry.folds ? 0u : 1u)
          << "kernels left of constants";
  }
}

class Faults : public ::testing::TestWithParam<const char *> {};
TEST_P(Faults, Fused) { checkFile(GetParam(), ""); }
TEST_P(Faults, Unfused) { checkFile(GetParam(), "--fusion=off"); }

INSTANTIATE_TEST_SUITE_P(, Faults,
                         ::testing::Values("arithmetic", "conversions", "folds",
                                           "slices", "functions", "gradients",
                                           "reductions"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Older code does without instructions that newer code has, as max with NaN.
TEST(FaultArchitectures, SameBits) {
  for (const char *flags : {"--arch=sm_75", "--arch=sm_90a"}) {
    SCOPED_TRACE(flags);
    for (const char *name : {"reductions", "conversions"})
      checkFile(name, {}, /*cpu=*/false, flags);
  }
}
