//===- Wgmma.h - warpgroup matrix products ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A warpgroup's product is four independent ones: each warp multiplies its 16
// rows of A with all of B. Operations are queued by warp and done when their
// group is waited for (lazy) or at once (eager); the registers that they use
// are watched meanwhile.
//
//===----------------------------------------------------------------------===//
#ifndef TDSL_SIM_EXEC_WGMMA_H
#define TDSL_SIM_EXEC_WGMMA_H

#include "check/Clocks.h"

#include <deque>

namespace tds::sim {

// OpInfo::aux2 and Op::imm of wgmma.mma_async.
constexpr u8 mmaIntegers = 1, mma16Bits = 2, mmaHalfResult = 4, mmaSaturate = 8;
constexpr u32 mmaKeep = 1, mmaNegateA = 2, mmaNegateB = 4, mmaTransposeA = 8,
              mmaTransposeB = 16;

struct MmaTask {
  const Op *op = nullptr;
  const Code *code = nullptr;
  u8 *regs = nullptr;
  u64 a = 0, b = 0; // descriptors
  bool keep = true; // scale-d: C is D, else zero
  bool isCopy = false;
  bool done = false;
  AsyncStamp stamp;
};

/// A warp's queue, and what it knows of its registers: by 64 bytes of frame,
/// 1 an accumulator in flight, 2 a fragment of A in flight, 4 written since
/// the last wgmma.fence.
struct MmaState {
  std::vector<MmaTask> open;
  std::deque<std::vector<MmaTask>> groups;
  std::vector<u8> marks;
  bool fenced = false;
  u32 inFlight = 0; // tasks
};

/// Called before an operation of a kernel that uses wgmma. False where it has
/// been put off (a copy of an accumulator in flight goes along with it).
bool watchRegisters(Warp &w, const Op &o);

} // namespace tds::sim

#endif // TDSL_SIM_EXEC_WGMMA_H
