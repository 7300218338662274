//===- Checkpoint.h - save and restore a module -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDS_CHECKPOINT_CHECKPOINT_H
#define TDS_CHECKPOINT_CHECKPOINT_H

#include "core/Module.h"

namespace tdsrt {

void saveCheckpoint(Module &module, const std::string &path,
                    const tds_progress &progress);

/// Where the run of a checkpoint stood; an error where the file is none.
tds_progress inspectCheckpoint(const std::string &path);

tds_progress restoreCheckpoint(Module &module, const std::string &path);

void initializeFrom(Module &module, const std::string &path,
                    const std::string &mapPath,
                    const std::string &allowMissing);

/// '*' is any run of characters, '?' is any one; the rest is literal.
bool globMatches(std::string_view pattern, std::string_view text);

} // namespace tdsrt

#endif // TDS_CHECKPOINT_CHECKPOINT_H
