//===- Async.cpp - copies that run beside the warps -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "exec/Async.h"

namespace tds::sim {

bool runsAtOnce(Block &block) {
  switch (block.launch->schedule.async) {
  case Schedule::Lazy:
    return false;
  case Schedule::Eager:
    return true;
  default:
    return block.random() & 1;
  }
}

void AsyncState::reset() {
  pending.clear();
  groups.clear();
  phases.clear();
}

void AsyncState::perform(Block &block, AsyncTask &task) {
  if (task.done)
    return;
  task.done = true;
  ++block.events;
  // A fault belongs to the instruction that asked for the copy.
  Warp &w = *task.warp;
  const Op *op = w.op;
  const Code *code = w.code;
  u32 mask = w.mask;
  w.op = task.op;
  w.code = task.code;
  task.run(task);
  if (task.barrier != noBarrier && task.bytes)
    completeBytes(block, task.barrier, task.bytes, &task.stamp);
  w.op = op;
  w.code = code;
  w.mask = mask;
}

void AsyncState::submit(Block &block, AsyncTask task) {
  if (runsAtOnce(block)) {
    perform(block, task);
    return;
  }
  pending.push_back(std::move(task));
}

void AsyncState::submitToGroup(Block &block, AsyncTask task) {
  u32 thread = task.warp->id * 32 + (u32)task.lane;
  if (runsAtOnce(block))
    perform(block, task);
  groups[thread].open.push_back(std::move(task));
}

void AsyncState::commitGroup(u32 thread) {
  Groups &g = groups[thread];
  g.committed.push_back(std::move(g.open));
  g.open.clear();
}

void AsyncState::waitGroups(Warp &w, int lane, size_t keep) {
  auto found = groups.find(w.id * 32 + (u32)lane);
  if (found == groups.end())
    return;
  auto &committed = found->second.committed;
  while (committed.size() > keep) {
    for (AsyncTask &task : committed.front()) {
      perform(*w.block, task);
      if (w.block->clocks)
        w.block->clocks->completeFor(w, task.stamp);
    }
    committed.pop_front();
  }
}

bool AsyncState::runOne(Block &block, u32 address) {
  for (size_t i = 0; i < pending.size(); ++i) {
    if (pending[i].barrier != address)
      continue;
    AsyncTask task = std::move(pending[i]);
    pending.erase(pending.begin() + (long)i);
    perform(block, task);
    return true;
  }
  return false;
}

void AsyncState::stir(Block &block) {
  for (size_t i = 0; i < pending.size();) {
    if (block.random() % 4) {
      ++i;
      continue;
    }
    AsyncTask task = std::move(pending[i]);
    pending.erase(pending.begin() + (long)i);
    perform(block, task);
  }
}

bool AsyncState::flush(Block &block) {
  bool any = !pending.empty();
  while (!pending.empty()) {
    AsyncTask task = std::move(pending.front());
    pending.pop_front();
    perform(block, task);
  }
  return any;
}

const AsyncTask *AsyncState::unfinished() const {
  if (!pending.empty())
    return &pending.front();
  for (auto &entry : groups) {
    if (!entry.second.open.empty())
      return &entry.second.open.front();
    for (auto &group : entry.second.committed)
      if (!group.empty())
        return &group.front();
  }
  return nullptr;
}

const AsyncTask *AsyncState::unfinishedFrom(const Block &block) const {
  for (const AsyncTask &task : pending)
    if (task.readsShared && task.warp->block == &block)
      return &task;
  return nullptr;
}

} // namespace tds::sim
