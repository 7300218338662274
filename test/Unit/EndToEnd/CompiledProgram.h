//===- CompiledProgram.h - a program on every path that runs it -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles a TDS text with the tdslc of the build tree and runs it by the
// reference evaluator, by its CPU code, and by its PTX in the simulator.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TEST_UNIT_ENDTOEND_COMPILEDPROGRAM_H
#define TDSL_TEST_UNIT_ENDTOEND_COMPILEDPROGRAM_H

#include "tdsl/Reference/Evaluator.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include "tds/runtime.h"

#include "gtest/gtest.h"

#include <map>
#include <memory>
#include <string>

namespace tdsl::test {

using reference::Tensor;
using Named = std::map<std::string, Tensor>;

/// One way to run a program, with its variables.
class Path {
public:
  virtual ~Path() = default;
  virtual std::string name() const = 0;
  /// Calls an entry; an input that is missing has its default. Fails the test
  /// where the call fails.
  virtual Named call(const std::string &entry, const Named &inputs) = 0;
  /// What a call that has to fail says; empty for the evaluator, which only
  /// leaves the variables as they are. Fails the test where the call does not
  /// fail.
  virtual std::string callToFail(const std::string &entry,
                                 const Named &inputs) = 0;
  virtual Tensor read(const std::string &variable) = 0;
  virtual void write(const std::string &variable, const Tensor &value) = 0;
};

struct CompileOptions {
  std::string flags;         ///< of tdslc, e.g. "-D B=4 --fusion=off"
  std::string ptxFlags = {}; ///< for the PTX only, e.g. "--arch=sm_75"
  bool cpu = true, ptx = true;
};

/// The program `text` on all paths, the evaluator first. Empty where it does
/// not compile (the test has failed then). The PTX path is there where the
/// build has the simulator.
std::vector<std::unique_ptr<Path>>
compileProgram(const std::string &text, const CompileOptions &options = {},
               int64_t seed = 0);

/// Reads a file of the source tree.
std::string readSource(const std::string &path);

/// What `tdslc --emit=stage` prints of a program; the test fails where it does
/// not compile.
std::string emitStage(const std::string &text, const std::string &stage,
                      const std::string &flags = "");

/// Compiles a wrong program; gives tdslc's exit code and messages.
std::pair<int, std::string> compileForErrors(const std::string &text);

/// Runs tdslc with these arguments; gives its exit code and what it wrote to
/// standard error.
std::pair<int, std::string> runTdslc(const std::string &arguments);

/// Whether two tensors have one type and shape, and differ nowhere by more than
/// `absolute` + `relative` * |expected|. NaNs are equal.
::testing::AssertionResult areClose(const Tensor &actual,
                                    const Tensor &expected, double relative,
                                    double absolute);

} // namespace tdsl::test

#endif // TDSL_TEST_UNIT_ENDTOEND_COMPILEDPROGRAM_H
