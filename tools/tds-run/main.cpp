//===- main.cpp - the command line of tds-run -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exit codes: 0 fine, 1 bad input or a failed run, 2 usage; 130 when a signal
// ended a run early (after its checkpoint was saved).
//
//===----------------------------------------------------------------------===//

#include "Numbers.h"
#include "Options.h"
#include "Profile.h"

#include <CLI/CLI.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <limits>

namespace tdsrun {

static volatile std::sig_atomic_t signalSeen = 0;

bool interrupted() { return signalSeen != 0; }

/// The first signal asks for an end, the second ends at once.
static void installSignalHandlers() {
  struct sigaction action{};
  action.sa_handler = [](int) { signalSeen = 1; };
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // Whoever reads standard output may end; that ends no run. What could not be
  // written is said at the end.
  std::signal(SIGPIPE, SIG_IGN);
}

tds::Device openDevice(const Options &options) {
  tds::Device device =
      options.device == "auto"
          ? tds::Device::bestFor(options.artifact, options.threads)
          : tds::Device::open(options.device, options.threads);
  std::fprintf(stderr, "device: %s (%s)\n", device.description().c_str(),
               device.reason().c_str());
  return device;
}

tds::Module loadModule(const Options &options, const tds::Device &device) {
  tds::Module module =
      tds::Module::load(options.artifact, device, options.seed);
  if (!options.checkpoint.empty())
    module.restore(options.checkpoint);
  else if (!options.initFrom.empty())
    module.initFrom(options.initFrom, options.map, options.allowMissing);
  else if (!module.variables().empty())
    std::fprintf(stderr, "note: no --checkpoint, so the variables have their "
                         "first values\n");
  return module;
}

/// An option that takes a whole number; see parseNumber.
template <typename T>
static void addNumber(CLI::App *command, const char *name, T &target,
                      uint64_t least, uint64_t most, const char *help) {
  command
      ->add_option_function<std::string>(
          name,
          [=, &target](const std::string &text) {
            target = static_cast<T>(parseNumber(name, text, least, most));
          },
          help)
      ->type_name("N");
}

static void addCommon(CLI::App *command, Options &options,
                      const char *defaultEntry) {
  options.entry = "";
  command->add_option("artifact", options.artifact, "a .so, .ptx or .tdsx")
      ->required();
  command
      ->add_option("--entry", options.entry,
                   std::string("the entry to call (default: ") + defaultEntry +
                       ")")
      ->default_str("");
  command->add_option("--data", options.data,
                      "files for inputs: x=images.idx.gz,y=labels.idx.gz");
  command->add_option("--set", options.set, "numbers for inputs: lr=1e-3")
      ->take_all();
  command
      ->add_option("--device", options.device,
                   "auto, cpu, cuda, cuda:N, sim or sim:sm_90a (a GPU "
                   "simulated on the CPU)")
      ->capture_default_str();
  addNumber(command, "--threads", options.threads, 0, 1024,
            "CPU threads (0: all processors)");
  addNumber(command, "--seed", options.seed, 0,
            std::numeric_limits<uint64_t>::max(),
            "seed of initialisers, random numbers and row order (default: 0)");
  command->add_option("--trace", options.trace,
                      "write what ran when here (.json, for Perfetto), and "
                      "print the profile");
  command->add_flag("--profile", options.profile,
                    "print time, bytes and operations of each kernel");
}

static int runCommandLine(int argc, char **argv) {
  CLI::App app{"Train, evaluate and predict with what tdslc compiled.",
               "tds-run"};
  app.require_subcommand(1);
  // An option given twice takes the later value, as scripts expect.
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.set_version_flag("--version", std::string("tds-run ") + tds_version());
  Options trainOptions, evalOptions, predictOptions;
  std::string infoPath;

  CLI::App *train = app.add_subcommand("train", "train with a step entry");
  addCommon(train, trainOptions, "train");
  addNumber(train, "--epochs", trainOptions.epochs, 1, maxCount,
            "end after N times through the data (default: 1, or as many as "
            "--steps takes)");
  addNumber(train, "--steps", trainOptions.steps, 1, maxCount,
            "end after N steps, counted from the beginning of the whole run; "
            "with --epochs, at whichever comes first");
  train->add_option("--checkpoint", trainOptions.checkpoint,
                    "save here (.safetensors)");
  addNumber(train, "--checkpoint-every", trainOptions.checkpointEvery, 1,
            maxCount, "steps between saves (default: each epoch)");
  train->add_flag("--resume", trainOptions.resume,
                  "go on from --checkpoint where it exists");
  train->add_option("--init-from", trainOptions.initFrom,
                    "take parameters from this file");
  train->add_option("--map", trainOptions.map,
                    "file of `ours = theirs [transpose]` lines");
  train->add_option("--allow-missing", trainOptions.allowMissing,
                    "globs of variables that --init-from may lack");
  train->add_option("--metrics", trainOptions.metrics,
                    "write the figures of each step here (.jsonl)");
  train->add_option("--plot", trainOptions.plot, "draw the loss here (.svg)");
  train->add_option("--eval-entry", trainOptions.evalEntry,
                    "call this entry after each epoch");
  train->add_option("--eval-data", trainOptions.evalData, "its data");

  CLI::App *eval =
      app.add_subcommand("eval", "run an entry over data and combine results");
  addCommon(eval, evalOptions, "evaluate");
  CLI::App *predict =
      app.add_subcommand("predict", "write an entry's results to a file");
  addCommon(predict, predictOptions, "predict");
  predict->add_option("-o,--output", predictOptions.output, ".npy or .npz")
      ->required();
  for (auto [command, options] :
       {std::pair{eval, &evalOptions}, std::pair{predict, &predictOptions}}) {
    command->add_option("--checkpoint", options->checkpoint,
                        "restore all variables from this file");
    command->add_option("--init-from", options->initFrom,
                        "take parameters from this file");
    command->add_option("--map", options->map,
                        "file of `ours = theirs [transpose]` lines");
    command->add_option("--allow-missing", options->allowMissing,
                        "globs of variables that --init-from may lack");
  }

  CLI::App *info = app.add_subcommand("info", "say what an artefact holds");
  info->add_option("artifact", infoPath, "a .so, .ptx or .tdsx")->required();
  CLI::App *devices =
      app.add_subcommand("devices", "say what this machine has");
  bool watch = false;
  double every = 1;
  uint64_t count = 0;
  CLI::Option *watchFlag = devices->add_flag(
      "--watch", watch, "print what NVML reads of the GPUs, again and again");
  devices->add_option("--every", every, "seconds between two readings")
      ->check(CLI::Range(0.02, 86400.0))
      ->capture_default_str()
      ->needs(watchFlag);
  addNumber(devices, "--count", count, 1, maxCount,
            "readings to print (default: until a signal)");
  devices->get_option("--count")->needs(watchFlag);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : 2;
  }

