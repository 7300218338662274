//===- Predict.cpp - write an entry's results to a file -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Evaluate.h"
#include "Inputs.h"
#include "Outputs.h"
#include "Profile.h"

#include <cstdio>

namespace tdsrun {

static bool endsWith(const std::string &text, const std::string &suffix) {
  return text.size() >= suffix.size() &&
         text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

int predict(const Options &options) {
  bool npz = endsWith(options.output, ".npz");
  if (!npz && !endsWith(options.output, ".npy"))
    throw UsageError("-o " + options.output +
                     ": write a .npy (one result) or a .npz (several)");
  checkOutputs(options, Command::Predict);
  tds::Device device = openDevice(options);
  tds::Module module = loadModule(options, device);
  tds::Entry entry = module.entry(options.entry);
  if (!npz && entry.results().size() != 1)
    throw UsageError("entry '" + options.entry + "' has " +
                     std::to_string(entry.results().size()) +
                     " results; give -o a name that ends in .npz");
  checkSetNames(options.set, {entry});
  Sweep sweep(entry, options.data, options.set, true);
  Profile profile(options, device, module);
  if (!sweep.run()) {
    std::fprintf(stderr, "interrupted; %s is as it was\n",
                 options.output.c_str());
    return interruptedExitCode;
  }
  if (npz)
    writeNpz(options.output, sweep.arrays());
  else
    writeFile(options.output, npyBytes(sweep.arrays()[0]));
  for (const NamedArray &array : sweep.arrays()) {
    std::string shape;
    for (int64_t extent : array.shape)
      shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
    std::printf("%s: %s[%s] -> %s\n", array.name.c_str(),
                tds_type_name(array.type), shape.c_str(),
                options.output.c_str());
  }
  profile.finish();
  return 0;
}

} // namespace tdsrun
