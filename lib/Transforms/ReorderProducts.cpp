//===- ReorderProducts.cpp - chains of contractions in the best order -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A contraction of contractions is one sum of products of several tensors; the
// order in which pairs of them are multiplied is free where sums may be taken
// in any order. The least work over all orders is found by dynamic programming
// over the subsets of the tensors (Lam, Sadayappan and Wenger 1997).
//
//===----------------------------------------------------------------------===//

#include "tdsl/Transforms/Passes.h"

#include "tdsl/Dialect/TDS/TDSOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;
using namespace tdsl;
using namespace tdsl::tds;

namespace tdsl {
#define GEN_PASS_DEF_REORDERPRODUCTSPASS
#include "tdsl/Transforms/Passes.h.inc"
} // namespace tdsl

namespace {

/// Most tensors of one product; longer chains are taken in parts.
constexpr unsigned mostFactors = 8;

/// One tensor of a product, and the number of each of its axes.
struct Factor {
  Value tensor;
  SmallVector<int64_t> axes;
};

/// sum over all numbers that `axes` lacks of the product of the factors.
struct Product {
  ContractOp root;
  SmallVector<Factor> factors;
  llvm::DenseMap<int64_t, int64_t> extents;
  /// Multiplications of the order in which it is written.
  double writtenWork = 0;
  unsigned numContractions = 0;
  int64_t nextAxis = 0;

  void flatten(ContractOp contract, ArrayRef<int64_t> resultAxes);

private:
  void addOperand(Value operand, ArrayRef<int64_t> axes);
};

/// The best way to multiply a subset of the factors.
struct Subset {
  double work = HUGE_VAL;
  /// One half of the last pair, as a set; 0 for a factor.
  unsigned left = 0;
  /// The numbers that factors outside or the result have, too.
  SmallVector<int64_t> axes;
};

} // namespace

/// Whether a contraction may be part of a larger one: every product and sum is
/// of one type, and no operand is a window.
static bool isPlain(ContractOp contract) {
  Type element = contract.getType().getElementType();
  return !contract.hasWindow() && getAccumulatorType(element) == element &&
         cast<RankedTensorType>(contract.getLhs().getType()).getElementType() ==
             element;
}

/// A contraction that is only an operand of one other.
static ContractOp getInner(Value operand) {
  auto inner = operand.getDefiningOp<ContractOp>();
  return inner && inner->hasOneUse() && isPlain(inner) ? inner : ContractOp();
}

void Product::addOperand(Value operand, ArrayRef<int64_t> axes) {
  if (ContractOp inner = getInner(operand);
      inner && numContractions + 2 <= mostFactors)
    return flatten(inner, axes);
  if (auto transpose = operand.getDefiningOp<TransposeOp>();
      transpose && transpose->hasOneUse()) {
    // Axis i of the result is axis permutation[i] of the operand.
    SmallVector<int64_t> before(axes.size());
    for (auto [axis, from] : llvm::zip_equal(axes, transpose.getPermutation()))
      before[from] = axis;
    return addOperand(transpose.getOperand(), before);
  }
  factors.push_back({operand, SmallVector<int64_t>(axes)});
}

void Product::flatten(ContractOp contract, ArrayRef<int64_t> resultAxes) {
  ++numContractions;
  llvm::DenseMap<int64_t, int64_t> renamed;
  for (auto [inner, outer] :
       llvm::zip_equal(contract.getResultAxes(), resultAxes))
    renamed[inner] = outer;
  double work = 1;
  for (auto [axis, extent] : contract.getExtentOfAxis()) {
    auto [it, isNew] = renamed.try_emplace(axis, nextAxis);
    nextAxis += isNew;
    extents[it->second] = extent;
    work *= double(extent);
  }
  writtenWork += work;
  for (bool isLhs : {true, false}) {
    SmallVector<int64_t> axes;
    for (int64_t axis : isLhs ? contract.getLhsAxes() : contract.getRhsAxes())
      axes.push_back(renamed.lookup(axis));
    addOperand(isLhs ? contract.getLhs() : contract.getRhs(), axes);
  }
}

static std::optional<Product> getProduct(ContractOp root) {
  if (!isPlain(root))
    return std::nullopt;
  Product product;
  product.root = root;
  for (int64_t axis : root.getResultAxes())
    product.nextAxis = std::max(product.nextAxis, axis + 1);
  product.flatten(root, root.getResultAxes());
  if (product.factors.size() < 3)
    return std::nullopt;
  // A number that one factor alone has is summed before it meets another: that
  // is no contraction.
  llvm::DenseMap<int64_t, unsigned> uses;
  for (const Factor &factor : product.factors)
    for (int64_t axis : factor.axes)
      ++uses[axis];
  for (auto [axis, count] : uses)
    if (count == 1 && !llvm::is_contained(root.getResultAxes(), axis))
      return std::nullopt;
  return product;
}

