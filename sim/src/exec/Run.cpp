//===- Run.cpp - execution of a launch --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three levels. runWarp() advances one warp until it waits, ends or has used
// its share. A BlockRunner picks among the warps of a block by the schedule
// and completes barriers. runLaunch() hands blocks to host threads; a block
// that has run for long without ending is set aside so that another may start,
// because blocks may wait for each other.
//
// Note: divergence. Lanes have their own pcs only while they differ. The
// lanes in the deepest call, and among those the ones at the lowest pc, run
// first; when they come to the pc of others, they merge. That reconverges at
// the earliest point that has a meaning for every structured program. A group
// that spins is overtaken when its share is used up, so a lane may wait for
// another lane of its warp.
//
//===----------------------------------------------------------------------===//

#include "exec/Run.h"
#include "check/Shadow.h"
#include "exec/Lanes.h"

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <thread>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

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
  case FaultKind::UnwaitedCopy:
    return "unwaited-copy";
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
  throw f;
}

void Warp::synchronise() {
  if (!touched)
    return;
  touched = false;
  newTick(*block, this);
}

void Warp::warpBarrier(u32 members) {
  warpWait |= mask;
  for (u32 m = mask; m; m &= m - 1)
    warpMask[__builtin_ctz(m)] = members;
  blocked |= mask;
  if ((members & alive & ~warpWait) == 0) {
    blocked &= ~members;
    warpWait &= ~members;
    synchronise();
  }
}

