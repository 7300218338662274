//===- Profile.h - where the time of a run went -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDS_RUN_PROFILE_H
#define TDS_RUN_PROFILE_H

#include "Options.h"

namespace tdsrun {

/// --profile and --trace: records from its making on.
class Profile {
public:
  /// Does nothing unless the options ask for it.
  Profile(const Options &options, tds::Device device, tds::Module module);
  /// Writes the trace and prints the table; once, at the end of the run.
  void finish();

private:
  const Options &options;
  tds::Device device;
  tds::Module module;
};

/// A line for each kernel that ran, by time, and one for their sum. A figure
/// that is not known is "-". `peakBytes` and `peakFlops` are a second's, 0
/// where not known.
std::string profileTable(const std::vector<tds_kernel_profile> &kernels,
                         double peakBytes, double peakFlops);

/// `tds-run devices --watch`: a line for each GPU, every `seconds`, `count`
/// times (0: until a signal arrives).
int watchDevices(double seconds, uint64_t count);

} // namespace tdsrun

#endif // TDS_RUN_PROFILE_H
