//===- Inputs.h - operands worth trying -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_SCALARMATH_CHECK_INPUTS_H
#define TDSL_SCALARMATH_CHECK_INPUTS_H

#include "tdsl/ScalarMath/CheckModule.h"

#include <cstdint>
#include <vector>

namespace tdsl::scalarmath {

/// Rows of operands: first every combination of the edge values of each type
/// (of the first two operands), then random ones, half of them random bits and
/// half of moderate size. Always the same for the same seed.
class Inputs {
public:
  Inputs(std::vector<Element> elements, uint64_t seed)
      : elements(std::move(elements)), state(seed) {}

  /// The next n tuples; row(i) is operand i as elements of its type.
  void fill(size_t n);
  const void *row(size_t operand) const { return rows[operand].data(); }
  std::vector<const void *> pointers() const;
  /// How many tuples cover all combinations of edges.
  size_t edgeCount() const;

private:
  uint64_t next();
  uint64_t random(Element element);

  std::vector<Element> elements;
  std::vector<std::vector<uint8_t>> rows;
  uint64_t state;
  uint64_t position = 0;
};

} // namespace tdsl::scalarmath

#endif // TDSL_SCALARMATH_CHECK_INPUTS_H
