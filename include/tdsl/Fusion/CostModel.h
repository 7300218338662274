//===- CostModel.h - what kernels cost on a device -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A roofline with a price for a launch and for processors without work, as in
// Williams, Waterman and Patterson 2009. docs/Fusion.md is the page about it.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_FUSION_COSTMODEL_H
#define TDSL_FUSION_COSTMODEL_H

#include "tdsl/Dialect/TDS/TDSOps.h"
#include "tdsl/Fusion/TargetDescription.h"

namespace tdsl {

/// What a kernel moves, computes and needs.
struct KernelCost {
  /// Bytes of the operands and results, each once.
  double bytes = 0;
  /// Operations of contractions, a fused multiply-add is two, and of bodies.
  double flops = 0, ops = 0;
  /// Blocks of a GPU, or work items of a CPU: how much may run side by side.
  double blocks = 1;
  /// Of a GPU, estimated before there is code: what a thread and a block need.
  double registers = 0, sharedBytes = 0;
  /// Pointers that the kernel is given.
  unsigned buffers = 0;
};

class CostModel {
public:
  explicit CostModel(TargetDescription target) : target(std::move(target)) {}

  const TargetDescription &getTarget() const { return target; }

  /// The cost of a kernel that has been formed. Of one with parts it is the sum
  /// of theirs, and what the part that needs most needs.
  KernelCost getCost(tds::KernelOp kernel) const;

  /// Bytes that a kernel moves, in ns, when the whole device works on it; a
  /// tensor of `tensorBytes` that fits the cache moves at the cache's speed.
  double getMoveNs(double bytes, double tensorBytes) const;
  /// The work of a kernel, in ns, when the whole device works on it.
  double getComputeNs(const KernelCost &cost) const {
    return cost.flops / target.f32GflopPerS + cost.ops / target.elementGopPerS;
  }
  double getLaunchNs() const { return target.launchNs; }

  /// What it costs to evaluate bodies of `cost` additions (getBodyCost) at
  /// `points` points, in ns, on the whole device. Each takes as long as a fused
  /// multiply-add, which counts as two.
  double getBodyNs(double cost, double points) const {
    return cost * points / target.elementGopPerS;
  }

  /// The time of kernels in one launch, without the launch itself. A single
  /// kernel is the case of one.
  double getNs(llvm::ArrayRef<KernelCost> parts) const;
  /// The same where the last block of `atOnce` runs `byLastBlock`, one after
  /// the other.
  double getNs(llvm::ArrayRef<KernelCost> atOnce,
               llvm::ArrayRef<KernelCost> byLastBlock) const;

  /// Whether a kernel of this cost can be launched at all. `why` gets the limit
  /// that is passed.
  bool fits(const KernelCost &cost, std::string *why = nullptr) const;

  /// The bytes that could be moved in the time of one launch: what it may cost
  /// in memory to save a launch.
  double getBytesOfLaunch() const {
    return target.launchNs * target.memoryGBPerS;
  }

  /// Threads of a block, and bytes of a vector access of a thread.
  static constexpr double blockThreads = 256, accessBytes = 16;
  /// Operations that make a work item of a CPU.
  static constexpr double itemOps = 10000;

private:
  TargetDescription target;
};

/// Loads a target description for a pass; nothing after an error at `at`.
std::optional<CostModel> loadCostModel(llvm::StringRef target,
                                       mlir::Operation *at);

/// Bytes of a tensor.
double getNumBytes(mlir::Type type);

/// A time of the model in a remark: "12.5 us", and "13 ns" where that would be
/// next to nothing.
std::string formatTime(double ns);

/// How often a contraction's kernel on a GPU loads elements of a factor, all
/// together: each is in a tile of the results for every so many results along
/// the axes that it lacks, and once for each place of a window.
double getNumLoads(tds::ContractOp contract, bool isLhs);

/// The cost of two kernels as one that does the work of both.
KernelCost operator+(const KernelCost &lhs, const KernelCost &rhs);

} // namespace tdsl

#endif // TDSL_FUSION_COSTMODEL_H
