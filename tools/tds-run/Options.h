//===- Options.h - what was asked for on the command line -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDS_RUN_OPTIONS_H
#define TDS_RUN_OPTIONS_H

#include <tds/runtime.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace tdsrun {

struct Options {
  std::string artifact;
  std::string entry;
  std::string data;
  std::string device = "auto";
  int threads = 0;
  uint64_t seed = 0;
  std::vector<std::string> set; ///< name=value, perhaps several by commas
  std::string trace;            ///< a file; empty: none
  bool profile = false;

  // train
  uint64_t epochs = 0, steps = 0; ///< 0: not given
  std::string checkpoint;
  uint64_t checkpointEvery = 0; ///< steps; 0: at the end of each epoch
  bool resume = false;
  std::string initFrom, map, allowMissing;
  std::string metrics, plot;
  std::string evalEntry, evalData;

  // predict
  std::string output;
};

/// A combination of options that cannot be; exit code 2.
class UsageError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// True once SIGINT or SIGTERM has arrived.
bool interrupted();

constexpr int interruptedExitCode = 130; // 128 + SIGINT, as shells count

int train(const Options &options);
int evaluate(const Options &options);
int predict(const Options &options);

/// Opens the device that was asked for and says in one line which and why.
tds::Device openDevice(const Options &options);

/// Loads the artefact and, for eval and predict, the checkpoint.
tds::Module loadModule(const Options &options, const tds::Device &device);

} // namespace tdsrun

#endif // TDS_RUN_OPTIONS_H
