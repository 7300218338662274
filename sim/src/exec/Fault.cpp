//===- Fault.cpp - kinds of fault and their reports -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "exec/BlockRunner.h"
#include "exec/Lanes.h"

#include <algorithm>

namespace tds::sim {

const char *nameOf(FaultKind kind) {
  switch (kind) {
  case FaultKind::OutOfBounds:
    return "out-of-bounds";
  case FaultKind::Misaligned:
    return "misaligned";
  case FaultKind::UninitialisedShared:
    return "uninitialised-shared";
  case FaultKind::UninitialisedGlobal:
    return "uninitialised-global";
  case FaultKind::SharedRace:
    return "shared-race";
  case FaultKind::GlobalRace:
    return "global-race";
  case FaultKind::BarrierDivergence:
    return "barrier-divergence";
  case FaultKind::Deadlock:
    return "deadlock";
  case FaultKind::InactiveLane:
    return "inactive-lane";
  case FaultKind::ReadOnly:
    return "read-only";
  case FaultKind::AsyncInFlight:
    return "async-in-flight";
  case FaultKind::Trap:
    return "trap";
  case FaultKind::BadOperand:
    return "bad-operand";
  case FaultKind::StackOverflow:
    return "stack-overflow";
  case FaultKind::StepLimit:
    return "step-limit";
  case FaultKind::BadLaunch:
    return "bad-launch";
  case FaultKind::MissingProxyFence:
    return "missing-proxy-fence";
  case FaultKind::MissingMmaFence:
    return "missing-wgmma-fence";
  case FaultKind::RegisterInFlight:
    return "register-in-flight";
  }
  return "unknown";
}

void Warp::fault(FaultKind kind, const std::string &what, int lane) const {
  Fault f;
  f.kind = kind;
  f.what = what;
  f.code = code;
  f.op = op;
  f.lane = lane;
  f.warp = (int)id;
  f.block = block;
  throw f;
}

void describe(const LaunchInfo &launch, const Block &block, const Fault &fault,
              Report &report) {
  report.kind = fault.kind;
  report.kernel = launch.entry->name;
  report.message = fault.what;
  std::copy(block.index, block.index + 3, report.block);
  std::string text =
      std::string(nameOf(fault.kind)) + " in kernel '" + report.kernel + "'";
  text += ", block (" + std::to_string(block.index[0]) + "," +
          std::to_string(block.index[1]) + "," +
          std::to_string(block.index[2]) + ")";
  if (fault.warp >= 0 && fault.lane >= 0) {
    u32 t = (u32)fault.warp * 32 + (u32)fault.lane;
    report.thread[0] = t % launch.blockDim[0];
    report.thread[1] = t / launch.blockDim[0] % launch.blockDim[1];
    report.thread[2] = t / launch.blockDim[0] / launch.blockDim[1];
    report.hasThread = true;
    text += ", thread (" + std::to_string(report.thread[0]) + "," +
            std::to_string(report.thread[1]) + "," +
            std::to_string(report.thread[2]) + ")";
  } else if (fault.warp >= 0) {
    text += ", warp " + std::to_string(fault.warp);
  }
  if (fault.op) {
    report.line = fault.op->line;
    text += ", PTX line " + std::to_string(fault.op->line);
    const Program &program = *launch.program;
    if (fault.op->loc && fault.op->loc < program.locs.size()) {
      const Loc &loc = program.locs[fault.op->loc];
      auto file = program.files.find(loc.file);
      report.source =
          (file == program.files.end() ? "file " + std::to_string(loc.file)
                                       : file->second) +
          ":" + std::to_string(loc.line);
      if (loc.column)
        report.source += ":" + std::to_string(loc.column);
      if (loc.inlinedLine) {
        auto outer = program.files.find(loc.inlinedFile);
        if (outer != program.files.end())
          report.source += " inlined at " + outer->second + ":" +
                           std::to_string(loc.inlinedLine) + ":" +
                           std::to_string(loc.inlinedColumn);
      }
      text += " (" + report.source + ")";
    }
    if (fault.code && fault.code != launch.entry)
      text += ", in function '" + fault.code->name + "'";
  }
  report.text = text + ": " + fault.what;
}

} // namespace tds::sim
