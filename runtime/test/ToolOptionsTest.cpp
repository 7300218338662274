//===- ToolOptionsTest.cpp - what tds-run takes and refuses -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ToolFixture.h"

#include <tds/runtime.hpp>

#include <fstream>
#include <sys/stat.h>

namespace {

using tool::Outcome;

class ToolOptions : public tool::Tool {
protected:
  /// Runs and expects an exit code and words of the text.
  Outcome expect(int code, const std::vector<std::string> &arguments,
                 const std::vector<std::string> &words) {
    Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, code) << outcome.text;
    for (const std::string &word : words)
      EXPECT_NE(outcome.text.find(word), std::string::npos) << word << "\n"
                                                            << outcome.text;
    return outcome;
  }
};

TEST_F(ToolOptions, NumbersAreReadStrictly) {
  for (const char *option : {"--epochs", "--steps", "--checkpoint-every"})
    for (const char *value :
         {"0", "-1", "1e3", "010x", "0x10", "1.5", "", " 1", "+1", "1 ",
          "1000000000000000000", "18446744073709551616",
          "99999999999999999999999999999999999999999"})
      expect(2, training("n.safetensors", {option, value}),
             {std::string("tds-run: ") + option, "write a whole number from 1 "
                                                 "to 999999999999999999"});
  for (const char *value : {"-1", "18446744073709551616", "1e3", "x"})
    expect(2, training("n.safetensors", {"--seed", value}),
           {"--seed", "from 0 to 18446744073709551615"});
  for (const char *value : {"-1", "1025", "4294967296"})
    expect(2, training("n.safetensors", {"--threads", value}),
           {"--threads", "from 0 to 1024"});
  EXPECT_NE(access(folder.path("n.safetensors").c_str(), F_OK), 0);
  // A leading zero is decimal.
  expect(0, training("n.safetensors", {"--steps", "010"}),
         {"trained 10 steps"});
}

TEST_F(ToolOptions, NoMoreStepsThanCanBeCounted) {
  // 62 batches an epoch.
  expect(2, training("n.safetensors", {"--epochs", "16129032258064517"}),
         {"62 batches an epoch", "write at most 16129032258064516"});
}

TEST_F(ToolOptions, CheckpointEveryNeedsACheckpoint) {
  expect(2, {"train", artifact, "--data", data, "--checkpoint-every", "5"},
         {"--checkpoint-every goes with --checkpoint FILE"});
}

TEST_F(ToolOptions, ARunEndsAtWhicheverComesFirst) {
  expect(0, training("a.safetensors", {"--epochs", "2", "--steps", "100"}),
         {"trained 100 steps"});
  expect(0, training("b.safetensors", {"--epochs", "2", "--steps", "200"}),
         {"trained 124 steps"});
  expect(0, {"train", artifact, "--data", data, "--steps", "200"},
         {"trained 200 steps"});
  expect(0, {"train", artifact, "--data", data, "--steps", "1"},
         {"trained 1 step in "});
  expect(0, {"train", artifact, "--data", data}, {"trained 62 steps"});
}

TEST_F(ToolOptions, EpochsCountFromOne) {
  std::string metrics = folder.path("m.jsonl");
  expect(0,
         {"train", artifact, "--data", data, "--epochs", "2", "--metrics",
          metrics, "--eval-entry", "evaluate", "--eval-data", data},
         {"epoch 1/2: ", "epoch 2/2: "});
  std::ifstream file(metrics);
  uint64_t steps = 0, evaluations = 0;
  for (std::string line; std::getline(file, line);) {
    nlohmann::json row = nlohmann::json::parse(line);
    if (row.contains("eval"))
      EXPECT_EQ(row["epoch"], ++evaluations) << line;
    else
      EXPECT_EQ(row["epoch"], 1 + steps++ / 62) << line;
  }
  EXPECT_EQ(steps, 124u);
  EXPECT_EQ(evaluations, 2u);
}

