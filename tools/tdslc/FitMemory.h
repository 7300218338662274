//===- FitMemory.h - --memory-budget -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TOOLS_TDSLC_FITMEMORY_H
#define TDSL_TOOLS_TDSLC_FITMEMORY_H

#include "Compile.h"
#include "Stages.h"

#include <optional>

namespace tdslc {

/// What --memory-budget asks for: bytes, or a part of what lives at once in the
/// arena of a step when nothing is computed again.
struct MemoryBudget {
  int64_t bytes = 0;
  double percent = 0; ///< not 0 where it is a part
};

/// "2GiB", "1000000", "60%"; nothing where the text is none of these.
std::optional<MemoryBudget> parseBudget(llvm::StringRef text);

/// Chooses how many segments of the forward pass the backward pass computes
/// again, so that every entry keeps the budget on every target; says what the
/// least is where none does. Run before differentiation.
ExitCode fitMemory(Program &program, const Options &options,
                   llvm::ArrayRef<Target> targets);

} // namespace tdslc

#endif // TDSL_TOOLS_TDSLC_FITMEMORY_H
