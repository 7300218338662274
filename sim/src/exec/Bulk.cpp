//===- Bulk.cpp - cp.async.bulk and tensor copies ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX manual, "Data Movement and Conversion Instructions: cp.async.bulk",
// "cp.async.bulk.tensor" (tiled mode), "cp.reduce.async.bulk". Operands are
// checked when the instruction executes; the copy itself is a task.
//
//===----------------------------------------------------------------------===//

#include "exec/Bulk.h"
#include "decode/Registry.h"
#include "exec/Access.h"
#include "exec/Async.h"
#include "exec/Cluster.h"
#include "exec/FloatSemantics.h"
#include "exec/TensorMap.h"

#include <algorithm>

namespace tds::sim {

namespace {

/// Operand words of one bulk instruction, as decode/DecodeAsync.cpp lays them
/// out in Code::ext.
struct Operands {
  Warp &w;
  const u32 *words;
  u64 address(u32 index, int lane) const {
    const u32 *a = words + 4 * index;
    s64 offset = (s64)((u64)a[2] | (u64)a[3] << 32);
    switch (a[1]) {
    case 0:
      return w.reg<u64>(a[0])[lane] + (u64)offset;
    case 1:
      return (u32)(w.reg<u32>(a[0])[lane] + (u32)offset);
    default:
      return (u64)offset;
    }
  }
  u32 value(u32 index, int lane) const {
    return w.reg<u32>(words[bulkAddresses * 4 + index])[lane];
  }
  bool has(u32 index) const {
    return words[bulkAddresses * 4 + index] != noReg;
  }
};

/// A place in the block's own shared memory.
u32 sharedPlace(Warp &w, int lane, u64 address, u64 bytes, u32 align,
                const char *what) {
  ClusterPlace place = clusterPlace(w, lane, address, (u32)bytes, align, what);
  if (place.block != w.block)
    w.fault(FaultKind::BadOperand,
            std::string(what) +
                " from or to another block's shared memory, where only the "
                "block's own is allowed",
            lane);
  return place.at;
}

/// Where a copy puts its bytes, and the mbarrier it reports to: both in one
/// block, or at the same offsets of several.
struct Destination {
  u32 at, barrier;
  std::vector<Block *> blocks;
};
Destination destination(Warp &w, const Op &o, const Operands &x, int lane,
                        u32 bytes, u32 align, const char *what) {
  if (o.aux2 & bulkOwn)
    return {sharedPlace(w, lane, x.address(0, lane), bytes, align, what),
            sharedPlace(w, lane, x.address(2, lane), 8, 8, "mbarrier"),
            {w.block}};
  ClusterPlace to =
      clusterPlace(w, lane, x.address(0, lane), bytes, align, what);
  ClusterPlace barrier =
      clusterPlace(w, lane, x.address(2, lane), 8, 8, "mbarrier");
  Destination d{to.at, barrier.at, {}};
  const auto &blocks = w.block->cluster->blocks;
  if (!(o.aux2 & bulkMulticast) || !x.has(bulkMask)) {
    if (to.block != barrier.block)
      w.fault(FaultKind::BadOperand,
              "the mbarrier lies in another block's shared memory than what "
              "the copy writes",
              lane);
    d.blocks.push_back(to.block);
    return d;
  }
  const u32 mask = x.value(bulkMask, lane) & 0xffff;
  if (mask == 0 || mask >> blocks.size())
    w.fault(FaultKind::BadOperand,
            "a multicast to the blocks of mask " + std::to_string(mask) +
                " in a cluster of " + std::to_string(blocks.size()),
            lane);
  for (u32 m = mask; m; m &= m - 1) {
    Block *block = blocks[(u32)__builtin_ctz(m)];
    if (block->ended)
      w.fault(FaultKind::OutOfBounds,
              "a multicast to the block of rank " +
                  std::to_string(block->rank) + ", which has ended",
              lane);
    d.blocks.push_back(block);
  }
  return d;
}

void enterShared(AsyncTask &t, const Block &block, u32 address, u32 bytes,
                 bool write) {
  if (block.clocks)
    block.clocks->access(*t.warp, t.lane, block, address, bytes, write,
                         &t.stamp);
}

AsyncTask taskOf(Warp &w, const Op &o, int lane) {
  AsyncTask t;
  t.warp = &w;
  t.op = &o;
  t.code = w.code;
  t.lane = lane;
  if (w.block->clocks)
    t.stamp = w.block->clocks->issue(w);
  return t;
}

// ---- reductions
// --------------------------------------------------------------

template <class T> T combine(BulkReduce kind, T old, T v) {
  switch (kind) {
  case BulkReduce::Add:
    return (T)(old + v);
  case BulkReduce::Min:
    return v < old ? v : old;
  case BulkReduce::Max:
    return v > old ? v : old;
  default:
    return v;
  }
}
template <class T> T combineBits(BulkReduce kind, T old, T v) {
  switch (kind) {
  case BulkReduce::And:
    return old & v;
  case BulkReduce::Or:
    return old | v;
  case BulkReduce::Xor:
    return old ^ v;
  case BulkReduce::Inc:
    return old >= v ? 0 : (T)(old + 1);
  case BulkReduce::Dec:
    return old == 0 || old > v ? v : (T)(old - 1);
  default:
    return combine(kind, old, v);
  }
}
/// Element by element, each atomically: other blocks may do the same.
template <class T, class F> void each(u8 *to, const u8 *from, u32 n, F f) {
  using Word = std::conditional_t<sizeof(T) == 2, u16,
                                  std::conditional_t<sizeof(T) == 4, u32, u64>>;
  for (u32 i = 0; i < n; i += (u32)sizeof(T)) {
    T b;
    memcpy(&b, from + i, sizeof(T));
    auto *at = (Word *)(to + i);
    Word old = __atomic_load_n(at, __ATOMIC_RELAXED), next;
    do
      next = bitCast<Word>(f(bitCast<T>(old), b));
    while (!__atomic_compare_exchange_n(at, &old, next, true, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED));
  }
}
void reduceInto(u8 *to, const u8 *from, u32 bytes, BulkReduce kind, Ty type) {
  switch (type) {
  case Ty::U32:
  case Ty::B32:
    each<u32>(to, from, bytes,
              [&](u32 a, u32 b) { return combineBits(kind, a, b); });
    break;
  case Ty::S32:
    each<s32>(to, from, bytes, [&](s32 a, s32 b) {
      return kind == BulkReduce::Add ? (s32)((u32)a + (u32)b)
                                     : combine(kind, a, b);
    });
    break;
  case Ty::U64:
  case Ty::B64:
    each<u64>(to, from, bytes,
              [&](u64 a, u64 b) { return combineBits(kind, a, b); });
    break;
  case Ty::S64:
    each<s64>(to, from, bytes,
              [&](s64 a, s64 b) { return combine(kind, a, b); });
    break;
  case Ty::F32:
    each<float>(to, from, bytes, [&](float a, float b) {
      return canon(flush<true>(flush<true>(a) + flush<true>(b)));
    });
    break;
  case Ty::F64:
    each<double>(to, from, bytes, [&](double a, double b) { return a + b; });
    break;
  case Ty::F16:
    each<u16>(to, from, bytes, [&](u16 a, u16 b) {
      float x = halfToFloat(a), y = halfToFloat(b);
      return floatToHalf(kind == BulkReduce::Add ? x + y : combine(kind, x, y));
    });
    break;
  case Ty::BF16:
    each<u16>(to, from, bytes, [&](u16 a, u16 b) {
      float x = bf16ToFloat(a), y = bf16ToFloat(b);
      return floatToBf16(kind == BulkReduce::Add ? x + y : combine(kind, x, y));
    });
    break;
  default:
    break;
  }
}

// ---- plain bulk copies
// -------------------------------------------------------

u32 checkedSize(Warp &w, int lane, u32 bytes) {
  if (bytes % 16 || bytes == 0)
    w.fault(FaultKind::BadOperand,
            "a bulk copy of " + std::to_string(bytes) +
                " bytes: the size must be a positive multiple of 16",
            lane);
  return bytes;
}
void alignedGlobal(Warp &w, int lane, u64 address) {
  if (address & 15)
    w.fault(FaultKind::Misaligned,
            "a bulk copy's global address must be a multiple of 16", lane);
}
/// Queues `task` once for each block that it copies to.
template <class F>
void submitTo(Warp &w, const Op &o, int lane, const Destination &to, u32 bytes,
              F copy) {
  for (Block *block : to.blocks) {
    AsyncTask t = taskOf(w, o, lane);
    t.barrier = to.barrier;
    t.bytes = bytes;
    t.run = [copy, block](AsyncTask &t) { copy(t, *block); };
    block->async->submit(*block, std::move(t));
  }
}

/// Global to shared, reporting to an mbarrier.
void bulkLoad(Warp &w, const Op &o) {
  Operands x{w, &w.code->ext[o.ext]};
  for (u32 m = w.mask; m; m &= m - 1) {
    int lane = __builtin_ctz(m);
    u32 bytes = checkedSize(w, lane, x.value(bulkSize, lane));
    Destination to = destination(w, o, x, lane, bytes, 16, "bulk copy");
    u64 from = x.address(1, lane);
    alignedGlobal(w, lane, from);
    resolveGlobal(w, lane, from, bytes, 1, Use::Read);
    u32 at = to.at;
    submitTo(w, o, lane, to, bytes,
             [at, from, bytes](AsyncTask &t, Block &block) {
               enterShared(t, block, at, bytes, true);
               memcpy(block.shared + at,
                      resolveGlobal(*t.warp, t.lane, from, bytes, 1, Use::Read),
                      bytes);
             });
  }
}
/// Shared to the shared memory of a block of the cluster.
void bulkShared(Warp &w, const Op &o) {
  Operands x{w, &w.code->ext[o.ext]};
  for (u32 m = w.mask; m; m &= m - 1) {
    int lane = __builtin_ctz(m);
    u32 bytes = checkedSize(w, lane, x.value(bulkSize, lane));
    Destination to = destination(w, o, x, lane, bytes, 16, "bulk copy");
    u32 from = sharedPlace(w, lane, x.address(1, lane), bytes, 16, "bulk copy");
    AsyncTask t = taskOf(w, o, lane);
    t.barrier = to.barrier;
    t.bytes = bytes;
    t.readsShared = true;
    Block *block = to.blocks.front();
    u32 at = to.at;
    t.run = [at, from, bytes, block](AsyncTask &t) {
      enterShared(t, *t.warp->block, from, bytes, false);
      enterShared(t, *block, at, bytes, true);
      memmove(block->shared + at, t.warp->block->shared + from, bytes);
    };
    block->async->submit(*block, std::move(t));
  }
}
/// Shared to global; aux: 0 a copy, else a reduction + 1.
void bulkStore(Warp &w, const Op &o) {
  Operands x{w, &w.code->ext[o.ext]};
  for (u32 m = w.mask; m; m &= m - 1) {
    int lane = __builtin_ctz(m);
    u32 bytes = checkedSize(w, lane, x.value(bulkSize, lane));
    u64 to = x.address(0, lane);
    u32 from = sharedPlace(w, lane, x.address(1, lane), bytes, 16, "bulk copy");
    alignedGlobal(w, lane, to);
    auto kind = (BulkReduce)o.aux;
    auto type = (Ty)o.size;
    Use use = kind == BulkReduce::None ? Use::Write : Use::Atomic;
    resolveGlobal(w, lane, to, bytes, 1, use);
    AsyncTask t = taskOf(w, o, lane);
    t.run = [=](AsyncTask &t) {
      enterShared(t, *t.warp->block, from, bytes, false);
      u8 *p = resolveGlobal(*t.warp, t.lane, to, bytes, 1, use);
      const u8 *s = t.warp->block->shared + from;
      if (kind == BulkReduce::None) {
        memcpy(p, s, bytes);
        return;
      }
      reduceInto(p, s, bytes, kind, type);
    };
    w.block->async->submitToGroup(*w.block, std::move(t));
  }
}

// ---- tensor copies
// -----------------------------------------------------------

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

void coordinates(const Operands &x, int lane, int rank, s32 *at) {
  for (int d = 0; d < rank; ++d)
    at[d] = (s32)x.value(bulkCoordinates + (u32)d, lane);
}
/// The manual asks for a multiple of 128 only, also with a swizzle: the address
/// itself says which line of the pattern it is.
constexpr u32 tensorAlign = 128;

void tensorLoad(Warp &w, const Op &o) {
  Operands x{w, &w.code->ext[o.ext]};
  const int rank = o.size;
  for (u32 m = w.mask; m; m &= m - 1) {
    int lane = __builtin_ctz(m);
    TensorMap map = readMap(w, lane, x.address(1, lane), rank);
    Box box = boxOf(map);
    u32 bytes = box.total * map.elementBytes;
    Destination to =
        destination(w, o, x, lane, bytes, tensorAlign, "tensor copy");
    struct Job {
      TensorMap map;
      Box box;
      s32 at[5];
      u32 to;
    } job{map, box, {}, to.at};
    coordinates(x, lane, rank, job.at);
    submitTo(w, o, lane, to, bytes, [job](AsyncTask &t, Block &block) {
      const TensorMap &map = job.map;
      Warp &w = *t.warp;
      u8 *shared = block.shared;
      const u32 size = map.elementBytes;
      enterShared(t, block, job.to, job.box.total * size, true);
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
void tensorStore(Warp &w, const Op &o) {
  Operands x{w, &w.code->ext[o.ext]};
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
          sharedPlace(w, lane, x.address(1, lane), bytes, tensorAlign,
                      "tensor copy"),
          (BulkReduce)o.aux};
    coordinates(x, lane, rank, job.at);
    AsyncTask t = taskOf(w, o, lane);
    t.run = [job](AsyncTask &t) {
      const TensorMap &map = job.map;
      Warp &w = *t.warp;
      const u8 *shared = w.block->shared;
      const u32 size = map.elementBytes;
      Use use = job.kind == BulkReduce::None ? Use::Write : Use::Atomic;
      enterShared(t, *w.block, job.from, job.box.total * size, false);
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
                   reduceInto(p, from, size, job.kind, (Ty)map.type);
                 }
               });
    };
    w.block->async->submitToGroup(*w.block, std::move(t));
  }
}

// ---- groups, prefetches
// ------------------------------------------------------

void commitGroup(Warp &w, const Op &) {
  for (u32 m = w.mask; m; m &= m - 1)
    w.block->async->commitGroup(w.id * 32 + (u32)__builtin_ctz(m));
}
void waitGroup(Warp &w, const Op &o) {
  if (o.imm < 0)
    w.fault(FaultKind::BadOperand,
            "cp.async.bulk.wait_group with a negative number");
  for (u32 m = w.mask; m; m &= m - 1)
    w.block->async->waitGroups(w, __builtin_ctz(m), (size_t)o.imm);
}
void prefetchBulk(Warp &w, const Op &o) {
  Operands x{w, &w.code->ext[o.ext]};
  for (u32 m = w.mask; m; m &= m - 1) {
    int lane = __builtin_ctz(m);
    checkedSize(w, lane, x.value(bulkSize, lane));
    alignedGlobal(w, lane, x.address(0, lane));
  }
}
void prefetchTensor(Warp &w, const Op &o) {
  Operands x{w, &w.code->ext[o.ext]};
  for (u32 m = w.mask; m; m &= m - 1) {
    int lane = __builtin_ctz(m);
    readMap(w, lane, x.address(0, lane), o.size);
  }
}
/// prefetch.tensormap [a]: the map must be one.
void prefetchMap(Warp &w, const Op &o) {
  u64 address[32];
  laneAddresses(w, o.a, o.aux, o.imm, address);
  u8 *p[32];
  resolve(w, Space::Generic, address, 128, 64, Use::Read, p);
}
void fenceProxy(Warp &w, const Op &) {
  if (w.block->clocks)
    w.block->clocks->proxyFence(w);
}

} // namespace

