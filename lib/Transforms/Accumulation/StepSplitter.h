//===- StepSplitter.h - one step in micro-batches -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See the description of tds-accumulate in Passes.td. A step and its copies for
// fewer rows come from one text, so that their operations correspond one to
// one. Those of the step tell what belongs into the loop, those of the copies
// become its body.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_LIB_TRANSFORMS_ACCUMULATION_STEPSPLITTER_H
#define TDSL_LIB_TRANSFORMS_ACCUMULATION_STEPSPLITTER_H

#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/DenseSet.h"

namespace tdsl::accumulation {

/// The rows of a step: the extent of axis 0 of its inputs; 0 where it has none.
int64_t getNumRows(mlir::func::FuncOp step);

/// The number that each element of `value` is, if it is one float.
std::optional<double> getNumber(mlir::Value value);

inline mlir::RankedTensorType getTensorType(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

/// How a value of the loop comes out of it.
enum class Leaving {
  Mean,  ///< averaged over the rows
  All,   ///< a condition: true where it is for each micro-batch
  Rows,  ///< one micro-batch behind the other
  State, ///< the next micro-batch begins with it
};

/// A value of the loop that something outside reads.
struct Output {
  Leaving leaving;
  unsigned op, result;     ///< which operation of the step makes it
  unsigned terminator = 0; ///< State: the result of the step that it is
  mlir::Value total;       ///< the value behind the loop
};

/// Splits one step: `micro` is a copy of it for the rows of a micro-batch,
/// `last` one for those that are left, or null.
class StepSplitter {
public:
  StepSplitter(mlir::func::FuncOp step, mlir::func::FuncOp micro,
               mlir::func::FuncOp last)
      : step(step), micro(micro), last(last), rows(getNumRows(step)),
        part(getNumRows(micro)), trips(rows / part), builder(&step.getBody()) {}
  mlir::LogicalResult run();

private:
  mlir::LogicalResult match(mlir::func::FuncOp part);
  mlir::Value getNew(unsigned i);
  void classify();
  mlir::LogicalResult checkLosses();
  /// Whether the type of a value of the step depends on the number of rows.
  bool hasRows(mlir::OpResult value) {
    return value.getType() != getOps(micro)[numbers.lookup(value.getOwner())]
                                  ->getResult(value.getResultNumber())
                                  .getType();
  }
  mlir::LogicalResult weighRows(mlir::OpBuilder &builder,
                                mlir::func::FuncOp part, unsigned number,
                                mlir::IRMapping &mapping);
  mlir::LogicalResult findOutputs();
  mlir::LogicalResult addOutput(Leaving leaving, mlir::OpResult value,
                                unsigned terminator);
  bool isForAll(mlir::OpResult value);
  Leaving getLeaving(mlir::OpResult value, mlir::OpOperand &use);
  /// Remarks about what is taken over fewer rows than before.
  void tellSums();
  mlir::LogicalResult createLoop();
  mlir::LogicalResult createTail();
  void createTotals();
  void replaceUses();
  /// A variable that the loop carries is what the micro-batch before left;
  /// `carried` are the values that the loop has for those.
  void mapStates(mlir::IRMapping &mapping, mlir::func::FuncOp part,
                 mlir::ValueRange carried);
  mlir::LogicalResult cloneInto(mlir::OpBuilder &builder,
                                mlir::func::FuncOp part,
                                mlir::IRMapping &mapping,
                                mlir::Value iteration);
  mlir::Value getOld(const Output &output);
  mlir::Value slice(mlir::OpBuilder &builder, mlir::Value tensor, int64_t first,
                    int64_t rows);
  mlir::Value concatenate(mlir::OpBuilder &builder, mlir::Value head,
                          mlir::Value tail);
  static llvm::SmallVector<mlir::Operation *>
  getOps(mlir::func::FuncOp function) {
    llvm::SmallVector<mlir::Operation *> ops;
    for (mlir::Operation &op : function.getBody().front().without_terminator())
      ops.push_back(&op);
    return ops;
  }
  mlir::Value getValue(mlir::func::FuncOp part, const Output &output) {
    return getOps(part)[output.op]->getResult(output.result);
  }

  mlir::func::FuncOp step, micro, last;
  int64_t rows, part, trips; ///< of the step and of a micro-batch; how many
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, unsigned> numbers;
  llvm::DenseSet<mlir::Operation *> inLoop;
  /// What reads a gradient of the whole batch, or something that does.
  llvm::DenseSet<mlir::Operation *> behindBatch;
  /// The new values of variables that no gradient of the whole batch goes into,
  /// and the results of the step that they are.
  llvm::DenseMap<mlir::Value, unsigned> states;
  llvm::SmallVector<Output> outputs;
  mlir::OpBuilder builder; ///< at the beginning of the step
  tds::FoldOp fold;        ///< the loop
  mlir::IRMapping tail; ///< from `last` to what is computed for the rows left
};

} // namespace tdsl::accumulation

#endif // TDSL_LIB_TRANSFORMS_ACCUMULATION_STEPSPLITTER_H
