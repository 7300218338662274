//===- TellSums.cpp - what spans fewer rows in a micro-batch -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step in micro-batches gives what it gave without them where what it makes
// of all rows is a mean over them. Remarks of the category `accumulate` say
// where it is not: statistics that rows are computed with, sums, and functions
// of either; and which states each micro-batch writes.
//
//===----------------------------------------------------------------------===//

#include "StepSplitter.h"

#include "tdsl/Dialect/TDS/BlockInputs.h"

#include "mlir/IR/Remarks.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tdsl;
using namespace tdsl::accumulation;
using namespace tdsl::tds;

namespace {

/// What the step gives of something that is taken over the rows; the later, the
/// more it says.
enum class Change { Sum, Function, Statistic };

/// A value that is made of the rows and has none itself.
struct Total {
  /// Where the rows end in it.
  llvm::SmallSetVector<Operation *, 2> sums;
  /// The value of the batch by the mean of those of the micro-batches, where
  /// the one follows from the other.
  std::optional<double> ratio;
};

/// Follows such values through a step and its copy for a micro-batch.
class TotalFinder {
public:
  TotalFinder(ArrayRef<Operation *> ops, ArrayRef<Operation *> others,
              double numParts)
      : numParts(numParts) {
    for (auto [op, other] : llvm::zip_equal(ops, others))
      otherOf[op] = other;
  }

  const Total *get(Value value) const {
    auto it = totals.find(value);
    return it == totals.end() ? nullptr : &it->second;
  }
  void note(const Total &total, Change change) {
    for (Operation *sum : total.sums) {
      Change &known = changes.try_emplace(sum, change).first->second;
      known = std::max(known, change);
    }
  }
  /// Notes that the value goes into the mean over the micro-batches.
  void noteMean(Value value) {
    const Total *total = get(value);
    if (total && total->ratio != 1)
      note(*total, total->ratio ? Change::Sum : Change::Function);
  }
  /// Takes an operation in; `readsRows` and `hasRows` say whether its inputs
  /// and its results depend on the rows in their shape.
  void visit(Operation *op, bool readsRows, bool hasRows);

  llvm::MapVector<Operation *, Change> changes;

private:
  using Ratios = llvm::DenseMap<Value, std::optional<double>>;
  std::optional<double> getRatio(Operation *op, Operation *other,
                                 const Ratios &known);

  double numParts;
  llvm::DenseMap<Operation *, Operation *> otherOf;
  llvm::DenseMap<Value, Total> totals;
};

} // namespace

static std::optional<ReductionKind> getReduction(Operation *op) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getKind();
  if (auto generic = dyn_cast<GenericOp>(op))
    return generic.getKind();
  return std::nullopt;
}

/// How the result of an operation on tensors or elements goes with the mean of
/// those of micro-batches. `known` has the operands that are totals.
std::optional<double> TotalFinder::getRatio(Operation *op, Operation *other,
                                            const Ratios &known) {
  SmallVector<std::optional<double>> ratios;
  for (Value operand : op->getOperands())
    if (auto it = known.find(operand); it != known.end())
      ratios.push_back(it->second);
  if (llvm::is_contained(ratios, std::nullopt))
    return std::nullopt;
  if (isa<AddOp, SubOp>(op)) {
    // What is added to both is added to the mean.
    if (ratios.size() == 1)
      return ratios[0] == 1 ? ratios[0] : std::nullopt;
    return ratios[0] == ratios[1] ? ratios[0] : std::nullopt;
  }
  if (ratios.size() != 1)
    return std::nullopt;
  double ratio = *ratios[0];
  if (isa<MulOp, DivOp>(op)) {
    if (isa<DivOp>(op) && !known.count(op->getOperand(0)))
      return std::nullopt;
    unsigned factor = known.count(op->getOperand(0)) ? 1 : 0;
    std::optional<double> mine = getNumber(op->getOperand(factor)),
                          its = getNumber(other->getOperand(factor));
    double more = mine && its && *its != 0 ? *mine / *its : 1;
    ratio = isa<MulOp>(op) ? ratio * more : ratio / more;
    return std::abs(ratio - 1) < 1e-6 ? 1 : ratio;
  }
  if (isa<NegOp, ReshapeOp, BroadcastOp, TransposeOp, StopGradientOp,
          IndependentOp>(op))
    return ratio;
  if (isa<CastOp>(op) &&
      isa<FloatType>(getElementTypeOrSelf(op->getResult(0).getType())))
    return ratio;
  if (auto reduce = dyn_cast<ReduceOp>(op);
      reduce && reduce.getKind() == ReductionKind::Sum)
    return ratio;
  return std::nullopt;
}

