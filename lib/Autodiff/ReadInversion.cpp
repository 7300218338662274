//===- ReadInversion.cpp - which iterations read an element -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadInversion.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace tdsl::autodiff;

//===----------------------------------------------------------------------===//
// Bounds and linear forms
//===----------------------------------------------------------------------===//

using Bounds = std::optional<std::pair<int64_t, int64_t>>;

/// Bounds from both ends, or nothing where one of them overflowed.
static Bounds makeBounds(std::optional<int64_t> low,
                         std::optional<int64_t> high) {
  if (!low || !high)
    return std::nullopt;
  return std::pair(std::min(*low, *high), std::max(*low, *high));
}

std::optional<std::pair<int64_t, int64_t>>
tdsl::autodiff::getBounds(AffineExpr expr, ArrayRef<int64_t> extents) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return std::pair(constant.getValue(), constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    int64_t extent = extents[dim.getPosition()];
    if (extent <= 0)
      return std::nullopt;
    return std::pair(int64_t(0), extent - 1);
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  Bounds lhs = getBounds(binary.getLHS(), extents);
  Bounds rhs = getBounds(binary.getRHS(), extents);
  if (!lhs || !rhs)
    return std::nullopt;
  auto [low, high] = *lhs;
  if (expr.getKind() == AffineExprKind::Add)
    return makeBounds(llvm::checkedAdd(low, rhs->first),
                      llvm::checkedAdd(high, rhs->second));
  if (rhs->first != rhs->second)
    return std::nullopt;
  int64_t c = rhs->first;
  if (expr.getKind() == AffineExprKind::Mul)
    return makeBounds(llvm::checkedMul(low, c), llvm::checkedMul(high, c));
  if (c <= 0)
    return std::nullopt;
  switch (expr.getKind()) {
  case AffineExprKind::FloorDiv:
    return std::pair(llvm::divideFloorSigned(low, c),
                     llvm::divideFloorSigned(high, c));
  case AffineExprKind::CeilDiv:
    return std::pair(llvm::divideCeilSigned(low, c),
                     llvm::divideCeilSigned(high, c));
  case AffineExprKind::Mod:
    if (llvm::divideFloorSigned(low, c) == llvm::divideFloorSigned(high, c))
      return std::pair(llvm::mod(low, c), llvm::mod(high, c));
    return std::pair(int64_t(0), c - 1);
  default:
    return std::nullopt;
  }
}

namespace {
/// sum of coefficients[i] * dim i, plus constant.
struct LinearForm {
  SmallVector<int64_t> coefficients;
  int64_t constant = 0;
};
} // namespace

static std::optional<LinearForm> getLinearForm(AffineExpr expr,
                                               unsigned numDims) {
  LinearForm form{SmallVector<int64_t>(numDims, 0), 0};
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    form.constant = constant.getValue();
    return form;
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    form.coefficients[dim.getPosition()] = 1;
    return form;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  auto lhs = getLinearForm(binary.getLHS(), numDims),
       rhs = getLinearForm(binary.getRHS(), numDims);
  if (!lhs || !rhs)
    return std::nullopt;
  // Coefficients that overflow, or cannot be negated, make no linear form.
  auto combine = [&](auto operation) {
    for (unsigned i = 0; i <= numDims; ++i) {
      std::optional<int64_t> value =
          i < numDims ? operation(lhs->coefficients[i], rhs->coefficients[i])
                      : operation(lhs->constant, rhs->constant);
      if (!value || *value == std::numeric_limits<int64_t>::min())
        return false;
      (i < numDims ? form.coefficients[i] : form.constant) = *value;
    }
    return true;
  };
  auto isConstant = [](const LinearForm &linear) {
    return llvm::all_of(linear.coefficients, [](int64_t c) { return c == 0; });
  };
  if (expr.getKind() == AffineExprKind::Add) {
    if (!combine([](int64_t a, int64_t b) { return llvm::checkedAdd(a, b); }))
      return std::nullopt;
    return form;
  }
  if (expr.getKind() != AffineExprKind::Mul)
    return std::nullopt;
  if (!isConstant(*rhs))
    std::swap(lhs, rhs);
  if (!isConstant(*rhs))
    return std::nullopt;
  int64_t factor = rhs->constant;
  if (!combine([&](int64_t a, int64_t) { return llvm::checkedMul(a, factor); }))
    return std::nullopt;
  return form;
}

