//===- OpcodeCases.h - opcodes with independent expectations ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One list of cases serves three ends: the simulator's results are compared
// with values computed by other means; `record-golden` runs the same cases on a
// real GPU and writes what it gives; and the tests compare the simulator with
// what was written, where such a file is.
//
//===----------------------------------------------------------------------===//
#ifndef TDSL_SIM_TEST_OPCODECASES_H
#define TDSL_SIM_TEST_OPCODECASES_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace simtest {

struct Args {
  unsigned long long a = 0, b = 0, c = 0;
};

/// Kinds of operand values.
enum class Values { Integers, F32, F64, F16, Bf16, F16x2, Bf16x2, Shifts };

struct Case {
  std::string op;    // the opcode as in the text
  std::string shape; // widths "32=32,32"; p a predicate: "p=64,64,p"
  std::function<unsigned long long(Args)> want;
  std::vector<Values> values; // by operand; the last holds for the rest
  std::vector<Args> rows;     // these operands only
  std::string suffix = "";    // further operands as text: ", 0x96"
  bool anyNan64 = false;      // an f64 NaN may have any payload
  std::function<bool(Args)> skip = nullptr; // operands without a defined result
};

/// A stretch of PTX that every thread of one warp runs: x and y are inputs
/// (%x, %y), %d is the result, %q a shared or global word of the thread.
struct WarpCase {
  std::string name, body;
  std::function<uint32_t(const std::vector<uint32_t> &x,
                         const std::vector<uint32_t> &y, int lane)>
      want;
};

std::vector<Case> integerCases();
std::vector<Case> compareCases();
std::vector<Case> convertCases();
std::vector<Case> floatCases();
std::vector<Case> halfCases();
std::vector<Case> allCases();
std::vector<WarpCase> warpCases();

/// The operands of a case, and what the device that is loaded gives for them.
struct Outcome {
  std::vector<Args> operands;
  std::vector<unsigned long long> results;
  std::string error;
};
Outcome run(const Case &c);
Outcome run(const WarpCase &c);

} // namespace simtest

#endif // TDSL_SIM_TEST_OPCODECASES_H
