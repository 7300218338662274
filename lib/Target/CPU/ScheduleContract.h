//===- ScheduleContract.h - schedules of contractions and scatters -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TDSL_LIB_TARGET_CPU_SCHEDULECONTRACT_H
#define TDSL_LIB_TARGET_CPU_SCHEDULECONTRACT_H

#include "tdsl/Target/CPU/CPUTarget.h"
#include "tdsl/Target/Common/ContractShape.h"

namespace tdsl::cpu {

/// A contraction as matrix products: one m, n and k axis, the others around
/// them.
struct MatrixAxes {
  using Axis = target::ContractShape::Axis;
  target::ContractShape shape;
  Axis m, n, k;
  /// Batch axes and further m and n axes; further k axes, summed in this order.
  llvm::SmallVector<Axis> outer, outerK;
  /// Where n or k are several axes that only tables can walk as one (a window):
  /// those axes; `n` and `k` then have the extents of all of them, and strides
  /// in the result only.
  llvm::SmallVector<Axis> tableN, tableK;

  bool isIndexed() const { return !tableK.empty(); }
  /// Whether A has unit stride along all of k.
  bool isDirect() const {
    int64_t stride = 1;
    for (const Axis &axis : llvm::reverse(tableK)) {
      if (axis.lhs != stride)
        return false;
      stride *= axis.extent;
    }
    return isIndexed() || k.lhs == 1;
  }
  static MatrixAxes get(tds::KernelOp kernel, tds::ContractOp op);
};

/// The only contraction or scatter of a kernel.
template <typename Op> Op onlyOne(tds::KernelOp kernel) {
  auto ops = kernel.getBlock()->getOps<Op>();
  return *ops.begin();
}

/// Bytes at the front of the scratch of a matrix product, each part 64-byte
/// aligned: packed B, packed A, the tile of C (0 where it is not needed), and
/// the tables of an indexed one.
struct GemmScratch {
  int64_t packA = 0, tile = 0, tableN = 0, tableBk = 0, tableAk = 0, total = 0;
  static GemmScratch get(int64_t depth, int64_t tileM, int64_t tileN,
                         int64_t sumBytes, bool isDirect, bool isIndexed);
};

/// May give a schedule for the contraction as a reduction (`expand`).
mlir::FailureOr<mlir::DictionaryAttr> scheduleContract(tds::KernelOp kernel,
                                                       const CPUTarget &target);
mlir::DictionaryAttr scheduleScatter(tds::KernelOp kernel);
mlir::FailureOr<mlir::DictionaryAttr> schedulePoints(tds::KernelOp kernel);

} // namespace tdsl::cpu

#endif // TDSL_LIB_TARGET_CPU_SCHEDULECONTRACT_H