TEST_F(ToolOptions, SeedsHave64Bits) {
  std::string highest = "18446744073709551615", half = "9223372036854775807";
  for (const std::string &seed : {highest, half})
    expect(0,
           training(seed + ".safetensors", {"--seed", seed, "--steps", "30"}),
           {"trained 30 steps"});
  EXPECT_NE(toy::readAll(folder.path(highest + ".safetensors")),
            toy::readAll(folder.path(half + ".safetensors")));
  // Such a run can be resumed, and ends as one in one piece does.
  expect(0,
         training(highest + ".safetensors",
                  {"--resume", "--seed", highest, "--steps", "70"}),
         {"resumed from", "trained 40 steps"});
  expect(0, training("whole.safetensors", {"--seed", highest, "--steps", "70"}),
         {"trained 70 steps"});
  EXPECT_EQ(toy::readAll(folder.path(highest + ".safetensors")),
            toy::readAll(folder.path("whole.safetensors")));
  tds::Module net = tds::Module::load(artifact, tds::Device::open("cpu"),
                                      18446744073709551615u);
  EXPECT_EQ(net.read("tds.seed").scalar<int64_t>(), -1);
  EXPECT_EQ(net.restore(folder.path("whole.safetensors")).order_seed,
            18446744073709551615u);
}

TEST_F(ToolOptions, OutputsNeverReplaceInputs) {
  std::string x = folder.path("x.npy"), before = toy::readAll(x);
  for (const char *option : {"--checkpoint", "--metrics", "--plot"})
    expect(2, {"train", artifact, "--data", data, option, x},
           {std::string(option) + " " + x + ": is the same file as --data"});
  // Under another name: a path through a folder, a link, a hard link.
  ASSERT_EQ(mkdir(folder.path("d").c_str(), 0777), 0);
  ASSERT_EQ(symlink(x.c_str(), folder.path("link").c_str()), 0);
  ASSERT_EQ(link(x.c_str(), folder.path("hard").c_str()), 0);
  for (const char *name : {"d/../x.npy", "link", "hard"})
    expect(
        2,
        {"train", artifact, "--data", data, "--checkpoint", folder.path(name)},
        {"is the same file as --data"});
  expect(2, {"predict", artifact, "--data", "x=" + x, "-o", x},
         {"-o", "is the same file as --data"});
  expect(2, training("toy.so"), {"is the same file as the artefact"});
  expect(2,
         training("a.safetensors", {"--eval-entry", "evaluate", "--eval-data",
                                    data, "--metrics", folder.path("y.npy")}),
         {"--metrics", "is the same file as --data"});
  // The temporary file of a save is one, too.
  std::string other = folder.write("c.tmp", before);
  expect(2,
         {"train", artifact, "--data",
          "x=" + other + ",y=" + folder.path("y.npy"), "--checkpoint",
          folder.path("c")},
         {"the temporary file of --checkpoint", "is the same file as --data"});
  EXPECT_EQ(toy::readAll(x), before);
  EXPECT_EQ(toy::readAll(other), before);
}

TEST_F(ToolOptions, OutputsDifferFromEachOther) {
  ASSERT_EQ(mkdir(folder.path("d").c_str(), 0777), 0);
  expect(2,
         training("a.safetensors", {"--metrics", folder.path("a.safetensors")}),
         {"--metrics", "is the same file as --checkpoint"});
  expect(2, training("a.b", {"--plot", folder.path("d/../a.b")}),
         {"--plot", "is the same file as --checkpoint"});
  expect(2, training("a.b", {"--metrics", folder.path("a.b.tmp")}),
         {"the temporary file of --checkpoint", "as --metrics"});
  EXPECT_NE(access(folder.path("a.b").c_str(), F_OK), 0);
}

