//===- Permutation.cpp - a seeded order of rows without a table -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "data/Permutation.h"

namespace tdsrt {

/// A well-known mixing of 64 bits (the finaliser of SplitMix64).
static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

Permutation::Permutation(uint64_t count, uint64_t seed, uint64_t epoch)
    : count(count), halfBits(1) {
  while (halfBits < 32 && (uint64_t(1) << (2 * halfBits)) < count)
    ++halfBits;
  uint64_t state = mix(mix(seed) ^ epoch);
  for (uint64_t &key : keys)
    key = state = mix(state);
}

uint64_t Permutation::operator()(uint64_t index) const {
  uint64_t mask = (uint64_t(1) << halfBits) - 1;
  // The network permutes at most 4 x count values, so that this is four rounds
  // on average and always ends.
  do {
    uint64_t left = index >> halfBits, right = index & mask;
    for (uint64_t key : keys) {
      uint64_t next = left ^ (mix(right ^ key) & mask);
      left = right;
      right = next;
    }
    index = left << halfBits | right;
  } while (index >= count);
  return index;
}

} // namespace tdsrt
