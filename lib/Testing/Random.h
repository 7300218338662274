//===- Random.h - random numbers that are the same everywhere -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_TESTING_RANDOM_H
#define TDSL_LIB_TESTING_RANDOM_H

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace tdsl::testing {

/// splitmix64 (Steele, Lea and Flood 2014): the same numbers everywhere, which
/// the distributions of the C++ library do not promise.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// In [0, below); 0 for an empty range.
  unsigned pick(size_t below) {
    return below ? static_cast<unsigned>((next() >> 16) % below) : 0;
  }
  bool chance(unsigned percent) { return pick(100) < percent; }
  template <typename T> const T &of(const std::vector<T> &list) {
    return list[pick(list.size())];
  }
  const char *oneOf(std::initializer_list<const char *> list) {
    return list.begin()[pick(list.size())];
  }

private:
  uint64_t state;
};

} // namespace tdsl::testing

#endif // TDSL_LIB_TESTING_RANDOM_H
