//===- Cluster.h - clusters of one block ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TDSL_SIM_EXEC_CLUSTER_H
#define TDSL_SIM_EXEC_CLUSTER_H

#include "exec/Warp.h"

namespace tds::sim {

/// Ends the phase of the cluster's barrier if all running threads have
/// arrived; true if it did.
bool completeCluster(Block &block);
/// The lanes of `w` that wait at the cluster's barrier go on.
void passCluster(Warp &w);

} // namespace tds::sim

#endif // TDSL_SIM_EXEC_CLUSTER_H
