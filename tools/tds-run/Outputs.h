//===- Outputs.h - files that a run may write -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDS_RUN_OUTPUTS_H
#define TDS_RUN_OUTPUTS_H

#include "Options.h"

namespace tdsrun {

enum class Command { Train, Predict };

/// Refuses (UsageError) an output that would destroy something: a file that
/// the same run reads or writes under another option, whatever names it has;
/// a file that holds anything else than the option writes; and what is not a
/// regular file, since a save replaces it. Nothing has been written then.
void checkOutputs(const Options &options, Command command);

} // namespace tdsrun

#endif // TDS_RUN_OUTPUTS_H