TEST_F(ToolOptions, OutputsReplaceTheirOwnKindAlone) {
  std::string mine = folder.write("mine.txt", "three years of work\n");
  std::vector<std::string> predict = {"predict", artifact, "--data",
                                      "x=" + folder.path("x.npy"), "-o"};
  expect(2, training("mine.txt"),
         {"exists and is no checkpoint of tdsl, so it is not overwritten"});
  expect(2, training("mine.txt", {"--resume"}), {"is no checkpoint of tdsl"});
  expect(2, training("a.safetensors", {"--metrics", mine}),
         {"--metrics", "is no file of metrics"});
  expect(2, training("a.safetensors", {"--plot", mine}),
         {"--plot", "is no picture"});
  EXPECT_EQ(toy::readAll(mine), "three years of work\n");
  for (const char *name : {"mine.npy", "mine.npz"}) {
    folder.write(name, "three years of work\n");
    predict.resize(5);
    predict.push_back(folder.path(name));
    expect(2, predict, {"-o", "so it is not overwritten"});
    EXPECT_EQ(toy::readAll(folder.path(name)), "three years of work\n");
    folder.write(name, ""); // as mktemp leaves it
    expect(0, predict, {});
    expect(0, predict, {}); // over its own
  }
  std::vector<std::string> all = {"--metrics", folder.path("m.jsonl"), "--plot",
                                  folder.path("l.svg")};
  EXPECT_NE(access(folder.path("a.safetensors").c_str(), F_OK), 0);
  folder.write("a.safetensors", "");
  folder.write("a.safetensors.tmp", "left by a run that was killed");
  expect(0, training("a.safetensors", all), {"trained 186 steps"});
  expect(0, training("a.safetensors", all), {"trained 186 steps"});
}

/// FIFOs and links stand for devices, which a test must not risk.
TEST_F(ToolOptions, OutputsAreRegularFiles) {
  std::string fifo = folder.path("fifo"), dangling = folder.path("dangling");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0666), 0);
  ASSERT_EQ(symlink("nowhere", dangling.c_str()), 0);
  ASSERT_EQ(mkfifo(folder.path("p.npy").c_str(), 0666), 0);
  ASSERT_EQ(mkfifo(folder.path("t.tmp").c_str(), 0666), 0);
  for (const char *option : {"--checkpoint", "--metrics", "--plot"}) {
    expect(2, {"train", artifact, "--data", data, option, fifo},
           {option, "is not a regular file"});
    expect(2, {"train", artifact, "--data", data, option, dangling},
           {option, "is a symbolic link"});
    expect(2, {"train", artifact, "--data", data, option, folder.path("")},
           {option, "is a folder"});
  }
  expect(2, training("t"), {"the temporary file", "is not a regular file"});
  expect(2,
         {"predict", artifact, "--data", "x=" + folder.path("x.npy"), "-o",
          folder.path("p.npy")},
         {"-o", "is not a regular file"});

  // The library itself, whoever calls it.
  tds::Module net = tds::Module::load(artifact, tds::Device::open("cpu"));
  for (const std::string &path : {fifo, dangling, folder.path("t")})
    try {
      net.save(path);
      ADD_FAILURE() << path;
    } catch (const tds::Error &error) {
      EXPECT_EQ(error.status, TDS_IO) << error.what();
      EXPECT_NE(std::string(error.what()).find("; name a file"),
                std::string::npos)
          << error.what();
    }
  struct stat status{};
  ASSERT_EQ(lstat(fifo.c_str(), &status), 0);
  EXPECT_TRUE(S_ISFIFO(status.st_mode));
  ASSERT_EQ(lstat(dangling.c_str(), &status), 0);
  EXPECT_TRUE(S_ISLNK(status.st_mode));
}

TEST_F(ToolOptions, AFailedStepLosesNothing) {
  // Row 500 of 1000 has an id that is out of range.
  std::vector<int32_t> ids(1000, 3);
  ids[500] = 99;
  std::string bad =
      "ids=" +
      folder.write("bad.npy", toy::npy("<i4", {1000}, toy::bytesOf(ids)));
  ids[500] = 4;
  std::string good =
      "ids=" +
      folder.write("good.npy", toy::npy("<i4", {1000}, toy::bytesOf(ids)));
  std::string checkpoint = folder.path("g.safetensors");
  std::vector<std::string> arguments = {
      "train",   artifact, "--entry",      "guarded",  "--seed", "1",
      "--steps", "62",     "--checkpoint", checkpoint, "--data", bad};
  Outcome failed =
      expect(1, arguments,
             {"error: toy.tds:12:7: gather index out of range",
              "the step changed nothing", "failed behind step ",
              "; saved to " + checkpoint + ", go on with --resume"});
  size_t at = failed.text.find("failed behind step ");
  ASSERT_NE(at, std::string::npos);
  int steps = std::stoi(failed.text.substr(at + 19));
  ASSERT_GT(steps, 0); // the seed puts the row somewhere in the middle
  ASSERT_LT(steps, 62);
  EXPECT_EQ(tds::inspectCheckpoint(checkpoint).batch, uint64_t(steps));
  arguments.back() = good;
  arguments.push_back("--resume");
  expect(0, arguments,
         {"resumed from", "trained " + std::to_string(62 - steps) + " step"});

  // Where the first step fails, an older checkpoint stays as it is.
  std::string before = toy::readAll(checkpoint);
  ids.assign(1000, 99);
  arguments.back() =
      "ids=" +
      folder.write("worse.npy", toy::npy("<i4", {1000}, toy::bytesOf(ids)));
  arguments.insert(arguments.end() - 1, "--data");
  expect(1, arguments, {"failed at the first step; nothing was saved"});
  EXPECT_EQ(toy::readAll(checkpoint), before);

  arguments = {"train", artifact, "--entry", "guarded", "--data", bad};
  expect(1, arguments, {"nothing was saved, since there was no --checkpoint"});
}