void registerBulk(Registry &r) {
  auto add = [&](const std::string &name, Handler fn, BulkForm form, u8 aux,
                 u8 flags, u16 size, u16 ptx = 80) {
    for (bool hint : {false, true}) {
      OpInfo info;
      info.form = Form::Bulk;
      info.fn = fn;
      info.counts[0] = (u8)form;
      info.aux = aux;
      info.aux2 = (u8)(flags | (hint ? bulkPolicy : 0));
      info.size = size;
      info.minPtx = ptx;
      info.minSm = 90;
      std::string full = name;
      if (hint) {
        // The hint stands before what a reduction does.
        size_t at = full.find(".bulk_group.");
        full.insert(at == std::string::npos ? full.size() : at + 11,
                    ".L2::cache_hint");
      }
      r.add(full, info);
    }
  };
  const std::string complete = ".mbarrier::complete_tx::bytes";
  for (const char *to : {".shared::cluster", ".shared::cta"}) {
    const bool own = std::string(to) == ".shared::cta";
    const u16 ptx = own ? 86 : 80;
    const u8 flags = own ? bulkOwn : 0;
    add(std::string("cp.async.bulk") + to + ".global" + complete, bulkLoad,
        BulkForm::Load, 0, flags, 0, ptx);
    for (int rank = 1; rank <= 5; ++rank)
      for (const char *tile : {"", ".tile"})
        add("cp.async.bulk.tensor." + std::to_string(rank) + "d" + to +
                ".global" + tile + complete,
            tensorLoad, BulkForm::TensorLoad, 0, flags, (u16)rank, ptx);
  }
  add("cp.async.bulk.shared::cluster.global" + complete + ".multicast::cluster",
      bulkLoad, BulkForm::Load, 0, bulkMulticast, 0);
  add("cp.async.bulk.shared::cluster.shared::cta" + complete, bulkShared,
      BulkForm::Load, 0, 0, 0);
  add("cp.async.bulk.global.shared::cta.bulk_group", bulkStore, BulkForm::Store,
      0, 0, 0);
  for (int rank = 1; rank <= 5; ++rank) {
    std::string tensor = "cp.async.bulk.tensor." + std::to_string(rank) + "d";
    for (const char *tile : {"", ".tile"}) {
      add(tensor + ".shared::cluster.global" + tile + complete +
              ".multicast::cluster",
          tensorLoad, BulkForm::TensorLoad, 0, bulkMulticast, (u16)rank);
      add(tensor + ".global.shared::cta" + tile + ".bulk_group", tensorStore,
          BulkForm::TensorStore, 0, (u8)(rank << 4), (u16)rank);
      add("cp.async.bulk.prefetch.tensor." + std::to_string(rank) +
              "d.L2.global" + tile,
          prefetchTensor, BulkForm::TensorPrefetch, 0, 0, (u16)rank);
    }
  }
  add("cp.async.bulk.prefetch.L2.global", prefetchBulk, BulkForm::Prefetch, 0,
      0, 0);
  struct Reduction {
    const char *op;
    BulkReduce kind;
    std::initializer_list<Ty> types;
  };
  const Reduction reductions[] = {
      {"add", BulkReduce::Add, {Ty::U32, Ty::S32, Ty::U64, Ty::F32, Ty::F64}},
      {"min",
       BulkReduce::Min,
       {Ty::U32, Ty::S32, Ty::U64, Ty::S64, Ty::F16, Ty::BF16}},
      {"max",
       BulkReduce::Max,
       {Ty::U32, Ty::S32, Ty::U64, Ty::S64, Ty::F16, Ty::BF16}},
      {"inc", BulkReduce::Inc, {Ty::U32}},
      {"dec", BulkReduce::Dec, {Ty::U32}},
      {"and", BulkReduce::And, {Ty::B32, Ty::B64}},
      {"or", BulkReduce::Or, {Ty::B32, Ty::B64}},
      {"xor", BulkReduce::Xor, {Ty::B32, Ty::B64}}};
  const std::string head =
      "cp.reduce.async.bulk.global.shared::cta.bulk_group.";
  for (const Reduction &k : reductions) {
    for (Ty type : k.types)
      add(head + k.op + "." + nameOf(type), bulkStore, BulkForm::Store,
          (u8)k.kind, 0, (u16)type);
    for (int rank = 1; rank <= 5; ++rank)
      for (const char *tile : {"", ".tile"})
        for (bool hint : {false, true}) {
          OpInfo info;
          info.form = Form::Bulk;
          info.fn = tensorStore;
          info.counts[0] = (u8)BulkForm::TensorStore;
          info.aux = (u8)k.kind;
          info.aux2 = (u8)(rank << 4 | (hint ? bulkPolicy : 0));
          info.size = (u16)rank;
          info.minPtx = 80;
          info.minSm = 90;
          r.add("cp.reduce.async.bulk.tensor." + std::to_string(rank) +
                    "d.global.shared::cta." + k.op + tile + ".bulk_group" +
                    (hint ? ".L2::cache_hint" : ""),
                info);
        }
  }
  add(head + "add.noftz.f16", bulkStore, BulkForm::Store, (u8)BulkReduce::Add,
      0, (u16)Ty::F16);
  add(head + "add.noftz.bf16", bulkStore, BulkForm::Store, (u8)BulkReduce::Add,
      0, (u16)Ty::BF16);

  OpInfo info;
  info.minPtx = 80;
  info.minSm = 90;
  info.form = Form::Nothing;
  info.fn = commitGroup;
  r.add("cp.async.bulk.commit_group", info);
  info.form = Form::Immediate;
  info.fn = waitGroup;
  r.add("cp.async.bulk.wait_group", info);
  r.add("cp.async.bulk.wait_group.read", info);
  info.form = Form::Address;
  info.fn = prefetchMap;
  info.space = Space::Generic;
  r.add("prefetch.tensormap", info);
  info.space = Space::Param;
  r.add("prefetch.param.tensormap", info);
  info.form = Form::Nothing;
  info.space = Space::None;
  info.fn = fenceProxy;
  for (const char *which : {"", ".global", ".shared::cta", ".shared::cluster"})
    r.add(std::string("fence.proxy.async") + which, info);
  info.fn = [](Warp &, const Op &) {};
  r.add("fence.proxy.alias", info);
  r.add("fence.mbarrier_init.release.cluster", info);
}

} // namespace tds::sim