//===----------------------------------------------------------------------===//
// Elimination
//===----------------------------------------------------------------------===//

namespace {
/// Works over a space of the element's indices q, then the old iteration
/// indices, then new ones.
class Eliminator {
public:
  Eliminator(ArrayRef<int64_t> shape, ArrayRef<int64_t> oldExtents,
             unsigned numPreferred, MLIRContext *context)
      : numElement(shape.size()), numOld(oldExtents.size()),
        numPreferred(numPreferred), context(context), extents(shape) {
    llvm::append_range(extents, oldExtents);
    solutions.resize(extents.size());
  }

  void solveAxis(unsigned axis, AffineExpr index);
  ReadInversion finish();

private:
  AffineExpr dim(unsigned position) {
    return getAffineDimExpr(position, context);
  }
  AffineExpr zero() { return getAffineConstantExpr(0, context); }
  AffineExpr substitute(AffineExpr expr);
  /// Solves `left = right` for an unsolved index of `left`, or keeps it as a
  /// condition.
  void solveEquation(AffineExpr left, AffineExpr right);
  void define(unsigned position, AffineExpr solution);
  unsigned addIndex(int64_t extent);
  bool isOpen(unsigned position) {
    return position >= numElement && !solutions[position];
  }

  unsigned numElement, numOld, numPreferred;
  MLIRContext *context;
  SmallVector<int64_t> extents;
  SmallVector<AffineExpr> solutions;
  SmallVector<ReadCondition> equations, ranges;
};
} // namespace

AffineExpr Eliminator::substitute(AffineExpr expr) {
  SmallVector<AffineExpr> replacements;
  for (unsigned i = 0; i < extents.size(); ++i)
    replacements.push_back(solutions[i] ? solutions[i] : dim(i));
  return simplifyAffineExpr(expr.replaceDims(replacements), extents.size(), 0);
}

unsigned Eliminator::addIndex(int64_t extent) {
  extents.push_back(extent);
  solutions.push_back(AffineExpr());
  return extents.size() - 1;
}

void Eliminator::define(unsigned position, AffineExpr solution) {
  solutions[position] = solution;
  for (AffineExpr &other : solutions)
    if (other)
      other = substitute(other);
  for (auto *conditions : {&equations, &ranges})
    for (ReadCondition &condition : *conditions)
      condition.expr = substitute(condition.expr);
}

void Eliminator::solveAxis(unsigned axis, AffineExpr index) {
  index = substitute(index);
  auto binary = dyn_cast<AffineBinaryOpExpr>(index);
  auto divisor = binary ? dyn_cast<AffineConstantExpr>(binary.getRHS())
                        : AffineConstantExpr();
  if (divisor && divisor.getValue() > 0 &&
      getLinearForm(binary.getLHS(), extents.size())) {
    int64_t c = divisor.getValue();
    if (index.getKind() == AffineExprKind::FloorDiv) {
      unsigned rest = addIndex(c);
      return solveEquation(binary.getLHS(), dim(axis) * c + dim(rest));
    }
    auto bounds = getBounds(binary.getLHS(), extents);
    if (index.getKind() == AffineExprKind::Mod && bounds) {
      int64_t first = llvm::divideFloorSigned(bounds->first, c),
              last = llvm::divideFloorSigned(bounds->second, c);
      unsigned quotient = addIndex(last - first + 1);
      if (extents[axis] > c)
        ranges.push_back({ReadCondition::NotNegative, c - 1 - dim(axis)});
      return solveEquation(binary.getLHS(),
                           dim(axis) + (dim(quotient) + first) * c);
    }
  }
  solveEquation(index, dim(axis));
}

void Eliminator::solveEquation(AffineExpr left, AffineExpr right) {
  std::optional<LinearForm> form = getLinearForm(left, extents.size());
  std::optional<unsigned> best;
  // Of the open indices the longest one is eliminated, so that the fewest terms
  // remain to be summed.
  auto rank = [&](unsigned position) {
    int64_t coefficient = std::abs(form->coefficients[position]);
    return std::tuple(extents[position], -coefficient,
                      position < numElement + numPreferred);
  };
  for (unsigned i = 0; form && i < extents.size(); ++i)
    if (isOpen(i) && form->coefficients[i] != 0 &&
        (!best || rank(i) > rank(*best)))
      best = i;
  if (!best) {
    AffineExpr difference = simplifyAffineExpr(left - right, extents.size(), 0);
    auto constant = dyn_cast<AffineConstantExpr>(difference);
    if (!constant || constant.getValue() != 0)
      equations.push_back({ReadCondition::Zero, difference});
    return;
  }
  int64_t coefficient = form->coefficients[*best];
  AffineExpr rest = right - left + dim(*best) * coefficient;
  if (coefficient < 0)
    rest = -rest;
  coefficient = std::abs(coefficient);
  rest = simplifyAffineExpr(rest, extents.size(), 0);
  if (coefficient != 1) {
    equations.push_back(
        {ReadCondition::Zero,
         simplifyAffineExpr(rest % coefficient, extents.size(), 0)});
    rest = rest.floorDiv(coefficient);
  }
  define(*best, rest);
}

