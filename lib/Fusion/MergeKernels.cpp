//===- MergeKernels.cpp - kernels side by side in one launch -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of which none needs another's result become the parts of one. The
// kernels of a loop's body are joined among themselves. Nearest first, so that
// equal layers give equal groups, and values do not live longer than they must.
// What is left, and is little, becomes a later stage of what it reads
// (LastBlock.cpp).
//
//===----------------------------------------------------------------------===//

#include "LaunchGroups.h"

#include "tdsl/Fusion/Passes.h"

#include "mlir/IR/Remarks.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

namespace tdsl {
#define GEN_PASS_DEF_MERGEKERNELSPASS
#include "tdsl/Fusion/Passes.h.inc"
} // namespace tdsl

/// How many kernels behind a kernel are tried as parts beside it: the work
/// stays linear in the number of kernels, and those further away seldom may
/// come before all between.
static constexpr unsigned maxTries = 24;
/// A tensor that is worth being read once by two kernels side by side: to read
/// 1 MiB from an A100's memory takes as long as a launch.
static constexpr double largeBytes = 1 << 20;

void LaunchGroups::refuse(unsigned lhs, unsigned rhs, const Twine &why) {
  remark::missed(kernels[groups[rhs].front()]->getLoc(),
                 remark::RemarkOpts::name("side-by-side")
                     .category("fusion")
                     .function(function.getName()))
      << ("not beside another kernel: " + why).str()
      << remark::metric("Decision", "merge")
      << remark::metric("First", groups[lhs].front())
      << remark::metric("Second", groups[rhs].front()) << tellOther(lhs);
}

bool LaunchGroups::shareInput(unsigned lhs, unsigned rhs) const {
  llvm::DenseSet<Value> inputs;
  for (unsigned member : groups[lhs])
    for (Value input : kernels[member]->getOperands())
      if (getNumBytes(input.getType()) >= largeBytes)
        inputs.insert(getViewed(input));
  return llvm::any_of(groups[rhs], [&](unsigned member) {
    return llvm::any_of(kernels[member]->getOperands(), [&](Value input) {
      return inputs.contains(getViewed(input));
    });
  });
}

bool LaunchGroups::tryJoin(unsigned lhs, unsigned rhs) {
  if (isLoop(lhs) || isLoop(rhs))
    return false;
  if (reached[groups[lhs].front()].test(groups[rhs].front()) ||
      reached[groups[rhs].front()].test(groups[lhs].front()))
    return false;
  SmallVector<KernelCost> left, right, both;
  llvm::DenseSet<Value> inputs;
  KernelCost joined;
  unsigned outputs = 0;
  for (unsigned group : {lhs, rhs})
    for (unsigned member : groups[group]) {
      KernelOp kernel = getKernel(member);
      KernelCost cost = model.getCost(kernel);
      (group == lhs ? left : right).push_back(cost);
      both.push_back(cost);
      joined = both.size() == 1 ? cost : joined + cost;
      inputs.insert_range(kernel.getInputs());
      outputs += kernel.getNumResults();
    }
  // The tiles of an attention would be the shared memory of every block of the
  // launch, and it leaves no processor without work that others could use.
  const TargetDescription &target = model.getTarget();
  for (unsigned group : {lhs, rhs})
    for (unsigned member : groups[group]) {
      StringRef kind = getKernel(member).getKind();
      if ((kind == "attention" || kind == "attention_grad") && !target.isCPU &&
          model.getCost(getKernel(member)).blocks >= target.multiprocessors) {
        refuse(lhs, rhs, "an attention fills the device by itself");
        return false;
      }
    }
  joined.buffers = inputs.size() + outputs;
  std::string why;
  if (!model.fits(joined, &why)) {
    refuse(lhs, rhs, why);
    return false;
  }
  double apart =
      model.getNs(left) + model.getNs(right) + 2 * model.getLaunchNs();
  double together = model.getNs(both) + model.getLaunchNs();
  if (together >= apart) {
    refuse(lhs, rhs,
           llvm::formatv("{0} together, {1} apart", formatTime(together),
                         formatTime(apart)));
    return false;
  }
  unsigned first = std::min(lhs, rhs), second = std::max(lhs, rhs);
  SmallVector<unsigned> before(groups[first]), moved(groups[second]);
  auto other = tellOther(first);
  move(moved, first);
  if (double peak = getPeak(); peak > mostBytes) {
    move(moved, second);
    refuse(lhs, rhs,
           llvm::formatv("{0:f0} bytes would live at once, {1:f0} are worth "
                         "it",
                         peak, mostBytes));
    return false;
  }
  remark::passed(kernels[moved.front()]->getLoc(),
                 remark::RemarkOpts::name("side-by-side")
                     .category("fusion")
                     .function(function.getName()))
      << llvm::formatv("beside another kernel: {0} together, {1} "
                       "apart",
                       formatTime(together), formatTime(apart))
             .str()
      << remark::metric("Decision", "merge")
      << remark::metric("First", before.front())
      << remark::metric("Second", moved.front()) << other;
  close();
  return true;
}

namespace {

struct MergeKernelsPass
    : public tdsl::impl::MergeKernelsPassBase<MergeKernelsPass> {
  using tdsl::impl::MergeKernelsPassBase<
      MergeKernelsPass>::MergeKernelsPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !function->hasAttr(attr::kEntry))
      return;
    std::optional<CostModel> model = loadCostModel(target, function);
    if (!model)
      return signalPassFailure();
    // Inner loops first: what lies in them is no kernel of the outer block.
    SmallVector<FoldOp> folds;
    function.walk<WalkOrder::PostOrder>(
        [&](FoldOp fold) { folds.push_back(fold); });
    for (FoldOp fold : folds)
      mergeBlock(*fold.getBlock(), *model);
    mergeBlock(function.getBody().front(), *model);
  }

  void mergeBlock(Block &block, const CostModel &model) {
    LaunchGroups merged(block, getUpdates(block), getOperation(), model);
    // First those that read one large tensor, which then comes by once.
    joinAll(merged, /*sharing=*/true);
    joinAll(merged, /*sharing=*/false);
    if (!model.getTarget().isCPU)
      stageAll(merged);
    merged.build(block);
  }

  void joinAll(LaunchGroups &merged, bool sharing) {
    unsigned count = merged.getNumGroups();
    for (unsigned group = 0; group < count; ++group) {
      unsigned tries = 0;
      for (unsigned other = group + 1;
           other < count && tries < maxTries && merged.isLive(group); ++other)
        if (merged.isLive(other)) {
          ++tries;
          if (!sharing || merged.shareInput(group, other))
            numMerged += merged.tryJoin(group, other);
        }
    }
  }

  /// What a kernel takes up in its last block gives it new readers.
  void stageAll(LaunchGroups &merged) {
    for (unsigned group = 0; group < merged.getNumGroups(); ++group) {
      llvm::DenseSet<unsigned> refused;
      for (bool changed = true; changed && merged.isLive(group);) {
        changed = false;
        for (unsigned reader : merged.getReaders(group)) {
          if (refused.contains(reader))
            continue;
          if (merged.tryStage(group, reader)) {
            ++numStaged;
            changed = true;
            break;
          }
          refused.insert(reader);
        }
      }
    }
  }
};

} // namespace
