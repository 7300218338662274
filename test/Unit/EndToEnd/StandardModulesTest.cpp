//===- StandardModulesTest.cpp - every name of the standard modules -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each function, layer, optimiser and schedule has vectors from PyTorch, and
// `tdslc check --grad` passes on one of its programs. The list is printed.
//
//===----------------------------------------------------------------------===//

#include "CompiledProgram.h"

#include "llvm/Support/JSON.h"

#include <fstream>
#include <iostream>
#include <regex>
#include <set>

using namespace tdsl;
using namespace tdsl::test;

/// The names that a standard module declares.
static std::vector<std::string> getDeclared(const std::string &module) {
  std::string text = readSource("lib/Std/" + module + ".tds");
  std::vector<std::string> names;
  std::regex declaration("(^|\n)(fn|module|optimizer) (\\w+)");
  for (std::sregex_iterator it(text.begin(), text.end(), declaration), end;
       it != end; ++it)
    names.push_back((*it)[3]);
  return names;
}

/// The first program among the vectors for each name that one uses.
static std::map<std::string, std::string> findPrograms() {
  std::map<std::string, std::string> programs;
  auto parsed = llvm::json::parse(
      readSource("test/Unit/EndToEnd/Inputs/torch_vectors.json"));
  if (!parsed) {
    ADD_FAILURE() << llvm::toString(parsed.takeError());
    return programs;
  }
  std::regex use("\\b(nn|optim)\\.(\\w+)\\(");
  for (const llvm::json::Value &entry :
       *parsed->getAsObject()->getArray("cases")) {
    std::string text = entry.getAsObject()->getString("program")->str();
    std::set<std::string> used;
    for (std::sregex_iterator it(text.begin(), text.end(), use), end; it != end;
         ++it)
      used.insert((*it)[1].str() + "." + (*it)[2].str());
    for (const std::string &name : used)
      programs.insert({name, text});
  }
  return programs;
}

TEST(StandardModules, EveryNameHasVectorsAndCheckedGradients) {
  std::map<std::string, std::string> programs = findPrograms();
  unsigned listed = 0;
  std::string file =
      ::testing::TempDir() + "/tdsl-std-" + std::to_string(::getpid()) + ".tds";
  for (const char *module : {"nn", "optim"}) {
    for (const std::string &declared : getDeclared(module)) {
      std::string name = std::string(module) + "." + declared;
      auto found = programs.find(name);
      if (found == programs.end()) {
        ADD_FAILURE() << name << " has no vectors; add it to make_vectors.py";
        continue;
      }
      ++listed;
      // A schedule is no function of a float.
      if (found->second.find("grad(") == std::string::npos &&
          found->second.find("minimize") == std::string::npos) {
        std::cout << name << ": no derivative\n";
        continue;
      }
      std::ofstream(file) << found->second;
      auto [code, errors] =
          runTdslc("check --grad " + file + " > " + file + ".out");
      std::cout << name << ": " << (code == 0 ? "ok" : "WRONG") << "\n";
      std::ifstream out(file + ".out");
      EXPECT_EQ(code, 0) << errors << found->second
                         << std::string(std::istreambuf_iterator<char>(out),
                                        {});
    }
  }
  std::remove(file.c_str());
  std::remove((file + ".out").c_str());
  EXPECT_GE(listed, 59u);
}
