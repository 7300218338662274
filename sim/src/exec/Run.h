//===- Run.h - execution of a launch ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TDSL_SIM_EXEC_RUN_H
#define TDSL_SIM_EXEC_RUN_H

#include "exec/Warp.h"

#include <string>

namespace tds::sim {

/// What a fault report says, in fields and as one text.
struct Report {
  FaultKind kind = FaultKind::Trap;
  std::string kernel, message, source, text;
  u32 block[3] = {0, 0, 0}, thread[3] = {0, 0, 0};
  bool hasThread = false;
  u32 line = 0;
};

/// Runs all blocks of `launch` on `threads` host threads. Returns false and
/// fills `report` with the first fault. Thread-safe.
bool runLaunch(const LaunchInfo &launch, u32 threads, Report &report);

} // namespace tds::sim

#endif // TDSL_SIM_EXEC_RUN_H
