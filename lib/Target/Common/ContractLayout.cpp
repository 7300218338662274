//===- ContractLayout.cpp - a contraction as batched matrix product -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tdsl/Target/Common/ContractLayout.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::target;

/// The element stride of axis number `number` in a row-major tensor whose axes
/// carry `numbers`; 0 where it has none.
static int64_t getStride(ArrayRef<int64_t> numbers, ArrayRef<int64_t> shape,
                         int64_t number) {
  int64_t stride = 1;
  for (size_t i = numbers.size(); i-- > 0;) {
    if (numbers[i] == number)
      return stride;
    stride *= shape[i];
  }
  return 0;
}

/// Merges neighbours that advance like one axis in all three tensors.
static void mergeAxes(SmallVectorImpl<ContractAxis> &group) {
  SmallVector<ContractAxis, 2> merged;
  for (const ContractAxis &axis : group) {
    if (axis.extent == 1)
      continue;
    if (!merged.empty()) {
      ContractAxis &last = merged.back();
      if (last.lhs == axis.lhs * axis.extent &&
          last.rhs == axis.rhs * axis.extent &&
          last.result == axis.result * axis.extent) {
        last = {last.extent * axis.extent, axis.lhs, axis.rhs, axis.result};
        continue;
      }
    }
    merged.push_back(axis);
  }
  group = std::move(merged);
}

ContractLayout target::getContractLayout(tds::ContractOp op) {
  ArrayRef<int64_t> lhsShape =
      cast<RankedTensorType>(op.getLhs().getType()).getShape();
  ArrayRef<int64_t> rhsShape =
      cast<RankedTensorType>(op.getRhs().getType()).getShape();
  ArrayRef<int64_t> resultShape =
      cast<RankedTensorType>(op.getType()).getShape();
  auto extents = op.getExtentOfAxis();
  auto describe = [&](int64_t number) {
    return ContractAxis{extents[number],
                        getStride(op.getLhsAxes(), lhsShape, number),
                        getStride(op.getRhsAxes(), rhsShape, number),
                        getStride(op.getResultAxes(), resultShape, number)};
  };
  ContractLayout layout;
  for (int64_t number : op.getResultAxes()) {
    bool inLhs = llvm::is_contained(op.getLhsAxes(), number),
         inRhs = llvm::is_contained(op.getRhsAxes(), number);
    SmallVector<ContractAxis, 2> &group = inLhs && inRhs ? layout.batch
                                          : inLhs        ? layout.m
                                                         : layout.n;
    group.push_back(describe(number));
  }
  for (int64_t number : op.getReducedAxes())
    layout.k.push_back(describe(number));
  for (SmallVector<ContractAxis, 2> *group :
       {&layout.batch, &layout.m, &layout.n, &layout.k})
    mergeAxes(*group);
  return layout;
}
