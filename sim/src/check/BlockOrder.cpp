//===- BlockOrder.cpp - order between blocks through atomics ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "check/BlockOrder.h"

#include <algorithm>

namespace tds::sim {

void BlockOrder::touch(Block &b, u64 address, bool releases) {
  std::lock_guard<std::mutex> lock(mutex);
  Place &place = places[address];
  const size_t me = (size_t)(b.linear & 0x1fffff);
  // Acquire first: the access reads what earlier ones left.
  if (!place.released.empty()) {
    if (b.seen.size() < place.released.size())
      b.seen.resize(place.released.size());
    for (size_t i = 0; i < place.released.size(); ++i)
      if (place.released[i] && !b.seen[i] && i != me) {
        b.seen[i] = true;
        ++b.seenCount;
      }
  }
  if (!releases)
    return;
  size_t need = std::max(me + 1, b.seen.size());
  if (place.released.size() < need)
    place.released.resize(need);
  place.released[me] = true;
  for (size_t i = 0; i < b.seen.size(); ++i)
    if (b.seen[i])
      place.released[i] = true;
}

void orderBehind(Block &b, const Block &before) {
  const CheckFlags &checks = b.launch->checks;
  if (!checks.globalRace)
    return;
  const size_t me = (size_t)(b.linear & 0x1fffff),
               other = (size_t)(before.linear & 0x1fffff);
  auto see = [&](size_t i) {
    if (i == me)
      return;
    if (b.seen.size() <= i)
      b.seen.resize(i + 1);
    if (!b.seen[i]) {
      b.seen[i] = true;
      ++b.seenCount;
    }
  };
  see(other);
  for (size_t i = 0; i < before.seen.size(); ++i)
    if (before.seen[i])
      see(i);
}

bool isOrdered(const Block &b, u32 other) {
  if (other == ~0u) {
    const u32 *g = b.launch->grid;
    u64 blocks = (u64)g[0] * g[1] * g[2];
    return b.seenCount + 1 >= blocks;
  }
  return other < b.seen.size() && b.seen[other];
}

} // namespace tds::sim
