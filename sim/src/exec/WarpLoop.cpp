//===- WarpLoop.cpp - advances one warp -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Note: divergence. Lanes have their own pcs only while they differ. The
// lanes in the deepest call, and among those the ones at the lowest pc, run
// first; when they come to the pc of others, they merge. That reconverges at
// the earliest point that has a meaning for every structured program. A group
// that spins is overtaken when its share is used up, so a lane may wait for
// another lane of its warp.
//
//===----------------------------------------------------------------------===//

#include "check/Shadow.h"
#include "exec/BlockRunner.h"
#include "exec/Lanes.h"
#include "exec/Wgmma.h"

#include <algorithm>

namespace tds::sim {

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

} // namespace

Stop runWarp(Warp &w, u64 share, u64 &steps) {
  if (w.diverged || !w.active || (w.active & w.blocked)) {
    if (!regroup(w))
      return Stop::Blocked;
  }
  const u64 end = share;
  const bool watched = w.block->launch->entry->usesWgmma;
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
    if (watched && m &&
        (o.flow == Flow::Plain || o.flow == Flow::Yield ||
         o.flow == Flow::Collective)) {
      w.mask = m;
      if (!watchRegisters(w, o)) {
        ++w.pc;
        if (w.pc >= w.limit) {
          savePcs(w, w.active, w.pc);
          regroup(w);
        }
        continue;
      }
    }
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

} // namespace tds::sim
