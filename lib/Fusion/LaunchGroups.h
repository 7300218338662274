//===- LaunchGroups.h - which kernels share a launch -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_FUSION_LAUNCHGROUPS_H
#define TDSL_LIB_FUSION_LAUNCHGROUPS_H

#include "tdsl/Fusion/CostModel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace tdsl {

/// A place whose old value is replaced by a new one: a variable of an entry, a
/// value that a loop carries.
struct Update {
  mlir::Value before, after;
};

/// The updates of a block: of the variables of an entry in that of the entry,
/// of what a loop carries in its body.
llvm::SmallVector<Update> getUpdates(mlir::Block &block);

/// The value that a tensor is a view of.
mlir::Value getViewed(mlir::Value value);

/// The kernels of an entry or of the body of a loop, in groups; each group is
/// one launch to be.
class LaunchGroups {
public:
  LaunchGroups(mlir::Block &block, llvm::ArrayRef<Update> updates,
               mlir::func::FuncOp function, const CostModel &model);

  /// Puts two groups side by side where that is allowed and pays, and says so.
  bool tryJoin(unsigned lhs, unsigned rhs);
  /// Makes the last block of `first` run `second`, which reads what `first`
  /// makes, where that is allowed and pays, and says so.
  bool tryStage(unsigned first, unsigned second);
  /// The groups that directly need one of the group's results, in order.
  llvm::SmallVector<unsigned> getReaders(unsigned group) const;
  /// Makes each group of several kernels one, in their order, before the
  /// terminator of their block; what is no kernel moves to where it is first
  /// needed.
  void build(mlir::Block &block);
  /// Whether two groups read one large tensor.
  bool shareInput(unsigned lhs, unsigned rhs) const;
  unsigned getNumGroups() const { return groups.size(); }
  bool isLive(unsigned group) const { return !groups[group].empty(); }

private:
  tds::KernelOp getKernel(unsigned kernel) const {
    return llvm::cast<tds::KernelOp>(kernels[kernel]);
  }
  bool isLoop(unsigned group) const {
    return llvm::isa<tds::FoldOp>(kernels[groups[group].front()]);
  }
  /// The groups in an order that their reads allow; of those that are ready
  /// the one that was first.
  llvm::SmallVector<unsigned> getOrder() const;
  void addEdges(mlir::Block &block, llvm::ArrayRef<Update> updates);
  void close();
  /// Makes kernels members of another group.
  void move(llvm::ArrayRef<unsigned> members, unsigned group);
  /// What a group would need in one launch, all of it together.
  KernelCost getNeeds(llvm::ArrayRef<unsigned> members) const;
  /// The time of a group in one launch, without the launch.
  double getNs(llvm::ArrayRef<unsigned> members) const;
  /// Why the last block of `first` cannot run `second`; nothing where it can.
  std::optional<std::string> findObstacle(unsigned first,
                                          unsigned second) const;
  /// The most bytes that live at one point when the groups run in their order.
  double getPeak() const;
  void refuse(unsigned lhs, unsigned rhs, const llvm::Twine &why);
  /// The field of a remark that says where "another kernel" comes from: all
  /// places of the launch.
  mlir::remark::detail::Remark::Arg tellOther(unsigned group) const {
    llvm::SmallVector<mlir::Location> locs;
    for (unsigned member : groups[group])
      locs.push_back(kernels[member]->getLoc());
    return {"Other", mlir::Attribute(mlir::FusedLoc::get(
                         kernels.front()->getContext(), locs))};
  }

  mlir::func::FuncOp function;
  const CostModel &model;
  /// Kernels, and the loops between them, which stay by themselves.
  llvm::SmallVector<mlir::Operation *> kernels;
  llvm::DenseMap<mlir::Operation *, unsigned> numberOf;
  llvm::SmallVector<llvm::SmallVector<unsigned>> groups;
  llvm::SmallVector<unsigned> groupOf;
  /// When each kernel runs in the launch of its group: those of stage 0 side by
  /// side, those of later stages by the last block, when the stage before is
  /// done.
  llvm::SmallVector<unsigned> stageOf;
  llvm::SmallVector<llvm::SmallSetVector<unsigned, 4>> successors;
  /// Which kernels come after each kernel, through groups.
  llvm::SmallVector<llvm::BitVector> reached;
  /// Outputs that need a place in the arena, with their readers.
  struct Buffer {
    unsigned writer;
    double bytes;
    llvm::SmallVector<unsigned, 4> readers;
  };
  llvm::SmallVector<Buffer> buffers;
  double mostBytes = 0;
};

} // namespace tdsl

#endif // TDSL_LIB_FUSION_LAUNCHGROUPS_H
