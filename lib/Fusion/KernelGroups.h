//===- KernelGroups.h - operations grouped into kernels to be -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_FUSION_KERNELGROUPS_H
#define TDSL_LIB_FUSION_KERNELGROUPS_H

#include "tdsl/Fusion/KernelRules.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <string>

namespace tdsl {

/// The operations of a block as a graph of groups without cycles. Each group is
/// one kernel to be; at first each operation is one. Reshapes are looked
/// through: they are no members, but a value that reaches a member through one
/// is not made in its kernel.
class KernelGroups {
public:
  struct Group {
    KernelShape shape;
    /// Holds a generic with a reduction.
    bool hasReduction = false;
    /// Holds something that is never joined, such as a kernel made before.
    bool isOpaque = false;
    /// The extents of the members that make a variable's new value from its
    /// old one, which can be in place in a loop, or once for each row.
    llvm::SmallVector<llvm::ArrayRef<int64_t>, 1> updates;
    /// In program order.
    llvm::SmallVector<unsigned> members;
    /// Place in the order of the groups.
    unsigned position = 0;
  };

  /// With `saveMemory`, a contraction does not wait for others where that keeps
  /// its operands in memory.
  KernelGroups(mlir::Block &block, unsigned maxBuffers,
               bool saveMemory = false);

  unsigned getNumOps() const { return ops.size(); }
  /// Null for one that was taken out.
  mlir::Operation *getOp(unsigned op) const { return ops[op]; }
  unsigned getGroupOf(unsigned op) const { return groupOf[op]; }
  const Group &getGroup(unsigned group) const { return groups[group]; }
  /// The operations that `op` reads, looking through reshapes.
  llvm::ArrayRef<unsigned> getProducers(unsigned op) const {
    return producers[op];
  }
  std::optional<unsigned> getIndexOf(mlir::Operation *op) const;
  /// The groups, each behind those that it reads.
  llvm::ArrayRef<unsigned> getOrder() const { return order; }

  /// What forbids that two groups are one.
  enum class Obstacle {
    None,
    Opaque,  ///< one was a kernel before
    Kinds,   ///< no kind of kernel holds both
    Reads,   ///< one reads the other's result elsewhere than it is made
    Update,  ///< a variable is updated at other points than the rows
    Members, ///< too many operations
    Buffers, ///< too many inputs and outputs
    Order,   ///< a third group stands between
    Memory,  ///< large operands would be kept until another group has run
  };
  Obstacle findObstacle(unsigned lhs, unsigned rhs) const;
  /// The obstacle in words, for people who ask why a result is stored.
  std::string describeObstacle(unsigned lhs, unsigned rhs) const;

  /// Joins two groups where their kinds, their reads of each other, the number
  /// of buffers and the order allow it.
  bool tryJoin(unsigned lhs, unsigned rhs);

  /// The values that the members of a group read from outside it, each once, in
  /// order.
  llvm::SmallVector<mlir::Value>
  getInputs(llvm::ArrayRef<unsigned> members) const;
  /// The results of members that are used outside the group.
  llvm::SmallVector<mlir::Value>
  getOutputs(llvm::ArrayRef<unsigned> members) const;

  /// Whether members of `group` may read `tensor`; not an old value of a
  /// variable that is written before.
  bool mayRead(mlir::Value tensor, unsigned group) const;

  /// Reads anew who reads whom, after bodies have been rewritten.
  void refresh();

  /// Takes an operation without uses out of its group. The caller erases it.
  void remove(unsigned op);

private:
  /// Notes what `op` reads.
  void connect(unsigned op);
  void findWriters(mlir::Block &block);
  bool readsEachOtherAligned(unsigned lhs, unsigned rhs,
                             const KernelShape &shape) const;
  /// Whether a contraction, joined with its reader, would keep more bytes than
  /// its results have until kernels behind it have run.
  bool keepsOperands(unsigned contraction, unsigned reader) const;
  /// The groups from `first` to `second` that need `first`; nothing where one
  /// of them is needed by `second`, so that the two cannot stand side by side.
  std::optional<llvm::DenseSet<unsigned>> getBehind(unsigned first,
                                                    unsigned second) const;
  /// Orders the groups between `first` and `second` so that both may become
  /// one.
  void makeAdjacent(unsigned first, unsigned second,
                    const llvm::DenseSet<unsigned> &behind);
  /// The groups that read, at any distance, what one of these makes.
  llvm::DenseSet<unsigned> getReached(llvm::ArrayRef<unsigned> from) const;

  unsigned maxBuffers;
  bool saveMemory;
  llvm::SmallVector<mlir::Operation *> ops;
  /// The operation that makes the new value, by the old one.
  llvm::DenseMap<mlir::Value, unsigned> writers;
  llvm::DenseMap<mlir::Operation *, unsigned> indexOf;
  llvm::SmallVector<llvm::SmallVector<unsigned, 4>> producers, consumers;
  llvm::SmallVector<unsigned> groupOf;
  llvm::SmallVector<Group> groups;
  llvm::SmallVector<unsigned> order;
};

} // namespace tdsl

#endif // TDSL_LIB_FUSION_KERNELGROUPS_H
