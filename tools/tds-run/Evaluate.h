//===- Evaluate.h - run an entry over all rows of files -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDS_RUN_EVALUATE_H
#define TDS_RUN_EVALUATE_H

#include "Arrays.h"
#include "Options.h"

#include <memory>

namespace tdsrun {

/// Runs an entry over its data in order. Results with the data axis are
/// gathered row by row (where asked for); others are combined: integers add,
/// floats average by the weight of each batch.
class Sweep {
public:
  Sweep(const tds::Entry &entry, const std::string &data,
        const std::vector<std::string> &set, bool gatherRows);
  ~Sweep();

  /// False when it was interrupted.
  bool run();

  /// In the entry's order; without `gatherRows` only those without data axis.
  const std::vector<NamedArray> &arrays() const { return results; }
  uint64_t rows() const;
  double seconds() const { return elapsed; }

private:
  struct State;
  std::unique_ptr<State> state;
  std::vector<NamedArray> results;
  double elapsed = 0;
};

/// An element of an array as a number.
double elementOf(const NamedArray &array, size_t index);
std::string elementText(const NamedArray &array, size_t index);

} // namespace tdsrun

#endif // TDS_RUN_EVALUATE_H
