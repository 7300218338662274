//===- LastBlock.cpp - small readers in the last block of a launch -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel that reads what another makes needs all of it, so it is a launch of
// its own, or it runs in the block of the other's launch that ends last: the
// other blocks have by then written what they make. That block is one
// multiprocessor's work, so it pays for little work only: the second stage of a
// sum, what follows from it, the update of a few parameters.
//
//===----------------------------------------------------------------------===//

#include "LaunchGroups.h"

#include "mlir/IR/Remarks.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

SmallVector<unsigned> LaunchGroups::getReaders(unsigned group) const {
  llvm::SmallSetVector<unsigned, 8> readers;
  for (unsigned member : groups[group])
    for (unsigned next : successors[member])
      if (groupOf[next] != group)
        readers.insert(groupOf[next]);
  SmallVector<unsigned> sorted(readers.takeVector());
  llvm::sort(sorted);
  return sorted;
}

KernelCost LaunchGroups::getNeeds(ArrayRef<unsigned> members) const {
  KernelCost needs;
  llvm::DenseSet<Value> inputs;
  unsigned outputs = 0;
  for (unsigned member : members) {
    KernelOp kernel = getKernel(member);
    KernelCost cost = model.getCost(kernel);
    needs = member == members.front() ? cost : needs + cost;
    inputs.insert_range(kernel.getInputs());
    outputs += kernel.getNumResults();
  }
  for (unsigned member : members)
    for (Value output : getKernel(member).getOutputs())
      inputs.erase(output);
  needs.buffers = inputs.size() + outputs;
  return needs;
}

double LaunchGroups::getNs(ArrayRef<unsigned> members) const {
  SmallVector<KernelCost> atOnce, byLastBlock;
  for (unsigned member : members)
    (stageOf[member] == 0 ? atOnce : byLastBlock)
        .push_back(model.getCost(getKernel(member)));
  return model.getNs(atOnce, byLastBlock);
}

std::optional<std::string> LaunchGroups::findObstacle(unsigned first,
                                                      unsigned second) const {
  for (unsigned member : groups[first])
    for (unsigned next : successors[member])
      if (groupOf[next] != first && groupOf[next] != second &&
          reached[next].test(groups[second].front()))
        return "another kernel must run between the two";
  for (unsigned member : groups[second])
    for (Value input : getKernel(member).getInputs()) {
      Operation *made = getViewed(input).getDefiningOp();
      auto it = numberOf.find(made);
      if (input.getDefiningOp() != made && it != numberOf.end() &&
          groupOf[it->second] == first)
        return "it reads what the kernel makes in another shape";
    }
  return std::nullopt;
}

bool LaunchGroups::tryStage(unsigned first, unsigned second) {
  if (isLoop(first) || isLoop(second))
    return false;
  auto opts = remark::RemarkOpts::name("last-block")
                  .category("fusion")
                  .function(function.getName());
  Location loc = kernels[groups[second].front()]->getLoc();
  auto other = tellOther(first);
  auto refuse = [&](const Twine &why) {
    remark::missed(loc, opts)
        << ("not run by the last block of the kernel that it reads: " + why)
               .str()
        << remark::metric("Decision", "stage")
        << remark::metric("First", groups[first].front())
        << remark::metric("Second", groups[second].front()) << other;
    return false;
  };
  if (std::optional<std::string> obstacle = findObstacle(first, second))
    return refuse(*obstacle);
  SmallVector<unsigned> before(groups[first]), moved(groups[second]);
  SmallVector<unsigned> both(before);
  llvm::append_range(both, moved);
  std::string why;
  if (!model.fits(getNeeds(both), &why))
    return refuse(why);
  double apart = getNs(before) + getNs(moved) + 2 * model.getLaunchNs();
  // Behind everything that is in the launch by now that it may read.
  unsigned behind = 0;
  for (unsigned member : before)
    behind = std::max(behind, stageOf[member] + 1);
  for (unsigned member : moved)
    stageOf[member] += behind;
  auto undo = [&] {
    for (unsigned member : moved)
      stageOf[member] -= behind;
  };
  double together = getNs(both) + model.getLaunchNs();
  if (together >= apart) {
    undo();
    return refuse(llvm::formatv("{0} so, {1} apart", formatTime(together),
                                formatTime(apart))
                      .str());
  }
  unsigned number = moved.front();
  move(moved, first);
  if (double peak = getPeak(); peak > mostBytes) {
    move(moved, second);
    undo();
    return refuse(llvm::formatv("{0:f0} bytes would live at once, {1:f0} are "
                                "worth it",
                                peak, mostBytes)
                      .str());
  }
  remark::passed(loc, opts)
      << llvm::formatv("run by the last block of the kernel that it reads: "
                       "{0} so, {1} apart",
                       formatTime(together), formatTime(apart))
             .str()
      << remark::metric("Decision", "stage")
      << remark::metric("First", before.front())
      << remark::metric("Second", number) << other;
  close();
  return true;
}
