//===- Recompute.h - computed again instead of stored -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_FUSION_RECOMPUTE_H
#define TDSL_LIB_FUSION_RECOMPUTE_H

#include "KernelGroups.h"

#include "tdsl/Fusion/CostModel.h"

#include "llvm/ADT/MapVector.h"

namespace tdsl {

/// By group: the reads of a value there.
using OuterReads = llvm::MapVector<unsigned, llvm::SmallVector<tds::ReadOp>>;

/// The reads of `generic`, a member of `group`, in other groups; fails where it
/// is used in another way, so that it is in memory anyhow.
llvm::LogicalResult getOuterReads(const KernelGroups &groups,
                                  tds::GenericOp generic, unsigned group,
                                  OuterReads &reads);

/// Number of results up to which kernels that have nothing in common are joined
/// to save a launch. On each GPU that is described, three tensors of 16,384 f32
/// pass the cache in less than a third of the time of a launch; the same number
/// for all, so that kernels are. Larger ones are compared with the cost model,
/// by tds-merge-kernels.
inline constexpr int64_t smallKernel = 16384;

/// What it is worth, in ns, that kernels need not wait for the one that makes
/// `values` if they compute them from `leaves`: a launch for each of which
/// these, small, are all that it reads from there. It can then run beside that
/// one.
double getWaitingNs(const KernelGroups &groups, const CostModel &model,
                    llvm::ArrayRef<tds::GenericOp> values,
                    llvm::ArrayRef<mlir::Value> leaves,
                    const OuterReads &readers);

/// What a decision is told to: the operation, whether it was carried out, and
/// its reason.
using TellDecision =
    llvm::function_ref<void(mlir::Operation *, bool, std::string)>;

/// Where a group stores several values that are all computed, element by
/// element, from one that it has (the result of a contraction, a row's
/// statistics) and from what is in memory anyway, lets their readers compute
/// them from that one, where this moves fewer bytes than the operations are
/// worth. The activation and the factors of its derivative are such values.
/// Returns how many values are no longer stored.
unsigned recomputeOutputs(KernelGroups &groups, const CostModel &model,
                          unsigned maxBuffers, TellDecision tell);

/// Lets the readers of a value in other groups compute it where what it is made
/// of is in memory anyway, where this moves fewer bytes, or spares more
/// waiting, than the operations are worth. A value with one reader moves there.
/// Returns how many values are computed again.
unsigned recomputeInReaders(KernelGroups &groups, const CostModel &model,
                            unsigned maxBuffers, TellDecision tell);

/// Cost up to which a small value is computed again only so that its reader
/// need not wait. A launch is worth more, but chains of such values would make
/// code without end.
inline constexpr int64_t cheapToSpareWaiting = 32;

/// Cost up to which a value of rows is computed again at each point of the
/// columns, inside a kernel.
inline constexpr int64_t cheapPerPoint = 2;

} // namespace tdsl

#endif // TDSL_LIB_FUSION_RECOMPUTE_H