void TotalFinder::visit(Operation *op, bool readsRows, bool hasRows) {
  Total total;
  Ratios ratios;
  for (Value input : getBlockInputs(op))
    if (const Total *known = get(input)) {
      total.sums.insert_range(known->sums);
      ratios[input] = known->ratio;
    }
  if (hasRows || readsRows) {
    note(total, Change::Statistic);
    if (hasRows)
      return;
    std::optional<ReductionKind> kind = getReduction(op);
    total.sums.clear();
    // Whether something holds for all rows is put together from the parts.
    if (kind == ReductionKind::All)
      return;
    total.sums.insert(op);
    if (kind == ReductionKind::Sum)
      total.ratio = numParts;
  } else if (total.sums.empty()) {
    return;
  } else if (auto generic = dyn_cast<GenericOp>(op)) {
    // The same for its elements.
    auto body = [](Operation *op) -> Block & {
      return op->getRegion(0).front();
    };
    for (auto [inner, its] : llvm::zip(body(op), body(otherOf.lookup(op)))) {
      if (auto read = dyn_cast<ReadOp>(inner)) {
        if (auto it = ratios.find(read.getTensor()); it != ratios.end())
          ratios[read.getResult()] = it->second;
        continue;
      }
      if (inner.getNumResults() == 1 &&
          llvm::any_of(inner.getOperands(),
                       [&](Value value) { return ratios.count(value); }))
        ratios[inner.getResult(0)] = getRatio(&inner, &its, ratios);
    }
    if (!generic.getKind() || generic.getKind() == ReductionKind::Sum)
      total.ratio = ratios.lookup(generic.getYielded());
  } else {
    total.ratio = getRatio(op, otherOf.lookup(op), ratios);
  }
  for (Value result : op->getResults())
    totals[result] = total;
}

/// What computes a value; a stop_gradient is in no kernel.
static Operation *getMaker(OpResult value) {
  Operation *op = value.getOwner();
  while (auto stop = dyn_cast<StopGradientOp>(op)) {
    Operation *made = stop.getOperand().getDefiningOp();
    if (!made)
      break;
    op = made;
  }
  return op;
}

void StepSplitter::tellSums() {
  SmallVector<Operation *> others = getOps(micro);
  TotalFinder finder(ops, others, double(rows) / double(part));
  auto isOfRows = [&](Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return bool(step.getArgAttr(argument.getArgNumber(), attr::kDataAxis));
    return hasRows(cast<OpResult>(value));
  };
  for (Operation *op : ops) {
    if (!inLoop.contains(op))
      continue;
    if (auto gradient = dyn_cast<GradientOp>(op)) {
      finder.noteMean(gradient.getLoss());
      continue;
    }
    finder.visit(op, llvm::any_of(getBlockInputs(op), isOfRows),
                 llvm::any_of(op->getResults(), [&](OpResult result) {
                   return hasRows(result);
                 }));
  }
  auto options = remark::RemarkOpts::name("micro-batch")
                     .category("accumulate")
                     .function(step.getName());
  std::string parts = llvm::formatv("the {0} rows of each micro-batch", part);
  if (last)
    parts += llvm::formatv(" ({0} of the last)", getNumRows(last));
  for (const Output &output : outputs) {
    OpResult value = ops[output.op]->getResult(output.result);
    if (output.leaving == Leaving::Mean)
      finder.noteMean(value);
    if (output.leaving == Leaving::State)
      remark::analysis(getMaker(value)->getLoc(), options)
          << llvm::formatv("written by each of {0} micro-batches in turn "
                           "(--accum)",
                           trips + (last ? 1 : 0))
                 .str();
  }
  for (auto [op, change] : finder.changes) {
    std::string text =
        llvm::formatv("taken over {0}, not over the {1} of the batch "
                      "(--accum): ",
                      parts, rows);
    switch (change) {
    case Change::Statistic:
      text += "rows are computed with it";
      break;
    case Change::Function:
      text += "the step gives the mean of what is computed from it";
      break;
    case Change::Sum:
      text += "the step gives the mean of these sums";
      break;
    }
    remark::analysis(op->getLoc(), options) << text;
  }
}
