//===- ContractShape.h - a contraction as loops over m, n and k -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_TARGET_COMMON_CONTRACTSHAPE_H
#define TDSL_TARGET_COMMON_CONTRACTSHAPE_H

#include "tdsl/Dialect/TDS/TDSOps.h"

namespace tdsl::target {

/// The axes of a tds.contract by what they index: batch axes both operands and
/// the result, m axes the left operand and the result, n axes the right operand
/// and the result, k axes are summed. Strides count elements; 0 where a tensor
/// lacks the axis. Axes that lie next to each other in all tensors are one
/// axis, those of extent 1 are left out.
struct ContractShape {
  struct Axis {
    int64_t extent, lhs, rhs, out;
    /// The axes of the result that it runs over (empty for k).
    llvm::SmallVector<int64_t, 2> resultAxes = {};
  };
  /// In the order of the result (k: of the summation).
  llvm::SmallVector<Axis> batch, m, n, k;
  /// Where the first element of each operand lies, in elements (0 unless it is
  /// a window).
  int64_t lhsOffset = 0, rhsOffset = 0;
  /// Left and right are exchanged with respect to the op, so that the innermost
  /// axis of the result is an n axis where it is no batch axis.
  bool swapped = false;

  /// The number of points of a group of axes.
  static int64_t getExtent(llvm::ArrayRef<Axis> group) {
    int64_t extent = 1;
    for (const Axis &axis : group)
      extent *= axis.extent;
    return extent;
  }

  /// Without `mergeColumns`, n axes stay as in the op.
  static ContractShape get(tds::ContractOp op, bool mergeColumns = true);

  mlir::Value lhs(tds::ContractOp op) const {
    return swapped ? op.getRhs() : op.getLhs();
  }
  mlir::Value rhs(tds::ContractOp op) const {
    return swapped ? op.getLhs() : op.getRhs();
  }
};

/// Replaces the contraction of a kernel by a tds.generic that sums products,
/// and makes it a loop or row kernel of kind `kind`.
void expandContract(tds::KernelOp kernel, llvm::StringRef kind);

} // namespace tdsl::target

#endif // TDSL_TARGET_COMMON_CONTRACTSHAPE_H