TEST_F(ToolOptions, EvaluationSaysWhatItLeavesOut) {
  std::string x = "x=" + folder.path("x.npy");
  expect(
      2,
      training("a.safetensors", {"--eval-entry", "predict", "--eval-data", x}),
      {"--eval-entry predict: the entry gives no number"});
  EXPECT_NE(access(folder.path("a.safetensors").c_str(), F_OK), 0);
  expect(
      2,
      training("a.safetensors", {"--eval-entry", "train", "--eval-data", data}),
      {"--eval-entry train: the entry is a step"});
  expect(1, {"eval", artifact, "--entry", "predict", "--data", x},
         {"row by row only", "tds-run predict"});

  // Of mixed results those by rows are named, and nothing else changes.
  nlohmann::json manifest = toy::manifest();
  for (nlohmann::json &entry : manifest["entries"])
    if (entry["name"] == "evaluate")
      for (nlohmann::json &result : entry["results"])
        if (result["name"] == "count") {
          result["shape"] = {toy::batch};
          result["data_axis"] = 0;
          for (const char *bytes : {"result_bytes", "peak_bytes"})
            entry[bytes] = entry[bytes].get<int64_t>() + 60;
        }
  std::string mixed = folder.write("mixed.so", toy::packSo(manifest.dump()));
  Outcome outcome =
      expect(0, {"eval", mixed, "--data", data},
             {"note: eval leaves out 'count'", "mse: ", "rows: "});
  EXPECT_LT(outcome.text.find("note: eval"), outcome.text.find("mse: "));
  expect(0,
         {"train", mixed, "--data", data, "--eval-entry", "evaluate",
          "--eval-data", data},
         {"leaves out 'count', which is no scalar", "evaluate mse "});
}

TEST_F(ToolOptions, AFullDiskBehindStdoutIsAnError) {
  std::string x = folder.path("x.npy"), err = folder.path("err.txt");
  for (const std::string &arguments :
       {"info " + artifact, "eval " + artifact + " --data " + data,
        std::string("devices"), std::string("--help"),
        "train " + artifact + " --steps 3 --data " + data,
        "predict " + artifact + " --data x=" + x + " -o " +
            folder.path("p.npy")}) {
    int status = std::system(
        (std::string(TDS_RUN) + " " + arguments + " >/dev/full 2>" + err)
            .c_str());
    EXPECT_EQ(WEXITSTATUS(status), 1) << arguments;
    EXPECT_NE(toy::readAll(err).find("error: standard output could not be "
                                     "written"),
              std::string::npos)
        << arguments << toy::readAll(err);
  }
}

TEST_F(ToolOptions, InfoTellsWhatThreadsAdd) {
  expect(0, {"info", artifact},
         {" bytes for the whole module + 64 bytes for "
          "each thread\n"});
  tds::Module one = tds::Module::load(artifact, tds::Device::open("cpu", 1));
  tds::Module three = tds::Module::load(artifact, tds::Device::open("cpu", 3));
  EXPECT_EQ(three.memory().scratch, 3 * 64u);
  EXPECT_EQ(three.memory().scratch - one.memory().scratch, 2 * 64u);
}

} // namespace
