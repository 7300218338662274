//===- ContractLayout.h - a contraction as batched matrix product -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_TARGET_COMMON_CONTRACTLAYOUT_H
#define TDSL_TARGET_COMMON_CONTRACTLAYOUT_H

#include "tdsl/Dialect/TDS/TDSOps.h"

#include "llvm/ADT/SmallVector.h"

namespace tdsl::target {

/// One axis of a contraction with its element strides in the two operands and
/// in the result; a stride is 0 where the tensor lacks the axis.
struct ContractAxis {
  int64_t extent = 1;
  int64_t lhs = 0;
  int64_t rhs = 0;
  int64_t result = 0;
};

/// A `tds.contract` as result[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k,
/// n], where each of b, m, n, k is a row-major group of axes (outermost first).
/// Axes that run contiguously in every tensor that has them are merged, so a
/// plain matrix product has one axis a group; axes of extent 1 are left out. m
/// holds the axes of the left operand and the result, n those of the right
/// operand and the result, b those of all three, k the summed ones. Groups are
/// ordered as in the result (k: as in the left operand).
struct ContractLayout {
  llvm::SmallVector<ContractAxis, 2> batch, m, n, k;

  static int64_t getExtent(llvm::ArrayRef<ContractAxis> group) {
    int64_t extent = 1;
    for (const ContractAxis &axis : group)
      extent *= axis.extent;
    return extent;
  }
};

/// The layout of a contraction of row-major tensors.
ContractLayout getContractLayout(tds::ContractOp op);

} // namespace tdsl::target

#endif // TDSL_TARGET_COMMON_CONTRACTLAYOUT_H