namespace {

enum class Stop { Done, Blocked, Yield, Share };

/// Registers of the frame in which `lane` runs.
u8 *laneRegs(Warp &w, int lane) {
  return w.calls ? w.calls->current[lane]->regs : w.regs;
}

void fillFrame(Warp &w, const Code &code, u8 *regs) {
  memset(regs, 0xc7, code.frameBytes);
  for (const Code::Immediate &imm : code.immediates) {
    u8 *at = regs + imm.offset;
    if (imm.bytes == 8)
      std::fill((u64 *)at, (u64 *)at + 32, imm.value);
    else if (imm.bytes == 4)
      std::fill((u32 *)at, (u32 *)at + 32, (u32)imm.value);
    else
      std::fill((u16 *)at, (u16 *)at + 32, (u16)imm.value);
  }
  const Block &block = *w.block;
  const LaunchInfo &l = *block.launch;
  for (const Code::SpecialSlot &slot : code.specials) {
    for (u32 i = 0; i < 32; ++i) {
      u32 t = w.id * 32 + i;
      u64 v = 0;
      switch (slot.special) {
      case Special::TidX:
        v = t % l.blockDim[0];
        break;
      case Special::TidY:
        v = t / l.blockDim[0] % l.blockDim[1];
        break;
      case Special::TidZ:
        v = t / l.blockDim[0] / l.blockDim[1];
        break;
      case Special::NtidX:
        v = l.blockDim[0];
        break;
      case Special::NtidY:
        v = l.blockDim[1];
        break;
      case Special::NtidZ:
        v = l.blockDim[2];
        break;
      case Special::CtaidX:
        v = block.index[0];
        break;
      case Special::CtaidY:
        v = block.index[1];
        break;
      case Special::CtaidZ:
        v = block.index[2];
        break;
      case Special::NctaidX:
        v = l.grid[0];
        break;
      case Special::NctaidY:
        v = l.grid[1];
        break;
      case Special::NctaidZ:
        v = l.grid[2];
        break;
      case Special::LaneId:
        v = i;
        break;
      case Special::WarpId:
        v = w.id;
        break;
      case Special::NWarpId:
        v = l.warps;
        break;
      case Special::SmId:
        v = block.linear % l.numSms;
        break;
      case Special::NSmId:
        v = l.numSms;
        break;
      case Special::GridId:
        v = l.gridId;
        break;
      case Special::LaneMaskEq:
        v = 1u << i;
        break;
      case Special::LaneMaskLt:
        v = (1u << i) - 1;
        break;
      case Special::LaneMaskLe:
        v = (2ull << i) - 1;
        break;
      case Special::LaneMaskGt:
        v = (u32) ~((2ull << i) - 1);
        break;
      case Special::LaneMaskGe:
        v = ~((1u << i) - 1);
        break;
      case Special::DynamicSmem:
        v = l.dynamicShared;
        break;
      case Special::TotalSmem:
        v = l.sharedBytes;
        break;
      case Special::One:
        v = 1;
        break;
      default:
        break;
      }
      u8 *at = regs + slot.offset + i * slot.bytes;
      memcpy(at, &v, slot.bytes);
    }
  }
}

Frame *frameFor(Warp &w, u32 depth, const Code &code) {
  CallState &calls = *w.calls;
  auto &slot = calls.frames[{depth, code.index}];
  if (!slot) {
    slot = std::make_unique<Frame>();
    slot->code = &code;
    auto bytes = std::make_unique<u8[]>(code.frameBytes + 64);
    slot->regs = (u8 *)(((u64)bytes.get() + 63) & ~63ull);
    calls.storage.push_back(std::move(bytes));
    fillFrame(w, code, slot->regs);
  }
  return slot.get();
}

/// Chooses the lanes that run next. `overtake`: those behind the present ones.
/// False if none can run.
bool regroup(Warp &w, bool overtake = false) {
  u32 runnable = w.alive & ~w.blocked;
  if (!runnable)
    return false;
  u32 same = runnable;
  if (w.calls) {
    CallState &calls = *w.calls;
    int best = -1;
    for (u32 m = runnable; m; m &= m - 1) {
      int i = __builtin_ctz(m);
      if (best < 0 || calls.depth[i] > calls.depth[best])
        best = i;
    }
    if (overtake)
      best = (int)(__builtin_ctz(runnable)); // any frame may have the awaited
    if (overtake) {
      // Rotate through lanes, so that each frame gets its turn.
      u32 turn = w.block->random() % popcount(runnable);
      u32 m = runnable;
      while (turn--)
        m &= m - 1;
      best = __builtin_ctz(m);
    }
    Frame *frame = calls.current[best];
    same = 0;
    for (u32 m = runnable; m; m &= m - 1) {
      int i = __builtin_ctz(m);
      if (calls.current[i] == frame)
        same |= 1u << i;
    }
    w.regs = frame->regs;
    w.code = frame->code;
  }
  u32 lowest = ~0u, next = ~0u;
  for (u32 m = same; m; m &= m - 1) {
    u32 pc = w.pcs[__builtin_ctz(m)];
    lowest = std::min(lowest, pc);
    if (overtake && pc > w.pc)
      next = std::min(next, pc);
  }
  u32 pc = next != ~0u ? next : lowest;
  u32 active = 0, limit = ~0u;
  for (u32 m = same; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    if (w.pcs[i] == pc)
      active |= 1u << i;
    else if (w.pcs[i] > pc)
      limit = std::min(limit, w.pcs[i]);
  }
  w.pc = pc;
  w.active = active;
  w.limit = limit;
  w.diverged = active != w.alive;
  return true;
}

void savePcs(Warp &w, u32 lanes, u32 pc) {
  for (u32 m = lanes; m; m &= m - 1)
    w.pcs[__builtin_ctz(m)] = pc;
}

void doCall(Warp &w, const Op &o, u32 lanes) {
  CallState &calls = *w.calls;
  const Code &callee = *w.block->launch->program->codes[o.target];
  const Code &caller = *w.code;
  int first = __builtin_ctz(lanes);
  u32 depth = calls.depth[first] + 1;
  if (depth > 1000)
    w.fault(FaultKind::StackOverflow, "calls are nested more than 1000 deep",
            first);
  Frame *frame = frameFor(w, depth, callee);
  Frame *from = calls.current[first];
  const u32 *ext = &caller.ext[o.ext];
  for (u32 p = 0; p < o.nExt; ++p) {
    u32 stride = ext[2 * p + 1];
    for (u32 m = lanes; m; m &= m - 1) {
      u32 i = (u32)__builtin_ctz(m);
      memcpy(frame->regs + callee.params[p].offset + i * stride,
             w.regs + ext[2 * p] + i * stride, stride);
    }
  }
  for (u32 m = lanes; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    calls.stack[i].push_back({from, w.pc + 1});
    calls.current[i] = frame;
    calls.depth[i] = depth;
    calls.localTop[i] += caller.localBytes;
    if (calls.localTop[i] + callee.localBytes > w.localStride)
      w.fault(FaultKind::StackOverflow,
              "local memory of " + std::to_string(w.localStride) +
                  " bytes is exhausted in the call of '" + callee.name + "'",
              i);
    w.pcs[i] = 0;
  }
}

void doReturn(Warp &w, u32 lanes) {
  CallState &calls = *w.calls;
  const Code &callee = *w.code;
  for (u32 m = lanes; m; m &= m - 1) {
    u32 i = (u32)__builtin_ctz(m);
    CallState::Entry entry = calls.stack[i].back();
    calls.stack[i].pop_back();
    const Code &caller = *entry.frame->code;
    const Op &call = caller.ops[entry.returnPc - 1];
    const u32 *ext = &caller.ext[call.ext + 2 * call.nExt];
    for (u32 r = 0; r < call.size; ++r) {
      u32 stride = ext[2 * r + 1];
      memcpy(entry.frame->regs + ext[2 * r] + i * stride,
             w.regs + callee.rets[r].offset + i * stride, stride);
    }
    calls.current[i] = entry.frame;
    calls.depth[i] -= 1;
    calls.localTop[i] -= caller.localBytes;
    w.pcs[i] = entry.returnPc;
  }
}

void endLanes(Warp &w, u32 lanes) {
  w.alive &= ~lanes;
  // Those that wait for the ended ones at a warp barrier may go on.
  for (u32 m = w.warpWait; m; m &= m - 1) {
    u32 members = w.warpMask[__builtin_ctz(m)];
    if ((members & w.alive & ~w.warpWait) == 0) {
      w.blocked &= ~(members & w.warpWait);
      w.warpWait &= ~members;
      m &= w.warpWait | (m & -m);
    }
  }
  // Likewise at a collective: it is tried again.
  w.blocked &= ~w.collectiveWait;
  w.collectiveWait = 0;
}

Stop runWarp(Warp &w, u64 share, u64 &steps) {
  if (w.diverged || !w.active || (w.active & w.blocked)) {
    if (!regroup(w))
      return Stop::Blocked;
  }
  const u64 end = share;
  u64 count = 0;
  auto leave = [&](Stop stop) {
    steps += count;
    return stop;
  };
  for (;;) {
    const Op &o = w.code->ops[w.pc];
    w.op = &o;
    u32 m = w.active;
    if (o.pred != noReg) {
      u32 p = *w.reg<u32>(o.pred);
      m &= o.predNegated ? ~p : p;
    }
    ++count;
    switch (o.flow) {
    case Flow::Plain:
      w.mask = m;
      if (m)
        o.fn(w, o);
      ++w.pc;
      break;
    case Flow::Yield:
      w.mask = m;
      w.yielded = false;
      if (m)
        o.fn(w, o);
      ++w.pc;
      if (w.yielded) {
        if (w.diverged) {
          savePcs(w, w.active, w.pc);
          regroup(w, true);
        }
        return leave(Stop::Yield);
      }
      break;
    case Flow::Branch:
      if (m == w.active) {
        w.pc = o.target;
      } else if (m == 0) {
        ++w.pc;
      } else {
        savePcs(w, w.active & ~m, w.pc + 1);
        savePcs(w, m, o.target);
        regroup(w);
        if (count >= end)
          return leave(Stop::Share);
        continue;
      }
      break;
    case Flow::IndexedBranch: {
      if (m == 0) {
        ++w.pc;
        break;
      }
      w.mask = m;
      const u32 *index = w.reg<u32>(o.a);
      savePcs(w, w.active & ~m, w.pc + 1);
      for (u32 left = m; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        if (index[i] >= o.nExt)
          w.fault(FaultKind::BadOperand,
                  "brx.idx with index " + std::to_string(index[i]) +
                      " into a table of " + std::to_string(o.nExt),
                  i);
        w.pcs[i] = w.code->ext[o.ext + index[i]];
      }
      regroup(w);
      continue;
    }
    case Flow::Call:
      if (m == 0) {
        ++w.pc;
        break;
      }
      w.mask = m;
      savePcs(w, w.active & ~m, w.pc + 1);
      doCall(w, o, m);
      regroup(w);
      continue;
    case Flow::Return:
    case Flow::Exit: {
      if (m == 0) {
        ++w.pc;
        break;
      }
      w.mask = m;
      savePcs(w, w.active & ~m, w.pc + 1);
      bool inFunction = o.flow == Flow::Return && w.calls &&
                        w.calls->depth[__builtin_ctz(m)] > 0;
      if (inFunction) {
        doReturn(w, m);
      } else {
        endLanes(w, m);
        if (!w.alive)
          return leave(Stop::Done);
      }
      if (!regroup(w)) {
        w.active = 0;
        return leave(Stop::Blocked);
      }
      if (count >= end)
        return leave(Stop::Share);
      continue;
    }
    case Flow::Barrier:
      w.mask = m;
      if (m)
        o.fn(w, o);
      savePcs(w, w.active, w.pc + 1);
      ++w.pc;
      if (w.active & w.blocked) {
        w.diverged = true;
        if (!regroup(w)) {
          w.active = 0;
          return leave(Stop::Blocked);
        }
        continue;
      }
      // A warp barrier may have freed lanes that waited.
      if (w.diverged) {
        regroup(w);
        if (count >= end)
          return leave(Stop::Share);
        continue;
      }
      break;
    case Flow::Collective: {
      if (m == 0) {
        ++w.pc;
        break;
      }
      w.mask = m;
      u32 members = 0;
      if (o.c == noReg) {
        members = ~0u;
      } else {
        const u32 *r = w.reg<u32>(o.c);
        for (u32 left = m; left; left &= left - 1) {
          int i = __builtin_ctz(left);
          if (!(r[i] >> i & 1))
            w.fault(FaultKind::InactiveLane,
                    "the member mask does not name the lane that executes", i);
          members |= r[i];
        }
      }
      u32 missing = members & w.alive & ~m;
      if (missing) {
        // Whoever already waits here joins in.
        u32 joined = 0;
        for (u32 left = missing & w.collectiveWait; left; left &= left - 1) {
          int i = __builtin_ctz(left);
          if (w.pcs[i] == w.pc &&
              (!w.calls ||
               w.calls->current[i] == w.calls->current[__builtin_ctz(m)]))
            joined |= 1u << i;
        }
        w.blocked &= ~joined;
        w.collectiveWait &= ~joined;
        m |= joined;
        w.mask = m;
        w.active |= joined;
        missing &= ~joined;
      }
      if (missing) {
        savePcs(w, w.active & ~m, w.pc + 1);
        savePcs(w, m, w.pc);
        w.blocked |= m;
        w.collectiveWait |= m;
        w.diverged = true;
        if (!regroup(w)) {
          w.active = 0;
          return leave(Stop::Blocked);
        }
        continue;
      }
      o.fn(w, o);
      w.synchronise();
      ++w.pc;
      if (w.diverged) {
        savePcs(w, w.active, w.pc);
        regroup(w);
        continue;
      }
      break;
    }
    }
    if (w.pc >= w.limit) {
      savePcs(w, w.active, w.pc);
      regroup(w);
    }
    if (count >= end) {
      if (w.diverged) {
        savePcs(w, w.active, w.pc);
        regroup(w, true);
      }
      return leave(Stop::Share);
    }
  }
}

/// A block with the memory that it needs; used again for the next block.
class BlockRunner {
public:
  BlockRunner(const LaunchInfo &launch, std::atomic<u64> &work)
      : launch(launch), work(work) {
    u32 warps = launch.warps;
    const Code &entry = *launch.entry;
    block.launch = &launch;
    block.sharedBytes = launch.sharedBytes;
    sharedStorage.resize(launch.sharedBytes + 2048);
    block.shared = (u8 *)(((u64)sharedStorage.data() + 1023) & ~1023ull);
    if (launch.checks.init || launch.checks.sharedRace)
      block.shadow = &shadow;
    frameBytes = (entry.frameBytes + 63) & ~63u;
    regStorage.reset(new u8[(size_t)frameBytes * warps + 64]);
    u8 *regs = (u8 *)(((u64)regStorage.get() + 63) & ~63ull);
    localStride = (entry.reachableLocalBytes + 15) & ~15u;
    localStorage.reset(new u8[(size_t)localStride * 32 * warps + 16]);
    u8 *local = (u8 *)(((u64)localStorage.get() + 15) & ~15ull);
    block.warps.resize(warps);
    for (u32 i = 0; i < warps; ++i) {
      Warp &w = block.warps[i];
      w.id = i;
      w.block = &block;
      w.regs = regs + (size_t)frameBytes * i;
      rootRegs.push_back(w.regs);
      w.local = local + (size_t)localStride * 32 * i;
      w.localStride = localStride;
    }
    order.resize(warps);
    std::iota(order.begin(), order.end(), 0);
  }

