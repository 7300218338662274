//===- EvaluateContract.cpp - the value of a contraction -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The axes are sorted into four groups: batch (both operands and the result),
// rows (left and result), columns (right and result) and sums. The operands are
// copied in accumulator format to [batch][row][sum] and [batch][sum][column],
// an axis that an operand lacks being repeated, and then multiplied.
//
//===----------------------------------------------------------------------===//

#include "EvaluateContract.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;
using reference::ElementKind;
using reference::LoopNest;
using reference::Tensor;

namespace {
struct Groups {
  SmallVector<int64_t> batch, rows, columns, sums;
};
} // namespace

static void accumulate(float a, const float *b, float *acc, int64_t n) {
  reference::fmaRow(a, b, acc, n);
}
static void accumulate(double a, const double *b, double *acc, int64_t n) {
  reference::fmaRow(a, b, acc, n);
}
template <typename T>
static void accumulate(T a, const T *b, T *acc, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    acc[i] = static_cast<T>(uint64_t(acc[i]) + uint64_t(a) * uint64_t(b[i]));
}

/// c[row][column] += a[row][sum] * b[sum][column], sums in order.
template <typename T>
static void multiply(const T *a, const T *b, T *c, int64_t rows, int64_t sums,
                     int64_t columns) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t sum = 0; sum < sums; ++sum)
      accumulate(a[row * sums + sum], b + sum * columns, c + row * columns,
                 columns);
}

/// arrangeAxes for an operand that steps by `strides` along its numbers.
static llvm::Expected<Tensor>
arrange(const Tensor &operand, ArrayRef<int64_t> axes,
        ArrayRef<int64_t> strides, int64_t offset, ArrayRef<int64_t> order,
        llvm::SmallDenseMap<int64_t, int64_t> &extents, ElementKind kind) {
  SmallVector<int64_t> steps;
  LoopNest nest;
  for (int64_t axis : order) {
    nest.parallel.push_back(extents[axis]);
    const int64_t *at = llvm::find(axes, axis);
    steps.push_back(at == axes.end() ? 0 : strides[at - axes.begin()]);
  }
  reference::Reg value =
      nest.program.affineRead(0, operand.kind(), offset, steps);
  nest.yield = nest.program.cast(value, operand.kind(), kind);
  nest.yieldKind = kind;
  return reference::runNest(nest, &operand, nullptr);
}

llvm::Expected<Tensor> tds::arrangeAxes(
    const Tensor &operand, ArrayRef<int64_t> axes, ArrayRef<int64_t> order,
    llvm::SmallDenseMap<int64_t, int64_t> &extents, ElementKind kind) {
  SmallVector<int64_t> strides(axes.size());
  int64_t stride = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= operand.shape()[i];
  }
  return arrange(operand, axes, strides, 0, order, extents, kind);
}

llvm::Expected<Tensor> tds::arrangeOperand(
    ContractOp op, bool isLhs, const Tensor &operand, ArrayRef<int64_t> order,
    llvm::SmallDenseMap<int64_t, int64_t> &extents, ElementKind kind) {
  auto [strides, offset] = op.getStrides(isLhs);
  return arrange(operand, isLhs ? op.getLhsAxes() : op.getRhsAxes(), strides,
                 offset, order, extents, kind);
}

llvm::Expected<Tensor> tds::evaluateContract(ContractOp op, const Tensor &lhs,
                                             const Tensor &rhs, bool f64) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  std::optional<ElementKind> kind = getElementKind(type.getElementType(), f64);
  std::optional<ElementKind> accumulator = getElementKind(
      getAccumulatorType(getElementType(op.getLhs().getType())), f64);
  if (!kind || !accumulator)
    return llvm::createStringError("contracts unknown elements");
  llvm::SmallDenseMap<int64_t, int64_t> extents = op.getExtentOfAxis();
  Groups groups;
  for (int64_t axis : op.getResultAxes()) {
    bool left = llvm::is_contained(op.getLhsAxes(), axis);
    bool right = llvm::is_contained(op.getRhsAxes(), axis);
    (left && right ? groups.batch
     : left        ? groups.rows
                   : groups.columns)
        .push_back(axis);
  }
  groups.sums = op.getReducedAxes();
  auto size = [&](ArrayRef<int64_t> axes) {
    int64_t product = 1;
    for (int64_t axis : axes)
      product *= extents[axis];
    return product;
  };

  // Rows of lanes run along the longer side.
  SmallVector<int64_t> *rows = &groups.rows, *columns = &groups.columns;
  const Tensor *left = &lhs, *right = &rhs;
  bool isSwapped = size(*columns) < size(*rows);
  if (isSwapped) {
    std::swap(rows, columns);
    std::swap(left, right);
  }
  SmallVector<int64_t> leftOrder(groups.batch), rightOrder(groups.batch),
      resultOrder(groups.batch);
  llvm::append_range(leftOrder, *rows);
  llvm::append_range(leftOrder, groups.sums);
  llvm::append_range(rightOrder, groups.sums);
  llvm::append_range(rightOrder, *columns);
  llvm::append_range(resultOrder, *rows);
  llvm::append_range(resultOrder, *columns);
  auto a =
      arrangeOperand(op, !isSwapped, *left, leftOrder, extents, *accumulator);
  if (!a)
    return a;
  auto b =
      arrangeOperand(op, isSwapped, *right, rightOrder, extents, *accumulator);
  if (!b)
    return b;

  SmallVector<int64_t> shape;
  for (int64_t axis : resultOrder)
    shape.push_back(extents[axis]);
  Tensor product(*accumulator, shape);
  int64_t numRows = size(*rows), numColumns = size(*columns),
          numSums = size(groups.sums), batches = size(groups.batch);
  auto run = [&](auto zero) {
    using T = decltype(zero);
    const T *from = a->elements<T>().data(), *by = b->elements<T>().data();
    T *to = product.elements<T>().data();
    for (int64_t i = 0; i < batches; ++i)
      multiply(from + i * numRows * numSums, by + i * numSums * numColumns,
               to + i * numRows * numColumns, numRows, numSums, numColumns);
  };
  switch (*accumulator) {
  case ElementKind::F32:
    run(float());
    break;
  case ElementKind::F64:
    run(double());
    break;
  case ElementKind::I32:
    run(int32_t());
    break;
  default:
    run(int64_t());
    break;
  }
  return arrangeAxes(product, resultOrder, op.getResultAxes(), extents, *kind);
}
