//===- KernelRules.h - what a kernel of each kind may hold -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_FUSION_KERNELRULES_H
#define TDSL_FUSION_KERNELRULES_H

#include "tdsl/Dialect/TDS/TDSOps.h"

namespace tdsl {

/// The kinds of kernels (the attribute `kind` of tds.kernel).
enum class KernelKind {
  Loop,
  Row,
  Contract,
  Scatter,
  Attention,
  AttentionGrad
};

llvm::StringRef getKernelKindName(KernelKind kind);

/// What the operations of one kernel run over: `rows` are the parallel extents
/// (of the contraction's result, for that kind), `columns` the reduction
/// extents of a `row` kernel.
struct KernelShape {
  KernelKind kind = KernelKind::Loop;
  llvm::SmallVector<int64_t> rows, columns;

  bool operator==(const KernelShape &other) const {
    return kind == other.kind && rows == other.rows && columns == other.columns;
  }
};

/// Whether a reduction runs along memory, so that a row is best read by many
/// threads side by side. Otherwise (columns, windows) each result is best
/// reduced by one thread, which is a `loop`.
bool isRowReduction(tds::GenericOp generic);

/// The shape of the kernel that holds `op` (generic, contract, scatter,
/// attention or its derivative) alone.
KernelShape getShapeOf(mlir::Operation *op);

/// The shape of a kernel that holds what kernels of these two shapes hold, or
/// nothing where no kind allows it. `hasReduction` tell whether a `loop` of the
/// two holds a reduction.
std::optional<KernelShape> joinShapes(const KernelShape &lhs,
                                      bool lhsHasReduction,
                                      const KernelShape &rhs,
                                      bool rhsHasReduction);

/// Whether `read`, in a body of a kernel of this shape, reads a tensor that is
/// made in the kernel as its kind allows.
bool isAlignedRead(tds::ReadOp read, const KernelShape &shape);

/// Whether a generic makes a factor of a contraction in its kernel, or part of
/// one.
bool isPrologue(tds::GenericOp generic);

/// Checks a kernel against the rules of its kind (kernel_c1), in full. Fails
/// after an error that names the operation.
llvm::LogicalResult verifyKernelKind(tds::KernelOp kernel);

} // namespace tdsl

#endif // TDSL_FUSION_KERNELRULES_H