  void start(u64 linear);
  /// Runs for about `budget` steps; true when the block has ended.
  bool resume(u64 budget);
  Block &state() { return block; }
  /// Whether the last resume() ended because every warp only asks again and
  /// again for what has not come.
  bool spins() const { return spinning; }
  [[noreturn]] void deadlock();

private:
  bool completeBarriers();
  bool completeBarrier(NamedBarrier &b, u32 id);

  const LaunchInfo &launch;
  std::atomic<u64> &work; // grows while any block of the launch gets on
  Block block;
  Shadow shadow;
  std::vector<u8> sharedStorage;
  std::unique_ptr<u8[]> regStorage, localStorage;
  std::vector<u8 *> rootRegs;
  std::vector<u32> order;
  u32 frameBytes = 0, localStride = 0;
  u64 idleRounds = 0;
  bool spinning = false;
};

void BlockRunner::start(u64 linear) {
  const LaunchInfo &l = launch;
  block.linear = linear;
  block.index[0] = (u32)(linear % l.grid[0]);
  block.index[1] = (u32)(linear / l.grid[0] % l.grid[1]);
  block.index[2] = (u32)(linear / l.grid[0] / l.grid[1]);
  for (NamedBarrier &b : block.barriers)
    b = NamedBarrier();
  block.tick = block.blockSync = 1;
  block.rng = l.schedule.seed * 0x9e3779b97f4a7c15ull + linear * 2 + 1;
  block.steps = 0;
  block.fenced = false;
  block.seen.clear();
  block.seenCount = 0;
  memset(block.shared, 0xc7, block.sharedBytes);
  if (block.shadow)
    shadow.reset(block.sharedBytes, l.granuleShift);
  idleRounds = 0;
  for (u32 i = 0; i < l.warps; ++i) {
    Warp &w = block.warps[i];
    u32 left = l.threads - i * 32;
    w.alive = left >= 32 ? ~0u : (1u << left) - 1;
    w.active = w.alive;
    w.mask = 0;
    w.blocked = w.warpWait = w.collectiveWait = 0;
    w.pc = 0;
    w.limit = ~0u;
    w.diverged = false;
    w.touched = false;
    w.syncStamp = 1;
    w.carry = 0;
    w.code = l.entry;
    w.regs = rootRegs[i];
    w.hit = Extent();
    w.op = nullptr;
    w.openCopies.clear();
    w.copyGroups.clear();
    memset(w.pcs, 0, sizeof w.pcs);
    fillFrame(w, *l.entry, w.regs);
    if (localStride)
      memset(w.local, 0xc7, (size_t)localStride * 32);
    if (l.entry->usesCalls) {
      w.calls = std::make_unique<CallState>();
      auto frame = std::make_unique<Frame>();
      frame->code = l.entry;
      frame->regs = w.regs;
      for (int lane = 0; lane < 32; ++lane)
        w.calls->current[lane] = frame.get();
      w.calls->frames[{0, l.entry->index}] = std::move(frame);
    }
  }
}

bool BlockRunner::completeBarrier(NamedBarrier &b, u32 id) {
  if (b.arrived == 0)
    return false;
  bool complete;
  if (b.expected) {
    complete = b.arrived >= b.expected;
    // The block's last warp may be part of one.
    if (b.arrived > b.expected) {
      Fault f;
      f.kind = FaultKind::BarrierDivergence;
      f.what = "barrier " + std::to_string(id) + " expects " +
               std::to_string(b.expected) + " threads, but " +
               std::to_string(b.arrived) + " have come";
      for (Warp &w : block.warps)
        if (b.waiting[w.id]) {
          f.code = w.code;
          f.op = w.barrierOp;
          f.warp = (int)w.id;
        }
      throw f;
    }
  } else {
    complete = true;
    for (Warp &w : block.warps)
      complete &= (w.alive & ~b.waiting[w.id]) == 0;
  }
  if (!complete)
    return false;
  for (Warp &w : block.warps) {
    u32 lanes = b.waiting[w.id];
    if (!lanes)
      continue;
    w.blocked &= ~lanes;
    const Op &o = *w.barrierOp;
    if (o.d == noReg)
      continue;
    for (u32 m = lanes; m; m &= m - 1) {
      int i = __builtin_ctz(m);
      u8 *regs = laneRegs(w, i);
      if (o.aux == 0) {
        ((u32 *)(regs + o.d))[i] = b.votes;
        continue;
      }
      bool v = o.aux == 1 ? b.all : b.any;
      u32 *p = (u32 *)(regs + o.d);
      *p = (*p & ~(1u << i)) | (u32)v << i;
    }
  }
  b = NamedBarrier();
  newTick(block, nullptr);
  for (Warp &w : block.warps)
    w.touched = false;
  return true;
}

bool BlockRunner::completeBarriers() {
  bool any = false;
  for (u32 id = 0; id < 16; ++id)
    any |= completeBarrier(block.barriers[id], id);
  return any;
}

void BlockRunner::deadlock() {
  Fault f;
  f.kind = FaultKind::Deadlock;
  f.what = "no warp of the block can go on:";
  for (Warp &w : block.warps) {
    if (!w.alive)
      continue;
    if (!f.op) {
      f.code = w.code;
      f.op = w.op;
      f.warp = (int)w.id;
    }
    f.what += "\n    warp " + std::to_string(w.id) + ": ";
    for (u32 id = 0; id < 16; ++id)
      if (block.barriers[id].waiting[w.id])
        f.what += std::to_string(popcount(block.barriers[id].waiting[w.id])) +
                  " threads wait at barrier " + std::to_string(id) +
                  " (PTX line " +
                  std::to_string(w.barrierOp ? w.barrierOp->line : 0) + ", " +
                  std::to_string(block.barriers[id].arrived) + " of " +
                  (block.barriers[id].expected
                       ? std::to_string(block.barriers[id].expected)
                       : std::string("all")) +
                  " have come) ";
    if (w.collectiveWait)
      f.what += std::to_string(popcount(w.collectiveWait)) +
                " threads wait at a collective for lanes that do not come "
                "(PTX line " +
                std::to_string(w.op ? w.op->line : 0) + ") ";
    if (w.warpWait)
      f.what += std::to_string(popcount(w.warpWait)) +
                " threads wait at bar.warp.sync ";
    u32 running = w.alive & ~w.blocked;
    if (running)
      f.what += std::to_string(popcount(running)) +
                " threads spin near PTX line " +
                std::to_string(w.op ? w.op->line : 0);
  }
  throw f;
}

bool BlockRunner::resume(u64 budget) {
  const Schedule &schedule = launch.schedule;
  const u64 limit = block.steps + budget;
  for (;;) {
    if (schedule.order == Schedule::Random)
      for (u32 i = (u32)order.size(); i > 1; --i)
        std::swap(order[i - 1], order[block.random() % i]);
    else if (schedule.order == Schedule::Reverse)
      for (u32 i = 0; i < order.size(); ++i)
        order[i] = (u32)order.size() - 1 - i;
    bool live = false, ran = false, worked = false;
    for (u32 index : order) {
      Warp &w = block.warps[index];
      if (!w.alive)
        continue;
      live = true;
      if (!(w.alive & ~w.blocked))
        continue;
      ran = true;
      u64 share = schedule.order == Schedule::Random ? 1 + block.random() % 256
                                                     : 100000;
      Stop stop = runWarp(w, share, block.steps);
      if (stop != Stop::Yield) {
        worked = true;
        work.fetch_add(1, std::memory_order_relaxed);
      }
      if (stop == Stop::Done) {
        if (!w.openCopies.empty() || !w.copyGroups.empty())
          w.fault(FaultKind::AsyncInFlight,
                  "a warp ends while its cp.async copies are in flight: "
                  "wait for them first");
      }
      if (stop == Stop::Blocked || stop == Stop::Done || block.barriersMoved) {
        block.barriersMoved = false;
        completeBarriers();
      }
    }
    if (!live)
      return true;
    if (!ran && !completeBarriers()) {
      bool any = false;
      for (Warp &w : block.warps)
        any |= (w.alive & ~w.blocked) != 0;
      if (!any)
        deadlock();
    }
    if (launch.maxSteps && block.steps > launch.maxSteps) {
      Fault f;
      f.kind = FaultKind::StepLimit;
      for (Warp &w : block.warps)
        if (w.alive & ~w.blocked) {
          f.code = w.code;
          f.op = w.op;
          f.warp = (int)w.id;
        }
      f.what = "the block has executed " + std::to_string(block.steps) +
               " warp instructions and still runs; if that is meant, raise "
               "TDS_SIM_MAX_STEPS";
      throw f;
    }
    // A block in which every warp asks to stand back waits for another block.
    idleRounds = worked ? 0 : idleRounds + 1;
    if (block.steps >= limit || idleRounds >= 4) {
      spinning = idleRounds >= 4;
      idleRounds = 0;
      return false;
    }
  }
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

struct Shared {
  std::atomic<u64> work{0}; // grows while any block gets on
  std::atomic<u64> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
};

void worker(const LaunchInfo &launch, Shared &shared, Report &report) {
  // Handlers rely on the default rounding and on subnormals being kept.
  fenv_t environment;
  fegetenv(&environment);
  fesetenv(FE_DFL_ENV);
#if defined(__x86_64__)
  unsigned control = _mm_getcsr();
  _mm_setcsr(0x1f80);
#endif
  const u64 blocks = (u64)launch.grid[0] * launch.grid[1] * launch.grid[2];
  // How many blocks may be under way at once: what a device would hold.
  const size_t resident =
      132 * std::max<u32>(1, 2048 / std::max(32u, launch.threads));
  std::vector<std::unique_ptr<BlockRunner>> running, idle;
  bool exhausted = false;
  size_t turn = 0;
  u64 spins = 0, lastWork = 0;
  auto spinStart = std::chrono::steady_clock::now();
  while (!shared.failed) {
    BlockRunner *current = nullptr;
    try {
      if (!exhausted && running.size() < resident) {
        u64 index = shared.next++;
        if (index >= blocks) {
          exhausted = true;
        } else {
          if (launch.schedule.order == Schedule::Reverse)
            index = blocks - 1 - index;
          if (idle.empty())
            idle.push_back(std::make_unique<BlockRunner>(launch, shared.work));
          running.push_back(std::move(idle.back()));
          idle.pop_back();
          running.back()->start(index);
          turn = running.size() - 1;
        }
      }
      if (running.empty())
        break;
      if (turn >= running.size())
        turn = 0;
      current = running[turn].get();
      bool ended =
          current->resume(running.size() > 1 || exhausted ? 200000 : 1000000);
      // All blocks spin and nobody has got on for seconds: nobody will.
      if (!current->spins() || shared.work != lastWork) {
        lastWork = shared.work;
        spins = 0;
        spinStart = std::chrono::steady_clock::now();
      } else if (++spins > 20000 && exhausted &&
                 std::chrono::steady_clock::now() - spinStart >
                     std::chrono::seconds(3)) {
        current->deadlock();
      }
      if (ended) {
        idle.push_back(std::move(running[turn]));
        running.erase(running.begin() + (long)turn);
      } else {
        ++turn;
      }
    } catch (const Fault &fault) {
      std::lock_guard<std::mutex> lock(shared.mutex);
      if (!shared.failed) {
        describe(launch, current->state(), fault, report);
        shared.failed = true;
      }
    } catch (const std::exception &e) {
      std::lock_guard<std::mutex> lock(shared.mutex);
      if (!shared.failed) {
        report.kernel = launch.entry->name;
        report.kind = FaultKind::BadLaunch;
        report.message =
            std::string("the simulator ran out of resources: ") + e.what();
        report.text = report.message;
        shared.failed = true;
      }
    }
  }
#if defined(__x86_64__)
  _mm_setcsr(control);
#endif
  fesetenv(&environment);
}

} // namespace

bool runLaunch(const LaunchInfo &launch, u32 threads, Report &report) {
  Shared shared;
  const u64 blocks = (u64)launch.grid[0] * launch.grid[1] * launch.grid[2];
  u32 n = (u32)std::min<u64>(std::max(1u, threads), blocks);
  std::vector<std::thread> pool;
  for (u32 i = 1; i < n; ++i)
    pool.emplace_back([&] { worker(launch, shared, report); });
  worker(launch, shared, report);
  for (std::thread &t : pool)
    t.join();
  return !shared.failed;
}

} // namespace tds::sim
