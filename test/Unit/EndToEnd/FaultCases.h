//===- FaultCases.h - programs with their right answers -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the files of Inputs/faults: TDS programs whose entries carry inputs and
// right answers in comments.
//
//   //: x = [1, nan, -inf]            an input; `all 2` fills it, `from 1`
//   counts
//   //:                               1, 2, ..., `bits 0x7F800001` is one
//   pattern
//   //: -> [0, nan, nan]              the answer, bit for bit
//   //: dx -> [1, 2, 0] within 4 ulp  a named result; also `within 1e-6`
//   //: paths within 4 ulp            the paths may differ, by the order of a
//   sum
//   //: computed: why                 the form of constants is not folded whole
//   //: run time only: why            there is no form of constants
//   //: for N = 1, 3, 1000            one case for each N of the lines below
//   export fn name(x: f32[3]) -> f32[3] { … }
//
// A case ends with a line that is "}" or that closes the entry at its end.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TEST_UNIT_ENDTOEND_FAULTCASES_H
#define TDSL_TEST_UNIT_ENDTOEND_FAULTCASES_H

#include "CompiledProgram.h"

#include <optional>

namespace tdsl::test {

/// How far a number may lie from another: units in the last place of the
/// number's type, or a distance.
struct Tolerance {
  double ulps = 0, absolute = 0;
};

struct Port {
  std::string name, type; ///< type as written, "f32[2, 3]"
  reference::ElementKind kind;
  std::vector<int64_t> shape;
};

struct FaultCase {
  std::string name;                           ///< of the entry
  std::vector<Port> inputs;                   ///< in the order of the signature
  std::string results;                        ///< as written behind "->"
  Named given;                                ///< the inputs' values
  std::map<std::string, std::string> written; ///< the inputs as written
  struct Answer {
    std::string values; ///< as written
    Tolerance tolerance;
  };
  std::map<std::string, Answer> answers; ///< by result
  Tolerance paths;
  bool folds = true, hasConstantForm = true;
};

struct FaultFile {
  std::string text; ///< a TDS program, every `for` expanded
  std::vector<FaultCase> cases;
};

/// Reads a file of cases; what it does not understand fails the test.
FaultFile readFaultFile(const std::string &path);

/// The program with a second entry, `constant_NAME`, for each case, which takes
/// no inputs and calls the first with constants.
std::string withConstantForms(const FaultFile &file);

/// Whether `actual` is the answer.
::testing::AssertionResult isAnswer(const Tensor &actual,
                                    const FaultCase::Answer &answer);

/// Whether two tensors have the same type, shape and bits, or are as near as
/// `tolerance` says. NaNs are equal.
::testing::AssertionResult areSame(const Tensor &actual, const Tensor &expected,
                                   const Tolerance &tolerance);

} // namespace tdsl::test

#endif // TDSL_TEST_UNIT_ENDTOEND_FAULTCASES_H
