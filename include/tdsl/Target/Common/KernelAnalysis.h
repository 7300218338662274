//===- KernelAnalysis.h - what emitters know of a kernel -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_TARGET_COMMON_KERNELANALYSIS_H
#define TDSL_TARGET_COMMON_KERNELANALYSIS_H

#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <vector>

namespace tdsl::target {

/// A kernel in a function of its own, and the buffers of its ABI: the inputs of
/// the function in order, then the outputs that share no input's buffer.
struct OutlinedKernel {
  mlir::func::FuncOp function;
  tds::KernelOp kernel;
  /// For each block argument and each output of the kernel: its buffer; for an
  /// argument that is the number of an iteration: its size argument.
  llvm::SmallVector<unsigned> inputBuffers, outputBuffers;
  unsigned numBuffers = 0;
  /// The block arguments that are numbers of iterations, in order, and how many
  /// size arguments the function has for them.
  llvm::SmallVector<unsigned> counters;
  unsigned numCounters = 0;
  bool isCounter(unsigned input) const {
    return llvm::is_contained(counters, input);
  }
  /// Of a kernel with stages: the buffers that parts of several stages use and
  /// one writes. Other blocks may change them while a part runs.
  std::vector<unsigned> handedOn;
  /// No two buffers overlap.
  bool disjoint = false;

  /// Fails after an error at the function where it is no outlined kernel.
  static mlir::FailureOr<OutlinedKernel> get(mlir::func::FuncOp function);
  llvm::StringRef getName() { return function.getName(); }
  /// The parts of a kernel that has some, each as a kernel with the same
  /// function and buffers.
  std::vector<OutlinedKernel> getParts();
};

/// The outlined kernels of a module, in order: its private functions that hold
/// a tds.kernel.
mlir::LogicalResult
collectKernels(mlir::ModuleOp module,
               llvm::SmallVectorImpl<OutlinedKernel> &kernels);

/// A loop or row kernel (or the epilogue of a contraction) taken apart.
///
/// `rows` are the parallel extents that all parts share. A Row part has one
/// value for each of them, a Reduce part too, and a Full part has one for each
/// point of rows x inner. A part's level says after how many rounds of
/// reductions its value is known: reductions of level p run in round p and read
/// Full parts of lower levels, computed on the way.
struct PointKernel {
  enum class Class { Row, Reduce, Full };
  struct Part {
    tds::GenericOp op;
    Class kind;
    unsigned level;
  };

  tds::KernelOp kernel;
  llvm::SmallVector<int64_t> rows, inner;
  llvm::SmallVector<Part> parts;
  unsigned levels = 0;

  /// Fails after an error at the kernel where its parts do not fit together.
  static mlir::FailureOr<PointKernel> get(tds::KernelOp kernel);

  const Part *find(mlir::Value tensor) const;
  /// The Full parts whose values the bodies of `roots` need, in order; `roots`
  /// that are Full are among them.
  llvm::SmallVector<tds::GenericOp>
  fullPartsFor(llvm::ArrayRef<tds::GenericOp> roots) const;
  /// The Full parts that the kernel yields.
  llvm::SmallVector<tds::GenericOp> fullOutputs() const;
  /// The rounds of reductions: the reductions of one level over the same
  /// extents run together.
  llvm::SmallVector<llvm::SmallVector<tds::GenericOp>>
  roundsOf(unsigned level) const;
};

/// `sum(coefficient * index) + constant` over the indices of a body, or nothing
/// where the expression is of another form.
struct LinearForm {
  llvm::SmallVector<int64_t> coefficients;
  int64_t constant = 0;
};
std::optional<LinearForm> getLinearForm(mlir::Value index,
                                        mlir::ValueRange dims);
/// The offset that a read without guard has within its dense tensor.
std::optional<LinearForm> getLinearOffset(tds::ReadOp read,
                                          mlir::ValueRange dims);

/// Whether axes [begin, end) of the body's indices (extents in `extents`) can
/// run as one axis: everything in the body depends on their row-major number
/// only.
bool canCollapse(mlir::Block *body, llvm::ArrayRef<int64_t> extents,
                 unsigned begin, unsigned end);

/// Rough cost of the body for one point, in simple operations.
double bodyCost(mlir::Block *body);

} // namespace tdsl::target

#endif // TDSL_TARGET_COMMON_KERNELANALYSIS_H
