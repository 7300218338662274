//===- CopyAsync.cpp - cp.async ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies are done at the last or the first moment that the program allows, by
// the schedule: lazily when a wait demands them, eagerly when they are issued,
// or either by chance. A missing wait shows under the lazy schedule (the data
// are not there), a buffer reused too early under the eager one.
//
//===----------------------------------------------------------------------===//

#include "decode/Registry.h"
#include "exec/Access.h"
#include "exec/Async.h"
#include "exec/Mbarrier.h"

namespace tds::sim {

namespace {

void perform(Warp &w, const Warp::Copy &c) {
  u8 *to = w.block->shared + c.dst;
  if (w.block->checked())
    checkSharedLane(w, c.lane, c.dst, c.bytes, true);
  if (c.fromSource < c.bytes)
    memset(to, 0, c.bytes);
  if (c.fromSource)
    memcpy(to, c.src, c.fromSource);
}

void copyAsync(Warp &w, const Op &o) {
  u64 dst[32], src[32];
  laneAddresses(w, o.d, o.aux & 3, (s64)(s32)w.code->ext[o.ext], dst);
  laneAddresses(w, o.a, o.aux >> 2 & 3, o.imm, src);
  u32 shared[32];
  for (int i = 0; i < 32; ++i) {
    if (dst[i] >> 32 && (w.mask >> i & 1))
      w.fault(FaultKind::OutOfBounds,
              "cp.async into what is not a shared address", i);
    shared[i] = (u32)dst[i];
  }
  checkSharedBounds(w, shared, o.size, o.size, "cp.async");
  // Addresses are checked when the copy is issued, whenever it is done.
  u8 *from[32];
  const bool whole = o.b == noReg;
  if (whole)
    resolve(w, Space::Global, src, o.size, o.size, Use::Read, from);
  for (u32 m = w.mask; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    u32 take = o.size;
    if (o.b != noReg) {
      if (o.aux2)
        take = *w.reg<u32>(o.b) >> i & 1 ? 0 : o.size;
      else
        take = w.reg<u32>(o.b)[i];
      if (take > o.size)
        w.fault(FaultKind::BadOperand,
                "cp.async with a source size of " + std::to_string(take) +
                    " for " + std::to_string(o.size) + " bytes",
                i);
    }
    if (!whole && src[i] & (o.size - 1u) && take)
      w.fault(FaultKind::Misaligned,
              "cp.async from an address that is not a multiple of " +
                  std::to_string(o.size),
              i);
    if (!whole && take)
      from[i] = resolveGlobal(w, i, src[i], take, 1, Use::Read);
    Warp::Copy c{shared[i], from[i], (u8)o.size, (u8)take, (u8)i};
    if (runsAtOnce(*w.block)) {
      perform(w, c);
      c.bytes = 0;
    }
    w.openCopies.push_back(c);
  }
}

void commit(Warp &w, const Op &) {
  w.copyGroups.push_back(std::move(w.openCopies));
  w.openCopies.clear();
}

void completeOldest(Warp &w, size_t keep) {
  while (w.copyGroups.size() > keep) {
    for (const Warp::Copy &c : w.copyGroups.front())
      if (c.bytes)
        perform(w, c);
    w.copyGroups.erase(w.copyGroups.begin());
    w.touched = true;
  }
}

void waitGroup(Warp &w, const Op &o) {
  if (o.imm < 0)
    w.fault(FaultKind::BadOperand,
            "cp.async.wait_group with a negative number");
  completeOldest(w, (size_t)o.imm);
}
void waitAll(Warp &w, const Op &o) {
  commit(w, o);
  completeOldest(w, 0);
}

} // namespace

void finishCopies(Warp &w, int lane) {
  auto finish = [&](std::vector<Warp::Copy> &copies) {
    size_t kept = 0;
    for (const Warp::Copy &c : copies) {
      if (c.lane != lane)
        copies[kept++] = c;
      else if (c.bytes)
        perform(w, c);
    }
    copies.resize(kept);
  };
  finish(w.openCopies);
  for (auto &group : w.copyGroups)
    finish(group);
}

void registerCopyAsync(Registry &r) {
  for (const char *cache : {".ca", ".cg"})
    for (const char *space : {".shared", ".shared::cta"})
      for (const char *hint : {"", ".L2::cache_hint"})
        for (const char *prefetch :
             {"", ".L2::64B", ".L2::128B", ".L2::256B"}) {
          OpInfo info;
          info.form = Form::CopyAsync;
          info.fn = copyAsync;
          info.aux2 = (u8)((*hint ? 1 : 0) | (cache[2] == 'g' ? 2 : 0));
          info.minPtx = *hint || *prefetch ? 74 : 70;
          info.minSm = 80;
          r.add(std::string("cp.async") + cache + space + ".global" + hint +
                    prefetch,
                info);
        }
  OpInfo info;
  info.form = Form::Nothing;
  info.minPtx = 70;
  info.minSm = 80;
  info.fn = commit;
  r.add("cp.async.commit_group", info);
  info.fn = waitAll;
  r.add("cp.async.wait_all", info);
  info.form = Form::Immediate;
  info.fn = waitGroup;
  r.add("cp.async.wait_group", info);
  registerMbarrier(r);
}

} // namespace tds::sim