ReadInversion Eliminator::finish() {
  ReadInversion result;
  // The new space: q, then the indices that stayed open.
  SmallVector<AffineExpr> renamed(extents.size());
  SmallVector<int64_t> newExtents(ArrayRef(extents).take_front(numElement));
  for (unsigned i = 0; i < extents.size(); ++i) {
    if (i < numElement) {
      renamed[i] = dim(i);
    } else if (isOpen(i)) {
      renamed[i] = dim(newExtents.size());
      newExtents.push_back(extents[i]);
      result.freeExtents.push_back(extents[i]);
    } else {
      renamed[i] = zero(); // solved: occurs in no expression
    }
  }
  unsigned numNew = newExtents.size();
  auto rename = [&](AffineExpr expr) {
    return simplifyAffineExpr(expr.replaceDims(renamed), numNew, 0);
  };
  auto addRange = [&](AffineExpr expr) {
    auto bounds = getBounds(expr, newExtents);
    if (!bounds || bounds->first < 0)
      result.ranges.push_back({ReadCondition::NotNegative, expr});
    return !bounds || bounds->first < 0;
  };
  for (ReadCondition &condition : equations) {
    AffineExpr expr = rename(condition.expr);
    auto bounds = getBounds(expr, newExtents);
    if (!bounds || bounds->first != 0 || bounds->second != 0)
      result.equations.push_back({ReadCondition::Zero, expr});
  }
  // A bound on an element index that is not a range of an old index counts as
  // an equation: no read of the adjoint implies it.
  for (ReadCondition &condition : ranges)
    result.equations.push_back({condition.kind, rename(condition.expr)});
  for (unsigned i = numElement; i < numElement + numOld; ++i) {
    AffineExpr expr = rename(solutions[i] ? solutions[i] : dim(i));
    result.indexExprs.push_back(expr);
    bool leaves = false;
    if (solutions[i]) {
      leaves |= addRange(expr);
      leaves |= addRange(simplifyAffineExpr(extents[i] - 1 - expr, numNew, 0));
    }
    result.mayLeave.push_back(leaves);
  }
  // New indices always run over their own whole extent, unless one was solved
  // for: then it has a range too, that no old index stands for.
  for (unsigned i = numElement + numOld; i < extents.size(); ++i) {
    if (!solutions[i])
      continue;
    AffineExpr expr = rename(solutions[i]);
    for (AffineExpr side :
         {expr, simplifyAffineExpr(extents[i] - 1 - expr, numNew, 0)}) {
      auto bounds = getBounds(side, newExtents);
      if (!bounds || bounds->first < 0)
        result.equations.push_back({ReadCondition::NotNegative, side});
    }
  }
  return result;
}

ReadInversion tdsl::autodiff::invertRead(ArrayRef<AffineExpr> indices,
                                         ArrayRef<int64_t> shape,
                                         ArrayRef<int64_t> extents,
                                         unsigned numPreferred,
                                         MLIRContext *context) {
  Eliminator eliminator(shape, extents, numPreferred, context);
  unsigned numElement = shape.size();
  SmallVector<AffineExpr> shifted;
  for (AffineExpr index : indices)
    shifted.push_back(index ? index.shiftDims(extents.size(), numElement)
                            : AffineExpr());
  // Bare indices first: they are solved exactly.
  SmallVector<unsigned> later;
  for (auto [axis, index] : llvm::enumerate(shifted)) {
    if (!index)
      continue;
    if (isa<AffineDimExpr>(index))
      eliminator.solveAxis(axis, index);
    else
      later.push_back(axis);
  }
  for (unsigned axis : later)
    eliminator.solveAxis(axis, shifted[axis]);
  return eliminator.finish();
}