  auto orDefault = [](Options &options, const char *entry) {
    if (options.entry.empty())
      options.entry = entry;
  };
  if (*train) {
    orDefault(trainOptions, "train");
    installSignalHandlers();
    return tdsrun::train(trainOptions);
  }
  if (*eval) {
    orDefault(evalOptions, "evaluate");
    installSignalHandlers();
    return evaluate(evalOptions);
  }
  if (*predict) {
    orDefault(predictOptions, "predict");
    installSignalHandlers();
    return tdsrun::predict(predictOptions);
  }
  if (*info)
    std::fputs(tds::describeArtifact(infoPath).c_str(), stdout);
  if (*devices && watch) {
    installSignalHandlers();
    return watchDevices(every, count);
  }
  if (*devices)
    std::fputs(tds::describeDevices().c_str(), stdout);
  return 0;
}

} // namespace tdsrun

int main(int argc, char **argv) {
  tds_set_log_callback(
      [](void *, tds_log_level level, const char *message) {
        std::fprintf(stderr, "%s: %s\n",
                     level == TDS_LOG_WARNING ? "warning" : "note", message);
      },
      nullptr);
  try {
    int code = tdsrun::runCommandLine(argc, argv);
    std::cout.flush(); // which --help writes to
    errno = 0;
    bool failed = std::fflush(stdout) != 0;
    if (failed || std::ferror(stdout) || !std::cout) {
      std::fprintf(stderr,
                   "error: standard output could not be written%s%s%s; part of "
                   "what was said is lost\n",
                   failed && errno ? " (" : "",
                   failed && errno ? std::strerror(errno) : "",
                   failed && errno ? ")" : "");
      if (code == 0)
        code = 1;
    }
    return code;
  } catch (const tdsrun::UsageError &error) {
    std::fprintf(stderr, "tds-run: %s\n", error.what());
    return 2;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
