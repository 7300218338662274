//===- SimulatedGpu.h - runs kernels' PTX in the simulator -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_TEST_UNIT_TARGET_SIMULATEDGPU_H
#define TDSL_TEST_UNIT_TARGET_SIMULATEDGPU_H

#include "tdsl/Reference/Tensor.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <vector>

namespace tdsl::test {

/// Compiles the outlined kernel `name` of the module `text` to PTX and runs it
/// in the simulator of the build tree, with guards behind every buffer. The
/// arguments are the kernel's; the result is its outputs. Fails the test where
/// anything fails; empty also where this build has no simulator.
std::optional<std::vector<reference::Tensor>>
runInSimulator(llvm::StringRef text, llvm::StringRef name,
               llvm::ArrayRef<reference::Tensor> arguments);

} // namespace tdsl::test

#endif // TDSL_TEST_UNIT_TARGET_SIMULATEDGPU_H
