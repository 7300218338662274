//===- StoreAsync.cpp - st.async and red.async ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX manual, "st.async" and "red.async": registers of a lane go to the shared
// memory of a block of the cluster, and the bytes are counted at an mbarrier
// there. Code::ext holds the mbarrier's address (register, form, low and high
// word of the offset), then the registers.
//
//===----------------------------------------------------------------------===//

#include "decode/Registry.h"
#include "exec/Access.h"
#include "exec/Async.h"
#include "exec/Cluster.h"

#include <algorithm>

namespace tds::sim {

namespace {

enum class Reduce : u8 {
  None,
  Add,
  Min,
  Max,
  MinS,
  MaxS,
  Inc,
  Dec,
  And,
  Or,
  Xor
};

u64 combine(Reduce kind, u64 old, u64 v, u32 bytes) {
  const u32 a = (u32)old, b = (u32)v;
  switch (kind) {
  case Reduce::None:
    return v;
  case Reduce::Add:
    return bytes == 8 ? old + v : (u64)(u32)(a + b);
  case Reduce::Min:
    return std::min(a, b);
  case Reduce::Max:
    return std::max(a, b);
  case Reduce::MinS:
    return (u32)std::min((s32)a, (s32)b);
  case Reduce::MaxS:
    return (u32)std::max((s32)a, (s32)b);
  case Reduce::Inc:
    return a >= b ? 0 : a + 1;
  case Reduce::Dec:
    return a == 0 || a > b ? b : a - 1;
  case Reduce::And:
    return a & b;
  case Reduce::Or:
    return a | b;
  case Reduce::Xor:
    return a ^ b;
  }
  return v;
}

/// aux2: what to combine by; size: bytes of an element.
void storeAsync(Warp &w, const Op &o) {
  const auto kind = (Reduce)o.aux2;
  const u32 *ext = &w.code->ext[o.ext];
  const u32 elements = o.nExt - 4u, element = o.size,
            bytes = element * elements;
  u64 address[32], barrier[32];
  laneAddresses(w, o.a, o.aux, o.imm, address);
  laneAddresses(w, ext[0], ext[1], (s64)((u64)ext[2] | (u64)ext[3] << 32),
                barrier);
  for (u32 m = w.mask; m; m &= m - 1) {
    int lane = __builtin_ctz(m);
    const ClusterPlace to = clusterPlace(w, lane, address[lane], bytes, bytes,
                                         "asynchronous store");
    const ClusterPlace at =
        clusterPlace(w, lane, barrier[lane], 8, 8, "mbarrier");
    if (to.block != at.block)
      w.fault(FaultKind::BadOperand,
              "the mbarrier lies in another block's shared memory than what "
              "is written",
              lane);
    u64 values[4];
    for (u32 e = 0; e < elements; ++e)
      values[e] = element == 8 ? w.reg<u64>(ext[4 + e])[lane]
                               : w.reg<u32>(ext[4 + e])[lane];
    if (kind != Reduce::None && to.block->clocks)
      to.block->clocks->atomic(w, lane, *to.block, to.at, bytes);
    AsyncTask t;
    t.warp = &w;
    t.op = &o;
    t.code = w.code;
    t.lane = lane;
    t.barrier = at.at;
    t.bytes = bytes;
    if (w.block->clocks)
      t.stamp = w.block->clocks->issue(w);
    t.run = [=,
             list = std::vector<u64>(values, values + elements)](AsyncTask &t) {
      if (kind == Reduce::None && to.block->clocks)
        to.block->clocks->access(*t.warp, t.lane, *to.block, to.at, bytes, true,
                                 &t.stamp);
      for (u32 e = 0; e < elements; ++e) {
        u8 *place = to.pointer() + e * element;
        u64 old = 0;
        memcpy(&old, place, element);
        old = combine(kind, old, list[e], element);
        memcpy(place, &old, element);
      }
    };
    to.block->async->submit(*to.block, std::move(t));
  }
}

void add(Registry &r, const std::string &name, Ty type, u8 count, Reduce kind,
         Space space) {
  OpInfo info;
  info.form = Form::StoreAsync;
  info.fn = storeAsync;
  info.space = space;
  info.d = type;
  info.counts[0] = count;
  info.aux2 = (u8)kind;
  info.size = (u16)bytesOf(type);
  info.minPtx = 81;
  info.minSm = 90;
  r.add(name, info);
}

} // namespace

void registerStoreAsync(Registry &r) {
  const std::string complete = ".mbarrier::complete_tx::bytes";
  struct Operation {
    const char *name;
    Ty type;
    Reduce kind;
  };
  const Operation operations[] = {
      {"add", Ty::U32, Reduce::Add},  {"add", Ty::S32, Reduce::Add},
      {"add", Ty::U64, Reduce::Add},  {"min", Ty::U32, Reduce::Min},
      {"min", Ty::S32, Reduce::MinS}, {"max", Ty::U32, Reduce::Max},
      {"max", Ty::S32, Reduce::MaxS}, {"inc", Ty::U32, Reduce::Inc},
      {"dec", Ty::U32, Reduce::Dec},  {"and", Ty::B32, Reduce::And},
      {"or", Ty::B32, Reduce::Or},    {"xor", Ty::B32, Reduce::Xor}};
  for (Space space : {Space::Generic, Space::Cluster}) {
    const std::string where = space == Space::Cluster ? ".shared::cluster" : "";
    for (const char *weak : {"", ".weak"})
      for (Ty type : {Ty::B32, Ty::B64, Ty::U32, Ty::U64, Ty::S32, Ty::S64,
                      Ty::F32, Ty::F64})
        for (u8 count : {1, 2, 4})
          if (count * bytesOf(type) <= 16)
            add(r,
                "st.async" + (weak + where) + complete +
                    (count > 1 ? ".v" + std::to_string(count) : "") + "." +
                    nameOf(type),
                type, count, Reduce::None, space);
    for (const Operation &o : operations)
      add(r,
          "red.async.relaxed.cluster" + where + complete + "." + o.name + "." +
              nameOf(o.type),
          o.type, 1, o.kind, space);
  }
}

} // namespace tds::sim
