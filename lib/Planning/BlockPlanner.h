//===- BlockPlanner.h - order, homes and offsets for one block -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_PLANNING_BLOCKPLANNER_H
#define TDSL_LIB_PLANNING_BLOCKPLANNER_H

#include "EntryPlanner.h"

#include "tdsl/Dialect/TDS/TDSOps.h"
#include "tdsl/Planning/Arena.h"

#include "llvm/ADT/SetVector.h"

namespace tdsl {

/// Kernels get buffers at multiples of this; copies may begin anywhere.
inline constexpr int64_t kernelAlignment = 16;

/// Where a returned value must be at the end.
struct Destination {
  unsigned returned;
  mlir::Value value;
  plan::BufferAttr buffer;
  bool isVariable;
  /// A kernel may write there.
  bool isAligned = true;
};

/// A carried value of a fold that is collected anyway: each iteration leaves it
/// behind the one that it was given, and the stack has one place more than
/// there are iterations.
struct Trail {
  unsigned carried;
  /// The collected results that are the value before, and behind each
  /// iteration.
  std::optional<unsigned> before, behind;
  /// The buffer of the stack, in the surrounding block.
  unsigned buffer = 0;
};

/// Plans the body of an entry or of a fold; see EntryPlanner.cpp for how.
class BlockPlanner {
public:
  /// `depth` is the number of loops around the block.
  BlockPlanner(mlir::Block &block, ModuleLayout &layout, unsigned depth,
               bool hasTrails, bool donate = false)
      : block(block), context(block.getParentOp()->getContext()),
        layout(layout), depth(depth), hasTrails(hasTrails), donate(donate) {}

  mlir::FailureOr<EntryPlan> runEntry(mlir::func::FuncOp entry);
  /// The values of `trails` are carried from one place of their stack to the
  /// next.
  mlir::FailureOr<BlockPlan> runFold(tds::FoldOp fold,
                                     llvm::ArrayRef<Trail> trails);

private:
  // Why there are copies (Reasons.cpp).

  /// Why a command is there, as a sentence, and where in the program.
  struct Reason {
    std::string why;
    mlir::Location loc;
  };
  /// As in "variable `w`", "what the loop carries".
  std::string describe(mlir::Value value) const;
  std::string describe(const Destination &destination) const;
  Reason explainKept(const Destination &destination) const;
  /// Why what is returned is copied from where it is.
  Reason explain(const Destination &destination) const;
  Reason explainUnaligned(mlir::Value part) const;
  Reason explainInitial(tds::FoldOp fold, mlir::Value value) const;

  // Kernels and values.

  mlir::LogicalResult run();
  static bool isItem(mlir::Operation *op);
  mlir::LogicalResult collect();
  plan::BufferAttr makeBuffer(plan::Space space, int64_t index, int64_t offset,
                              mlir::Type type);
  void layOutSlots(mlir::func::FuncOp entry);
  /// Numbers the places of a fold: see BlockPlan.
  void layOutFold(tds::FoldOp fold, llvm::ArrayRef<Trail> trails);
  void layOutConstants();
  /// Whether a loop takes a constant as initial values only, which it is filled
  /// with.
  static bool isInitialOnly(mlir::Operation *item, tds::ConstantOp constant);
  /// The byte that all bytes of a constant are, if they are.
  static std::optional<uint8_t> getUniformByte(tds::ConstantOp constant);
  mlir::LogicalResult collectDestinations(mlir::func::FuncOp entry);

  // Homes.

  bool reaches(unsigned from, unsigned to);
  /// The one operand of a kernel that is `value` or a view of it (which has the
  /// same elements in the same order); -1 where there is none, -2 where there
  /// are several.
  static int64_t findOperand(tds::KernelOp kernel, mlir::Value value);
  /// Makes the place of a variable the home of its new value, a kernel's
  /// output, if the old value's readers can all run before.
  bool writeInPlace(mlir::OpResult value, plan::BufferAttr variable);
  void chooseHomes();

  // Order and copies.

  /// Kahn's algorithm; of the kernels that are ready, the first of the entry.
  void sort();
  /// Points of time: 0 before all kernels, 1 + position for a kernel, and
  /// `getEnd()` behind all of them.
  int64_t getEnd() const { return items.size() + 1; }

