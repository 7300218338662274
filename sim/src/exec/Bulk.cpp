//===- Bulk.cpp - cp.async.bulk ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX manual, "Data Movement and Conversion Instructions: cp.async.bulk",
// "cp.reduce.async.bulk". Operands are checked when the instruction executes;
// the copy itself is a task. Tensor copies are in BulkTensor.cpp.
//
//===----------------------------------------------------------------------===//

#include "decode/Registry.h"
#include "exec/BulkTask.h"

namespace tds::sim {

u32 bulkPlace(Warp &w, int lane, u64 address, u64 bytes, u32 align,
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

BulkDestination bulkDestination(Warp &w, const Op &o, const BulkOperands &x,
                                int lane, u32 bytes, u32 align,
                                const char *what) {
  if (o.aux2 & bulkOwn)
    return {bulkPlace(w, lane, x.address(0, lane), bytes, align, what),
            bulkPlace(w, lane, x.address(2, lane), 8, 8, "mbarrier"),
            {w.block}};
  ClusterPlace to =
      clusterPlace(w, lane, x.address(0, lane), bytes, align, what);
  ClusterPlace barrier =
      clusterPlace(w, lane, x.address(2, lane), 8, 8, "mbarrier");
  BulkDestination d{to.at, barrier.at, {}};
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

void enterBulk(AsyncTask &t, const Block &block, u32 address, u32 bytes,
               bool write) {
  if (block.clocks)
    block.clocks->access(*t.warp, t.lane, block, address, bytes, write,
                         &t.stamp);
}

AsyncTask bulkTask(Warp &w, const Op &o, int lane) {
  AsyncTask t;
  t.warp = &w;
  t.op = &o;
  t.code = w.code;
  t.lane = lane;
  if (w.block->clocks)
    t.stamp = w.block->clocks->issue(w);
  return t;
}

namespace {

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
/// Global to shared, reporting to an mbarrier.
void bulkLoad(Warp &w, const Op &o) {
  BulkOperands x{w, &w.code->ext[o.ext]};
  for (u32 m = w.mask; m; m &= m - 1) {
    int lane = __builtin_ctz(m);
    u32 bytes = checkedSize(w, lane, x.value(bulkSize, lane));
    BulkDestination to = bulkDestination(w, o, x, lane, bytes, 16, "bulk copy");
    u64 from = x.address(1, lane);
    alignedGlobal(w, lane, from);
    resolveGlobal(w, lane, from, bytes, 1, Use::Read);
    u32 at = to.at;
    submitBulk(
        w, o, lane, to, bytes, [at, from, bytes](AsyncTask &t, Block &block) {
          enterBulk(t, block, at, bytes, true);
          memcpy(block.shared + at,
                 resolveGlobal(*t.warp, t.lane, from, bytes, 1, Use::Read),
                 bytes);
        });
  }
}
/// Shared to the shared memory of a block of the cluster.
void bulkShared(Warp &w, const Op &o) {
  BulkOperands x{w, &w.code->ext[o.ext]};
  for (u32 m = w.mask; m; m &= m - 1) {
    int lane = __builtin_ctz(m);
    u32 bytes = checkedSize(w, lane, x.value(bulkSize, lane));
    BulkDestination to = bulkDestination(w, o, x, lane, bytes, 16, "bulk copy");
    u32 from = bulkPlace(w, lane, x.address(1, lane), bytes, 16, "bulk copy");
    AsyncTask t = bulkTask(w, o, lane);
    t.barrier = to.barrier;
    t.bytes = bytes;
    t.readsShared = true;
    Block *block = to.blocks.front();
    u32 at = to.at;
    t.run = [at, from, bytes, block](AsyncTask &t) {
      enterBulk(t, *t.warp->block, from, bytes, false);
      enterBulk(t, *block, at, bytes, true);
      memmove(block->shared + at, t.warp->block->shared + from, bytes);
    };
    block->async->submit(*block, std::move(t));
  }
}
/// Shared to global; aux: 0 a copy, else a reduction + 1.
void bulkStore(Warp &w, const Op &o) {
  BulkOperands x{w, &w.code->ext[o.ext]};
  for (u32 m = w.mask; m; m &= m - 1) {
    int lane = __builtin_ctz(m);
    u32 bytes = checkedSize(w, lane, x.value(bulkSize, lane));
    u64 to = x.address(0, lane);
    u32 from = bulkPlace(w, lane, x.address(1, lane), bytes, 16, "bulk copy");
    alignedGlobal(w, lane, to);
    auto kind = (BulkReduce)o.aux;
    auto type = (Ty)o.size;
    Use use = kind == BulkReduce::None ? Use::Write : Use::Atomic;
    resolveGlobal(w, lane, to, bytes, 1, use);
    AsyncTask t = bulkTask(w, o, lane);
    t.run = [=](AsyncTask &t) {
      enterBulk(t, *t.warp->block, from, bytes, false);
      u8 *p = resolveGlobal(*t.warp, t.lane, to, bytes, 1, use);
      const u8 *s = t.warp->block->shared + from;
      if (kind == BulkReduce::None) {
        memcpy(p, s, bytes);
        return;
      }
      bulkReduce(p, s, bytes, kind, type);
    };
    w.block->async->submitToGroup(*w.block, std::move(t));
  }
}

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
  BulkOperands x{w, &w.code->ext[o.ext]};
  for (u32 m = w.mask; m; m &= m - 1) {
    int lane = __builtin_ctz(m);
    checkedSize(w, lane, x.value(bulkSize, lane));
    alignedGlobal(w, lane, x.address(0, lane));
  }
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
            bulkTensorLoad, BulkForm::TensorLoad, 0, flags, (u16)rank, ptx);
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
          bulkTensorLoad, BulkForm::TensorLoad, 0, bulkMulticast, (u16)rank);
      add(tensor + ".global.shared::cta" + tile + ".bulk_group",
          bulkTensorStore, BulkForm::TensorStore, 0, (u8)(rank << 4),
          (u16)rank);
      add("cp.async.bulk.prefetch.tensor." + std::to_string(rank) +
              "d.L2.global" + tile,
          bulkTensorPrefetch, BulkForm::TensorPrefetch, 0, 0, (u16)rank);
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
          info.fn = bulkTensorStore;
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
  info.fn = bulkMapPrefetch;
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
