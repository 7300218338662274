//===- EmbedTest.cpp - the runtime from an install tree -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Installs the runtime into a fresh folder, builds the embedding examples with
// find_package(tdsl) there, and runs them on the tests' program.
//
//===----------------------------------------------------------------------===//

#include "ToyProgram.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace {

class Embed : public testing::Test {
protected:
  void SetUp() override {
    for (const char *name : {"CXXFLAGS", "CFLAGS", "LDFLAGS"})
      unsetenv(name);
#ifdef TDS_SANITIZED
    GTEST_SKIP() << "the examples are built without sanitizers, which a "
                    "sanitized library needs";
#endif
    run(TDS_CMAKE " --install " TDS_BUILD
                  " --component tdsl-runtime --prefix " +
        folder.path("prefix"));
    folder.write("toy.so", toy::program());
  }

  void run(const std::string &command) {
    std::string log = folder.path("log.txt");
    int status = std::system(("( " + command + " ) >" + log + " 2>&1").c_str());
    ASSERT_EQ(status, 0) << command << "\n" << toy::readAll(log);
  }

  void buildAndRun(const std::string &name) {
    std::string build = folder.path(name);
    run(TDS_CMAKE " -S " TDS_EXAMPLES "/" + name + " -B " + build +
        " -DCMAKE_PREFIX_PATH=" + folder.path("prefix") +
        " -DCMAKE_C_COMPILER=" TDS_CC " -DCMAKE_CXX_COMPILER=" TDS_CXX);
    run(TDS_CMAKE " --build " + build);
    run("cd " + build + " && ./" + name + " " + folder.path("toy.so"));
    std::string text = toy::readAll(folder.path("log.txt"));
    EXPECT_NE(text.find("net.w = "), std::string::npos) << text;
    EXPECT_GT(toy::readAll(build + "/" + name + ".safetensors").size(), 100u);
    // A bad file is a sentence and exit 1.
    int status = std::system(
        ("cd " + build + " && ./" + name + " CMakeCache.txt 2>err.txt")
            .c_str());
    EXPECT_EQ(WEXITSTATUS(status), 1);
    EXPECT_NE(toy::readAll(build + "/err.txt").find("no tds-manifest line"),
              std::string::npos);
  }

  toy::TemporaryFolder folder;
};

TEST_F(Embed, InCpp) { buildAndRun("embed-cpp"); }
TEST_F(Embed, InC) { buildAndRun("embed-c"); }

TEST_F(Embed, NeedsNoCompilerLibraries) {
  run("ldd " + folder.path("prefix") + "/lib*/libtds_runtime.so || ldd " +
      folder.path("prefix") + "/lib/*/libtds_runtime.so");
  std::string libraries = toy::readAll(folder.path("log.txt"));
  EXPECT_NE(libraries.find("libzip"), std::string::npos) << libraries;
  for (const char *name : {"LLVM", "MLIR", "cuda", "mpi", "nccl"})
    EXPECT_EQ(libraries.find(name), std::string::npos) << libraries;
  // Only the C interface is exported.
  run("nm -D --defined-only " TDS_BUILD
      "/lib/libtds_runtime.so | awk '{print $3}'");
  std::string symbols = toy::readAll(folder.path("log.txt"));
  EXPECT_NE(symbols.find("tds_module_load\n"), std::string::npos);
  EXPECT_EQ(symbols.find("tdsrt"), std::string::npos) << symbols;
}

} // namespace
