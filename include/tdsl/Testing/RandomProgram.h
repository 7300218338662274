//===- RandomProgram.h - random well-typed TDS programs -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TESTING_RANDOMPROGRAM_H
#define TDSL_TESTING_RANDOMPROGRAM_H

#include <cstdint>
#include <set>
#include <string>

namespace tdsl::testing {

/// A program and what stands in it.
struct RandomProgram {
  /// The source. Lines `// input x: ids 5` say what the arguments of an entry
  /// are drawn from (see ProgramCheck.h).
  std::string text;
  /// What the coverage report counts: "op exp", "statement for", "type bf16",
  /// "size prime", "derivative of a window", ….
  std::set<std::string> features;
};

/// The program of a seed: the same text on every machine. It compiles; gathers
/// stay inside (but for inputs that are marked as lying outside), and
/// operations that jump (comparisons, floor, argmax) see only values that no
/// float reduction went into, so that another order of terms stays a difference
/// in rounding. Entries that are differentiated have finite values of moderate
/// size; the others may have any.
RandomProgram makeRandomProgram(uint64_t seed);

} // namespace tdsl::testing

#endif // TDSL_TESTING_RANDOMPROGRAM_H
