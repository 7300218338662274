//===- BulkTensor.cpp - tensor copies ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX manual, "cp.async.bulk.tensor" (tiled mode),
// "cp.reduce.async.bulk.tensor", "Tensor swizzling modes".
//
//===----------------------------------------------------------------------===//

#include "exec/BulkTask.h"
#include "exec/TensorMap.h"

#include <algorithm>

namespace tds::sim {

namespace {

TensorMap readMap(Warp &w, int lane, u64 address, int rank) {
  u64 all[32];
  u8 *p[32];
  for (u64 &a : all)
    a = address;
  u32 mask = w.mask;
  w.mask = 1u << lane;
  resolve(w, Space::Generic, all, 128, 64, Use::Read, p);
  w.mask = mask;
  TensorMap map;
  memcpy(&map, p[lane], sizeof map);
  if (map.mark != TensorMap::expectedMark)
    w.fault(FaultKind::BadOperand,
            "a tensor copy whose tensor map was not made by "
            "cuTensorMapEncodeTiled",
            lane);
  if (map.rank != rank)
    w.fault(FaultKind::BadOperand,
            "a copy of " + std::to_string(rank) +
                " dimensions by a tensor map of " + std::to_string(map.rank),
            lane);
  return map;
}

struct Box {
  u32 count[5] = {1, 1, 1, 1, 1};
  u32 total = 1; // elements
};
Box boxOf(const TensorMap &map) {
  Box b;
  for (int d = 0; d < map.rank; ++d) {
    b.count[d] = (map.box[d] + map.step[d] - 1u) / map.step[d];
    b.total *= b.count[d];
  }
  return b;
}

/// Calls row(linear element, global address or 0, first, last): the inner
/// elements [first, last) of a line of the box lie inside the tensor.
template <class F>
void forLines(const TensorMap &map, const Box &box, const s32 *at, F row) {
  const u32 lines = box.total / box.count[0];
  for (u32 line = 0; line < lines; ++line) {
    u32 rest = line;
    u64 address = map.address;
    bool inside = true;
    for (int d = 1; d < map.rank; ++d) {
      s64 i = (s64)at[d] + (s64)(rest % box.count[d]) * map.step[d];
      rest /= box.count[d];
      inside &= i >= 0 && (u64)i < map.size[d];
      address += inside ? (u64)i * map.stride(d) : 0;
    }
    u32 first = 0, last = 0;
    if (inside) {
      for (u32 j = 0; j < box.count[0]; ++j) {
        s64 i = (s64)at[0] + (s64)j * map.step[0];
        bool in = i >= 0 && (u64)i < map.size[0];
        if (in && last == 0)
          first = j;
        if (in)
          last = j + 1;
      }
    }
    row(line * box.count[0], address, first, last);
  }
}

void fill(u8 *to, const TensorMap &map) {
  memset(to, 0, map.elementBytes);
  if (!map.nanFill)
    return;
  switch ((Ty)map.type) {
  case Ty::F16:
    to[0] = 0xff, to[1] = 0x7f;
    break;
  case Ty::BF16:
    to[0] = 0xff, to[1] = 0x7f;
    break;
  case Ty::F64:
    memset(to, 0xff, 8);
    to[7] = 0x7f;
    break;
  default:
    memset(to, 0xff, 4);
    to[3] = 0x7f;
  }
}

void coordinates(const BulkOperands &x, int lane, int rank, s32 *at) {
  for (int d = 0; d < rank; ++d)
    at[d] = (s32)x.value(bulkCoordinates + (u32)d, lane);
}
/// The manual asks for a multiple of 128 only, also with a swizzle: the address
/// itself says which line of the pattern it is.
constexpr u32 tensorAlign = 128;

} // namespace

void bulkTensorLoad(Warp &w, const Op &o) {
  BulkOperands x{w, &w.code->ext[o.ext]};
  const int rank = o.size;
  for (u32 m = w.mask; m; m &= m - 1) {
    int lane = __builtin_ctz(m);
    TensorMap map = readMap(w, lane, x.address(1, lane), rank);
    Box box = boxOf(map);
    u32 bytes = box.total * map.elementBytes;
    BulkDestination to =
        bulkDestination(w, o, x, lane, bytes, tensorAlign, "tensor copy");
    struct Job {
      TensorMap map;
      Box box;
      s32 at[5];
      u32 to;
    } job{map, box, {}, to.at};
    coordinates(x, lane, rank, job.at);
    submitBulk(w, o, lane, to, bytes, [job](AsyncTask &t, Block &block) {
      const TensorMap &map = job.map;
      Warp &w = *t.warp;
      u8 *shared = block.shared;
      const u32 size = map.elementBytes;
      enterBulk(t, block, job.to, job.box.total * size, true);
      forLines(
          map, job.box, job.at,
          [&](u32 element, u64 line, u32 first, u32 last) {
            for (u32 j = 0; j < job.box.count[0]; ++j) {
              u8 *to = shared + swizzled(job.to + (element + j) * size,
                                         map.swizzleBytes);
              if (j < first || j >= last) {
                fill(to, map);
                continue;
              }
              u64 from =
                  line + (u64)((s64)job.at[0] + (s64)j * map.step[0]) * size;
              // Whole chunks of 16 bytes at once where nothing parts them.
              u32 n = 1;
              if (map.step[0] == 1) {
                u32 chunk = 16 / size;
                u32 offset = ((job.to + (element + j) * size) & 15) / size;
                n = std::min(chunk - offset, last - j);
              }
              memcpy(to,
                     resolveGlobal(w, t.lane, from, n * size, size, Use::Read),
                     n * size);
              j += n - 1;
            }
          });
    });
  }
}

/// Shared to a tensor; aux as for bulkStore.
void bulkTensorStore(Warp &w, const Op &o) {
  BulkOperands x{w, &w.code->ext[o.ext]};
  const int rank = o.aux2 >> 4;
  for (u32 m = w.mask; m; m &= m - 1) {
    int lane = __builtin_ctz(m);
    TensorMap map = readMap(w, lane, x.address(0, lane), rank);
    Box box = boxOf(map);
    u32 bytes = box.total * map.elementBytes;
    struct Job {
      TensorMap map;
      Box box;
      s32 at[5];
      u32 from;
      BulkReduce kind;
    } job{map,
          box,
          {},
          bulkPlace(w, lane, x.address(1, lane), bytes, tensorAlign,
                    "tensor copy"),
          (BulkReduce)o.aux};
    coordinates(x, lane, rank, job.at);
    AsyncTask t = bulkTask(w, o, lane);
    t.run = [job](AsyncTask &t) {
      const TensorMap &map = job.map;
      Warp &w = *t.warp;
      const u8 *shared = w.block->shared;
      const u32 size = map.elementBytes;
      Use use = job.kind == BulkReduce::None ? Use::Write : Use::Atomic;
      enterBulk(t, *w.block, job.from, job.box.total * size, false);
      forLines(map, job.box, job.at,
               [&](u32 element, u64 line, u32 first, u32 last) {
                 for (u32 j = first; j < last; ++j) {
                   const u8 *from =
                       shared + swizzled(job.from + (element + j) * size,
                                         map.swizzleBytes);
                   u64 to = line +
                            (u64)((s64)job.at[0] + (s64)j * map.step[0]) * size;
                   u8 *p = resolveGlobal(w, t.lane, to, size, size, use);
                   if (job.kind == BulkReduce::None) {
                     memcpy(p, from, size);
                     continue;
                   }
                   bulkReduce(p, from, size, job.kind, (Ty)map.type);
                 }
               });
    };
    w.block->async->submitToGroup(*w.block, std::move(t));
  }
}

void bulkTensorPrefetch(Warp &w, const Op &o) {
  BulkOperands x{w, &w.code->ext[o.ext]};
  for (u32 m = w.mask; m; m &= m - 1) {
    int lane = __builtin_ctz(m);
    readMap(w, lane, x.address(0, lane), o.size);
  }
}
/// prefetch.tensormap [a]: the map must be one.
void bulkMapPrefetch(Warp &w, const Op &o) {
  u64 address[32];
  laneAddresses(w, o.a, o.aux, o.imm, address);
  u8 *p[32];
  resolve(w, Space::Generic, address, 128, 64, Use::Read, p);
}

} // namespace tds::sim
