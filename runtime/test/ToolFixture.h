//===- ToolFixture.h - runs tds-run on the tests' program -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDS_TEST_TOOLFIXTURE_H
#define TDS_TEST_TOOLFIXTURE_H

#include "ToyProgram.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tool {

struct Outcome {
  int code = -1; ///< exit code, or -signal
  std::string text;
  long maxKilobytes = 0;
};

/// Starts tds-run with both outputs in one file.
inline pid_t start(const std::vector<std::string> &arguments,
                   const std::string &output) {
  pid_t child = fork();
  if (child != 0)
    return child;
  int file = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  dup2(file, STDOUT_FILENO);
  dup2(file, STDERR_FILENO);
  std::vector<char *> argv;
  std::string program = TDS_RUN;
  argv.push_back(program.data());
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  execv(TDS_RUN, argv.data());
  _exit(127);
}

inline Outcome finish(pid_t child, const std::string &output) {
  Outcome outcome;
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  outcome.text = toy::readAll(output);
  outcome.maxKilobytes = usage.ru_maxrss;
  return outcome;
}

class Tool : public testing::Test {
protected:
  void SetUp() override {
    artifact = folder.write("toy.so", toy::program());
    std::vector<float> x, y;
    toy::linearData(1000, x, y);
    folder.write("x.npy",
                 toy::npy("<f4", {1000, toy::features}, toy::bytesOf(x)));
    folder.write("y.npy", toy::npy("<f4", {1000}, toy::bytesOf(y)));
    data = "x=" + folder.path("x.npy") + ",y=" + folder.path("y.npy");
  }

  Outcome run(const std::vector<std::string> &arguments) {
    std::string output = folder.path("output.txt");
    return finish(start(arguments, output), output);
  }

  std::vector<std::string> training(const std::string &checkpoint,
                                    std::vector<std::string> more = {}) {
    std::vector<std::string> all = {
        "train",    artifact, "--data",       data,
        "--epochs", "3",      "--checkpoint", folder.path(checkpoint),
        "--seed",   "5"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  toy::TemporaryFolder folder;
  std::string artifact, data;
};

} // namespace tool

#endif // TDS_TEST_TOOLFIXTURE_H