  bool changes(mlir::Value old);
  /// The carried values of a fold that may lie in a stack of their own.
  llvm::SmallVector<Trail> findTrails(tds::FoldOp fold);
  /// Places the stacks of a fold's trails.
  void layOutTrails(tds::FoldOp fold, unsigned number);
  /// Plans the bodies of the folds, whose arenas are buffers here.
  mlir::LogicalResult planFolds();
  /// A new arena buffer.
  unsigned addBuffer(int64_t bytes, int64_t first, int64_t last);
  void planCopies();
  /// Neighbouring fills with zero become one, over the padding between, which
  /// is zero anyway.
  void mergeFills();

  // The arena.

  /// The last point at which an input of the entry is read where it lies.
  int64_t getLastRead(mlir::Value input);
  /// An output takes the place of an input of the entry that its kernel is the
  /// last to read.
  bool takeInput(mlir::OpResult output, mlir::Value input, int64_t at);
  /// Moves buffers from the arena to the places of inputs that have been read.
  void useInputs();
  /// An output takes over the arena buffer of an input that dies in its kernel.
  void shareDyingBuffers();
  /// A carried value takes over the arena buffer of an initial value that dies
  /// in the loop.
  void shareInitialValues(tds::FoldOp fold, int64_t at);
  void allocate();

  // Commands.

  void writeCopy(plan::BufferAttr from, plan::BufferAttr to,
                 const Reason &reason);
  void writeFill(plan::BufferAttr to, uint8_t byte, const Reason &reason);
  void writeCommands();
  void writeLaunch(tds::KernelOp kernel, unsigned number);
  /// The part of `stack` that belongs to an iteration of a fold in this block.
  plan::BufferAttr getSlice(plan::BufferAttr stack, tds::FoldOp fold,
                            mlir::Type slice);
  void writeLoop(tds::FoldOp fold, unsigned number);

  struct Copy {
    plan::BufferAttr from, to;
    Reason reason;
  };
  struct Fill {
    plan::BufferAttr to;
    uint8_t byte;
    Reason reason;
    /// How many values it fills.
    unsigned count = 1;
  };

  mlir::Block &block;
  mlir::MLIRContext *context;
  ModuleLayout &layout;
  unsigned depth;
  bool hasTrails, donate;
  EntryPlan plan;

  /// The kernels and folds of the block, in order.
  llvm::SmallVector<mlir::Operation *> items;
  llvm::DenseMap<mlir::Operation *, unsigned> numberOf;
  /// The kernels that must run after each kernel.
  llvm::SmallVector<llvm::SetVector<unsigned>> successors;
  llvm::DenseMap<mlir::Value, llvm::SetVector<unsigned>> readers;
  llvm::SmallVector<Destination> destinations;
  /// The values of variables, by their places.
  llvm::DenseMap<plan::BufferAttr, mlir::Value> oldValueOf, newValueOf;

  llvm::DenseMap<mlir::Value, plan::BufferAttr> home;
  /// The inputs of the entry, and until when another value lies in the place of
  /// one.
  llvm::SmallVector<mlir::Value> inputs;
  llvm::DenseMap<mlir::Value, int64_t> occupiedUntil;
  /// The input whose buffer an output shares.
  llvm::DenseMap<mlir::Value, int64_t> sharedInput;
  llvm::SmallVector<unsigned> order, position;

  llvm::SmallVector<LiveBuffer> buffers;
  llvm::MapVector<mlir::Value, unsigned> bufferOf;
  /// Old values that are kept for another variable.
  llvm::MapVector<mlir::Value, unsigned> saved;
  struct LateCopy {
    unsigned buffer;
    plan::BufferAttr to;
    Reason reason;
  };
  llvm::SmallVector<LateCopy> lateCopies;
  llvm::MapVector<mlir::Value, llvm::SmallVector<Destination>> copiedAtEnd;
  llvm::SmallVector<Copy> copiesBefore, copiesBehind;
  llvm::SmallVector<Fill> fills;
  /// Slices that kernels cannot read where they lie, and their copies.
  llvm::SmallVector<mlir::Value> unaligned;
  llvm::MapVector<mlir::Value, unsigned> aligned;
  /// By the number of a fold: the plan of its body, and its body's arena.
  llvm::DenseMap<unsigned, std::unique_ptr<BlockPlan>> bodies;
  llvm::DenseMap<unsigned, unsigned> bodyBuffer;
  /// By the number of a fold: its trails; and where in their buffers the values
  /// of trails begin.
  llvm::DenseMap<unsigned, llvm::SmallVector<Trail>> trailsOf;
  llvm::DenseMap<mlir::Value, int64_t> offsetIn;
  /// Results of folds whose initial values lie in their buffers.
  llvm::DenseSet<mlir::Value> isInPlace;
};

} // namespace tdsl

#endif // TDSL_LIB_PLANNING_BLOCKPLANNER_H
