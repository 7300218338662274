//===- Permutation.h - a seeded order of rows without a table -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A Feistel network over the least even power of two that holds all indices;
// what falls outside is passed through again until it falls inside. Any index
// can be asked for alone, in constant memory, so that a run resumes at any
// batch and 10^10 rows are no problem.
//
//===----------------------------------------------------------------------===//

#ifndef TDS_DATA_PERMUTATION_H
#define TDS_DATA_PERMUTATION_H

#include <array>
#include <cstdint>

namespace tdsrt {

class Permutation {
public:
  /// A permutation of [0, count), a function of seed and epoch alone.
  Permutation(uint64_t count, uint64_t seed, uint64_t epoch);

  /// Where `index` < count goes.
  uint64_t operator()(uint64_t index) const;

private:
  uint64_t count;
  unsigned halfBits;
  std::array<uint64_t, 8> keys;
};

} // namespace tdsrt

#endif // TDS_DATA_PERMUTATION_H