/// The best order of each subset of the factors, by its bits.
static std::vector<Subset> findOrders(Product &product) {
  unsigned count = product.factors.size(), all = (1u << count) - 1;
  std::vector<Subset> subsets(all + 1);
  for (unsigned set = 1; set <= all; ++set) {
    Subset &subset = subsets[set];
    for (unsigned i = 0; i < count; ++i) {
      if (!(set >> i & 1))
        continue;
      for (int64_t axis : product.factors[i].axes) {
        bool isNeeded = llvm::is_contained(product.root.getResultAxes(), axis);
        for (unsigned k = 0; k < count; ++k)
          isNeeded |= !(set >> k & 1) &&
                      llvm::is_contained(product.factors[k].axes, axis);
        if (isNeeded && !llvm::is_contained(subset.axes, axis))
          subset.axes.push_back(axis);
      }
    }
    if ((set & (set - 1)) == 0) {
      subset.work = 0;
      continue;
    }
    // Every half once: the one with the lowest factor.
    unsigned lowest = set & -set;
    for (unsigned left = (set - 1) & set; left; left = (left - 1) & set) {
      if (!(left & lowest))
        continue;
      const Subset &a = subsets[left], &b = subsets[set ^ left];
      double work = a.work + b.work, pair = 1;
      for (int64_t axis : a.axes)
        pair *= double(product.extents.lookup(axis));
      for (int64_t axis : b.axes)
        if (!llvm::is_contained(a.axes, axis))
          pair *= double(product.extents.lookup(axis));
      if (work + pair < subset.work) {
        subset.work = work + pair;
        subset.left = left;
      }
    }
  }
  return subsets;
}

static Factor build(OpBuilder &builder, const Product &product,
                    ArrayRef<Subset> subsets, unsigned set) {
  const Subset &subset = subsets[set];
  if (!subset.left)
    return product.factors[llvm::countr_zero(set)];
  ContractOp root = product.root;
  Factor lhs = build(builder, product, subsets, subset.left),
         rhs = build(builder, product, subsets, set ^ subset.left);
  bool isWhole = set + 1 == subsets.size();
  SmallVector<int64_t> axes =
      isWhole ? SmallVector<int64_t>(root.getResultAxes()) : subset.axes;
  SmallVector<int64_t> shape;
  for (int64_t axis : axes)
    shape.push_back(product.extents.lookup(axis));
  auto type = RankedTensorType::get(shape, root.getType().getElementType());
  Value result = ContractOp::create(builder, root.getLoc(), type, lhs.tensor,
                                    rhs.tensor, lhs.axes, rhs.axes, axes);
  return {result, axes};
}

namespace {

struct ReorderProductsPass
    : public tdsl::impl::ReorderProductsPassBase<ReorderProductsPass> {
  using tdsl::impl::ReorderProductsPassBase<
      ReorderProductsPass>::ReorderProductsPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    SmallVector<ContractOp> roots;
    function.walk([&](ContractOp contract) { roots.push_back(contract); });
    // The outermost first: what it is made of goes with it.
    for (ContractOp root : llvm::reverse(roots))
      if (!gone.contains(root))
        reorder(root);
    gone.clear();
  }

  /// Erases `op` and the contractions and transposes that only it needed.
  void erase(Operation *op) {
    SmallVector<Value> operands(op->getOperands());
    gone.insert(op);
    op->erase();
    for (Value operand : operands)
      if (Operation *inner = operand.getDefiningOp();
          inner && inner->use_empty() && isa<ContractOp, TransposeOp>(inner))
        erase(inner);
  }

  void reorder(ContractOp root) {
    std::optional<Product> product = getProduct(root);
    if (!product)
      return;
    std::vector<Subset> subsets = findOrders(*product);
    double best = subsets.back().work, written = product->writtenWork;
    if (best >= written)
      return;
    auto opts = remark::RemarkOpts::name("product-order")
                    .category("simplify")
                    .function(getOperation().getName());
    bool isExact = isa<IntegerType>(root.getType().getElementType());
    auto text = llvm::formatv("the product of {0} tensors in another order: "
                              "{1:e2} multiplications instead of {2:e2}",
                              product->factors.size(), best, written)
                    .str();
    if (!isExact && !floats) {
      remark::missed(root.getLoc(), opts)
          << (text + ", with --fast-math=reassociate");
      return;
    }
    remark::passed(root.getLoc(), opts) << text;
    OpBuilder builder(root);
    Value result = build(builder, *product, subsets, subsets.size() - 1).tensor;
    root.replaceAllUsesWith(result);
    erase(root);
    ++numReordered;
  }

  /// Erased contractions; only their addresses are looked at.
  llvm::SmallPtrSet<Operation *, 8> gone;
};

} // namespace
