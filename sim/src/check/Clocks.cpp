//===- Clocks.cpp - happens-before between warps and copies -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "check/Clocks.h"

#include <algorithm>
#include <cstdio>

namespace tds::sim {

namespace {
// A cell: the last write (stamp, agent + 1), the agents that have read since (a
// mask of some words), and each one's last read. A stamp is the tick, whether
// several lanes took part, and the last lane.
constexpr u32 writeStamp = 0, writeAgent = 1, readMask = 2;
constexpr u32 manyLanes = 32;
constexpr u32 maxTick = (1u << 26) - 8;
inline u32 stampOf(u32 tick, int lane) { return tick << 6 | (u32)lane; }
inline u32 tickOf(u32 stamp) { return stamp >> 6; }

void joinInto(std::vector<u32> &a, const std::vector<u32> &b) {
  if (a.size() < b.size())
    a.resize(b.size());
  for (size_t i = 0; i < b.size(); ++i)
    a[i] = std::max(a[i], b[i]);
}
} // namespace

void View::join(const View &other) {
  joinInto(seen, other.seen);
  joinInto(proxied, other.proxied);
}

void Clocks::reset(Cluster &c, u32 warpCount, u32 sharedBytes,
                   u32 granuleShift) {
  cluster = &c;
  blockWarps = warpCount;
  warps = warpCount * (u32)c.blocks.size();
  agents = 2 * warps;
  maskWords = (agents + 31) / 32;
  shift = granuleShift;
  stride = readMask + maskWords + agents;
  granules = (sharedBytes >> shift) + 5;
  tick = 1;
  views.assign(warps, View());
  for (View &v : views) {
    v.seen.assign(agents, 0);
    v.proxied.assign(agents, 0);
  }
  own.assign(warps, 1);
  cells.assign((size_t)granules * c.blocks.size() * stride, 0);
}

u32 Clocks::next() {
  if (++tick < maxTick)
    return tick;
  // Starting over makes all that has been ordered: races across this point
  // stay unseen, none is made up.
  for (size_t i = 0; i < cells.size(); i += stride) {
    cells[i + writeStamp] &= 63;
    std::fill_n(&cells[i + readMask], maskWords, 0u);
  }
  for (View &v : views) {
    v.seen.assign(agents, 0);
    v.proxied.assign(agents, 0);
  }
  own.assign(warps, 1);
  for (Block *block : cluster->blocks)
    for (Warp &w : block->warps)
      w.syncStamp = 1;
  return tick = 2;
}

void Clocks::warpSync(Warp &w) {
  u32 now = next();
  own[w.agent] = now;
  w.syncStamp = now;
}

void Clocks::release(const Warp &w, View &into) {
  into.join(views[w.agent]);
  into.seen[w.agent] = std::max(into.seen[w.agent], own[w.agent]);
  own[w.agent] = next();
}

void Clocks::acquire(Warp &w, const View &from) {
  views[w.agent].join(from);
  // What the warp's own lanes had released is ordered for all of them.
  if (w.agent < from.seen.size())
    w.syncStamp = std::max(w.syncStamp, from.seen[w.agent] + 1);
}

void Clocks::meet(const std::vector<Warp *> &waiting, View &arrived) {
  for (Warp *w : waiting)
    release(*w, arrived);
  u32 now = next();
  for (Warp *w : waiting) {
    views[w->agent].join(arrived);
    own[w->agent] = now;
    w->syncStamp = now;
  }
}

void Clocks::proxyFence(const Warp &w) {
  View &v = views[w.agent];
  joinInto(v.proxied, v.seen);
  v.proxied[w.agent] = own[w.agent];
  own[w.agent] = next();
}

AsyncStamp Clocks::issue(const Warp &w) {
  AsyncStamp s;
  s.agent = warps + w.agent;
  s.view = views[w.agent];
  s.view.seen[w.agent] = own[w.agent];
  own[w.agent] = next();
  s.tick = next();
  return s;
}

void Clocks::complete(const AsyncStamp &s, View &into) {
  into.join(s.view);
  into.seen[s.agent] = std::max(into.seen[s.agent], s.tick);
}

void Clocks::completeFor(const Warp &w, const AsyncStamp &s) {
  View &v = views[w.agent];
  v.seen[s.agent] = std::max(v.seen[s.agent], s.tick);
}

std::string Clocks::name(u32 agent, u32 lane) const {
  const u32 warp = agent % warps % blockWarps;
  const std::string block =
      warps == blockWarps ? ""
                          : " of the block of rank " +
                                std::to_string(agent % warps / blockWarps);
  if (agent >= warps)
    return "an asynchronous operation of warp " + std::to_string(warp) + block;
  return "thread " + std::to_string(warp * 32 + lane) + " (warp " +
         std::to_string(warp) + ", lane " + std::to_string(lane) + ")" + block;
}

void Clocks::race(Warp &w, int lane, u32 address, const char *mine,
                  const char *theirs, u32 agent, u32 lane2, bool async) const {
  char text[32];
  snprintf(text, sizeof text, "0x%x", address);
  std::string what = std::string(async ? "asynchronous " : "") + mine +
                     " of shared address " + text + " races with the " +
                     theirs + " by " + name(agent, lane2);
  if (!async && agent == w.agent)
    what += ": no __syncwarp or barrier between them";
  else if (agent >= warps)
    what += ": its completion was not waited for";
  else
    what += ": no barrier between them";
  w.fault(FaultKind::SharedRace, what, lane);
}

void Clocks::access(Warp &w, int lane, const Block &target, u32 address,
                    u32 bytes, bool write, const AsyncStamp *async) {
  const CheckFlags &checks = w.block->launch->checks;
  const View &view = async ? async->view : views[w.agent];
  const u32 agent = async ? async->agent : w.agent;
  const u32 now = async ? async->tick : own[w.agent];
  const u32 me = stampOf(now, lane);
  w.touched = true;
  // Accesses of the same warp: other lanes since its last synchronisation.
  auto sameWarp = [&](u32 stamp) {
    return tickOf(stamp) >= w.syncStamp &&
           ((stamp & manyLanes) || (int)(stamp & 31) != lane);
  };
  auto unordered = [&](u32 who, u32 stamp) {
    if (!async && who == w.agent)
      return sameWarp(stamp);
    // An operation's own agent: another, unfinished operation.
    return view.seen[who] < tickOf(stamp);
  };
  const u32 step = 1u << shift;
  for (u32 at = address & ~(step - 1); at < address + bytes; at += step) {
    u32 *c = cell(target, at);
    if (c[writeAgent] == 0) {
      if (!write && checks.init) {
        char text[128];
        snprintf(text, sizeof text,
                 "%sread of shared address 0x%x, which nothing has written",
                 async ? "asynchronous " : "", at);
        w.fault(FaultKind::UninitialisedShared, text, lane);
      }
    } else if (checks.sharedRace) {
      u32 who = c[writeAgent] - 1, stamp = c[writeStamp];
      // The rows of one operation do not race with each other.
      bool mine = async && who == agent && tickOf(stamp) == now;
      if (!mine && unordered(who, stamp))
        race(w, lane, at, write ? "write" : "read", "write", who, stamp & 31,
             async);
      if (async && !write && who < warps && view.proxied[who] < tickOf(stamp)) {
        char text[40];
        snprintf(text, sizeof text, "0x%x", at);
        w.fault(FaultKind::MissingProxyFence,
                std::string("asynchronous read of shared address ") + text +
                    ", which " + name(who, stamp & 31) +
                    " has written: no fence.proxy.async between them",
                lane);
      }
    }
    u32 *const mask = c + readMask, *const stamps = mask + maskWords;
    if (!write) {
      u32 old = mask[agent / 32] >> agent % 32 & 1 ? stamps[agent] : 0;
      u32 stamp = me;
      if (old && !async && tickOf(old) >= w.syncStamp &&
          ((old & manyLanes) || (old & 31) != (u32)lane))
        stamp |= manyLanes;
      stamps[agent] = stamp;
      mask[agent / 32] |= 1u << agent % 32;
      continue;
    }
    if (checks.sharedRace)
      for (u32 word = 0; word < maskWords; ++word)
        for (u32 m = mask[word]; m; m &= m - 1) {
          u32 who = word * 32 + (u32)__builtin_ctz(m), stamp = stamps[who];
          bool mine = async && who == agent && tickOf(stamp) == now;
          if (!mine && unordered(who, stamp))
            race(w, lane, at, "write", "read", who, stamp & 31, async);
        }
    std::fill_n(mask, maskWords, 0u);
    c[writeStamp] = me;
    c[writeAgent] = agent + 1;
  }
}

void Clocks::atomic(Warp &w, int lane, const Block &target, u32 address,
                    u32 bytes) {
  const CheckFlags &checks = w.block->launch->checks;
  const u32 step = 1u << shift;
  for (u32 at = address & ~(step - 1); at < address + bytes; at += step) {
    u32 *c = cell(target, at);
    char text[128];
    if (c[writeAgent] == 0) {
      if (!checks.init)
        continue;
      snprintf(text, sizeof text,
               "atomic access to shared address 0x%x, which nothing has "
               "written",
               at);
      w.fault(FaultKind::UninitialisedShared, text, lane);
    }
    u32 who = c[writeAgent] - 1, stamp = c[writeStamp];
    bool bad = who == w.agent
                   ? tickOf(stamp) >= w.syncStamp && (int)(stamp & 31) != lane
                   : views[w.agent].seen[who] < tickOf(stamp);
    if (bad && checks.sharedRace)
      race(w, lane, at, "atomic access", "write", who, stamp & 31, false);
  }
}

} // namespace tds::sim
