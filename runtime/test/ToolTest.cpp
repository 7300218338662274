//===- ToolTest.cpp - tds-run, end to end -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ToolFixture.h"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <sys/statvfs.h>
#include <thread>
#include <unistd.h>

using namespace tool;

namespace {

TEST_F(Tool, TrainsEvaluatesAndPredicts) {
  Outcome train = run(training(
      "a.safetensors", {"--epochs", "20", "--metrics", folder.path("m.jsonl"),
                        "--plot", folder.path("loss.svg"), "--eval-entry",
                        "evaluate", "--eval-data", data, "--set", "lr=0.1"}));
  ASSERT_EQ(train.code, 0) << train.text;
  EXPECT_NE(train.text.find("device: "), std::string::npos);
  EXPECT_NE(train.text.find("leaves out 8 of 1000 rows"), std::string::npos);
  EXPECT_NE(train.text.find("epoch 20/20: loss"), std::string::npos)
      << train.text;
  EXPECT_NE(train.text.find("evaluate count 1000"), std::string::npos);
  EXPECT_NE(train.text.find("trained 1,240 steps"), std::string::npos);
  EXPECT_EQ(toy::readAll(folder.path("loss.svg")).substr(0, 4), "<svg");

  std::ifstream metrics(folder.path("m.jsonl"));
  size_t steps = 0, evaluations = 0;
  for (std::string line; std::getline(metrics, line);) {
    nlohmann::json object = nlohmann::json::parse(line);
    steps += object.contains("loss");
    evaluations += object.contains("eval");
  }
  EXPECT_EQ(steps, 1240u);
  EXPECT_EQ(evaluations, 20u);

  Outcome eval = run({"eval", artifact, "--checkpoint",
                      folder.path("a.safetensors"), "--data", data});
  ASSERT_EQ(eval.code, 0) << eval.text;
  EXPECT_NE(eval.text.find("\ncount: 1000\n"), std::string::npos) << eval.text;
  size_t at = eval.text.find("mse: ");
  ASSERT_NE(at, std::string::npos);
  EXPECT_LT(std::stod(eval.text.substr(at + 5)), 1e-4);

  Outcome predict =
      run({"predict", artifact, "--checkpoint", folder.path("a.safetensors"),
           "--data", "x=" + folder.path("x.npy"), "-o", folder.path("p.npy")});
  ASSERT_EQ(predict.code, 0) << predict.text;
  std::string bytes = toy::readAll(folder.path("p.npy"));
  EXPECT_NE(bytes.find("'shape': (1000,)"), std::string::npos);
  std::vector<float> x, y;
  toy::linearData(1000, x, y);
  ASSERT_EQ(bytes.size(), 128u + 4000);
  float last;
  std::memcpy(&last, &bytes[128 + 4 * 999], 4);
  EXPECT_NEAR(last, y[999], 0.05);

  predict = run({"predict", artifact, "--data", "x=" + folder.path("x.npy"),
                 "-o", folder.path("p.npz")});
  EXPECT_EQ(predict.code, 0) << predict.text;
  predict = run({"predict", artifact, "--entry", "predict", "--data",
                 "x=" + folder.path("p.npz"), "-o", folder.path("q.npy")});
  EXPECT_EQ(predict.code, 1);
  EXPECT_NE(predict.text.find("but " + folder.path("p.npz")), std::string::npos)
      << predict.text;
}

TEST_F(Tool, SaysWhatAnArtifactHolds) {
  Outcome info = run({"info", artifact});
  ASSERT_EQ(info.code, 0) << info.text;
  for (const char *words :
       {"an x86-64 processor of level x86-64-v2", "entry     train (step",
        "takes   lr: f32, default 0.05", "variable  net.w: f32[4] (param)",
        "in the largest entry"})
    EXPECT_NE(info.text.find(words), std::string::npos) << info.text;
  EXPECT_EQ(run({"devices"}).code, 0);
}

TEST_F(Tool, ExitCodes) {
  EXPECT_EQ(run({}).code, 2);
  EXPECT_EQ(run({"--help"}).code, 0);
  EXPECT_EQ(run({"train"}).code, 2);
  EXPECT_EQ(run({"train", artifact, "--nonsense"}).code, 2);
  EXPECT_EQ(run({"train", artifact, "--entry", "predict", "--data",
                 "x=" + folder.path("x.npy")})
                .code,
            2);
  Outcome missing =
      run({"train", artifact, "--data", "x=" + folder.path("x.npy")});
  EXPECT_EQ(missing.code, 2);
  EXPECT_NE(missing.text.find("input 'y' of entry 'train' has no value"),
            std::string::npos)
      << missing.text;
  EXPECT_EQ(run({"train", artifact, "--data", data, "--set", "lr=fast"}).code,
            2);
  EXPECT_EQ(run({"train", artifact, "--data", data, "--set", "lrr=1",
                 "--eval-entry", "evaluate", "--eval-data", data})
                .code,
            2);
  EXPECT_EQ(run({"info", folder.path("none.so")}).code, 1);
  EXPECT_EQ(run({"info", folder.path("x.npy")}).code, 1);
  Outcome device =
      run({"train", artifact, "--data", data, "--device", "cuda:99"});
  EXPECT_EQ(device.code, 1);
  EXPECT_NE(device.text.find("cuda:99 is unavailable"), std::string::npos)
      << device.text;
}

TEST_F(Tool, EvaluationNeedsWeightWhereRowsRemain) {
  // `train` has no weight and its loss no data axis.
  Outcome eval = run({"eval", artifact, "--entry", "train", "--data", data});
  EXPECT_EQ(eval.code, 1);
  EXPECT_NE(eval.text.find("weight: f32[16]"), std::string::npos) << eval.text;
}

TEST_F(Tool, SameSeedSameFile) {
  ASSERT_EQ(run(training("a.safetensors")).code, 0);
  ASSERT_EQ(run(training("b.safetensors")).code, 0);
  ASSERT_EQ(run(training("c.safetensors", {"--threads", "3"})).code, 0);
  ASSERT_EQ(run(training("d.safetensors", {"--seed", "6"})).code, 0);
  std::string a = toy::readAll(folder.path("a.safetensors"));
  EXPECT_EQ(a, toy::readAll(folder.path("b.safetensors")));
  EXPECT_EQ(a, toy::readAll(folder.path("c.safetensors")));
  EXPECT_NE(a, toy::readAll(folder.path("d.safetensors")));
}

TEST_F(Tool, ResumedRunEndsInTheSameBits) {
  ASSERT_EQ(run(training("whole.safetensors")).code, 0);
  std::string whole = toy::readAll(folder.path("whole.safetensors"));

  // In pieces that end anywhere in an epoch, with other thread counts.
  std::string piece = "pieces.safetensors";
  for (const char *steps : {"1", "40", "62", "63", "124", "150"})
    ASSERT_EQ(run(training(piece, {"--steps", steps, "--resume", "--threads",
                                   steps[0] == '6' ? "1" : "3"}))
                  .code,
              0);
  Outcome last = run(training(piece, {"--resume"}));
  ASSERT_EQ(last.code, 0) << last.text;
  EXPECT_NE(last.text.find("resumed from"), std::string::npos);
  EXPECT_EQ(whole, toy::readAll(folder.path(piece)));

  // A run that is done stays as it is.
  last = run(training(piece, {"--resume"}));
  EXPECT_NE(last.text.find("nothing to do"), std::string::npos) << last.text;
  EXPECT_EQ(whole, toy::readAll(folder.path(piece)));
}

/// Ends runs with a signal at random moments until one comes to its end.
void interruptRepeatedly(const std::function<pid_t()> &startRun,
                         const std::string &output, int signal, int allowedCode,
                         bool &sawInterrupt) {
  unsigned state = 1;
  for (int attempt = 0; attempt < 500; ++attempt) {
    pid_t child = startRun();
    state = state * 1664525u + 1013904223u;
    std::this_thread::sleep_for(
        std::chrono::milliseconds(30 + (state >> 16) % 120 + attempt));
    kill(child, signal);
    Outcome outcome = finish(child, output);
    if (outcome.code == 0)
      return;
    // Before its handler is installed, SIGINT ends the tool as usual.
    ASSERT_TRUE(outcome.code == allowedCode || outcome.code == -signal)
        << outcome.code << outcome.text;
    sawInterrupt = true;
  }
  FAIL() << "no run came to its end";
}

TEST_F(Tool, KilledRunsResumeToTheSameBits) {
  std::vector<std::string> long_ = {"--epochs", "120"};
  ASSERT_EQ(run(training("whole.safetensors", long_)).code, 0);
  std::string whole = toy::readAll(folder.path("whole.safetensors"));
  struct Case {
    int signal, code;
    const char *name;
  };
  for (Case c : {Case{SIGKILL, -SIGKILL, "kill.safetensors"},
                 Case{SIGINT, 130, "int.safetensors"}}) {
    int attempt = 0;
    bool sawInterrupt = false;
    std::string output = folder.path("output.txt");
    interruptRepeatedly(
        [&] {
          return start(
              training(c.name,
                       {"--epochs", "120", "--resume", "--checkpoint-every",
                        "61", "--threads", attempt++ % 2 ? "1" : "2"}),
              output);
        },
        output, c.signal, c.code, sawInterrupt);
    EXPECT_TRUE(sawInterrupt);
    EXPECT_EQ(whole, toy::readAll(folder.path(c.name))) << c.name;
  }
}

TEST_F(Tool, InterruptSaysWhatItDid) {
  std::string output = folder.path("output.txt");
  pid_t child =
      start(training("i.safetensors", {"--epochs", "1000000"}), output);
  // Wait until it has saved once, so that the handler is surely there.
  for (int i = 0; i < 500; ++i) {
    if (access(folder.path("i.safetensors").c_str(), F_OK) == 0)
      break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  kill(child, SIGINT);
  Outcome outcome = finish(child, output);
  EXPECT_EQ(outcome.code, 130);
  EXPECT_NE(outcome.text.find("interrupted at step"), std::string::npos)
      << outcome.text;
  EXPECT_NE(outcome.text.find("go on with --resume"), std::string::npos);
}

TEST_F(Tool, MetricsGoOnWhereARunWasResumed) {
  std::string metrics = folder.path("m.jsonl");
  ASSERT_EQ(
      run(training("a.safetensors", {"--steps", "100", "--metrics", metrics}))
          .code,
      0);
  // As if the run had gone further before it was killed.
  std::string text = toy::readAll(metrics);
  toy::writeAll(metrics, text + "{\"step\": 101, \"epoch\": 1, \"loss\": 0");
  ASSERT_EQ(
      run(training("a.safetensors", {"--metrics", metrics, "--resume"})).code,
      0);
  std::ifstream file(metrics);
  int64_t expected = 0;
  for (std::string line; std::getline(file, line);)
    EXPECT_EQ(nlohmann::json::parse(line)["step"], ++expected);
  EXPECT_EQ(expected, 186);
}

TEST_F(Tool, TakesWeightsFromAnotherFile) {
  ASSERT_EQ(run(training("a.safetensors")).code, 0);
  Outcome outcome =
      run({"train", artifact, "--data", data, "--steps", "1", "--set", "lr=0",
           "--init-from", folder.path("a.safetensors"), "--checkpoint",
           folder.path("b.safetensors")});
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("2 variables taken"), std::string::npos)
      << outcome.text;
  EXPECT_NE(outcome.text.find("keys are not used"), std::string::npos);
}

/// Six gigabytes of zeros that take no room on the disk.
TEST_F(Tool, StreamsMoreThanMemoryHolds) {
  struct statvfs space{};
  ASSERT_EQ(statvfs("/tmp", &space), 0);
  if (space.f_bavail * space.f_frsize < (uint64_t(64) << 20))
    GTEST_SKIP() << "too little room in /tmp";
  constexpr int64_t rows = int64_t(6) << 26; // of 16 bytes: 6 GiB
  std::string header = toy::npy("<f4", {rows, toy::features}, "");
  std::string path = folder.write("big.npy", header);
  if (truncate(path.c_str(), static_cast<off_t>(header.size()) + rows * 16) !=
      0)
    GTEST_SKIP() << "the file system has no files of 6 GiB: "
                 << strerror(errno);
  std::string headerY = toy::npy("<f4", {rows}, "");
  std::string pathY = folder.write("bigy.npy", headerY);
  ASSERT_EQ(
      truncate(pathY.c_str(), static_cast<off_t>(headerY.size()) + rows * 4),
      0);
  Outcome outcome = run({"train", artifact, "--data",
                         "x=" + path + ",y=" + pathY, "--steps", "20000"});
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_LT(outcome.maxKilobytes, 1 << 20);
}

TEST_F(Tool, WatchesTheGpus) {
  setenv("TDS_NVML", FAKE_NVML, 1);
  Outcome watched =
      run({"devices", "--watch", "--every", "0.02", "--count", "2"});
  EXPECT_EQ(watched.code, 0) << watched.text;
  std::istringstream lines(watched.text);
  std::string line;
  std::vector<std::string> seen;
  while (std::getline(lines, line))
    seen.push_back(line);
  ASSERT_EQ(seen.size(), 5u) << watched.text; // a heading, twice two GPUs
  EXPECT_EQ(seen[1], seen[3]);
  EXPECT_EQ(seen[2],
            "1   Test GPU 1                   00000000:65:00.0     75 %   20 % "
            "   3.00 of 8.00 GiB   54 C        -");
  setenv("TDS_NVML", "/no/such/library.so", 1);
  Outcome none = run({"devices", "--watch"});
  unsetenv("TDS_NVML");
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.text.find("error: there are no readings: no NVML"),
            std::string::npos)
      << none.text;
  EXPECT_EQ(run({"devices", "--count", "2"}).code, 2);
}

TEST_F(Tool, PrintsAProfileAndWritesATrace) {
  Outcome outcome = run(training("p.safetensors", {"--profile"}));
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("kernel                               source"),
            std::string::npos)
      << outcome.text;
  EXPECT_NE(outcome.text.find("\nmomentum "), std::string::npos);
  EXPECT_NE(outcome.text.find("\nall kernels "), std::string::npos);
  EXPECT_NE(outcome.text.find("100.0 %"), std::string::npos);
  EXPECT_NE(outcome.text.find("GB/s, "), std::string::npos);

  std::string trace = folder.path("trace.json");
  outcome = run({"eval", artifact, "--data", data, "--trace", trace});
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  auto json = nlohmann::json::parse(toy::readAll(trace));
  EXPECT_GT(json["traceEvents"].size(), 100u);
  EXPECT_NE(outcome.text.find("ui.perfetto.dev"), std::string::npos);
  EXPECT_EQ(run({"eval", artifact, "--data", data, "--trace",
                 folder.path("no/such/folder.json")})
                .code,
            1);
}

} // namespace
